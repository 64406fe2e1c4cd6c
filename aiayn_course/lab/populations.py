"""What the lessons measure on one model, on eight: seeds 0 to 7, from figures/populations.json.

    >>> from aiayn_course.lab.populations import population
    >>> population(10)["loss"].shape                      # (seeds, points), a point is ten steps
    (8, 40)

`docs/measure_populations.py` measures it, and says what each name means. Seed 0 is the reader's
model. All arrays begin with the axis of the seeds. Lessons 1, 8, 10, 11, 12, 14 and 15 are
measured.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .experiment import restored
from .learning import STEPS_PER_POINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes


PACKAGE = Path(__file__).parents[1]
FOLDERS = PACKAGE / "_data" / "figures", PACKAGE.parent / "figures"    # of a wheel, of a repository


def population(lesson: int) -> dict[str, np.ndarray]:
    """Return {name: array (seeds, ...)} of a lesson. Raises KeyError for a lesson without one."""
    folder = next(filter(Path.is_dir, FOLDERS))
    text = (folder / "populations.json").read_text(encoding="utf-8")
    return restored(json.loads(text)[str(lesson)])


def draw_population(ax: "Axes", lesson: int, name: str, x: ArrayLike | None = None,
                    **style: Any) -> None:
    """Draw a thin line for each seed, (seeds, points); by default a point is ten steps."""
    runs = population(lesson)[name]
    steps = STEPS_PER_POINT * (np.arange(runs.shape[1]) + 1) if x is None else x
    look: dict[str, Any] = dict(color="0.6", linewidth=0.6, zorder=1) | style
    ax.plot(steps, runs.T, **look)
