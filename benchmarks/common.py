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


CONFIGS = {
    "classroom": Config(11, 64, 4, 256, 2, 64, 10),
    "lesson": Config(32, 128, 8, 512, 2, 64, 20),
    "translation": Config(8000, 256, 8, 512, 3, 64, 16),
    "paper-width": Config(11, 512, 8, 2048, 2, 80, 10),
}


def batches(c):
    """Yield random ids (B, T) without end; the first of each row is a 1."""
    rng = np.random.default_rng(0)
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
