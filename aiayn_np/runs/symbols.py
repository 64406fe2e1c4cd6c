"""The training on a toy task: copy, reverse, sort."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..pipelines.pipeline import SourcePipeline
from ..plotting.figures import plot_loss
from ..training.loop import Progress, share_exact, train
from ..training.tasks import TASKS, Task
from .training import Training

SHOWN = 6  # test sequences in the report


class SymbolTraining(Training):
    """A training on sequences of symbols, which ends when every validation sequence is right.

    config : as in Training, and "task_options": symbols, max_length
    """

    record = Progress
    pipeline = SourcePipeline

    def make_task(self, folder: Path) -> Task:
        """Return the task that the config names."""
        return TASKS[self.config["task"]](**self.config["task_options"])

    def prepare(self) -> list[str]:
        """Raise ValueError if no sequence is left to validate and to test on; return []."""
        self.task.validation(1)
        self.task.test(1)
        return []

    def run(self, *, threads: int | None = None) -> Iterator[Progress]:
        """Train from the current step until the task is solved, or to the last step."""
        o = self.options
        return train(self.model, self.task, steps=o["steps"], batch_size=o["batch_size"],
                     eps_ls=o["eps_ls"], accumulate=o["accumulate"], schedule=self.rate_of,
                     ranks=self.ranks, threads=threads, **self.state)

    def batch(self, step: int) -> tuple[np.ndarray, ...]:
        """Return the batch (src, tgt_in, tgt_out) of a step; steps must be taken in order."""
        return self.task.batch(self.options["batch_size"], self.rng)

    def announcement(self, folder: Path) -> Iterator[str]:
        """Yield lines about the training that begins."""
        yield f"training on the task {self.task.name}, into {folder}"
        yield from self.memory_line(self.options["batch_size"] * self.task.max_length)

    def finish(self, history: list, n: int = 2000) -> tuple[tuple, dict]:
        """Decode the test examples, which training and validation never use.

        n : how many examples; fewer if the task has fewer

        Returns ((share decoded exactly, the examples), numbers for metrics.json).
        """
        examples = self.task.test(n)
        share = share_exact(self.averaged(), examples, self.ranks, bos=self.task.bos,
                            eos=self.task.eos)
        return (share, examples), dict(exact_match=share, held_out=len(examples[0]))

    def report(self, found: Any, seconds: float, solved: bool) -> Iterator[str]:
        """Yield lines about the outcome, and a few test sequences with the model's output."""
        share, (src, _, tgt_out) = found
        yield (f"{self.task.name}: {'solved' if solved else 'not solved'} after {self.optimizer.t}"
               f" steps, {share:.2%} of {len(src)} test sequences exact, {seconds:.1f} s\n")
        src, tgt_out = src[:SHOWN], tgt_out[:SHOWN]
        text = self.task.text
        out = self.pipeline(self.task, self.averaged()).decode(src, max_len=tgt_out.shape[1])
        rows = [(text(s), text(o), text(t)) for s, o, t in zip(src, out, tgt_out)]
        width = max(len("source"), *(len(cell) for row in rows for cell in row))
        yield f"{'source':<{width}}   {'output':<{width}}"
        for source, output, want in rows:
            right = "right" if output == want else "wrong"
            yield f"{source:<{width}}   {output:<{width}}   {right}"

    def examples(self, n: int = 5) -> list[np.ndarray]:
        """Return n sources (1, T) of the test set: the longest, and then the first others."""
        src = self.task.test(2000)[0]
        longest = self.task.longest(src)
        others = src[(src != longest).any(axis=1)][: n - 1]
        return [row[row != self.task.pad][None] for row in [*longest, *others]]

    def plot(self, history: list) -> Any:
        """Return a Figure of the training curve."""
        return plot_loss(history, title=f"Training on the task {self.task.name}")
