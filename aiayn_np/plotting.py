"""Pictures: attention maps, positional encodings, training curves.

Every function returns a matplotlib Figure, which a notebook shows, and prints nothing. Attention
weights are always drawn on a fixed scale of 0 to 1, and a masked cell is hatched: "may not look" is
not "looked, weight 0". matplotlib is imported when something is drawn.
"""

import functools
import io
from typing import Any

import numpy as np

CMAP = "cividis"
# Colours that colour-blind readers tell apart (Okabe and Ito), and a shape for each.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
STYLE: Any = {"font.size": 12.0, "axes.titlesize": 12, "axes.labelsize": 12, "legend.fontsize": 11,
              "figure.titlesize": 13, "axes.spines.top": False, "axes.spines.right": False}


def new_figure(width, height, *, layout="constrained"):
    """An empty Picture of so many inches."""
    return picture_class()(figsize=(width, height), layout=layout)


@functools.cache
def picture_class():
    """A Figure that a notebook shows by itself, whichever backend matplotlib has there."""
    from matplotlib.figure import Figure

    class Picture(Figure):
        def _repr_png_(self):
            file = io.BytesIO()
            self.savefig(file, format="png", dpi=100)
            return file.getvalue()

    return Picture


def draw_spread(ax, x, runs, label, style=0):
    """A line through the median of several runs over x, and a band from their least to their most.

    runs : (seeds, len(x))   style : which of COLORS and MARKERS
    """
    runs, color, marker = np.asarray(runs), COLORS[style], MARKERS[style]
    every = max(1, len(x) // 8)
    ax.plot(x, np.median(runs, axis=0), color=color, marker=marker, markevery=every, label=label)
    ax.fill_between(x, runs.min(axis=0), runs.max(axis=0), color=color, alpha=0.2, linewidth=0)


def log_ticks(axis, values):
    """Ticks of a logarithmic axis (`ax.xaxis` or `ax.yaxis`) at these values alone, as numbers."""
    axis.set_ticks(values, [f"{v:g}" for v in values])
    axis.set_ticks([], minor=True)


def plot_attention(weights, query_tokens, key_tokens, *, allowed=None, titles=None, title=None):
    """Draw the heads of one attention side by side.

    Parameters
    ----------
    weights : (h, T_q, T_k), or (T_q, T_k) for one head
    query_tokens, key_tokens : T_q and T_k labels, for the rows and the columns
    allowed : bool, broadcast to the shape of weights; cells that are False are hatched
    titles : a title for each head; title : one above them all

    Raises ValueError when labels and weights differ in number.
    """
    weights = np.asarray(weights)
    weights = weights[None] if weights.ndim == 2 else weights
    titles = titles or [f"head {i + 1}" for i in range(len(weights))]
    grid = [(weights, allowed, titles)]
    return draw_grid(grid, query_tokens, key_tokens, title)


def plot_attention_grid(maps, query_tokens, key_tokens, *, masks=None, title=None):
    """Draw several attentions of one kind, a row for each layer, a column for each head.

    Parameters
    ----------
    maps : dict of name -> (h, T_q, T_k), such as one sequence of `attention_maps`
    masks : dict with the same names -> bool, such as one sequence of `attention_masks`
    """
    if not maps:
        raise ValueError("maps must hold at least one attention map, got none")
    grid = []
    for row, (name, weights) in enumerate(maps.items()):
        titles = [f"layer {row + 1}, head {i + 1}" for i in range(len(weights))]
        grid.append((np.asarray(weights), masks[name] if masks else None, titles))
    return draw_grid(grid, query_tokens, key_tokens, title)


def draw_grid(grid, query_tokens, key_tokens, title):
    columns = max(len(weights) for weights, _, _ in grid)
    longest = max(len(key_tokens), len(query_tokens), 1)
    cell = min(max(2.4 / longest, 0.21), 0.42, 8 / longest)                # inches
    width = columns * (cell * len(key_tokens) + 0.2) + 1.9
    height = len(grid) * (cell * len(query_tokens) + 0.35) + (1.3 if title else 0.8)
    fig = new_figure(max(width, 0.075 * len(title or "")), height, layout="compressed")
    axes = fig.subplots(len(grid), columns, squeeze=False, sharex=True, sharey=True)
    for r, (weights, allowed, titles) in enumerate(grid):
        if weights.ndim != 3 or weights.shape[1:] != (len(query_tokens), len(key_tokens)):
            raise ValueError(
                f"weights must have shape (h, {len(query_tokens)}, {len(key_tokens)}) for these"
                f" tokens, got {weights.shape}"
            )
        mask = np.broadcast_to(True if allowed is None else allowed, weights.shape)
        if not len(weights) == len(titles) == columns:
            raise ValueError(f"every row must have {columns} heads and titles, got {len(weights)}"
                             f" and {len(titles)}")
        for c, ax in enumerate(axes[r]):
            image = draw_map(ax, weights[c], mask[c], titles[c])
    label_axes(axes, query_tokens, key_tokens)
    bar = fig.colorbar(image, ax=axes, shrink=min(1, 2 / len(grid) + 0.3), pad=0.01,
                       aspect=min(max(6 * height - 6, 7), 30))
    bar.set_label("attention weight")
    lines = [title] if title else []
    if any(allowed is not None and not np.all(allowed) for _, allowed, _ in grid):
        lines.append("hatched: masked, may not be looked at")
    fig.suptitle("\n".join(lines), fontsize="medium")
    return fig


def draw_map(ax, weights, allowed, title):
    """One heat-map; where looking is not allowed it is clear, and the hatched ground shows."""
    shown = np.ma.masked_where(~allowed, weights)
    ax.patch.set(facecolor="white", edgecolor="0.6", hatch="////")
    image = ax.imshow(shown, cmap=CMAP, vmin=0, vmax=1, aspect="equal", interpolation="nearest")
    ax.set_title(title, fontsize="small")
    return image


def label_axes(axes, query_tokens, key_tokens):
    """Tokens on both axes, in the outer row and column only; a dollar among them is a dollar."""
    style = dict(fontsize="small", parse_math=False)
    for ax in axes[-1]:
        ax.set_xticks(range(len(key_tokens)), key_tokens, **style)
        for label in ax.get_xticklabels():
            label.set_rotation(90 if len(label.get_text()) > 2 else 0)
        ax.set_xlabel("key", fontsize="small")
    for ax in axes[:, 0]:
        ax.set_yticks(range(len(query_tokens)), query_tokens, **style)
        ax.set_ylabel("query", fontsize="small")


def plot_positional_encoding(table, *, title=None):
    """Draw a table of positional encodings, (T, d_model), from -1 to 1."""
    table = np.asarray(table)
    if table.ndim != 2:
        raise ValueError(f"table must have shape (T, d_model), got {table.shape}")
    fig = new_figure(7, 4)
    ax = fig.subplots()
    limit = max(1, np.abs(table).max())
    image = ax.imshow(table, cmap="PuOr", vmin=-limit, vmax=limit, aspect="auto",
                      interpolation="nearest")
    ax.set_xlabel("dimension of the encoding")
    ax.set_ylabel("position")
    ax.set_title(title or "Positional encoding: each row is added to the token at that position")
    fig.colorbar(image, ax=ax).set_label("value added")
    return fig


def plot_signed(matrix, row_tokens, column_tokens, *, value, rows="query", columns="key",
                title=None):
    """Draw a small matrix of numbers with signs, such as a gradient: purple above 0, orange below.

    matrix : (len(row_tokens), len(column_tokens))   value, rows, columns : what they mean
    """
    matrix = np.asarray(matrix)
    if matrix.shape != (len(row_tokens), len(column_tokens)):
        raise ValueError(f"matrix must have shape ({len(row_tokens)}, {len(column_tokens)}) for"
                         f" these tokens, got {matrix.shape}")
    fig = new_figure(4.6, 3.8)
    ax = fig.subplots()
    limit = np.abs(matrix).max() or 1
    image = ax.imshow(matrix, cmap="PuOr", vmin=-limit, vmax=limit)
    ax.set_xticks(range(len(column_tokens)), column_tokens)
    ax.set_yticks(range(len(row_tokens)), row_tokens)
    ax.set(xlabel=columns, ylabel=rows, title=title)
    fig.colorbar(image, ax=ax).set_label(value)
    return fig


def plot_loss(history, *, title=None):
    """Draw training: loss and token accuracy of each step, validation where it was measured.

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
                markersize=4, label="whole sequences right, validation (longest first)")
    bottom.set_ylabel("share")
    bottom.set_xlabel("step")
    bottom.set_ylim(-0.03, 1.03)
    bottom.legend(loc="best", fontsize="small")
    top.set_title(title or "Training")
    return fig
