"""Claim 15: training without the factor sqrt(d_model), and what the factor changes (Sec. 3.4)."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from aiayn_np.plotting.figures import COLORS, WIDEST
from aiayn_np.positional_encoding import SinusoidalPositionalEncoding

from ..effects import draw_effects
from ..experiment import Experiment
from ..gate import LONGER, Trained, effect
from ..learning import RATES, held_out_losses, small_model

WITH, WITHOUT, BOTH_SMALLER, LARGER_POSITIONS, LARGER_E = range(5)
NAMES = "the factor", "no factor", "all small", "large positions", "large E"  # see `kinds`
LEAST = 0.01  # nats a token


class Weighted(SinusoidalPositionalEncoding):
    """y = of_x x + of_PE PE: with of_x = 1 / √d_model the embedding in x has lost its factor."""

    def __init__(self, d_model, max_len, *, of_x, of_PE, rng=None):
        super().__init__(d_model, max_len, rng=rng)
        self.of_x, self.of_PE = of_x, of_PE

    def table(self, T, *, start=0):
        return self.of_PE * super().table(T, start=start)

    def forward(self, x, *, start=0):
        return super().forward(self.of_x * x, start=start)

    def backward(self, grad_y, cache):
        return self.of_x * super().backward(grad_y, cache)


@dataclass
class EmbeddingTraining(Trained):
    """Held-out losses in nats per token of five kinds of model, as NAMES has them.

    loss : (tasks, 5, rates, seeds, 2 times)
    """

    tasks: list
    d_model: int
    rate_scale: np.ndarray
    steps: int
    loss: np.ndarray
    title = r"Training with and without the factor $\sqrt{d_{model}}$ of the embeddings"
    panels, size = (1, 1), (WIDEST, 6.4)

    def against(self, worse, better, **options):
        """Return the effects of one kind of model against another one, by task."""
        names = NAMES[worse], NAMES[better]
        return {f"{task}, {names[0]} − {names[1]}": effect(loss[worse], loss[better], names, LEAST,
                                                           **options)
                for task, loss in zip(self.tasks, self.loss)}

    @property
    def effects(self):
        return self.against(WITHOUT, WITH)

    @property
    def controls(self):
        """Return the effects of pairs whose embeddings are equally large beside the positions."""
        pairs = (BOTH_SMALLER, WITH), (LARGER_POSITIONS, WITHOUT), (LARGER_E, WITH)
        return {f"{name}, alike": e for worse, better in pairs
                for name, e in self.against(worse, better, alike=True).items()}

    @property
    def finding(self):
        best = np.median(self.loss, axis=3).min(axis=2)                # (tasks, 5, 2 times)
        parts = [f"{task} {', '.join(f'{a:.3f} and {b:.3f} ({n})' for n, (a, b) in zip(NAMES, of))}"
                 for task, of in zip(self.tasks, best)]
        return (f"Median held-out loss after {self.steps} and {LONGER * self.steps} steps,"
                f" d_model = {self.d_model}, in nats a token, each at its best rate:"
                f" {'; '.join(parts)}.")

    def draw(self, ax):
        effects, controls = self.effects, self.controls
        shown = {name.removesuffix(", alike"): e for name, e in (effects | controls).items()}
        draw_effects(ax, shown, "difference of the loss (nats)",
                     [COLORS[1]] * len(effects) + [COLORS[2]] * len(controls))


def kinds(d_model):
    """Return (of_x, of_PE, of_E) of each kind: of embeddings, of positions, of E at the start."""
    r = d_model**0.5
    return (1, 1, 1), (1 / r, 1, 1), (1 / r, 1 / r, 1), (1, r, 1), (1 / r, 1, r)


def change(model, of_x, of_PE, of_E):
    """Make a model one of a kind, before it trains."""
    model.positions = Weighted(model.d_model, model.max_len, of_x=of_x, of_PE=of_PE)
    model.src_embedding.E.value *= np.float32(of_E)
    return model


def embedding_training(tasks=("copy", "sort"), *, d_model=64, **training):
    """Train models with the factor and without it, and with the same sizes in other ways.

    The factor makes embeddings √d_model times as large beside the positions. Three further kinds
    change this ratio otherwise: by the positions, or by E at the start. A larger E makes the first
    logits larger too, and takes small steps for its size.

    tasks : names of toy tasks       training : options of `held_out_losses`
    """
    def model_of(kind, task, seed):
        return change(small_model(task, seed, d_model=d_model), *kind)

    models = [partial(model_of, kind) for kind in kinds(d_model)]
    usual: dict = dict(steps=150, rate_scale=(*RATES, 1.6), max_length=6)
    return EmbeddingTraining(d_model=d_model, **held_out_losses(models, tasks, **usual | training))


EMBEDDING_TRAINING = Experiment(
    "embedding_training", claim=15, section="3.4",
    says="Embeddings are multiplied by √d_model, without a reason given. Judged here is the other"
    " half of the usual one, which is ours: without the factor models train worse.",
    alt="For each task and seed how much more loss a model has without the factor than with it;"
    " then, as controls, how much models differ whose embeddings are equally large beside the"
    " positions.",
    settings="one layer, d_ff = 64; copy needs places, sort does not; small and large are by"
    " √d_model, all small are embeddings and positions, and large E has no factor",
    dropped="rates from 0.1 times Eq. (3): with the factor the lowest was best on sort",
    run=embedding_training, result=EmbeddingTraining, trains=True,
)
