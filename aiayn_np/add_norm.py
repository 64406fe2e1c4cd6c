"""Residual connection, then layer normalisation: "Add & Norm" in Fig. 1."""

from .checks import check_same_shape
from .dropout import Dropout
from .layer_norm import LayerNorm
from .module import Cache, Module


class AddNorm(Module):
    """LayerNorm(x + Dropout(Sublayer(x)))                             Sec. 3.1 and 5.4

    x, sublayer_output (..., d_model)   ->   (..., d_model)
    backward: the sum passes its gradient to both terms.
    """
    formula = "LayerNorm(x + Dropout(Sublayer(x)))"
    position_wise = True

    def __init__(self, d_model: int, P_drop: float):
        self.dropout = Dropout(P_drop)
        self.layer_norm = LayerNorm(d_model)

    def forward(self, x, sublayer_output, *, rng=None):
        check_same_shape(x, sublayer_output, ("x", "sublayer_output"))
        cache = Cache()
        dropped, cache.dropout = self.dropout.forward(sublayer_output, rng=rng)
        y, cache.layer_norm = self.layer_norm.forward(x + dropped)
        return y, cache

    def backward(self, grad_y, cache):
        grad_sum = self.layer_norm.backward(grad_y, cache.layer_norm)
        # sum = x + dropped
        grad_sublayer_output = self.dropout.backward(grad_sum, cache.dropout)
        grad_x = grad_sum
        return grad_x, grad_sublayer_output
