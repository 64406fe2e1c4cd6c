"""A replaced forward: decoding gives the tokens of the model itself."""

import functools

import numpy as np
import pytest

from aiayn_np import (
    LearnedPositionalEncoding,
    Linear,
    MultiHeadAttention,
    Softmax,
    Transformer,
    beam_search,
    exact_match,
    greedy_decode,
)
from aiayn_np.checks import is_layer
from aiayn_np.decoding.conditions import not_position_wise
from aiayn_np.decoding.kv_cache import KVCacheDecoder, RecomputingDecoder, start_decoding
from aiayn_np.module import leaves
from aiayn_np.proofs.probing import randomise
from aiayn_np.variants.choices import CHOICES
from aiayn_np.variants.local import LocalAttention
from aiayn_np.variants.pre_norm import PreNormDecoderLayer, PreNormEncoderLayer

BOS, EOS, MAX_LEN = 1, 2, 5
MODELS = {
    "paper": {},
    "pre-norm, learned": dict(positions=LearnedPositionalEncoding,
                              encoder_layer=PreNormEncoderLayer, decoder_layer=PreNormDecoderLayer),
    **{name: CHOICES["attention"][name] for name in ("additive", "relative")},
    "local": {},
}


def model_of(rng, name):
    model = Transformer(11, N=2, d_model=8, d_ff=12, h=2, max_len=40, rng=rng, **MODELS[name])
    randomise(model, rng)
    for layer in model.decoder.layers if name == "local" else ():
        layer.self_attention.attention = LocalAttention(2)
    return model


def sources(rng):
    src = rng.integers(3, 11, (2, 5))
    src[1, 2:] = 0
    return src


def itself(model, src):
    """Greedy decoding by the model's own forward, one source and one token at a time."""
    rows = np.full((len(src), MAX_LEN), model.pad)
    for row, source in zip(rows, src, strict=True):
        tgt = [BOS]
        while len(tgt) <= MAX_LEN and tgt[-1] != EOS:
            logits, _ = model.forward(source[None], np.array([tgt]))
            tgt.append(int(logits[0, -1].argmax()))
        row[: len(tgt) - 1] = tgt[1:]
    return rows


def decoded(model, src, **options):
    """The tokens of both functions, with padding up to MAX_LEN."""
    beam = functools.partial(beam_search, beam=1, alpha=0.0)
    for decode in (greedy_decode, beam):
        ids = decode(model, src, bos=BOS, eos=EOS, max_len=MAX_LEN, **options)
        yield np.pad(ids, ((0, 0), (0, MAX_LEN - ids.shape[1])))


def changed(forward):
    """A forward with other numbers, which are not those of one position at a time."""
    def hook(*args, **options):
        first, *rest = forward(*args, **options)
        return first * (1.3 + np.sin(np.arange(first.shape[-1]) + first.shape[1])), *rest

    return hook


@pytest.mark.parametrize("name", [name if name == "paper" else pytest.param(
    name, marks=pytest.mark.slow) for name in MODELS])
def test_a_forward_assigned_on_any_layer_gives_the_tokens_of_the_model_itself(rng, name):
    model, src = model_of(rng, name), sources(rng)
    layers = {type(layer): (path, layer) for path, layer in leaves(model, object)
              if is_layer(layer)}                                      # the last one of each class
    for path, layer in layers.values():
        layer.forward = changed(layer.forward)
        want = itself(model, src)
        for got in (*decoded(model, src), *decoded(model, src, keep=False)):
            np.testing.assert_array_equal(got, want, f"{path}.forward")
        if path.startswith("decoder") or not path:
            name = type(layer).__name__
            assert name in not_position_wise(model)
            with pytest.raises(ValueError, match=f"no forward that .* got .*{name}"):
                greedy_decode(model, src, bos=BOS, eos=EOS, keep=True)
        del layer.forward


@pytest.mark.parametrize("cls", [MultiHeadAttention, Softmax, Linear, Transformer])
def test_who_replaces_a_method_of_a_class_passes_keep_false(rng, cls, monkeypatch):
    model, src = model_of(rng, "paper"), sources(rng)
    monkeypatch.setattr(cls, "forward", changed(cls.forward))
    want = itself(model, src)
    for got in decoded(model, src, keep=False):
        np.testing.assert_array_equal(got, want)


class Backwards(Transformer):
    def forward(self, src, tgt, *, rng=None):
        return Transformer.forward(self, src[:, ::-1], tgt, rng=rng)


@pytest.mark.parametrize("keep", [None, False])
@pytest.mark.parametrize("name", ["__class__", "forward"])
def test_forward_is_asked_where_it_was_replaced_and_sources_follow(rng, name, keep):
    """In a beam search sources leave; a replaced forward sees those that go on."""
    model, src = model_of(rng, "paper"), sources(rng)
    want = beam_search(model, src[:, ::-1], bos=BOS, eos=EOS, beam=3, max_len=MAX_LEN)
    setattr(model, name, Backwards if name == "__class__" else Backwards.forward.__get__(model))
    got = beam_search(model, src, bos=BOS, eos=EOS, beam=3, max_len=MAX_LEN, keep=keep)
    np.testing.assert_array_equal(got, want)


def test_a_class_says_so_in_its_own_body(rng, monkeypatch):
    class Doubled(Linear):
        def forward(self, x):
            return super().forward(2 * x)

    model, src = model_of(rng, "paper"), sources(rng)
    linear = model.decoder.layers[0].feed_forward.linear_1
    linear.__class__ = Doubled
    with pytest.raises(ValueError, match=r"position_wise = True in their class, .* got Doubled$"):
        start_decoding(model, src, keep=True)
    assert type(start_decoding(model, src)) is RecomputingDecoder
    monkeypatch.setattr(Doubled, "position_wise", True)
    assert type(start_decoding(model, src)) is KVCacheDecoder


def test_keep_is_passed_on_and_checked(rng):
    model, src = model_of(rng, "local"), sources(rng)
    with pytest.raises(ValueError, match="LocalAttention"):
        exact_match(model, (src, src, src), bos=BOS, eos=EOS, keep=True)
    with pytest.raises(TypeError, match="keep must be None, True or False, got keep=1"):
        greedy_decode(model, src, bos=BOS, eos=EOS, keep=1)
