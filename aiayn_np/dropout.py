"""Dropout (Sec. 5.4)."""

from .checks import check_array, check_gradient, check_number, check_rng
from .module import Cache, Module


class Dropout(Module):
    """y = x * kept / (1 - P_drop),  kept ~ Bernoulli(1 - P_drop)      Sec. 5.4

    The division keeps the mean: E[y] = x. Dropout happens if and only if the call gets an `rng`;
    the same generator state draws the same `kept`, whatever the dtype.
    """
    formula = "y = x * kept / (1 - P_drop),  kept ~ Bernoulli(1 - P_drop)"
    position_wise = True

    def __init__(self, P_drop: float):
        check_number("P_drop", P_drop, 0, 1)
        self.P_drop = float(P_drop)

    def forward(self, x, *, rng=None):
        check_array("x", x)
        cache = Cache(kept=None, shape=x.shape, dtype=x.dtype)
        if rng is None:
            return x, cache
        check_rng(rng)
        if self.P_drop == 0:
            return x, cache
        cache.kept = rng.random(x.shape) >= self.P_drop                # bool, the shape of x
        cache.freeze = None
        return x * cache.kept / (1 - self.P_drop), cache

    def backward(self, grad_y, cache):
        check_gradient(grad_y, cache.shape, cache.dtype)
        if cache.kept is None:
            return grad_y
        # y = x * kept / (1 - P_drop)
        return grad_y * cache.kept / (1 - self.P_drop)
