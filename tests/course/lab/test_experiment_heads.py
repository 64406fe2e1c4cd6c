"""Claims 3, 4 and 11: additive attention, the costs of both, and how many heads."""

import numpy as np
import pytest
from committed import TRAINED, committed, measured_again, timed_again

from aiayn_course.lab.claims import additive_cost as costs
from aiayn_course.lab.claims import heads_cost as layers
from aiayn_course.lab.claims.additive import (
    ADDITIVE,
    additive_against_dot,
    start_variances,
)
from aiayn_course.lab.claims.additive_cost import ADDITIVE_COST, additive_cost, cost_ratios
from aiayn_course.lab.claims.heads_cost import HEADS_COST, SIMILAR, heads_cost
from aiayn_course.lab.counting import count
from aiayn_course.lab.experiment import AGREES
from aiayn_np import check_gradients
from aiayn_np.multi_head import MultiHeadAttention
from aiayn_np.variants.scoring import dot_attention


@pytest.mark.slow
def test_the_additive_score_is_flat_and_the_dot_product_is_not(rng):
    width = np.array([4, 32, 256])
    variance = start_variances(width, rng)
    assert variance["additive"].max() / variance["additive"].min() < 1.25
    np.testing.assert_allclose(variance["dot"], width, rtol=0.1)
    np.testing.assert_allclose(variance["scaled"], 1, rtol=0.1)


def test_the_committed_variances_are_measured_again():
    kept = committed(ADDITIVE)
    again = start_variances(kept.width[:1], np.random.default_rng(0))
    for name, variance in again.items():
        np.testing.assert_allclose(kept.variance[name][:1], variance, rtol=1e-4)


@pytest.mark.slow
def test_the_committed_models_are_trained_again():
    kept = committed(ADDITIVE)
    again = additive_against_dot(width=(4,), d_k=(4,), rate_scale=(0.2,), seeds=(0,))
    rate = list(kept.rate_scale).index(0.2)
    for name, losses in again.losses.items():
        first, longer = losses[0, 0, 0] / kept.losses[name][0, rate, 0]
        assert abs(first - 1) < TRAINED
        assert 0.5 < longer < 2              # in 3 x the steps the rounding of a machine grows


def test_the_memory_of_additive_attention_grows_with_d_k(rng):
    memory = [cost_ratios(64, d_k, 1, rng)[2] for d_k in (4, 64, 256)]
    assert memory[0] > 2
    assert memory[-1] > 10 * memory[0]


@pytest.mark.timing
def test_the_dot_product_is_faster_and_smaller_here(tmp_path):
    measured = timed_again(ADDITIVE_COST, tmp_path)
    assert measured.verdict == AGREES, measured.finding


def test_two_that_cost_the_same_are_seen(monkeypatch):
    monkeypatch.setattr(costs, "additive_attention", dot_attention)
    same = additive_cost(n=(16, 64), d_k=(16, 64), at=1, repeats=3)
    assert same.memory_n.max() < 1.5
    assert same.verdict != AGREES


def multiply_adds(layer, n):
    """Of all products, forward; backward has twice as many."""
    def both(x):
        y, cache = layer.forward(x, x, x)
        layer.backward(y, cache)
        return y

    x = np.ones((1, n, layer.d_model))
    forward = count(layer, x, x, x)[1]
    assert count(both, x)[1] == 3 * forward
    return forward


def product_multiply_adds(n, d_model, h):
    """Of four projections, Q K^T and weights V, forward."""
    d_k = d_model // h
    return 4 * n * d_model * h * d_k + 2 * h * n * n * d_k


def test_the_products_cost_the_same_for_every_h():
    few = heads_cost(h=(1, 2, 8), n=(4, 8), d_model=16, repeats=1)
    np.testing.assert_array_equal(
        few.multiply_adds, [[product_multiply_adds(n, 16, h) for h in (1, 2, 8)] for n in (4, 8)])
    assert (few.multiply_adds == few.multiply_adds[:, :1]).all()
    assert few.ratio.shape == few.products.shape == (3, 2, 3)


def test_the_control_has_the_same_products_and_their_gradients(rng):
    control = MultiHeadAttention(16, 8, attention=layers.ProductsOnly(), rng=rng)
    assert multiply_adds(control, 5) == product_multiply_adds(5, 16, 8)
    Q, K, V = (rng.standard_normal((2, n, 3)) for n in (4, 5, 5))
    assert check_gradients(layers.ProductsOnly(), Q, K, V)
    assert check_gradients(costs.PairByPair(), Q, K)
    np.testing.assert_allclose(costs.PairByPair()(Q, K), Q @ K.mT, rtol=1e-12)


def full_width(d_model, h, rng):
    """What many heads would be that are not narrow."""
    return MultiHeadAttention(d_model, h, d_k=d_model, d_v=d_model, rng=rng)


@pytest.mark.timing
def test_heads_of_full_width_would_be_seen(monkeypatch):
    monkeypatch.setattr(layers, "MultiHeadAttention", full_width)
    wide = heads_cost(h=(1, 8), n=(64,), d_model=128, repeats=3)
    assert wide.at_paper_h.item() > 3
    assert wide.verdict != AGREES


def test_heads_of_full_width_are_counted(rng):
    assert multiply_adds(full_width(16, 8, rng), 5) == 8 * product_multiply_adds(5, 16, 1)


@pytest.mark.timing
def test_eight_heads_take_longer_than_one_the_longer_the_sequence(tmp_path):
    measured = measured_again(HEADS_COST, tmp_path)
    assert measured.at_paper_h[0] < SIMILAR, measured.finding
    assert measured.at_paper_h[0] < measured.at_paper_h[-1], measured.finding
