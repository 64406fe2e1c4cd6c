"""The teacher's page keeps its word, and the assignments that it makes hold what they must."""

import ast
import csv
import re
import shlex
import subprocess
import sys

import nbformat
import pytest
from solutions import FOLDER, source

from aiayn_course.cli.main import main, parsed
from aiayn_course.exercises import EXERCISES
from aiayn_course.exercises.grading.grading import LARGEST, OUTPUT, Grade
from aiayn_course.lab import EXPERIMENTS
from aiayn_course.lab.zoo import BUGS
from aiayn_np import Module

PAGE = (FOLDER / "TEACHING.md").read_text(encoding="utf-8")
PLANS = PAGE.split("## Plans")[1].split("### Find the bug")[0]
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
LESSONS = {int(path.name[:2]) for path in FOLDER.parent.glob("[0-9][0-9]_*.py")}
SLACK = 10  # minutes of a session, at least
MINUTES = {e.number: e.minutes for e in EXERCISES.values()}


def minutes(text):
    return [int(m) for m in re.findall(r"\((\d+)\)", text)]


def test_every_session_takes_90_minutes():
    one, three, ten, term = (part.split("|\n|---")[1] for part in PLANS.split("\n### ")[1:])
    assert sum(int(m) for m in re.findall(r"\| (\d+) \|$", one, re.MULTILINE)) == 90
    for plan, count in ((three, 3), (ten, 10), (term, 15)):
        rows = [row.split("|") for row in plan.splitlines() if re.match(r"\| \d", row)]
        assert [int(row[1].split()[0]) for row in rows] == list(range(1, count + 1))
        if plan is term:                                               # it has no column of slack
            assert max(sum(minutes(row[2])) for row in rows) <= 90 - SLACK
        else:
            assert [sum(minutes(row[2])) + int(row[3]) for row in rows] == [90] * count
            assert min(int(row[3]) for row in rows) >= SLACK


def test_what_the_plans_name_exists_and_takes_as_long_as_it_says():
    whole = re.findall(r"Exercise (\d+) (?:\((\d+)\)|\| (\d+))", PLANS)
    assert len(whole) > 12
    assert all(MINUTES[int(n)] == int(a or b) for n, a, b in whole)
    halves = re.findall(r"Exercise (\d+), (?:for|back)ward \((\d+)\)", PLANS)
    assert [2 * int(m) for _, m in halves] == [MINUTES[int(n)] for n, _ in halves]
    for plan in PLANS.split("### Ten sessions")[1].split("### One term"):
        assert {int(n) for n in re.findall(r"Exercise (\d+)", plan)} == set(MINUTES)
        assert {int(n) for n in re.findall(r"Lesson (\d+)", plan)} == LESSONS
    assert {int(n) for n in re.findall(r"[Bb]ug (\d+)", PLANS)} <= set(BUGS)
    assert set(re.findall(r"`(\w+)`", PLANS)) - {"train_with"} <= set(EXPERIMENTS)


def test_the_planted_bug_is_found(capsys):
    exec(EXAMPLES[0], {})
    assert "WRONG" in capsys.readouterr().out.upper()


def test_the_test_for_other_graders_passes_the_right_answer_alone():
    answer = {}
    exec(source(1), answer)
    exec(EXAMPLES[1], answer)
    with pytest.raises(AssertionError, match=r"Softmax: not (written|right) yet"):
        exec(EXAMPLES[1], {"Softmax": type("Softmax", (Module,), {})})


def test_figures_are_those_of_the_code():
    assert f"{OUTPUT:,} bytes".replace(",", " ") in PAGE
    assert f"larger than {LARGEST // 10**6} MB" in PAGE
    args = parsed(["grade", "x"])
    assert f"`--timeout`, {args.timeout} seconds" in PAGE
    assert f"`--memory`, {args.memory} MB" in PAGE


def test_the_commands_that_grade_do_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in re.findall(r"^answers/(\S+)  ", PAGE, re.MULTILINE):
        path = tmp_path / "answers" / name.replace(".ipynb", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source(1))
    (tmp_path / "answers/anna/02_layer_norm.py").write_text(source(2))
    (tmp_path / "answers/anna/softmax.py").write_text(source(1))
    lines = re.findall(r"^aiayn-np (grade .*)", PAGE, re.MULTILINE)
    assert len(lines) == 2
    for line in lines:
        assert main(shlex.split(line)) == 0
    with open("answers/grades.csv", encoding="utf-8-sig", newline="") as file:
        rows = [(row["student"], row["exercise"], row["diagnosis"]) for row in csv.DictReader(file)]
    assert sorted(rows) == [("anna", "", "missing"), ("anna", "layer norm", "right"),
                            ("anna", "softmax", "right"), ("bert", "softmax", "right")]
    columns = re.search(r"grades.csv`: ([\w,\s]*)\.", PAGE)[1]
    assert tuple(re.split(r",\s+", columns)) == Grade._fields


@pytest.fixture
def made(tmp_path):
    """Make the notebook of an exercise for a program."""
    def make(*words):
        command = [sys.executable, str(FOLDER / "assignment.py"), *words, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return nbformat.read(done.stdout.strip(), 4)
    return make


@pytest.mark.slow
def test_an_assignment_for_nbgrader_has_marks_and_points(made):
    cells = made("nbgrader", "05").cells
    kinds = [cell.metadata.nbgrader for cell in cells]
    names = [k.grade_id for k in kinds if k.grade]
    assert names == ["test-causal", "test-not_padding", "test-Mask"]
    assert all(k.locked != k.solution for k in kinds)
    assert all(k.points == 1 for k in kinds if k.grade)
    (own,) = [cell.source for cell, k in zip(cells, kinds) if k.solution]
    assert own.count("### BEGIN SOLUTION") == own.count("### END SOLUTION") == 4
    assert "### solution" not in own
    ast.parse(own)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["nbgrader", "otter"])
def test_a_chinese_assignment_has_the_cells_of_the_english_one_and_speaks_chinese(made, kind):
    english, ours = made(kind, "05").cells, made("--zh", kind, "05").cells
    cells = [cell for cell in ours if "AIAYN_LANG" not in cell.source]
    assert len(cells) == len(ours) - 1
    assert [cell.cell_type for cell in cells] == [cell.cell_type for cell in english]
    assert all(("掩蔽" in cell.source) == (cell.cell_type == "markdown" or "def " in cell.source)
               for cell in cells)


@pytest.mark.slow
def test_an_assignment_for_otter_is_a_question_with_tests(made):
    cells = made("otter", "05").cells
    raw = [cell.source.splitlines()[0] for cell in cells if cell.cell_type == "raw"]
    assert raw == ["# ASSIGNMENT CONFIG", "# BEGIN QUESTION", "# BEGIN SOLUTION", "# END SOLUTION",
                   "# BEGIN TESTS", "# END TESTS", "# END QUESTION"]
    own = next(cell.source for cell in cells if "class Mask" in cell.source)
    assert own.count('""" # BEGIN PROMPT') == own.count("# END SOLUTION") == 4
    tests = [cell.source for cell in cells if cell.source.startswith("report =")]
    assert [test.splitlines()[0] for test in tests] == [
        f"report = check({name})" for name in EXERCISES["masks"].objects]
