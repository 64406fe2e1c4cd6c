"""Claim 11: one head, very many heads and a small d_k are worse (Table 3, rows A and B)."""

from dataclasses import dataclass

import numpy as np

from aiayn_np.plotting.figures import COLORS, draw_spread, log_ticks
from aiayn_np.training.tasks import TASKS

from ..experiment import AGREES, DISAGREES, NOT_HERE, Experiment, Result
from ..learning import each, scores, taught

# Perplexity per word piece on the paper's development set, from Table 3.
PAPER_H = {"x": [1, 4, 8, 16, 32], "perplexity": [5.29, 5.00, 4.92, 4.91, 5.01]}
PAPER_D_K = {"x": [16, 32, 64], "perplexity": [5.16, 5.01, 4.92]}


@dataclass
class Widths(Result):
    """Held-out loss after `steps` steps, in nats per token, for tasks, seeds and values of x.

    loss : (tasks, seeds, values); the models of one seed see the same batches for all values
    """

    tasks: list
    x: np.ndarray
    steps: int
    loss: np.ndarray
    size, layout = (8.6, 4.2), {"sharey": True}

    def compare(self, x, base):
        """Return (ratios, signs), one for each task.

        A ratio is the loss at x divided by the loss at base, a geometric mean over seeds. A sign is
        +1 if x is worse for every seed, -1 if x is better for every seed, else 0.
        """
        log = np.log(self.at(x) / self.at(base))                       # (tasks, seeds)
        return np.exp(log.mean(axis=1)), (log > 0).all(axis=1) * 1 - (log < 0).all(axis=1)

    def at(self, x):
        """Return the losses at one value of x: (tasks, seeds)."""
        return self.loss[..., list(self.x).index(x)]

    def compared(self, x, base):
        """Return the comparison as text, "1.52 (copy), ...", with a note if seeds differ."""
        parts = zip(self.tasks, *self.compare(x, base))
        return ", ".join(f"{ratio:.2f} ({task}{'' if sign else ', seeds differ'})"
                         for task, ratio, sign in parts)

    def draw_both(self, ours, paper, name, table, bases):
        """Draw our losses and the paper's against x, each divided by the loss at its base."""
        for i, task in enumerate(self.tasks):
            draw_spread(ours, self.x, self.loss[i] / self.at(bases[0])[i][:, None], task, i)
        log = np.log(table["perplexity"])
        ratio = log / log[table["x"].index(bases[1])]
        paper.plot(table["x"], ratio, "o-", color=COLORS[6])
        for x, y in zip(table["x"], ratio):
            paper.annotate(f"{y:.2f}", (x, y), xytext=(0, 8), textcoords="offset points",
                           ha="center")
        ours.set(title=f"toy tasks, after {self.steps} steps", ylabel="loss / loss at the base")
        paper.set(title="the paper, translation, trained to the end")
        for ax, values, base in ((ours, self.x, bases[0]), (paper, table["x"], bases[1])):
            ax.axhline(1, color="0.6", linestyle=":", zorder=0)
            ax.set(xscale="log", yscale="log", xlabel=f"{name} (base: {base})", ylim=(0.13, 5))
            log_ticks(ax.xaxis, values)
            log_ticks(ax.yaxis, [0.25, 0.5, 1, 2, 4])
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
            f"Held-out loss after {self.steps} steps, long before the models are done, over that"
            f" with h = {self.base}: h = {few} has {self.compared(few, self.base)}, h = {many} has"
            f" {self.compared(many, self.base)}."
        )

    @property
    def verdict(self):
        """Return AGREES if the fewest and the most heads are worse on every task and seed.

        It is never DISAGREES: the paper compares fully trained models, but these losses show how
        fast a model learns.
        """
        signs = [self.compare(self.x[end], self.base)[1] for end in (0, -1)]
        return AGREES if np.min(signs) > 0 else NOT_HERE

    def draw(self, ours, paper):
        self.draw_both(ours, paper, "$h$, number of heads", PAPER_H, (self.base, 8))


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
            f" d_k = {least} has {self.compared(least, most)}."
        )

    @property
    def verdict(self):
        """Return AGREES if the least d_k is worse on every task and seed.

        It is DISAGREES if the least d_k is better for every seed on one task.
        """
        signs = self.compare(self.x[0], self.x[-1])[1]
        return AGREES if signs.min() > 0 else DISAGREES if signs.min() < 0 else NOT_HERE

    def draw(self, ours, paper):
        self.draw_both(ours, paper, "$d_k$, width of queries and keys", PAPER_D_K,
                       (self.x[-1], 64))


def held_out_losses(models, *, tasks=("copy", "reverse", "sort"), seeds=(0, 1, 2, 3), steps=200,
                    batch_size=16):
    """Train models without smoothing; return tasks, steps and the losses (tasks, seeds, values).

    models : options of `small_model`, one dict for each value       tasks : names of toy tasks
    """
    def measure(name, seed):
        task = TASKS[name](symbols=8, max_length=8)
        held_out = task.validation(500)
        trained = [taught(task, seed, options, steps=steps, batch_size=batch_size, eps_ls=0.0)
                   for options in models]
        return dict(loss=[scores(model, held_out)[0] for model in trained])

    return dict(tasks=list(tasks), steps=steps, **each(tasks, seeds=seeds, measure=measure))


def head_count(h=(1, 4, 8, 16, 32), **training):
    """Train models that differ only in h, with d_k = d_v = d_model / h, and measure their loss.

    Parameters
    ----------
    h : numbers of heads, ascending       training : options of `held_out_losses`
    """
    losses = held_out_losses([dict(h=heads) for heads in h], **training)
    return HeadCount(x=np.array(h), base=8, **losses)                  # 8 as in the paper


def key_width(d_k=(1, 2, 4, 8), **training):
    """Train models that differ only in d_k, with h = 4 and d_v = 8, and measure their loss.

    Parameters
    ----------
    d_k : widths, ascending       training : options of `held_out_losses`
    """
    losses = held_out_losses([dict(h=4, d_k=width) for width in d_k], **training)
    return KeyWidth(x=np.array(d_k), h=4, **losses)


HEAD_COUNT = Experiment(
    "head_count", claim=11, section="3.2.2, 6.2, Table 3 (A)",
    says="At constant h·d_k one head is worse than eight (BLEU 24.9 and 25.8), and 32 are worse too"
    " (25.4).",
    alt="Two panels with one axis, the loss over that with 8 heads. Left, toy tasks against the"
    " number of heads: copy rises steadily, reverse is flat and then rises a little, sort falls at"
    " first and stays flat. Right, the paper's translation: nearly flat, from 1.05 with one head to"
    " 1.00 with 16 and 1.01 with 32.",
    run=head_count, result=HeadCount, trains=True,
)

KEY_WIDTH = Experiment(
    "key_width", claim=11, section="6.2, Table 3 (B)",
    says="A smaller d_k alone hurts the model: compatibility is not easy to determine.",
    alt="Two panels with one axis, the loss over that at the widest d_k. Left, three toy tasks:"
    " copy falls most as d_k grows, reverse less, sort least. Right, the paper's translation:"
    " nearly flat, 1.03 at d_k = 16 and 1.01 at 32.",
    run=key_width, result=KeyWidth, trains=True,
)
