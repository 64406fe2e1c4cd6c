"""The results of the gradient check as data, and all English words of a report."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

ALL = "all together"  # the name of the last row


class Verdict(Enum):
    OK = "ok"
    WRONG = "WRONG"
    UNDECIDED = "undecided"


class Why(Enum):
    """Circumstances of a verdict. A row shows the value; the report adds the sentence in NOTES."""

    NOT_COMPLEX = "the forward takes no complex numbers"
    NOT_ANALYTIC = "the forward is not analytic"
    GRADIENT = "the gradient is float32, right to 1e-7"
    KINK = "on a kink: slopes from left and right differ"
    BESIDE = "measured beside x, which is on a kink"


NOTES = {
    Why.NOT_COMPLEX: "The forward takes no complex numbers. Numeric is the central difference,"
    " which sees errors of 1e-7.",
    Why.NOT_ANALYTIC: "The forward is not analytic. Numeric is the central difference, which sees"
    " errors of 1e-7.\nThe usual cause is np.var, np.std, np.abs or np.linalg.norm, whose complex"
    " derivative is wrong.\nWrite ((x - mean)**2).mean(), np.where(x < 0, -x, x) or"
    " sqrt((x**2).sum()).",
}


class Fault(Enum):
    """Faults, if more is known than the numbers of the row."""

    ENTRY = "worst entry {at} is {got:.{digits}g}, must be {must:.{digits}g}"
    ENTRY_OF_SOME = ENTRY + " ({examined} of {size} were examined)"
    SHAPE = "shape {got}, must be {must}"
    COUNT = "{got} gradients returned for {must} inputs"
    NOT_ADDED = "backward must add to grad, a second call did not double it"


@dataclass
class Row:
    """The check of one tensor: analytic, <backward(u), v>, against numeric, <u, J v>."""

    tensor: str
    analytic: float = np.nan
    numeric: float = np.nan  # by the complex step, or by the central difference if it is misled
    central: float = np.nan
    error: float = np.nan
    state: Verdict = Verdict.OK
    why: tuple[Why, ...] = ()
    step: float = 0.0  # the step of the central difference that decided
    fault: Fault | None = None
    details: dict[str, Any] = field(default_factory=dict)  # the values in the sentence of `fault`

    @property
    def ok(self) -> bool:
        return self.state is Verdict.OK

    @property
    def wrong(self) -> bool:
        return self.state is Verdict.WRONG

    @property
    def verdict(self) -> str:
        """Say the verdict, as "WRONG, the forward is not analytic: worst entry [0] is 1 ..."."""
        said = ", ".join([self.state.value, *(why.value for why in self.why)])
        if self.fault is None:
            return said
        return f"{said}: {self.fault.value.format(**self.details)}"


class Gap(Enum):
    """Reasons why an array or an output is not checked."""

    NO_FLOATS = "holds no floats"
    FORGOTTEN = "has no gradient, though the output depends on it"
    OUTSIDE = "stands outside of the layer"
    NOT_TAKEN = "is an output whose gradient backward does not take"


class GradientReport:
    """A table of Rows; true if at least one tensor agrees and none is wrong.

    gaps : {array or output of an adapted layer: why it is not checked}
    """

    def __init__(self, title: str, rows: list[Row], *, checked: str = "",
                 gaps: dict[str, Gap] | None = None) -> None:
        self.title, self.rows, self.checked, self.gaps = title, rows, checked, gaps or {}

    def __bool__(self) -> bool:
        return any(row.ok for row in self.rows) and not any(row.wrong for row in self.rows)

    @property
    def not_checked(self) -> dict[str, str]:
        """Return {array or output: the reason why it is not checked}."""
        return {name: gap.value for name, gap in self.gaps.items()}

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
        forgotten = [name for name, gap in self.gaps.items() if gap is Gap.FORGOTTEN]
        last = f"; NOT CHECKED: {', '.join(forgotten)}" if forgotten else ""
        return f"{total}; {what}: {self.worst.tensor}, {self.worst.error:.0e}{last}"
