"""The gradient of a batch: whole, or as the sum of the gradients of shares of its rows.

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
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import check_sizes
from ..module import Cache, Module, Rng
from .checks import first_not_finite
from .optimizer import Adam
from .ranks import ALONE, Alone


def gradient_of(model: Module, criterion: Any, measure: Callable[[Cache], Any], batch: tuple,
                rng: Rng, weight: float = 1.0) -> tuple[float, Any, str]:
    """Add the gradient of a batch, times `weight`, to the parameters' gradients.

    Returns (loss, `measure` of the loss's cache, name). The name is "" for a finite loss, else that
    of the first tensor that is not finite.
    """
    *inputs, targets = batch
    logits, cache = model.forward(*inputs, rng=rng)                           # forward
    loss, loss_cache = criterion.forward(logits, targets=targets)             # loss
    model.backward(criterion.backward(weight, loss_cache), cache)             # backward
    not_finite = "" if np.isfinite(loss) else first_not_finite(model, cache)
    return loss, measure(loss_cache), not_finite


@dataclass
class SharedGradient:
    """Add the gradient of a batch to the gradients of the parameters.

    Each rank computes its part of the rows, in `accumulate` shares. A call with a batch and a
    generator returns the triple of `gradient_of`, the same on all ranks.
    """

    model: Module
    criterion: Any
    measure: Callable[[Cache], Any]
    optimizer: Adam
    ranks: Alone = ALONE
    accumulate: int = 1

    def __post_init__(self):
        check_sizes(accumulate=self.accumulate)

    def __call__(self, batch: tuple, rng: Rng) -> tuple[float, Any, str]:
        n, first = self.ranks.size * self.accumulate, self.ranks.rank * self.accumulate
        if n == 1:
            return gradient_of(self.model, self.criterion, self.measure, batch, rng)
        after: Any = copy.deepcopy(rng)      # without dropout `rng` keeps its state, so that any
                                             # number of ranks draws the batches of one process
        seeds = after.integers(2**63, size=n) if after else ()
        rngs: list = [np.random.default_rng(seed) for seed in seeds] or [None] * n
        fresh = states(rngs)
        mine = [self.share(weight, rows, rngs[i])
                for i, weight, rows in cut(batch, n, self.criterion.pad)
                if first <= i < first + self.accumulate]
        told = self.ranks.all((states(rngs) != fresh, mine))
        if rng and any(drawn for drawn, _ in told):
            rng.bit_generator.state = after.bit_generator.state
        self.ranks.sum_in_place(self.optimizer.gradients())
        shares = [share for _, of_rank in told for share in of_rank]
        loss = sum(weight * loss for weight, loss, _, _ in shares)
        scores = np.sum([weight * np.asarray(s) for weight, _, s, _ in shares], axis=0)
        return loss, scores, next(filter(None, (name for *_, name in shares)), "")

    def share(self, weight: float, rows: tuple, rng: Rng) -> tuple:
        """Return (weight, loss, scores, name of the first tensor that is not finite) of a share."""
        return weight, *gradient_of(self.model, self.criterion, self.measure, rows, rng, weight)


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
