"""Translation as a task, with the methods that runs and commands call."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .vocabulary import BOS, EOS, PAD


class PairTask:
    """A task from lines of text to lines of text.

    vocabulary : Vocabulary, or an object with the same methods and special ids
    max_length : the most tokens of a sentence in training
    tokenize : a name of TOKENIZERS, by which BLEU splits the targets into words
    """

    name = "text"

    def __init__(self, vocabulary: Any, max_length: int, tokenize: str = "13a") -> None:
        self.vocabulary, self.max_length, self.tokenize = vocabulary, max_length, tokenize
        self.vocab_size = len(vocabulary)
        self.pad, self.bos, self.eos = vocabulary.pad, vocabulary.bos, vocabulary.eos

    def source(self, text: str) -> np.ndarray:
        """Return source ids (1, T) of a line; raise ValueError for an empty line."""
        (ids,) = self.vocabulary.encode([text])
        if len(ids) == 1:
            raise ValueError(f"a sentence must hold at least one word, got {text!r}")
        return ids[None].astype(int)

    def text(self, ids: Iterable[int]) -> str:
        """Return the text of ids up to their end mark."""
        return self.vocabulary.decode(ids)

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Return the labels of ids; EOS is <eos>, and a word begins with an underscore."""
        special = {PAD: "<pad>", BOS: "<bos>", EOS: "<eos>"}
        return [special.get(i) or self.vocabulary.pieces([i])[0] for i in map(int, ids)]


def encoded(sides: Sequence[Callable], pairs: list, max_length: int) -> tuple[list, list]:
    """Encode pairs of lines, and keep those with at most `max_length` tokens on each side.

    sides : what turns the lines of the sources into lists of ids, and what the targets

    Returns the kept pairs as a list of pairs of id arrays, and as a list of pairs of lines.
    """
    found = [encode([pair[side] for pair in pairs]) for side, encode in enumerate(sides)]
    kept = [
        (ids, pair) for *ids, pair in zip(*found, pairs)
        if max(map(len, ids)) <= max_length and min(map(len, ids)) > 1
    ]
    return [tuple(ids) for ids, _ in kept], [pair for _, pair in kept]
