"""The training on a toy task: copy, reverse, sort."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..pipelines.pipeline import SymbolPipeline
from ..plotting.figures import plot_loss
from ..training import loop, toys
from ..training.tasks import TASKS, Task
from .training import Training

TESTED, SHOWN = 2000, 6  # test sequences; test sequences in the report


class SymbolTraining(Training):
    """A training on sequences of symbols, which ends when every validation sequence is right.

    config : as in Training, and "task_options": symbols, max_length
    """

    shape: ClassVar[dict] = Training.shape | dict(
        task_options=dict(symbols=int, max_length=int),
        train=Training.shape["train"] | dict(steps=int, batch_size=int))
    record = toys.Progress
    pipeline = SymbolPipeline
    measure = staticmethod(loop.token_scores)
    record_of = staticmethod(toys.progress_of)
    validate_every = 25

    def make_task(self, folder: Path) -> Task:
        """Return the task that the config names."""
        return TASKS[self.config["task"]](**self.config["task_options"])

    def prepare(self, data: Any = None) -> list[str]:
        """Make the validation examples; a batch is drawn in its step.

        Raises ValueError if no sequence is left to validate and to test on.
        """
        self.held_out = self.task.validation(toys.VALIDATED)
        self.task.test(1)
        return []

    def batch(self, step: int) -> tuple[np.ndarray, ...]:
        """Return the batch (src, tgt_in, tgt_out) of a step; steps must be taken in order."""
        return self.task.batch(self.options["batch_size"], self.rng)

    def validate(self, progress: toys.Progress) -> None:
        """Write into a record the share of exactly decoded sequences; 1 solves the task."""
        toys.write_share(self.model, self.recent, self.task, self.held_out, self.ranks, progress)

    def finish(self, history: list) -> tuple[dict, Iterator[str]]:
        """Decode the test examples. Training and validation never use them."""
        examples, model, last = self.task.test(TESTED), self.averaged(), history[-1]
        share = toys.share_exact(model, examples, self.ranks, bos=self.task.bos, eos=self.task.eos)
        told = (f"{self.task.name}: {'' if last.solved else 'not '}solved after {last.step} steps,"
                f" {share:.2%} of {len(examples[0])} test sequences exact, {last.seconds:.1f} s\n")
        return (dict(exact_match=share, held_out=len(examples[0])),
                self.outcome(told, model, examples))

    def outcome(self, told: str, model: Any, examples: tuple) -> Iterator[str]:
        """Yield a line on the outcome, and a few test sequences with the model's output."""
        yield told
        src, _, tgt_out = (ids[:SHOWN] for ids in examples)
        out = self.pipeline(self.task, model).decode(src, max_len=tgt_out.shape[1])
        rows = [tuple(map(self.task.text, row)) for row in zip(src, out, tgt_out)]
        width = max(len("source"), *(len(cell) for row in rows for cell in row))
        yield f"{'source':<{width}}   {'output':<{width}}"
        for source, output, want in rows:
            right = "right" if output == want else "wrong"
            yield f"{source:<{width}}   {output:<{width}}   {right}"

    def examples(self, n: int = 5) -> list[np.ndarray]:
        """Return n sources (1, T) of the test set: the longest, and then the first others."""
        src = self.task.test(TESTED)[0]
        longest = src[(src != self.task.pad).sum(axis=1).argmax()]
        others = src[(src != longest).any(axis=1)][: n - 1]
        return [row[row != self.task.pad][None] for row in [longest, *others]]

    def plot(self, history: list) -> Any:
        return plot_loss(history, title=f"Training on the task {self.task.name}")
