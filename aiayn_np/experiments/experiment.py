"""What every experiment has: a claim of the paper, a function that measures, and a Result.

A Result is a dataclass of arrays and numbers. It says in one sentence what was found, judges the
claim by it, draws itself, and is written to JSON and read back: the gallery, the figures and the
tests all speak of the same numbers.
"""

import dataclasses
import json
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, get_origin

import numpy as np

from ..checkpoint import replacing
from ..plotting import STYLE, new_figure

AGREES, DISAGREES, NOT_HERE = "agrees", "disagrees", "does not show at this size"
DIGITS = 6  # significant ones, in JSON


@dataclass
class Result:
    """Base of all results; subclasses are dataclasses whose fields are arrays, numbers and lists.

    A subclass defines `title`, `finding`, `verdict` and `draw(*axes)`.
    """

    title: ClassVar[str]
    panels: ClassVar[tuple[int, int]] = (1, 1)  # rows, columns of axes
    size: ClassVar[tuple[float, float]] = (7.0, 4.4)  # inches
    layout: ClassVar[dict] = {}  # other options of Figure.subplots

    @property
    def finding(self) -> str:
        """One sentence with the numbers that were measured."""
        raise NotImplementedError

    @property
    def verdict(self) -> str:
        """AGREES, DISAGREES or NOT_HERE, decided by the numbers."""
        raise NotImplementedError

    def draw(self, *axes):
        """Draw on the axes of the panels, row by row."""
        raise NotImplementedError

    def figure(self):
        """The matplotlib Figure: title above, panels, and the finding as a sentence below."""
        from matplotlib import rc_context

        with rc_context(STYLE):
            fig = new_figure(*self.size)
            axes = fig.subplots(*self.panels, squeeze=False, **self.layout)
            self.draw(*axes.flat)
            fig.suptitle(self.title, fontweight="bold")
            wide = int(self.size[0] * 10.8)
            fig.supxlabel(textwrap.fill(self.finding, wide), fontsize=STYLE["font.size"], x=0.01,
                          ha="left")
            for ax in fig.axes:
                ax.tick_params(labelsize=STYLE["font.size"] - 1)
        return fig

    def to_json(self):
        """Fields as JSON: arrays as lists, numbers with six significant digits."""
        return {f.name: plain(getattr(self, f.name)) for f in dataclasses.fields(self)}

    @classmethod
    def from_json(cls, fields):
        """The result with these fields; lists become arrays, but for fields declared as lists.

        TypeError if they do not fit.
        """
        lists = {f.name for f in dataclasses.fields(cls) if (get_origin(f.type) or f.type) is list}
        return cls(**{name: value if name in lists else restored(value)
                      for name, value in fields.items()})


@dataclass(frozen=True)
class Experiment:
    """A claim of the paper and how it is measured.

    name : on the command line, and of the figure's file        claim : its number in the gallery
    section : where the paper says it       says : what, in our words       alt : the figure, told
    run : function with defaults for every argument, returns a `result`
    trains : whether it trains models       timed : whether it measures time, so that numbers vary
    """

    name: str
    claim: int
    section: str
    says: str
    alt: str
    run: Callable[..., Result]
    result: type[Result]
    trains: bool = False
    timed: bool = False

    def save(self, result, folder):
        """Write NAME.png and NAME.json; return the path of the picture."""
        from matplotlib import rc_context

        result = self.result.from_json(result.to_json())  # draw the digits that are written
        picture = Path(folder) / f"{self.name}.png"
        with rc_context(STYLE):
            result.figure().savefig(picture, dpi=130)
        text = json.dumps(result.to_json(), allow_nan=False)
        with replacing(Path(folder) / f"{self.name}.json") as file:
            file.write((text + "\n").encode())
        return picture

    def load(self, folder):
        """The result that `save` wrote. OSError, ValueError or TypeError where it cannot."""
        text = (Path(folder) / f"{self.name}.json").read_text(encoding="utf-8")
        return self.result.from_json(json.loads(text))


def plain(value):
    """A value as JSON has it; what is not finite becomes None."""
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


def restored(value):
    """The reverse: lists of numbers become arrays, None in them becomes nan."""
    if isinstance(value, dict):
        return {key: restored(v) for key, v in value.items()}
    if not isinstance(value, list):
        return np.nan if value is None else value
    array = np.array(value)
    return array.astype(float) if array.dtype == object else array
