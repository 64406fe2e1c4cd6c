"""What a check says, in which form, and what it refuses."""

import re

import numpy as np
import pytest
from solutions import answer, run, source
from test_exercises_mistakes import STAGES, known_of, student_with

import aiayn_np
from aiayn_course.exercises import Report, check
from aiayn_course.exercises.checking.asking import question_of
from aiayn_course.exercises.checking.checker import report_of_stop
from aiayn_course.exercises.checking.example import Example
from aiayn_course.exercises.checking.function_check import FunctionCheck
from aiayn_course.exercises.checking.kinds import HAND
from aiayn_course.exercises.checking.layer_check import LayerCheck
from aiayn_course.exercises.checking.report import Row
from aiayn_course.exercises.checking.stop import Stop
from aiayn_course.exercises.exercise import SUBJECTS
from aiayn_course.exercises.topics.questions import ASKED
from aiayn_np import Module, Parameter


def test_the_report_names_the_worst_entry_and_the_line():
    wrong = check(answer(3, "Linear", ("return y, Cache", "y[1, 2, 0] += 1; return y, Cache")))
    row = wrong.table[0]
    assert (row.tensor, row.verdict, row.wrong, row.size) == ("output", "WRONG", 1, 30)
    assert wrong.example.index == (1, 2, 0)
    assert "1 of 30 entries" in str(wrong)
    assert [r.verdict for r in wrong.table[1:]] == ["not looked at"] * 3
    empty = check(answer(3, "Linear", ("return y, Cache", "y[1, 2, 0] = np.nan; return y, Cache")))
    assert empty.example.index == (1, 2, 0)
    assert "nan" in empty.example.lines()[1]
    stops = check(answer(3, "Linear", ("y = x @ self.W.value", "y = x @ self.V.value")))
    assert "`y = x @ self.V.value`" in stops.message
    assert "AttributeError" in stops.message
    assert "Traceback" not in str(stops)


@pytest.mark.parametrize(("edit", "words"), [
    (("centred = x - x", "x -= 0.5; centred = x - x"), "forward writes in line 39, `x -= 0.5;"),
    (("g = grad_y *", "grad_y *= 2; g = grad_y *"), "backward writes in line 52, `grad_y *= 2;"),
    (("centred = x - x", "n = x.shape; x.shape = (-1,); x = x.reshape(n); centred = x - x"),
     "forward changes x, which it was given, in place."),
    (("centred = x - x", "self.beta.value += 1; centred = x - x"), "forward changes beta"),
    (("n, positions = cache.n,", "self.gamma.value *= 2; n, positions = cache.n,"),
     "backward changes gamma"),
], ids=["x", "grad_y", "shape", "beta", "gamma"])
def test_the_report_names_what_was_changed_in_place(edit, words):
    report = check(answer(2, "LayerNorm", edit))
    moved = "self." in edit[1]                                         # a parameter
    assert report.diagnosis == ("parameter moved" if moved else "changed in place")
    assert (f"{words}.value." if moved else words) in report.message


def test_a_report_in_a_notebook_shows_where_the_arrays_differ():
    report = check(answer(1, "Softmax", ("(grad_weights - mean_grad)", "grad_weights")))
    page = report._repr_html_()
    assert page.count("<figure") == 3                                     # yours, right, where
    assert "<code>" in page
    assert "Raise one score" in page
    assert report.cause not in page
    row = Row("a<b", "WRONG")
    hostile = Example("<script>", "1 < 2", (0,), np.array([[1.0, np.nan]]), np.eye(2)[:1])
    page = Report("e", "<S>", False, "d", "<b>", [row], where="<i>", example=hostile)._repr_html_()
    assert "a&lt;b" in page
    assert not re.search("<(script|b>1|i>|S>)", page)


def test_hints_come_when_they_are_asked_for_and_are_those_of_the_stage():
    student = answer(2, "LayerNorm")
    wrong = answer(2, "LayerNorm", ("g = grad_y * self.gamma.value", "g = grad_y"))
    report = check(wrong)
    assert report.hint.startswith("Stuck? check(LayerNorm, hint=1): the cause")
    assert report.stage == "backward"
    cause, code, derivation = report.hints
    assert "gamma" in cause
    assert code.startswith("Your numbers are those of `grad_y` where")
    assert derivation == "\n".join(SUBJECTS["LayerNorm"].hints[1:])    # not that of forward
    for i, hint in enumerate(report.hints, 1):
        assert check(wrong, hint=i).hint == f"Hint {i} of 3: {hint}"
    assert check(student).hint == ""
    with pytest.raises(ValueError, match="hint must be one of 1 to 3"):
        check(wrong, hint=4)


@pytest.mark.parametrize(("number", "name", "edits", "where", "cause"), [
    (9, "SinusoidalPositionalEncoding",
     [("def table(self, T, *, start=0):", "def table(self, T, *, start=0):\n        start = 0"),
      ("self.table(x.shape[-2], start=start)", "np.roll(self.table(50), -start, 0)[:x.shape[-2]]")],
     "`table(4, start=2)` by itself is not right.", "Compare it with"),
    (6, "MultiHeadAttention", [("Q, c.linear_Q = self.linear_Q.forward(x_Q)",
                                "Q, c.linear_Q = self.linear_Q(x_Q), x_Q")],
     "'numpy.ndarray' object has no attribute", "the cache of its own"),
    (8, "Embedding", [("self.E.value[", "self.E.value.T[")], "with IndexError",
     "Long enough is axis 1."),
])
def test_a_report_begins_at_the_part_that_is_wrong(number, name, edits, where, cause):
    report = check(answer(number, name, *edits))
    assert where in report.where
    assert cause in report.cause
    by_error = " stops in line " in report.where
    assert by_error == any(row.verdict == "stops" for row in report.table)


def test_code_of_the_formula_is_shown_in_names_that_the_student_has():
    edit = "np.where(cache.real, p_minus_q, 0)", "p_minus_q"
    hint = check(answer(10, "LabelSmoothedCrossEntropy", edit)).cause
    assert hint.endswith("missing: your numbers are those of `grad_loss * (np.exp(log_p) - q) /"
                         " real.sum()`.")                              # the formula calls it p


HELPED = """
import numpy as np
from aiayn_np import Module
def kept(x):
    y = x * 1
    return y
class Softmax(Module):
    def forward(self, scores):
        e = np.exp({scores})
        w = kept({w})
        return w, w
    def backward(self, grad_weights, cache):
        g = grad_weights
        n = cache * 3
        products = g * cache
        return {grad}
"""
RIGHT = dict(scores="scores - scores.max(axis=-1, keepdims=True)",
             w="np.nan_to_num(e / e.sum(axis=-1, keepdims=True))",
             grad="products - cache * products.sum(axis=-1, keepdims=True)")


@pytest.mark.parametrize(("edit", "where", "cause"), [
    (dict(w="e / e.sum(axis=0, keepdims=True)"), "`w` in line 10 is not right yet", "last axis"),
    (dict(scores="scores"), "`w` in line 10 is not right yet", "It is as if "),
    (dict(grad="np.tanh(g) + products"), "",
     "that is right on the way is `products` in line 15"),
], ids=["helper", "as if", "order"])
def test_a_line_and_a_piece_are_the_students_only_where_it_is_certain(edit, where, cause):
    report = check(run(HELPED.format(**RIGHT | edit))["Softmax"])
    assert where in report.where
    assert "`y`" not in report.where
    assert cause in report.cause
    assert "`sum`" not in report.question


@pytest.mark.parametrize(("code", "shapes"), [
    ("x.T @ grad_y", "`x.T` is (4, 3, 2), `grad_y` is (2, 3, 5)"),
    ("x.T.dot(grad_y)", "`x.T` is (4, 3, 2), `grad_y` is (2, 3, 5)"),
    ('np.einsum("bm,bn->mn", x, grad_y)', "`x` is (2, 3, 4), `grad_y` is (2, 3, 5)"),
    ("x.sum(axis=0) * grad_y", "`x.sum(axis=0)` is (3, 4), `grad_y` is (2, 3, 5)"),
    ("rows.T @ grad_y.reshape(7, -1)", "`grad_y` is (2, 3, 5)"),
    ("x[:, :grad_y.size / 2]", "`x` is (2, 3, 4)"),
    ("self.W @ grad_y", "`self.W` is a Parameter of (4, 5), `grad_y` is (2, 3, 5)"),
])
def test_an_error_of_numpy_names_the_parts_of_the_line_and_their_shapes(code, shapes):
    report = check(answer(3, "Linear", ("self.W.grad += rows.T @ grad_rows",
                                        f"x = cache.x\n        self.W.grad += {code}")))
    assert shapes in report.question
    assert report.question.endswith("?")
    assert report.where.startswith("Linear.backward stops in line ")
    assert report.hints[1] == (f"Your line is `self.W.grad += {code}`. The formula has"
                               " `rows.T @ grad_rows` there.")
    assert report.hints[2] == "\n".join(SUBJECTS["Linear"].hints[1:])


def test_the_parts_of_a_line_are_computed_again_only_if_that_changes_nothing():
    calls = []

    class Linear(answer(3, "Linear")):
        def backward(self, grad_y, cache):
            def noted(x):
                calls.append(x)
                return x
            return noted(grad_y) @ self.W.value

    report = check(Linear)
    assert report.where.startswith("Linear.backward stops in line")
    assert "noted" not in report.question
    assert len(calls) == 2                                             # once in each run


@np.errstate(all="ignore")
def report_on(subject, stage, edit):
    """The report on a student who makes an edit of the right formula."""
    student = student_with(subject, stage, edit)
    checking = (FunctionCheck if stage == "function" else LayerCheck)(subject, student, 0)
    with pytest.raises(Stop) as stop:
        checking.run()
    return report_of_stop(checking, stop.value, 0)


def must_lead_and_not_tell(known):
    """No report tells the cause or the right code, all end with a question, and all are short."""
    told = []
    for subject, stage, edit in known:
        report = report_on(subject, stage, edit)
        text = str(report)
        codes = [before for before, _ in edit.pieces if len(before) > 12]
        told += [(edit.key, said) for said in (edit.known, *codes) if said in text]
        assert "?" in report.question or report.diagnosis != edit.key, text
        assert len(text.splitlines()) <= 12, text
    assert told == []


KNOWN = [(SUBJECTS[name], stage, edit) for name, stage in STAGES
         for edit in known_of(SUBJECTS[name].formulas[stage])]


@pytest.mark.parametrize("step", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_reports_on_known_mistakes_lead_and_do_not_tell(step):
    must_lead_and_not_tell(KNOWN[::step])


def test_every_known_mistake_has_a_question():
    keys = {edit.key for *_, edit in KNOWN} | {
        key for subject, stage in STAGES for key in SUBJECTS[subject].formulas[stage].whys}
    assert {edit.key for *_, edit in KNOWN if question_of(edit) == HAND} == set()
    asked = [key for keys in ASKED.values() for key in keys]
    assert len(asked) == len(set(asked))
    assert set(asked) <= keys | {key.removesuffix(" in backward") for key in keys}


def test_the_librarys_own_layer_is_not_an_answer():
    inherited = type("LayerNorm", (aiayn_np.LayerNorm,), {})
    for student in (aiayn_np.Softmax, aiayn_np.causal, aiayn_np.Adam, inherited):
        report = check(student)
        assert not report
        assert report.diagnosis == "not yours"
        own = "inherited from aiayn_np" if student is inherited else "is imported from aiayn_np"
        assert own in report.message


def test_an_import_of_everything_is_told_what_is_not_written_and_refuses_nothing_else():
    both = source(5).split("### solution: not_padding")[0] + "\n    ..."
    text = f"from aiayn_np import *\n{both}"
    names = run(text.replace("def not_padding", "def later"))
    assert check(names["causal"])                                      # written below the import
    report = check(names["not_padding"])
    assert report.diagnosis == "not yours"
    assert "is not written yet" in report.message


def test_what_is_no_answer_at_all_is_refused():
    with pytest.raises(TypeError, match="a class or function itself"):
        check(answer(1, "Softmax")())
    with pytest.raises(ValueError, match="one of Softmax, LayerNorm"):
        check(type("Softmaxx", (Module,), {}))
    empty = check(type("Softmax", (Module,), {}))
    assert empty.diagnosis == "not written yet"


def test_a_check_leaves_everything_as_it_was():
    student = answer(8, "Embedding")
    before = dict(vars(student))
    first, second = check(student), check(student)
    assert first
    assert str(first) == str(second)
    assert vars(student) == before


def test_a_parameter_is_given_values_that_hide_nothing(seed):
    seen = []

    class LayerNorm(Module):
        def __init__(self, d_model, eps=1e-6):
            self.gamma, self.beta = Parameter(np.ones(d_model)), Parameter(np.zeros(d_model))

        def forward(self, x):
            seen.append((self.gamma.value.copy(), self.beta.value.copy(), x))
            raise NotImplementedError("not written yet")

    assert check(LayerNorm, seed=seed).diagnosis == "not written yet"
    gamma, beta, x = seen[0]
    assert np.ptp(gamma) > 0.1
    assert np.abs(beta).min() > 0.1
    assert len(set(x.shape)) == x.ndim
    assert min(x.shape) > 1
    assert (x < 0).any()


def test_a_value_that_may_be_right_is_called_neither_right_nor_wrong():
    """Without its mask, the scores are those of the step before it."""
    report = check(answer(4, "ScaledDotProductAttention", (
        "scores, cache.mask = self.mask.forward(scores, allowed=allowed)",
        "masked = scores * 1; cache.mask = self.mask.forward(scores, allowed=allowed)[1]; scores ="
        " masked")))
    assert report.diagnosis == "mask ignored"
    assert "masked" not in report.where
    assert "`scores`" not in report.where


def test_a_line_that_ran_in_some_cases_only_ends_no_diagnosis():
    report = check(answer(1, "Softmax", (
        "highest = scores.max(axis=-1, keepdims=True)",
        "m = scores.max(axis=-1, keepdims=True)\n"
        "        highest = np.where(np.isfinite(m), m, 0)"), (
        "np.exp(scores - highest)", "np.exp(np.clip(scores - highest, -50, 0))")))
    assert not report.passed
    assert str(report)
