"""Softmax: known values and gradients, and rows that may look nowhere."""

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


def test_a_row_of_only_minus_infinity_gives_zeros_and_no_gradient(rng):
    scores, g = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 4))
    scores[1, 2] = -inf
    weights, cache = Softmax().forward(scores)
    grad = Softmax().backward(g, cache)
    assert (weights[1, 2] == 0).all()
    assert (grad[1, 2] == 0).all()
    assert_allclose(weights.sum(axis=-1), [[1, 1, 1], [1, 1, 0]], rtol=1e-15)


def test_rows_of_no_entries_are_refused():
    with pytest.raises(ValueError, match="scores must have a last axis of at least 1, got shape"):
        Softmax()(np.zeros((2, 0)))


@pytest.mark.parametrize("kind", [np.matrix, np.ma.MaskedArray])
def test_a_subclass_of_the_array_is_refused(kind):
    """The product of two np.matrix is a matrix product: the gradient would be wrong."""
    x = np.ones((4, 4))
    layer = Softmax()
    _, cache = layer.forward(x)
    with pytest.raises(TypeError, match=r"must be a numpy array of floats, got (matrix|Masked)"):
        layer.forward(x.view(kind))
    with pytest.raises(TypeError, match=r"grad_y must be a numpy array of floats, got (matrix|Ma)"):
        layer.backward(x.view(kind), cache)
