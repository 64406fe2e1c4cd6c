"""The training of a language model on a text."""

import math
import platform
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..pipelines.pipeline import OwnLanguagePipeline
from ..text.language import Characters, LanguageTask, Pieces, Windows, read_text, training_part
from ..text.measures import LanguageProgress, loss_on
from ..text.pairs import digest_of
from ..text.pictures import plot_language_training
from ..training.loop import Step
from ..training.optimizer import Adam
from ..variants.choices import keywords
from ..variants.models import LanguageModel, llama
from ..variants.optimizers import AdamW, cosine_rate, matrices
from .training import Training, speed

MOST = 100_000  # tokens that a validation reads; the measurement at the end reads all
DECAY = 0.1  # weight decay of a model like Llama, as in Touvron et al., 2023
SAMPLE = 60  # tokens that the model writes at a validation


class LanguageTraining(Training):
    """The training of a language model, by default a model of the paper's layers.

    config : as in Training, and "files" (paths of the text; None for Python's help), "digest" (of
        the text), the vocabulary (its "characters", or its digest as "vocabulary"), and "like"
        ("llama", for a model like Llama)
    """

    name = "words"
    shape: ClassVar[dict] = Training.shape | {
        "files": ([str], None), "digest": str, "characters?": str, "vocabulary?": str,
        "like?": {"llama"}, "model": Training.shape["model"] | {"h_kv?": int},
        "train": Training.shape["train"] | dict(steps=int, batch_size=int, average_every=int,
                                                validate_every=int)}
    record = LanguageProgress
    pipeline = OwnLanguagePipeline
    plot = staticmethod(plot_language_training)
    some: Any = None  # some of the windows in `held_out`, for the validations
    beginning: Any = None  # the first line of the held-back text, as ids
    characters = held_characters = 0  # of the whole text, and of the held-back text

    def make_task(self, folder: Path) -> LanguageTask:
        """Make the task with the characters of the config, or with the folder's vocabulary."""
        longest = self.config["model"]["max_len"]
        if "vocabulary" not in self.config:
            return LanguageTask(Characters(self.config.get("characters", "")), longest)
        return LanguageTask(Pieces(self.vocabulary(folder)), longest)

    def make_model(self) -> LanguageModel:
        """Make a model of the paper's encoder layers or a variant's, or one like Llama."""
        V, sizes, rng = self.task.vocab_size, self.config["model"], self.rng
        if "like" in self.config:
            return llama(V, **sizes, rng=rng)
        variants = keywords(self.config["variants"])
        return LanguageModel(V, **sizes, layer=variants["encoder_layer"],
                             positions=variants["positions"], pad=None, rng=rng)

    def make_optimizer(self) -> Adam:
        """Make the paper's Adam; for a model like Llama, an AdamW that lets the matrices decay."""
        if "like" not in self.config:
            return super().make_optimizer()
        return AdamW(self.model, beta_2=0.95, decay=DECAY, decayed=matrices(self.model))

    def rate(self, step: int) -> float:
        """Return the rate of Eq. (3); for a model like Llama it falls by a cosine."""
        if "like" not in self.config:
            return super().rate(step)
        warmup_steps = self.options["warmup_steps"]
        return cosine_rate(step, self.steps, peak=super().rate(warmup_steps),
                           warmup_steps=warmup_steps)

    def prepare(self, data: Any = None) -> list[str]:
        """Make windows of a text, or of the files; return notes on the text."""
        o, files = self.options, self.config["files"]
        text = read_text(files) if data is None else data
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
        return [] if files else [f"the text is the help of Python {platform.python_version()}"]

    def batch(self, step: int) -> tuple[np.ndarray, ...]:
        """Return the batch (ids, targets) of a step; steps must come in their order."""
        return self.batches.draw(self.rng)

    def record_of(self, s: Step) -> LanguageProgress:
        return LanguageProgress(s.step, float(s.scores), s.batch[-1].size, s.rate, s.seconds)

    def nats_per_character(self, windows: Windows) -> float:
        """Return the mean loss for a character of the held-back text, in nats."""
        tokens_per_character = len(windows.ids) / self.held_characters
        return loss_on(self.averaged(), windows, self.ranks) * tokens_per_character

    def validate(self, progress: LanguageProgress) -> None:
        """Write the loss on held-back text, and a sample by the model, into a record."""
        progress.validation = self.nats_per_character(self.some)
        if not math.isfinite(progress.validation):
            raise FloatingPointError(f"step {progress.step}: the loss on the held-back text must be"
                                     f" finite, got {progress.validation}")
        progress.sample = self.sample(SAMPLE)

    def sample(self, steps: int) -> str:
        """Return a text that the model writes after the first line of the held-back text."""
        pipeline = self.pipeline(self.task, self.averaged())
        return self.task.text(pipeline.written(self.beginning, steps=steps, temperature=0.8,
                                               rng=np.random.default_rng(0)))

    def finish(self, history: list) -> tuple[dict, list[str]]:
        """Measure the model on the held-back text."""
        nats, last = self.nats_per_character(self.held_out), history[-1]
        perplexity = math.exp(min(nats, 700))
        told = (f"words: {last.step} steps, {nats:.3f} nats per character of the"
                f" {self.held_characters:,} held back (perplexity {perplexity:.2f}),"
                f" {last.seconds:.1f} s\n")
        return dict(
            nats_per_character=nats, perplexity_per_character=perplexity,
            characters=self.characters, held_back=self.held_characters,
            vocabulary=self.task.vocab_size, **speed(history),
        ), [told, "After the first line of the text held back it writes:\n",
            self.sample(20 * SAMPLE)]

    def examples(self, n: int = 5) -> list[np.ndarray]:
        """Return one text (1, T): the first tokens of the held-back text."""
        if self.held_out is None:
            self.prepare()
        return [self.held_out.ids[None, : min(24, self.held_out.T)]]
