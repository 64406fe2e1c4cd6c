"""Vocabularies made from the tokenizer files of a folder: text to ids and back."""

import re
from pathlib import Path

import numpy as np

from ..files import CheckpointError
from ..text.extra import extra
from ..text.vocabulary import SPACE, Vocabulary, whole_text
from .config import read_json

TOKENIZER = "tokenizer.json"
CODE = re.compile(r">>.*?<<")  # the code of the target language, at the start of a line
SPECIAL = re.compile(r"(</s>|<pad>|<unk>)")  # special tokens, wherever they stand in a line


class MarianVocabulary:
    """Two SentencePiece models, one for each language; vocab.json gives ids to their pieces.

    sizes : a Marian, for pad, bos, eos, ends and the numbers of ids on both sides
    """

    def __init__(self, folder, sizes):
        self.pad, self.bos, self.eos, self.ends = sizes.pad, sizes.bos, sizes.eos, sizes.ends
        self.source, self.target = (Vocabulary.load(folder / f"{side}.spm").processor
                                    for side in ("source", "target"))
        self.source_ids = vocabulary_file(folder / "vocab.json", sizes.V_src)
        separate = folder / "target_vocab.json"
        self.target_ids = vocabulary_file(separate, sizes.V) if separate.is_file() else (
            self.source_ids)
        self.target_pieces = {i: piece for piece, i in self.target_ids.items()}
        self.source_pieces = {i: piece for piece, i in self.source_ids.items()}

    def __len__(self):
        return self.bos + 1

    def encode(self, lines):
        """Return an array of ids (T,) with eos at the end for each line of the source language."""
        return [np.array([*self.ids(line), self.eos], dtype=np.int32) for line in lines]

    def ids(self, line):
        """Return the ids of a line, without eos; an unknown piece becomes <unk>."""
        unknown, pieces = self.source_ids["<unk>"], []
        for part in SPECIAL.split(whole_text(line)):
            code = SPECIAL.match(part) or CODE.match(part)
            pieces += [code.group()] if code else []
            pieces += self.source.encode(part[code.end() if code else 0 :], out_type=str)
        return [self.source_ids.get(piece, unknown) for piece in pieces]

    def decode(self, ids):
        """Turn ids of the target language into text, up to the first end."""
        kept = []
        for token in map(int, ids):
            if token in self.ends:
                break
            if token not in (self.pad, self.bos):
                kept.append(self.target_pieces.get(token, "<unk>"))
        return self.target.decode_pieces(kept).replace(SPACE, " ").strip()

    def pieces(self, ids, side="target"):
        """Return the pieces of ids, for labels; a word begins with an underscore."""
        names = self.target_pieces if side == "target" else self.source_pieces
        return ["<s>" if i == self.bos else names.get(i, "<unk>").replace(SPACE, "_")
                for i in map(int, ids)]


def vocabulary_file(path, vocab_size):
    """Read {piece: id} from a vocab.json."""
    found = read_json(path)
    if not all(isinstance(i, int) and not isinstance(i, bool) for i in found.values()):
        raise CheckpointError(f"{path} must give an integer for every piece")
    check_vocabulary(path, list(found.values()), vocab_size)
    if "<unk>" not in found:
        raise CheckpointError(f"{path} must hold the piece <unk>")
    return found


class TokenizerVocabulary:
    """A vocabulary that turns text into ids and back, with the library `tokenizers`."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def encode(self, text):
        """Return the ids (T,) of a text, with the special tokens that the tokenizer adds."""
        return np.array(self.tokenizer.encode(whole_text(text)).ids, dtype=np.int64)

    def decode(self, ids):
        """Turn ids into text."""
        return self.tokenizer.decode([int(i) for i in ids])

    def pieces(self, ids):
        """Return the pieces of ids, for labels; a space is an underscore."""
        names = (self.tokenizer.id_to_token(int(i)) or "<unk>" for i in ids)
        return [re.sub(f"[Ġ {SPACE}]", "_", name) for name in names]

    def id(self, piece):
        """Return the id of a piece; None for an unknown piece."""
        return self.tokenizer.token_to_id(piece)


def tokenizer_vocabulary(folder, vocab_size):
    """Read tokenizer.json; return None if the folder does not have it.

    Its truncation and padding are ignored: they are left from an earlier call of transformers.
    """
    path = Path(folder) / TOKENIZER
    if not path.is_file():
        return None
    library = extra("tokenizers", of="pretrained")
    try:
        tokenizer = library.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception
        raise CheckpointError(f"{path} is not a tokenizer: {error}") from error
    check_vocabulary(path, list(tokenizer.get_vocab().values()), vocab_size)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return TokenizerVocabulary(tokenizer)


def check_vocabulary(path, ids, vocab_size):
    """Raise CheckpointError if a tokenizer has ids that the model does not have."""
    if ids and not (min(ids) >= 0 and max(ids) < vocab_size):
        raise CheckpointError(f"{path}: ids of the vocabulary must lie in [0, {vocab_size}), got"
                              f" {min(ids)} to {max(ids)}")
