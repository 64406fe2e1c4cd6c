"""The encoder: one layer against plain loops, post-norm, and the stack as its layers in a row."""

from types import SimpleNamespace

import numpy as np
import pytest
from reference import naive_encoder_layer

from aiayn_np import Encoder, EncoderLayer, Module, ScaledDotProductAttention
from aiayn_np.encoder import final_norm
from aiayn_np.proofs.probing import randomise

D_MODEL, D_FF, H, B, T = 6, 9, 2, 3, 5


def make_layer(rng, **options):
    layer = EncoderLayer(D_MODEL, D_FF, H, d_k=4, d_v=5, **options, rng=rng)
    randomise(layer, rng)
    return layer


@pytest.fixture
def x(rng):
    return rng.standard_normal((B, T, D_MODEL))


def test_stack_equals_plain_loops(rng, x):
    layers, want = [make_layer(rng) for _ in range(2)], x
    allowed = rng.random((B, 1, T, T)) < 0.7
    for layer in layers:
        want = naive_encoder_layer(layer, want, allowed)
    np.testing.assert_allclose(Encoder(layers)(x, allowed=allowed), want, rtol=0, atol=1e-12)


def test_two_residuals_carry_x_when_the_sub_layers_give_zero(rng, x):
    layer = make_layer(rng)
    for linear in (layer.self_attention.linear_O, layer.feed_forward.linear_2):
        linear.W.value = np.zeros(linear.W.value.shape)
    layer.feed_forward.linear_2.b.value = np.zeros(D_MODEL)
    want = layer.add_norm_2.layer_norm(layer.add_norm_1.layer_norm(x))
    np.testing.assert_array_equal(layer(x), want)


def test_dropout_stands_on_both_sub_layers(rng, x):
    layer = make_layer(rng, P_drop=0.3)
    _, cache = layer.forward(x, rng=rng)
    masks = [cache.add_norm_1.dropout.kept, cache.add_norm_2.dropout.kept]
    assert all(0 < kept.mean() < 1 for kept in masks)
    assert (masks[0] != masks[1]).any()


def test_cache_repeats_the_names_of_the_module(rng, x):
    encoder = Encoder([make_layer(rng) for _ in range(2)])
    _, cache = encoder.forward(x)
    assert cache.layers[1].self_attention.attention.weights.shape == (B, H, T, T)
    names = [name for name, _ in encoder.named_parameters() if name.startswith("layers.1.")]
    assert names == [f"layers.1.{name}" for name in (
        "self_attention.linear_Q.W", "self_attention.linear_K.W", "self_attention.linear_V.W",
        "self_attention.linear_O.W", "add_norm_1.layer_norm.gamma", "add_norm_1.layer_norm.beta",
        "feed_forward.linear_1.W", "feed_forward.linear_1.b", "feed_forward.linear_2.W",
        "feed_forward.linear_2.b", "add_norm_2.layer_norm.gamma", "add_norm_2.layer_norm.beta",
    )]


def test_attention_is_a_layer_or_a_factory(rng):
    own = ScaledDotProductAttention(0.2)
    assert make_layer(rng, attention=own).self_attention.attention is own
    seen = []

    def factory(*arguments):
        seen.append(arguments)
        return own

    assert make_layer(rng, attention=factory).self_attention.attention is own
    assert seen == [(H, 4, 5, rng)]


def test_default_head_sizes_are_d_model_over_h(rng):
    attention = EncoderLayer(12, 7, 3, rng=rng).self_attention
    assert (attention.d_k, attention.d_v) == (4, 4)


def test_any_module_can_stand_in_the_stack(rng, x):
    class Twice(Module):
        def forward(self, x, *, allowed=None, rng=None):
            return 2 * x, None

        def backward(self, grad_y, cache):
            return 2 * grad_y

    encoder = Encoder([Twice(), Twice(), Twice()])
    y, cache = encoder.forward(x)
    np.testing.assert_array_equal(y, 8 * x)
    np.testing.assert_array_equal(encoder.backward(x, cache), 8 * x)


def test_what_is_no_layer_is_refused():
    with pytest.raises(TypeError, match="layers must be a layer"):
        Encoder([3])
    with pytest.raises(TypeError, match="layers must be a layer"):
        Encoder([EncoderLayer])  # the class, not a layer


def test_the_last_layer_decides_whether_a_norm_ends_the_stack():
    plain, pre_norm = SimpleNamespace(), SimpleNamespace(stack_norm=str)
    assert final_norm([plain, pre_norm], 8) == "8"
    assert final_norm([pre_norm, plain], 8) is None
