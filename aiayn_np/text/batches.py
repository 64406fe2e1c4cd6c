"""Batches of pairs of similar length; all have about equally many tokens (Sec. 5.1)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks import check_sizes
from ..training.checks import check_seed
from ..training.tasks import padded
from .vocabulary import Vocabulary

SHUFFLED = 3  # shorter sides whose lengths differ by less come in random order


class Batches:
    """Every pair once in an epoch, in batches of at most `budget` tokens on each side.

    pairs : list of (source, target), arrays of ids that end with EOS
    budget : the most positions that the sources of a batch have, padding included, and the same for
        its targets. A longer sentence makes a batch of its own. The paper has about 25 000
    seed : the batch of a step depends only on the seed and on the number of the step, so that a run
        can go on from any step
    marks : a vocabulary, for its ids pad, bos and eos

    Pairs are sorted by the length of their longer side, and cut where the budget is full. The cuts
    depend on the lengths alone, so all epochs have the same number of batches. Each epoch draws two
    orders anew: the order of pairs of equal length, and the order of the batches.
    """

    def __init__(self, pairs: list, budget: int, seed: int, marks: Any = Vocabulary) -> None:
        check_sizes(budget=budget)
        check_seed(seed)
        self.pairs, self.budget, self.seed, self.marks = pairs, budget, seed, marks
        lengths = np.array([[len(source), len(target)] for source, target in pairs])
        self.longer, self.shorter = lengths.max(axis=1), lengths.min(axis=1)
        self.ends = self.cuts(np.sort(self.longer))
        self.per_epoch = len(self.ends) + 1
        self.epoch = 0
        self.order: list[np.ndarray] = []

    def cuts(self, longer: np.ndarray) -> list[int]:
        """Return the cuts of sorted lengths: rows times the longest length fit the budget."""
        ends, start = [], 0
        for i, length in enumerate(longer.tolist()):
            if (i + 1 - start) * length > self.budget:
                ends.append(i)
                start = i
        return ends

    def rows(self, epoch: int) -> list[np.ndarray]:
        """Return the indices of the pairs in each batch of an epoch (1, 2, ...)."""
        rng = np.random.default_rng([self.seed, epoch])
        shorter = self.shorter + SHUFFLED * rng.random(len(self.pairs))
        batches = np.split(np.lexsort((shorter, self.longer)), self.ends)
        return [batches[i] for i in rng.permutation(len(batches))]

    def batch(self, step: int) -> tuple[np.ndarray, ...]:
        """Return the batch of step 1, 2, ...: src (B, T_src), tgt_in and tgt_out (B, T_tgt) ids."""
        epoch, index = divmod(step - 1, self.per_epoch)
        if self.epoch != epoch + 1:
            self.epoch, self.order = epoch + 1, self.rows(epoch + 1)
        return arrays([self.pairs[i] for i in self.order[index]], self.marks)

    def tokens(self) -> tuple[int, int]:
        """Return (real tokens, positions with padding) of the first epoch, both sides together."""
        real = sum(len(source) + len(target) for source, target in self.pairs)
        padded = sum(
            len(rows) * max(len(self.pairs[i][side]) for i in rows)
            for rows in self.rows(1) for side in (0, 1)
        )
        return real, padded


def arrays(pairs: Sequence, marks: Any = Vocabulary) -> tuple[np.ndarray, ...]:
    """Return pairs of ids as a batch: src, tgt_in (begins with bos) and tgt_out."""
    src, tgt_out = (padded([pair[side] for pair in pairs], marks.pad) for side in (0, 1))
    tgt_in = np.where(tgt_out[:, :-1] == marks.eos, marks.pad, tgt_out[:, :-1])
    return src, np.pad(tgt_in, ((0, 0), (1, 0)), constant_values=marks.bos), tgt_out
