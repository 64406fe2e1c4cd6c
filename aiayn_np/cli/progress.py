"""Progress on stderr while a model trains: a live bar on a terminal, lines elsewhere."""

import contextlib
import math
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from .common import note, printable

EVERY = 15  # seconds between two lines


class Reporter(contextlib.AbstractContextManager):
    """Shows the progress of a training on stderr: in lines, and on a terminal also in a bar.

    A line comes at every validation and every 15 seconds. Its loss and its speed are means since
    the line before; perplexity is exp(loss).
    """

    def __init__(self, run):
        self.steps, self.done = run.task.steps, run.optimizer.t
        self.bar = progress_bar(self.steps, self.done)
        self.started = self.last = time.perf_counter()
        self.losses = []

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.close()

    def report(self, p):
        """Show one step."""
        self.losses.append(p.loss)
        if p.solved:
            self.steps = p.step                                        # training ends here
        line = self.line_of(p) if p.measured or time.perf_counter() - self.last >= EVERY else ""
        if self.bar is None:
            note(line)
            return
        self.bar.total = self.steps
        self.bar.update()
        if line:
            self.bar.write(printable(line), file=sys.stderr)

    def line_of(self, p):
        """Return a line of text for a step."""
        now = time.perf_counter()
        loss, speed = float(np.mean(self.losses)), len(self.losses) / max(now - self.last, 1e-9)
        left = (self.steps - p.step) * (now - self.started) / (p.step - self.done)
        most = "at most " if p.solved is False else ""  # it ends when solved
        self.losses, self.last = [], now
        return (f"step {p.step} of {self.steps}: loss {loss:.3f},"
                f" perplexity {math.exp(min(loss, 99)):.1f}, {speed:.3g} steps/s,"
                f" {most}{clock(left)} left{p.told()}")


def progress_bar(steps, done, **options):
    """Return a live bar on a terminal, else None; options as in tqdm."""
    if not (sys.stderr.isatty() and os.get_terminal_size(sys.stderr.fileno()).columns):
        return None
    from tqdm import tqdm

    return tqdm(total=steps, initial=done, unit="step", file=sys.stderr, **options)


def shown(steps: Any, what: str, total: int | None = None) -> Iterator:
    """Yield the steps of a long computation, and show on stderr that it goes on.

    On a terminal there is a bar, which vanishes at the end; elsewhere a line every 15 seconds.
    total : number of steps; None for len(steps)
    """
    total = len(steps) if total is None else total
    bar, last = progress_bar(total, 0, desc=what, leave=False), time.perf_counter()
    with bar or contextlib.nullcontext():
        for number, step in enumerate(steps, 1):
            yield step
            if bar is not None:
                bar.update()
            elif time.perf_counter() - last >= EVERY:
                note(f"{what}: step {number} of {total}")
                last = time.perf_counter()


def clock(seconds):
    """Return seconds as text, in s, min or h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
