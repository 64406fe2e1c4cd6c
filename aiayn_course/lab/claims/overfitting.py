"""Claim 12: dropout fights over-fitting on a small training set (Sec. 5.4, Table 3 D)."""

from dataclasses import dataclass

import numpy as np

from aiayn_np.plotting.figures import COLORS, WIDEST, draw_spread
from aiayn_np.training.tasks import ReverseTask

from ..effects import BELOW, draw_effects
from ..experiment import Experiment
from ..gate import LONGER, Trained, effect
from ..learning import RATES, at_scale, each, ends, learn, scores, small_model

NATS, POINTS = 0.05, 1.0  # the least differences that count: of a token's loss, of tokens right


class FewExamples(ReverseTask):
    """Reverse, with only `size` training sequences: `examples`, drawn once."""

    def __init__(self, size, rng, **options):
        super().__init__(**options)
        self.examples = super().batch(size, rng)

    def batch(self, n, rng):
        rows = rng.integers(0, len(self.examples[0]), n)
        return tuple(ids[rows] for ids in self.examples)


@dataclass
class DropoutCurves(Trained):
    """Losses and accuracy, without dropout, of models that train on a few sequences.

    sequences : of the training set       P_drop : the first is 0       usual : index of a rate
    steps : at which was measured, up to 3 x the steps
    training, held_out : (P_drop, rates, seeds, steps), nats a token of the training set and of
        other sequences       right : the share of right tokens in these, of the same shape
    """

    sequences: int
    P_drop: np.ndarray
    rate_scale: np.ndarray
    usual: int
    steps: np.ndarray
    training: np.ndarray
    held_out: np.ndarray
    right: np.ndarray
    title = "Dropout on a small training set, at the usual rate and at the best ones"
    size = (WIDEST, 5.4)

    @property
    def validation(self):
        """Return the held-out losses at the usual rate: (P_drop, seeds, steps)."""
        return self.held_out[:, self.usual]

    def against_none(self, losses, least, unit, named):
        """Return the effects of each P_drop > 0 on some losses, (P_drop, rates, seeds, 2)."""
        names = [f"P_drop = {P:g}" for P in self.P_drop]
        rates = {"usual rate": slice(self.usual, self.usual + 1), "best rates": slice(None)}
        return {f"{name}, {rate}, {named}": effect(
            losses[0, some], loss[some], (names[0], name), least, unit=unit)
            for name, loss in zip(names[1:], losses[1:]) for rate, some in rates.items()}

    @property
    def effects(self):
        return (self.against_none(ends(self.held_out), NATS, "nats", "less loss")
                | self.against_none(100 * (1 - ends(self.right)), POINTS, "points",
                                    "more tokens right"))

    @property
    def controls(self):
        """Return the effects on the lowest held-out loss so far, as if training ended there."""
        lowest = np.minimum.accumulate(self.held_out, axis=-1)
        return self.against_none(ends(lowest), NATS, "nats", "lowest so far")

    @property
    def finding(self):
        loss = np.median(self.held_out, axis=2)                        # (P_drop, rates, steps)
        best, usual = loss[..., -1].min(axis=1), loss[:, self.usual]
        more = np.subtract(*np.median([self.held_out[0], self.training[0]], axis=2)[..., -1])
        at = more.argmin()                                             # where it over-fits least
        return (
            f"Held-out loss, in nats a token, on reverse with {self.sequences} training sequences:"
            f" at the usual rate it falls to {usual[0].min():.2f} without dropout (step"
            f" {self.steps[usual[0].argmin()]}) and rises to {usual[0, -1]:.2f} (step"
            f" {self.steps[-1]}); with P_drop = {self.P_drop[1]:g} it falls to {usual[1, -1]:.2f}."
            f" Each at its best rate ends at {best[0]:.2f} without and {best[1]:.2f} with it."
            f" Without dropout the loss is in the end {more[at]:.2f} above that of the training set"
            f" at {self.rate_scale[at]:g} times Eq. (3), and {np.delete(more, at).min():.2f} or"
            f" more at every other rate."
        )

    def draw(self, left, right):
        for i, P in enumerate(self.P_drop):
            draw_spread(left, self.steps, self.validation[i], f"{P:g}", i)
            left.plot(self.steps, np.median(self.training[i, self.usual], axis=0), "--",
                      color=COLORS[i])
        left.plot([], [], "--", color="0.4", label="training set")
        left.legend(title="$P_{drop}$, held-out: median (band: all seeds)", ncols=2, **BELOW)
        left.set(xlabel="step, at the usual rate", ylabel="loss (nats a token)", xlim=(0, None),
                 ylim=(0, None))
        shown = {k: e for k, e in (self.effects | self.controls).items() if e.unit == "nats"}
        draw_effects(right, shown, "less held-out loss (nats)", [COLORS[1]] * len(shown))


def dropout(
    P_drop=(0.0, 0.1), *, rate_scale=(*RATES, 1.6, 3.2), usual=0.2, sequences=200, steps=200,
    every=50, seeds=(0, 1, 2, 3, 4), **options
):
    """Train with each P_drop on a few sequences of `reverse`, without label smoothing.

    P_drop : rates, the first is 0         sequences : size of the training set, drawn for each seed
    usual : the one of these whose curves are drawn, that of `train`
    steps : a multiple of `every`
    every : steps between measurements      options : of `small_model`
    """

    def measure(P, rate, seed):
        task = FewExamples(sequences, np.random.default_rng([seed, 2]))
        model = small_model(task, seed, P_drop=P, **options)
        known, held_out = [ids[:300] for ids in task.examples], task.validation(300)
        measured = [(scores(model, known)[0], *scores(model, held_out))
                    for p in learn(model, task, seed, steps=LONGER * steps, eps_ls=0.0,
                                   schedule=at_scale(model, rate))
                    if p.step % every == 0]
        return dict(zip(("training", "held_out", "right"), zip(*measured)))

    return DropoutCurves(
        sequences, np.array(P_drop), np.array(rate_scale), rate_scale.index(usual),
        np.arange(1, LONGER * steps // every + 1) * every,
        **each(P_drop, rate_scale, seeds=seeds, measure=measure))


DROPOUT = Experiment(
    "dropout", claim=12, section="5.4, Table 3 (D)",
    says="Dropout is very helpful in avoiding over-fitting: perplexity 5.77 and BLEU 24.6 without,"
    " 4.92 and 25.8 with P_drop = 0.1, 4.95 and 25.5 with 0.2. (That a model trains on few"
    " sequences, and the two kinds of rates, are ours.)",
    alt="Left, the loss on held-out sequences and, dashed, on the training set against steps"
    " at the usual rate, for each P_drop. Right, for each seed how much less held-out loss a"
    " model has with dropout.",
    dropped="3 seeds and the usual rate alone: P_drop = 0.1 and 0.2 were better than none; rates up"
    " to 0.8 times Eq. (3): both sides were best at the highest one, and dropout was better there;"
    " 20000 sequences, 300 steps, one seed, nothing over-fits: P_drop = 0.1 was worse than none",
    settings="1 × the steps is where over-fitting begins at the usual rate",
    run=dropout, result=DropoutCurves, trains=True,
)
