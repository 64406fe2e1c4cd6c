"""Softmax: empty rows, and other kinds of arrays."""

import numpy as np
import pytest

from aiayn_np import Softmax


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
