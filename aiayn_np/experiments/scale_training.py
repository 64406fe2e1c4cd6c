"""Claim 2: what training makes of dot products without the scale (Sec. 3.2.1)."""

import copy
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..plotting import draw_spread
from ..tasks import CopyTask
from ..variants.scoring import dot_attention
from .experiment import AGREES, DISAGREES, NOT_HERE, Experiment, Result
from .learning import losses, small_model, smooth

BEHIND = 2.0  # times the scaled loss
WIDTH = 10  # steps whose mean is one point of a curve
NAMES = r"with $1/\sqrt{d_k}$", "without"


@dataclass
class ScaleTraining(Result):
    """Training losses, (2, len(d_k), rates, seeds, steps // 10), scaled (0) and unscaled (1).

    Each is the mean of ten steps. score_variance : (2, len(d_k)), variance over the keys of the
    scores that the softmax of the first layer gets before the first step
    """

    d_k: np.ndarray
    rate_scale: np.ndarray
    curves: np.ndarray
    score_variance: np.ndarray
    title = "Without the scale a wide $d_k$ learns slowly"
    panels = (1, 2)
    size = (9.0, 4.8)
    layout: ClassVar = {"sharey": True}

    @property
    def best(self):
        """The curves of each at the rate whose median loss ends lowest: (2, len(d_k), seeds, n)."""
        rate = np.median(self.curves[..., -1], axis=-1).argmin(axis=-1)
        return np.take_along_axis(self.curves, rate[..., None, None, None], axis=2)[:, :, 0]

    @property
    def final(self):
        """Mean loss of the last ten steps at the best rate, (2, len(d_k), seeds)."""
        return self.best[..., -1]

    @property
    def finding(self):
        narrow, wide, variance = self.d_k[0], self.d_k[-1], self.score_variance
        loss = np.median(self.final, axis=-1)
        return (
            f"Each at its best of {len(self.rate_scale)} rates, the loss after"
            f" {WIDTH * self.curves.shape[-1]} steps is {loss[0, -1]:.2f} with and"
            f" {loss[1, -1]:.2f} nats a token without the scale at d_k = {wide} (initial variance"
            f" of the scores {variance[0, -1]:.2g} and {variance[1, -1]:.0f}), and"
            f" {loss[0, 0]:.2f} and {loss[1, 0]:.2f} at d_k = {narrow}"
            f" ({variance[0, 0]:.2g} and {variance[1, 0]:.0f})."
        )

    @property
    def verdict(self):
        ratio = np.divide(*np.median(self.final, axis=-1)[::-1])
        apart = self.final[1, -1].min() > self.final[0, -1].max()
        if ratio[-1] < 1 / BEHIND:
            return DISAGREES
        return AGREES if ratio[-1] > max(BEHIND, ratio[0]) and apart else NOT_HERE

    def draw(self, left, right):
        steps = WIDTH * (np.arange(self.curves.shape[-1]) + 1)
        for i, name in enumerate(NAMES):
            draw_spread(left, steps, self.best[i, -1], name, i)
            draw_spread(right, self.d_k, self.final[i].T, name, i)
        left.set(xlabel="step", ylabel="loss (nats per token)", title=f"$d_k$ = {self.d_k[-1]}")
        left.set_ylim(bottom=0)
        right.set(xlabel="$d_k$, width of queries and keys", xscale="log",
                  title=f"after {steps[-1]} steps")
        right.set_xticks(self.d_k, [str(d) for d in self.d_k])
        right.minorticks_off()
        left.legend()


def scale_training(d_k=(4, 32, 256), *, rate_scale=(0.1, 0.2, 0.4), steps=150, seeds=3,
                   d_model=64, batch_size=32, max_length=8):
    """Train on copying with one head, with and without the scale, at several rates.

    Queries and keys are not N(0, 1) here: with Xavier's initial values and entries of the input of
    variance s, those of q and k have variance 2 s d_model / (d_model + h d_k), and s is near 1.5 in
    the first layer. So the variance of the scores is measured. d_v stays d_model.

    Parameters
    ----------
    d_k : increasing widths                     rate_scale : of Eq. (3); the best one is judged
    steps : multiple of 10                      seeds : 0, 1, ... of models and batches
    d_model : width of the model                batch_size, max_length : of the task

    Returns a ScaleTraining.
    """
    task = CopyTask(max_length=max_length)
    size = dict(h=1, d_model=d_model, d_ff=2 * d_model, d_v=d_model)
    source = task.validation(256)[0]
    runs, variances = [], []
    for attention in (None, dot_attention):
        for width in d_k:
            models = [[small_model(task, seed, d_k=width, attention=attention, **size)
                       for seed in range(seeds)] for _ in rate_scale]
            variances.append(np.mean([score_variance(m, source) for m in models[0]]))
            runs += [losses(model, task, seed, steps=steps, batch_size=batch_size, rate_scale=scale)
                     for scale, row in zip(rate_scale, models) for seed, model in enumerate(row)]
    curves = smooth(np.reshape(runs, (2, len(d_k), len(rate_scale), seeds, steps)), WIDTH)
    return ScaleTraining(np.array(d_k), np.array(rate_scale), curves,
                         np.reshape(variances, (2, len(d_k))))


def score_variance(model, src):
    """Variance over the keys of the first layer's scores, averaged over the queries.

    log(weights) are the scores but for a constant of each query, which has no variance.
    """
    src = src[(src != model.pad).all(axis=1)]                          # no key is masked
    _, cache = copy.deepcopy(model).astype(np.float64).encode(src)
    weights = cache.encoder.layers[0].self_attention.attention.weights
    return np.log(weights).var(axis=-1).mean()


SCALE_TRAINING = Experiment(
    "scale_training", claim=2, section="3.2.1",
    says="As d_k grows, dot products without the scale fall behind additive attention; the"
    " suspected reason is that the softmax then has extremely small gradients.",
    alt="Left, training curves at the widest d_k: the loss with the scale falls to near zero, the"
    " one without stays near 2 nats. Right, the last loss against d_k: the two are close for the"
    " narrowest and far apart for the wider ones.",
    run=scale_training, result=ScaleTraining, trains=True,
)
