"""Recurrent layers: the Transformer replaces them (Sec. 1, Sec. 4 and Table 1)."""

import math
from typing import Any

import numpy as np

from ..checks import check_array, check_gradient, check_sizes
from ..linear import Linear
from ..module import Cache, Module, Parameter, Rng


class RNN(Module):
    """h_t = tanh(x_t W + h_(t-1) U + b),   h_0 = 0                     Sec. 1, Table 1 "Recurrent"

    x (..., T, d_in)   W (d_in, d_hidden)   U (d_hidden, d_hidden)   ->   (..., T, d_hidden)
    W and b are those of `linear_x`; U is drawn uniform in +-1/sqrt(d_hidden)
    (rng=None: left empty).

    backward, from the last t to the first: h_t is an output and the input of h_(t+1), so
    grad_h_t = grad_y_t + grad_sum_(t+1) U^T;  and tanh' = 1 - tanh^2, so
    grad_sum_t = grad_h_t (1 - h_t^2);  summed over all positions, grad_U = h_(t-1)^T grad_sum_t
    """
    formula = "h_t = tanh(x_t W + h_(t-1) U + b)"

    def __init__(self, d_in: int, d_hidden: int, *, rng: Rng) -> None:
        check_sizes(d_in=d_in, d_hidden=d_hidden)
        self.linear_x = Linear(d_in, d_hidden, rng=rng)
        self.U = Parameter.uniform(1 / math.sqrt(d_hidden), (d_hidden, d_hidden), rng)

    def forward(self, x: np.ndarray) -> tuple[np.ndarray, Cache]:
        check_sequence(x)
        sums, cache_x = self.linear_x.forward(x)                       # (..., T, d_hidden)
        h, states = np.zeros_like(sums[..., 0, :]), []                 # (..., d_hidden)
        for t in range(x.shape[-2]):
            h = np.tanh(sums[..., t, :] + h @ self.U.value)
            states.append(h)
        y = np.stack(states, axis=-2)                                  # (..., T, d_hidden)
        return y, Cache(linear_x=cache_x, y=y, freeze=None)

    def backward(self, grad_y: np.ndarray, cache: Cache) -> np.ndarray:
        y = cache.y
        check_gradient(grad_y, y.shape, y.dtype)
        grad_sums = np.empty_like(y)
        grad_h: Any = 0.0
        for t in reversed(range(y.shape[-2])):
            grad_h = grad_h + grad_y[..., t, :]
            # h = tanh(sum)
            grad_sums[..., t, :] = grad_h * (1 - y[..., t, :] ** 2)
            # sum = x W + b + previous h @ U
            grad_h = grad_sums[..., t, :] @ self.U.value.T
        self.U.grad += rows(before(y)).T @ rows(grad_sums)             # (d_hidden, d_hidden)
        return self.linear_x.backward(grad_sums, cache.linear_x)       # (..., T, d_in)


class GRU(Module):
    """Gated recurrent unit in PyTorch's form      Cho et al., 2014; [5] and [7] of the paper

    r_t, z_t = sigmoid of the first two thirds of  x_t W + b_x + h_(t-1) U + b     reset, update
    n_t = tanh((x_t W + b_x)_n + r_t (h_(t-1) U + b)_n)                            candidate
    h_t = (1 - z_t) n_t + z_t h_(t-1),   h_0 = 0
    where _n is the last third. In Cho's form the reset gate comes before the product with U.

    x (..., T, d_in)   W (d_in, 3 d_hidden)   U (d_hidden, 3 d_hidden)   ->   (..., T, d_hidden)

    backward: with p the last third of h U + b, for each t from the last to the first,
    grad_z = grad_h (h_before - n),   grad_n = grad_h (1 - z) (1 - n^2),   grad_r = grad_n p,
    sigmoid' = s (1 - s),   and h_before gets grad_h z and, through U, (grad_r, grad_z, grad_n r)
    """
    formula = "Gated recurrent unit in PyTorch's form"

    def __init__(self, d_in: int, d_hidden: int, *, rng: Rng) -> None:
        check_sizes(d_in=d_in, d_hidden=d_hidden)
        self.linear_x = Linear(d_in, 3 * d_hidden, rng=rng)
        self.U = Parameter.uniform(1 / math.sqrt(d_hidden), (d_hidden, 3 * d_hidden), rng)
        self.b = Parameter(np.zeros(3 * d_hidden))

    def forward(self, x: np.ndarray) -> tuple[np.ndarray, Cache]:
        check_sequence(x)
        from_x, cache_x = self.linear_x.forward(x)                     # (..., T, 3 d_hidden)
        h = np.zeros_like(thirds(from_x)[0][..., 0, :])                # (..., d_hidden)
        steps = []
        for t in range(x.shape[-2]):
            x_r, x_z, x_n = thirds(from_x[..., t, :])
            h_r, h_z, p = thirds(h @ self.U.value + self.b.value)
            r, z = sigmoid(x_r + h_r), sigmoid(x_z + h_z)
            n = np.tanh(x_n + r * p)
            h = (1 - z) * n + z * h
            steps.append((r, z, n, p, h))
        r, z, n, p, y = (np.stack(s, axis=-2) for s in zip(*steps))    # each (..., T, d_hidden)
        return y, Cache(linear_x=cache_x, r=r, z=z, n=n, p=p, y=y, freeze=None)

    def backward(self, grad_y: np.ndarray, cache: Cache) -> np.ndarray:
        check_gradient(grad_y, cache.y.shape, cache.y.dtype)
        h_before = before(cache.y)
        grad_h: Any = 0.0
        grad_from_x = np.empty((*grad_y.shape[:-1], 3 * grad_y.shape[-1]), grad_y.dtype)
        grad_from_h = np.empty_like(grad_from_x)
        for t in reversed(range(grad_y.shape[-2])):
            r, z, n, p, h = (a[..., t, :] for a in (cache.r, cache.z, cache.n, cache.p, h_before))
            grad_h = grad_h + grad_y[..., t, :]
            # h = (1 - z) n + z h
            grad_z, grad_n = grad_h * (h - n), grad_h * (1 - z)
            # n = tanh(x_n + r p)
            grad_n = grad_n * (1 - n**2)
            grad_r = grad_n * p
            # r, z = sigmoid(x_r + h_r), sigmoid(x_z + h_z)
            grad_r, grad_z = grad_r * r * (1 - r), grad_z * z * (1 - z)
            grad_from_x[..., t, :] = np.concatenate([grad_r, grad_z, grad_n], axis=-1)
            grad_from_h[..., t, :] = np.concatenate([grad_r, grad_z, grad_n * r], axis=-1)
            # h_r, h_z, p = h @ U + b
            grad_h = grad_h * z + grad_from_h[..., t, :] @ self.U.value.T
        self.U.grad += rows(h_before).T @ rows(grad_from_h)            # (d_hidden, 3 d_hidden)
        self.b.grad += rows(grad_from_h).sum(axis=0)                   # (3 d_hidden,)
        return self.linear_x.backward(grad_from_x, cache.linear_x)     # (..., T, d_in)


def sigmoid(x):
    """Return 1 / (1 + exp(-x)), without overflow."""
    return (1 + np.tanh(x / 2)) / 2


def thirds(x):
    """Return three equal parts of the last axis."""
    return np.split(x, 3, axis=-1)


def rows(x):
    """Return all positions of all sequences as the rows of one matrix."""
    return x.reshape(-1, x.shape[-1])


def before(y):
    """Return the state before each step: zeros, then y without its last state."""
    return np.concatenate([np.zeros_like(y[..., :1, :]), y[..., :-1, :]], axis=-2)


def check_sequence(x):
    """Check that x is a sequence of at least one position."""
    check_array("x", x, min_ndim=2)
    if x.shape[-2] == 0:
        raise ValueError(f"x must have a length T of at least 1, got shape {x.shape}")
