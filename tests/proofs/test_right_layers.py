"""Layers drawn in many styles: no right one is called wrong, and no wrong one right."""

from types import SimpleNamespace

import numpy as np
import pytest
from neighbours import NEIGHBOURS
from neighbours import REFUSED as REFUSED_NEIGHBOURS
from strangers import NUMBERS, REFUSED, ROUNDED, STRANGERS, HalfInput

from aiayn_np import Parameter
from aiayn_np.proofs.gradient_check import check_gradients

KINDS = ("linear", "tanh", "square", "softmax", "two outputs")
STYLES = ("functions", "weights", "params", "parameters")              # 20 with the kinds
CASES = [(kind, style, i) for i in range(10) for kind in KINDS for style in STYLES]


def forward(kind, x, W, b):
    z = x @ W + b
    if kind == "tanh":
        z = np.tanh(z)
    if kind == "square":
        z = z * z
    if kind == "softmax":
        z = np.exp(z) / np.exp(z).sum(-1, keepdims=True)
    outputs = (z, np.sin(x)) if kind == "two outputs" else (z,)
    return outputs, (x, W, b, z)


def backward(kind, grads, cache, fault):
    x, W, b, z = cache
    g = grads[0]
    if kind == "tanh":
        g = g * (1 - z * z)
    if kind == "square":
        g = g * 2 * (x @ W + b)
    if kind == "softmax":
        g = z * (g - (g * z).sum(-1, keepdims=True))
    dx, dW, db = g @ W.T, x.T @ g, g.sum(0)
    if kind == "two outputs":
        dx = dx + grads[1] * np.cos(x) * (fault != 0)
    dx, dW, db = (1.1 * d if i == fault else d for i, d in enumerate((dx, dW, db)))
    return dx, dW, db


def make(kind, style, i, faulty):
    """A layer of one style, and its input."""
    rng = np.random.default_rng([i, KINDS.index(kind)])
    x, W, b = (rng.standard_normal(shape) for shape in ((5, 4), (4, 3), 3))
    fault = i % 3 if faulty else None

    if style == "functions":
        def back(dy, *rest):
            return backward(kind, (dy, *rest[:-1]), rest[-1], fault)
        two = (lambda dy, dz, cache: back(dy, dz, cache)), (lambda dy, cache: back(dy, cache))

        def go(x, W, b):
            outputs, cache = forward(kind, x, W, b)
            return *outputs, cache
        return (go, two[kind != "two outputs"]), (x, W, b)

    class Layer(SimpleNamespace):
        def forward(self, x):
            held = self.params if style == "params" else vars(self)
            held = {name: getattr(held[name], "value", held[name]) for name in "Wb"}
            outputs, self.cache = forward(kind, x, held["W"], held["b"])
            return outputs if len(outputs) > 1 else outputs[0]

        def back(self, *grads):
            dx, dW, db = backward(kind, grads, self.cache, fault)
            if style == "params":
                self.grads = {"W": dW, "b": db}
            elif style == "parameters":
                self.W.grad, self.b.grad = self.W.grad + dW, self.b.grad + db
            else:
                self.dW, self.db = dW, db
            return dx

    two = (lambda self, dy, dz: self.back(dy, dz)), (lambda self, dy: self.back(dy))
    Layer.backward = two[kind != "two outputs"]
    held = {"W": W, "b": b}
    if style == "parameters":
        held = {name: Parameter(x) for name, x in held.items()}
    return Layer(params=held) if style == "params" else Layer(**held), (x,)


def judged(cases, faulty):
    wrong = []
    for case in cases:
        layer, inputs = make(*case, faulty)
        try:
            report = check_gradients(layer, *inputs, seed=case[-1])
        except TypeError:                                              # a refusal is no verdict
            if not faulty:
                raise
            continue
        if bool(report) is faulty:
            wrong.append((case, str(report)))
    return wrong


def misjudged(make, seeds, *factors):
    """The seeds and factors of the gradient with which a layer is judged wrongly."""
    return [(seed, k) for seed in seeds for k in factors
            for layer, inputs in [make(np.random.default_rng(seed), k)]
            if bool(check_gradients(layer, *inputs, seed=seed)) is not (k == 1)]


once_and_for_20_seeds = pytest.mark.parametrize("n", [1, pytest.param(20, marks=pytest.mark.slow)])


@pytest.mark.slow
@pytest.mark.parametrize("faulty", [False, True])
def test_all_200_layers_are_judged_rightly(faulty):
    assert judged(CASES, faulty) == []


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_layers_as_students_write_them_are_judged_rightly(name, seed):
    assert misjudged(NEIGHBOURS[name], [seed], 1, 1.1) == []


@pytest.mark.parametrize("n", [2, pytest.param(30, marks=pytest.mark.slow)])
def test_a_right_layer_with_a_cache_in_float32_has_no_false_alarm(n):
    wrong = []
    for seed in range(n):
        layer, inputs = NEIGHBOURS["CastCache"](np.random.default_rng(seed), 1)
        report = check_gradients(layer, *inputs, seed=seed)
        if not report or "float32" not in str(report):
            wrong.append((seed, str(report)))
    assert wrong == []


@once_and_for_20_seeds
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_every_size_kinks_and_narrow_types_are_judged_rightly(name, n, seed):
    assert misjudged(NUMBERS[name], [seed] if n == 1 else range(n), 1, 1.01, 1.1, -1) == []


@pytest.mark.parametrize("k", [1, 1.1])
@pytest.mark.parametrize("name", ROUNDED)
def test_a_layer_that_rounds_to_float32_or_less_is_refused_and_not_judged(name, k, seed):
    layer, inputs = ROUNDED[name](np.random.default_rng(seed), k)
    with pytest.raises(TypeError, match="must compute in float64: it rounds to float32"):
        check_gradients(layer, *inputs, seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 1.1])
def test_an_input_rounded_to_float16_is_refused_or_judged_rightly(k, seed):
    refused = 0
    for i in range(10):
        layer, inputs = HalfInput(np.random.default_rng([seed, i]), k), (normal([seed, i]),)
        try:
            report = check_gradients(layer, *inputs, seed=seed)
        except TypeError:
            refused += 1
        else:
            assert bool(report) is (k == 1), report
    assert refused > 4


def normal(seed):
    return np.random.default_rng(seed).standard_normal((5, 4))


@once_and_for_20_seeds
@pytest.mark.parametrize("name", STRANGERS)
def test_layers_in_foreign_styles_are_judged_rightly(name, n, seed):
    assert misjudged(STRANGERS[name], [seed] if n == 1 else range(n), 1, 1.01, 1.1, -1) == []


@pytest.mark.parametrize("k", [1, 1.1])
@pytest.mark.parametrize("name", REFUSED | REFUSED_NEIGHBOURS)
def test_a_layer_in_no_known_style_is_refused_with_what_to_write(name, k, seed):
    layer, inputs = (REFUSED | REFUSED_NEIGHBOURS)[name](np.random.default_rng(seed), k)
    with pytest.raises(TypeError, match="two functions around it are checked: check_gradients"):
        check_gradients(layer, *inputs, seed=seed)
