"""Make what students get from the sources: source/NN_name.py becomes student/NN_name.py and .ipynb.

    pip install -e '.[notebooks]'
    python notebooks/exercises/build.py              all of them
    python notebooks/exercises/build.py 01 03        some

A source is a script in the "percent" format of jupytext, with its solution between the lines
`### solution: what is missing` and `### end`. A student's file has an error there that says so, and
gets two cells in front: what the exercise is, from `aiayn_np.exercises.EXERCISES`, and the one that
installs the package on a hosted notebook service, as that of a lesson does. Its notebook has not been run.
"""

import argparse
import re
import sys
from pathlib import Path

from aiayn_np.exercises import EXERCISES

FOLDER = Path(__file__).parent
sys.path.append(str(FOLDER.parent))
from needs import needed
from repository import with_address

jupytext, nbformat = needed("jupytext"), needed("nbformat")
SOURCES = sorted((FOLDER / "source").glob("[0-9][0-9]_*.py"))
SOLUTION = re.compile(r"^( *)### solution: ([^\n]+)\n(.*?)^ *### end\n", re.MULTILINE | re.DOTALL)
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
TITLE = """\
# %% [markdown]
# # Exercise {number} · {title}
#
# | | |
# |---|---|
# | **Write** | {objects} |
# | **You have to find** | {asks} |
# | **Paper** | Section {section} |
# | **Explained in** | Lesson {lesson} |
# | **Time** | {minutes} minutes |

"""
INSTALL = """\
# %%
import importlib.util
import subprocess
import sys
from pathlib import Path

REPOSITORY = ""  # build.py writes the address here that pyproject.toml gives
if importlib.util.find_spec("aiayn_np") is None:  # on a hosted notebook service: one pip install
    here = Path("../../../pyproject.toml").exists()
    package = "../../.." if here else REPOSITORY and f"git+{REPOSITORY}"
    if "ipykernel" not in sys.modules or not package:
        sys.exit("This exercise needs the package aiayn_np, and it is not installed. Get a copy of"
                 " the whole project, run pip install -e '.[notebooks]' in it, and start again.")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", package], check=True)

"""


def without_solution(text):
    """The source with an error in the place of every solution."""
    return SOLUTION.sub(r'\1raise NotImplementedError("not written yet: \2")' + "\n", text)


def solutions(text):
    """The lines of all solutions of a source."""
    return [line for match in SOLUTION.finditer(text) for line in match[3].splitlines()]


def exercise_of(source):
    """The Exercise that a source belongs to, by its number."""
    return next(e for e in EXERCISES.values() if e.number == int(source.name[:2]))


def student_text(source):
    """The script that a student gets."""
    e = exercise_of(source)
    objects = ", ".join(f"`{name}`" for name in e.objects)
    facts = {name: getattr(e, name) for name in ("number", "title", "section", "lesson", "minutes")}
    title = TITLE.format(objects=objects, asks=e.asks, **facts)
    return title + with_address(INSTALL) + without_solution(source.read_text(encoding="utf-8"))


def student_notebook(source):
    """The notebook of that script, as text."""
    notebook = jupytext.reads(student_text(source), fmt="py:percent")
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for i, cell in enumerate(notebook.cells):
        cell["id"], cell["metadata"] = f"cell-{i}", {}
    return nbformat.writes(notebook) + "\n"


def student_files(source):
    """{path: text} of what is made from a source."""
    target = FOLDER / "student" / source.name
    return {target: student_text(source), target.with_suffix(".ipynb"): student_notebook(source)}


def main(chosen):
    sources = [s for s in SOURCES if not chosen or s.name[:2] in chosen]
    for source in sources:
        for path, text in student_files(source).items():
            path.write_text(text, encoding="utf-8", newline="\n")
            print(path.relative_to(FOLDER))
    return 0 if sources else "no exercise of that number"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("number", nargs="*", help="such as 01; none: all")
    sys.exit(main(parser.parse_args().number))
