"""Batches of pairs of similar length, each of about as many tokens (Sec. 5.1)."""

import numpy as np

from ..checks import check_seed, check_sizes
from .vocabulary import BOS, EOS, PAD

SHUFFLED = 3  # lengths of the shorter side that differ by less than this come in any order


class Batches:
    """Every pair once in an epoch, in batches of at most `budget` tokens on each side.

    pairs : list of (source, target), arrays of ids that end with EOS
    budget : a batch has at most this many positions in its sources, padding included, and in its
        targets too; the paper's is about 25 000
    seed : with the number of a step it is all that the batch of that step depends on, so a run can
        be taken up at any step

    Pairs are sorted by the length of their longer side, and cut where the budget is full: since
    that depends on lengths alone, all epochs have the same number of batches. Which pairs of equal
    length come together, and the order of the batches, are drawn anew for each epoch.
    """

    def __init__(self, pairs, budget, seed):
        check_sizes(budget=budget)
        check_seed(seed)
        if not pairs:
            raise ValueError("pairs must hold at least one pair, got none")
        self.pairs, self.budget, self.seed = pairs, budget, seed
        lengths = np.array([[len(source), len(target)] for source, target in pairs])
        self.longer, self.shorter = lengths.max(axis=1), lengths.min(axis=1)
        if self.longer.max() > budget:
            raise ValueError(f"budget must be at least the longest sentence, {self.longer.max()}"
                             f" tokens, got budget={budget}")
        self.ends = self.cuts(np.sort(self.longer))
        self.per_epoch = len(self.ends) + 1
        self.epoch, self.order = 0, []

    def cuts(self, longer):
        """Where sorted lengths are cut: rows times longest stays within the budget."""
        ends, start = [], 0
        for i, length in enumerate(longer.tolist()):
            if (i + 1 - start) * length > self.budget:
                ends.append(i)
                start = i
        return ends

    def rows(self, epoch):
        """For each batch of an epoch (1, 2, ...) the indices of its pairs."""
        rng = np.random.default_rng([self.seed, epoch])
        shorter = self.shorter + SHUFFLED * rng.random(len(self.pairs))
        batches = np.split(np.lexsort((shorter, self.longer)), self.ends)
        return [batches[i] for i in rng.permutation(len(batches))]

    def batch(self, step):
        """The batch of step 1, 2, ...: src (B, T_src), tgt_in and tgt_out (B, T_tgt) ids."""
        epoch, index = divmod(step - 1, self.per_epoch)
        if self.epoch != epoch + 1:
            self.epoch, self.order = epoch + 1, self.rows(epoch + 1)
        return arrays([self.pairs[i] for i in self.order[index]])

    def tokens(self):
        """(real tokens, positions with padding) of the first epoch, of both sides together."""
        real = sum(len(source) + len(target) for source, target in self.pairs)
        padded = sum(
            len(rows) * max(len(self.pairs[i][side]) for i in rows)
            for rows in self.rows(1) for side in (0, 1)
        )
        return real, padded


def arrays(pairs):
    """Pairs as a batch: src, tgt_in (shifted right, so that it begins with BOS), tgt_out."""
    src, tgt_out = (padded([pair[side] for pair in pairs]) for side in (0, 1))
    tgt_in = np.where(tgt_out[:, :-1] == EOS, PAD, tgt_out[:, :-1])
    return src, np.pad(tgt_in, ((0, 0), (1, 0)), constant_values=BOS), tgt_out


def padded(rows):
    """Rows of ids as one array (B, T), short ones filled with PAD."""
    out = np.full((len(rows), max(map(len, rows))), PAD)
    for row, ids in zip(out, rows):
        row[: len(ids)] = ids
    return out
