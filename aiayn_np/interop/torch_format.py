"""A run as files for PyTorch: the format `torch` of the commands `export` and `import`.

    config.json             the configs of the model and of the run, the step, the generator
    model.safetensors       the values, under the names of the module that `to_torch` makes
    training.safetensors    Adam's means and the states to average, under the same names
    history.csv             the record of every step
    vocabulary.model        for a run on text

Without training.safetensors the run can be used, but its training cannot go on. No pickle is read.
"""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..files import CheckpointError
from ..runs.open import KINDS
from ..runs.text_run import VOCABULARY
from ..text.extra import extra
from ..text.vocabulary import Vocabulary
from ..training.loop import AVERAGED
from ..training.tasks import TASKS
from .describe import check_config, describe
from .layout import check_shapes, to_ours, to_theirs

FORMAT, VERSION = "aiayn_np torch", 1
CONFIG, WEIGHTS, TRAINING = "config.json", "model.safetensors", "training.safetensors"
HISTORY = "history.csv"


def recognises(path):
    """Whether the path is a folder that `write` wrote."""
    try:
        with open(Path(path) / CONFIG, encoding="utf-8", errors="replace") as file:
            return f'"{FORMAT}"' in file.read(200)
    except OSError:
        return False


def write(run, folder):
    """Write a run into an empty folder; return lines that say what was written."""
    save = extra("safetensors.numpy", of="torch").save
    model = describe(run.model)
    header = dict(format=FORMAT, version=VERSION, model=model, run=run.config, training=None)
    weights = save(to_theirs(run.model.state_dict(), model), metadata={"format": "pt"})
    (folder / WEIGHTS).write_bytes(weights)
    if run.config.get("training_state", True):
        header["training"] = dict(step=run.optimizer.t, rng=run.rng.bit_generator.state,
                                  recent=len(run.recent))
        (folder / TRAINING).write_bytes(save(
            {f"{kind}/{name}": array for kind, state in training_states(run).items()
             for name, array in to_theirs(state, model).items()}))
    (folder / HISTORY).write_bytes(run.history_csv())
    if VOCABULARY in run.FILES:
        run.task.vocabulary.save(folder / VOCABULARY)
    text = json.dumps(header, indent=1, default=np.ndarray.tolist)
    (folder / CONFIG).write_text(text + "\n", encoding="utf-8")
    return [f"{sum(p.value.size for p in run.model.parameters()):,} parameters after step"
            f" {run.optimizer.t}; in PyTorch: python -m aiayn_np.interop.train_torch"]


def training_states(run):
    """{name: one of our states} for the names "m", "v", "recent.0", ..."""
    names = [name for name, _ in run.model.named_parameters()]
    adam = run.optimizer
    means = {"m": dict(zip(names, adam.m)), "v": dict(zip(names, adam.v))}
    return means | {f"recent.{i}": state for i, state in enumerate(run.recent)}


def read(path, folder):
    """The run in a folder that `write` wrote, with `folder` as its own.

    Everything is checked before the model is made. Raises FileNotFoundError, or CheckpointError
    with path and reason.
    """
    path = Path(path)
    with unusable(path / CONFIG):
        header = json.loads((path / CONFIG).read_text(encoding="utf-8"))
        if header["version"] != VERSION:
            raise ValueError(f"it has version {header['version']}, this program reads {VERSION}")
        config, model = header["run"], header["model"]
        check_config(model)
        check_same_model(path, config, model)
    weights = read_states(path / WEIGHTS, model, config["dtype"], [""])[""]
    states = read_training(path, header)
    if config["task"] not in TASKS:
        (folder / VOCABULARY).write_bytes((path / VOCABULARY).read_bytes())
    with unusable(path / CONFIG):
        without = {} if states is not None else {"training_state": False}
        run = KINDS[config["task"]](folder, config | without)
        if describe(run.model) != model:
            raise ValueError(f"a run has no model with {model}: use from_torch")
        run.model.load_state_dict(weights)
        if states is not None:
            fill_training(run, header["training"], states)
    run.load_history(path)
    return run


@contextlib.contextmanager
def unusable(path: Path) -> Iterator[None]:
    """Turn any error that a wrong config raises into a CheckpointError with the path."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        reason = error.args[0] if isinstance(error, KeyError) else error
        raise CheckpointError(f"{path} has no usable config: {reason}") from error


def check_same_model(path, config, model):
    """Refuse configs of run and model that describe different models, before making the model."""
    if config["task"] not in KINDS:
        raise ValueError(f"task must be one of {', '.join(KINDS)}, got {config['task']!r}")
    if config["task"] in TASKS:
        vocab_size = TASKS[config["task"]](**config["task_options"]).vocab_size
    else:
        vocab_size = len(Vocabulary.load(path / VOCABULARY))
    claimed = dict(vocab_size=vocab_size) | config["model"] | config["variants"]
    for name, value in claimed.items():
        if name != "attention" and value != model[name]:
            raise ValueError(f"{name} of run and model must be one, got {value} and {model[name]}")
    if config["dtype"] not in ("float32", "float64"):
        raise ValueError(f"dtype must be float32 or float64, got {config['dtype']!r}")


def read_states(path, model, dtype, kinds):
    """{kind: one of our states} from a safetensors file with tensors named KIND/NAME."""
    safetensors = extra("safetensors", of="torch")
    prefixes = {kind: kind and f"{kind}/" for kind in kinds}
    try:
        with safetensors.safe_open(path, "np") as file:
            names = list(file.keys())
            found = {name: file.get_slice(name) for name in names}
            wrong = {s.get_dtype() for s in found.values()} - {f"F{dtype.removeprefix('float')}"}
            if wrong:
                raise ValueError(f"tensors must be {dtype}, got {', '.join(sorted(wrong))}")
            groups: dict[str, dict] = {prefix: {} for prefix in prefixes.values()}
            for name, tensor in found.items():
                kind, slash, rest = name.rpartition("/")
                groups.setdefault(kind + slash, {})[rest] = tensor.get_shape()
            if unknown := set(groups) - set(prefixes.values()):
                raise KeyError(f"there must be no other tensor, got some of {', '.join(unknown)}")
            for group in groups.values():
                check_shapes(group, model)
            return {kind: to_ours({name: finite(name, file.get_tensor(prefix + name))
                                   for name in groups[prefix]}, model)
                    for kind, prefix in prefixes.items()}
    except (KeyError, ValueError) as error:
        raise CheckpointError(f"{path} does not fit: {error.args[0]}") from error
    except safetensors.SafetensorError as error:
        raise CheckpointError(f"{path} is not a whole safetensors file: {error}") from error


def finite(name, array):
    """The array; ValueError if a value is not finite."""
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite")
    return array


def read_training(path, header):
    """The states in training.safetensors; None if the folder has no training state."""
    if header["training"] is None or not (path / TRAINING).exists():
        return None
    with unusable(path / CONFIG):
        recent = int(header["training"]["recent"])
        if not 0 <= recent <= AVERAGED:
            raise ValueError(f"recent must be 0 to {AVERAGED}, got {recent}")
    kinds = ["m", "v", *(f"recent.{i}" for i in range(recent))]
    return read_states(path / TRAINING, header["model"], header["run"]["dtype"], kinds)


def fill_training(run, training, states):
    """Put step, generator, Adam's means and the states to average into a run."""
    run.optimizer.t = int(training["step"])
    run.rng.bit_generator.state = training["rng"]
    names = [name for name, _ in run.model.named_parameters()]
    for kind, means in (("m", run.optimizer.m), ("v", run.optimizer.v)):
        for name, mean in zip(names, means):
            mean[...] = states[kind][name]
    run.recent.extend(state for kind, state in states.items() if kind.startswith("recent."))
