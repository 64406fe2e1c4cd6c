"""Claim 14: post-norm with and without warm-up, compared with pre-norm (Sec. 5.3 and 3.1)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aiayn_np.plotting.figures import WIDEST, draw_spread, log_ticks
from aiayn_np.training.tasks import CopyTask, Task
from aiayn_np.variants.pre_norm import PreNormDecoderLayer, PreNormEncoderLayer

from ..experiment import AGREES, DISAGREES, NOT_HERE, Experiment, Result
from ..learning import STEPS_PER_POINT, each, losses, small_model, smooth

POST, POST_FLAT, PRE, PRE_FLAT = range(4)
NAMES = ("post-norm, warm-up", "post-norm, no warm-up", "pre-norm, warm-up", "pre-norm, no warm-up")
PRE_NORM = dict(encoder_layer=PreNormEncoderLayer, decoder_layer=PreNormDecoderLayer)


@dataclass
class WarmUp(Result):
    """Training losses, (4, len(peak), seeds, steps // 10), each the mean of ten steps.

    NAMES has the four models. When numbers stop being finite, the loss counts as log V.
    blind : the loss of the best guess that does not see the source
    """

    peak: np.ndarray
    curves: np.ndarray
    N: int
    blind: float
    title = "Warm-up lets post-norm learn at a higher rate"
    size = (WIDEST, 5.2)
    layout: ClassVar = {"sharey": True}

    @property
    def final(self):
        """Return the mean loss of the last ten steps, (4, len(peak), seeds)."""
        return self.curves[..., -1]

    @property
    def failing(self):
        """Tell whether the median loss is not below `blind`: (4, len(peak))."""
        return np.median(self.final, axis=-1) >= self.blind

    @property
    def best(self):
        """Return the lowest median loss over all rates: (4,)."""
        return np.median(self.final, axis=-1).min(axis=-1)

    @property
    def shown(self):
        """Return the index of the drawn rate: warm-up helps post-norm most at this rate."""
        medians = np.median(self.final, axis=-1)
        return int(np.argmax(medians[POST_FLAT] - medians[POST]))

    @property
    def finding(self):
        with_it, without = np.median(self.final[[POST, POST_FLAT], self.shown], axis=-1)
        either = self.listed(self.failing[[POST, POST_FLAT]].all(axis=0))
        pre_norm = self.listed(~self.failing[[PRE, PRE_FLAT]].any(axis=0))
        return (
            f"Copying, N = {self.N}: at peak rate {self.peak[self.shown]:g} post-norm ends at"
            f" {without:.2f} nats a token without warm-up ({self.blind:.2f}: source not read),"
            f" {with_it:.2f} with it; at {either} it fails either way, and its best over all rates"
            f" is {self.best[POST_FLAT]:.2f} without and {self.best[POST]:.2f} with it; pre-norm"
            f" learns at {pre_norm}."
        )

    def listed(self, chosen):
        """Write the chosen rates as text."""
        if chosen.all() or not chosen.any():
            return "every rate" if chosen.all() else "no rate"
        return ", ".join(f"{rate:g}" for rate in self.peak[chosen])

    @property
    def verdict(self):
        """Return AGREES if at some rate all seeds of post-norm fail without warm-up, and none with.

        A run fails if its loss stays above `blind`.
        """
        blind = self.final >= self.blind
        if (blind[POST_FLAT].all(axis=-1) & ~blind[POST].any(axis=-1)).any():
            return AGREES
        medians = np.median(self.final, axis=-1)
        worse = medians[POST] > medians[POST_FLAT]
        return DISAGREES if worse.all() else NOT_HERE

    def draw(self, left, right):
        steps = STEPS_PER_POINT * (np.arange(self.curves.shape[-1]) + 1)
        for i, name in enumerate(NAMES):
            draw_spread(left, self.peak, self.final[i].T, name, i)
            draw_spread(right, steps, self.curves[i, self.shown], name, i)
        for ax in (left, right):
            ax.axhline(self.blind, color="0.5", linestyle=":", label="source not read")
            ax.set_ylim(bottom=0)
        left.set(xscale="log", xlabel="peak learning rate", ylabel="loss (nats a token)",
                 title=f"after {steps[-1]} steps")
        log_ticks(left.xaxis, self.peak)
        right.set(xlabel="step", title=f"at peak learning rate {self.peak[self.shown]:g}")
        right.legend(loc="lower left", fontsize=10, frameon=False,
                     title="median (band: all seeds)", title_fontsize=10)


def warm_up(peak=(0.001, 0.003, 0.01, 0.03), *, N=4, steps=120, warmup_steps=60, seeds=(0, 1, 2),
            batch_size=16, max_length=5):
    """Train post-norm and pre-norm on copying, with and without warm-up, at several peak rates.

    With warm-up the rate rises linearly to its peak at `warmup_steps`. Without warm-up the rate is
    at the peak from the first step. After `warmup_steps` both rates fall alike, as in Eq. (3).

    Parameters
    ----------
    peak : the highest rates of the schedule     steps : a multiple of 10
    """
    task = CopyTask(max_length=max_length)

    def measure(norm, warm, rate, seed):
        return dict(loss=losses(small_model(task, seed, N=N, **norm), task, seed, steps=steps,
                                batch_size=batch_size, schedule=schedule(rate, warmup_steps, warm)))

    loss = each(({}, PRE_NORM), (True, False), peak, seeds=seeds, measure=measure)["loss"]
    values = loss.reshape(4, len(peak), len(seeds), steps)
    curves = smooth(np.nan_to_num(values, nan=np.log(task.vocab_size)), STEPS_PER_POINT)
    return WarmUp(np.array(peak), curves, N, blind_loss(task))


def schedule(peak, warmup_steps, warm):
    """Return the rate as a function of the step: Eq. (3) with this peak, or constant at first."""
    def rate(step):
        start = step / warmup_steps if warm else 1.0
        return peak * min(start, (warmup_steps / step) ** 0.5)
    return rate


def blind_loss(task: Task) -> float:
    """Return the nats per token of the best guess from the distribution of lengths alone."""
    lengths = np.arange(1, task.max_length + 1)
    p = (2 * lengths - 1) / task.max_length**2            # of the longer of two uniform lengths
    nats = -(p * np.log(p)).sum() + (p * lengths).sum() * np.log(task.symbols)
    return float(nats / (p * (lengths + 1)).sum())


WARM_UP = Experiment(
    "warm_up", claim=14, section="5.3, 3.1",
    says="The rate rises linearly for warmup_steps, then falls with the inverse square root of the"
    " step; no reason is given. Judged here is the usual one: without warm-up, post-norm fails at"
    " high rates.",
    alt="Left, the last loss against the peak rate: post-norm without warm-up rises above the"
    " line of a guess that does not read the source at a lower rate than with it; both pre-norm"
    " curves stay below that line. Right, the training curves at one such rate.",
    run=warm_up, result=WarmUp, trains=True,
)
