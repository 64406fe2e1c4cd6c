"""Open the folder of a run, or of a real model."""

from pathlib import Path

from .loaded import Loaded
from .run import Run


def open_run(folder: str | Path) -> Loaded:
    """Open the model in the folder of a run, or the real model that Hugging Face wrote there.

    It has a `task`, and `trained()` is the model. Raises FileNotFoundError, and CheckpointError
    with path and reason. To go on with a training: `Run.open`.
    """
    if is_run(folder):
        return Run.open(folder).loaded()
    from .real import pretrained_of, real_model

    return real_model(pretrained_of(Path(folder)))


def is_run(folder: str | Path) -> bool:
    """Tell whether a folder is for a run, and not one that Hugging Face wrote."""
    real = any((Path(folder) / name).is_file() for name in ("config.json", "model.safetensors"))
    return not real or (Path(folder) / "model.npz").exists()
