"""The page "Go on with a model": its cells run, and the Chinese page has the same ones."""

import os
import re
import subprocess
import sys

import pytest
from pages import ROOT

CELL = re.compile(r"```\{code-cell\} python3\n(?::tags: \S*\n\n)?(.*?)```", re.DOTALL)


def cells(name):
    return CELL.findall((ROOT / "docs" / name).read_text(encoding="utf-8"))


def test_both_pages_have_the_same_cells():
    assert cells("going-on.md") == cells("zh/going-on.md")
    assert len(cells("going-on.md")) == 8


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="the page has cells of bash")
def test_the_page_learns_dates_and_measures_what_is_forgotten(tmp_path, monkeypatch):
    """Old data mixed into the new keep more of the old."""
    pytest.importorskip("tokenizers")
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    names, printed = {}, []
    monkeypatch.chdir(tmp_path)
    for code in cells("going-on.md")[1:]:
        if code.startswith("%%bash"):
            done = subprocess.run(["bash", "-e", "-c", code.partition("\n")[2]], text=True,
                                  capture_output=True, env=os.environ | {"PATH": path})
            assert done.returncode == 0, done.stderr
            printed.append(done.stdout)
        else:
            exec(code, names)
    losses = [{name: float(loss) for name, loss in re.findall(
        r"(.* data, .*): (?:loss|nats per character) ([\d.]+)", out)} for out in printed[1:]]
    dates, both, mine, part = losses
    assert dates["new data, after"] < 0.5 * dates["new data, before"]
    assert dates["old data, after"] > 2 * dates["old data, before"]
    assert both["old data, after"] < 0.5 * dates["old data, after"]
    assert mine["new data, after"] < 0.5 * mine["new data, before"]
    assert part["new data, before"] > part["new data, after"] > dates["new data, after"]
    assert {"config.json", "model.safetensors", "tokenizer.json"} == {*os.listdir("mine")}
