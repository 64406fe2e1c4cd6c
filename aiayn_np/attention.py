"""Scaled dot-product attention: Eq. (1) and Fig. 2 (left)."""

import math

from .checks import check_attention_shapes, check_gradient, check_memory
from .dropout import Dropout
from .masking import Mask
from .module import Cache, Module
from .softmax import Softmax


class ScaledDotProductAttention(Module):
    """Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V            Sec. 3.2.1, Eq. (1), Fig. 2 left

    Q (..., T_q, d_k)   K (..., T_k, d_k)   V (..., T_k, d_v)   ->   (..., T_q, d_v)
    allowed: bool, True where query i may look at key j.

    backward, index by index: out_iv = sum_j kept_ij V_jv, so
    grad_kept_ij = sum_v grad_out_iv V_jv    and   grad_V_jv = sum_i kept_ij grad_out_iv;
    then back through dropout, softmax and mask (see there) to grad_scores; and
    scores_ij = sum_k Q_ik K_jk / sqrt(d_k), so
    grad_Q_ik = sum_j grad_scores_ij K_jk / sqrt(d_k)   and
    grad_K_jk = sum_i grad_scores_ij Q_ik / sqrt(d_k)
    """
    formula = "Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V"
    position_wise = True

    def __init__(self, P_drop: float = 0.0):
        self.mask = Mask()
        self.softmax = Softmax()
        self.dropout = Dropout(P_drop)

    def forward(self, Q, K, V, *, allowed=None, rng=None):
        check_attention_shapes(Q, K, V)
        check_memory((*Q.shape[:-1], K.shape[-2]), Q.dtype)
        cache = Cache(Q=Q, K=K, V=V)
        scores = Q @ K.mT                                                  # MatMul  (..., T_q, T_k)
        scores /= math.sqrt(Q.shape[-1])                                   # Scale
        scores, cache.mask = self.mask.forward(scores, allowed=allowed)    # Mask (opt.)
        weights, cache.softmax = self.softmax.forward(scores)              # SoftMax  rows sum to 1
        cache.weights = weights                                            # the attention map
        kept, cache.dropout = self.dropout.forward(weights, rng=rng)       # (off by default)
        cache.kept = kept
        return kept @ V, cache                                             # MatMul  (..., T_q, d_v)

    def backward(self, grad_out, cache):
        check_gradient(grad_out, (*cache.Q.shape[:-1], cache.V.shape[-1]), cache.Q.dtype)
        # out = kept @ V
        grad_kept = grad_out @ cache.V.mT                                  # (..., T_q, T_k)
        grad_V = cache.kept.mT @ grad_out                                  # (..., T_k, d_v)
        grad_weights = self.dropout.backward(grad_kept, cache.dropout)
        grad_scores = self.softmax.backward(grad_weights, cache.softmax)
        grad_scores = self.mask.backward(grad_scores, cache.mask)
        # scores = Q @ K.mT / sqrt(d_k)
        grad_scores = grad_scores / math.sqrt(cache.Q.shape[-1])
        grad_Q = grad_scores @ cache.K                                     # (..., T_q, d_k)
        grad_K = grad_scores.mT @ cache.Q                                  # (..., T_k, d_k)
        return grad_Q, grad_K, grad_V
