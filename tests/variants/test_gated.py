"""SwiGLU and its kind: the activation of the gate, and with a gate that is held."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aiayn_np import ReLU
from aiayn_np.reading import frozen
from aiayn_np.variants.activations import GELU, SiLU
from aiayn_np.variants.gated import SwiGLU


@pytest.mark.parametrize("activation", [SiLU, GELU, ReLU])
def test_the_activation_is_that_of_the_gate_alone(activation, rng):
    layer, x = SwiGLU(4, 6, activation=activation, rng=rng), rng.standard_normal((3, 4))
    gate = activation()(x @ layer.linear_gate.W.value)
    want = (gate * (x @ layer.linear_1.W.value)) @ layer.linear_2.W.value
    assert_allclose(layer(x), want, rtol=0, atol=1e-14)
    assert type(SwiGLU(4, 6, rng=rng).activation) is SiLU


def test_with_its_gate_held_it_is_linear_in_x(rng):
    """Then the gradient times x is y."""
    layer, x = SwiGLU(4, 6, rng=rng), rng.standard_normal((3, 4))
    y, cache = layer.forward(x)
    grad_y = rng.standard_normal(y.shape)
    held = layer.backward(grad_y, frozen(cache))
    through = (grad_y @ layer.linear_2.W.value.T * cache.gate) @ layer.linear_1.W.value.T
    assert_allclose(held, through, rtol=0, atol=1e-13)     # the gate is held, and not the other
    assert_allclose((held * x).sum(), (grad_y * y).sum(), rtol=1e-13)
    assert abs((layer.backward(grad_y, cache) * x).sum() - (grad_y * y).sum()) > 1e-3


def test_parameters_are_those_of_three_matrices(rng):
    assert sum(p.value.size for p in SwiGLU(4, 6, rng=rng).parameters()) == 3 * 24
    assert sum(p.value.size for p in SwiGLU(4, 6, bias=True, rng=rng).parameters()) == 72 + 16


def test_what_does_not_fit_is_refused(rng):
    with pytest.raises(ValueError, match="d_ff must be at least 1"):
        SwiGLU(4, 0, rng=rng)
    with pytest.raises(ValueError, match="x must have d_model=4 on its last axis"):
        SwiGLU(4, 6, rng=rng)(np.ones((2, 5)))
