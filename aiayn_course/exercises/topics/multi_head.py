"""Exercise 6: multi-head attention: split, attend, concatenate, project."""

import numpy as np

from aiayn_np.attention import ScaledDotProductAttention
from aiayn_np.module import Cache
from aiayn_np.multi_head import MultiHeadAttention

from ..exercise import Case, exercise, layer, seeded
from .attention import masks, padding

EXERCISE = exercise(
    6, "multi-head", "Multi-head attention", section="3.2.2, Fig. 2 right", lesson="6.2, 6.3, 6.8",
    minutes=60,
    asks="the split of one product into h heads and its inverse, forwards and backwards",
)

MULTI_HEAD = layer(
    EXERCISE, MultiHeadAttention,
    "Project x_Q, x_K, x_V with linear_Q, linear_K, linear_V; split each into heads; attend; merge"
    " the heads; linear_O. To split: (..., T, h d) -> reshape (..., T, h, d) -> swap the axes T and"
    " h. A reshape alone deals the numbers out to the wrong heads. Keep the cache of every part.",
    "Backwards: linear_O.backward, split (the inverse of merge), attention.backward, merge each of"
    " the three (the inverse of split), then the three projections' backward.",
    "Split and merge only move numbers, so their backwards move them back:"
    " grad_heads = split(linear_O.backward(grad_y, ...)); grad_Q, grad_K, grad_V ="
    " attention.backward(grad_heads, ...); grad_x_Q = linear_Q.backward(merge(grad_Q), ...), and so"
    " on. Return grad_x_Q, grad_x_K, grad_x_V.",
)
MULTI_HEAD.balanced = True

ALL = 1 - 1e-12  # a dropout rate that keeps nothing, for any order of the heads


def with_dropout_of(layer, ours):
    """Let a layer's attention drop weights if our layer's attention does."""
    if rate := ours.attention.dropout.P_drop:
        layer.attention = ScaledDotProductAttention(rate)
    return layer


MULTI_HEAD.made_like = lambda cls, ours: with_dropout_of(
    cls(ours.d_model, ours.h, d_k=ours.d_k, d_v=ours.d_v, rng=np.random.default_rng()), ours)


@MULTI_HEAD.tried_on
def cases(rng):
    def arrays(*leading, d_model, T_q, T_k):
        return tuple(rng.standard_normal((*leading, T, d_model)) for T in (T_q, T_k, T_k))
    allowed = rng.random((2, 1, 4, 5)) < 0.6
    allowed[..., 0] = True
    layer = MultiHeadAttention(6, 2, rng=seeded())
    dropping = MultiHeadAttention(6, 2, attention=ScaledDotProductAttention(ALL), rng=seeded())
    return [
        Case("d_model = 12, h = 2", MultiHeadAttention(12, 2, rng=seeded()),
             arrays(3, d_model=12, T_q=4, T_k=5), {},
             dict(B=3, T_q=4, T_k=5, d_model=12, h=2, d_k=6)),
        Case("T_q = T_k = 4, h = 3", MultiHeadAttention(15, 3, rng=seeded()),
             arrays(2, d_model=15, T_q=4, T_k=4), {}, dict(B=2, T=4, d_model=15, h=3, d_k=5)),
        Case("a mask", layer, arrays(2, d_model=6, T_q=4, T_k=5), dict(allowed=allowed),
             special=True),
        Case("d_k = 4, d_v = 5", MultiHeadAttention(6, 3, d_k=4, d_v=5, rng=seeded()),
             arrays(2, d_model=6, T_q=4, T_k=7), special=True, why="d_k and d_v may be given:"
             " they need not be d_model // h."),
        Case("h = 1", MultiHeadAttention(4, 1, rng=seeded()),
             arrays(3, d_model=4, T_q=2, T_k=5), special=True),
        Case("a mask of two axes", layer, arrays(2, d_model=6, T_q=5, T_k=5),
             dict(allowed=np.tri(5, dtype=bool)), special=True),
        *(Case(what, layer, arrays(3, d_model=6, T_q=4, T_k=5), dict(allowed=mask), special=True)
          for what, mask in masks(rng, 3, 1, 4, 5).items()),
        Case("d_model = h = T = 3", MultiHeadAttention(3, 3, rng=seeded()),
             arrays(2, d_model=3, T_q=3, T_k=3), special=True),
        Case("one query and five keys", layer, arrays(2, d_model=6, T_q=1, T_k=5), special=True),
        *(Case(what, layer, arrays(2, d_model=6, T_q=T_q, T_k=5), dict(allowed=padding(2, 5)),
               special=True)
          for what, T_q in (("padding, T_q = T_k = 5", 5), ("padding and one query", 1))),
        Case("Q, K and V are equal", layer, arrays(2, d_model=6, T_q=4, T_k=4)[:1] * 3,
             special=True),
        *(Case(what, some, arrays(2, d_model=6, T_q=4, T_k=5),
               dict(allowed=allowed, rng=np.random.default_rng(1)), special=True)
          for what, some in (("dropout on the weights", dropping),
                             ("rng given without dropout", layer))),
    ]


TO_SPLIT = "Reshape to (..., T, h, d), then swap T and h."
TO_MERGE = "Swap h and T back, then reshape (..., T, h, d) to (..., T, h d)."
SPLIT, MERGED = "parts.swapaxes(-2, -3)", "swapped.reshape(*swapped.shape[:-2], -1)"
BY_RESHAPE = ("x.reshape(*x.shape[:-2], self.h, x.shape[-2], -1)",
              "heads.reshape(*heads.shape[:-3], heads.shape[-2], -1)")
INTERLEAVED = ("np.moveaxis(x.reshape(*x.shape[:-1], -1, self.h), -1, -3)",
               "np.moveaxis(heads, -3, -1).reshape(*heads.shape[:-3], heads.shape[-2], -1)")
SHAPES = (
    ((SPLIT, MERGED), BY_RESHAPE, "heads split by reshape alone", "Split and merge are a reshape"
     " alone, so that a head gets all features of some positions, not some features of all."
     f" {TO_SPLIT}"),
    ((SPLIT, MERGED), INTERLEAVED, "features interleaved", "A head takes every h-th feature. In the"
     f" order of this package it takes neighbours. {TO_SPLIT}"),
    (SPLIT, INTERLEAVED[0], "features interleaved", "A head takes every h-th feature. In the order"
     f" of this package it takes neighbours. {TO_SPLIT}"),
    (MERGED, INTERLEAVED[1], "features interleaved", "The merged heads are interleaved, feature by"
     f" feature. They must stand side by side. {TO_MERGE}"),
)
ATTEND = "self.attention({}K, V, allowed=allowed, rng=rng)"


@MULTI_HEAD.right(
    "forward",
    *SHAPES,
    (ATTEND.format("Q, "), ATTEND.format("Q / np.sqrt(self.d_k), "), "scaled twice", "The scores"
     " are divided by sqrt(d_k) twice: the attention does it already."),
    (("self.linear_K(x_K)", "self.linear_V(x_V)"), ("self.linear_K(x_Q)", "self.linear_V(x_Q)"),
     "all from the queries", "Keys and values are made from x_Q, too. In self-attention that is the"
     " same array, here it is not."),
)
def right_output(self, x_Q, x_K, x_V, allowed=None, rng=None):
    def split_heads(x):
        parts = x.reshape(*x.shape[:-1], self.h, x.shape[-1] // self.h)
        return parts.swapaxes(-2, -3)

    def merge_heads(heads):
        swapped = heads.swapaxes(-2, -3)
        return swapped.reshape(*swapped.shape[:-2], -1)

    Q = split_heads(self.linear_Q(x_Q))
    K = split_heads(self.linear_K(x_K))
    V = split_heads(self.linear_V(x_V))
    heads = self.attention(Q, K, V, allowed=allowed, rng=rng)
    return self.linear_O(merge_heads(heads))


def of_last_head(cache):
    """Return a cache in which every head is replaced by the last head."""
    return (Cache(**{name: of_last_head(part) for name, part in vars(cache).items()})
            if isinstance(cache, Cache) else cache if np.ndim(cache) < 3
            else np.broadcast_to(cache[..., -1:, :, :], cache.shape))


BACK = "self.linear_{}.backward(merge_heads(grad_{}), cache.linear_{})"
TO_K, TO_V = (BACK.format(name, name, name) for name in "KV")


@MULTI_HEAD.right(
    "backward",
    *SHAPES,
    ("cache.attention", "of_last_head(cache.attention)", "cache of the last head", "The"
     " cache of the last head is used for all: in the loop each writes over that of the one before."
     " Keep one for every head."),
    ((TO_K, TO_V), (TO_V, TO_K), "keys and values exchanged", "The gradients of x_K and x_V are"
     " returned in the other order: grad_x_Q, grad_x_K, grad_x_V."),
)
def right_gradients(self, grad_y, x_Q, x_K, x_V, cache):
    def split_heads(x):
        parts = x.reshape(*x.shape[:-1], self.h, x.shape[-1] // self.h)
        return parts.swapaxes(-2, -3)

    def merge_heads(heads):
        swapped = heads.swapaxes(-2, -3)
        return swapped.reshape(*swapped.shape[:-2], -1)

    grad_heads = split_heads(self.linear_O.backward(grad_y, cache.linear_O))
    grad_Q, grad_K, grad_V = self.attention.backward(grad_heads, cache.attention)
    return {"grad_x_Q": self.linear_Q.backward(merge_heads(grad_Q), cache.linear_Q),
            "grad_x_K": self.linear_K.backward(merge_heads(grad_K), cache.linear_K),
            "grad_x_V": self.linear_V.backward(merge_heads(grad_V), cache.linear_V)}
