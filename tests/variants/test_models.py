"""Encoder-only and decoder-only models: their parts and defaults."""

import pytest

from aiayn_np import (
    LayerNorm,
    LearnedPositionalEncoding,
)
from aiayn_np.variants.models import (
    LanguageModel,
    TokenStack,
    llama,
)
from aiayn_np.variants.norms import RMSNorm
from aiayn_np.variants.pre_norm import PreNormEncoderLayer

SIZES = dict(N=2, d_model=8, d_ff=12, h=2, max_len=10)


def test_dropout_of_the_stack_stands_on_the_embedding_and_in_every_layer(rng):
    stack = TokenStack(9, P_drop=0.4, rng=rng, **SIZES)
    _, cache = stack.forward(rng.integers(9, size=(5, 6)), rng=rng)
    kept = [cache.dropout.kept, *(c.add_norm_1.dropout.kept for c in cache.encoder.layers)]
    for k in kept:
        assert 0.4 < k.mean() < 0.8
    assert stack.encoder.layers[1].add_norm_2.dropout.P_drop == 0.4


def test_defaults_of_the_stack_and_the_norm_that_pre_norm_layers_need(rng):
    sizes = {name: size for name, size in SIZES.items() if name != "max_len"}
    stack = TokenStack(9, layer=PreNormEncoderLayer, rng=rng, **sizes)
    assert (stack.dropout.P_drop, stack.max_len, stack.positions.max_len) == (0.1, 512, 512)
    assert isinstance(stack.encoder.norm, LayerNorm)
    assert TokenStack(9, rng=rng, **sizes).encoder.norm is None


def test_positions_are_a_layer_or_a_class_and_the_longest_sequence_is_known(rng):
    made = LearnedPositionalEncoding(8, 10, rng=rng)
    stack = TokenStack(9, **SIZES, positions=made, rng=rng)
    assert stack.positions is made
    stack = TokenStack(9, **SIZES, positions=LearnedPositionalEncoding, rng=rng)
    assert isinstance(stack.positions, LearnedPositionalEncoding)
    assert LanguageModel(9, **SIZES, rng=rng).max_len == 10


def test_defaults_of_a_llama(rng):
    sizes = dict(N=1, d_model=12, d_ff=10, h=3)
    model = llama(9, **sizes, rng=rng)
    assert (model.pad, model.max_len, model.stack.dropout.P_drop) == (None, 512, 0)
    assert model.output_projection.E is model.stack.embedding.E
    layer = model.stack.encoder.layers[0]
    attention = layer.self_attention
    assert (attention.h_kv, attention.d_k, attention.d_v) == (3, 4, 4)
    assert attention.attention.rotary_Q.base == 10000
    assert type(model.stack.encoder.norm) is type(layer.norm_1) is type(layer.norm_2) is RMSNorm
    assert {p.value.ndim for p in layer.self_attention.parameters()} == {2}       # no biases
    assert llama(9, **sizes, d_k=6, rng=rng).stack.encoder.layers[0].self_attention.d_v == 6
    of_K = llama(9, **sizes, base=77.0, rng=rng).stack.encoder.layers[0].self_attention.attention
    assert of_K.rotary_Q.base == of_K.rotary_K.base == 77
    layer = llama(9, **sizes, gate_bias=True, rng=rng).stack.encoder.layers[0]
    assert layer.feed_forward.linear_gate.b is not None
    assert layer.self_attention.linear_O.b is None
    untied = llama(9, **sizes, tied=False, rng=rng).output_projection.E.value
    assert untied.shape == (9, 12)
    assert 0.1 < untied.std() < 0.6
    with pytest.raises(ValueError, match="d_k must be even"):
        llama(9, N=1, d_model=9, d_ff=10, h=3, rng=rng)
