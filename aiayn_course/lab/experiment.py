"""The parts of every experiment: a claim, a function that measures, and a Result.

A Result is a dataclass of arrays and numbers. It states its finding in one sentence, judges the
claim, and draws itself. It is written to JSON and read back, so that the gallery, the figures and
the tests use the same numbers.
"""

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_origin

import numpy as np

from aiayn_np.files import replacing
from aiayn_np.plotting.figures import DPI, STYLE, WIDEST, load_matplotlib, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AGREES, IN_PART, DISAGREES = "agrees", "agrees in part", "disagrees"
NOT_SETTLED = "not settled"
DIGITS = 6  # significant ones, in JSON


@dataclass
class Result:
    """Base of all results; subclasses are dataclasses whose fields are arrays, numbers and lists.

    A subclass defines `title`, `finding`, `verdict` and `draw(*axes)`.
    """

    title: ClassVar[str]
    panels: ClassVar[tuple[int, int]] = (1, 2)  # rows, columns of axes
    size: ClassVar[tuple[float, float]] = (WIDEST, 4.8)  # inches
    layout: ClassVar[dict] = {}  # other options of Figure.subplots

    @property
    def finding(self) -> str:
        """Return one sentence with the measured numbers."""
        raise NotImplementedError

    @property
    def verdict(self) -> str:
        """Return AGREES, IN_PART, DISAGREES or NOT_SETTLED; the numbers decide."""
        raise NotImplementedError

    def draw(self, *axes: Any) -> None:
        """Draw on the axes of the panels, row by row."""
        raise NotImplementedError

    def figure(self) -> "Figure":
        """Return the matplotlib Figure, with the title above the panels."""
        with load_matplotlib().rc_context(STYLE):
            fig = new_figure(*self.size)
            axes = fig.subplots(*self.panels, squeeze=False, **self.layout)
            self.draw(*axes.flat)
            fig.suptitle(self.title, fontweight="bold")
            for ax in fig.axes:
                ax.tick_params(labelsize=STYLE["font.size"] - 1)
        return fig

    def to_json(self) -> dict:
        """Return the fields as JSON: arrays as lists, numbers with six significant digits."""
        return {f.name: plain(getattr(self, f.name)) for f in dataclasses.fields(self)}

    @classmethod
    def from_json(cls, fields: dict) -> "Result":
        """Return the result with these fields. Lists become arrays unless declared as lists.

        Raises TypeError for missing or unknown fields.
        """
        lists = {f.name for f in dataclasses.fields(cls) if (get_origin(f.type) or f.type) is list}
        return cls(**{name: value if name in lists else restored(value)
                      for name, value in fields.items()})


@dataclass(frozen=True)
class Experiment:
    """A claim and its measurement.

    name : name on the command line and of the figure's file
    claim : its number in the gallery; numbers above 16 are not the paper's
    section : section of the paper; for a further claim, its author
    says : the claim in our words       alt : a description of the figure
    settings : what else is to be known of its models
    dropped : settings that were tried and left, and what they gave
    run : function with defaults for every argument; it returns a `result`
        Common arguments mean the same in all functions: `seed` is for all draws; for each of
        `seeds` there is one model of each setting, and all models of a seed see the same batches;
        `steps` are steps of a training, and the models train for three times as many;
        `rate_scale` are factors of Eq. (3), and each model is judged at its best one.
    trains : whether it trains models       timed : whether it measures time, so that numbers vary
    """

    name: str
    claim: int
    section: str
    says: str
    alt: str
    run: Callable[..., Result]
    result: type[Result]
    settings: str = ""
    dropped: str = ""
    trains: bool = False
    timed: bool = False

    def save(self, result: Result, folder: str | Path) -> Path:
        """Write NAME.png and NAME.json; return the path of the picture."""
        result = self.result.from_json(result.to_json())  # draw the digits that are written
        picture = Path(folder) / f"{self.name}.png"
        with load_matplotlib().rc_context(STYLE):
            save_figure(result.figure(), picture, dpi=DPI)
        text = json.dumps(result.to_json(), allow_nan=False)
        with replacing(Path(folder) / f"{self.name}.json") as file:
            file.write((text + "\n").encode())
        return picture

    def load(self, folder: str | Path) -> Result:
        """Return the result that `save` wrote; OSError, ValueError, TypeError for another file."""
        text = (Path(folder) / f"{self.name}.json").read_text(encoding="utf-8")
        return self.result.from_json(json.loads(text))


def plain_text(title):
    """Return the title of a figure, or another text, without TeX."""
    return title.translate(str.maketrans("", "", "$\\{}")).replace("sqrt", "√")


def upper(value):
    """Return a positive number as text with two significant digits, rounded up."""
    step = 10.0 ** (np.floor(np.log10(value)) - 1)
    return f"{np.ceil(round(value / step, 6)) * step:.2g}"


def plain(value):
    """Return a value in a form for JSON; a number that is not finite becomes None."""
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


def restored(value):
    """Undo `plain`: lists of numbers become arrays, and None becomes nan."""
    if isinstance(value, dict):
        return {key: restored(v) for key, v in value.items()}
    if not isinstance(value, list):
        return np.nan if value is None else value
    array = np.array(value)
    return array.astype(float) if array.dtype == object else array
