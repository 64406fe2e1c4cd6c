"""Relative position: a learned bias on the scores that depends on the distance j - i only.

In one dimension the bias is T5's without logarithmic buckets, clipped as in Shaw et al. (2018).
In two dimensions it is the bias of Swin (Liu et al., 2021); the windows are in windows.py.
"""

import math

import numpy as np

from ..checks import check_array, check_gradient, check_rng, check_sizes
from ..module import Cache, Module, Parameter, Rng
from .scoring import DotScore, ScoredAttention, check_part, sum_leading


class RelativePositionBias(Module):
    """y_ij = scores_ij + b[clip(j - i, -max_distance, max_distance)]      after T5, Shaw et al.

    scores (..., h, T_q, T_k)   b (2 max_distance + 1, h), drawn N(0, 0.02^2)   ->   the same shape
    Row r of b is for the distance r - max_distance. Queries are numbered from 0, and so are keys.
    rng=None leaves b empty.

    backward: grad_scores = grad_y. Row r of b was added to every pair with its distance, so
    grad_b[r] = sum of grad_y_ij over all pairs with index_ij = r, and over all sequences.
    """
    formula = "y_ij = scores_ij + b[clip(j - i, -max_distance, max_distance)]"

    def __init__(self, h: int, max_distance: int, *, rng: Rng) -> None:
        check_sizes(h=h, max_distance=max_distance)
        check_rng(rng, or_none=True)
        self.h, self.max_distance = h, max_distance
        self.b = Parameter.normal(0.02, (2 * max_distance + 1, h), rng)

    def index(self, T_q: int, T_k: int) -> np.ndarray:
        """Return the row of b for each pair, (T_q, T_k)."""
        distance = np.arange(T_k) - np.arange(T_q)[:, None]            # j - i
        return distance.clip(-self.max_distance, self.max_distance) + self.max_distance

    def forward(self, scores: np.ndarray) -> tuple[np.ndarray, Cache]:
        check_array("scores", scores, parameter=self.b, min_ndim=3)
        if scores.shape[-3] != self.h:
            raise ValueError(f"scores must have h={self.h} on axis -3, got shape {scores.shape}")
        index = self.index(*scores.shape[-2:])                         # (T_q, T_k)
        bias = np.moveaxis(self.b.value[index], -1, 0)                 # (h, T_q, T_k)
        return scores + bias, Cache(index=index, shape=scores.shape, dtype=scores.dtype)

    def backward(self, grad_y: np.ndarray, cache: Cache) -> np.ndarray:
        check_gradient(grad_y, cache.shape, cache.dtype)
        # y = scores + b[index]
        grad_bias = np.moveaxis(sum_leading(grad_y), 0, -1)            # (T_q, T_k, h)
        grad_b = np.zeros_like(self.b.grad)
        np.add.at(grad_b, cache.index, grad_bias)                      # for every repeated row
        self.b.grad += grad_b
        return grad_y


class RelativePositionBias2D(RelativePositionBias):
    """y_ij = scores_ij + b[row_i - row_j, column_i - column_j]        Swin, Eq. (4)

    scores (..., h, T, T), T = height width tokens row by row   ->   the same shape
    b ((2 height - 1) (2 width - 1), h), drawn N(0, 0.02^2), has one row for each offset in the
    image. Offsets lie in -(height - 1) .. height - 1 and -(width - 1) .. width - 1.

    forward and backward: as in RelativePositionBias, with this index.
    """
    formula = "y_ij = scores_ij + b[row_i - row_j, column_i - column_j]"

    def __init__(self, h: int, height: int, width: int, *, rng: Rng) -> None:
        check_sizes(h=h, height=height, width=width)
        check_rng(rng, or_none=True)
        self.h, self.height, self.width = h, height, width
        self.b = Parameter.normal(0.02, ((2 * height - 1) * (2 * width - 1), h), rng)

    def index(self, T_q: int, T_k: int) -> np.ndarray:
        """Return the row of b for each pair, (T, T)."""
        T = self.height * self.width
        if (T_q, T_k) != (T, T):
            raise ValueError(f"scores must end with axes {T, T}, got {T_q, T_k}")
        row, column = np.divmod(np.arange(T), self.width)
        down = row[:, None] - row + self.height - 1                    # (T, T), from 0
        right = column[:, None] - column + self.width - 1
        return down * (2 * self.width - 1) + right


class RelativeScore(Module):
    """score(q, k) = q . k / sqrt(d_k) + bias                          Swin, Eq. (4)

    Q (..., h, T_q, d_k)   K (..., h, T_k, d_k)   ->   scores (..., h, T_q, T_k)
    bias: a layer scores -> scores + bias, such as the two above.
    """
    formula = "score(q, k) = q . k / sqrt(d_k) + bias"

    def __init__(self, bias: Module) -> None:
        check_part("bias", bias, "forward(scores)")
        self.dot, self.bias = DotScore(), bias

    def forward(self, Q: np.ndarray, K: np.ndarray) -> tuple[np.ndarray, Cache]:
        cache = Cache(d_k=Q.shape[-1])
        scores, cache.dot = self.dot.forward(Q, K)                     # (..., h, T_q, T_k)
        scores, cache.bias = self.bias.forward(scores / math.sqrt(cache.d_k))
        return scores, cache

    def backward(self, grad_scores: np.ndarray, cache: Cache) -> tuple[np.ndarray, np.ndarray]:
        grad_scores = self.bias.backward(grad_scores, cache.bias)
        # scores = dot(Q, K) / sqrt(d_k)
        return self.dot.backward(grad_scores / math.sqrt(cache.d_k), cache.dot)


class RelativeAttention(ScoredAttention):
    """Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k) + bias) V        Swin, Eq. (4)

    Q (..., h, T_q, d_k)   K (..., h, T_k, d_k)   V (..., h, T_k, d_v)   ->   (..., h, T_q, d_v)
    Queries are numbered from 0, and so are keys.
    """
    formula = "Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k) + bias) V"

    def __init__(self, bias: Module, P_drop: float = 0.0) -> None:
        super().__init__(RelativeScore(bias), P_drop)


def relative_attention(h: int, d_k: int, d_v: int, rng: Rng) -> RelativeAttention:
    """Make the layer for Transformer(attention=relative_attention); distances are clipped at 16."""
    return RelativeAttention(RelativePositionBias(h, 16, rng=rng))
