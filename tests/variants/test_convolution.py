"""Convolutions over the sequence: plain loops, bad inputs, how they are drawn."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aiayn_np.proofs.probing import randomise
from aiayn_np.variants.convolution import Convolution1D

B, T, D_IN, D_OUT = 2, 6, 3, 4


def naive_convolution(layer, x, left):
    W, b = layer.W.value, layer.b.value
    y = np.zeros((B, T, D_OUT))
    for s, t, n in np.ndindex(B, T, D_OUT):
        y[s, t, n] = b[n] + sum(
            float(x[s, t + j - left, m]) * float(W[j, m, n])
            for j in range(layer.k) if 0 <= t + j - left < T for m in range(D_IN)
        )
    return y


@pytest.mark.parametrize(("k", "left"), [(1, 0), (3, 1), (5, 2), (15, 7)])
def test_equals_the_loop(rng, k, left):
    layer = Convolution1D(D_IN, D_OUT, k, rng=rng)
    randomise(layer, rng)
    x = rng.standard_normal((B, T, D_IN))
    assert_allclose(layer(x), naive_convolution(layer, x, left), rtol=1e-12, atol=1e-13)


def test_one_tap_is_a_linear_map_and_any_leading_axes_do(rng):
    layer = Convolution1D(D_IN, D_OUT, 1, rng=rng)
    x = rng.standard_normal((B, 2, T, D_IN))
    assert_allclose(layer(x), x @ layer.W.value[0], rtol=1e-13, atol=1e-13)
    assert_allclose(layer(x)[1, 0], layer(x[1, 0]), rtol=1e-13, atol=1e-13)


def test_bad_inputs(rng):
    for bad in [(0, 4, 3), (3, 0, 3), (3, 4, 0)]:
        with pytest.raises(ValueError, match="must be at least 1"):
            Convolution1D(*bad, rng=rng)
    with pytest.raises(TypeError, match=re.escape("k must be an integer, got k=3.0")):
        Convolution1D(3, 4, 3.0, rng=rng)
    with pytest.raises(TypeError, match=r"rng must be a numpy.random.Generator"):
        Convolution1D(3, 4, 3, rng=0)
    layer = Convolution1D(D_IN, D_OUT, 3, rng=rng)
    with pytest.raises(ValueError, match=re.escape("x must have d_in=3 on its last axis")):
        layer(np.ones((B, T, 2)))
    with pytest.raises(ValueError, match="x must have at least 2 axes"):
        layer(np.ones(D_IN))


def test_an_even_window_has_no_middle(rng):
    with pytest.raises(ValueError, match="k must be odd, got k=4"):
        Convolution1D(3, 4, 4, rng=rng)


def test_weights_are_drawn_xavier_uniform(rng):
    """60000 draws in +-sqrt(6 / (k (d_in + d_out))): k d_in numbers come in, k d_out go out."""
    limit = (6 / (5 * (120 + 100))) ** 0.5
    layer = Convolution1D(120, 100, 5, rng=rng)
    W = layer.W.value
    assert W.shape == (5, 120, 100)
    assert limit * 0.999 < W.max() < limit
    assert -limit < W.min() < -limit * 0.999
    assert abs(W.mean()) < 0.05 * limit
    assert not layer.b.value.any()


def test_there_are_no_more_zeros_than_the_windows_reach(rng):
    layer, x = Convolution1D(2, 4, 3, rng=rng), rng.standard_normal((2, 6, 2))
    assert layer.pad(x).shape == (2, 6 + 3 - 1, 2)
