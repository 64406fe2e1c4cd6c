"""Drawings: dot products that grow with d_k, sums in norms, positions as clock hands."""

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from aiayn_np.plotting.figures import new_figure
from aiayn_np.positional_encoding import SinusoidalPositionalEncoding
from aiayn_np.softmax import Softmax

from .example import SENTENCE
from .pen import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    RED,
    SMALL,
    arrow,
    canvas,
    column_names,
    grid,
    row_names,
    tint,
    word,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTHS = (4, 64, 512)


def dot_products() -> "Figure":
    """Draw histograms of q · k for growing d_k, and the mean softmax of a query over eight keys."""
    rng = np.random.default_rng(0)
    fig = new_figure(9, 4)
    axes = fig.subplots(2, len(WIDTHS), sharex="row", sharey="row")
    for (top, bottom), d_k in zip(axes.T, WIDTHS):
        q, keys = rng.standard_normal((2500, d_k)), rng.standard_normal((2500, 8, d_k))
        scores = (q[:, None] * keys).sum(axis=-1)                          # (2500, 8)
        top.hist(scores.ravel(), bins=np.arange(-75, 75, d_k**0.5 / 4), color=BLUE, density=True)
        top.set_title(f"$d_k$ = {d_k}, std of q · k: {scores.std():.1f}", fontsize=SMALL + 1)
        top.set_xlabel("q · k", fontsize=SMALL)
        weights = np.sort(Softmax()(scores))[:, ::-1].mean(axis=0)
        bottom.bar(range(1, 9), weights, color=ORANGE)
        bottom.set_title(f"largest of 8 weights: {weights[0]:.2f} (mean)", fontsize=SMALL + 1)
        bottom.set(ylim=(0, 1), xticks=range(1, 9))
        bottom.set_xlabel("key, the heaviest first", fontsize=SMALL)
    axes[0, 0].set(xlim=(-75, 75), xticks=(-50, 0, 50), ylim=(0, 0.26), yticks=(0, 0.1, 0.2))
    axes[0, 0].set_ylabel("density", fontsize=SMALL)
    axes[1, 0].set_ylabel("weight, no scale", fontsize=SMALL)
    for ax in axes.flat:
        ax.tick_params(labelsize=SMALL)
    return fig


BATCH = (SENTENCE, ("the", "dog", "sat", "<pad>"))
COLORS = (BLUE, ORANGE, GREEN, PINK, RED, GREY)


def norm_axes() -> "Figure":
    """Draw the numbers over which layer norm and batch norm average in a batch of two sentences."""
    fig, ax = canvas(8.2, 4.9)
    draw_batch(ax, 0.95, "layer norm", lambda n, i, j: tint(COLORS[(i + 4 * n) % 6], 0.3 + 0.3 * n))
    draw_batch(ax, 5.0, "batch norm", lambda n, i, j: tint(COLORS[j], 0.3))
    word(ax, 2.15, 0.25, "one mean for each token,\nover its features", size=SMALL)
    word(ax, 6.2, 0.25, "one mean for each feature,\nover all tokens of the batch", size=SMALL)
    word(ax, 4.1, 4.65, "cells of one colour\nshare a mean", size=SMALL)
    return fig


def draw_batch(ax, x, title, fill):
    """Draw two sentences, a row for each token and a column for each of six features.

    fill : the colour of (sentence, token, feature)
    """
    word(ax, x + 1.2, 4.65, title, weight="bold")
    column_names(ax, x, 4.05, [str(j) for j in range(6)])
    for n, sentence in enumerate(BATCH):
        y = 4.05 - 1.85 * n
        grid(ax, x, y, [[""] * 6] * 4, fill=functools.partial(fill, n))
        row_names(ax, x, y, sentence)


def clock_hands() -> "Figure":
    """Draw positions as clock hands: each pair of features is a hand with a speed of its own."""
    d_model, pairs = 8, 3
    table = SinusoidalPositionalEncoding(d_model, 5).table(5)              # (5, d_model)
    fig, ax = canvas(7.4, 4.5)
    for position, name in enumerate((*SENTENCE, "<eos>")):
        x = 2.5 + 1.05 * position
        word(ax, x, 4.25, f"position {position}", size=SMALL)
        word(ax, x, 4.0, name, weight="bold")
        for pair in range(pairs):
            sin, cos = table[position, 2 * pair:2 * pair + 2]
            y = 3.3 - 1.1 * pair
            draw_clock(ax, x, y, sin, cos, (BLUE, ORANGE, GREEN)[pair])
            word(ax, x, y - 0.54, f"{sin:.2f}, {cos:.2f}", size=SMALL)
    for pair in range(pairs):
        turn = 360 / 10000 ** (2 * pair / d_model) / (2 * math.pi)
        word(ax, 1.75, 3.3 - 1.1 * pair, f"features {2 * pair}, {2 * pair + 1}\n{turn:.1f}° a step",
             size=SMALL, align="right")
    word(ax, 3.7, 0.2, "below each clock: sin, cos, the two numbers that are added", size=SMALL)
    return fig


def draw_clock(ax, x, y, sin, cos, color):
    from matplotlib.patches import Circle

    radius = 0.38
    ax.add_patch(Circle((x, y), radius, facecolor=tint(color, 0.2), edgecolor=color))
    arrow(ax, (x, y), (x + radius * sin, y + radius * cos), line=1.8)
