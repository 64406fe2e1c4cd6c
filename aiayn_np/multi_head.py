"""Multi-head attention: Sec. 3.2.2 and Fig. 2 (right)."""

import numpy as np

from .attention import ScaledDotProductAttention
from .checks import check_attention_shapes, check_heads, check_layer, check_rng
from .linear import Linear
from .module import Cache, Module


def split_heads(x: np.ndarray, h: int) -> np.ndarray:
    """Turn (..., T, h * d) into (..., h, T, d): the same numbers, with the axes reordered."""
    return x.reshape(*x.shape[:-1], h, x.shape[-1] // h).swapaxes(-2, -3)


def merge_heads(x: np.ndarray) -> np.ndarray:
    """Turn (..., h, T, d) into (..., T, h * d), the inverse of split_heads: "Concat" in Fig. 2."""
    x = x.swapaxes(-2, -3)
    return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])


def make_attention(attention, h, d_k, d_v, rng):
    """Return the paper's attention for None, a given layer unchanged, else the factory's layer."""
    if attention is None:
        return ScaledDotProductAttention()
    if not isinstance(attention, Module) and callable(attention):
        attention = attention(h, d_k, d_v, rng)
    check_layer("attention", attention, "attention(h, d_k, d_v, rng)")
    return attention


class MultiHeadAttention(Module):
    """MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O            Sec. 3.2.2, Fig. 2 right
       head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)

    x_Q (..., T_q, d_model)   x_K, x_V (..., T_k, d_model)   ->   (..., T_q, d_model)
    allowed: bool (T_q, T_k), or as many axes as the scores (..., h, T_q, T_k), each 1 or equal.
    W_1^Q ... W_h^Q stand side by side in one matrix linear_Q.W, likewise K and V: one product,
    then a split into heads, is the same as h products. The paper has no biases here.
    d_k, d_v: d_model / h by default.   attention: a layer called as ScaledDotProductAttention.
    """
    formula = "MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O"
    kept_at = ("self_attention", "cross_attention")

    def __init__(self, d_model, h, *, d_k=None, d_v=None, bias=False, attention=None, rng):
        d_k, d_v = check_heads(d_model, h, d_k, d_v)
        check_rng(rng, or_none=True)
        self.d_model, self.h, self.d_k, self.d_v = d_model, h, d_k, d_v
        self.linear_Q = Linear(d_model, h * d_k, bias=bias, rng=rng)
        self.linear_K = Linear(d_model, h * d_k, bias=bias, rng=rng)
        self.linear_V = Linear(d_model, h * d_v, bias=bias, rng=rng)
        self.attention = make_attention(attention, h, d_k, d_v, rng)
        self.linear_O = Linear(h * d_v, d_model, bias=bias, rng=rng)

    def forward(self, x_Q, x_K, x_V, *, allowed=None, rng=None):
        check_attention_shapes(x_Q, x_K, x_V, ("x_Q", "x_K", "x_V"), parameter=self.linear_Q.W,
                               last=("d_model", self.d_model))
        cache = Cache()
        Q, cache.linear_Q = self.linear_Q.forward(x_Q)                 # Linear  (..., T_q, h * d_k)
        K, cache.linear_K = self.linear_K.forward(x_K)                 #         (..., T_k, h * d_k)
        V, cache.linear_V = self.linear_V.forward(x_V)                 #         (..., T_k, h * d_v)
        Q, K, V = split_heads(Q, self.h), split_heads(K, self.h), split_heads(V, self.h)
        heads, cache.attention = self.attention.forward(Q, K, V, allowed=allowed, rng=rng)
        concat = merge_heads(heads)                                    # Concat  (..., T_q, h * d_v)
        y, cache.linear_O = self.linear_O.forward(concat)              # Linear  (..., T_q, d_model)
        return y, cache

    def backward(self, grad_y, cache):
        # y = linear_O(concat)
        grad_concat = self.linear_O.backward(grad_y, cache.linear_O)   # (..., T_q, h * d_v)
        grad_heads = split_heads(grad_concat, self.h)                  # undoes merge_heads
        grad_Q, grad_K, grad_V = self.attention.backward(grad_heads, cache.attention)
        # V = split_heads(linear_V(x_V)), K and Q likewise
        grad_x_V = self.linear_V.backward(merge_heads(grad_V), cache.linear_V)
        grad_x_K = self.linear_K.backward(merge_heads(grad_K), cache.linear_K)
        grad_x_Q = self.linear_Q.backward(merge_heads(grad_Q), cache.linear_Q)
        return grad_x_Q, grad_x_K, grad_x_V
