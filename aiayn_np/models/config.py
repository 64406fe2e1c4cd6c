"""Read `config.json`, and refuse values that our layers do not support."""

import json
from math import isfinite
from pathlib import Path

from ..checks import is_integer
from ..feed_forward import ReLU
from ..files import CheckpointError
from ..variants.activations import GELU, SiLU, TanhGELU

ACTIVATIONS = {
    "relu": ReLU, "gelu": GELU, "gelu_python": GELU, "gelu_new": TanhGELU,
    "gelu_pytorch_tanh": TanhGELU, "silu": SiLU, "swish": SiLU,
}
NEVER: dict = {"auto_map": None, "quantization_config": None, "add_cross_attention": False,
         "is_decoder": False, "pruned_heads": {}}  # the only supported value


class Config:
    """The values of `config.json`. Each method reads one value; a bad one raises CheckpointError.

    path : the path of the file, for messages
    families : the allowed values of model_type
    only : {key: value} of further keys that must have this value, or be missing
    """

    def __init__(self, values, path, families, only):
        self.values, self.path = values, path
        if values.get("model_type") not in families:
            self.refuse("model_type", " or ".join(families))
        for key, value in (NEVER | only).items():
            if values.get(key) not in (None, value):
                self.refuse(key, f"{value!r} or missing")

    def refuse(self, key, must):
        """Raise a CheckpointError that names the key, the required value and the actual one."""
        got = str(self.values.get(key, "nothing"))
        got = got if len(got) <= 60 else f"{got[:60]}…"
        raise CheckpointError(f"{self.path}: {key} must be {must}, got {got}")

    def read(self, key, default, fits, must):
        """Return a value, or the default if it is missing; refuse it unless `fits(value)`."""
        value = default if self.values.get(key) is None else self.values[key]
        if not fits(value):
            self.refuse(key, must)
        return value

    def size(self, key, default=None):
        """Read an integer of at least 1."""
        return self.read(key, default, lambda value: is_integer(value) and value >= 1,
                         "an integer of at least 1")

    def token(self, key, vocab_size, default):
        """Read the id of a token, of a list its first."""
        return listed(self.read(key, default, lambda value: listed(value) and all(
            is_integer(i) and 0 <= i < vocab_size for i in listed(value)),
            f"an id in [0, {vocab_size})"))[0]

    def fraction(self, key, default):
        """Read a number in [0, 1)."""
        return float(self.read(key, default, lambda value: is_number(value) and 0 <= value < 1,
                               "a number in [0, 1)"))

    def flag(self, key, default):
        """Read true or false."""
        return self.read(key, default, lambda value: isinstance(value, bool), "true or false")

    def activation(self, key, default):
        """Read the name of an activation, and return its class."""
        return ACTIVATIONS[self.read(
            key, default, lambda value: isinstance(value, str) and value in ACTIVATIONS,
            "one of " + ", ".join(ACTIVATIONS))]


def listed(value):
    """Return a list as it is, and another value as a list of one."""
    return value if isinstance(value, list) else [value]


def is_number(value):
    """Tell whether a value of JSON is a finite number, not true or false."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)


def read_json(path: str | Path) -> dict:
    """Read the object in a JSON file; raise FileNotFoundError, or CheckpointError if it is bad."""
    try:
        found = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise CheckpointError(f"{path} must hold a JSON object, got {type(found).__name__}")
    return found
