"""Extreme values and sizes, over every layer class: finite, no warning, equal to the plain loops.

Each case takes configurations of the registry (layers.py) and pushes them to one extreme, in
float64 and in float32. Warnings are errors here: an overflow that is repaired later fails too.
"""

import copy

import layers
import layers_norms
import layers_scoring
import layers_sequence
import layers_since_2017
import numpy as np
import pytest
from layers import LAYERS, STACKS, draw
from loops import LOOPS
from proof import as_list

from aiayn_np import Cache, LayerNorm, Softmax

REGISTRY = (layers, layers_norms, layers_scoring, layers_sequence, layers_since_2017)
VALUES = {  # case: (what becomes of x, by how much a loop may differ: of the largest entry or of 1)
    "every entry 1e4 or -1e4": (lambda x: np.copysign(1e4, x), 1e-8),
    "times 1e4": (lambda x: 1e4 * x, 1e-8),
    "constant rows": (lambda x: np.repeat(x[..., :1], x.shape[-1], axis=-1), 1e-10),
    "every entry 1e4": (lambda x: np.full_like(x, 1e4), 1e-8),
    "zero": (np.zeros_like, 1e-12),
    "std 1e-3": (lambda x: 1e-3 * x, 1e-10),
    "std 1e-3 around 1": (lambda x: 1 + 1e-3 * x, 1e-10),
}
SIZES = {  # case: instead of layers.sizes, which asks with low=3 where 1 is impossible
    "every size 1": lambda rng, n, low=2: [low - 1] * n,
    "some sizes 1": lambda rng, n, low=2: [low - 1 + int(s) for s in rng.choice([0, 0, 1, 4], n)],
    "every size 2": lambda rng, n, low=2: [2] * n,
}
TURNED = ("RotaryAttention", "GroupedQueryAttention")  # turned scores are rounded, then weighed
MASKED = "queries that may look nowhere"


def everywhere(monkeypatch, name, function):
    """`function` instead of layers.<name>, in every file of the registry that uses it."""
    for module in REGISTRY:
        if hasattr(module, name):
            monkeypatch.setattr(module, name, function)


def configurations(name, case, seed, monkeypatch, n):
    """n (layer, inputs, options) of the class `name` at the extreme `case`."""
    if case in SIZES:
        everywhere(monkeypatch, "sizes", SIZES[case])
    if case == MASKED:
        everywhere(monkeypatch, "mask", lambda rng, scores: np.ones(scores, dtype=bool))
    for i in range(n):
        layer, inputs, options = draw(name, np.random.default_rng([seed, i]))
        if case in VALUES:
            inputs = with_values(VALUES[case][0], layer, inputs)
        if case == "every size 1" and inputs[0].dtype.kind == "i":     # the models: T = 1
            inputs, options = [x[..., :1] for x in inputs], one_target(options)
        if case == MASKED:
            inputs, options = looking_nowhere(layer, inputs, options)
        yield layer, inputs, options


def with_values(change, layer, inputs):
    """The inputs at this extreme; where they are ids, the embeddings are put there."""
    if inputs[0].dtype.kind == "f":
        return [change(x) for x in inputs]
    for name, parameter in layer.named_parameters():
        if name.endswith("E"):
            parameter.value = change(parameter.value)
    return inputs


def one_target(options):
    return options | {n: o[:, :1] for n, o in options.items()
                      if n in ("targets", "segments") and o is not None}


def looking_nowhere(layer, inputs, options):
    """Every other query may look nowhere; of ids, the first sequence is padding and no more."""
    options = dict(options)
    for name in ("allowed", "memory_allowed"):
        if name in options:
            options[name] = options[name].copy()
            options[name][..., ::2, :] = False
    model = getattr(layer, "model", layer)
    if inputs[0].dtype.kind == "i" and getattr(model, "pad", None) is not None:
        inputs = [np.where(np.arange(len(x))[:, None] == 0, model.pad, x) for x in inputs]
    return inputs, options


def run(layer, inputs, options, dtype):
    """y, and every gradient of a random signed grad_y, in this dtype."""
    layer.astype(dtype)
    inputs = [x.astype(dtype) if x.dtype.kind == "f" else x for x in inputs]
    y, cache = layer.forward(*inputs, **copy.deepcopy(options))
    grad_y = np.random.default_rng(1).standard_normal(np.shape(y)).astype(dtype)
    layer.zero_grad()
    returned = as_list(layer.backward(grad_y, cache))
    return y, [*returned, *(p.grad for p in layer.parameters())]


def assert_finite(name, y, gradients, dtype):
    """Mask alone may put out -inf: that is how it masks."""
    assert y.dtype == dtype
    assert (np.isfinite(y) | (name == "Mask") & np.isneginf(y)).all()
    for gradient in gradients:
        assert gradient.dtype == dtype
        assert np.isfinite(gradient).all()


def stress(name, case, seed, monkeypatch, n=1):
    """The test of one class at one extreme."""
    tolerance = VALUES[case][1] if case in VALUES else 1e-12
    for layer, inputs, options in configurations(name, case, seed, monkeypatch, n):
        y, gradients = run(layer, inputs, options, np.float64)
        assert_finite(name, y, gradients, np.float64)
        if name in LOOPS:
            plain = {n: option for n, option in options.items() if n != "rng"}
            want = LOOPS[name](layer, *inputs, **plain)
            tolerance = max(tolerance, 1e-7 if name in TURNED and tolerance == 1e-8 else 0)
            atol = tolerance * np.abs(want).max(initial=1)
            np.testing.assert_allclose(layer(*inputs, **plain), want, rtol=0, atol=atol)
        assert_finite(name, *run(layer, inputs, options, np.float32), np.float32)


@pytest.mark.parametrize(("name", "n"), [
    *((name, 1) for name in LAYERS if name != "Transformer"),
    *(pytest.param(name, 1 if name in STACKS else 3, marks=pytest.mark.slow) for name in LAYERS)])
def test_extremes_are_finite_and_equal_the_loops(name, n, seed, monkeypatch):
    for case in [*VALUES, *SIZES, MASKED]:
        print(case)
        with monkeypatch.context() as patch:
            stress(name, case, seed, patch, n)


def softmax_without_maximum(self, scores):
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    return weights, Cache(y=weights)


def softmax_of_finite_rows(self, scores):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights, Cache(y=weights)


def layer_norm_with_eps_outside(self, x):
    centred = x - x.mean(axis=-1, keepdims=True)
    inv_std = 1 / (np.sqrt((centred * centred).mean(axis=-1, keepdims=True)) + self.eps)
    n = centred * inv_std
    return self.gamma.value * n + self.beta.value, Cache(normalised=n, inv_std=inv_std)


@pytest.mark.parametrize(("layer", "forward", "name", "case"), [
    (Softmax, softmax_without_maximum, "Softmax", "times 1e4"),
    (Softmax, softmax_without_maximum, "ScaledDotProductAttention", "every entry 1e4 or -1e4"),
    (Softmax, softmax_of_finite_rows, "MultiHeadAttention", MASKED),
    (Softmax, softmax_of_finite_rows, "Transformer", MASKED),
    (LayerNorm, layer_norm_with_eps_outside, "LayerNorm", "std 1e-3"),
    (LayerNorm, layer_norm_with_eps_outside, "EncoderLayer", "std 1e-3"),
])
def test_a_forward_that_does_not_stand_an_extreme_fails(
    layer, forward, name, case, seed, monkeypatch
):
    monkeypatch.setattr(layer, "forward", forward)
    with pytest.raises((AssertionError, RuntimeWarning)):
        stress(name, case, seed, monkeypatch)
