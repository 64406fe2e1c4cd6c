"""Restricted self-attention (Sec. 4): every query sees only its neighbourhood."""

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..attention import ScaledDotProductAttention
from ..checks import check_attention_shapes, check_gradient, check_mask, check_memory, check_sizes
from ..module import Cache, Rng


class LocalAttention(ScaledDotProductAttention):
    """softmax over |i - j| <= radius of Q_i K_j / sqrt(d_k), times V_j    Sec. 4, Table 1, last row

    Q (..., T, d_k)   K (..., T, d_k)   V (..., T, d_v)   ->   (..., T, d_v)
    allowed: as in ScaledDotProductAttention; only entries with |i - j| <= radius are read.

    No array here is (T, T): the neighbourhood has the paper's size r = 2 radius + 1, and the scores
    are scores_im, (T, r), with j = i + m - radius. Time and memory are O(r T d). `cache.band` has
    the softmax, whose rows sum to 1; there is no map `weights`.

    backward is that of ScaledDotProductAttention, read along the band:
    out_iv = sum_m kept_im V_jv, so grad_kept_im = sum_v grad_out_iv V_jv; and key j is seen by the
    queries i = j + n - radius, with m = r - 1 - n: in the transposed band, kept'_jn = kept_im, so
    grad_V_jv = sum_n kept'_jn grad_out_iv. The same for scores_im = sum_k Q_ik K_jk / sqrt(d_k).
    """
    formula = "softmax over |i - j| <= radius of Q_i K_j / sqrt(d_k), times V_j"

    def __init__(self, radius: int, P_drop: float = 0.0) -> None:
        check_sizes(radius=radius, least=0)
        super().__init__(P_drop)
        self.radius = radius

    def forward(self, Q: np.ndarray, K: np.ndarray, V: np.ndarray, *,
                allowed: np.ndarray | None = None, rng: Rng = None) -> tuple[np.ndarray, Cache]:
        check_attention_shapes(Q, K, V)
        check_mask(allowed, (*Q.shape[:-1], K.shape[-2]))
        if Q.shape[-2] != K.shape[-2]:
            raise ValueError("Q and K must have one length T (local attention is self-attention),"
                             f" got {Q.shape} and {K.shape}")
        check_memory((*Q.shape[:-1], 2 * self.radius + 1), Q.dtype)
        cache = Cache(Q=Q, K=K, V=V)
        scores = dot_neighbours(Q, K, self.radius)                         # (..., T, r)
        scores = scores / math.sqrt(Q.shape[-1])
        near = band_of_mask(allowed, Q.shape[-2], self.radius)             # bool
        scores, cache.mask = self.mask.forward(scores, allowed=near)
        band, cache.softmax = self.softmax.forward(scores)                 # rows sum to 1
        cache.band = band
        kept, cache.dropout = self.dropout.forward(band, rng=rng)
        cache.kept = kept
        return sum_neighbours(kept, V), cache                              # (..., T, d_v)

    def backward(self, grad_out: np.ndarray,
                 cache: Cache) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        check_gradient(grad_out, (*cache.Q.shape[:-1], cache.V.shape[-1]), cache.Q.dtype)
        # out = sum_neighbours(kept, V)
        grad_kept = dot_neighbours(grad_out, cache.V, self.radius)         # (..., T, r)
        grad_V = sum_neighbours(transposed(cache.kept), grad_out)          # (..., T, d_v)
        grad_band = self.dropout.backward(grad_kept, cache.dropout)
        grad_scores = self.softmax.backward(grad_band, cache.softmax)
        grad_scores = self.mask.backward(grad_scores, cache.mask)
        # scores = dot_neighbours(Q, K) / sqrt(d_k)
        grad_scores = grad_scores / math.sqrt(cache.Q.shape[-1])
        grad_K = sum_neighbours(transposed(grad_scores), cache.Q)          # (..., T, d_k)
        grad_Q = sum_neighbours(grad_scores, cache.K)                      # (..., T, d_k)
        return grad_Q, grad_K, grad_V


def neighbours(x, radius):
    """View x (..., T, d) as (..., T, d, r): [i, :, m] is x[i + m - radius], zeros outside."""
    rows = [(0, 0)] * (x.ndim - 2) + [(radius, radius), (0, 0)]
    return sliding_window_view(np.pad(x, rows), 2 * radius + 1, axis=-2)


def dot_neighbours(x, y, radius):
    """Return the band (..., T, r) of x y^T: [i, m] is x_i . y_j with j = i + m - radius."""
    return (x[..., None, :] @ neighbours(y, radius))[..., 0, :]


def sum_neighbours(band, x):
    """Return (..., T, d) whose row i is sum_m band_im x_j with j = i + m - radius."""
    radius = band.shape[-1] // 2
    return (band[..., None, :] @ neighbours(x, radius).mT)[..., 0, :]


def transposed(band):
    """Return the band of the transposed matrix: [j, n] is band[j + n - radius, r - 1 - n]."""
    windows = neighbours(band, band.shape[-1] // 2)                        # (..., T, m, n)
    return windows[..., ::-1, :].diagonal(axis1=-2, axis2=-1)


def band_of_mask(allowed, T, radius):
    """Return bool (..., T, r): [i, m] is allowed[i, i + m - radius], False outside."""
    i = np.arange(T)[:, None]
    j = i + np.arange(-radius, radius + 1)                                 # (T, r)
    inside = (j >= 0) & (j < T)
    if allowed is None:
        return inside
    last_i, last_j = np.array(allowed.shape[-2:]) - 1                      # 0: broadcast axis
    return inside & allowed[..., np.minimum(i, last_i), j.clip(0, last_j)]
