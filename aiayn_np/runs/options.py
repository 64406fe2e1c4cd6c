"""The options of a run: one dict {name: value}, which the checkpoint keeps as JSON.

An option of a new run is the user's, or else that in text/presets.py. The data of a run add others,
such as "files" and "digest", by which it finds and recognises them.
"""

import math
from typing import Any

from ..checks import check_number, check_sizes
from ..text.bleu import TOKENIZERS
from ..text.presets import DEFAULTS, PRESETS
from ..text.vocabulary import NORMALIZATIONS
from ..training.checks import check_seed
from ..variants.choices import CHOICES

COUNTS = {"steps", "batch_size", "tokens", "symbols", "max_length", "vocab_size", "warmup_steps",
          "accumulate", "N", "d_model", "d_ff", "h", "h_kv", "max_len"}
NAMES = {option: tuple(names) for option, names in CHOICES.items()} | dict(
    dtype=("float32", "float64"), like=("llama",), tokenize=TOKENIZERS, preset=tuple(PRESETS),
    normalization=NORMALIZATIONS)
FILES = dict(  # the options for the files of a task
    text=("pairs", "source", "target", "validation_pairs", "validation_source",
          "validation_target", "from"), words=("text", "from"))


def new_options(task: str, given: dict) -> dict[str, Any]:
    """Return the options of a new run; TypeError or ValueError for unknown and for wrong ones.

    given : the options of the user
    """
    defaults = DEFAULTS[task] | PRESETS.get(str(given.get("preset")), {})
    if unknown := {*given} - {*defaults}:
        raise ValueError(f"options must be some of {', '.join(defaults)}, got"
                         f" {', '.join(unknown)}")
    options = dict(task=task) | defaults | given
    check_options(options)
    return options


def check_options(options: dict) -> None:
    """Raise TypeError or ValueError for bad options of a training or bad sizes of its model."""
    check_seed(options["seed"])
    options = {name: value for name, value in options.items() if value is not None}
    check_sizes(**{name: value for name, value in options.items() if name in COUNTS})
    for name, high in (("epochs", 1e6), ("rate_scale", math.inf), ("eps_ls", 1), ("P_drop", 1)):
        if name in options:
            check_number(name, options[name], 0, high, open_low=name == "epochs")
    for name, names in NAMES.items():
        if name in options and options[name] not in names:
            raise ValueError(f"{name} must be one of {', '.join(names)}, got {options[name]!r}")
    rows = options.get("batch_size", options.get("tokens"))
    if options["accumulate"] > rows:
        raise ValueError(f"accumulate must be at most the rows or tokens of a batch, {rows}, got"
                         f" accumulate={options['accumulate']}")
    like, h_kv = options.get("like"), options.get("h_kv")
    if h_kv is not None and like is None:
        raise ValueError(f"h_kv must not be given without like=llama, got {h_kv=}")
    for name in ("norm", "positions") if like else ():
        if options[name] != NAMES[name][0]:
            raise ValueError(f"{name} must not be given with like={like}")


def flat(config: dict) -> dict:
    """Return the options in a checkpoint; an earlier version put them into four dicts."""
    options = dict(config)
    for part in ("model", "variants", "train", "task_options"):
        options |= options.pop(part, {})
    if options["task"] == "words":
        options.setdefault("max_length", options["max_len"])           # it had no other windows
    return DEFAULTS[options["task"]] | options                         # some came later
