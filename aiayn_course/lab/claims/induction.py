"""Claim 17, a further one: a head that finds a symbol's earlier successor needs two layers."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from aiayn_np.plotting.figures import COLORS, MARKERS, WIDEST
from aiayn_np.plotting.maps import attention_maps
from aiayn_np.training.loop import training_steps
from aiayn_np.training.loss import LabelSmoothedCrossEntropy
from aiayn_np.training.optimizer import Adam, warmup_rate
from aiayn_np.variants.models import LanguageModel
from aiayn_np.variants.pre_norm import PreNormEncoderLayer

from ..effects import draw_effects
from ..experiment import Experiment
from ..gate import LONGER, Effect, Trained, effect
from ..learning import each

PAD, SYMBOLS, T = 0, 31, 42  # ids 1 to 31; T symbols in a sequence
PERIODS, BATCH = range(6, 15), 32
HALF = T // 2  # every symbol of the second half is a repetition, even for the longest period
SIZE: dict = dict(d_model=64, d_ff=128, h=4, P_drop=0.0, max_len=T, layer=PreNormEncoderLayer)
SIDES = "one layer", "two layers"
POINTS = 5.0  # the least difference that counts: of symbols, of weight, of sequences


@dataclass
class Induction(Trained):
    """Models with one layer and with two that continue a repeated random sequence.

    rate_scale : factors of Eq. (3) for one layer; two layers train with 0.5 alone
    right, rows : SIDES -> (rates, seeds, 2 times), shares of right symbols in the second half, and
        of sequences with a right second half
    weight : SIDES -> (rates, seeds, 2 times, heads), of each head on the symbols that followed an
        earlier, equal symbol, averaged over the second half
    left : (seeds, 2 times, heads), `rows` of two layers after the head is removed
    copied, exact : (2, seeds), `right` and `rows` of SIDES after 800 steps at this rate, as
        Lesson 15 has them; prefix, without : `weight` and `left` of two layers then
    """

    rate_scale: np.ndarray
    steps: int
    right: dict
    rows: dict
    weight: dict
    left: np.ndarray
    copied: np.ndarray
    exact: np.ndarray
    prefix: np.ndarray
    without: np.ndarray
    title = "A head that finds what came next: learned with two layers, not with one"
    size = (WIDEST, 5.2)

    def at_best(self, scores, weight=None):
        """Return the score, of (seeds, heads), of the head with the most weight, or `prefix`."""
        best = (self.prefix if weight is None else weight).argmax(axis=-1)
        return np.take_along_axis(scores, best[:, None], axis=-1)[:, 0]

    @property
    def effects(self):
        one, two = (100 - 100 * self.right[side] for side in SIDES)
        astray, found = (100 - 100 * self.weight[side].max(axis=-1) for side in SIDES)
        second = self.left[..., SIZE["h"] :]
        weight = self.weight[SIDES[1]][0]
        best = np.stack([self.at_best(self.left[:, i], weight[:, i]) for i in range(2)], axis=1)
        others = (second.sum(axis=-1) - best) / (SIZE["h"] - 1)
        return {
            "symbols copied, two layers − one": effect(one, two, SIDES, POINTS, unit="points"),
            "weight of the best head, two layers − one": effect(astray, found, SIDES, POINTS,
                                                                unit="points"),
            "rows lost without this head, − without another": Effect(100 * (others - best), POINTS,
                                                                     unit="points")}

    @property
    def finding(self):
        def span(values):
            return f"{values.min():.2f} to {values.max():.2f}"
        one, two = (self.right[side][..., -1] for side in SIDES)
        heads = [self.weight[side][..., -1, :].max(axis=-1) for side in SIDES]
        left = self.left[:, -1]
        return (
            f"After {LONGER * self.steps} steps two layers copy {span(two)} of the symbols and one"
            f" layer, at any rate, {span(one)}; the best head puts {span(heads[1])} of its weight"
            f" on what followed the symbol with two layers, {span(heads[0])} with one. Rows right"
            f" as a whole are {span(self.rows[SIDES[1]][..., -1])} with two layers, without this"
            f" head {span(self.at_best(left, self.weight[SIDES[1]][0, :, -1]))}, and without the"
            f" most needed head of layer 1 {span(left[:, : SIZE['h']].min(axis=-1))}."
        )

    def draw(self, left, right):
        h = SIZE["h"]
        shown = {"one layer": (SIDES[0], slice(h)), "two layers,\nlayer 1": (SIDES[1], slice(h)),
                 "two layers,\nlayer 2": (SIDES[1], slice(h, None))}
        for i, (side, heads) in enumerate(shown.values()):
            weight = 100 * self.weight[side][len(self.weight[side]) // 2, :, -1, heads]
            rows = np.linspace(0.25, -0.25, len(weight))[:, None] - i
            left.plot(weight.T, np.broadcast_to(rows, weight.shape).T, MARKERS[i], color=COLORS[i])
        left.set(yticks=range(0, -3, -1), yticklabels=[*shown], ylim=(-2.5, 0.5), xlim=(0, 100),
                 xlabel="weight on what followed\nthe same symbol (%)",
                 title="every head; a line for each seed")
        draw_effects(right, self.effects, "difference (points)")


def repeated(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (ids, targets, periods), each (n, ...): a block of different symbols that repeats.

    Each row has a period of its own. Targets are padding until the block begins again.
    """
    period = rng.integers(PERIODS.start, PERIODS.stop, (n, 1))
    symbols = rng.permuted(np.tile(np.arange(1, SYMBOLS + 1), (n, 1)), axis=1)
    text = np.take_along_axis(symbols, np.arange(T + 1) % period, axis=1)
    targets = np.where(np.arange(T) < period, PAD, text[:, 1:])
    return text[:, :-1], targets, period


def training(N: int, seed: int, steps: int, scale: float) -> Iterator[tuple[LanguageModel, int]]:
    """Train a language model of N layers on `repeated` sequences: yield it and the step, from 0."""
    model = LanguageModel(SYMBOLS + 1, N=N, pad=PAD, rng=np.random.default_rng(seed), **SIZE)
    rng = np.random.default_rng([seed, 1])
    model.astype(np.float32)
    yield model, 0
    for step in training_steps(
            model, LabelSmoothedCrossEntropy(0.0, pad=PAD), Adam(model),
            lambda step: repeated(BATCH, rng)[:2],
            partial(warmup_rate, d_model=SIZE["d_model"], warmup_steps=100, scale=scale),
            steps=steps, rng=rng):
        yield model, step.step


def trained(N: int, seed: int, steps: int = 800) -> LanguageModel:
    """Return a model after some steps of `training`."""
    return list(training(N, seed, steps, 0.5))[-1][0]


def copied(model: LanguageModel, ids: np.ndarray, targets: np.ndarray) -> tuple[float, float]:
    """Return (share of right symbols, share of right sequences) in the second half."""
    right = model(ids)[:, HALF:].argmax(axis=-1) == targets[:, HALF:]
    return right.mean(), right.all(axis=1).mean()


def prefix_scores(model: LanguageModel, ids: np.ndarray, period: np.ndarray) -> np.ndarray:
    """Return (heads,): mean weight, in the second half, on successors of the same symbol."""
    _, cache = model.forward(ids)
    weights = np.concatenate(list(attention_maps(cache).values()), axis=1)  # (n, heads, T, T)
    back = np.arange(T)[:, None] - np.arange(T)                    # distance from query back to key
    after = (back >= 0) & ((back + 1) % period[..., None] == 0)        # (n, T, T)
    return (weights * after[:, None]).sum(axis=-1)[..., HALF:].mean(axis=(0, 2))


def exact_without(model: LanguageModel, ids: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return (heads,): the share of right sequences without the output of each head."""
    shares = []
    for layer in model.stack.encoder.layers:
        W_O = layer.self_attention.linear_O.W.value
        for head in heads_of(layer.self_attention):
            kept = W_O[head].copy()
            W_O[head] = 0
            shares.append(copied(model, ids, targets)[1])
            W_O[head] = kept
    return np.array(shares)


def heads_of(attention):
    """Return for each head a slice: its columns of W^V, which are its rows of W^O."""
    d_v = len(attention.linear_O.W.value) // attention.h
    return [slice(i * d_v, (i + 1) * d_v) for i in range(attention.h)]


def induction(*, rate_scale=(0.25, 0.5, 1.0, 2.0), usual=0.5, seeds=(0, 1, 2, 3, 4), steps=600,
              shown=800, tests=500):
    """Train pre-norm language models of one and two layers on sequences that repeat a block.

    The period is drawn from 6 to 14 for each sequence. With one fixed period, a single layer would
    copy by position. A sequence is 42 symbols long, and the symbols of a block are all different.

    Parameters
    ----------
    rate_scale : factors of Eq. (3) for one layer; two layers have `usual`, one of them
    steps : the models train for three times as many; `shown` is in between, for Lesson 15
    tests : number of test sequences
    """
    ids, targets, period = repeated(tests, np.random.default_rng(len(PERIODS)))

    def measure(N, scale, seed):
        found = []
        for model, step in training(N, seed, LONGER * steps, scale):
            if step in (steps, shown, LONGER * steps):
                left = exact_without(model, ids, targets) if N == 2 else 0
                looks = prefix_scores(model, ids, period)
                found.append((*copied(model, ids, targets), looks, left))
        return dict(zip(("right", "rows", "weight", "left"), map(np.array, zip(*found))))

    rates = rate_scale, (usual,)
    one, two = (each(some, seeds=seeds, measure=partial(measure, N))
                for N, some in enumerate(rates, 1))
    right, rows, weight = (dict(zip(SIDES, (one[name][:, :, ::2], two[name][:, :, ::2])))
                           for name in ("right", "rows", "weight"))
    first, whole = (np.array([one[name][rate_scale.index(usual), :, 1], two[name][0, :, 1]])
                    for name in ("right", "rows"))
    return Induction(np.array(rate_scale), steps, right, rows, weight, two["left"][0][:, ::2],
                     first, whole, two["weight"][0, :, 1], two["left"][0, :, 1])


INDUCTION = Experiment(
    "induction", claim=17, section="Olsson et al., 2022",
    says="A head that finds where the symbol just read stood before, and copies what followed it,"
    " is learned with two layers and not with one, and is missed more than another head of its"
    " layer. How the first layer helps is not judged. (The task and the sizes are ours.)",
    alt="Left, a point for every head at its weight on what followed the same symbol; heads of one"
    " layer and of layer 1 lie far to the left, several of layer 2 far to the right. Right, for"
    " each seed how many more symbols two layers copy than one, how much more their best head looks"
    " at what followed, and how many more rows fail without it than without another head.",
    settings="two layers have 0.5 times Eq. (3) alone: a better rate could only add to them",
    dropped="one rate, 800 steps; rates up to 1 time Eq. (3): the highest was best for one layer",
    run=induction, result=Induction, trains=True,
)
