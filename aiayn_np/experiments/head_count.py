"""Claim 11: one head, very many heads and a small d_k are worse (Table 3, rows A and B)."""

from dataclasses import dataclass

import numpy as np

from ..plotting import COLORS, draw_spread, log_ticks
from ..tasks import TASKS
from .experiment import AGREES, DISAGREES, NOT_HERE, Experiment, Result
from .learning import learn, scores, small_model

# Perplexity per word piece on the paper's development set, from Table 3.
PAPER_H = {"x": [1, 4, 8, 16, 32], "perplexity": [5.29, 5.00, 4.92, 4.91, 5.01]}
PAPER_D_K = {"x": [16, 32, 64], "perplexity": [5.16, 5.01, 4.92]}


@dataclass
class Widths(Result):
    """Held-out loss after so many steps, in nats a token, for several tasks, seeds and values of x.

    loss : (tasks, seeds, values); one seed has the same batches for all values
    """

    tasks: list
    x: np.ndarray
    steps: int
    loss: np.ndarray
    panels = (1, 2)
    size = (8.6, 4.6)

    def compare(self, x, base):
        """For each task: (ratio of the loss at x to that at base, +1 worse in every seed, -1 better
        in every seed, 0 neither), the ratio a geometric mean over seeds.
        """
        log = np.log(self.at(x) / self.at(base))                       # (tasks, seeds)
        return np.exp(log.mean(axis=1)), (log > 0).all(axis=1) * 1 - (log < 0).all(axis=1)

    def at(self, x):
        """Losses at one value of x: (tasks, seeds)."""
        return self.loss[..., list(self.x).index(x)]

    def told(self, x, base):
        """The comparison in words: "1.52 (copy), ..."; what differs between seeds is marked."""
        parts = zip(self.tasks, *self.compare(x, base))
        return ", ".join(f"{ratio:.2f} ({task}{'' if sign else ', seeds differ'})"
                         for task, ratio, sign in parts)

    def draw_both(self, ours, paper, name, table):
        """Ours on one axis, the paper's perplexities on the other, both against x."""
        for i, task in enumerate(self.tasks):
            draw_spread(ours, self.x, self.loss[i], task, i)
        ours.set(xscale="log", yscale="log", ylabel="held-out loss (nats a token)",
                 title=f"measured, {self.steps} steps")
        paper.plot(table["x"], table["perplexity"], "o-", color=COLORS[6])
        paper.set(xscale="log", ylabel="perplexity", title="the paper, translation")
        for ax, values in ((ours, self.x), (paper, table["x"])):
            ax.set_xlabel(name)
            log_ticks(ax.xaxis, values)
        log_ticks(paper.yaxis, [5, 5.1, 5.2])
        log_ticks(ours.yaxis, [0.1, 0.2, 0.5, 1])
        ours.set_ylim(bottom=0.04)                                     # room for the legend
        ours.legend(ncols=3, loc="lower center", columnspacing=1, handlelength=1.5,
                    title="median (band: all seeds)")


@dataclass
class HeadCount(Widths):
    """Loss against h at constant h d_k = d_model."""

    base: int
    title = "One head, or very many, at constant $h · d_k$"

    @property
    def finding(self):
        few, many = int(self.x[0]), int(self.x[-1])
        return (
            f"Held-out loss after {self.steps} steps over that with h = {self.base}: h = {few} has"
            f" {self.told(few, self.base)}, h = {many} has {self.told(many, self.base)}."
        )

    @property
    def verdict(self):
        """Agrees if both ends are worse on every task and seed, disagrees if one is reversed."""
        signs = [self.compare(self.x[end], self.base)[1] for end in (0, -1)]
        if np.min(signs) < 0:
            return DISAGREES
        return AGREES if np.min(signs) > 0 else NOT_HERE

    def draw(self, ours, paper):
        self.draw_both(ours, paper, "h, number of heads", PAPER_H)


@dataclass
class KeyWidth(Widths):
    """Loss against d_k at constant h and d_v."""

    h: int
    title = "Narrow queries and keys, at constant $h$ and $d_v$"

    @property
    def finding(self):
        least, most = int(self.x[0]), int(self.x[-1])
        return (
            f"Held-out loss after {self.steps} steps with h = {self.h} over that with d_k = {most}:"
            f" d_k = {least} has {self.told(least, most)}."
        )

    @property
    def verdict(self):
        """Agrees if the least d_k is worse on every task and seed, disagrees if it is reversed."""
        signs = self.compare(self.x[0], self.x[-1])[1]
        return AGREES if signs.min() > 0 else DISAGREES if signs.min() < 0 else NOT_HERE

    def draw(self, ours, paper):
        self.draw_both(ours, paper, "$d_k$, width of queries and keys", PAPER_D_K)


def held_out_losses(models, *, tasks, seeds, steps, symbols, max_length, batch_size):
    """Losses (tasks, seeds, values) of small models trained without label smoothing.

    models : options of `small_model`, one dict for each value
    """
    found = np.zeros((len(tasks), len(seeds), len(models)))
    for i, task_name in enumerate(tasks):
        task = TASKS[task_name](symbols=symbols, max_length=max_length)
        held_out = task.validation(500)
        for s, seed in enumerate(seeds):
            for v, options in enumerate(models):
                model = small_model(task, seed, **options)
                for _ in learn(model, task, seed, steps=steps, batch_size=batch_size, eps_ls=0.0):
                    pass
                found[i, s, v] = scores(model, held_out)[0]
    return found


def head_count(h=(1, 4, 8, 16, 32), *, base=8, d_model=32, tasks=("copy", "reverse", "sort"),
               seeds=(0, 1, 2, 3), steps=200, symbols=8, max_length=8, batch_size=16):
    """Train models that differ in h alone, with d_k = d_v = d_model / h, and measure their loss.

    Parameters
    ----------
    h : numbers of heads, ascending       base : the one that the ends are compared with, 8 as in
    the paper       tasks : names of toy tasks       seeds : each begins with the same values and
    sees the same batches for every h       the others : of the models, the tasks, the training

    Returns a HeadCount.
    """
    if base not in h:
        raise ValueError(f"h must contain the base {base}, got {h}")
    models = [dict(h=heads, d_model=d_model) for heads in h]
    loss = held_out_losses(models, tasks=tasks, seeds=seeds, steps=steps, symbols=symbols,
                           max_length=max_length, batch_size=batch_size)
    return HeadCount(list(tasks), np.array(h), steps, loss, base)


def key_width(d_k=(1, 2, 4, 8), *, h=4, d_model=32, tasks=("copy", "reverse", "sort"),
              seeds=(0, 1, 2, 3), steps=200, symbols=8, max_length=8, batch_size=16):
    """Train models that differ in d_k alone, with d_v = d_model / h, and measure their loss.

    Parameters
    ----------
    d_k : widths, ascending       tasks : names of toy tasks       seeds : each sees the same
    batches for every d_k         the others : of the models, the tasks, the training

    Returns a KeyWidth.
    """
    models = [dict(h=h, d_model=d_model, d_k=width) for width in d_k]
    loss = held_out_losses(models, tasks=tasks, seeds=seeds, steps=steps, symbols=symbols,
                           max_length=max_length, batch_size=batch_size)
    return KeyWidth(list(tasks), np.array(d_k), steps, loss, h)


HEAD_COUNT = Experiment(
    "head_count", claim=11, section="3.2.2, 6.2, Table 3 (A)",
    says="At constant h·d_k one head is worse than eight (BLEU 24.9 and 25.8), and 32 are worse too"
    " (25.4).",
    alt="Left, held-out loss against the number of heads, a line with a band for each task: copy"
    " rises steadily, reverse is flat and then rises a little, sort falls at first and stays flat."
    " Right, the paper's perplexity on translation: lowest in the middle, higher at both ends.",
    run=head_count, result=HeadCount, trains=True,
)

KEY_WIDTH = Experiment(
    "key_width", claim=11, section="6.2, Table 3 (B)",
    says="A smaller d_k alone hurts the model: compatibility is not easy to determine.",
    alt="Left, held-out loss against d_k, a line with a band for each of three tasks: copy falls"
    " most, reverse less, sort hardly. Right, the paper's perplexity on translation falls too.",
    run=key_width, result=KeyWidth, trains=True,
)
