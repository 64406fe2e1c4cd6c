"""Pictures of a training on text, and of the attention of a translation."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..plotting.figures import COLORS, draw_grid, new_figure

if TYPE_CHECKING:
    from ..plotting.figures import Figure


def plot_pair_training(history: Iterable) -> "Figure":
    """Draw loss, validation loss and BLEU against the steps.

    history : PairProgress records, at least one
    """
    history = list(history)
    if not history:
        raise ValueError("history must hold at least one record, got none")
    fig = new_figure(7, 5)
    top, bottom = fig.subplots(2, 1, sharex=True)
    top.plot([p.step for p in history], [p.loss for p in history], color=COLORS[0], linewidth=0.7,
             label="training batch")
    for i, (name, label) in enumerate((("validation_loss", "validation"),
                                       ("averaged_loss", "validation, last states averaged")), 1):
        draw_measured(top, history, name, i, label)
    top.set_ylabel("loss (nats per token,\nwithout smoothing)")
    top.set_ylim(bottom=0)
    top.legend(fontsize="small")
    draw_measured(bottom, history, "bleu", 2, "last states averaged, greedy")
    bottom.set(xlabel="step", ylabel="BLEU, validation")
    bottom.set_ylim(bottom=0)
    top.set_title("Training on text")
    return fig


def plot_language_training(history: Iterable) -> "Figure":
    """Draw the loss of a language model against the steps; history : LanguageProgress records."""
    history = list(history)
    fig = new_figure(8, 3.2)
    left, right = fig.subplots(1, 2)                                   # two units, so two axes
    left.plot([p.step for p in history], [p.loss for p in history], color=COLORS[0], linewidth=0.7)
    draw_measured(right, history, "validation", 1, None)
    left.set(title="training batch", xlabel="step", ylabel="nats per token")
    right.set(title="held-back text", xlabel="step", ylabel="nats per character")
    for ax in (left, right):
        ax.set_ylim(bottom=0)
    return fig


def draw_measured(ax, history, name, style, label):
    """Draw the quantity `name` as a line through the steps at which it was measured."""
    points = [(p.step, getattr(p, name)) for p in history if getattr(p, name) is not None]
    if points:
        ax.plot(*zip(*points), "o-", markersize=4, color=COLORS[style], label=label)


def plot_translation(weights: np.ndarray, written: Sequence[str], source: Sequence[str], *,
                     allowed: np.ndarray | None = None, title: str | None = None,
                     fig: "Figure | None" = None) -> "Figure":
    """Draw the heads of one attention from a translation to its source, and the mean of the heads.

    weights : (h, T_tgt, T_src)   written : T_tgt labels   source : T_src labels
    allowed : bool that broadcasts to the weights   fig : as in `plot_attention`
    """
    weights = np.concatenate([weights, weights.mean(axis=0, keepdims=True)])
    titles = [f"head {i + 1}" for i in range(len(weights) - 1)] + ["mean of the heads"]
    allowed = np.broadcast_to(True if allowed is None else allowed[:1], weights.shape)
    n = len(weights)
    columns = next(c for c in range(1, n + 1) if n % c == 0 and c * c >= n)
    grid = [(weights[i : i + columns], allowed[i : i + columns], titles[i : i + columns])
            for i in range(0, n, columns)]
    return draw_grid(grid, written, source, title, fig=fig)
