"""Embedding and the output projection, which share one matrix."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from aiayn_np import Embedding, OutputProjection, Parameter


def test_lists_and_every_integer_dtype_are_taken(rng):
    layer, ids = Embedding(7, 5, rng=rng), [[1, 6, 0], [2, 2, 5]]
    y = layer(ids)
    for dtype in (np.int8, np.uint8, np.int32, np.uint64):
        assert_array_equal(layer(np.array(ids, dtype=dtype)), y)


def test_E_is_normal_with_variance_1_over_d_model(rng):
    """So that an embedding, times sqrt(d_model), has entries of variance 1."""
    layer = Embedding(400, 50, rng=rng)
    assert layer.E.value.var() == pytest.approx(1 / 50, rel=0.05)
    assert abs(layer.E.value.mean()) < 0.005
    assert layer(np.arange(400)).var() == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize("E", [np.ones((7, 5)), Parameter(np.ones(5)), None])
def test_projection_refuses_what_is_not_an_embedding_matrix(E):
    with pytest.raises(TypeError, match=r"E must be a Parameter \(vocab_size, d_model\), got"):
        OutputProjection(E)
