"""Claim 17, a further one: a head that finds a symbol's earlier successor needs two layers."""

from collections import deque
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

from ..experiment import AGREES, DISAGREES, IN_PART, NOT_SETTLED, Experiment, Result
from ..learning import each

PAD, SYMBOLS, T = 0, 31, 42  # ids 1 to 31; T symbols in a sequence
PERIODS = range(6, 15)
HALF = T // 2  # every symbol of the second half is a repetition, even for the longest period
SIZE: dict = dict(d_model=64, d_ff=128, h=4, P_drop=0.0, max_len=T, layer=PreNormEncoderLayer)
COPIES, GUESSES = 0.9, 0.4  # share of right symbols: at least with two layers, at most with one
FINDS, SPREAD = 0.8, 0.3  # the same bounds for the prefix score of the best head


def listed(shares):
    """Write the shares of all seeds as text."""
    return ", ".join(f"{share:.2f}" for share in shares)


@dataclass
class Induction(Result):
    """Models with one layer (row 0) and two (row 1) that continue a repeated random sequence.

    copied : share of right symbols in the second half, (2, seeds)
    exact : share of sequences with a right second half, (2, seeds)
    prefix : (2, seeds, heads), the weight of each head on the symbols that followed an earlier,
        equal symbol, averaged over the second half; nan where there is no second layer
    without : `exact` after the head is removed
    """

    steps: int
    copied: np.ndarray
    exact: np.ndarray
    prefix: np.ndarray
    without: np.ndarray
    title = "A head that finds what came next: learned with two layers, not with one"
    size = (WIDEST, 4.8)

    @property
    def best(self):
        """Return the prefix score of the best head: (2, seeds)."""
        return np.nanmax(self.prefix, axis=-1)

    def at_best(self, scores):
        """Return another score of the head with the best prefix score, for two layers: (seeds,)."""
        return np.take_along_axis(scores[1], self.prefix[1].argmax(-1)[:, None], axis=-1)[:, 0]

    @property
    def finding(self):
        one, two = self.copied
        first = self.without[1, :, : SIZE["h"]].min(axis=-1)
        return (
            f"After {self.steps} steps two layers copy {two.min():.2f} to {two.max():.2f} of"
            f" the symbols and one layer {one.min():.2f} to {one.max():.2f} ({len(one)} seeds); the"
            f" best head puts {self.best[1].min():.2f} or more of its weight on what followed the"
            f" symbol with two layers, at most {self.best[0].max():.2f} with one; sequences right"
            f" as a whole are {listed(self.exact[1])} and, without this head,"
            f" {listed(self.at_best(self.without))}; without the most needed head of layer 1,"
            f" {listed(first)}."
        )

    @property
    def verdict(self):
        """Return AGREES if on every seed two layers copy by such a head, and one layer has none.

        DISAGREES if one layer copies for some seed, IN_PART if two layers copy without such a head.
        """
        (one, two), (spread, finds) = self.copied, self.best
        if one.max() >= COPIES:
            return DISAGREES
        if two.min() < COPIES or one.max() > GUESSES:
            return NOT_SETTLED
        return AGREES if finds.min() >= FINDS and spread.max() <= SPREAD else IN_PART

    def draw(self, left, right):
        h = SIZE["h"]
        names = ("one layer", "two layers,\nlayer 1", "two layers,\nlayer 2")
        for i, (N, heads) in enumerate(((0, slice(h)), (1, slice(h)), (1, slice(h, None)))):
            style: dict = dict(marker=MARKERS[i], color=COLORS[i], linestyle="none")
            for seed, prefix in enumerate(self.prefix[N][:, heads]):
                left.plot(prefix, np.full(len(prefix), 0.1 * (2 - seed) - i), **style)
            if N:
                right.plot(self.prefix[N][:, heads].ravel(), self.without[N][:, heads].ravel(),
                           **style)
        left.set_yticks(range(0, -3, -1), names)
        low, high = self.exact[1].min(), self.exact[1].max()
        band = right.axhspan(low, high, color="0.9", zorder=0)
        left.set(title="every head; a line for each seed", ylim=(-2.5, 0.5))
        right.set(title="what is left without a head", ylabel="sequences right in the second half")
        right.set_ylim(-0.04, 1.04)
        for ax in (left, right):
            ax.set(xlim=(0, 1), xlabel="weight on what followed the same symbol")
        right.legend([band], ["no head removed"], loc="lower center")


def repeated(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (ids, targets, periods), each (n, ...): a block of different symbols that repeats.

    Each row has a period of its own. Targets are padding until the block begins again.
    """
    period = rng.integers(PERIODS.start, PERIODS.stop, (n, 1))
    symbols = rng.permuted(np.tile(np.arange(1, SYMBOLS + 1), (n, 1)), axis=1)
    text = np.take_along_axis(symbols, np.arange(T + 1) % period, axis=1)
    targets = np.where(np.arange(T) < period, PAD, text[:, 1:])
    return text[:, :-1], targets, period


def trained(N: int, seed: int, steps: int = 800, batch_size: int = 32) -> LanguageModel:
    """Train a pre-norm language model of N layers on `repeated` sequences, and return it."""
    model = LanguageModel(SYMBOLS + 1, N=N, pad=PAD, rng=np.random.default_rng(seed), **SIZE)
    rng = np.random.default_rng([seed, 1])
    model.astype(np.float32)
    deque(training_steps(
        model, LabelSmoothedCrossEntropy(0.0, pad=PAD), Adam(model),
        lambda step: repeated(batch_size, rng)[:2],
        partial(warmup_rate, d_model=SIZE["d_model"], warmup_steps=100, scale=0.5),
        steps=steps, rng=rng), maxlen=0)
    return model


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


def induction(*, seeds=(0, 1, 2, 3, 4), steps=800, batch_size=32, tests=500):
    """Train pre-norm language models of one and two layers on sequences that repeat a block.

    The period is drawn from 6 to 14 for each sequence. With one fixed period, a single layer would
    copy by position. A sequence is 42 symbols long, and the symbols of a block are all different.

    Parameters
    ----------
    tests : number of test sequences
    """
    ids, targets, period = repeated(tests, np.random.default_rng(len(PERIODS)))

    def measure(N, seed):
        model = trained(N, seed, steps, batch_size)
        share, exact = copied(model, ids, targets)
        scores = dict(prefix=prefix_scores(model, ids, period),
                      without=exact_without(model, ids, targets))
        none = np.full((2 - N) * SIZE["h"], np.nan)
        return dict(copied=share, exact=exact) | {
            name: np.append(score, none) for name, score in scores.items()}

    return Induction(steps, **each((1, 2), seeds=seeds, measure=measure))


INDUCTION = Experiment(
    "induction", claim=17, section="Olsson et al., 2022",
    says="A head that finds where the symbol just read stood before, and copies what followed it,"
    " is learned with two layers and not with one. How the first layer helps is not judged.",
    settings="5 seeds; one rate, 800 steps",
    alt="Left, a point for every head at its weight on what followed the same symbol; heads of one"
    " layer and of layer 1 lie at 0.1 to the left, several of layer 2 far to the right. Right, the"
    " share of sequences that are right without the head, against the same weight.",
    run=induction, result=Induction, trains=True,
)
