"""A damaged run is told in one line that names a file of it, in no words of Python.

Each key at each depth of the header of model.npz is deleted, and replaced by values of other kinds.
Each file of the folder is emptied, cut, and replaced by a folder, by a link
to itself and by a pipe.
"""

import json
import os
import re
import shutil

import numpy as np
import pytest
from same_run import TINY, without_pictures
from sentences import options

from aiayn_course.cli.main import main
from aiayn_np.runs.loaded import Loaded

KINDS = ["copy", "text", "words"]
DELETED = object()
FEW = [DELETED, [], "x", float("inf")]
MORE = [None, {}, -1, 10**7, True, 0.5, [[[]]], {"a": [1]}, ["x"], 10**30]
PYTHON = re.compile(
    r"Error|AIAYN_DEBUG|unhashable|attribute|subscript|indices|operand|literal"
    r"|NoneType|iterable|between instances|argument|keyword|<class|builtin|\bint\(|Traceback")


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


def paths_in(value, path=()):
    """Every path in a header; of long lists and of the structure only the first two."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys[:2] if len(keys) > 12 else keys:
        yield (*path, key)
        if isinstance(value[key], (dict, list)):
            yield from paths_in(value[key], (*path, key))


def damaged(header, path, new):
    """A copy of a header without what stands at a path, or with something new there."""
    header = json.loads(json.dumps(header))
    place = header
    for key in path[:-1]:
        place = place[key]
    if new is DELETED:
        del place[path[-1]]
    else:
        place[path[-1]] = new
    return header


def faults(folder, argv, capsys):
    """What a command says of a damaged run that it must not; "" if it succeeds or says it well."""
    capsys.readouterr()
    code = main([word.format(run=folder) for word in argv])
    err = capsys.readouterr().err.splitlines()
    if code == 0:
        return ""
    said = err[-1] if err else ""
    if "error: x: " in said or "must be finite" in said:               # a file of data; a high rate
        return ""
    good = said.startswith("aiayn-np: error: ") and str(folder) in said and not PYTHON.search(
        said.replace(str(folder), "").replace("aiayn-np: error", ""))
    return "" if good else f"{argv[0]}: {err[-1:]}"


def swept(folder, values, commands, capsys, tmp_path):
    """Every fault of the commands for a run whose header is damaged."""
    header, arrays = checkpoint_of(folder)
    copy, found = shutil.copytree(folder, tmp_path / folder.name), []
    for path in paths_in(header):
        for new in values:
            text = json.dumps(damaged(header, path, new)).encode()
            for argv in commands:
                np.savez(copy / "model.npz", header=np.frombuffer(text, np.uint8), **arrays)
                if fault := faults(copy, argv, capsys):
                    name = "deleted" if new is DELETED else repr(new)
                    found.append(f"{'.'.join(map(str, path))} {name}: {fault}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_header_is_told_in_one_line_that_names_the_file(runs, kind, tmp_path, capsys):
    folder, _ = runs[kind]
    resume = ["train", kind, "--resume", "--out", "{run}"]
    assert swept(folder, FEW, [resume], capsys, tmp_path) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("default::RuntimeWarning")                 # a note, of a rate of 1e30
@pytest.mark.parametrize("kind", KINDS)
def test_no_command_says_a_damaged_header_in_words_of_python(
    runs, kind, tmp_path, capsys, no_pictures, monkeypatch
):
    monkeypatch.setattr(Loaded, "draw_attention", lambda self, src, *_: self.example(src)[:0])
    folder, (use, typed) = runs[kind]
    more = ["--epochs", "0.3"] if kind == "text" else ["--steps", "3"]
    commands = [[use, "{run}", typed], ["attend", "{run}", typed],
                ["train", kind, "--resume", "--out", "{run}", *more]]
    assert swept(folder, FEW + MORE, commands, capsys, tmp_path) == []


def loop(path):
    path.unlink()
    path.symlink_to(path.name)


def folder_in_place(path):
    path.unlink()
    path.mkdir()


def pipe(path):
    path.unlink()
    os.mkfifo(path)                                                    # to open it takes for ever


DAMAGES = [lambda path: path.write_bytes(b""), loop, folder_in_place, pipe,
           lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])]


@pytest.mark.parametrize("damage", DAMAGES, ids=["empty", "loop", "folder", "pipe", "half"])
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
