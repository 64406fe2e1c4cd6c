"""The options of a run: one dict {name: value}, which the checkpoint keeps as JSON.

An option of a new run is the user's, or else that in text/presets.py. The data of a run add others:
"files" and "digest", by which it finds and recognises them, and the digest of a "vocabulary".
"""

import math
from typing import Any

import numpy as np

from ..checks import check_number, check_sizes, memory_bytes
from ..text.bleu import TOKENIZERS
from ..text.presets import DEFAULTS, PRESETS
from ..text.vocabulary import NORMALIZATIONS
from ..training.checks import check_seed
from ..training.loop import AVERAGED
from ..variants.choices import CHOICES, keywords

SIZES = ("N", "d_model", "d_ff", "h", "P_drop", "max_len", "h_kv")  # options of the model
COUNTS = {"steps", "batch_size", "tokens", "symbols", "max_length", "vocab_size", "warmup_steps",
          "accumulate", "N", "d_model", "d_ff", "h", "h_kv", "max_len"}
NAMES = {option: tuple(names) for option, names in CHOICES.items()} | dict(
    dtype=("float32", "float64"), like=("llama",), tokenize=TOKENIZERS, preset=tuple(PRESETS),
    normalization=NORMALIZATIONS)
COPIES = 4 + AVERAGED + 3  # value, gradient, m, v; states for averaging; and their average
POSITIONS = 2**26  # most numbers in a table of positions; no file holds the table


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


def sizes_of(options: dict) -> dict:
    """Return the options of the model, without its variants."""
    return {name: options[name] for name in SIZES if options.get(name) is not None}


def variants_of(options: dict) -> dict:
    """Return the variants of the model, as keywords of Transformer."""
    return keywords({name: options[name] for name in CHOICES if name in options})


def flat(config: dict) -> dict:
    """Return the options in a checkpoint; an earlier version put them into four dicts."""
    options = dict(config)
    for part in ("model", "variants", "train", "task_options"):
        options |= options.pop(part, {})
    return options


def check_memory(options: dict, vocab_size: int) -> None:
    """Raise MemoryError if a training needs more memory than this machine has.

    A position of a batch counts 30 arrays of width d_model and 3 of d_ff in a layer, and 3 of
    logits. The size of a batch of sentence pairs is not known.
    """
    rows = options.get("batch_size", 0) // options["accumulate"] * options["max_length"]
    numbers = COPIES * parameter_count(vocab_size, options) + rows * (
        options["N"] * (30 * options["d_model"] + 3 * options["d_ff"]) + 3 * vocab_size)
    needed, memory = np.dtype(options["dtype"]).itemsize * numbers, memory_bytes()
    if needed > memory:
        raise MemoryError(f"training needs about {needed / 1e9:.3g} GB of memory, this machine has"
                          f" {memory / 1e9:.3g}; a smaller model, vocabulary or batch needs less")


def check_size(options: dict, size: int) -> None:
    """Raise ValueError unless the model of the options fits into a checkpoint of `size` bytes."""
    max_len, d_model = options["max_len"], options["d_model"]
    if parameter_count(options.get("symbols", 0), options) > size or (
            max_len * d_model > size + POSITIONS):
        raise ValueError(f"it must describe a model that fits into the file, got N={options['N']},"
                         f" {d_model=}, d_ff={options['d_ff']}, {max_len=}")


def parameter_count(vocab_size: int, options: dict) -> int:
    """Count the numbers in a Transformer's parameters; the parameters of variants do not count."""
    d_model, d_ff = options["d_model"], options["d_ff"]
    layers = 12 * d_model**2 + 2 * (2 * d_model * d_ff + d_ff + d_model) + 10 * d_model
    return vocab_size * d_model + options["N"] * layers
