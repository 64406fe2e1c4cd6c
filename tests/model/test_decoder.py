"""The decoder: one layer against plain loops, no look ahead, and memory gradients of all layers."""

import numpy as np
import pytest
from layers import mask
from reference import naive_decoder_layer

from aiayn_np import Decoder, DecoderLayer, ScaledDotProductAttention, causal
from aiayn_np.proofs.probing import randomise

D_MODEL, D_FF, H, B, T_TGT, T_SRC = 6, 9, 2, 3, 4, 5


def make_layer(rng, **options):
    layer = DecoderLayer(D_MODEL, D_FF, H, d_k=4, d_v=5, **options, rng=rng)
    randomise(layer, rng)
    return layer


@pytest.fixture
def x(rng):
    return rng.standard_normal((B, T_TGT, D_MODEL))


@pytest.fixture
def memory(rng):
    return rng.standard_normal((B, T_SRC, D_MODEL))


def masks(rng):
    allowed = causal(T_TGT) & (rng.random((B, 1, 1, T_TGT)) < 0.8)
    return dict(allowed=allowed, memory_allowed=mask(rng, (B, H, T_TGT, T_SRC)))


def test_stack_equals_plain_loops(rng, x, memory):
    layers, options, want = [make_layer(rng) for _ in range(2)], masks(rng), x
    for layer in layers:
        want = naive_decoder_layer(layer, want, memory, **options)
    y = Decoder(layers)(x, memory, **options)
    np.testing.assert_allclose(y, want, rtol=0, atol=1e-12)


def test_keys_and_values_of_the_cross_attention_are_the_memory_and_queries_the_target(
    rng, x, memory
):
    layer = make_layer(rng)
    _, cache = layer.forward(x, memory)
    assert cache.cross_attention.linear_K.x is memory
    assert cache.cross_attention.linear_V.x is memory
    attended = layer.self_attention(x, x, x)
    np.testing.assert_array_equal(cache.cross_attention.linear_Q.x, layer.add_norm_1(x, attended))


def test_memory_gradient_is_the_sum_over_layers(rng, x, memory):
    layers = [make_layer(rng) for _ in range(3)]
    decoder = Decoder(layers)
    y, cache = decoder.forward(x, memory, allowed=causal(T_TGT))
    grad_y = rng.standard_normal(y.shape)
    grad_x, grad_memory = decoder.backward(grad_y, cache)
    total, shares = grad_y, []
    for layer, layer_cache in zip(reversed(layers), reversed(cache.layers)):
        total, share = layer.backward(total, layer_cache)
        shares.append(share)
    np.testing.assert_array_equal(grad_x, total)
    np.testing.assert_allclose(grad_memory, sum(shares), rtol=0, atol=1e-13)
    assert all(np.abs(grad_memory - share).max() > 1e-3 for share in shares)


def test_memory_gradient_of_one_layer_comes_through_keys_and_values(rng, x, memory):
    layer = make_layer(rng)
    y, cache = layer.forward(x, memory)
    grad_y = rng.standard_normal(y.shape)
    _, both = layer.backward(grad_y, cache)
    shares = []
    for silent in ("linear_K", "linear_V"):
        W = getattr(layer.cross_attention, silent).W
        value, W.value = W.value, np.zeros(W.value.shape)
        shares.append(layer.backward(grad_y, cache)[1])  # through the other one alone
        W.value = value
    np.testing.assert_allclose(both, sum(shares), rtol=0, atol=1e-13)


def test_dropout_stands_on_all_three_sub_layers(rng, x, memory):
    _, cache = make_layer(rng, P_drop=0.3).forward(x, memory, rng=rng)
    caches = [cache.add_norm_1, cache.add_norm_2, cache.add_norm_3]
    assert all(0 < c.dropout.kept.mean() < 1 for c in caches)


def test_cache_repeats_the_names_of_the_module(rng, x, memory):
    decoder = Decoder([make_layer(rng) for _ in range(2)])
    _, cache = decoder.forward(x, memory)
    layer = cache.layers[1]
    assert layer.self_attention.attention.weights.shape == (B, H, T_TGT, T_TGT)
    assert layer.cross_attention.attention.weights.shape == (B, H, T_TGT, T_SRC)
    blocks = dict.fromkeys(name.split(".")[2] for name, _ in decoder.named_parameters())
    assert list(blocks) == [
        "self_attention", "add_norm_1", "cross_attention", "add_norm_2", "feed_forward",
        "add_norm_3",
    ]


def test_attention_factory_is_called_once_for_each_place(rng):
    made = []

    def factory(h, d_k, d_v, rng):
        made.append((h, d_k, d_v))
        return ScaledDotProductAttention(0.2)

    layer = make_layer(rng, attention=factory)
    assert made == [(H, 4, 5), (H, 4, 5)]
    assert layer.self_attention.attention is not layer.cross_attention.attention
