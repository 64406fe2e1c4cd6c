"""The task of a run on a text: a language model."""

import math
import platform
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..text.language import Characters, LanguageTask, Pieces, Windows, read_text, training_part
from ..text.measures import LanguageProgress, loss_on
from ..text.pairs import digest_of
from ..text.pictures import plot_language_training
from ..text.vocabulary import Vocabulary
from ..training.loop import Step
from ..training.optimizer import Adam
from ..variants.models import LanguageModel, llama
from ..variants.optimizers import AdamW, cosine_rate, matrices
from .loaded import Writer
from .options import NAMES, sizes_of, variants_of
from .training import Training, absolute

MOST = 100_000  # tokens that a validation reads; the measurement at the end reads all
DECAY = 0.1  # weight decay of a model like Llama, as in Touvron et al., 2023
SAMPLE = 60  # tokens that the model writes at a validation
VALIDATIONS = 10  # in a training, at least


class LanguageTraining(Training, LanguageTask):
    """The task of going on with a text, and the text; by default for the paper's layers.

    Its options also have the vocabulary, by its "characters" or its digest. `like` is "llama" for a
    model like Llama, with `h_kv` heads of keys and values. `files` is None for Python's help.
    """

    kind_of_files = (list, type(None))
    record = LanguageProgress
    loaded = Writer
    plot = staticmethod(plot_language_training)

    def __init__(self, options: dict, vocabulary: Vocabulary | None) -> None:
        known = Pieces(vocabulary) if vocabulary else Characters(str(options["characters"]))
        super().__init__(known, options["max_len"])
        self.options = options

    @staticmethod
    def begin(options: dict, files: dict) -> tuple[Vocabulary | None, str]:
        """Read the text of new files, and take its characters or learn a vocabulary."""
        paths, like, h_kv = files.get("text"), options["like"], options["h_kv"]
        if like is None and h_kv is not None:
            raise ValueError(f"h_kv must not be given without like=llama, got {h_kv=}")
        for name in ("norm", "positions") if like else ():
            if options[name] != NAMES[name][0]:
                raise ValueError(f"{name} must not be given with like={like}")
        text = read_text(paths)
        if (different := len({*text} - {*" \t\n"})) < 2:
            raise ValueError("a text must hold at least two different characters besides blanks,"
                             f" got {different} in {' and '.join(map(str, paths or ['the help']))}")
        options |= dict(max_len=options["max_length"], digest=digest_of(text.encode()),
                        files=paths and [absolute(path) for path in paths])
        if options["vocab_size"] is None:
            options["characters"] = Characters(text).characters
            return None, text
        vocabulary = Pieces.train(text, options["vocab_size"]).vocabulary
        options["vocabulary"] = digest_of(vocabulary.model)
        return vocabulary, text

    def make_model(self, rng: Any) -> LanguageModel:
        """Make a model of the paper's encoder layers or a variant's, or one like Llama."""
        sizes, variants = sizes_of(self.options), variants_of(self.options)
        if self.options["like"]:
            return llama(self.vocab_size, **sizes, rng=rng)
        return LanguageModel(self.vocab_size, **sizes, layer=variants["encoder_layer"],
                             positions=variants["positions"], pad=None, rng=rng)

    def make_optimizer(self, model: Any) -> Adam:
        """Make the paper's Adam; for a model like Llama, an AdamW that lets the matrices decay."""
        if not self.options["like"]:
            return super().make_optimizer(model)
        return AdamW(model, beta_2=0.95, decay=DECAY, decayed=matrices(model))

    def rate(self, step: int) -> float:
        """Return the rate of Eq. (3); for a model like Llama it falls by a cosine."""
        if not self.options["like"]:
            return super().rate(step)
        warmup_steps = self.options["warmup_steps"]
        return cosine_rate(step, self.steps, peak=super().rate(warmup_steps),
                           warmup_steps=warmup_steps)

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
        cut = len(training_part(text))
        held_out, rows = encode(text[cut:]), max(1, MOST // (20 * T))
        return SimpleNamespace(
            held_out=Windows(held_out, T, rows),
            batches=Windows(encode(text[:cut]), T, self.options["batch_size"]),
            some=Windows(held_out, T, rows, every=-(-len(held_out) // MOST)),
            beginning=encode(text[cut:].partition("\n")[0] + "\n"), characters=len(text),
            held_characters=len(text) - cut,
            notes=[] if files else [f"the text is the help of Python {platform.python_version()}"])

    def batch_of(self, step: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Draw the batch (ids, targets) of a step."""
        return self.data.batches.draw(rng)

    def record_of(self, s: Step) -> LanguageProgress:
        return LanguageProgress(s.step, float(s.scores), s.batch[-1].size, s.rate, s.seconds)

    def nats_per_character(self, run: Any, windows: Windows) -> float:
        """Return the mean loss for a character of the held-back text, in nats."""
        tokens_per_character = len(windows.ids) / self.data.held_characters
        return loss_on(run.trained(), windows, run.ranks) * tokens_per_character

    def validate(self, run: Any, progress: LanguageProgress) -> None:
        """Write the loss on held-back text, and a sample by the model, into a record."""
        progress.validation = self.nats_per_character(run, self.data.some)
        if not math.isfinite(progress.validation):
            raise FloatingPointError(f"step {progress.step}: the loss on the held-back text must be"
                                     f" finite, got {progress.validation}")
        progress.sample = self.sample(run.trained(), SAMPLE)

    def sample(self, model: Any, steps: int) -> str:
        """Return a text that a model writes after the first line of the held-back text."""
        tokens = self.loaded(model, self).written(
            self.data.beginning, steps=steps, temperature=0.8, rng=np.random.default_rng(0))
        return self.text(tokens)

    def finish(self, run: Any) -> tuple[dict, list[str]]:
        """Measure the model on the held-back text, and let it write."""
        nats, last = self.nats_per_character(run, self.data.held_out), run.history[-1]
        count = self.data.held_characters
        perplexity = math.exp(min(nats, 700))
        told = (f"words: {last.step} steps, {nats:.3f} nats per character of the {count:,} held"
                f" back (perplexity {perplexity:.2f}), {last.seconds:.1f} s\n")
        return (dict(nats_per_character=nats, held_back=count),
                [told, "After the first line of the text held back it writes:\n",
                 self.sample(run.trained(), 20 * SAMPLE)])

    def examples(self, n: int = 5) -> list[np.ndarray]:
        """Return one text (1, T): the first tokens of the held-back text."""
        return [self.data.held_out.ids[None, : min(24, self.max_length)]]
