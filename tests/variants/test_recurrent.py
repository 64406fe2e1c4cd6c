"""RNN and GRU: an open gate, bad inputs, how they are drawn."""

import math
import re

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
def test_bad_inputs(rng, cls):
    layer = cls(D_IN, D_HIDDEN, rng=rng)
    with pytest.raises(ValueError, match=re.escape("x must have d_in=3 on its last axis, got")):
        layer(np.ones((B, T, 4)))
    with pytest.raises(ValueError, match="x must have at least 2 axes"):
        layer(np.ones(D_IN))
    with pytest.raises(ValueError, match="x must have a length T of at least 1, got shape"):
        layer(np.ones((B, 0, D_IN)))
    with pytest.raises(ValueError, match="d_in must be at least 1"):
        cls(0, D_HIDDEN, rng=rng)
    with pytest.raises(ValueError, match=re.escape("d_hidden must be at least 1, got d_hidden=0")):
        cls(D_IN, 0, rng=rng)
    with pytest.raises(TypeError, match=r"rng must be a numpy.random.Generator"):
        cls(D_IN, D_HIDDEN, rng=0)


@BOTH
def test_U_is_drawn_uniform_in_one_over_root_d_hidden(cls, rng):
    """4096 draws or more in +-1/8: the extremes come close, the mean is near zero."""
    U = cls(3, 64, rng=rng).U.value
    assert U.shape == (64, 64 if cls is RNN else 192)
    assert 0.124 < U.max() < 0.125
    assert -0.125 < U.min() < -0.124
    assert abs(U.mean()) < 0.005


@BOTH
@pytest.mark.parametrize("leading", [(), (2, 3)])
def test_the_axes_before_the_sequence_are_any(cls, leading, rng):
    layer, x = cls(D_IN, D_HIDDEN, rng=rng), rng.standard_normal((*leading, T, D_IN))
    prove(layer, [x], {}, rng)
    for at in np.ndindex(leading):
        assert_allclose(layer(x)[at], layer(x[at][None])[0], rtol=1e-13, atol=1e-15)


def test_biases_start_at_zero(rng):
    for name, parameter in GRU(3, 4, rng=rng).named_parameters():
        assert parameter.value.any() != name.endswith("b")
