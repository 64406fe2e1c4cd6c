"""Translation as a task: what the run's folder and the command line ask of one."""

import numpy as np

from .vocabulary import BOS, EOS, PAD


class TextTask:
    """Lines of text in, lines of text out.

    vocabulary : Vocabulary          max_length : tokens of the longest sentence trained on
    """

    name = "text"
    pad, bos, eos = PAD, BOS, EOS

    def __init__(self, vocabulary, max_length):
        self.vocabulary, self.max_length = vocabulary, max_length
        self.vocab_size = len(vocabulary)

    def source(self, text):
        """Source ids (1, T) of a line; ValueError for an empty one."""
        (ids,) = self.vocabulary.encode([text])
        if len(ids) == 1:
            raise ValueError(f"a sentence must hold at least one word, got {text!r}")
        return ids[None].astype(int)

    def text(self, ids):
        """The line that ids up to their end stand for."""
        return self.vocabulary.decode(ids)

    def tokens(self, ids):
        """Ids as labels; EOS as <eos>, and a word begins with an underscore."""
        special = {PAD: "<pad>", BOS: "<bos>", EOS: "<eos>"}
        return [special.get(i) or self.vocabulary.pieces([i])[0] for i in map(int, ids)]

    def examples_of(self, rows):
        """There is no known answer to a line, so there is no batch of examples either."""
        raise ValueError("a run on text has no known answer to a sentence")


def encoded(vocabulary, pairs, max_length):
    """(pairs of lines as pairs of ids, which of them are kept): at most `max_length` tokens a side.

    Returns a list of pairs of arrays, and the list of the lines that they are of.
    """
    sides = [vocabulary.encode([pair[side] for pair in pairs]) for side in (0, 1)]
    kept = [
        (ids, pair) for *ids, pair in zip(*sides, pairs)
        if max(map(len, ids)) <= max_length and min(map(len, ids)) > 1
    ]
    return [tuple(ids) for ids, _ in kept], [pair for _, pair in kept]


def longest(pairs):
    """Tokens of the longest side of pairs of ids."""
    return int(np.max([len(ids) for pair in pairs for ids in pair]))
