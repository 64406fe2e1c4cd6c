"""One training step of the same encoder-decoder in this project, in PyTorch (in_torch.py), in JAX
(in_jax.py), and its matrix products alone.

All models are the same: post-norm, one E for source, target and output, times sqrt(d_model) where
it embeds, sinusoidal positions, attention without biases, feed-forward with biases, layer norm with
eps = 1e-6, no dropout, no norm after the stacks. They have mean cross-entropy, Adam(0.9, 0.98,
1e-9), float32, and the same initial values and batches. A step is: gradients to zero, forward,
loss, backward, Adam.
"""

import itertools
import multiprocessing
import os
import time
from dataclasses import replace
from functools import partial

import numpy as np
from common import CONFIGS, PAPER, batches, our_model, rate


def ours(c, ranks=None):
    """(number of parameters, step) of one process or of ranks; step(ids, i) returns the loss."""
    from aiayn_np import Adam, LabelSmoothedCrossEntropy
    from aiayn_np.training.loop import gradient_of, token_nats
    from aiayn_np.training.memory import keep_freed_memory
    from aiayn_np.training.ranks import ALONE, shared_gradient

    model = our_model(c)
    adam = Adam(model.parameters())
    criterion = LabelSmoothedCrossEntropy(0.0, pad=0)
    gradient = shared_gradient(model, criterion, token_nats, adam, ranks or ALONE, 1)
    gradient = gradient or partial(gradient_of, model, criterion, token_nats)
    keep_freed_memory()

    def step(ids, i):
        adam.zero_grad()
        loss, *_ = gradient((ids, ids[:, :-1], ids[:, 1:]), None)
        adam.step(rate(i))
        return float(loss)

    return sum(p.value.size for p in model.parameters()), step


def floor(c, convert=np.asarray):
    """The matrix products of the step alone, in the memory layout that the layers use.

    A linear map has one product forward and two backward, an attention two and four. `convert`
    makes other arrays of NumPy's.
    """
    from aiayn_np.training.memory import keep_freed_memory

    keep_freed_memory()                                        # page faults are no products
    rng = np.random.default_rng(0)

    def draw(*shape):
        return rng.standard_normal(shape, dtype=np.float32)

    def heads(T):                                              # as split_heads leaves them
        return convert(draw(c.B, T, c.h, c.d_model // c.h).swapaxes(1, 2))

    maps, attentions = c.products()
    linear = [(times, *map(convert, (draw(n, a), draw(a, b), draw(n, b))))
              for times, n, a, b in maps]
    attention = [(times, heads(T_q), heads(T_k), heads(T_k), convert(draw(c.B, c.h, T_q, T_k)),
                  heads(T_q)) for times, T_q, T_k in attentions]

    def step(ids, i):
        for times, x, W, grad in linear:
            for _ in range(times):
                _ = x @ W, x.T @ grad, grad @ W.T
        for times, Q, K, V, weights, grad in attention:
            for _ in range(times):
                _ = Q @ K.mT, weights @ V
                _ = grad @ V.mT, weights.mT @ grad, weights.mT @ Q, weights @ K

    return None, step


def make(what, c, threads=1):
    """(number of parameters, step) of a contestant; a floor has None for the number."""
    if what == "floor":
        return floor(c)
    if what == "floor in PyTorch":
        import torch

        torch.set_num_threads(threads)
        return floor(c, torch.from_numpy)
    if what == "JAX":
        from in_jax import in_jax

        return in_jax(c)
    if what.startswith("PyTorch"):
        from in_torch import in_ddp, in_torch

        if what == "PyTorch, DDP":
            return in_ddp(c, threads)
        return in_torch(c, threads, compiled=what == "PyTorch, compiled")
    if what == "ours, ranks":
        from aiayn_np.training.ranks import launched

        return ours(c, ranks=launched())
    return ours(c)


def work(what, threads, config, rows=None, seed=0):
    """Yield the number of parameters, and then for every step its seconds and its loss.

    There are two kinds of seconds: those that pass, and those of the processor for this process.
    Drawing the batch is not timed. `rows` replaces the number of rows of the config.
    """
    c = PAPER if config == "base" else CONFIGS[config]
    c = replace(c, B=rows) if rows else c
    count, step = make(what, c, threads)
    yield {"parameters": count, "pids": others()}
    for i, ids in zip(itertools.count(), batches(c, seed)):
        started, work_started = time.perf_counter(), time.process_time()
        loss = step(ids, i)
        yield {"seconds": time.perf_counter() - started, "loss": loss, "step": i + 1,
               "processor": time.process_time() - work_started}


def others():
    """The processes that work with this one: ranks of MPI, and its children."""
    from aiayn_np.training.ranks import world

    comm = world()
    children = multiprocessing.active_children()
    return (comm.allgather(os.getpid()) if comm else []) + [child.pid for child in children]
