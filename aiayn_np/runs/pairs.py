"""The training on sentence pairs: a translator, with a vocabulary of its own."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..pipelines.pipeline import PairPipeline
from ..text.batches import Batches
from ..text.bleu import TOKENIZERS, Score
from ..text.corpus import Corpus
from ..text.measures import PairProgress, loss_on
from ..text.pictures import plot_pair_training
from ..text.task import PairTask, encoded
from ..text.vocabulary import Vocabulary
from ..training.loop import Step
from .training import Training, speed

SHOWN = 3  # translations in the report


def data_of(config: dict, vocabulary: Vocabulary, corpus: Corpus | None = None) -> tuple:
    """Read or take the pairs of a run.

    Returns (batches for training, batches for validation, lines for validation, notes).
    """
    o, most = config["train"], config["model"]["max_len"]
    corpus = corpus or Corpus.read(config["files"], config["seed"])
    if corpus.digest != config["digest"]:
        raise ValueError("sentence pairs must be those that the run began with, got others in "
                         + " and ".join(filter(None, config["files"].values())))
    training, _ = encoded(vocabulary, corpus.training, o["max_length"])
    held_out, lines = encoded(vocabulary, corpus.validation, most)
    if not training or not held_out:
        raise ValueError(f"there must be pairs of at most {o['max_length']} tokens for training,"
                         f" got {len(training)}, and of at most {most} for validation, got"
                         f" {len(held_out)}")
    batches = Batches(training, o["tokens"], config["seed"])
    if (longest := batches.longer.max()) > o["tokens"]:
        raise ValueError(f"tokens must be at least those of the longest sentence, {longest}, got"
                         f" tokens={o['tokens']}")
    left_out = [("training", len(corpus.training) - len(training), o["max_length"]),
                ("validation", len(corpus.validation) - len(held_out), most)]
    budget = max(o["tokens"] // o["accumulate"], most)                 # the memory of a step
    return batches, Batches(held_out, budget, 0), lines, corpus.notes + [
        f"{n} pairs for {what} are left out: a side has more than {limit} tokens, or none"
        for what, n, limit in left_out if n]


def steps_of(options: dict, batches: Batches) -> int:
    """Return the number of steps in the epochs of a training."""
    return max(1, round(options["epochs"] * batches.per_epoch))


class PairTraining(Training):
    """A training on sentence pairs.

    config : as in Training, and "files" (paths of the pairs), "digest" (of the pairs),
        "vocabulary" (digest of the vocabulary), "examples" (validation lines, for pictures)
    """

    name = "text"
    shape: ClassVar[dict] = Training.shape | dict(
        files={str: (str, None)}, digest=str, vocabulary=str, examples=[str],
        train=Training.shape["train"] | {
            "epochs": float, "tokens": int, "max_length": int, "bleu_every": int,
            "average_every": int, "tokenize?": set(TOKENIZERS)})
    record = PairProgress
    pipeline = PairPipeline
    plot = staticmethod(plot_pair_training)
    validation: Any = None  # the pairs for validation as lines

    def make_task(self, folder: Path) -> PairTask:
        """Make the task with the folder's vocabulary."""
        return PairTask(self.vocabulary(folder), self.options["max_length"],
                        self.options.get("tokenize", "13a"))           # not in an earlier config

    def prepare(self, data: Any = None) -> list[str]:
        """Take the tuple that `data_of` returns for the pairs of the run; return its notes."""
        self.batches, self.held_out, self.validation, notes = data or data_of(
            self.config, self.task.vocabulary)
        return notes

    @property
    def steps(self) -> int:
        return steps_of(self.options, self.batches)

    @property
    def validate_every(self) -> int:
        return self.batches.per_epoch

    def batch(self, step: int) -> tuple[np.ndarray, ...]:
        """Return the batch (src, tgt_in, tgt_out) of a step."""
        return self.batches.batch(step)

    def record_of(self, s: Step) -> PairProgress:
        tokens = sum(int(np.count_nonzero(ids != self.task.pad)) for ids in s.batch[:2])
        return PairProgress(s.step, float(s.scores), tokens, s.rate, s.seconds)

    def validate(self, progress: PairProgress) -> None:
        """Write validation losses into a record, and in some epochs also BLEU."""
        average = self.averaged()
        progress.validation_loss = loss_on(self.model, self.held_out, self.ranks)
        progress.averaged_loss = loss_on(average, self.held_out, self.ranks)
        epoch = -(-progress.step // self.batches.per_epoch)
        if epoch % self.options["bleu_every"] == 0 or progress.step == self.steps:
            progress.bleu = self.translated(average)[1].score

    def translated(self, model: Any, **options: Any) -> tuple[list[str], Score]:
        """Return a model's translations of the validation set, and their BLEU.

        options : as in `translate`
        """
        sources, references = zip(*self.validation)
        pipeline = self.pipeline(self.task, model)
        lines = pipeline.lines(sources, ranks=self.ranks, **options)
        return lines, pipeline.score(lines, references)

    def finish(self, history: list) -> tuple[dict, Iterator[str]]:
        """Measure the BLEU of three ways to translate the validation set."""
        last, average = history[-1], self.averaged()
        lines, score = self.translated(average)
        found = {
            "last state, greedy": self.translated(self.model)[1],
            "average, greedy": score,
            "average, beam 4, alpha 0.6": self.translated(average, beam=4, alpha=0.6)[1],
        }
        return dict(
            epochs=self.options["epochs"], pairs=len(self.batches.pairs),
            validation_pairs=len(self.validation), validation_loss=last.validation_loss,
            averaged_loss=last.averaged_loss, perplexity=math.exp(min(last.averaged_loss, 700)),
            exact_match=float(np.mean([a == b for a, (_, b) in zip(lines, self.validation)])),
            bleu={way: round(score.score, 2) for way, score in found.items()},
            signature=score.signature, **speed(history),
        ), self.outcome(found, lines)

    def outcome(self, found: dict, translations: list[str]) -> Iterator[str]:
        """Yield the BLEU of each way to translate, and a few translations."""
        yield f"step {self.optimizer.t}, BLEU of {len(self.validation)} validation pairs:"
        yield from (f"  {score.score:6.2f}  {way}" for way, score in found.items())
        yield f"  {found['average, greedy'].signature}\n"
        for (source, reference), translation in zip(self.validation[:SHOWN], translations):
            yield f"source     {source}\nmodel      {translation}\nreference  {reference}\n"

    def examples(self, n: int = 5) -> list[np.ndarray]:
        """Return at most n sources (1, T) of the validation set."""
        return [self.task.source(line) for line in self.config["examples"][:n]]
