"""Helpers of the assertions in properties.py, and `randomise` for every gradient check.

A model that cannot be checked raises TypeError or ValueError here. A wrong result raises
AssertionError.
"""

from typing import TypeVar

import numpy as np

from ..checks import is_integer
from ..module import Module
from .finding import arguments

M = TypeVar("M", bound=Module)

TOLERANCE = {"d": 1e-12, "f": 1e-5}  # relative to the largest number, by dtype: float64, float32


def randomise(layer: M, rng: np.random.Generator | int = 0) -> M:
    """Give the vectors (gamma, beta) and biases of a layer random values; return the layer.

    At first vectors and biases are ones and zeros; with these a wrong formula may be right.
    rng : a Generator or a seed
    """
    rng = np.random.default_rng(rng)
    for name, p in layer.named_parameters():
        if p.value.ndim == 1 or name.rpartition(".")[2] == "b":
            p.value = rng.choice([-1, 1], p.value.shape) * rng.uniform(0.5, 1.5, p.value.shape)
    return layer


def input_names(layer, *choices):
    """Return the tuple among `choices` that has as many names as forward has required inputs."""
    given = arguments(layer.forward)
    for names in choices:
        if len(names) == len(given):
            return names
    wanted = " or ".join(f"forward({', '.join(names)})" for names in choices)
    raise TypeError(f"the model must have {wanted}, got forward({', '.join(given)})")


def find(node, name, default=None):
    """Return attribute `name` of a model, or of the first layer inside that has it."""
    nodes: list = [node]
    seen: list = []
    while nodes:
        node = nodes.pop(0)
        if hasattr(node, name):
            return getattr(node, name)
        if hasattr(node, "forward") and not any(node is s for s in seen):
            seen.append(node)
            nodes += vars(node).values() if hasattr(node, "__dict__") else ()
        nodes += node if isinstance(node, (list, tuple)) else ()
    return default


def vocabulary(model):
    """Return (ids of real tokens, pad or None, vocab_size) of a model."""
    vocab_size, pad = find(model, "vocab_size"), getattr(model, "pad", None)
    if not is_integer(vocab_size):
        raise TypeError(f"the model must have vocab_size, an integer, got {vocab_size!r}")
    real = np.array([i for i in range(vocab_size) if i != pad])
    return real, pad, vocab_size


def output(layer, *arrays, **options):
    """Return the y of one forward; it must be a finite array of floats."""
    returned = layer.forward(*arrays, **options)
    y = returned[0] if isinstance(returned, tuple) and len(returned) == 2 else None
    if not isinstance(y, np.ndarray) or y.dtype.char not in TOLERANCE:
        raise TypeError("forward must return (y, cache) with y a float32 or float64 array, got"
                        f" {getattr(y, 'dtype', type(returned).__name__)}")
    if not np.isfinite(y).all():
        at = np.argwhere(~np.isfinite(y))[0].tolist()
        raise AssertionError(f"the output must be finite, got {y[tuple(at)]} at {at}")
    return y


def steady_output(layer, *arrays):
    """Return the y of two forwards with the same input; check that they are equal."""
    y, again = output(layer, *arrays), output(layer, *arrays)
    if not np.array_equal(y, again):
        raise ValueError("forward must repeat itself, got two results from one input: is there"
                         " dropout without an rng, or does it remember its last call?")
    return y


def must_agree(got, want, what, row=0):
    """Return the largest difference, relative to the largest number; raise if it is too large."""
    if got.shape != want.shape:
        raise AssertionError(f"the output's shape {what}: {got.shape}, must be {want.shape}")
    difference = np.abs(got - want)
    at = np.unravel_index(difference.argmax(), difference.shape)
    relative = float(difference[at] / max(np.abs(want).max(), np.finfo(float).tiny))
    if relative > TOLERANCE[want.dtype.char]:
        where = f"row {row + at[0]}" + (f", position {at[1]}" if want.ndim == 3 else "")
        raise AssertionError(f"the output at {where} {what}: largest change {difference[at]:.2g},"
                             f" {relative:.0e} of the largest number, allowed is"
                             f" {TOLERANCE[want.dtype.char]:.0e}")
    return relative


def matrices(mha):
    """Return ({"Q": W, ...}, {"Q": b, ...}, h) of a multi-head attention; zeros for no bias."""
    W, b, h = {}, {}, mha.h
    for name in "QKVO":
        linear = getattr(mha, f"linear_{name}")
        bias = getattr(linear, "b", None)
        W[name] = getattr(linear.W, "value", linear.W)
        b[name] = np.zeros_like(W[name][0]) if bias is None else getattr(bias, "value", bias)
    return W, b, h
