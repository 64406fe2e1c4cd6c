"""Grouped-query attention: several heads of queries share one head of keys and values."""

from typing import Any

import numpy as np

from ..checks import check_attention_shapes, check_sizes
from ..linear import Linear
from ..module import Cache, Rng
from ..multi_head import MultiHeadAttention, merge_heads, split_heads


def repeat_heads(x: np.ndarray, g: int) -> np.ndarray:
    """Turn (..., h_kv, T, d) into (..., h_kv g, T, d): head j becomes j g ... (j + 1) g - 1."""
    return x if g == 1 else np.repeat(x, g, axis=-3)


def sum_heads(grad: np.ndarray, g: int) -> np.ndarray:
    """Turn (..., h_kv g, T, d) into (..., h_kv, T, d): the backward of repeat_heads."""
    if g == 1:
        return grad
    *lead, h, T, d = grad.shape
    return grad.reshape(*lead, h // g, g, T, d).sum(axis=-3)


class GroupedQueryAttention(MultiHeadAttention):
    """MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O            Ainslie et al., 2023
       head_i = Attention(Q W_i^Q, K W_j^K, V W_j^V),   j = ceil(i / g),   g = h / h_kv

    x_Q (..., T_q, d_model)   x_K, x_V (..., T_k, d_model)   ->   (..., T_q, d_model)
    allowed, d_k, d_v, attention: as in MultiHeadAttention. For h_kv = h, the default, it is this.
    h_kv must divide h; h_kv = 1 is multi-query attention (Shazeer, 2019). W^K, W^V, and the keys
    and values that decoding keeps, have h_kv / h of their usual size.

    backward: g heads of queries used head j of the keys, so its gradient is the sum of their g
    gradients. The same holds for the values.
    """
    kept_at = ("self_attention", "cross_attention")

    def __init__(self, d_model: int, h: int, *, h_kv: int | None = None, d_k: int | None = None,
                 d_v: int | None = None, bias: bool = False, attention: Any = None,
                 rng: Rng) -> None:
        h_kv = h if h_kv is None else h_kv
        check_sizes(h=h, h_kv=h_kv)
        if h % h_kv:
            raise ValueError(f"h must be divisible by h_kv, got h={h}, h_kv={h_kv}")
        super().__init__(d_model, h, d_k=d_k, d_v=d_v, bias=bias, attention=attention, rng=rng)
        self.h_kv, self.g = h_kv, h // h_kv
        if self.g > 1:
            self.linear_K = Linear(d_model, h_kv * self.d_k, bias=bias, rng=rng)
            self.linear_V = Linear(d_model, h_kv * self.d_v, bias=bias, rng=rng)

    def forward(self, x_Q: np.ndarray, x_K: np.ndarray, x_V: np.ndarray, *,
                allowed: np.ndarray | None = None, rng: Rng = None) -> tuple[np.ndarray, Cache]:
        check_attention_shapes(x_Q, x_K, x_V, ("x_Q", "x_K", "x_V"), parameter=self.linear_Q.W,
                               last=("d_model", self.d_model))
        cache = Cache()
        Q, cache.linear_Q = self.linear_Q.forward(x_Q)              # Linear  (..., T_q, h * d_k)
        K, cache.linear_K = self.linear_K.forward(x_K)              #         (..., T_k, h_kv * d_k)
        V, cache.linear_V = self.linear_V.forward(x_V)              #         (..., T_k, h_kv * d_v)
        Q, K, V = split_heads(Q, self.h), split_heads(K, self.h_kv), split_heads(V, self.h_kv)
        K, V = repeat_heads(K, self.g), repeat_heads(V, self.g)     # Share   (..., h, T_k, d)
        heads, cache.attention = self.attention.forward(Q, K, V, allowed=allowed, rng=rng)
        concat = merge_heads(heads)                                 # Concat  (..., T_q, h * d_v)
        y, cache.linear_O = self.linear_O.forward(concat)           # Linear  (..., T_q, d_model)
        return y, cache

    def backward(self, grad_y: np.ndarray,
                 cache: Cache) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        # y = linear_O(concat)
        grad_concat = self.linear_O.backward(grad_y, cache.linear_O)
        grad_heads = split_heads(grad_concat, self.h)
        grad_Q, grad_K, grad_V = self.attention.backward(grad_heads, cache.attention)
        # K, V = repeat_heads(K), repeat_heads(V)
        grad_K, grad_V = sum_heads(grad_K, self.g), sum_heads(grad_V, self.g)
        # V = split_heads(linear_V(x_V)), K and Q likewise
        grad_x_V = self.linear_V.backward(merge_heads(grad_V), cache.linear_V)
        grad_x_K = self.linear_K.backward(merge_heads(grad_K), cache.linear_K)
        grad_x_Q = self.linear_Q.backward(merge_heads(grad_Q), cache.linear_Q)
        return grad_x_Q, grad_x_K, grad_x_V
