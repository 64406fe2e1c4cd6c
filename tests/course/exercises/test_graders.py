"""Assignments run under the real Otter-Grader and nbgrader, and give the marks of `check`."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from solutions import FOLDER, answer, edited, source

from aiayn_course.exercises import EXERCISES, check

pytestmark = pytest.mark.slow
SUBMITTED = {  # name of a student: exercise, changes of the solution
    "anna": (3, ()), "bert": (3, [("return grad_y @ self.W", "return -grad_y @ self.W")]),
    "carl": (5, [("np.tri(T, dtype=bool)", "~np.tri(T, dtype=bool)")]),
}


def marks(number, edits):
    """The points that `check` gives, one for each class and function."""
    objects = next(e.objects for e in EXERCISES.values() if e.number == number)
    return sum(bool(check(answer(number, name, *edits))) for name in objects)


def called(folder, *words):
    """Run a program of Python's, whose other programs stand beside it, in a folder."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    subprocess.run([sys.executable, *map(str, words)], cwd=folder, env=os.environ | dict(PATH=path),
                   capture_output=True, check=True)


def hand_in(given, path, number, edits):
    """Write a student's notebook: the one that was handed out, with the class in its place."""
    notebook = nbformat.read(given, 4)
    (cell,) = [cell for cell in notebook.cells if "raise NotImplementedError" in cell.source]
    cell.source = edited(source(number), edits).split("# %%\n")[-1]
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


def test_otter_gives_the_marks_of_check(tmp_path):
    pytest.importorskip("otter")
    for number in {number for number, _ in SUBMITTED.values()}:
        called(tmp_path, FOLDER / "assignment.py", "otter", f"{number:02}", f"of{number}")
        (made,) = (tmp_path / f"of{number}").glob("*.ipynb")
        called(tmp_path, "-m", "otter", "assign", made, f"dist{number}")
    for student, (number, edits) in SUBMITTED.items():
        dist, place = tmp_path / f"dist{number}", tmp_path / student
        (given,), (tests,) = (dist / "student").glob("*.ipynb"), (dist / "autograder").glob("*.zip")
        hand_in(given, place / "answer.ipynb", number, edits)
        called(place, "-m", "otter", "run", "-a", tests, "-o", ".", "answer.ipynb")
        told = json.loads((place / "results.json").read_text())["tests"]
        assert sum(test["score"] for test in told if "max_score" in test) == pytest.approx(
            marks(number, edits)), told


def test_nbgrader_gives_the_marks_of_check(tmp_path):
    pytest.importorskip("nbgrader")
    for number in {number for number, _ in SUBMITTED.values()}:
        called(tmp_path, FOLDER / "assignment.py", "nbgrader", f"{number:02}", f"source/of{number}")
        called(tmp_path, "-m", "nbgrader", "generate_assignment", f"of{number}")
        (given,) = (tmp_path / "release" / f"of{number}").glob("*.ipynb")
        for student, (its, edits) in SUBMITTED.items():
            if its == number:
                place = tmp_path / "submitted" / student / f"of{number}"
                hand_in(given, place / given.name, number, edits)
        called(tmp_path, "-m", "nbgrader", "autograde", f"of{number}")
    called(tmp_path, "-m", "nbgrader", "export")
    with open(tmp_path / "grades.csv", encoding="utf-8", newline="") as file:
        scores = {(row["student_id"], row["assignment"]): float(row["score"])
                  for row in csv.DictReader(file)}
    for student, (number, edits) in SUBMITTED.items():
        assert scores[student, f"of{number}"] == marks(number, edits)
