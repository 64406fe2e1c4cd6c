"""Real models, from folders of Hugging Face, as the commands use them."""

from pathlib import Path
from typing import Any

import numpy as np

from ..files import CheckpointError
from ..models.bert import MASK, Bert
from ..models.config import read_json
from ..models.gpt2 import GPT2
from ..models.llama import LLAMAS, Llama
from ..models.marian import Marian
from ..text.language import LanguageTask
from ..text.task import PairTask
from .loaded import Loaded, Reader, Translator, Writer


def language_task(pretrained):
    """Return the task of a real language model; no id is padding."""
    task = LanguageTask(pretrained.vocabulary, pretrained.max_len, pretrained.V)
    task.name = pretrained.family
    return task


class MarianTask(PairTask):
    """The task of a real translator."""

    name = "marian"

    def tokens(self, ids):
        """Return the labels of ids in the folder's vocabulary; a word begins with an underscore."""
        return self.vocabulary.pieces(ids)


class MarianTranslator(Translator):
    """A real translator."""

    def __init__(self, pretrained):
        super().__init__(pretrained.decoding_model(),                  # it writes no padding
                         MarianTask(pretrained.vocabulary, pretrained.max_len))
        self.task.ends = pretrained.ends

    def source_tokens(self, src):
        """Return a label for each id of one source (1, T)."""
        return self.task.vocabulary.pieces(src[0], "source")


def real_writer(pretrained):
    """Return a real language model, such as a GPT-2, a Llama or a Qwen, with its task."""
    task = language_task(pretrained)
    task.ends = pretrained.ends
    return Writer(pretrained.model, task)


class Filler(Reader):
    """A real model that guesses masked tokens."""

    def __init__(self, pretrained):
        task = language_task(pretrained)
        if (mask := task.vocabulary.id(MASK)) is not None:
            task.pad = mask                                            # never a right answer
        super().__init__(pretrained.model, task)
        self.pretrained = pretrained

    def example(self, src):
        """Return (one text (1, T), None, targets).

        The targets are the model's own guesses for the masks. A text without masks is its own
        target.
        """
        masked = src == self.task.pad
        if not masked.any():
            return src, None, src
        logits = self.model(src)
        logits[..., self.task.pad] = -np.inf
        return src, None, np.where(masked, logits.argmax(axis=-1), self.task.pad)

    def explained(self, src, most):
        _, _, (guesses,) = self.example(src)
        masks = np.flatnonzero(src[0] == self.task.pad)
        if not len(masks):
            raise ValueError(f"a text must hold at least one {MASK}, got none")
        return None, src.shape[1], [(src[0], int(i), guesses[i]) for i in masks]

    def filled(self, text, top):
        """Return the `top` guesses for each masked word of a text, as `Bert.fill`."""
        return self.pretrained.fill(text, top)


FAMILIES: dict[str, Any] = {  # model_type -> loader, the model with its task, its task of `train`
    "marian": (Marian, MarianTranslator, "text"), "gpt2": (GPT2, real_writer, "words"),
    "bert": (Bert, Filler, None),
} | dict.fromkeys(LLAMAS, (Llama, real_writer, "words"))


def real_model(pretrained: Any) -> Loaded:
    """Return a real model with its task."""
    return FAMILIES[pretrained.family][1](pretrained)


def pretrained_of(folder: Path) -> Any:
    """Read the model in a folder of Hugging Face.

    Raises FileNotFoundError, and CheckpointError with the reason if the folder does not fit.
    """
    path = folder / "config.json"
    kind = read_json(path).get("model_type")
    if kind == "fsmt":
        raise CheckpointError(f"{path}: model_type fsmt has no tokenizer here; load_fsmt in"
                              " aiayn_np.models opens it, by ids")
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise CheckpointError(f"{path}: model_type must be one of {', '.join(FAMILIES)}, got"
                              f" {str(kind)[:60]}")
    pretrained = FAMILIES[kind][0](folder)
    if pretrained.vocabulary is None:
        raise CheckpointError(f"{folder} must have the files of its tokenizer, such as"
                              " tokenizer.json: `save_pretrained` of the tokenizer writes them")
    return pretrained
