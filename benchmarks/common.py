"""The sizes, batches, learning rates and initial values that all contestants share."""

import os
import shutil
import sys
from dataclasses import dataclass

import numpy as np


def mpiexec():
    """The path of mpiexec: the one that pip has installed beside this Python, else any."""
    beside = os.path.dirname(sys.executable)
    return shutil.which("mpiexec", path=beside) or shutil.which("mpiexec") or "mpiexec"


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

        The logits are counted with swapped widths: x E^T is the backward product of a map by E.
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
PAPER = Config(37000, 512, 8, 2048, 6, 781, 32)  # the base model; 781 rows of 32: 25 000 tokens


def batches(c, seed=0):
    """Yield random ids (B, T) without end; the first of each row is a 1."""
    rng = np.random.default_rng(seed)
    while True:
        ids = rng.integers(1, c.vocab_size, (c.B, c.T))
        ids[:, 0] = 1
        yield ids


def rate(i):
    """The learning rate of step i = 0, 1, ..."""
    return 1e-3 * min(1.0, (i + 1) / 50)


def our_model(c):
    """The model of a Config, in float32."""
    from aiayn_np import Transformer

    model = Transformer(c.vocab_size, N=c.N, d_model=c.d_model, d_ff=c.d_ff, h=c.h, P_drop=0.0,
                        max_len=c.T, rng=np.random.default_rng(0))
    return model.astype(np.float32)


def initial(c):
    """(the values that all start from, by our names; the table of positions (T, d_model))."""
    model = our_model(c)
    return model.state_dict(), model.positions.table(c.T).astype(np.float32)
