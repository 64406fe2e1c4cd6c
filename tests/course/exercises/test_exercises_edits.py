"""Explanations by an edit of the right formula: the formulas, and mistakes that nobody listed."""

import ast
import functools

import numpy as np
import pytest
from solutions import answer

from aiayn_course.exercises import check
from aiayn_course.exercises.checking.comparing import same
from aiayn_course.exercises.checking.explaining import predict
from aiayn_course.exercises.checking.trial import Trial
from aiayn_course.exercises.exercise import SUBJECTS
from aiayn_np.decoding.greedy import greedy_decode

LAYERS = [name for name, subject in SUBJECTS.items() if subject.kind == "layer"]
FUNCTIONS = [name for name in SUBJECTS if name not in LAYERS]


@np.errstate(all="ignore")
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("stage", ["forward", "backward"])
def test_the_formula_of_a_layer_is_right(name, stage, rng):
    subject, tried = SUBJECTS[name], 0
    for case in subject.cases(rng):
        trial = Trial(subject, subject.reference, case, rng)
        right = trial.expected
        found = predict(subject.formulas[stage], stage, trial)
        for tensor, value in found.items():
            tried += 1
            assert same(value, right[tensor]), (case.what, tensor)
    assert tried


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_formula_of_a_function_is_what_the_library_computes(name, rng):
    subject = SUBJECTS[name]
    reference = subject.reference
    if reference is greedy_decode:
        reference = functools.partial(reference, keep=False)
    for case in subject.cases(rng):
        found, want = (subject.run(f, case) for f in (subject.formulas["function"], reference))
        assert all(same(found[n], want[n]) for n in want), case.what


@np.errstate(all="ignore")
@pytest.mark.parametrize("name", SUBJECTS)
def test_every_piece_can_be_edited_and_nothing_is_edited_for_good(name, rng):
    """Each edit stands in the tree of the formula while it is compiled, and no longer."""
    subject = SUBJECTS[name]
    case = subject.cases(rng)[0]
    for stage, formula in subject.formulas.items():
        assert len(formula.all_edits) > 4
        tree = ast.unparse(formula.tree)
        if stage == "function":
            before = subject.run(formula.function, case)
            for edit in formula.all_edits[:3]:
                subject.run(edit, case)
            after = subject.run(formula, case)
        else:
            trial = Trial(subject, subject.reference, case, rng)
            after, before = {}, trial.expected
            for edit in (*formula.all_edits[:3], formula):
                after = predict(edit, stage, trial) or {}
        assert all(same(value, before[n]) for n, value in after.items())
        assert ast.unparse(formula.tree) == tree


def test_only_the_places_that_matter_are_named():
    edits = [("(x, attended, rng=rng)", "(x, attended)"),
             ("(x, fed, rng=rng)", "(x, fed)")]
    hint = check(answer(12, "EncoderLayer", *edits)).hints[0]
    assert "add_norm_2(x, fed)" in hint
    assert "self_attention" not in hint


def test_what_fits_no_change_gets_none():
    other = ("return self.gamma.value * n", "return np.tanh(n) + self.gamma.value * n")
    assert "Your numbers are those of" not in check(answer(2, "LayerNorm", other)).message


def test_nan_is_explained_by_the_line_in_which_it_begins():
    report = check(answer(1, "Softmax", ("np.exp(scores - highest)", "np.exp(scores)")))
    assert "`exp_scores = np.exp(scores)`" in report.where
    assert report.question.startswith("It holds nan")


def test_only_what_was_tried_is_called_right():
    """A case after the wrong one is run, too, before it is said that nothing else is wrong."""
    edit = "return y, Cache(x=x)", "return y + (x.ndim == 2) * np.arange(self.d_out), Cache(x=x)"
    report = check(answer(3, "Linear", edit))
    assert report.diagnosis == "some cases"
    assert "wrong only here: x (5, 5)" in report.message
    some = "return y, Cache(x=x)", "return y + (self.b is None) * np.tanh(y), Cache(x=x)"
    assert "wrong only here: no bias" in check(answer(3, "Linear", some)).message


def test_the_second_hint_shows_the_line_beside_the_next_step_of_the_formula():
    report = check(answer(4, "ScaledDotProductAttention", ("Q @ K.mT", "Q @ K")))
    assert report.hints[1] == ("Your line is `scores = Q @ K / math.sqrt(Q.shape[-1])`. The formula"
                               " has `Q @ K.mT / math.sqrt(Q.shape[-1])` there.")


def test_an_option_that_changes_nothing_in_a_case_is_not_said_to_have_no_effect():
    report = check(answer(12, "EncoderLayer", ("(x, fed, rng=rng)", "(x, fed)")))
    assert "`allowed`" not in report.question
    assert "`rng`" in report.hints[0]
