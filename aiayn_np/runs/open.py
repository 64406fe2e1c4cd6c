"""Open the folder of a run, or of a real model."""

from pathlib import Path

from .loaded import Loaded
from .run import Run


def open_run(folder: str | Path) -> Loaded:
    """Open the model in the folder of a run, or the real model that Hugging Face wrote there.

    It has a `task`, and `trained()` is the model. Raises FileNotFoundError, and CheckpointError
    with path and reason. To go on with a training: `Run.open`.
    """
    folder = Path(folder)
    real = any((folder / name).is_file() for name in ("config.json", "model.safetensors"))
    if real and not (folder / "model.npz").exists():
        from .real import real_model

        return real_model(folder)
    return Run.open(folder).loaded()
