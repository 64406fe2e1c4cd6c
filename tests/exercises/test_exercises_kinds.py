"""Kinds of mistakes that strangers made: each gets its reason, and no other one."""

import pytest
from solutions import answer

from aiayn_np.exercises import check

CORRECTED = ("m_hat, v_hat = m / (1 - self.beta_1**self.t), v / (1 - self.beta_2**self.t)",
             "m_hat, v_hat = m, v")
EPS = "np.sqrt(v_hat) + self.eps)"
CLEARED = (EPS, f"{EPS}\n            p.grad[...] = 0")
M, V = (f"self.{name} = [np.zeros_like(p.value) for p in self.parameters]" for name in "mv")
PICKED, UNPACKED = "logits[:, -1].argmax(axis=-1)", "grad_Q, grad_K, grad_V = self.attention."
PARTS = "sum(self.self_attention.backward(grad_attended, cache.self_attention))"
DOT = "From three axes on np.dot is not @"
ONE_EACH = "A backward returns one gradient for each array"

KINDS = [  # exercise, class, diagnosis, words of the reason, what is changed in the solution
    (3, "Linear", "term twice", ["2 * self.b.value"],
     [("y + self.b.value", "y + self.b.value + self.b.value")]),
    (7, "PositionwiseFeedForward", "term twice", ["2 * self.linear_1.b", "2 * self.linear_2.b"],
     [("(hidden)", "(hidden + self.linear_1.b.value)"),
      ("return y, c", "return y + self.linear_2.b.value, c")]),
    (11, "Adam", "m and v are one", ["one array"], [(M, f"self.m = {V}"), (f"        {V}\n", "")]),
    (11, "Adam", "means not kept", ["names a new array"],
     [("m += (1 - self.beta_1)", "m = m + (1 - self.beta_1)"),
      ("v += (1 - self.beta_2)", "v = v + (1 - self.beta_2)")]),
    (11, "Adam", "bias correction missing", ["too small at first", "clears p.grad"],
     [CORRECTED, CLEARED]),
    (11, "Adam", "gradient cleared", ["clears p.grad", "There is more: ", "value is wrong"],
     [("rate * m_hat /", "rate * np.tanh(m_hat + 1) /"), CLEARED]),
    (11, "Adam", "eps inside the root", ["outside", "becomes another array"],
     [("np.sqrt(v_hat) + self.eps", "np.sqrt(v_hat + self.eps)"),
      ("p.value -= rate", "p.value = p.value - rate")]),
    (4, "ScaledDotProductAttention", "scale without root", ["The mask has no effect"],
     [("Q @ K.mT / math.sqrt(Q.shape[-1])", "Q @ K.mT / Q.shape[-1]"),
      ("(scores, allowed=allowed)", "(scores)")]),
    (13, "greedy_decode", "wrong axis", ["over the positions"],
     [(PICKED, "logits.argmax(axis=1)[:, -1]")]),
    (13, "greedy_decode", "wrong axis", ["over the positions"],
     [(PICKED, "logits.argmax(axis=1)[:, 0]")]),
    (13, "greedy_decode", "wrong axis", ["it must be the vocabulary"],
     [(PICKED, "logits.argmax(axis=1)")]),
    (13, "greedy_decode", "argmin", ["least probable"],
     [(PICKED, "logits[:, -1].argmin(axis=-1)")]),
    (13, "greedy_decode", "prefix lost", ["must be appended"],
     [("tgt = np.concatenate([tgt, token[:, None]], axis=1)", "tgt = token[:, None]")]),
    (3, "Linear", "value forgotten", ["self.W.value"], [("x @ self.W.value", "x @ self.W")]),
    (3, "Linear", "value forgotten", ["self.W.value"],
     [("x @ self.W.value", "np.einsum('...i,ij->...j', x, self.W)")]),
    (7, "PositionwiseFeedForward", "layer for an array", ["call its forward"],
     [("hidden, c.linear_1 = self.linear_1.forward(x)", "hidden = x @ self.linear_1")]),
    (11, "Adam", "value forgotten", ["p.value"], [(M, M.replace("p.value", "p"))]),
    *((7, "ReLU", "two arrays for one", ["np.maximum"], [("np.maximum(x, 0)", code)])
      for code in ("np.max(0, x)", "np.max([0, x])", "max(0, x)")),
    (7, "ReLU", "axis lost", ["np.maximum"], [("np.maximum(x, 0)", "np.max(x, 0)")]),
    (11, "warmup_rate", "two arrays for one", ["np.minimum"], [("min(step", "np.min(step")]),
    (6, "MultiHeadAttention", "not unpacked", [ONE_EACH],
     [(UNPACKED, "grad_Q = grad_K = grad_V = self.attention.")]),
    (6, "MultiHeadAttention", "not unpacked", [ONE_EACH],
     [(UNPACKED, "grad_Q, c = self.attention.")]),
    (12, "EncoderLayer", "not unpacked", ["as if a tuple were added"], [(PARTS, PARTS[4:-1])]),
    (7, "PositionwiseFeedForward", "not unpacked", ["The first axis is gone"],
     [("grad_hidden = self", "grad_hidden, c = self")]),
    (7, "PositionwiseFeedForward", "wrong type", ["returns two things"],
     [("y, c.linear_2 = self", "y = self")]),
    (3, "Linear", "not kept", ["A tuple has no names"],
     [("Cache(x=x)", "(x, y)")]),
    (3, "Linear", "another product", [DOT],
     [("rows.T @ grad_rows", "np.dot(cache.x.mT, grad_y)")]),
    (4, "ScaledDotProductAttention", "another product", [DOT], [("Q @ K.mT", "np.dot(Q, K.mT)")]),
    (4, "ScaledDotProductAttention", "another array", ["`weights @ K` where"],
     [("cache.weights @ V", "cache.weights @ K")]),
    (4, "ScaledDotProductAttention", "applied twice", ["softmax(softmax("],
     [("cache.weights @ V", "self.softmax(cache.weights) @ V")]),
    (12, "EncoderLayer", "results in another order", ["[::-1]"],
     [("grad_x, grad_fed = self", "grad_fed, grad_x = self")]),
    (9, "SinusoidalPositionalEncoding", "cut to whole numbers", ["np.trunc(PE)"],
     [("(T, self.d_model)", "(T, self.d_model), dtype=int")]),
    (10, "LabelSmoothedCrossEntropy", "mean over everything", ["all entries"],
     [(".sum() / count", ".mean()")]),
    (11, "warmup_rate", "max instead of min", ["exponent is -0.5"],
     [("min(step", "max(step"), ("d_model**-0.5", "d_model**0.5")]),
]


@pytest.mark.parametrize(("number", "name", "diagnosis", "words", "edits"), KINDS)
def test_the_reason_is_said(number, name, diagnosis, words, edits):
    report = check(answer(number, name, *edits))
    assert not report
    assert report.diagnosis == diagnosis
    for word in words:
        assert word in report.message


NOT_THAT = [  # exercise, name, words of a reason that is false here, what is changed
    (13, "greedy_decode", "keepdims", [(PICKED, "logits.argmax(axis=1)")]),
    (11, "Adam", "serves all positions", [(M, M.replace("p.value", "p"))]),
    (11, "Adam", "nothing is written into",
     [("p.value -= rate", "p.value = np.tanh(p.value) - rate")]),
    (11, "warmup_rate", "zeros_like", [("d_model**-0.5 *", "1 // d_model**0.5 *")]),
    (5, "not_padding", "argmax", [("[:, None, None, :]", "[:, None, :]")]),
]


@pytest.mark.parametrize(("number", "name", "words", "edits"), NOT_THAT)
def test_a_false_reason_is_not_said(number, name, words, edits):
    report = check(answer(number, name, *edits))
    assert not report
    assert words not in report.message
