"""Runs of a model of Marian, GPT-2 or Llama: it came from a folder, and goes back into one.

The checkpoint of the run keeps the small files of that folder, such as config.json and the
tokenizer. The option "family" holds the settings of config.json and generation_config.json.
"""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..files import new_folder
from ..models.tables import links, state_of
from ..models.weights import write_folder
from ..training.optimizer import Adam
from .language import LanguageTraining
from .loaded import Loaded
from .pairs import PairTraining
from .real import FAMILIES, MarianTask, MarianTranslator, real_writer
from .recipes import Recipe
from .task import RunTask

WEIGHTS = (".safetensors", ".bin", ".h5", ".msgpack", ".ot", ".pt", ".pth", ".onnx", ".gguf")
UNKNOWN = "<unk>"


def shell(settings: dict) -> Any:
    """Return a model of a family without its layers: its sizes and its special ids."""
    loader = FAMILIES[settings["model_type"]][0]
    made = loader.__new__(loader)
    made.read_config(settings, {}, "config.json")
    return made


def files_of(folder: Path) -> dict[str, bytes]:
    """Return {name: bytes} of the small files in a folder, which are those without weights."""
    return {path.name: path.read_bytes() for path in folder.iterdir()
            if path.is_file() and path.suffix not in WEIGHTS}


def write_files(kept: dict[str, bytes], folder: Path) -> None:
    """Write files into a folder."""
    for name, content in kept.items():
        (folder / name).write_bytes(content)


def vocabulary_of(options: dict, kept: dict[str, bytes]) -> Any:
    """Return the vocabulary in the files that a run keeps."""
    with tempfile.TemporaryDirectory() as name:
        write_files(kept, Path(name))
        return shell(options["family"]).read_vocabulary(Path(name))


class FamilyRecipe(Recipe):
    """The model of a family, which learns by the paper's Adam and rate."""

    def model(self, vocab_size: int, rng: Any) -> Any:
        return shell(self.options["family"]).build(rng)


class MarianAdam(Adam):
    """Adam for a Marian, as PyTorch trains it: without the bias of the logits.

    The start token has a row of E of its own in our model, and is a row of E like others in the
    folder. So its gradient is added to that row, unless the row is that of padding, to which
    PyTorch's embedding gives no gradient; and after the step both rows are equal again.
    """

    def __init__(self, model: Any, parameters: list, start: int, pad: int) -> None:
        bias = model.output_projection.b
        super().__init__([p for p in parameters if p is not bias])
        self.E, self.start, self.pad = model.tgt_embedding.E, start, pad

    def update(self, rate: float) -> None:
        if self.start != self.pad:
            self.E.grad[self.start] += self.E.grad[-1]
        self.E.grad[-1] = 0
        super().update(rate)
        self.E.value[-1] = self.E.value[self.start]


class MarianRecipe(FamilyRecipe):
    """A Marian, which learns without label smoothing: some of its logits are -inf."""

    def optimizer(self, model: Any, parameters: list) -> Adam:
        made = shell(self.options["family"])
        return MarianAdam(model, parameters, made.start, made.pad)


FAMILY_RECIPES = dict(text=MarianRecipe, words=FamilyRecipe)


class FamilyPairs(PairTraining):
    """The task of translating, for a Marian."""

    tokens = MarianTask.tokens
    vocabulary_of = staticmethod(vocabulary_of)

    def sides(self) -> list[tuple[Callable, int]]:
        v = self.vocabulary
        return [(v.encode, v.source_ids[UNKNOWN]), (self.targets, v.target_ids[UNKNOWN])]

    def targets(self, lines: list[str]) -> list[np.ndarray]:
        """Return an array of ids (T,) with eos at the end for each line of the target language."""
        v = self.vocabulary
        return [np.array([*(v.target_ids.get(piece, v.target_ids[UNKNOWN]) for piece in pieces),
                          v.eos], dtype=np.int32)
                for pieces in v.target.encode(lines, out_type=str)]

    @staticmethod
    def loaded(model: Any, task: Any) -> Loaded:
        return in_use(model, task, MarianTranslator)


class FamilyLanguage(LanguageTraining):
    """The task of going on with a text, for a GPT-2 or a Llama."""

    def __init__(self, options: dict, kept: dict[str, bytes]) -> None:
        made = shell(options["family"])
        super(RunTask, self).__init__(vocabulary_of(options, kept), options["max_length"], made.V)
        self.options = options

    @staticmethod
    def loaded(model: Any, task: Any) -> Loaded:
        return in_use(model, task, real_writer)

    def lacks(self, character: str) -> bool:
        unknown = self.vocabulary.id(UNKNOWN)
        return unknown is not None and unknown in self.vocabulary.encode(character)


FAMILY_TASKS = dict(text=FamilyPairs, words=FamilyLanguage)


def in_use(model, task, with_task):
    """Return a trained model of a family with the task of its run, for use."""
    made = shell(task.options["family"])
    made.model, made.vocabulary = model, task.vocabulary
    loaded = with_task(made)
    task.ends, loaded.task = loaded.task.ends, task
    return loaded


def write_family(run: Any, out: Path) -> None:
    """Write the trained model of a run into a new folder, in the form of its family."""
    made, config = shell(run.options["family"]), json.loads(run.kept["config.json"])
    config |= {name: run.options["dtype"] for name in ("dtype", "torch_dtype") if name in config}
    with new_folder(out) as folder:
        write_files(run.kept, folder)
        write_folder(folder, config, state_of(links(run.trained(), made.table())))
