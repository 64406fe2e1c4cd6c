"""Slides: a deck for each lesson, made from its executed notebook.

    pip install -e '.[slides]'
    python notebooks/slides.py DIR              DIR/01_….html, all lessons
    python notebooks/slides.py DIR 08 --pdf     one lesson, and a handout beside it
    python notebooks/slides.py DIR --zh         the Chinese lessons, in DIR/zh

A deck has a title with the first drawing, the slides that the marks of the lesson name (lesson_marks.py
says how), the summary and the questions. A prediction makes two slides: the choices, of which a
click marks the right one, and the answer, with what was measured. A slide has what its mark says:
a click for each line, `[code]` for the lines that a cell names, `[print]` for what was printed, and
`![]` for the picture. Each is that of the cells between its mark and the next; a slide without one
has the last one before. A tall picture stands to the right of the words.

The speaker's notes (press S) have what to say, the minutes, what is wrong with each choice, what
the lesson says, the answers to the questions and, last, common mistakes in the exercises. Pandoc
makes one HTML file: reveal.js, pictures and KaTeX, which sets the formulas, are in it, so it needs
no network. (Outside a copy of the project the formulas are MathML.) Chromium prints the handout.
"""

import argparse
import itertools
import re
import shutil
import struct
import sys
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path

import chinese
import minutes
import numpy as np
from lesson_marks import parts_of
from needs import needed
from predictions import LETTERS, answers_of, given
from prints import as_printed, drawn, lines_of, symbols, table

from aiayn_course.drawings import (
    attention_gradients,
    attention_shapes,
    figure_1,
    heads_split,
)
from aiayn_course.exercises.editions import exercises_of
from aiayn_course.exercises.exercise import SUBJECTS
from aiayn_course.exercises.language import say, speaking

FOLDER = Path(__file__).parent
LESSONS = sorted(FOLDER.glob("[0-9][0-9]_*.ipynb"))
CSS, FIT = FOLDER / "slides.css", FOLDER / "slides.html"
KATEX = FOLDER.parent / "docs/_static/katex"
LINK = re.compile(r"\[([^\]]*)\]\(\.\./[^)]*\)")  # to a page that is not beside the deck
MISTAKES = 3  # of a class or function in an exercise that the notes tell
WIDE = 1.5  # a picture of this many heights stands below the words
ITEM = re.compile(r"- |\d\. ")
OLD_FONTS = re.compile(  # formats that no browser of today asks for; they are two thirds of a deck
    r"\s*src: url\(data:application/vnd\.ms-fontobject[^)]*\);"
    r"|url\(data:application/vnd\.ms-fontobject[^)]*\) format\('embedded-opentype'\),\s*"
    r"|,\s*url\(data:font/ttf[^)]*\) format\('truetype'\)"
    r"|@font-face\s*{[^}]*font-weight: 600;\s*font-style: italic;\s*}")  # the browser slants the bold
SHAPES = np.ones((4, 3)), np.ones((4, 3)), np.ones((4, 2))  # of Q, K and V in Lesson 4
GROW = {  # what a program of one line draws, and what a deck shows before it, one click each
    "attention_shapes()": [lambda k=k: attention_shapes(k) for k in (1, 2)],
    "attention_gradients(": [lambda k=k: attention_gradients(*SHAPES, steps=k) for k in range(7)],
    "heads_split()": [lambda: heads_split(merged=False)],
    'figure_1("cross_': [lambda lit=lit: figure_1(lit) for lit in ("encoder.self", "decoder.self")],
}
WORDS = {  # how a lesson names its parts, and a deck its notes
    "en": dict(optional="For the keen", check="Check what this lesson", do="You will do",
               learn="You will learn", paper="Paper", summary="Summary", questions="Questions",
               stop="", minutes="{} minutes.", section="The section takes {} minutes.",
               wrong="{} is wrong. {}", right="{} is right. {}", home=" (at home)",
               mistakes="Common mistakes in the exercises:",
               end="Before each click ask the class for the point, and for the slide that showed"
                   " it."),
    "zh": dict(optional="选读", check="检验本课", do="你将做什么", learn="你将学到", paper="论文",
               summary="小结", questions="问题", stop="：", minutes="{}分钟。",
               section="本节 {} 分钟。", wrong="{} 不对。{}", right="{} 对。{}", home="（在家）",
               mistakes="练习中常见的错误：",
               end="每次点击之前，让学生说出这一点，以及哪一张幻灯片说明了它。"),
}


@dataclass
class Slide:
    """A slide, and what the cells of the lesson gave while it was the last one.

    section : above the title, or in its place
    show : Markdown, a click for each line; says, told : notes, and the text of the lesson
    front : what stands above all that is shown, such as the question that is answered
    """

    section: str
    title: str = ""
    show: str = ""
    front: str = ""
    says: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    prints: list[str] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)
    own: set[str] = field(default_factory=set)  # which of these three are not those of before

    def parts(self):
        """Its parts in Markdown, each but the first with a click of its own."""
        parts = []
        for part in clicks(self.show):
            before, code, after = part.partition("[code]")
            part = before.replace("[print]", drawn("".join(self.prints)))
            blocks = [f"```python\n{block}\n```" for block in self.code] if code else []
            with_first = [part.strip(), *blocks[:1], after.strip()]
            parts += ["\n\n".join(filter(None, with_first)), *blocks[1:]]
        first, *rest = parts or [""]
        return [f"{self.front}\n\n{first}".strip(), *rest]

    def page(self):
        """Its parts with clicks, and its picture in its place or to the right."""
        first, *rest = self.parts()
        fragments = [f"::: fragment\n{part}\n:::" for part in rest]
        page = "\n\n".join([first, *fragments])
        if "![]" not in page:
            return page
        png = image(self.pictures[0], self.title or self.section)
        words = page.replace("![]", "").strip()
        if wide(self.pictures[0], self.front) or not words:
            return page.replace("![]", png)
        kind = "" if "$$" in words or "\n|" in words else " .caption"
        return side_by_side(words, png, kind)

    def markdown(self):
        title, page = symbols(self.section), LINK.sub(r"\1", self.page())
        if self.title:
            late = "[print]" in self.show and "![]" not in self.show
            late = late and "[print]" not in clicks(self.show)[0]      # it says what a click shows
            point = f"[{self.title}]{{.fragment}}" if late else self.title
            title = f'<span class="section">{title}</span> {point}'
        printed = lines_of("".join(self.prints)) if "[print]" not in self.show else []
        told = [text for text in self.told if text not in self.show]
        last = tuple(words["mistakes"] for words in WORDS.values())
        notes = sorted(self.says + told, key=lambda note: note.startswith(last))
        notes = "\n\n".join([*filter(None, notes), *filter(None, [as_printed(printed)])])
        return f"# {title}\n\n::::: page\n\n{page}\n\n:::::\n\n::: notes\n{notes}\n:::"


def clicks(show):
    """The parts of what a slide shows: its lines. Rows of a table belong together, and what follows
    a backslash: in a list the next item, else a paragraph."""
    parts = []
    for line in show.split("\n"):
        above = parts[-1].rpartition("\n")[2] if parts else ""
        if above.endswith("\\"):
            apart = "\n" if ITEM.match(above) and ITEM.match(line) else "\n\n"
            parts[-1] = f"{parts[-1][:-1]}{apart}{line}"
        elif above.startswith("|") and line.startswith("|"):
            parts[-1] += f"\n{line}"
        else:
            parts.append(line)
    return parts


def shown_of(cell):
    """The lines of a program that a slide shows, in blocks, as its cell names them."""
    lines, named = cell.source.splitlines(), cell.metadata.get("show") or []
    blocks = named if any(isinstance(block, list) for block in named) else [named] * bool(named)
    blocks = ["\n".join(lines[i - 1] for i in block) for block in blocks]
    return [re.sub(r"(?m)^(.{60,})  # .*", r"\1", re.sub("  +#", "  #", block)) for block in blocks]


def language_of(notebook):
    return "en" if notebook.cells[0].source.startswith("# Lesson") else "zh"


class Deck:
    """The slides of the sections that are not optional."""

    def __init__(self, notebook):
        self.slides, self.language = [], language_of(notebook)
        self.words, self.spent, self.left_out = WORDS[self.language], 0, False
        title = re.match(r"# (.*)", notebook.cells[0].source)[1]
        self.exercises = exercises_of(int(re.search(r"\d+", title)[0]))
        self.took, self.waiting = minutes_of(notebook), Slide("")      # what precedes a slide
        self.last = dict(code=[], prints=[], pictures=[])
        self.begin(title.partition(" · ")[2], self.took[""])
        answers = answers_of(notebook)
        for i, cell in enumerate(notebook.cells[1:], 1):
            if cell.cell_type == "code":
                self.cell(cell)
                continue
            for kind, words in parts_of(cell):
                getattr(self, kind)(words)
            if "prediction" in cell.metadata and not self.left_out:
                answer = min(j for j in answers if j > i)
                self.ask(answers[answer], notebook.cells[answer])

    def begin(self, section, spent):
        number = section.split()[0]
        said = [self.words["section"].format(round(spent))] * bool(round(spent))
        known = mistakes(self.exercises, number, self.language)        # each exercise once
        self.exercises = [e for e in self.exercises if number not in e.lesson.split(", ")]
        self.spent += round(spent)
        self.section, self.current = section, None
        self.waiting = Slide("", says=said + known)

    def heading(self, title):
        self.left_out = not re.match(r"\d", title) or any(
            self.words[part] in title for part in ("optional", "check"))
        if not self.left_out:
            self.begin(title, self.took[f"## {title}"])

    def add(self, slide):
        """A new slide, with the notes that waited for it."""
        slide.says, slide.told = self.waiting.says + slide.says, self.waiting.told + slide.told
        self.waiting, self.current = Slide(""), slide
        self.slides.append(slide)
        for name, last in self.last.items():                           # until it has its own
            setattr(slide, name, last)

    def slide(self, words):
        self.add(Slide(self.section))
        self.answer(words)

    def answer(self, words):
        self.current.title, _, self.current.show = words.partition("\n")

    def say(self, words):
        (self.current or self.waiting).says.append(words)

    def text(self, text):
        if text and not self.left_out:
            (self.current or self.waiting).told.append(text)

    def cell(self, cell):
        """What a cell of code gives to the last slide."""
        if cell.metadata.get("show") is False or self.left_out:
            return
        new = dict(code=shown_of(cell), prints=[], pictures=[])
        for output in cell.outputs:
            png = output.get("data", {}).get("image/png")
            text = output.get("text") or output.get("data", {}).get("text/plain", "")
            new["pictures" if png else "prints"].append(in_steps(cell.source, png) if png else text)
        for name, found in new.items():
            if not found:
                continue
            self.last[name] = [png.split()[-1] for png in found] if name == "pictures" else found
            if self.current:
                before = getattr(self.current, name) if name in self.current.own else []
                setattr(self.current, name, before + found)
                self.current.own.add(name)

    def ask(self, prediction, cell):
        """A slide with the question, and one for what was measured."""
        choices = "\n".join(
            f"::: {{.choice{' .fragment .custom' * (i == prediction.right)}}}\n"
            f"**{LETTERS[i]}** {choice}\n:::\n" for i, (choice, _) in enumerate(prediction.choices))
        notes = [self.words["minutes"].format(2), *(
            self.words["right" if i == prediction.right else "wrong"].format(LETTERS[i], says).strip()
            for i, (_, says) in enumerate(prediction.choices))]
        asks = f"::: question\n{prediction.question}\n:::\n\n::: choices\n{choices}\n:::"
        setting = given(prediction, cell, table)
        self.add(Slide(self.section, front=f"{setting}\n\n{asks}".strip(), says=notes))
        right = f"**{LETTERS[prediction.right]}** {prediction.choices[prediction.right][0]}"
        self.add(Slide(self.section, front=f"::: asked\n{prediction.question} [{right}]{{.answer}}\n:::"))


def minutes_of(notebook):
    """{heading: minutes in class}: nobody reads the imports before the first section."""
    took = minutes.of_sections(notebook)
    whole, first = minutes.minutes(notebook)[0] - minutes.QUESTIONS, took[""]
    opening = min(first, 3)
    more = (whole - opening) / (whole - first)
    return {name: spent * more for name, spent in took.items()} | {"": opening}


def side_by_side(text, png, kind=""):
    """A text, in a box of its own whatever is in it, and a picture to its right."""
    return f":::: {{.beside{kind}}}\n::: left\n{text}\n:::\n\n{png}\n::::"


def mistakes(exercises, section, language):
    """Notes on the exercises that a section explains: what is commonly wrong, and why."""
    here = [e for e in exercises if section in e.lesson.split(", ")]
    known = [(name, entry) for e in here for name in e.objects
             for formula in SUBJECTS[name].formulas.values() for entry in formula.known[:MISTAKES]]
    with speaking(language):
        lines = dict.fromkeys(f"- {name}: {say(why)}" for name, (_, _, _, why) in known)
        return ["\n\n".join([WORDS[language]["mistakes"], "\n".join(lines)])] * bool(known)


def image(png, title):
    """A picture, base64 PNG, as HTML. Of several, parted by spaces, the next covers the last."""
    first, *more = (f'src="data:image/png;base64,{one}" alt="{escape(title)}">' for one in png.split())
    return f"<img {first}" + "".join(f'<img class="fragment" {one}' for one in more)


def wide(png, asked):
    """Whether a picture stands below the words: its header says how wide and high it is."""
    width, height = struct.unpack(">II", b64decode(png.split()[0])[16:24])
    return width > (WIDE + 0.3 * bool(asked)) * height


@cache
def in_steps(program, png):
    """The pictures of a drawing that grows step by step, parted by spaces; else the picture."""
    grown = [f() for name, steps in GROW.items() if name in program.rpartition("\n")[2] for f in steps]
    return " ".join([*(b64encode(drawing._repr_png_()[0]).decode() for drawing in grown), png])


def deck(notebook):
    """The title and the whole deck of a lesson in pandoc's Markdown."""
    title, words = re.match(r"# (.*)", notebook.cells[0].source)[1], WORDS[language_of(notebook)]
    made = Deck(notebook)
    whole = round(minutes.minutes(notebook)[0])
    rest = max(round(whole - made.spent - minutes.QUESTIONS), 1)       # for the summary
    text = "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    summary, questions = text.split(f"## {words['summary']}\n")[1].split(f"## {words['questions']}\n")
    answers = re.findall(r"<details>.*?</summary>(.*?)</details>", questions, flags=re.DOTALL)
    asked = re.split(r"<details>.*?</details>", questions, flags=re.DOTALL)
    points = [p for block in summary.strip().split("\n\n") if block.startswith(("- ", "**"))
              for p in re.split(r"\n(?=- )", block)]
    end = [(words["summary"], points, [words["minutes"].format(rest), words["end"]]),
           (words["questions"], [q.strip() for q in asked if q.strip()],
            [words["minutes"].format(minutes.QUESTIONS),
             *(f"**{i}.** {answer.strip()}" for i, answer in enumerate(answers, 1))])]
    slides = [opening(notebook, made, whole), *made.slides]
    for name, parts, notes in end:
        front = "\n\n".join([parts[0], *(f"::: fragment\n{part}\n:::" for part in parts[1:])])
        slides.append(Slide(name, front=front, says=notes))
    return title, "\n\n".join(slide.markdown() for slide in slides)


def opening(notebook, made, whole):
    """The first slide: what a lesson teaches, its plan, and its first drawing."""
    head, words = notebook.cells[0].source, made.words
    title = re.match(r"# (.*)", head)[1]
    row = {part: re.search(rf"\| \*\*{words[part]}\*\* \| (.*) \|", head)[1]
           for part in ("do", "learn", "paper")}
    named = {slide.section for slide in made.slides}
    headings = [h for c in notebook.cells for h in re.findall(r"^## (\d.*)", c.source, re.MULTILINE)]
    plan = "\n".join(f"- {symbols(name)}{words['home'] * (words['optional'] in name)}"
                     for name in headings if name in named or words["optional"] in name)
    text = "\n\n".join([*(f"**{words[part]}{words['stop']}** {row[part]}"
                          for part in ("learn", "paper")), plan])
    drawing = first_drawing(notebook)
    front = side_by_side(text, image(drawing, title)) if drawing else text
    notes = [words["minutes"].format(whole), f"{words['do']}{words['stop']} {row['do']}.",
             *mistakes(made.exercises, re.search(r"\d+", title)[0], made.language)]
    return Slide(title, front=front, says=notes)


def first_drawing(notebook):
    """The picture that stands before the first section, or nothing."""
    before = itertools.takewhile(
        lambda cell: not re.search(r"^## \d", cell.source, re.MULTILINE), notebook.cells)
    shown = (output for cell in before for output in cell.get("outputs", ()))
    return next((o.data["image/png"] for o in shown if "image/png" in o.get("data", {})), "")


def write_deck(stem, notebook, folder):
    """Write the deck of a notebook as one HTML file; return its path."""
    pypandoc = needed("pypandoc", of="slides")
    title, text = deck(notebook)
    target = Path(folder) / f"{stem}.html"
    target.parent.mkdir(parents=True, exist_ok=True)
    settings = dict(theme="white", width=1280, height=720, margin=0.03, transition="none",
                    center="false", hash="true", controls="false", slideNumber="true", pdfMaxPagesPerSlide="1")
    reveal_js = Path(needed("sphinx_revealjs", of="slides").__file__).parent / "_static" / "revealjs"
    settings["revealjs-url"] = reveal_js
    pypandoc.convert_text(text, "revealjs", format="markdown-smart", outputfile=str(target),
                          extra_args=["--standalone", "--embed-resources", f"--katex={KATEX}/" if KATEX.is_dir() else "--mathml",
                                      "--slide-level=1", f"--css={CSS}", f"--include-after-body={FIT}",
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
        page.goto(f"{deck_path.resolve().as_uri()}?print-pdf")
        page.wait_for_function("document.querySelectorAll('.pdf-page').length > 0")
        page.pdf(path=target, prefer_css_page_size=True, print_background=True)
        browser.close()
    return target


def main(arguments):
    chosen = [path for path in LESSONS if not arguments.number or path.name[:2] in arguments.number]
    for lesson in chosen:
        path = write_deck(lesson.stem, chinese.read(lesson, "zh" if arguments.zh else "en"),
                          Path(arguments.folder, "zh" * arguments.zh))
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
