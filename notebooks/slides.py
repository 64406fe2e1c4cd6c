"""Slides: a deck for each lesson, made from its executed notebook.

    pip install -e '.[slides]'
    python notebooks/slides.py DIR              DIR/01_….html, all lessons
    python notebooks/slides.py DIR 08 --pdf     one lesson, and a handout beside it
    python notebooks/slides.py DIR --zh         the Chinese lessons, in DIR/zh

A deck has a title, one or two slides for each section that is not optional, the summary and the
questions. A section shows its first formula, its first prediction and its first picture. The
measured answer appears with the next click; in the handout it stands there. Pandoc makes one HTML
file: reveal.js, pictures and formulas (MathML) are in it, so it needs no network. The handout is
printed by Chromium.
"""

import argparse
import importlib.util
import re
import shutil
import struct
import sys
from base64 import b64decode
from dataclasses import dataclass
from pathlib import Path

from needs import needed

from aiayn_np.text.extra import install_command

nbformat = needed("nbformat", of="slides")
FOLDER = Path(__file__).parent
LESSONS = sorted(FOLDER.glob("[0-9][0-9]_*.ipynb"))
CHINESE = sorted(FOLDER.glob("zh/[0-9][0-9]_*.ipynb"))
CSS = FOLDER / "slides.css"
LINES, COLUMNS = 12, 100  # of an answer that is shown on a slide
WIDE = 95  # signs of a formula that fit into a line
OLD_FONTS = re.compile(  # formats that no browser of today asks for; they are two thirds of a deck
    r"\s*src: url\(data:application/vnd\.ms-fontobject[^)]*\);"
    r"|url\(data:application/vnd\.ms-fontobject[^)]*\) format\('embedded-opentype'\),\s*"
    r"|,\s*url\(data:font/ttf[^)]*\) format\('truetype'\)")


@dataclass(frozen=True)
class Words:
    """How a lesson names its parts, and a deck its slides."""

    predict: str
    optional: str
    check: str
    do: str
    learn: str
    paper: str
    summary: str
    questions: str
    in_the_paper: str
    what_we_do: str
    stop: str


ENGLISH = Words("> **Predict.**", "For the keen", "Check what this lesson", "You will do",
                "You will learn", "Paper", "Summary", "Questions", "In the paper:", "What we do", "")
IN_CHINESE = Words("> **预测：**", "选读", "检验本课", "你将做什么", "你将学到", "论文", "小结", "问题",
                   "论文：", "要做的事", "：")


@dataclass
class Slide:
    """What a section of a lesson gives to its slide; pictures are base64 PNG."""

    title: str
    formula: str = ""
    prediction: str = ""
    answer: str = ""
    picture: str = ""
    late: bool = False  # the picture answers the prediction


def words_of(notebook):
    """The words of the notebook's language."""
    return ENGLISH if notebook.cells[0].source.startswith("# Lesson") else IN_CHINESE


def slides_of(notebook):
    """The slides of the sections that are not optional, in order."""
    words = words_of(notebook)
    found, waiting = [], False
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for paragraph in re.split(r"\n\n+|\n>\n|\n#\n", cell.source):
                heading = re.match(r"## (\d+\.\d+ .*)", paragraph)
                if heading or paragraph.startswith("## "):
                    found.append(Slide(heading[1] if heading else ""))
                    waiting = False
                if found:
                    waiting = read_paragraph(found[-1], paragraph, words) or waiting
        elif found and cell.outputs:
            waiting = not read_outputs(found[-1], cell.outputs, waiting) and waiting
    return [slide for slide in found if is_shown(slide, words)]


def is_shown(slide, words):
    left_out = words.optional in slide.title or words.check in slide.title
    return slide.title and not left_out and bool(slide.formula or slide.prediction or slide.picture)


def read_paragraph(slide, text, words):
    """Take the first formula and the first prediction; whether the text is that prediction."""
    formula = re.search(r"\$\$.+?\$\$", text, re.DOTALL)
    if formula and not slide.formula:
        slide.formula = formula[0]
    if not text.startswith(words.predict) or slide.prediction:
        return False
    slide.prediction = re.sub(r"^> ?", "", text, flags=re.MULTILINE)
    return True


def read_outputs(slide, outputs, waiting):
    """Take the first picture, and the printed answer to a prediction; whether that is found."""
    for output in outputs:
        picture = output.get("data", {}).get("image/png")
        if picture and not slide.picture:
            slide.picture, slide.late = picture, bool(slide.prediction)
        text = output.get("text", "") or output.get("data", {}).get("text/plain", "")
        if waiting and text and not picture:
            slide.answer = shortened(text)
    return bool(slide.answer)


def shortened(text):
    """The text in so many lines and columns as a slide has."""
    lines = [line[:COLUMNS] for line in text.rstrip().splitlines()]
    return "\n".join(lines if len(lines) <= LINES else [*lines[: LINES - 1], "…"])


def width_over_height(picture):
    width, height = struct.unpack(">II", b64decode(picture)[16:24])       # of the PNG's header
    return width / height


def is_long(formula):
    """Whether a formula in one line needs a smaller type."""
    return formula.startswith("$$") and len(re.sub(r"\\[a-z]+", "", formula)) > WIDE


def markdown_of(slide):
    """A section in pandoc's Markdown: what is said and printed, then its picture.

    A picture is on a slide of its own if an answer is printed; else beside the words, or below.
    """
    heading = f"# {slide.title}"
    formula = f"::: {{.long}}\n{slide.formula}\n:::" if is_long(slide.formula) else slide.formula
    answer = slide.answer and f"::: {{.fragment}}\n```\n{slide.answer}\n```\n:::"
    words = "\n\n".join(part for part in (formula, slide.prediction, answer) if part)
    if not slide.picture:
        return f"{heading}\n\n{words}"
    image = f'<img src="data:image/png;base64,{slide.picture}" alt="{slide.title}">'
    if answer or not words:
        return "\n\n".join([heading, words, heading, image] if words else [heading, image])
    if slide.late:
        image = f'<div class="fragment">{image}</div>'
    if width_over_height(slide.picture) > 1.7:
        return f"{heading}\n\n::: {{.stacked}}\n{words}\n\n{image}\n:::"
    return f"{heading}\n\n:::: {{.beside}}\n<div>\n\n{words}\n\n</div>\n\n{image}\n::::"


def deck(notebook):
    """The whole deck of a lesson in pandoc's Markdown."""
    head, words = notebook.cells[0].source, words_of(notebook)
    title = re.match(r"# (.*)", head)[1]
    row = {part: re.search(rf"\| \*\*{part}\*\* \| (.*) \|", head)[1]
           for part in (words.do, words.learn, words.paper)}
    opening = [Slide(title, f"**{words.learn}{words.stop}** {row[words.learn]}\n\n"
                            f"**{words.in_the_paper}** {row[words.paper]}"),
               Slide(words.what_we_do, row[words.do], picture=first_drawing(notebook))]
    text = "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    summary, questions = text.split(f"## {words.summary}")[1].split(f"## {words.questions}")
    summary = "\n".join(line for line in summary.splitlines() if line.startswith(("- ", "  ")))
    questions = re.sub(r"<details>.*?</details>", "", questions, flags=re.DOTALL)
    slides = [*opening, *slides_of(notebook), Slide(words.summary, formula=summary),
              Slide(words.questions, formula=questions)]
    return title, "\n\n".join(markdown_of(slide) for slide in slides)


def first_drawing(notebook):
    """The picture that stands before the first section, or nothing."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and re.search(r"^## \d", cell.source, re.MULTILINE):
            break
        for output in cell.get("outputs", ()):
            if "image/png" in output.get("data", {}):
                return output.data["image/png"]
    return ""


def reveal_js():
    """The folder with reveal.js, which the package sphinx-revealjs brings."""
    package = importlib.util.find_spec("sphinx_revealjs")
    if package is None:
        sys.exit(f"error: slides need pandoc and reveal.js: {install_command('slides')}")
    return Path(package.origin).parent / "_static" / "revealjs"


def write_deck(lesson, folder):
    """Write the deck of a notebook as one HTML file; return its path."""
    pypandoc = needed("pypandoc", of="slides")
    title, text = deck(nbformat.read(lesson, as_version=4))
    target = Path(folder) / f"{lesson.stem}.html"
    target.parent.mkdir(parents=True, exist_ok=True)
    settings = dict(theme="white", width=1280, height=720, margin=0.03, transition="none",
                    center="false", hash="true", slideNumber="true")
    settings["revealjs-url"] = reveal_js()
    pypandoc.convert_text(text, "revealjs", format="markdown-smart", outputfile=str(target),
                          extra_args=["--standalone", "--embed-resources", "--mathml",
                                      "--slide-level=1", f"--css={CSS}",
                                      f"--metadata=pagetitle:{title}",
                                      *(f"--variable={k}={v}" for k, v in settings.items())])
    page = target.read_text(encoding="utf-8")
    target.write_text(OLD_FONTS.sub("", page), encoding="utf-8")
    return target


def write_handout(deck_path):
    """Print a deck to PDF with Chromium, a page for each slide; return the path."""
    from playwright.sync_api import sync_playwright

    target = deck_path.with_suffix(".pdf")
    found = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(args=["--no-sandbox"], executable_path=found)
        page = browser.new_page()
        page.goto(f"{deck_path.resolve().as_uri()}?print-pdf&pdfSeparateFragments=false")
        page.wait_for_function("document.querySelectorAll('.pdf-page').length > 0")
        page.pdf(path=target, prefer_css_page_size=True, print_background=True)
        browser.close()
    return target


def main(arguments):
    lessons, place = (CHINESE, "zh") if arguments.zh else (LESSONS, "")
    chosen = [path for path in lessons if not arguments.number or path.name[:2] in arguments.number]
    for lesson in chosen:
        path = write_deck(lesson, Path(arguments.folder, place))
        print(path)
        if arguments.pdf:
            print(write_handout(path))
    return 0 if chosen else "no lesson of that number"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="where the decks go")
    parser.add_argument("number", nargs="*", help="such as 01; none: all lessons")
    parser.add_argument("--zh", action="store_true", help="the Chinese lessons")
    parser.add_argument("--pdf", action="store_true", help="a handout of each, too")
    sys.exit(main(parser.parse_args()))
