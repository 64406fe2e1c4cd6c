"""Add & Norm: the residual sum first, then the norm; dropout on the sub-layer alone."""

import numpy as np
from numpy.testing import assert_allclose
from reference import naive_add_norm

from aiayn_np import AddNorm


def make(rng, d_model=4, P_drop=0.3):
    layer = AddNorm(d_model, P_drop)
    layer.layer_norm.gamma.value[...] = rng.normal(size=d_model)
    layer.layer_norm.beta.value[...] = rng.normal(size=d_model)
    return layer


def test_dropout_acts_on_the_sublayer_and_never_on_x(rng, seed):
    layer, g = make(rng), rng.normal(size=(2, 3, 4))
    x, sub = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 4))
    y, cache = layer.forward(x, sub, rng=np.random.default_rng(seed))
    kept = np.random.default_rng(seed).random((2, 3, 4)) >= 0.3
    assert_allclose(y, naive_add_norm(layer, x, sub * kept / 0.7), rtol=1e-12, atol=1e-13)
    grad_x, grad_sub = layer.backward(g, cache)
    assert 0 < kept.mean() < 1
    assert (grad_x != 0).all()
    assert_allclose(grad_sub, grad_x * kept / 0.7, rtol=1e-14)
