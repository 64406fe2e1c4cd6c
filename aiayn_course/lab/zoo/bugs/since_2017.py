"""Bugs of the parts since 2017: rotary positions, kept keys, grouped queries, RMS norm."""

import numpy as np

from aiayn_np.decoding import kv_cache
from aiayn_np.multi_head import split_heads
from aiayn_np.variants import grouped
from aiayn_np.variants.norms import RMSNorm
from aiayn_np.variants.rotary import RotaryPositions

from ..bug import Wrong, bug

# The right functions, for bugs that change their results.
rotary_pairs = RotaryPositions.pairs
keys_and_values = kv_cache.GrowingAttention.keys_and_values
norm_forward, norm_backward = RMSNorm.forward, RMSNorm.backward


@bug(33, "rotary pairs of the other convention", RotaryPositions,
     caught_by="values: rotary positions")
class OtherPairs(Wrong):
    explanation = """
    Either pairing can be trained. But weights that were trained with one and run with the other are
    right at position 0, where nothing turns, and wrong from position 1 on: the first token is
    right, then the text degenerates. Every gradient is that of the wrong forward.

    pairs (2i, 2i + 1)    must be those of the training, here (i, i + d_k / 2)
    """

    def pairs(self, x):
        other = RotaryPositions(self.d_k, base=self.base, interleaved=not self.interleaved)
        return rotary_pairs(other, x)


@bug(34, "kept keys rotated again", kv_cache.GrowingAttention, caught_by="exact: kept keys")
class TurnedAgain(Wrong):
    explanation = """
    Keys are kept turned, and every new token turns all of them once more. The prompt is computed in
    one go, so the first token is right. Then old keys drift away, and the text degenerates.

    kept K = R K at every step    must be    R K once, when the key is new
    """

    def keys_and_values(self, x_K, x_V):
        if self.rotary and self.T:
            kept = self.kept[0][:, :, : self.T]
            kept[...] = self.rotary.rotary_K(kept)
        return keys_and_values(self, x_K, x_V)


@bug(35, "a new token stands at position 0", kv_cache.GrowingAttention,
     caught_by="exact: kept keys")
class OffsetForgotten(Wrong):
    explanation = """
    The prompt is right, and so is the first token. Every later token is turned as if it were the
    first of the text, since a sequence of one token begins at 0.

    R_0 q, R_0 k    must be    R_t q, R_t k    for the token at position t
    """

    def queries(self, x_Q):
        Q = split_heads(self.linear_Q(x_Q), self.h)
        return self.rotary.rotary_Q(Q) if self.rotary else Q

    def project(self, x_K, x_V):
        K, V = (split_heads(linear(x_K), self.h_kv) for linear in (self.linear_K, self.linear_V))
        return self.rotary.rotary_K(K) if self.rotary else K, V


@bug(36, "groups tiled instead of repeated", grouped, caught_by="values: grouped queries")
class Tiled(Wrong):
    explanation = """
    With h = 4 and h_kv = 2 the heads of queries get the keys 0 1 0 1 instead of 0 0 1 1. Shapes
    fit, and a model can be trained so. With the weights of another model, from the first token on
    only the heads that happen to agree are right. For h_kv = 1 and h_kv = h nothing is wrong.

    head i gets key i mod h_kv    must be key floor(i h_kv / h)
    """

    @staticmethod
    def repeat_heads(x, g):
        return np.concatenate([x] * g, axis=-3)

    @staticmethod
    def sum_heads(grad, g):
        *lead, h, T, d = grad.shape
        return grad.reshape(*lead, g, h // g, T, d).sum(axis=-4)


@bug(37, "RMS norm with the mean subtracted", RMSNorm, caught_by="values: RMS norm")
class MeanSubtracted(Wrong):
    explanation = """
    This is a layer norm without beta. While the mean of the features is near 0, as before training,
    it is hardly seen; a trained model has features that are large at every position.

    n = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps)    must be    x / sqrt(mean(x^2) + eps)
    """

    def forward(self, x):
        return norm_forward(self, x - x.mean(axis=-1, keepdims=True))

    def backward(self, grad_y, cache):
        grad_x = norm_backward(self, grad_y, cache)
        return grad_x - grad_x.mean(axis=-1, keepdims=True)


@bug(38, "RMS norm in half precision", RMSNorm, caught_by="values: RMS norm")
class HalfPrecision(Wrong):
    explanation = """
    Half precision has three to four digits, and then the logits have no more. Its largest number is
    65504: a feature above 256 has an infinite square, and its whole position becomes 0.

    mean(x^2) in float16    must be in the dtype of x, and at least in float32
    """

    def forward(self, x):
        _, cache = norm_forward(self, x)
        mean_square = np.square(x.real.astype(np.float16)).mean(axis=-1, keepdims=True)
        cache.inv_rms = 1 / np.sqrt(mean_square.astype(x.real.dtype) + self.eps)
        cache.normalised = x * cache.inv_rms
        return self.gamma.value * cache.normalised, cache
