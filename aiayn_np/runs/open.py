"""Open the folder of a run, or of a real model."""

import errno
from pathlib import Path
from typing import Any

from ..files import CheckpointError
from ..text.presets import DEFAULTS
from .checkpoint import read_header
from .loaded import Loaded
from .options import check_options, check_size, flat
from .run import TASKS, Run


def open_run(folder: str | Path) -> Run | Loaded:
    """Open the run in a folder, or the real model that Hugging Face wrote there.

    Both have a `task` and a `model`; `trained()` is the trained model, and `loaded()` the model
    with its task, for use. Raises FileNotFoundError, and CheckpointError with path and reason.
    """
    folder = Path(folder)
    names = ("config.json", "model.safetensors")
    if (folder / "model.npz").exists() or not any((folder / name).is_file() for name in names):
        return own_run(folder)
    from .real import real_model

    check_regular(folder)
    return real_model(folder)


def own_run(folder: Path) -> Run:
    """Open a run that `train` wrote, ready to decode or to go on with training; errors as above."""
    path = folder / "model.npz"
    check_regular(folder)
    if not path.exists():
        lost, what = (path, "file") if folder.is_dir() else (folder, "folder")
        raise FileNotFoundError(errno.ENOENT, f"No such {what}; a run is a folder that `train`"
                                " wrote, or one of Hugging Face, such as `hf download gpt2"
                                " --local-dir gpt2` writes", str(lost))
    config = read_header(path).get("config")
    try:
        options = flat(config) if isinstance(config, dict) else {}
        task = str(options.get("task"))[:60]
        if task not in TASKS:
            raise ValueError(f"task must be one of {', '.join(TASKS)}, got {task}")
        options = DEFAULTS[task] | options                             # some came later
        check_options(options)
        check_files(options.get("files"), TASKS[task].kind_of_files)
        check_size(options, path.stat().st_size)
        run = Run(folder, options)
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path} has no usable config: {error}") from error
    run.load()
    return run


def check_files(files: Any, kind: Any) -> None:
    """Raise ValueError unless the files of a run are of a kind, and each is a path or None."""
    paths = files.values() if isinstance(files, dict) else files or []
    if not (isinstance(files, kind) and all(isinstance(path, (str, type(None))) for path in paths)):
        raise ValueError(f"files must be paths, got {files!r:.60}")


def check_regular(folder: Path) -> None:
    """Raise CheckpointError if a pipe or a device, which may have no end, is in a folder."""
    for path in folder.glob("*"):
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise CheckpointError(f"{path} must be a regular file, got a pipe or a device")
