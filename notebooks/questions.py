"""The questions of the lessons for a learning platform, in the GIFT format, which Moodle imports.

    python notebooks/questions.py questions.gift

Each is an essay question: a student writes, the lesson's answer is the feedback, and a person
grades. Each lesson is a category. The text is HTML with formulas between \\( and \\), which
Moodle's MathJax filter shows.
"""

import re
import sys
from html import escape
from pathlib import Path

from needs import needed

nbformat, MarkdownIt = needed("nbformat"), needed("markdown_it").MarkdownIt
dollarmath_plugin = needed("mdit_py_plugins.dollarmath").dollarmath_plugin
FOLDER = Path(__file__).parent
LESSONS = sorted(FOLDER.glob("[0-9][0-9]_*.ipynb"))
QUESTION = re.compile(r"\*\*(\d)\.\*\* (.*?)\n\n<details><summary>Answer</summary>\n\n(.*?)\n\n"
                      r"</details>", re.DOTALL)


def questions_of(notebook):
    """(number, question, answer) of a lesson, as Markdown."""
    text = "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    return QUESTION.findall(text.split("## Questions")[1])


def gift_text(markdown):
    """Markdown as HTML in one line, with GIFT's backslash before its control signs."""
    page = MarkdownIt().use(dollarmath_plugin, renderer=formula).render(markdown)
    return re.sub(r"([\\~=#{}:])", r"\\\1", " ".join(page.split()))


def formula(tex, options):
    return rf"\[{escape(tex)}\]" if options["display_mode"] else rf"\({escape(tex)}\)"


def gift(notebooks):
    """The GIFT file of several lessons, as text."""
    parts = ["// made by notebooks/questions.py from the lessons"]
    for notebook in notebooks:
        title = re.match(r"# (.*)", notebook.cells[0].source)[1]
        number = re.search(r"\d+", title)[0]
        parts.append(f"$CATEGORY: {title.replace(' · ', ' ')}")
        parts += [f"::Lesson {number}, question {i}::[html]{gift_text(question)} "
                  f"{{#### {gift_text(answer)}}}"
                  for i, question, answer in questions_of(notebook)]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python notebooks/questions.py FILE.gift")
    lessons = [nbformat.read(path, as_version=4) for path in LESSONS]
    Path(sys.argv[1]).write_text(gift(lessons), encoding="utf-8")
    print(f"{sys.argv[1]}: {sum(len(questions_of(lesson)) for lesson in lessons)} questions")
