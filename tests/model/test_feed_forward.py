"""ReLU and the position-wise feed-forward network: worked examples."""


import numpy as np
from numpy.testing import assert_array_equal

from aiayn_np import PositionwiseFeedForward, ReLU


def worked():
    layer = PositionwiseFeedForward(2, 3, rng=np.random.default_rng(0))
    layer.linear_1.W.value[...] = [[1, -1, 2], [0, 1, 1]]
    layer.linear_1.b.value[...] = [0, 1, -5]
    layer.linear_2.W.value[...] = [[1, 2], [3, 4], [5, 6]]
    layer.linear_2.b.value[...] = [10, -10]
    return layer


X = np.array([[1.0, 2], [3, -1]])


def test_relu_forward_and_backward():
    """The derivative at exactly 0 is 0."""
    x = np.array([[-2.0, 0, 3], [0.5, -1e-9, 1e-9]])
    y, cache = ReLU().forward(x)
    assert_array_equal(y, [[0, 0, 3], [0.5, 0, 1e-9]])
    grad = ReLU().backward(np.array([[5.0, 6, -7], [8, 9, -1]]), cache)
    assert_array_equal(grad, [[0, 0, -7], [8, 0, -1]])


def test_relu_does_not_hide_what_is_not_a_number():
    assert np.isnan(ReLU()(np.array([-1.0, np.nan]))).tolist() == [False, True]


def test_worked_forward():
    """The hidden sums are [1, 2, -1] and [3, -3, 0]."""
    assert_array_equal(worked()(X), [[1 + 6 + 10, 2 + 8 - 10], [3 + 10, 6 - 10]])


def test_worked_backward():
    """g W_2^T = [[-1, -1, -1], [4, 10, 16]], of which ReLU leaves [[-1, -1, 0], [4, 0, 0]]."""
    layer = worked()
    _, cache = layer.forward(X)
    grad_x = layer.backward(np.array([[1.0, -1], [2, 1]]), cache)
    assert_array_equal(grad_x, [[-1 + 1, -1], [4, 0]])
    assert_array_equal(layer.linear_1.b.grad, [3, -1, 0])
    assert_array_equal(layer.linear_1.W.grad, [[-1 + 12, -1, 0], [-2 - 4, -2, 0]])
    assert_array_equal(layer.linear_2.b.grad, [3, 0])
    assert_array_equal(layer.linear_2.W.grad, [[1 + 6, -1 + 3], [2, -2], [0, 0]])
