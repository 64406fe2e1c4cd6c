"""What passed although it is wrong, and was refused although it is right: each once more."""

import re

import numpy as np
import pytest
from solutions import answer, run

from aiayn_course.exercises import check
from aiayn_course.exercises.exercise import SUBJECTS

LAYERS = [name for name, subject in SUBJECTS.items() if subject.kind == "layer"]
NUMBERS = "LabelSmoothedCrossEntropy", "warmup_rate"  # a squeezed number is a number
FLASH = '''
import math
import numpy as np
from aiayn_np import Module

class ScaledDotProductAttention(Module):
    def forward(self, Q, K, V, *, allowed=None, rng=None):
        scores = Q @ K.mT / math.sqrt(Q.shape[-1])
        if allowed is not None:
            scores = np.where(allowed, scores, -math.inf)
        highest = scores.max(axis=-1, keepdims=True)
        highest = np.where(np.isfinite(highest), highest, 0)
        P = np.exp(scores - highest)
        total = P.sum(axis=-1, keepdims=True)
        P = P / np.where(total == 0, 1, total)
        O = P @ V
        return O, (Q, K, V, P, O)

    def backward(self, dO, cache):
        Q, K, V, P, O = cache
        D = (dO * O).sum(axis=-1, keepdims=True)
        dS = P * (dO @ V.mT - D) / math.sqrt(Q.shape[-1])
        return dS @ K, dS.mT @ Q, P.mT @ dO
'''


def solution(name):
    return answer(SUBJECTS[name].exercise.number, name)


def changed(name, method, change):
    """Return the solution with a function applied to every array that a method returns."""
    right = solution(name)
    if not isinstance(right, type):
        def wrong(*arguments, **options):
            return change(right(*arguments, **options))
        wrong.__name__ = name
        return wrong

    def forward(self, *arguments, **options):
        y, cache = right.forward(self, *arguments, **options)
        return change(y), cache

    def backward(self, grad_y, cache):
        gradients = right.backward(self, grad_y, cache)
        if gradients is None:                                          # of ids there is none
            self.E.grad[...] = change(self.E.grad)
            return None
        return tuple(map(change, gradients)) if isinstance(gradients, tuple) else change(gradients)
    return type(name, (right,), {method: dict(forward=forward, backward=backward)[method]})


@pytest.mark.parametrize(("name", "method"), [
    *((name, "forward") for name in SUBJECTS if name not in ("Adam", *NUMBERS)),
    *((name, "backward") for name in LAYERS if name != "Embedding")])
def test_a_squeezed_result_is_refused(name, method):
    report = check(changed(name, method, np.squeeze))
    assert not report
    assert "shape" in report.message


@pytest.mark.parametrize("change", ["np.clip(p.grad, -5, 5)",
                                    "(p.grad / max(1, np.linalg.norm(p.grad) / 10))"])
def test_adam_with_clipped_gradients_is_refused(change):
    edits = [(code, code.replace("p.grad", change)) for code in ("(p.grad - m)", "(p.grad**2 - v)")]
    report = check(answer(11, "Adam", *edits))
    assert report.diagnosis == "gradient clipped"
    assert "Adam takes every gradient as it is, large ones too" in report.message


def test_adam_that_skips_parameters_without_a_gradient_is_refused():
    right = solution("Adam")

    def step(self, rate):
        values = [(p, p.value.copy()) for p in self.parameters if not p.grad.any()]
        right.step(self, rate)
        for p, value in values:
            p.value[...] = value
    report = check(type("Adam", (right,), dict(step=step)))
    assert not report
    assert "A gradient of 0 is a gradient" in report.message


@pytest.mark.slow
def test_the_backward_of_flash_attention_passes_on_every_seed():
    """At inputs around 1 000 its gradient of Q is rounding where the exact one is 0."""
    student = run(FLASH)["ScaledDotProductAttention"]
    for seed in range(20):
        assert (report := check(student, seed=seed)), report


def test_a_gradient_that_is_wrong_by_more_than_rounding_is_refused():
    for factor in ("(1 + 1e-9)", "0.999"):
        wrong = re.sub(r"return dS @ K,", f"return dS @ K * {factor},", FLASH)
        assert not check(run(wrong)["ScaledDotProductAttention"])


@pytest.mark.parametrize("text", [
    "causal = lambda T: np.tri(T, dtype=bool)",
    "def mask_of_the_future(T):\n    return np.tri(T, dtype=bool)\ncausal = mask_of_the_future"])
def test_a_function_under_a_second_name_is_an_answer(text):
    assert check(run(f"import numpy as np\n{text}\n")["causal"])


def test_a_parameter_that_is_kept_in_a_list_too_is_an_answer():
    assert check(answer(8, "OutputProjection", ("self.E = E", "self.shared = [E]; self.E = E")))


@pytest.mark.parametrize(("kept", "old", "new"), [
    ("E.value.T", "x @ self.E.value.T", "x @ self.kept"),
    ("E.value", "grad_logits @ self.E.value", "grad_logits @ self.kept"),
    ("E.grad", "self.E.grad +=", "self.kept +=")])
def test_an_array_that_is_kept_from_init_is_refused(kept, old, new):
    edits = [("self.E = E", f"self.E, self.kept = E, {kept}"), (old, new)]
    assert not check(answer(8, "OutputProjection", *edits))


def cut_off(x):
    return np.where(np.abs(x) < 1e-3, 0, x)


def clipped(x):
    return np.clip(x, -10, 10)


@pytest.mark.parametrize("change", [cut_off, clipped])
@pytest.mark.parametrize("method", ["forward", "backward"])
@pytest.mark.parametrize("name", LAYERS)
def test_a_threshold_and_a_clip_around_a_layer_are_refused(name, method, change):
    """Numbers of every layer reach below 0.001 and above 10; no weight and no loss does both."""
    report = check(changed(name, method, change))
    never = ("Softmax", clipped), ("LabelSmoothedCrossEntropy", cut_off)
    assert report.passed == (method == "forward" and (name, change) in never)


HIGHEST = "highest = scores.max(axis=-1, keepdims=True)"
OF_LOGITS = "logits.max(axis=-1, keepdims=True)"
M_ZEROS = "self.m = [np.zeros_like(p.value) for p in self.parameters]"
IN_STEP, COUNT = "zip(self.m, self.v, self.parameters)", " 0"
SCORES = "scores, cache.mask = self.mask"
LENGTH_1, NEGATIVE, AS_ABS = "A length of 1 is", "may be negative", "np.abs(scores.max("
OWN_SHAPE, MAXIMUM, PICK = "have its own shape", "np.maximum(x, 0)", "logits[:, -1].argmax(axis=-1)"
STEP = "rate * m_hat / (np.sqrt(v_hat) + self.eps)"
VARIANCE = "(centred * centred).mean(axis=-1, keepdims=True)"
SQUARES = "(x * x).mean(axis=-1, keepdims=True) - x.mean(axis=-1, keepdims=True) ** 2"
KEY_OPEN = "allowed=None if allowed is not None and allowed[..., -1].{}() else allowed, rng"
ROOTS = [(f"math.sqrt({of}Q.shape[-1])", f"math.isqrt({of}Q.shape[-1])") for of in ("", "cache.")]
ONCE_PASSED = [  # exercise, class, what the message holds, (old, new) of each edit
    (7, "ReLU", "nothing is clipped", (MAXIMUM, "np.clip(x, 0, 10)")),
    (7, "PositionwiseFeedForward", "large numbers", (
        "self.relu.forward(hidden)", "self.relu.forward(np.minimum(hidden, 50))")),
    (11, "Adam", "", (f"p.value -= {STEP}", f"p.value -= np.clip({STEP}, -0.3, 0.3)")),
    (11, "Adam", "gradients of 0", ("self.t += 1", "if not any(p.grad.any() for p in"
                                    " self.parameters):\n            return\n        self.t += 1")),
    (11, "warmup_rate", "", ("min(step**-0.5, step", "min(max(step, 2)**-0.5, max(step, 2)")),
    (11, "warmup_rate", "d_model = warmup_steps = 1", (
        "d_model**-0.5", "(d_model > 1) * d_model**-0.5")),
    (1, "Softmax", "exactly 1, and", ("(total + (total == 0))", "(total + 1e-12)")),
    (10, "LabelSmoothedCrossEntropy", "exactly 0", ("keepdims=True))", "keepdims=True) + 1e-12)")),
    (13, "greedy_decode", "first one", (PICK, "logits[:, -1].argsort(1, kind='stable')[:, -1]")),
    (13, "greedy_decode", "encode once", (
        "    logits, _ = model", "    memory, _ = model.encode(src)\n        logits, _ = model")),
    (2, "LayerNorm", "Subtract the mean first", (VARIANCE, SQUARES)),
    (3, "Linear", "A 0 is", ("b is not None:\n            y =", "b and self.b.value.all():\n"
                             "            y =")),
    (4, "ScaledDotProductAttention", "cut to a whole number", *ROOTS),
    (4, "ScaledDotProductAttention", "`Q @ K.mT / 2` where", (ROOTS[0][0], "2")),
    (6, "MultiHeadAttention", "a mask with the last key open", (
        "allowed=allowed, rng", KEY_OPEN.format("all"))),
    (1, "Softmax", AS_ABS, (HIGHEST, "highest = np.abs(scores.max(axis=-1, keepdims=True))")),
    (1, "Softmax", NEGATIVE, (HIGHEST, "highest = scores.max(-1, keepdims=True).clip(0)")),
    (3, "Linear", "wrong only here: one axis, (d_in,)", (
        "return y,", "return y + (x.ndim == 1) * np.arange(self.d_out),")),
    (1, "Softmax", "from float32", (
        "(total + (total == 0))", "(total + 1e-300)")),
    (5, "Mask", "none is allowed", (
        "if allowed is None:", "if allowed is None or not allowed.any():")),
    (1, "Softmax", LENGTH_1, ("weights = exp_scores", "weights = np.squeeze(exp_scores)")),
    (2, "LayerNorm", LENGTH_1, ("x - x.mean(", "x - np.squeeze(x).mean(")),
    (6, "MultiHeadAttention", "a mask of two axes", (
        "allowed=allowed, rng", "allowed=None if np.ndim(allowed) == 2 else allowed, rng")),
    (7, "ReLU", LENGTH_1, ("return grad_y *", "return np.squeeze(grad_y) *")),
    (7, "ReLU", LENGTH_1, ("(cache.x > 0)", "(np.squeeze(cache.x) > 0)")),
    (10, "LabelSmoothedCrossEntropy", NEGATIVE, (OF_LOGITS, f"np.abs({OF_LOGITS})")),
    (10, "LabelSmoothedCrossEntropy", NEGATIVE, (OF_LOGITS, f"np.maximum({OF_LOGITS}, 0)")),
    (10, "LabelSmoothedCrossEntropy", LENGTH_1, ("shifted = logits", "shifted = logits.squeeze()")),
    (10, "LabelSmoothedCrossEntropy", LENGTH_1, ("np.exp(cache.log_p)",
                                                 "np.exp(cache.log_p).squeeze()")),
    (11, "Adam", OWN_SHAPE, (M_ZEROS, M_ZEROS.replace("p.value", "self.parameters[0].value"))),
    (11, "Adam", OWN_SHAPE, (M_ZEROS.replace("m", "v", 1), M_ZEROS.replace("m", "v", 1).replace(
        "p.value", "self.parameters[-1].value"))),
    (11, "Adam", OWN_SHAPE, (M_ZEROS, "self.m = np.zeros((2, *self.parameters[0].value.shape))")),
    (2, "LayerNorm", COUNT, ("self.beta.grad +=", "if self.beta.value.any(): self.beta.grad +=")),
    (2, "LayerNorm", "variances of 1e-12", ("variance + self.eps", "variance + max(self.eps,"
                                            " 1e-6)")),
    (3, "Linear", COUNT, ("_rows.sum(axis=0)", "_rows.sum(axis=0) * (self.b.value != 0)")),
    (4, "ScaledDotProductAttention", "a mask of three axes", (
        SCORES, f"allowed = None if np.ndim(allowed) == 3 else allowed; {SCORES}")),
    (5, "not_padding", "pad = 3", ("(ids != pad)", "(ids != min(pad, 1))")),
    (6, "MultiHeadAttention", "wrong only here: rng given", (
        "allowed=allowed, rng", "allowed=None if rng is not None else allowed, rng")),
    *((number, name, "rng", ("allowed=allowed, rng=rng", "allowed=allowed, rng=None if"
                             " allowed is not None else rng"))
      for number, name in ((6, "MultiHeadAttention"), (12, "EncoderLayer"))),
    (11, "Adam", "Every parameter moves", (IN_STEP, f"list({IN_STEP})[:2]")),
    (11, "Adam", "t goes on counting", ("self.t += 1", "self.t = min(self.t + 1, 10)")),
    (11, "warmup_rate", "warmup_steps = 4000", ("**-1.5", "**-1.5 * (d_model < 500)")),
    (13, "greedy_decode", "one source with padding", (
        "= not_padding(src, model.pad)", "= not_padding(src, model.pad) if len(src) > 1 else"
         " None")),
    (13, "greedy_decode", "a row that never ends", (
        "min(src.shape[1] + 50", "min((src != model.pad).sum(axis=1).max() + 50")),
    (13, "greedy_decode", "max_len = 60", (
        "None else max_len", "None else min(max_len, src.shape[1] + 50)")),
]


@pytest.mark.parametrize(("number", "name", "words", "edits"), [
    (*one[:3], one[3:]) for one in ONCE_PASSED])
def test_what_only_an_unusual_size_shape_or_sign_shows_is_refused(number, name, words, edits):
    report = check(answer(number, name, *edits))
    assert not report
    assert words in report.message
    assert words == AS_ABS or "np.abs" not in "".join((str(report), *report.hints))


@pytest.mark.parametrize("right", ["(centred ** 2).sum(axis=-1, keepdims=True) / self.d_model",
                                   "np.var(x, axis=-1, keepdims=True)",
                                   "np.square(np.std(x, axis=-1, keepdims=True))"])
def test_a_variance_of_centred_numbers_passes(right):
    for seed in range(3):
        assert (report := check(answer(2, "LayerNorm", (VARIANCE, right)), seed=seed)), report


def with_forward(name, forward):
    """Return the solution with another forward, forward(right, self, *arguments, **options)."""
    right = solution(name)
    return type(name, (right,), dict(forward=lambda self, *inputs, **options: forward(
        right.forward, self, *inputs, **options), backward=lambda *given: right.backward(*given)))


def without_mask(right, layer, x, *others, allowed=None, **options):
    """Leave a mask out where there is one query."""
    return right(layer, x, *others, allowed=None if x.shape[-2] == 1 else allowed, **options)


def without_padding(right, layer, x, *others, allowed=None, **options):
    """Leave the mask (B, 1, 1, T) out where queries and keys are as many."""
    padding = allowed is not None and allowed.shape[-2] == 1 and x.shape[-2] == allowed.shape[-1]
    return right(layer, x, *others, allowed=None if padding else allowed, **options)


def with_the_first_values(right, layer, x):
    """Compute with the values that the parameters had in the first call."""
    first = layer.__dict__.setdefault("first", [p.value.copy() for p in layer.parameters()])
    now = [p.value.copy() for p in layer.parameters()]
    for p, value in zip(layer.parameters(), first):
        p.value[...] = value
    y = right(layer, x)
    for p, value in zip(layer.parameters(), now):
        p.value[...] = value
    return y


@pytest.mark.parametrize(("name", "forward", "diagnosis"), [
    *((name, without_mask, "some cases") for name in
      ("ScaledDotProductAttention", "MultiHeadAttention", "EncoderLayer")),
    *((name, without_padding, "some cases") for name in
      ("ScaledDotProductAttention", "MultiHeadAttention")),
    ("SinusoidalPositionalEncoding", lambda right, layer, x, start=0: right(
        layer, x, start=start * (x.shape[-2] > 1)), "some cases"),
    ("EncoderLayer", lambda right, layer, x, allowed=None, rng=None: right(
        layer, x, allowed=allowed, rng=rng or np.random.default_rng(0)), "some cases"),
    *((name, with_the_first_values, "stale") for name in ("Linear", "LayerNorm", "Embedding")),
])
def test_what_only_decoding_padding_or_a_step_shows_is_refused(name, forward, diagnosis):
    assert check(with_forward(name, forward)).diagnosis == diagnosis


def test_an_array_that_is_handed_out_twice_is_refused():
    masks = {}
    right = solution("causal")

    def causal(T):
        return masks.setdefault(T, right(T))
    assert check(causal).diagnosis == "stale"
