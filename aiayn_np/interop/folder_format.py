"""Read and write Hugging Face folders, for the commands `export` and `import`."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import one_line
from ..files import CheckpointError
from ..models.config import ACTIVATIONS, read_json
from ..models.weights import FILE, INDEX
from ..runs.pretrained_run import FOLDER_FILES, KINDS, open_pretrained
from ..text.extra import extra

PICKLE = "pytorch_model.bin"


def recognises(path):
    """Tell whether config.json in a folder names a family that opens here."""
    try:
        return read_json(Path(path) / "config.json").get("model_type") in KINDS
    except (OSError, CheckpointError, TypeError):
        return False


def read(path, folder, *, convert=False):
    """Open a Hugging Face folder as a run, with its files copied into `folder`.

    convert : whether PyTorch may read a pickle if the folder has no model.safetensors
    """
    path = Path(path)
    convert, parts = convert and not any((path / name).is_file() for name in (FILE, INDEX)), []
    if not convert:
        run = open_pretrained(path)                  # before anything is copied
        parts = run.loaded.parts
    for name in dict.fromkeys([*FOLDER_FILES, *parts]):
        copy_if_there(path / name, folder / name)
    if convert:
        convert_pickle(path / PICKLE, folder / FILE)
        try:
            run = open_pretrained(folder)
        except CheckpointError as error:  # by the name that the user knows, not by the copy's
            raise CheckpointError(named(str(error), folder / FILE, path / PICKLE)) from error
    run.folder = folder
    return run


def named(message, copy, original):
    """Return a message that begins with the path of a copy, or of its folder, with the original's.
    """
    for ours, theirs in ((f"{copy}", f"{original}"),
                         (f"{copy.parent}{os.sep}", f"{original.parent}{os.sep}")):
        if message.startswith(ours):
            return theirs + message.removeprefix(ours)
    return message


def copy_if_there(path, target):
    """Copy a file, if there is one."""
    if path.is_file():
        with open(path, "rb") as file, open(target, "wb") as copy:
            shutil.copyfileobj(file, copy)                             # its error names no file


def convert_pickle(path, target):
    """Write the tensors of a pytorch_model.bin as safetensors. No code in the file is run."""
    torch, safetensors = extra("torch", of="torch"), extra("safetensors.torch", of="pretrained")
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        tensors = {name: tensor.detach().clone().contiguous()
                   for name, tensor in without_copies(state)}
    except FileNotFoundError:
        raise
    except Exception as error:  # UnpicklingError, and anything for damaged bytes
        reason = one_line(error)[:200] or type(error).__name__
        raise CheckpointError(f"{path} is not readable: {reason}") from error
    Path(target).write_bytes(safetensors.save(tensors))


def without_copies(state):
    """Yield (name, tensor); a tied matrix comes once, under its first name."""
    seen = set()
    for name, tensor in state.items():
        place = tensor.data_ptr(), tensor.shape
        if tensor.ndim < 2 or place not in seen:
            yield name, tensor
        seen.add(place)


def write_folder(folder: Path, config: dict, state: dict[str, np.ndarray],
                 of: str = "pretrained") -> None:
    """Write a model into a folder: `config` as config.json, `state` as model.safetensors.

    of : the extra of this package that installs safetensors; the error names it
    """
    save = extra("safetensors.numpy", of=of).save
    text = json.dumps(config, indent=2, ensure_ascii=False)
    (folder / "config.json").write_text(f"{text}\n", encoding="utf-8")
    state = {name: np.ascontiguousarray(array) for name, array in state.items()}
    (folder / FILE).write_bytes(save(state, metadata={"format": "pt"}))


def activation_of(layer):
    """Return a layer's (activation class, config name); the class is None for the paper's ReLU."""
    if not hasattr(layer.feed_forward, "activation"):
        return None, "relu"
    chosen = type(layer.feed_forward.activation)
    for name, activation in ACTIVATIONS.items():
        if chosen is activation:
            return chosen, name
    raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {chosen.__name__}")


def copied(run: Any, folder: Path) -> list[str]:
    """Write an imported run's files and current weights into a folder; return lines to print."""
    for name in {*FOLDER_FILES} - {INDEX}:           # the weights go out as one file
        copy_if_there(run.folder / name, folder / name)
    write_folder(folder, run.loaded.config, run.loaded.state())
    return [f"{len(run.loaded.tensors)} tensors of a {run.loaded.family}"]
