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
from ..models.vocabularies import MARIAN_FILES, TOKENIZER
from ..training.loss import LabelSmoothedCrossEntropy
from .pipeline import Pipeline, SentencePipeline, TextPipeline

FOLDER_FILES = ("config.json", "generation_config.json", "model.safetensors",
                "model.safetensors.index.json", *MARIAN_FILES, TOKENIZER)
EXAMPLE = 12  # tokens of the source that is shown if none is given


class RealTask:
    """The task of a real model, which turns text into ids and ids into text.

    Without a vocabulary a text is a list of ids, such as "17 4 9".
    """

    def __init__(self, loaded):
        self.vocabulary = loaded.vocabulary
        self.name, self.max_length = loaded.family, loaded.max_len
        self.vocab_size, self.pad = loaded.V, loaded.pad

    def source(self, text):
        """Return the ids (1, T) of a text; raise ValueError if the text is empty."""
        if self.vocabulary is None:
            return self.plain(text)
        ids = self.vocabulary.encode(text)
        if not len(ids):
            raise ValueError(f"a text must hold at least one token, got {text!r}")
        return ids[None].astype(int)

    def plain(self, text):
        """Return the ids (1, T) in a text; raise ValueError if the text is no list of ids."""
        words = text.split()
        if not words or not all(word.isdecimal() for word in words):
            raise ValueError("this folder has no tokenizer, so a text must be a list of ids, such"
                             f' as "17 4 9", got {text!r}')
        return np.array([[int(word) for word in words]])

    def text(self, ids):
        """Turn ids into text."""
        if self.vocabulary is None:
            return " ".join(str(int(i)) for i in ids)
        return self.vocabulary.decode(ids)

    def tokens(self, ids):
        """Return a label for each id."""
        if self.vocabulary is None:
            return [str(int(i)) for i in ids]
        return self.vocabulary.pieces(ids)


class MarianTask(RealTask):
    """The task of a translator, from lines of one language to lines of another."""

    tokenize = "13a"  # how BLEU splits words

    def __init__(self, loaded):
        super().__init__(loaded)
        self.bos, self.eos, self.vocab_size = loaded.bos, loaded.eos, loaded.V + 1

    def source(self, text):
        """Return the source ids (1, T) of a line, with eos at the end."""
        if self.vocabulary is None:
            return np.append(self.plain(text), [[self.eos]], axis=1)
        (ids,) = self.vocabulary.encode([text])
        if len(ids) == 1:
            raise ValueError(f"a sentence must hold at least one word, got {text!r}")
        return ids[None].astype(int)

    def tokens(self, ids, side="target"):
        """Return a label for each id; the token that starts a target is <s>."""
        if self.vocabulary is None:
            return ["<s>" if i == self.bos else str(int(i)) for i in ids]
        return self.vocabulary.pieces(ids, side)


class MarianPipeline(SentencePipeline):
    """A real translator."""

    def __init__(self, task, loaded):
        super().__init__(task, loaded.decoding_model())                # it never writes padding
        self.loss = LabelSmoothedCrossEntropy(0.0, pad=task.pad)       # log p of padding is -inf

    def source_tokens(self, src):
        return self.task.tokens(src[0], "source")


class GPT2Pipeline(TextPipeline):
    """A real language model: a GPT-2, a Llama, a Qwen."""

    def __init__(self, task, loaded):
        super().__init__(task, loaded.model)
        self.eos = loaded.eos


class BertPipeline(TextPipeline):
    """A model that guesses masked tokens."""

    uses: tuple[str, ...] = ("fill", "attend", "trace")

    def __init__(self, task, loaded):
        super().__init__(task, loaded.model)
        self.loaded = loaded
        known = task.vocabulary and task.vocabulary.id(MASK)
        self.mask = -1 if known is None else known                     # never a right answer
        self.loss = LabelSmoothedCrossEntropy(0.0, pad=self.mask)

    def example(self, src):
        """Return (one text (1, T), None, targets).

        The targets are the tokens that the model itself puts for the masks. In a text without
        masks, they are the text itself.
        """
        masked = src == self.mask
        if not masked.any():
            return src, None, src
        logits = self.model(src)
        logits[..., self.mask] = -np.inf
        return src, None, np.where(masked, logits.argmax(axis=-1), self.mask)

    def filled(self, text, top):
        """Return the `top` guesses for each masked word of a text, as `models.filling.fill`."""
        return fill(self.loaded, text, top)


FAMILIES: dict[str, Any] = {  # model_type in config.json -> loader, task, pipeline
    "marian": (Marian, MarianTask, MarianPipeline), "gpt2": (GPT2, RealTask, GPT2Pipeline),
    "bert": (Bert, RealTask, BertPipeline),
} | dict.fromkeys(LLAMAS, (Llama, RealTask, GPT2Pipeline))


class Loaded:
    """A real model with its task. It can be used, but not trained.

    loaded : the Pretrained that a loader returned

    Raises FileNotFoundError, and CheckpointError with the reason if the folder does not fit.
    """

    note = ""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        kind = read_json(self.folder / "config.json").get("model_type")
        if not isinstance(kind, str) or kind not in FAMILIES:
            raise CheckpointError(f"{self.folder / 'config.json'}: model_type must be one of"
                                  f" {', '.join(FAMILIES)}, got {str(kind)[:60]}")
        loader, task, self.pipeline_class = FAMILIES[kind]
        self.loaded = loader(folder)
        self.task, self.model = task(self.loaded), self.loaded.model

    @property
    def files(self) -> list[str]:
        """Names of the files that the model may have been read from."""
        return [*FOLDER_FILES, *self.loaded.parts]

    def pipeline(self) -> Pipeline:
        """Return the model with its task, ready to use."""
        return self.pipeline_class(self.task, self.loaded)

    def trained(self) -> Any:
        """Return the model to use."""
        return self.pipeline().model
