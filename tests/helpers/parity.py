"""Cases for the comparison with PyTorch, drawn from a generator, and what our side computes.

`draw(name, rng)` gives a case; its `arrays()` are ours, {name: array}: the output y, the gradient
of every input and of every parameter. pytorch.py computes the same names from the same case, live;
golden/parity.npz holds what it computed once. Parameters are drawn here and not by the layers, so
that a case depends on NumPy's generator only.
"""

import zlib

import numpy as np
from proof import as_list

from aiayn_np import (
    Adam,
    DecoderLayer,
    EncoderLayer,
    LabelSmoothedCrossEntropy,
    LayerNorm,
    MultiHeadAttention,
    Parameter,
    PositionwiseFeedForward,
    Transformer,
    causal,
    not_padding,
    warmup_rate,
)
from aiayn_np.training.loss import ModelLoss
from aiayn_np.variants.activations import GELU, SiLU
from aiayn_np.variants.convolution import Convolution1D
from aiayn_np.variants.gated import SwiGLU
from aiayn_np.variants.grouped import GroupedQueryAttention
from aiayn_np.variants.norms import BatchNorm, RMSNorm
from aiayn_np.variants.optimizers import AdamW
from aiayn_np.variants.pre_norm import PreNormDecoderLayer, PreNormEncoderLayer
from aiayn_np.variants.recurrent import GRU, RNN
from aiayn_np.variants.rotary import RotaryAttention, RotaryPositions

TOLERANCE = 1e-12  # of the norm of what PyTorch computes
CURVE_TOLERANCE = 1e-9  # of each loss
D_MODEL, H, D_FF, VOCAB, PAD = 8, 2, 11, 9, 0
B, T, T_SRC = 3, 5, 7
ADAM_STEPS, CURVE_STEPS, CURVE_WARMUP = 1000, 50, 100


class LayerCase:
    """One forward and backward of a layer; `keeps` names more arrays of its cache."""

    def __init__(self, rng, layer, *inputs, keeps=(), **options):
        self.layer, self.inputs, self.options, self.keeps = layer, inputs, options, keeps
        fill(layer, rng)
        self.grad_y = rng.standard_normal(layer(*inputs, **options).shape)

    def arrays(self):
        y, cache = self.layer.forward(*self.inputs, **self.options)
        self.layer.zero_grad()
        returned = as_list(self.layer.backward(self.grad_y, cache))
        gradients = {f"grad of input {i}": g for i, g in enumerate(returned)}
        gradients |= {f"grad of {name}": p.grad for name, p in self.layer.named_parameters()}
        return {"y": y} | {name: at(cache, name) for name in self.keeps} | gradients


class AdamCase:
    """A thousand steps of the warm-up, with gradients of very different sizes."""

    def __init__(self, rng):
        self.values = [rng.standard_normal((3, 4)), rng.standard_normal(5)]
        self.rates = [warmup_rate(step, 16, 200) for step in range(1, ADAM_STEPS + 1)]
        self.gradients = [
            [rng.standard_normal(x.shape) * rng.choice([1e-4, 1, 100]) for x in self.values]
            for _ in self.rates
        ]

    def optimizer(self, parameters):
        return Adam(parameters)

    def arrays(self):
        parameters = [Parameter(value.copy()) for value in self.values]
        adam = self.optimizer(parameters)
        for rate, gradients in zip(self.rates, self.gradients):
            for p, gradient in zip(parameters, gradients):
                p.grad[...] = gradient
            adam.step(rate)
        return {f"value {i}": p.value for i, p in enumerate(parameters)}


class AdamWCase(AdamCase):
    """The same with a decay of all values, or of the first alone."""

    def __init__(self, rng, decayed):
        super().__init__(rng)
        self.decayed = decayed

    def optimizer(self, parameters):
        return AdamW(parameters, decay=0.1, decayed=parameters[: self.decayed])


class CurveCase:
    """The losses of a tiny encoder-decoder in training: forward, backward, Adam, warm-up."""

    def __init__(self, rng):
        self.layer = model_and_loss(rng)
        self.batches = [batch(rng) for _ in range(CURVE_STEPS)]
        self.rates = [warmup_rate(i + 1, D_MODEL, CURVE_WARMUP) for i in range(CURVE_STEPS)]

    def arrays(self):
        before, losses = self.layer.state_dict(), []
        adam = Adam(self.layer.parameters())
        for rate, (src, tgt, targets) in zip(self.rates, self.batches):
            self.layer.zero_grad()
            loss, cache = self.layer.forward(src, tgt, targets=targets)
            self.layer.backward(1.0, cache)
            adam.step(rate)
            losses.append(loss)
        self.layer.load_state_dict(before)
        return {"losses": np.array(losses)}


def fill(layer, rng):
    """Draw every parameter: matrices with the scale of Xavier, gamma around 1 with both signs."""
    for name, parameter in layer.named_parameters():
        shape = parameter.value.shape
        drawn = rng.standard_normal(shape)
        if name.endswith("gamma"):
            drawn = rng.choice([-1, 1], shape) * (1 + 0.2 * drawn)
        parameter.value = drawn / np.sqrt(shape[-1]) if len(shape) > 1 else drawn


def at(cache, path):
    for name in path.split("."):
        cache = getattr(cache, name)
    return cache


def batch(rng):
    """src (B, T_SRC), tgt and targets (B, T), each with padded rows."""
    src, tgt = rng.integers(1, VOCAB, (B, T_SRC)), rng.integers(1, VOCAB, (B, T + 1))
    src[1, 4:] = src[2, 6:] = PAD
    tgt[0, 5:] = tgt[2, 3:] = PAD
    return src, tgt[:, :-1], tgt[:, 1:]


def padding(T_k):
    """Ids (B, T_k) whose rows are full, of two and of three tokens."""
    return np.where(np.arange(T_k) < np.array([[T_k], [2], [3]]), 1, PAD)


def attention(rng, T_k, allowed):
    layer = MultiHeadAttention(D_MODEL, H, rng=rng)
    x_Q = rng.standard_normal((B, T, D_MODEL))
    x_K, x_V = rng.standard_normal((2, B, T_k, D_MODEL))
    return LayerCase(rng, layer, x_Q, x_K, x_V, allowed=allowed, keeps=["attention.weights"])


def grouped(rng, h_kv, attention=None):
    layer = GroupedQueryAttention(D_MODEL, 4, h_kv=h_kv, attention=attention, rng=rng)
    inputs = [rng.standard_normal((B, T, D_MODEL)) for _ in "QKV"]
    return LayerCase(rng, layer, *inputs, allowed=causal(T))


def turned(rng, **options):
    return LayerCase(rng, RotaryPositions(D_MODEL, **options),
                     rng.standard_normal((B, H, T, D_MODEL)), start=3)


def encoder_layer(rng, kind):
    x, allowed = rng.standard_normal((B, T, D_MODEL)), not_padding(padding(T))
    return LayerCase(rng, kind(D_MODEL, D_FF, H, rng=rng), x, allowed=allowed)


def decoder_layer(rng, kind):
    x, memory = rng.standard_normal((B, T, D_MODEL)), rng.standard_normal((B, T_SRC, D_MODEL))
    masks = dict(allowed=causal(T), memory_allowed=not_padding(padding(T_SRC)))
    return LayerCase(rng, kind(D_MODEL, D_FF, H, rng=rng), x, memory, **masks)


def cross_entropy(rng, eps_ls):
    targets = rng.integers(0, VOCAB, (4, T))
    targets[1, 2:] = PAD
    logits = 3 * rng.standard_normal((4, T, VOCAB))
    return LayerCase(rng, LabelSmoothedCrossEntropy(eps_ls, pad=PAD), logits, targets=targets)


def model_and_loss(rng):
    model = Transformer(VOCAB, N=2, d_model=D_MODEL, d_ff=D_FF, h=H, max_len=20, rng=rng)
    layer = ModelLoss(model, LabelSmoothedCrossEntropy(0.1, pad=PAD))
    fill(layer, rng)
    return layer


def transformer(rng):
    src, tgt, targets = batch(rng)
    return LayerCase(rng, model_and_loss(rng), src, tgt, targets=targets, keeps=["loss.log_p"])


def over_features(rng, layer, scale=1.0):
    """A layer of d_model features, or d_in, at each of B times T positions."""
    return LayerCase(rng, layer, rng.normal(scale - 1, scale, (B, T, D_MODEL)))


CASES = {
    "layer norm": lambda rng: over_features(rng, LayerNorm(D_MODEL), 3),
    "attention": lambda rng: attention(rng, T, None),
    "attention, causal": lambda rng: attention(rng, T, causal(T)),
    "attention, padding": lambda rng: attention(rng, T, not_padding(padding(T))),
    "attention, cross": lambda rng: attention(rng, T_SRC, not_padding(padding(T_SRC))),
    "feed-forward": lambda rng: over_features(
        rng, PositionwiseFeedForward(D_MODEL, D_FF, rng=rng)
    ),
    "cross-entropy": lambda rng: cross_entropy(rng, 0),
    "cross-entropy, smoothing 0.1": lambda rng: cross_entropy(rng, 0.1),
    "cross-entropy, smoothing 0.4": lambda rng: cross_entropy(rng, 0.4),
    "encoder layer": lambda rng: encoder_layer(rng, EncoderLayer),
    "decoder layer": lambda rng: decoder_layer(rng, DecoderLayer),
    "transformer": transformer,
    "adam": AdamCase,
    "adamw": lambda rng: AdamWCase(rng, 2),
    "adamw, one of two decays": lambda rng: AdamWCase(rng, 1),
    "curve": CurveCase,
    "pre-norm encoder layer": lambda rng: encoder_layer(rng, PreNormEncoderLayer),
    "pre-norm decoder layer": lambda rng: decoder_layer(rng, PreNormDecoderLayer),
    "RMS norm": lambda rng: over_features(rng, RMSNorm(D_MODEL, eps=1e-5), 3),
    "batch norm": lambda rng: over_features(rng, BatchNorm(D_MODEL, eps=1e-5), 3),
    "RNN": lambda rng: over_features(rng, RNN(D_MODEL, 6, rng=rng)),
    "GRU": lambda rng: over_features(rng, GRU(D_MODEL, 6, rng=rng)),
    "convolution": lambda rng: over_features(rng, Convolution1D(D_MODEL, 6, 3, rng=rng)),
    "SwiGLU": lambda rng: over_features(
        rng, SwiGLU(D_MODEL, 7, activation=SiLU, bias=True, rng=rng)),
    "GEGLU": lambda rng: over_features(rng, SwiGLU(D_MODEL, 7, activation=GELU, rng=rng)),
    "rotary, grouped queries": lambda rng: grouped(rng, 2, RotaryAttention(RotaryPositions(2))),
    "rotary positions": lambda rng: turned(rng, base=500.0),
    "rotary positions, interleaved": lambda rng: turned(rng, interleaved=True),
}


def draw(name, rng):
    return CASES[name](rng)


def frozen_case(name):
    """The case whose arrays are frozen: one seed for each name."""
    return draw(name, np.random.default_rng(zlib.crc32(name.encode())))


def assert_same(got, want, name):
    """The same names, shapes and values: norm-relative, or each loss of the curve by itself."""
    assert set(got) == set(want), set(got) ^ set(want)
    for key, theirs in want.items():
        ours = np.asarray(got[key])
        assert ours.shape == theirs.shape, (key, ours.shape, theirs.shape)
        if name == "curve":
            np.testing.assert_allclose(ours, theirs, rtol=CURVE_TOLERANCE, atol=0)
            continue
        error = np.linalg.norm(ours - theirs) / max(np.linalg.norm(theirs), 1e-300)
        assert error <= TOLERANCE, f"{name}, {key}: {error:.1e} > {TOLERANCE}"
