"""Grading a folder: every submission gets a row, whatever its code does, and harms nothing."""

import base64
import contextlib
import csv
import os
from pathlib import Path

import pytest
from solutions import FOLDER, source

from aiayn_course.cli.main import main
from aiayn_course.exercises import EXERCISES
from aiayn_course.exercises.grading.grading import COLUMNS, grade
from aiayn_course.exercises.grading.sandbox import MEMORY_IS_LIMITED, OUTPUT, run_alone

RIGHT = source(1)
WRONG = RIGHT.replace("sum(axis=-1", "sum(axis=0")
FORWARD = '"""scores (..., n) -> weights (..., n), each row sums to 1; and a cache."""'
LINUX = pytest.mark.skipif(not MEMORY_IS_LIMITED, reason="needs the limits of Linux")
FAKE = """
import os
print('{"points": 1, "diagnosis": "right", "message": ""}', flush=True)
os._exit(0)
"""


def inside(code):
    """The right answer, with code in front of its forward."""
    return RIGHT.replace(FORWARD, f"{FORWARD}\n        {code}")


def graded(folder, text, **options):
    """The Grade of one text as exercise 1."""
    (folder / "anna").mkdir(exist_ok=True)
    data = text if isinstance(text, bytes) else text.encode()
    (folder / "anna" / "01_softmax.py").write_bytes(data)
    (row,) = grade(folder, **options)[2]
    assert row.passed == (row.diagnosis == "right")
    assert sorted(p.name for p in folder.rglob("*")) == ["01_softmax.py", "anna"]
    assert (folder / "anna" / "01_softmax.py").read_bytes() == data
    return row


def test_a_folder_becomes_a_table(tmp_path, capsys):
    for student, text in {"anna": RIGHT + "raise ValueError('=1+1')\n", "bert": WRONG}.items():
        (tmp_path / student).mkdir()
        (tmp_path / student / "01_softmax.py").write_text(text)
    (tmp_path / "carl").mkdir()
    assert main(["grade", str(tmp_path), "--timeout", "60", "--seed", "7"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:4] for line in lines[:3]] == [
        ["anna", "softmax", "passed", "right"], ["bert", "softmax", "no", "wrong"],
        ["carl", "softmax", "no", "missing"]]
    assert lines[3:7] == ["anna: 1 of 1 points", "bert: 0 of 1 points", "carl: 0 of 1 points",
                          "1 of 3 answers passed, seed 7"]
    assert lines[-2:] == ["1 of 3 answers passed, seed 7", str(tmp_path / "grades.csv")]
    with open(tmp_path / "grades.csv", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == COLUMNS
    assert {row["seed"] for row in rows} == {"7"}
    assert [row["passed"] for row in rows] == ["True", "False", "False"]
    assert rows[0]["message"].endswith("stops with ValueError: =1+1")
    assert rows[1]["diagnosis"] == "wrong axis"
    assert rows[1]["file"] == str(Path("bert", "01_softmax.py"))
    assert main(["grade", str(tmp_path), "--csv", str(tmp_path)]) == 2
    assert "--csv must be a file, got the folder" in capsys.readouterr().err


def test_a_printed_result_does_not_pass(tmp_path):
    assert graded(tmp_path, FAKE).diagnosis == "exits"


@pytest.mark.slow
def test_no_submission_changes_another(tmp_path):
    """All files are read before the first one runs, so what it writes over them is not graded."""
    (tmp_path / "bert").mkdir()
    other = tmp_path / "bert" / "01_softmax.py"
    other.write_text(WRONG)
    (tmp_path / "anna").mkdir()
    (tmp_path / "anna" / "01_softmax.py").write_text(
        RIGHT + f"open({str(other)!r}, 'w').write({RIGHT!r})\n")
    rows = list(grade(tmp_path)[2])
    assert [(row.student, row.passed) for row in rows] == [("anna", True), ("bert", False)]
    assert other.read_text() == RIGHT


@pytest.mark.slow
def test_every_run_draws_numbers_of_its_own_and_a_seed_repeats_them(tmp_path):
    (tmp_path / "anna").mkdir()
    (tmp_path / "anna" / "01_softmax.py").write_text(WRONG)
    rows = [next(grade(tmp_path, seed=seed)[2]) for seed in (None, None, 5, 5)]
    assert rows[0].seed != rows[1].seed
    assert [row.seed for row in rows[2:]] == [5, 5]
    assert rows[2].message == rows[3].message


@pytest.mark.slow
def test_a_part_of_an_exercise_is_worth_a_part(tmp_path, capsys):
    masks = source(5)
    half = masks.replace("np.tri(T, dtype=bool)", "~np.tri(T, dtype=bool)")
    for student, text in {"anna": masks, "bert": half, "carl": half}.items():
        (tmp_path / f"{student}_05_masks.py").write_text(text)
    (tmp_path / "bert_01_softmax.py").write_text(WRONG)
    assert main(["grade", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[6:9] == ["anna: 3 of 4 points", "bert: 2 of 4 points", "carl: 2 of 4 points"]
    assert [line for line in lines if line.startswith("commonest")] == [
        "commonest mistake in masks: inverted, 2 of 2 wrong answers (lesson 5)"]
    with open(tmp_path / "grades.csv", encoding="utf-8-sig") as file:
        rows = {(row["student"], row["exercise"]): row for row in csv.DictReader(file)}
    assert [rows["bert", "masks"][name] for name in ("passed", "points", "of")] == [
        "False", "2", "3"]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "diagnosis"), [
    ("while True: pass\n" + RIGHT, "too slow"),
    ("while True: print('x' * 10**6)\n", "too slow"),
    (inside("while True: pass"), "too slow"),
    pytest.param(inside("np.ones(10**9)"), "memory", marks=LINUX),
    pytest.param("x = [bytes(10**8) for i in range(99)]\n" + RIGHT, "right", marks=LINUX),
    ("import sys\nsys.exit(0)\n", "missing"),
    (RIGHT + "import sys\nsys.exit(0)\n", "right"),
    (inside("raise SystemExit(0)"), "exits"),
    (inside("import os; os._exit(0)"), "exits"),
    (inside("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"), "exits"),
    (inside("scores[:] = 0"), "changed in place"),
    ("print('x' * 10**7)\n" + RIGHT, "right"),
    ("1 / 0\n" + RIGHT, "right"),
    ("1 / 0\n", "missing"),
    ("def f(:\n" + RIGHT, "syntax error"),
    ("(" * 10**5, "syntax error"),
    (b"\xff\xfe\x00", "not readable"),
    ("# coding: cp1252\n# Größe\n".encode("cp1252") + RIGHT.encode(), "right"),
    ("# coding: nonsense\n" + RIGHT, "not readable"),
    (b"#" * 6_000_000, "not readable"),
    ("", "missing"),
    ("Softmax = 3\n", "missing"),
    (RIGHT.replace("class Softmax", "class MySoftmax") + "Softmax = MySoftmax\n", "right"),
    ("open('a', 'w').write('x')\n" + RIGHT, "right"),
    (RIGHT + "import os\nopen('a', 'w').close()\nos.remove('a')\nos.rmdir(os.getcwd())\n", "right"),
    ("import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n" + RIGHT,
     "right"),
    ("input()\n" + RIGHT, "right"),
    (RIGHT + "assert check(Softmax)\n", "right"),
    ("from aiayn_np import Softmax\n", "not yours"),
    ("from aiayn_np import Softmax as S\nclass Softmax(S): pass\n", "not yours"),
    ("import importlib\nSoftmax = importlib.import_module('aiayn_np').Softmax\n", "not yours"),
])
def test_whatever_the_code_does_there_is_a_row(tmp_path, text, diagnosis):
    timeout = 3 if diagnosis == "too slow" else 60
    row = graded(tmp_path, text, timeout=timeout)
    assert row.diagnosis == diagnosis, row
    assert (row.message == "") <= row.passed


def test_it_sees_an_empty_folder_no_environment_and_no_input(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "1")
    row = graded(tmp_path, "import os, sys\nassert os.listdir() == []\n"
                 "assert os.path.samefile('.', os.environ['HOME'])\nassert sys.flags.isolated\n"
                 "assert 'SECRET' not in os.environ\nassert sys.stdin.read() == ''\n" + RIGHT)
    assert (row.passed, row.message) == (True, "")


@LINUX
@pytest.mark.slow
def test_a_large_file_cannot_be_written(tmp_path):
    row = graded(tmp_path, "open('a', 'wb').write(bytes(2 * 10**7))\n" + RIGHT)
    assert row.passed
    assert "File too large" in row.message


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs sleep")
def test_no_process_of_its_group_outlives_a_submission(tmp_path):
    """Only root may start one here at all."""
    assert graded(tmp_path, "import subprocess\nsubprocess.Popen(['sleep', '61.25'])\n"
                  + RIGHT).passed
    assert not any(b"61.25" in line for line in command_lines())


def command_lines():
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield path.read_bytes()


@pytest.mark.slow
def test_every_solution_passes_and_every_stub_does_not(tmp_path):
    for name, folder in (("right", "source"), ("empty", "student")):
        (tmp_path / name).mkdir()
        for path in (FOLDER / folder).glob("*.py"):
            (tmp_path / name / path.name).write_bytes(path.read_bytes())
    students, exercises, rows = grade(tmp_path)
    assert (students, exercises) == (["empty", "right"], list(EXERCISES))
    found = [(row.student, row.diagnosis) for row in rows]
    assert found == [("empty", "not written yet")] * 13 + [("right", "right")] * 13


def test_what_is_printed_is_cut():
    code = "import sys\nfor i in range(300): sys.stdout.write('x' * 10**4)\nimport os\nos._exit(3)"
    outcome = run_alone(dict(exercise="softmax", suffix=".py", data=encoded(code)),
                        timeout=60, memory=1024)
    assert (outcome.answer, outcome.code, outcome.output) == (None, 3, "x" * OUTPUT)


def encoded(text):
    return base64.b64encode(text.encode()).decode()
