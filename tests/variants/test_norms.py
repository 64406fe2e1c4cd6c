"""Root-mean-square and batch normalisation: given statistics and other inputs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from proof import arrays_in

from aiayn_np import LayerNorm
from aiayn_np.variants.norms import BatchNorm, RMSNorm


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


@pytest.mark.parametrize("cls", [LayerNorm, RMSNorm, BatchNorm])
def test_an_eps_that_is_a_numpy_number_does_not_turn_float32_into_float64(cls, rng):
    layer = cls(4, eps=np.float64(1e-5)).astype(np.float32)
    made = layer.forward(rng.normal(size=(2, 4)).astype(np.float32))
    assert {a.dtype for a in arrays_in(made)} == {np.dtype(np.float32)}


def test_a_batch_of_one_row_is_its_own_mean(rng):
    """Whatever x is, y is beta, and x has no gradient."""
    layer = BatchNorm(4)
    layer.beta.value = rng.normal(size=4)
    y, cache = layer.forward(rng.normal(size=(1, 4)))
    np.testing.assert_array_equal(y, layer.beta.value[None])
    np.testing.assert_array_equal(layer.backward(rng.normal(size=(1, 4)), cache), np.zeros((1, 4)))
