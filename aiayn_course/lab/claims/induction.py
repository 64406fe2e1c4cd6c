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
    """

    rate_scale: np.ndarray
    steps: int
    right: dict
    rows: dict
    weight: dict
    left: np.ndarray
    title = "A head that finds what came next: learned with two layers, not with one"
    size = (WIDEST, 5.2)

    @property
    def without(self):
        """Return `left` for the head with the most weight: (seeds, 2 times)."""
        best = self.weight[SIDES[1]][0].argmax(axis=-1)
        return np.take_along_axis(self.left, best[..., None], axis=-1)[..., 0]

    @property
    def effects(self):
        one, two = (100 - 100 * self.right[side] for side in SIDES)
        astray, found = (100 - 100 * self.weight[side].max(axis=-1) for side in SIDES)
        others = (self.left[..., SIZE["h"] :].sum(axis=-1) - self.without) / (SIZE["h"] - 1)
        return {
            "symbols copied, two layers − one": effect(one, two, SIDES, POINTS, unit="points"),
            "weight of the best head, two layers − one": effect(astray, found, SIDES, POINTS,
                                                                unit="points"),
            "rows lost without this head, − without another, in every seed": Effect(
                100 * (others - self.without), POINTS, unit="points", every=True)}

    @property
    def finding(self):
        def span(values):
            return f"{values.min():.2f} to {values.max():.2f}"
        one, two = (self.right[side][..., -1] for side in SIDES)
        heads = [self.weight[side][..., -1, :].max(axis=-1) for side in SIDES]
        even = np.mean([n // period / n for n in range(HALF + 1, T + 1) for period in PERIODS])
        missed = [*self.effects.values()][-1].difference[:, -1]
        return (
            f"After {LONGER * self.steps} steps two layers copy {span(two)} of the symbols and one"
            f" layer, at any rate, {span(one)}; the best head puts {span(heads[1])} of its weight"
            f" on what followed the symbol with two layers, {span(heads[0])} with one (even"
            f" attention {even:.2f}). Rows right as a whole are"
            f" {span(self.rows[SIDES[1]][..., -1])} with two layers, without this head"
            f" {span(self.without[:, -1])}, and without the most needed head of layer 1"
            f" {span(self.left[:, -1, : SIZE['h']].min(axis=-1))}. In {(missed > POINTS).sum()} of"
            f" {len(missed)} seeds it is missed more, by over {POINTS:g} points, than the mean of"
            f" the other heads of its layer."
        )

    def draw(self, left, right):
        h = SIZE["h"]
        rate = self.rate_scale[len(self.rate_scale) // 2]
        shown = {f"one layer,\n{rate:g} × Eq. (3)": (SIDES[0], slice(h)),
                 "two layers,\nlayer 1": (SIDES[1], slice(h)),
                 "two layers,\nlayer 2": (SIDES[1], slice(h, None))}
        for i, (side, heads) in enumerate(shown.values()):
            weight = 100 * self.weight[side][len(self.weight[side]) // 2, :, -1, heads]
            rows = np.linspace(0.25, -0.25, len(weight))[:, None] - i
            left.plot(weight.T, np.broadcast_to(rows, weight.shape).T, MARKERS[i], color=COLORS[i])
        left.set(yticks=range(0, -3, -1), yticklabels=[*shown], ylim=(-2.5, 0.5), xlim=(0, 104),
                 xlabel="weight on what followed\nthe same symbol (%)",
                 title="every head, a row for each seed")
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
              tests=500):
    """Train pre-norm language models of one and two layers on sequences that repeat a block.

    The period is drawn from 6 to 14 for each sequence. With one fixed period, a single layer would
    copy by position. A sequence is 42 symbols long, and the symbols of a block are all different.

    rate_scale : factors of Eq. (3) for one layer; two layers have `usual`, one of them
    tests : number of test sequences
    """
    ids, targets, period = repeated(tests, np.random.default_rng(len(PERIODS)))

    def measure(N, scale, seed):
        found = []
        for model, step in training(N, seed, LONGER * steps, scale):
            if step in (steps, LONGER * steps):
                left = exact_without(model, ids, targets) if N == 2 else 0
                looks = prefix_scores(model, ids, period)
                found.append((*copied(model, ids, targets), looks, left))
        return dict(zip(("right", "rows", "weight", "left"), map(np.array, zip(*found))))

    rates = rate_scale, (usual,)
    one, two = (each(some, seeds=seeds, measure=partial(measure, N))
                for N, some in enumerate(rates, 1))
    found = {name: dict(zip(SIDES, (one[name], two[name]))) for name in ("right", "rows", "weight")}
    return Induction(np.array(rate_scale), steps, **found, left=two["left"][0])


INDUCTION = Experiment(
    "induction", claim=17, section="Olsson et al., 2022",
    says="A head that finds where the symbol just read stood before, and copies what followed it,"
    " is learned with two layers and not with one within these steps, and is missed more than the"
    " other heads of its layer, in every model. How the first layer helps is not judged. (The task"
    " and the sizes are ours.)",
    alt="Left, every head's weight on what followed the same symbol, for one layer and for"
    " both of two. Right, for each seed how many more symbols two layers copy than one, how"
    " much more their best head looks there, and how many more rows fail without it than"
    " without another head.",
    settings="two layers have 0.5 times Eq. (3) alone: a better one could only add to effects 1, 2",
    dropped="one rate, 800 steps; rates up to 1 time Eq. (3): the highest was best for one layer",
    run=induction, result=Induction, trains=True,
)
