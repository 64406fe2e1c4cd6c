"""Folders that `train` wrote before a run was a folder with a training still open and go on.

They are in tests/golden/earlier_runs: a toy task with kept states, sentence pairs whose history has
a column for chrF, and a text cut into pieces.
"""

import shutil
from pathlib import Path

import pytest
from same_run import without_pictures

from aiayn_course.cli.main import main
from aiayn_np.runs.history import columns_in, records_of
from aiayn_np.runs.open import open_run

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
    before = open_run(task)
    steps = before.optimizer.t
    kind = before.training.record
    kept = records_of(columns_in(here / task / "history.csv", kind, steps), kind, steps)
    assert main(["train", task, "--out", task, "--resume", *later]) == 0
    run = open_run(task)
    assert run.optimizer.t > steps
    assert run.history[:steps] == kept
    assert len(run.history) == run.optimizer.t
    assert b"chrf" not in (here / task / "history.csv").read_bytes()


def test_its_history_with_a_hole_or_without_numbers_is_refused(here, capsys):
    """That is, when it would go on: it decodes in any case."""
    path = here / "copy" / "history.csv"
    head, one, two, *rest = path.read_bytes().splitlines(keepends=True)
    nan = b",".join([two.split(b",")[0], b"nan", *two.split(b",")[2:]])
    for lines in ([head, one, *rest], [head, two, one, *rest], [head, one, nan, *rest],
                  [head, one, two], [head[:9]], [b"step,loss\nx,1\n"], [b"\0" * 50],
                  [b"step,loss\n", b"9" * 5000, b",1\n"], [head, b"1,", b"9" * 200_000]):
        path.write_bytes(b"".join(lines))
        assert main(["decode", "copy", "3 1"]) == 0
        assert main(["train", "copy", "--out", "copy", "--resume", "--steps", "12"]) == 2
        err = capsys.readouterr().err
        assert err.startswith("aiayn-np: error: copy/history.csv does not fit: "), (err, lines)


def test_it_does_not_go_on_without_its_history(here, capsys):
    (here / "copy" / "history.csv").unlink()
    assert main(["decode", "copy", "3 1"]) == 0
    assert main(["train", "copy", "--out", "copy", "--resume", "--steps", "12"]) == 2
    assert capsys.readouterr().err == (
        "aiayn-np: error: copy/history.csv: No such file or directory\n")
