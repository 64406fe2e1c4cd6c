"""Drawings of a matrix that becomes heads, and of masks that are combined."""

from typing import TYPE_CHECKING

import numpy as np

from aiayn_np.masking import causal, not_padding
from aiayn_np.multi_head import merge_heads, split_heads

from .example import SENTENCE
from .pen import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    NORMAL,
    ORANGE,
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

HEADS = (BLUE, ORANGE)


def heads_split(*, wrong: bool = False, merged: bool = True) -> "Figure":
    """Draw how (T, d_model) is split into h = 2 heads of (T, d_k), in colours, with every number.

    wrong : draw the usual mistake, a reshape to (h, T, d_k) at once
    merged : whether the way back is drawn, too
    """
    T, d_model, h = len(SENTENCE), 6, len(HEADS)
    d_k = d_model // h
    x = 10 * np.arange(T)[:, None] + np.arange(d_model)                    # (T, d_model)
    heads = x.reshape(h, T, d_k) if wrong else split_heads(x, h)           # (h, T, d_k)
    head_of = {number: i for i in range(h) for number in heads[i].flat}
    fig, ax = canvas(6 if wrong else 9, 3.7)
    draw_heads(ax, 0.6, 2.45, x, head_of)
    row_names(ax, 0.6, 2.45, SENTENCE, size=0.31)
    word(ax, 1.8, 2.65, f"$Q = x\\,W^Q$   (T, d_model) = {x.shape}", size=NORMAL)
    for i, color in enumerate(HEADS):
        y = 3.3 - 1.65 * i
        draw_heads(ax, 4.2, y, heads[i], head_of)
        row_names(ax, 4.2, y, [SENTENCE[int(row[0]) // 10] for row in heads[i]], size=0.31)
        word(ax, 4.8, y + 0.17, f"head {i + 1}   (T, d_k) = {heads[i].shape}", size=SMALL)
        arrow(ax, (3.05, 1.83), (3.35, 1.83), (3.35, y - 0.62), (3.65, y - 0.62), color=color)
        if merged and not wrong:
            arrow(ax, (5.45, y - 0.62), (5.7, y - 0.62), (5.7, 1.83), (5.9, 1.83), color=color)
    word(ax, 3.1, 0.6, "reshape" if wrong else "split_heads", size=SMALL)
    if merged and not wrong:
        word(ax, 5.95, 0.6, "merge_heads", size=SMALL)
        draw_heads(ax, 6.45, 2.45, merge_heads(heads), head_of)
        row_names(ax, 6.45, 2.45, SENTENCE, size=0.31)
        word(ax, 7.65, 2.65, f"the same again, {x.shape}", size=NORMAL)
    word(ax, 3 if wrong else 4.5, 0.15, "a cell: number of the token, then of the feature, from 0",
         size=SMALL)
    return fig


def draw_heads(ax, x, y, array, head_of):
    grid(ax, x, y, [[f"{v:02.0f}" for v in row] for row in array], size=0.31, width=0.4,
         fill=lambda i, j: tint(HEADS[head_of[array[i, j]]], 0.35))


READ, WRITTEN = ("<bos>", *SENTENCE, "<pad>"), (*SENTENCE, "<eos>", "<pad>")


def masks_combined(*, masks: bool = True, shift: bool = True) -> "Figure":
    """Draw causal mask & padding mask = the decoder's mask; below, the target shifted by one.

    masks, shift : False leaves out the upper or the lower part
    """
    low = 1.75 * shift
    fig, ax = canvas(8.9, low + 3.15 * masks)
    if masks:
        draw_masks(ax, low + 2.3)
    if shift:
        draw_shift(ax)
    return fig


def draw_masks(ax, y):
    """Draw three masks of the decoder's input in a row; y is the upper edge of their cells."""
    ids = np.array([[1, 2, 3, 4, 5, 0]])
    future, padding = causal(len(READ)), not_padding(ids)[0, 0]            # (T, T), (1, T)
    masks = {
        "causal(T)": future,
        "not_padding(ids)": np.broadcast_to(padding, future.shape),
        "both": future & padding,
    }
    below = "row = query", "one row, the same\nfor every query", "column = key"
    for n, (name, allowed) in enumerate(masks.items()):
        x = 0.75 + 2.95 * n
        grid(ax, x, y, [["✓" if a else "" for a in row] for row in allowed], size=SIDE,
             fill=lambda i, j, a=allowed: tint(GREEN, 0.35) if a[i, j] else "white")
        hatch(ax, x, y, ~allowed)
        column_names(ax, x, y, READ, size=SIDE)
        row_names(ax, x, y, READ, size=SIDE)
        middle = x + len(READ) * SIDE / 2
        word(ax, middle, y + 0.7, name, weight="bold")
        word(ax, middle, y - 2.14, below[n], size=SMALL, linespacing=1.1)
        if n:
            word(ax, x - 0.78, y - 1, "&=" [n - 1], size=16)


SIDE = 0.32


def hatch(ax, x, y, forbidden):
    """Hatch the forbidden cells of a grid at (x, y), in the style of the attention maps."""
    from matplotlib.patches import Rectangle

    for i, j in zip(*np.nonzero(forbidden)):
        ax.add_patch(Rectangle((x + j * SIDE, y - (i + 1) * SIDE), SIDE, SIDE, facecolor="none",
                               edgecolor="0.6", hatch="////", linewidth=0))


def draw_shift(ax):
    """Draw the tokens that the decoder reads, and below them the tokens that it must write."""
    word(ax, 2.3, 1.35, "tgt_in: the decoder reads", size=SMALL, align="right")
    word(ax, 2.3, 0.55, "tgt_out: it has to write", size=SMALL, align="right")
    for i, (read, written) in enumerate(zip(READ, WRITTEN)):
        x = 2.9 + 1.05 * i
        blank = read == "<pad>"
        for y, text, color in ((1.35, read, BLUE), (0.55, written, ORANGE)):
            color = GREY if blank else color
            word(ax, x, y, text, color=color if blank else BLACK, bbox=dict(
                boxstyle="round,pad=0.3", facecolor=tint(color, 0.1 if blank else 0.3),
                edgecolor=color))
        if not blank:
            arrow(ax, (x, 1.15), (x, 0.75))
            if i:
                arrow(ax, (x - 0.85, 0.75), (x - 0.2, 1.15), color=GREY, line=1)
    word(ax, 4.7, 0.13, "grey arrow: the same token, one place later", size=SMALL, color=GREY)
    word(ax, 8.15, 0.13, "no loss here", size=SMALL, color=GREY)
