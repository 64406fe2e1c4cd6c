"""Make the student edition of a lesson: no outputs, folded results, links to its exercises.

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
NEXT = re.compile(r"picture|drawing|next cell|plot\b|下图|这幅图|下一个单元格|图中|<details>"
                  r"|Figure 1|图 1|^(?:Now|Then|Take|Look|Check|The experiment)\b"
                  r"|^(?:现在|然后|下面|再来|实验|\$\$)"
                  r"|^[^.。]*[?？]|[^.。!！)）*]$")  # also a question, or an unfinished sentence
ENDS = re.compile(r"[.!)*](?=\s|$)|[。！）]")  # the end of a sentence
LIVE, CHECK = "docs/live/", 'print("all true")'  # what a text opens; the end of a check


def student_edition(notebook: dict, number: int, language: str = "en") -> dict:
    """Return the student edition of a lesson's notebook, without data for slides and votes.

    Parameters
    ----------
    notebook : dict, as returned by `json.load`; it is not changed
    number : int, the lesson's number
    language : "en" or "zh", the language of the notebook's text
    """
    edition, shown, asked = copy.deepcopy(notebook), False, False
    for cell in edition["cells"]:
        cell["metadata"] = {k: v for k, v in cell["metadata"].items() if k == "jupyter"}
        if cell["cell_type"] == "code":
            shown = shown or bool(cell["outputs"])
            cell["outputs"], cell["execution_count"] = [], None
            if CHECK in "".join(cell["source"]):
                cell["metadata"]["jupyter"] = {"source_hidden": True}
        elif cell["cell_type"] == "markdown":
            source = "".join(cell["source"])
            if shown or asked:
                cell["source"] = folded(source, WORDS[language][1], asked)
            shown, asked = LIVE in source, asks(source, language)
    edition["cells"] += links_to(exercises_of(number), *WORDS[language][2:])
    return edition


def links_to(exercises, heading, begins):
    """Return a list with one cell, which links to the exercises, or [] if there are none."""
    links = [f"- [{begins} {e.number} · {e.title}](exercises/{e.stem}.ipynb)" for e in exercises]
    text = "\n".join([f"## {heading}", "", *links])
    return [dict(cell_type="markdown", id="exercises", metadata={}, source=text)] * bool(links)


def folded(source: str, shows: str, asked: bool) -> str:
    """Fold the first paragraph of a text, which tells the result. Headings, questions, and
    sentences that lead to the next cell are not folded.

    asked : whether a prediction stands before the text; its full sentences are then folded anyway
    """
    first, *rest = source.split("\n\n")
    if first.startswith(("## ", "> ")) or (NEXT.search(first) and not asked):
        return source
    end = max((match.end() for match in ENDS.finditer(first)), default=len(first))
    said, announced = first[:end], first[end:].strip()
    return "\n\n".join([FOLD.format(shows, said), *filter(None, [announced]), *rest])


def asks(source: str, language: str = "en") -> bool:
    """Tell whether a text cell ends with a prediction."""
    return WORDS[language][0] in source.split("## ")[-1]


def exercises_of(number: int) -> list[Exercise]:
    """Return the exercises that a lesson explains."""
    return [exercise for exercise in EXERCISES.values() if number in lessons_of(exercise)]


def lessons_of(exercise):
    """Return the numbers of the lessons that explain an exercise."""
    return {int(section.split(".")[0]) for section in exercise.lesson.split(", ")}
