"""A damaged run is told in one line that names a file of it.

Each key of the options in model.npz is deleted. Each file of the folder is emptied, cut, and
replaced by a folder or by a link to itself.
"""

import json
import shutil

import numpy as np
import pytest
from same_run import TINY, without_pictures
from sentences import options

from aiayn_course.cli.main import main

KINDS = ["copy", "text", "words"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """{kind: (the folder of a small run that ended, a command that opens it and what it takes)}"""
    root = tmp_path_factory.mktemp("runs")
    (root / "my.txt").write_text("the cat sat on the mat.\n" * 40)
    commands = {
        "copy": ["train", "copy", *TINY, "--N", "1", "--steps", "2"],
        "text": [*options(root, 60), "--N", "1", "--epochs", "0.2"],
        "words": ["train", "words", "--text", str(root / "my.txt"), *TINY, "--max-length", "8",
                  "--steps", "2", "--vocab-size", "14"]}
    uses = dict(copy=["decode", "1 2"], text=["decode", "eins"], words=["generate", "the"])
    with pytest.MonkeyPatch.context() as patch:
        without_pictures(patch)
        for kind, command in commands.items():
            assert main([*command, "--out", str(root / kind)]) == 0
    return {kind: (root / kind, uses[kind]) for kind in KINDS}


def checkpoint_of(folder):
    """(header, arrays) of the checkpoint in a folder."""
    with np.load(folder / "model.npz") as file:
        arrays = dict(file)
    return json.loads(arrays.pop("header").tobytes()), arrays


def faults(folder, argv, capsys):
    """What a command says of a damaged run that it must not; "" if it succeeds or says it well."""
    capsys.readouterr()
    code = main([word.format(run=folder) for word in argv])
    err = capsys.readouterr().err.splitlines()
    good = code == 0 or (err and err[-1].startswith("aiayn-np: error: ") and str(folder) in err[-1])
    return "" if good and "AIAYN_DEBUG" not in "".join(err) else f"{argv[0]}: {err[-1:]}"


@pytest.mark.parametrize("kind", KINDS)
def test_a_header_without_one_of_its_options_is_told_in_one_line(runs, kind, tmp_path, capsys):
    folder, (use, typed) = runs[kind]
    header, arrays = checkpoint_of(folder)
    copy, found = shutil.copytree(folder, tmp_path / folder.name), []
    for place in (header, header["config"]):
        for key in list(place):
            value = place.pop(key)
            text = json.dumps(header).encode()
            np.savez(copy / "model.npz", header=np.frombuffer(text, np.uint8), **arrays)
            place[key] = value
            found.append(faults(copy, [use, "{run}", typed], capsys))
    assert [*filter(None, found)] == []


def loop(path):
    path.unlink()
    path.symlink_to(path.name)


def folder_in_place(path):
    path.unlink()
    path.mkdir()


DAMAGES = [lambda path: path.write_bytes(b""), loop, folder_in_place,
           lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])]


@pytest.mark.parametrize("damage", DAMAGES, ids=["empty", "loop", "folder", "half"])
@pytest.mark.parametrize("kind", [
    "copy", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS[1:])])
def test_a_damaged_file_of_a_run_is_told_in_one_line(runs, kind, damage, tmp_path, capsys,
                                                     no_pictures):
    folder, (use, typed) = runs[kind]
    more = ["--epochs", "0.3"] if kind == "text" else ["--steps", "3"]
    found = []
    for name in sorted(path.name for path in folder.iterdir()):
        for argv in ([use, "{run}", typed], ["train", kind, "--resume", "--out", "{run}", *more],
                     ["explore", "{run}", typed, "--force"]):
            copy = shutil.copytree(folder, tmp_path / kind / name / argv[0], symlinks=True)
            damage(copy / name)
            if fault := faults(copy, argv, capsys):
                found.append(f"{name}: {fault}")
    assert found == []
