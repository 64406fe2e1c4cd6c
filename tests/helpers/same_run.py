"""Runs that must have ended alike, and runs without pictures or with blank ones."""

from pathlib import Path

import numpy as np

from aiayn_np.runs import checkpoint
from aiayn_np.runs.run import Run

TINY = ["--N", "1", "--d-model", "8", "--d-ff", "8", "--h", "2", "--batch-size", "4"]


def read_checkpoint(path):
    """(header, {name: array}) of a checkpoint file, read as the package reads it."""
    header, parts = checkpoint.read_checkpoint(path)
    return header, {f"{part}/{name}": array for part, arrays in parts.items()
                    for name, array in arrays.items()}


def assert_same_run(folder, other):
    """Equal to the bit: parameters, moments, step, generator, states, history.

    The seconds may differ, and so may the steps at which a toy run was validated.
    """
    (header, arrays), (want_header, want) = (read_checkpoint(Path(f) / "model.npz")
                                             for f in (folder, other))
    assert arrays.keys() == want.keys()
    assert header == want_header
    for name in want:
        if name in ("history/seconds", "history/validation"):
            continue
        np.testing.assert_array_equal(arrays[name], want[name], err_msg=name)
    runs = [Run.open(f) for f in (folder, other)]
    a, b = ([{name: x for name, x in vars(record).items() if name not in ("seconds", "validation")}
             for record in run.history] for run in runs)
    assert a == b
    assert [record["step"] for record in a] == [*range(1, header["step"] + 1)]


def without_pictures(patch):
    """Drawing takes most of the time of a short run; where it is not the point, leave it out."""
    patch.setattr(Run, "draw", lambda self: [])


def with_blank_pictures(patch):
    """Set up every picture and write a blank one: where it goes is the point, not what it shows."""
    patch.setattr("aiayn_np.plotting.figures.picture_of", lambda fig, dpi, kind: b"\x89PNG")
