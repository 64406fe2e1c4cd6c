"""The lessons: notebooks and sources agree, and everything that they say runs."""

import ast
import copy
import functools
import os
import re
import subprocess
import sys
from urllib.parse import unquote

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("jupytext")
pytest.importorskip("nbclient")

import build  # noqa: E402
import chinese  # noqa: E402

import aiayn_np  # noqa: E402

SECONDS = 35  # for a lesson as a script, on one core
# Lessons of minutes, or with a clock: they run as scripts.
LONG = ("01", "03", "05", "08", "10", "11", "12", "13", "14", "15")


def each_of(sources):
    return pytest.mark.parametrize("source", sources, ids=lambda path: path.stem)


lessons = each_of(build.SOURCES)
all_of_them = each_of([*build.SOURCES, *build.OTHERS])


@functools.cache
def notebook(source):
    return nbformat.read(source.with_suffix(".ipynb"), as_version=4)


def code_cells(source):
    return [cell for cell in notebook(source).cells if cell.cell_type == "code"]


def markdown(source):
    cells = notebook(source).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def text_outputs(cell):
    for output in cell.outputs:
        yield output.get("text", "") + output.get("data", {}).get("text/plain", "")


def test_new_text_keeps_the_outputs_of_the_same_code_and_of_no_other():
    before = notebook(build.SOURCES[0])
    after = build.lesson_of(build.SOURCES[0].read_text(encoding="utf-8"))
    after.cells[0]["source"] += "\nMore."
    after.cells.insert(3, nbformat.v4.new_markdown_cell("More."))
    kept = [cell for cell in build.with_outputs_of(before, after).cells if cell.cell_type == "code"]
    assert [(c.outputs, c.execution_count) for c in kept] == [
        (c.outputs, c.execution_count) for c in code_cells(build.SOURCES[0])]
    kept[3]["source"] += "  # a comment"
    build.with_outputs_of(before, after)
    kept[3]["source"] += "\nprint()"
    with pytest.raises(ValueError, match="its code has changed too"):
        build.with_outputs_of(before, after)


def test_new_pictures_are_kept_only_where_a_text_a_number_or_a_result_changed():
    before = notebook(build.SOURCES[0])            # it draws a population
    drawn = copy.deepcopy(before)
    drawn.metadata["drawn"]["populations.json 1"] = "other results"
    assert build.settled(before, drawn) is drawn
    with pytest.raises(ValueError, match="the results that it draws have changed"):
        build.with_outputs_of(before, drawn)
    again = copy.deepcopy(before)
    outputs = [output for cell in again.cells for output in cell.get("outputs", ())]
    next(o for o in outputs if "image/png" in o.get("data", {})).data["image/png"] = "other bytes"
    assert build.settled(before, copy.deepcopy(again)) == before
    again.cells[0]["source"] += "More."
    assert build.settled(before, copy.deepcopy(again)).cells[1:] == before.cells[1:]
    next(o for o in outputs if o.get("text"))["text"] += "9"
    assert build.settled(before, copy.deepcopy(again)) == again


@all_of_them
def test_the_notebook_is_that_of_its_source(source):
    want, got = build.lesson_of(source.read_text(encoding="utf-8")), notebook(source)
    assert [(c.id, c.cell_type, c.source, {**c.metadata, "given": ()}) for c in got.cells] == [
        (c.id, c.cell_type, c.source, {**c.metadata, "given": ()}) for c in want.cells]
    assert got.metadata == want.metadata


@all_of_them
def test_every_cell_has_run_in_order_without_an_error_or_a_word_on_stderr(source):
    cells = code_cells(source)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    kinds = {(o.output_type, o.get("name")) for cell in cells for o in cell.outputs}
    assert kinds <= {("stream", "stdout"), ("display_data", None), ("execute_result", None)}
    assert not any("widget" in key for c in cells for o in c.outputs for key in o.get("data", {}))


@lessons
def test_it_is_light_and_has_pictures(source):
    assert source.with_suffix(".ipynb").stat().st_size < 1e6
    outputs = [output for cell in code_cells(source) for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)


@lessons
def test_its_parts_are_those_of_every_lesson(source):
    cells, text = notebook(source).cells, markdown(source)
    number = int(source.name[:2])
    assert re.match(rf"# Lesson {number} · ", cells[0].source)
    for part in ("You will do", "You will learn", "You need", "Paper", "Time"):
        assert f"| **{part}** |" in cells[0].source
    assert cells[1].source == notebook(build.SOURCES[0]).cells[1].source   # the guarded install
    assert text.count("**Predict.**") >= 3
    assert re.findall(r"^## (\d+)\.(\d+) ", text, re.MULTILINE) == [
        (str(number), str(i + 1)) for i in range(text.count(f"\n## {number}."))]
    assert not re.search(r"\w [,;.!?](\s|$)", chinese.KEPT.sub("x", text))     # no space before it
    assert text.index("## Summary") < text.index("## Questions")
    assert text.count("<details><summary>Answer</summary>") == 3
    assert text.count("<details>") == text.count("</details>")
    assert code_cells(source)[-1].source.count("assert ") >= 3


@lessons
def test_every_decimal_number_of_the_text_is_in_a_cell_or_its_output(source):
    known = " ".join(c.source + " ".join(text_outputs(c)) for c in code_cells(source))
    text = re.sub(r"## \d+\.\d+|(?:Lesson|Section|Sec\.) [\d.]+|\$[^$]*\$|\]\(\S*\)", "",
                  markdown(source))
    for number in re.findall(r"(?<![\d.])\d+\.\d+(?![\d.])", text):
        assert number in known, f"{number} is in no cell and no output"


@lessons
def test_no_section_that_the_text_names_is_missing(source):
    headings = {m for s in build.SOURCES for m in re.findall(r"^## (\d+\.\d+)", markdown(s), re.M)}
    assert set(re.findall(r"Lesson (\d+\.\d+)", markdown(source))) <= headings


def test_the_page_names_every_lesson_and_its_questions_lead_to_sections():
    page = (build.FOLDER / "README.md").read_text(encoding="utf-8")
    assert f"./aiayn_np-{aiayn_np.__version__}-py3-none-any.whl[notebooks]" in page
    rows = re.findall(r"^\| \[(\d+) · (.*?)\]\((.*?)\) \|", page, re.MULTILINE)
    assert [name for _, _, name in rows] == [s.with_suffix(".ipynb").name for s in build.SOURCES]
    for (number, title, _), source in zip(rows, build.SOURCES):
        assert f"# Lesson {number} · {title}" in notebook(source).cells[0].source
    headings = {m for s in build.SOURCES
                for m in re.findall(r"^## (\d+\.\d+.*)", markdown(s), re.M)}
    table = page.split("## Where is my question answered?")[1].split("\n\n")[1]
    questions = re.findall(r"^\| (.*\?) \| (.*) \|$", table, re.MULTILINE)
    assert len(questions) == table.count("\n|") - 1
    for question, cells in questions:
        found = re.findall(r"\[Lesson ((\d+)\.\d+)\]\((\d+)_\w+\.ipynb#([^()\s]+)\)(?:, |$)", cells)
        assert len(found) == cells.count("](") == cells.count("Lesson ") > 0, question
        assert all(int(lesson) == int(file) for _, lesson, file, _ in found), question
        for section, *_, anchor in found:                              # as Jupyter names a heading
            assert anchor.startswith(f"{section}-")
            assert unquote(anchor).replace("-", " ") in {h.replace("-", " ") for h in headings}


@lessons
def test_source_that_a_cell_printed_is_that_of_today(source):
    tree, names = ast.parse(source.read_text(encoding="utf-8")), {}
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    exec(compile(ast.Module(imports, []), source.name, "exec"), names)
    for cell in code_cells(source):
        for shown in re.findall(r"^print\((inspect\.getsource\(.*)\)", cell.source, re.M):
            assert eval(shown, names) in "".join(text_outputs(cell)), f"build it again: {shown}"


def run_as_script(source):
    return subprocess.run([sys.executable, "-W", "error", source.name], cwd=source.parent,
                          text=True, capture_output=True, env=os.environ | build.ONE_THREAD)


@pytest.mark.slow
@each_of(build.OTHERS)                             # lessons: test_predictions.py, with their checks
def test_it_runs_as_a_script(source):
    done = run_as_script(source)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.timing
@lessons
def test_a_script_takes_no_longer_than_its_time(source):
    resource = pytest.importorskip("resource")                         # not on Windows
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run_as_script(source)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{source.stem}: {used:.1f} s")
    assert used <= SECONDS


@pytest.mark.slow
@each_of([source for source in [*build.SOURCES, *build.OTHERS] if source.name[:2] not in LONG])
@pytest.mark.filterwarnings("ignore")  # of the notebook machinery
def test_a_runner_executes_the_notebook_with_two_threads(source, monkeypatch):
    monkeypatch.setattr(build, "ONE_THREAD", dict.fromkeys(build.ONE_THREAD, "2"))
    done = build.execute(copy.deepcopy(notebook(source)))
    for before, after in zip(code_cells(source), [c for c in done.cells if c.cell_type == "code"]):
        assert [o.output_type for o in before.outputs] == [o.output_type for o in after.outputs]
