"""Softmax: known values, the loop, masked rows, large scores."""

from math import inf, log

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aiayn_np import Softmax

SCORES = np.array([[0, log(2), log(3)], [log(3), -inf, 0]])
WEIGHTS = np.array([[1 / 6, 2 / 6, 3 / 6], [3 / 4, 0, 1 / 4]])


def test_known_weights():
    assert_allclose(Softmax()(SCORES), WEIGHTS, rtol=1e-15)


def test_known_gradient():
    """w (g - sum(g w)): the sums are 6/6 - 18/6 = -2 and 3/4 * 8 + 1/4 * 4 = 7."""
    _, cache = Softmax().forward(SCORES)
    grad = Softmax().backward(np.array([[6.0, 0, -6], [8, 5, 4]]), cache)
    expected = [[1 / 6 * 8, 2 / 6 * 2, 3 / 6 * -4], [3 / 4 * 1, 0, 1 / 4 * -3]]
    assert_allclose(grad, expected, rtol=1e-14)


def test_gradient_equals_the_full_jacobian(rng):
    """grad_k = sum_j g_j dw_j/ds_k with the matrix dw_j/ds_k = w_j (1[j = k] - w_k) written out."""
    scores, g = rng.normal(size=(2, 3, 5)), rng.normal(size=(2, 3, 5))
    w, cache = Softmax().forward(scores)
    grad = Softmax().backward(g, cache)
    for at in np.ndindex(2, 3):
        jacobian = [[w[at][j] * ((j == k) - w[at][k]) for k in range(5)] for j in range(5)]
        assert_allclose(grad[at], g[at] @ np.array(jacobian), rtol=1e-12, atol=1e-15)


def test_a_row_of_only_minus_infinity_gives_zeros_and_no_gradient(rng):
    scores, g = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 4))
    scores[1, 2] = -inf
    weights, cache = Softmax().forward(scores)
    grad = Softmax().backward(g, cache)
    assert (weights[1, 2] == 0).all()
    assert (grad[1, 2] == 0).all()
    assert_allclose(weights.sum(axis=-1), [[1, 1, 1], [1, 1, 0]], rtol=1e-15)


def test_an_excluded_score_gets_weight_and_gradient_zero(rng):
    scores, g = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    scores[:, 1] = -inf
    weights, cache = Softmax().forward(scores)
    assert (weights[:, 1] == 0).all()
    assert (Softmax().backward(g, cache)[:, 1] == 0).all()


def test_adding_a_constant_to_a_row_changes_nothing(rng):
    scores = rng.normal(size=(2, 3, 5))
    shifted = scores + rng.normal(size=(2, 3, 1))
    assert_allclose(Softmax()(shifted), Softmax()(scores), rtol=1e-13)


def test_rows_of_no_entries_are_refused():
    with pytest.raises(ValueError, match="scores must have a last axis of at least 1, got shape"):
        Softmax()(np.zeros((2, 0)))
