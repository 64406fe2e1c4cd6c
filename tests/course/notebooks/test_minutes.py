"""What the estimate of a lesson's minutes counts."""

import importlib.util
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")

FOLDER = Path(__file__).parents[3] / "notebooks"
SPEC = importlib.util.spec_from_file_location("minutes", FOLDER / "minutes.py")
minutes = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(minutes)


def lesson(*cells):
    """A notebook whose cell at INSTALL does not count; markdown is what begins with a letter."""
    new = nbformat.v4
    made = [new.new_code_cell(c[1:]) if c.startswith("%") else new.new_markdown_cell(c)
            for c in ("", "%pip = 1", *cells)]
    return new.new_notebook(cells=made)


@pytest.mark.parametrize(("cells", "needed", "optional"), [
    ([], 6, 0),
    (["word " * 200], 8, 0),
    (["> **Predict.**\n>\n> <details><summary>A</summary>\n>\n> B\n>\n> </details>"],
     6 + 2 + 1 / 100, 0),
    (["%a = 1\n\nb = 2\nc = 3"], 6 + 24 / 60, 0),
    (["## 1.1 For the keen: more\n" + "word " * 94], 6, 1),
    (["## 1.1 For the keen: more\n" + "word " * 94, "## 1.2 On\n" + "word " * 97], 7, 1),
    (["## Questions\n" + "word " * 300], 6, 0),
])
def test_what_is_counted(cells, needed, optional):
    assert minutes.minutes(lesson(*cells)) == pytest.approx((needed, optional))


def test_source_that_a_cell_prints_counts_as_code():
    notebook = lesson("%print(inspect.getsource(f))")
    before, _ = minutes.minutes(notebook)
    notebook.cells[2].outputs = [nbformat.v4.new_output("stream", text="def f():\n    pass\n")]
    assert minutes.minutes(notebook)[0] - before == pytest.approx(16 / 60)
