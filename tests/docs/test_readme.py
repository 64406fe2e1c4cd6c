"""The README keeps its word: code runs and prints what it says, and strangers find their way."""

import re
from pathlib import Path

import numpy as np
import pytest
from pages import ROOT, blocks

from aiayn_np import Transformer

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_the_page_says(capsys):
    (example,), (printed,) = blocks(README, "python"), blocks(README, "text")
    assert len([line for line in example.splitlines() if line.strip()]) <= 11
    names = {}
    exec(example, names)
    assert capsys.readouterr().out == printed
    assert any(np.any(p.grad) for p in names["model"].parameters())


def test_it_is_short_and_a_visitor_sees_commands_and_code_at_once():
    lines = README.splitlines()
    assert len(lines) <= 130
    start = "\n".join(lines[:50])
    assert len(blocks(start, "bash")) >= 2
    assert blocks(start, "python")
    assert blocks(start, "text")


def test_the_reading_table_names_every_file_of_the_front_room():
    layers = {path.name for path in (ROOT / "aiayn_np").glob("*.py")}
    assert layers - {"__init__.py", "__main__.py"} <= set(
        re.findall(r"\]\(aiayn_np/([^/)]*)\)", README))


def test_the_two_commands_are_one_line_each_and_ci_runs_the_second():
    first, second = (block.strip() for block in blocks(README, "bash")[:2])
    assert "\n" not in first + second
    assert first.endswith("aiayn-np train copy")
    pattern = re.search(r"grep -E '(.*)' README.md", (ROOT / ".ci" / "run").read_text()).group(1)
    assert re.findall(pattern, README, re.MULTILINE) == [second]


WALKS = {  # formula -> file, derivation, lesson, exercise, test that its row names
    "Eq. 1": ("attention.py", "attention.md", "01_attention", "04_attention", "test_attention.py"),
    "Eq. 2": ("feed_forward.py", "feed_forward.md", "07_", "07_feed_forward",
              "test_feed_forward.py"),
    "Eq. 3": ("optimizer.py", "adam.md", "10_training", "11_optimizer", "test_optimizer.py"),
    "LayerNorm": ("layer_norm.py", "layer_norm.md", "07_", "02_layer_norm", "test_layer_norm.py"),
    "label smoothing": ("loss.py", "loss.md", "10_training", "10_loss", "test_loss.py"),
    "sin, cos": ("positional_encoding.py", "positions.md", "08_", "09_sinusoids",
                 "test_positional_encoding.py"),
}


@pytest.mark.parametrize("formula", WALKS)
def test_from_a_formula_to_class_derivation_lesson_exercise_and_test(formula):
    """One row names all five; the derivation shows the class that the file defines."""
    (row,) = [line for line in README.splitlines() if line.startswith("|") and formula in line]
    links = re.findall(r"\]\(([^)]*)\)", row)
    for name in WALKS[formula]:
        assert any(name in Path(link).name for link in links), name
    code, page = ((ROOT / next(x for x in links if Path(x).name == name)).read_text("utf-8")
                  for name in WALKS[formula][:2])
    assert set(re.findall(r"{layer} (\w+)", page)) & set(re.findall(r"^class (\w+)", code, re.M))


def test_the_parameter_counts_follow_from_the_formula_of_the_symbols_page():
    def count(V, N, d_model, d_ff):
        feed_forward = 2 * d_model * d_ff + d_ff + d_model
        encoder = 4 * d_model**2 + feed_forward + 4 * d_model
        decoder = 8 * d_model**2 + feed_forward + 6 * d_model
        return V * d_model + N * (encoder + decoder)

    page = (ROOT / "docs" / "symbols.md").read_text(encoding="utf-8").replace("\n", " ")
    small = Transformer(11, N=2, d_model=12, d_ff=20, h=3, rng=np.random.default_rng(0))
    assert sum(p.value.size for p in small.parameters()) == count(11, 2, 12, 20)
    for sizes in ((37000, 6, 512, 2048), (37000, 6, 1024, 4096)):
        assert f"{count(*sizes):,}".replace(",", " ") in page
