"""What grading needs besides running code: which file is whose, what it may import, the table."""

import ast
import json
import re
import sys

import pytest
from solutions import FOLDER, source

from aiayn_np.cli import main
from aiayn_np.exercises import grading
from aiayn_np.exercises.grading import best, grade, one_line, verdict, write_csv
from aiayn_np.exercises.own_work import GIVEN, refused
from aiayn_np.exercises.sandbox import Outcome
from aiayn_np.exercises.submissions import STEMS, submissions

RIGHT = source(1)


def notebook(*codes):
    cells = [{"cell_type": "code", "source": code.splitlines(keepends=True)} for code in codes]
    return json.dumps({"cells": [{"cell_type": "markdown", "source": ["# text"]}, *cells]})


def test_files_are_found_by_name_place_and_content(tmp_path):
    files = {"anna/01_softmax.py": "", "anna/deep/02_Layer_Norm (1).ipynb": "", "anna/x.py": "",
             "anna/.ipynb_checkpoints/03_linear.py": "", "__MACOSX/05_masks.py": "",
             "bert_07_04_attention.py": "", "carl.py": "def causal(T):\nclass Softmax:",
             "dora - 10_loss_v2.py": "", "grades.csv": ""}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert sorted((s.student, s.exercise or "") for s in submissions(tmp_path)) == [
        ("anna", ""), ("anna", "layer norm"), ("anna", "softmax"), ("bert_07", "attention"),
        ("carl", "masks"), ("carl", "softmax"), ("dora", "loss")]
    assert list(STEMS) == sorted(path.stem for path in (FOLDER / "student").glob("*.py"))


def test_an_exercise_gives_what_its_first_lines_import():
    for path in sorted((FOLDER / "student").glob("*.py")):
        text, exercise = path.read_text(encoding="utf-8"), STEMS[path.stem]
        names = re.findall(r"^from aiayn_np import (.*)", text, re.MULTILINE)
        names = set(", ".join(names).split(", ")) - {"Cache", "Module", "Parameter", ""}
        assert names == GIVEN.get(exercise, set()), exercise
        assert refused(ast.parse(text), exercise) is None


@pytest.mark.parametrize("code", [
    "from aiayn_np import *", "from aiayn_np.softmax import Softmax", "import aiayn_np.softmax",
    "import aiayn_np as t\nt.Softmax()", "import aiayn_np\naiayn_np.softmax.Softmax()",
    "from aiayn_np import exercises as e\ne.exercise.SUBJECTS", "from aiayn_np import Mask",
    "def f():\n  import aiayn_np.variants",
])
def test_what_an_exercise_does_not_give_is_refused(code):
    assert "line " in refused(ast.parse(code), "softmax")


@pytest.mark.parametrize("code", [
    "import aiayn_np\naiayn_np.Module()\naiayn_np.exercises.check(f)", "from aiayn_np import Cache",
    "from aiayn_np.exercises import check, train_with", "import numpy as np\nnp.Softmax",
    "from aiayn_np import check_gradients, exercises\nexercises.check(f)",
])
def test_what_an_exercise_gives_is_not_refused(code):
    assert refused(ast.parse(code), "softmax") is None


def test_a_process_without_an_answer_gets_a_verdict():
    assert verdict(Outcome(None, None, "", 3), 3)[0] == "too slow"
    assert verdict(Outcome(None, 1, "x\nMemoryError\n", 1), 3)[0] == "memory"
    assert verdict(Outcome(None, 0, "", 1), 3)[0] == "exits"


def test_the_better_of_two_files_counts(tmp_path):
    row = next(grade(empty(tmp_path), exercise="softmax")[2])
    kinds = ["not written yet", "sign", "right"]
    rows = [type(row)("a", "b", kind == "right", kind, "", 0.0, "") for kind in kinds]
    assert best(rows) is rows[2]
    assert best(rows[:2]) is best(rows[1::-1]) is rows[1]


def empty(folder):
    (folder / "anna").mkdir()
    return folder


def test_a_table_holds_no_formula_and_no_control_character(tmp_path):
    row = next(grade(empty(tmp_path), exercise="softmax")[2])
    row.student, row.message = "=cmd|x", one_line("a\x1b[31m\nb\u202e" + "y" * 400)
    assert row.message.startswith("a [31m b y")
    assert len(row.message) == 300
    text = write_csv([row], tmp_path / "g.csv").read_text(encoding="utf-8-sig")
    assert text.splitlines()[1].startswith("'=cmd|x,softmax,False,missing,a [31m")


def test_what_was_graded_before_an_interruption_is_written(tmp_path, monkeypatch, capsys):
    for name in ("anna", "bert"):
        (tmp_path / f"{name}_01_softmax.py").write_text("")
    rows = iter([grading.Grade("anna", "softmax", True, "right", "", 0.1, "")])

    def graded(*_):
        if row := next(rows, None):
            return row
        raise KeyboardInterrupt

    monkeypatch.setattr(grading, "graded", graded)
    assert main(["grade", str(tmp_path)]) == 1
    assert len((tmp_path / "grades.csv").read_text(encoding="utf-8-sig").splitlines()) == 2
    assert "interrupted" in capsys.readouterr().err


@pytest.mark.parametrize(("argv", "what"), [
    (["nowhere"], "FOLDER must be a folder"), ([], "holds no file of an exercise"),
    (["--exercise", "soft"], "exercise must be one of softmax, layer norm"),
    (["--timeout", "0"], "timeout must be a positive number"),
    (["--memory", "10"], "memory must be at least 256 MB"),
])
def test_a_wrong_request_is_refused(tmp_path, argv, what, capsys):
    folder = [str(tmp_path / argv.pop())] if argv == ["nowhere"] else [str(tmp_path)]
    assert main(["grade", *folder, *argv]) == 2
    assert what in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs symbolic links")
def test_a_file_that_cannot_be_opened_is_missing(tmp_path):
    (tmp_path / "anna").mkdir()
    (tmp_path / "anna" / "01_softmax.py").symlink_to(tmp_path / "nowhere")
    (row,) = grade(tmp_path, exercise="softmax")[2]
    assert (row.diagnosis, row.seconds) == ("missing", 0.0)


@pytest.mark.slow
def test_a_notebook_keeps_its_class_whatever_other_cells_do(tmp_path):
    head, body = RIGHT.split("# %%\nclass")
    (tmp_path / "01_softmax.ipynb").write_text(notebook(
        head, "%%time\n%matplotlib inline\n!ls\nnp.exp?\nraise ValueError('no')", "x = (",
        "class" + body, "1 / 0"))
    (row,) = grade(tmp_path)[2]
    assert (row.student, row.passed, row.file) == ("(no name)", True, "01_softmax.ipynb")
    assert row.message == "but SyntaxError: '(' was never closed (<cell 3>, line 1)"


@pytest.mark.slow
def test_an_error_is_found_in_its_cell(tmp_path):
    (tmp_path / "anna_01_softmax.ipynb").write_text(notebook(RIGHT, "x = 1\n\n1 / 0"))
    (row,) = grade(tmp_path)[2]
    assert (row.student, row.passed) == ("anna", True)
    assert row.message == "but cell 2, line 3 stops with ZeroDivisionError: division by zero"
