"""Open the folder of a run: the one place that knows all kinds of runs."""

import errno
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import check_sizes
from ..files import CheckpointError, parts_in
from .checkpoint import read_header
from .estimates import parameter_count
from .run import TRAININGS, Run
from .shape import check_shape
from .training import VOCABULARY, check_options

POSITIONS = 2**26  # most numbers in a table of positions; no file holds the table


def open_run(folder: str | Path) -> Any:
    """Open the run in a folder, ready to decode or to go on with training.

    Raises FileNotFoundError, and CheckpointError with path and reason.
    """
    path = Path(folder) / "model.npz"
    for other in path.parent.glob("*"):
        if other.exists() and not (other.is_file() or other.is_dir()):     # it may have no end
            raise CheckpointError(f"{other} must be a regular file, got a pipe or a device")
    if not path.exists():
        if any(path.with_name(name).is_file() for name in ("config.json", "model.safetensors")):
            from ..pipelines.loaded import Loaded

            return Loaded(folder)
        lost, what = (path, "file") if path.parent.is_dir() else (path.parent, "folder")
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
    moments = ((f"{kind}/{i}", moment) for kind in "mv"
               for i, moment in enumerate(getattr(run.optimizer, kind)))
    for weights in (run.model.named_parameters(), moments, *(state.items() for state in
                                                             run.training.recent)):
        check_weights(path, weights)
    return run


def saved_nothing(folder: Path) -> bool:
    """Tell whether the first save into a folder did not end, and nothing else is in the folder."""
    mine = {*parts_in(folder), folder / VOCABULARY}
    return folder.is_dir() and set() < {*folder.iterdir()} <= mine


def check_config(path: Path, config: Any) -> None:
    """Raise CheckpointError, TypeError or ValueError unless `train` could have written a config."""
    check_shape(f"{path}: config", config, dict(task=set(TRAININGS)))
    check_shape(f"{path}: config", config, TRAININGS[config["task"]].shape)
    check_options(config["train"])
    check_size(config, path.stat().st_size)


def check_size(config: dict, size: int) -> None:
    """Raise ValueError for a config of a larger model than a file of `size` bytes can hold."""
    sizes = {name: config["model"][name] for name in ("N", "d_model", "d_ff", "max_len")}
    check_sizes(**sizes)
    symbols = config.get("task_options", {}).get("symbols", 0)
    check_sizes(0, symbols=symbols)
    if parameter_count(symbols, **sizes) > size or (
            sizes["max_len"] * sizes["d_model"] > size + POSITIONS):
        raise ValueError("it must describe a model that fits into the file, got "
                         + ", ".join(f"{name}={value}" for name, value in sizes.items()))


def check_weights(path: Path, weights: Iterable[tuple[str, Any]]) -> None:
    """Raise FloatingPointError for weights, pairs of a name and a value, that are not finite."""
    for name, value in weights:
        if not np.isfinite(getattr(value, "value", value)).all():
            raise FloatingPointError(f"{path}: {name} must be finite, got nan or inf")
