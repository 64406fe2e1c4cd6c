"""Claim 2: training with dot products without the scale, and a control (Sec. 3.2.1)."""

import copy
from dataclasses import dataclass

import numpy as np

from aiayn_np.plotting.figures import COLORS, WIDEST, draw_spread
from aiayn_np.training.tasks import CopyTask
from aiayn_np.variants.scoring import dot_attention

from ..effects import BELOW, draw_effects
from ..experiment import Experiment
from ..gate import LONGER, Trained, effect
from ..learning import STEPS_PER_POINT, at_scale, each, ends, losses, small_model, smooth

SCALED, UNSCALED, SMALL_START = range(3)
NAMES = (r"with $1/\sqrt{d_k}$", "without the scale", "without, and $W^Q$ starts smaller")
LEAST = 0.05  # nats a token


@dataclass
class ScaleTraining(Trained):
    """Training losses of three kinds of model, as NAMES has them.

    curves : (3, len(d_k), rates, seeds, 3 * steps // 10), each the mean of ten steps
    score_variance : (3, len(d_k)), variance of the scores over the keys, in the first layer, before
        the first step
    """

    d_k: np.ndarray
    rate_scale: np.ndarray
    curves: np.ndarray
    score_variance: np.ndarray
    title = "Training without the scale, as $d_k$ grows"
    size = (WIDEST, 5.6)

    @property
    def final(self):
        """Return the losses after 1 x and 3 x the steps: (3, len(d_k), rates, seeds, 2)."""
        return ends(self.curves)

    def against(self, worse, better, widths):
        """Return the effects of one kind of model against another one, at some widths."""
        names = NAMES[worse], NAMES[better]
        return {f"d_k = {self.d_k[i]}": effect(
            self.final[worse, i], self.final[better, i], names, LEAST) for i in widths}

    @property
    def effects(self):
        return self.against(UNSCALED, SCALED, range(1, len(self.d_k)))

    @property
    def controls(self):
        found = self.against(SMALL_START, SCALED, range(1, len(self.d_k)))
        return {f"W^Q smaller at the start in place of the scale, {name}": value
                for name, value in found.items()}

    @property
    def finding(self):
        median = np.median(self.final[:, -1], axis=2)                  # (3, rates, 2 times)
        rate = self.rate_scale[median.argmin(axis=1)]
        early, late = [[f"{loss:.2f} (rate {at:g})" for loss, at in zip(*column)]
                       for column in zip(median.min(axis=1).T, rate.T)]
        first, last = ends(self.steps)
        scaled, unscaled, _ = self.score_variance
        most = " (the most is not at the widest)" * bool(unscaled[-1] < unscaled.max())
        return (
            f"Copying at d_k = {self.d_k[-1]}, each at its best rate, in times Eq. (3): after"
            f" {first} steps the loss is {early[SCALED]} nats a token with the scale,"
            f" {early[UNSCALED]} without it and {early[SMALL_START]} without it if W^Q starts √d_k"
            f" times smaller; after {last} steps {', '.join(late)}. For d_k ="
            f" {', '.join(map(str, self.d_k))} a query's scores in the first layer start with a"
            f" variance of {', '.join(f'{v:.0f}' for v in unscaled)} without the scale"
            f"{most}, and of"
            f" {', '.join(f'{v:.2g}' for v in scaled)} with it or with the smaller W^Q."
        )

    @property
    def steps(self):
        """Return the last step of each point of the curves."""
        return STEPS_PER_POINT * (np.arange(self.curves.shape[-1]) + 1)

    def draw(self, left, right):
        for i, (name, rates) in enumerate(zip(NAMES, self.curves[:, -1])):   # at the widest d_k
            best = np.median(rates[..., -1], axis=1).argmin()
            draw_spread(left, self.steps, rates[best], name, i)
        left.set(xlabel="step", ylabel="loss (nats a token)",
                 title=f"$d_k$ = {self.d_k[-1]}, at the rate best in the end")
        left.set_ylim(bottom=0)
        left.legend(title="median (band: all seeds)", **BELOW)
        widths = [f"$d_k$ = {width}" for width in self.d_k[1:]]
        shown = dict(zip(widths, self.effects.values()))
        shown |= {f"small $W^Q$\n{width}": value
                  for width, value in zip(widths, self.controls.values())}
        draw_effects(right, shown, "loss more than with the scale (nats)",
                     [color for color in COLORS[1:3] for _ in widths])


def scale_training(d_k=(4, 64, 256), *, rate_scale=(0.05, 0.1, 0.2, 0.4, 0.8), steps=150,
                   seeds=(0, 1, 2, 3, 4), d_model=64, batch_size=32, max_length=8):
    """Train on copying with one head: with the scale, without it, and with a smaller start.

    Queries and keys are not N(0, 1) here. With Xavier's initial values and an input whose entries
    have variance s, entries of q and k have variance 2 s d_model / (d_model + h d_k), and s is near
    1.5 in the first layer. So the variance of the scores is measured. d_v is always d_model.

    The third model has no scale, but every W^Q starts √d_k times smaller. So its first loss is that
    of the model with the scale; later its scores can grow without the divisor.

    d_k : increasing widths; the claim is about all but the first
    steps : a multiple of 10
    """
    task = CopyTask(max_length=max_length)
    size = dict(h=1, d_model=d_model, d_ff=2 * d_model, d_v=d_model)
    source = task.validation(256)[0]

    def measure(kind, width, rate, seed):
        attention = None if kind == SCALED else dot_attention
        model = small_model(task, seed, d_k=width, attention=attention, **size)
        if kind == SMALL_START:
            shrink(model, width**-0.5)
        return dict(variance=score_variance(model, source), loss=smooth(losses(
            model, task, seed, steps=LONGER * steps, batch_size=batch_size,
            schedule=at_scale(model, rate)), STEPS_PER_POINT))

    found = each(range(len(NAMES)), d_k, rate_scale, seeds=seeds, measure=measure)
    return ScaleTraining(np.array(d_k), np.array(rate_scale), found["loss"],
                         found["variance"][:, :, 0].mean(axis=-1))


def shrink(model, factor):
    """Multiply every W^Q of a model by a factor."""
    for name, p in model.named_parameters():
        if name.endswith("linear_Q.W"):
            p.value *= np.float32(factor)


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
    says="For large d_k, dot products without the scale do worse than additive attention; the"
    " suspected reason is that the softmax then has extremely small gradients. (Here they are"
    " compared with dot products with the scale; the reason is not tested.)",
    alt="Left, training curves at the widest d_k of three kinds of model. Right, for each"
    " width and seed how much more loss a model has than one with the scale: without it, and"
    " without it but with a smaller start of the query matrix.",
    dropped="3 rates and 3 seeds, 150 steps alone: with the scale the highest rate was best",
    run=scale_training, result=ScaleTraining, trains=True,
)
