"""The training on sentence pairs: a translator, with a vocabulary of its own."""

import functools
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import check_number, check_sizes
from ..files import CheckpointError
from ..pipelines.pipeline import SentencePipeline
from ..text.batches import Batches
from ..text.bleu import TOKENIZERS, Score
from ..text.corpus import Corpus
from ..text.measures import TextProgress, loss_on
from ..text.pairs import digest_of
from ..text.pictures import plot_text_training
from ..text.task import TextTask, encoded, longest
from ..text.vocabulary import Vocabulary
from ..training.gradient import SharedGradient
from ..training.loop import Step, token_nats, training_steps
from ..training.loss import LabelSmoothedCrossEntropy
from ..training.threads import blas_threads
from .training import Training

VOCABULARY = "vocabulary.model"


class DataTraining(Training):
    """A training on data of the user, with a validation now and then, and a fixed last step."""

    batches: Any = None  # of the training data; `prepare` makes them
    validate_every: int  # steps between two validations
    batch: Any  # of a step: inputs, and then targets; steps must come in their order
    record_of: Any  # a Step: the record of the step
    validate: Any  # a record: write into it what a validation of the model finds

    def vocabulary(self, folder: Path) -> Vocabulary:
        """Return the run's vocabulary; raise CheckpointError if its folder has another run's."""
        if self.learned is not None:
            return self.learned
        vocabulary = Vocabulary.load(folder / VOCABULARY)
        if digest_of(vocabulary.model) != self.config["vocabulary"]:
            raise CheckpointError(f"{folder / VOCABULARY} is not the vocabulary of this run")
        return vocabulary

    @functools.cached_property
    def criterion(self) -> LabelSmoothedCrossEntropy:
        """The training loss."""
        return LabelSmoothedCrossEntropy(self.options["eps_ls"], pad=self.task.pad)

    @functools.cached_property
    def gradient(self) -> Callable:
        """The function that takes a batch and adds its gradient, in shares where it is divided."""
        return SharedGradient(self.model, self.criterion, token_nats, self.optimizer, self.ranks,
                              self.options["accumulate"])

    @property
    def per_epoch(self) -> int:  # type: ignore[override]
        """The number of batches of an epoch."""
        return self.batches.per_epoch

    def run(self, *, threads: int | None = None) -> Iterator:
        """Train from the current step to the last one, and yield the record of each step.

        Every `validate_every` steps, and at the end, the model is validated.
        """
        every = self.options["average_every"]
        for s in training_steps(self.model, self.criterion, self.optimizer, self.batch,
                                self.rate_of, steps=self.steps, rng=self.rng,
                                gradient=self.gradient, threads=threads):
            progress = self.record_of(s)
            if s.step % every == 0:
                self.recent.append(self.model.state_dict())
            if s.step % self.validate_every == 0 or s.step == self.steps:
                with blas_threads(threads):
                    self.validate(progress)
            yield progress


class PairTraining(DataTraining):
    """A training on sentence pairs.

    config : as in Training, and "files" (paths of the pairs), "digest" (of the pairs),
        "vocabulary" (the digest of its file), "examples" (validation lines, for pictures)
    """

    name = "text"
    record = TextProgress
    pipeline = SentencePipeline
    files = (VOCABULARY,)
    held_out: Any = None  # validation pairs as ids; `prepare` makes them
    validation: Any = None  # the same pairs as lines

    def make_task(self, folder: Path) -> TextTask:
        """Make the task with the folder's vocabulary."""
        asked = self.options.get("tokenize", self.options.get("bleu_tokenize"))  # its earlier name
        return TextTask(self.vocabulary(folder), self.options["max_length"],
                        asked if asked in TOKENIZERS else "13a")

    def prepare(self, corpus: Corpus | None = None) -> list[str]:
        """Make batches of the sentence pairs in `corpus` or in the files; return notes on them.

        Raises OSError, and ValueError if the files are not those that the run began with.
        """
        check_options(self.options)
        files, o = self.config["files"], self.options
        corpus = corpus or Corpus.read(files, self.config["seed"])
        if corpus.digest != self.config["digest"]:
            raise ValueError("sentence pairs must be those that the run began with, got others in "
                             + " and ".join(filter(None, files.values())))
        training, _ = encoded(self.task.vocabulary, corpus.training, o["max_length"])
        held_out, lines = encoded(self.task.vocabulary, corpus.validation, self.model.max_len)
        if not training or not held_out:
            raise ValueError(f"there must be pairs of at most {o['max_length']} tokens for"
                             f" training, got {len(training)}, and of at most {self.model.max_len}"
                             f" for validation, got {len(held_out)}")
        if (needed := longest(training)) > o["tokens"]:
            raise ValueError(f"tokens must be at least those of the longest sentence, {needed},"
                             f" got tokens={o['tokens']}")
        self.batches = Batches(training, o["tokens"], self.config["seed"])
        self.held_out, self.validation = held_out, lines
        left_out = [("training", len(corpus.training) - len(training), o["max_length"]),
                    ("validation", len(corpus.validation) - len(held_out), self.model.max_len)]
        return corpus.notes + [f"{n} pairs for {what} are left out: a side has more than {most}"
                               " tokens, or none" for what, n, most in left_out if n]

    @functools.cached_property
    def validation_batches(self) -> Batches:
        """The validation pairs, in batches that need no more memory than training does."""
        budget = self.options["tokens"] // (self.options["accumulate"] * self.ranks.size)
        return Batches(self.held_out, max(budget, longest(self.held_out)), 0)

    @property
    def steps(self) -> int:
        """The number of the last step."""
        return max(1, round(self.options["epochs"] * self.batches.per_epoch))

    @property
    def validate_every(self) -> int:  # type: ignore[override]
        """Steps between two validations: an epoch."""
        return self.batches.per_epoch

    def batch(self, step: int) -> tuple[np.ndarray, ...]:
        """Return the batch (src, tgt_in, tgt_out) of a step."""
        return self.batches.batch(step)

    def record_of(self, s: Step) -> TextProgress:
        """Return the record of a step."""
        tokens = sum(int(np.count_nonzero(ids != self.task.pad)) for ids in s.batch[:2])
        return TextProgress(s.step, float(s.scores), tokens, s.rate, s.seconds)

    def announcement(self, folder: Path) -> Iterator[str]:
        """Yield lines about the data and the model."""
        batches = self.batches
        real, padded = batches.tokens()
        parameters = sum(p.value.size for p in self.model.parameters())
        yield (f"{len(batches.pairs):,} pairs for training, {len(self.validation):,} for"
               f" validation; {self.task.vocab_size:,} pieces, {parameters:,} parameters")
        yield (f"an epoch: {batches.per_epoch} batches of at most {batches.budget} positions a"
               f" side, {real:,} tokens, {1 - real / padded:.1%} of positions are padding")
        yield from self.memory_line(batches.budget)

    def validate(self, progress: TextProgress) -> None:
        """Write validation losses into a record, and in some epochs also BLEU."""
        average = self.averaged()
        batches = self.validation_batches, self.ranks
        progress.validation_loss = loss_on(self.model, *batches)
        progress.averaged_loss = loss_on(average, *batches)
        epoch = -(-progress.step // self.batches.per_epoch)
        if epoch % self.options["bleu_every"] == 0 or progress.step == self.steps:
            progress.bleu = self.score(self.translations(average)).score

    def translations(self, model: Any, **options: Any) -> list[str]:
        """Return a model's translations of the validation set; options: those of `translate`."""
        sources = [source for source, _ in self.validation]
        return self.pipeline(self.task, model).lines(sources, ranks=self.ranks, **options)

    def score(self, lines: list[str]) -> Score:
        """Return the BLEU of translations of the validation set."""
        references = [reference for _, reference in self.validation]
        return self.pipeline(self.task, self.model).score(lines, references)

    def finish(self, history: list) -> tuple[dict, dict]:
        """Measure BLEU on the validation set, of three ways to translate.

        They are: greedily by the last state of the model, greedily by the average of its last
        states, and by the paper's beam search with that average.

        Returns ({way: BLEU}, numbers for metrics.json).
        """
        last, average = history[-1], self.averaged()
        lines = self.translations(average)
        found = {
            "last state, greedy": self.score(self.translations(self.model)),
            "average, greedy": self.score(lines),
            "average, beam 4, alpha 0.6": self.score(self.translations(average, beam=4, alpha=0.6)),
        }
        tokens = int(sum(p.tokens for p in history))
        return found, dict(
            epochs=self.options["epochs"], pairs=len(self.batches.pairs),
            validation_pairs=len(self.validation), validation_loss=last.validation_loss,
            averaged_loss=last.averaged_loss, perplexity=math.exp(last.averaged_loss),
            exact_match=float(np.mean([a == b for a, (_, b) in zip(lines, self.validation)])),
            bleu={way: round(score.score, 2) for way, score in found.items()},
            signature=found["average, greedy"].signature, tokens=tokens,
            tokens_per_second=round(tokens / max(last.seconds, 1e-9)), peak_memory=peak_memory())

    def report(self, found: Any, seconds: float, solved: bool) -> Iterator[str]:
        """Yield lines about the outcome, and a few translations."""
        yield f"step {self.optimizer.t}, BLEU of {len(self.validation)} validation pairs:"
        yield from (f"  {score.score:6.2f}  {way}" for way, score in found.items())
        yield f"  {found['average, greedy'].signature}\n"
        sources, references = zip(*self.validation[:3])
        lines = self.pipeline(self.task, self.averaged()).lines(sources)
        for source, translation, reference in zip(sources, lines, references):
            yield f"source     {source}\nmodel      {translation}\nreference  {reference}\n"

    def examples(self, n: int = 5) -> list[np.ndarray]:
        """Return at most n sources (1, T) of the validation set."""
        return [self.task.source(line) for line in self.config["examples"][:n]]

    def plot(self, history: list) -> Any:
        """Return a Figure of loss and BLEU against the steps."""
        return plot_text_training(history, title="Training on sentence pairs")


def check_options(options):
    """Raise TypeError or ValueError for bad options, before any file is read."""
    check_number("epochs", options["epochs"], 0, 1e6, open_low=True)
    check_number("rate_scale", options["rate_scale"], 0, float("inf"))
    check_number("eps_ls", options["eps_ls"], 0, 1)
    names = ("vocabulary", "tokens", "max_length", "warmup_steps", "bleu_every", "average_every",
             "accumulate")
    check_sizes(**{name: options[name] for name in names if name in options})


def peak_memory() -> int | None:
    """Return the most bytes that this process has held; None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
