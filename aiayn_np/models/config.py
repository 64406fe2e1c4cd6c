"""Read `config.json`, and refuse values that our layers cannot honour."""

import json
from pathlib import Path

from ..checks import is_integer
from ..feed_forward import ReLU
from ..files import CheckpointError
from ..variants.activations import GELU, SiLU, TanhGELU

ACTIVATIONS = {
    "relu": ReLU, "gelu": GELU, "gelu_python": GELU, "gelu_new": TanhGELU,
    "gelu_pytorch_tanh": TanhGELU, "silu": SiLU, "swish": SiLU,
}
POINTER = b"version https://git-lfs"  # how a file begins that Git LFS has not fetched
GENERATION = "generation_config.json"
CHOICES = ("num_beams", "length_penalty", "early_stopping", "do_sample", "temperature", "top_k",
           "top_p", "repetition_penalty", "no_repeat_ngram_size", "min_length", "suppress_tokens",
           "begin_suppress_tokens", "encoder_no_repeat_ngram_size", "num_beam_groups",
           "forced_bos_token_id", "max_new_tokens", "min_new_tokens")
NEVER: dict = {"auto_map": None, "quantization_config": None, "add_cross_attention": False,
         "is_decoder": False, "pruned_heads": {}}  # the only value that these layers do


class Config:
    """The values of `config.json`. Each method reads one, and raises CheckpointError if it is bad.

    model_type : "marian", "gpt2", "bert", "llama", "qwen2" or "qwen3"
    only : {key: value} of further keys that must have this value, or be missing
    """

    def __init__(self, folder, model_type, only):
        self.path = Path(folder) / "config.json"
        self.values = read_json(self.path)
        if self.values.get("model_type") != model_type:
            self.refuse("model_type", repr(model_type))
        for key, value in (NEVER | only).items():
            if self.values.get(key, value) != value and self.values[key] is not None:
                self.refuse(key, f"{value!r} or missing")

    def refuse(self, key, must):
        """Raise a CheckpointError that names the key, the required value and the actual one."""
        got = str(self.values.get(key, "nothing"))
        got = got if len(got) <= 60 else f"{got[:60]}…"
        raise CheckpointError(f"{self.path}: {key} must be {must}, got {got}")

    def size(self, key, default=None):
        """Read an integer of at least 1."""
        value = default if self.values.get(key) is None else self.values[key]
        if not is_integer(value) or value < 1:
            self.refuse(key, "an integer of at least 1")
        return value

    def token(self, key, vocab_size, default=None, *, optional=False):
        """Read the id of a token; return None if the key is optional and missing."""
        value = self.values.get(key, default)
        if value is None and optional:
            return None
        if not is_integer(value) or not 0 <= value < vocab_size:
            self.refuse(key, f"an id in [0, {vocab_size})")
        return value

    def fraction(self, key, default):
        """Read a number in [0, 1)."""
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
            self.refuse(key, "a number in [0, 1)")
        return float(value)

    def flag(self, key, default):
        """Read true or false."""
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            self.refuse(key, "true or false")
        return value

    def activation(self, key, default):
        """Read the name of an activation, and return its class."""
        value = self.values.get(key, default)
        if not isinstance(value, str) or value not in ACTIVATIONS:
            self.refuse(key, "one of " + ", ".join(ACTIVATIONS))
        return ACTIVATIONS[value]

    def heads(self, key, default, d_model):
        """Read a number of heads that divides the width."""
        h = self.size(key, default)
        if d_model % h:
            self.refuse(key, f"a divisor of the width {d_model}")
        return h


def generation_settings(config):
    """Read generation_config.json; older folders have its settings in config.json."""
    path = config.path.with_name(GENERATION)
    return read_json(path) if path.is_file() else config.values


def not_used(settings, family):
    """Return {name: value} of the generation settings that decoding here does not follow."""
    words = [word for word in settings.get("bad_words_ids") or ()
             if len(word) > 1 or family != "marian"]               # Marian's loader follows others
    found = {name: settings.get(name) for name in CHOICES} | {"bad_words_ids": words}
    if isinstance(settings.get("eos_token_id"), list):
        found["eos_token_id"] = settings["eos_token_id"]
    return {name: value for name, value in found.items()
            if value and (value is True or value != 1)}


def read_json(path: str | Path) -> dict:
    """Read the object in a JSON file; raise FileNotFoundError, or CheckpointError if it is bad."""
    try:
        found = json.loads(fetched(path).read_bytes(), parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise CheckpointError(f"{path} must hold a JSON object, got {type(found).__name__}")
    return found


def fetched(path):
    """Return the Path; raise CheckpointError if Git LFS has not fetched the file."""
    with open(path, "rb") as file:
        if file.read(len(POINTER)) == POINTER:
            raise CheckpointError(f"{path} is a pointer of Git LFS, and not the file itself: git"
                                  " lfs pull in its folder fetches it")
    return Path(path)


def refuse_constant(name):
    """Raise ValueError: JSON has no NaN and no Infinity."""
    raise ValueError(f"a number must be finite, got {name}")
