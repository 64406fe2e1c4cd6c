"""Embedding and the output projection, which share one matrix."""


import numpy as np
import pytest
from numpy.testing import assert_array_equal

from aiayn_np import Embedding, OutputProjection, Parameter


def worked():
    """d_model = 4, so that every row is doubled."""
    layer = Embedding(3, 4, rng=np.random.default_rng(0))
    layer.E.value[...] = [[1, 2, 3, 4], [5, 6, 7, 8], [-1, 0, 1, 0]]
    return layer


def test_worked_forward():
    y = worked()(np.array([[2, 0], [1, 2], [0, 0]]))
    assert_array_equal(y[0], [[-2, 0, 2, 0], [2, 4, 6, 8]])
    assert_array_equal(y[1], [[10, 12, 14, 16], [-2, 0, 2, 0]])
    assert_array_equal(y[2], [[2, 4, 6, 8], [2, 4, 6, 8]])


def test_worked_backward_adds_up_repeated_ids():
    """Id 2 occurs three times, id 0 once, id 1 never; every gradient is doubled."""
    layer = worked()
    _, cache = layer.forward(np.array([[2, 0], [2, 2]]))
    g = np.array([[[1.0, 0, -1, 2], [3, 1, 0, 5]], [[10, 20, 30, 40], [-4, 0, 1, 1]]])
    assert layer.backward(g, cache) is None
    assert_array_equal(layer.E.grad, [[6, 2, 0, 10], [0, 0, 0, 0], [14, 40, 60, 86]])
    layer.backward(-2 * g, cache)
    assert_array_equal(layer.E.grad[2], [-14, -40, -60, -86])


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


def test_projection_worked_example():
    """logits = x E^T without any factor; grad_x = g E and grad_E = g^T x."""
    projection = OutputProjection(Parameter(np.array([[1.0, 2], [3, 4], [-1, 0]])))
    y, cache = projection.forward(np.array([[1.0, -1], [0, 2]]))
    assert_array_equal(y, [[-1, -1, -1], [4, 8, 0]])
    grad_x = projection.backward(np.array([[1.0, 0, 2], [0, -1, 1]]), cache)
    assert_array_equal(grad_x, [[1 - 2, 2], [-3 - 1, -4]])
    assert_array_equal(projection.E.grad, [[1, -1], [0, -2], [2, -2 + 2]])


@pytest.mark.parametrize("E", [np.ones((7, 5)), Parameter(np.ones(5)), None])
def test_projection_refuses_what_is_not_an_embedding_matrix(E):
    with pytest.raises(TypeError, match=r"E must be a Parameter \(vocab_size, d_model\), got"):
        OutputProjection(E)
