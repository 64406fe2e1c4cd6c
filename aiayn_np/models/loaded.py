"""The base class of the families: a model made of our layers, with the ids of its folder."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..files import CheckpointError
from ..module import Cache
from .config import Config, generation_settings, not_used
from .weights import (
    FILE,
    File,
    Tensor,
    Undrawn,
    as_checkpoint_error,
    dtype_of,
    fill,
    match,
    written,
)


class Pretrained:
    """A model from a Hugging Face folder.

    model : made of our layers     vocabulary : turns text into ids and back; None without tokenizer
    config : the dict of config.json                tensors : the Tensors of the file
    parts : the names of the files that hold them
    generation : the dict of generation_config.json;  not_used : its settings that decoding ignores
    """

    family = ""  # the model_type of the config
    only: ClassVar[dict] = {}  # keys of the config that must have this value
    heads: ClassVar[tuple] = ()  # the classes of transformers that have the head of `model`

    def __init__(self, folder: str | Path) -> None:
        """Read a folder; raise FileNotFoundError, or CheckpointError with a reason in one line."""
        with as_checkpoint_error(folder):
            config = Config(folder, self.family, self.only)
            self.generation = generation_settings(config)
            self.not_used = not_used(self.generation, self.family)
            self.read_sizes(config)
            self.tokenizer_class = config.values.get("tokenizer_class")
            file = File(config.path.parent / FILE)
            found = match(file, self.wanted(), self.ignored, self.other_head(config))
            self.vocabulary = self.read_vocabulary(config.path.parent)
            dtype = dtype_of(file, found)
            self.model = fill(self.build(Undrawn(dtype)), file, found, dtype)
        self.config, self.tensors = config.values, [tensor for tensor, _ in found]
        self.parts = file.parts
        self.check_constants(file)

    def read_sizes(self, config: Config) -> None:
        """Read the sizes from the config; raise CheckpointError if our layers cannot have them."""
        raise NotImplementedError

    def other_head(self, config: Config) -> str:
        """Return the end of an error message if the config names another head, else ""."""
        names = config.values.get("architectures") or [self.heads[0]]
        return "" if set(names) & set(self.heads) else (
            f"; its config.json says {', '.join(map(str, names))}, and this is for"
            f" {' or '.join(self.heads)}")

    def wanted(self) -> Iterator[Tensor]:
        """Yield the Tensors that the file must hold."""
        raise NotImplementedError

    def ignored(self, name: str) -> bool:
        """Tell whether a tensor that is not wanted may be in the file."""
        return False

    def build(self, rng: np.random.Generator) -> Any:
        """Build the model; its values will be replaced."""
        raise NotImplementedError

    def read_vocabulary(self, folder: str | Path) -> Any:
        """Read the vocabulary of a folder; return None if the folder has none."""
        raise NotImplementedError

    def check_constants(self, file: File) -> None:
        """Raise CheckpointError if constants in the file differ from those of the layers."""

    def forward(self, *ids: np.ndarray, **options: Any) -> tuple[np.ndarray, Cache]:
        """Return (logits, cache) for ids (B, T) of the folder; options are those of the model."""
        return self.model.forward(*map(np.asarray, ids), **options)

    def backward(self, grad_logits: np.ndarray, cache: Cache) -> None:
        """Add the gradients of all parameters, as the model's backward does."""
        self.model.backward(grad_logits, cache)

    def logits(self, *ids: np.ndarray, **options: Any) -> np.ndarray:
        """Return logits (B, T, V) for ids of the folder."""
        return self.forward(*ids, **options)[0]

    def state(self) -> dict[str, np.ndarray]:
        """Return {name in the file: array}, the current values of the model."""
        return written(self.tensors, {n: p.value for n, p in self.model.named_parameters()})

    def gradients(self) -> dict[str, np.ndarray]:
        """Return {name in the file: array}, the current gradients of the model."""
        parameters = dict(self.model.named_parameters())
        return {t.names[0]: t.form.gradient([parameters[path].grad for path in t.paths])
                for t in self.tensors}


def check_vocabulary(folder, ids, vocab_size):
    """Raise CheckpointError if a tokenizer has ids that the model does not have."""
    if ids and not (min(ids) >= 0 and max(ids) < vocab_size):
        raise CheckpointError(f"{folder}: ids of the vocabulary must lie in [0, {vocab_size}), got"
                              f" {min(ids)} to {max(ids)}")
