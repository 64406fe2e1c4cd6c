"""One training step of the same encoder-decoder in this project, in PyTorch (in_torch.py) and in
JAX (in_jax.py).

All models are the same: post-norm, one E for source, target and output, times sqrt(d_model) where
it embeds, sinusoidal positions, attention without biases, feed-forward with biases, layer norm with
eps = 1e-6, no dropout, no norm after the stacks. They have mean cross-entropy, Adam(0.9, 0.98,
1e-9), float32, and the same initial values and batches. A step is: gradients to zero, forward,
loss, backward, Adam.
"""

import itertools
import os
import time

from common import CONFIGS, batches, our_model, rate


def ours(c, ranks=None):
    """(number of parameters, step) of one process or of ranks; step(ids, i) returns the loss."""
    from aiayn_np import Adam, LabelSmoothedCrossEntropy
    from aiayn_np.training.loop import token_nats, training_steps
    from aiayn_np.training.ranks import ALONE
    from aiayn_np.training.shares import Shares

    model, now = our_model(c), []
    steps = training_steps(
        model, LabelSmoothedCrossEntropy(0.0, pad=0), Adam(model), lambda _: now.pop(),
        lambda step: rate(step - 1), steps=10**9, rng=None, measure=token_nats,
        shares=Shares(0, ranks or ALONE))

    def step(ids, i):
        now.append((ids, ids[:, :-1], ids[:, 1:]))
        return float(next(steps).scores)

    return sum(p.value.size for p in model.parameters()), step


def make(what, c, threads=1):
    """(number of parameters, step) of a contestant."""
    if what == "JAX":
        from in_jax import in_jax

        return in_jax(c)
    if what.startswith("PyTorch"):
        from in_torch import in_torch

        return in_torch(c, threads)
    if what == "ours, ranks":
        from aiayn_np.training.ranks import launched

        return ours(c, ranks=launched())
    return ours(c)


def work(what, threads, config):
    """Yield the number of parameters, and then for every step its seconds and its loss.

    Drawing the batch is not timed.
    """
    c = CONFIGS[config]
    count, step = make(what, c, threads)
    yield {"parameters": count, "pids": others()}
    for i, ids in zip(itertools.count(), batches(c)):
        started = time.perf_counter()
        loss = step(ids, i)
        yield {"seconds": time.perf_counter() - started, "loss": loss, "step": i + 1}


def others():
    """The processes that work with this one: the ranks of MPI."""
    from aiayn_np.training.ranks import world

    comm = world()
    return comm.allgather(os.getpid()) if comm else []
