"""Rotary positions: queries and keys are rotated by their position (RoFormer; Su et al., 2021)."""

import math
from typing import NamedTuple

import numpy as np

from ..attention import ScaledDotProductAttention
from ..checks import check_array, check_gradient, check_number, check_positions, check_sizes
from ..module import Cache, Module, Rng
from ..positional_encoding import SinusoidalPositionalEncoding
from .norms import RMSNorm


class Stretch(NamedTuple):
    """w_i (s_i + (1 - s_i) / factor),   s_i = (turns_i - low) / (high - low)      as in Llama 3.1

    A pair makes turns_i = length w_i / (2 pi) turns in `length` positions, those of the first
    training. s_i is cut to [0, 1]: from `high` turns on, a pair keeps its speed w_i. Up to `low`
    turns, it becomes `factor` times as slow, so that longer texts have angles that it knows.
    """
    factor: float
    low: float
    high: float
    length: int

    def slower(self, w: np.ndarray) -> np.ndarray:
        """Return the new speeds of pairs with the speeds w, in radians per position."""
        turns = self.length * w / (2 * math.pi)
        s = np.clip((turns - self.low) / (self.high - self.low), 0, 1)
        return w * (s + (1 - s) / self.factor)


class RotaryPositions(Module):
    """y_a = x_a cos(t w_i) - x_b sin(t w_i),   w_i = base^(-2i / d_k)   Su et al., 2021, Eq. (34)
       y_b = x_a sin(t w_i) + x_b cos(t w_i)

    x (..., T, d_k), whose first position t has the number `start`, d_k even   ->   the same shape
    The features (a, b) of pair i are rotated in their plane. A pair is (i, i + d_k / 2), as in
    Llama, or (2i, 2i + 1) if `interleaved`, as in the article. A Stretch changes the w_i.

    With R_t for the rotation at position t,   R_s^T R_t = R_(t - s),   so the score of a query and
    a key,   (R_s q) . (R_t k) = q . R_(t - s) k,   depends on their distance, and not on s and t.
    With P for the permutation that moves (2i, 2i + 1) to (i, i + d_k / 2), the interleaved rotation
    is P^T R_t P, and   (P^T R_s P q) . (P^T R_t P k) = (R_s P q) . (R_t P k).   So a permutation of
    the columns of W_Q and W_K inside each head turns one pairing into the other.

    backward: R_t is orthogonal, so   grad_x_t = R_t^T grad_y_t,   rotated by the opposite angle
    """
    formula = "y_a = x_a cos(t w_i) - x_b sin(t w_i)"
    kept_at = ("self_attention.attention.rotary_Q", "self_attention.attention.rotary_K")

    def __init__(self, d_k: int, *, base: float = 10000.0, interleaved: bool = False,
                 stretch: Stretch | None = None) -> None:
        check_sizes(d_k=d_k)
        check_number("base", base, 0, float("inf"), open_low=True)
        if d_k % 2:
            raise ValueError(f"d_k must be even, for pairs of features, got d_k={d_k}")
        self.d_k, self.base, self.interleaved = d_k, float(base), interleaved
        self.stretch = stretch

    def table(self, T: int, *, start: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return cos and sin of the angles at positions start .. start + T, each (T, d_k / 2)."""
        check_positions(T, start, float("inf"))
        w = self.base ** (-np.arange(0, self.d_k, 2) / self.d_k)       # (d_k / 2,)
        w = self.stretch.slower(w) if self.stretch else w
        angle = np.arange(start, start + T)[:, None] * w               # (T, d_k / 2)
        return np.cos(angle), np.sin(angle)

    def pairs(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first and the second feature of every pair, two views (..., d_k / 2)."""
        half = self.d_k // 2
        return (x[..., 0::2], x[..., 1::2]) if self.interleaved else (x[..., :half], x[..., half:])

    def turned(self, x: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
        """Return x with every pair rotated by the angles of cos and sin (T, d_k / 2)."""
        y = np.empty(x.shape, x.dtype)
        (a, b), (y_a, y_b) = self.pairs(x), self.pairs(y)
        y_a[...] = a * cos - b * sin
        y_b[...] = a * sin + b * cos
        return y

    def forward(self, x: np.ndarray, *, start: int = 0) -> tuple[np.ndarray, Cache]:
        check_array("x", x, last=("d_k", self.d_k), min_ndim=2)
        cos, sin = (c.astype(x.dtype) for c in self.table(x.shape[-2], start=start))
        return self.turned(x, cos, sin), Cache(cos=cos, sin=sin, shape=x.shape)

    def backward(self, grad_y: np.ndarray, cache: Cache) -> np.ndarray:
        check_gradient(grad_y, cache.shape, cache.cos.dtype)
        # y = R x, and R^T turns back
        return self.turned(grad_y, cache.cos, -cache.sin)


class NormedRotaryPositions(RotaryPositions):
    """y = R_t RMSNorm(x): each query, or key, is normalised before it is rotated (Qwen3)

    x (..., T, d_k)   gamma (d_k,)   ->   the same shape
    """
    formula = "y = R_t RMSNorm(x)"
    kept_at = ("self_attention.attention.rotary_Q", "self_attention.attention.rotary_K")

    def __init__(self, d_k: int, *, base: float = 10000.0, interleaved: bool = False,
                 stretch: Stretch | None = None) -> None:
        super().__init__(d_k, base=base, interleaved=interleaved, stretch=stretch)
        self.norm = RMSNorm(d_k)

    def forward(self, x: np.ndarray, *, start: int = 0) -> tuple[np.ndarray, Cache]:
        n, norm = self.norm.forward(x)
        y, cache = super().forward(n, start=start)
        cache.norm = norm
        return y, cache

    def backward(self, grad_y: np.ndarray, cache: Cache) -> np.ndarray:
        return self.norm.backward(super().backward(grad_y, cache), cache.norm)


class RotaryAttention(ScaledDotProductAttention):
    """softmax((R Q) (R K)^T / sqrt(d_k)) V: plain attention of rotated queries and keys

    Q (..., T_q, d_k)   K (..., T_k, d_k)   V (..., T_k, d_v)   ->   (..., T_q, d_v)
    rotary_Q, rotary_K: the layers that rotate, by default one layer for both. Queries are numbered
    from 0, and so are keys. (Decoding rotates each key once, when it is new, and keeps it rotated.)
    """
    formula = "softmax((R Q) (R K)^T / sqrt(d_k)) V"
    kept_at = ("self_attention.attention",)

    def __init__(self, rotary_Q: RotaryPositions, rotary_K: RotaryPositions | None = None,
                 P_drop: float = 0.0) -> None:
        super().__init__(P_drop)
        self.rotary_Q, self.rotary_K = rotary_Q, rotary_K or rotary_Q

    def forward(self, Q: np.ndarray, K: np.ndarray, V: np.ndarray, *,
                allowed: np.ndarray | None = None, rng: Rng = None) -> tuple[np.ndarray, Cache]:
        turned_Q, of_Q = self.rotary_Q.forward(Q)                      # (..., T_q, d_k)
        turned_K, of_K = self.rotary_K.forward(K)                      # (..., T_k, d_k)
        y, cache = super().forward(turned_Q, turned_K, V, allowed=allowed, rng=rng)
        cache.rotary_Q, cache.rotary_K = of_Q, of_K
        return y, cache

    def backward(self, grad_out: np.ndarray,
                 cache: Cache) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        grad_Q, grad_K, grad_V = super().backward(grad_out, cache)
        # scores = (R Q) (R K)^T / sqrt(d_k)
        grad_Q = self.rotary_Q.backward(grad_Q, cache.rotary_Q)
        grad_K = self.rotary_K.backward(grad_K, cache.rotary_K)
        return grad_Q, grad_K, grad_V


def rotary_attention(h: int, d_k: int, d_v: int, rng: Rng) -> RotaryAttention:
    """Make a RotaryAttention; a factory for Transformer(attention=rotary_attention)."""
    return RotaryAttention(RotaryPositions(d_k))


class NoPositions(SinusoidalPositionalEncoding):
    """y = x: nothing is added, because the attentions know the positions

    x (..., T, d_model), whose first position has the number `start`   ->   the same shape
    """
    formula = "y = x"
    position_wise = True

    def table(self, T: int, *, start: int = 0) -> np.ndarray:
        """Return zeros (T, d_model); ValueError for positions from max_len on."""
        check_positions(T, start, self.max_len)
        return np.zeros((T, self.d_model))
