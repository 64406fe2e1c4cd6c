"""Attention without its map: online softmax (Milakov & Gimelshein 2018; FlashAttention 2022)."""

import math

import numpy as np

from ..checks import check_attention_shapes, check_gradient, check_mask, check_sizes
from ..masking import Mask
from ..module import Cache, Module, Rng


class MemoryEfficientAttention(Module):
    """softmax(Q K^T / sqrt(d_k)) V, over `block` keys at a time         Sec. 3.2.1, Eq. (1)

    Q (..., T_q, d_k)   K (..., T_k, d_k)   V (..., T_k, d_v)   ->   (..., T_q, d_v)
    allowed: bool, True where query i may look at key j. There is no dropout: `rng` has no effect.

    m_i is the highest score so far. Two sums run over the keys: total_i = sum_j exp(s_ij - m_i) and
    out_iv = sum_j exp(s_ij - m_i) V_jv. A new block with a higher m'_i multiplies both sums by
    exp(m_i - m'_i). The cache has Q, K, V, out and log_total_i = log sum_j exp(s_ij).

    backward computes each block again: weights_ij = exp(s_ij - log_total_i). The softmax needs a
    sum over all keys. It is known before the first block, because out_iv = sum_j weights_ij V_jv:
    mean_grad_i = sum_j grad_weights_ij weights_ij = sum_v grad_out_iv out_iv,   and then
    grad_scores_ij = weights_ij (grad_weights_ij - mean_grad_i), the rest as in plain attention.
    """
    formula = "softmax(Q K^T / sqrt(d_k)) V, over `block` keys at a time"
    position_wise = True

    def __init__(self, block: int = 512) -> None:
        check_sizes(block=block)
        self.block = block
        self.mask = Mask()

    def forward(self, Q: np.ndarray, K: np.ndarray, V: np.ndarray, *,
                allowed: np.ndarray | None = None, rng: Rng = None) -> tuple[np.ndarray, Cache]:
        check_attention_shapes(Q, K, V)
        check_mask(allowed, (*Q.shape[:-1], K.shape[-2]))
        cache = Cache(Q=Q, K=K, V=V, allowed=allowed, freeze=None)
        highest = np.full((*Q.shape[:-1], 1), np.finfo(Q.dtype).min)       # (..., T_q, 1)
        total, out = 0.0, 0.0
        for keys in self.blocks(K):
            scores = self.scores(cache, keys)                              # (..., T_q, block)
            higher = np.maximum(highest, scores.real.max(axis=-1, keepdims=True))
            exp_scores = np.exp(scores - higher)                           # (..., T_q, block)
            rescale = np.exp(highest - higher)                             # (..., T_q, 1)
            total = total * rescale + exp_scores.sum(axis=-1, keepdims=True)
            out = out * rescale + exp_scores @ V[..., keys, :]             # (..., T_q, d_v)
            highest = higher
        total = total + (total == 0)                                       # a row without a key
        cache.out = out / total                                            # (..., T_q, d_v)
        cache.log_total = highest + np.log(total)                          # (..., T_q, 1)
        return cache.out, cache

    def backward(self, grad_out: np.ndarray,
                 cache: Cache) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        check_gradient(grad_out, cache.out.shape, cache.out.dtype)
        Q, K, V = cache.Q, cache.K, cache.V
        grad_Q, grad_K, grad_V = np.zeros_like(Q), np.empty_like(K), np.empty_like(V)
        mean_grad = (grad_out * cache.out).sum(axis=-1, keepdims=True)     # (..., T_q, 1)
        for keys in self.blocks(K):
            weights = np.exp(self.scores(cache, keys) - cache.log_total)   # (..., T_q, block)
            # out = weights @ V
            grad_weights = grad_out @ V[..., keys, :].mT                   # (..., T_q, block)
            grad_V[..., keys, :] = weights.mT @ grad_out                   # (..., block, d_v)
            # weights = softmax(scores)
            grad_scores = weights * (grad_weights - mean_grad)             # (..., T_q, block)
            # scores = Q @ K.mT / sqrt(d_k)
            grad_scores = grad_scores / math.sqrt(Q.shape[-1])
            grad_K[..., keys, :] = grad_scores.mT @ Q                      # (..., block, d_k)
            grad_Q += grad_scores @ K[..., keys, :]                        # (..., T_q, d_k)
        return grad_Q, grad_K, grad_V

    def blocks(self, K: np.ndarray) -> list[slice]:
        """Return slices of the keys, `block` at a time; the last one may be shorter."""
        return [slice(j, j + self.block) for j in range(0, K.shape[-2], self.block)]

    def scores(self, cache: Cache, keys: slice) -> np.ndarray:
        """Return the masked scores (..., T_q, block) of every query with the keys of one block."""
        scores = cache.Q @ cache.K[..., keys, :].mT / math.sqrt(cache.Q.shape[-1])
        if cache.allowed is None:
            return scores
        allowed = np.broadcast_to(cache.allowed, (*cache.allowed.shape[:-1], cache.K.shape[-2]))
        return self.mask(scores, allowed=allowed[..., keys])
