"""What encoder and decoder have in common: post-norm, dropout, a norm at the end of the stack."""

import numpy as np
import pytest
from proof import prove

from aiayn_np import (
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    LayerNorm,
    ScaledDotProductAttention,
)
from aiayn_np.proofs.probing import randomise

D_MODEL, D_FF, H = 6, 9, 2
both = pytest.mark.parametrize(("cls", "stack"), [(EncoderLayer, Encoder), (DecoderLayer, Decoder)],
                               ids=["encoder", "decoder"])


def make_layer(cls, rng, **options):
    return randomise(cls(D_MODEL, D_FF, H, d_k=4, d_v=5, **options, rng=rng), rng)


def inputs(cls, rng):
    """x, and for a decoder the memory."""
    return [rng.standard_normal((3, T, D_MODEL)) for T in (4, 5)[: 1 + (cls is DecoderLayer)]]


@both
def test_normalisation_comes_last(cls, stack, rng):
    x, *memory = inputs(cls, rng)
    y = cls(D_MODEL, D_FF, H, rng=rng)(100 * x, *memory)
    np.testing.assert_allclose(y.mean(axis=-1), 0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(y.var(axis=-1), 1, rtol=0, atol=1e-3)


@both
def test_dropout_of_every_attention_draws_from_the_rng_of_the_layer(cls, stack, rng):
    layer = make_layer(cls, rng, P_drop=0.0, attention=ScaledDotProductAttention(0.3))
    _, cache = layer.forward(*inputs(cls, rng), rng=rng)
    caches = [part.attention for name, part in vars(cache).items() if name.endswith("attention")]
    assert len(caches) == (1 if cls is EncoderLayer else 2)
    assert all(0 < attention.dropout.kept.mean() < 1 for attention in caches)


@both
def test_default_dropout_rate_is_the_papers(cls, stack, rng):
    layer = cls(D_MODEL, D_FF, H, rng=rng)
    rates = [part.dropout.P_drop for name, part in vars(layer).items() if "add_norm" in name]
    assert rates == [0.1] * (2 if cls is EncoderLayer else 3)


@both
def test_a_stack_that_ends_with_a_norm_is_that_norm_of_its_layers_and_proven(cls, stack, rng):
    layer, norm = make_layer(cls, rng), randomise(LayerNorm(D_MODEL), rng)
    arrays, whole = inputs(cls, rng), stack([layer], norm=norm)
    np.testing.assert_array_equal(whole(*arrays), norm(layer(*arrays)))
    prove(whole, arrays, {}, rng)


@both
def test_a_stack_keeps_the_layers_of_a_generator_and_of_a_list_that_changes(cls, stack, rng):
    layers = [make_layer(cls, rng)]
    from_list, from_generator = stack(layers), stack(layer for layer in layers)
    layers.append(None)
    assert len(from_list.layers) == len(from_generator.layers) == 1
