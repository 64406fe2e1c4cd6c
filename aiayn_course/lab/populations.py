"""What the lessons measure on one model, on eight: seeds 0 to 7, from figures/populations.json.

    >>> from aiayn_course.lab.populations import population
    >>> population(10)["loss"].shape                      # (seeds, points), a point is ten steps
    (8, 40)

`docs/measure_populations.py` measures it. Seed 0 is the reader's model. All arrays begin with the
axis of the seeds. Heads are those of layer 1, then of layer 2. Lessons 10 and 12 are measured.

Lesson 1     right (20): share of 500 sequences that are written backwards, every 50 steps; 1 after
    the end; step: the last one; due (2): share of rows that look at the due digit, in each layer;
    map (6, 6): the last layer's, for 3 1 4 1 5; frozen_right, frozen_due (2): with W^Q and W^K as
    they were drawn, at the end, and in the last layer before and after training
Lesson 10    loss, accuracy (40): means of ten steps; first_loss (2): before step 1, and with logits
    ten times smaller; right_before, right_after: the largest probability of a right token of
    3 1 4 1 5; early (3), at the first tenth step with 85 % of the tokens right: tokens right,
    sequences right if mistakes were spread evenly, sequences right; by_length (6, 3), 3 to 8
    digits: tokens, independent tokens, sequences; states (6): copied exactly at steps 310 to 350,
    and by the mean of these states
Lesson 11    chance: the largest margin of an untrained model; margin (8, 6): heads, jobs; prefix
    (3): weight of the best head on the due place, on that with a wrong prefix, and on the place
    after what was read; muted (8), muted_layer_2, muted_none: copied exactly without a head,
    without all of layer 2, with all; aligned TASK (8): weight of each head on the answer;
    influence TASK: outputs that change with one symbol, of copy, reverse and sort
Lesson 12    scaled dot, dot, general, concat, additive, and two with another start, dot, scores
    start small, and additive, Var(v) = 1 (20): loss, means of ten steps
Lesson 14    loss: means of ten steps; exact: share of 200 numbers after each epoch; chosen: the
    head; inverted, ordered (4, 3), heads, and first right, second right, crossed, also untrained;
    exact_test, muted (4): share of the test numbers, with all heads and without each
Lesson 15    loss: means of ten steps, nats: of a character that was held back; copied, exact:
    share of symbols and of rows; prefix, without (8): each head's weight on what followed, rows
    right without it; cost (20, 2, 3): rows, as it is and with the weights held, fall of log p for
    the first 3, the first 1, the last 3
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
