"""Checkpoints: a model and, for going on with its training, its optimizer and generator.

The file is an `.npz` of plain arrays: no pickle, so that loading runs no code. It is written to a
neighbouring file first and moved into place when it is complete on disk, so that an interruption
leaves the old checkpoint or the new one.
"""

import contextlib
import itertools
import json
import os
from pathlib import Path

import numpy as np

VERSION = 1


class CheckpointError(Exception):
    """A file that is not a whole checkpoint of this model; the message says what is wrong."""


def save_checkpoint(path, model, *, optimizer=None, rng=None, recent=(), config=None):
    """Write a model and a JSON-able `config` to `path`; and, for going on with its training, the
    optimizer, the generator and the `recent` states that are averaged."""
    header = dict(version=VERSION, config=config, step=0, rng=None, recent=len(recent), arrays=[])
    arrays = {f"model/{name}": p.value for name, p in model.named_parameters()}
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


@contextlib.contextmanager
def replacing(path):
    """Open a file to write that takes the place of `path` when it is whole and on disk."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    if os.name == "posix":  # make the new name durable too
        handle = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read_checkpoint(path):
    """Return (header, arrays) of a checkpoint file.

    Raises FileNotFoundError, or CheckpointError with path and reason.
    """
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(arrays.pop("header").tobytes())
        version, expected = header["version"], set(header["arrays"])
        _ = int(header["step"]), int(header["recent"]), header["rng"], header["config"]
    except FileNotFoundError:
        raise
    except Exception as error:  # there is no list of what damaged bytes make the readers raise
        reason = str(error) or type(error).__name__
        raise CheckpointError(f"{path} is not a readable checkpoint: {reason}") from error
    if version != VERSION:
        raise CheckpointError(f"{path} has version {version}, this program reads {VERSION}")
    if set(arrays) != expected:
        names = ", ".join(sorted(set(arrays) ^ expected))
        raise CheckpointError(f"{path} is incomplete, missing or unknown: {names}")
    return header, arrays


def load_checkpoint(path, model, *, optimizer=None, rng=None, recent=None):
    """Load a checkpoint into a model and what else is given, in place; return the config.

    All or nothing: everything is checked before anything is written. Raises FileNotFoundError, or
    CheckpointError with path and reason.
    """
    header, arrays = read_checkpoint(path)
    part: dict[str, dict] = {}
    for name, array in arrays.items():
        kind, _, rest = name.partition("/")
        part.setdefault(kind, {})[rest] = array
    try:
        states = [part[f"recent.{i}"] for i in range(header["recent"])]
        moments = [moments_of(optimizer, part.get(k, {})) for k in "mv"] if optimizer else None
        if rng is not None:
            type(rng.bit_generator)().state = header["rng"]  # tried on another generator first
        for state in states:
            model.check_state_dict(state)
        model.load_state_dict(part.get("model", {}))
    except (KeyError, ValueError, TypeError) as error:
        reason = error.args[0] if error.args else error
        raise CheckpointError(f"{path} does not fit: {reason}") from error
    if moments:
        for mine, loaded in zip([*optimizer.m, *optimizer.v], itertools.chain(*moments)):
            mine[...] = loaded
        optimizer.t = header["step"]
    if rng is not None:
        rng.bit_generator.state = header["rng"]
    if recent is not None:
        recent.clear()
        recent.extend(states)
    return header["config"]


def moments_of(optimizer, stored):
    """The stored moments as a list in the order of the optimizer's parameters, shapes checked."""
    shapes = {str(i): p.value.shape for i, p in enumerate(optimizer.parameters)}
    if {name: array.shape for name, array in stored.items()} != shapes:
        raise ValueError("its optimizer state is missing or of another model")
    return [stored[name].astype(p.value.dtype) for name, p in zip(shapes, optimizer.parameters)]
