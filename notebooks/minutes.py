"""Estimate how long a lesson takes: `python notebooks/minutes.py`, or with numbers such as `03`.

Reading at 100 words a minute, without what is folded; 8 seconds for a line of code, and for a line
of source that a cell prints; two minutes for a prediction and its choices; six minutes for the
questions at the end. Sections whose heading says *for the keen* are optional and counted apart.
"""

import re
import sys
from pathlib import Path

from needs import needed

nbformat = needed("nbformat")
FOLDER = Path(__file__).parent
WORDS_A_MINUTE, SECONDS_A_LINE, PREDICTION, QUESTIONS = 100, 8, 2.0, 6.0
INSTALL = 1                                          # the index of the cell that installs


def minutes(notebook):
    """Minutes of a notebook: those of every class, and those of the optional sections."""
    spent = of_sections(notebook)
    optional = sum(time for heading, time in spent.items() if "for the keen" in heading.lower())
    return QUESTIONS + sum(spent.values()) - optional, optional


def of_sections(notebook):
    """{heading: minutes} of what stands before the questions; the head of a lesson has none."""
    spent, heading = {"": 0.0}, ""
    for i, cell in enumerate(notebook.cells):
        for new, text in parts(cell) if i != INSTALL else ():
            heading = new or heading
            if heading in ("## Questions", "## 问题"):
                return spent
            taken = reading(text) if cell.cell_type == "markdown" else stepping(cell)
            spent[heading] = spent.get(heading, 0.0) + taken
    return spent


def parts(cell):
    """Pairs of a heading, or nothing, and the text up to the next heading."""
    if cell.cell_type == "code":
        return [("", cell.source)]
    pieces = re.split(r"^(?=## )", cell.source, flags=re.MULTILINE)
    return [(p.splitlines()[0] if p.startswith("## ") else "", p) for p in pieces if p]


def reading(text):
    """Minutes for a text; a formula counts as the symbols that are set apart in it."""
    predictions = text.count("**Predict.**")
    text = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    unread = r"<[^>]*>|\\[a-zA-Z]+|(?<=\])\([^()\s]*\)"                # tags, commands, addresses
    words = re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", re.sub(unread, " ", text))
    return len(words) / WORDS_A_MINUTE + PREDICTION * predictions


def stepping(cell):
    """Minutes for the lines of a cell and for the source that it prints."""
    lines = sum(bool(line.strip()) for line in cell.source.splitlines())
    if "getsource(" in cell.source:
        lines += sum(o.get("text", "").count("\n") for o in cell.get("outputs", ()))
    return lines * SECONDS_A_LINE / 60


def main(chosen):
    for path in sorted(FOLDER.glob("[0-9][0-9]_*.ipynb")):
        if not chosen or path.name[:2] in chosen:
            needed, optional = minutes(nbformat.read(path, as_version=4))
            apart = f", and {optional:.0f} for the keen" if optional else ""
            print(f"{path.stem}: {needed:.1f} minutes{apart}")


if __name__ == "__main__":
    main(sys.argv[1:])
