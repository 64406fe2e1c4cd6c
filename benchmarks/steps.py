"""One training step of the same encoder-decoder in this project, in PyTorch (in_torch.py), in JAX
(in_jax.py), and as nothing but its matrix products.

Everywhere: post-norm, one E times sqrt(d_model) for source, target and output, sinusoidal
positions, projections without biases, feed-forward with, layer norm with eps = 1e-6, no dropout, no
norm after the stacks, mean cross-entropy, Adam(0.9, 0.98, 1e-9), float32, the same initial values
and batches. A step is: gradients to zero, forward, loss, backward, Adam.
"""

import io
import itertools
import subprocess
import sys
import time
from dataclasses import astuple, dataclass

import numpy as np


@dataclass(frozen=True)
class Config:
    """Sizes of a model and its batch; the target is one token shorter than T."""

    vocab_size: int
    d_model: int
    h: int
    d_ff: int
    N: int
    B: int
    T: int

    def products(self):
        """(times, n, d_in, d_out) of all linear maps and (times, T_q, T_k) of all attentions.

        The logits are counted the other way round: x E^T is the backward product of a map by E.
        """
        n, n_tgt, d, T = self.B * self.T, self.B * (self.T - 1), self.d_model, self.T
        each = [
            (6, n, d, d),          # Q, K, V, O of the encoder; K, V over the memory
            (6, n_tgt, d, d),      # Q, K, V, O of the decoder; Q, O over the memory
            (1, n, d, self.d_ff), (1, n, self.d_ff, d),
            (1, n_tgt, d, self.d_ff), (1, n_tgt, self.d_ff, d),
        ]
        maps = [(times * self.N, n, d_in, d_out) for times, n, d_in, d_out in each]
        maps.append((1, n_tgt, self.vocab_size, d))
        return maps, [(self.N, T, T), (self.N, T - 1, T - 1), (self.N, T - 1, T)]

    def multiplications(self):
        """Scalar multiplications in the matrix products of a step."""
        maps, attentions = self.products()
        linear = sum(times * n * d_in * d_out for times, n, d_in, d_out in maps)
        attention = sum(times * T_q * T_k for times, T_q, T_k in attentions)
        return 3 * linear + 6 * self.B * self.d_model * attention


CONFIGS = {
    "classroom": Config(11, 64, 4, 256, 2, 64, 10),
    "lesson": Config(32, 128, 8, 512, 2, 64, 20),
    "translation": Config(8000, 256, 8, 512, 3, 64, 16),
    "paper-width": Config(11, 512, 8, 2048, 2, 80, 10),
}


def batches(c):
    """Random ids (B, T) without end, the first of each row a 1."""
    rng = np.random.default_rng(0)
    while True:
        ids = rng.integers(1, c.vocab_size, (c.B, c.T))
        ids[:, 0] = 1
        yield ids


def rate(i):
    """Of step i, from 0."""
    return 1e-3 * min(1.0, (i + 1) / 50)


def our_model(c):
    """The model of a Config, in float32."""
    from aiayn_np import Transformer

    model = Transformer(c.vocab_size, N=c.N, d_model=c.d_model, d_ff=c.d_ff, h=c.h, P_drop=0.0,
                        max_len=c.T, rng=np.random.default_rng(0))
    return model.astype(np.float32)


def initial(c):
    """(values that all start from, by our names; table of the positions (T, d_model)).

    Made by another process: aiayn_np asks the C library to keep freed memory (memory.py), and that
    would change what the other libraries do.
    """
    sizes = [str(size) for size in astuple(c)]
    made = subprocess.run([sys.executable, __file__, *sizes], stdout=subprocess.PIPE, check=True)
    arrays = dict(np.load(io.BytesIO(made.stdout)))
    return arrays, arrays.pop("PE")


def write_initial(c, file):
    """The other end: write them as npz."""
    model = our_model(c)
    np.savez(file, PE=model.positions.table(c.T).astype(np.float32), **model.state_dict())


def ours(c, workers=1, workers_as="threads"):
    """(number of parameters, step); step(ids, i) returns the loss."""
    from aiayn_np import Adam, LabelSmoothedCrossEntropy
    from aiayn_np.processes import make_team

    model = our_model(c)
    adam = Adam(model.parameters())
    team = make_team(model, LabelSmoothedCrossEntropy(0.0, pad=0), workers, workers_as)

    def step(ids, i):
        adam.zero_grad()
        shares = team.gradients(ids, ids[:, :-1], ids[:, 1:])
        adam.step(rate(i))
        return float(sum(share.weight * share.loss for share in shares))

    return sum(p.value.size for p in model.parameters()), step


def floor(c, convert=np.asarray):
    """The matrix products of the step alone: forward and two backward of every linear map, two and
    four of every attention, in the layout that the layers use. `convert` gives other arrays."""
    from aiayn_np.memory import keep_freed_memory

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
    """(number of parameters, step) of a contestant; None for a floor, which has none."""
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
        from in_torch import in_torch

        return in_torch(c, threads, compiled=what == "PyTorch, compiled")
    kinds = {"ours": "processes", "ours, threads": "threads"}
    return ours(c, threads, kinds[what]) if what in kinds else ours(c)


def work(what, threads, config):
    """Yield the number of parameters, and then for every step its seconds and its loss.

    Drawing the batch is not timed.
    """
    c = CONFIGS[config]
    count, step = make(what, c, threads)
    yield {"parameters": count}
    for i, ids in zip(itertools.count(), batches(c)):
        started = time.perf_counter()
        loss = step(ids, i)
        yield {"seconds": time.perf_counter() - started, "loss": loss, "step": i + 1}


if __name__ == "__main__":
    write_initial(Config(*map(int, sys.argv[1:])), sys.stdout.buffer)
