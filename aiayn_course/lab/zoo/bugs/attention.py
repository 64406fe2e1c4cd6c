"""Bugs of softmax, masks, scaled dot-product attention and its heads."""

import math

import numpy as np

from aiayn_np import masking, multi_head
from aiayn_np.attention import ScaledDotProductAttention
from aiayn_np.masking import Mask
from aiayn_np.softmax import Softmax

from ..bug import Wrong, bug

# The right functions, for bugs that change their results.
softmax_backward = Softmax.backward
mask_forward = Mask.forward
attention_forward, attention_backward = (
    ScaledDotProductAttention.forward, ScaledDotProductAttention.backward
)


@bug(1, "softmax backward without the sum", Softmax, caught_by="gradient: softmax")
class SumForgotten(Wrong):
    explanation = """
    This is right if every weight depends only on its own score, as for the element-wise sigmoid.
    But raising one score lowers all other weights, and that part of the Jacobian is lost.

    grad_s_k = w_k grad_w_k    must be    w_k (grad_w_k - sum_j grad_w_j w_j)
    """

    def backward(self, grad_weights, cache):
        return cache.y * grad_weights


@bug(2, "softmax backward divided by the batch", Softmax, seen="AkiRusProd/numpy-transformer",
     caught_by="gradient: softmax")
class DividedByBatch(Wrong):
    explanation = """
    The mean over the batch belongs to the loss, once. A test with a batch of one passes.

    grad_s = w (grad_w - sum grad_w w) / B    must be without / B
    """

    def backward(self, grad_weights, cache):
        return softmax_backward(self, grad_weights, cache) / len(grad_weights)


@bug(31, "a cache changed in place by backward", Softmax, caught_by="exact: caches untouched")
class CacheOverwritten(Wrong):
    explanation = """
    The gradient is right, once. But backward has written into the attention map: whoever looks at
    the map afterwards sees a gradient, and a second backward of the same forward is wrong.

    w *= grad_w - sum grad_w w    must be    grad_s = w (grad_w - sum grad_w w), a new array
    """

    def backward(self, grad_weights, cache):
        weights = cache.y
        weights *= grad_weights - (grad_weights * weights).sum(axis=-1, keepdims=True)
        return weights


@bug(16, "mask inverted", Mask, caught_by="exact: no weight on padding")
class MaskInverted(Wrong):
    explanation = """
    Every query looks at exactly what it must not see: padding, and the future. In some libraries
    True means "may look", in others "is hidden". The gradient is that of the wrong forward.

    y = -inf where allowed, scores elsewhere    must be the other way round
    """

    def forward(self, scores, *, allowed=None):
        return mask_forward(self, scores, allowed=None if allowed is None else ~allowed)


@bug(17, "causal mask off by one", masking, caught_by="exact: causality")
class CausalOffByOne(Wrong):
    explanation = """
    Position i sees token i + 1, which is the very token that it has to predict. Training looks
    excellent, and decoding, where there is no next token yet, fails.

    allowed = j <= i + 1    must be    j <= i
    """

    @staticmethod
    def causal(T):
        return np.tri(T, k=1, dtype=bool)


@bug(13, "heads reshaped without transpose", multi_head, seen="naye971012/numpy_transformer",
     caught_by="values: multi-head")
class HeadsWithoutTranspose(Wrong):
    explanation = """
    The numbers are dealt out to "heads" in their order in memory, so that a head gets all features
    of a few positions, not a few features of all positions. Shapes fit, and the gradient is that of
    the wrong forward. No position sees a later one, but the mask of padding hides other keys than
    those of padding.

    (B, T, h d) -> (B, h, T, d)    must be    (B, T, h d) -> (B, T, h, d) -> (B, h, T, d)
    """

    @staticmethod
    def split_heads(x, h):
        return x.reshape(*x.shape[:-2], h, x.shape[-2], x.shape[-1] // h)

    @staticmethod
    def merge_heads(x):
        return x.reshape(*x.shape[:-3], x.shape[-2], x.shape[-3] * x.shape[-1])


@bug(14, "1/sqrt(d_k) missing in backward", ScaledDotProductAttention,
     caught_by="gradient: attention")
class ScaleForgottenInBackward(Wrong):
    explanation = """
    Queries and keys get gradients that are sqrt(d_k) times too long.

    grad_Q = grad_scores K    must be    grad_scores K / sqrt(d_k), likewise grad_K
    """

    def backward(self, grad_out, cache):
        grad_Q, grad_K, grad_V = attention_backward(self, grad_out, cache)
        root = math.sqrt(cache.Q.shape[-1])
        return grad_Q * root, grad_K * root, grad_V


@bug(15, "1/sqrt(d_k) missing in forward", ScaledDotProductAttention,
     caught_by="values: attention")
class ScaleForgottenInForward(Wrong):
    explanation = """
    Scores have a variance of d_k. If d_k is large, softmax is nearly one-hot and its gradient
    nearly zero. The backward is that of this forward, so no gradient check can see it.

    scores = Q K^T    must be    Q K^T / sqrt(d_k)
    """

    def forward(self, Q, K, V, **options):
        return attention_forward(self, Q * math.sqrt(Q.shape[-1]), K, V, **options)

    def backward(self, grad_out, cache):
        grad_Q, grad_K, grad_V = attention_backward(self, grad_out, cache)
        return grad_Q * math.sqrt(cache.Q.shape[-1]), grad_K, grad_V


@bug(21, "dV from the weights before dropout", ScaledDotProductAttention,
     seen="Ultron09/Numpy-Transformer", caught_by="gradient: attention")
class WeightsBeforeDropout(Wrong):
    explanation = """
    Values whose weights were dropped did not reach the output, but they get a gradient. Without
    dropout on the weights the bug changes nothing.

    grad_V = weights^T grad_out    must be    kept^T grad_out, kept = Dropout(weights)
    """

    def backward(self, grad_out, cache):
        grad_Q, grad_K, _ = attention_backward(self, grad_out, cache)
        return grad_Q, grad_K, cache.weights.mT @ grad_out
