"""Data-parallel training: the paper's eight GPUs (Sec. 5.2) in miniature, as threads.

Every worker has a replica of the model: the same values, for it only reads them, and gradients of
its own, for it adds to them. A batch is cut into as many shares as there are workers, and each runs
forward, loss and backward on its share. That is all that layers need: they hold nothing else that
changes, and NumPy lets other threads run while it calculates.

What has to come out is the gradient of the mean loss over all target tokens of the batch. A share
with n_i of the n tokens knows the mean over its own, loss_i, and

    loss = sum_i (n_i / n) loss_i,     so     grad = sum_i (n_i / n) grad_i.

Not the plain mean of the workers: their shares have different numbers of tokens, one may have none.
Since backward takes the gradient of the loss as its argument, worker i just starts it with n_i / n
instead of 1, and the sum is left. It is taken in the order of the workers and not in the order in
which they end, because a sum of floats depends on its order: so a run repeats to the bit. And so
that it does with dropout, every worker draws from a generator of its own, which is made from the
given one anew for every batch.

One worker and several compute the same but for rounding (the products have other sizes). The same
with processes in place of threads, which is faster for small models, is in processes.py.
"""

import contextlib
import contextvars
import copy
import os
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np
from threadpoolctl import ThreadpoolController

from .checks import check_sizes
from .module import Cache


@dataclass
class Share:
    """What one worker computed: `weight` is its part of the target tokens of the batch, `scores`
    what the team's `measure` says of it; `cache` is there for whoever looks for what went wrong."""

    weight: float
    loss: float
    scores: object
    cache: Cache | None


def replica(model):
    """A copy of a model whose parameters have the same values (no copies) and own gradients."""
    twins = {id(p): copy.copy(p) for p in model.parameters()}
    for twin in twins.values():
        twin.grad = np.zeros_like(twin.value)
    return copy.deepcopy(model, dict(twins))


class Workers:
    """`n` threads that compute the gradient of a batch together.

    model : its gradients are added to, as by one backward over the whole batch
    criterion : a loss that is the mean over the targets that are not `criterion.pad`
    measure : a function of the loss's cache, called for each share
    """

    def __init__(self, model, criterion, n=1, measure=None):
        check_sizes(workers=n)
        self.criterion, self.measure = criterion, measure
        self.models = [model, *(replica(model) for _ in range(n - 1))]
        self.parameters = list(zip(*(list(m.parameters()) for m in self.models)))
        self.threads = ThreadPoolExecutor(n)            # it starts them when they are needed
        self.blas, self.blas_threads = ThreadpoolController(), max(1, (os.cpu_count() or 1) // n)

    def gradients(self, src, tgt_in, tgt_out, *, rng=None):
        """Add the gradient of the mean loss of a batch to the model's; return a list of Share.

        src (B, T_src), tgt_in and tgt_out (B, T_tgt) ids; `rng` for dropout. One worker draws from
        `rng` itself. Raises what model and criterion raise.
        """
        batch = src, tgt_in, tgt_out
        if len(self.models) == 1:
            return [self.share(self.models[0], 1.0, batch, rng)]
        self.prepare()
        with (children(rng, len(self.models)) as rngs,
              self.blas.limit(limits=self.blas_threads, user_api="blas")):
            shares = self.run(list(self.jobs(batch, rngs)))
        for parameter, *twins in self.parameters:
            for twin in twins:
                parameter.grad += twin.grad
        return shares

    def prepare(self):
        """Replicas have the values of now, and no gradient."""
        for parameter, *twins in self.parameters:
            for twin in twins:
                twin.value = parameter.value        # it may have been assigned to since
                twin.zero_grad()

    def run(self, jobs):
        """The shares of some jobs, all at once."""
        futures = [
            self.threads.submit(contextvars.copy_context().run, self.share, *job)
            for job in jobs                                 # np.errstate is part of the context
        ]
        wait(futures)
        return [future.result() for future in futures]

    def jobs(self, batch, rngs):
        """Yield (model, weight, share of the batch, rng); a share without a target is left out."""
        n = len(self.models)
        count = int(np.count_nonzero(batch[2] != self.criterion.pad))
        for model, rng, *ids in zip(self.models, rngs, *(np.array_split(x, n) for x in batch)):
            own = int(np.count_nonzero(ids[2] != self.criterion.pad))
            if own or not count:
                yield model, own / max(count, 1), ids, rng

    def share(self, model, weight, batch, rng):
        """Forward, loss and backward of one worker."""
        src, tgt_in, tgt_out = batch
        logits, cache = model.forward(src, tgt_in, rng=rng)
        loss, loss_cache = self.criterion.forward(logits, targets=tgt_out)
        model.backward(self.criterion.backward(weight, loss_cache), cache)
        return Share(weight, loss, self.measure and self.measure(loss_cache), cache)


@contextlib.contextmanager
def children(rng, n):
    """Generators for n workers, made from `rng`, which stays as it was if none of them is used.

    So a model without dropout sees the same batches after it, whatever the number of workers.
    """
    if rng is None:
        yield [None] * n
        return
    before = rng.bit_generator.state
    own = [np.random.default_rng(seed) for seed in rng.integers(2**63, size=n)]
    unused = [child.bit_generator.state for child in own]
    yield own
    if [child.bit_generator.state for child in own] == unused:
        rng.bit_generator.state = before
