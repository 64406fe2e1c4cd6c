"""Pictures of effects: every seed, and the interval of the mean."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from aiayn_np.plotting.figures import COLORS

from .gate import LONGER, Effect

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLE = "line: 95 % interval of the mean;\n|: a seed; grey: too small to count"
BELOW: dict = dict(loc="upper center", bbox_to_anchor=(0.5, -0.14), frameon=False)  # of a legend


def draw_effects(ax: "Axes", effects: Mapping[str, Effect], unit: str,
                 colors: Sequence[str] = ()) -> None:
    """Draw a row for each effect: thin marks for the seeds, a bar for the interval of the mean.

    The upper part of a row is the training of 1 x the steps, the lower part that of 3 x. The grey
    band holds the differences that do not count.

    unit : the label of the axis
    """
    names = list(effects)
    rows = np.arange(len(names))[::-1]
    for row, color, value in zip(rows, colors or [COLORS[0]] * len(names), effects.values()):
        for time, (at, fill) in enumerate(((row + 0.17, "none"), (row - 0.17, color))):
            low, high = value.interval[time]
            label = (f"after {('1', str(LONGER))[time]} × the steps" if row == rows[0] else None)
            seeds = value.difference[:, time]
            ax.plot(seeds, np.full(len(seeds), at), "|", color=color, markersize=7, alpha=0.7)
            ax.plot([low, high], [at, at], color=color, linewidth=2)
            ax.plot(np.mean(seeds), at, "o", color=color, markerfacecolor=fill, label=label)
    least = max(value.least for value in effects.values())
    ax.axvspan(-least, least, color="0.9", zorder=0)
    ax.axvline(0, color="0.6", linewidth=1, zorder=0)
    ax.set(yticks=rows, yticklabels=[name.replace(", ", ",\n") for name in names], xlabel=unit,
           ylim=(-0.6, len(names) - 0.4))
    ax.legend(title=TITLE, **BELOW)
