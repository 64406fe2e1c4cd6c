"""Claim 4."""

import numpy as np
import pytest
from committed import timed_again

from aiayn_course.lab.claims import heads_cost as module
from aiayn_course.lab.claims.heads_cost import HEADS_COST, heads_cost
from aiayn_course.lab.counting import count
from aiayn_course.lab.experiment import AGREES
from aiayn_np.multi_head import MultiHeadAttention


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


@pytest.mark.parametrize("h", [1, 2, 8])
def test_the_formula_counts_the_products_of_the_layer(rng, h):
    layer = MultiHeadAttention(16, h, rng=rng)
    assert multiply_adds(layer, 5) == product_multiply_adds(5, 16, h)


def test_the_products_cost_the_same_for_every_h():
    few = heads_cost(h=(1, 2, 8), n=(4, 8), d_model=16, repeats=1)
    np.testing.assert_array_equal(
        few.multiply_adds, [[product_multiply_adds(n, 16, h) for h in (1, 2, 8)] for n in (4, 8)])
    assert (few.multiply_adds == few.multiply_adds[:, :1]).all()
    assert few.ratio.shape == (3, 2, 3)


def full_width(d_model, h, rng):
    """What many heads would be that are not narrow."""
    return MultiHeadAttention(d_model, h, d_k=d_model, d_v=d_model, rng=rng)


@pytest.mark.timing
def test_heads_of_full_width_would_be_seen(monkeypatch):
    monkeypatch.setattr(module, "MultiHeadAttention", full_width)
    wide = heads_cost(h=(1, 8), n=(64,), d_model=128, repeats=3)
    assert wide.at_paper_h.item() > 3
    assert wide.verdict != AGREES


def test_heads_of_full_width_are_counted(rng):
    assert multiply_adds(full_width(16, 8, rng), 5) == 8 * product_multiply_adds(5, 16, 1)


@pytest.mark.timing
def test_eight_heads_take_about_as_long_as_one_here(tmp_path):
    measured = timed_again(HEADS_COST, tmp_path)
    assert measured.verdict == AGREES, measured.finding
