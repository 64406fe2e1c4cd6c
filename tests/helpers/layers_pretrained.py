"""Configurations of the layers that GPT-2, BERT and Marian need, for the laws; see layers.py."""

from layers import (
    dropout,
    embedding,
    leading,
    of_two_sizes,
    padded_ids,
    positional,
    projection,
    rate,
    register,
    sizes,
    width,
)

from aiayn_np import EncoderLayer, Parameter, ReLU
from aiayn_np.variants.activations import GELU, FeedForward, SiLU, TanhGELU
from aiayn_np.variants.embeddings import (
    BiasedProjection,
    FairseqSinusoids,
    SegmentEmbedding,
    SinusoidsInHalves,
    UnscaledEmbedding,
)
from aiayn_np.variants.layer_options import layer_factory
from aiayn_np.variants.masked import MaskedLanguageModel, MaskedTokenHead

ACTIVATIONS = (GELU, TanhGELU, SiLU, ReLU)


def elementwise(cls):
    """An activation over numbers on both sides of zero, some of them far away."""
    def drawn(rng):
        return cls(), [rng.uniform(0.5, 3) * rng.standard_normal(leading(rng))], {}
    return register(cls)(drawn)


for activation in (GELU, TanhGELU, SiLU):
    elementwise(activation)
of_two_sizes(FeedForward, activation=lambda rng: ACTIVATIONS[rng.integers(4)]())
embedding(UnscaledEmbedding)
positional(SinusoidsInHalves)
positional(FairseqSinusoids, least=4)
projection(BiasedProjection)


@register(SegmentEmbedding)
def segment_embedding(rng):
    segments, d_model, T = sizes(rng, 3)
    shape = (*leading(rng)[1:], T)
    options = {"segments": rng.integers(0, segments, shape)} if rng.random() < 0.75 else {}
    return SegmentEmbedding(segments, d_model, rng=rng), [
        rng.standard_normal((*shape, d_model))], options


@register(MaskedTokenHead)
def masked_token_head(rng):
    (vocab_size,), d_model = sizes(rng, 1), width(rng)
    E = Parameter(rng.standard_normal((vocab_size, d_model)))
    layer = MaskedTokenHead(E, activation=(GELU, TanhGELU, SiLU)[rng.integers(3)], rng=rng)
    return layer, [2 * rng.standard_normal((*leading(rng), d_model))], {}


@register(MaskedLanguageModel)
def masked_language_model(rng):
    B, T, vocab_size, d_ff = sizes(rng, 4, low=3)
    h, pad = int(rng.integers(2, 4)), int(rng.integers(vocab_size))
    made = layer_factory(EncoderLayer, bias=True, activation=GELU)
    layer = MaskedLanguageModel(
        vocab_size, N=2, d_model=h * int(rng.integers(2, 4)), d_ff=d_ff, h=h, P_drop=rate(rng),
        max_len=T + 1, segments=3, pad=None if rng.random() < 0.2 else pad, layer=made, rng=rng)
    options = {"segments": rng.integers(0, 3, (B, T))} if rng.random() < 0.75 else {}
    return layer, [padded_ids(rng, B, T, vocab_size, pad)], options | dropout(rng)
