"""Claim 14: post-norm with and without warm-up, compared with pre-norm (Sec. 5.3 and 3.1)."""

from dataclasses import dataclass

import numpy as np

from aiayn_np.plotting.figures import COLORS, WIDEST, draw_spread, log_ticks
from aiayn_np.reading.recording import Recording
from aiayn_np.training.loss import LabelSmoothedCrossEntropy
from aiayn_np.training.tasks import CopyTask, Task
from aiayn_np.variants.pre_norm import PreNormDecoderLayer, PreNormEncoderLayer

from ..effects import BELOW, draw_effects
from ..experiment import Experiment
from ..gate import LONGER, Trained, effect, models_of
from ..learning import STEPS_PER_POINT, each, ends, losses, small_model, smooth

POST, POST_FLAT, PRE, PRE_FLAT = range(4)
NAMES = ("post-norm, warm-up", "post-norm, no warm-up", "pre-norm, warm-up", "pre-norm, no warm-up")
PRE_NORM = dict(encoder_layer=PreNormEncoderLayer, decoder_layer=PreNormDecoderLayer)
LEAST = 0.05  # nats a token


@dataclass
class WarmUp(Trained):
    """Training losses, (4, len(peak), seeds, 3 * steps // 10), each the mean of ten steps.

    NAMES has the four models. When numbers stop being finite, the loss counts as log V.
    blind : the loss of the best guess that does not see the source
    high : the index of the high rate that the claim is about
    gradients : (2 norms, 3, seeds, N), lengths of gradients before the first step, for each layer
        of the decoder: of its W_1, of its b_1, and of its output
    """

    peak: np.ndarray
    curves: np.ndarray
    N: int
    blind: float
    high: int
    gradients: np.ndarray
    title = "Post-norm with and without warm-up"
    size = (WIDEST, 5.8)

    @property
    def final(self):
        """Return the losses after 1 x and 3 x the steps: (4, len(peak), seeds, 2)."""
        return ends(self.curves)

    @property
    def best(self):
        """Return the lowest median loss over all rates, after 1 x and 3 x the steps: (4, 2)."""
        return np.median(self.final, axis=2).min(axis=1)

    def against(self, warm, flat, *at):
        """Return the effects of leaving out warm-up: at some rates, and at the best rates."""
        rates = {f"peak rate {self.peak[i]:g}": [i] for i in at} | {"best rates": slice(None)}
        return {name: effect(self.final[flat, some], self.final[warm, some],
                             (NAMES[flat], NAMES[warm]), LEAST) for name, some in rates.items()}

    @property
    def effects(self):
        return self.against(POST, POST_FLAT, self.high)

    @property
    def controls(self):
        found = self.against(PRE, PRE_FLAT, self.high, -1)
        return {f"pre-norm, {name}": e for name, e in found.items()}

    @property
    def models(self):
        steps = STEPS_PER_POINT * self.curves.shape[-1] // LONGER
        return models_of(self.effects, self.peak, steps, " at the peak")

    @property
    def finding(self):
        steps = STEPS_PER_POINT * self.curves.shape[-1]
        without, with_it = np.median(self.final[[POST_FLAT, POST], self.high, :, -1], axis=-1)
        highest = np.median(self.final[POST, -1, :, -1])
        return (
            f"Copying, N = {self.N}, {steps} steps: at peak rate {self.peak[self.high]:g} post-norm"
            f" ends at {without:.2f} nats a token without warm-up ({self.blind:.2f}: source not"
            f" read) and at {with_it:.2f} with it, at peak rate {self.peak[-1]:g} at {highest:.2f}"
            f" even with it; each at its best rate, post-norm ends at"
            f" {self.best[POST_FLAT, 1]:.2f} without and {self.best[POST, 1]:.2f} with it, pre-norm"
            f" at {self.best[PRE_FLAT, 1]:.2f} and {self.best[PRE, 1]:.2f}. Before the first step"
            f" gradients in the lowest layer of the decoder are {self.lowest(0)} of those in the"
            f" highest with post-norm, {self.lowest(1)} with pre-norm (of W_1, of b_1, of the"
            f" layer's output). (Whether these gradients are the cause is not tested.)"
        )

    def lowest(self, norm):
        """Return the median gradients of the lowest layer over those of the highest, as text."""
        shares = np.median(self.gradients[norm, ..., 0] / self.gradients[norm, ..., -1], axis=-1)
        return ", ".join(f"{share:.2f}" for share in shares)

    def draw(self, left, right):
        for i, name in enumerate(NAMES):
            draw_spread(left, self.peak, self.final[i, ..., -1].T, name, i)
        left.axhline(self.blind, color="0.5", linestyle=":", label="source not read")
        left.set_ylim(bottom=0)
        steps = STEPS_PER_POINT * self.curves.shape[-1]
        left.set(xscale="log", xlabel="peak learning rate", ylabel="loss (nats a token)",
                 title=f"after {steps} steps: median (band: all seeds)")
        log_ticks(left.xaxis, self.peak)
        left.legend(fontsize=10, **BELOW)
        effects = {f"post-norm, {name}": e for name, e in self.effects.items()}
        draw_effects(right, effects | self.controls, "loss more without warm-up (nats)",
                     [COLORS[POST_FLAT]] * 2 + [COLORS[PRE_FLAT]] * 3)


def warm_up(peak=(0.0003, 0.001, 0.003, 0.01, 0.03), *, high=0.01, N=4, steps=200, warmup_steps=60,
            seeds=(0, 1, 2, 3, 4), batch_size=16, max_length=5):
    """Train post-norm and pre-norm on copying, with and without warm-up, at several peak rates.

    With warm-up the rate rises linearly to its peak at `warmup_steps`. Without warm-up the rate is
    at the peak from the first step. After `warmup_steps` both rates fall alike, as in Eq. (3).

    peak : the highest rates of the schedule; `high` is one of them, that of the claim
    steps : a multiple of 10
    """
    task = CopyTask(max_length=max_length)

    def measure(norm, warm, rate, seed):
        model, plan = small_model(task, seed, N=N, **norm), schedule(rate, warmup_steps, warm)
        loss = losses(model, task, seed, steps=LONGER * steps, batch_size=batch_size,
                      schedule=plan)
        return dict(curve=smooth(np.nan_to_num(loss, nan=np.log(task.vocab_size)),
                                 STEPS_PER_POINT))

    curve = each(({}, PRE_NORM), (True, False), peak, seeds=seeds, measure=measure)["curve"]
    gradients = each(({}, PRE_NORM), seeds=seeds, measure=lambda norm, seed: dict(
        of=layer_gradients(small_model(task, seed, N=N, **norm), task, seed)))["of"]
    return WarmUp(np.array(peak), curve.reshape(4, *curve.shape[2:]), N, blind_loss(task),
                  peak.index(high), gradients.swapaxes(1, 2))


def layer_gradients(model, task, seed):
    """Return the lengths of the gradients of W_1, of b_1 and of the output of each decoder layer,
    on one batch: (3, N).
    """
    src, tgt_in, tgt_out = task.batch(64, np.random.default_rng([seed, 1]))
    recording, criterion = Recording(model, src, tgt_in), LabelSmoothedCrossEntropy(pad=task.pad)
    _, cache = criterion.forward(recording.logits, targets=tgt_out)
    grad_logits = criterion.backward(1.0, cache)
    outputs, _ = recording.backward(grad_logits, recording.cache)
    model.zero_grad()
    model.backward(grad_logits, recording.cache)
    first = [layer.feed_forward.linear_1 for layer in model.decoder.layers]
    arrays = ([linear.W.grad for linear in first], [linear.b.grad for linear in first],
              [outputs[f"decoder.layers.{i}"] for i in range(len(first))])
    return np.array([[np.linalg.norm(array) for array in some] for some in arrays])


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
    " step; no reason is given. Judged here is the usual one, which is ours: without warm-up,"
    " post-norm fails at a high rate, and ends worse at its best rate.",
    alt="Left, the last loss of four models against the peak rate, and the line of a guess"
    " that does not read the source. Right, for each seed how much more loss a model has"
    " without warm-up, post-norm and pre-norm.",
    dropped="120 steps alone: the best losses were equal then, at over half of that of a guess",
    run=warm_up, result=WarmUp, trains=True,
)
