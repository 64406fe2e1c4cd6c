"""The toy tasks of a run: copy, reverse, sort."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..plotting.figures import plot_loss
from ..training import loop, toys
from ..training.tasks import CopyTask, ReverseTask, SortTask, Task
from .loaded import SymbolTranslator
from .task import RunTask

TESTED, SHOWN = 2000, 6  # test sequences: measured, and shown in the report
LEARNED, JUMP = 0.15, 0.1  # losses: a jump is a rise by more than JUMP after one below LEARNED
MORE = 52  # positions beyond the symbols of the longest sequence, for a longer output


class SymbolTraining(RunTask, Task):
    """A task on sequences of symbols; it ends when every validation sequence is right."""

    record = toys.Progress
    loaded: Callable = SymbolTranslator
    measure = staticmethod(loop.token_scores)
    record_of = staticmethod(toys.progress_of)
    validate_every: int = 25
    average_every: int = loop.AVERAGED_EVERY
    tokenize = "13a"  # how BLEU splits words

    def __init__(self, options: dict, kept: dict[str, bytes]) -> None:
        super().__init__(symbols=options["symbols"], max_length=options["max_length"])
        self.options = options

    @staticmethod
    def gather(options: dict, files: dict) -> None:
        """Set max_len of a new run: the longest sequence, and room for a longer output."""
        options["max_len"] = options["max_length"] + MORE

    @staticmethod
    def learn(options: dict, content: None) -> dict[str, bytes]:
        """Learn no vocabulary."""
        return {}

    def read(self, content: None = None) -> SimpleNamespace:
        """Return the examples for validation; ValueError if the task leaves none to test on."""
        self.test(1)
        return SimpleNamespace(held_out=self.validation(toys.VALIDATED), notes=[])

    def batch_of(self, step: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Draw the batch (src, tgt_in, tgt_out) of a step."""
        return self.batch(self.options["batch_size"], rng)

    def validate(self, run: Any, progress: toys.Progress) -> None:
        """Write into a record the share of exactly decoded sequences; 1 solves the task."""
        toys.write_share(run.model, run.recent, self, self.data.held_out, run.ranks, progress)

    def finish(self, run: Any) -> tuple[dict, list[str]]:
        """Decode the test examples, which training and validation never use; show a few."""
        examples, model, last = self.test(TESTED), run.trained(), run.history[-1]
        share = toys.share_exact(model, examples, run.ranks, bos=self.bos, eos=self.eos)
        told = (f"{self.name}: {'' if last.solved else 'not '}solved after {last.step} steps,"
                f" {share:.2%} of {len(examples[0])} test sequences exact, {last.seconds:.1f} s\n")
        losses = np.array([record.loss for record in run.history])
        lowest = np.minimum.accumulate(losses)
        if (jumps := (lowest < LEARNED) & (losses > lowest + JUMP)).any():
            told += (f"The loss jumped at step {jumps.argmax() + 1}. With beta_2 = 0.999 in Adam it"
                     " jumps less often; we keep the paper's 0.98 (docs/commands.md has more).\n")
        src, _, tgt_out = (ids[:SHOWN] for ids in examples)
        out = self.loaded(model, self).decode(src, max_len=tgt_out.shape[1])
        rows = [tuple(map(self.text, row)) for row in zip(src, out, tgt_out)]
        width = max(len("source"), *(len(cell) for row in rows for cell in row))
        lines = [f"{source:<{width}}   {output:<{width}}   {'right' if output == want else 'wrong'}"
                 for source, output, want in rows]
        return (dict(exact_match=share, held_out=len(examples[0])),
                [told, f"{'source':<{width}}   {'output':<{width}}", *lines])

    def examples(self, n: int = 5) -> list[np.ndarray]:
        """Return n sources (1, T) of the test set: the longest, and then the first others."""
        src = self.test(TESTED)[0]
        longest = src[(src != self.pad).sum(axis=1).argmax()]
        others = src[(src != longest).any(axis=1)][: n - 1]
        return [row[row != self.pad][None] for row in [longest, *others]]

    def plot(self, history: list) -> Any:
        return plot_loss(history, title=f"Training on the task {self.name}")


class Copy(SymbolTraining, CopyTask):
    """The task copy in a run."""


class Reverse(SymbolTraining, ReverseTask):
    """The task reverse in a run."""


class Sort(SymbolTraining, SortTask):
    """The task sort in a run."""
