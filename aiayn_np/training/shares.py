"""Shares of a batch: its gradient as the sum of the gradients of some of its rows at a time.

A share with n_i of the n target tokens has the mean loss over its own tokens, loss_i. The loss of
the batch is the mean over all its target tokens:

    loss = sum_i (n_i / n) loss_i,     so     grad = sum_i (n_i / n) grad_i.

The plain mean of the gradients would be wrong: shares have different numbers of tokens, and a share
may have none. Backward takes the gradient of the loss as its argument. So share i starts its
backward with n_i / n instead of 1, and the gradients only have to be summed.

Several processes compute their shares at the same time (ranks.py). A process may also compute
several shares one after the other (`accumulate`). Then only one share at a time needs memory, so a
large batch fits into a small machine. Each share has its own generator for dropout. For every batch
these generators are made anew from the given one.
"""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..module import Rng
from .optimizer import Adam
from .ranks import ALONE, Alone


@dataclass
class Share:
    """Some rows of a batch, with `weight` of its target tokens; then what was found for them.

    not_finite : the name of the first tensor that is not finite, if the loss is not, else ""
    """

    weight: float
    rows: tuple
    rng: Rng
    loss: float = 0.0
    scores: Any = None
    not_finite: str = ""


@dataclass
class Shares:
    """Cut every batch for all ranks, each with `accumulate` shares; join what they find.

    pad : the id of a target that does not count
    """

    pad: int = 0
    ranks: Alone = ALONE
    accumulate: int = 1

    def of(self, batch: tuple, rng: Rng) -> list[Share]:
        """Return the shares of this rank; one process with one share has the batch as it is."""
        n, first = self.ranks.size * self.accumulate, self.ranks.rank * self.accumulate
        if n == 1:
            self.mine = [Share(1.0, batch, rng)]
            return self.mine
        self.rng: Any = rng
        self.after: Any = copy.deepcopy(rng)  # without dropout `rng` keeps its state, so that any
                                              # number of ranks draws the batches of one process
        seeds = self.after.integers(2**63, size=n) if self.after else ()
        self.rngs: list = [np.random.default_rng(seed) for seed in seeds] or [None] * n
        self.fresh = states(self.rngs)
        self.mine = [Share(weight, rows, self.rngs[i]) for i, weight, rows in
                     cut(batch, n, self.pad) if first <= i < first + self.accumulate]
        return self.mine

    def joined(self, optimizer: Adam) -> tuple[float, Any, str]:
        """Return (loss, scores, not_finite) of the batch, and sum the gradients of all ranks."""
        found = [(one.weight, one.loss, one.scores, one.not_finite) for one in self.mine]
        if self.ranks.size * self.accumulate == 1:
            return found[0][1:]
        told = self.ranks.all((states(self.rngs) != self.fresh, found))
        if self.rng and any(drawn for drawn, _ in told):
            self.rng.bit_generator.state = self.after.bit_generator.state
        self.ranks.sum_in_place(optimizer.gradients())
        shares = [share for _, of_rank in told for share in of_rank]
        loss = sum(weight * loss for weight, loss, _, _ in shares)
        scores = np.sum([weight * np.asarray(s) for weight, _, s, _ in shares], axis=0)
        return loss, scores, next(filter(None, (name for *_, name in shares)), "")


def cut(batch, n, pad):
    """Cut a batch into n shares; yield (number, weight, rows) of each share with a target."""
    count = int(np.count_nonzero(batch[-1] != pad))
    for i, rows in enumerate(zip(*(np.array_split(x, n) for x in batch))):
        own = int(np.count_nonzero(rows[-1] != pad))
        if own or not count:
            yield i, own / max(count, 1), rows


def states(rngs):
    """Return the states of generators; drawing numbers changes a state."""
    return [rng and rng.bit_generator.state for rng in rngs]
