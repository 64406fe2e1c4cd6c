"""Pre-norm layers: the final norm, and where the norms stand."""

import functools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aiayn_np import (
    Cache,
    LayerNorm,
    Module,
    Transformer,
)
from aiayn_np.variants.models import TokenStack
from aiayn_np.variants.norms import RMSNorm
from aiayn_np.variants.pre_norm import PreNormDecoderLayer, PreNormEncoderLayer

PRE_NORM = dict(encoder_layer=PreNormEncoderLayer, decoder_layer=PreNormDecoderLayer)
def test_the_transformer_ends_both_stacks_with_a_norm_and_the_paper_does_not(rng):
    sizes = dict(N=2, d_model=8, d_ff=12, h=2, rng=rng)
    pre, post = Transformer(9, **PRE_NORM, **sizes), Transformer(9, **sizes)
    assert isinstance(pre.encoder.norm, LayerNorm)
    assert isinstance(pre.decoder.norm, LayerNorm)
    assert post.encoder.norm is post.decoder.norm is None
    assert not any("encoder.norm" in name for name, _ in post.named_parameters())
    memory, cache = pre.encode(np.array([[3, 4, 5], [6, 7, 0]]))
    assert_allclose(memory.mean(axis=-1), 0, atol=1e-14)
    np.testing.assert_array_equal(cache.encoder.norm.normalised, memory)


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


def test_the_outer_layer_says_which_norm_ends_the_stack_if_any(rng):
    model = Transformer(9, N=2, d_model=8, d_ff=12, h=2, rng=rng,
                        encoder_layer=around(PreNormEncoderLayer, OfItsOwn),
                        decoder_layer=around(PreNormDecoderLayer, Ended))
    assert type(model.encoder.norm) is RMSNorm
    assert model.decoder.norm is None
