"""Claim 3: additive attention needs no scale, and costs more than the dot product (Sec. 3.2.1)."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from ..attention import ScaledDotProductAttention
from ..plotting import COLORS, MARKERS, draw_spread
from ..tasks import CopyTask
from ..variants.scoring import (
    AdditiveScore,
    DotScore,
    additive_attention,
    dot_attention,
)
from .experiment import AGREES, DISAGREES, NOT_HERE, Experiment, Result
from .learning import losses, small_model
from .measuring import STEADY, exponent, peak_bytes, seconds

LABELS = {"additive": "additive", "dot": "dot, not scaled", "scaled": "dot, scaled"}
FACTORIES = {"additive": additive_attention, "dot": dot_attention, "scaled": None}
LAST = 25  # steps over which the last loss is a mean
RATIOS = (1, 3, 10, 30, 100)  # ticks
WIDTHS = 8192  # h times d_k when variances are measured: the smaller the width, the more heads


@dataclass
class AdditiveAgainstDot(Result):
    """Variance of each score as it starts, and loss of small models that train with it.

    variance : name -> (len(width),)        loss : name -> (seeds, len(d_k)), nats a token
    start, end : (seeds, len(d_k)), variance of the unscaled dot product in the encoder of its model
    before and after training
    """

    width: np.ndarray
    variance: dict
    d_k: np.ndarray
    loss: dict
    start: np.ndarray
    end: np.ndarray
    steps: int
    title = "Without a scale the dot product falls behind additive attention as $d_k$ grows"
    panels, size = (1, 2), (11.0, 5.0)

    @property
    def flatness(self):
        """Largest variance of the additive score over its smallest."""
        return float(self.variance["additive"].max() / self.variance["additive"].min())

    @property
    def growth(self):
        """Exponent of d_k in the variance of the dot product."""
        return exponent(self.width, self.variance["dot"])

    @property
    def behind(self):
        """Median loss of the dot product minus that of additive attention, for each d_k."""
        return np.median(self.loss["dot"], axis=0) - np.median(self.loss["additive"], axis=0)

    @property
    def apart(self):
        """Whether at the widest d_k every seed of the dot product is worse than every additive."""
        return bool(self.loss["dot"][:, -1].min() > self.loss["additive"][:, -1].max())

    @property
    def finding(self):
        last = {name: np.median(loss[:, -1]) for name, loss in self.loss.items()}
        start, end = np.median(self.start, axis=0), np.median(self.end, axis=0)
        return (
            f"From d_k = {self.width[0]} to {self.width[-1]} the variance of the additive score"
            f" changes by a factor of {self.flatness:.2f}, that of q·k grows as"
            f" d_k^{self.growth:.2f}; after {self.steps} steps of training the loss of the unscaled"
            f" dot product is {self.behind[0]:+.2f} nats from that of additive attention at"
            f" d_k = {self.d_k[0]} and {self.behind[-1]:+.2f} at {self.d_k[-1]} (there: additive"
            f" {last['additive']:.2f}, unscaled {last['dot']:.2f}, scaled {last['scaled']:.2f});"
            f" training takes the variance of its scores in the encoder from {start[0]:.0f} to"
            f" {end[0]:.0f} at d_k = {self.d_k[0]} and from {start[-1]:.0f} to {end[-1]:.0f} at"
            f" {self.d_k[-1]}."
        )

    @property
    def verdict(self):
        if self.flatness > 1.25 or abs(self.growth - 1) > 0.05 or self.behind[-1] <= 0:
            return DISAGREES
        return AGREES if self.apart and self.behind[-1] > self.behind[0] else NOT_HERE

    def draw(self, left, right):
        for i, (name, label) in enumerate(LABELS.items()):
            left.loglog(self.width, self.variance[name], color=COLORS[i], marker=MARKERS[i],
                        label=label)
            draw_spread(right, self.d_k, self.loss[name], label, i)
        for ax, widths in ((left, self.width), (right, self.d_k)):
            ax.set_xscale("log")
            ax.set_xticks(widths, [str(d) for d in widths])
            ax.set_xticks([], minor=True)
            ax.set_xlabel("$d_k$, width of queries and keys")
        left.set(title="before training, q and k with entries N(0, 1)",
                 ylabel="variance of the score")
        seeds = len(self.loss["dot"])
        right.set(title=f"copy task, after {self.steps} steps: median and range of {seeds} seeds",
                  ylabel="loss (nats per token)")
        right.set_ylim(bottom=0)
        left.legend(loc="upper left")


def score_variance(score, h, d_k, rng, n=32):
    """Variance of a score layer's output where the entries of q and k are N(0, 1)."""
    Q, K = rng.standard_normal((2, h, n, d_k), dtype=np.float32)
    return float(score.astype(np.float32)(Q, K).var(dtype=np.float64))


def start_variances(width, rng):
    """Name -> variance of the score as initialised, for each width."""
    rows = []
    for d in width:
        h = max(WIDTHS // d, 1)
        additive = score_variance(AdditiveScore(h, d, rng=rng), h, d, rng)
        dot = score_variance(DotScore(), h, d, rng)
        rows.append((additive, dot, dot / d))
    return dict(zip(LABELS, np.array(rows).T))


def additive_against_dot(
    width=(4, 16, 64, 256, 1024), d_k=(4, 16, 64, 256), *, steps=200, seeds=(0, 1, 2, 3, 4),
    d_model=32, max_length=5, batch_size=16,
):
    """Compare additive attention with the dot product, scaled and not, as d_k grows.

    First the variance of the scores before training, for q and k with entries N(0, 1). Then a model
    with one layer and one head learns to copy: only its attention and d_k change. Its projections
    start as they always do (Xavier), so that the entries of q and k are smaller where d_k is beyond
    d_model, and the variance of their product does not start as d_k.

    Parameters
    ----------
    width : widths whose variance is measured       d_k : widths to train with
    steps : of training; the loss is a mean over the last 25       seeds : one model for each
    d_model, max_length, batch_size : of the model and its task

    Returns an AdditiveAgainstDot.
    """
    task = CopyTask(max_length=max_length)
    options = dict(d_model=d_model, h=1, d_v=d_model)
    loss = {name: np.zeros((len(seeds), len(d_k))) for name in LABELS}
    start, end = np.zeros((2, len(seeds), len(d_k)))
    for (i, seed), (j, d), name in product(enumerate(seeds), enumerate(d_k), LABELS):
        model = small_model(task, seed, d_k=d, attention=FACTORIES[name], **options)
        before = encoder_variance(model, task) if name == "dot" else None
        last = losses(model, task, seed, steps=steps, batch_size=batch_size)[-LAST:]
        loss[name][i, j] = last.mean()
        if name == "dot":
            start[i, j], end[i, j] = before, encoder_variance(model, task)
    variance = start_variances(width, np.random.default_rng(seeds[0]))
    return AdditiveAgainstDot(np.array(width), variance, np.array(d_k), loss, start, end, steps)


def encoder_variance(model, task):
    """Variance of the unscaled dot products in the encoder of a model, on validation examples."""
    _, cache = model.encode(task.validation(300)[0])
    scores = cache.encoder.layers[0].self_attention.attention.score
    return (scores.Q @ scores.K.mT).var()


ADDITIVE = Experiment(
    "additive", claim=3, section="3.2.1",
    says="For small d_k additive attention and the dot product without a scale do about equally"
    " well, for larger d_k additive attention does better; 1/√d_k is meant to counter that.",
    alt="Left: variance of the score before training against d_k; that of the unscaled dot product"
    " rises as a straight line, those of the additive score and of the scaled dot product are"
    " flat. Right: loss after training against d_k; the line of the unscaled dot product climbs"
    " far above the two others, which stay low.",
    run=additive_against_dot, result=AdditiveAgainstDot, trains=True,
)


@dataclass
class AdditiveCost(Result):
    """Time and memory of additive attention over those of the scaled dot product.

    time_n, time_d : (3, sizes), lower quartile, median and upper quartile      memory_n, memory_d :
    (sizes,), peak bytes      n : lengths, with d_k[at] as width      d_k : widths, at length n[at]
    """

    n: np.ndarray
    d_k: np.ndarray
    time_n: np.ndarray
    memory_n: np.ndarray
    time_d: np.ndarray
    memory_d: np.ndarray
    at: int
    title = "Additive attention takes more time and memory than the dot product"
    panels, size, layout = (1, 2), (11.0, 4.8), {"sharey": True}

    @property
    def finding(self):
        d, time, memory = self.d_k, self.time_d[1], self.memory_d
        return (
            f"At n = {self.n[self.at]} additive attention takes {time[0]:.1f} times as long as the"
            f" dot product for d_k = {d[0]} and {time[-1]:.0f} times for d_k = {d[-1]}, and"
            f" {memory[0]:.1f} and {memory[-1]:.0f} times as many bytes: it keeps d_k numbers"
            f" for each pair of positions, not one."
        )

    @property
    def verdict(self):
        """Much faster and smaller: at every size at least twice, in time and in memory."""
        ratios = (self.time_n[1], self.time_d[1], self.memory_n, self.memory_d)
        if min(r.min() for r in ratios) >= 2:
            return AGREES
        return DISAGREES if max(r.max() for r in ratios) < 1 else NOT_HERE

    def draw(self, left, right):
        for ax, x, time, memory, label in (
            (left, self.n, self.time_n, self.memory_n, "$n$, length of the sequence"),
            (right, self.d_k, self.time_d, self.memory_d, "$d_k$, width of queries and keys"),
        ):
            bars = np.abs(time[[0, 2]] - time[1])
            ax.errorbar(x, time[1], bars, color=COLORS[0], marker=MARKERS[0], capsize=3,
                        label="time")
            ax.plot(x, memory, color=COLORS[1], marker=MARKERS[1], label="peak bytes")
            ax.axhline(1, color="0.6", linestyle=":")
            ax.set(xlabel=label, xscale="log", yscale="log")
            ax.set_xticks(x, [str(size) for size in x])
            ax.set_xticks([], minor=True)
        left.set(title=f"$d_k$ = {self.d_k[self.at]}", ylabel="additive / dot product")
        left.set_yticks(RATIOS, [str(ratio) for ratio in RATIOS])
        left.set_yticks([], minor=True)
        right.set_title(f"$n$ = {self.n[self.at]}")
        right.legend(loc="upper left")


def cost_ratios(n, d_k, repeats, rng):
    """(lower quartile, median, upper quartile) of time, and peak bytes, of additive over dot."""
    Q, K, V, grad = rng.standard_normal((4, 1, n, d_k), dtype=np.float32)
    additive = additive_attention(1, d_k, d_k, rng).astype(np.float32)

    def step(layer):
        _, cache = layer.forward(Q, K, V)
        layer.backward(grad, cache)

    steps = [lambda: step(additive), lambda: step(ScaledDotProductAttention())]
    times = seconds(steps, repeats, STEADY)
    quartiles = np.quantile(times[0], (0.25, 0.5, 0.75)) / np.median(times[1])
    return quartiles, peak_bytes(steps[0]) / peak_bytes(steps[1])


def additive_cost(n=(16, 32, 64, 128, 256), d_k=(4, 16, 64, 256, 1024), *, at=2, repeats=15,
                  seed=0):
    """Compare forward and backward of additive attention with those of the scaled dot product.

    Parameters
    ----------
    n : lengths, measured with the width d_k[at]       d_k : widths, measured at length n[at]
    repeats : how often each is timed, in turns       seed : of weights and inputs

    Returns an AdditiveCost.
    """
    rng = np.random.default_rng(seed)
    time_n, memory_n = zip(*[cost_ratios(size, d_k[at], repeats, rng) for size in n])
    time_d, memory_d = zip(*[cost_ratios(n[at], size, repeats, rng) for size in d_k])
    return AdditiveCost(np.array(n), np.array(d_k), np.array(time_n).T, np.array(memory_n),
                        np.array(time_d).T, np.array(memory_d), at)


ADDITIVE_COST = Experiment(
    "additive_cost", claim=3, section="3.2.1",
    says="Both attentions are alike in theory, but the dot product is much faster and takes less"
    " memory, because it is a matrix product.",
    alt="Time and peak bytes of additive attention over those of the dot product, on logarithmic"
    " axes: against n, and against d_k, where both rise. All points lie above the dotted line at"
    " 1, where the two would be equal.",
    run=additive_cost, result=AdditiveCost, timed=True,
)
