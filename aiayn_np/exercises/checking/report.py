"""The report of a check, as text and as a table in a notebook."""

import html
import math
import re
import sys
import textwrap
from dataclasses import dataclass, field

from ..language import WIDE, flush_left, say, say_name, speaking, spoken, width

WIDTH = 100  # columns of a report
# A piece of a Chinese text that stays in one line: spaces, or a character or word with the
# punctuation that belongs to it.
PIECE = re.compile(r" +|[（“]*(?:[\u4e00-\u9fff]|[^ \u4e00-\u9fff（“）”，。：；？！、]+)?"
                   r"[）”，。：；？！、]*")


@dataclass
class Row:
    """The worst entry of one tensor, in its worst case.

    verdict : "ok", "WRONG", or why it could not be compared
    index, yours, expected : the worst entry
    error : |yours - expected|, relative to the largest expected entry of the tensor
    wrong : how many entries are wrong, of `size`
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
    def ok(self) -> bool:
        return self.verdict == "ok"

    @property
    def details(self) -> str:
        """A description of the worst entry; empty if nothing was compared."""
        if not self.size:
            return ""
        if not self.wrong:
            return say("largest error {error}", error=f"{self.error:.0e}")
        at = f"[{', '.join(map(str, self.index))}] " if self.index else ""
        error = abs(self.yours - self.expected)
        off = say(", off by {error}", error=f"{error:.3g}") if math.isfinite(error) else ""
        one = self.size == 1
        return say("{at}is {yours}, must be {expected}{off}; {wrong} of {size} entry wrong ({case})"
                   if one else "{at}is {yours}, must be {expected}{off}; {wrong} of {size} entries"
                   " wrong ({case})", at=at, yours=f"{self.yours:.6g}", off=off, wrong=self.wrong,
                   expected=f"{self.expected:.6g}", size=self.size, case=say(self.case))


def listed(names, most=4):
    """Join names into a phrase; after the first `most` names, count the rest."""
    more = [say("{count} more", count=len(names) - most)] if len(names) > most + 1 else names[most:]
    shown = [*names[:most], *more]
    return shown[0] if len(shown) == 1 else say(
        "{first} and {last}", first=say(", ").join(shown[:-1]), last=shown[-1])


def wrapped(text: str) -> list[str]:
    """Break a text into lines of at most WIDTH columns."""
    return [line for long in text.splitlines()
            for line in (in_chinese(long) if spoken() == "zh" else textwrap.wrap(long, WIDTH))]


def in_chinese(text):
    """Break a Chinese text into lines, which may end after every character."""
    if not re.search(WIDE, text):
        return textwrap.wrap(text, WIDTH)
    lines = [""]
    for piece in PIECE.findall(text):
        if width(lines[-1] + piece.rstrip()) > WIDTH:
            lines.append("")
        lines[-1] += piece if lines[-1] else piece.lstrip()
    return [line.rstrip() for line in lines]


@dataclass(repr=False)
class Report:
    """The report of `check`, true if everything is right.

    exercise : name of the exercise
    subject : the class or function that was checked
    passed : whether everything is right, in all cases
    diagnosis : a short key: "right", "not written yet", "sign", "unbiased variance", ...
    message : what is wrong, and the likely reason
    table : a Row for each tensor, in the order of the check
    hint : the hint that was asked for, or how to ask for one
    language : that of the message and the hint; diagnosis and table do not depend on it
    """

    exercise: str
    subject: str
    passed: bool
    diagnosis: str
    message: str
    table: list[Row]
    hint: str = ""
    language: str = field(default_factory=spoken)

    def __bool__(self):
        return self.passed

    @property
    def headline(self) -> str:
        with speaking(self.language):
            mark = say("right") if self.passed else say("not right yet: {diagnosis}",
                                                        diagnosis=say_name(self.diagnosis))
            return say("{subject} (exercise {exercise}): {mark}", subject=self.subject, mark=mark,
                       exercise=say(self.exercise))

    def __str__(self):
        cells = self.cells()
        columns = max((width(tensor) for tensor, *_ in cells), default=0)
        rows = [f"  {flush_left(tensor, columns)}  {flush_left(verdict, 5)}  {details}".rstrip()
                for tensor, verdict, details in cells]
        with speaking(self.language):
            words = *wrapped(self.message), *wrapped(self.hint)
        text = "\n".join([self.headline, *rows, *words])
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        return text.encode(encoding, "replace").decode(encoding)       # "?" where a root cannot be

    __repr__ = __str__

    def cells(self) -> list[tuple[str, str, str]]:
        """Return (tensor, verdict, details) for each row, in the language of the report."""
        with speaking(self.language):
            return [(say_name(r.tensor), say(r.verdict), r.details) for r in self.table]

    def _repr_html_(self):
        text = html.escape
        cells = "".join(
            f"<tr>{''.join(f'<td>{text(cell)}</td>' for cell in row)}</tr>" for row in self.cells()
        )
        words = "".join(f"<p style='white-space:pre-wrap'>{text(t)}</p>"
                        for t in (self.message, self.hint) if t)
        return f"<p><b>{text(self.headline)}</b></p><table>{cells}</table>{words}"
