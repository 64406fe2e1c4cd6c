"""Replaced methods: decoding gives the tokens of the model itself, and says where that is slow."""

import functools
import re
import warnings

import numpy as np
import pytest
from random_parameters import all_random

from aiayn_np import (
    DecoderLayer,
    LearnedPositionalEncoding,
    Linear,
    MultiHeadAttention,
    Transformer,
    beam_search,
    exact_match,
    greedy_decode,
)
from aiayn_np.decoding.conditions import bypassed, layers_of
from aiayn_np.decoding.kv_cache import KVCacheDecoder, RecomputingDecoder, start_decoding
from aiayn_np.variants.choices import CHOICES
from aiayn_np.variants.local import LocalAttention
from aiayn_np.variants.pre_norm import PreNormDecoderLayer, PreNormEncoderLayer

BOS, EOS, MAX_LEN = 1, 2, 7
PRE_NORM = dict(encoder_layer=PreNormEncoderLayer, decoder_layer=PreNormDecoderLayer)
MODELS = {
    "paper": {},
    "pre-norm": PRE_NORM,
    "learned": dict(positions=LearnedPositionalEncoding),
    "pre-norm, learned": dict(positions=LearnedPositionalEncoding, **PRE_NORM),
    **{name: CHOICES["attention"][name] for name in ("additive", "relative")},
    "local": {},
}
RECOMPUTE = ("relative", "local")
QUICK = ("paper", "instance")
MORE = {MultiHeadAttention: ("project_Q", "project_KV", "attend")}


def model_of(rng, name):
    model = Transformer(11, N=2, d_model=8, d_ff=12, h=2, max_len=40, rng=rng, **MODELS[name])
    all_random(model, rng)
    for layer in model.decoder.layers if name == "local" else ():
        layer.self_attention.attention = LocalAttention(2)
    return model


def sources(rng):
    src = rng.integers(3, 11, (3, 5))
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


def logits_of(model, src, tgt):
    """Logits after each token of tgt (B, T), from the model's own forward."""
    return np.stack([model.forward(src, tgt[:, : t + 1])[0][:, -1] for t in range(tgt.shape[1])])


def decoded_logits(model, src, tgt):
    """The same from what decoding chooses without being told."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        decoding = start_decoding(model, src)
    return np.stack([decoding.next_logits(tokens) for tokens in tgt.T])


def to_max_len(ids):
    return np.pad(ids, ((0, 0), (0, MAX_LEN - ids.shape[1])))


def targets(model):
    """Every (object, method) that decoding has to do with."""
    side = [model.tgt_embedding, model.positions, model.dropout, model.decoder,
            model.output_projection]
    layers = [layer for layer in layers_of(side) if hasattr(type(layer), "forward")]
    found = [(layer, name) for layer in layers for name in ("forward", *MORE.get(type(layer), ()))]
    return [*found, *((model, name) for name in ("forward", "decode", "encode"))]


def hook(method, kind, style):
    """A wrapper around a method, of an object or (with self) of a class."""
    def wrapper(*args, **options):
        first, *rest = method(*args, **options)
        if kind == "changes":
            first = first * (1.3 + np.sin(np.arange(first.shape[-1])))
        return first, *rest

    def one_array(x):
        return wrapper(x)

    wrapper = functools.wraps(method)(wrapper) if style == "wraps" else wrapper
    return functools.wraps(method)(one_array) if style == "without start" else wrapper


def expected(model, layer, name, where):
    """The name that a bypassed method is reported by, "" for one that is called."""
    alone = where == "instance"
    if layer is model and name != "encode":
        return f"model.{name}" if alone else f"Transformer.{name}"
    if type(layer) is MultiHeadAttention and name == "forward" and not alone:
        return "MultiHeadAttention.forward"
    paths = {id(model.decoder): "model.decoder"}
    for i, block in enumerate(model.decoder.layers):
        path = paths[id(block)] = f"model.decoder.layers[{i}]"
        for part in ("self_attention", "cross_attention"):
            paths[id(getattr(block, part))] = f"{path}.{part}"
    called = not alone or name != "forward" or id(layer) not in paths
    return "" if called else f"{paths[id(layer)]}.forward"


def decode_all_ways(model, src, named, keeps):
    """[tokens] of both functions by default and with keep=False, having checked what is said."""
    beam = functools.partial(beam_search, beam=1, alpha=0.0)
    out = []
    for decode in (greedy_decode, beam):
        run = functools.partial(decode, model, src, bos=BOS, eos=EOS, max_len=MAX_LEN)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            out.append(run())
        assert len(said) == bool(named and keeps), [str(w.message) for w in said]
        assert all(named in str(w.message) and w.filename == __file__ for w in said)
        out.append(run(keep=False))                                    # warns of nothing
        if named or not keeps:
            with pytest.raises(ValueError, match=re.escape(named) or "position_wise"):
                run(keep=True)
        else:
            out.append(run(keep=True))
    return [to_max_len(ids) for ids in out]


@pytest.mark.parametrize(("name", "where"), [
    pytest.param(name, where, marks=() if (name, where) == QUICK else pytest.mark.slow)
    for name in MODELS for where in ("instance", "class")])
def test_random_hooks_give_the_tokens_of_the_model_itself(rng, name, where, monkeypatch):
    model, src = model_of(rng, name), sources(rng)
    tgt = rng.integers(3, 11, (3, 4))
    unhooked, changed = logits_of(model, src, tgt), 0
    every = targets(model)
    kinds = {(type(layer), method): [] for layer, method in every}
    for layer, method in every:
        kinds[type(layer), method].append(layer)
    for (_, method), layers in kinds.items():                          # every kind, any of it
        layer = layers[rng.integers(len(layers))]
        place = layer if where == "instance" else type(layer)
        kind, style = rng.choice(["passes", "changes", "changes"]), rng.choice(["plain", "wraps"])
        with monkeypatch.context() as patch:
            patch.setattr(place, method, hook(getattr(place, method), kind, style))
            want = itself(model, src)
            named = expected(model, layer, method, where)
            for got in decode_all_ways(model, src, named, name not in RECOMPUTE):
                np.testing.assert_array_equal(got, want, f"{type(layer).__name__}.{method}, {kind}")
            logits = logits_of(model, src, tgt)
            np.testing.assert_allclose(decoded_logits(model, src, tgt), logits, atol=1e-10)
        changed += not np.allclose(logits, unhooked)
    assert changed > len(kinds) / 3                                    # the hooks matter


def test_a_replaced_dropout_of_the_model_is_called(rng, monkeypatch):
    """Decoding drops nothing, but whoever replaced the method counts on it."""
    model, src = model_of(rng, "paper"), sources(rng)
    tgt, before = rng.integers(3, 11, (3, 4)), model.dropout.forward
    plain = logits_of(model, src, tgt)
    monkeypatch.setattr(model.dropout, "forward", hook(before, "changes", "plain"))
    logits = logits_of(model, src, tgt)
    assert not np.allclose(logits, plain)
    np.testing.assert_allclose(decoded_logits(model, src, tgt), logits, atol=1e-10)


@pytest.mark.parametrize("name", ["paper", "learned"])
def test_positions_that_take_no_start_are_bypassed(rng, name, monkeypatch):
    model, src = model_of(rng, name), sources(rng)
    forward = model.positions.forward
    monkeypatch.setattr(model.positions, "forward", hook(forward, "changes", "without start"))
    for got in decode_all_ways(model, src, "model.positions.forward", True):
        np.testing.assert_array_equal(got, itself(model, src))


def test_a_hook_gets_a_mask_as_from_the_model(rng, monkeypatch):
    """Without padding everything is allowed, and the KV cache would pass None."""
    model, src = model_of(rng, "paper"), rng.integers(3, 11, (2, 4))
    mask = model.decoder.layers[0].cross_attention.attention.mask
    forward = mask.forward

    def needs_an_array(scores, *, allowed):
        assert allowed.dtype == bool
        return forward(np.where(allowed, scores, -1e9))

    monkeypatch.setattr(mask, "forward", needs_an_array)
    for got in decode_all_ways(model, src, "", True):
        np.testing.assert_array_equal(got, itself(model, src))


def test_all_that_is_bypassed_is_named_once(rng, monkeypatch):
    model = model_of(rng, "paper")
    assert bypassed(model) == []
    monkeypatch.setattr(MultiHeadAttention, "forward", hook(MultiHeadAttention.forward, "", ""))
    monkeypatch.setattr(model, "decode", hook(model.decode, "", ""))
    assert bypassed(model) == ["model.decode", "MultiHeadAttention.forward"]
    with pytest.raises(ValueError, match=r"bypass model.decode, MultiHeadAttention.forward, which"):
        greedy_decode(model, sources(rng), bos=BOS, eos=EOS, keep=True)


def test_another_method_of_the_same_module_is_a_replacement(rng, monkeypatch):
    monkeypatch.setattr(MultiHeadAttention, "forward", MultiHeadAttention.attend)
    assert bypassed(model_of(rng, "paper")) == ["MultiHeadAttention.forward"]


def test_a_method_of_a_layer_that_only_its_class_knows(rng, monkeypatch):
    """A copy of the layer would call the attentions of the layer that it is a copy of."""
    model = model_of(rng, "paper")
    layer = model.decoder.layers[1]
    monkeypatch.setattr(DecoderLayer, "attended", lambda self, x: self.self_attention(x, x, x),
                        raising=False)
    assert bypassed(model) == []
    monkeypatch.setattr(layer, "attended", layer.attended, raising=False)
    assert bypassed(model) == ["model.decoder.layers[1].attended"]
    monkeypatch.undo()
    monkeypatch.setattr(layer, "backward", layer.backward)             # decoding never calls it
    assert bypassed(model) == []


def test_the_parts_of_an_attention_are_at_hand_for_a_replaced_layer(rng, monkeypatch):
    """A forward that calls its attention as a function, and reads its matrices."""
    model, src = model_of(rng, "paper"), sources(rng)

    def forward(self, x, memory, *, allowed=None, memory_allowed=None, rng=None):
        assert isinstance(self.self_attention, MultiHeadAttention)
        assert self.self_attention.linear_K.W.value.shape == (8, 8)
        x = x + self.self_attention(x, x, x, allowed=allowed)
        return x + self.cross_attention(x, memory, memory, allowed=memory_allowed), None

    monkeypatch.setattr(DecoderLayer, "forward", forward)
    for got in decode_all_ways(model, src, "", True):
        np.testing.assert_array_equal(got, itself(model, src))


def test_forward_is_asked_where_it_was_replaced_and_sources_follow(rng, monkeypatch):
    """In a beam search sources leave; a replaced forward sees those that go on."""
    model, src = model_of(rng, "paper"), sources(rng)
    forward = model.forward
    want = beam_search(model, src[:, ::-1], bos=BOS, eos=EOS, beam=3, max_len=MAX_LEN)
    monkeypatch.setattr(model, "forward", lambda src, tgt: forward(src[:, ::-1], tgt))
    got = beam_search(model, src, bos=BOS, eos=EOS, beam=3, max_len=MAX_LEN, keep=False)
    np.testing.assert_array_equal(got, want)


def test_a_class_says_so_in_its_own_body(rng, monkeypatch):
    class Doubled(Linear):
        def forward(self, x):
            return super().forward(2 * x)

    model, src = model_of(rng, "paper"), sources(rng)
    linear = model.decoder.layers[0].feed_forward.linear_1
    linear.__class__ = Doubled
    with pytest.raises(ValueError, match=r"position_wise = True in their class, got Doubled$"):
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
