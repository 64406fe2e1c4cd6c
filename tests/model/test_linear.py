"""Linear: a worked example, its initialisation."""


import numpy as np
import pytest
from numpy.testing import assert_array_equal

from aiayn_np import Linear


def worked(bias=True):
    layer = Linear(2, 3, bias=bias, rng=np.random.default_rng(0))
    layer.W.value[...] = [[1, 0, -2], [4, 1, 3]]
    if bias:
        layer.b.value[...] = [10, 20, 30]
    return layer


X = np.array([[1.0, 2], [3, -1]])


def test_worked_forward():
    """x_0 W = [1 + 8, 0 + 2, -2 + 6], x_1 W = [3 - 4, 0 - 1, -6 - 3]."""
    assert_array_equal(worked()(X), [[19, 22, 34], [9, 19, 21]])
    assert_array_equal(worked(bias=False)(X), [[9, 2, 4], [-1, -1, -9]])


@pytest.mark.parametrize("bias", [True, False])
def test_worked_backward(bias):
    """grad_x = g W^T, grad_W = x^T g and grad_b = the sum of g over both positions."""
    layer = worked(bias)
    _, cache = layer.forward(X)
    grad_x = layer.backward(np.array([[1.0, -1, 2], [0, 3, 1]]), cache)
    assert_array_equal(grad_x, [[1 - 4, 4 - 1 + 6], [-2, 3 + 3]])
    assert_array_equal(layer.W.grad, [[1, -1 + 9, 2 + 3], [2, -2 - 3, 4 - 1]])
    if bias:
        assert_array_equal(layer.b.grad, [1, 2, 3])


def test_W_is_Xavier_uniform_and_b_starts_at_zero(rng):
    """Uniform in +-sqrt(6 / (d_in + d_out)) has the variance 2 / (d_in + d_out)."""
    layer = Linear(300, 500, rng=rng)
    W, limit = layer.W.value, (6 / 800) ** 0.5
    assert 0.999 * limit < abs(W).max() <= limit
    assert abs(W.mean()) < 0.01 * limit
    assert W.var() == pytest.approx(2 / 800, rel=0.02)
    assert not layer.b.value.any()


def test_without_bias_there_is_only_W(rng):
    layer = Linear(4, 7, bias=False, rng=rng)
    assert layer.b is None
    assert [name for name, _ in layer.named_parameters()] == ["W"]
