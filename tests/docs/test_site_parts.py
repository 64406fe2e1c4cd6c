"""What the site is made from: no section of the paper, no name and no bug is left out."""

import inspect
import re
import sys

from pages import ROOT

sys.path.append(str(ROOT / "docs"))

import check_links
import generate

import aiayn_np
from aiayn_np.plotting.live import LESSONS
from aiayn_np.zoo import BUGS
from aiayn_np.zoo.bug import PAPER as OF_THE_PAPER

PAPER = ROOT / "docs" / "paper"


def test_every_public_name_is_in_the_reference(tmp_path, monkeypatch):
    monkeypatch.setattr(generate, "OUT", tmp_path)
    generate.api()
    pages = "\n".join(path.read_text(encoding="utf-8") for path in tmp_path.glob("api/*.rst"))
    documented = set(re.findall(r"^\.\. auto(?:class|function):: (\S+)$", pages, re.MULTILINE))
    assert {f"aiayn_np.{name}" for name, thing in vars(aiayn_np).items()
            if inspect.isclass(thing) or inspect.isfunction(thing)} <= documented
    assert {"aiayn_np.zoo.hunt", "aiayn_np.exercises.check", "aiayn_np.pretrained.load_gpt2",
            "aiayn_np.variants.norms.RMSNorm", "aiayn_np.text.batches.Batches"} <= documented
    assert {f"aiayn_np.checks.{n}" for n in vars(aiayn_np.checks) if n.startswith("check_")
            } <= documented


def test_every_bug_has_its_wrong_lines_beside_the_right_ones():
    sections = re.split(r"^\(bug-\d+\)=$", generate.zoo(), flags=re.MULTILINE)
    assert len(sections) == 1 + len(BUGS) == 39
    for bug, section in zip(BUGS.values(), sections[1:]):
        assert bug.name in section
        assert bug.caught_by in section
        assert section.count(":emphasize-lines:") >= 1
        assert section.count(":caption: ") == 2
        assert ("Trained with it, the model " in section) == (bug.number <= OF_THE_PAPER)


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


def test_the_lessons_that_live_pages_name_are_pages():
    assert set(LESSONS.values()) <= {stem for stem, _ in generate.lesson_pages().values()}


def test_dead_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#here">x</a> <a href="https://x.org">y</a>'
                                     ' <a href="sub/">z</a> <img src="data:,"> <a href="#">t</a>')
    (tmp_path / "b.html").write_text('<h1 id="here">x</h1><a href="a.html">y</a>')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "index.html").write_text('<a href="../b.html">x</a>')
    assert check_links.dead_links(tmp_path) == []
    (tmp_path / "c.html").write_text('<a href="gone.html">x</a><img src="gone.png">'
                                     '<a href="b.html#gone">y</a><a href="#gone">z</a>')
    assert [link for _, link in check_links.dead_links(tmp_path)] == [
        "gone.html", "gone.png", "b.html#gone", "#gone"]
