"""Open the folder of a run, or of a real model."""

import errno
from collections.abc import Collection
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..checks import check_sizes
from ..files import CheckpointError
from ..pipelines.pipeline import Pipeline
from .checkpoint import read_header
from .estimates import parameter_count
from .run import TRAININGS, Run
from .shape import check_shape
from .training import check_options

POSITIONS = 2**26  # most numbers in a table of positions; no file holds the table


class Opened(Protocol):
    """A model with its task, as commands use it: a Run, or a real model as Loaded."""

    task: Any
    model: Any
    uses: tuple[str, ...]  # the commands that work with the model

    @property
    def files(self) -> Collection[str]:
        """Names of the files that hold the model."""

    @property
    def note(self) -> str:
        """A line that warns the user, or ""."""

    def pipeline(self) -> Pipeline:
        """Return the pipeline of the model."""

    def trained(self) -> Any:
        """Return the model."""


def open_run(folder: str | Path) -> Opened:
    """Open the run in a folder, or the real model that Hugging Face wrote there.

    Raises FileNotFoundError, and CheckpointError with path and reason.
    """
    folder = Path(folder)
    names = ("config.json", "model.safetensors")
    if (folder / "model.npz").exists() or not any((folder / name).is_file() for name in names):
        return own_run(folder)
    from ..pipelines.loaded import Loaded

    check_regular(folder)
    return Loaded(folder)


def own_run(folder: Path) -> Run:
    """Open a run that `train` wrote, ready to decode or to go on with training; errors as above."""
    path = folder / "model.npz"
    check_regular(folder)
    if not path.exists():
        lost, what = (path, "file") if folder.is_dir() else (folder, "folder")
        raise FileNotFoundError(errno.ENOENT, f"No such {what}; a run is a folder that `train`"
                                " wrote, or one of Hugging Face, such as `hf download gpt2"
                                " --local-dir gpt2` writes", str(lost))
    config = read_header(path)["config"]
    try:
        check_config(path, config)
        run = Run(folder, config)
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{path} has no usable config: {error}") from error
    run.load()
    arrays = {name: p.value for name, p in run.model.named_parameters()}
    arrays |= {f"m/{i}": m for i, m in enumerate(run.optimizer.m)}
    arrays |= {f"v/{i}": v for i, v in enumerate(run.optimizer.v)}
    for state in [arrays, *run.training.recent]:
        for name, array in state.items():
            if not np.isfinite(array).all():
                raise FloatingPointError(f"{path}: {name} must be finite, got nan or inf")
    return run


def check_regular(folder: Path) -> None:
    """Raise CheckpointError if a pipe or a device, which may have no end, is in a folder."""
    for path in folder.glob("*"):
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise CheckpointError(f"{path} must be a regular file, got a pipe or a device")


def check_config(path: Path, config: Any) -> None:
    """Raise an error unless `train` could have written a config into a checkpoint of this size."""
    check_shape(f"{path}: config", config, dict(task=set(TRAININGS)))
    check_shape(f"{path}: config", config, TRAININGS[config["task"]].shape)
    check_options(config["train"])
    sizes = {name: config["model"][name] for name in ("N", "d_model", "d_ff", "max_len")}
    check_sizes(**sizes)
    symbols, size = config.get("task_options", {}).get("symbols", 0), path.stat().st_size
    check_sizes(0, symbols=symbols)
    if parameter_count(symbols, **sizes) > size or (
            sizes["max_len"] * sizes["d_model"] > size + POSITIONS):
        raise ValueError("it must describe a model that fits into the file, got "
                         + ", ".join(f"{name}={value}" for name, value in sizes.items()))
