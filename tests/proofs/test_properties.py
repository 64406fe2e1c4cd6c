"""The assertions for users: they hold for what is right, and each fails on planted errors."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from exchanged import exchange

from aiayn_np import (
    LearnedPositionalEncoding,
    Module,
    MultiHeadAttention,
    ScaledDotProductAttention,
    Transformer,
    assert_causal,
    assert_heads_equal_loop,
    assert_padding_invariant,
    assert_permutation_equivariant,
    causal,
    multi_head,
    transformer,
)
from aiayn_np.variants import models
from aiayn_np.variants.local import LocalAttention
from aiayn_np.variants.memory_efficient import MemoryEfficientAttention
from aiayn_np.variants.models import LanguageModel
from aiayn_np.variants.norms import BatchNorm
from aiayn_np.variants.pre_norm import PreNormDecoderLayer, PreNormEncoderLayer
from aiayn_np.variants.relative_position import relative_attention
from aiayn_np.variants.scoring import additive_attention

SIZES = dict(N=2, d_model=8, d_ff=12, h=2, max_len=9)
PRE_NORM = dict(encoder_layer=PreNormEncoderLayer, decoder_layer=PreNormDecoderLayer)


def build(cls=Transformer, **options):
    return cls(11, **(SIZES | options), rng=np.random.default_rng(3))


class Changed(Module):
    """A layer whose forward gets other arguments, or gives another result."""

    def __init__(self, layer, options=lambda o: o, x=lambda x: x, y=lambda y: y):
        self.layer, self.options, self.x, self.y = layer, options, x, y

    def forward(self, x, *others, **options):
        y, cache = self.layer.forward(self.x(x), *others, **self.options(options))
        return self.y(y), cache


class Student:
    """No Module, no Parameter, no backward: a bag of words that each position has seen so far."""

    vocab_size, pad, leak = 7, 6, 0

    def __init__(self):
        self.E = np.random.default_rng(0).standard_normal((7, 7))

    def forward(self, ids, keep=None):
        real = (ids != self.pad)[..., None]
        seen = np.cumsum(self.E[ids] * real, axis=1)
        return seen + self.leak * seen[:, -1:], None


# what is right


@pytest.mark.parametrize("options", [
    {}, PRE_NORM, {"attention": relative_attention}, {"attention": additive_attention},
    {"positions": LearnedPositionalEncoding}, {"pad": 10}, {"d_k": 3, "d_v": 5},
    {"attention": lambda h, d_k, d_v, rng: MemoryEfficientAttention(2)},
], ids=lambda options: " ".join(options) or "the paper")
def test_a_right_transformer_passes(options, seed):
    model = build(**options)
    assert_causal(model, seed=seed)
    assert assert_padding_invariant(model, seed=seed) <= 1e-12


def test_a_right_transformer_in_float32_passes(seed):
    model = build().astype(np.float32)
    assert_causal(model, seed=seed)
    assert 1e-12 < assert_padding_invariant(model, seed=seed) <= 1e-5


@pytest.mark.parametrize("cls", [LanguageModel, Student])
def test_a_right_language_model_passes(cls, seed):
    model = build(cls) if cls is LanguageModel else cls()
    assert_causal(model, seed=seed)
    assert_padding_invariant(model, seed=seed)


@pytest.mark.parametrize("classes", [3, 7])
def test_padding_of_a_classifier(classes):
    model = Student()
    model.E, forward = model.E[:, :classes], model.forward
    model.forward = lambda ids: (forward(ids)[0][:, -1], None)         # the sum over the tokens
    assert_padding_invariant(model)


def test_local_attention_in_the_encoder_is_causal_and_padding_invariant_but_not_equivariant(seed):
    model = build()
    for layer in model.encoder.layers:
        layer.self_attention.attention = LocalAttention(1)
    assert_causal(model, seed=seed)
    assert_padding_invariant(model, seed=seed)
    with pytest.raises(AssertionError, match="differs when x has the order"):
        assert_permutation_equivariant(model.encoder, seed=seed)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_right_encoder_and_right_heads_pass(dtype, seed):
    for model in (build(), build(**PRE_NORM)):
        assert_permutation_equivariant(model.astype(dtype).encoder, seed=seed)
    mha = MultiHeadAttention(10, 3, d_k=4, d_v=5, bias=True, rng=np.random.default_rng(seed))
    mha.linear_V.b.value += 1
    assert assert_heads_equal_loop(mha.astype(dtype), seed=seed) < 1e-5


def test_nothing_of_the_model_is_changed():
    model = build()
    before = model.state_dict()
    assert_causal(model)
    assert_padding_invariant(model)
    for name, parameter in model.named_parameters():
        np.testing.assert_array_equal(parameter.value, before[name])
        assert not parameter.grad.any()


# planted errors


def no_mask(options):
    return options | {"allowed": None}


def fails(check, model, *words):
    with pytest.raises(AssertionError) as caught:
        check(model)
    for word in words:
        assert re.search(word, str(caught.value)), caught.value


def test_a_leak_says_where_and_how_much():
    model = Student()
    model.leak = 0.5
    fails(assert_causal, model, "^logits at position 0 change when target token 4 changes: largest"
          " change 1.7; 15 of 15 pairs of a position and a later token leak$")


@pytest.mark.parametrize(("mask", "pairs"), [
    (lambda T: np.tri(T, k=1, dtype=bool), 9), (lambda T: np.ones((T, T), bool), 15),
    (lambda T: causal(T).T, 15),
], ids=["off by one", "none", "transposed"])
@pytest.mark.parametrize(("module", "cls"), [(transformer, Transformer), (models, LanguageModel)])
def test_a_wrong_causal_mask_leaks(mask, pairs, module, cls, monkeypatch):
    monkeypatch.setattr(module, "causal", mask)
    fails(assert_causal, build(cls), "largest change", f"; {pairs} of 15 pairs")


@pytest.mark.parametrize("options", [{}, PRE_NORM])
def test_one_layer_without_a_mask_leaks(options):
    model = build(**options)
    exchange(model, "decoder.layers.1.self_attention", lambda a: Changed(a, no_mask))
    fails(assert_causal, model, "of 15 pairs")


def keys_as_queries(options):
    """The mask of the keys, of the queries instead."""
    allowed = options["allowed"]
    return options | {"allowed": np.broadcast_to(
        allowed.mT, (len(allowed), 1, *allowed.shape[-1:] * 2))}


ALONE = "between a padded batch and alone"
WRONG_PADDING = {  # what is planted -> (where, what stands there then, what is said)
    "nothing in the encoder": ("encoder", lambda e: Changed(e, no_mask), ALONE),
    "nothing on the memory": (
        "decoder", lambda d: Changed(d, lambda o: o | {"memory_allowed": None}), ALONE),
    "nothing on the targets": (
        "decoder", lambda d: Changed(d, lambda o: o | {"allowed": causal(o["allowed"].shape[2])}),
        r"row \d, position \d changes with src_embedding.E\[0\], the embedding of the padding in"
        " tgt: largest change .* of the largest number, allowed is 1e-12"),
    "one layer without a mask": (
        "encoder.layers.1.self_attention", lambda a: Changed(a, no_mask), ALONE),
    "an inverted mask": (
        "encoder", lambda e: Changed(e, lambda o: o | {"allowed": ~o["allowed"]}), ALONE),
    "an inverted memory mask": (
        "decoder", lambda d: Changed(d, lambda o: o | {"memory_allowed": ~o["memory_allowed"]}),
        ALONE),
    "queries masked instead of keys": ("encoder", lambda e: Changed(e, keys_as_queries), ALONE),
    "batch norm": ("encoder.layers.0.add_norm_2.layer_norm", lambda _: BatchNorm(8), ALONE),
    "batch norm in the decoder": (
        "decoder.layers.1.add_norm_3.layer_norm", lambda _: BatchNorm(8), ALONE),
    "a mean over the memory": (
        "encoder", lambda e: Changed(e, y=lambda y: y - y.mean(axis=1, keepdims=True)), ALONE),
}


@pytest.mark.parametrize(("path", "plant", "words"), WRONG_PADDING.values(), ids=WRONG_PADDING)
def test_wrong_padding_is_found(path, plant, words):
    model = build()
    exchange(model, path, plant)
    fails(assert_padding_invariant, model, "the output at row", words)


def test_a_language_model_without_a_padding_mask_is_found(monkeypatch):
    monkeypatch.setattr(models, "not_padding", lambda ids, pad: np.ones((1, 1, 1, 1), bool))
    fails(assert_padding_invariant, build(LanguageModel), "stack.embedding.E.0., the embedding")


def test_a_student_without_parameters_that_sums_padding_is_found():
    model = Student()
    model.forward = lambda ids: (np.broadcast_to(
        model.E[ids].sum(axis=1, keepdims=True), (*ids.shape, 7)).copy(), None)
    fails(assert_padding_invariant, model, "row 1, position 0 differs between a padded batch")


def with_positions(model):
    return Changed(model.encoder, x=lambda x: model.positions(x)), {"d_model": 8}


def with_a_causal_mask(model):
    return Changed(model.encoder, lambda o: o | {"allowed": causal(5)}), {"d_model": 8}


def with_relative_positions(_):
    return build(attention=relative_attention).encoder, {}


@pytest.mark.parametrize("plant", [with_positions, with_a_causal_mask, with_relative_positions])
def test_an_encoder_that_knows_the_order_is_not_equivariant(plant):
    encoder, options = plant(build())
    fails(lambda e: assert_permutation_equivariant(e, **options), encoder,
          r"row \d, position \d differs when x has the order \[4, 3, 2, 1, 0\]: largest change")


class WrongScale(ScaledDotProductAttention):
    """Scores are `factor` times what they should be, where `only` says so of the mask."""

    def __init__(self, factor, only=lambda allowed: True):
        super().__init__()
        self.factor, self.only = factor, only

    def forward(self, Q, K, V, *, allowed=None, rng=None):
        Q = Q * self.factor if self.only(allowed) else Q
        return super().forward(Q, K, V, allowed=allowed, rng=rng)


@pytest.mark.parametrize(("attention", "words"), [
    (WrongScale(2), "with no mask is not that of a loop over the heads: largest change"),
    (WrongScale(2, lambda a: a is not None), r"with \(T_q, T_k\)"),
    (WrongScale(2, lambda a: a is not None and a.ndim == 4), r"with \(B, 1, 1, T_k\)"),
    (WrongScale(1.001), "over the heads: largest change"),
], ids=["everywhere", "with a mask", "with a mask of keys", "by a thousandth"])
def test_a_wrong_scale_is_found_and_not_named(attention, words):
    """To say which scale it is, is the work of whoever looks for a bug."""
    mha = MultiHeadAttention(8, 2, attention=attention, rng=np.random.default_rng(0))
    fails(assert_heads_equal_loop, mha, words)
    with pytest.raises(AssertionError) as error:
        assert_heads_equal_loop(mha)
    assert "sqrt" not in str(error.value)


def test_heads_that_are_reshaped_without_their_axis_moving_are_found(monkeypatch):
    def split(x, h):
        return x.reshape(*x.shape[:-2], h, x.shape[-2], x.shape[-1] // h)

    monkeypatch.setattr(multi_head, "split_heads", split)
    mha = MultiHeadAttention(8, 2, rng=np.random.default_rng(0))
    fails(assert_heads_equal_loop, mha, r"row \d, position \d with no mask")


@pytest.mark.parametrize("name", ["inverted", "ignored"])
def test_a_wrong_mask_of_the_heads_is_found(name):
    def change(o):
        return o | {"allowed": None if name == "ignored" or o["allowed"] is None else ~o["allowed"]}

    mha = MultiHeadAttention(8, 2, rng=np.random.default_rng(0))
    mha.attention = Changed(mha.attention, change)
    fails(assert_heads_equal_loop, mha, r"with \(T_q, T_k\)")


# what cannot be checked


def of(forward, **attributes):
    return SimpleNamespace(forward=forward, vocab_size=7, pad=0, **attributes)


def numbers(ids):
    return np.ones((*ids.shape, 7))


@pytest.mark.parametrize(("model", "error", "message"), [
    (of(lambda a, b, c: 0), TypeError, r"must have forward\(ids\) or forward\(src, tgt\), got"),
    (of(numbers), TypeError, r"must return \(y, cache\) .* got ndarray"),
    (of(lambda ids: (ids, None)), TypeError, "float32 or float64 array, got int64"),
    (of(lambda ids: (np.random.default_rng().random((2, 6, 7)), None)), ValueError,
     "is there dropout without an rng"),
    (of(lambda ids: (numbers(ids), None)), AssertionError, "target"),
    (of(lambda ids: (numbers(ids) * np.nan, None)), AssertionError, "must be finite, got nan at"),
    (SimpleNamespace(forward=lambda ids: 0), TypeError, "must have vocab_size, an integer, got"),
], ids=range(7))
def test_what_cannot_be_checked_for_causality_says_why(model, error, message):
    with pytest.raises(error, match=message):
        assert_causal(model)


def test_what_else_cannot_be_checked_says_why():
    with pytest.raises(ValueError, match=r"one of at least 4 tokens, got length 5, pad=None"):
        assert_padding_invariant(SimpleNamespace(forward=lambda ids: 0, vocab_size=9))
    with pytest.raises(AttributeError, match="linear_Q"):
        assert_heads_equal_loop(of(lambda x_Q, x_K, x_V: 0, h=2))
    with pytest.raises(ValueError, match="expected non-negative integer"):
        assert_causal(build(), seed=-1)
