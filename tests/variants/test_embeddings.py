"""Sinusoids in halves, and the projection with a bias."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from aiayn_np import Parameter, SinusoidalPositionalEncoding
from aiayn_np.variants.embeddings import BiasedProjection, SinusoidsInHalves


@pytest.mark.parametrize("d_model", [6, 7])
def test_the_halves_are_the_papers_columns_in_another_order(d_model):
    paper = SinusoidalPositionalEncoding(d_model, max_len=20).table(9)
    halves = SinusoidsInHalves(d_model, max_len=20)
    sines, cosines = paper[:, 0::2], paper[:, 1::2]
    assert_array_equal(halves.table(9), np.concatenate([sines, cosines], axis=1))
    assert_array_equal(halves.table(4, start=5), halves.table(9)[5:])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_new_bias_is_zero_and_of_the_type_of_the_embedding(dtype):
    projection = BiasedProjection(Parameter(np.ones((5, 3), dtype)))
    assert projection.b.value.dtype == dtype
    assert_array_equal(projection.b.value, np.zeros(5))
