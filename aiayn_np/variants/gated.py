"""Gated feed-forward networks: SwiGLU, GEGLU and similar ones (Shazeer, 2020)."""

from collections.abc import Callable

import numpy as np

from ..checks import check_array, check_sizes
from ..linear import Linear
from ..module import Cache, Module, Rng
from .activations import SiLU


class SwiGLU(Module):
    """FFN(x) = (activation(x W_gate) * x W_1) W_2                     Shazeer, 2020, Eq. (6)

    x (..., d_model)   ->   (..., d_model), through d_ff; each W with its b if `bias`
    activation: SiLU makes it SwiGLU, GELU makes it GEGLU, ReLU makes it ReGLU. It has three
    matrices where Eq. (2) has two; with 2/3 of the d_ff it has as many parameters.

    backward: product_n = gate_n up_n, so   grad_gate = grad_product * up,   grad_up = grad_product
    * gate.   x is used twice, so grad_x is a sum of two.
    """
    formula = "FFN(x) = (activation(x W_gate) * x W_1) W_2"
    position_wise = True

    def __init__(self, d_model: int, d_ff: int, *, activation: Callable[[], Module] = SiLU,
                 bias: bool = False, rng: Rng) -> None:
        check_sizes(d_model=d_model, d_ff=d_ff)
        self.linear_gate = Linear(d_model, d_ff, bias=bias, rng=rng)
        self.activation = activation()
        self.linear_1 = Linear(d_model, d_ff, bias=bias, rng=rng)
        self.linear_2 = Linear(d_ff, d_model, bias=bias, rng=rng)

    def forward(self, x: np.ndarray) -> tuple[np.ndarray, Cache]:
        check_array("x", x, last=("d_model", self.linear_1.d_in), parameter=self.linear_1.W)
        cache = Cache(freeze="up")                               # the gate is a constant, up is not
        hidden, cache.linear_gate = self.linear_gate.forward(x)        # (..., d_ff)
        cache.gate, cache.activation = self.activation.forward(hidden)
        cache.up, cache.linear_1 = self.linear_1.forward(x)            # (..., d_ff)
        y, cache.linear_2 = self.linear_2.forward(cache.gate * cache.up)
        return y, cache

    def backward(self, grad_y: np.ndarray, cache: Cache) -> np.ndarray:
        grad_product = self.linear_2.backward(grad_y, cache.linear_2)  # (..., d_ff)
        # product = gate * up
        grad_x = self.linear_1.backward(grad_product * cache.gate, cache.linear_1)
        grad_hidden = self.activation.backward(grad_product * cache.up, cache.activation)
        return grad_x + self.linear_gate.backward(grad_hidden, cache.linear_gate)
