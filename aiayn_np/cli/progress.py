"""Progress on stderr while a model trains: a live bar on a terminal, lines elsewhere."""

import contextlib
import math
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from .common import note

EVERY = 15  # seconds between two lines


class Reporter(contextlib.AbstractContextManager):
    """Shows the progress of a training: a bar on a terminal, lines elsewhere.

    A toy task gets a line at every validation, text every 15 seconds and at every validation.
    """

    def __init__(self, training):
        steps, done = training.steps, training.optimizer.t
        self.bar = progress_bar(steps, done)
        self.log = training.per_epoch and TextLog(steps, training.per_epoch, done)
        self.validation = ""

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.close()

    def report(self, p):
        """Show one step."""
        line = self.log.add(p) if self.log else self.line_of(p)
        if self.bar is None:
            if line is not None:
                note(line)
            return
        self.bar.update()
        if self.log and line is not None:
            self.bar.write(line, file=sys.stderr)

    def line_of(self, p):
        """A line for a step of a toy task with validation, else None. The bar shows every step."""
        if p.measured:
            which = "all sequences" if p.solved else "longest sequences"
            self.validation = f"  {which} right {p.validation:.1%}"
        text = f"loss {p.loss:.3f}  tokens right {p.accuracy:.1%}{self.validation}"
        if self.bar is not None:
            if p.solved:
                self.bar.total = p.step                                # training ends here
            self.bar.set_postfix_str(text, refresh=False)
        return f"step {p.step:5d}  {p.seconds:6.1f} s  {text}" if p.measured else None


def progress_bar(steps, done, **options):
    """A live bar on a terminal, None elsewhere. Options are those of tqdm."""
    if not (sys.stderr.isatty() and os.get_terminal_size(sys.stderr.fileno()).columns):
        return None
    from tqdm import tqdm

    return tqdm(total=steps, initial=done, unit="step", file=sys.stderr, **options)


def shown(steps: Any, what: str, total: int | None = None) -> Iterator:
    """Yield the steps of something that takes long, and show on stderr that it goes on.

    A bar on a terminal vanishes at the end. Elsewhere there is a line every 15 seconds.
    Without a `total` it is the number of steps.
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


class TextLog:
    """Collects TextProgress or WordsProgress, and makes a line of it now and then.

    steps : of the whole training   per_epoch : steps of an epoch   done : steps taken earlier
    """

    def __init__(self, steps, per_epoch, done):
        self.steps, self.per_epoch, self.done = steps, per_epoch, done
        self.started = self.last = time.perf_counter()
        self.tokens, self.losses = 0, []

    def add(self, p):
        """Add a step; return a line of text if it is time for one, else None.

        Its loss and speed are means since the last line; perplexity is exp(loss).
        """
        self.tokens += p.tokens
        self.losses.append(p.loss)
        now = time.perf_counter()
        if not p.measured and now - self.last < EVERY:
            return None
        loss, speed = float(np.mean(self.losses)), self.tokens / max(now - self.last, 1e-9)
        left = (self.steps - p.step) * (now - self.started) / (p.step - self.done)
        line = (f"epoch {p.step / self.per_epoch:.2f}, step {p.step}: loss {loss:.3f}, perplexity"
                f" {math.exp(min(loss, 99)):.1f}, {speed:,.0f} tokens/s, {clock(left)} left")
        self.last, self.tokens, self.losses = time.perf_counter(), 0, []
        return line + p.told()


def clock(seconds):
    """Return seconds as text, in s, min or h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
