"""Estimate the memory that a training needs, to refuse a model that is too large to be made."""

import numpy as np

from ..checks import memory_bytes
from ..training.loop import AVERAGED

COPIES = 4 + AVERAGED + 3  # value, gradient, m, v; states for averaging; and their average
WIDE, INNER, LOGITS = 30, 3, 3  # arrays of a step, d_model or d_ff wide in a layer; logits


def parameter_count(vocab_size: int, *, N: int, d_model: int, d_ff: int, **_: object) -> int:
    """Count the numbers in a Transformer's parameters; the parameters of variants do not count."""
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    return vocab_size * d_model + N * (12 * d_model**2 + 2 * feed_forward + 10 * d_model)


def training_bytes(vocab_size: int, positions: int, *, N: int, d_model: int, d_ff: int,
                   dtype: str = "float32", **_: object) -> int:
    """Estimate the bytes that a training needs for its parameters and for the arrays of a step.

    positions : number of ids, on one side, that a process computes at once
    """
    count = parameter_count(vocab_size, N=N, d_model=d_model, d_ff=d_ff)
    step = positions * (N * (WIDE * d_model + INNER * d_ff) + LOGITS * vocab_size)
    return np.dtype(dtype).itemsize * (COPIES * count + step)


def check_fits(config: dict, vocab_size: int, longest: int) -> None:
    """Raise MemoryError if the training of a config needs more memory than this machine has.

    longest : most tokens of a row; it counts where the config has a number of rows
    """
    options, memory = config["train"], memory_bytes()
    rows = options.get("batch_size", 0) // options["accumulate"]
    needed = training_bytes(vocab_size, rows * longest, dtype=config["dtype"], **config["model"])
    if needed > memory:
        raise MemoryError(f"training needs about {needed / 1e9:.3g} GB of memory, this machine has"
                          f" {memory / 1e9:.3g}; a smaller model, vocabulary or batch needs less")
