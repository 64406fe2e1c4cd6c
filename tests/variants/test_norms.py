"""Root-mean-square and batch normalisation: worked numbers, the loop, given statistics."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from proof import arrays_in

from aiayn_np.variants.norms import BatchNorm, RMSNorm


def test_rms_norm_by_hand():
    """mean(x^2) = (9 + 16) / 2 = 12.5, and with eps = 0.06 the root is sqrt(12.56)."""
    layer = RMSNorm(2, eps=0.06)
    layer.gamma.value[:] = [1, 2]
    assert_allclose(layer(np.array([[3.0, 4.0]])), [[3 / 12.56**0.5, 8 / 12.56**0.5]], rtol=1e-15)


def test_batch_norm_by_hand():
    """Feature 0 is 1, 3 (mean 2, variance 1), feature 1 is 0, 8 (mean 4, variance 16)."""
    layer = BatchNorm(2, eps=0.25)
    layer.gamma.value[:], layer.beta.value[:] = [1, 2], [0, 5]
    y, cache = layer.forward(np.array([[[1.0, 0.0], [3.0, 8.0]]]))
    a, b = 1 / math.sqrt(1.25), 8 / math.sqrt(16.25)
    assert_allclose(y, [[[-a, 5 - b], [a, 5 + b]]], rtol=1e-15)
    assert cache.mean.tolist() == [2, 4]
    assert cache.variance.tolist() == [1, 16]


def test_batch_norm_equals_the_loop(rng):
    x, layer = rng.normal(1, 2, (2, 3, 5)), BatchNorm(5)
    layer.gamma.value[:], layer.beta.value[:] = rng.normal(size=(2, 5))
    y = layer(x)
    for k in range(5):
        values = [x[i, j, k] for i, j in np.ndindex(2, 3)]
        mean = sum(values) / 6
        root = math.sqrt(sum((v - mean) ** 2 for v in values) / 6 + 1e-5)
        for i, j in np.ndindex(2, 3):
            want = layer.gamma.value[k] * (x[i, j, k] - mean) / root + layer.beta.value[k]
            assert y[i, j, k] == pytest.approx(want, rel=1e-11, abs=1e-13)


def test_given_statistics_make_the_rows_independent(rng):
    x, layer = rng.normal(size=(3, 4, 5)), BatchNorm(5)
    statistics = rng.normal(size=5), rng.uniform(1, 2, 5)
    y = layer(x, statistics=statistics)
    want = (x - statistics[0]) / np.sqrt(statistics[1] + 1e-5)
    assert_allclose(y, want, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(y[0], layer(x[:1], statistics=statistics)[0])
    _, trained = layer.forward(x)
    again = layer(x, statistics=(trained.mean, trained.variance))
    assert_allclose(again, layer(x), rtol=1e-13, atol=1e-14)


def test_given_statistics_may_be_lists_and_take_the_dtype_of_x(rng):
    x, layer = rng.normal(size=(3, 4, 5)), BatchNorm(5)
    statistics = rng.normal(size=5).tolist(), rng.uniform(1, 2, 5).tolist()
    y, cache = layer.astype(np.float32).forward(x.astype(np.float32), statistics=statistics)
    assert {a.dtype for a in arrays_in([y, cache])} == {np.dtype(np.float32)}
    assert_allclose(y, BatchNorm(5)(x, statistics=statistics), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shapes", [((5,), (1,)), ((), (5,)), ((4, 5), (4, 5)), ((5,),)])
def test_statistics_of_another_shape_are_refused(shapes):
    with pytest.raises(ValueError, match=r"both of shape \(5,\), got shapes \["):
        BatchNorm(5)(np.ones((3, 4, 5)), statistics=[np.ones(shape) for shape in shapes])


@pytest.mark.parametrize("cls", [RMSNorm, BatchNorm])
def test_an_eps_that_is_a_numpy_number_does_not_turn_float32_into_float64(cls, rng):
    layer = cls(4, eps=np.float64(1e-5)).astype(np.float32)
    assert layer(rng.normal(size=(2, 4)).astype(np.float32)).dtype == np.float32


def test_a_batch_of_one_row_is_its_own_mean(rng):
    """Whatever x is, y is beta, and x has no gradient."""
    layer = BatchNorm(4)
    layer.beta.value = rng.normal(size=4)
    y, cache = layer.forward(rng.normal(size=(1, 4)))
    np.testing.assert_array_equal(y, layer.beta.value[None])
    np.testing.assert_array_equal(layer.backward(rng.normal(size=(1, 4)), cache), np.zeros((1, 4)))
