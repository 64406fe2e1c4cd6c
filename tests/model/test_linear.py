"""Linear: a worked example, the loop, its initialisation."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import naive_linear

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


def test_backward_adds_to_the_gradients():
    layer = worked()
    layer.W.grad += 100
    layer.b.grad -= 100
    _, cache = layer.forward(X)
    layer.backward(np.array([[1.0, -1, 2], [0, 3, 1]]), cache)
    assert_array_equal(layer.W.grad, [[101, 108, 105], [102, 95, 103]])
    assert_array_equal(layer.b.grad, [-99, -98, -97])


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4), (2, 3, 5, 4)])
@pytest.mark.parametrize("bias", [True, False])
def test_equals_the_loop_for_any_leading_axes(rng, shape, bias):
    layer = Linear(4, 7, bias=bias, rng=rng)
    if bias:
        layer.b.value[...] = rng.normal(size=7)
    x = rng.normal(size=shape)
    y = layer(x)
    assert y.shape == (*shape[:-1], 7)
    assert_allclose(y, naive_linear(layer, x), rtol=1e-12, atol=1e-14)


def test_strided_fortran_and_read_only_inputs_give_the_same(rng):
    layer = Linear(4, 7, rng=rng)
    x, g = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 7))
    y, cache = layer.forward(x)
    grad_x, grad_W = layer.backward(g, cache), layer.W.grad.copy()
    wide = np.zeros((2, 6, 8))
    wide[:, ::2, ::2] = x
    for x_other in (np.asfortranarray(x), wide[:, ::2, ::2]):
        x_other.setflags(write=False)
        layer.zero_grad()
        y_other, cache = layer.forward(x_other)
        assert_allclose(y_other, y, rtol=1e-13, atol=1e-15)
        assert_allclose(layer.backward(np.asfortranarray(g), cache), grad_x, rtol=1e-13, atol=1e-15)
        assert_allclose(layer.W.grad, grad_W, rtol=1e-12, atol=1e-14)


def test_a_batch_of_zero_gives_an_empty_result_and_no_gradient(rng):
    layer = Linear(4, 7, rng=rng)
    y, cache = layer.forward(np.zeros((0, 3, 4)))
    assert y.shape == (0, 3, 7)
    assert layer.backward(y, cache).shape == (0, 3, 4)
    assert not layer.W.grad.any()
    assert not layer.b.grad.any()


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


def test_float32_stays(rng):
    layer = Linear(4, 7, rng=rng).astype(np.float32)
    y, cache = layer.forward(rng.normal(size=(2, 3, 4)).astype(np.float32))
    assert y.dtype == np.float32
    assert layer.backward(y, cache).dtype == np.float32
    assert layer.W.grad.dtype == layer.b.grad.dtype == np.float32


@pytest.mark.parametrize(
    ("sizes", "error", "message"),
    [
        ((0, 3), ValueError, "d_in must be at least 1, got d_in=0"),
        ((4, -2), ValueError, "d_out must be at least 1, got d_out=-2"),
        ((4.0, 3), TypeError, "d_in must be an integer, got d_in=4.0"),
        ((4, True), TypeError, "d_out must be an integer, got d_out=True"),
        (("4", 3), TypeError, "d_in must be an integer, got d_in='4'"),
    ],
)
def test_refused_sizes(rng, sizes, error, message):
    with pytest.raises(error, match=message):
        Linear(*sizes, rng=rng)


def test_refused_rng():
    with pytest.raises(TypeError, match=r"rng must be a numpy\.random\.Generator, got int"):
        Linear(4, 3, rng=0)


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (np.ones((2, 3)), ValueError, "x must have d_in=4 on its last axis, got shape (2, 3)"),
        (np.ones((4, 1)), ValueError, "x must have d_in=4 on its last axis, got shape (4, 1)"),
        (np.array(1.0), ValueError, "x must have at least 1 axes, got shape ()"),
        ([[1.0] * 4], TypeError, "x must be a numpy array of floats, got list"),
        (np.ones((2, 4), dtype=object), TypeError, "x must be float32 or float64, got object"),
        (np.full((2, 4), "a"), TypeError, "x must be float32 or float64, got <U1"),
        (np.ones((2, 4), dtype=np.float16), TypeError, "x must be float32 or float64, got float16"),
        (np.ones((2, 4), dtype=np.float32), TypeError,
         "x and the parameters must have one dtype, got float32 and float64"),
    ],
)
def test_refused_x(rng, x, error, message):
    with pytest.raises(error, match=re.escape(message)):
        Linear(4, 3, rng=rng).forward(x)


@pytest.mark.parametrize(
    ("grad", "error", "message"),
    [
        (np.ones(3), ValueError, "grad_y must have the shape of y, (2, 3), got (3,)"),
        (np.ones((1, 3)), ValueError, "grad_y must have the shape of y, (2, 3), got (1, 3)"),
        (np.ones((3, 2)), ValueError, "grad_y must have the shape of y, (2, 3), got (3, 2)"),
        (np.ones((2, 3), dtype=np.float32), TypeError, "the dtype of y, float64, got float32"),
        (np.ones((2, 3), dtype=int), TypeError, "must be a numpy array of floats, got int64"),
    ],
)
def test_a_refused_gradient_adds_nothing(grad, error, message):
    layer = worked()
    _, cache = layer.forward(X)
    with pytest.raises(error, match=re.escape(message)):
        layer.backward(grad, cache)
    assert not layer.W.grad.any()
    assert not layer.b.grad.any()
