"""What is made from the lessons: the student edition, the slides."""

import os
import re
import shutil
import subprocess
import sys

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("jupytext")
pytest.importorskip("nbclient")

import build  # noqa: E402
import repository  # noqa: E402
import slides  # noqa: E402

from aiayn_np.exercises.editions import exercises_of, student_edition  # noqa: E402
from aiayn_np.exercises.grading.submissions import stem  # noqa: E402

EXERCISES = slides.FOLDER / "exercises"
LESSONS = {path: nbformat.read(path, as_version=4) for path in slides.LESSONS}
lessons = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)


@lessons
def test_the_student_edition_has_no_outputs_folds_answers_and_links_exercises(path):
    edition = nbformat.from_dict(student_edition(LESSONS[path], int(path.name[:2])))
    nbformat.validate(edition)
    assert not any(c.outputs or c.execution_count for c in edition.cells if c.cell_type == "code")
    text = "\n".join(c.source for c in edition.cells if c.cell_type == "markdown")
    assert text.count("<details>") == text.count("</details>") >= 3 + 2   # questions, predictions
    assert any(c.get("outputs") for c in LESSONS[path].cells)              # ours are still there
    for title, link in re.findall(r"- \[(Exercise .*)\]\(exercises/(.*)\)", text):
        exercise = nbformat.read(EXERCISES / "student" / link, as_version=4)
        assert exercise.cells[0].source.startswith(f"# {title}\n")


def test_every_exercise_is_linked_from_a_lesson():
    linked = {stem(e) for lesson in LESSONS for e in exercises_of(int(lesson.name[:2]))}
    assert linked == {path.stem for path in (EXERCISES / "student").glob("[0-9]*.ipynb")}


def test_the_address_of_the_repository_is_written_into_the_first_cell(monkeypatch):
    monkeypatch.setattr(repository, "repository", lambda: "https://example.org/x")
    cells = build.notebook_of(build.SOURCES[7]).cells
    assert 'REPOSITORY = "https://example.org/x"' in cells[1].source


@lessons
def test_a_deck_has_ten_to_fifteen_slides(path):
    title, text = slides.deck(LESSONS[path])
    headings = re.findall(r"^# (.*)$", text, re.MULTILINE)
    assert headings[0] == title
    assert headings[-2:] == ["Summary", "Questions"]
    assert 10 <= len(headings) <= 15
    assert "<details>" not in text
    assert not any(slides.ENGLISH.optional in heading for heading in headings)
    assert text.count("**Predict.**") >= 3
    assert text.count("<img ") >= 1


def test_a_section_gives_its_first_formula_prediction_answer_and_picture():
    new = nbformat.v4
    printed = new.new_output("stream", text="\n".join(map(str, range(40))))
    cells = [new.new_markdown_cell("# Lesson 1 · A"),
             new.new_markdown_cell("## 1.1 A\n\n$$x$$\n\n> **Predict.** How\n> many?"),
             new.new_code_cell("f()", outputs=[printed]),
             new.new_markdown_cell("## 1.2 For the keen: B\n\n$$y$$")]
    (slide,) = slides.slides_of(new.new_notebook(cells=cells))
    assert (slide.formula, slide.prediction) == ("$$x$$", "**Predict.** How\nmany?")
    assert slide.answer.splitlines()[0] == "0"
    assert len(slide.answer.splitlines()) == slides.LINES
    assert "fragment" in slides.markdown_of(slide)


@pytest.fixture(scope="module")
def page():
    api = pytest.importorskip("playwright.sync_api")
    found = shutil.which("chromium") or shutil.which("google-chrome")
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(args=["--no-sandbox"] * as_root, executable_path=found)
        yield browser.new_page(viewport={"width": 1280, "height": 720})
        browser.close()


@pytest.mark.slow
@lessons
def test_a_deck_needs_no_network_and_no_slide_is_too_full(path, page, tmp_path):
    pytest.importorskip("pypandoc")
    deck = slides.write_deck(path, tmp_path)
    assert deck.stat().st_size < 2e6
    requests, errors = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(deck.as_uri())
    page.wait_for_function("window.Reveal && Reveal.isReady()")
    sizes = page.evaluate("""() => Reveal.getSlides().map((slide, i) => {
        Reveal.slide(i);
        return [slide.querySelector("h1").innerText, slide.scrollHeight, slide.scrollWidth] })""")
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert errors == []
    assert 10 <= len(sizes) <= 15
    assert [s for s in sizes if s[1] > 720 or s[2] > 1280] == []
    assert not re.search(r"[$\\]", page.locator(".slides").inner_text())     # formulas are MathML


@pytest.mark.slow
def test_the_handout_is_a_pdf_with_a_page_for_each_slide(tmp_path):
    pytest.importorskip("playwright")
    pytest.importorskip("pypandoc")
    subprocess.run([sys.executable, slides.__file__, tmp_path, "08", "--pdf"], check=True)
    (deck,), (handout,) = tmp_path.glob("*.html"), tmp_path.glob("*.pdf")
    pages = re.findall(rb"/Type /Page\b", handout.read_bytes())
    assert len(pages) == deck.read_text(encoding="utf-8").count("<section")


PLANS = (EXERCISES / "TEACHING.md").read_text(encoding="utf-8").split(
    "## Plans")[1].split("### Find the bug")[0]


def test_every_session_of_a_plan_fits_into_90_minutes_with_slack():
    rows = re.findall(r"^\| \d+[^|]*\| ([^|]*) \| (\d+) \|", PLANS, re.MULTILINE)
    assert len(rows) == 3 + 10
    for parts, slack in rows:
        assert sum(map(int, re.findall(r"\((\d+)\)", parts))) + int(slack) == 90
        assert int(slack) >= 10
