"""SwiGLU and its kind: with a gate that is held."""

from numpy.testing import assert_allclose

from aiayn_np.reading import frozen
from aiayn_np.variants.activations import SiLU
from aiayn_np.variants.gated import SwiGLU


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
    assert type(SwiGLU(4, 6, rng=rng).activation) is SiLU
