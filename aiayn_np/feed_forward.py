"""Position-wise feed-forward network: Sec. 3.3."""

import numpy as np

from .checks import check_array, check_gradient, check_sizes
from .linear import Linear
from .module import Cache, Module, Rng


class ReLU(Module):
    """y = max(0, x)                                                   Sec. 3.3

    backward: dy/dx is 1 where x > 0 and 0 elsewhere (at x = 0 too, as is usual).
    """
    formula = "y = max(0, x)"
    position_wise = True

    def forward(self, x):
        check_array("x", x)
        y = np.maximum(x, 0)
        return y, Cache(y=y)

    def backward(self, grad_y, cache):
        check_gradient(grad_y, cache.y.shape, cache.y.dtype)
        # y = max(0, x): x > 0 where y > 0
        return grad_y * (cache.y > 0)


class PositionwiseFeedForward(Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2                          Sec. 3.3, Eq. (2)

    x (..., d_model)   ->   (..., d_model), through d_ff; the same map at every position
    """
    formula = "FFN(x) = max(0, x W_1 + b_1) W_2 + b_2"
    position_wise = True

    def __init__(self, d_model: int, d_ff: int, *, rng: Rng):
        check_sizes(d_model=d_model, d_ff=d_ff)
        self.linear_1 = Linear(d_model, d_ff, rng=rng)
        self.relu = ReLU()
        self.linear_2 = Linear(d_ff, d_model, rng=rng)

    def forward(self, x):
        cache = Cache()
        hidden, cache.linear_1 = self.linear_1.forward(x)              # (..., d_ff)
        active, cache.relu = self.relu.forward(hidden)
        y, cache.linear_2 = self.linear_2.forward(active)              # (..., d_model)
        return y, cache

    def backward(self, grad_y, cache):
        grad_active = self.linear_2.backward(grad_y, cache.linear_2)   # (..., d_ff)
        grad_hidden = self.relu.backward(grad_active, cache.relu)
        return self.linear_1.backward(grad_hidden, cache.linear_1)     # (..., d_model)
