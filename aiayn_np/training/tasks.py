"""Toy tasks with a known answer, for training in seconds: copy, reverse, sort.

A sequence has 1 to `max_length` symbols, and longer sequences are more frequent. The encoder reads
the sequence with an end mark, and the decoder has to write the answer:

    src      3 1 4 <eos>          tgt_in   <bos> 4 1 3          (reverse)
                                  tgt_out  4 1 3 <eos>

A new task is a class with a `name` and a `target`; see ReverseTask.
"""

import functools
import zlib
from collections.abc import Iterable, Sequence

import numpy as np

from ..checks import check_rng, check_sizes

PAD, BOS, EOS, FIRST_SYMBOL = 0, 1, 2, 3
VALIDATION, TEST = 0, 1  # of ten buckets; the other eight train
SHORTEST_HELD_OUT = 3  # there are too few shorter sequences to keep some for testing


def bucket(sequence):
    """Return the bucket of a sequence, 0 to 9: a hash of its symbols, the same on every machine.

    Sequences shorter than SHORTEST_HELD_OUT go to bucket 9, which is for training.
    """
    if len(sequence) < SHORTEST_HELD_OUT:
        return 9
    return zlib.crc32(sequence.astype("<i8").tobytes()) % 10


def draw(symbols, max_length, n, rng):
    """Draw n sequences of ids. A length is the larger of two uniform draws, so more are long."""
    lengths = rng.integers(1, max_length + 1, (n, 2)).max(axis=1)
    ids = rng.integers(FIRST_SYMBOL, FIRST_SYMBOL + symbols, (n, max_length))
    return [row[:length] for row, length in zip(ids, lengths)]


@functools.cache  # a command needs the same sequences several times
def held_out(symbols, max_length, n, split):
    """Return the first n different sequences of a split, or all if the task has fewer."""
    rng = np.random.default_rng(split)  # a fixed stream: the first n are always the same
    found: dict[bytes, np.ndarray] = {}
    blocks_without = 0
    while len(found) < n and blocks_without < 10:
        before = len(found)
        for s in draw(symbols, max_length, 1000, rng):
            if bucket(s) == split and len(found) < n:
                found.setdefault(s.tobytes(), s)
        blocks_without = 0 if len(found) > before else blocks_without + 1
    return list(found.values())


class Task:
    """A task on sequences of `symbols` different symbols. Subclasses define `target`, the answer.

    `batch(n, rng)`, `validation(n)` and `test(n)` return ids (src, tgt_in, tgt_out), each (n, T)
    padded with `pad`. The three never share a sequence of length >= 3.
    """

    name: str
    pad, bos, eos = PAD, BOS, EOS

    def __init__(self, *, symbols: int = 10, max_length: int = 10) -> None:
        check_sizes(symbols=symbols, max_length=max_length)
        self.symbols, self.max_length = symbols, max_length
        self.vocab_size = FIRST_SYMBOL + symbols

    def target(self, sequence: np.ndarray) -> np.ndarray:
        """Return the answer to a sequence, both arrays of ids."""
        raise NotImplementedError(f"{type(self).__name__} has no target")

    def batch(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Draw n training examples."""
        check_rng(rng)
        check_sizes(least=0, n=n)
        rows: list[np.ndarray] = []
        while len(rows) < n:
            drawn = draw(self.symbols, self.max_length, n - len(rows), rng)
            rows += [s for s in drawn if bucket(s) > TEST]
        return self.examples_of(rows)

    def validation(self, n: int) -> tuple[np.ndarray, ...]:
        """Return the first n validation examples, all different; fewer if the task has fewer."""
        return self._held_out(n, VALIDATION)

    def test(self, n: int) -> tuple[np.ndarray, ...]:
        """Return the first n test examples, all different; fewer if the task has fewer."""
        return self._held_out(n, TEST)

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Return the names of ids: the symbols are "0", "1", ..."""
        special = {PAD: "<pad>", BOS: "<bos>", EOS: "<eos>"}
        return [special.get(int(i), str(int(i) - FIRST_SYMBOL)) for i in ids]

    def text(self, ids: Iterable[int]) -> str:
        """Return the symbols of one row of ids up to its end, as text: "3 1 4"."""
        ids = list(ids)
        ids = ids[: ids.index(EOS)] if EOS in ids else ids
        return " ".join(self.tokens(i for i in ids if i != PAD))

    def source(self, text: str) -> np.ndarray:
        """Return source ids (1, T) of a text such as "3 1 4"; ValueError for an unknown symbol."""
        known = {str(i): i + FIRST_SYMBOL for i in range(self.symbols)}
        words = text.split()
        if not words:
            raise ValueError(f"a sequence must hold at least one symbol, got {text!r}")
        for word in words:
            if word not in known:
                last = self.symbols - 1
                apart = f"; with spaces: {' '.join(word)}" if known.keys() >= {*word} else ""
                raise ValueError(f"every symbol must be one of 0 to {last}, got {word!r}{apart}")
        return np.array([[known[word] for word in words] + [EOS]])

    def _held_out(self, n, split):
        check_sizes(n=n)
        found = held_out(self.symbols, self.max_length, n, split)
        if not found:
            raise ValueError(f"symbols={self.symbols} and max_length={self.max_length} leave no"
                             f" sequence of length >= {SHORTEST_HELD_OUT} to hold out: raise one of"
                             " them")
        return self.examples_of(found)

    def examples_of(self, sequences: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return ids (src, tgt_in, tgt_out) for sequences of symbols, given as arrays of ids."""
        answers = [self.target(s) for s in sequences]
        src = padded([[*s, EOS] for s in sequences])
        tgt_in = padded([[BOS, *a] for a in answers])
        tgt_out = padded([[*a, EOS] for a in answers])
        return src, tgt_in, tgt_out


def padded(rows: Sequence[Sequence[int]], pad: int = PAD) -> np.ndarray:
    """Return lists of ids of different lengths as one array (n, longest), filled up with `pad`."""
    ids = np.full((len(rows), max(map(len, rows), default=1)), pad)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
    return ids


class CopyTask(Task):
    """3 1 4 -> 3 1 4"""

    name = "copy"

    def target(self, sequence: np.ndarray) -> np.ndarray:
        return sequence


class ReverseTask(Task):
    """3 1 4 -> 4 1 3"""

    name = "reverse"

    def target(self, sequence: np.ndarray) -> np.ndarray:
        return sequence[::-1]


class SortTask(Task):
    """3 1 4 -> 1 3 4"""

    name = "sort"

    def target(self, sequence: np.ndarray) -> np.ndarray:
        return np.sort(sequence)


TASKS = {task.name: task for task in (CopyTask, ReverseTask, SortTask)}
