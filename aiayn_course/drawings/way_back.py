"""A drawing of the gradient's way through Figure 1, from the loss down to the embeddings."""

import itertools
from typing import TYPE_CHECKING

from .model import BOXES, STACKS, WIDTH
from .pen import BLACK, GREY, LIT, PALE, RED, SMALL, arrow, box, canvas, word

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ADDS = {  # last word of a box's name: the parameters whose gradients it adds to
    "attention": "$W^Q, W^K, W^V, W^O$",
    "norm": "γ, β",
    "forward": "$W_1, b_1, W_2, b_2$",
}
SHIFT, LIFT = 1.35, 0.75                             # of the boxes of Figure 1, in inches
ENCODER, DECODER = 1.75 + SHIFT, 4.45 + SHIFT


def model_gradients() -> "Figure":
    """Draw Figure 1 on the way back: red arrows are gradients, and E gets three of them.

    Beside each box are the parameters to whose gradients the box adds.
    """
    fig, ax = canvas(8.8, 7.05)
    for stack, x in (("encoder", ENCODER), ("decoder", DECODER)):
        bottom, top = STACKS[stack]
        box(ax, x, LIFT + (bottom + top) / 2, 2.1, top - bottom, fill="none", edge=GREY)
        word(ax, x - 0.82, LIFT + top - 0.13, "N ×", size=SMALL)
    for name, (x, y, height, text) in BOXES.items():
        text = "Softmax and loss" if name == "softmax" else text
        box(ax, x + SHIFT, y + LIFT, WIDTH, height, text, size=SMALL)
        write_adds(ax, name, x + SHIFT, y + LIFT)
    draw_ways_back(ax)
    for x in (ENCODER, DECODER):                                       # where positions were added
        ax.plot([x], [1.28 + LIFT], "o", markersize=15, color=PALE, markeredgecolor=BLACK, zorder=4)
        word(ax, x, 1.28 + LIFT, "+", zorder=5)
    draw_shares_of_E(ax)
    word(ax, 0.3, 6.43, "red arrows: gradients of the loss\nred words: the parameters whose\n"
         "gradients a box adds to", size=SMALL, color=RED, align="left", linespacing=1.3)
    return fig


def write_adds(ax, name, x, y):
    """Write the parameters of a box, outside the frame of its stack."""
    adds = ADDS.get(name.replace("_1", "").replace("_2", "").replace("_3", "").split("_")[-1])
    if adds:
        left = x < DECODER
        word(ax, x + (-1.12 if left else 1.12), y, adds, size=SMALL, color=RED,
             align="right" if left else "left")


def draw_ways_back(ax):
    """Draw arrows downwards between the boxes, around the sublayers, and through the memory."""
    heights = {round(y + LIFT, 2): height for _, y, height, _ in BOXES.values()}
    for x, way in ((ENCODER, [0.85, 2.0, 2.5, 3.12, 3.5]),
                   (DECODER, [0.85, 2.0, 2.5, 3.24, 3.74, 4.34, 4.72, 5.3, 5.68])):
        for low, high in itertools.pairwise(round(y + LIFT, 2) for y in way):
            arrow(ax, (x, high - heights[high] / 2), (x, low + heights[low] / 2), color=RED)
    for x, low, high in ((ENCODER, 1.6, 2.5), (ENCODER, 2.8, 3.5), (DECODER, 1.6, 2.5),
                         (DECODER, 2.83, 3.74), (DECODER, 4.05, 4.72)):
        side = -1 if x < DECODER else 1
        arrow(ax, (x + side * WIDTH / 2, high + LIFT), (x + side * 0.85, high + LIFT),
              (x + side * 0.85, low + LIFT), (x, low + LIFT), line=1, color=RED)
    middle = (ENCODER + DECODER) / 2
    arrow(ax, (DECODER - WIDTH / 2, 3.24 + LIFT), (middle, 3.24 + LIFT), (middle, 4.1 + LIFT),
          (ENCODER, 4.1 + LIFT), (ENCODER, 3.64 + LIFT), color=RED)
    word(ax, (ENCODER + middle) / 2, 4.46 + LIFT,
         "the memory: the gradients\nof N layers add up", size=SMALL, color=RED)
    word(ax, DECODER + 0.75, 5.68 + LIFT, "(p − q) / number of tokens", size=SMALL,
         color=RED, align="left")


def draw_shares_of_E(ax):
    """Draw the three arrows into the one matrix of both embeddings and of the projection."""
    x, y = (ENCODER + DECODER) / 2, 0.45
    box(ax, x, y, 1.3, 0.44, "E.grad", fill=LIT)
    for column, side, use in ((ENCODER, -1, "as source"), (DECODER, 1, "as target")):
        arrow(ax, (column, 0.7 + LIFT), (column, y + 0.1), (x + side * 0.65, y + 0.1), color=RED)
        word(ax, column - 0.08 if side < 0 else column + 0.08, 1.0, use, size=SMALL, color=RED,
             align="right" if side < 0 else "left")
    right = DECODER + 2.75
    arrow(ax, (DECODER + WIDTH / 2, 5.3 + LIFT), (right, 5.3 + LIFT), (right, y - 0.1),
          (x + 0.65, y - 0.1), color=RED)
    word(ax, right - 0.08, 1.0, "as output", size=SMALL, color=RED, align="right")
