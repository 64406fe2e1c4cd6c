"""Kept keys and values: the same logits and tokens as from the whole prefix, at every step."""

import numpy as np
import pytest
from rms_layers import RMSDecoderLayer, RMSEncoderLayer

from aiayn_course.lab.zoo import BUGS
from aiayn_np import (
    DecoderLayer,
    Dropout,
    LayerNorm,
    LearnedPositionalEncoding,
    Linear,
    Module,
    MultiHeadAttention,
    ScaledDotProductAttention,
    Transformer,
    greedy_decode,
)
from aiayn_np.decoding.conditions import not_position_wise
from aiayn_np.decoding.kv_cache import (
    KVCacheDecoder,
    MemoryAttention,
    RecomputingDecoder,
    start_decoding,
)
from aiayn_np.module import leaves
from aiayn_np.proofs.probing import randomise
from aiayn_np.variants.choices import CHOICES
from aiayn_np.variants.local import LocalAttention
from aiayn_np.variants.memory_efficient import MemoryEfficientAttention
from aiayn_np.variants.norms import BatchNorm


def memory_efficient(h, d_k, d_v, rng):
    return MemoryEfficientAttention(block=2)


KEEPS = {
    "paper": {},
    "d_k, d_v": dict(d_k=3, d_v=5),
    "learned": dict(positions=LearnedPositionalEncoding),
    "memory-efficient": dict(attention=memory_efficient),
    "rms": dict(encoder_layer=RMSEncoderLayer, decoder_layer=RMSDecoderLayer),
    **CHOICES["norm"],
    **{name: kw for name, kw in CHOICES["attention"].items() if name not in ("relative", "rotary")},
}
RECOMPUTES = {
    "relative": CHOICES["attention"]["relative"],
    "rotary": CHOICES["attention"]["rotary"],              # its attention over the memory, too
    "local": dict(attention=lambda h, d_k, d_v, rng: LocalAttention(2)),
}


def model_of(rng, **options):
    """A model whose every parameter is random, so that norms and biases count too."""
    return randomise(Transformer(11, N=2, d_model=8, d_ff=12, h=2, max_len=40, rng=rng, **options),
                      rng)


def sources(rng):
    """Three sources of lengths 5, 2 and 4, filled with padding."""
    src = rng.integers(3, 11, (3, 5))
    src[1, 2:], src[2, 4:] = 0, 0
    return src


def compare(model, src, rng, steps=6):
    """The largest difference between both ways over some steps, in which rows come and go, and
    paddings are among the tokens."""
    kept, whole = start_decoding(model, src), RecomputingDecoder(model, src)
    worst = 0.0
    for step in range(steps):
        tokens = rng.integers(0 if step % 3 == 2 else 1, 11, len(kept.tgt))
        a, b = kept.next_logits(tokens), whole.next_logits(tokens)
        worst = max(worst, np.abs(a - b).max())
        if step == 1:
            rows = np.array([2, 0, 0, 1, 2])                 # other sources, some twice
        elif step == 3:
            rows = np.array([1, 4, 2])                       # some leave
        else:
            rows = np.arange(len(tokens))
        kept.select(rows)
        whole.select(rows)
    return worst


@pytest.mark.parametrize("name", KEEPS)
def test_logits_equal_those_from_the_whole_prefix(rng, name):
    """There is room for 16 keys at first, then for 32: what was kept moves, and stays."""
    model = model_of(rng, **KEEPS[name])
    assert not_position_wise(model) == []
    assert compare(model, sources(rng), rng, steps=40 if name == "paper" else 10) < 1e-12


def test_keys_and_values_of_different_arrays_are_not_confused(rng):
    """The paper's layers take both from the same array; another layer may not."""
    attention = model_of(rng).decoder.layers[0].cross_attention
    x = rng.normal(size=(3, 2, 4, 8))
    want, _ = attention.forward(*x)
    np.testing.assert_allclose(MemoryAttention(attention).forward(*x)[0], want, rtol=1e-12)


@pytest.mark.parametrize("name", RECOMPUTES)
def test_what_counts_positions_is_computed_anew(rng, name):
    model = model_of(rng, **RECOMPUTES[name])
    assert type(start_decoding(model, sources(rng))) is RecomputingDecoder


@pytest.mark.parametrize(("path", "options"), [
    ("", {}), ("tgt_embedding", {}), ("output_projection", {}), ("decoder.layers.1", {}),
    ("decoder.layers.0.cross_attention.attention", {}),
    ("decoder.layers.0.self_attention.attention.score", CHOICES["attention"]["dot"])])
def test_a_class_does_not_inherit_its_word(rng, path, options):
    """Its forward may be another one; what is not known is computed anew."""
    model = model_of(rng, **options)
    assert not_position_wise(model) == []
    part = model if path == "" else dict(leaves(model, Module))[path]
    part.__class__ = type("Own", (type(part),), {})
    assert not_position_wise(model) == ["Own"]


def test_a_norm_that_mixes_positions_is_computed_anew(rng):
    model = model_of(rng)
    for norm, known in ((BatchNorm(8), False), (LayerNorm(8), True)):
        model.decoder.layers[1].add_norm_2.layer_norm = norm
        assert (not_position_wise(model) == []) == known


class ThreeAttentions(DecoderLayer):
    position_wise = True

    def __init__(self, d_model, d_ff, h, *, rng, **options):
        super().__init__(d_model, d_ff, h, rng=rng, **options)
        self.third = {"attention": MultiHeadAttention(d_model, h, rng=rng)}

    def forward(self, x, memory, *, allowed=None, **options):
        x, cache = super().forward(x, memory, allowed=allowed, **options)
        return x + self.third["attention"](x, x, x, allowed=allowed), cache


class Counting:
    """An attention that is no Module: the n-th query of a call gets n times the result."""

    def __init__(self):
        self.plain = ScaledDotProductAttention()

    def forward(self, Q, K, V, *, allowed=None, rng=None):
        out, cache = self.plain.forward(Q, K, V, allowed=allowed, rng=rng)
        return out * np.arange(1, Q.shape[-2] + 1)[:, None], cache

    backward = forward                                                 # decoding needs none


def test_what_stands_around_the_decoder_layers_counts_too(rng):
    """Any of these would be decoded to something else, or not at all."""
    models = [model_of(rng), model_of(rng), model_of(rng, decoder_layer=ThreeAttentions),
              model_of(rng, attention=lambda h, d_k, d_v, rng: Counting())]
    models[0].decoder.layers[0].third = [MultiHeadAttention(8, 2, rng=rng)]
    models[1].positions = Dropout(0.0)                                 # none: no place to start at
    for model in models:
        assert not_position_wise(model)
        assert compare(model, sources(rng), rng) < 1e-12


def test_a_planted_bug_that_refuses_other_lengths_does_so_in_decoding(rng):
    """Bug 9 takes keys from the memory and values from the target: one at a time it would pass for
    a source of one token, and the whole prefix does not fit."""
    with BUGS[9].plant(), pytest.raises(ValueError, match="must have one length"):
        greedy_decode(model_of(rng), sources(rng), bos=1, eos=2, keep=False)


def test_the_model_is_left_as_it_was(rng):
    model = model_of(rng)
    before = [vars(layer).copy() for layer in model.decoder.layers]
    greedy_decode(model, sources(rng), bos=1, eos=2)
    for layer, old in zip(model.decoder.layers, before, strict=True):
        assert vars(layer) == old


def test_every_position_is_computed_once(rng, monkeypatch):
    """The feed-forward network sees one position at a time, the memory is projected once."""
    model, src = model_of(rng), sources(rng)
    layer, rows = model.decoder.layers[0], []

    counted = {id(layer.feed_forward.linear_1): "ffn", id(layer.cross_attention.linear_K): "memory",
               id(layer.self_attention.linear_K): "self"}
    forward = Linear.forward

    def count(self, x):
        if id(self) in counted:
            rows.append((counted[id(self)], x.shape[1]))
        return forward(self, x)

    monkeypatch.setattr(Linear, "forward", count)
    greedy_decode(model, src, bos=1, eos=0, max_len=7)                 # id 0 may come: then fewer
    steps = rows.count(("ffn", 1))
    assert set(rows) == {("ffn", 1), ("memory", 5), ("self", 1)}
    assert rows.count(("memory", 5)) == 1
    assert rows.count(("self", 1)) == steps <= 7


def test_ended_sequences_leave_the_batch(rng, monkeypatch):
    """The rows that are computed at each step are those of the sequences without eos so far."""
    model = randomise(Transformer(6, N=2, d_model=8, d_ff=12, h=2, max_len=40, rng=rng), rng)
    src = rng.integers(3, 6, (30, 5))
    sizes, step = [], KVCacheDecoder.next_logits

    def watched(self, tokens):
        sizes.append(len(tokens))
        logits = step(self, tokens)
        logits[:, 2] = np.where(rng.random(len(logits)) < 0.3, np.inf, -np.inf)
        return logits

    monkeypatch.setattr(KVCacheDecoder, "next_logits", watched)
    out = greedy_decode(model, src, bos=1, eos=2, max_len=20)
    ended = np.cumsum(out == 2, axis=1) > 0
    going = [len(src), *(~ended).sum(axis=0)][: out.shape[1]]
    assert sizes == going
    assert len(set(going)) > 2                                         # they end one by one
    assert (out[:, 1:][ended[:, :-1]] == model.pad).all()
