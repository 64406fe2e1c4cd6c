"""Claim 3: additive attention needs no scale (Sec. 3.2.1)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aiayn_np.plotting.figures import COLORS, MARKERS, WIDEST, log_ticks
from aiayn_np.training.tasks import CopyTask
from aiayn_np.variants.scoring import AdditiveScore, DotScore, additive_attention, dot_attention

from ..effects import BELOW, draw_effects
from ..experiment import Experiment
from ..gate import LONGER, Trained, best_rates, effect
from ..learning import RATES, at_scale, each, losses, small_model

LABELS = {"additive": "additive", "dot": "dot product, unscaled", "scaled": "dot product, scaled"}
FACTORIES = {"additive": additive_attention, "dot": dot_attention, "scaled": None}
LAST = 25  # the last loss is a mean over these steps
LEAST = 0.05  # nats a token
WIDTHS = 8192  # h times d_k in the measurement of variances


@dataclass
class AdditiveAgainstDot(Trained):
    """Variance of each score before training, and loss of small models that train with the score.

    variance : name -> (len(width),)
    losses : name -> (len(d_k), rates, seeds, 2 times), nats per token
    """

    width: np.ndarray
    variance: dict
    d_k: np.ndarray
    rate_scale: np.ndarray
    steps: int
    losses: dict
    title = "Additive attention and the dot product without the scale, as $d_k$ grows"
    size = (WIDEST, 5.8)

    @property
    def loss(self):
        """Return name -> losses at the best rate after 3 x the steps: (seeds, len(d_k))."""
        return {name: np.array([at[best_rates(at, LEAST)[0][1], :, 1] for at in loss]).T
                for name, loss in self.losses.items()}

    def against_additive(self, name, first):
        """Return the effects of a score in place of additive attention, by width and `first`."""
        sides, losses = (LABELS[name], LABELS["additive"]), self.losses
        return {f"d_k = {d}, {('additive better', 'alike')[i < first]}": effect(
            losses[name][i], losses["additive"][i], sides, LEAST, alike=i < first)
            for i, d in enumerate(self.d_k)}

    @property
    def effects(self):
        return self.against_additive("dot", 1)

    @property
    def controls(self):
        return {f"with the scale, {name}": e
                for name, e in self.against_additive("scaled", len(self.d_k)).items()}

    @property
    def finding(self):
        last = {name: np.median(loss, axis=0) for name, loss in self.loss.items()}
        listed = ", ".join(f"{a:.2f} and {b:.2f} (d_k = {d})"
                           for a, b, d in zip(last["additive"], last["dot"], self.d_k))
        return (
            f"After {LONGER * self.steps} steps of copying, each at its best rate, additive"
            f" attention and the unscaled dot product have {listed} nats a token. (Additive"
            f" attention has 2d_k² + d_k parameters more.)"
        )

    def draw(self, left, right):
        for i, (name, label) in enumerate(LABELS.items()):
            left.loglog(self.width, self.variance[name], color=COLORS[i], marker=MARKERS[i],
                        label=label)
        log_ticks(left.xaxis, self.width)
        left.set(title="q, k with entries N(0, 1)", ylabel="variance of the scores",
                 xlabel="$d_k$, width of queries and keys")
        left.legend(fontsize=10, **BELOW)
        draw_effects(right, self.effects | self.controls, "loss more than additive (nats)",
                     [COLORS[i] for i in (1, 2) for _ in self.d_k])


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


def additive_against_dot(width=(4, 16, 64, 256, 1024), d_k=(4, 64), *,
                         rate_scale=(*RATES, 1.6), steps=120, seeds=(0, 1, 2, 3, 4)):
    """Compare additive attention with the dot product, scaled and unscaled, as d_k grows.

    First the variance of the scores is measured before training, for q and k with entries N(0, 1).
    Then a model with one layer and one head learns to copy; only its attention and d_k change.

    width : the widths for the variances       d_k : the widths for training
    steps : a loss is a mean over the last 25
    """
    task = CopyTask(max_length=5)

    def measure(name, d, rate, seed):
        model = small_model(task, seed, d_k=d, attention=FACTORIES[name], h=1, d_v=32)
        found = losses(model, task, seed, steps=LONGER * steps, batch_size=16,
                       schedule=at_scale(model, rate))
        found = np.nan_to_num(found, nan=np.log(task.vocab_size))
        return dict(loss=[found[at - LAST : at].mean() for at in (steps, LONGER * steps)])

    loss = each(LABELS, d_k, rate_scale, seeds=seeds, measure=measure)["loss"]
    return AdditiveAgainstDot(
        np.array(width), start_variances(width, np.random.default_rng(seeds[0])), np.array(d_k),
        np.array(rate_scale), steps, dict(zip(LABELS, loss)))


ADDITIVE = Experiment(
    "additive", claim=3, section="3.2.1",
    says="For small d_k additive attention and the dot product without the scale do about equally"
    " well, for larger d_k additive attention does better; 1/√d_k is meant to counter that. (Which"
    " d_k is small or large the paper does not say.)",
    alt="Left: variance of each score of random q and k against d_k. Right: for each width and seed"
    " how much more loss a model has with the dot product, unscaled and scaled, than with additive"
    " attention.",
    settings="what keeps additive scores small, the start of v or the bound of tanh: see Lesson 12",
    dropped="one rate, 200 steps alone: additive attention was better by 1.4 nats at d_k = 256",
    run=additive_against_dot, result=AdditiveAgainstDot, trains=True,
)
