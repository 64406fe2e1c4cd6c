"""GELU, SiLU and the error function against Python's own, number by number."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aiayn_np import DecoderLayer, EncoderLayer
from aiayn_np.variants.activations import GELU, FeedForward, SiLU, TanhGELU, erf
from aiayn_np.variants.layer_options import add_biases, layer_factory, set_eps
from aiayn_np.variants.pre_norm import PreNormEncoderLayer

BY_HAND = {
    GELU: lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    TanhGELU: lambda x: x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    SiLU: lambda x: x / (1 + math.exp(-x)),
}


def test_erf_is_that_of_python_and_its_slope_too():
    x = np.linspace(-8, 8, 4001)
    assert np.abs(erf(x) - [math.erf(v) for v in x]).max() < 1e-15
    assert np.abs(GELU()(np.tile(x, (17, 1))) - GELU()(x)).max() < 1e-14    # more than a block
    slope = 2 / math.sqrt(math.pi) * np.exp(-x * x)
    assert np.abs(erf(x + 1e-20j).imag / 1e-20 - slope).max() < 2e-13


def test_erf_far_away_in_float32_and_of_nan():
    x = np.array([-np.inf, -30, 0, 30, np.inf, np.nan], np.float32)
    assert erf(x).dtype == np.float32
    np.testing.assert_array_equal(erf(x)[[0, 1, 3, 4]], [-1, -1, 1, 1])
    assert abs(erf(x)[2]) <= np.finfo(np.float32).eps
    assert np.isnan(erf(x)[5])


@pytest.mark.parametrize("cls", BY_HAND)
def test_an_activation_equals_its_formula(cls):
    """Far away it is x or zero."""
    x = np.linspace(-12, 12, 997)
    want = [BY_HAND[cls](v) for v in x]
    assert_allclose(cls()(x), want, rtol=1e-13, atol=1e-14)
    assert_allclose(cls()(x.astype(np.float32)), want, rtol=1e-5, atol=1e-6)
    y, cache = cls().forward(np.array([-1e4, 1e4]))
    assert_allclose([y, cls().backward(np.ones(2), cache)], [[0, 1e4], [0, 1]], atol=1e-12)


@pytest.mark.parametrize("layer", [EncoderLayer, DecoderLayer, PreNormEncoderLayer])
def test_a_factory_adds_biases_and_an_activation_and_nothing_else(layer, rng):
    seed = int(rng.integers(1000))
    plain = layer(8, 12, 2, rng=np.random.default_rng(seed))
    made = layer_factory(layer, bias=True, activation=SiLU)(8, 12, 2,
                                                            rng=np.random.default_rng(seed))
    assert type(made) is layer
    assert isinstance(made.feed_forward, FeedForward)
    assert isinstance(made.feed_forward.activation, SiLU)
    names = {name for name, _ in made.named_parameters()}
    added = names - {name for name, _ in plain.named_parameters()}
    attentions = 2 if layer is DecoderLayer else 1
    assert len(added) == 4 * attentions
    assert all(name.endswith(".b") and "attention" in name for name in added)
    same = layer_factory(layer)(8, 12, 2, rng=np.random.default_rng(seed))
    for (name, p), (other, q) in zip(plain.named_parameters(), same.named_parameters(),
                                     strict=True):
        assert name == other
        np.testing.assert_array_equal(p.value, q.value)


def test_a_factory_passes_on_what_it_is_asked_for(rng):
    """P_drop, d_k and an attention reach the layer; its biases are zeros in its dtype."""
    made = layer_factory(bias=True)(8, 12, 2, P_drop=0.3, d_k=3, rng=rng)
    assert made.add_norm_1.dropout.P_drop == 0.3
    assert made.self_attention.linear_Q.W.value.shape == (8, 6)
    attention = EncoderLayer(8, 12, 2, rng=rng).astype(np.float32).self_attention
    for one in (made.self_attention, attention):
        add_biases(one)
        for linear in (one.linear_Q, one.linear_K, one.linear_V, one.linear_O):
            assert linear.b.value.dtype == linear.W.value.dtype
            np.testing.assert_array_equal(linear.b.value, np.zeros(linear.d_out))


def test_eps_is_set_everywhere(rng):
    layer = set_eps(EncoderLayer(8, 12, 2, rng=rng), 1e-3)
    assert layer.add_norm_1.layer_norm.eps == layer.add_norm_2.layer_norm.eps == 1e-3
