"""Byte-pair encoding: one vocabulary of word parts for both languages (Sec. 5.1)."""

import io

import numpy as np

from ..checkpoint import CheckpointError, replacing
from ..checks import check_sizes
from .extra import extra

PAD, BOS, EOS, UNK = range(4)
SPACE = "▁"  # how SentencePiece writes the space before a word


class Vocabulary:
    """A trained SentencePiece model, `model` being the bytes of its file.

    Id 0 is padding, 1 and 2 begin and end a sentence, 3 stands for a character that is not known.
    """

    def __init__(self, model):
        self.model = model
        self.processor = extra("sentencepiece").SentencePieceProcessor(model_proto=model)

    @classmethod
    def train(cls, lines, size):
        """Learn at most `size` pieces from lines of text, of both languages; fewer if there is no
        pair left to join.

        It begins with the characters, and joins the pair that is most frequent again and again. The
        same lines give the same vocabulary. Raises ValueError where the characters alone are more
        than `size`.
        """
        check_sizes(size=size)
        model = io.BytesIO()
        lines = list(lines)
        try:
            extra("sentencepiece").SentencePieceTrainer.train(
                sentence_iterator=iter(lines), model_writer=model, model_type="bpe",
                vocab_size=size, pad_id=PAD, bos_id=BOS, eos_id=EOS, unk_id=UNK,
                character_coverage=1.0, num_threads=1, minloglevel=2, hard_vocab_limit=False,
            )
        except RuntimeError as error:
            reason = " ".join(str(error).split())
            raise ValueError(f"no vocabulary of {size} pieces could be learned from {len(lines)}"
                             f" lines: {reason}") from error
        return cls(model.getvalue())

    @classmethod
    def load(cls, path):
        """Read a vocabulary. FileNotFoundError, or CheckpointError if it is damaged."""
        try:
            return cls(path.read_bytes())
        except RuntimeError as error:
            raise CheckpointError(f"{path} is not a SentencePiece model: {error}") from error

    def save(self, path):
        """Write the vocabulary, as SentencePiece reads it too."""
        with replacing(path) as file:
            file.write(self.model)

    def __len__(self):
        return self.processor.get_piece_size()

    def encode(self, lines):
        """For every line of text its ids, with EOS at the end: a list of arrays (T,)."""
        return [np.array([*ids, EOS], dtype=np.int32) for ids in self.processor.encode(list(lines))]

    def decode(self, ids):
        """The text of ids, up to the first EOS."""
        kept = []
        for token in map(int, ids):
            if token == EOS:
                break
            kept.append(token)
        return self.processor.decode(kept)

    def pieces(self, ids):
        """The pieces of ids, one by one, to be read as labels; a word begins with an underscore."""
        return [self.processor.id_to_piece(int(i)).replace(SPACE, "_") for i in ids]
