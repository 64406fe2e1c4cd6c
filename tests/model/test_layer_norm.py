"""Layer normalisation: a large mean."""

from numpy.testing import assert_allclose
from reference import naive_layer_norm

from aiayn_np import LayerNorm
from aiayn_np.proofs.probing import randomise


def test_a_large_mean_costs_no_digits(rng):
    """E[x^2] - E[x]^2 would lose 12 of 16 digits here; the mean of squared deviations does not."""
    layer, x = randomise(LayerNorm(4), rng), 1e6 + rng.normal(size=(2, 3, 4))
    expected = naive_layer_norm(x, layer.gamma.value, layer.beta.value, 1e-6)
    assert_allclose(layer(x), expected, rtol=1e-8, atol=1e-8)
