"""Slides: a deck for each lesson, made from its executed notebook.

    pip install -e '.[slides]'
    python notebooks/slides.py DIR              DIR/01_….html, all lessons
    python notebooks/slides.py DIR 08 --pdf     one lesson, and a handout beside it
    python notebooks/slides.py DIR --zh         the Chinese lessons, in DIR/zh

A deck has a title with the first drawing, what the lesson begins with, the slides of every section
that is not optional, the summary and the questions. A section gives its first sentences, its
formulas, lists and tables, one click each, then what its cells show. A prediction has two slides:
the choices, of which a click marks the right one, and what was measured, drawn if it can be: rows of
numbers get bars, and lines that say the same of other numbers become a table. A program of a few
lines, or the lines that its cell names, are shown before what it prints; if a question leads to it,
or is for pen and paper, the next slide has the answer. The first sentence of the text that follows
is the title of a result, if it is short enough, and comes with it; so are bold words that a text
begins with. build.py says how a lesson names lines, slides and notes that only its deck has.

The speaker's notes (press S) have what to say, the minutes, what is wrong with each choice, what
else the lesson says, the answers to the questions and, last, common mistakes in the exercises.
Pandoc makes one HTML file: reveal.js, pictures and KaTeX, which sets the formulas, are in it, so it
needs no network. (Outside a copy of the project the formulas are MathML.) Chromium prints the handout.
"""

import argparse
import ast
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

import minutes
import numpy as np
from needs import needed
from predictions import LETTERS, answers_of, given
from prints import PROSE, SHAPE, as_printed, drawn, lines_of, symbols, table

from aiayn_course.cli.lessons import MAKE
from aiayn_course.drawings import (
    attention_gradients,
    attention_shapes,
    figure_1,
    heads_split,
)
from aiayn_course.exercises.editions import exercises_of
from aiayn_course.exercises.exercise import SUBJECTS
from aiayn_course.exercises.language import say, speaking

nbformat = needed("nbformat", of="slides")
FOLDER = Path(__file__).parent
LESSONS = sorted(FOLDER.glob("[0-9][0-9]_*.ipynb"))
CHINESE = sorted(FOLDER.glob("zh/[0-9][0-9]_*.ipynb"))
CSS, FIT = FOLDER / "slides.css", FOLDER / "slides.html"
KATEX = FOLDER.parent / "docs/_static/katex"
TITLE = 88  # bytes of a sentence that is a title, at most: Chinese is wider
PROGRAM = 6  # lines of a program on a slide, at most, if its cell names none
STEP, SAID = 19, 300  # lines of a print above a picture; letters of what is said in a few sentences
FULL, FEW = 16, 7  # lines of formulas, tables and lists on a slide, and beside a question
BOLD = re.compile(r"\*\*([^*\d][^*]{2,}?)([.:：。]?)\*\*([.:：。]?)\s*")
NOTES = re.compile(r"::: notes\n(.*?)\n:::", re.DOTALL)
ON_PAPER = re.compile("on paper|pen and paper|纸")
LINK = re.compile(r"\[([^\]]*)\]\(\.\./[^)]*\)")  # to a page that is not beside the deck
MISTAKES = 3  # of a class or function in an exercise that the notes tell
OLD_FONTS = re.compile(  # formats that no browser of today asks for; they are two thirds of a deck
    r"\s*src: url\(data:application/vnd\.ms-fontobject[^)]*\);"
    r"|url\(data:application/vnd\.ms-fontobject[^)]*\) format\('embedded-opentype'\),\s*"
    r"|,\s*url\(data:font/ttf[^)]*\) format\('truetype'\)")
BLOCK = re.compile(r"```.*```|\$\$.+\$\$|(?:\|.*\n?)+|(?:(?:\d\.|-) (?:.*(?:\n|$))+)", re.DOTALL)
SENTENCE = re.compile(r"(?:\$[^$]*\$|`[^`]*`|et al\.|[.!?](?![)*”\x22]*(?:\s|$))|[^.!?。！？$`])+[.!?。！？]*[)）*”\x22]*")
ENDS = re.compile(r"(?:[.!?。！？][)*）”\x22]*|\$\$|\|)$")  # of a sentence, a formula or a table
PICTURE = re.compile("picture|drawing|drawn|graph|figure shows|map below|图")
LEADS = re.compile(r"(?:Now|Then|Take|Here (?:is|are)|The (?:picture|figure|drawing) shows|图中画|现在|然后|接着|下面)(?=\W|[\u4e00-\u9fff])|.*[:：]$")

SHAPES = np.ones((4, 3)), np.ones((4, 3)), np.ones((4, 2))  # of Q, K and V in Lesson 4
GROW = {  # what a program of one line draws, and what a deck shows before it, one click each
    "attention_shapes()": [lambda k=k: attention_shapes(k) for k in (1, 2)],
    "attention_gradients(": [lambda k=k: attention_gradients(*SHAPES, steps=k) for k in range(7)],
    "heads_split()": [lambda: heads_split(merged=False)],
    'figure_1("cross_': [lambda lit=lit: figure_1(lit) for lit in ("encoder.self", "decoder.self")],
}


@dataclass(frozen=True)
class Words:
    """How a lesson names its parts, and a deck its slides and notes."""

    optional: str
    check: str
    do: str
    learn: str
    paper: str
    summary: str
    questions: str
    stop: str
    minutes: str
    section: str
    choice: str
    mistakes: str
    unit: str
    end: str
    home: str

    def time(self, spent):
        """Minutes in words."""
        return f"{round(spent)} {self.unit}{'s' * (self.unit.isascii() and round(spent) != 1)}"


WORDS = {
    "en": Words("For the keen", "Check what this lesson", "You will do", "You will learn", "Paper",
                "Summary", "Questions", "", "{}.", "The section takes {}.", "{} is {}.",
                "Common mistakes in the exercises:", "minute",
                "Before each click ask the class for the point, and for the slide that showed it.", " (at home)"),
    "zh": Words("选读", "检验本课", "你将做什么", "你将学到", "论文", "小结", "问题",
                "：", "{}。", "本节 {}。", "{} {}。", "练习中常见的错误：", "分钟",
                "每次点击之前，让学生说出这一点，以及哪一张幻灯片说明了它。", "（在家）"),
}
VERDICT = {"en": ("wrong", "right"), "zh": ("不对", "对")}


@dataclass
class Slide:
    """A slide: Markdown, each part but the first with a click of its own, and the speaker's notes.

    title : of the section; `point`, what this slide says, stands below it if there is one; if it is
        `late`, it comes with the first click
    says : the notes that a lesson has for this slide alone; they stand before the others
    """

    title: str
    parts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    point: str = ""
    says: list[str] = field(default_factory=list)
    late: bool = False

    def markdown(self):
        first, *rest = self.parts or [""]
        clicks = [f"::: fragment\n{part}\n:::" for part in rest]
        page = LINK.sub(r"\1", MAKE.sub("", "\n\n".join(["::::: page", first, *clicks, ":::::"])))
        title = symbols(self.title)
        if self.point:
            point = f"[{self.point}]{{.fragment}}" if self.late else self.point
            title = f'<span class="section">{title}</span> {point}'
        last = tuple(words.mistakes for words in WORDS.values())
        notes = sorted(dict.fromkeys(self.says + self.notes), key=lambda note: note.startswith(last))
        notes = ["::: notes\n" + "\n\n".join(notes) + "\n:::"] * bool(notes)
        return "\n\n".join([f"# {title}", page, *notes])


@dataclass
class Result(Slide):
    """What a cell showed: its program, what was printed and drawn, and a sentence on it."""

    answer: str = ""
    programs: list[str] = field(default_factory=list)
    printed: str = ""
    png: str = ""
    said: str = ""
    told: list[str] = field(default_factory=list)  # what the lesson says of it

    def markdown(self):
        if not self.png + self.printed:
            return super().markdown()
        lead = "\n\n".join([self.answer, *self.parts]).strip()
        steps = [""] if self.png else [*self.program(), drawn(self.printed)]
        first, *more = steps
        high = sum(map(height_of, [lead, *steps])) + len(self.said) // PROSE > FULL
        room = 1 if self.png else FULL - sum(map(height_of, more or [lead, first]))
        if not self.point:
            self.point, self.said = pointed(self.said, max(room, 1 if self.png else 3) * PROSE)
        if self.png:
            self.parts, self.notes = self.drawing(lead), self.notes + self.told
            return super().markdown()
        question = not self.answer and (lead.endswith(("?", "？")) or ON_PAPER.search(lead))
        leads = self.answer or lead.endswith((":", "：")) or first.startswith("```python")
        apart = lead and (not leads or (question and not more))
        above = [lead, *steps] if apart else [f"{lead}\n\n{first}".strip(), *more]
        below = [above.pop()]
        if not above or not (question or (more and high and sum(map(height_of, steps[:-1])) > 3)):
            self.late, self.parts = steps[-1] not in (above + below)[0], above + below
            self.parts, self.notes = self.parts + [self.said] * bool(self.said), self.notes + self.told
            return super().markdown()
        result = Slide(self.title, below + [self.said] * bool(self.said), self.told, self.point, self.says)
        return f"{Slide(self.title, above, self.notes).markdown()}\n\n{result.markdown()}"

    def program(self):
        """The program in blocks, or the last one if all are too long; nothing if it is to be found
        on paper."""
        if self.answer or ON_PAPER.search("".join(self.parts)):
            return []
        program = "\n\n".join(filter(None, self.programs))
        if program.count("\n") - program.count("\n\n") >= PROGRAM:
            program = self.programs[-1]
        return [f"```python\n{block}\n```" for block in program.split("\n\n") if block.strip()]

    def drawing(self, lead):
        """The picture, below one line if it is wide, else to the right of the words."""
        png = image(self.png, self.title)
        width, height = struct.unpack(">II", b64decode(self.png.split()[0])[16:24])       # of its header
        wide = width > (1.8 if self.answer else 1.5) * height
        beside = "$$" in lead or "\n|" in lead
        if not self.answer and not beside:
            lead = sentence(lead.split("\n\n")[-1], PROSE if wide else SAID)
            if wide and self.point:                                    # it says what is to be seen
                self.notes += [lead] * (lead not in "\n".join(self.notes))
                lead = ""
        printed = drawn(self.printed)
        if wide or "bars table" not in printed:                        # the picture needs the room
            self.notes.append(as_printed(lines_of(self.printed)))
            printed = ""
        if wide or not lead + printed + self.said:
            return ["\n\n".join(filter(None, [lead, png])), *filter(None, self.said.split("\n\n"))]
        said = "\n\n".join(f"::: fragment\n{said}\n:::" for said in self.said.split("\n\n") if said)
        kind = "" if beside else " .caption"
        return [side_by_side("\n\n".join(filter(None, [lead, printed, said])), png, kind)]


def shown_of(cell):
    """The lines of a program that a slide shows, in blocks: those that its cell names, or all but
    imports and what only prints, if these are few."""
    def prints(node):
        if isinstance(node, ast.For):
            return all(map(prints, node.body))
        return isinstance(node, ast.Import | ast.ImportFrom) or ast.unparse(node).startswith("print(")

    lines, named = cell.source.splitlines(), cell.metadata.get("show")
    if named is not None:
        blocks = named if any(isinstance(block, list) for block in named) else [named]
        return "\n\n".join("\n".join(lines[i - 1] for i in block) for block in blocks)
    kept = ["\n".join(lines[node.lineno - 1 : node.end_lineno])
            for node in ast.parse(cell.source).body if not prints(node)]
    program = "\n".join(kept)
    return program if program.count("\n") < PROGRAM else ""


def language_of(notebook):
    return "en" if notebook.cells[0].source.startswith("# Lesson") else "zh"


def events(notebook):
    """What a lesson shows, in order: pairs such as ("text", Markdown) and ("picture", PNG).

    "ask" has a prediction and the cell that answers it; "print" and "picture" are outputs; "slide"
    and "say" have the words of a lesson that only its deck has.
    """
    cells, answers = notebook.cells, answers_of(notebook)
    for i, cell in enumerate(cells):
        if cell.metadata.get("show") is False:
            continue
        if cell.cell_type == "markdown":
            blocks, at = cell.source.split("\n\n"), 0
            for end, kind, words in [*cell.metadata.get("slides", ()), (None, "", "")]:
                for text in re.split(r"^(?=## )", "\n\n".join(blocks[at:end]), flags=re.MULTILINE):
                    heading, _, rest = text.partition("\n") if text.startswith("## ") else ("", "", text)
                    yield from [("heading", heading[3:])] * bool(heading)
                    yield "text", re.sub(r"^>.*\n?", "", rest, flags=re.MULTILINE).strip()
                yield from [(kind, words)] * bool(kind)
                at = end
            if "prediction" in cell.metadata:
                answer = min(j for j in answers if j > i)
                yield "ask", (answers[answer], cells[answer])
            continue
        yield "code", cell
        for output in cell.outputs:
            picture = output.get("data", {}).get("image/png")
            yield ("picture", picture) if picture else (
                "print", output.get("text") or output.get("data", {}).get("text/plain", ""))


class Deck:
    """The slides of the sections that are not optional, made from the events of a lesson."""

    def __init__(self, notebook):
        self.slides, self.language, self.png = [], language_of(notebook), ""
        self.words, self.took = WORDS[self.language], minutes.of_sections(notebook)
        whole, first = minutes.minutes(notebook)[0] - minutes.QUESTIONS, self.took[""]
        opening = min(first, 3)                                        # nobody reads the imports
        more = (whole - opening) / (whole - first)
        self.took = {name: spent * more for name, spent in self.took.items()} | {"": opening}
        self.exercises = exercises_of(int(re.search(r"\d+", notebook.cells[0].source)[0]))
        self.title, self.spent = "", 0                                 # minutes that notes have told
        found = [*events(notebook), ("heading", "")]
        first = [kind for kind, _ in found].index("heading")
        head = [kind for kind, _ in found].index("code")
        opening = found[head + 2 : first]                              # after the imports
        if any(kind in ("print", "picture") for kind, _ in opening):
            self.begin(re.match(r"# (?:.*· )?(.*)", notebook.cells[0].source)[1], self.took[""])
        for kind, what in opening * bool(self.title) + found[first:]:
            if kind == "heading" or self.title:
                getattr(self, kind)(what)

    def heading(self, title):
        self.close()
        left_out = re.search(f"{self.words.optional}|{self.words.check}", title)
        self.title = ""
        if re.match(r"\d", title) and not left_out:
            self.begin(title, self.took[f"## {title}"])

    def close(self):
        """Show what a section says before it ends, or before a slide that has a title of its own."""
        alone = self.title and self.title != (self.slides[-1].title if self.slides else "")
        lead = self.flush(alone=alone)
        if lead and alone:                                             # it has nothing else to show
            self.slides.append(Slide(self.title, clicks(self.told), self.notes()))

    def slide(self, title):
        """A slide with a title of its own, for the text that follows."""
        self.close()
        self.result, self.lead, self.told = None, "", ""
        self.spoken = Result(self.title, point=title, notes=self.notes())
        self.slides.append(self.spoken)

    def say(self, words):
        """A note on the slide that the last text speaks of."""
        says = self.ideas.notes if self.spoken is self.ideas else self.spoken.says
        says.insert(0, words)

    def show(self, words):
        """What the last slide shows instead of its text, a click for each line; ![] is a picture again."""
        slide, lines = self.spoken, re.split(r"(?<!\|)\n|\n(?!\|)", words)
        if "![]" in lines:
            slide.png, lines = self.png, lines[1:]
        slide.notes, self.told = [*slide.notes, self.told], ""
        if slide.png + slide.printed:
            slide.parts, slide.said = slide.parts * (not slide.point), "\n\n".join(lines)
        else:
            slide.parts = lines

    def begin(self, title, spent):
        number = title.split()[0]
        known = mistakes(self.exercises, number, self.language)        # each exercise once
        self.exercises = [e for e in self.exercises if number not in e.lesson.split(", ")]
        said = [self.words.section.format(self.words.time(spent))] * bool(round(spent))
        self.spent += round(spent)
        self.title, self.ideas = title, Slide(title, notes=said + known)
        self.spoken = self.ideas
        self.lead, self.told, self.result, self.programs = None, "", None, []

    def text(self, text):
        """The first sentence says what a section is about, or what was measured."""
        if not text:
            return
        self.told, first = text, sentence(text)
        if self.spoken.point and not (self.spoken.parts or self.spoken.said):
            self.spoken.parts = clicks(text)
            return
        speaks, alone, notes = self.ideas, False, self.ideas.notes
        if self.result and not self.result.said:
            self.result.said, speaks, notes = conclusion(text), self.result, self.result.told
            if not self.result.said:                                   # it speaks of what comes
                self.result = None
        elif self.lead is None and not BLOCK.match(text):
            self.lead = first
            text = text.replace(first, "", 1)
        else:
            alone = True                                               # nothing of it is said yet
        notes.append(self.told)
        self.spoken, said = speaks, []
        for block in re.sub(r"(?<![\n$])\n(?=\$\$.)", "\n\n", text).split("\n\n"):
            if not BLOCK.match(block.strip()):
                said.append(block)
                continue
            if not alone and len(said) > 1:                            # its first sentences are
                said[0] = ""
            self.ideas.parts.append("\n\n".join([*filter(None, said), block]).strip())
            said, alone = [], True

    def ask(self, asked):
        """A slide with the question, and one for what was measured."""
        prediction, cell = asked
        last = self.result
        if last and not last.said + last.png and (not last.program() or SHAPE.search(last.printed)):
            self.ideas.notes = self.slides.pop().notes + self.ideas.notes      # it is given below
        lead = self.flush(beside=not prediction.given)
        setting = given(prediction, cell, table) or lead
        verdicts = VERDICT[self.language]
        choices = "\n".join(
            f"::: {{.choice{' .fragment .custom' * (i == prediction.right)}}}\n"
            f"**{LETTERS[i]}** {choice}\n:::\n" for i, (choice, _) in enumerate(prediction.choices))
        notes = [*self.notes(), self.words.minutes.format(self.words.time(2)), *(
            f"{self.words.choice.format(LETTERS[i], verdicts[i == prediction.right])} {says}".strip()
            for i, (_, says) in enumerate(prediction.choices))]
        asks = f"{setting}\n\n::: question\n{prediction.question}\n:::"
        self.slides.append(Slide(self.title, [f"{asks}\n\n::: choices\n{choices}\n:::"], notes))
        right = prediction.choices[prediction.right][0]
        self.result = Result(self.title, answer=(
            f"::: asked\n{prediction.question} [**{LETTERS[prediction.right]}** {right}]{{.answer}}\n:::"))
        self.slides.append(self.result)
        self.programs = []

    def code(self, cell):
        """Keep a program for the next slide: the one of what it shows."""
        self.program = cell.source
        text = re.sub("  +#", "  #", shown_of(cell))
        text = re.sub(r"^(.{60,})  # .*", r"\1", text, flags=re.MULTILINE)     # too wide
        if cell.metadata.get("show") and self.spoken.point and ("\n\n" in text or not cell.outputs):
            self.spoken.parts += [f"```python\n{block}\n```" for block in text.split("\n\n")]
        else:
            self.programs.append(text)

    def print(self, text):
        self.shown(self.unsaid).printed += text
        self.result.programs += self.programs
        self.programs = []

    def picture(self, png):
        if self.result and (self.result.png or self.result.printed.count("\n") > STEP // 2):
            self.result = None                                         # there is no room for it
        if not self.result and self.spoken.point:                      # what it says is drawn
            self.result, self.spoken.parts = self.spoken, [" ".join(self.spoken.parts)]
        self.shown(self.caption).png, self.programs, self.png = in_steps(self.program, png), [], png

    def shown(self, words):
        """The slide of what a cell shows: the last one, until a text has said what it shows.

        words : makes what stands above it, of the sentences before the cell
        """
        if self.result is None or self.result.said:
            lead = self.flush(beside=True)
            last = self.slides[-1] if self.slides else Slide("")
            before = "\n".join([lead, getattr(last, "said", ""), *last.parts])
            prose = [part for part in self.told.split("\n\n") if not BLOCK.match(part)]
            told = [found[0].strip() for found in SENTENCE.finditer(headed("".join(prose[-1:]))[1])]
            above = words([said for said in told if said not in before])
            parts = [lead] * bool(lead) + [above] * bool(above)
            self.result = Result(self.title, ["\n\n".join(parts)] * bool(parts), self.notes())
            self.slides.append(self.result)
        return self.result

    def caption(self, told):
        """The sentence that speaks of a picture, or the last one."""
        at = max((i for i, said in enumerate(told) if PICTURE.search(said)), default=len(told) - 1)
        return sentence(" ".join(told[max(at, 0):]))

    def unsaid(self, told):
        """The first sentences, and the last one if it leads to what is shown."""
        said = sentence(" ".join(told))
        last = "".join(told[-1:])
        return f"{said} {last}" if last.endswith((":", "：")) and last not in said else said

    def notes(self):
        """What is to be said of the section, once: with its first slide."""
        notes, self.ideas.notes = self.ideas.notes, []
        return notes

    def flush(self, beside=False, alone=False):
        """Finish the slide of ideas; return what is too little for one: the first sentences of the
        section, or a lone formula `beside` a question or picture."""
        if not self.title:
            return ""
        lead, ideas = self.lead or "", self.ideas
        self.lead, self.ideas = "", Slide(self.title)
        if not ideas.parts:
            self.ideas.notes = ideas.notes
            return lead
        few = sum(map(height_of, ideas.parts)) <= FEW and all("$$" in part for part in ideas.parts)
        few |= "figure_1" in "".join(self.programs) and ideas.parts[0].startswith("|")
        if beside and few and len(ideas.parts) == 1:
            self.ideas.notes = ideas.notes
            return f"{lead}\n\n{ideas.parts[0]}".strip()
        if alone or (few and len(ideas.parts) == 1):                     # all that the text says
            ideas.parts, lead = clicks(self.told), ""
        filled = FULL + 1
        for part in filter(None, [lead, *ideas.parts]):
            height = height_of(part)
            if filled + height > FULL:
                point, part = headed(part)
                self.slides.append(Slide(self.title, notes=ideas.notes, point=point))
                filled, ideas.notes = 0, []
            self.slides[-1].parts.append(part)
            filled += height
        return ""


def sentence(text, most=SAID):
    """The first sentence of a text, and as many of the next ones as `most` letters hold.

    A sentence that leads to what stands below, such as a formula or picture, is no next one.
    """
    words = list(itertools.takewhile(lambda p: not BLOCK.match(p.strip()), text.split("\n\n")[:2]))
    said = ""
    for found in SENTENCE.findall("\n\n".join(words)):
        whole = re.search(ENDS, found.strip())
        leads = not whole or PICTURE.search(found)
        if said and (leads or len((said + found).encode()) > most):    # Chinese is wider
            break
        said += found
    return said.strip()


def pointed(said, most=2 * PROSE):
    """What a result says: its first sentence, if it is short enough for a title, and the next ones."""
    first, *others = SENTENCE.findall(said) or [""]
    if len(first.encode()) > TITLE:
        return "", sentence(said, most)
    if first.count("**") % 2:                                          # the next one is bold
        first, others = first.removesuffix("**"), ["**", *others]
    return first.strip(" .。\n"), sentence("".join(others), most)


def headed(text):
    """The bold words that a text begins with, and the text; without them, if they end there."""
    bold = BOLD.match(text)
    if not bold:
        return "", text
    return bold[1], text[bold.end():] if bold[2] + bold[3] else text


def not_shown(notes, shown):
    """The notes of a slide without the sentences and formulas that are `shown` on slides."""
    kept = [block for block in notes.split("\n\n") if block not in shown]
    kept = [rest if title in shown else block for block in kept for title, rest in [headed(block)]]
    for said in SENTENCE.findall("\n\n".join(kept)):
        whole = re.escape(said.strip(" .:。*\n")) + r"(?:[].:。*]|\s*\n|$)"   # and not the half of one
        if len(said) > PROSE // 6 and re.search(whole, shown):
            kept = [block.replace(said.strip(), "").strip() for block in kept]
    return "\n\n".join(filter(None, kept))


def clicks(text):
    """The first sentences of a text, about three times as many as are said elsewhere, and its
    formulas, each with a click of its own; paragraphs, if these are too many."""
    parts, room, found = [], 3 * SAID, []
    blocks = re.sub(r"(?<![\n$])\n(?=\$\$.)", "\n\n", text).split("\n\n")
    for block in blocks:
        if BLOCK.match(block.strip()) and found and not re.search(ENDS, found[-1].strip()):
            found[-1] += f"\n\n{block}"
        else:
            found += [block] if BLOCK.match(block.strip()) else SENTENCE.findall(headed(block)[1])
    for said in blocks if len(found) >= FEW else found:
        room -= len(said)
        if room > 0 and said.strip():
            parts.append(said.strip())
    return parts


def conclusion(text):
    """What is said of a result: nothing if the text speaks of what comes next."""
    text = re.sub(r"^(?:\([^)]*\)|（[^）]*）)\s*", "", text)               # not an aside
    told = SENTENCE.findall(sentence(text.split("\n\n")[0], 2 * SAID))
    return "".join(itertools.takewhile(lambda said: not LEADS.match(said.strip()), told)).strip()


def height_of(part):
    """The lines of a part of a slide, about: two for a row of a formula or of bars."""
    if "<table" in part:
        return (1 + ("<span" in part) / 2) * part.count("<tr>")
    text, *formulas = part.split("$$")
    rows = sum(1 + formula.count(r"\\") for formula in formulas[::2])
    wraps = sum(len(line) // PROSE for line in text.splitlines())
    return text.count("\n") + 1 + 2 * rows + wraps if formulas else part.count("\n") + wraps


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
        return ["\n\n".join([WORDS[language].mistakes, "\n".join(lines)])] * bool(known)


def image(png, title):
    """A picture, base64 PNG, as HTML; nothing for nothing. Of several, the next covers the last."""
    if not png:
        return ""
    first, *more = (f'src="data:image/png;base64,{one}" alt="{escape(title)}">' for one in png.split())
    return f"<img {first}" + "".join(f'<img class="fragment" {one}' for one in more)


@cache
def in_steps(program, png):
    """The pictures of a drawing that grows step by step, parted by spaces; else the picture."""
    grown = [f() for name, steps in GROW.items() if name in program.rpartition("\n")[2] for f in steps]
    return " ".join([*(b64encode(drawing._repr_png_()[0]).decode() for drawing in grown), png])


def deck(notebook):
    """The title and the whole deck of a lesson in pandoc's Markdown."""
    head, language = notebook.cells[0].source, language_of(notebook)
    words, title = WORDS[language], re.match(r"# (.*)", head)[1]
    row = {part: re.search(rf"\| \*\*{part}\*\* \| (.*) \|", head)[1]
           for part in (words.do, words.learn, words.paper)}
    made = Deck(notebook)
    named = {slide.title for slide in made.slides}
    headings = [h for c in notebook.cells for h in re.findall(r"^## (\d.*)", c.source, re.MULTILINE)]
    plan = "\n".join(f"- {symbols(name)}{words.home * (words.optional in name)}"
                     for name in headings if name in named or words.optional in name)
    picture = image(first_drawing(notebook), title)
    text = "\n\n".join([f"**{words.learn}{words.stop}** {row[words.learn]}",
                        f"**{words.paper}{words.stop}** {row[words.paper]}", plan])
    whole = minutes.rounded(minutes.minutes(notebook)[0])
    rest = max(round(whole - made.spent - minutes.QUESTIONS), 1)       # for the summary
    opening = Slide(title, [side_by_side(text, picture) if picture else text],
                    [words.minutes.format(words.time(whole)), f"{words.do}{words.stop} {row[words.do]}.",
                     *mistakes(made.exercises, re.search(r"\d+", title)[0], language)])
    text = "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    summary, questions = text.split(f"## {words.summary}\n")[1].split(f"## {words.questions}\n")
    answers = re.findall(r"<details>.*?</summary>(.*?)</details>", questions, flags=re.DOTALL)
    asked = re.split(r"<details>.*?</details>", questions, flags=re.DOTALL)
    summary = re.split(r"\n(?:Try it|试一试)", summary[summary.index("- "):])[0]    # pages are elsewhere
    points = re.split(r"\n(?=- |\*\*)", summary.strip())
    slides = [opening, *made.slides, Slide(words.summary, points,
                                      [words.minutes.format(words.time(rest)), words.end]),
              Slide(words.questions, [q.strip() for q in asked if q.strip()],
                    [words.minutes.format(words.time(minutes.QUESTIONS)),
                     *(f"**{i}.** {answer.strip()}" for i, answer in enumerate(answers, 1))])]
    text = "\n\n".join(slide.markdown() for slide in slides)
    shown = NOTES.sub("", text)
    return title, NOTES.sub(lambda m: f"::: notes\n{not_shown(m[1], shown)}\n:::", text)


def first_drawing(notebook):
    """The picture that stands before the first section, or nothing."""
    opening = itertools.takewhile(
        lambda cell: not re.search(r"^## \d", cell.source, re.MULTILINE), notebook.cells)
    shown = (output for cell in opening for output in cell.get("outputs", ()))
    return next((o.data["image/png"] for o in shown if "image/png" in o.get("data", {})), "")


def write_deck(lesson, folder):
    """Write the deck of a notebook as one HTML file; return its path."""
    pypandoc = needed("pypandoc", of="slides")
    title, text = deck(nbformat.read(lesson, as_version=4))
    target = Path(folder) / f"{lesson.stem}.html"
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
