"""The base class of the families: a model made of our layers, with the ids of its folder."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..checks import is_integer
from ..files import CheckpointError, new_folder
from ..module import Cache, Rng
from .config import Config, listed, read_json
from .tables import Table, check_room, links, load, state_of
from .vocabularies import tokenizer_vocabulary
from .weights import File, write_folder


class Pretrained:
    """A model of one of the families, from a Hugging Face folder.

    model : made of our layers     vocabulary : turns text into ids and back; None without tokenizer
    config : the dict of config.json
    settings : the dict of config.json, updated by generation_config.json
    links : the Links between the Parameters and the tensors of the file
    """

    families: ClassVar[tuple[str, ...]]  # possible values of model_type; `family`: the one found
    only: ClassVar[dict] = {}  # keys of the config that must have this value
    vocabulary: Any = None
    V: int  # how many ids a written text may have
    N: int  # how many layers there are
    d_model: int
    d_ff: int
    read_sizes: Callable[[Config], None]  # reads the sizes; CheckpointError if our layers lack them
    table: Callable[[], Table]  # returns {name in the file: (our path, form)} for all tensors
    build: Callable[[Rng], Any]  # builds the model

    def __init__(self, folder: str | Path) -> None:
        """Read a folder; raise FileNotFoundError, or CheckpointError with a reason in one line."""
        folder = Path(folder)
        try:
            path, generation = folder / "config.json", folder / "generation_config.json"
            self.read_config(read_json(path), read_json(generation)
                             if generation.is_file() else {}, path)
            file = File(folder, self.usual, self.ignored)
            check_room(file.shapes, self.N, self.V, self.d_model, self.d_ff)
            self.model = self.build(None)
            self.vocabulary = self.read_vocabulary(folder)
            self.links = load(self.model, self.table(), file.shapes, file.read, file.dtype)
            self.check_constants(file)
        except (ValueError, TypeError, LookupError, OverflowError, AttributeError, MemoryError,
                RecursionError) as error:
            reason = error.args[0] if isinstance(error, KeyError) else error
            raise CheckpointError(f"{folder} is not usable: {reason}") from error

    @classmethod
    def new(cls, config: dict, rng: Rng) -> Any:
        """Make a new model of a family, with random values; rng=None leaves them empty.

        config : as in a config.json; keys that have a default may be missing
        """
        made = cls.__new__(cls)
        made.read_config({"model_type": cls.families[0]} | config, {}, "config")
        made.model = made.build(rng)
        made.links = links(made.model, made.table())
        return made

    def read_config(self, config: dict, generation: dict, path: str | Path) -> None:
        """Read the sizes and the settings for decoding; older folders keep both in the config."""
        self.config, self.settings = config, config | generation
        values = Config(config, path, self.families, self.only)
        self.family = config["model_type"]
        self.read_sizes(values)

    def end_ids(self) -> tuple[int, ...]:
        """Return the ids that end a text: one, several or none."""
        return tuple(i for i in listed(self.settings.get("eos_token_id"))
                     if is_integer(i) and 0 <= i < self.V)

    def usual(self, name: str) -> str:
        """Return the name in the table for the name of a tensor in a file."""
        return name

    def ignored(self, name: str) -> bool:
        """Tell whether a tensor without a table entry may be in the file."""
        return False

    def read_vocabulary(self, folder: Path) -> Any:
        """Read the vocabulary of a folder; return None if the folder has none."""
        return tokenizer_vocabulary(folder, self.V)

    def check_constants(self, file: File) -> None:
        """Raise ValueError if constants in the file differ from those of the layers."""

    def forward(self, *ids: np.ndarray, **options: Any) -> tuple[np.ndarray, Cache]:
        """Return (logits, cache) for ids (B, T) of the folder, with options of the model."""
        return self.model.forward(*map(np.asarray, ids), **options)

    def backward(self, grad_logits: np.ndarray, cache: Cache) -> None:
        """Add the gradients of all parameters, as the model's backward does."""
        self.model.backward(grad_logits, cache)

    def logits(self, *ids: np.ndarray, **options: Any) -> np.ndarray:
        """Return logits (B, T, V) for ids of the folder."""
        return self.forward(*ids, **options)[0]

    def state(self) -> dict[str, np.ndarray]:
        """Return {name in the file: array}, the current values of the model."""
        return state_of(self.links)

    def gradients(self) -> dict[str, np.ndarray]:
        """Return {name in the file: array}, the current gradients of the model."""
        return {link.names[0]: link.gradient() for link in self.links}

    def save(self, folder: str | Path) -> None:
        """Write config.json and model.safetensors; FileExistsError if the folder is not empty."""
        with new_folder(Path(folder)) as made:
            write_folder(made, self.config, self.state())
