"""The exercises in Chinese: every text has its Chinese one, and no report is half in English."""

import io
import re
import sys

import pytest
from chinese import HAN, NARROW, UNSPACED, plain, two_ways
from right_answers import RIGHT
from said import texts
from solutions import answer, edited, run
from test_exercises import IMPORTS
from test_exercises_mistakes import STAGES
from wrong_answers import WRONG, WRONG_OTHERWISE

from aiayn_course.cli.main import main
from aiayn_course.exercises import Report, check, train_with
from aiayn_course.exercises.exercise import SUBJECTS
from aiayn_course.exercises.grading.grading import grade
from aiayn_course.exercises.language import (
    FIELD,
    catalogue,
    listed,
    say,
    say_name,
    speaking,
    wrapped,
)
from aiayn_course.exercises.mystery import STATEMENTS, guess, hint, reveal
from aiayn_np.text.columns import width

# Three words in a row, or one that only a sentence has.
ENGLISH = re.compile(r"[A-Za-z]{2,}(?: [A-Za-z]{2,}){2,}"
                     r"|(?<![\w-])(?:[Tt]he|is|are|must|not|of|it)(?![\w-])")
QUOTED = re.compile(r"`[^`]*`|<code>.*?</code>|“[^”]*”|(?: *(?:True|False|nan))+")  # code, names
NOT_FULL = re.compile(rf"{HAN}[()]|[()]{HAN}|(?<!\w)\(\{{\w+\}}\)")
LOCALE = "AIAYN_LANG", "LC_ALL", "LC_MESSAGES", "LANG"
IN_FORWARD = ("return y, Cache", "return 2 * y, Cache")


def english_in(text):
    """The English sentences in a Chinese text."""
    return ENGLISH.findall(QUOTED.sub("x", text))


def test_every_text_has_a_chinese_one_and_none_is_left_over():
    said = set(texts())
    assert sorted(said - set(catalogue())) == []
    assert sorted(set(catalogue()) - said) == []


def test_what_is_inserted_has_the_same_names_in_both_languages():
    assert [text for text, chinese in catalogue().items()
            if set(FIELD.findall(text)) != set(FIELD.findall(chinese))] == []


def test_chinese_is_written_as_chinese_is():
    faults = []
    for text, chinese in catalogue().items():
        written = plain(FIELD.sub("", chinese))
        faults += [(text, found.group()) for pattern, where in (
            (UNSPACED, written), (NARROW, written), (NOT_FULL, plain(chinese)))
                   for found in pattern.finditer(where)]
        faults += [(text, fault) for fault in two_ways(chinese)]
        if not re.search(rf"{HAN}|[\u3001-\u3011\uff01-\uff1f]", chinese):
            faults.append((text, "no Chinese"))
    assert faults == []


def test_code_in_hints_is_the_same_in_both_languages():
    """Every line of code, and every name with an underscore, a dot or a bracket."""
    def code(text):
        found = re.findall(r"\w*[_.]\w+(?:\(\))?|`[^`]+`", FIELD.sub("x", text))
        return sorted({*found} - {"`x`", "`aiayn-np zoo`"})

    assert [text for text, chinese in catalogue().items() if code(text) != code(chinese)] == []


@pytest.mark.parametrize(("name", "stage"), STAGES)
def test_every_name_of_a_mistake_is_chinese(name, stage):
    formula = SUBJECTS[name].formulas[stage]
    keys = {edit.key for edit in formula.all_edits}
    with speaking("zh"):
        assert [key for key in keys if not re.search(HAN, say_name(key))] == []


def reports(wrong, otherwise):
    """Reports in Chinese on wrong answers, with a hint each."""
    for i, (_, name, _, *edits) in enumerate(wrong):
        number = SUBJECTS[name].exercise.number
        yield check(answer(number, name, *edits), hint=i % 4, language="zh")
    for key, _, *edits in otherwise:
        name, text = RIGHT[key]
        yield check(run(IMPORTS + edited(text, edits))[name], language="zh")


def must_be_chinese(report):
    assert re.search(HAN, say_name_in_chinese(report.diagnosis)), report.diagnosis
    assert "：还不对。" in str(report).splitlines()[0]
    for text in (report.message, report.where + report.question, *report.hints):
        assert re.search(HAN, text), report
    for text in (str(report), report.message, *report.hints, report._repr_html_()):
        assert english_in(text) == [], text


def say_name_in_chinese(name):
    with speaking("zh"):
        return say_name(name)


def test_reports_on_some_wrong_answers_are_chinese():
    for report in reports(WRONG[::15], WRONG_OTHERWISE[::15]):
        must_be_chinese(report)


@pytest.mark.slow
def test_reports_on_all_wrong_answers_are_chinese():
    for report in reports(WRONG, WRONG_OTHERWISE):
        must_be_chinese(report)


def test_a_report_is_printed_where_only_ascii_can_be(monkeypatch):
    """As with LC_ALL=C: letters that cannot be written become "?", and nothing raises."""
    report = Report("softmax", "Softmax", False, "wrong", "Divide by √d_k.", [], language="en")
    assert "√" in str(report)
    out = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", out)
    print(report, flush=True)
    assert out.buffer.getvalue().decode("ascii").splitlines()[1] == "Divide by ?d_k."


def test_find_the_bug_is_chinese():
    with speaking("zh"):
        said = [*STATEMENTS.values(), *(repr(guess(n, "V")) for n in range(14)),
                *(hint(n, stage) for n in range(14) for stage in (1, 2, 3)),
                *(reveal(n) for n in range(14))]
    assert [text for text in said if not re.search(HAN, text) or english_in(text)] == []
    assert repr(guess(0, "V", language="zh")) == "不对：它确实有错。"
    letter = next(k for k, s in STATEMENTS.items() if s == "residual branch missing in backward")
    assert repr(guess(0, letter, language="zh")).startswith("对了：反向传播里缺少残差这一支。")
    assert STATEMENTS["V"] == "nothing: it is healthy"


@pytest.mark.parametrize("edits", [(), [("return y, Cache", "return y + 1e-3, Cache")],
                                   [("y = x @ self.W.value", "y = x @ self.V.value")]])
def test_training_with_a_students_layer_is_told_in_chinese(edits):
    report = train_with(answer(3, "Linear", *edits), steps=2, language="zh")
    assert bool(report) == (not edits)
    for line in str(report).splitlines():
        assert re.search(HAN, line)
        assert english_in(line) == []


def test_a_grade_is_told_in_chinese_and_its_names_stay(tmp_path):
    (tmp_path / "anna").mkdir()
    (tmp_path / "anna" / "03_linear.py").write_text(
        "from aiayn_np import Module\nclass Linear(Module):\n"
        "    def __init__(self, *sizes, **options): pass\n")
    (tmp_path / "anna" / "05_masks.py").write_text("import nothing_of_this_name\n")
    with speaking("zh"):
        linear, masks = grade(tmp_path)
    assert (linear.exercise, linear.diagnosis, masks.diagnosis) == (
        "linear", "parameters", "missing")
    assert linear.message == ("Linear 的参数应为：W (4, 5), b (5,)；现在为：无。"
                              "__init__ 保持模板里的样子。")
    assert masks.message.startswith("文件里没有定义 causal；第 1 行出错：`ModuleNotFoundError")


def test_the_table_of_grades_is_printed_in_chinese(tmp_path, monkeypatch, capsys):
    for name in ("anna", "bert"):
        (tmp_path / f"{name}_03_linear.py").write_text("import os\nos._exit(3)\n")
    (tmp_path / "张三丰_03_linear.py").write_text("def Linear(:\n")
    monkeypatch.setenv("AIAYN_LANG", "zh")
    assert main(["grade", str(tmp_path), "--seed", "3"]) == 0
    first, _, second, last, path = capsys.readouterr().out.splitlines()
    ended = r"anna_03_linear.py    线性映射  未通过  中途退出 +\d+\.\d s  还没有检验，.* 3。"
    assert re.fullmatch(ended, first)
    wrong = r"张三丰_03_linear.py  线性映射  未通过  缺少 +\d+\.\d s  .*SyntaxError"
    assert re.match(wrong, second)
    assert last == "3 份答案中通过 0 份，随机种子 3"
    assert (tmp_path / "grades.csv").read_text(encoding="utf-8-sig").startswith("student,exercise,")
    assert path == str(tmp_path / "grades.csv")


@pytest.fixture
def locale(monkeypatch):
    """Set the variables of the environment that choose a language, and no others."""
    def choose(**values):
        for name in LOCALE:
            monkeypatch.delenv(name, raising=False)
        for name, value in values.items():
            monkeypatch.setenv(name, value)
    return choose


@pytest.mark.parametrize(("values", "chinese"), [
    ({}, False), (dict(LANG="zh_CN.UTF-8"), True), (dict(LANG="en_US.UTF-8"), False),
    (dict(LC_ALL="C", LANG="zh_CN.UTF-8"), False), (dict(LC_MESSAGES="zh_TW", LANG="C"), True),
    (dict(AIAYN_LANG="en", LC_ALL="zh_CN.UTF-8"), False), (dict(AIAYN_LANG="zh", LANG="C"), True),
    (dict(AIAYN_LANG="", LANG="zh_CN"), True),
])
def test_the_environment_chooses_the_language(locale, values, chinese):
    locale(**values)
    text = str(check(answer(3, "Linear", IN_FORWARD)))
    assert bool(re.search(HAN, text)) == chinese


def test_the_argument_goes_before_the_environment(locale):
    student = answer(3, "Linear", IN_FORWARD)
    for value, other in (("zh", "en"), ("en", "zh")):
        locale(AIAYN_LANG=value)
        report = check(student, language=other)
        assert bool(re.search(HAN, str(report))) == (other == "zh")
    locale()
    assert str(check(student, language="en")) == str(check(student))


def test_a_report_keeps_its_language():
    report = check(answer(3, "Linear", IN_FORWARD), hint=1, language="zh")
    assert report.language == "zh"
    assert report.diagnosis == "factor"
    assert report.table[0].verdict == "WRONG"
    assert re.search("输出 +错", str(report))
    assert "<td>输出</td><td>错</td>" in report._repr_html_()
    with speaking("zh"):
        assert Report("e", "S", True, "right", "", []).language == "zh"


@pytest.mark.parametrize("function", [
    lambda name: check(answer(3, "Linear"), language=name),
    lambda name: train_with(answer(3, "Linear"), language=name),
    lambda name: guess(0, "A", language=name),
    lambda name: hint(0, language=name), lambda name: reveal(0, language=name),
], ids=["check", "train_with", "guess", "hint", "reveal"])
def test_another_language_is_refused(function):
    with pytest.raises(ValueError, match="language must be en or zh, got 'fr'"):
        function("fr")


def test_errors_of_the_student_are_told_in_chinese():
    for call, words in ((lambda: check(3, language="zh"), "student 应为类或函数本身"),
                        (lambda: check(print, language="zh"), "student 应为类或函数本身"),
                        (lambda: check(answer(3, "Linear"), hint=9, language="zh"), "hint 应为"),
                        (lambda: train_with(language="zh"), "students 至少要有"),
                        (lambda: hint(0, 4, language="zh"), "stage 应为")):
        with pytest.raises((TypeError, ValueError), match=words):
            call()


def test_names_are_inserted_once_and_code_stays_as_it_is():
    assert say("{name}: {message}", name="{message}", message="{name}") == "{message}: {name}"
    assert say("{a} and {b}", a=1) == "1 and {b}"
    with speaking("zh"):
        assert say("{name}: {message}", name="f", message="`x ， y` ， 好 的") == (
            "f：`x ， y`，好的")
        assert say("a text without a Chinese one") == "a text without a Chinese one"
        assert listed(["甲", "乙", "丙"]) == "甲、乙和丙"
        assert listed(["a", "b"]) == "a 和 b"
    assert listed(["a", "b", "c"]) == "a, b and c"


def test_lines_of_chinese_are_no_wider_than_those_of_english():
    text = "".join("（掩蔽）是 `causal(T)`，" for _ in range(40))
    with speaking("zh"):
        lines = wrapped(text)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert max(map(width, lines)) <= 100 <= max(map(width, lines)) + 12
    assert not [line for line in lines if line[0] in "，。）" or line[-1] in "（"]


def test_no_formula_of_a_hint_is_broken():
    """What stands between Chinese words: a formula, or code."""
    broken = []
    with speaking("zh"):
        for text in catalogue().values():
            lines = wrapped(say("Hint {number} of {last}: {hint}", number=3, last=3, hint=text))
            assert max(map(width, lines)) <= 100
            formulas = [found for line in text.splitlines()
                        for found in re.findall(r"[ -~]*=[ -~]*", line)]
            broken += [f for f in formulas if not any(f.strip() in line for line in lines)]
    assert broken == []
