"""The run of a language model on one's own text."""

import math
import os
import platform
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import check_sizes
from ..decoding.generation import generate
from ..text.measures import WordsProgress, loss_on
from ..text.pairs import digest_of
from ..text.pictures import plot_words_training
from ..text.words import Characters, Pieces, Windows, WordsTask, read_words, training_part
from ..training.loop import AVERAGED, Step
from ..training.loss import LabelSmoothedCrossEntropy
from ..training.optimizer import Adam
from ..variants.models import LanguageModel, llama
from ..variants.optimizers import AdamW, cosine_rate, matrices
from .one_text import OneTextRun
from .run import Run
from .text_run import VOCABULARY, TextRun
from .text_start import LAST_PART

VALIDATIONS = 10  # in a training, at least
MOST = 100_000  # tokens that a validation reads; the measurement at the end reads all
DECAY = 0.1  # of a model like Llama, as in Touvron et al., 2023
SAMPLE = 60  # tokens that are written at a validation


class WordsRun(OneTextRun, TextRun):
    """Model, vocabulary, optimizer and generator of a language model's training.

    config : as in Run, and "files" (paths of the text; None for Python's help), "digest" (of the
        text), and the vocabulary: "characters", or the digest of its file, "vocabulary";
        "like", if the model and its training are to be like "llama"
    """

    name = "words"
    record: Any = WordsProgress
    command = "generate"
    trace_loss = LabelSmoothedCrossEntropy(0.0, pad=WordsTask.pad)
    FILES = Run.FILES
    steps = Run.steps
    held_out: Any = None  # Windows of the text that is held back; `prepare` makes them
    some: Any = None  # of these windows, for the validations
    beginning: Any = None  # the first line of the held-back text, as ids
    characters = 0  # of the whole text

    def make_task(self) -> WordsTask:
        """Make the task with the characters of the config, or with the folder's vocabulary."""
        vocabulary: Characters | Pieces
        if "vocabulary" in self.config:
            self.FILES, vocabulary = TextRun.FILES, Pieces(self.read_vocabulary())
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
        warmup = self.config["train"]["warmup_steps"]
        return partial(cosine_rate, steps=self.steps, peak=super().rate_of(warmup),
                       warmup_steps=warmup)

    def prepare(self, text: Any = None) -> list[str]:
        """Make windows of `text`, or of the files; return notes on the text.

        Raises OSError, and ValueError if the text is not the one that the run began with.
        """
        o, files = self.config["train"], self.config["files"]
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
    def validate_every(self) -> int:
        """Steps between two validations."""
        return self.config["train"]["validate_every"]

    def batch(self, step: int) -> tuple[np.ndarray, ...]:
        """Return the batch (ids, targets) of a step; steps must come in their order."""
        return self.batches.draw(self.rng)

    def record_of(self, s: Step) -> WordsProgress:
        """Return the record of a step."""
        return WordsProgress(s.step, float(s.scores), s.batch[-1].size, s.rate, s.seconds)

    def announcement(self) -> Iterator[str]:
        """Yield lines about the text and the model."""
        parameters = sum(p.value.size for p in self.model.parameters())
        yield (f"{self.characters:,} characters, the last {self.held_characters:,} held back;"
               f" {self.task.vocab_size:,} different tokens, {parameters:,} parameters, into"
               f" {self.folder}")
        if "like" in self.config:
            decayed = sum(p.value.size for p in matrices(self.model))
            yield (f"AdamW: the {decayed:,} parameters in matrices decay by {DECAY}, the gains of"
                   " the norms do not")
        yield from self.memory_line(self.batches.rows * self.batches.T)

    def nats_per_character(self, windows: Windows) -> float:
        """Return the nats that a character costs in windows of the held-back text."""
        tokens_per_character = len(windows.ids) / self.held_characters
        return loss_on(self.trained(), windows, self.ranks) * tokens_per_character

    def measure(self, progress: WordsProgress) -> None:
        """Write the validation into a record, and let the model write a sample."""
        progress.validation = self.nats_per_character(self.some)
        progress.sample = self.sample(SAMPLE)

    def sample(self, steps: int) -> str:
        """Return what the model writes after the first line of the held-back text."""
        return self.task.text(self.written(self.beginning, steps=steps, temperature=0.8,
                                           rng=np.random.default_rng(0)))

    def written(self, ids: np.ndarray, *, steps: int, **options: Any) -> Iterator[int]:
        """Yield `steps` tokens that the model writes after ids (T,). `generate` gets the options.

        The model reads the last tokens, at most half of `max_len` of them. When it has no position
        left, it does so again.
        """
        model, text = self.trained(), list(ids)
        half = max(1, model.max_len // 2)
        while steps > 0:
            near = np.array(text[-half:])
            for token in generate(model, near, steps=min(steps, model.max_len - len(near)),
                                  **options):
                text.append(token)
                steps -= 1
                yield token

    def finish(self, seconds: float) -> float:
        """Measure the model on the held-back text, and write metrics.json.

        Returns the loss in nats per character.

        seconds : how long the training took, for metrics.json
        """
        nats = self.nats_per_character(self.held_out)
        last, tokens = self.history[-1], sum(p.tokens for p in self.history)
        self.save_metrics(
            nats_per_character=nats, perplexity_per_character=math.exp(min(nats, 700)),
            characters=self.characters, held_back=self.held_characters,
            vocabulary=self.task.vocab_size, tokens=tokens, seconds=seconds,
            tokens_per_second=round(tokens / max(last.seconds, 1e-9)),
        )
        return nats

    def report(self, found: float, seconds: float) -> Iterator[str]:
        """Yield lines about the outcome, and a text that the model writes."""
        yield (f"words: {self.optimizer.t} steps, {found:.3f} nats per character of the"
               f" {self.held_characters:,} held back (perplexity"
               f" {math.exp(min(found, 700)):.2f}), {seconds:.1f} s\n")
        yield "After the first line of the text held back it writes:\n"
        yield self.sample(20 * SAMPLE)

    def test_sources(self, n: int = 5) -> list[np.ndarray]:
        """Return one text (1, T): the first tokens of the held-back text."""
        if self.held_out is None:
            self.prepare()
        return [self.held_out.ids[None, : min(24, self.held_out.T)]]

    def plot_history(self) -> Any:
        """Return a Figure of the loss against the steps."""
        return plot_words_training(self.history)


def start_words(folder: str | Path, files: list | None, config: dict,
                vocab_size: int | None = None) -> tuple[WordsRun, list[str]]:
    """Make a WordsRun that is ready to train; return (run, notes on its text).

    files : paths of the text; None takes Python's help
    config : all of WordsRun's that the text does not give, and that the steps do not
    vocab_size : learn so many pieces at most; None takes the characters

    Raises OSError, and ValueError for a bad text or bad options.
    """
    text, steps = read_words(files), config["train"]["steps"]
    if (different := len({*text} - {*" \t\n"})) < 2:
        raise ValueError("a text must hold at least two different characters besides blanks, got"
                         f" {different} in {' and '.join(map(str, files or ['the help']))}")
    config["train"] |= dict(average_every=max(1, steps // (LAST_PART * AVERAGED)),
                            validate_every=max(1, steps // VALIDATIONS))
    config |= dict(files=files and [os.path.realpath(path) for path in files],
                   digest=digest_of(text.encode()))
    if vocab_size is None:
        config["characters"] = Characters(text).characters
    else:
        vocabulary = Pieces.train(text, vocab_size).vocabulary
        Path(folder).mkdir(parents=True, exist_ok=True)
        vocabulary.save(Path(folder) / VOCABULARY)
        config["vocabulary"] = digest_of(vocabulary.model)
    run = WordsRun(folder, config)
    return run, run.prepare(text)
