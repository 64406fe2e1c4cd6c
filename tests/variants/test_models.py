"""Encoder-only and decoder-only models: what they compute, and what they see."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from proof import prove
from reference import (
    naive_embedding,
    naive_encoder_layer,
    naive_llama_layer,
    naive_matmul,
    naive_rms_norm,
    naive_sinusoids,
)

from aiayn_np import (
    LayerNorm,
    LearnedPositionalEncoding,
    causal,
    not_padding,
)
from aiayn_np.proofs.probing import randomise
from aiayn_np.variants.activations import GELU
from aiayn_np.variants.models import (
    Classifier,
    LanguageModel,
    MeanOverTokens,
    TokenStack,
    llama,
)
from aiayn_np.variants.norms import RMSNorm
from aiayn_np.variants.pre_norm import PreNormEncoderLayer
from aiayn_np.variants.rotary import NormedRotaryPositions

SIZES = dict(N=2, d_model=8, d_ff=12, h=2, max_len=10)


def naive_stack(stack, ids, allowed):
    x = naive_embedding(stack.embedding.E.value, ids) + naive_sinusoids(ids.shape[1], 8)
    for layer in stack.encoder.layers:
        x = naive_encoder_layer(layer, x, allowed)
    return x


def test_mean_over_tokens_by_hand():
    x = np.array([[[1.0, 2.0], [3.0, 5.0], [9.0, 9.0]], [[4.0, 4.0], [4.0, 4.0], [4.0, 4.0]]])
    allowed = np.array([[True, True, False], [False, False, False]])[:, None, None]
    y, cache = MeanOverTokens().forward(x, allowed=allowed)
    assert y.tolist() == [[2, 3.5], [0, 0]]
    grad = MeanOverTokens().backward(np.array([[2.0, -4.0], [1.0, 1.0]]), cache)
    assert grad.tolist() == [[[1, -2], [1, -2], [0, 0]], [[0, 0]] * 3]


def test_the_language_model_never_looks_ahead(rng):
    model, ids = LanguageModel(9, rng=rng, **SIZES), rng.integers(1, 9, (2, 6))
    before = model(ids)
    for t in range(1, 6):
        other = ids.copy()
        other[:, t:] = 1 + (other[:, t:] + 3) % 8
        np.testing.assert_array_equal(model(other)[:, :t], before[:, :t])


@pytest.mark.parametrize("options", [{}, {"pad": 7}], ids=str)
@pytest.mark.parametrize("model", ["language model", "classifier"])
def test_it_equals_its_naive_parts_and_the_id_of_padding_is_an_option(rng, model, options):
    """What stands at a padded position does not reach the others; its id is 0 or 7."""
    pad = options.get("pad", 0)
    ids = np.array([[1, 5, 3, pad], [2, 4, pad, pad]])
    if model == "classifier":
        layer = Classifier(9, 3, rng=rng, **options, **SIZES)
        x = naive_stack(layer.stack, ids, not_padding(ids, pad))
        want = layer.head(np.stack([x[0, :3].mean(axis=0), x[1, :2].mean(axis=0)]))
    else:
        layer = LanguageModel(9, rng=rng, **options, **SIZES)
        x = naive_stack(layer.stack, ids, causal(4) & not_padding(ids, pad))
        want = x @ layer.stack.embedding.E.value.T
    assert_allclose(layer(ids), want, rtol=1e-11, atol=1e-12)


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


LLAMA = dict(N=2, d_model=12, d_ff=10, h=6, h_kv=2, max_len=20)


def naive_llama(model, ids):
    """Embedding, layers one after another, the last norm, and the projection, without padding."""
    x, T = model.stack.embedding.E.value[ids], ids.shape[1]
    for layer in model.stack.encoder.layers:
        x = naive_llama_layer(layer, x, causal(T))
    x = naive_rms_norm(model.stack.encoder.norm, x)
    return naive_matmul(x.reshape(-1, 12), model.output_projection.E.value.T).reshape(*ids.shape, 9)


@pytest.mark.parametrize("options", [
    {}, {"tied": False, "bias": True, "gate_bias": True}, {"base": 100.0, "d_k": 4},
    {"h_kv": None, "rotary": NormedRotaryPositions, "activation": GELU},
])
def test_a_llama_equals_its_naive_parts(options, rng):
    model = randomise(llama(9, **(LLAMA | options), rng=rng), rng)
    ids = rng.integers(0, 9, (2, 5))
    assert_allclose(model(ids), naive_llama(model, ids), rtol=1e-11, atol=1e-12)


def test_gradients_of_a_whole_llama_are_exact(rng):
    """All parameters together, by the complex step, with padding and dropout."""
    model = randomise(llama(9, **LLAMA, pad=0, P_drop=0.2, rng=rng), rng)
    ids = np.array([[1, 4, 8, 4], [3, 3, 0, 0]])
    prove(model, [ids], {"rng": np.random.default_rng(3)}, rng)


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
