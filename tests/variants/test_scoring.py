"""Scoring functions: shapes, dropout, bad input."""


import numpy as np
import pytest
from attention_inputs import random_QKV
from numpy.testing import assert_allclose

from aiayn_np import ScaledDotProductAttention
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
    ScoredAttention,
    additive_attention,
    concat_attention,
    dot_attention,
    general_attention,
)

H, D_K = 4, 5
FACTORIES = [dot_attention, general_attention, concat_attention, additive_attention,
             relative_attention]
SIZES = dict(T_k=6, d_k=D_K, d_v=8)


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
