"""Equation 1 with the numbers of the running example, and its graph with the gradients."""

from typing import TYPE_CHECKING

import numpy as np

from aiayn_np.attention import ScaledDotProductAttention

from .example import ASKING, SENTENCE, example
from .pen import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LIT,
    ORANGE,
    PALE,
    PINK,
    RED,
    SMALL,
    arrow,
    box,
    canvas,
    column_names,
    grid,
    row_names,
    tint,
    word,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 0.5, 0.27                            # of a cell
AROUND_HEADS = {  # height in Figure 2 (right): the shape there
    0.62: "(T, d_model)", 1.5: "(h, T, d_k)\nV: (h, T, d_v)", 2.4: "(h, T, d_v)",
    3.0: "(T, h d_v)", 3.7: "(T, d_model)",
}


def numbers(array):
    """Return the cells of a matrix as texts: two decimals, but none for whole numbers."""
    return [[f"{v:.0f}" if v == round(v) else f"{v:.2f}" for v in row] for row in array]


def attention_shapes(steps: int = 3) -> "Figure":
    """Draw Q, K, V and their products: every matrix with its shape and numbers, one row framed.

    steps : the number of products to draw: the scores, the weights, the output
    """
    Q, K, V = example()
    out, cache = ScaledDotProductAttention().forward(Q, K, V)
    fig, ax = canvas(9, 3.75)
    scores = Q @ K.T / np.sqrt(Q.shape[-1])
    top, bottom = 2.97, 1.15
    draw_matrix(ax, 0.55, top, Q, "$Q$", BLUE, ("T_q", "d_k"), rows=ASKING)
    word(ax, 3.25, top - 0.45, "·", size=18)
    draw_matrix(ax, 3.5, top, K.T, "$K^T$", ORANGE, ("d_k", "T_k"), columns=SENTENCE, framed=False)
    word(ax, 6.02, top - 0.45, "$/ \\sqrt{d_k}\\;=$", size=13)
    draw_matrix(ax, 6.85, top, scores, "scores", GREY, ("T_q", "T_k"), rows=ASKING,
                columns=SENTENCE)
    if steps < 2:
        return fig
    arrow(ax, (7.85, top - 0.9), (7.85, 1.53), (0.58, 1.53), (0.58, bottom))
    word(ax, 1.8, 1.68, "softmax of each row: it adds up to 1", size=SMALL)
    draw_matrix(ax, 0.55, bottom, cache.weights, "weights", PINK, ("T_q", "T_k"), rows=ASKING)
    if steps < 3:
        return fig
    word(ax, 2.8, bottom - 0.45, "·", size=18)
    draw_matrix(ax, 3.5, bottom, V, "$V$", GREEN, ("T_k", "d_v"), rows=SENTENCE, framed=False)
    word(ax, 4.8, bottom - 0.45, "=", size=14)
    draw_matrix(ax, 5.55, bottom, out, "output", BLUE, ("T_q", "d_v"), rows=ASKING)
    word(ax, 7.9, bottom - 0.45, "The weights are\nthe attention map:\nrow = query, column = key",
         size=SMALL)
    return fig


def draw_matrix(ax, x, y, array, name, color, axes, *, rows=None, columns=None, framed=True):
    """Draw a matrix with its name and shape above; larger numbers have deeper colours.

    framed : whether the row of "sat" has a frame
    """
    from matplotlib.patches import Rectangle

    largest = np.abs(array).max()
    grid(ax, x, y, numbers(array), size=HEIGHT, width=WIDTH, edge=color,
         fill=lambda i, j: tint(color, 0.5 * abs(array[i, j]) / largest))
    if framed:
        row = ASKING.index("sat")
        ax.add_patch(Rectangle((x, y - (row + 1) * HEIGHT), array.shape[1] * WIDTH, HEIGHT,
                               fill=False, edgecolor=RED, linewidth=2.2, zorder=3))
    if rows:
        row_names(ax, x, y, rows, size=HEIGHT)
    if columns:
        column_names(ax, x, y, columns, size=WIDTH)
    shape = ", ".join(f"${axis}$ = {n}" for axis, n in zip(axes, array.shape))
    middle = x + array.shape[1] * WIDTH / 2
    word(ax, middle, y + (0.6 if columns else 0.17), f"{name}   ({shape})")


STEPS = ["MatMul", "Scale", "Softmax", "Dropout (off)", "MatMul"]
FORWARD = ["products = Q Kᵀ", "scores = products / $\\sqrt{d_k}$", "weights", "kept = weights",
           "out = kept V"]
BACKWARD = ["grad_products = grad_scores / $\\sqrt{d_k}$",
            "grad_scores = weights · (grad_weights − mean_grad)", "grad_weights = grad_kept",
            "grad_kept = grad_out Vᵀ", "grad_out"]


def attention_gradients(Q: np.ndarray | None = None, K: np.ndarray | None = None,
                        V: np.ndarray | None = None, *, steps: int = 7) -> "Figure":
    """Draw the graph of attention: arrays go forward in black, gradients come back in red.

    Q (T_q, d_k), K (T_k, d_k), V (T_k, d_v) : arrays for the shapes; by default the example's
    steps : the number of gradients to draw: grad_out, grad_V and so on down to those of Q and K
    """
    arrays = example() if Q is None else (Q, K, V)
    _, cache = ScaledDotProductAttention().forward(*arrays)
    T_q, T_k = cache.weights.shape
    fig, ax = canvas(9, 4.15)
    x, heights = 2.7, [1.15, 1.72, 2.29, 2.86, 3.43]
    for y, step in zip(heights, STEPS):
        box(ax, x, y, 1.7, 0.32, step)
    for y, forward, back, first in zip(heights, FORWARD, BACKWARD, (6, 5, 4, 3, 1)):
        draw_both_ways(ax, x, y + 0.16, y + 0.41, steps >= first)
        word(ax, x - 0.3, y + 0.29, forward, align="right")
        if steps >= first:
            word(ax, x + 0.3, y + 0.29, back, color=RED, align="left")
    gradients = ["grad_Q =\ngrad_products K", "grad_K =\ngrad_productsᵀ Q"]
    for side, name, array, gradient in zip((-0.75, 0.75), "QK", (cache.Q, cache.K), gradients):
        draw_both_ways(ax, x + 0.72 * side, 0.6, 0.99, steps >= 7)
        word(ax, x + 1.05 * side, 0.43, f"{name} {array.shape}")
        if steps >= 7:
            word(ax, x + 2.3 * side, 0.78, gradient, color=RED)
    arrow(ax, (7.4, 0.6), (7.4, 3.38), (3.55, 3.38))
    word(ax, 7.46, 0.43, f"V {cache.V.shape}")
    word(ax, x, 4.0, f"$T_q$ = {T_q} queries, $T_k$ = {T_k} keys")
    word(ax, 1.3, 0.12, "forward: a value", color=BLACK)
    if steps >= 2:
        arrow(ax, (3.55, 3.5), (7.52, 3.5), (7.52, 0.6), color=RED)
        word(ax, 7.62, 1.5, "grad_V =\nkeptᵀ grad_out", color=RED, align="left")
    if steps:
        word(ax, 5.6, 0.12, "backward: the gradient of the loss with respect to it", color=RED)
    return fig


def draw_both_ways(ax, x, low, high, backward):
    """Draw an arrow up and, if the gradient is drawn, a red arrow down beside it."""
    arrow(ax, (x - 0.08, low), (x - 0.08, high))
    if backward:
        arrow(ax, (x + 0.08, high), (x + 0.08, low), color=RED)


def figure_2(*halves: str, shapes: bool = False) -> "Figure":
    """Draw Figure 2 of the paper: scaled dot-product attention, and the heads around it.

    halves : "left", "right"; by default both
    shapes : whether to light the boxes that only the right half has, and to write the shapes there
    """
    halves = halves or ("left", "right")
    fig, ax = canvas(4.2 * len(halves) + 1.5 * shapes, 4.4)
    for i, half in enumerate(halves):
        if half == "left":
            draw_one_head(ax, 4.2 * i)
        else:
            draw_all_heads(ax, 4.2 * i, shapes)
    return fig


def draw_one_head(ax, x):
    word(ax, x + 2.1, 4.22, "Scaled Dot-Product Attention", weight="bold")
    heights = [1.0, 1.6, 2.2, 2.8, 3.4]
    for y, step in zip(heights, ("MatMul", "Scale", "Mask (opt.)", "SoftMax", "MatMul")):
        box(ax, x + 1.6, y, 1.6, 0.36, step, fill=LIT if step == "MatMul" else PALE)
        arrow(ax, (x + 1.6, y + 0.18), (x + 1.6, y + 0.42))
    for side, name in ((1.2, "Q"), (2.0, "K")):
        arrow(ax, (x + side, 0.4), (x + side, 0.82))
        word(ax, x + side, 0.22, name)
    arrow(ax, (x + 3.3, 0.4), (x + 3.3, 3.4), (x + 2.4, 3.4))
    word(ax, x + 3.3, 0.22, "V")


def draw_all_heads(ax, x, shapes):
    around, within = (LIT, PALE) if shapes else (PALE, LIT)
    word(ax, x + 2.1, 4.22, "Multi-Head Attention", weight="bold")
    for at, name in ((0.8, "V"), (2.0, "K"), (3.2, "Q")):
        word(ax, x + at, 0.22, name)
        arrow(ax, (x + at, 0.4), (x + at, 0.82))
        draw_copies(ax, x + at, 1.0, 0.9, "Linear", around)
        arrow(ax, (x + at, 1.18), (x + at, 1.72))
    draw_copies(ax, x + 2.0, 1.92, 3.3, "Scaled Dot-Product Attention", within)
    word(ax, x + 3.97, 2.1, "h")
    for low, high in ((2.1, 2.52), (2.88, 3.12), (3.48, 3.82)):
        arrow(ax, (x + 2.0, low), (x + 2.0, high))
    box(ax, x + 2.0, 2.7, 1.4, 0.36, "Concat", fill=around)
    box(ax, x + 2.0, 3.3, 1.4, 0.36, "Linear", fill=around)
    for y, shape in AROUND_HEADS.items() if shapes else ():
        word(ax, x + 4.2, y, shape, align="left")


def draw_copies(ax, x, y, width, text, fill):
    """Draw a box with two more behind it, as for several heads."""
    for back in (0.14, 0.07, 0):
        box(ax, x + back, y + back, width, 0.36, text * (not back), fill=fill)
