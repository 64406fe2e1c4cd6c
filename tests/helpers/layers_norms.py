"""Configurations of the variants' norms, pre-norm layers and models; see layers.py."""

import importlib

from layers import (
    decoder_call,
    dropout,
    encoder_call,
    layer_of_a_stack,
    norm_of_rows,
    padded_ids,
    rate,
    register,
    sizes,
)

from aiayn_np import EncoderLayer, LearnedPositionalEncoding, SinusoidalPositionalEncoding
from aiayn_np.variants.models import LanguageModel, TokenStack
from aiayn_np.variants.norms import BatchNorm, RMSNorm
from aiayn_np.variants.pre_norm import PreNormDecoderLayer, PreNormEncoderLayer

norm_of_rows(RMSNorm)
layer_of_a_stack(PreNormEncoderLayer, encoder_call)
layer_of_a_stack(PreNormDecoderLayer, decoder_call)


@register(BatchNorm)
def batch_norm(rng):
    d_model, T, B = sizes(rng, 3, low=3)
    x = rng.normal(rng.normal(0, 3), rng.uniform(0.5, 3), (B, T, d_model))
    statistics = (rng.standard_normal(d_model), rng.uniform(0.5, 2, d_model))
    options = {"statistics": statistics} if rng.random() < 0.4 else {}
    return BatchNorm(d_model, eps=float(rng.choice([1e-5, 1e-3, 0.1]))), [x], options


def ids_and_stack(rng):
    """(ids, pad, positional arguments, options) of a model over tokens."""
    B, T, vocab_size, d_ff = sizes(rng, 4, low=3)
    h = int(rng.integers(2, 4))
    pad = int(rng.integers(vocab_size))
    layer = [PreNormEncoderLayer, EncoderLayer][rng.integers(2)]
    sizes_of_layers = dict(N=2, d_model=h * int(rng.integers(2, 4)), d_ff=d_ff, h=h)
    positions = [SinusoidalPositionalEncoding, LearnedPositionalEncoding][rng.integers(2)]
    options = dict(P_drop=rate(rng), max_len=T + 1, layer=layer, positions=positions)
    options |= sizes_of_layers
    return padded_ids(rng, B, T, vocab_size, pad), pad, vocab_size, options


@register(TokenStack)
def token_stack(rng):
    ids, _, vocab_size, options = ids_and_stack(rng)
    return TokenStack(vocab_size, rng=rng, **options), [ids], dropout(rng)


@register(LanguageModel)
def language_model(rng):
    if rng.random() < 0.5:
        return importlib.import_module("layers_since_2017").llama_model(rng)
    ids, pad, vocab_size, options = ids_and_stack(rng)
    pad = None if rng.random() < 0.2 else pad
    return LanguageModel(vocab_size, pad=pad, rng=rng, **options), [ids], dropout(rng)
