"""Make the student edition of a lesson: no outputs, folded answers, links to its exercises.

A notebook is the dict that its JSON holds, so no package for notebooks is needed.
`aiayn-np lessons DIR` writes this edition. The lessons in `notebooks/` are the teacher edition.
"""

import copy

from .exercise import EXERCISES, Exercise
from .grading.submissions import stem

FOLD = "<details><summary>{}</summary>\n\n{}\n\n</details>"
WORDS = {  # how a prediction begins, what unfolds its answer, a heading, what a link begins with
    "en": ("**Predict.**", "After you have run it: what it shows", "Exercises", "Exercise"),
    "zh": ("**预测：**", "运行之后再看：它说明了什么", "练习", "练习"),
}


def student_edition(notebook: dict, number: int, language: str = "en") -> dict:
    """Return a lesson's notebook as a student gets it, with links to its exercises.

    Parameters
    ----------
    notebook : dict, as `json.load` gives it; it is not changed
    number : int, the lesson's number
    language : "en" or "zh", the language of the notebook's text
    """
    _, shows, exercises, exercise = WORDS[language]
    edition, asked = copy.deepcopy(notebook), False
    for cell in edition["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
        elif cell["cell_type"] == "markdown":
            source = "".join(cell["source"])
            if asked and not source.startswith(("## ", "> ")):
                first, *rest = source.split("\n\n")
                cell["source"] = "\n\n".join([FOLD.format(shows, first), *rest])
            asked = asks(source, language)
    links = [f"- [{exercise} {e.number} · {e.title}](exercises/{stem(e)}.ipynb)"
             for e in exercises_of(number)]
    if links:
        text = "\n".join([f"## {exercises}", "", *links])
        edition["cells"].append(dict(cell_type="markdown", id="exercises", metadata={},
                                     source=text))
    return edition


def asks(source: str, language: str = "en") -> bool:
    """Tell whether a cell of text ends with a prediction."""
    return WORDS[language][0] in source.split("## ")[-1]


def exercises_of(number: int) -> list[Exercise]:
    """Return the exercises that a lesson explains."""
    return [exercise for exercise in EXERCISES.values() if number in lessons_of(exercise)]


def lessons_of(exercise):
    """Return the numbers of the lessons that explain an exercise."""
    return {int(section.split(".")[0]) for section in exercise.lesson.split(", ")}
