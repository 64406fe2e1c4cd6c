"""Claim 2: training with dot products without the scale (Sec. 3.2.1)."""

import copy
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from aiayn_np.plotting.figures import draw_spread, log_ticks
from aiayn_np.training.optimizer import warmup_rate
from aiayn_np.training.tasks import CopyTask
from aiayn_np.variants.scoring import dot_attention

from ..experiment import AGREES, DISAGREES, NOT_HERE, Experiment, Result
from ..learning import STEPS_PER_POINT, each, losses, small_model, smooth

BEHIND = 2.0  # times the scaled loss
NAMES = r"with $1/\sqrt{d_k}$", "without the scale"


@dataclass
class ScaleTraining(Result):
    """Training losses, (2, len(d_k), rates, seeds, steps // 10), scaled (0) and unscaled (1).

    A loss is the mean of ten steps.
    score_variance : (2, len(d_k)), variance of the scores over the keys, in the first layer, before
        the first step
    """

    d_k: np.ndarray
    rate_scale: np.ndarray
    curves: np.ndarray
    score_variance: np.ndarray
    title = "Without the scale a wide $d_k$ learns slowly"
    layout: ClassVar = {"sharey": True}

    @property
    def best_rate(self):
        """Return the index of the rate with the lowest median loss at the end: (2, len(d_k))."""
        return np.median(self.curves[..., -1], axis=-1).argmin(axis=-1)

    @property
    def best(self):
        """Return the loss curves at the best rate for each d_k, scaled and unscaled."""
        rate = self.best_rate[..., None, None, None]
        return np.take_along_axis(self.curves, rate, axis=2)[:, :, 0]

    @property
    def final(self):
        """Return the mean loss of the last ten steps at the best rate, (2, len(d_k), seeds)."""
        return self.best[..., -1]

    @property
    def finding(self):
        narrow, wide, rates = self.d_k[0], self.d_k[-1], len(self.rate_scale)
        loss = np.median(self.final, axis=-1)
        highest = (self.best_rate[0] == rates - 1).all()
        return (
            f"Copying, {STEPS_PER_POINT * self.curves.shape[-1]} steps, best of {rates} rates: with"
            f" the scale the loss is {loss[0, 0]:.2f} (d_k = {narrow}) and {loss[0, -1]:.2f} nats a"
            f" token (d_k = {wide}){', at the highest rate tried' if highest else ''}, without it"
            f" {loss[1, 0]:.2f} and {loss[1, -1]:.2f}."
        )

    @property
    def verdict(self):
        ratio = np.divide(*np.median(self.final, axis=-1)[::-1])
        apart = self.final[1, -1].min() > self.final[0, -1].max()
        if ratio[-1] < 1 / BEHIND:
            return DISAGREES
        return AGREES if ratio[-1] > max(BEHIND, ratio[0]) and apart else NOT_HERE

    def draw(self, left, right):
        steps = STEPS_PER_POINT * (np.arange(self.curves.shape[-1]) + 1)
        for i, name in enumerate(NAMES):
            draw_spread(left, steps, self.best[i, -1], name, i)
            draw_spread(right, self.d_k, self.final[i].T, name, i)
        left.set(xlabel="step", ylabel="loss (nats a token)", title=f"$d_k$ = {self.d_k[-1]}")
        left.set_ylim(bottom=0)
        right.set(xlabel="$d_k$, width of queries and keys", xscale="log",
                  title=f"after {steps[-1]} steps")
        log_ticks(right.xaxis, self.d_k)
        left.legend(title="median (band: all seeds)")


def scale_training(d_k=(4, 32, 256), *, rate_scale=(0.1, 0.2, 0.4), steps=150, seeds=(0, 1, 2),
                   d_model=64, batch_size=32, max_length=8):
    """Train on copying with one head, with and without the scale, at several rates.

    Queries and keys are not N(0, 1) here. With Xavier's initial values and an input whose entries
    have variance s, entries of q and k have variance 2 s d_model / (d_model + h d_k), and s is near
    1.5 in the first layer. So the variance of the scores is measured. d_v is always d_model.

    Parameters
    ----------
    d_k : increasing widths               rate_scale : factors of Eq. (3); the best one is judged
    steps : a multiple of 10
    """
    task = CopyTask(max_length=max_length)
    size = dict(h=1, d_model=d_model, d_ff=2 * d_model, d_v=d_model)
    source = task.validation(256)[0]

    def measure(attention, width, rate, seed):
        model = small_model(task, seed, d_k=width, attention=attention, **size)
        schedule = partial(warmup_rate, d_model=d_model, warmup_steps=100, scale=rate)
        return dict(variance=score_variance(model, source), loss=losses(
            model, task, seed, steps=steps, batch_size=batch_size, schedule=schedule))

    found = each((None, dot_attention), d_k, rate_scale, seeds=seeds, measure=measure)
    return ScaleTraining(np.array(d_k), np.array(rate_scale),
                         smooth(found["loss"], STEPS_PER_POINT),
                         found["variance"][:, :, 0].mean(axis=-1))


def score_variance(model, src):
    """Return the variance of the first layer's scores over the keys, averaged over all queries.

    log(weights) are the scores minus a constant for each query, which does not change the variance.
    """
    src = src[(src != model.pad).all(axis=1)]                          # no key is masked
    _, cache = copy.deepcopy(model).astype(np.float64).encode(src)
    weights = cache.encoder.layers[0].self_attention.attention.weights
    return np.log(weights).var(axis=-1).mean()


SCALE_TRAINING = Experiment(
    "scale_training", claim=2, section="3.2.1",
    says="For large d_k, dot products without the scale train worse; the suspected reason is that"
    " the softmax then has extremely small gradients.",
    alt="Left, training curves at the widest d_k: the loss with the scale falls to near zero, the"
    " one without it stays high. Right, the last loss against d_k: at the narrowest the one without"
    " the scale is already above, at the wider ones far above.",
    run=scale_training, result=ScaleTraining, trains=True,
)
