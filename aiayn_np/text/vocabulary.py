"""Byte-pair encoding: one vocabulary of word parts for both languages (Sec. 5.1)."""

import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import check_sizes, one_line
from ..files import CheckpointError
from .extra import extra

PAD, BOS, EOS, UNK = range(4)
SPACE = "▁"  # SentencePiece's sign for the space before a word
NORMALIZATIONS = ("identity", "nfkc", "nmt_nfkc")  # of SentencePiece


class Vocabulary:
    """A trained SentencePiece model; `model` holds the bytes of its file.

    Id 0 is padding, ids 1 and 2 begin and end a sentence, id 3 stands for unknown characters.
    """

    pad, bos, eos = PAD, BOS, EOS

    def __init__(self, model: bytes) -> None:
        self.model = model
        self.processor = extra("sentencepiece").SentencePieceProcessor(model_proto=model)

    @classmethod
    def train(cls, lines: Iterable[str], size: int, *, normalization: str = 'identity',
              character_coverage: float = 1.0, **options: Any) -> "Vocabulary":
        """Learn at most `size` pieces from lines of both languages; fewer if no pair is left.

        Learning begins with the characters, and repeatedly joins the most frequent pair of pieces.
        The same lines give the same vocabulary. Raises ValueError with the reason, such as more
        characters than `size`.

        normalization : "identity" keeps every character. The others write ， as , and ½ as 1⁄2; a
            translation can then never equal a reference with such characters.
        character_coverage : share of the text that known characters make up. Below 1 the rarest
            characters are unknown. With thousands of characters, this leaves room for pieces.
        options : further options of SentencePiece, or replacements of those here
        """
        check_sizes(size=size)
        if not 0.98 <= character_coverage <= 1:                        # nan too
            raise ValueError(f"character_coverage must lie in [0.98, 1], got {character_coverage=}")
        model = io.BytesIO()
        lines = list(lines)
        options = dict(pad_id=PAD, bos_id=BOS, eos_id=EOS, unk_id=UNK) | options
        try:
            extra("sentencepiece").SentencePieceTrainer.train(
                sentence_iterator=iter(lines), model_writer=model, model_type="bpe",
                vocab_size=size, character_coverage=character_coverage,
                normalization_rule_name=normalization,
                max_sentence_length=max([10, *(len(line.encode()) + 1 for line in lines)]),
                num_threads=1, minloglevel=2, hard_vocab_limit=False, **options,
            )
        except RuntimeError as error:
            reason = one_line(error)
            if too_small := re.search(r"required_chars. \d+ vs (\d+)", reason):
                reason = f"it takes at least {too_small[1]} for their characters"
            raise ValueError(f"no vocabulary of {size} pieces could be learned from {len(lines)}"
                             f" lines: {reason}") from error
        return cls(model.getvalue())

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        """Read a vocabulary; raise FileNotFoundError, or CheckpointError if it is damaged."""
        try:
            return cls(path.read_bytes())
        except RuntimeError as error:
            raise CheckpointError(f"{path} is not a SentencePiece model: {error}") from error

    def __len__(self):
        return self.processor.get_piece_size()

    def encode(self, lines: Iterable[str]) -> list[np.ndarray]:
        """Return the ids of every line, with EOS at the end: a list of arrays (T,)."""
        lines = [whole_text(line) for line in lines]
        return [np.array([*ids, EOS], dtype=np.int32) for ids in self.processor.encode(lines)]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids, up to the first EOS."""
        kept = []
        for token in map(int, ids):
            if token == EOS:
                break
            kept.append(token)
        return self.processor.decode(kept)

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Return the pieces of ids, for labels; a word begins with an underscore."""
        return [self.processor.id_to_piece(int(i)).replace(SPACE, "_") for i in ids]


def whole_text(text: str) -> str:
    """Return the text; raise ValueError if UTF-8 cannot encode it.

    On a command line, a byte that is not UTF-8 becomes half a character, which has no encoding.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"text must be UTF-8, got {text[error.start]!r} at {error.start + 1}"
                         ) from None
    return text
