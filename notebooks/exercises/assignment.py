"""Make an assignment for nbgrader or Otter-Grader from an exercise, with its solution marked.

    pip install -e '.[notebooks]'
    python notebooks/exercises/assignment.py nbgrader 01 course/source/softmax
    python notebooks/exercises/assignment.py otter 01 otter_softmax
    python notebooks/exercises/assignment.py --zh otter 01 otter_softmax      in Chinese

It writes 01_softmax.ipynb into that folder. The two programs take the solutions out themselves, and
put an error in the place of each: not written yet. The cells after the class become one test for
each thing to write, `assert check(Softmax)`, worth a point.
TEACHING.md tells what to do with the notebook.
"""

import argparse
import re
import sys
from pathlib import Path

from build import (
    CHINESE,
    SOLUTION,
    SOURCES,
    SPEAK,
    exercise_of,
    nbformat,
    notebook_of,
    text_of,
)

from aiayn_course.exercises.language import say, speaking

AFTER = r"# %% \[markdown\]\n# ## (?:Is it right\?|写对了吗？)"  # the class: what students run themselves
POINTS = 1  # for each class or function
TAKEN = {  # what stands around a solution; \1 is its indent, \2 its name, \3 the solution
    "nbgrader": r"\1### BEGIN SOLUTION\n\3\1### END SOLUTION\n",
    "otter": r'\1""" # BEGIN PROMPT\n\1raise NotImplementedError("not written yet: \2")'
             r'\n\1""" # END PROMPT\n\1# BEGIN SOLUTION\n\3\1# END SOLUTION\n',
}


def assignment(source, kind):
    """The notebook of an exercise, as `kind` reads it, in the language of the source."""
    text = re.split(AFTER, SOLUTION.sub(TAKEN[kind], text_of(source)))[0]
    exercise = exercise_of(source)
    title, front = f"# Exercise {exercise.number} · {exercise.title}", []
    if source in CHINESE:
        with speaking("zh"):
            title = f"# 练习 {exercise.number} · {say(exercise.title)}"
        front = [nbformat.v4.new_code_cell(SPEAK.strip())]
    cells = [nbformat.v4.new_markdown_cell(title), *front,
             *notebook_of(text).cells]
    cells = (for_nbgrader if kind == "nbgrader" else for_otter)(cells, exercise)
    for i, cell in enumerate(cells):
        cell["id"] = f"cell-{i}"
    return nbformat.v4.new_notebook(cells=cells, metadata=notebook_of("").metadata)


def has_solution(cell):
    return "BEGIN SOLUTION" in cell.source


def marked(cell, name, **what):
    """The cell with nbgrader's metadata."""
    kinds = dict(grade=False, solution=False, locked=False, task=False)
    cell["metadata"] = {"nbgrader": dict(grade_id=name, schema_version=3, **kinds) | what}
    return cell


def for_nbgrader(cells, exercise):
    """Cells to write in, and one locked cell with points for each thing to write."""
    for i, cell in enumerate(cells):
        marked(cell, f"part-{i}", **({"solution": True} if has_solution(cell) else
                                     {"locked": True}))
    for name in exercise.objects:
        cell = nbformat.v4.new_code_cell(f"report = check({name})\nprint(report)\nassert report")
        cells.append(marked(cell, f"test-{name}", grade=True, locked=True, points=POINTS))
    return cells


def for_otter(cells, exercise):
    """One question, whose tests are those of `check`, between raw cells that Otter reads."""
    raw, code = nbformat.v4.new_raw_cell, nbformat.v4.new_code_cell
    first = next(i for i, cell in enumerate(cells) if has_solution(cell))
    points = POINTS * len(exercise.objects)
    question = f"# BEGIN QUESTION\nname: {SOURCES[exercise.number - 1].stem[3:]}\npoints: {points}"
    solution = [cell for cell in cells[first:] if cell.cell_type == "code"]
    tests = [code(f"report = check({name})\nassert report, str(report)")
             for name in exercise.objects]
    return [raw("# ASSIGNMENT CONFIG\ninit_cell: true\nexport_cell: false"), *cells[:first],
            raw(question), raw("# BEGIN SOLUTION"), *solution, raw("# END SOLUTION"),
            raw("# BEGIN TESTS"), *tests, raw("# END TESTS"), raw("# END QUESTION")]


def main(kind, number, folder, in_chinese=False):
    sources = [source for source in (CHINESE if in_chinese else SOURCES)
               if source.name.startswith(f"{number}_")]
    if not sources:
        return f"no exercise {number}: it must be one of 01 to {len(SOURCES):02}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / sources[0].with_suffix(".ipynb").name
    path.write_text(nbformat.writes(assignment(sources[0], kind)) + "\n", encoding="utf-8")
    print(path)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=list(TAKEN))
    parser.add_argument("number", help="such as 01")
    parser.add_argument("folder", type=Path, help="where the notebook goes")
    parser.add_argument("--zh", action="store_true", help="in Chinese")
    args = parser.parse_args()
    sys.exit(main(args.kind, args.number, args.folder, args.zh))
