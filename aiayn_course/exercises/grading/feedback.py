"""Write what each student gets back: the reports of the check, as a page and as text."""

import html
import json
import re
from collections.abc import Iterable
from pathlib import Path

from aiayn_np.files import replacing

from ..language import say, spoken
from .grading import Grade, totals

PAGE = """<!DOCTYPE html>
<html lang="{language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem}}
h2 {{border-top: 1px solid #bbb; padding-top: 1rem}}
pre, code {{font-size: 14px; white-space: pre-wrap}}
td {{padding-right: 1rem; vertical-align: top}}
</style>
<h1>{title}</h1>
{body}</html>
"""


def write_feedback(grades: Iterable[Grade], folder: str | Path) -> Path:
    """Write STUDENT.html and STUDENT.txt for each student into a folder that is there.

    They hold the reports as `check` shows them: what is wrong, and not yet how to mend it.
    """
    everybody = list(grades)
    for student, (points, of) in totals(everybody).items():
        own = [g for g in everybody if g.student == student]
        title = say("{student}: {points} of {of} points", student=student, points=f"{points:g}",
                    of=of)
        text, body = [title], []
        for g in own:
            head = headline(g)
            text += ["", head, "=" * len(head), *(f"\n{r['text']}" for r in parts(g))]
            body += [f"<h2>{head}</h2>\n", *(
                r["html"] or f"<pre>{html.escape(r['text'])}</pre>" for r in parts(g)), "\n"]
        name = re.sub(r"[^\w .,()-]", "_", student)
        page = PAGE.format(language="zh" if spoken() == "zh" else "en", title=html.escape(title),
                           body="".join(body))
        for ending, content in ((".txt", "\n".join([*text, ""])), (".html", page)):
            with replacing(Path(folder) / f"{name}{ending}") as file:
                file.write(content.encode("utf-8", "backslashreplace"))
    return Path(folder)


def headline(g):
    """Return the name of an exercise and its points in a line."""
    late = say("; ") + say("late") if g.late else ""
    return say("{student}: {points} of {of} points", student=say(g.exercise),
               points=f"{g.points:g}", of=g.of) + late


def parts(g):
    """Return the reports of a Grade, with a line on what no report says."""
    said = g.reports and not g.passed                                  # what a report says
    return [*([] if said or not g.message else [dict(text=g.message, html="")]), *g.reports]


def write_results(grades: Iterable[Grade], path: str | Path) -> Path:
    """Write Grades as the results.json that Gradescope's autograder expects.

    All files are those of one student: of each exercise the Grade with the most points counts.
    """
    everything = sorted(grades, key=lambda g: g.points)
    some = {g.exercise: g for g in everything}.values()
    tests = [dict(name=say(g.exercise), score=g.points, max_score=g.of,
                  output="\n\n".join(r["text"] for r in parts(g))) for g in some]
    result = dict(score=sum(g.points for g in some), tests=tests)
    with replacing(path) as file:
        file.write(json.dumps(result, ensure_ascii=False, indent=1).encode())
    return Path(path)
