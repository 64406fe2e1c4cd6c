"""The predictions and questions of the lessons for a learning platform, in GIFT, which Moodle imports.

    python notebooks/quiz.py quiz.gift          all lessons
    python notebooks/quiz.py quiz.gift --zh     in Chinese

Each lesson is a category. A prediction is a multiple-choice question with what is said to each
choice. A question at the end of a lesson is an essay question: the lesson's answer is the feedback,
and a person grades. The text is HTML with formulas between \\( and \\), which Moodle's MathJax
filter shows.
"""

import argparse
import re
from html import escape
from pathlib import Path

import chinese
from needs import needed
from predictions import answers_of, given

MarkdownIt = needed("markdown_it").MarkdownIt
dollarmath_plugin = needed("mdit_py_plugins.dollarmath").dollarmath_plugin
FOLDER = Path(__file__).parent
QUESTION = re.compile(r"\*\*(\d)\.\*\* (.*?)\n\n<details><summary>\w+</summary>\n\n(.*?)\n\n"
                      r"</details>", re.DOTALL)
WORDS = {"# L": ("Lesson {}, prediction {}", "Lesson {}, question {}", "## Questions"),
         "# 第": ("第 {} 课，预测 {}", "第 {} 课，问题 {}", "## 问题")}


def questions_of(notebook):
    """(number, question, answer) of those at the end of a lesson, as Markdown."""
    text = "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    return QUESTION.findall(text.split(words_of(notebook)[2])[1])


def words_of(notebook):
    return WORDS[notebook.cells[0].source[:3]]


def choices_of(notebook):
    """(what is given and asked, [(choice, what is said to it)], right) of each prediction."""
    return [(f"{given(asked, notebook.cells[i], tex)}\n\n{asked.question}", asked.choices, asked.right)
            for i, asked in answers_of(notebook).items()]


def tex(rows):
    """A number, a text, a vector or a matrix as a formula."""
    if rows == [rows[0][:1]]:
        return rows[0][0]
    inside = r" \\ ".join(" & ".join(row) for row in rows)
    return rf"$\begin{{pmatrix}} {inside} \end{{pmatrix}}$"


def gift_text(markdown):
    """Markdown as HTML in one line, with GIFT's backslash before its control signs and itself."""
    page = MarkdownIt().use(dollarmath_plugin, renderer=formula, double_inline=True).render(markdown)
    return re.sub(r"([\\~=#{}:])", r"\\\1", " ".join(page.split()))


def formula(tex, options):
    return rf"\[{escape(tex)}\]" if options["display_mode"] else rf"\({escape(tex)}\)"


def gift(notebooks):
    """The GIFT file of several lessons, as text."""
    parts = ["// made by notebooks/quiz.py from the lessons"]
    for notebook in notebooks:
        title = re.match(r"# (.*)", notebook.cells[0].source)[1]
        number = re.search(r"\d+", title)[0]
        prediction, question, _ = words_of(notebook)
        parts.append(f"$CATEGORY: {title.replace(' · ', ' ')}")
        for i, (asked, choices, right) in enumerate(choices_of(notebook), 1):
            said = [f"{'~='[j == right]}{gift_text(choice)}#{gift_text(says)}"
                    for j, (choice, says) in enumerate(choices)]
            parts.append("\n".join([f"::{prediction.format(number, i)}::[html]{gift_text(asked)} {{",
                                    *said, "}"]))
        parts += [f"::{question.format(number, i)}::[html]{gift_text(asked)} "
                  f"{{#### {gift_text(answer)}}}"
                  for i, asked, answer in questions_of(notebook)]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="such as quiz.gift")
    parser.add_argument("--zh", action="store_true", help="the Chinese lessons")
    arguments = parser.parse_args()
    lessons = [chinese.read(path, "zh" if arguments.zh else "en")
               for path in sorted(FOLDER.glob("[0-9][0-9]_*.ipynb"))]
    arguments.file.write_text(gift(lessons), encoding="utf-8")
    print(f"{arguments.file}: {sum(len(choices_of(lesson)) for lesson in lessons)} predictions,"
          f" {sum(len(questions_of(lesson)) for lesson in lessons)} questions")
