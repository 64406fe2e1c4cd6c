"""The task of a run on sentence pairs: a translator, with a vocabulary of its own."""

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..text.batches import Batches
from ..text.corpus import Corpus
from ..text.extra import extra
from ..text.measures import PairProgress, loss_on
from ..text.pictures import plot_pair_training
from ..text.task import PairTask, encoded
from ..text.vocabulary import UNK, Vocabulary
from ..training.loop import Step
from .loaded import Translator
from .task import RunTask, absolute, left_out

SHOWN = 3  # translations in the report
POSITIONS = 256  # of a model, at least; a text may be longer than the lines of the training


def without(unknown: int, encode: Callable, lost: list) -> Callable:
    """Return a function that encodes lines without the id `unknown`; `lost` gets its numbers."""
    def kept(lines):
        found = encode(lines)
        lost.extend(np.count_nonzero(ids == unknown) for ids in found)
        return [ids[ids != unknown] for ids in found]

    return kept


class PairTraining(RunTask, PairTask):
    """The task of translating, with the pairs of lines that it is learned from."""

    record = PairProgress
    loaded: Callable = Translator
    plot = staticmethod(plot_pair_training)

    def __init__(self, options: dict, kept: dict[str, bytes]) -> None:
        vocabulary = self.vocabulary_of(options, kept)
        super().__init__(vocabulary, options["max_length"], options["tokenize"])
        self.options = options

    @staticmethod
    def gather(options: dict, files: dict) -> Corpus:
        """Read the pairs of new files."""
        extra("sacrebleu")                                             # if missing, known at once
        corpus = Corpus.read(files, options["seed"])
        options |= dict(max_len=options.get("max_len", max(POSITIONS, options["max_length"])),
                        digest=corpus.digest,
                        files={name: path and absolute(path) for name, path in files.items()})
        return corpus

    @staticmethod
    def learn(options: dict, corpus: Corpus) -> dict[str, bytes]:
        """Learn a vocabulary from the pairs."""
        vocabulary = Vocabulary.train(
            [line for pair in corpus.training for line in pair], options["vocab_size"],
            **{name: options[name] for name in ("normalization", "character_coverage")})
        return {"model": vocabulary.model}

    @staticmethod
    def vocabulary_of(options: dict, kept: dict[str, bytes]) -> Any:
        """Return the vocabulary in the files that a run keeps."""
        return Vocabulary(kept["model"])

    def read(self, corpus: Corpus | None = None) -> SimpleNamespace:
        """Return batches and lines of a corpus; None reads it from the files of the run."""
        o = self.options
        corpus = corpus or Corpus.read(o["files"], o["seed"])
        if corpus.digest != o["digest"]:
            raise ValueError("sentence pairs must be those that the run began with, got others in "
                             + " and ".join(filter(None, o["files"].values())))
        limit, most, tokens = o["max_length"], o["max_len"], o["tokens"]
        lost: list[int] = []
        sides = [without(unknown, encode, lost) for encode, unknown in self.sides()]
        training, _ = encoded(sides, corpus.training, limit)
        held_out, lines = encoded(sides, corpus.validation, most)
        if not training or not held_out:
            raise ValueError(f"there must be pairs of at most {limit} tokens for training, got"
                             f" {len(training)}, and of at most {most} for validation, got"
                             f" {len(held_out)}")
        batches = Batches(training, tokens, o["seed"], self.vocabulary)
        if (longest := batches.longer.max()) > tokens:
            raise ValueError(f"tokens must be at least those of the longest sentence, {longest},"
                             f" got tokens={tokens}")
        too_long = [("training", len(corpus.training) - len(training), limit),
                    ("validation", len(corpus.validation) - len(held_out), most)]
        return SimpleNamespace(
            batches=batches, lines=lines,
            held_out=Batches(held_out, max(tokens // o["accumulate"], most), 0, self.vocabulary),
            notes=corpus.notes + left_out(sum(lost), "pieces") + [
                f"{n} pairs for {what} are left out: a side has more than {most} tokens, or none"
                for what, n, most in too_long if n])

    def sides(self) -> list[tuple[Callable, int]]:
        """Return (function that encodes lines, id to leave out) of the sources, and of the targets.

        A new run leaves out no id: its model learns from unknown characters, too.
        """
        return 2 * [(self.vocabulary.encode, UNK if "from" in self.options else -1)]

    @property
    def steps(self) -> int:
        return max(1, round(self.options["epochs"] * self.data.batches.per_epoch))

    @property
    def validate_every(self) -> int:
        return self.data.batches.per_epoch

    def batch_of(self, step: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Return the batch (src, tgt_in, tgt_out) of a step, which needs no generator."""
        return self.data.batches.batch(step)

    def record_of(self, s: Step) -> PairProgress:
        tokens = sum(int(np.count_nonzero(ids != self.pad)) for ids in s.batch[:2])
        return PairProgress(s.step, float(s.scores), tokens, s.rate, s.seconds)

    def validate(self, run: Any, progress: PairProgress) -> None:
        """Write the validation losses and BLEU into a record."""
        average, held_out = run.trained(), self.data.held_out
        progress.validation_loss = loss_on(run.model, held_out, run.ranks)
        progress.averaged_loss = loss_on(average, held_out, run.ranks)
        progress.bleu = self.translated(average, run.ranks)[1].score

    def translated(self, model: Any, ranks: Any, **options: Any) -> tuple:
        """Return (a model's translations of the validation set, their BLEU)."""
        sources, references = zip(*self.data.lines)
        loaded = self.loaded(model, self)
        lines = loaded.lines(sources, ranks=ranks, **options)
        return lines, loaded.score(lines, references)

    def measured(self, model: Any, ranks: Any) -> dict[str, float]:
        """Return the loss and the BLEU of a model on the validation set."""
        return dict(loss=loss_on(model, self.data.held_out, ranks),
                    BLEU=self.translated(model, ranks)[1].score)

    def finish(self, run: Any) -> tuple[dict, list[str]]:
        """Measure the BLEU of three ways to translate the validation set; show a few lines."""
        pairs, last, average = self.data.lines, run.history[-1], run.trained()
        lines, score = self.translated(average, run.ranks)
        found = {
            "last state, greedy": self.translated(run.model, run.ranks)[1],
            "average, greedy": score,
            "average, beam 4, alpha 0.6": self.translated(average, run.ranks, beam=4)[1]}
        told = [f"step {last.step}, BLEU of {len(pairs)} validation pairs:",
                *(f"  {score.score:6.2f}  {way}" for way, score in found.items()),
                f"  {score.signature}\n"]
        for (source, reference), line in zip(pairs[:SHOWN], lines):
            told.append(f"source     {source}\nmodel      {line}\nreference  {reference}\n")
        return dict(
            validation_pairs=len(pairs), validation_loss=last.validation_loss,
            averaged_loss=last.averaged_loss, perplexity=math.exp(min(last.averaged_loss, 700)),
            exact_match=float(np.mean([a == b for a, (_, b) in zip(lines, pairs)])),
            bleu={way: round(score.score, 2) for way, score in found.items()},
            signature=score.signature), told

    def examples(self, n: int = 5) -> list[np.ndarray]:
        """Return the first sources (1, T) of the validation set, at most n and at most five."""
        return [self.source(source) for source, _ in self.data.lines[: min(n, 5)]]
