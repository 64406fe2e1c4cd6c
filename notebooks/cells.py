"""What all notebooks have: the format of their cells, and a cell that installs the package."""

import re
from pathlib import Path

from needs import needed

jupytext, nbformat = needed("jupytext"), needed("nbformat")
PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
PLACEHOLDER = "example.org"  # where nothing can be
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def repository():
    """The address under [project.urls] in pyproject.toml; an empty string for the placeholder."""
    text = PYPROJECT.read_text(encoding="utf-8") if PYPROJECT.exists() else ""
    address = re.search(r'^Repository = "(.*?)"', text, re.MULTILINE)
    return address[1] if address and PLACEHOLDER not in address[1] else ""


def with_address(text):
    """A text with that address in its install cell."""
    return text.replace('REPOSITORY = ""', f'REPOSITORY = "{repository()}"')


def notebook_of(script):
    """The notebook of a script, not executed, with cells named by their number.

    Of the metadata of a cell, it keeps which lines the slides show.
    """
    notebook = jupytext.reads(with_address(script), fmt="py:percent")
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for i, cell in enumerate(notebook.cells):
        kept = {key: value for key, value in cell.metadata.items() if key == "show"}
        if 'find_spec("aiayn_np")' in cell.source:                     # nobody has to read it
            kept["jupyter"] = {"source_hidden": True}
        cell["id"], cell["metadata"] = f"cell-{i}", nbformat.from_dict(kept)
    return notebook
