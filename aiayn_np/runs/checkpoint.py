"""Checkpoints: a model, with the optimizer and generator that training needs to go on.

The file is an `.npz` of plain arrays: no pickle, so that loading runs no code.
"""

import contextlib
import itertools
import json
from collections import deque
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from ..files import CheckpointError, replacing
from ..module import Module
from ..structure import difference, structure
from ..training.optimizer import Adam

VERSION = 2
MOST_HEADER = 16 * 2**20  # bytes; those of a small run are some thousands
FREE = ("P_drop", "max_len")  # these may differ: they do not change what the parameters mean


def save_checkpoint(path: str | Path, model: Module, *, optimizer: Adam | None = None,
                    rng: np.random.Generator | None = None, recent: Collection[dict] = (),
                    config: Any = None) -> None:
    """Write a model, and a `config` that JSON can hold, to `path`.

    Training can go on from a checkpoint that has the `optimizer`, the generator `rng` and the
    `recent` states that are averaged.
    """
    header = dict(version=VERSION, config=config, step=0, rng=None, recent=len(recent), arrays=[],
                  structure=structure(model, without=FREE))
    arrays: dict[str, Any] = {f"model/{name}": p.value for name, p in model.named_parameters()}
    for i, state in enumerate(recent):
        arrays |= {f"recent.{i}/{name}": value for name, value in state.items()}
    if optimizer is not None:
        header["step"] = optimizer.t
        arrays |= {f"m/{i}": m for i, m in enumerate(optimizer.m)}
        arrays |= {f"v/{i}": v for i, v in enumerate(optimizer.v)}
    if rng is not None:
        header["rng"] = rng.bit_generator.state
    header["arrays"] = list(arrays)
    text = json.dumps(header, default=np.ndarray.tolist).encode()  # some generators hold arrays
    with replacing(Path(path)) as file:
        np.savez(file, header=np.frombuffer(text, dtype=np.uint8), **arrays)


def read_checkpoint(path: str | Path) -> tuple[dict, dict[str, np.ndarray]]:
    """Return (header, arrays) of a checkpoint file.

    Raises FileNotFoundError, or CheckpointError with path and reason.
    """
    with opened(path) as file:
        header = header_of(file, path)
        return header, arrays_of(file, path, header)


def read_header(path: str | Path) -> dict:
    """Return the header of a checkpoint file, without reading the other arrays."""
    with opened(path) as file:
        return header_of(file, path)


def header_of(file, path):
    """Return the header of an open checkpoint, which a training may replace under its name."""
    if (size := file.zip.getinfo("header.npy").file_size) > MOST_HEADER:
        raise CheckpointError(f"{path} must have a header of at most {MOST_HEADER:,} bytes, got"
                              f" {size:,}")
    header = json.loads(file["header"].tobytes())
    if header["version"] != VERSION:
        raise CheckpointError(f"{path} has version {header['version']}, this program reads"
                              f" {VERSION}")
    return header


def arrays_of(file, path, header):
    """Return the arrays of an open checkpoint, which must be those that its header names."""
    if wrong := set(file.files) ^ {"header", *header["arrays"]}:
        names = ", ".join(sorted(map(str, wrong))[:10])
        raise CheckpointError(f"{path} is incomplete, missing or unknown: {names}")
    return {name: file[name] for name in header["arrays"]}


@contextlib.contextmanager
def opened(path):
    """Open a checkpoint file, and turn errors of its readers into a CheckpointError."""
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            yield file
    except Exception as error:  # the readers may raise anything for damaged bytes
        if isinstance(error, CheckpointError) or getattr(error, "filename", None):
            raise                                                      # it names the file
        reason = str(error) or type(error).__name__
        raise CheckpointError(f"{path} is not a readable checkpoint: {reason}") from error


def load_checkpoint(path: str | Path, model: Module, *, optimizer: Adam | None = None,
                    rng: np.random.Generator | None = None, recent: deque | None = None) -> Any:
    """Load a checkpoint into a model, and into the other objects that are given, in place.

    Returns the config. Everything is checked before anything is written. Raises FileNotFoundError,
    or CheckpointError with path and reason: the file is damaged, or is of another model.
    """
    with opened(path) as file:
        header = header_of(file, path)
        if found := difference(structure(model, without=FREE), header["structure"]):
            name, here, there = found
            raise CheckpointError(f"{path} is of another model: {name or 'model'} is {there} in the"
                                  f" file, {here} here")
        arrays = arrays_of(file, path, header)
    part: dict[str, dict] = {}
    for name, array in arrays.items():
        kind, _, rest = name.partition("/")
        part.setdefault(kind, {})[rest] = array
    try:
        states = [part[f"recent.{i}"] for i in range(header["recent"])]
        moments = [moments_of(optimizer, part.get(k, {})) for k in "mv"] if optimizer else None
        config, step = header["config"], header["step"]
        if rng is not None:
            type(rng.bit_generator)().state = header["rng"]  # first tried on another generator
        for state in states:
            model.check_state_dict(state)
        model.load_state_dict(part.get("model", {}))
    except (KeyError, ValueError, TypeError, OverflowError, AttributeError) as error:
        reason = error.args[0] if error.args else error
        raise CheckpointError(f"{path} does not fit: {reason}") from error
    if optimizer is not None and moments:
        for mine, loaded in zip([*optimizer.m, *optimizer.v], itertools.chain(*moments)):
            mine[...] = loaded
        optimizer.t = step
    if rng is not None:
        rng.bit_generator.state = header["rng"]
    if recent is not None:
        recent.clear()
        recent.extend(states)
    return config


def moments_of(optimizer, stored):
    """Return the stored moments in the order of the optimizer's parameters; check their shapes."""
    shapes = {str(i): p.value.shape for i, p in enumerate(optimizer.parameters)}
    if {name: array.shape for name, array in stored.items()} != shapes:
        raise ValueError("its optimizer state is missing or of another model")
    if wrong := {str(a.dtype) for a in stored.values() if a.dtype.char not in "fd"}:
        raise ValueError(f"its optimizer state must be of real numbers, got {', '.join(wrong)}")
    return [stored[name].astype(p.value.dtype) for name, p in zip(shapes, optimizer.parameters)]
