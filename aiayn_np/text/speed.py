"""What is told of a training on its way: loss, perplexity, tokens per second, time left."""

import math
import time

import numpy as np

EVERY = 15  # seconds


class Told:
    """Collects TextProgress, and says now and then how it goes.

    steps : of the whole training   per_epoch : of an epoch   done : steps before this start
    """

    def __init__(self, steps, per_epoch, done):
        self.steps, self.per_epoch, self.done = steps, per_epoch, done
        self.started = self.last = time.perf_counter()
        self.tokens, self.losses = 0, []

    def take(self, p):
        """Take note of a step; return a line of text if it is time for one, else None.

        Loss and speed in it are those since the last line; perplexity is exp(loss).
        """
        self.tokens += p.tokens
        self.losses.append(p.loss)
        now = time.perf_counter()
        if p.validation_loss is None and now - self.last < EVERY:
            return None
        loss, speed = float(np.mean(self.losses)), self.tokens / max(now - self.last, 1e-9)
        left = (self.steps - p.step) * (now - self.started) / (p.step - self.done)
        line = (f"epoch {p.step / self.per_epoch:.2f}, step {p.step}: loss {loss:.3f}, perplexity"
                f" {math.exp(min(loss, 99)):.1f}, {speed:,.0f} tokens/s, {clock(left)} left")
        if p.validation_loss is not None:
            line += f"; validation loss {p.validation_loss:.3f}, averaged {p.averaged_loss:.3f}"
        if p.bleu is not None:
            line += f", BLEU {p.bleu:.2f}"
        self.last, self.tokens, self.losses = time.perf_counter(), 0, []
        return line


def clock(seconds):
    """Seconds, to be read."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
