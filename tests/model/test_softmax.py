"""Softmax: rows that may look nowhere or are empty, and other kinds of arrays."""

from math import inf

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aiayn_np import Softmax


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
