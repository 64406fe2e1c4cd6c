"""One step of training, shared by two workers."""

from typing import TYPE_CHECKING

from .pen import BLUE, LIT, ORANGE, RED, SMALL, arrow, box, canvas, tint, word

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def two_workers() -> "Figure":
    """One training step across two workers: shares, gradients, their sum, the same step."""
    fig, ax = canvas(7.6, 5.6)
    box(ax, 3.8, 5.25, 3.2, 0.45, "batch: $n$ target tokens")
    for x, i, color in ((1.9, 1, BLUE), (5.7, 2, ORANGE)):
        fill = tint(color, 0.2)
        arrow(ax, (3.8 + (x - 3.8) * 0.5, 5.02), (x, 4.62))
        box(ax, x, 4.4, 2.6, 0.42, f"worker {i}: $n_{i}$ tokens", fill=fill)
        box(ax, x, 3.6, 2.6, 0.42, "forward, loss", fill=fill)
        box(ax, x, 2.8, 2.6, 0.42, "backward", fill=fill)
        arrow(ax, (x, 4.19), (x, 3.81))
        arrow(ax, (x, 3.39), (x, 3.01), color=RED)
        word(ax, x + 0.12, 3.2, f"starts with $n_{i} / n$", size=SMALL, color=RED, align="left")
        arrow(ax, (x, 2.59), (3.8 + (x - 3.8) * 0.3, 2.13), color=RED)
        side = "right" if x < 3 else "left"
        word(ax, x, 2.3, f"grad_{i}", size=SMALL, color=RED, align=side)
        arrow(ax, (3.8 + (x - 3.8) * 0.3, 1.67), (x, 1.22), color=RED)
        box(ax, x, 1.0, 2.6, 0.42, "step of Adam", fill=fill)
        word(ax, x, 0.6, "the same new values", size=SMALL)
    box(ax, 3.8, 1.9, 2.9, 0.44, "all-reduce: grad = grad_1 + grad_2", fill=LIT, size=SMALL)
    word(ax, 3.8, 0.2, "Equal values and equal steps: both workers stay equal.", size=SMALL)
    return fig
