"""Bad inputs, kind by kind: each is refused by a message that says what must hold and what was
given, and leaves everything as it was: parameters, gradients, moments, inputs, generator (but for
what dropouts of earlier sub-layers have drawn).

One test for each kind; tests of single layers and checks go into more detail elsewhere.
"""

import itertools
import math
import re
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from layers import CLASSES, LAYERS, draw
from proof import arrays_in

import aiayn_np
from aiayn_np import (
    Adam,
    CopyTask,
    Dropout,
    LabelSmoothedCrossEntropy,
    LayerNorm,
    Parameter,
    ScaledDotProductAttention,
    Transformer,
    causal,
    checks,
    greedy_decode,
    not_padding,
    train,
    warmup_rate,
)

B, H, T_Q, T_K, D = 2, 2, 3, 5, 8


def floats(*shape):
    return np.random.default_rng(1).standard_normal(shape)


@pytest.fixture
def w(rng):
    """A small world: a model in the middle of its training, layers, and inputs that are right."""
    model = Transformer(11, N=1, d_model=D, d_ff=12, h=H, max_len=6, P_drop=0.2, rng=rng)
    w = SimpleNamespace(model=model, adam=Adam(model.parameters()), rng=rng)
    w.loss = LabelSmoothedCrossEntropy()
    w.src, w.tgt = rng.integers(1, 11, (B, T_K)), rng.integers(1, 11, (B, T_Q))
    w.y, w.cache = model.forward(w.src, w.tgt, rng=rng)
    model.backward(floats(*w.y.shape), w.cache)
    w.adam.step(0.01)
    w.layer, w.mha = model.decoder.layers[0], model.encoder.layers[0].self_attention
    w.attention, w.linear = w.mha.attention, w.mha.linear_Q
    w.x, w.memory = floats(B, T_Q, D), floats(B, T_K, D)
    w.Q, w.K, w.V = floats(B, H, T_Q, 4), floats(B, H, T_K, 4), floats(B, H, T_K, 4)
    return w


def small_world(layer, inputs, options):
    """A layer of the registry and what it is called with, without dropout.

    Each array is checked where it is used, and a dropout of an earlier sub-layer may have drawn.
    """
    options = {name: value for name, value in options.items() if name != "rng"}
    return SimpleNamespace(layer=layer, inputs=inputs, options=options,
                           rng=np.random.default_rng(0), adam=Adam([Parameter(np.zeros(1))]))


def state(w):
    """Everything that a refusal must leave alone, as bytes."""
    return [a.tobytes() for a in arrays_in(w)] + [repr(w.rng.bit_generator.state), w.adam.t]


def refuses(w, call, error, message):
    before = state(w)
    with pytest.raises(error, match=message) as caught:
        call(w)
    assert type(caught.value) is error
    assert state(w) == before


def cases(*rows):
    """Parametrise by (what is called, error, message); the name of a case is its message."""
    return pytest.mark.parametrize(("call", "error", "message"), [
        pytest.param(*row, id=re.sub(r"\W+", " ", row[2])[:60]) for row in rows
    ])


def test_the_state_that_is_compared_holds_all_that_a_step_changes(w):
    """What `refuses` compares sees a change in each of its parts."""
    for change in (
        lambda: w.adam.step(0.01), lambda: w.rng.random(), lambda: w.model.zero_grad(),
        lambda: w.src.fill(0), lambda: w.cache.src_embedding.ids.fill(1), lambda: w.Q.fill(0),
    ):
        before = state(w)
        change()
        assert state(w) != before


# d_model not divisible by h; a size of 0 or less, or not an integer

WRONG_SIZES = [
    (0, ValueError, "must be at least 1, got {0}=0"),
    (-2, ValueError, "must be at least 1, got {0}=-2"),
    (2.0, TypeError, r"must be an integer, got {0}=2\.0"),
    (True, TypeError, "must be an integer, got {0}=True"),
    ("4", TypeError, "must be an integer, got {0}='4'"),
    (None, TypeError, "must be an integer, got {0}=None"),
]
SIZES = dict(
    d_in=3, d_out=4, vocab_size=5, d_model=4, d_ff=6, h=2, h_kv=2, d_k=4, d_v=5, d_a=4,
    N=1, max_len=7, d_hidden=4, k=3, block=2, max_distance=3, height=2, width=3, window=3,
    symbols=4, max_length=5)
SIZED = {
    "Linear": "d_in d_out", "Embedding": "vocab_size d_model", "LayerNorm": "d_model",
    "AddNorm": "d_model", "SinusoidalPositionalEncoding": "d_model max_len",
    "LearnedPositionalEncoding": "d_model max_len", "PositionwiseFeedForward": "d_model d_ff",
    "MultiHeadAttention": "d_model h d_k d_v",
    **dict.fromkeys(("EncoderLayer", "DecoderLayer", "PreNormEncoderLayer", "PreNormDecoderLayer"),
                    "d_model d_ff h"),
    **dict.fromkeys(("Transformer", "LanguageModel"), "vocab_size N d_model d_ff h max_len"),
    "CopyTask": "symbols max_length",
    "Convolution1D": "d_in d_out k", "RNN": "d_in d_hidden", "GRU": "d_in d_hidden",
    "SwiGLU": "d_model d_ff", "MemoryEfficientAttention": "block", "GeneralScore": "h d_k",
    "AdditiveScore": "h d_k d_a", "ConcatScore": "h d_k d_a", "RotaryPositions": "d_k",
    "RelativePositionBias": "h max_distance", "RelativePositionBias2D": "h height width",
    "WindowAttention": "d_model h window", "GroupedQueryAttention": "d_model h h_kv",
}
WITHOUT_RNG = ("LayerNorm", "AddNorm", "CopyTask", "MemoryEfficientAttention", "RotaryPositions")
MAY_BE_NONE = ("d_a", "h_kv", "d_k of MultiHeadAttention", "d_v of MultiHeadAttention")


def construct(name, rng, **options):
    """A layer, or a task, of small sizes."""
    cls = (CLASSES | {"CopyTask": CopyTask})[name]
    sizes = {size: SIZES[size] for size in SIZED[name].split() if size not in ("d_k", "d_v")
             or name != "MultiHeadAttention"} | ({"P_drop": 0.1} if name == "AddNorm" else {})
    return cls(**sizes | ({} if name in WITHOUT_RNG else {"rng": rng}) | options)


@pytest.mark.parametrize("name", SIZED)
def test_a_wrong_size_is_refused_by_name_and_value(name):
    w, sizes = small_world(None, [], {}), SIZED[name].split()
    for size, (value, error, message) in itertools.product(sizes, WRONG_SIZES):
        if value is not None or not {size, f"{size} of {name}"} & {*MAY_BE_NONE}:
            refuses(w, lambda w, o={size: value}: construct(name, w.rng, **o), error,
                    message.format(size))
    if name not in (*WITHOUT_RNG, "SinusoidalPositionalEncoding"):
        refuses(w, lambda w: construct(name, 7), TypeError,
                r"rng must be a numpy\.random\.Generator, got int")
    if {"d_model", "h"} <= set(sizes):
        refuses(w, lambda w: construct(name, w.rng, d_model=10, h=4), ValueError,
                "d_model must be divisible by h, got d_model=10, h=4")


@cases(
    (lambda w: w.mha(floats(D), w.x, w.x), ValueError,
     r"x_Q must have at least 2 axes, got shape \(8,\)"),
    (lambda w: w.mha(w.x, w.memory, w.memory[:, :-1]), ValueError,
     r"x_K and x_V must have one length, got \(2, 5, 8\) and \(2, 4, 8\)"),
    (lambda w: w.mha(w.x, w.memory[:1], w.memory[:1]), ValueError,
     r"must have the same leading axes, got \(2, 3, 8\), \(1, 5, 8\) and \(1, 5, 8\)"),
    (lambda w: w.layer(w.x, w.memory[:1]), ValueError, "must have the same leading axes, got"),
    (lambda w: w.layer.add_norm_1(w.x, w.x[:1]), ValueError,
     r"x and sublayer_output must have one shape, got \(2, 3, 8\), \(1, 3, 8\)"),
    (lambda w: w.model(w.src, w.tgt[:1], rng=w.rng), ValueError,
     r"src and tgt must have one batch size, got \(2, 5\), \(1, 3\)"),
    (lambda w: w.model(w.src, w.tgt[0], rng=w.rng), ValueError,
     r"tgt must have 2 axes \(B, T\), got shape \(3,\)"),
    (lambda w: w.model(5, w.tgt), ValueError, "src must have 2 axes"),
)
def test_axes_that_do_not_fit_are_refused_with_their_shapes(call, error, message, w):
    refuses(w, call, error, message)


# what a layer calls its last axis, where that is not d_model
WIDTH = dict.fromkeys(["Linear", "PositionwiseFeedForward", "Convolution1D", "RNN", "GRU"], "d_in")
WIDTH["RotaryPositions"] = "d_k"


@pytest.mark.parametrize("name", [
    "Linear", "MultiHeadAttention", "PositionwiseFeedForward", "LayerNorm", "AddNorm",
    "OutputProjection", "SinusoidalPositionalEncoding", "LearnedPositionalEncoding",
    "EncoderLayer", "DecoderLayer", "PreNormEncoderLayer", "PreNormDecoderLayer", "RMSNorm",
    "SwiGLU", "Convolution1D", "RNN", "GRU", "RotaryPositions", "WindowAttention",
    "FeedForward", "GroupedQueryAttention", "BatchNorm", "SegmentEmbedding",
])
def test_another_last_axis_is_refused(name):
    layer, inputs, options = draw(name, np.random.default_rng(0))
    w = small_world(layer, inputs, options)
    width = WIDTH.get(name, "d_model")
    for i, x in enumerate(inputs):
        if x.dtype.kind == "f":
            wrong = [*inputs[:i], np.concatenate([x, x], axis=-1), *inputs[i + 1 :]]
            refuses(w, lambda w, a=wrong: layer.forward(*a, **w.options), ValueError,
                    rf"must have ({width}=\d+ on its last axis|one shape), got")


@pytest.mark.parametrize("name", [
    "SinusoidalPositionalEncoding", "LearnedPositionalEncoding", "RotaryPositions", "Convolution1D",
    "RNN", "GRU", "Mask",
])
def test_a_single_row_is_no_sequence(name):
    layer, (x,), options = draw(name, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"\w+ must have at least 2 axes, got"):
        layer.forward(x[(0,) * (x.ndim - 1)], **options)


@pytest.mark.parametrize(("name", "size"), [
    ("ScaledDotProductAttention", 0), ("LocalAttention", 2), ("MemoryEfficientAttention", 2)])
def test_every_attention_refuses_what_does_not_fit(name, size):
    layer, Q, K, V = CLASSES[name](size), *(floats(B, H, T_K, d) for d in (4, 4, 6))
    for arrays, allowed, error, message in [
        ((Q, K[..., :2], V), None, ValueError, "Q and K must have one d_k, got shapes"),
        ((Q, K, V[:, :, 1:]), None, ValueError, "K and V must have one length, got"),
        ((Q, K[:1], V), None, ValueError, "must have the same leading axes, got"),
        ((Q, K, V[0, 0, 0]), None, ValueError, "V must have at least 2 axes, got"),
        ((Q, K[..., :0, :], V[..., :0, :]), None, ValueError, "length"),
        ((Q, K, V), np.ones((T_K, T_K + 1), bool), ValueError, "allowed must have shape"),
        ((Q, K, V), np.ones((T_K, T_K)), TypeError,
         "allowed must be a boolean array, True = may attend, got float64"),
    ]:
        with pytest.raises(error, match=message):
            layer.forward(*arrays, allowed=allowed)


@pytest.mark.parametrize("name", LAYERS)
def test_an_array_of_another_dtype_is_refused_by_every_layer(name):
    layer, inputs, options = draw(name, np.random.default_rng(0))
    w = small_world(layer, inputs, options)
    for i, dtype in itertools.product(range(len(inputs)), (np.float16, np.complex64, int, bool,
                                                           object, "U3")):
        if inputs[i].dtype.kind == "f":
            wrong = [*inputs[:i], np.zeros(inputs[i].shape, dtype), *inputs[i + 1 :]]
            refuses(w, lambda w, a=wrong: layer.forward(*a, **w.options), TypeError,
                    f"must be float32 or float64, got {np.dtype(dtype)}")


@pytest.mark.parametrize("name", [
    "Linear", "LayerNorm", "OutputProjection", "LearnedPositionalEncoding",
    "PositionwiseFeedForward", "EncoderLayer"])
def test_complex_input_to_real_parameters_is_refused_and_passes_complex_ones(name, rng):
    layer, (x,), options = draw(name, rng)
    message = r"\w+ and the parameters must have one dtype, got complex128 and float64 \(cast"
    with pytest.raises(TypeError, match=message):
        layer.forward(x.astype(complex), **options)
    layer.astype(complex)
    assert layer(x.astype(complex), **options).dtype == layer(x, **options).dtype == complex


def test_a_list_is_no_array_of_floats(w):
    refuses(w, lambda w: w.linear([[1.0] * D]), TypeError,
            "x must be a numpy array of floats, got list")


@cases(
    (lambda w: w.mha(w.x, w.memory, w.memory, allowed=np.ones((T_Q, T_K), int)), TypeError,
     "allowed must be a boolean array, True = may attend, got int64"),
    (lambda w: w.attention.mask(floats(3, 5), allowed=[[True] * 5] * 3), TypeError,
     "allowed must be a boolean array, True = may attend, got list"),
)
def test_a_mask_that_is_not_boolean_is_refused(call, error, message, w):
    refuses(w, call, error, message)


@pytest.mark.parametrize("shape", [
    (B, 1, T_K), (H, 1, T_K), (B, T_Q, T_K), (T_K,), (1, T_K), (T_Q, 1), (T_K, T_Q), (B, T_K),
    (1, B, 1, T_K + 1), (B, 1, 1, 1, T_K), (),
], ids=str)
@pytest.mark.parametrize("kind", ["attention", "heads", "decoder layer"])
def test_a_mask_that_numpy_would_broadcast_to_the_wrong_axes_is_refused(kind, shape, w):
    allowed = np.ones(shape, dtype=bool)
    calls = {
        "attention": lambda w: w.attention(w.Q, w.K, w.V, allowed=allowed),
        "heads": lambda w: w.mha(w.x, w.memory, w.memory, allowed=allowed),
        "decoder layer": lambda w: w.layer(w.x, w.memory, memory_allowed=allowed),
    }
    refuses(w, calls[kind], ValueError, re.escape(
        "allowed must have shape (3, 5) = (T_q, T_k), or as many axes as the scores (2, 2, 3, 5),"
        f" each 1 or equal, such as (2, 1, 1, 5); got {shape}"
    ))


@cases(
    (lambda w: w.model(w.src + 0.0, w.tgt, rng=w.rng), TypeError,
     "src must be integers, got float64"),
    (lambda w: w.model(w.src, w.tgt > 3, rng=w.rng), TypeError, "tgt must be integers, got bool"),
    (lambda w: w.model(w.src, np.where(w.tgt == w.tgt[1, 2], -1, 4), rng=w.rng), IndexError,
     r"tgt must lie in \[0, vocab_size\), got id -1 at position \(\d, \d\) with vocab_size=11"),
    (lambda w: w.model([[1, 2, 11]], [[1]], rng=w.rng), IndexError,
     r"src must lie in \[0, vocab_size\), got id 11 at position \(0, 2\) with vocab_size=11"),
    (lambda w: w.model.src_embedding([3, -1]), IndexError,
     r"ids must lie in \[0, vocab_size\), got id -1 at position \(1,\)"),
    (lambda w: w.loss(w.y, targets=w.tgt + 20), IndexError, "targets must lie in"),
    (lambda w: w.loss(w.y, targets=w.tgt + 0.5), TypeError, "targets must be integers, got float"),
    (lambda w: not_padding(w.src / 2), TypeError, "ids must be integers, got float64"),
    (lambda w: Transformer(5, pad=5, rng=w.rng, **{"d_model": 4, "h": 2}), IndexError,
     r"pad must lie in \[0, vocab_size\), got id 5"),
    (lambda w: Transformer(5, pad=-1, rng=w.rng, **{"d_model": 4, "h": 2}), IndexError,
     r"pad must lie in \[0, vocab_size\), got id -1"),
)
def test_ids_that_are_not_tokens_are_refused(call, error, message, w):
    refuses(w, call, error, message)


@cases(
    (lambda w: w.model(w.src[:, :0], w.tgt, rng=w.rng), ValueError,
     r"src must have a length of at least 1, got shape \(2, 0\)"),
    (lambda w: w.model(w.src, w.tgt[:, :0], rng=w.rng), ValueError,
     r"tgt must have a length of at least 1, got shape \(2, 0\)"),
    (lambda w: w.attention(w.Q[..., :0, :], w.K, w.V), ValueError, r"\(2, 2, 0, 4\)"),
    (lambda w: causal(0), ValueError, "T must be at least 1, got T=0"),
    (lambda w: w.model(w.src.repeat(2, axis=1), w.tgt, rng=w.rng), ValueError,
     "length must be at most max_len=6, got length 10"),
    (lambda w: w.model(w.src, w.tgt.repeat(3, axis=1), rng=w.rng), ValueError,
     "length must be at most max_len=6, got length 9"),
    (lambda w: w.model.positions(w.x, start=4), ValueError,
     "length must be at most max_len=6, got length 3 from start=4"),
    (lambda w: w.model([[1, 2], [3]], w.tgt, rng=w.rng), ValueError,
     "src must be rows of one length: pad the shorter ones"),
    (lambda w: not_padding([[1], [2, 3]]), ValueError, "ids must be rows of one length: pad the"),
)
def test_a_length_that_is_zero_too_long_or_ragged_is_refused(call, error, message, w):
    refuses(w, call, error, message)


def test_a_batch_of_zero_is_no_error(w):
    w.model.zero_grad()
    logits, cache = w.model.forward(w.src[:0], w.tgt[:0], rng=w.rng)
    loss, loss_cache = w.loss.forward(logits, targets=w.tgt[:0])
    w.model.backward(w.loss.backward(1.0, loss_cache), cache)
    assert (logits.shape, loss) == ((0, T_Q, 11), 0.0)
    assert not any(p.grad.any() for p in w.model.parameters())
    assert greedy_decode(w.model, w.src[:0], bos=1, eos=2).shape[0] == 0


@cases(
    (lambda w: w.loss(w.y, targets=w.tgt[:1]), ValueError,
     r"targets must have the shape of logits without its last axis, \(2, 3\), got \(1, 3\)"),
    (lambda w: w.loss(w.y, targets=w.tgt[:, 0]), ValueError, r"\(2, 3\), got \(2,\)"),
    (lambda w: w.loss(w.y, targets=w.tgt * 0), ValueError,
     "targets must hold at least one id that is not pad=0"),
    (lambda w: w.loss(w.y[0, 0], targets=3), ValueError, "logits must have at least 2 axes"),
)
def test_targets_that_do_not_fit_are_refused(call, error, message, w):
    refuses(w, call, error, message)


def start_training(w, **options):
    return train(w.model, CopyTask(), steps=1, rng=w.rng, optimizer=w.adam, **options)


@cases(
    *((lambda w, name=name, p=p: construct(name, w.rng, P_drop=p), ValueError,
       rf"P_drop must lie in \[0, 1\), got P_drop={p}")
      for p in (1, -0.1, np.nan)
      for name in ("Transformer", "EncoderLayer", "DecoderLayer", "PreNormEncoderLayer",
                   "PreNormDecoderLayer", "LanguageModel", "AddNorm")),
    *((lambda w, c=cls: c(2.0), ValueError, r"P_drop must lie in \[0, 1\), got P_drop=2\.0")
      for cls in (Dropout, ScaledDotProductAttention)),
    (lambda w: Dropout("0.1"), TypeError, r"P_drop must be a number in \[0, 1\), got P_drop='0.1'"),
    (lambda w: LabelSmoothedCrossEntropy(1.0), ValueError, r"eps_ls must lie in \[0, 1\), got"),
    (lambda w: LabelSmoothedCrossEntropy(-0.1), ValueError, r"eps_ls must lie in \[0, 1\), got"),
    (lambda w: LayerNorm(4, eps=-1e-6), ValueError, r"eps must lie in \[0, 1\), got eps=-1e-06"),
    (lambda w: Adam(w.linear, beta_1=1), ValueError, r"beta_1 must lie in \[0, 1\), got beta_1=1"),
    (lambda w: Adam(w.linear, beta_2=-0.5), ValueError, r"beta_2 must lie in \[0, 1\), got beta_2"),
    (lambda w: Adam(w.linear, eps=0), ValueError, r"eps must lie in \(0, 1\), got eps=0"),
    (lambda w: w.adam.step(-1e-3), ValueError, r"rate must lie in \[0, inf\), got rate=-0.001"),
    (lambda w: w.adam.step(np.nan), ValueError, r"rate must lie in \[0, inf\), got rate=nan"),
    (lambda w: w.adam.step(np.inf), ValueError, r"rate must lie in \[0, inf\), got rate=inf"),
    (lambda w: warmup_rate(0, 8, 4), ValueError, "step must be at least 1, got step=0"),
    (lambda w: warmup_rate(1, 8, 0), ValueError, "warmup_steps must be at least 1, got"),
    (lambda w: warmup_rate(1, 8, 4, -1), ValueError, r"scale must lie in \[0, inf\), got scale=-1"),
    (lambda w: start_training(w, eps_ls=1), ValueError, r"eps_ls must lie in \[0, 1\), got"),
    (lambda w: start_training(w, batch_size=0), ValueError, "batch_size must be at least 1, got"),
    (lambda w: start_training(w, accumulate=0), ValueError, "accumulate must be at least 1"),
    (lambda w: start_training(w, validate_every=0), ValueError, "validate_every must be at least"),
    (lambda w: train(w.model, CopyTask(), steps=0, rng=w.rng), ValueError, "steps must be at l"),
    (lambda w: train(w.model, CopyTask(), steps=1, rng=0), TypeError,
     r"numpy\.random\.Generator, got int"),
    (lambda w: w.model(w.src, w.tgt, rng=7), TypeError,
     r"rng must be a numpy\.random\.Generator, got int"),
)
def test_a_number_outside_of_its_interval_is_refused(call, error, message, w):
    refuses(w, call, error, message)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_loss_that_is_not_finite_stops_before_the_step_and_names_the_tensor(value, w):
    task = CopyTask(symbols=4, max_length=3)
    w.model.encoder.layers[0].feed_forward.linear_1.b.value[2] = value
    steps = train(w.model, task, steps=9, batch_size=4, rng=w.rng, optimizer=w.adam)
    kept = [p.value.copy() for p in w.model.parameters()] + w.adam.m + w.adam.v
    before, t = [a.tobytes() for a in kept], w.adam.t
    name = "encoder.layers.0.feed_forward.linear_1.b"
    message = rf"^step 2: loss nan, first tensor that is not finite: {name}$"
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError, match=message):
        next(steps)
    kept = [p.value for p in w.model.parameters()] + w.adam.m + w.adam.v
    assert ([a.tobytes() for a in kept], w.adam.t) == (before, t)


@pytest.mark.parametrize("kind", ["attention", "heads", "model"])
def test_scores_larger_than_the_memory_are_refused_with_the_bytes_they_need(kind, w, monkeypatch):
    call, shape = {
        "attention": (lambda w: w.attention(w.Q, w.K, w.V), (2, 2, 3, 5)),
        "heads": (lambda w: w.mha(w.x, w.memory, w.memory), (2, 2, 3, 5)),
        "model": (lambda w: w.model(w.src, w.tgt), (2, 2, 5, 5)),
    }[kind]
    needs = 8 * np.prod(shape)
    monkeypatch.setattr(checks, "memory_bytes", lambda: needs - 1)
    message = f"scores of shape {shape} need {needs} bytes, this machine has {needs - 1}"
    refuses(w, call, MemoryError, re.escape(message))
    w.attention(*(x.astype(np.float32) for x in (w.Q, w.K, w.V)))      # half of the bytes
    monkeypatch.setattr(checks, "memory_bytes", lambda: needs)
    call(w)


@pytest.mark.parametrize("error", [AttributeError, OSError, ValueError])
def test_a_system_that_does_not_tell_its_memory_sets_no_limit(monkeypatch, error):
    def untold(name):
        raise error

    monkeypatch.setattr(checks.os, "sysconf", untold, raising=False)
    assert checks.memory_bytes.__wrapped__() == math.inf


def test_scores_of_a_hundred_terabytes_are_refused_at_once(w):
    Q = np.broadcast_to(np.ones(4), (10**6, 10**6, 4))                 # a view of four numbers
    refuses(w, lambda w: w.attention(Q, Q, Q), MemoryError, "scores of shape .* need .* bytes")


@pytest.mark.parametrize("P_drop", [0.0, 0.1])
def test_a_training_step_makes_few_calls_and_few_of_them_are_checks(rng, P_drop):
    """Of the command line's model and batch, counted and not timed."""
    package, calls = Path(aiayn_np.__file__).parent, Counter()
    task = CopyTask()
    model = Transformer(task.vocab_size, N=2, d_model=64, d_ff=256, h=4, P_drop=P_drop, rng=rng)
    steps = train(model.astype(np.float32), task, steps=9, rng=rng, validation_size=9)

    def count(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(package):
            calls[path.name] += 1

    next(steps)
    sys.setprofile(count)
    next(steps)
    sys.setprofile(None)
    print(f"\n{calls.total()} calls, {calls['checks.py']} of checks")
    assert calls.total() <= 900
    assert 200 < calls["checks.py"] <= 250
