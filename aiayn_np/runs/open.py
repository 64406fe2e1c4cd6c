"""Open the folder of a run: the one place that knows all kinds of runs."""

import errno
from pathlib import Path
from typing import Any

from ..files import CheckpointError
from ..training.tasks import TASKS
from .checkpoint import load_checkpoint, read_header
from .estimates import large
from .run import Run
from .text_run import TextRun
from .words_run import WordsRun

KINDS = dict.fromkeys(TASKS, Run) | {run.name: run for run in (TextRun, WordsRun)}


def open_run(folder: str | Path) -> Any:
    """Open the run in a folder, ready to decode or to go on with training.

    Raises FileNotFoundError, and CheckpointError with path and reason.
    """
    path = Path(folder) / "model.npz"
    if is_pretrained(folder):
        from .pretrained_run import open_pretrained

        return open_pretrained(folder)
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, "No such file or directory; a run is a folder that"
                                " `train` wrote, or one of Hugging Face", str(path))
    header = read_header(path)
    config = header["config"]
    try:
        run = KINDS[config["task"]](folder, config)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise CheckpointError(f"{path} has no usable config: {error}") from error
    load_checkpoint(path, run.model, **run.training_state)
    run.saved = run.optimizer.t
    if run.states:
        run.states.load(run.optimizer.t)
    return run


def is_pretrained(folder: str | Path) -> bool:
    """Tell whether a folder is a Hugging Face folder, and not that of a training run."""
    folder = Path(folder)
    return not (folder / "model.npz").exists() and any(
        (folder / name).is_file() for name in ("config.json", "model.safetensors"))


def announcement(folder: str | Path) -> str:
    """Return a line on the memory that loading a large real model needs; "" for a smaller one."""
    if not is_pretrained(folder):
        return ""
    held = sum(path.stat().st_size for path in Path(folder).glob("model*.safetensors"))
    return large(held, f"loading {folder}")
