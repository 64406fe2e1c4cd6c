"""Equation 1 with the numbers of the running example, and its graph with the gradients."""

from typing import TYPE_CHECKING

import numpy as np

from ...attention import ScaledDotProductAttention
from .example import ASKING, SENTENCE, example
from .pen import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
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

CELL = 0.44


def numbers(array):
    """Return the texts of the cells of a matrix: two decimals, but whole numbers as they are."""
    return [[f"{v:.0f}" if v == round(v) else f"{v:.2f}" for v in row] for row in array]


def attention_shapes() -> "Figure":
    """Q, K, V and their products: every matrix with its shape and its numbers, one row framed."""
    Q, K, V = example()
    out, cache = ScaledDotProductAttention().forward(Q, K, V)
    fig, ax = canvas(8.6, 6.25)
    scores = Q @ K.T / np.sqrt(Q.shape[-1])
    top, bottom = 5.35, 1.9
    draw_matrix(ax, 0.6, top, Q, "$Q$", BLUE, ("T_q", "d_k"), rows=ASKING)
    word(ax, 2.98, top - 0.66, "·", size=18)
    draw_matrix(ax, 3.2, top, K.T, "$K^T$", ORANGE, ("d_k", "T_k"), columns=SENTENCE, framed=False)
    word(ax, 5.5, top - 0.66, "$/ \\sqrt{d_k}\\;=$", size=13)
    draw_matrix(ax, 6.6, top, scores, "scores", GREY, ("T_q", "T_k"), rows=ASKING,
                columns=SENTENCE)
    arrow(ax, (7.48, top - 1.42), (7.48, 2.95), (1.48, 2.95), (1.48, bottom + 0.72))
    word(ax, 4.8, 2.79, "softmax of each row: it adds up to 1", size=SMALL)
    draw_matrix(ax, 0.6, bottom, cache.weights, "weights", PINK, ("T_q", "T_k"), rows=ASKING,
                columns=SENTENCE)
    word(ax, 1.48, 0.35, "the attention map:\nrow = query, column = key", size=SMALL)
    word(ax, 2.62, bottom - 0.66, "·", size=18)
    draw_matrix(ax, 3.6, bottom, V, "$V$", GREEN, ("T_k", "d_v"), rows=SENTENCE, framed=False)
    word(ax, 5.1, bottom - 0.66, "=", size=14)
    draw_matrix(ax, 6.6, bottom, out, "output", BLUE, ("T_q", "d_v"), rows=ASKING)
    return fig


def draw_matrix(ax, x, y, array, name, color, axes, *, rows=None, columns=None, framed=True):
    """Draw a matrix of numbers with its name and shape above; the larger a number, the deeper.

    framed : whether the row of "sat" has a frame
    """
    from matplotlib.patches import Rectangle

    largest = np.abs(array).max()
    grid(ax, x, y, numbers(array), size=CELL, edge=color,
         fill=lambda i, j: tint(color, 0.5 * abs(array[i, j]) / largest))
    if framed:
        row = ASKING.index("sat")
        ax.add_patch(Rectangle((x, y - (row + 1) * CELL), array.shape[1] * CELL, CELL, fill=False,
                               edgecolor=RED, linewidth=2.2, zorder=3))
    if rows:
        row_names(ax, x, y, rows, size=CELL)
    if columns:
        column_names(ax, x, y, columns, size=CELL)
    shape = ", ".join(f"{axis} = {n}" for axis, n in zip(axes, array.shape))
    middle = x + array.shape[1] * CELL / 2
    word(ax, middle, y + (0.58 if columns else 0.2), f"{name}   ({shape})", size=SMALL)


STEPS = ["MatMul", "Scale", "Softmax", "Dropout (off)", "MatMul"]
FORWARD = ["products = Q Kᵀ", "scores = products / √d_k", "weights", "kept = weights",
           "out = kept V"]
BACKWARD = ["grad_products = grad_scores / √d_k",
            "grad_scores = weights · (grad_weights − mean_grad)", "grad_weights = grad_kept",
            "grad_kept = grad_out Vᵀ", "grad_out"]


def attention_gradients(Q: np.ndarray | None = None, K: np.ndarray | None = None,
                        V: np.ndarray | None = None, *, backward: bool = True) -> "Figure":
    """Draw the graph of attention: what goes forward in black, what comes back in red.

    Q (T_q, d_k), K (T_k, d_k), V (T_k, d_v) : whose shapes are shown; without them the example's
    backward : False leaves out everything red
    """
    arrays = example() if Q is None else (Q, K, V)
    _, cache = ScaledDotProductAttention().forward(*arrays)
    T_q, T_k = cache.weights.shape
    fig, ax = canvas(9, 5.3)
    x, heights = 2.7, [1.3, 2.0, 2.7, 3.4, 4.1]
    for y, step in zip(heights, STEPS):
        box(ax, x, y, 1.7, 0.42, step)
    for y, forward, back in zip(heights, FORWARD, BACKWARD):
        draw_both_ways(ax, x, y + 0.21, y + 0.49, backward)
        word(ax, x - 0.3, y + 0.35, forward, align="right")
        if backward:
            word(ax, x + 0.3, y + 0.35, back, color=RED, align="left")
    gradients = ["grad_Q =\ngrad_products K", "grad_K =\ngrad_productsᵀ Q"]
    for side, name, array, gradient in zip((-0.75, 0.75), "QK", (cache.Q, cache.K), gradients):
        draw_both_ways(ax, x + 0.72 * side, 0.66, 1.09, backward)
        word(ax, x + 1.05 * side, 0.47, f"{name} {array.shape}")
        if backward:
            word(ax, x + 2.3 * side, 0.88, gradient, color=RED)
    arrow(ax, (7.4, 0.66), (7.4, 4.05), (3.55, 4.05))
    word(ax, 7.46, 0.47, f"V {cache.V.shape}")
    word(ax, x, 5.1, f"T_q = {T_q} queries, T_k = {T_k} keys")
    word(ax, 1.3, 0.13, "forward: a value", color=BLACK)
    if backward:
        arrow(ax, (3.55, 4.17), (7.52, 4.17), (7.52, 0.66), color=RED)
        word(ax, 7.62, 1.65, "grad_V =\nkeptᵀ grad_out", color=RED, align="left")
        word(ax, 5.6, 0.13, "backward: the gradient of the loss with respect to it", color=RED)
    return fig


def draw_both_ways(ax, x, low, high, backward):
    """Draw an arrow up and, if the gradient is drawn, a red one down beside it."""
    arrow(ax, (x - 0.08, low), (x - 0.08, high))
    if backward:
        arrow(ax, (x + 0.08, high), (x + 0.08, low), color=RED)
