"""Layer normalisation: a worked backward, eps in its place, a large mean."""

from math import sqrt

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from reference import naive_layer_norm

from aiayn_np import LayerNorm


def make(rng, d_model=4, **options):
    """A layer with gamma and beta of both signs."""
    layer = LayerNorm(d_model, **options)
    layer.gamma.value[...] = rng.normal(size=d_model)
    layer.beta.value[...] = rng.normal(size=d_model)
    return layer


def worked():
    """eps = 1/4 makes sqrt(variance + eps) = 3/2 for a variance of 2."""
    layer = LayerNorm(3, eps=0.25)
    layer.gamma.value[...] = [3, 6, -3]
    layer.beta.value[...] = [1, 0, 2]
    return layer


X = np.array([[1.0, 1, 4], [5, 2, 2]])  # means 2 and 3; [-1, -1, 2] and [2, -1, -1] from them


def test_worked_backward():
    """g gamma = [3, 12, -3] and [0, -6, -6], with the means 4 and -4.

    Times n: [-2, -8, -4] and [0, 4, 4], with the means -14/3 and 8/3, so
    1.5 grad_x = [3, 12, -3] - 4 + 14/3 n  and  [0, -6, -6] + 4 - 8/3 n.
    """
    layer = worked()
    _, cache = layer.forward(X)
    grad_x = layer.backward(np.array([[1.0, 2, 1], [0, -1, 2]]), cache)
    first = [-1 - 28 / 9, 8 - 28 / 9, -7 + 56 / 9]
    second = [4 - 32 / 9, -2 + 16 / 9, -2 + 16 / 9]
    assert_allclose(grad_x, np.array([first, second]) / 1.5, rtol=1e-13)
    assert_array_equal(layer.beta.grad, [1, 1, 3])
    assert_allclose(layer.gamma.grad, [-2 / 3, -4 / 3 + 2 / 3, 4 / 3 - 4 / 3], atol=1e-15)


def test_eps_stands_inside_the_root():
    """The variance is 2e-6 and eps 1e-6: the root of the sum is sqrt(3e-6).

    With eps outside, or none, the first result would be near -1 / sqrt(2).
    """
    y = LayerNorm(3)(np.array([[-1e-3, -1e-3, 2e-3], [3e-3, -6e-3, 3e-3]]))
    first = np.array([-1, -1, 2]) / sqrt(3)
    second = np.array([3, -6, 3]) / sqrt(19)  # variance 18e-6
    assert_allclose(y, [first, second], rtol=1e-12)


def test_defaults():
    layer = LayerNorm(3)
    assert layer.eps == 1e-6
    assert layer.gamma.value.tolist() == [1, 1, 1]
    assert layer.beta.value.tolist() == [0, 0, 0]
    assert [name for name, _ in layer.named_parameters()] == ["gamma", "beta"]


def test_a_large_mean_costs_no_digits(rng):
    """E[x^2] - E[x]^2 would lose 12 of 16 digits here; the mean of squared deviations does not."""
    layer, x = make(rng), 1e6 + rng.normal(size=(2, 3, 4))
    expected = naive_layer_norm(x, layer.gamma.value, layer.beta.value, 1e-6)
    assert_allclose(layer(x), expected, rtol=1e-8, atol=1e-8)


def test_a_single_feature_becomes_beta(rng):
    layer = make(rng, d_model=1)
    y, cache = layer.forward(rng.normal(size=(2, 3, 1)))
    assert_array_equal(y, np.broadcast_to(layer.beta.value, (2, 3, 1)))
    assert not layer.backward(rng.normal(size=(2, 3, 1)), cache).any()


def test_an_eps_that_is_a_numpy_number_does_not_turn_float32_into_float64(rng):
    layer = make(rng, eps=np.float64(1e-6)).astype(np.float32)
    y, cache = layer.forward(rng.normal(size=(2, 4)).astype(np.float32))
    assert {y.dtype, cache.normalised.dtype, cache.inv_std.dtype} == {np.dtype(np.float32)}
