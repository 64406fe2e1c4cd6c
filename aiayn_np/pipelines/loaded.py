"""Real models, from folders of Hugging Face, as the commands use them."""

from pathlib import Path
from typing import Any

import numpy as np

from ..files import CheckpointError
from ..models.bert import Bert
from ..models.config import read_json
from ..models.filling import MASK, fill
from ..models.gpt2 import GPT2
from ..models.llama import LLAMAS, Llama
from ..models.marian import Marian
from ..text.language import LanguageTask
from ..text.task import PairTask
from ..training.loss import LabelSmoothedCrossEntropy
from .pipeline import LanguagePipeline, PairPipeline, Pipeline

KINDS = (".json", ".safetensors", ".spm")  # endings of the files that a model is read from


class RealTask(LanguageTask):
    """The task of a real language model."""

    def __init__(self, pretrained):
        self.vocabulary, self.vocab_size = pretrained.vocabulary, pretrained.V
        self.name, self.max_length = pretrained.family, pretrained.max_len


class MarianTask(PairTask):
    """The task of a real translator."""

    name = "marian"

    def tokens(self, ids):
        """Return the labels of ids in the folder's vocabulary; a word begins with an underscore."""
        return self.vocabulary.pieces(ids)


class MarianPipeline(PairPipeline):
    """A real translator."""

    def __init__(self, pretrained):
        task = MarianTask(pretrained.vocabulary, pretrained.max_len)
        super().__init__(task, pretrained.decoding_model())                # writes no padding
        self.loss = LabelSmoothedCrossEntropy(0.0, pad=task.pad)       # log p of padding is -inf

    def source_tokens(self, src):
        """Return a label for each id of one source (1, T)."""
        return self.task.vocabulary.pieces(src[0], "source")


def language_pipeline(pretrained):
    """Return the pipeline of a real language model, such as a GPT-2, a Llama or a Qwen."""
    return LanguagePipeline(RealTask(pretrained), pretrained.model, eos=pretrained.eos)


class BertPipeline(LanguagePipeline):
    """A real model that guesses masked tokens."""

    uses: tuple[str, ...] = ("fill", "attend", "trace")

    def __init__(self, pretrained):
        super().__init__(RealTask(pretrained), pretrained.model)
        self.pretrained, known = pretrained, self.task.vocabulary.id(MASK)
        self.mask = -1 if known is None else known                     # no right answer
        self.loss = LabelSmoothedCrossEntropy(0.0, pad=self.mask)

    def example(self, src):
        """Return (one text (1, T), None, targets).

        The targets are the model's own guesses for the masks. A text without masks is its own
        target.
        """
        masked = src == self.mask
        if not masked.any():
            return src, None, src
        logits = self.model(src)
        logits[..., self.mask] = -np.inf
        return src, None, np.where(masked, logits.argmax(axis=-1), self.mask)

    def filled(self, text, top):
        """Return the `top` guesses for each masked word of a text, as `models.filling.fill`."""
        return fill(self.pretrained, text, top)


FAMILIES: dict[str, Any] = {  # model_type in config.json -> loader, its pipeline
    "marian": (Marian, MarianPipeline), "gpt2": (GPT2, language_pipeline),
    "bert": (Bert, BertPipeline),
} | dict.fromkeys(LLAMAS, (Llama, language_pipeline))


class Loaded:
    """A real model with its task, for use but not for training.

    pretrained : the Pretrained from the folder

    Raises FileNotFoundError, and CheckpointError with the reason if the folder does not fit.
    """

    note = ""

    def __init__(self, folder: str | Path) -> None:
        path = Path(folder) / "config.json"
        kind = read_json(path).get("model_type")
        if not isinstance(kind, str) or kind not in FAMILIES:
            raise CheckpointError(f"{path}: model_type must be one of {', '.join(FAMILIES)}, got"
                                  f" {str(kind)[:60]}")
        loader, pipeline_of = FAMILIES[kind]
        self.folder, self.pretrained = Path(folder), loader(folder)
        if self.pretrained.vocabulary is None:
            raise CheckpointError(f"{folder} must have the files of its tokenizer, such as"
                                  " tokenizer.json: `save_pretrained` of the tokenizer writes them")
        self.ready = pipeline_of(self.pretrained)
        self.task, self.model, self.uses = self.ready.task, self.pretrained.model, self.ready.uses

    @property
    def files(self) -> list[str]:
        """Names of the files in the folder that may be parts of the model."""
        return [path.name for path in self.folder.iterdir() if path.suffix in KINDS]

    def pipeline(self) -> Pipeline:
        """Return the pipeline of the model."""
        return self.ready

    def trained(self) -> Any:
        """Return the model."""
        return self.ready.model
