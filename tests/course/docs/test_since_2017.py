"""The page on the parts since 2017: its program prints what it says, and its tests exist."""

import contextlib
import io
import re
import sys

import pytest
from pages import ROOT, blocks

sys.path.append(str(ROOT / "docs"))

import measure_since_2017

PAGE = (ROOT / "docs" / "since-2017.md").read_text(encoding="utf-8")


def test_the_program_prints_what_the_page_says():
    (code,), (said, _) = blocks(PAGE, "python"), blocks(PAGE, "text")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, {})
    assert out.getvalue() == said


@pytest.mark.parametrize("name", re.findall(r"`(test_\w+\.py::\w+)`", PAGE))
def test_every_test_that_is_named_exists(name):
    file, test = name.split("::")
    (path,) = (ROOT / "tests").rglob(file)
    assert f"def {test}(" in path.read_text(encoding="utf-8")


def test_the_tables_are_those_of_the_program(monkeypatch):
    """Two steps of two settings of one seed: the same columns and rows, other numbers."""
    kept = (measure_since_2017.NEW, "h_kv = h / 4", "h_kv = 1")
    monkeypatch.setattr(measure_since_2017, "SETTINGS", {
        name: setting for name, setting in measure_since_2017.SETTINGS.items() if name in kept})
    monkeypatch.setattr(measure_since_2017, "read_text", lambda _: "a bc\nd" * 4000)
    lines = list(measure_since_2017.tables(measure_since_2017.measured(1, 2, None)))
    assert {line for line in lines if line.startswith("| part")} <= set(PAGE.splitlines())
    assert lines[-3].endswith(": 768 bytes are kept for a token")


def test_a_difference_needs_one_sign_and_twice_its_error():
    assert measure_since_2017.verdict([0.1, 0.12, 0.11]) == "a difference"
    assert measure_since_2017.verdict([0.1, -0.01, 0.11]) == "no difference at this size"
    assert measure_since_2017.verdict([0.1, 0.001, 0.5]) == "no difference at this size"
    assert measure_since_2017.verdict([0.1]) == "no difference at this size"
