"""What the site is made from: no section of the paper, no name and no bug is left out."""

import inspect
import re
import sys

import pytest
from pages import ROOT

sys.path.append(str(ROOT / "docs"))

import check_links
import generate

import aiayn_np
from aiayn_np.plotting.live import LESSONS
from aiayn_np.zoo import BUGS

PAPER = ROOT / "docs" / "paper"


def test_every_section_equation_figure_and_table_of_the_paper_has_its_page():
    table = [line.split("|")[1:] for line in (PAPER / "index.md").read_text(
        encoding="utf-8").splitlines() if line.startswith("| ")][1:]
    named = {part for row in table for part in re.split(r", ", row[0].strip())}
    named = {part.replace(" left", "").replace(" right", "") for part in named}
    assert named == {
        "1", "2", "3", "3.1", "3.2", "3.2.1", "3.2.2", "3.2.3", "3.3", "3.4", "3.5", "4", "5",
        "5.1", "5.2", "5.3", "5.4", "6", "6.1", "6.2", "6.3", "7",
        *(f"Eq. {i}" for i in range(1, 4)), *(f"Fig. {i}" for i in range(1, 6)),
        *(f"Table {i}" for i in range(1, 5))}
    linked = {page for row in table for page in re.findall(r"\((\w+\.md)\)", row[2])}
    assert linked == {path.name for path in PAPER.glob("*.md")} - {"index.md"}


@pytest.mark.parametrize("page", ["softmax", "attention", "linear", "layer_norm", "feed_forward",
                                  "embedding", "loss", "multi_head", "adam", "positions",
                                  "dropout", "stacks", "three_uses"])
def test_a_page_of_a_layer_has_its_class_a_derivation_and_an_example(page):
    text = (PAPER / f"{page}.md").read_text(encoding="utf-8")
    assert "```{layer} " in text
    assert "\n## Worked example" in text
    assert "```{code-cell}" in text
    assert text.count("$") >= 20
    assert page == "adam" or "check_gradients(" in text


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
    assert len(sections) == 1 + len(BUGS) == 33
    for bug, section in zip(BUGS.values(), sections[1:]):
        assert bug.name in section
        assert bug.caught_by in section
        assert section.count(":emphasize-lines:") >= 1
        assert section.count(":caption: ") == 2
        assert "Trained with it, the model " in section


def test_lines_that_differ_are_marked_on_both_sides():
    text = generate.beside("a\nb\nc", "a\nx\ny\nc")
    assert re.findall(r":emphasize-lines: (.*)", text) == ["2", "2,3"]


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


def test_slides_and_live_pages_are_linked_where_they_were_made(tmp_path, monkeypatch):
    monkeypatch.setattr(generate, "OUT", tmp_path)
    assert "../slides" not in generate.downloads("01_x")
    assert "href" not in generate.live()
    for name in ("slides/01_x.html", "live/copy.html"):
        generate.write(f"extra/{name}", "made")
    assert 'href="../slides/01_x.html"' in generate.downloads("01_x")
    assert "../slides" not in generate.downloads("02_y")
    assert 'href="../live/copy.html"' in generate.live()
    assert "reverse.html" not in generate.live()


def test_fonts_of_slides_are_one_file_for_all(tmp_path, monkeypatch):
    monkeypatch.setattr(generate, "OUT", tmp_path / "out")
    monkeypatch.setattr(generate, "DOCS", tmp_path)
    (tmp_path / "slides").mkdir()
    for name in "ab":
        (tmp_path / "slides" / f"{name}.html").write_text("x url(data:font/woff;base64,QUJD) y")
    generate.extras()
    made = tmp_path / "out" / "extra" / "slides"
    (font,) = made.glob("*.woff")
    assert font.read_bytes() == b"ABC"
    for name in "ab":
        assert (made / f"{name}.html").read_text() == f"x url({font.name}) y"


def test_the_lessons_that_live_pages_name_are_pages():
    assert set(LESSONS.values()) <= {stem for stem, _ in generate.lesson_pages().values()}


def test_links_between_pages_lead_to_pages_of_the_site_and_others_become_text(tmp_path):
    text = generate.relinked("[a](../figures/README.md#x) [b](student.py) [c](https://x.org)"
                             " [d](01_attention_is_a_soft_look_up.ipynb)", "notebooks")
    assert text == ("[a](gallery.md#x) b (`notebooks/student.py`) [c](https://x.org)"
                    " [d](01_attention_is_a_soft_look_up.ipynb)")


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


def test_katex_comes_along_with_its_license_and_is_small():
    folder = ROOT / "docs" / "_static" / "katex"
    assert "MIT License" in (folder / "LICENSE").read_text(encoding="utf-8")
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 1e6
