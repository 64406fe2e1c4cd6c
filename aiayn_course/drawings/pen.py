"""The parts of every drawing: boxes, arrows, grids of cells and words, in one style.

The axes of a drawing are measured in inches, as the page is. No word is smaller than SMALL points,
and no drawing is wider than WIDEST inches (both in `figures.py`).
"""

from aiayn_np.plotting.figures import COLORS, SMALL, new_figure

NORMAL = 11                                          # points
BLACK, GREY, PALE, RED, LIT = "#222222", "#777777", "#F1F3F5", "#C0392B", "#FFD8A8"
BLUE, ORANGE, GREEN, PINK = COLORS[0], COLORS[4], COLORS[2], COLORS[3]


def canvas(width, height):
    """Return an empty picture and its axes, measured in inches from the lower left."""
    fig = new_figure(width, height, layout=None)
    return fig, flat(fig.add_axes((0, 0, 1, 1)), width, height)


def flat(ax, width, height):
    """Return the axes without a frame, measured in inches."""
    ax.set(xlim=(0, width), ylim=(0, height))
    ax.set_axis_off()
    return ax


def word(ax, x, y, text, *, color=BLACK, size=NORMAL, align="center", **style):
    """Draw a text around (x, y)."""
    ax.text(x, y, text, color=color, fontsize=size, ha=align, va="center", **style)


def box(ax, x, y, width, height, text="", *, fill=PALE, edge=BLACK, size=NORMAL, line=1.2):
    """Draw a rounded box whose centre is (x, y)."""
    from matplotlib.patches import FancyBboxPatch

    corner, style = (x - width / 2, y - height / 2), "round,pad=0,rounding_size=0.07"
    ax.add_patch(FancyBboxPatch(corner, width, height, boxstyle=style, facecolor=fill,
                                edgecolor=edge, linewidth=line))
    if text:
        word(ax, x, y, text, size=size, linespacing=1.1)


def arrow(ax, *points, color=BLACK, line=1.3, tip="-|>"):
    """Draw straight lines from point to point, and a tip at the last point."""
    if len(points) > 2:
        xs, ys = zip(*points[:-1])
        ax.plot(xs, ys, color=color, linewidth=line, solid_capstyle="butt")
    ax.annotate("", points[-1], points[-2], arrowprops=dict(
        arrowstyle=tip, color=color, linewidth=line, shrinkA=0, shrinkB=0, mutation_scale=11))


def grid(ax, x, y, cells, *, size=0.4, width=None, fill=lambda i, j: "white", edge=BLACK):
    """Draw a matrix of cells with a text in each; (x, y) is its upper left corner.

    cells : rows of texts   size, width : of a cell; without a width it is a square
    fill : the colour of cell (row, column)
    """
    from matplotlib.patches import Rectangle

    width = width or size
    for i, row in enumerate(cells):
        for j, text in enumerate(row):
            corner = x + j * width, y - (i + 1) * size
            ax.add_patch(Rectangle(corner, width, size, facecolor=fill(i, j), edgecolor=edge,
                                   linewidth=0.8))
            word(ax, x + (j + 0.5) * width, y - (i + 0.5) * size, text)


def row_names(ax, x, y, names, *, size=0.4):
    """Draw names to the left of the rows of a grid at (x, y)."""
    for i, name in enumerate(names):
        word(ax, x - 0.08, y - (i + 0.5) * size, name, size=SMALL, align="right")


def column_names(ax, x, y, names, *, size=0.4):
    """Draw upright names above the columns of a grid at (x, y)."""
    for j, name in enumerate(names):
        ax.text(x + (j + 0.5) * size, y + 0.06, name, fontsize=SMALL, color=BLACK, ha="center",
                va="bottom", rotation=90)


def tint(color, amount):
    """Return a colour mixed with white: amount 0 is white, amount 1 is the colour itself."""
    from matplotlib.colors import to_rgb

    return tuple(1 - amount * (1 - c) for c in to_rgb(color))
