"""Scoring functions: shapes, dropout, bad input."""

import re

import numpy as np
import pytest
from attention_inputs import random_QKV
from numpy.testing import assert_allclose

from aiayn_np import ScaledDotProductAttention
from aiayn_np.multi_head import split_heads
from aiayn_np.variants.relative_position import (
    RelativeAttention,
    RelativePositionBias,
    relative_attention,
)
from aiayn_np.variants.scoring import (
    AdditiveScore,
    ConcatScore,
    DotScore,
    GeneralScore,
    PairTanh,
    ScoredAttention,
    additive_attention,
    concat_attention,
    dot_attention,
    general_attention,
)

H, D_K, D_A = 4, 5, 7
FACTORIES = [dot_attention, general_attention, concat_attention, additive_attention,
             relative_attention]
SIZES = dict(T_k=6, d_k=D_K, d_v=8)


def test_general_is_the_dot_product_that_multi_head_projections_make(rng):
    """(W_1 q) . (W_2 k) = q^T (W_1^T W_2) k: multi-head attention is multiplicative already."""
    W_1, W_2 = rng.normal(size=(2, H, D_A, D_K))
    layer = GeneralScore(H, D_K, rng=rng)
    layer.W.value = W_1.mT @ W_2
    x_Q, x_K = rng.normal(size=(2, 3, D_K)), rng.normal(size=(2, 6, D_K))
    side_by_side = [W.reshape(H * D_A, D_K).T for W in (W_1, W_2)]      # as linear_Q.W, linear_K.W
    projected = [split_heads(x @ W, H) for x, W in zip((x_Q, x_K), side_by_side)]
    every_head = [np.repeat(x[:, None], H, axis=1) for x in (x_Q, x_K)]
    assert_allclose(layer(*every_head), DotScore()(*projected), rtol=1e-11, atol=1e-11)


def test_default_width_and_shapes_of_parameters(rng):
    shapes = {name: p.value.shape for name, p in AdditiveScore(H, D_K, rng=rng).named_parameters()}
    assert shapes == {"W": (H, D_K, D_K), "U": (H, D_K, D_K), "v": (H, D_K)}
    shapes = {n: p.value.shape for n, p in ConcatScore(H, D_K, d_a=2, rng=rng).named_parameters()}
    assert shapes == {"W": (H, 2 * D_K, 2), "v": (H, 2)}
    assert GeneralScore(H, D_K, rng=rng).W.value.shape == (H, D_K, D_K)


@pytest.mark.parametrize("make", [
    lambda rng: ScaledDotProductAttention(0.3), lambda rng: ScoredAttention(DotScore(), 0.3),
    lambda rng: RelativeAttention(RelativePositionBias(H, 2, rng=rng), 0.3)])
def test_dropout_acts_on_the_weights_and_the_map_stays_whole(rng, make):
    q, k, v = random_QKV(rng, (2, H), **SIZES)
    y, cache = make(rng).forward(q, k, v, rng=rng)
    assert_allclose(cache.weights.sum(axis=-1), np.ones((2, H, 3)), rtol=1e-14)
    dropped = cache.kept == 0
    assert dropped.any()
    assert_allclose(cache.kept[~dropped], cache.weights[~dropped] / 0.7, rtol=1e-14)
    assert_allclose(y, cache.kept @ v, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("factory", FACTORIES[1:4])
def test_a_factory_makes_parameters_of_its_own_for_each_place(rng, factory):
    one, two = factory(2, 3, 4, rng), factory(2, 3, 4, rng)
    assert not np.array_equal(next(one.parameters()).value, next(two.parameters()).value)


@pytest.mark.parametrize("cls", [GeneralScore, AdditiveScore, ConcatScore])
@pytest.mark.parametrize(("q", "k", "message"), [
    ((4, 3, 6), (4, 2, 6), "Q must have d_k=5 on its last axis, got shape (4, 3, 6)"),
    ((4, 3, 5), (4, 2, 4), "K must have d_k=5 on its last axis, got shape (4, 2, 4)"),
    ((3, 5), (2, 5), "Q must have at least 3 axes, got shape (3, 5)"),
    ((1, 3, 5), (1, 2, 5), "Q must have h=4 on axis -3, got shape (1, 3, 5)"),
    ((4, 3, 5), (1, 2, 5), "K must have h=4 on axis -3, got shape (1, 2, 5)"),
    ((2, 4, 3, 5), (1, 4, 2, 5), "Q and K must have one shape but for their lengths"),
    ((2, 4, 3, 5), (4, 2, 5), "Q and K must have one shape but for their lengths"),
    ((4, 3, 5), (4, 0, 5), "at least 1, got (4, 3, 5) and (4, 0, 5)"),
    ((4, 0, 5), (4, 2, 5), "at least 1, got (4, 0, 5) and (4, 2, 5)"),
])
def test_refused_shapes(rng, cls, q, k, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        cls(H, D_K, rng=rng).forward(np.ones(q), np.ones(k))


@pytest.mark.parametrize(("layer", "names"), [(DotScore(), "Q and K"), (PairTanh(), "x and y")])
@pytest.mark.parametrize(("x", "y"), [((3, 4), (5, 3)), ((2, 3, 4), (1, 5, 4)), ((3, 4), (0, 4))])
def test_refused_pairs(layer, names, x, y):
    message = f"{names} must have one shape but for their lengths"
    with pytest.raises(ValueError, match=message):
        layer.forward(np.ones(x), np.ones(y))


@pytest.mark.parametrize("score", [DotScore, dot_attention, None])
def test_refused_scores(score):
    with pytest.raises(TypeError, match=r"score must be a layer with forward\(Q, K\), got"):
        ScoredAttention(score)


def test_hidden_units_larger_than_the_memory_are_refused_before_they_are_made():
    long = np.broadcast_to(np.ones((1, 4)), (10**8, 4))  # 32 bytes
    with pytest.raises(MemoryError, match=r"shape \(100000000, 100000000, 4\) need"):
        PairTanh().forward(long, long)
