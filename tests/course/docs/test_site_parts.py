"""What the site is made from: no section of the paper, no name and no bug is left out."""

import re
import subprocess
import sys

import pytest
from pages import ROOT

sys.path.append(str(ROOT / "docs"))

import generate
import make_zoo_page

from aiayn_course.lab.zoo import BUGS
from aiayn_course.lab.zoo.bug import PAPER as OF_THE_PAPER

PAPER = ROOT / "docs" / "paper"


def test_every_bug_has_its_wrong_lines_beside_the_right_ones():
    page = make_zoo_page.page(generate.table_rows(*generate.TRAINED))
    sections = re.split(r"^\(bug-\d+\)=$", page, flags=re.MULTILINE)
    assert len(sections) == 1 + len(BUGS)
    for bug, section in zip(BUGS.values(), sections[1:]):
        assert bug.name in section
        assert bug.caught_by in section
        differ = section.split("```diff\n")[1].split("\n```")[0]
        assert re.search("^[+-]", differ, re.MULTILINE)
        assert ("Trained with it, " in section) == (bug.number <= OF_THE_PAPER)


def cell(kind, number, source, **more):
    return dict(cell_type=kind, id=str(number), source=source, **more)


def test_what_answers_a_prediction_is_hidden_until_a_click():
    cells = [cell("markdown", 0, "# Lesson"), cell("code", 1, "first()"),
             cell("markdown", 2, "> **Predict.** How many?"), cell("code", 3, "second()"),
             cell("markdown", 4, "Three.")]
    answers = [dict(c, outputs=[f"out {c['id']}"]) if c["cell_type"] == "code" else c
               for c in cells]
    page = generate.lesson_page(dict(cells=answers), dict(cells=cells), "links")["cells"]
    assert [c["source"] for c in page] == ["# Lesson", "links", "first()",
                                           "> **Predict.** How many?", "second()", "Three."]
    assert [c["metadata"]["tags"] for c in page if c["cell_type"] == "code"] == [
        [], ["hide-output"]]
    assert page[4]["outputs"] == ["out 3"]


def test_a_lesson_holds_the_live_pages_that_it_links_to(tmp_path, monkeypatch):
    monkeypatch.setattr(generate, "DOCS", tmp_path)
    said = "Open [the `3 1 4`](../../docs/live/copy.html#src=3&layer=1) or [x](../other.md)."
    assert generate.frames(said, "../") == ""                          # it was not made
    (tmp_path / "live").mkdir()
    (tmp_path / "live" / "copy.html").touch()
    assert generate.frames(said, "../").split("\n\n")[1:] == [
        '<details class="live"><summary>the 3 1 4</summary><iframe title="the 3 1 4"'
        ' data-src="../../live/copy.html#src=3&layer=1"></iframe></details>']


@pytest.mark.parametrize(("page", "other"), [
    ("pages/variants", "pages/zh/variants"), ("zh/paper/softmax", "paper/softmax"),
    ("pages/symbols", "zh/symbols"), ("pages/zoo", "zh/index"), ("zh/glossary", "index"),
])
def test_the_same_page_in_the_other_language_is_found_where_it_stands(page, other):
    twin = pytest.importorskip("site_chinese").twin
    pages = {page, other, "index", "zh/index"}
    assert twin(page, pages) == other
    if other not in ("index", "zh/index"):
        assert twin(other, pages) == page


def test_a_script_that_takes_pictures_says_in_one_line_what_to_install(tmp_path):
    blocked = "import sys, runpy; sys.modules['playwright'] = None; runpy.run_path(sys.argv[1])"
    run = subprocess.run([sys.executable, "-c", blocked, ROOT / "docs" / "draw_live_page.py"],
                         cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 1
    assert re.fullmatch("draw_live_page.py: .*; pip install playwright pillow\n", run.stderr)
