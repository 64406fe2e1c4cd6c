"""What a check found: true when all is right; as text, and as a table in a notebook."""

import html
import math
import textwrap
from dataclasses import dataclass

WIDTH = 100  # columns of a report


@dataclass
class Row:
    """One tensor in all cases: the worst entry of the worst case.

    verdict   "ok", "WRONG", or why it could not be compared
    index, yours, expected   the worst entry;   error   its difference, relative to the largest
    expected entry of the tensor;   wrong   how many entries are wrong, of `size`
    """

    tensor: str
    verdict: str = "not looked at"
    case: str = ""
    index: tuple = ()
    yours: float = float("nan")
    expected: float = float("nan")
    error: float = float("nan")
    wrong: int = 0
    size: int = 0

    @property
    def ok(self):
        return self.verdict == "ok"

    @property
    def details(self):
        """The worst entry in words; empty if nothing was compared."""
        if not self.size:
            return ""
        if self.ok:
            return f"largest error {self.error:.0e}"
        at = f"[{', '.join(map(str, self.index))}] " if self.index else ""
        error = abs(self.yours - self.expected)
        off = f", off by {error:.3g}" if math.isfinite(error) else ""
        count = f"{self.wrong} of {self.size} {'entry' if self.size == 1 else 'entries'} wrong"
        return f"{at}is {self.yours:.6g}, must be {self.expected:.6g}{off}; {count} ({self.case})"


def listed(names, most=4):
    """Names in a sentence, and how many more there are."""
    more = [f"{len(names) - most} more"] if len(names) > most + 1 else names[most:]
    return " and ".join(filter(None, [", ".join([*names[:most], *more][:-1]), [*names, *more][-1]]))


def wrapped(text):
    """The lines of a text, none longer than a terminal is wide."""
    return [line for long in text.splitlines() for line in textwrap.wrap(long, WIDTH)]


@dataclass(repr=False)
class Report:
    """What `check` found; true when everything is right.

    exercise   name of the exercise;   subject   the class or function that was checked
    passed     whether everything is right, in all cases
    diagnosis  a short key: "right", "not written yet", "sign", "unbiased variance", ...
    message    what is wrong and most likely why
    table      a Row for every tensor, in the order in which they are looked at
    hint       the hint that was asked for, or how to ask for one
    """

    exercise: str
    subject: str
    passed: bool
    diagnosis: str
    message: str
    table: list[Row]
    hint: str = ""

    def __bool__(self):
        return self.passed

    @property
    def headline(self):
        mark = "right" if self.passed else f"not right yet: {self.diagnosis}"
        return f"{self.subject} (exercise {self.exercise}): {mark}"

    def __str__(self):
        wide = max((len(row.tensor) for row in self.table), default=0)
        rows = [f"  {r.tensor:<{wide}}  {r.verdict:<5}  {r.details}".rstrip() for r in self.table]
        return "\n".join([self.headline, *rows, *wrapped(self.message), *wrapped(self.hint)])

    __repr__ = __str__

    def _repr_html_(self):
        text = html.escape
        cells = "".join(
            f"<tr><td>{text(r.tensor)}</td><td>{text(r.verdict)}</td><td>{text(r.details)}</td></tr>"
            for r in self.table
        )
        words = "".join(f"<p style='white-space:pre-wrap'>{text(t)}</p>"
                        for t in (self.message, self.hint) if t)
        return f"<p><b>{text(self.headline)}</b></p><table>{cells}</table>{words}"
