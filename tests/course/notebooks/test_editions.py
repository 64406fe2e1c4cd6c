"""What is made from the lessons: the student edition, the slides."""

import itertools
import re
import struct
import subprocess
import sys
from base64 import b64encode

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("jupytext")
pytest.importorskip("nbclient")

import build  # noqa: E402
import cells as cells_of_all  # noqa: E402
import chinese  # noqa: E402
import lesson_marks  # noqa: E402
import prints  # noqa: E402
import slides  # noqa: E402
from pages import blocks  # noqa: E402
from predictions import answers_of  # noqa: E402

from aiayn_course.exercises import editions  # noqa: E402
from aiayn_course.exercises.editions import asks, exercises_of, folded, student_edition  # noqa: E402

FOLD, RESULT, WORDS = editions.FOLD, editions.RESULT, editions.WORDS
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
    assert {key for c in edition.cells for key in c.metadata} <= {"jupyter"}       # no notes
    for title, link in re.findall(r"- \[(Exercise .*)\]\(exercises/(.*)\)", text):
        exercise = nbformat.read(EXERCISES / "student" / link, as_version=4)
        assert exercise.cells[0].source.startswith(f"# {title}\n")


def answers_in(edition, language):
    """The texts that stand behind a prediction and the cell which measures it."""
    texts = [cell["source"] for cell in edition["cells"] if cell["cell_type"] == "markdown"]
    return [text for before, text in itertools.pairwise(texts) if asks(before, language)]


@pytest.mark.parametrize("language", ["en", "zh"])
@lessons
def test_after_a_prediction_every_answer_is_folded(path, language):
    notebook = chinese.read(path, language)
    answers = answers_in(student_edition(notebook, 0, language), language)
    opening = FOLD.format(WORDS[language][1], "@").split("@")[0]
    assert len(answers) >= 2
    assert all(text.startswith((opening, "## ", "> ")) for text in answers)


def test_what_stands_before_the_mark_of_a_result_is_folded_and_nothing_else():
    fold = FOLD.format("shows", "All are right.")
    assert folded(f"All are right.{RESULT} Now type.\n\nNext.", "shows") == "\n\n".join(
        [fold, "Now type.", "Next."])
    assert folded("All are right.", "shows") == "All are right."


def test_every_exercise_is_linked_from_a_lesson():
    linked = {e.stem for lesson in LESSONS for e in exercises_of(int(lesson.name[:2]))}
    assert linked == {path.stem for path in (EXERCISES / "student").glob("[0-9]*.ipynb")}


def test_the_address_of_the_repository_is_written_into_the_first_cell(monkeypatch):
    monkeypatch.setattr(cells_of_all, "repository", lambda: "https://example.org/x")
    cells = build.lesson_of(build.SOURCES[7].read_text(encoding="utf-8")).cells
    assert 'REPOSITORY = "https://example.org/x"' in cells[1].source


@lessons
def test_a_deck_has_every_prediction_with_its_answer_and_notes(path):
    title, text = slides.deck(LESSONS[path])
    headings = re.findall(r"^# (.*)$", text, re.MULTILINE)
    assert headings[0] == prints.symbols(title)
    assert headings[-2:] == ["Summary", "Questions"]
    assert 10 <= len(headings) <= 50
    assert "<details>" not in text
    assert "**Predict.**" not in text
    assert not any(slides.WORDS["en"]["optional"] in heading for heading in headings)
    asked = [p for p in answers_of(LESSONS[path]).values() if p.question in text]
    assert text.count("::: choices") == text.count(".fragment .custom") == len(asked)
    assert text.count("<img ") >= 1
    assert all(choice in text and says in text for p in asked for choice, says in p.choices)


def lesson(*cells):
    """A notebook: what begins with % is a cell of code, and % its outputs."""
    new = nbformat.v4
    notebook = build.lesson_of("\n\n".join(
        "# %%\nw = 1" if cell[0] == "%" else "# %% [markdown]\n# " + cell.replace("\n", "\n# ")
        for cell in ("# Lesson 1 · A", "%", *cells)))
    for cell, text in zip(notebook.cells[2:], cells):
        if text.startswith("%"):
            cell["outputs"] = [
                new.new_output("display_data", {"image/png": o[4:]}) if o.startswith("png ")
                else new.new_output("stream", text=o) for o in text[1:].split("%")]
            cell.metadata["given"] = {"q": [1.0, 2.5]}
    return notebook


ASKED = """## 1.1 A?

It is so, in short.

<!-- slide: Two things
It is so, in short.
First:\\
$$x$$
- one\\
- two -->

> **Predict.** How many?
>
> - 1 → Why not $2$?
> - 2 <!-- true: w == 1 -->
> - 3
>
> <!-- given: The query {q}. -->"""


WIDE, TALL = (b64encode(bytes(16) + struct.pack(">II", width, 100)).decode() for width in (221, 99))


def test_the_marks_of_a_lesson_and_its_predictions_make_the_slides():
    cells = (ASKED, f"%w [0.25 -1.]%png {TALL}",
             "<!-- answer: It is two\n[print]\\\n![]\nAs 1.5 says. -->\n\n"
             "It is two, as 1.5 says.\n\n<!-- slide\n![] -->", f"%png {WIDE}",
             "## 1.2 For the keen: B\n\n> **Predict.** How?\n>\n> - 1\n> - 2 <!-- true: w -->\n"
             "> - 3", "%1", "## 1.3 D\n\nA loop.\n\n<!-- say: Run\nit. -->\n\n"
             "<!-- slide: One\nRun it.\\\n[code]\n[print] -->", "%1")
    notebook = lesson(*cells)
    notebook.cells[-1].metadata["show"] = [1]
    ideas, asks, answer, more, loop = slides.Deck(notebook).slides
    assert ideas.parts() == ["It is so, in short.", "First:\n\n$$x$$", "- one\n- two"]
    assert ideas.says[0].startswith("The section takes ")
    assert "::: question\nHow many?" in asks.front
    assert "::: {.choice .fragment .custom}\n**B** 2" in asks.front
    assert asks.says == ["2 minutes.", "A is wrong. Why not $2$?", "B is right.", "C is wrong."]
    shown = answer.markdown()
    for part in ("::: asked\nHow many? [**B** 2]{.answer}", ".beside .caption",  # a tall picture
                 '# <span class="section">1.1 A?</span> It is two\n',
                 "::: fragment\nAs 1.5 says.", "::: notes\nIt is two, as 1.5 says.\n:::"):
        assert part in shown
    assert f"base64,{WIDE}" in more.markdown()
    assert "beside" not in more.markdown()
    alone = '```{=html}\n<p class="lone">1</p>\n```'
    assert loop.parts() == ["Run it.\n\n```python\nw = 1\n```", alone]
    assert loop.markdown().endswith("::: notes\nRun it.\n\nA loop.\n:::")


def test_a_slide_without_output_of_its_own_has_the_last_one():
    one, again = slides.Deck(lesson(
        "## 1.1 A\n\n<!-- slide: One\n![] -->", f"%w 0.5%png {TALL}",
        "<!-- slide: Again\n![]\nA row asks.\n| a |\n|---|\n| b |\n[print] -->")).slides
    assert one.pictures == again.pictures == [TALL]
    assert again.parts()[:3] == ["![]", "A row asks.", "| a |\n|---|\n| b |"]
    assert "w 0.5" in one.markdown().split("::: notes")[1]             # it is not on the slide
    assert "w 0.5" not in again.markdown().split("::: notes")[1]


@pytest.mark.parametrize(("printed", "widths"), [
    ("a [0.5 -1. ]  sum 1\n[[2.  0.25]\n", ["25", "50", "100", "12"]),
    ("a [0.5 1. ]\nb [10. 20.]", ["50", "100"]),                       # b has another unit
    ("with [0.5 0.5]\nwithout [1. 0.1]", ["50", "50", "100", "10"]),   # weights have one
    ("grad_A\n[[1. 12.]\n [0. -1.]]\nx [3. 4.]", []),                  # whole numbers
    ("a  before 0.8  after 0.2\nb  before 0.4  after 0.1", ["80", "20", "40", "10"]),  # one scale
    ("a  loss 0.8  perplexity 2.2\nb  loss 0.4  perplexity 1.1", ["80", "100", "40", "50"]),
    ("a  before 7.7  after 0.01\nb  before 7.7  after 0.02", ["50", "100"]),
])
def test_numbers_of_one_unit_are_drawn_on_one_scale(printed, widths):
    assert re.findall(r"width:(\d+)%", prints.drawn(printed)) == widths


def test_rows_of_numbers_are_drawn_and_other_prints_are_not():
    rows = prints.drawn("a [0.5 -1. ]  sum 1\n[[2.  0.25]\n")
    assert re.findall(r"<th>(.*?)</th>", rows) == ["a", "  sum 1", ""]
    assert re.findall(r'class="(\w+)" style="width:\d+%.*?"></span>(.*?)</td>', rows) == [
        ("plus", "0.50"), ("minus", "-1.00"), ("plus", "2.00"), ("plus", "0.25")]
    arrays = "w (3, 4)  rows sum to [1.5 1. 1.]\nout [0.5 1.]"
    assert prints.drawn(arrays) == "```\n" + arrays + "\n```"
    assert "<td>the error</td><td>0e+00</td>" in prints.drawn("the error: 0e+00\nother: none")
    long = prints.drawn("\n".join(map(str, range(40))))
    assert len(long.splitlines()) == prints.LINES + 2
    assert not prints.drawn("")


def test_lines_that_say_the_same_of_other_numbers_become_a_table():
    table = prints.drawn("It is:\na  d_k =  8  loss 2.0 before, 0.5 after\n"
                         "bc d_k = 64  loss 2.0 before, 1.0 after\n")
    assert re.findall("<th>(.*?)</th>", table) == [
        "", "<i>d</i><sub>k</sub>", "loss before", "after", "a", "bc"]
    assert re.findall(r'(\d+)%"></span>(.*?)</td>', table) == [
        ("50", "0.5"), ("100", "1.0")]                                 # 2.0 is in each line
    for shapes in ("loss 0.5", "a layer 1, head 2\nb layer 2, head 1",
                   "Q (3, 5) float64\nK (4, 5) float64", "a 1\na 2\nb c 3 d\ne f 4 g"):
        assert shapes in prints.drawn(shapes)


def code(source, **metadata):
    return nbformat.v4.new_code_cell(source, metadata=metadata)


def test_a_slide_shows_the_lines_that_a_cell_names():
    source = "import x\nw = 1    # one\nfor i in x:\n    print(i)\nprint(\n w)"
    assert slides.shown_of(code(source, show=[2, 4])) == ["w = 1  # one\n    print(i)"]
    assert slides.shown_of(code(source, show=[[1], [3, 4]]))[0] == "import x"
    assert slides.shown_of(code(source, show=[])) == slides.shown_of(code(source)) == []


def test_marks_are_in_the_metadata_and_not_in_the_text():
    text = "A.\n\n<!-- say: B is\nwrong. -->\n\n<!-- slide -->\n\n<!-- slide: Now\ntwo -->\n\nTwo."
    assert lesson_marks.without_slides(text) == ("A.\n\nTwo.", {"slides": [
        [1, "say", "B is wrong."], [1, "slide", ""], [1, "slide", "Now\ntwo"]]})


@pytest.mark.parametrize("language", ["en", "zh"])
@lessons
def test_every_decimal_number_on_a_slide_stands_in_its_lesson(path, language):
    notebook = chinese.read(path, language)
    known = str([(cell.source, cell.get("outputs")) for cell in notebook.cells])
    for slide in slides.Deck(notebook).slides:
        words = re.sub(r"Lesson [\d.]+|第 [\d.]+ 节", "", f"{slide.title} {slide.show}")
        for number in re.findall(r"(?<![\d.])\d+\.\d+(?![\d.])", words):
            assert number in known, f"{number} is on a slide, and not in the lesson"


def test_a_drawing_grows_by_clicks():
    assert slides.in_steps("w = 1\nplot(w)", "png") == "png"
    for program, count in (("attention_shapes()", 3), ("attention_gradients(Q, K, V)", 8),
                           ("heads_split()", 2), ("heads_split(wrong=True)", 1),
                           ('figure_1("cross_attention")', 3)):
        pictures = slides.in_steps(program, TALL)
        assert len(set(pictures.split())) == count
        assert slides.image(pictures, "A").count('class="fragment"') == count - 1


def test_the_notes_tell_what_is_commonly_wrong_in_the_exercises_of_a_lesson():
    english, ours = (re.split("\n+", slides.mistakes(exercises_of(2), "2", language)[0])
                     for language in ("en", "zh"))
    assert english[0] == "Common mistakes in the exercises:"
    known = [formula.known for formula in slides.SUBJECTS["Softmax"].formulas.values()]
    assert len(english) == len(ours) == 1 + sum(
        min(len(mistakes), slides.MISTAKES) for mistakes in known) > 4
    assert english[1].startswith("- Softmax: exp overflows above 709")
    assert not set(english) & set(ours)
    assert slides.mistakes(exercises_of(2), "2.1", "en") == []


@pytest.fixture
def page(chromium):
    page = chromium.new_page(viewport={"width": 1280, "height": 720})
    yield page
    page.close()


@pytest.mark.slow
@lessons
def test_a_deck_needs_no_network_and_no_slide_is_too_full(path, page, tmp_path):
    pytest.importorskip("pypandoc")
    deck = slides.write_deck(path.stem, LESSONS[path], tmp_path)
    assert deck.stat().st_size < 2e6
    requests, errors = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(deck.as_uri())
    page.wait_for_function("""window.Reveal && Reveal.isReady()
                              && [...document.fonts].every((font) => font.status === "loaded")""")
    sizes = page.evaluate("""() => Reveal.getSlides().map((slide, i) => {
        Reveal.slide(i);
        const page = slide.querySelector(".page");
        return [slide.querySelector("h1").innerText, page.scrollHeight - page.clientHeight,
                page.scrollWidth, parseInt(page.style.fontSize || 100), slide.scrollHeight,
                Math.min(...[...page.querySelectorAll("img")].map((image) => image.clientWidth)),
                page.textContent.trim().split(/\\s+/).length,
                page.querySelectorAll("img, .katex, table, pre").length] })""")
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert errors == []
    assert 10 <= len(sizes) <= 50
    assert [s for s in sizes if s[1] > 1 or s[2] > 1280 or s[3] < 60 or s[4] > 720] == []
    assert [s for s in sizes if s[5] is not None and s[5] < 400] == []
    assert [s for s in sizes if s[6] < 12 and not s[7]] == []
    assert not re.search(r"[$\\]", page.locator(".slides").inner_text())     # formulas are set
    assert page.locator(".math:not(:has(.katex)), .katex-error").count() == 0
    assert page.locator("aside.notes .katex-html").count() == 0        # there MathML is shown


@pytest.mark.slow
def test_the_handout_is_a_pdf_with_a_page_for_each_slide(tmp_path):
    pytest.importorskip("playwright")
    pytest.importorskip("pypandoc")
    subprocess.run([sys.executable, slides.__file__, tmp_path, "08", "--pdf"], check=True)
    (deck,), (handout,) = tmp_path.glob("*.html"), tmp_path.glob("*.pdf")
    pages = re.findall(rb"/Type /Page\b", handout.read_bytes())
    assert len(pages) == deck.read_text(encoding="utf-8").count("<section")


@pytest.mark.parametrize("page", ["PROJECT.md", "zh/PROJECT.md"])
def test_what_the_projects_begin_with_runs(page):
    codes = blocks((slides.FOLDER / page).read_text(encoding="utf-8"), "python")
    assert codes
    for code in codes:
        exec(code, {})
