"""What students get: made from the sources, complete, and described as it is."""

import ast
import importlib.util
import re

import numpy as np
import pytest
from solutions import FOLDER, run

import aiayn_np
from aiayn_course.exercises import EXERCISES

jupytext = pytest.importorskip("jupytext")
nbformat = pytest.importorskip("nbformat")

SPEC = importlib.util.spec_from_file_location("build_exercises", FOLDER / "build.py")
build = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(build)

PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")
every_source = pytest.mark.parametrize("source", build.SOURCES, ids=lambda path: path.stem)
every_source_of_both = pytest.mark.parametrize(
    "source", [*build.SOURCES, *build.CHINESE],
    ids=lambda path: path.relative_to(FOLDER / "source").as_posix())


def test_every_exercise_has_a_source_and_nothing_else_is_there():
    assert [build.exercise_of(s) for s in build.SOURCES] == list(EXERCISES.values())
    made = {path.name for s in build.SOURCES for path in build.student_files(s)}
    assert {p.name for p in (FOLDER / "student").iterdir() if p.is_file()} == made
    made = {path.name for s in build.CHINESE for path in build.student_files(s)}
    assert {path.name for path in (FOLDER / "student" / "zh").iterdir()} == made


@pytest.mark.parametrize("source", build.CHINESE, ids=lambda path: path.stem)
def test_a_chinese_exercise_is_in_step_with_the_english_one(source):
    english, ours = (path.read_text(encoding="utf-8")
                     for path in (build.english_of(source), source))
    assert not build.chinese.faults(english, ours)
    assert not build.chinese.two_ways(ours)
    assert build.chinese.CODE in ours                                  # comments and docstrings too


def test_the_chinese_head_of_the_exercises_is_in_step_with_the_english_one():
    english, ours = (path.read_text(encoding="utf-8") for path in build.HEAD)
    marks = {build.chinese.mark(cell): cell for cell in build.chinese.texts_of(english)}
    found = build.chinese.pieces(ours)
    assert not build.chinese.order_faults(marks, [line for line, _ in found[:-1]])
    assert not build.chinese.two_ways(ours)
    assert all(theirs in english for theirs, _ in build.chinese.pairs(dict(found)))


def test_every_exercise_has_a_chinese_source():
    names = {source.stem for source in build.SOURCES} | {"find_the_bug"}
    assert {source.stem for source in build.CHINESE} == names


@every_source_of_both
def test_what_students_get_is_what_the_source_makes(source):
    for path, text in build.student_files(source).items():
        assert path.read_text(encoding="utf-8") == text, f"build it: {path}"


@every_source
def test_the_notebook_is_the_script_and_has_not_been_run(source):
    notebook = nbformat.reads(build.student_notebook(source), as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    script = build.student_text(source)
    assert all(cell.source in script for cell in code)
    assert "check(" in code[-2].source
    is_part = build.exercise_of(source).number < 14                    # of a model
    assert ("train_with(" in code[-1].source) == is_part


@every_source_of_both
def test_an_exercise_explains_its_hints_and_has_numbers_to_try_that_are_right(source):
    if source.stem == "find_the_bug":
        return
    text = build.student_text(source)
    assert all(f"hint={n}" in text for n in (1, 2, 3))
    text = re.sub(r"\n# ?", " ", text)
    tried = re.findall(r"`([^`]+)` (?:must give|应得到) `([^`]+)`", text)
    assert tried
    names = run(re.split(r"# %% \[markdown\]\n# ## (?:Is it right|写对了吗)",
                         build.text_of(source))[0])
    for code, value in tried:
        *lines, last = ast.parse(code).body
        exec(compile(ast.Module(lines, []), "<try>", "exec"), names)
        got = eval(compile(ast.Expression(last.value), "<try>", "eval"), names)
        want = eval(value, dict(np=np))
        assert np.shape(got) == np.shape(want), code
        assert np.allclose(got, want, atol=1e-4, rtol=0), code


def test_the_line_that_needs_the_package_says_how_to_install_it(monkeypatch):
    for address, says in (("", "README.md of the lessons says"),
                          ("https://example.org/x", "%pip install git+https://example.org/x")):
        monkeypatch.setattr(build, "repository", lambda address=address: address)
        assert f"import aiayn_np  # if this fails: {says}" in build.student_text(build.SOURCES[0])


@every_source
def test_a_stub_imports_what_its_text_uses(source):
    """Roots of dotted names, and names of the library, in the text between backticks."""
    text = build.student_text(source)
    pieces = re.findall(r"`([^`\n]+)`", text)
    used = {name for piece in pieces for name in re.findall(r"\b(np|math)\.", piece)}
    used |= {name for piece in pieces for name in re.findall(r"\b[A-Za-z]\w*", piece)
             if callable(getattr(aiayn_np, name, None))}
    names = run(text.split("# %% [markdown]\n# ## Is it right?")[0])
    assert not used - set(names)
    assert "np" in names


def test_the_page_lists_every_exercise():
    rows = re.findall(r"^\| \[(\d+) · (.*?)\]\((.*?)\) \| (.*?) \| (\d+) \| (.*?) \| (.*?) \|$",
                      PAGE, re.MULTILINE)
    assert [int(number) for number, *_ in rows] == [3, 7, 1, 2, 4, 5, 6, *range(8, 19)]
    assert sorted(rows, key=lambda row: int(row[0])) == [
        (str(e.number), e.title, f"student/{source.stem}.ipynb",
         ", ".join(f"`{name}`" for name in e.objects), str(e.minutes), e.lesson, e.section)
        for e, source in zip(EXERCISES.values(), build.SOURCES)
    ]


@pytest.mark.parametrize(("name", "language"), [("README.md", "en"), ("README.zh.md", "zh")])
def test_the_example_of_the_page_prints_what_it_shows(name, language, capsys, monkeypatch):
    monkeypatch.setenv("AIAYN_LANG", language)
    page = (FOLDER / name).read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)[1]
    shown = re.search(r"```text\n(.*?)```", page, re.DOTALL)[1]
    run(code)
    assert capsys.readouterr().out == shown
