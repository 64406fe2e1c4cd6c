"""One short test for each part of the course; `pytest tests/course` has the others."""

import re
import sys
from types import ModuleType

from solutions import answer

from aiayn_course import drawings
from aiayn_course.cli.main import COMMANDS, main, parser
from aiayn_course.data.chinese_phrases import chinese_phrases
from aiayn_course.data.number_words import number_words
from aiayn_course.exercises import check
from aiayn_course.lab import AGREES, EXPERIMENTS
from aiayn_course.lab.zoo import BUGS
from aiayn_np import masking
from aiayn_np.cli.parser import COMMANDS as PAPER


def test_the_check_passes_a_right_answer_and_refuses_a_wrong_one():
    assert check(answer(1, "Softmax")).passed
    report = check(answer(1, "Softmax", ("exp_scores.sum(axis=-1", "exp_scores.sum(axis=-2")))
    assert not report.passed
    assert report.message


def test_the_laboratory_measures_a_claim():
    result = EXPERIMENTS["embedding_scale"].run()
    assert result.verdict == AGREES
    assert result.finding


def test_a_planted_bug_reaches_functions_in_both_packages(monkeypatch):
    right = masking.causal
    modules = [ModuleType("aiayn_np.reached"), ModuleType("aiayn_course.reached")]
    for module in modules:
        module.causal = right
        monkeypatch.setitem(sys.modules, module.__name__, module)
    with BUGS[17].plant():
        assert all(module.causal is not right for module in modules)
    assert all(module.causal is right for module in modules)


def test_a_page_is_written_for_a_run(run, tmp_path):
    assert main(["explore", str(run), "1 2", "--out", str(tmp_path / "page.html")]) == 0
    assert "Content-Security-Policy" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_lessons_and_exercises_are_written(tmp_path):
    assert main(["exercises", str(tmp_path / "answers")]) == 0
    assert (tmp_path / "answers" / "01_softmax.ipynb").is_file()


def test_the_small_corpora_are_there():
    for parts in (number_words(), chinese_phrases()):
        assert all(len(part) > 0 for part in parts)


def test_a_drawing_is_drawn():
    assert drawings.figure_2().axes


def test_the_command_has_the_commands_of_both_packages():
    names = [name for _, commands in PAPER + COMMANDS for name, *_ in commands]
    assert list(dict.fromkeys(name.split()[0] for name in parser()[1])) == names
    assert re.search(r",\s+".join(EXPERIMENTS), parser()[1]["figures"].format_help())
