"""Pictures: attention maps, training curves, numbers with signs.

Every function returns a matplotlib Figure for a notebook to show, and prints nothing. Attention
weights are always drawn on a fixed scale of 0 to 1. A masked cell is hatched: it differs from a
cell with weight 0. Numbers with signs are drawn around 0: purple above, orange below. The cells of
a small map show their numbers. matplotlib is imported when something is drawn.
"""

import functools
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..files import replacing
from .fonts import downwards, few_colours, picture_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

KINDS = (".png", ".svg", ".pdf")  # endings of a picture's file
CMAP, SIGNED_CMAP = "cividis", "PuOr"
DPI, SCREEN = 150, 96  # pixels per inch in a file, and in a notebook
SMALL, WIDEST = 9.5, 9  # the smallest font in points, the widest picture in inches
CARD = {"facecolor": "#F4F5F6", "edgecolor": "#B8BEC4"}  # behind a picture in any notebook
SMALLEST = 0.18  # the smallest side of a cell in inches, for its label
NUMBERED = 5  # a map with at most so many rows and columns shows its numbers, wide cells 7
# Colours that colour-blind readers can tell apart (Okabe and Ito), and a marker for each.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
STYLE: Any = {"font.size": 12.0, "axes.titlesize": 12, "axes.labelsize": 12, "legend.fontsize": 11,
              "figure.titlesize": 13, "axes.spines.top": False, "axes.spines.right": False}

is_command = False  # whether a command draws, see command_style


def new_figure(width: float, height: float, *, layout: str | None = 'constrained') -> "Figure":
    """Return an empty picture; width and height are in inches."""
    return picture_class()(figsize=(width, height), layout=layout)


def save_figure(fig: "Figure", path: str | Path, *, dpi: int) -> None:
    """Write a picture to a file, whole or not at all; the ending is one of KINDS."""
    content = picture_of(fig, dpi, Path(path).suffix.lower()[1:])
    with replacing(Path(path)) as file:
        file.write(content)


def command_style() -> None:
    """Make all later pictures ignore the user's MPLBACKEND and matplotlibrc, as a command must.

    A command writes files, which needs the backend Agg. A notebook passes its own backend to the
    commands that it starts, and matplotlib would fail if that backend is not installed. A
    matplotlibrc may ask for another font, or for a missing LaTeX. In a notebook nothing changes.
    """
    global is_command
    is_command = "IPython" not in sys.modules


def load_matplotlib() -> ModuleType:
    """Import matplotlib and return it; a command gets matplotlib's own defaults."""
    first = is_command and "matplotlib" not in sys.modules
    if first:
        os.environ["MPLBACKEND"] = "agg"
    import matplotlib

    if first:
        matplotlib.rcdefaults()
    return matplotlib


@functools.cache
def picture_class():
    """Return a class of Figure that every notebook can show, with any backend of matplotlib."""
    load_matplotlib()
    from matplotlib.figure import Figure

    class Picture(Figure):
        def _repr_png_(self):
            width, height = (round(SCREEN * inches) for inches in self.get_size_inches())
            self.set_linewidth(2)                                      # of its frame
            return few_colours(picture_of(self, DPI, **CARD)), {"width": width, "height": height}

    return Picture


def draw_spread(ax: "Axes", x: np.ndarray, runs: ArrayLike, label: str, style: int = 0) -> None:
    """Draw the median of several runs over x as a line, and their range as a band.

    runs : (seeds, len(x))   style : the index into COLORS and MARKERS
    """
    runs, color, marker = np.asarray(runs), COLORS[style], MARKERS[style]
    every = max(1, len(x) // 8)
    ax.plot(x, np.median(runs, axis=0), color=color, marker=marker, markevery=every, label=label)
    ax.fill_between(x, runs.min(axis=0), runs.max(axis=0), color=color, alpha=0.2, linewidth=0)


def log_ticks(axis: "Axis", values: Any) -> None:
    """Set the ticks of a logarithmic axis (`ax.xaxis` or `ax.yaxis`) to exactly these values."""
    axis.set_ticks(values, [f"{v:g}" for v in values])
    axis.set_ticks([], minor=True)


def plot_attention(weights: ArrayLike, query_tokens: Sequence[str], key_tokens: Sequence[str], *,
                   allowed: ArrayLike | None = None, titles: list[str] | None = None,
                   title: str | None = None, quantity: str = 'attention weight',
                   signed: bool = False, fig: Any = None) -> "Figure":
    """Draw the heads of one attention side by side.

    Parameters
    ----------
    weights : (h, T_q, T_k), or (T_q, T_k) for one head
    query_tokens, key_tokens : T_q and T_k labels, for the rows and the columns
    allowed : bool, broadcast to the shape of weights; cells that are False are hatched
    titles : a title for each head; title : a title for the picture
    quantity : the name of the numbers, if they are no weights
    signed : draw numbers with signs, such as the `cells` of `reading.shares`, around 0. The scale
        then ends at the largest absolute value of all heads. Otherwise it is 0 to 1.
    fig : a Figure or SubFigure to draw into; None for a new one

    Raises ValueError if the number of labels does not fit the weights.
    """
    weights = np.asarray(weights)
    if weights.ndim == 2:
        weights, titles = weights[None], titles or [""]
    titles = titles or [f"head {i + 1}" for i in range(len(weights))]
    mask = np.broadcast_to(True if allowed is None else allowed, weights.shape)
    n = columns_of(len(weights), query_tokens, key_tokens)
    grid = [(weights[i : i + n], mask[i : i + n], titles[i : i + n])
            for i in range(0, len(weights), n)]
    return draw_grid(grid, query_tokens, key_tokens, title, quantity, signed, fig)


def columns_of(heads, query_tokens, key_tokens):
    """Return the number of maps in a row, so that all rows are full and none is too wide."""
    one = cell_of(query_tokens, key_tokens) * len(key_tokens) + 0.2                # inches
    fitting = [n for n in range(1, heads + 1) if heads % n == 0 and n * one + 1.9 <= WIDEST]
    return max(fitting, default=1)


def cell_of(query_tokens, key_tokens):
    """Return the side of a cell in inches."""
    longest = max(len(key_tokens), len(query_tokens), 1)
    return min(max(2.4 / longest, 0.21), 0.42, 8 / longest)


def plot_attention_grid(maps: dict, query_tokens: Sequence[str], key_tokens: Sequence[str], *,
                        masks: dict | None = None, title: str | None = None,
                        fig: Any = None) -> "Figure":
    """Draw the attention maps of several layers: a row for each layer, a column for each head.

    Parameters
    ----------
    maps : dict of name -> (h, T_q, T_k), such as one sequence of `attention_maps`
    masks : dict with the same names -> bool, such as one sequence of `attention_masks`
    fig : as in `plot_attention`
    """
    if not maps:
        raise ValueError("maps must hold at least one attention map, got none")
    grid = []
    for row, (name, weights) in enumerate(maps.items()):
        titles = [f"layer {row + 1}, head {i + 1}" for i in range(len(weights))]
        grid.append((np.asarray(weights), masks[name] if masks else None, titles))
    return draw_grid(grid, query_tokens, key_tokens, title, fig=fig)


def side_by_side(drawings: Sequence) -> "Figure":
    """Return one picture of several.

    drawings : functions that draw into `fig`, or without it into a new Figure, and return it
    """
    sizes = [draw().get_size_inches() for draw in drawings]
    widths, heights = zip(*sizes)
    whole = new_figure(sum(widths), max(heights))
    parts = whole.subfigures(1, len(drawings), width_ratios=widths, squeeze=False)[0]
    for draw, part in zip(drawings, parts):
        draw(fig=part)
    return whole


def draw_grid(grid: list, query_tokens: Sequence[str], key_tokens: Sequence[str], title: str | None,
              quantity: str = 'attention weight', signed: bool = False,
              fig: Any = None) -> "Figure":
    """Draw a row of maps for each (weights (h, T_q, T_k), allowed or None, titles) of a grid.

    fig : as in `plot_attention`
    """
    rows = masked_rows(grid, (len(query_tokens), len(key_tokens)))
    limit = None
    if signed:
        limit = max(np.abs(weights[mask]).max(initial=0) for weights, mask, _ in rows) or 1
    columns = len(rows[0][0])
    fitting = ((WIDEST - 1.9) / columns - 0.2) / max(len(key_tokens), 1)
    cell = min(cell_of(query_tokens, key_tokens), max(fitting, SMALLEST))
    width = columns * (cell * len(key_tokens) + 0.2) + 1.9
    height = len(rows) * (cell * len(query_tokens) + 0.35) + (1.3 if title else 0.8)
    fig = fig or new_figure(max(width, 0.075 * len(title or "")), height, layout="compressed")
    axes = fig.subplots(len(rows), columns, squeeze=False, sharex=True, sharey=True)
    for row, (weights, mask, titles) in zip(axes, rows):
        for ax, head, allowed, name in zip(row, weights, mask, titles):
            image = draw_map(ax, head, allowed, name, limit, 7 if cell > 0.34 else NUMBERED)
    label_axes(axes, query_tokens, key_tokens)
    bar = fig.colorbar(image, ax=axes, shrink=min(1, 2 / len(rows) + 0.3), pad=0.01,
                       aspect=min(max(6 * height - 6, 7), 30))
    bar.set_label(quantity)
    hatched = not all(mask.all() for _, mask, _ in rows)
    lines = [title or "", "hatched: masked, may not be looked at" if hatched else ""]
    fig.suptitle("\n".join(filter(None, lines)), fontsize=11)
    return fig


def masked_rows(grid, shape):
    """Return the rows of a grid, each with a mask; raise ValueError if shapes differ."""
    rows, columns = [], max(len(weights) for weights, _, _ in grid)
    for weights, allowed, titles in grid:
        if weights.ndim != 3 or weights.shape[1:] != shape:
            raise ValueError(f"weights must have shape (h, {shape[0]}, {shape[1]}) for these"
                             f" tokens, got {weights.shape}")
        if not len(weights) == len(titles) == columns:
            raise ValueError(f"every row must have {columns} heads and titles, got {len(weights)}"
                             f" and {len(titles)}")
        mask = np.broadcast_to(True if allowed is None else allowed, weights.shape)
        rows.append((weights, mask, titles))
    return rows


def draw_map(ax: "Axes", weights: np.ndarray, allowed: np.ndarray, title: str,
             limit: float | None = None, most: int = NUMBERED) -> "AxesImage":
    """Draw one heat map. Masked cells stay transparent, so that the hatched background shows.

    limit : the scale is -limit to limit, for signs; None: 0 to 1; most : as in `write_numbers`
    """
    shown = np.ma.masked_where(~allowed, weights)
    ax.patch.set(facecolor="white", edgecolor="0.6", hatch="////")
    scale: Any = dict(cmap=CMAP, vmin=0, vmax=1)
    if limit is not None:
        scale = dict(cmap=SIGNED_CMAP, vmin=-limit, vmax=limit)
    image = ax.imshow(shown, aspect="equal", interpolation="nearest", **scale)
    write_numbers(ax, shown, lambda number: number < 0.5 if limit is None
                  else abs(number) > 0.6 * limit, most=most)
    ax.set_title(title, fontsize=SMALL)
    return image


def write_numbers(ax, matrix, is_dark, *, tiny=False, most=NUMBERED):
    """Write the numbers of a small matrix into its cells, white if is_dark(number).

    tiny : whether a number that rounds to 0.00 gets a third digit
    most : the most rows and columns of a small matrix
    """
    if max(matrix.shape) > most:
        return
    for (i, j), number in np.ma.ndenumerate(matrix):
        text = f"{number:.2f}".replace("-0.00", "0.00")
        if tiny and text == "0.00" and abs(number) >= 5e-4:
            text = f"{number:.3f}"
        ax.text(j, i, text, ha="center", va="center", fontsize=SMALL,
                color="white" if is_dark(number) else "black")


def label_axes(axes, query_tokens, key_tokens):
    """Write the tokens on the outer axes. A dollar sign is shown and starts no formula."""
    style = dict(fontsize=SMALL, parse_math=False)
    for ax in axes[-1]:
        ax.set_xticks(range(len(key_tokens)), [downwards(token) for token in key_tokens], **style)
        for label in ax.get_xticklabels():
            lines = label.get_text().split("\n")
            label.set_rotation(90 if max(map(len, lines)) > 2 else 0)
        ax.set_xlabel("key (is asked)", fontsize=SMALL)
    for ax in axes[:, 0]:
        ax.set_yticks(range(len(query_tokens)), query_tokens, **style)
        ax.set_ylabel("query (asks)", fontsize=SMALL)


def plot_signed(matrix: ArrayLike, row_tokens: Sequence[str], column_tokens: Sequence[str], *,
                value: str, rows: str = 'query', columns: str = 'key',
                title: str | None = None) -> "Figure":
    """Draw a small matrix of numbers with signs, such as a gradient: purple above 0, orange below.

    matrix : (len(row_tokens), len(column_tokens)); a cell that is nan is hatched
    value, rows, columns : names of the numbers and of the axes
    """
    matrix = np.ma.masked_invalid(matrix)
    if matrix.shape != (len(row_tokens), len(column_tokens)):
        raise ValueError(f"matrix must have shape ({len(row_tokens)}, {len(column_tokens)}) for"
                         f" these tokens, got {matrix.shape}")
    n_rows, n_columns = matrix.shape
    fig = new_figure(max(4.6, 0.6 * n_columns + 1), max(3.8, 0.6 * n_rows + 0.8))
    ax = fig.subplots()
    limit = np.abs(matrix).max() or 1
    ax.patch.set(facecolor="white", edgecolor="0.6", hatch="////")
    image = ax.imshow(matrix, cmap=SIGNED_CMAP, vmin=-limit, vmax=limit)
    write_numbers(ax, matrix, lambda number: abs(number) > 0.6 * limit, tiny=True, most=8)
    ax.set_xticks(range(len(column_tokens)), column_tokens)
    ax.set_yticks(range(len(row_tokens)), row_tokens)
    ax.set(xlabel=columns, ylabel=rows, title=title)
    fig.colorbar(image, ax=ax).set_label(value)
    return fig


def plot_loss(history: Iterable, *, title: str | None = None) -> "Figure":
    """Draw loss and token accuracy of each step, and the validation share where it was measured.

    history : Progress records, or anything with their attributes.
    """
    history = list(history)
    if not history:
        raise ValueError("history must hold at least one record, got none")
    steps = [p.step for p in history]
    fig = new_figure(7, 4.5)
    top, bottom = fig.subplots(2, 1, sharex=True)
    top.plot(steps, [p.loss for p in history], color="C0", linewidth=1)
    top.set_ylim(bottom=0)
    top.set_ylabel("loss (nats per token,\nwithout smoothing)")
    bottom.plot(steps, [p.accuracy for p in history], color="C0", linewidth=1,
                label="tokens right, training batch")
    validated = [p for p in history if p.validation is not None]
    bottom.plot([p.step for p in validated], [p.validation for p in validated], "o-", color="C1",
                markersize=4, label="validation: whole sequences right")
    bottom.set_ylabel("share")
    bottom.set_xlabel("step")
    bottom.set_ylim(-0.03, 1.03)
    bottom.legend(loc="best", fontsize="small")
    top.set_title(title or "Training")
    return fig
