"""The task of a run on a text: a language model."""

import math
import platform
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..text.language import Characters, LanguageTask, Pieces, Windows, read_text, training_part
from ..text.measures import LanguageProgress, loss_on
from ..text.pairs import digest_of
from ..text.pictures import plot_language_training
from ..text.vocabulary import Vocabulary
from ..training.loop import Step
from ..training.ranks import ALONE, Alone
from .loaded import Writer
from .task import RunTask, absolute, left_out

MOST = 100_000  # tokens that a validation reads; the measurement at the end reads all
SAMPLE = 60  # tokens that the model writes at a validation
VALIDATIONS = 10  # in a training, at least


class LanguageTraining(RunTask, LanguageTask):
    """The task of continuing a text, with the text that it is learned from.

    A run whose vocabulary is characters has them in the option "characters". The option "files" is
    None if the text is Python's help.
    """

    record = LanguageProgress
    loaded: Callable = Writer
    plot = staticmethod(plot_language_training)

    def __init__(self, options: dict, kept: dict[str, bytes]) -> None:
        known = (Pieces(Vocabulary(kept["model"])) if kept else
                 Characters(str(options["characters"])))
        super().__init__(known, options["max_length"])
        self.options = options

    @staticmethod
    def gather(options: dict, files: dict) -> str:
        """Read the text of new files."""
        paths = files.get("text")
        text = read_text(paths)
        if (different := len({*text} - {*" \t\n"})) < 2:
            raise ValueError("a text must hold at least two different characters besides blanks,"
                             f" got {different} in {' and '.join(map(str, paths or ['the help']))}")
        options |= dict(max_len=options.get("max_len", options["max_length"]),
                        digest=digest_of(text.encode()),
                        files=paths and [absolute(path) for path in paths])
        return text

    @staticmethod
    def learn(options: dict, text: str) -> dict[str, bytes]:
        """Take the characters of the text, or learn a vocabulary from it."""
        if options["vocab_size"] is not None:
            return {"model": Pieces.train(text, options["vocab_size"]).vocabulary.model}
        options["characters"] = Characters(text).characters
        return {}

    @property
    def validate_every(self) -> int:
        return max(1, self.steps // VALIDATIONS)

    def read(self, text: str | None = None) -> SimpleNamespace:
        """Read or take the text: windows for training, all windows held back, and some of them."""
        files, T, encode = self.options["files"], self.max_length, self.vocabulary.encode
        text = read_text(files) if text is None else text
        if digest_of(text.encode()) != self.options["digest"]:
            where = " and ".join(files) if files else f"Python {platform.python_version()}"
            raise ValueError(f"the text must be the one that the run began with, got another in"
                             f" {where}")
        notes = [] if files else [f"the text is the help of Python {platform.python_version()}"]
        if "from" in self.options:
            unknown = {*filter(self.lacks, {*text})}
            notes += left_out(sum(map(text.count, unknown)), "characters")
            text = text.translate(dict.fromkeys(map(ord, unknown)))
        cut = len(training_part(text))
        held_out, rows = encode(text[cut:]), max(1, MOST // (20 * T))
        return SimpleNamespace(
            held_out=Windows(held_out, T, rows),
            batches=Windows(encode(text[:cut]), T, self.options["batch_size"]),
            some=Windows(held_out, T, rows, every=-(-len(held_out) // MOST)),
            beginning=encode(text[cut:].partition("\n")[0] + "\n"), characters=len(text),
            held_characters=len(text) - cut, notes=notes)

    def lacks(self, character: str) -> bool:
        """Tell whether the vocabulary does not know a character."""
        return character not in self.vocabulary.known

    def batch_of(self, step: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Draw the batch (ids, targets) of a step."""
        return self.data.batches.draw(rng)

    def record_of(self, s: Step) -> LanguageProgress:
        return LanguageProgress(s.step, float(s.scores), s.batch[-1].size, s.rate, s.seconds)

    def nats_per_character(self, model: Any, windows: Windows, ranks: Alone = ALONE) -> float:
        """Return the mean loss for a character of the held-back text, in nats."""
        tokens_per_character = len(windows.ids) / self.data.held_characters
        return loss_on(model, windows, ranks) * tokens_per_character

    def validate(self, run: Any, progress: LanguageProgress) -> None:
        """Write the loss on held-back text, and a sample by the model, into a record."""
        average = run.trained()
        progress.validation = self.nats_per_character(average, self.data.some, run.ranks)
        if not math.isfinite(progress.validation):
            raise FloatingPointError(f"step {progress.step}: the loss on the held-back text must be"
                                     f" finite, got {progress.validation}")
        progress.sample = self.sample(average, SAMPLE)

    def sample(self, model: Any, steps: int) -> str:
        """Return a text that a model writes after the first line of the held-back text."""
        tokens = self.loaded(model, self).written(
            self.data.beginning, steps=steps, temperature=0.8, rng=np.random.default_rng(0))
        return self.text(tokens)

    def measured(self, model: Any, ranks: Any) -> dict[str, float]:
        """Return the loss of a model on the held-back text, or on much of it."""
        return {"nats per character": self.nats_per_character(model, self.data.some, ranks)}

    def finish(self, run: Any) -> tuple[dict, list[str]]:
        """Measure the model on the held-back text, and let it write."""
        model, last, count = run.trained(), run.history[-1], self.data.held_characters
        nats = self.nats_per_character(model, self.data.held_out, run.ranks)
        told = (f"words: {last.step} steps, {nats:.3f} nats per character of the {count:,} held"
                f" back (perplexity {math.exp(min(nats, 700)):.2f}), {last.seconds:.1f} s\n")
        return (dict(nats_per_character=nats, held_back=count),
                [told, "After the first line of the text held back it writes:\n",
                 self.sample(model, 20 * SAMPLE)])

    def examples(self, n: int = 5) -> list[np.ndarray]:
        """Return one text (1, T): the first tokens of the held-back text."""
        return [self.data.held_out.ids[None, : min(24, self.max_length)]]
