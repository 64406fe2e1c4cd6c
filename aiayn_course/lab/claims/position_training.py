"""Claim 7: learned and sinusoidal positions, in training and on longer sequences (Sec. 3.5)."""

from dataclasses import dataclass

import numpy as np

from aiayn_np.decoding.greedy import exact_match
from aiayn_np.dropout import Dropout
from aiayn_np.plotting.figures import WIDEST, draw_spread
from aiayn_np.positional_encoding import LearnedPositionalEncoding, SinusoidalPositionalEncoding
from aiayn_np.training.loss import LabelSmoothedCrossEntropy
from aiayn_np.training.tasks import SHORTEST_HELD_OUT, CopyTask
from aiayn_np.variants.relative_position import relative_attention

from ..effects import draw_effects
from ..experiment import Experiment
from ..gate import LONGER, Trained, effect
from ..learning import RATES, STEPS_PER_POINT, at_scale, each, learn, scores, small_model, smooth

NATS, POINTS = 0.01, 5.0  # the least differences that count: of a token's loss, of exact copies
FURTHER = (1, 2)  # symbols more than in training
SIDES = "sinusoidal", "learned"

# The third adds nothing (Dropout(0) returns its input). Its scores know distances, and only these.
ENCODINGS = {
    "sinusoidal": dict(positions=SinusoidalPositionalEncoding),
    "learned": dict(positions=LearnedPositionalEncoding),
    "relative (not in the paper)": dict(positions=Dropout(0.0), attention=relative_attention),
}


@dataclass
class PositionTraining(Trained):
    """Models with different positions, (encodings, rates, seeds, ...): sinusoidal, learned, others.

    curves : training loss at `step`, nats per token
    first : the first of these steps with 95 % of tokens right, nan for never
    nats : (..., 2 times), held-out loss at the trained lengths; `others` are trained at the middle
        rate alone, and all is nan at other rates
    copied : (..., 2 times, len(lengths)), share of sequences decoded exactly
    """

    encodings: list
    trained_length: int
    rate_scale: np.ndarray
    steps: int
    step: np.ndarray
    lengths: np.ndarray
    curves: np.ndarray
    first: np.ndarray
    nats: np.ndarray
    copied: np.ndarray
    title = "Sinusoidal or learned positions: in training, and on longer sequences"
    panels, size = (2, 2), (WIDEST, 7.4)

    def at_middle(self, found):
        """Return what was found at the middle rate: (encodings, seeds, ...)."""
        return found[:, len(self.rate_scale) // 2]

    @property
    def reached(self):
        """Return the first steps with 95 % of tokens right: (encodings, seeds)."""
        return self.at_middle(self.first)

    def of_length(self, symbols):
        """Return the exact shares of sequences `symbols` longer than in training."""
        return self.copied[..., list(self.lengths).index(self.trained_length + symbols)]

    def beyond(self, symbols):
        """Return the median of these shares at the middle rate, in the end: (encodings,)."""
        return np.median(self.at_middle(self.of_length(symbols))[..., -1], axis=1)

    @property
    def effects(self):
        first, second = self.nats[:2]
        missed = {more: 100 * (1 - self.of_length(more)) for more in FURTHER}
        return {"trained lengths, alike": effect(first, second, SIDES, NATS, alike=True)} | {
            f"{more} symbol{'s' * (more > 1)} longer, sinusoids copy more": effect(
                m[1], m[0], SIDES[::-1], POINTS, unit="points") for more, m in missed.items()}

    @property
    def finding(self):
        ppl = np.exp(np.median(self.nats[:2, ..., -1], axis=2).min(axis=1))
        V, eps = CopyTask().vocab_size, LabelSmoothedCrossEntropy().eps_ls
        floor, when = 1 / (1 - eps + eps / V), np.nan_to_num(self.reached[:2], nan=np.inf)
        first, second = (f"{s:.0f}" if s < np.inf else "never" for s in np.median(when, axis=1))
        one, two = 100 * self.beyond(1), 100 * self.beyond(2)
        return (
            f"After {self.step[-1]} steps of copying, each at its best rate, sinusoidal and learned"
            f" positions have perplexity {ppl[0]:.3f} and {ppl[1]:.3f}. (Label smoothing aims at"
            f" {floor:.3f}, so the end cannot tell them apart.) At the middle rate 95 % of tokens"
            f" are right first at step {first} and {second}; one symbol beyond the trained"
            f" {self.trained_length} they copy {one[0]:.0f} and {one[1]:.0f} % exactly, two beyond"
            f" {two[0]:.0f} and {two[1]:.0f} %. (The learned rows there were never trained.)"
        )

    def draw(self, left, right, below, beside):
        for i, name in enumerate(self.encodings):
            draw_spread(left, self.step, self.at_middle(self.curves)[i], name, i)
            draw_spread(right, self.lengths, 100 * self.at_middle(self.copied)[i, :, -1], name, i)
        left.set(xlabel="step, at the middle rate", ylabel="training loss (nats a token)",
                 ylim=(0, None))
        right.axvspan(self.lengths[0] - 0.5, self.trained_length + 0.5, color="0.9", zorder=0)
        right.text(self.lengths[0], 50, "lengths seen\nin training", va="center")
        right.set(xlabel="length of the sequence (symbols)", ylim=(-3, 103),
                  ylabel="copied exactly (%)",
                  xlim=(self.lengths[0] - 0.5, self.lengths[-1] + 0.5))
        right.set_xticks(self.lengths[::2])
        left.legend(title="median (band: all seeds)", fontsize=10)
        for ax, unit in ((below, "nats"), (beside, "points")):
            shown = {name.split(", ")[0]: e for name, e in self.effects.items() if e.unit == unit}
            draw_effects(ax, shown, f"sinusoidal − learned ({unit})")
        below.set(title="loss at lengths as in training", xticks=(-0.01, 0, 0.01), yticks=())
        beside.set_title("copied exactly")


def of_length(batch: tuple[np.ndarray, ...], length: int) -> list[np.ndarray]:
    """Return the examples of a batch of copies that have `length` symbols."""
    chosen = (batch[0] != CopyTask.pad).sum(axis=1) == length + 1
    return [ids[chosen, : length + 1] for ids in batch]


def position_training(*, rate_scale=RATES, seeds=(0, 1, 2, 3, 4), steps=200, trained_length=8,
                      longest=16, tests=2000, encodings=ENCODINGS):
    """Train small models to copy, and test them on sequences longer than in training.

    steps : a multiple of 10
    trained_length, longest : the most symbols in training and in the tests; `longest` exceeds
        `trained_length` by at least 2, and is at most 63
    tests : number of test sequences, of all lengths
    encodings : dict of name -> options of Transformer, sinusoidal first and learned next
    """
    task, tested = CopyTask(max_length=trained_length), CopyTask(max_length=longest).test(tests)
    lengths, last = np.arange(SHORTEST_HELD_OUT, longest + 1), LONGER * steps
    step, held_out = np.arange(1, last // STEPS_PER_POINT + 1) * STEPS_PER_POINT, task.test(1000)

    def measure(name, rate, seed):
        if rate != rate_scale[len(rate_scale) // 2] and name not in [*encodings][:2]:
            return dict(curves=np.full(len(step), np.nan), first=np.nan, nats=[np.nan] * 2,
                        copied=np.full((2, len(lengths)), np.nan))
        model, progress, found = small_model(task, seed, **encodings[name]), [], []
        for p in learn(model, task, seed, steps=last, schedule=at_scale(model, rate)):
            progress.append((p.loss, p.accuracy))
            if p.step in (steps, last):
                found.append((scores(model, held_out)[0], [exact_match(
                    model, of_length(tested, n), bos=task.bos, eos=task.eos) for n in lengths]))
        curve, accuracy = smooth(np.transpose(progress), STEPS_PER_POINT)
        nats, copied = zip(*found)
        return dict(curves=curve, first=next(iter(step[accuracy >= 0.95]), np.nan), nats=nats,
                    copied=copied)

    return PositionTraining(
        list(encodings), trained_length, np.array(rate_scale), steps, step, lengths,
        **each(encodings, rate_scale, seeds=seeds, measure=measure))


LEARNED_POSITIONS = Experiment(
    "learned_positions", claim=7, section="3.5, Table 3 (E)",
    says="Learned positions give nearly the same result as sinusoidal ones (perplexity 4.92 and"
    " 4.92). Sinusoids were chosen because they may reach lengths beyond training; the paper does"
    " not test that. (The two lengths are ours.)",
    alt="Above, training loss against the step, and share of sequences copied exactly against"
    " their length, for three kinds of positions. Below, for each seed the difference of"
    " sinusoidal and learned positions in both.",
    dropped="one rate, 600 steps alone",
    run=position_training, result=PositionTraining, trains=True,
)
