"""Students' parts in the real model: equal to ours if right, and told apart if not."""

import runpy

import pytest
from solutions import FOLDER, answer, run, source

from aiayn_course import exercises
from aiayn_course.exercises import EXERCISES, check, train_with

PARTS = [e for e in EXERCISES.values() if e.number < 14]


def everything():
    """The classes and functions of all solutions that are parts of a model."""
    return [answer(e.number, name) for e in PARTS for name in e.objects]


def test_all_parts_of_all_solutions_at_once_stay_equal():
    report = train_with(*everything(), steps=2)
    assert report, report
    assert len(report.losses) == 2
    assert report.exact is not None
    assert "Equal to ours in all of 2 steps" in str(report)
    assert "step    2   loss yours" in str(report)


def test_each_part_takes_the_place_of_ours():
    """A part that is exchanged is called: one that fails stops the first step or the decoding."""
    for e in PARTS:
        for name in e.objects:
            student = run(source(e.number))[name]
            stop = student if not isinstance(student, type) else (
                student.step if name == "Adam" else student.forward)
            stop.__code__ = fails.__code__
            stop.__kwdefaults__ = None
            report = train_with(student, steps=1)
            assert not report, name
            assert "LookupError: called" in report.first


def fails(*arguments, **options):
    raise LookupError("called")


WRONG = {
    "a backward": (
        2, "LayerNorm", ("g = grad_y * self.gamma.value", "g = 2 * grad_y * self.gamma.value"),
        "They part at step 1: decoder.layers.1.feed_forward.linear_2.b.grad"),
    "a forward": (5, "causal", ("np.tri(T, dtype=bool)", "np.tri(T, k=1, dtype=bool)"),
                  "They part at step 1: logits"),
    "a loss": (10, "LabelSmoothedCrossEntropy", ("count = int(real.sum())", "count = real.size"),
               "They part at step 1: loss"),
    "an optimizer": (11, "Adam", ("v += (1 - self.beta_2)", "v += (1 - self.beta_1)"),
                     "They part at step 1: "),
    "the rate": (11, "warmup_rate", ("step**-0.5, step", "(step + 1)**-0.5, (step + 1)"),
                 "They part at step 1: "),
    "a shape": (2, "LayerNorm", ("return cache.inv_std * (g", "return None and (g"),
                "step 1 stops"),
    "an end": (11, "Adam", ("self.t = 0", "raise SystemExit"), "Adam.__init__ stops"),
}


@pytest.mark.parametrize(("number", "name", "edit", "first"), WRONG.values(), ids=list(WRONG))
def test_a_wrong_part_is_found_at_the_first_step(number, name, edit, first):
    student = answer(number, name, edit)
    report = train_with(student, steps=3)
    assert not report
    assert first in report.first, report
    assert report.first in str(report)
    assert not check(student)


def test_decoding_that_parts_is_not_called_equal():
    student = answer(13, "greedy_decode", ("logits[:, -1].argmax(", "logits[:, -1].argmin("))
    report = train_with(student, steps=40)
    assert not report
    assert "decoding is not: yours" in str(report)
    assert "Equal to ours" not in str(report)


@pytest.mark.parametrize("wrong", [["a backward"], ["a loss"], ["a backward", "the rate"],
                                   ["an end", "a shape"]])
def test_of_several_parts_the_wrong_ones_are_named(wrong):
    changed = {WRONG[key][1]: answer(*WRONG[key][:3]) for key in wrong}
    report = train_with(*(changed.get(part.__name__, part) for part in everything()), steps=2)
    names = [part.__name__ for part in everything() if part.__name__ in changed]
    assert report.first.endswith(f"it is so with your {' and '.join(names)}.")


def test_a_wrong_decoding_among_right_parts_is_named_and_ours_is_not():
    wrong = answer(13, "greedy_decode", ("logits[:, -1].argmax(", "logits[:, -1].argmin("))
    report = train_with(answer(3, "Linear"), wrong, answer(11, "Adam"), steps=40)
    assert report.first.endswith("it is so with your greedy_decode.")
    assert "it is so" not in train_with(wrong, steps=1).first


def test_nothing_to_exchange_and_what_is_no_part_are_refused():
    with pytest.raises(ValueError, match="at least one class or function"):
        train_with()
    with pytest.raises(ValueError, match="margin is no part of a model"):
        train_with(answer(3, "Linear"), answer(15, "margin"))


@pytest.mark.slow
def test_a_model_of_students_parts_learns_the_task():
    report = train_with(*everything(), steps=300)
    assert report, report
    assert report.exact[0] == report.exact[1] > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((FOLDER / "source").glob("*.py")), ids=lambda p: p.stem)
def test_every_source_runs_and_ends_equal(path, capsys, monkeypatch):
    monkeypatch.setattr(exercises, "train_with", lambda *students, steps=0: train_with(
        *students, steps=5))
    runpy.run_path(str(path))
    out = capsys.readouterr().out
    assert "not right yet" not in out
    assert ("Equal to ours in all of " in out) == (int(path.name[:2]) < 14)
