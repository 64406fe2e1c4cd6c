"""Checkpoints: a model, with the optimizer, generator and history that training needs to go on.

A checkpoint is an `.npz` file of plain arrays without pickle. So loading it runs no code.
"""

import contextlib
import json
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..files import CheckpointError, replacing
from ..module import Module
from ..structure import difference, structure
from ..training.optimizer import Adam

VERSION = 2
MOST_HEADER = 16 * 2**20  # bytes; the header of a small run has some thousands
FREE = ("P_drop", "max_len")  # options that do not change the meaning of parameters
HEADER = dict(step=int, recent=int, arrays=list, structure=dict)  # types of values


def save_checkpoint(path: str | Path, model: Module, *, optimizer: Adam | None = None,
                    rng: np.random.Generator | None = None, recent: Collection[dict] = (),
                    history: Mapping[str, np.ndarray] | None = None, config: Any = None) -> None:
    """Write a model to `path`, with a `config` of plain values as in JSON.

    Training can go on from a checkpoint that holds the `optimizer`, the generator `rng` and the
    `recent` states for the average. `history` is a table of the steps, {name: column}.
    """
    parts: dict[str, Any] = {"model": values_of(model), "history": history or {}}
    parts |= {f"recent.{i}": state for i, state in enumerate(recent)}
    if optimizer is not None:
        parts |= moments_of(optimizer)
    arrays = {f"{part}/{name}": array for part, named in parts.items()
              for name, array in named.items()}
    header = dict(version=VERSION, config=config, step=optimizer.t if optimizer else 0,
                  rng=rng and rng.bit_generator.state, recent=len(recent), arrays=list(arrays),
                  structure=structure(model, without=FREE))
    text = json.dumps(header, default=np.ndarray.tolist).encode()  # some generators hold arrays
    with replacing(Path(path)) as file:
        np.savez(file, header=np.frombuffer(text, dtype=np.uint8), **arrays)


def values_of(model: Module) -> dict[str, np.ndarray]:
    """Return {dotted name: value} of the parameters of a model, which are no copies."""
    return {name: p.value for name, p in model.named_parameters()}


def moments_of(optimizer: Adam) -> dict[str, dict]:
    """Return {"m": {number: array}, "v": ...} of an optimizer; the arrays are no copies."""
    return {name: {str(i): array for i, array in enumerate(arrays)}
            for name, arrays in (("m", optimizer.m), ("v", optimizer.v))}


def read_header(path: str | Path) -> dict:
    """Return the header of a checkpoint file, without reading the other arrays.

    Raises FileNotFoundError, or CheckpointError with path and reason.
    """
    with opened(path) as file:
        return header_of(file, path)


def header_of(file: Any, path: str | Path) -> dict:
    """Return the header of an open checkpoint file, even if a training replaces it meanwhile."""
    if (size := file.zip.getinfo("header.npy").file_size) > MOST_HEADER:
        raise CheckpointError(f"{path} must have a header of at most {MOST_HEADER:,} bytes, got"
                              f" {size:,}")
    text = file["header"].tobytes()
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise CheckpointError(f"{path} must have a header of JSON") from None
    if header.get("version") != VERSION:
        raise CheckpointError(f"{path} has version {header.get('version')}, this program reads"
                              f" {VERSION}")
    for name, kind in HEADER.items():
        if type(header.get(name)) is not kind:                         # true is no integer
            raise CheckpointError(f"{path}: header.{name} must be of type {kind.__name__}, got"
                                  f" {header.get(name)!r:.60}")
    if not all(isinstance(name, str) for name in header["arrays"]):
        raise CheckpointError(f"{path}: header.arrays must be names")
    if header["step"] < 0:
        raise CheckpointError(f"{path}: header.step must be at least 0, got {header['step']}")
    return header


@contextlib.contextmanager
def opened(path: str | Path) -> Iterator[Any]:
    """Open a checkpoint file; an error of the readers becomes a CheckpointError."""
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            yield file
    except Exception as error:  # the readers may raise anything for damaged bytes
        if isinstance(error, CheckpointError) or getattr(error, "filename", None):
            raise                                                      # the error names the file
        reason = str(error) or type(error).__name__
        raise CheckpointError(f"{path} is not a readable checkpoint: {reason}") from error


def read_checkpoint(path: str | Path, model: Module | None = None) -> tuple[dict, dict]:
    """Return (header, {part: {name: array}}) of a file. Its header must name all arrays.

    model : the model that the header must be of; None for any

    Raises FloatingPointError if a parameter, a moment or a state for the average is not finite.
    """
    parts: dict[str, dict] = {}
    with opened(path) as file:
        header = header_of(file, path)
        if found := model and difference(structure(model, without=FREE), header["structure"]):
            name, here, there = found
            raise CheckpointError(f"{path} is of another model: {name or 'model'} is {there} in the"
                                  f" file, {here} here")
        if wrong := set(file.files) ^ {"header", *header["arrays"]}:
            names = ", ".join(sorted(map(str, wrong))[:10])
            raise CheckpointError(f"{path} is incomplete, missing or unknown: {names}")
        for name in header["arrays"]:
            part, _, rest = name.partition("/")
            parts.setdefault(part, {})[rest] = file[name]
    for part in parts.keys() - {"history"}:
        for name, array in parts[part].items():
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise FloatingPointError(f"{path}: {part}/{name} must be finite, got nan or inf")
    return header, parts


def load_checkpoint(path: str | Path, model: Module, *, optimizer: Adam | None = None,
                    rng: np.random.Generator | None = None, recent: deque | None = None,
                    history: dict | None = None) -> Any:
    """Load a checkpoint into a model and the other given objects, in place; return the config.

    The whole file is checked before any object is changed. Raises FileNotFoundError, or
    CheckpointError with path and reason if the file is damaged or of another model.
    """
    header, parts = read_checkpoint(path, model)
    moments = moments_of(optimizer) if optimizer else {}
    with fitting(path):
        states = [part for name, part in parts.items() if name.startswith("recent.")]
        if len(states) != header["recent"]:
            raise ValueError(f"recent must be the number of its states, {len(states)}, got"
                             f" {header['recent']}")
        for state in states:
            model.check_state_dict(state)
        for name, mine in moments.items():
            check_arrays(parts.get(name, {}), mine)
        if rng is not None:
            set_state(type(rng.bit_generator)(), header["rng"])        # try it on another generator
        model.load_state_dict(parts.get("model", {}))
    if optimizer is not None:
        optimizer.t = header["step"]
        for name, mine in moments.items():
            for i, array in mine.items():
                array[...] = parts[name][i]
    if rng is not None:
        set_state(rng.bit_generator, header["rng"])
    if recent is not None:
        recent.clear()
        recent.extend(states)
    if history is not None:
        history.update(parts.get("history", {}))
    return header["config"]


@contextlib.contextmanager
def fitting(path: str | Path) -> Iterator[None]:
    """Turn an error about data that do not fit into a CheckpointError that names the file."""
    try:
        yield
    except (KeyError, TypeError, ValueError, OverflowError, MemoryError) as error:
        raise CheckpointError(f"{path} does not fit: {error.args[0]}") from error


def check_arrays(stored: dict, mine: dict) -> None:
    """Raise ValueError for stored moments of other names or shapes, or of no real numbers."""
    if {n: a.shape for n, a in stored.items()} != {n: a.shape for n, a in mine.items()}:
        raise ValueError("its optimizer state is missing or of another model")
    if wrong := {str(a.dtype) for a in stored.values() if a.dtype.char not in "fd"}:
        raise ValueError("its optimizer state must be of real numbers, got " + ", ".join(wrong))


def set_state(generator: Any, state: Any) -> None:
    """Set the state of a bit generator; raise ValueError if it is of another kind of generator."""
    try:
        generator.state = state
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError, IndexError) as error:
        raise ValueError("rng must be the state of the generator that draws,"
                         f" {type(generator).__name__}") from error
