"""The training of a language model on one's own text."""

import math
import platform
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import check_sizes
from ..pipelines.pipeline import WordPipeline
from ..text.measures import WordsProgress, loss_on
from ..text.pairs import digest_of
from ..text.pictures import plot_words_training
from ..text.words import Characters, Pieces, Windows, WordsTask, read_words, training_part
from ..training.loop import Step
from ..training.optimizer import Adam
from ..variants.models import LanguageModel, llama
from ..variants.optimizers import AdamW, cosine_rate, matrices
from .pairs import VOCABULARY, DataTraining

MOST = 100_000  # tokens that a validation reads; the measurement at the end reads all
DECAY = 0.1  # of a model like Llama, as in Touvron et al., 2023
SAMPLE = 60  # tokens that are written at a validation


class WordTraining(DataTraining):
    """A training of a language model, by default that of the paper's layers.

    config : as in Training, and "files" (paths of the text; None for Python's help), "digest" (of
        the text), and the vocabulary: "characters", or the digest of its file, "vocabulary";
        "like", if the model and its training are to be like "llama"
    """

    name = "words"
    record = WordsProgress
    pipeline = WordPipeline
    held_out: Any = None  # Windows of the text that is held back; `prepare` makes them
    some: Any = None  # of these windows, for the validations
    beginning: Any = None  # the first line of the held-back text, as ids
    characters = 0  # of the whole text
    held_characters = 0  # of the held-back text

    def make_task(self, folder: Path) -> WordsTask:
        """Make the task with the characters of the config, or with the folder's vocabulary."""
        vocabulary: Characters | Pieces
        if "vocabulary" in self.config:
            self.files = (VOCABULARY,)
            vocabulary = Pieces(self.vocabulary(folder))
        else:
            vocabulary = Characters(self.config["characters"])
        return WordsTask(vocabulary, self.config["model"]["max_len"])

    def make_model(self, options: dict) -> LanguageModel:
        """Return a new language model, with the encoder layers of the variants."""
        sizes = {name: options[name] for name in (
            "N", "d_model", "d_ff", "h", "P_drop", "max_len")}
        if "like" in self.config:
            return llama(self.task.vocab_size, **sizes, h_kv=options["h_kv"], rng=self.rng)
        return LanguageModel(self.task.vocab_size, **sizes, positions=options["positions"],
                             layer=options["encoder_layer"], pad=None, rng=self.rng)

    def make_optimizer(self) -> Adam:
        """Return the paper's Adam, or AdamW, which lets the matrices decay."""
        if "like" not in self.config:
            return super().make_optimizer()
        return AdamW(self.model, beta_2=0.95, decay=DECAY, decayed=matrices(self.model))

    @property
    def rate_of(self) -> Callable[[int], float]:
        """The rate of Eq. (3), or one that rises to the same peak and falls by a cosine."""
        if "like" not in self.config:
            return super().rate_of
        warmup = self.options["warmup_steps"]
        return partial(cosine_rate, steps=self.steps, peak=super().rate_of(warmup),
                       warmup_steps=warmup)

    def prepare(self, text: str | None = None) -> list[str]:
        """Make windows of `text`, or of the files; return notes on the text.

        Raises OSError, and ValueError if the text is not the one that the run began with.
        """
        o, files = self.options, self.config["files"]
        check_sizes(steps=o["steps"], accumulate=o["accumulate"])
        text = read_words(files) if text is None else text
        if digest_of(text.encode()) != self.config["digest"]:
            where = " and ".join(files) if files else f"Python {platform.python_version()}"
            raise ValueError(f"the text must be the one that the run began with, got another in"
                             f" {where}")
        cut = len(training_part(text))
        training, held_out = (self.task.vocabulary.encode(part)
                              for part in (text[:cut], text[cut:]))
        T = self.model.max_len
        rows = max(1, MOST // (20 * T))
        self.beginning = self.task.vocabulary.encode(text[cut:].partition("\n")[0] + "\n")
        self.held_out = Windows(held_out, T, rows)
        self.some = Windows(held_out, T, rows, every=-(-len(held_out) // MOST))
        self.batches = Windows(training, T, o["batch_size"])
        self.characters, self.held_characters = len(text), len(text) - cut
        return [] if files else [f"the text is the help of Python {platform.python_version()};"
                                 " --text FILE takes your own"]

    @property
    def validate_every(self) -> int:  # type: ignore[override]
        """Steps between two validations."""
        return self.options["validate_every"]

    def batch(self, step: int) -> tuple[np.ndarray, ...]:
        """Return the batch (ids, targets) of a step; steps must come in their order."""
        return self.batches.draw(self.rng)

    def record_of(self, s: Step) -> WordsProgress:
        """Return the record of a step."""
        return WordsProgress(s.step, float(s.scores), s.batch[-1].size, s.rate, s.seconds)

    def announcement(self, folder: Path) -> Iterator[str]:
        """Yield lines about the text and the model."""
        parameters = sum(p.value.size for p in self.model.parameters())
        yield (f"{self.characters:,} characters, the last {self.held_characters:,} held back;"
               f" {self.task.vocab_size:,} different tokens, {parameters:,} parameters, into"
               f" {folder}")
        if "like" in self.config:
            decayed = sum(p.value.size for p in matrices(self.model))
            yield (f"AdamW: the {decayed:,} parameters in matrices decay by {DECAY}, the gains of"
                   " the norms do not")
        yield from self.memory_line(self.batches.rows * self.batches.T)

    def nats_per_character(self, windows: Windows) -> float:
        """Return the mean loss in nats for each character, of windows of the held-back text."""
        tokens_per_character = len(windows.ids) / self.held_characters
        return loss_on(self.averaged(), windows, self.ranks) * tokens_per_character

    def validate(self, progress: WordsProgress) -> None:
        """Write the validation into a record, and let the model write a sample."""
        progress.validation = self.nats_per_character(self.some)
        progress.sample = self.sample(SAMPLE)

    def sample(self, steps: int) -> str:
        """Return what the model writes after the first line of the held-back text."""
        pipeline = self.pipeline(self.task, self.averaged())
        return self.task.text(pipeline.written(self.beginning, steps=steps, temperature=0.8,
                                               rng=np.random.default_rng(0)))

    def finish(self, history: list) -> tuple[float, dict]:
        """Measure the model on the held-back text.

        Returns (the loss in nats for each character, numbers for metrics.json).
        """
        nats = self.nats_per_character(self.held_out)
        tokens = sum(p.tokens for p in history)
        return nats, dict(
            nats_per_character=nats, perplexity_per_character=math.exp(min(nats, 700)),
            characters=self.characters, held_back=self.held_characters,
            vocabulary=self.task.vocab_size, tokens=tokens,
            tokens_per_second=round(tokens / max(history[-1].seconds, 1e-9)))

    def report(self, found: float, seconds: float, solved: bool) -> Iterator[str]:
        """Yield lines about the outcome, and a text that the model writes."""
        yield (f"words: {self.optimizer.t} steps, {found:.3f} nats per character of the"
               f" {self.held_characters:,} held back (perplexity"
               f" {math.exp(min(found, 700)):.2f}), {seconds:.1f} s\n")
        yield "After the first line of the text held back it writes:\n"
        yield self.sample(20 * SAMPLE)

    def examples(self, n: int = 5) -> list[np.ndarray]:
        """Return one text (1, T): the first tokens of the held-back text."""
        if self.held_out is None:
            self.prepare()
        return [self.held_out.ids[None, : min(24, self.held_out.T)]]

    def plot(self, history: list) -> Any:
        """Return a Figure of the loss against the steps."""
        return plot_words_training(history)
