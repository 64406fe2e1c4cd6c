"""The README keeps its word: code runs and prints what it says, and strangers find their way."""

import re

import numpy as np
import pytest
from pages import ROOT, blocks

from aiayn_np import Transformer

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["README.md", "README.zh.md", "docs/index.md", "docs/zh/index.md"])
def test_the_example_prints_what_the_page_says(page, capsys):
    text = (ROOT / page).read_text(encoding="utf-8")
    (example,), (printed,) = blocks(text, "python"), blocks(text, "text")
    assert len([line for line in example.splitlines() if line.strip()]) <= 11
    exec(example, {})
    assert capsys.readouterr().out == printed


def test_the_readme_is_one_screen_and_a_half():
    assert len(README.splitlines()) <= 90
    assert len(README.split()) <= 700


@pytest.mark.parametrize("page", ["docs/paper/index.md", "docs/zh/paper/index.md"])
def test_the_reading_table_names_every_file_of_the_front_room(page):
    layers = {path.name for path in (ROOT / "aiayn_np").glob("*.py")}
    assert layers - {"__init__.py", "__main__.py"} <= set(
        re.findall(r"\]\([./]*aiayn_np/([^/)]*)\)", (ROOT / page).read_text(encoding="utf-8")))


def test_the_two_commands_are_one_line_each_and_ci_runs_the_second():
    first, second = (block.strip() for block in blocks(README, "bash")[:2])
    assert "\n" not in first + second
    assert first.endswith("aiayn-np train copy")
    pattern = re.search(r"grep -E '(.*)' README.md", (ROOT / ".ci" / "run").read_text()).group(1)
    assert re.findall(pattern, README, re.MULTILINE) == [second]


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
