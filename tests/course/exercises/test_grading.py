"""Grading a folder: every file gets a row, whatever its code does, and harms nothing."""

import contextlib
import csv
from pathlib import Path

import pytest
from solutions import FOLDER, source

import aiayn_course
from aiayn_course.cli.main import main
from aiayn_course.exercises import EXERCISES
from aiayn_course.exercises.checking import calling
from aiayn_course.exercises.grading import running
from aiayn_course.exercises.grading.grading import MEMORY_IS_LIMITED, Grade, grade, verdict

RIGHT = source(1)
WRONG = RIGHT.replace("sum(axis=-1", "sum(axis=0")
FORWARD = '"""scores (..., n) -> weights (..., n), each row sums to 1; and a cache."""'
LINUX = pytest.mark.skipif(not MEMORY_IS_LIMITED, reason="needs the limits of Linux")

def inside(code):
    """The right answer, with code in front of its forward."""
    return RIGHT.replace(FORWARD, f"{FORWARD}\n        {code}")


def graded(folder, text, **options):
    """The Grade of one text as exercise 1."""
    (folder / "anna").mkdir(exist_ok=True)
    data = text if isinstance(text, bytes) else text.encode()
    (folder / "anna" / "01_softmax.py").write_bytes(data)
    (row,) = grade(folder, **options)
    assert row.passed == (row.diagnosis == "right")
    assert sorted(p.name for p in folder.rglob("*")) == ["01_softmax.py", "anna"]
    assert (folder / "anna" / "01_softmax.py").read_bytes() == data
    return row


def test_a_folder_becomes_a_table(tmp_path, capsys):
    for student, text in {"anna": RIGHT + "raise ValueError('=1+1')\n", "bert": WRONG}.items():
        (tmp_path / student).mkdir()
        (tmp_path / student / "01_softmax.py").write_text(text)
    (tmp_path / "anna" / "01_softmax.ipynb").write_text("{}")          # of two the better counts
    assert main(["grade", str(tmp_path), "--timeout", "60", "--seed", "7"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:4] for line in lines[1:3]] == [
        [str(Path("anna", "01_softmax.py")), "softmax", "passed", "right"],
        [str(Path("bert", "01_softmax.py")), "softmax", "no", "wrong"]]
    assert lines[3:] == ["1 of 2 answers passed, seed 7", str(tmp_path / "grades.csv")]
    with open(tmp_path / "grades.csv", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == Grade._fields
    assert {row["seed"] for row in rows} == {"7"}
    assert [row.pop("passed") for row in rows] == ["False", "True", "False"]
    assert rows[1]["message"].endswith("stops with ValueError: =1+1")
    assert rows[2]["diagnosis"] == "wrong axis"


WRITE = """
import os
for fd in range(1, 30):
    try: os.write(fd, {}.encode())
    except OSError: pass
os._exit(0)
"""
ATTACKS = {  # name -> (code before a wrong answer, what its row says)
    "prints a verdict": ("print('right', 1, flush=True)\nimport os\nos._exit(0)", "exits"),
    "writes a verdict to every file": (WRITE.format(
        '"secret\\0right\\x001\\0"'), "check changed"),
    "writes numbers that are none": (WRITE.format('"x\\0right\\0nan\\0"'), "check changed"),
    "leaves early": ("import sys\nsys.exit(0)", "wrong axis"),
    "leaves at once": ("import os\nos._exit(0)", "exits"),
    "raises a signal": ("import signal\nsignal.raise_signal(9)", "exits"),
    "forks": ("import os\nos.fork()", "wrong axis"),
    "starts a process": ("import subprocess\nsubprocess.Popen(['sleep', '61.25'])", "wrong axis"),
    "kills whoever grades": ("import os\nos.kill(os.getppid(), 9)", "wrong axis"),
    "limits whoever grades": ("import os, resource\nresource.prlimit(os.getppid(), 0, (1, 1))",
                              "wrong axis"),
    "loads the C library": ("import ctypes\nctypes.CDLL(None).kill(0, 9)", "wrong axis"),
    "replaces os.write": ("import os\nos.write = print", "wrong axis"),
    "replaces isinstance": ("import builtins\nbuiltins.isinstance = lambda *_: True", "exits"),
    "closes stdout": ("import sys\nsys.stdout.close()\nsys.stderr.close()", "wrong axis"),
    "sleeps for ever": ("import time\ntime.sleep(10**6)", "too slow"),
    "ignores the time": ("import signal\ndef f():\n    for s in (24, 27): signal.signal(s, print)\n"
                         "    while True: pass\nf()", "too slow"),
    "stops itself": ("import signal\nsignal.raise_signal(19)", "too slow"),
    "prints for ever": ("while True: print('x' * 10**6)", "wrong axis"),
    "writes a gigabyte": ("for i in range(100): open(str(i), 'wb').write(bytes(10**7))",
                          "wrong axis"),
    "deletes what is beside it": ("import shutil\nshutil.rmtree('{place}')", "wrong axis"),
    "links outwards": ("import os\nos.symlink('{place}', 'a')\nos.remove('a/bert/01_softmax.py')",
                       "wrong axis"),
    "writes into the package": ("open(__import__('aiayn_course').__file__, 'a').write('!')",
                                "wrong axis"),
    "crashes": ("import faulthandler\nfaulthandler._sigsegv()", "exits"),
    "an error whose text ends it": (
        "class E(Exception):\n    def __str__(self): raise SystemExit\nraise E", "wrong axis"),
}


@LINUX
@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_earns_a_point_or_ends_the_others(tmp_path, name):
    code, diagnosis = ATTACKS[name]
    attack = code.replace("{place}", str(tmp_path)) + "\n" + WRONG
    package = {path: path.read_bytes() for path in Path(aiayn_course.__path__[0]).rglob("*.py")}
    for student, text in {"anna": attack, "bert": RIGHT}.items():
        (tmp_path / student).mkdir()
        (tmp_path / student / "01_softmax.py").write_text(text)
    rows = list(grade(tmp_path, timeout=20 if diagnosis == "too slow" else 60))
    assert [(row.student, row.points, row.passed) for row in rows] == [
        ("anna", 0, False), ("bert", 1, True)]
    assert (rows[0].diagnosis, bool(rows[0].message)) == (diagnosis, True), rows[0]
    assert package == {path: path.read_bytes() for path in package}
    assert (tmp_path / "bert" / "01_softmax.py").read_text() == RIGHT
    assert not any(b"61.25" in line for line in command_lines())


@pytest.mark.parametrize(("said", "points"), [
    ("s\0right\0" "3\0", 3), ("s\0wrong\0" "2\0why", 2), ("s\0right\0" "99\0", None),
    ("s\0right\0" "2\0", None), ("s\0wrong\0" "3\0", None), ("s\0wrong\0" "-1\0", None),
    ("s\0wrong\0nan\0", None), ("s\0wrong\0" "0.5\0", None), ("s\0right\0True\0", None),
    ("x\0right\0" "3\0", None), ("!s\0right\0" "3\0", None), ("s\0right", None), ("s", None),
    ("\0right\0" "3\0", None),
])
def test_a_verdict_counts_with_its_secret_and_points_that_there_are(said, points):
    given, diagnosis, _ = verdict("s", 3, 60, said, "", 0)
    assert given == (points or 0)
    assert (diagnosis == "check changed") == (points is None)


def test_a_process_without_a_verdict_gets_one():
    assert verdict("s", 1, 3, "", "", None)[:2] == (0, "too slow")
    assert verdict("s", 1, 3, "", "x\nMemoryError\n", 1) == (
        0, "exits", "it ends the process, with code 1, before it was checked. MemoryError")


@pytest.mark.slow
def test_a_part_of_an_exercise_is_worth_a_part(tmp_path):
    masks = source(5)
    half = masks.replace("np.tri(T, dtype=bool)", "~np.tri(T, dtype=bool)")
    for student, text in {"anna": masks, "bert": half, "carl": half}.items():
        (tmp_path / f"{student}_05_masks.py").write_text(text)
    (tmp_path / "bert_01_softmax.py").write_text(WRONG)
    assert main(["grade", str(tmp_path)]) == 0
    with open(tmp_path / "grades.csv", encoding="utf-8-sig") as file:
        rows = {(row["student"], row["exercise"]): row for row in csv.DictReader(file)}
    assert [rows["bert", "masks"][name] for name in ("passed", "points", "of")] == [
        "False", "2", "3"]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "diagnosis"), [
    ("while True: pass\n" + RIGHT, "too slow"),
    (inside("while True: pass"), "too slow"),
    pytest.param(inside("np.ones(10**9)"), "error", marks=LINUX),
    pytest.param("x = [bytes(10**8) for i in range(99)]\n" + RIGHT, "right", marks=LINUX),
    ("import sys\nsys.exit(0)\n", "missing"),
    (RIGHT + "import sys\nsys.exit(0)\n", "right"),
    (inside("raise SystemExit(0)"), "error"),
    (inside("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"), "error"),
    (inside("scores[:] = 0"), "changed in place"),
    ("1 / 0\n", "missing"),
    ("def f(:\n" + RIGHT, "missing"),
    ("(" * 10**5, "missing"),
    (b"\xff\xfe\x00", "not readable"),
    ("# coding: cp1252\n# Größe\n".encode("cp1252") + RIGHT.encode(), "right"),
    ("# coding: nonsense\n" + RIGHT, "not readable"),
    (b"#" * 6_000_000, "not readable"),
    ("", "missing"),
    (RIGHT.replace("class Softmax", "class MySoftmax") + "Softmax = MySoftmax\n", "right"),
    ("open('a', 'w').write('x')\n" + RIGHT, "right"),
    (RIGHT + "import os\nopen('a', 'w').close()\nos.remove('a')\nos.rmdir(os.getcwd())\n", "right"),
    ("import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n" + RIGHT,
     "right"),
    ("input()\n" + RIGHT, "right"),
    (RIGHT + "assert check(Softmax)\n", "right"),
    ("import importlib\nSoftmax = importlib.import_module('aiayn_np').Softmax\n", "not yours"),
])
def test_whatever_the_code_does_there_is_a_row(tmp_path, text, diagnosis):
    timeout = 3 if diagnosis == "too slow" else 60
    row = graded(tmp_path, text, timeout=timeout)
    assert row.diagnosis == diagnosis, row
    assert (row.message == "") <= row.passed


def test_what_is_printed_is_thrown_away_and_costs_nothing(tmp_path):
    printing = "self.t += 1\n        print('x' * 10**6); print('y' * 10**6, file=sys.stderr)"
    path = tmp_path / "anna_11_optimizer.py"
    path.write_text("import sys\n" + source(11).replace("self.t += 1", printing))
    (row,) = grade(tmp_path)
    assert (row.points, row.message) == (2, "")


def test_a_statement_that_does_not_end_costs_no_point(monkeypatch):
    monkeypatch.setattr(calling, "SECONDS", 0.5)
    names: dict = {}
    assert running.run("<answer>", "while True: pass\nx = 1", names) == [
        "line 1 does not end: it was stopped after 0.5 seconds. Look at the condition of its loop."]
    assert names["x"] == 1


def test_it_sees_an_empty_folder_no_environment_and_no_input(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "1")
    row = graded(tmp_path, "import os, sys\nassert os.listdir() == []\n"
                 "assert os.path.samefile('.', os.environ['HOME'])\nassert sys.flags.isolated\n"
                 "assert 'SECRET' not in os.environ\nassert sys.stdin.read() == ''\n" + RIGHT)
    assert (row.passed, row.message) == (True, "")


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
    rows = list(grade(tmp_path))
    assert [row.exercise for row in rows] == [*EXERCISES] * 2
    found = [(row.student, row.diagnosis) for row in rows]
    n = len(EXERCISES)
    assert found == [("empty", "not written yet")] * n + [("right", "right")] * n
