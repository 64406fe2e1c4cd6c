"""ReLU: its slope at 0, and numbers that are none."""

import numpy as np
from numpy.testing import assert_array_equal

from aiayn_np import ReLU


def test_relu_forward_and_backward():
    """The derivative at exactly 0 is 0."""
    x = np.array([[-2.0, 0, 3], [0.5, -1e-9, 1e-9]])
    y, cache = ReLU().forward(x)
    assert_array_equal(y, [[0, 0, 3], [0.5, 0, 1e-9]])
    grad = ReLU().backward(np.array([[5.0, 6, -7], [8, 9, -1]]), cache)
    assert_array_equal(grad, [[0, 0, -7], [8, 0, -1]])


def test_relu_does_not_hide_what_is_not_a_number():
    assert np.isnan(ReLU()(np.array([-1.0, np.nan]))).tolist() == [False, True]
