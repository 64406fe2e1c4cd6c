"""The exercises: stubs fail, solutions pass, and what a check says is what is wrong."""

import re

import pytest
from right_answers import RIGHT
from solutions import FOLDER, answer, edited, run, source
from wrong_answers import WRONG, WRONG_OTHERWISE

from aiayn_course.exercises import EXERCISES, check
from aiayn_course.exercises.exercise import SUBJECTS

each = pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))
STUB = FOLDER / "student"
SOLUTION = re.compile(r"### solution: .*?\n(.*?)### end", re.DOTALL)
IMPORTS = """\
import math
import numpy as np
from aiayn_np import *
from aiayn_np import Cache, Module, Parameter
"""


def solved(exercise):
    """The classes and functions of the solution."""
    names = run(source(exercise.number))
    return [names[name] for name in exercise.objects]


def student_path(exercise, suffix):
    (path,) = STUB.glob(f"{exercise.number:02}_*{suffix}")
    return path


def test_the_exercises_follow_each_other():
    assert [e.number for e in EXERCISES.values()] == list(range(1, 19))
    assert [e.name for e in EXERCISES.values()] == list(EXERCISES)
    objects = [name for e in EXERCISES.values() for name in e.objects]
    assert sorted(objects) == sorted(SUBJECTS)
    for e in EXERCISES.values():
        assert all([e.title, e.section, e.asks])
        assert 10 <= e.minutes <= 60
    assert all(len(s.hints) >= 3 and all(s.hints) for s in SUBJECTS.values())


def test_the_lessons_that_explain_them_exist():
    lessons = FOLDER.parent
    for e in EXERCISES.values():
        for section in e.lesson.split(", "):
            (text,) = [p.read_text(encoding="utf-8")
                       for p in lessons.glob(f"{int(section.split('.')[0]):02}_*.py")]
            assert "." not in section or f"# ## {section} " in text, (e.name, section)


@pytest.mark.parametrize("name", SUBJECTS)
def test_sizes_of_a_case_are_all_different(name, rng):
    """But where two must be equal, as queries and keys under a causal mask."""
    for case in SUBJECTS[name].cases(rng):
        sizes = {size: n for size, n in case.sizes.items()
                 if size not in ("rows", "sequences", "real", "positions")}
        if "causal" in case.what:
            assert sizes.pop("T_q") == sizes["T_k"]
        assert len(set(sizes.values())) == len(sizes), case.what


@each
def test_every_solution_passes(exercise, seed):
    for student in solved(exercise):
        for report in (check(student), check(student, seed=seed)):
            assert report, report
            assert report.passed
            assert report.diagnosis == "right"
            assert all(row.ok for row in report.table)


@each
def test_every_stub_is_not_written_yet(exercise):
    text = student_path(exercise, ".py").read_text(encoding="utf-8")
    names = run(text.split("# %% [markdown]\n# ## Is it right?")[0])
    for name in exercise.objects:
        report = check(names[name])
        assert not report
        assert report.diagnosis == "not written yet", report
        assert not any(row.ok for row in report.table)


@each
def test_no_line_of_a_solution_is_in_a_students_file(exercise):
    (path,) = (FOLDER / "source").glob(f"{exercise.number:02}_*.py")
    text = path.read_text(encoding="utf-8")
    parts = SOLUTION.findall(text)
    lines = {line.strip() for part in parts for line in part.splitlines() if len(line.strip()) > 12}
    assert len(lines) >= len(exercise.objects)
    assert text.count("### solution: ") == text.count("### end") == len(parts)
    for suffix in (".py", ".ipynb"):
        given = student_path(exercise, suffix).read_text(encoding="utf-8")
        assert given.count("NotImplementedError") == len(parts)
        assert not [line for line in lines if line in given.replace('\\"', '"')]


def must_get_their_diagnosis(wrong):
    """Each is refused for its reason; the report does not say the cause, nor the right code."""
    other, told = [], []
    for number, name, diagnosis, *edits in wrong:
        report = check(answer(number, name, *edits))
        text = str(report)
        assert not report, edits
        assert report.cause not in " ".join(text.split()), edits       # it says more
        told += [old for old, new in edits if len(old) > 20 and old not in new and old in text]
        if report.diagnosis != diagnosis:
            other.append((diagnosis, report.diagnosis, edits))
    assert (other, told) == ([], [])


def test_some_wrong_answers_get_their_diagnosis():
    must_get_their_diagnosis(WRONG[::4])


@pytest.mark.slow
@each
def test_every_wrong_answer_gets_its_diagnosis(exercise):
    must_get_their_diagnosis(wrong for wrong in WRONG if wrong[0] == exercise.number)


@pytest.mark.slow
def test_wrong_answers_written_in_another_way_get_their_diagnosis_too():
    other = []
    for key, diagnosis, *edits in WRONG_OTHERWISE:
        name, text = RIGHT[key]
        report = check(run(IMPORTS + edited(text, edits))[name])
        assert not report, (key, edits)
        if report.diagnosis != diagnosis:
            other.append((key, diagnosis, report.diagnosis, edits))
    assert not other


def test_there_are_wrong_answers_of_every_kind():
    assert len(WRONG) + len(WRONG_OTHERWISE) == 190                    # as the page of tests says
    assert len(RIGHT) == 24
    assert {name for _, name, *_ in WRONG} == set(SUBJECTS)
    general = {"not written yet", "nothing returned", "no cache", "wrong count", "wrong type",
               "not summed", "transposed", "error", "sign", "factor", "overwritten", "stale",
               "changed in place", "cache changed", "dtype", "parameters", "not a layer", "zero",
               "some entries"}
    assert general <= {diagnosis for _, _, diagnosis, *_ in WRONG}


@pytest.mark.parametrize("answer", RIGHT.values(), ids=list(RIGHT))
def test_right_answers_written_in_another_way_pass(answer, seed):
    name, text = answer
    report = check(run(IMPORTS + text)[name], seed=seed)
    assert report, report
