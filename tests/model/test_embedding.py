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


@pytest.mark.parametrize("E", [np.ones((7, 5)), Parameter(np.ones(5)), None])
def test_projection_refuses_what_is_not_an_embedding_matrix(E):
    with pytest.raises(TypeError, match=r"E must be a Parameter \(vocab_size, d_model\), got"):
        OutputProjection(E)
