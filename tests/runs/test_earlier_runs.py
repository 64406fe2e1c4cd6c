"""Folders that `train` wrote before a run was a folder with a training still open and go on.

They are in tests/golden/earlier_runs: a toy task with kept states, sentence pairs whose history has
a column for chrF, and a text cut into pieces.
"""

import shutil
from pathlib import Path

import pytest
from same_run import without_pictures

from aiayn_course.cli.main import main
from aiayn_np.runs.run import Run

EARLIER = Path(__file__).parents[1] / "golden" / "earlier_runs"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A copy of the folders in the current folder, with the data that they were trained on."""
    shutil.copytree(EARLIER, tmp_path, dirs_exist_ok=True)
    shutil.copy(tmp_path / "text" / "pairs.tsv", tmp_path)
    (tmp_path / "text.txt").write_text("the cat sat on the mat.\n" * 60)
    monkeypatch.chdir(tmp_path)
    without_pictures(monkeypatch)
    return tmp_path


@pytest.mark.parametrize(("command", "typed"), [
    (["decode", "copy"], "3 1"), (["decode", "text"], "eins"), (["generate", "words"], "the"),
])
def test_it_opens(here, capsys, command, typed):
    assert main([*command, typed]) == 0
    out, err = capsys.readouterr()
    assert out.endswith("\n")
    assert err == ""


@pytest.mark.parametrize(("task", "later"), [
    ("copy", ["--steps", "12"]), pytest.param("text", ["--epochs", "2"], marks=pytest.mark.slow),
    pytest.param("words", ["--steps", "12"], marks=pytest.mark.slow),
])
def test_it_goes_on(here, task, later):
    """Its history begins anew, and its vocabulary moves into the checkpoint."""
    steps = Run.open(task).optimizer.t
    assert task != "words" or Run.open(task).task.max_length == 8
    assert main(["train", task, "--out", task, "--resume", *later]) == 0
    run = Run.open(task)
    assert [record.step for record in run.history] == [*range(steps + 1, run.optimizer.t + 1)]
    assert run.optimizer.t > steps
    assert (here / task / "history.csv").read_bytes().startswith(b"step,loss")
    (here / task / "vocabulary.model").unlink(missing_ok=True)
    assert Run.open(task).loaded().source(dict(copy="3 1", text="eins", words="the")[task]).size
