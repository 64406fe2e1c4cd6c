"""Data-parallel training: the paper's eight GPUs (Sec. 5.2) in miniature, as threads.

Every worker has a replica of the model. It shares the values, which a worker only reads, and has
its own gradients, to which a worker adds. Layers hold nothing else that changes. A batch is cut
into as many shares as there are workers, and each worker runs forward, loss and backward on its
share. NumPy lets other threads run while it calculates.

The workers must find the gradient of the mean loss over all target tokens of the batch. A worker
with n_i of the n tokens computes the mean loss over its own tokens, loss_i, and

    loss = sum_i (n_i / n) loss_i,     so     grad = sum_i (n_i / n) grad_i.

The plain mean of the workers' gradients would be wrong: their shares have different numbers of
tokens, and a share may have none. Backward takes the gradient of the loss as its argument. So
worker i starts its backward with n_i / n instead of 1, and the gradients only have to be summed.
A sum of floats depends on its order. It is taken in the order of the workers, not in the order in
which they end, so that a run repeats to the bit. Each worker has its own generator, made from the
given one anew for every batch, so that a run with dropout repeats too.

One worker and several workers compute the same numbers up to rounding, because their products have
different sizes.

A worker may also compute its rows in several shares, one after the other (`accumulate`). The sum is
the same, and only one share at a time needs memory, so that a large batch fits into a small
machine. In ranks.py the workers are processes, on one machine or on many.
"""

import contextvars
import copy
import math
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ..checks import check_sizes
from ..module import Cache, Module, leaves
from .loss import ModelLoss

MOST = 1000  # workers, each of which has a copy of the model, and shares of a worker

M = TypeVar("M", bound=Module)


@dataclass
class Share:
    """What one worker computed.

    weight : the worker's part of the target tokens of the batch
    scores : what `measure` found in the loss's cache
    cache : the model's, to find out what went wrong; None where it is in another process, or had to
        make room for the next share
    """

    weight: float
    loss: float
    scores: object
    cache: Cache | None


def check_team(workers: int, accumulate: int) -> None:
    """Numbers of workers, and of shares for each, that a machine can use; else ValueError."""
    check_sizes(workers=workers, accumulate=accumulate)
    for name, n in (("workers", workers), ("accumulate", accumulate)):
        if n > MOST:
            raise ValueError(f"{name} must be at most {MOST}, got {name}={n}")


def blas() -> Any:
    """What sets the number of BLAS's threads; ImportError without threadpoolctl."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        raise ImportError("threadpoolctl is not installed; several workers need it:"
                          " pip install threadpoolctl") from None
    return ThreadpoolController()


def replica(model: M) -> M:
    """A copy of a model that shares the values of the parameters and has its own gradients.

    Raises ValueError if a layer has a backward of its own: it would add to the model's gradients.
    """
    for name, layer in leaves(model, Module):
        if "backward" in vars(layer):
            raise ValueError(f"{name}.backward was replaced on the object, and a thread's copy"
                             " of it would add to the gradients of the original: replace it on the"
                             " class")
    twins = {id(p): copy.copy(p) for p in model.parameters()}
    for twin in twins.values():
        twin.grad = np.zeros_like(twin.value)
    return copy.deepcopy(model, dict(twins))


def parts_of(model):
    """The layers of a model and everything in them; a list whose objects say what was replaced."""
    return [part for _, layer in leaves(model, Module) for part in (layer, *vars(layer).values())]


class Workers:
    """`n` threads that compute the gradient of a batch together.

    model : the workers add to its gradients what one backward over the whole batch would add
    criterion : a loss that is the mean over the targets that are not `criterion.pad`
    measure : a function of the loss's cache, called for each share
    accumulate : shares that each worker computes, one after the other
    """

    def __init__(self, model: Module, criterion: Any, n: int = 1,
                 measure: Callable[[Cache], Any] | None = None, *, accumulate: int = 1) -> None:
        check_team(n, accumulate)
        self.criterion, self.measure, self.accumulate = criterion, measure, accumulate
        self.models: list[Any] = [model] * n
        self.replicate()
        self.process = os.getpid()
        self.threads = ThreadPoolExecutor(n)            # it starts them when they are needed
        self.blas: Any = blas() if n > 1 else None
        self.blas_threads = threads_for(n, self.blas) if n > 1 else None

    def gradients(self, src: np.ndarray, tgt_in: np.ndarray, tgt_out: np.ndarray, *,
                  rng: np.random.Generator | None = None) -> list[Share]:
        """Add the gradient of the mean loss of a batch to the model's; return a list of Share.

        src (B, T_src), tgt_in and tgt_out (B, T_tgt) ids; `rng` for dropout. One share alone draws
        from `rng` itself. Raises what model and criterion raise.
        """
        if os.getpid() != self.process:
            raise RuntimeError("Workers must be used in the process that made them, not in a copy"
                               " of it: make new ones here")
        batch, n = (src, tgt_in, tgt_out), len(self.models) * self.accumulate
        if n == 1:
            return [self.share(self.models[0], 1.0, batch, rng)]
        rngs = Children(rng, n)
        jobs: list[list] = [[] for _ in self.models]
        for i, weight, ids in cut(batch, n, self.criterion.pad):
            jobs[i // self.accumulate].append((weight, ids, rngs.own[i]))
        shares = self.work(self.models[0], jobs[0]) if len(jobs) == 1 else self.run(jobs)
        rngs.settle(rngs.drawn())
        for parameter, *twins in self.parameters:
            for twin in twins:
                parameter.grad += twin.grad
        return shares

    def replicate(self) -> None:
        """Make a replica of the model, as it is now, for each other thread."""
        model = self.models[0]
        self.made_of = parts_of(model)
        self.models[1:] = [replica(model) for _ in self.models[1:]]
        self.parameters = list(zip(*(list(m.parameters()) for m in self.models)))

    def prepare(self) -> None:
        """Give the replicas what the model is now, and clear their gradients."""
        now = parts_of(self.models[0])
        if [*map(id, now)] != [*map(id, self.made_of)]:  # a rate, a method or a layer was replaced
            self.replicate()
        for parameter, *twins in self.parameters:
            for twin in twins:
                twin.value = parameter.value        # it may have been assigned to since
                twin.zero_grad()

    def run(self, jobs: list[list]) -> list[Share]:
        """Run the jobs of all threads at once; return their shares.

        No thread is left working, however this ends.
        """
        self.prepare()
        futures: list = []
        gate, go = threading.Event(), list[bool]()

        def work(*own):                             # it waits until `futures` holds all threads
            gate.wait()
            return self.work(*own) if go else []

        with self.blas.limit(limits=self.blas_threads, user_api="blas"):
            try:
                for own in zip(self.models, jobs):  # the context carries np.errstate along
                    futures.append(
                        self.threads.submit(contextvars.copy_context().run, work, *own))
                go.append(True)
            finally:
                gate.set()
                wait_for(futures)
        return [share for future in futures for share in future.result()]

    def work(self, model: Module, jobs: list) -> list[Share]:
        """Run the jobs of one thread one after the other; return their shares."""
        return [self.share(model, *job) for job in jobs]

    def share(self, model: Module, weight: float, batch: Sequence[np.ndarray],
              rng: np.random.Generator | None) -> Share:
        """Forward, loss and backward of one share."""
        src, tgt_in, tgt_out = batch
        whole = ModelLoss(model, self.criterion)
        loss, cache = whole.forward(src, tgt_in, targets=tgt_out, rng=rng)
        whole.backward(weight, cache)
        kept = self.accumulate == 1 or not math.isfinite(loss)
        scores = self.measure and self.measure(cache.loss)
        return Share(weight, loss, scores, cache.model if kept else None)


def threads_for(n, controller):
    """Threads of BLAS for each of n workers on this machine: no more than it is allowed now."""
    allowed = [library["num_threads"] for library in controller.select(user_api="blas").info()]
    return max(1, min([(os.cpu_count() or 1) // n, *allowed]))


def wait_for(futures):
    """Wait until all are done; raise an interruption, such as Ctrl-C, only then."""
    interruption = None
    while not all(future.done() for future in futures):
        try:
            wait(futures)
        except BaseException as error:              # a signal handler may raise anything
            interruption = error
    if interruption is not None:
        raise interruption


def cut(batch, n, pad):
    """Yield (number, weight, rows) of each of the n shares of a batch that has a target."""
    count = int(np.count_nonzero(batch[2] != pad))
    for i, ids in enumerate(zip(*(np.array_split(x, n) for x in batch))):
        own = int(np.count_nonzero(ids[2] != pad))
        if own or not count:
            yield i, own / max(count, 1), ids


class Children:
    """Generators for n shares, made from `rng`; n times None if `rng` is None.

    If nothing was drawn from any of them, `rng` is set back. So a model without dropout sees the
    same batches later, whatever the number of workers.
    """

    def __init__(self, rng, n):
        self.rng, self.before = rng, rng and rng.bit_generator.state
        seeds = [] if rng is None else rng.integers(2**63, size=n)
        self.own: list = [np.random.default_rng(seed) for seed in seeds] or [None] * n
        self.fresh = self.states()

    def states(self):
        return [child.bit_generator.state for child in self.own if child]

    def drawn(self):
        """Whether a number was drawn from one of them."""
        return self.states() != self.fresh

    def settle(self, drawn):
        """Set `rng` back if nothing was drawn."""
        if self.rng is not None and not drawn:
            self.rng.bit_generator.state = self.before
