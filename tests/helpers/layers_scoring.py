"""Configurations of scoring functions and relative positions for the laws; see layers.py."""

from layers import dropout, leading, mask, rate, register, sizes

from aiayn_np.variants.relative_position import (
    RelativeAttention,
    RelativePositionBias,
    RelativePositionBias2D,
    RelativeScore,
)
from aiayn_np.variants.scoring import (
    AdditiveScore,
    ConcatScore,
    DotScore,
    GeneralScore,
    PairTanh,
    ScoredAttention,
)
from aiayn_np.variants.windows import WindowAttention


def pairs(rng, lead):
    """Two arrays that differ in their lengths: (..., T_q, n) and (..., T_k, n)."""
    T_q, T_k, n = sizes(rng, 3)
    return [rng.standard_normal((*lead, T_q, n)), rng.standard_normal((*lead, T_k, n))]


@register(DotScore)
def dot(rng):
    return DotScore(), pairs(rng, leading(rng)), {}


@register(PairTanh)
def pair_tanh(rng):
    return PairTanh(), pairs(rng, leading(rng)), {}


def heads(rng):
    """A batch, or two axes of it, and the heads."""
    lead = leading(rng)
    return (*lead[:2], *sizes(rng, 1))


@register(GeneralScore)
def general(rng):
    Q, K = pairs(rng, lead := heads(rng))
    return GeneralScore(lead[-1], Q.shape[-1], rng=rng), [Q, K], {}


@register(AdditiveScore)
def additive(rng):
    Q, K = pairs(rng, lead := heads(rng))
    return AdditiveScore(lead[-1], Q.shape[-1], d_a=width_or_none(rng), rng=rng), [Q, K], {}


@register(ConcatScore)
def concat(rng):
    Q, K = pairs(rng, lead := heads(rng))
    return ConcatScore(lead[-1], Q.shape[-1], d_a=width_or_none(rng), rng=rng), [Q, K], {}


def width_or_none(rng):
    return None if rng.random() < 0.3 else sizes(rng, 1)[0]


@register(ScoredAttention)
def scored_attention(rng):
    draw = [dot, general, additive, concat][rng.integers(4)]
    score, (Q, K), _ = draw(rng)
    inputs, options = values(rng, Q, K)
    return ScoredAttention(score, rate(rng)), inputs, options


def values(rng, Q, K):
    """The inputs Q, K, V of an attention, and a mask that fits."""
    V = rng.standard_normal((*K.shape[:-1], *sizes(rng, 1)))
    return [Q, K, V], {"allowed": mask(rng, (*Q.shape[:-1], K.shape[-2])), **dropout(rng)}


@register(RelativePositionBias)
def bias(rng):
    """With max_distance from 1 to 4 some distances are clipped, and some rows unused."""
    T_q, T_k = sizes(rng, 2)
    scores = rng.standard_normal((*(lead := heads(rng)), T_q, T_k))
    return RelativePositionBias(lead[-1], int(rng.integers(1, 5)), rng=rng), [scores], {}


@register(RelativePositionBias2D)
def bias_2d(rng):
    lead, (height, width) = heads(rng), rng.integers(1, 5, 2)
    layer = RelativePositionBias2D(lead[-1], int(height), int(width), rng=rng)
    return layer, [rng.standard_normal((*lead, height * width, height * width))], {}


@register(RelativeScore)
def relative_score(rng):
    lead = heads(rng)
    bias = RelativePositionBias(lead[-1], int(rng.integers(1, 5)), rng=rng)
    return RelativeScore(bias), pairs(rng, lead), {}


@register(RelativeAttention)
def relative_attention(rng):
    Q, K = pairs(rng, lead := heads(rng))
    inputs, options = values(rng, Q, K)
    relative = RelativePositionBias(lead[-1], int(rng.integers(1, 5)), rng=rng)
    return RelativeAttention(relative, rate(rng)), inputs, options


@register(WindowAttention)
def window_attention(rng):
    """Images of 1 to 3 by 1 to 3 windows, every shift; rectangular ones too."""
    window, h, d_head, B = (int(n) for n in rng.integers(1, 4, 4))
    down, right = (int(n) for n in rng.integers(1, 4, 2))
    shift = int(rng.integers(window))
    layer = WindowAttention(h * d_head, h, window, shift=shift, rng=rng)
    return layer, [rng.standard_normal((B, down * window, right * window, h * d_head))], {}
