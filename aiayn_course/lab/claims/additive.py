"""Claim 3: additive attention needs no scale (Sec. 3.2.1)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aiayn_np.plotting.figures import COLORS, MARKERS, draw_spread, log_ticks
from aiayn_np.training.tasks import CopyTask
from aiayn_np.variants.scoring import AdditiveScore, DotScore, additive_attention, dot_attention

from ..experiment import AGREES, DISAGREES, NOT_SETTLED, Experiment, Result
from ..learning import each, losses, small_model
from ..measuring import exponent

LABELS = {"additive": "additive", "dot": "dot product, unscaled", "scaled": "dot product, scaled"}
FACTORIES = {"additive": additive_attention, "dot": dot_attention, "scaled": None}
LAST = 25  # the last loss is a mean over these steps
WIDTHS = 8192  # h times d_k in the measurement of variances


@dataclass
class AdditiveAgainstDot(Result):
    """Variance of each score before training, and loss of small models that train with the score.

    variance : name -> (len(width),)        loss : name -> (seeds, len(d_k)), nats per token
    start, end : (seeds, len(d_k)), before and after training: the variance of the unscaled dot
        product in the encoder of its model
    """

    width: np.ndarray
    variance: dict
    d_k: np.ndarray
    loss: dict
    start: np.ndarray
    end: np.ndarray
    steps: int
    title = "Without the scale the dot product falls behind additive attention as $d_k$ grows"
    size = (9.0, 5.4)

    @property
    def flatness(self):
        """Return the ratio of the largest variance of the additive score to the smallest."""
        return float(self.variance["additive"].max() / self.variance["additive"].min())

    @property
    def behind(self):
        """Return the dot product's median loss minus that of additive attention, for each d_k."""
        return np.median(self.loss["dot"], axis=0) - np.median(self.loss["additive"], axis=0)

    @property
    def finding(self):
        narrow, wide = self.d_k[0], self.d_k[-1]
        additive, dot = (np.median(self.loss[name], axis=0) for name in ("additive", "dot"))
        start, end = np.median(self.start, axis=0), np.median(self.end, axis=0)
        return (
            f"After {self.steps} steps of copying, additive attention and the unscaled dot product"
            f" have {additive[0]:.2f} and {dot[0]:.2f} nats a token at d_k = {narrow},"
            f" {additive[-1]:.2f} and {dot[-1]:.2f} at {wide}; in these models the variance of q·k"
            f" starts at {start.min():.0f} to {start.max():.0f} at every d_k and ends at"
            f" {end[0]:.0f} ({narrow}) and {end[-1]:.0f} ({wide})."
        )

    @property
    def verdict(self):
        """Return AGREES if at the widest d_k additive attention is better for all seeds."""
        if self.flatness > 1.25 or self.behind[-1] <= 0:
            return DISAGREES
        if abs(exponent(self.width, self.variance["dot"]) - 1) > 0.05:  # not as d_k grows
            return DISAGREES
        apart = self.loss["dot"][:, -1].min() > self.loss["additive"][:, -1].max()
        return AGREES if apart and self.behind[-1] > self.behind[0] else NOT_SETTLED

    def draw(self, left, right):
        self.draw_variances(left)
        for i, (name, label) in enumerate(LABELS.items()):
            draw_spread(right, self.d_k, self.loss[name], label, i)
        right.set(xscale="log", title=f"copying, after {self.steps} steps",
                  ylabel="loss (nats a token)")
        right.set_ylim(bottom=0)
        right.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), frameon=False,
                     title="median (band: all seeds)")
        for ax, widths in ((left, self.width), (right, self.d_k)):
            log_ticks(ax.xaxis, widths)
            ax.set_xlabel("$d_k$, width of queries and keys")

    def draw_variances(self, ax):
        """Draw the variances of random scores; dashed lines are dot products in the models."""
        flat = f", largest / smallest = {self.flatness:.2f}"
        for i, (name, label) in enumerate(LABELS.items()):
            ax.loglog(self.width, self.variance[name], color=COLORS[i], marker=MARKERS[i],
                      label=label + flat * (name == "additive"))
        for style, values, when in (("--", self.start, "before"), (":", self.end, "after")):
            ax.plot(self.d_k, np.median(values, axis=0), style, color=COLORS[1], marker=MARKERS[1],
                    markerfacecolor="none", label=f"unscaled, in the model, {when} training")
        ax.set(title="q and k with entries N(0, 1), or of a model", ylabel="variance of the score")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), frameon=False)


def random_scores(score, h, d_k, rng, n=32):
    """Return a score layer's output (h, n, n), float64, for q and k with entries N(0, 1)."""
    Q, K = rng.standard_normal((2, h, n, d_k), dtype=np.float32)
    return score.astype(np.float32)(Q, K).astype(np.float64)


def start_variances(width: Sequence[int], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return name -> variance of the untrained score, for each width."""
    rows = []
    for d in width:
        h = max(WIDTHS // d, 1)
        additive = random_scores(AdditiveScore(h, d, rng=rng), h, d, rng)
        dot = random_scores(DotScore(), h, d, rng)
        rows.append([scores.var() for scores in (additive, dot, dot / np.sqrt(d))])
    return dict(zip(LABELS, np.array(rows).T))


def additive_against_dot(
    width=(4, 16, 64, 256, 1024), d_k=(4, 16, 64, 256), *, steps=200, seeds=(0, 1, 2, 3, 4),
):
    """Compare additive attention with the dot product, scaled and unscaled, as d_k grows.

    First the variance of the scores is measured before training, for q and k with entries N(0, 1).
    Then a model with one layer and one head learns to copy; only its attention and d_k change. Its
    projections have Xavier's initial values. So the entries of q and k are smaller if d_k is larger
    than d_model, and the variance of their product does not start at d_k.

    Parameters
    ----------
    width : the widths for the variances       d_k : the widths for training
    steps : steps of training; the loss is a mean over the last 25
    """
    task = CopyTask(max_length=5)

    def measure(name, d, seed):
        model = small_model(task, seed, d_k=d, attention=FACTORIES[name], h=1, d_v=32)
        variance = encoder_variance if name == "dot" else lambda *_: np.nan
        start = variance(model, task)
        last = losses(model, task, seed, steps=steps, batch_size=16)[-LAST:]
        return dict(loss=last.mean(), start=start, end=variance(model, task))

    found = each(LABELS, d_k, seeds=seeds, measure=measure)             # (names, d_k, seeds)
    loss, start, end = (dict(zip(LABELS, found[key].mT)) for key in ("loss", "start", "end"))
    return AdditiveAgainstDot(
        np.array(width), start_variances(width, np.random.default_rng(seeds[0])), np.array(d_k),
        loss, start["dot"], end["dot"], steps,
    )


def encoder_variance(model, task):
    """Return the variance of the unscaled dot products in the encoder, on validation examples."""
    _, cache = model.encode(task.validation(300)[0])
    scores = cache.encoder.layers[0].self_attention.attention.score
    return (scores.Q @ scores.K.mT).var()


ADDITIVE = Experiment(
    "additive", claim=3, section="3.2.1",
    says="For small d_k additive attention and the dot product without the scale do about equally"
    " well, for larger d_k additive attention does better; 1/√d_k is meant to counter that.",
    alt="Left: variance of the score of random q and k against d_k; that of the unscaled dot"
    " product rises as a straight line, those of the additive score and of the scaled dot product"
    " are flat. In the models, dashed, that of the unscaled dot product starts at about the same"
    " height at every d_k and after training rises with d_k. Right: loss after training against"
    " d_k; the line of the unscaled dot product climbs"
    " far above the two others, which stay low.",
    settings="5 seeds, one rate, 200 steps; in claim 2 such a difference shrinks at the best rates"
    " with three times the steps",
    run=additive_against_dot, result=AdditiveAgainstDot, trains=True,
)
