"""What a check says, in which form, and what it refuses."""

import re

import numpy as np
import pytest
from solutions import answer

import aiayn_np
from aiayn_np import Module, Parameter
from aiayn_np.exercises import EXERCISES, Report, check
from aiayn_np.exercises.checking.report import Row
from aiayn_np.exercises.exercise import SUBJECTS


def test_the_report_names_the_worst_entry_and_the_line():
    wrong = check(answer(3, "Linear", ("return y, Cache", "y[1, 2, 0] += 1; return y, Cache")))
    row = wrong.table[0]
    assert (row.tensor, row.verdict, row.index) == ("output", "WRONG", (1, 2, 0))
    assert row.yours - row.expected == pytest.approx(1)
    assert (row.wrong, row.size) == (1, 30)
    assert re.search(r"\[1, 2, 0\] is .*, off by 1; 1 of 30 entries wrong", str(wrong))
    assert [r.verdict for r in wrong.table[1:]] == ["not looked at"] * 3
    empty = check(answer(3, "Linear", ("return y, Cache", "y[1, 2, 0] = np.nan; return y, Cache")))
    assert re.search(r"\[1, 2, 0\] is nan, must be [^,]*; 1 of 30 entries wrong", str(empty))
    stops = check(answer(3, "Linear", ("y = x @ self.W.value", "y = x @ self.V.value")))
    assert "`y = x @ self.V.value`" in stops.message
    assert "AttributeError" in stops.message
    assert "Traceback" not in str(stops)


@pytest.mark.parametrize(("edit", "words"), [
    (("centred = x - x", "x -= 0.5; centred = x - x"), "forward changes x"),
    (("g = grad_y *", "grad_y *= 2; g = grad_y *"), "backward changes grad_y"),
    (("centred = x - x", "self.beta.value += 1; centred = x - x"), "forward changes beta"),
    (("n, positions = cache.n,", "self.gamma.value *= 2; n, positions = cache.n,"),
     "backward changes gamma"),
], ids=["x", "grad_y", "beta", "gamma"])
def test_the_report_names_what_was_changed_in_place(edit, words):
    report = check(answer(2, "LayerNorm", edit))
    assert report.diagnosis == "changed in place"
    assert f"{words}, which it was given, in place." in report.message


def test_the_report_tells_a_wrong_forward_from_a_wrong_pair():
    both = ("centred * centred).mean(axis=-1, keepdims=True)",
            "centred * centred).sum(axis=-1, keepdims=True) / (x.shape[-1] - 1)")
    alone = check(answer(2, "LayerNorm", ("1 / np.sqrt(", "2 / np.sqrt(")))
    assert "backward" not in alone.message                             # right but for its cache
    shifted = check(answer(3, "Linear", ("y = y + self.b.value", "y = y + 2 * self.b.value"),
                           ("+= grad_rows.sum(axis=0)", "+= 2 * grad_rows.sum(axis=0)")))
    assert "it is the forward that differs" in shifted.message
    assert "backward" not in check(answer(2, "LayerNorm", both)).message


def test_a_report_in_a_notebook_is_a_table():
    page = check(answer(1, "Softmax", ("(grad_weights - mean_grad)", "grad_weights")))._repr_html_()
    assert page.count("<tr>") == 2
    assert "sum forgotten" in page
    row = Row("a<b", "WRONG")
    assert "a&lt;b" in Report("e", "S", False, "d", "1 < 2", [row])._repr_html_()


def test_hints_come_one_at_a_time():
    student = answer(2, "LayerNorm")
    wrong = answer(2, "LayerNorm", ("g = grad_y * self.gamma.value", "g = grad_y"))
    hints = EXERCISES["layer norm"].hints["LayerNorm"]
    assert check(wrong).hint == f"Hints: check(LayerNorm, hint=1), up to {len(hints)}."
    for i, hint in enumerate(hints, 1):
        assert check(wrong, hint=i).hint == f"Hint {i} of {len(hints)}: {hint}"
    assert check(student).hint == ""
    with pytest.raises(ValueError, match="hint must be one of 1 to 3"):
        check(wrong, hint=4)


def test_the_librarys_own_layer_is_not_an_answer():
    inherited = type("LayerNorm", (aiayn_np.LayerNorm,), {})
    for student in (aiayn_np.Softmax, aiayn_np.causal, aiayn_np.Adam, inherited):
        report = check(student)
        assert not report
        assert report.diagnosis == "not yours"


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


ODD = (None, "text", [], {}, object(), np.array("text"), np.array([1j]), [[1.0], [2.0, 3.0]],
       float("nan"), np.zeros(0), np.array(None), (None, None), np.zeros((2, 3), dtype=object))


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
def test_nothing_odd_that_is_returned_ends_in_an_error_of_ours(name):
    exercise = SUBJECTS[name].exercise.number
    right = answer(exercise, name)
    for odd in ODD:
        if not isinstance(right, type):
            students = [renamed(lambda *a, odd=odd, **k: odd, name)]
        elif name == "Adam":
            students = [type(name, (right,), dict(step=lambda self, rate, odd=odd: setattr(
                self.parameters[0], "value", odd)))]
        else:
            students = [
                type(name, (right,), dict(forward=lambda *a, odd=odd, **k: odd)),
                type(name, (right,), dict(forward=lambda *a, odd=odd, **k: (odd, None))),
                type(name, (right,), dict(backward=lambda *a, odd=odd: odd)),
                type(name, (right,), dict(backward=lambda *a, odd=odd: (odd, odd, odd))),
            ]
        for student in students:
            if odd is not None or name != "Embedding":
                assert not check(student), odd


def renamed(function, name):
    function.__name__ = name
    return function
