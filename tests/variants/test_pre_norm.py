"""Pre-norm layers: the formula from naive pieces, the final norm, and where the norms stand."""

import functools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import naive_feed_forward, naive_layer_norm, naive_multi_head, naive_transformer

from aiayn_np import (
    Cache,
    DecoderLayer,
    LayerNorm,
    Module,
    ScaledDotProductAttention,
    Transformer,
    causal,
)
from aiayn_np.proofs.probing import randomise
from aiayn_np.variants.models import TokenStack
from aiayn_np.variants.norms import RMSNorm
from aiayn_np.variants.pre_norm import PreNormDecoderLayer, PreNormEncoderLayer

PRE_NORM = dict(encoder_layer=PreNormEncoderLayer, decoder_layer=PreNormDecoderLayer)
BOTH = pytest.mark.parametrize("cls", [PreNormEncoderLayer, PreNormDecoderLayer])


def naive_norm(layer, x):
    return naive_layer_norm(x, layer.gamma.value, layer.beta.value, layer.eps)


def naive_encoder(layer, x, allowed):
    n = naive_norm(layer.norm_1, x)
    x = x + naive_multi_head(layer.self_attention, n, n, n, allowed)
    return x + naive_feed_forward(layer.feed_forward, naive_norm(layer.norm_2, x))


def test_encoder_layer_equals_the_formula(rng):
    layer = randomise(PreNormEncoderLayer(6, 10, 2, rng=rng), rng)
    x, allowed = rng.normal(size=(2, 4, 6)), rng.random((2, 1, 4, 4)) < 0.7
    naive = naive_encoder(layer, x, allowed)
    assert_allclose(layer(x, allowed=allowed), naive, rtol=1e-12, atol=1e-13)


def test_decoder_layer_equals_the_formula(rng):
    layer = randomise(PreNormDecoderLayer(6, 10, 2, rng=rng), rng)
    x, memory = rng.normal(size=(2, 4, 6)), rng.normal(size=(2, 5, 6))
    seen = rng.random((2, 1, 1, 5)) < 0.7
    n = naive_norm(layer.norm_1, x)
    want = x + naive_multi_head(layer.self_attention, n, n, n, causal(4))
    n = naive_norm(layer.norm_2, want)
    want = want + naive_multi_head(layer.cross_attention, n, memory, memory, seen)
    want = want + naive_feed_forward(layer.feed_forward, naive_norm(layer.norm_3, want))
    got = layer(x, memory, allowed=causal(4), memory_allowed=seen)
    assert_allclose(got, want, rtol=1e-12, atol=1e-13)


def test_the_transformer_ends_both_stacks_with_a_norm_and_the_paper_does_not(rng):
    sizes = dict(N=2, d_model=8, d_ff=12, h=2, rng=rng)
    pre, post = Transformer(9, **PRE_NORM, **sizes), Transformer(9, **sizes)
    assert isinstance(pre.encoder.norm, LayerNorm)
    assert isinstance(pre.decoder.norm, LayerNorm)
    assert post.encoder.norm is post.decoder.norm is None
    assert not any("encoder.norm" in name for name, _ in post.named_parameters())
    src, tgt = np.array([[3, 4, 5], [6, 7, 0]]), np.array([[1, 3], [1, 4]])
    memory, cache = pre.encode(src)
    assert_allclose(memory.mean(axis=-1), 0, atol=1e-14)
    assert_allclose(pre.encoder.norm.forward(memory)[1].inv_std, 1, atol=1e-5)
    np.testing.assert_array_equal(cache.encoder.norm.normalised, memory)
    assert_allclose(post(src, tgt), naive_transformer(post, src, tgt), rtol=1e-11, atol=1e-12)


def test_another_norm_takes_both_places(rng):
    class Layer(PreNormEncoderLayer):
        stack_norm = RMSNorm

    model = Transformer(9, N=1, d_model=8, d_ff=12, h=2, encoder_layer=Layer, rng=rng)
    assert isinstance(model.encoder.norm, RMSNorm)
    assert isinstance(model.encoder.layers[0].norm_1, RMSNorm)
    assert model.decoder.norm is None


WRAPPED = {
    "a partial": (functools.partial(PreNormEncoderLayer), functools.partial(PreNormDecoderLayer)),
    "a function": (lambda *sizes, **options: PreNormEncoderLayer(*sizes, **options),
                   lambda *sizes, **options: PreNormDecoderLayer(*sizes, **options)),
}


@pytest.mark.parametrize("layers", WRAPPED.values(), ids=WRAPPED)
def test_a_wrapped_pre_norm_layer_has_its_final_norm(layers, rng):
    sizes = dict(N=2, d_model=8, d_ff=12, h=2, rng=rng)
    model = Transformer(9, encoder_layer=layers[0], decoder_layer=layers[1], **sizes)
    assert isinstance(model.encoder.norm, LayerNorm)
    assert isinstance(model.decoder.norm, LayerNorm)
    assert isinstance(TokenStack(9, layer=layers[0], **sizes).encoder.norm, LayerNorm)


class Around(Module):
    """A layer of a user's own that contains another."""

    def __init__(self, layer):
        self.layer = layer

    def forward(self, *inputs, **options):
        y, cache = self.layer.forward(*inputs, **options)
        return y, Cache(layer=cache)

    def backward(self, grad_y, cache):
        return self.layer.backward(grad_y, cache.layer)


class Ended(Around):
    """One that normalises its output itself."""

    stack_norm = None


class OfItsOwn(Around):
    """One that wants another norm at the end."""

    stack_norm = RMSNorm


def around(cls, wrapper=Around):
    return lambda *sizes, **options: wrapper(cls(*sizes, **options))


def test_a_layer_that_contains_a_pre_norm_layer_has_the_final_norm(rng):
    sizes = dict(N=2, d_model=8, d_ff=12, h=2)
    inside = Transformer(9, encoder_layer=around(around(PreNormEncoderLayer)),
                         decoder_layer=around(PreNormDecoderLayer), rng=rng, **sizes)
    plain = Transformer(9, encoder_layer=PreNormEncoderLayer, decoder_layer=PreNormDecoderLayer,
                        rng=rng, **sizes)
    assert isinstance(inside.encoder.norm, LayerNorm)
    assert isinstance(inside.decoder.norm, LayerNorm)
    for ours, theirs in zip(plain.parameters(), inside.parameters(), strict=True):
        ours.value[...] = theirs.value
    ids = rng.integers(1, 9, (2, 5))
    assert_array_equal(inside(ids, ids), plain(ids, ids))


def test_a_layer_around_another_may_say_that_it_needs_no_final_norm(rng):
    model = Transformer(9, N=2, d_model=8, d_ff=12, h=2, decoder_layer=around(DecoderLayer),
                        encoder_layer=around(PreNormEncoderLayer, Ended), rng=rng)
    assert model.encoder.norm is model.decoder.norm is None


def test_the_outer_layer_says_which_norm_ends_the_stack(rng):
    model = Transformer(9, N=2, d_model=8, d_ff=12, h=2, rng=rng,
                        encoder_layer=around(PreNormEncoderLayer, OfItsOwn))
    assert type(model.encoder.norm) is RMSNorm


def run(layer, rng):
    """The cache of a forward with dropout, of an encoder layer or of a decoder layer."""
    memory = [rng.normal(size=(3, 5, 6))] if isinstance(layer, PreNormDecoderLayer) else []
    return layer.forward(rng.normal(size=(3, 4, 6)), *memory, rng=rng)[1]


@BOTH
def test_dropout_stands_on_every_sub_layer_and_in_its_attention(cls, rng):
    layer = cls(6, 9, 2, P_drop=0.4, attention=ScaledDotProductAttention(0.3), rng=rng)
    cache = vars(run(layer, rng))
    kept = [c.kept for name, c in cache.items() if name.startswith("dropout")]
    attentions = [c.attention for name, c in cache.items() if name.endswith("attention")]
    assert len(kept) == len(attentions) + 1 == (2 if cls is PreNormEncoderLayer else 3)
    for k in [*kept, *(c.dropout.kept for c in attentions)]:
        assert 0.2 < k.mean() < 0.95


@BOTH
def test_sizes_of_the_heads_and_the_default_dropout_rate(cls, rng):
    layer = cls(6, 9, 2, d_k=4, d_v=5, rng=rng)
    attentions = [m for name, m in vars(layer).items() if name.endswith("attention")]
    assert [(m.h, m.d_k, m.d_v) for m in attentions] == [(2, 4, 5)] * len(attentions)
    assert layer.dropout.P_drop == 0.1
