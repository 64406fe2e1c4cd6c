"""Numbers that a student chose otherwise are solved for: a fixed eps, a base, a large number."""

import numpy as np
import pytest
from solutions import answer

from aiayn_course.exercises import check
from aiayn_course.exercises.checking.free import filled, newton, solutions

ROOT = "(np.sqrt(v_hat) + self.eps)"
FREE = [  # exercise, class or function, diagnosis, what the message holds, the change
    (2, "LayerNorm", "eps is fixed", "variance + 0.0003", ("self.eps)", "3e-4)")),
    (4, "ScaledDotProductAttention", "large number instead of -inf", "-1e+09",
     ("self.mask.forward(scores, allowed=allowed)",
      "(scores if allowed is None else np.where(allowed, scores, -1e9)), allowed")),
    (5, "Mask", "large number instead of -inf", "-5e+09", ("-math.inf", "-5e9")),
    (7, "ReLU", "leaky", "0.3 * x", ("np.maximum(x, 0)", "np.maximum(x, 0.3 * x)")),
    (8, "Embedding", "d_model is fixed", "math.sqrt(512)",
     ("self.E.value[ids] * math.sqrt(self.d_model)", "self.E.value[ids] * math.sqrt(512)")),
    (9, "SinusoidalPositionalEncoding", "wrong base", "500 **", ("/ 10000 **", "/ 500 **")),
    (11, "Adam", "rate is fixed", "0.001 * m_hat", ("rate * m_hat", "1e-3 * m_hat")),
    (11, "Adam", "weight decay", "0.05 * p.value",
     ("p.value -= rate * m_hat / " + ROOT,
      "p.value -= rate * m_hat / " + ROOT + " + rate * 0.05 * p.value")),
    (11, "warmup_rate", "warmup_steps is fixed", "4000 ** ", ("warmup_steps**", "4000**")),
]


@pytest.mark.parametrize(("number", "name", "diagnosis", "words", "edit"), FREE)
def test_a_number_that_is_free_is_solved_for(number, name, diagnosis, words, edit):
    report = check(answer(number, name, edit))
    assert (report.diagnosis, words in report.message) == (diagnosis, True), report.message


def test_newton_leaves_what_it_cannot_reach():
    x = np.linspace(0.1, 2, 20)
    assert newton(lambda n: np.exp(n * x), 0.1, np.exp(-0.7 * x)) == pytest.approx(-0.7)
    assert newton(lambda n: n * x, 1.0, x**2) is None
    assert newton(lambda n: None, 1.0, x) is None


def test_round_numbers_come_first_and_are_written_down():
    assert next(solutions(lambda n: np.sqrt([n]), 1.0, np.sqrt([0.5]))) == ("round", 0.5)
    assert filled("x + free(1e-9) * free(self.eps)", 1e-5) == "x + 1e-05 * 1e-05"
