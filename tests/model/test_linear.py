"""Linear: its initialisation, with and without a bias."""

import numpy as np
import pytest

from aiayn_np import Linear


def worked(bias=True):
    layer = Linear(2, 3, bias=bias, rng=np.random.default_rng(0))
    layer.W.value[...] = [[1, 0, -2], [4, 1, 3]]
    if bias:
        layer.b.value[...] = [10, 20, 30]
    return layer


def test_W_is_Xavier_uniform_and_b_starts_at_zero(rng):
    """Uniform in +-sqrt(6 / (d_in + d_out)) has the variance 2 / (d_in + d_out)."""
    layer = Linear(300, 500, rng=rng)
    W, limit = layer.W.value, (6 / 800) ** 0.5
    assert 0.999 * limit < abs(W).max() <= limit
    assert abs(W.mean()) < 0.01 * limit
    assert W.var() == pytest.approx(2 / 800, rel=0.02)
    assert not layer.b.value.any()


def test_without_bias_there_is_only_W(rng):
    layer = Linear(4, 7, bias=False, rng=rng)
    assert layer.b is None
    assert [name for name, _ in layer.named_parameters()] == ["W"]
