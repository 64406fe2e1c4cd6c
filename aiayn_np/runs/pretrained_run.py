"""Open folders of real models as runs, so that the commands work on them as on our own runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..decoding.generation import generate
from ..files import CheckpointError
from ..models.bert import Bert
from ..models.config import read_json
from ..models.filling import MASK
from ..models.gpt2 import GPT2
from ..models.llama import LLAMAS, Llama
from ..models.marian import Marian
from ..models.vocabularies import MARIAN_FILES, TOKENIZER
from ..training.loss import LabelSmoothedCrossEntropy
from ..transformer import Transformer
from .one_text import OneTextRun
from .run import Run
from .text_run import TextRun

FOLDER_FILES = ("config.json", "generation_config.json", "model.safetensors",
                "model.safetensors.index.json", *MARIAN_FILES, TOKENIZER)
EXAMPLE = 12  # tokens of the source that is shown if none is given


def open_pretrained(folder: str | Path) -> "PretrainedRun":
    """Open a Hugging Face folder as a run, by the model_type in its config.json.

    Raises FileNotFoundError, and CheckpointError with the reason if the folder does not fit.
    """
    kind = read_json(Path(folder) / "config.json").get("model_type")
    if not isinstance(kind, str) or kind not in KINDS:
        raise CheckpointError(f"{Path(folder) / 'config.json'}: model_type must be one of"
                              f" {', '.join(KINDS)}, got {str(kind)[:60]}")
    return KINDS[kind](folder)


class PretrainedRun(Run):
    """A model of another library, with its vocabulary. It can be used, but not trained.

    loaded : the Pretrained that a loader returned
    """

    opens: Any  # makes `loaded` of a folder
    imported = True
    stopped = False

    def __init__(self, folder):
        self.folder, self.loaded, self.states = Path(folder), self.opens(folder), None
        self.model, self.vocabulary = self.loaded.model, self.loaded.vocabulary
        self.config = {"train": {}, "task": self.loaded.family}
        self.task = self.make_task()
        self.note = ""

    def make_task(self):
        """Make the object that turns text into ids and back."""
        return PretrainedTask(self.loaded)

    @property
    def files(self) -> list[str]:
        """Names of the files that the model may have been read from."""
        return [*FOLDER_FILES, *self.loaded.parts]

    def trained(self):
        """Return the model to use."""
        return self.model

    def save(self):
        """Write nothing: everything is in the folder already."""


class PretrainedTask:
    """The task of a real model, which turns text into ids and ids into text.

    Without a vocabulary a text is a list of ids, such as "17 4 9".
    """

    def __init__(self, loaded):
        self.loaded, self.vocabulary = loaded, loaded.vocabulary
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


class MarianTask(PretrainedTask):
    """The task of a translator, from lines of one language to lines of another."""

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


class MarianRun(PretrainedRun, TextRun):
    """A translator, for the commands `translate`, `decode`, `attend` and `trace`."""

    opens = Marian
    name = "marian"

    def make_task(self) -> MarianTask:
        return MarianTask(self.loaded)

    def trained(self) -> Transformer:
        """Return the model for decoding, which never writes padding."""
        return self.loaded.decoding_model()

    @property
    def trace_loss(self) -> LabelSmoothedCrossEntropy:
        """A loss without smoothing, because padding has a log-probability of -inf."""
        return LabelSmoothedCrossEntropy(0.0, pad=self.task.pad)

    def source_tokens(self, src: np.ndarray) -> list:
        """Return a label for each id of one source (1, T)."""
        return self.task.tokens(src[0], "source")

    def test_sources(self, n: int = 5) -> list[np.ndarray]:
        """Return one source (1, T), made of the lowest ids: the folder has no test set."""
        ids = [i for i in range(self.loaded.V_src) if i not in (self.task.pad, self.task.eos)]
        return [np.array([[*ids[:EXAMPLE], self.task.eos]])]


class TokensRun(PretrainedRun, OneTextRun):
    """A model of a single text, for the commands `attend` and `trace`."""

    @property
    def not_asked(self):
        """The target id that the loss leaves out; -1 if all targets count."""
        return -1

    @property
    def trace_loss(self):
        """A loss without smoothing. It leaves out the target id `not_asked`."""
        return LabelSmoothedCrossEntropy(0.0, pad=self.not_asked)

    def forward(self, *ids):
        """Return (logits, cache) for ids (B, T) of the folder."""
        return self.loaded.forward(*ids)

    def test_sources(self, n=5):
        """Return one text (1, T), made of the lowest ids: the folder has no test set."""
        return [np.arange(min(EXAMPLE, self.loaded.V, self.loaded.max_len))[None]]


class GPT2Run(TokensRun):
    """A language model, also for the commands `generate` and `perplexity`."""

    opens: Any = GPT2
    command = "generate"

    def written(self, ids: np.ndarray, **options: Any) -> Iterator[int]:
        """Yield the tokens that the model writes after ids (T,). `generate` gets the options."""
        return generate(self.model, ids, eos=self.loaded.eos, **options)


class LlamaRun(GPT2Run):
    """The same of a Llama, Qwen2 or Qwen3."""

    opens = Llama


class BertRun(TokensRun):
    """A model that guesses masked tokens, also for the command `fill`."""

    opens = Bert
    command = "fill"

    @property
    def not_asked(self):
        """The id of the mask, which is never a right answer; -1 if there is no such id."""
        known = self.vocabulary and self.vocabulary.id(MASK)
        return -1 if known is None else known

    def example(self, src):
        """Return (one text (1, T), None, targets).

        The targets are the tokens that the model itself puts for the masks. In a text without
        masks, they are the text itself.
        """
        masked = src == self.not_asked
        if not masked.any():
            return src, None, src
        logits = self.loaded.logits(src)
        logits[..., self.not_asked] = -np.inf
        return src, None, np.where(masked, logits.argmax(axis=-1), self.not_asked)


KINDS: dict[str, Any] = {"marian": MarianRun, "gpt2": GPT2Run, "bert": BertRun} | (
    dict.fromkeys(LLAMAS, LlamaRun))
