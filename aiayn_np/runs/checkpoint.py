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
FREE = ("P_drop", "max_len")  # options that do not change the meaning of parameters


def save_checkpoint(path: str | Path, model: Module, *, optimizer: Adam | None = None,
                    rng: np.random.Generator | None = None, recent: Collection[dict] = (),
                    history: Mapping[str, np.ndarray] | None = None,
                    vocabulary: Mapping[str, bytes] | None = None, config: Any = None) -> None:
    """Write a model to `path`, with a `config` of plain values as in JSON.

    Training can go on from a checkpoint that holds the `optimizer`, the generator `rng` and the
    `recent` states for the average. `history` is a table of the steps, {name: column}, and
    `vocabulary` holds files, {name: bytes}.
    """
    parts: dict[str, Any] = {"model": values_of(model), "history": history or {}}
    parts |= {f"recent.{i}": state for i, state in enumerate(recent)}
    if optimizer is not None:
        parts |= moments_of(optimizer)
    parts["vocabulary"] = {name: np.frombuffer(content, dtype=np.uint8)
                           for name, content in (vocabulary or {}).items()}
    header = dict(version=VERSION, config=config, step=optimizer.t if optimizer else 0,
                  rng=rng and rng.bit_generator.state, recent=len(recent),
                  structure=structure(model, without=FREE))
    text = json.dumps(header, default=np.ndarray.tolist).encode()  # some generators hold arrays
    with replacing(Path(path)) as file:
        np.savez(file, header=np.frombuffer(text, dtype=np.uint8),
                 **{f"{part}/{name}": array for part, named in parts.items()
                    for name, array in named.items()})


def values_of(model: Module) -> dict[str, np.ndarray]:
    """Return {dotted name: value} of the parameters of a model, which are no copies."""
    return {name: p.value for name, p in model.named_parameters()}


def moments_of(optimizer: Adam) -> dict[str, dict]:
    """Return {"m": {number: array}, "v": ...} of an optimizer; the arrays are no copies."""
    return {name: {str(i): array for i, array in enumerate(arrays)}
            for name, arrays in (("m", optimizer.m), ("v", optimizer.v))}


@contextlib.contextmanager
def opened(path: str | Path) -> Iterator[tuple[dict, Any]]:
    """Yield (header, file) of a checkpoint; a fault of the file becomes a CheckpointError."""
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            header = json.loads(file["header"].tobytes())
            if header["version"] != VERSION:
                raise CheckpointError(f"{path} has version {header['version']}, this program reads"
                                      f" {VERSION}")
            yield header, file
    except Exception as error:  # the readers may raise anything for damaged bytes
        if isinstance(error, CheckpointError) or getattr(error, "filename", None):
            raise                                                      # the error names the file
        reason = str(error) or type(error).__name__
        raise CheckpointError(f"{path} is not a readable checkpoint: {reason}") from error


def read_step(path: str | Path) -> int:
    """Return the step of a checkpoint file, without reading its arrays."""
    with opened(path) as (header, _):
        return header["step"]


def read_checkpoint(path: str | Path) -> tuple[dict, dict]:
    """Return (header, {part: {name: array}}) of a file.

    Raises FileNotFoundError, CheckpointError with path and reason, or FloatingPointError if a
    parameter is not finite.
    """
    parts: dict[str, dict] = {}
    with opened(path) as (header, file):
        for name in filter("header".__ne__, file.files):
            part, _, rest = name.partition("/")
            parts.setdefault(part, {})[rest] = file[name]
    for name, array in parts.get("model", {}).items():
        if array.dtype.kind == "f" and not (array < np.inf).all():     # -inf: a Marian's bias
            raise FloatingPointError(f"{path}: model/{name} must be finite, got nan or inf")
    return header, parts


def load_checkpoint(path: str | Path, model: Module, *, optimizer: Adam | None = None,
                    rng: np.random.Generator | None = None, recent: deque | None = None,
                    history: dict | None = None) -> Any:
    """Load a checkpoint into a model and the other given objects, in place; return the config.

    The whole file is checked before any object is changed. Raises FileNotFoundError, or
    CheckpointError with path and reason if the file is damaged or of another model.
    """
    header, parts = read_checkpoint(path)
    with fitting(path):
        restore(header, parts, model, optimizer=optimizer, rng=rng, recent=recent)
    if history is not None:
        history.update(parts.get("history", {}))
    return header["config"]


def restore(header: dict, parts: dict, model: Module, *, optimizer: Adam | None = None,
            rng: np.random.Generator | None = None, recent: deque | None = None) -> None:
    """Put what was read from a checkpoint into a model and the other objects, in place.

    Raises KeyError, TypeError or ValueError, before any object is changed, for what does not fit.
    """
    if found := difference(structure(model, without=FREE), header["structure"]):
        name, here, there = found
        raise ValueError(f"it is of another model: {name or 'model'} is {there} in the file,"
                         f" {here} here")
    step, generator = header["step"], header["rng"]
    states = [parts[f"recent.{i}"] for i in range(header["recent"])]
    for state in states:
        model.check_state_dict(state)
    moments = moments_of(optimizer) if optimizer else {}
    for name, mine in moments.items():
        shapes = {number: array.shape for number, array in parts.get(name, {}).items()}
        if shapes != {number: array.shape for number, array in mine.items()}:
            raise ValueError("its optimizer state is missing or of another model")
    if rng is not None:
        type(rng.bit_generator)().state = generator                # try it on another generator
    model.load_state_dict(parts["model"])
    if optimizer is not None:
        optimizer.t = step
    for name, mine in moments.items():
        for number, array in mine.items():
            array[...] = parts[name][number]
    if rng is not None:
        rng.bit_generator.state = generator
    if recent is not None:
        recent.clear()
        recent.extend(states)


@contextlib.contextmanager
def fitting(path: str | Path) -> Iterator[None]:
    """Turn an error about data that do not fit into a CheckpointError that names the file."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
        what = "it lacks " if isinstance(error, LookupError) else ""
        raise CheckpointError(f"{path} does not fit: {what}{error.args[0]}") from error
