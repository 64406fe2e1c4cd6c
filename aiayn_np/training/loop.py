"""Training: batch, forward, loss, backward, rate, step, and again (Sec. 5).

`training_steps` is the loop of the toy tasks (toys.py) and of all runs (runs/run.py).
"""

import copy
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..module import Cache, Module, Rng
from .checks import check_finite, first_not_finite
from .memory import keep_freed_memory
from .optimizer import Adam
from .shares import Shares
from .threads import blas_threads

AVERAGED, AVERAGED_EVERY = 5, 10  # states in the average for validation, steps between them


@dataclass
class Step:
    """One step of `training_steps`.

    batch : (*inputs, targets)     scores : the measured numbers     seconds : since the start
    """

    step: int
    batch: tuple
    scores: Any
    rate: float
    seconds: float


def token_scores(loss_cache: Cache) -> tuple[float, float]:
    """Return the cross-entropy without smoothing, and the share of right tokens."""
    right = loss_cache.log_p.argmax(axis=-1) == loss_cache.targets
    return token_nats(loss_cache), float(right[loss_cache.real].mean())


def token_nats(loss_cache: Cache) -> float:
    """Return the mean cross-entropy of the real targets, without smoothing."""
    log_p_target = np.take_along_axis(loss_cache.log_p, loss_cache.targets[..., None], axis=-1)
    return float(-log_p_target[..., 0][loss_cache.real].mean())


def training_steps(model: Module, criterion: Any, optimizer: Adam, batch_of: Callable[[int], tuple],
                   rate_of: Callable[[int], float], *, steps: int, rng: Rng,
                   measure: Callable[[Cache], Any] = token_scores, shares: Shares | None = None,
                   threads: int | None = None) -> Iterator[Step]:
    """Take the optimizer's next step and all others up to `steps`; yield a Step after each.

    batch_of : step -> (*inputs, targets)     rate_of : step -> learning rate
    rng : for dropout             measure : cache of the loss -> scores of a Step
    shares : cuts every batch into shares, computed in turn or by several processes; None for one

    Raises FloatingPointError, before the step is taken, when loss or a gradient is not finite.
    """
    keep_freed_memory()
    shares, started = shares or Shares(), time.perf_counter()
    for step in range(optimizer.t + 1, steps + 1):
        with blas_threads(threads):
            batch = batch_of(step)                                            # batch
            optimizer.zero_grad()
            for share in shares.of(batch, rng):                               # most often only one
                *inputs, targets = share.rows
                logits, cache = model.forward(*inputs, rng=share.rng)         # forward
                loss, loss_cache = criterion.forward(logits, targets=targets)  # loss
                model.backward(criterion.backward(share.weight, loss_cache), cache)  # backward
                share.loss, share.scores = loss, measure(loss_cache)
                share.not_finite = "" if np.isfinite(loss) else first_not_finite(model, cache)
                del logits, cache, loss_cache                  # free before the next forward
            loss, scores, not_finite = shares.joined(optimizer)
            check_finite(step, loss, not_finite, model, optimizer)
            rate = rate_of(step)                                              # rate
            optimizer.step(rate)                                              # step
        yield Step(step, batch, scores, rate, time.perf_counter() - started)


def validated(model: Module, records: Iterable, recent: deque, validate: Callable[[Any], None], *,
              every: int, last: int, average_every: int = AVERAGED_EVERY,
              threads: int | None) -> Iterator:
    """Yield the records of a training up to the first record that is `solved`.

    Every `every` steps and after the last one, `validate` writes its result into the record. Every
    `average_every` steps the model's state is appended to `recent`, for the average.
    """
    for record in records:
        if record.step % average_every == 0:
            recent.append(model.state_dict())
        if record.step % every == 0 or record.step == last:
            with blas_threads(threads):
                validate(record)
        yield record
        if record.solved:
            return


def averaged(model: Any, states: Sequence[dict]) -> Any:
    """Return a copy of the model with the mean of the states; without states, an equal copy.

    A value that no step has changed stays as it is, to the bit.
    """
    average = copy.deepcopy(model)
    if states:
        values = {name: [state[name] for state in states] for name in states[0]}
        average.load_state_dict({
            name: v[0] if all(np.array_equal(v[0], x) for x in v[1:]) else np.mean(v, axis=0)
            for name, v in values.items()})
    return average
