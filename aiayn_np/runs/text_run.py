"""The run of a training on text: a Run with sentence pairs and a vocabulary."""

import functools
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import check_number, check_sizes
from ..files import CheckpointError
from ..plotting.figures import save_figure
from ..text.batches import Batches
from ..text.bleu import Score, bleu, check_tokenizer, chrf
from ..text.corpus import Corpus
from ..text.measures import TextProgress, loss_on
from ..text.pairs import digest_of
from ..text.pictures import plot_text_training, plot_translation
from ..text.task import TextTask, encoded, longest
from ..text.translation import translate
from ..text.vocabulary import Vocabulary
from ..training.loop import Step, gradient_of, token_nats, training_steps
from ..training.loss import LabelSmoothedCrossEntropy
from ..training.ranks import shared_gradient
from ..training.threads import blas_threads
from ..transformer import Transformer
from .run import Run

VOCABULARY = "vocabulary.model"


class TextRun(Run):
    """Model, vocabulary, optimizer and generator of a training run on text.

    config : as in Run, and "files" (paths of the sentence pairs), "digest" (of the pairs),
        "vocabulary" (the digest of its file), "examples" (validation lines, for pictures)
    """

    name = "text"
    record = TextProgress
    command = "translate"
    FILES = (*Run.FILES, VOCABULARY)
    batches: Any = None  # Batches of the training pairs; `prepare` makes it
    held_out: Any = None  # validation pairs as ids; `prepare` makes them
    validation: Any = None  # the same pairs as lines

    def make_task(self) -> Any:
        """Make the task with the folder's vocabulary."""
        return TextTask(self.read_vocabulary(), self.config["train"]["max_length"])

    def read_vocabulary(self) -> Vocabulary:
        """Read the folder's vocabulary; raise CheckpointError for another run's."""
        vocabulary = Vocabulary.load(self.folder / VOCABULARY)
        if digest_of(vocabulary.model) != self.config["vocabulary"]:
            raise CheckpointError(f"{self.folder / VOCABULARY} is not the vocabulary of this run")
        return vocabulary

    def prepare(self, corpus: Corpus | None = None) -> list[str]:
        """Make batches of the sentence pairs in `corpus` or in the files; return notes on them.

        Raises OSError, and ValueError if the files are not those that the run began with.
        """
        check_options(self.config["train"])
        files = self.config["files"]
        corpus = corpus or Corpus.read(files, self.config["seed"])
        if corpus.digest != self.config["digest"]:
            raise ValueError("sentence pairs must be those that the run began with, got others in "
                             + " and ".join(filter(None, files.values())))
        options, vocabulary = self.config["train"], self.task.vocabulary
        training, _ = encoded(vocabulary, corpus.training, options["max_length"])
        held_out, lines = encoded(vocabulary, corpus.validation, self.model.max_len)
        if not training or not held_out:
            raise ValueError(f"there must be pairs of at most {options['max_length']} tokens for"
                             f" training, got {len(training)}, and of at most {self.model.max_len}"
                             f" for validation, got {len(held_out)}")
        if (needed := longest(training)) > options["tokens"]:
            raise ValueError(f"tokens must be at least those of the longest sentence, {needed},"
                             f" got tokens={options['tokens']}")
        self.batches = Batches(training, options["tokens"], self.config["seed"])
        self.held_out, self.validation = held_out, lines
        left_out = [("training", len(corpus.training) - len(training), options["max_length"]),
                    ("validation", len(corpus.validation) - len(held_out), self.model.max_len)]
        return corpus.notes + [f"{n} pairs for {what} are left out: a side has more than {most}"
                               " tokens, or none" for what, n, most in left_out if n]

    @functools.cached_property
    def criterion(self) -> LabelSmoothedCrossEntropy:
        """The training loss."""
        return LabelSmoothedCrossEntropy(self.config["train"]["eps_ls"], pad=self.task.pad)

    @functools.cached_property
    def gradient(self) -> Callable:
        """The function that takes a batch and adds its gradient, in shares where it is divided."""
        shared = shared_gradient(self.model, self.criterion, token_nats, self.optimizer, self.ranks,
                                 self.config["train"]["accumulate"])
        return shared or functools.partial(gradient_of, self.model, self.criterion, token_nats)

    @functools.cached_property
    def validation_batches(self) -> Batches:
        """The validation pairs, in batches that need no more memory than training does."""
        o = self.config["train"]
        budget = o["tokens"] // (o["accumulate"] * self.ranks.size)
        return Batches(self.held_out, max(budget, longest(self.held_out)), 0)

    @property
    def bleu_tokenize(self) -> str | None:
        """How BLEU splits text into words: a name of TOKENIZERS; None lets `bleu` choose."""
        return self.config["train"].get("bleu_tokenize")

    @property
    def steps(self) -> int:
        """The number of the last step."""
        return max(1, round(self.config["train"]["epochs"] * self.batches.per_epoch))

    @property
    def validate_every(self) -> int:
        """Steps between two validations: an epoch."""
        return self.batches.per_epoch

    @property
    def solved(self) -> bool:
        """False: training on text never ends before its last step."""
        return False

    def train(self, *, threads: int | None = None) -> Iterator:
        """Train from the current step to the last one, and yield a TextProgress for each step.

        Every `validate_every` steps, and at the end, the model is validated.
        """
        every = self.config["train"]["average_every"]
        for s in training_steps(self.model, self.criterion, self.optimizer, self.batch,
                                self.rate_of, steps=self.steps, rng=self.rng,
                                gradient=self.gradient, threads=threads):
            progress = self.record_of(s)
            if s.step % every == 0:
                self.recent.append(self.model.state_dict())
            if s.step % self.validate_every == 0 or s.step == self.steps:
                with blas_threads(threads):
                    self.measure(progress)
            yield progress

    def batch(self, step: int) -> tuple[np.ndarray, ...]:
        """Return the batch (src, tgt_in, tgt_out) of a step."""
        return self.batches.batch(step)

    def record_of(self, s: Step) -> Any:
        """Return the record of a step."""
        tokens = sum(int(np.count_nonzero(ids != self.task.pad)) for ids in s.batch[:2])
        return TextProgress(s.step, float(s.scores), tokens, s.rate, s.seconds)

    def announcement(self) -> Iterator[str]:
        """Yield lines about the data and the model."""
        batches = self.batches
        real, padded = batches.tokens()
        parameters = sum(p.value.size for p in self.model.parameters())
        yield (f"{len(batches.pairs):,} pairs for training, {len(self.validation):,} for"
               f" validation; {self.task.vocab_size:,} pieces, {parameters:,} parameters")
        yield (f"an epoch: {batches.per_epoch} batches of at most {batches.budget} positions a"
               f" side, {real:,} tokens, {1 - real / padded:.1%} of positions are padding")
        yield from self.memory_line(batches.budget)

    def measure(self, progress: Any) -> None:
        """Write validation losses into a record, and in some epochs also BLEU and chrF."""
        average = self.trained()
        batches = self.validation_batches, self.ranks
        progress.validation_loss = loss_on(self.model, *batches)
        progress.averaged_loss = loss_on(average, *batches)
        epoch = -(-progress.step // self.batches.per_epoch)
        if epoch % self.config["train"]["bleu_every"] == 0 or progress.step == self.steps:
            progress.bleu, progress.chrf = (s.score for s in self.scores(average))

    def scores(self, model: Transformer, **options: Any) -> tuple[Score, Score]:
        """Return (BLEU, chrF) of a model's translations of the validation set.

        options : those of `translate`
        """
        return self.scores_of(self.translations(model, **options))

    def translations(self, model: Transformer, **options: Any) -> list[str]:
        """Return a model's translations of the validation set; options: those of `translate`."""
        sources = [source for source, _ in self.validation]
        return translate(model, self.task.vocabulary, sources, ranks=self.ranks, **options)

    def scores_of(self, lines: list[str]) -> tuple[Score, Score]:
        """Return (BLEU, chrF) of translations of the validation set."""
        references = [reference for _, reference in self.validation]
        return bleu(lines, references, tokenize=self.bleu_tokenize), chrf(lines, references)

    def finish(self, seconds: float) -> Any:
        """Measure BLEU and chrF on the validation set, and write metrics.json.

        Returns {way: (BLEU, chrF)} of three ways to translate: greedily by the last state of the
        model, greedily by the average of its last states, and by the paper's beam search with that
        average.

        seconds : how long the training took, for metrics.json
        """
        last, average = self.history[-1], self.trained()
        found = {"last state, greedy": self.scores(self.model)}
        lines = self.translations(average)
        found["average, greedy"] = self.scores_of(lines)
        found["average, beam 4, alpha 0.6"] = self.scores(average, beam=4, alpha=0.6)
        bleus, chrfs = ({name: round(scores[i].score, 2) for name, scores in found.items()}
                        for i in (0, 1))
        signatures = [score.signature for score in found["average, greedy"]]
        tokens = int(sum(p.tokens for p in self.history))
        self.save_metrics(
            epochs=self.config["train"]["epochs"], pairs=len(self.batches.pairs),
            validation_pairs=len(self.validation), validation_loss=last.validation_loss,
            averaged_loss=last.averaged_loss, perplexity=math.exp(last.averaged_loss),
            exact_match=float(np.mean([a == b for a, (_, b) in zip(lines, self.validation)])),
            bleu=bleus, signature=signatures[0], chrf=chrfs, chrf_signature=signatures[1],
            tokens=tokens, seconds=seconds,
            tokens_per_second=round(tokens / max(last.seconds, 1e-9)), peak_memory=peak_memory(),
        )
        return found

    def report(self, found: Any, seconds: float) -> Iterator[str]:
        """Yield lines about the outcome, and a few translations."""
        yield f"step {self.optimizer.t}, BLEU and chrF of {len(self.validation)} validation pairs:"
        yield from (f"  {b.score:6.2f} {c.score:6.2f}  {name}" for name, (b, c) in found.items())
        yield from (f"  {s.name}: {s.signature}" for s in found["average, greedy"])
        yield ""
        sources, references = zip(*self.validation[:3])
        lines = zip(sources, translate(self.trained(), self.task.vocabulary, sources), references)
        for source, translation, reference in lines:
            yield f"source     {source}\nmodel      {translation}\nreference  {reference}\n"

    def example(self, src: np.ndarray) -> tuple:
        """Return a batch of one source (1, T), with the model's own translation as its target."""
        return self.answered(src)

    def translation_attention(self, src: np.ndarray) -> tuple[list, list, np.ndarray, np.ndarray]:
        """Return (source tokens, written tokens, weights, mask) of the last layer.

        weights : (h, T_tgt, T_src), of the attention from written tokens to source tokens
        """
        _, tgt_in, out = self.answered(src)
        maps, masks = self.maps(src, tgt_in)
        last = [name for name in maps if "cross_attention" in name][-1]
        return self.source_tokens(src), self.task.tokens(out[0]), maps[last], masks[last]

    def draw_attention(self, src: np.ndarray, folder: str | Path, prefix: str = '') -> list[Path]:
        """Save a picture of the last layer's attention over the source; return [its path]."""
        source, written, weights, allowed = self.translation_attention(src)
        layer = len(self.model.decoder.layers)
        title = (f"Encoder-decoder attention, layer {layer}: row = token that is written next,"
                 " column = what is looked at for it")
        path = Path(folder) / f"{prefix}attention_cross.png"
        fig = plot_translation(weights, written, source, allowed=allowed, title=title)
        save_figure(fig, path, dpi=120)
        return [path]

    def test_sources(self, n: int = 5) -> list[np.ndarray]:
        """Return at most n sources (1, T) of the validation set."""
        return [self.task.source(line) for line in self.config["examples"][:n]]

    def plot_history(self) -> Any:
        """Return a Figure of loss and BLEU against the steps."""
        return plot_text_training(self.history, title="Training on sentence pairs")


def check_options(options):
    """Raise TypeError or ValueError for bad options, before any file is read."""
    check_number("epochs", options["epochs"], 0, 1e6, open_low=True)
    check_number("rate_scale", options["rate_scale"], 0, float("inf"))
    names = ("vocabulary", "tokens", "max_length", "warmup_steps", "bleu_every", "average_every",
             "accumulate")
    check_sizes(**{name: options[name] for name in names if name in options})
    check_tokenizer(options.get("bleu_tokenize"))


def peak_memory() -> int | None:
    """Return the most bytes that this process has held; None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
