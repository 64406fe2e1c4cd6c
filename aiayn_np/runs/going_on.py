"""Go on with a model on new data: a new run begins with the weights and vocabulary of another."""

from pathlib import Path
from typing import Any

from ..text.presets import DEFAULTS
from .open import is_run
from .options import check_options
from .run import Run, kind_of
from .task import absolute, told

MODEL = {"preset", "vocab_size", "normalization", "character_coverage", "N", "d_model", "d_ff", "h",
         "h_kv", "P_drop", "attention", "positions", "norm", "like"}  # what the model fixes
DATA = {"files", "digest", "from", "before", "only"}  # what is not taken from a run


def continued_run(folder: str | Path, task: str, start: Path, files: dict | None = None,
                  **given: Any) -> tuple[Run, list[str]]:
    """Make a run that begins with the model of `start`; return (run, notes on its data).

    start : folder of a run, or a folder of a Marian, a GPT-2 or a Llama
    files, given : as in `start_run`; what is not given is as in the run in `start`

    Raises ValueError for another kind of model, for what the model fixes, and if nothing of the new
    data is left without what the vocabulary lacks; other errors as in `start_run`.
    """
    own = is_run(start)
    options, kept, model = (of_run if own else of_folder)(start, task)
    if fixed := sorted({*given} & MODEL):
        raise ValueError(f"{fixed[0]} must not be given with --from: the model in {start} fixes it")
    options |= given | {"from": absolute(start)}
    if options["max_length"] > options["max_len"]:
        raise ValueError(f"max_length must be at most {options['max_len']}, the positions of the"
                         f" model in {start}, got max_length={options['max_length']}")
    if "family" in options and options["eps_ls"] and task == "text":
        raise ValueError("eps_ls must be 0 for a Marian, some of whose logits are -inf, got"
                         f" eps_ls={options['eps_ls']}")
    check_options(options)
    content = kind_of(options)[0].gather(options, files or {})
    run = Run(folder, options, kept)
    run.model.load_state_dict(model.state_dict())
    run.task.data = run.task.read(content)
    options["before"] = run.measured()
    return run, [*run.task.data.notes, *told("before", options["before"])]


def of_run(start: Path, task: str) -> tuple:
    """Return (options for a run that goes on, files of the vocabulary, model) of a run."""
    run = Run.open(start)
    check_task(start, run.options["task"], task)
    options = {name: value for name, value in run.options.items() if name not in DATA}
    return options, run.kept, run.trained()


def of_folder(start: Path, task: str) -> tuple:
    """Return (options, files of the vocabulary, model) of a folder of Hugging Face."""
    from .family import files_of
    from .real import FAMILIES, pretrained_of

    pretrained = pretrained_of(start)
    check_task(start, FAMILIES[pretrained.family][2], task)
    options = {name: value for name, value in DEFAULTS[task].items() if name not in MODEL}
    options |= dict(task=task, family=pretrained.settings, d_model=pretrained.d_model, like=None,
                 max_len=pretrained.max_len, eps_ls=0.0, vocab_size=pretrained.V,
                 max_length=min(options["max_length"], pretrained.max_len))
    return options, files_of(start), pretrained.model


def check_task(start: Path, found: str | None, task: str) -> None:
    """Raise ValueError if the model in a folder is for another task."""
    if found != task:
        raise ValueError(f"{start} must hold a model for train {task}, got one for"
                         f" {found or 'filling gaps'}")
