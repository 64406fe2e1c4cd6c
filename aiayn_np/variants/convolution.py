"""Convolutions over the sequence: the Transformer replaces them (Sec. 4 and Table 1)."""

import math

import numpy as np

from ..checks import check_array, check_gradient, check_rng, check_sizes
from ..module import Cache, Module, Parameter, Rng


class Convolution1D(Module):
    """y_t = sum_j x_(t + j - left) W_j + b,   left = (k - 1) / 2      Table 1 "Convolutional"

    x (..., T, d_in)   W (k, d_in, d_out)   b (d_out,)   ->   y (..., T, d_out)
    x is zero outside of the sequence; k is odd. W is drawn Xavier-uniform
    (rng=None: left empty), b starts at zero.

    backward: with s = t + j - left,  y_tn = sum_jm x_sm W_jmn + b_n,  so
    grad_x_sm = sum_jn grad_y_tn W_jmn,  and, summed over all positions,
    grad_W_jmn = sum x_sm grad_y_tn,     grad_b_n = sum grad_y_tn
    """
    formula = "y_t = sum_j x_(t + j - left) W_j + b"

    def __init__(self, d_in: int, d_out: int, k: int, *, rng: Rng) -> None:
        check_sizes(d_in=d_in, d_out=d_out, k=k)
        check_rng(rng, or_none=True)
        if k % 2 == 0:
            raise ValueError(f"k must be odd, got k={k}")
        self.d_in, self.d_out, self.k, self.left = d_in, d_out, k, k // 2
        limit = math.sqrt(6 / (k * (d_in + d_out)))
        self.W = Parameter.uniform(limit, (k, d_in, d_out), rng)
        self.b = Parameter(np.zeros(d_out))

    def forward(self, x: np.ndarray) -> tuple[np.ndarray, Cache]:
        check_array("x", x, last=("d_in", self.d_in), parameter=self.W, min_ndim=2)
        T, padded = x.shape[-2], self.pad(x)                           # (..., T + k - 1, d_in)
        y = self.b.value
        for j in range(self.k):
            y = y + padded[..., j : j + T, :] @ self.W.value[j]        # (..., T, d_out)
        return y, Cache(x=x)

    def backward(self, grad_y: np.ndarray, cache: Cache) -> np.ndarray:
        check_gradient(grad_y, (*cache.x.shape[:-1], self.d_out), cache.x.dtype)
        T, padded = cache.x.shape[-2], self.pad(cache.x)
        grad_padded = np.zeros_like(padded)                            # (..., T + k - 1, d_in)
        grad_rows = grad_y.reshape(-1, self.d_out)                     # (rows, d_out)
        self.b.grad += grad_rows.sum(axis=0)                           # (d_out,)
        for j in range(self.k):
            # y = y + padded[..., j : j + T, :] @ W[j]
            rows = padded[..., j : j + T, :].reshape(-1, self.d_in)    # (rows, d_in)
            self.W.grad[j] += rows.T @ grad_rows                       # (d_in, d_out)
            grad_padded[..., j : j + T, :] += grad_y @ self.W.value[j].T
        return grad_padded[..., self.left : self.left + T, :]          # (..., T, d_in)

    def pad(self, x: np.ndarray) -> np.ndarray:
        """Put zeros before and behind the sequence."""
        return np.pad(x, [(0, 0)] * (x.ndim - 2) + [(self.left, self.left), (0, 0)])
