"""Claim 4: many narrow heads cost about as much as one wide head (Sec. 3.2.2)."""

from dataclasses import dataclass

import numpy as np

from aiayn_np.module import Module
from aiayn_np.multi_head import MultiHeadAttention
from aiayn_np.plotting.figures import log_ticks

from ..counting import count
from ..experiment import AGREES, DISAGREES, IN_PART, Experiment, Result
from ..measuring import draw_quartiles, step_of, time_ratios

SIMILAR = 1.5  # "similar" here: at most this many times the cost of one head
PAPER_H = 8


class ProductsOnly(Module):
    """Control: (Q K^T) V, the matrix products of attention without scale, mask and softmax."""

    def forward(self, Q, K, V, *, allowed=None, rng=None):
        scores = Q @ K.mT
        return scores @ V, (Q, K, V, scores)

    def backward(self, grad_out, cache):
        Q, K, V, scores = cache
        grad_scores = grad_out @ V.mT
        return grad_scores @ K, grad_scores.mT @ Q, scores.mT @ grad_out


@dataclass
class HeadsCost(Result):
    """Time of forward and backward with h heads, relative to one head, at some lengths n.

    ratio, products : (3, len(n), len(h)), lower quartile, median and upper quartile of the layer,
        and of its control with ProductsOnly; both relative to one head of the layer
    multiply_adds : (len(n), len(h)), of the products in forward; backward has twice as many
    """

    h: np.ndarray
    n: np.ndarray
    d_model: int
    ratio: np.ndarray
    products: np.ndarray
    multiply_adds: np.ndarray
    title = "Eight heads and one wide head: equal products, unequal time"
    panels, size = (1, 1), (7.0, 5.2)

    @property
    def at_paper_h(self):
        """Return the median time of the paper's h = 8, relative to one head, for each n."""
        return self.ratio[1][:, list(self.h).index(PAPER_H)]

    @property
    def finding(self):
        times = ", ".join(f"{r:.2f} (n = {n})" for r, n in zip(self.at_paper_h, self.n))
        last = ", ".join(f"{r:.2f}" for r in self.ratio[1][:, -1])
        at = list(self.h).index(PAPER_H)
        more, of_products = (x[1][-1, at] - x[1][-1, 0] for x in (self.ratio, self.products))
        return (
            f"At d_model = {self.d_model} eight heads take {times} times as long as one,"
            f" {self.h[-1]} heads {last} times. The control has the same products without scale,"
            f" mask and softmax: of what {PAPER_H} heads take more than one at n = {self.n[-1]},"
            f" {of_products / more:.0%} is left."
        )

    @property
    def verdict(self):
        """Return AGREES if eight heads are similar at every length n, IN_PART if at some."""
        similar = self.at_paper_h <= SIMILAR
        return AGREES if similar.all() else IN_PART if similar.any() else DISAGREES

    def draw(self, ax):
        for i, n in enumerate(self.n):
            draw_quartiles(ax, self.h, self.ratio[:, i], f"time, n = {n}", i)
        draw_quartiles(ax, self.h, self.products[:, -1], f"products only, n = {self.n[-1]}",
                       len(self.n))
        products = (self.multiply_adds / self.multiply_adds[:, :1]).max(axis=0)
        ax.plot(self.h, products, "--", color="0.3", label="multiply-adds of the products")
        ax.axhspan(0.8, SIMILAR, color="0.92", zorder=0, label=f'"similar": up to {SIMILAR:g}')
        ax.set_xscale("log", base=2)
        log_ticks(ax.xaxis, self.h)
        ax.set(xlabel="$h$, number of heads of width $d_{model}/h$")
        ax.set(yscale="log", ylim=(0.8, 10), ylabel="cost / cost of one head")
        log_ticks(ax.yaxis, (1, 1.5, 2, 3, 5, 8))
        ax.legend(loc="upper left")


def heads_cost(h=(1, 2, 4, 8, 16, 32), n=(64, 512, 1024), *, d_model=512, repeats=7, seed=0):
    """Time forward and backward of MultiHeadAttention(d_model, h), d_k = d_v = d_model / h.

    h : numbers of heads, with 8 among them; the first is the one to compare with
    n : lengths of the sequence       d_model : width
    repeats : number of timings of the longest sequence, in turns; shorter sequences have more
    """
    rng = np.random.default_rng(seed)
    layers = [MultiHeadAttention(d_model, heads, attention=attention, rng=rng).astype(np.float32)
              for attention in (None, ProductsOnly()) for heads in h]
    ratios, multiply_adds = [], []
    for length in n:
        x, grad = rng.standard_normal((2, 1, length, d_model), dtype=np.float32)
        turns = repeats * max(n) // length
        ratios.append(time_ratios([step_of(layer, (x, x, x), grad) for layer in layers], 0, turns))
        multiply_adds.append([count(layer, x, x, x)[1] for layer in layers[:len(h)]])
    ratio, products = np.split(np.stack(ratios, axis=1), 2, axis=2)
    return HeadsCost(np.array(h), np.array(n), d_model, ratio, products, np.array(multiply_adds))


HEADS_COST = Experiment(
    "heads_cost", claim=4, section="3.2.2",
    says="Because each head is narrower, all heads together cost about as much as one head of full"
    " width. (Judged is the time of eight heads; about as much is here up to 1.5 times.)",
    alt="Time over that of one head, against 1 to 32 heads, for three lengths n, with a grey"
    " band up to 1.5; the longer the sequence, the steeper its line. The multiply-adds stay at"
    " 1, and the control of products alone climbs less.",
    run=heads_cost, result=HeadsCost, timed=True,
)
