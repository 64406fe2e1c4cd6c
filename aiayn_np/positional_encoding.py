"""Positional encodings: Sec. 3.5, and the learned ones of Table 3 (E)."""

import math

import numpy as np

from .checks import check_array, check_gradient, check_positions, check_rng, check_sizes
from .module import Cache, Module, Parameter, Rng


class SinusoidalPositionalEncoding(Module):
    """y = x + PE,   PE(pos, 2i)     = sin(pos / 10000^(2i / d_model))      Sec. 3.5
                     PE(pos, 2i + 1) = cos(pos / 10000^(2i / d_model))

    x (..., T, d_model), whose first position has the number `start`   ->   the same shape
    PE is a constant: the gradient passes through unchanged. (`rng` is an unused argument, so that
    both encodings are constructed by the same call.)
    """
    formula = "y = x + PE"
    position_wise = True

    def __init__(self, d_model: int, max_len: int, *, rng: Rng = None):
        check_sizes(d_model=d_model, max_len=max_len)
        self.d_model, self.max_len = d_model, max_len

    def table(self, T: int, *, start: int = 0) -> np.ndarray:
        """Return PE (T, d_model) from position start on; an odd d_model ends with a sine."""
        check_positions(T, start, self.max_len)
        pos = np.arange(start, start + T)[:, None]                     # (T, 1)
        two_i = np.arange(0, self.d_model, 2)                          # (ceil(d_model / 2),)
        angle = pos / 10000 ** (two_i / self.d_model)                  # (T, ceil(d_model / 2))
        PE = np.empty((T, self.d_model))
        PE[:, 0::2] = np.sin(angle)
        PE[:, 1::2] = np.cos(angle)[:, : self.d_model // 2]
        return PE

    def forward(self, x, *, start=0):
        check_array("x", x, last=("d_model", self.d_model), min_ndim=2)
        PE = self.table(x.shape[-2], start=start).astype(x.dtype)
        return x + PE, Cache(shape=x.shape, dtype=x.dtype)

    def backward(self, grad_y, cache):
        check_gradient(grad_y, cache.shape, cache.dtype)
        # y = x + PE
        return grad_y


class LearnedPositionalEncoding(Module):
    """y = x + E[pos]                                                  Table 3 (E); Gehring et al.

    x (..., T, d_model), whose first position has the number `start`   ->   the same shape
    E (max_len, d_model), drawn N(0, 1/2): the mean square of the sinusoids is 1/2 too.
    rng=None leaves E empty.
    """
    formula = "y = x + E[pos]"
    position_wise = True

    def __init__(self, d_model: int, max_len: int, *, rng: Rng):
        check_sizes(d_model=d_model, max_len=max_len)
        check_rng(rng, or_none=True)
        self.d_model, self.max_len = d_model, max_len
        self.E = Parameter.normal(math.sqrt(1 / 2), (max_len, d_model), rng)

    def table(self, T: int, *, start: int = 0) -> np.ndarray:
        """Return a copy of E for positions start .. start + T, (T, d_model)."""
        check_positions(T, start, self.max_len)
        return self.E.value[start : start + T].copy()

    def forward(self, x, *, start=0):
        check_array("x", x, last=("d_model", self.d_model), parameter=self.E, min_ndim=2)
        y = x + self.table(x.shape[-2], start=start)
        return y, Cache(shape=x.shape, dtype=x.dtype, start=start)

    def backward(self, grad_y, cache):
        check_gradient(grad_y, cache.shape, cache.dtype)
        T = grad_y.shape[-2]
        # y = x + E[start : start + T], the same rows for every sequence
        sequences = tuple(range(grad_y.ndim - 2))
        self.E.grad[cache.start : cache.start + T] += grad_y.sum(axis=sequences)
        return grad_y
