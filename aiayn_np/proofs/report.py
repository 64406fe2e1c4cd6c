"""The results of the gradient check as data, and all English words of a report."""

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

ALL = "all together"  # the name of the last row


class Verdict(Enum):
    OK = "ok"
    WRONG = "WRONG"
    UNDECIDED = "undecided"


# Circumstances of a verdict; NOTES has the sentence that a report adds.
NOT_COMPLEX = "the forward takes no complex numbers"
NOT_ANALYTIC = "the forward is not analytic"
FLOAT32_GRADIENT = "the gradient is float32, right to 1e-7"
KINK = "on a kink: slopes from left and right differ"
BESIDE_KINK = "measured beside x, which is on a kink"
NOTES = {
    NOT_COMPLEX: "The forward takes no complex numbers. Numeric is the central difference,"
    " which sees errors of 1e-7.",
    NOT_ANALYTIC: "The forward is not analytic. Numeric is the central difference, which sees"
    " errors of 1e-7.\nThe usual cause is np.var, np.std, np.abs or np.linalg.norm, whose complex"
    " derivative is wrong.\nWrite ((x - mean)**2).mean(), np.where(x < 0, -x, x) or"
    " sqrt((x**2).sum()).",
}

# Reasons why an array or an output is not checked.
NO_FLOATS = "holds no floats"
FORGOTTEN = "has no gradient, though the output depends on it"
OUTSIDE = "stands outside of the layer"
NOT_TAKEN = "is an output whose gradient backward does not take"


@dataclass
class Row:
    """The check of one tensor: analytic, <backward(u), v>, against numeric, <u, J v>."""

    tensor: str
    analytic: float = np.nan
    numeric: float = np.nan  # by the complex step, or by the central difference if it is misled
    central: float = np.nan
    error: float = np.nan
    state: Verdict = Verdict.OK
    why: tuple[str, ...] = ()
    step: float = 0.0  # the step of the central difference that decided
    fault: str = ""  # if more is known than the numbers

    @property
    def ok(self) -> bool:
        return self.state is Verdict.OK

    @property
    def wrong(self) -> bool:
        return self.state is Verdict.WRONG

    @property
    def verdict(self) -> str:
        """Say the verdict, as "WRONG, the forward is not analytic: worst entry [0] is 1 ..."."""
        return ", ".join([self.state.value, *self.why]) + (f": {self.fault}" if self.fault else "")


@dataclass(repr=False, eq=False)
class GradientReport:
    """A table of Rows; true if at least one tensor agrees and none is wrong.

    not_checked : {array or output of an adapted layer: the reason}
    """

    title: str
    rows: list[Row]
    checked: str = ""
    not_checked: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return any(row.ok for row in self.rows) and not any(row.wrong for row in self.rows)

    @property
    def worst(self) -> Row:
        """Return the row with the largest error, among the wrong rows if there are any."""
        single = [row for row in self.rows if row.tensor != ALL]
        return max(single, key=lambda row: (row.wrong, np.nan_to_num(row.error, nan=np.inf)))

    def __repr__(self) -> str:
        name_width = max(len(row.tensor) for row in self.rows)
        lines = [f"{'tensor':<{name_width}}  {'analytic':>15}  {'numeric':>15}  {'error':>7}"
                 f"  {'central':>13}  verdict"]
        for r in self.rows:
            lines.append(f"{r.tensor:<{name_width}}  {r.analytic:>15.8e}  {r.numeric:>15.8e}"
                         f"  {r.error:>7.0e}  {r.central:>13.6e}  {r.verdict}")
        lines += [note for why, note in NOTES.items() if any(why in r.why for r in self.rows)]
        lines += [self.checked] if self.checked else []
        lines += [f"Not checked: {name} {why}." for name, why in self.not_checked.items()]
        return "\n".join([f"Gradients of {self.title}", *lines, self.total()])

    def total(self) -> str:
        """Return the last line: how many agree, the worst row, and what was forgotten."""
        undecided = sum(row.state is Verdict.UNDECIDED for row in self.rows)
        total = f"{sum(row.ok for row in self.rows)} of {len(self.rows)} agree"
        total += f", {undecided} undecided" if undecided else ""
        what = "worst wrong" if self.worst.wrong else "worst error"
        forgotten = [name for name, why in self.not_checked.items() if why == FORGOTTEN]
        last = f"; NOT CHECKED: {', '.join(forgotten)}" if forgotten else ""
        return f"{total}; {what}: {self.worst.tensor}, {self.worst.error:.0e}{last}"
