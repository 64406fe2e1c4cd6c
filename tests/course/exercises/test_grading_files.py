"""What grading needs besides running code: which file is whose, and the table."""

import csv
import json
import os

import pytest
from marks import LINUX
from solutions import FOLDER, source

from aiayn_course.cli.grade import csv_bytes, printable
from aiayn_course.cli.main import main
from aiayn_course.exercises.grading.grading import LARGEST, STEMS, grade, submissions

RIGHT = source(1)


def notebook(*codes):
    cells = [{"cell_type": "code", "source": code.splitlines(keepends=True)} for code in codes]
    return json.dumps({"cells": [{"cell_type": "markdown", "source": ["# text"]}, *cells]})


def test_files_are_found_by_name_and_place(tmp_path):
    files = {"anna/01_softmax.py": "", "anna/deep/02_Layer_Norm (1).ipynb": "", "anna/x.py": "",
             "anna/.ipynb_checkpoints/03_linear.py": "", "__MACOSX/05_masks.py": "",
             "carl/03_Linear.PY": "", "grades.csv": "",
             "bert_07_04_attention.py": "", "dora - 10_loss_v2.py": ""}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert sorted(found[:2] for found in submissions(tmp_path)) == [
        ("anna", ""), ("anna", "layer norm"), ("anna", "softmax"), ("bert_07", "attention"),
        ("carl", "linear"), ("dora", "loss")]
    assert [path.name for *_, path in submissions(tmp_path, "softmax")] == ["01_softmax.py", "x.py"]
    assert list(STEMS) == sorted(path.stem for path in (FOLDER / "student").glob("*.py"))
    (tmp_path / "y").mkdir()
    (tmp_path / "y" / "x.py").write_text("")
    (row,) = grade(tmp_path / "y")
    assert (row.diagnosis, row.of) == ("missing", 0)
    assert row.message == "its name must hold that of an exercise, such as 01_softmax.py"


def test_the_folder_that_exercises_writes_is_one_students(tmp_path):
    """`aiayn-np exercises answers`, then `aiayn-np grade answers`."""
    assert main(["exercises", str(tmp_path / "answers")]) == 0
    found = submissions(tmp_path / "answers")
    assert {student for student, *_ in found} == {"answers"}
    assert {exercise for _, exercise, _ in found} == set(STEMS.values())


def test_lessons_are_not_graded(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")                            # no wheel is built
    assert main(["lessons", str(tmp_path / "anna")]) == 0
    found = submissions(tmp_path)
    assert {student for student, *_ in found} == {"anna"}
    assert {exercise for _, exercise, _ in found} == set(STEMS.values())
    assert {path.parent.name for *_, path in found} == {"exercises"}   # not Lesson 5, 05_masks


@LINUX
def test_a_bad_file_gets_its_row_and_ends_nothing(tmp_path):
    """A folder, links, a pipe, a huge file, and a file below a thousand folders."""
    outside = tmp_path / "outside.py"
    outside.write_text(RIGHT)
    class_ = tmp_path / "class"
    class_.mkdir()
    (class_ / "b_01_softmax.py").symlink_to(tmp_path / "nowhere")
    (class_ / "c_01_softmax.py").symlink_to(outside)
    (class_ / "d").symlink_to(tmp_path)
    os.mkfifo(class_ / "e_01_softmax.py")
    (class_ / "f_01_softmax.py").write_bytes(b"#" * (LARGEST + 1))
    deep = class_.joinpath("g", *["g"] * 900)
    deep.mkdir(parents=True)
    (deep / "01_softmax.py").write_text("")
    assert [student for student, *_ in submissions(class_)] == ["b", "c", "e", "f", "g"]
    (deep / "01_softmax.py").unlink()
    rows = list(grade(class_))
    assert [row.diagnosis for row in rows] == ["not readable"] * 4
    assert all(f"no file of at most {LARGEST} bytes" in row.message for row in rows)


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"{", b"[" * 10**5, b'{"cells": 5}',
                                  b'{"cells": [{"cell_type": "code", "source": 5}]}'])
def test_a_broken_notebook_is_not_readable(tmp_path, data):
    (tmp_path / "anna_01_softmax.ipynb").write_bytes(data)
    (row,) = grade(tmp_path)
    assert (row.diagnosis, row.points) == ("not readable", 0)
    assert row.message.startswith("it cannot be read or run: ")


def test_a_process_that_cannot_start_is_told(tmp_path, monkeypatch):
    def run(*_, **__):
        raise OSError("no process is left")

    monkeypatch.setattr("aiayn_course.exercises.grading.grading.run_alone", run)
    (tmp_path / "anna_01_softmax.py").write_text(RIGHT)
    (row,) = grade(tmp_path)
    assert (row.diagnosis, row.message) == (
        "not readable", "it cannot be read or run: OSError: no process is left")


def test_a_text_has_no_control_character_and_an_end():
    message = printable("a\x1b[31m\nb\u202e" + "y" * 400)
    assert message.startswith("a [31m b y")
    assert len(message) == 300


@pytest.mark.parametrize(("cell", "safe"), [
    ("=1", "'=1"), ("+1", "'+1"), ("-1", "'-1"), ("@x", "'@x"), ("'=1", "''=1"), ('"=1', "'\"=1"),
    ("\uff1d1", "'\uff1d1"), ("axis=-1", "axis=-1"), ("line 7, `y = x @ -W`, a;=1", None),
    ("`return -x`", None), (7, 7), (False, False), (-0.5, -0.5),
])
def test_no_cell_begins_a_formula_and_code_within_it_stays(cell, safe):
    expected = str(cell if safe is None else safe)
    assert next(csv.reader([csv_bytes([cell]).decode()])) == [expected.strip()]


@pytest.mark.slow
@LINUX
def test_a_name_that_is_not_utf_8_stops_no_table(tmp_path, capsys):
    for name in (b"anna", b"M\xfcller", b"zoe"):
        folder = os.path.join(os.fsencode(tmp_path), name)
        os.mkdir(folder)
        with open(os.path.join(folder, b"01_softmax_\xe9.py"), "w", encoding="utf-8") as file:
            file.write("x = 1")
    assert main(["grade", str(tmp_path)]) == 0
    capsys.readouterr()
    lines = (tmp_path / "grades.csv").read_text(encoding="utf-8-sig").splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == ["M\\udcfcller", "anna", "zoe"]
    assert "M\\udcfcller/01_softmax_\\udce9.py" in lines[1]


@pytest.mark.parametrize(("argv", "what"), [
    (["nowhere"], "FOLDER must be a folder"), ([], "must hold files such as ann/01_"),
    (["--exercise", "soft"], "exercise must be one of softmax, layer norm"),
    (["--exercise", "softmx"], "got softmx; did you mean softmax?"),
    (["--timeout", "0"], "--timeout must lie in (0, "),
    (["--memory", "10"], "--memory must lie in [256, "),
    (["--seed", "-1"], "--seed must be an integer of at least 0, got --seed=-1"),
])
def test_a_wrong_request_is_refused(tmp_path, argv, what, capsys):
    folder = [str(tmp_path / argv.pop())] if argv == ["nowhere"] else [str(tmp_path)]
    assert main(["grade", *folder, *argv]) == 2
    assert what in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_a_file_of_the_exercise_is_told(tmp_path, capsys):
    (tmp_path / "anna_01_softmax.py").write_text(RIGHT)
    assert main(["grade", str(tmp_path), "--exercise", "layer norm"]) == 2
    assert f"no file in {tmp_path} belongs to the exercise layer norm" in capsys.readouterr().err


@pytest.mark.slow
def test_a_notebook_keeps_its_class_whatever_other_cells_do(tmp_path):
    head, body = RIGHT.split("# %%\nclass")
    (tmp_path / "01_softmax.ipynb").write_text(notebook(
        head, "%%time\n%matplotlib inline\n!ls\nnp.exp?\nraise ValueError('no')", "x = (",
        "class" + body, "1 / 0"))
    (row,) = grade(tmp_path)
    assert (row.student, row.passed, row.file) == (tmp_path.name, True, "01_softmax.ipynb")
    assert row.message == "but cell 2, line 5 stops with ValueError: no"


@pytest.mark.slow
def test_an_error_is_found_in_its_cell(tmp_path):
    (tmp_path / "anna_01_softmax.ipynb").write_text(notebook(RIGHT, "x = 1\n\n1 / 0"))
    (row,) = grade(tmp_path)
    assert (row.student, row.passed) == ("anna", True)
    assert row.message == "but cell 2, line 3 stops with ZeroDivisionError: division by zero"
