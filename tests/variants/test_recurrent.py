"""RNN and GRU: an open gate, any leading axes."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from proof import prove

from aiayn_np.variants.recurrent import GRU, RNN, sigmoid

B, T, D_IN, D_HIDDEN = 2, 5, 3, 4
BOTH = pytest.mark.parametrize("cls", [RNN, GRU])


def constant(cls, **values):
    """A layer of one unit with these parameters; the rest is zero."""
    layer = cls(1, 1, rng=np.random.default_rng(0))
    for name, parameter in layer.named_parameters():
        parameter.value[...] = values.get(name.replace(".", "_"), 0)
    return layer


def test_an_open_update_gate_keeps_the_state():
    """z = 1 from step 2 on (x = 1 opens it): the state stays, and so does its gradient."""
    layer = constant(GRU, linear_x_W=[0, 1000, 1], linear_x_b=[0, 0, 1])
    x = np.array([[[-1.0 / 2], [1], [1], [1]]])
    y, cache = layer.forward(x)
    assert_array_equal(y, np.full((1, 4, 1), math.tanh(0.5)))
    grad_x = layer.backward(np.array([[[0.0], [0], [0], [1]]]), cache)
    assert_allclose(grad_x, [[[1 - math.tanh(0.5) ** 2], [0], [0], [0]]], rtol=1e-14)


def test_a_gate_does_not_overflow():
    assert_array_equal(sigmoid(np.array([-1e4, 0, 1e4])), [0, 0.5, 1])


@BOTH
@pytest.mark.parametrize("leading", [(), (2, 3)])
def test_the_axes_before_the_sequence_are_any(cls, leading, rng):
    layer, x = cls(D_IN, D_HIDDEN, rng=rng), rng.standard_normal((*leading, T, D_IN))
    prove(layer, [x], {}, rng)
    for at in np.ndindex(leading):
        assert_allclose(layer(x)[at], layer(x[at][None])[0], rtol=1e-13, atol=1e-15)
