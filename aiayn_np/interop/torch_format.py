"""The format `torch` of the commands `export` and `import`: a run as files for PyTorch.

    config.json         the configs of the model and of the run
    model.safetensors   the weights that decoding uses, under the names that `to_torch` gives them
    vocabulary.model    for a run on text

The training state is not exported. An imported run has taken no step, and its training begins with
a new Adam. No pickle is read.
"""

import json
import shutil
from pathlib import Path

import numpy as np

from ..models.describe import describe
from ..models.layout import check_shapes, to_ours, to_theirs
from ..models.weights import FILE, File, as_checkpoint_error
from ..runs.open import KINDS
from ..runs.text_run import VOCABULARY
from .folder_format import write_folder

FORMAT, VERSION = "aiayn_np torch", 1
CONFIG = "config.json"


def recognises(path):
    """Tell whether the path is a folder that `write` wrote."""
    try:
        with open(Path(path) / CONFIG, encoding="utf-8", errors="replace") as file:
            return f'"{FORMAT}"' in file.read(200)
    except OSError:
        return False


def write(run, folder):
    """Write a run into an empty folder; return lines that say what was written."""
    trained = run.trained()
    model, state = describe(trained), trained.state_dict()
    header = dict(format=FORMAT, version=VERSION, model=model, run=run.config)
    write_folder(folder, header, to_theirs(state, model), of="torch")
    if VOCABULARY in run.FILES:
        shutil.copyfile(run.folder / VOCABULARY, folder / VOCABULARY)
    return [f"{sum(value.size for value in state.values()):,} parameters, as decoding uses them"]


def read(path, folder):
    """Make a run from the folder `path` that `write` wrote; `folder` becomes the run's own folder.

    Configs and tensors are checked before the model is made.

    Raises FileNotFoundError, or CheckpointError with path and reason.
    """
    path = Path(path)
    with as_checkpoint_error(path / CONFIG):
        header = json.loads((path / CONFIG).read_text(encoding="utf-8"))
        if header["version"] != VERSION:
            raise ValueError(f"it has version {header['version']}, this program reads {VERSION}")
        config, described = header["run"] | {"imported": True}, header["model"]
    state = read_state(path / FILE, described, str(config["dtype"]))
    with as_checkpoint_error(path / CONFIG):
        if VOCABULARY in (kind := KINDS[config["task"]]).FILES:
            shutil.copyfile(path / VOCABULARY, folder / VOCABULARY)
        run = kind(folder, config)
        if (other := describe(run.model)) != described:
            raise ValueError(f"run and model must have one config, got {other} and {described}")
    run.model.load_state_dict(state)
    return run


def read_state(path: Path, config: dict, dtype: str) -> dict[str, np.ndarray]:
    """Read a state under our names; names and shapes are checked before the values are read."""
    file = File(path, of="torch")
    with as_checkpoint_error(path):
        check_shapes(file.shapes, config)
        if wrong := set(file.kinds.values()) - {f"F{dtype.removeprefix('float')}"}:
            raise ValueError(f"tensors must be {dtype}, got {', '.join(sorted(wrong))}")
        return to_ours({name: file.read(name) for name in file.shapes}, config)
