"""Positional encodings: known sines and cosines, `start`, the learned matrix."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import naive_sinusoids

from aiayn_np import LearnedPositionalEncoding, SinusoidalPositionalEncoding

BOTH = [SinusoidalPositionalEncoding, LearnedPositionalEncoding]

SIN_1, COS_1 = 0.8414709848078965, 0.5403023058681398
SIN_001, COS_001 = 0.009999833334166664, 0.9999500004166653  # of 0.01 = 1 / 10000^(2 / 4)


def test_known_values():
    """d_model = 4: angles pos and pos / 100; sine and cosine alternate."""
    table = SinusoidalPositionalEncoding(4, 9).table(3)
    assert_allclose(table[0], [0, 1, 0, 1], rtol=0)
    assert_allclose(table[1], [SIN_1, COS_1, SIN_001, COS_001], rtol=1e-15)
    assert_allclose(table[2, :2], [2 * SIN_1 * COS_1, COS_1**2 - SIN_1**2], rtol=1e-14)
    assert_allclose(table[2, 2:], [2 * SIN_001 * COS_001, COS_001**2 - SIN_001**2], rtol=1e-14)


@pytest.mark.parametrize("d_model", [1, 2, 3, 5, 6, 17])
@pytest.mark.parametrize("start", [0, 4])
def test_table_equals_the_loop_for_any_d_model(d_model, start):
    table = SinusoidalPositionalEncoding(d_model, 40).table(30, start=start)
    assert table.shape == (30, d_model)
    assert_allclose(table, naive_sinusoids(30, d_model, start), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 5), (2, 4, 3, 5)])
def test_forward_adds_the_rows_from_start(rng, kind, shape):
    layer, x = kind(5, 9, rng=rng), rng.normal(size=shape)
    table = layer.table(9)
    assert_array_equal(layer(x), x + table[:3])
    assert_array_equal(layer(x, start=4), x + table[4:7])
    assert_array_equal(layer(x, start=6), x + table[6:])


def test_learned_rows_get_the_sum_over_the_sequences(rng):
    layer, g = LearnedPositionalEncoding(5, 9, rng=rng), rng.normal(size=(2, 3, 5))
    _, cache = layer.forward(rng.normal(size=(2, 3, 5)), start=4)
    assert_array_equal(layer.backward(g, cache), g)
    expected = np.zeros((9, 5))
    expected[4:7] = g[0] + g[1]
    assert_allclose(layer.E.grad, expected, rtol=1e-15)
    layer.backward(-3 * g, cache)
    assert_allclose(layer.E.grad, -2 * expected, rtol=1e-14, atol=1e-15)


def test_learned_table_is_a_copy(rng):
    layer = LearnedPositionalEncoding(5, 9, rng=rng)
    before = layer.E.value.copy()
    layer.table(3)[...] = 7
    assert_array_equal(layer.E.value, before)


def test_learned_rows_start_with_the_mean_square_of_the_sinusoids(rng):
    learned = LearnedPositionalEncoding(50, 400, rng=rng).E.value
    assert learned.shape == (400, 50)
    assert (learned**2).mean() == pytest.approx(1 / 2, rel=0.05)
    assert abs(learned.mean()) < 0.03
    sinusoids = SinusoidalPositionalEncoding(50, 400).table(400)
    assert (sinusoids**2).mean() == pytest.approx(1 / 2, rel=1e-12)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("x", "start", "error", "message"),
    [
        (np.ones((2, 10, 5)), 0, ValueError, "length must be at most max_len=9, got length 10"),
        (np.ones((2, 3, 5)), 7, ValueError,
         "length must be at most max_len=9, got length 3 from start=7"),
        (np.ones((2, 3, 5)), -1, ValueError,
         "start must be an integer of at least 0, got start=-1"),
        (np.ones((2, 3, 5)), 1.0, ValueError, "start must be an integer of at least 0"),
        (np.ones((2, 0, 5)), 0, ValueError, "must be at least 1, got"),
        (np.ones((2, 3, 4)), 0, ValueError,
         "x must have d_model=5 on its last axis, got shape (2, 3, 4)"),
        (np.ones(5), 0, ValueError, "x must have at least 2 axes, got shape (5,)"),
        (np.ones((2, 3, 5), dtype=int), 0, TypeError, "x must be float32 or float64, got int64"),
    ],
)
def test_refused_inputs(rng, kind, x, start, error, message):
    with pytest.raises(error, match=re.escape(message)):
        kind(5, 9, rng=rng).forward(x, start=start)
