"""Checkpoints: a model, with the optimizer, generator and history that training needs to go on.

A checkpoint is an `.npz` file of plain arrays without pickle. So loading it runs no code.
"""

import contextlib
import json
from collections import deque
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..files import CheckpointError, replacing
from ..module import Module
from ..structure import difference, structure
from ..training.optimizer import Adam
from .shape import check_shape

VERSION = 2
MOST_HEADER = 16 * 2**20  # bytes; the header of a small run has some thousands
FREE = ("P_drop", "max_len")  # options that do not change the meaning of parameters
HEADER: dict[str, Any] = dict(  # the shape of a header, as in shape.py
    version=int, config=object, step=int, rng=({str: object}, None), recent=int, arrays=[str],
    structure={str: str})


def save_checkpoint(path: str | Path, model: Module, *, optimizer: Adam | None = None,
                    rng: np.random.Generator | None = None, recent: Collection[dict] = (),
                    history: Mapping[str, np.ndarray] | None = None, config: Any = None) -> None:
    """Write a model to `path`, with a `config` of plain values as in JSON.

    Training can go on from a checkpoint that holds the `optimizer`, the generator `rng` and the
    `recent` states for the average. `history` is a table of the steps, {name: column}.
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
    arrays |= {f"history/{name}": column for name, column in (history or {}).items()}
    header["arrays"] = list(arrays)
    text = json.dumps(header, default=np.ndarray.tolist).encode()  # some generators hold arrays
    with replacing(Path(path)) as file:
        np.savez(file, header=np.frombuffer(text, dtype=np.uint8), **arrays)


def read_header(path: str | Path) -> dict:
    """Return the header of a checkpoint file, without reading the other arrays.

    Raises FileNotFoundError, or CheckpointError with path and reason.
    """
    with opened(path) as file:
        return header_of(file, path)


def header_of(file, path):
    """Return the header of an open checkpoint file, even if a training replaces it meanwhile."""
    if (size := file.zip.getinfo("header.npy").file_size) > MOST_HEADER:
        raise CheckpointError(f"{path} must have a header of at most {MOST_HEADER:,} bytes, got"
                              f" {size:,}")
    text = file["header"].tobytes()
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise CheckpointError(f"{path} must have a header of JSON") from None
    check_shape(f"{path}: header", header, {"version": int})
    if header["version"] != VERSION:
        raise CheckpointError(f"{path} has version {header['version']}, this program reads"
                              f" {VERSION}")
    check_shape(f"{path}: header", header, HEADER)
    if header["step"] < 0:
        raise CheckpointError(f"{path}: header.step must be at least 0, got {header['step']}")
    return header


def parts_of(file, path, header):
    """Return {part: {name: array}} of an open checkpoint. The header must name all arrays."""
    if wrong := set(file.files) ^ {"header", *header["arrays"]}:
        names = ", ".join(sorted(map(str, wrong))[:10])
        raise CheckpointError(f"{path} is incomplete, missing or unknown: {names}")
    parts: dict[str, dict] = {}
    for name in header["arrays"]:
        part, _, rest = name.partition("/")
        parts.setdefault(part, {})[rest] = file[name]
    return parts


@contextlib.contextmanager
def opened(path):
    """Open a checkpoint file; an error of the readers becomes a CheckpointError."""
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            yield file
    except Exception as error:  # the readers may raise anything for damaged bytes
        if isinstance(error, CheckpointError) or getattr(error, "filename", None):
            raise                                                      # the error names the file
        reason = str(error) or type(error).__name__
        raise CheckpointError(f"{path} is not a readable checkpoint: {reason}") from error


def load_checkpoint(path: str | Path, model: Module, *, optimizer: Adam | None = None,
                    rng: np.random.Generator | None = None, recent: deque | None = None,
                    history: dict | None = None) -> Any:
    """Load a checkpoint into a model and the other given objects, in place; return the config.

    The whole file is checked before any object is changed. Raises FileNotFoundError, or
    CheckpointError with path and reason if the file is damaged or of another model.
    """
    header, parts = read(path, model)
    with fitting(path):
        states = states_of(parts, header["recent"], model)
        moments = moments_of(optimizer, parts) if optimizer else []
        if rng is not None:
            set_state(type(rng.bit_generator)(), header["rng"])        # try it on another generator
        model.load_state_dict(parts.get("model", {}))
    if optimizer is not None:
        optimizer.t = header["step"]
        for mine, loaded in zip([*optimizer.m, *optimizer.v], moments):
            mine[...] = loaded
    if rng is not None:
        set_state(rng.bit_generator, header["rng"])
    if recent is not None:
        recent.clear()
        recent.extend(states)
    if history is not None:
        history.update(parts.get("history", {}))
    return header["config"]


def read(path, model):
    """Return (header, {part: {name: array}}) of a checkpoint of this model."""
    with opened(path) as file:
        header = header_of(file, path)
        if found := difference(structure(model, without=FREE), header["structure"]):
            name, here, there = found
            raise CheckpointError(f"{path} is of another model: {name or 'model'} is {there} in the"
                                  f" file, {here} here")
        return header, parts_of(file, path, header)


@contextlib.contextmanager
def fitting(path):
    """Turn an error about data that do not fit into a CheckpointError that names the file."""
    try:
        yield
    except (KeyError, TypeError, ValueError, OverflowError, MemoryError) as error:
        raise CheckpointError(f"{path} does not fit: {error.args[0]}") from error


def states_of(parts, count, model):
    """Return the `count` states for the average; raise an error if they are of another model."""
    states = [part for name, part in parts.items() if name.startswith("recent.")]
    if len(states) != count:
        raise ValueError(f"recent must be the number of its states, {len(states)}, got {count}")
    for state in states:
        model.check_state_dict(state)
    return states


def moments_of(optimizer, parts):
    """Return the stored moments in the order of the optimizer; raise ValueError for wrong ones."""
    shapes = {str(i): p.value.shape for i, p in enumerate(optimizer.parameters)}
    moments = []
    for stored in (parts.get(name, {}) for name in "mv"):
        if {name: array.shape for name, array in stored.items()} != shapes:
            raise ValueError("its optimizer state is missing or of another model")
        if wrong := {str(a.dtype) for a in stored.values() if a.dtype.char not in "fd"}:
            raise ValueError("its optimizer state must be of real numbers, got "
                             + ", ".join(wrong))
        moments += [stored[name].astype(p.value.dtype)
                    for name, p in zip(shapes, optimizer.parameters)]
    return moments


def set_state(generator, state):
    """Set the state of a bit generator; raise ValueError if it is of another kind of generator."""
    try:
        generator.state = state
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError, IndexError) as error:
        raise ValueError("rng must be the state of the generator that draws,"
                         f" {type(generator).__name__}") from error
