"""Grading a real course: platforms' names, rosters, late files, feedback, what is not one's own."""

import ast
import csv
import json
import os
import time

import pytest
from solutions import FOLDER, source

from aiayn_course.cli.main import main
from aiayn_course.exercises.checking import answer
from aiayn_course.exercises.grading import grading
from aiayn_course.exercises.grading.feedback import write_feedback, write_results
from aiayn_course.exercises.grading.grading import Grade, commonest, grade
from aiayn_course.exercises.grading.honesty import alike, asked, held, lines_of, replaced
from aiayn_course.exercises.grading.names import on_roster, pseudonyms
from aiayn_course.exercises.grading.sandbox import RUNNING, end_all
from aiayn_course.exercises.grading.submissions import submissions

RIGHT = source(1)
MINE = "01_softmax.py"


def made(folder, *names, text=""):
    """The folder with files of these names."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def at_once(monkeypatch):
    """Every file is right, and grading it takes no time."""
    monkeypatch.setattr(grading, "graded", lambda s, exercise, *_: Grade(
        s.student, exercise, True, 1, 1, "right", "", s.late, file=s.path.name, time=s.time))


@pytest.mark.parametrize(("name", "student", "late"), [
    (f"doejane_123_4567_{MINE}", "doejane", False),
    (f"doejane_LATE_123_4567_{MINE}", "doejane", True),
    ("doejane_123_4567_01_softmax-2.py", "doejane", False),            # handed in once more
    ("doejane_123_4567_homework.py", "doejane", False),
    (f"week1/doejane_LATE_123_4567_{MINE}", "doejane", True),
    (f"Jane Doe_12345_assignsubmission_file_/{MINE}", "Jane Doe", False),
    (f"Jane Doe_12345_assignsubmission_file/a/{MINE}", "Jane Doe", False),
    (f"week1/Jane Doe_12345_assignsubmission_file_/{MINE}", "Jane Doe", False),
    (f"Jane Doe_12345_assignsubmission_file_{MINE}", "Jane Doe", False),
    ("anna_12_11_optimizer.py", "anna_12", False),
    (f"anna_{MINE}", "anna", False), (f"anna/week1/{MINE}", "anna", False),
])
def test_a_platforms_name_gives_the_student_and_who_is_late(tmp_path, name, student, late):
    handed_in, students = submissions(made(tmp_path, name, text="class Softmax: pass"))
    assert students == [student]
    assert [(s.student, s.late) for s in handed_in] == [(student, late)]


def test_one_student_is_one_and_two_of_one_name_are_two(tmp_path):
    made(tmp_path, f"doejane_123_4567_{MINE}", "doejane_LATE_123_4568_03_linear.py",
         f"roejohn_124_4569_{MINE}", f"roejohn_125_4570_{MINE}",
         "Jane Doe_77_assignsubmission_file_/02_layer_norm.py")
    (tmp_path / "Jane Doe_77_assignsubmission_onlinetext_").mkdir()
    handed_in, students = submissions(tmp_path)
    assert students == ["Jane Doe", "doejane", "roejohn_124", "roejohn_125"]
    assert sorted(s.student for s in handed_in).count("doejane") == 2


def test_late_is_what_was_changed_after_the_time_unless_canvas_says_otherwise(tmp_path):
    made(tmp_path, f"anna_{MINE}", f"bert_{MINE}", f"coe_123_4567_{MINE}")
    os.utime(tmp_path / f"anna_{MINE}", (1000, 1000))
    os.utime(tmp_path / f"bert_{MINE}", (3000, 3000))
    assert [s.late for s in submissions(tmp_path, 2000)[0]] == [False, True, False]
    assert not any(s.late for s in submissions(tmp_path)[0])


def test_the_time_is_that_of_the_clock_on_the_wall(tmp_path, at_once, capsys):
    made(tmp_path, f"anna_{MINE}")
    at = time.mktime((2026, 11, 20, 18, 0, 0, 0, 0, -1))
    for seconds, late in ((-60, False), (60, True)):
        os.utime(tmp_path / f"anna_{MINE}", (at + seconds, at + seconds))
        assert main(["grade", str(tmp_path), "--due", "2026-11-20 18:00"]) == 0
        assert ("  late" in capsys.readouterr().out) == late
    with pytest.raises(SystemExit):
        main(["grade", str(tmp_path), "--due", "Friday"])
    assert 'must be a date and time such as "2026-11-20 18:00"' in capsys.readouterr().err


def test_lessons_are_not_graded_and_are_no_students(tmp_path):
    assert main(["lessons", str(tmp_path / "anna")]) == 0
    for folder in (tmp_path / "anna", tmp_path):
        handed_in, students = submissions(folder)
        assert students == ["anna"]
        assert {s.path.parent.name for s in handed_in} == {"exercises"}


def test_a_file_of_lambdas_is_recognised_and_another_is_told(tmp_path, at_once):
    made(tmp_path, "anna.py", text="causal = lambda T: np.tri(T) > 0  # a comment\n")
    made(tmp_path, "bert.py", text="class MySoftmax: pass\nSoftmax = MySoftmax\nx = 3\n")
    made(tmp_path, "carl.py", text="def my_softmax(x):\n    y = x\n")
    made(tmp_path, "dora.ipynb", text=json.dumps({"cells": [{"source": [
        "causal = lambda T: 1\n", "ReLU = Mine"]}]}, indent=1))
    made(tmp_path, "emil.ipynb", text=json.dumps({"cells": [{"source": [
        "Mask = Mine # so\n", "x = Mask()\n", "Adam == Mask"]}]}))
    handed_in, _ = submissions(tmp_path)
    assert [(s.student, s.exercise) for s in handed_in] == [
        ("anna", "masks"), ("bert", "softmax"), ("carl", None), ("dora", "masks"),
        ("dora", "feed-forward"), ("emil", "masks")]
    rows = {row.student: row for row in grade(tmp_path)[2] if row.exercise == "masks"}
    assert rows["carl"].message == "no file for it; not recognised: carl.py defines my_softmax"
    rows = {row.student: row for row in grade(tmp_path, exercise="masks")[2]}
    assert (rows["carl"].file, rows["bert"].diagnosis) == ("carl.py", "missing")


def test_whoever_handed_in_nothing_is_on_the_list(tmp_path, at_once, capsys):
    made(tmp_path / "in", f"doejane_123_4567_{MINE}", f"John Roe/{MINE}", f"zoe_{MINE}")
    roster = tmp_path / "names.csv"
    roster.write_text('\ufeffStudent,ID\n"Doe, Jane",1\n"Roe, John",2\n"Poe, Ann",3\n', "utf-8")
    assert main(["grade", str(tmp_path / "in"), "--roster", str(roster)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  softmax")[0].strip() for line in lines[:4]] == [
        "Doe, Jane", "Roe, John", "Poe, Ann", "zoe"]
    assert "missing" in lines[2]
    assert lines[3].endswith("not on the roster")
    assert lines[4:6] == ["Doe, Jane: 1 of 1 points", "Roe, John: 1 of 1 points"]
    roster.write_bytes("Müller\n".encode("latin-1"))
    assert main(["grade", str(tmp_path / "in"), "--roster", str(roster)]) == 2
    assert "must be a CSV file in UTF-8" in capsys.readouterr().err


def test_names_are_matched_whatever_their_case_and_order(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text('"Lee, Anna Maria"\n\n张三丰\nO\'Neil Sam,x\n', "utf-8")
    students = ["annamarialee", "lee anna maria", "张三丰", "sam_oneil", "lee anna"]
    names, known = on_roster(path, students)
    assert names == ["Lee, Anna Maria", "张三丰", "O'Neil Sam"]
    assert known == dict(zip(students[:4], [names[0], names[0], names[1], names[2]]))


def test_pseudonyms_stay_the_same_and_no_name_is_in_the_table(tmp_path, at_once, capsys):
    folder = made(tmp_path / "in", f"anna_{MINE}", f"bert_{MINE}")
    argv = ["grade", str(folder), "--pseudonyms", "--feedback", str(tmp_path / "out")]
    assert main(argv) == 0
    key = (folder / "pseudonyms.csv").read_text("utf-8-sig")
    made(folder, f"carl_{MINE}")
    assert main(argv) == 0
    rows = list(csv.reader((folder / "pseudonyms.csv").read_text("utf-8-sig").splitlines()))
    assert [row[0] for row in rows] == ["anna", "bert", "carl"]
    assert {row[1] for row in rows} == {"student 001", "student 002", "student 003"}
    assert set(key.splitlines()) <= set((folder / "pseudonyms.csv").read_text(
        "utf-8-sig").splitlines())
    shown = capsys.readouterr().out + (folder / "grades.csv").read_text("utf-8-sig")
    assert not any(name in shown for name in ("anna", "bert", "carl"))
    table = list(csv.DictReader((folder / "grades.csv").read_text("utf-8-sig").splitlines()))
    assert [row["student"] for row in table] == [f"student 00{i}" for i in (1, 2, 3)]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        f"student 00{i}.{ending}" for i in (1, 2, 3) for ending in ("html", "txt")]
    assert pseudonyms(tmp_path / "other.csv", ['a "b", c']) == {'a "b", c': "student 001"}
    assert pseudonyms(tmp_path / "other.csv", ['a "b", c']) == {'a "b", c': "student 001"}


def reports(text="Softmax <3: not right yet"):
    return [dict(name="Softmax", points=0, diagnosis="sign", cause="the sign", text=text,
                 html="<p>Softmax &lt;3</p>")]


def test_feedback_is_a_page_and_a_text_for_each_student(tmp_path):
    rows = [Grade("../anna <b>", "softmax", False, 0.5, 1, "sign", "the sign", True,
                  reports=reports()),
            Grade("../anna <b>", "linear", False, 0, 1, "missing", "no file for it"),
            Grade("bert", "softmax", True, 1, 1, "right", "but line 3 stops", reports=reports())]
    write_feedback(rows, tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        ".._anna _b_.html", ".._anna _b_.txt", "bert.html", "bert.txt"]
    text = (tmp_path / ".._anna _b_.txt").read_text("utf-8")
    assert text.startswith("../anna <b>: 0.5 of 2 points\n\nsoftmax: 0.5 of 1 points; late\n=====")
    assert ("====\n\nSoftmax <3: not right yet\n\nlinear: 0 of 1 points\n=====================\n\n"
            "no file") in text
    assert "\nbut line 3 stops\n" in (tmp_path / "bert.txt").read_text("utf-8")
    page = (tmp_path / ".._anna _b_.html").read_text("utf-8")
    assert "<h1>../anna &lt;b&gt;: 0.5 of 2 points</h1>" in page
    assert "<h2>softmax: 0.5 of 1 points; late</h2>\n<p>Softmax &lt;3</p>" in page
    assert "<pre>no file for it</pre>" in page


def test_results_are_what_gradescope_expects(tmp_path):
    rows = [Grade("anna", "softmax", False, 0.5, 1, "sign", "the sign", reports=reports()),
            Grade("helper", "softmax", False, 0, 1, "missing", "no file for it")]
    result = json.loads(write_results(rows, tmp_path / "results.json").read_text("utf-8"))
    assert result == {"score": 0.5, "tests": [{"name": "softmax", "score": 0.5, "max_score": 1,
                                               "output": "Softmax <3: not right yet"}]}


def lines(text):
    return lines_of([ast.parse(text)])


def test_files_that_are_alike_are_named_and_what_is_given_does_not_count():
    other = RIGHT.replace("highest", "m").replace("total", "s").replace("# ", "# my ")
    far = source(1).replace("w * (grad", "(w) * (-grad").replace("keepdims=True", "keepdims=1")
    stub = (FOLDER / "student" / "06_multi_head.py").read_text("utf-8")
    assert lines(stub) == []
    assert len(lines(RIGHT)) >= 5
    assert lines(RIGHT) == lines(RIGHT.replace("    # ", "    # my own "))

    def rows(*texts, times=2):
        return [Grade(name, "softmax", True, 1, 1, "right", "", code=lines(text * times))
                for name, text in zip("abcde", texts)]

    assert alike(rows(RIGHT, far, RIGHT)) == [("softmax", ["a", "c"], True)]
    for times in (1, 2):
        assert alike(rows(RIGHT, other, times=times)) == [("softmax", ["a", "b"], False)]
    assert alike(rows(RIGHT, RIGHT + "def more(x):\n    return x\n")) == [
        ("softmax", ["a", "b"], False)]
    assert alike(rows(RIGHT, stub, far, stub)) == []
    assert alike([*rows(RIGHT), Grade("b", "linear", True, 1, 1, "right", "",
                                      code=lines(RIGHT * 2))]) == []


@pytest.mark.parametrize(("code", "remarks"), [
    ("import aiayn_np\ny = aiayn_np.Softmax().forward(x)", ["it takes Softmax from the package"]),
    ("from aiayn_np import Linear, Softmax as S", ["it takes Softmax from the package"]),
    ("from aiayn_np.softmax import Softmax", ["it takes Softmax from the package"]),
    ("getattr(aiayn_np, 'Softmax')", ["it takes Softmax from the package"]),
    ("import inspect as i\ni.getsource(check)", ["it reads source code by getsource"]),
    ("from inspect import getsource", ["it reads source code by getsource"]),
    ("f.__code__ = g.__code__", ["it reads source code by __code__"]),
    ("from aiayn_np import Cache, Module, Linear", []), ("class Softmax(Module): pass", []),
    ("self.Softmax = 1", []), ("print('Softmax')", []), ("# aiayn_np.Softmax", []),
])
def test_code_that_asks_the_package_is_remarked(code, remarks):
    assert asked([ast.parse(code)], ["Softmax"]) == remarks


def test_no_stub_and_no_solution_is_remarked():
    for path in [*FOLDER.glob("student/*.py"), *FOLDER.glob("source/*.py")]:
        text = path.read_text("utf-8")
        objects = [e for e in grading.EXERCISES.values() if f"{e.number:02}" == path.name[:2]]
        assert asked([ast.parse(text)], objects[0].objects) == [], path


def test_what_a_file_replaces_is_noticed(monkeypatch):
    from aiayn_course.exercises.checking import comparing, report
    before = held()
    assert replaced(before) == []
    monkeypatch.setattr(comparing, "same", lambda *_: True)
    assert replaced(before) == ["aiayn_course.exercises.checking.comparing.same"]
    monkeypatch.setattr(report.Report, "__bool__", lambda _: True)
    assert "aiayn_course.exercises.checking.report.Report.__bool__" in replaced(before)


@pytest.mark.parametrize("code", [
    "import aiayn_course.exercises.checking.layer_check as c\n"
    "c.LayerCheck.run = lambda self: None\n",
    "import numpy\nnumpy.abs = lambda x: x - x\n",
])
def test_a_check_that_was_replaced_passes_nobody(tmp_path, code):
    made(tmp_path, f"anna_{MINE}", text=code + RIGHT.replace("axis=-1", "axis=0"))
    (row,) = grade(tmp_path)[2]
    assert (row.passed, row.points, row.diagnosis) == (False, 0, "check changed")
    assert "it replaces" in row.message


@pytest.mark.parametrize(("edit", "points"), [
    (("axis=-1", "axis=0"), 0), (("return weights * (", "return 2 * weights * ("), 0.5),
    (("", ""), 1)])
def test_a_right_forward_counts_one_half(edit, points):
    names: dict = {}
    exec(RIGHT.split("# ## Is it right?")[0].replace(*edit), names)
    assert answer.look_at("Softmax", names, [], 0)["points"] == points


def test_several_at_a_time_give_the_same_table(tmp_path, monkeypatch):
    made(tmp_path, *(f"{name}_{MINE}" for name in "dcba"))

    def graded(s, exercise, *_):
        time.sleep(0.02 * ("dcba".index(s.student)))
        return Grade(s.student, exercise, True, 1, 1, "right", "")

    monkeypatch.setattr(grading, "graded", graded)
    assert [row.student for row in grade(tmp_path, jobs=4)[2]] == [*"abcd"]
    with pytest.raises(ValueError, match="jobs must be at least 1"):
        grade(tmp_path, jobs=0)


def test_an_interruption_ends_what_runs(tmp_path, monkeypatch):
    ended = []
    monkeypatch.setattr(grading, "end_all", lambda: (ended.append(len(RUNNING)), end_all()))
    made(tmp_path, f"anna_{MINE}", text=RIGHT)
    made(tmp_path, f"bert_{MINE}", f"carl_{MINE}", text="while True: pass\n")
    rows = grade(tmp_path, jobs=2)[2]
    assert next(rows).student == "anna"
    rows.close()
    assert sum(ended) > 0
    assert not RUNNING


def test_the_commonest_mistakes_are_those_of_several():
    def rows(*diagnoses):
        return [Grade(f"s{i}", "softmax", d == "right", 0, 1, d, f"why {i}")
                for i, d in enumerate(diagnoses)]

    def found(*diagnoses):
        return [(g.diagnosis, g.message, *n) for g, *n in commonest(rows(*diagnoses))]

    assert found("a", "b", "b", "right", "missing") == [("b", "why 1", 2, 3)]
    assert found("a", "c", "c", "a", "b", "b", "b") == [
        ("b", "why 4", 3, 7), ("a", "why 0", 2, 7), ("c", "why 1", 2, 7)]
    assert found("a") == found("a", "b") == found("right") == found("error", "error") == []
    assert len(found(*map(str, [*range(20), *range(20)]))) == 10
