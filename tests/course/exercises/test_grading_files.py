"""What grading needs besides running code: which file is whose, what it may import, the table."""

import json
import os
import sys

import pytest
from marks import LINUX
from solutions import FOLDER, source

from aiayn_course.cli.main import main
from aiayn_course.exercises.grading.grading import (
    Grade,
    counted,
    grade,
    printable,
    verdict,
    write_csv,
)
from aiayn_course.exercises.grading.sandbox import Outcome
from aiayn_course.exercises.grading.submissions import STEMS, submissions
from aiayn_course.exercises.grading.table import harmless

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
    assert sorted((s.student, s.exercise or "") for s in submissions(tmp_path)[0]) == [
        ("anna", ""), ("anna", "layer norm"), ("anna", "softmax"), ("bert_07", "attention"),
        ("carl", "masks"), ("carl", "softmax"), ("dora", "loss")]
    assert list(STEMS) == sorted(path.stem for path in (FOLDER / "student").glob("*.py"))


def test_the_folder_that_exercises_writes_is_one_students(tmp_path):
    """`aiayn-np exercises answers`, then `aiayn-np grade answers`."""
    assert main(["exercises", str(tmp_path / "answers")]) == 0
    found, _ = submissions(tmp_path / "answers")
    assert {s.student for s in found} == {"answers"}
    assert {s.exercise for s in found} == set(STEMS.values())
    assert not any("find_the_bug" in s.path.name for s in found)


def test_a_process_without_an_answer_gets_a_verdict():
    assert verdict(Outcome(None, None, "", 3), 3)["diagnosis"] == "too slow"
    assert verdict(Outcome(None, 1, "x\nMemoryError\n", 1), 3)["diagnosis"] == "memory"
    assert verdict(Outcome(None, 0, "", 1), 3)["diagnosis"] == "exits"


def test_the_newest_file_counts_or_the_best_and_never_an_empty_one():
    def one(kind, minute):
        return Grade("a", "b", kind == "right", kind == "right", 1, kind, "", time=60 * minute)

    old, new, empty = one("right", 1), one("sign", 2), one("not written yet", 3)
    assert counted([old, new, empty], False) is new
    assert counted([old, new, empty], True) is old
    assert counted([one("sign", 1.9), old], False) is old              # files of one minute


def empty(folder):
    (folder / "anna").mkdir()
    return folder


def test_a_table_holds_no_formula_and_no_control_character(tmp_path):
    row = next(grade(empty(tmp_path), exercise="softmax")[2])
    row.student, row.message = "=cmd|x", printable("a\x1b[31m\nb\u202e" + "y" * 400)
    assert row.message.startswith("a [31m b y")
    assert len(row.message) == 300
    text = write_csv([row], tmp_path / "g.csv").read_text(encoding="utf-8-sig")
    assert text.splitlines()[1].startswith("'=cmd|x,softmax,False,0,1,missing,a [31m")


@pytest.mark.parametrize(("cell", "safe"), [
    ("=1", "'=1"), ("+1", "'+1"), ("-1", "'-1"), ("@x", "'@x"), (" =1", "' =1"), ('"=1', "'\"=1"),
    ("\uff1d1", "'\uff1d1"), ("axis=-1", "axis=-1"), ("line 7, `y = x @ -W`, a;=1", None),
    ("`return -x`", None), (7, 7), (False, False), (-0.5, -0.5),
])
def test_no_cell_begins_a_formula_and_code_within_it_stays(cell, safe):
    assert harmless(cell) == (cell if safe is None else safe)


@pytest.mark.slow
@LINUX
def test_a_name_that_is_not_utf_8_stops_no_table(tmp_path, capsys):
    for name in (b"anna", b"M\xfcller", b"zoe"):
        folder = os.path.join(os.fsencode(tmp_path), name)
        os.mkdir(folder)
        with open(os.path.join(folder, b"01_softmax_\xe9.py"), "w", encoding="utf-8") as file:
            file.write("x = 1")
    assert main(["grade", str(tmp_path), "--pseudonyms"]) == 0
    assert main(["grade", str(tmp_path)]) == 0
    capsys.readouterr()
    lines = (tmp_path / "grades.csv").read_text(encoding="utf-8-sig").splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == ["M\\udcfcller", "anna", "zoe"]
    assert "M\\udcfcller/01_softmax_\\udce9.py" in lines[1]


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
    assert (row.student, row.passed, row.file) == (tmp_path.name, True, "01_softmax.ipynb")
    assert row.message == "but SyntaxError: '(' was never closed (<cell 3>, line 1)"


@pytest.mark.slow
def test_an_error_is_found_in_its_cell(tmp_path):
    (tmp_path / "anna_01_softmax.ipynb").write_text(notebook(RIGHT, "x = 1\n\n1 / 0"))
    (row,) = grade(tmp_path)[2]
    assert (row.student, row.passed) == ("anna", True)
    assert row.message == "but cell 2, line 3 stops with ZeroDivisionError: division by zero"
