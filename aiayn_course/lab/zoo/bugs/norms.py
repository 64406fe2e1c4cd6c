"""Bugs of layer norm, residual connections, dropout and ReLU."""

import numpy as np

from aiayn_np.add_norm import AddNorm
from aiayn_np.dropout import Dropout
from aiayn_np.feed_forward import ReLU
from aiayn_np.layer_norm import LayerNorm
from aiayn_np.module import Cache

from ..bug import Wrong, bug

# The right functions, for bugs that change their results.
norm_backward = LayerNorm.backward
add_norm_backward = AddNorm.backward
dropout_forward = Dropout.forward


@bug(3, "layer norm: gamma outside the sums", LayerNorm, seen="AkiRusProd/numpy-transformer",
     caught_by="gradient: layer norm")
class GammaOutside(Wrong):
    explanation = """
    This is right only while gamma is the same number for every feature, as before training.

    grad_x = gamma (grad_y - mean(grad_y) - n mean(grad_y n)) / s
    must be    (g - mean(g) - n mean(g n)) / s    with g = gamma grad_y
    """

    def backward(self, grad_y, cache):
        norm_backward(self, grad_y, cache)                             # for gamma and beta: right
        n = cache.normalised
        mean_grad = grad_y.mean(axis=-1, keepdims=True)
        mean_grad_n = (grad_y * n).mean(axis=-1, keepdims=True)
        return self.gamma.value * cache.inv_std * (grad_y - mean_grad - n * mean_grad_n)


@bug(4, "layer norm: eps in forward only", LayerNorm, caught_by="gradient: layer norm")
class EpsInForwardOnly(Wrong):
    explanation = """
    The error is too small to see while the variance is near 1, and unbounded where the variance is
    near 0: a constant row divides by zero.

    s = sqrt(variance)    must be    sqrt(variance + eps), as in forward
    """

    def backward(self, grad_y, cache):
        variance = 1 / cache.inv_std**2 - self.eps
        inv_std = 1 / np.sqrt(variance)
        return norm_backward(self, grad_y, Cache(normalised=cache.normalised, inv_std=inv_std))


@bug(5, "layer norm: ddof = 1", LayerNorm, caught_by="values: layer norm")
class UnbiasedVariance(Wrong):
    explanation = """
    This is what `torch.std` computes, but not `np.std`. Rows come out too short by
    sqrt((d - 1) / d). The backward is that of this forward, so no gradient check can see it.

    variance = sum((x - mean)^2) / (d - 1)    must be / d
    """

    def forward(self, x):
        d = x.shape[-1]
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).sum(axis=-1, keepdims=True) / (d - 1)
        inv_std = 1 / np.sqrt(variance + self.eps)
        y = self.gamma.value * centred * inv_std + self.beta.value
        return y, Cache(normalised=centred * inv_std, inv_std=inv_std)

    def backward(self, grad_y, cache):
        grad_x, n, d = norm_backward(self, grad_y, cache), cache.normalised, self.d_model
        mean_grad_n = (grad_y * self.gamma.value * n).mean(axis=-1, keepdims=True)
        return grad_x - cache.inv_std * n * mean_grad_n / (d - 1)      # d / (d - 1) of the term


@bug(11, "residual branch missing in backward", AddNorm, seen="YVSemlani/numpy-transformer",
     caught_by="gradient: add & norm")
class ResidualForgotten(Wrong):
    explanation = """
    The gradient passes through the sub-layer only. The path around it lets deep stacks learn. Here
    it is open in forward and closed in backward.

    grad_x = 0    must be    grad_sum, as a sum hands its gradient to both of its terms
    """

    def backward(self, grad_y, cache):
        grad_x, grad_sublayer_output = add_norm_backward(self, grad_y, cache)
        return np.zeros_like(grad_x), grad_sublayer_output


@bug(12, "residual backward + 1", AddNorm, seen="naye971012/numpy_transformer",
     caught_by="gradient: add & norm")
class ResidualPlusOne(Wrong):
    explanation = """
    d (x + f(x)) / dx = 1 + f'(x). The gradient must be multiplied by this 1. Here the 1 itself is
    returned.

    grad_x = 1    must be    1 * grad_sum
    """

    def backward(self, grad_y, cache):
        grad_x, grad_sublayer_output = add_norm_backward(self, grad_y, cache)
        return np.ones_like(grad_x), grad_sublayer_output


@bug(19, "dropout scaled by 1/p", Dropout, seen="spcl/substation", caught_by="values: dropout")
class ScaledByDropped(Wrong):
    explanation = """
    This is right at p = 0.5, where it was tested. At 0.1 every kept number grows tenfold.

    y = x kept / P_drop    must be    x kept / (1 - P_drop)
    """

    def forward(self, x, *, rng=None):
        y, cache = dropout_forward(self, x, rng=rng)
        return (y if cache.kept is None else x * cache.kept / self.P_drop), cache

    def backward(self, grad_y, cache):
        return grad_y if cache.kept is None else grad_y * cache.kept / self.P_drop


@bug(20, "dropout mask stale in backward", Dropout,
     seen="csd81/attention-is-all-you-need-numpy, AkiRusProd/numpy-transformer",
     caught_by="values: dropout")
class StaleMask(Wrong):
    explanation = """
    The layer keeps the mask that it drew last. If a model uses the layer twice, the first mask is
    lost. After a forward without dropout, backward applies an old mask.

    grad_x = grad_y kept of the last draw / (1 - P_drop)    must be kept of the same forward
    """

    def forward(self, x, *, rng=None):
        y, cache = dropout_forward(self, x, rng=rng)
        if cache.kept is not None:
            self.kept = cache.kept
        return y, cache

    def backward(self, grad_y, cache):
        kept = getattr(self, "kept", None)
        return grad_y if kept is None else grad_y * kept / (1 - self.P_drop)


@bug(24, "ReLU derivative from the wrong array", ReLU, caught_by="gradient: feed-forward")
class AlwaysOpen(Wrong):
    explanation = """
    The output is compared with 0, and the output of a ReLU is never negative. So the condition is
    always true, and the gradient passes where the input was negative too.

    grad_x = grad_y 1[y >= 0]    must be    grad_y 1[x > 0]
    """

    def backward(self, grad_y, cache):
        return grad_y * (cache.y >= 0)
