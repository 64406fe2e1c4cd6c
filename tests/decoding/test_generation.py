"""Text from a language model: kept keys give what the whole prefix gives; sampling; perplexity."""

import itertools
import math

import numpy as np
import pytest

from aiayn_np import Encoder, LearnedPositionalEncoding
from aiayn_np.decoding.generation import (
    GrowingText,
    WholeText,
    generate,
    perplexity,
    start_generation,
)
from aiayn_np.proofs.probing import randomise
from aiayn_np.variants.activations import TanhGELU
from aiayn_np.variants.embeddings import UnscaledEmbedding
from aiayn_np.variants.layer_options import layer_factory
from aiayn_np.variants.models import LanguageModel, llama
from aiayn_np.variants.pre_norm import PreNormEncoderLayer
from aiayn_np.variants.rotary import NormedRotaryPositions, RotaryPositions


def make(rng, *, pre_norm=True, pad=None, max_len=40):
    options = dict(N=2, d_model=12, d_ff=20, h=3, max_len=max_len, pad=pad, rng=rng)
    if pre_norm:
        options |= dict(layer=layer_factory(PreNormEncoderLayer, bias=True, activation=TanhGELU),
                        embedding=UnscaledEmbedding, positions=LearnedPositionalEncoding)
    return LanguageModel(17, **options)


def llama_of(rng, **options):
    sizes = dict(N=2, d_model=12, d_ff=20, h=6, h_kv=2, max_len=40)
    return randomise(llama(17, **(sizes | options), rng=rng), rng)


@pytest.mark.parametrize(("made", "options"), [
    *((make, dict(pre_norm=pre_norm, pad=pad)) for pre_norm in (True, False) for pad in (None, 3)),
    (llama_of, {}), (llama_of, {"h_kv": 1, "pad": 3}), (llama_of, {"h_kv": 6, "bias": True}),
    (llama_of, {"rotary": NormedRotaryPositions}),
])
def test_kept_keys_are_turned_once_by_their_own_position(rng, made, options):
    """They give the logits of the whole text; of a Llama there are h_kv heads of them."""
    model = made(rng, **options)
    ids = rng.integers(4, 17, (1, 40))
    if options.get("pad") is not None:
        ids[:, 5] = 3
    growing, whole = start_generation(model), WholeText(model)
    assert type(growing) is GrowingText
    cuts = [0, 7, 8, 9, 14, 40]                          # 1 and more new positions, 16 outgrown
    for begin, end in itertools.pairwise(cuts):
        got, want = (text.next_logits(ids[:, begin:end]) for text in (growing, whole))
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(want, model(ids[:, :end])[:, -1], rtol=1e-12)
    _, cache = model.forward(ids)
    for layer, c in zip(growing.encoder.layers, cache.stack.encoder.layers):
        g, of_layer = getattr(layer.self_attention, "g", 1), c.self_attention.attention
        for kept, want in zip(layer.self_attention.kept, (of_layer.K, of_layer.V)):
            np.testing.assert_allclose(kept[:, :, :40], want[:, ::g], rtol=0, atol=1e-12)


@pytest.mark.parametrize("temperature", [0, 0.7])
def test_both_ways_write_the_same_text(rng, temperature):
    model, seed = make(rng), int(rng.integers(1000))
    texts = [list(generate(model, [3, 1, 4], steps=20, temperature=temperature, top_k=5, keep=keep,
                           rng=np.random.default_rng(seed))) for keep in (None, True, False)]
    assert texts[0] == texts[1] == texts[2]
    assert len(texts[0]) == 20


def test_a_text_ends_with_eos_and_where_positions_end(rng):
    model = make(rng, max_len=10)
    text = list(generate(model, [3, 1, 4], steps=50, temperature=0))
    assert len(text) == 8                                # the last one is written, and not read
    eos = text[3]
    short = list(generate(model, [3, 1, 4], steps=50, temperature=0, eos=eos))
    assert short == text[: text.index(eos) + 1]


def test_top_k_and_temperature_draw_from_the_right_tokens(rng):
    model = make(rng)
    logits = model(np.array([[3, 1, 4]]))[0, -1]
    drawn = [next(generate(model, [3, 1, 4], steps=1, temperature=2.0, top_k=3, rng=rng))
             for _ in range(200)]
    assert set(drawn) == set(np.argsort(-logits)[:3].tolist())
    cold = [next(generate(model, [3, 1, 4], steps=1, temperature=1e-6, rng=rng)) for _ in range(9)]
    assert set(cold) == {int(logits.argmax())}


def test_what_does_not_fit_is_refused(rng):
    model = make(rng)
    cases = [
        (dict(ids=[17]), IndexError, "must lie in"),
        (dict(ids=np.zeros(0, int)), ValueError, "length of at least 1"),
        (dict(steps=0), ValueError, "steps must be at least 1"),
        (dict(top_k=0), ValueError, "top_k must be at least 1"),
        (dict(temperature=-1.0), ValueError, "temperature must lie in"),
        (dict(temperature=1.0), TypeError, "rng must be a numpy.random.Generator for"),
        (dict(keep=1), TypeError, "keep must be None, True or False"),
        (dict(ids=[1] * 41), ValueError, "length must be at most max_len=40"),
    ]
    for options, error, message in cases:
        given = dict(ids=[1, 2], steps=3, temperature=0) | options
        with pytest.raises(error, match=message):
            list(generate(model, given.pop("ids"), **given))


def test_a_replaced_forward_or_an_unknown_layer_computes_the_whole_text(rng):
    model = make(rng)
    assert type(start_generation(model)) is GrowingText
    layer = model.stack.encoder.layers[1].self_attention
    original, seen = layer.forward, []
    layer.forward = lambda *x, **options: seen.append(1) or original(*x, **options)
    with pytest.raises(ValueError, match=r"no forward that .* got MultiHeadAttention"):
        start_generation(model, True)
    list(generate(model, [1, 2], steps=3, temperature=0))
    assert len(seen) == 3
    other, turned = make(rng), llama_of(rng)
    other.stack.encoder.__class__ = type("Other", (Encoder,), {})      # its forward may be another
    turned.stack.encoder.layers[0].norm_1 = RotaryPositions(12)        # it knows no place there
    for model in (other, turned):
        assert type(start_generation(model)) is WholeText


def test_perplexity_by_hand_and_over_several_pieces(rng):
    model = make(rng, max_len=10)
    ids = rng.integers(0, 17, 27)
    nats = 0.0
    for begin in (0, 10, 20):
        piece = ids[begin : begin + 11]
        logits = model(piece[None, :-1])[0]
        for t, token in enumerate(piece[1:]):
            nats += math.log(sum(math.exp(z) for z in logits[t])) - logits[t, token]
    value, count = perplexity(model, ids)
    assert count == 26
    assert value == pytest.approx(math.exp(nats / 26), rel=1e-12)
    with pytest.raises(ValueError, match="at least two tokens, got 1"):
        perplexity(model, [3])


@pytest.mark.parametrize(("eos", "error"), [
    ("3", TypeError), (math.nan, TypeError), ([1, 99], IndexError), (-1, IndexError),
])
def test_an_eos_that_is_no_id_is_refused(rng, eos, error):
    with pytest.raises(error, match="eos must"):
        next(generate(make(rng), np.array([1, 2]), steps=2, temperature=0, eos=eos))


def test_several_ids_may_end_a_text_and_a_translation(rng):
    """The first of them that is written ends it, as one alone would."""
    model, ids = make(rng), np.array([3, 1, 4])
    free = list(generate(model, ids, steps=12, temperature=0))
    ends = sorted({free[4], free[7]})
    first = min(free.index(end) for end in ends)
    assert list(generate(model, ids, steps=12, temperature=0, eos=ends)) == free[: first + 1]
