"""Make the student edition of a lesson: no outputs, no answers, links to its exercises.

A notebook is a dict, its JSON, so no package for notebooks is needed.
`aiayn-np lessons DIR` writes this edition. The lessons in `notebooks/` are the teacher edition.
"""

import copy
import re

from .exercise import EXERCISES, Exercise

FOLD = "<details><summary>{}</summary>\n\n{}\n\n</details>"
WORDS = {  # begin of a prediction, summary of its answer, heading, begin of a link
    "en": ("**Predict.**", "After you have run it: what it shows", "Exercises", "Exercise"),
    "zh": ("**预测：**", "运行之后再看：它说明了什么", "练习", "练习"),
}
RESULT, CHECK = " <!-- result -->", 'print("all true")'  # ends a result in a text; ends a check
ANSWER = re.compile(r"^predicted = \S+(.*\n# yours:.*\n)(?:.*\n)*?(?=judge\()", re.MULTILINE)
TO_WRITE = r"predicted = None\1measured = None\n\n"  # a student writes the lines himself


def student_edition(notebook: dict, number: int, language: str = "en") -> dict:
    """Return the student edition of a lesson's notebook, without data for slides and votes.

    Parameters
    ----------
    notebook : dict, as returned by `json.load`; it is not changed
    number : int, the lesson's number
    language : "en" or "zh", the language of the notebook's text
    """
    edition = copy.deepcopy(notebook)
    for cell in edition["cells"]:
        cell["metadata"] = {k: v for k, v in cell["metadata"].items() if k == "jupyter"}
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
            cell["source"] = ANSWER.sub(TO_WRITE, "".join(cell["source"]))
            if CHECK in cell["source"]:
                cell["metadata"]["jupyter"] = {"source_hidden": True}
        elif cell["cell_type"] == "markdown":
            cell["source"] = folded("".join(cell["source"]), WORDS[language][1])
    edition["cells"] += links_to(exercises_of(number), *WORDS[language][2:])
    return edition


def links_to(exercises, heading, begins):
    """Return a list with one cell, which links to the exercises, or [] if there are none."""
    links = [f"- [{begins} {e.number} · {e.title}](exercises/{e.stem}.ipynb)" for e in exercises]
    text = "\n".join([f"## {heading}", "", *links])
    return [dict(cell_type="markdown", id="exercises", metadata={}, source=text)] * bool(links)


def folded(source: str, shows: str) -> str:
    """Fold the beginning of a text up to the mark `<!-- result -->`, which the lesson sets."""
    result, mark, rest = source.partition(RESULT)
    paragraph, _, after = rest.partition("\n\n")
    parts = [FOLD.format(shows, result), paragraph.strip(), after]
    return "\n\n".join(filter(None, parts)) if mark else source


def asks(source: str, language: str = "en") -> bool:
    """Tell whether a text cell ends with a prediction."""
    return WORDS[language][0] in source.split("## ")[-1]


def exercises_of(number: int) -> list[Exercise]:
    """Return the exercises that a lesson explains."""
    return [exercise for exercise in EXERCISES.values() if number in lessons_of(exercise)]


def lessons_of(exercise):
    """Return the numbers of the lessons that explain an exercise."""
    return {int(section.split(".")[0]) for section in exercise.lesson.split(", ")}
