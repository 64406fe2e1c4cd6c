"""Where commands write: what another program wrote is never replaced without --force."""

import json
import shutil

import pytest
from same_run import TINY

from aiayn_course.cli.main import main

OLD = b"what was there before"


@pytest.fixture
def place(tmp_path, run, monkeypatch):
    """The folder that one is in, with files and folders of other programs."""
    monkeypatch.chdir(tmp_path)
    for name in ("notes.txt", "table.csv.bak", "pictures/loss.png", "old/report.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(OLD)
    for name in ("photo.png", "index.html", "package.json"):
        (tmp_path / name).write_bytes(OLD)
    (tmp_path / "names.csv").write_text("name\nann\n")
    (tmp_path / "class" / "ann").mkdir(parents=True)
    (tmp_path / "class" / "ann" / "01_softmax.py").write_text("pass\n")
    (tmp_path / "link.png").symlink_to("photo.png")
    (tmp_path / "nowhere.png").symlink_to("later.png")
    (tmp_path / "model.png").symlink_to(run / "model.npz")
    return tmp_path


def everything(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes()
            for path in folder.rglob("*") if path.is_file()}


COMMANDS = [
    (["explore", "RUN", "1 2", "--out", "notes.txt"], "must be a .html or .htm, got notes.txt"),
    (["explore", "RUN", "1 2", "--out", "new.pdf"], "must be a .html or .htm, got new.pdf"),
    (["train", "copy", *TINY, "--steps", "1", "--out", "pictures"], "holds something else"),
    (["train", "text", "--pairs", "notes.txt", "--out", "old"], "holds something else"),
    (["attend", "RUN", "1 2", "--out", "pictures"], "pictures is there already, and holds"),
    (["figures", "variance", "--out", "old"], "old is there already, and holds"),
    (["lessons", "old"], "old: is there already: choose another name"),
    (["exercises", "old"], "old: is there already: choose another name"),
    (["export", "RUN", "old", "--to", "marian"], "old: is there already: choose another name"),
    (["explore", "RUN", "1 2", "--out", "index.html"],
     "got index.html, which is there already; --force"),
    (["why", "RUN", "1 2", "--out", "photo.png"], "got photo.png, which is there already"),
    (["why", "RUN", "1 2", "--out", "link.png"], "got link.png, which is there already"),
    (["why", "RUN", "1 2", "--out", "nowhere.png"], "got nowhere.png, which is there already"),
    (["grade", "class", "--csv", "names.csv"], "got names.csv, which is there already"),
    (["explore", "RUN", "1 2", "--out", "RUN/model.npz", "--force"], "must be another file than"),
    (["why", "RUN", "1 2", "--out", "model.png", "--force"], "must be another file than"),
]


@pytest.mark.parametrize(("argv", "message"), COMMANDS, ids=lambda x: " ".join(x)[:40])
def test_what_is_of_another_kind_is_refused(place, run, capsys, argv, message):
    before = everything(place)
    assert main([word.replace("RUN", str(run)) for word in argv]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert everything(place) == before


@pytest.mark.slow
def test_force_writes_in_any_case(place, run, no_pictures):
    for argv in (["explore", str(run), "1 2", "--out", "notes.txt"],
                 ["train", "copy", *TINY, "--steps", "1", "--out", "pictures"]):
        assert main([*argv, "--force"]) == 0
    assert b"<html" in (place / "notes.txt").read_bytes()
    assert (place / "pictures" / "model.npz").exists()
    assert (place / "pictures" / "loss.png").read_bytes() == OLD       # nothing was drawn


def test_force_replaces_no_run(run, capsys):
    assert main(["train", "copy", *TINY, "--steps", "1", "--out", str(run), "--force"]) == 2
    assert "holds a run already: --resume to go on" in capsys.readouterr().err


@pytest.mark.slow
def test_what_a_command_wrote_it_writes_again(tmp_path, run, monkeypatch, blank_pictures):
    monkeypatch.chdir(tmp_path)
    copied = shutil.copytree(run, "copied")
    for _ in range(2):
        assert main(["explore", copied, "1 2"]) == 0
        assert main(["why", copied, "1 2"]) == 0
        assert main(["attend", str(run), "1 2", "--out", "pictures"]) == 0
        assert main(["figures", "variance", "--out", "gallery"]) == 0
    assert main(["attend", str(run), "3 4", "--out", str(run)]) == 0   # a run: it has metrics.json
    assert json.loads((tmp_path / "gallery" / "variance.json").read_bytes())
