"""Exercise 6: multi-head attention: split, attend, concatenate, project."""

from typing import Any

import numpy as np

from ...attention import ScaledDotProductAttention
from ...multi_head import MultiHeadAttention, merge_heads, split_heads
from ..exercise import Case, exercise, layer

EXERCISE = exercise(
    6, "multi-head", "Multi-head attention", section="3.2.2, Fig. 2 right", lesson="6.2, 6.8",
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
MULTI_HEAD.made_like = lambda cls, ours: cls(
    ours.d_model, ours.h, d_k=ours.d_k, d_v=ours.d_v, rng=np.random.default_rng()
)


ALL = 1 - 1e-12  # a dropout rate with which nothing is kept


def of_sizes(d_model, h, d_k=None, d_v=None):
    """Make a multi-head attention of these sizes."""
    return lambda cls: cls(d_model, h, d_k=d_k, d_v=d_v, rng=np.random.default_rng(0))


def with_dropout(cls):
    """Make one whose attention drops every weight, in whatever order the heads come."""
    layer = of_sizes(6, 2)(cls)
    layer.attention = ScaledDotProductAttention(ALL)
    return layer


@MULTI_HEAD.tried_on
def cases(rng):
    def arrays(*leading, d_model, T_q, T_k):
        return tuple(rng.standard_normal((*leading, T, d_model)) for T in (T_q, T_k, T_k))
    allowed = rng.random((2, 1, 4, 5)) < 0.6
    allowed[..., 0] = True
    return [
        Case("d_model = 6, h = 2", of_sizes(6, 2), arrays(2, d_model=6, T_q=4, T_k=5), {},
             dict(B=2, T_q=4, T_k=5, d_model=6, h=2, d_k=3)),
        Case("T_q = T_k = 4, h = 3", of_sizes(6, 3), arrays(2, d_model=6, T_q=4, T_k=4), {},
             dict(B=2, T=4, d_model=6, h=3, d_k=2)),
        Case("a mask", of_sizes(6, 2), arrays(2, d_model=6, T_q=4, T_k=5), dict(allowed=allowed),
             special=True),
        Case("d_k = 4, d_v = 5", of_sizes(6, 3, 4, 5), arrays(2, d_model=6, T_q=4, T_k=7),
             special=True),
        Case("h = 1", of_sizes(4, 1), arrays(3, d_model=4, T_q=2, T_k=5), special=True),
        Case("dropout on the weights", with_dropout, arrays(2, d_model=6, T_q=4, T_k=5),
             dict(rng=np.random.default_rng(1)), special=True),
    ]


def dealt(x, h):
    """Heads by a reshape alone."""
    return x.reshape(*x.shape[:-2], h, x.shape[-2], x.shape[-1] // h)


def collected(x):
    """Its inverse."""
    return x.reshape(*x.shape[:-3], x.shape[-2], x.shape[-3] * x.shape[-1])


def interleaved(x, h):
    """Heads that take every h-th feature."""
    return x.reshape(*x.shape[:-1], x.shape[-1] // h, h).swapaxes(-1, -3).swapaxes(-1, -2)


SPLIT: list[Any] = [
    split_heads,
    ("heads split by reshape alone", "The split is a reshape alone, so that a head gets all"
     " features of some positions, not some features of all. Reshape to (..., T, h, d), then swap T"
     " and h.", dealt),
    ("features interleaved", "A head takes every h-th feature. In the order of this package it"
     " takes neighbours: reshape to (..., T, h, d), not to (..., T, d, h).", interleaved),
]
MERGE: list[Any] = [
    merge_heads,
    ("heads merged by reshape alone", "The heads are merged by a reshape alone. Swap h and T back"
     " first, then reshape (..., T, h, d) to (..., T, h d).", collected),
]
OUT = [True, ("linear_O missing", "The heads are concatenated and returned. W^O is missing:"
              " linear_O.", False)]
MASKED = [True, ("mask ignored", "The mask does not reach the attention: pass allowed=allowed on.",
                 False)]
SOURCES = [
    lambda x_Q, x_K, x_V: (x_Q, x_K, x_V),
    ("values from the keys", "The values are made from x_K. In self-attention that is the same"
     " array, here it is not.", lambda x_Q, x_K, x_V: (x_Q, x_K, x_K)),
    ("all from the queries", "Keys and values are made from x_Q, too. In self-attention that is the"
     " same array, here it is not.", lambda x_Q, x_K, x_V: (x_Q, x_Q, x_Q)),
]
MAPS = [
    ("linear_Q", "linear_K", "linear_V"),
    ("one projection for two", "The keys are projected by linear_Q. They have a matrix of their"
     " own, linear_K.", ("linear_Q", "linear_Q", "linear_V")),
    ("one projection for two", "The values are projected by linear_K. They have a matrix of their"
     " own, linear_V.", ("linear_Q", "linear_K", "linear_K")),
]
SCALED = [0, ("scaled twice", "The scores are divided by sqrt(d_k) twice: the attention does it"
              " already.", 0.5)]
ADDED = [0, ("residual added", 'x_Q is added. The residual sum belongs to "Add & Norm", around this'
             " layer.", 1)]


@MULTI_HEAD.family("forward", split=SPLIT, merge=MERGE, out=OUT, masked=MASKED, sources=SOURCES,
                   maps=MAPS, scaled=SCALED, added=ADDED)
def output(layer, x_Q, x_K, x_V, allowed=None, *, split, merge, out, masked, sources, maps,
           scaled, added):
    inputs = sources(x_Q, x_K, x_V)
    Q, K, V = (split(getattr(layer, name)(x), layer.h) for name, x in zip(maps, inputs))
    Q = Q / layer.d_k**scaled
    heads = merge(layer.attention(Q, K, V, allowed=allowed if masked else None))
    return (layer.linear_O(heads) if out else heads) + added * x_Q


@MULTI_HEAD.mistake("forward", "not split")
def one_head(layer, x_Q, x_K, x_V, allowed=None):
    """There is one head of the full width: the projections are not split."""
    projected = layer.linear_Q(x_Q), layer.linear_K(x_K), layer.linear_V(x_V)
    Q, K, V = (x[..., None, :, :] for x in projected)
    return layer.linear_O(layer.attention(Q, K, V, allowed=allowed)[..., 0, :, :])


@MULTI_HEAD.mistake("forward", "rng not passed on")
def no_dropout(layer, x_Q, x_K, x_V, allowed=None, rng=None):
    """The rng does not reach the attention: pass rng=rng on."""
    return layer(x_Q, x_K, x_V, allowed=allowed)


ORDER: list[Any] = [
    lambda Q, K, V: (Q, K, V),
    ("keys and values exchanged", "The gradients of K and V are exchanged: attention.backward gives"
     " grad_Q, grad_K, grad_V, in this order.", lambda Q, K, V: (Q, V, K)),
    ("one gradient for two", "The keys get the gradient of the values: grad_K is what goes back"
     " through linear_K.", lambda Q, K, V: (Q, V, V)),
]


@MULTI_HEAD.family("backward", split=SPLIT, merge=MERGE, order=ORDER)
def gradients(layer, grad_y, *arrays, allowed=None, split, merge, order):
    _, cache = layer.forward(*arrays, allowed=allowed)
    grad_heads = split(grad_y @ layer.linear_O.W.value.T, layer.h)
    grads = order(*layer.attention.backward(grad_heads, cache.attention))
    maps = layer.linear_Q, layer.linear_K, layer.linear_V
    names = "grad_x_Q", "grad_x_K", "grad_x_V"
    return {n: merge(g) @ m.W.value.T for n, g, m in zip(names, grads, maps)}


@MULTI_HEAD.mistake("backward", "keys and values exchanged")
def exchanged(layer, grad_y, *arrays, allowed=None):
    """The gradients of x_K and x_V are returned in the other order: grad_x_Q, grad_x_K,
    grad_x_V."""
    found = gradients(layer, grad_y, *arrays, allowed=allowed, split=split_heads,
                      merge=merge_heads, order=ORDER[0])
    return dict(grad_x_K=found["grad_x_V"], grad_x_V=found["grad_x_K"])
