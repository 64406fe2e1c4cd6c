"""The part *Yours* of each lesson: a reader predicts a number, measures it, and it is judged."""

import re

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("jupytext")

import chinese  # noqa: E402

from aiayn_course.exercises import judge  # noqa: E402
from aiayn_course.exercises.editions import student_edition  # noqa: E402
from aiayn_course.exercises.yours import CONTROLS  # noqa: E402

LESSONS = sorted(chinese.FOLDER.glob("[0-9][0-9]_*.ipynb"))
lessons = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)


def cell_of(notebook):
    """The one cell of a notebook that calls `judge`."""
    (cell,) = (c for c in notebook["cells"] if "\njudge(" in c["source"])
    return cell


@lessons
def test_the_lines_of_the_teacher_edition_are_judged_right(path):
    cell = cell_of(nbformat.read(path, as_version=4))
    assert f"\njudge({int(path.name[:2])}, predicted, measured)" in cell.source
    said = cell.outputs[-1].data["text/plain"]
    assert said.startswith("Right: "), said


@lessons
def test_students_get_neither_the_lines_nor_the_number(path):
    notebook = nbformat.read(path, as_version=4)
    theirs = cell_of(student_edition(notebook, int(path.name[:2])))["source"]
    before, after = re.match(r"(?s)(.*predicted = )None( .*?\n# yours: .*?\n)measured = None\n\n",
                             theirs).groups()
    assert before + "@" + after in re.sub(r"(predicted = )\S+", r"\1@", cell_of(notebook)["source"])
    assert theirs.count("\n") == 6


@pytest.mark.parametrize("lesson", CONTROLS)
def test_a_number_outside_is_refused_with_a_hint_and_one_inside_is_right(lesson):
    control = CONTROLS[lesson]
    for inside in (control.low, (control.low + control.high) / 2, control.high):
        assert judge(lesson, 1e6, inside)
        assert "as you predicted" in repr(judge(lesson, inside, inside))
    for outside in (control.low - 1e-3, control.high + 1e-3):
        answer = judge(lesson, inside, outside)
        assert not answer
        assert repr(answer).endswith(control.hint)


@pytest.mark.parametrize(("predicted", "measured", "says"), [
    (None, 5, "First type the number that you predict into `predicted`."),
    (float("nan"), 5, "First type the number that you predict into `predicted`."),
    (3, None, "You predict 3. Now write your lines: the last one sets `measured`."),
    (3, [5], "`measured` must be one number, got list."),
    (3, float("nan"), "`measured` must be one number, got float."),
    (3, True, "`measured` must be one number, got bool."),
])
def test_what_is_no_number_is_told(predicted, measured, says):
    answer = judge(5, predicted, measured)
    assert not answer
    assert repr(answer) == says


def test_another_lesson_is_refused():
    with pytest.raises(ValueError, match="lesson must be one of 1 to 15, got 16"):
        judge(16, 1, 1)
