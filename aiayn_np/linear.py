"""The affine map. Besides the embedding, only affine maps have weight matrices in the paper."""

import math

import numpy as np

from .checks import check_array, check_gradient, check_rng, check_sizes
from .module import Cache, Module, Parameter, Rng
from .reductions import column_sum


class Linear(Module):
    """y = x W + b                                                     Sec. 3.2.2 and 3.3

    x (..., d_in)   W (d_in, d_out)   b (d_out,) or none   ->   y (..., d_out)
    W is drawn Xavier-uniform (rng=None: left empty), b starts at zero.

    backward: y_n = sum_m x_m W_mn + b_n, at every position, so
    grad_x_m = sum_n grad_y_n W_mn,  and, summed over all positions,
    grad_W_mn = sum x_m grad_y_n,    grad_b_n = sum grad_y_n
    """
    formula = "y = x W + b"
    position_wise = True

    def __init__(self, d_in: int, d_out: int, *, bias: bool = True, rng: Rng):
        check_sizes(d_in=d_in, d_out=d_out)
        check_rng(rng, or_none=True)
        self.d_in, self.d_out = d_in, d_out
        limit = math.sqrt(6 / (d_in + d_out))
        self.W = Parameter.uniform(limit, (d_in, d_out), rng)
        self.b = Parameter(np.zeros(d_out)) if bias else None

    def forward(self, x):
        check_array("x", x, last=("d_in", self.d_in), parameter=self.W)
        rows = x.reshape(-1, self.d_in)          # all positions of all sequences, one below another
        y = rows @ self.W.value                                        # (rows, d_out)
        if self.b is not None:
            y += self.b.value
        return y.reshape(*x.shape[:-1], self.d_out), Cache(x=x)

    def backward(self, grad_y, cache):
        check_gradient(grad_y, (*cache.x.shape[:-1], self.d_out), cache.x.dtype)
        rows = cache.x.reshape(-1, self.d_in)                          # (rows, d_in)
        grad_rows = grad_y.reshape(-1, self.d_out)                     # (rows, d_out)
        # y = rows W + b
        if self.b is not None:
            self.b.grad += column_sum(grad_rows)                       # (d_out,)
        self.W.grad += rows.T @ grad_rows                              # (d_in, d_out)
        return (grad_rows @ self.W.value.T).reshape(cache.x.shape)     # (..., d_in)
