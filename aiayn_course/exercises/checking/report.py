"""The report of a check, as text, and in a notebook as a page with the two arrays that differ."""

import builtins
import math
import re
import sys
import textwrap
from dataclasses import dataclass, field

from aiayn_np.text.columns import flush_left, width

from ..language import WIDE, say, say_name, speaking, spoken
from .example import Example
from .page import page

WIDTH = 100  # columns of a report
# A piece of a Chinese text that stays in one line: spaces, or a character, or what stands between
# Chinese words (a formula, code), with the punctuation that belongs to it.
LETTER = "[^ \u4e00-\u9fff（“）”，。：；？！、]"
PIECE = re.compile(rf" +|[（“]*(?:[\u4e00-\u9fff]|{LETTER}(?: |{LETTER}){{0,98}}(?<! )(?!{LETTER})"
                   rf"|{LETTER}+)?[）”，。：；？！、]*")


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
        """Return a description of the worst entry; empty if nothing was compared."""
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
    message : what is wrong, and the likely reason, with the right code
    table : a Row for each tensor, in the order of the check
    language : that of all texts; diagnosis and table do not depend on it
    stage : the one that fails, "forward", "backward" or "function"; "" if everything is right
    state : what is right and what is wrong
    where, question : sentences that lead to the cause, which they do not name
    example : the student's numbers beside the right ones, or None
    hints : the cause, the code, the derivation
    asked : the number of the hint that was asked for; 0 for none, None for where nobody can ask
    verbose : whether the text is the message and the whole table
    """

    exercise: str
    subject: str
    passed: bool
    diagnosis: str
    message: str
    table: list[Row]
    language: str = field(default_factory=spoken)
    stage: str = ""
    state: str = ""
    where: str = ""
    question: str = ""
    example: Example | None = None
    hints: tuple[str, str, str] = ("", "", "")
    asked: int | None = 0
    verbose: bool = False

    def __bool__(self):
        return self.passed

    @property
    def cause(self) -> str:
        """Return the sentence that names the cause; empty if everything is right."""
        return self.hints[0]

    @property
    def hint(self) -> str:
        """Return the hint that was asked for, or how to ask for one."""
        if self.passed or self.asked is None:
            return ""
        with speaking(self.language):
            if self.asked:
                return say("Hint {number} of {last}: {hint}", number=self.asked,
                           last=len(self.hints), hint=self.hints[self.asked - 1])
            return say("Stuck? check({name}, hint=1): the cause; 2: the code; 3: the derivation.",
                       name=self.subject)

    @property
    def headline(self) -> str:
        with speaking(self.language):
            if not self.passed and not self.verbose:
                return say("{subject}: not right yet. {state}", subject=self.subject,
                           state=self.state).strip()
            mark = say("right") if self.passed else say("not right yet: {diagnosis}",
                                                        diagnosis=say_name(self.diagnosis))
            return say("{subject} (exercise {exercise}): {mark}", subject=self.subject, mark=mark,
                       exercise=say(self.exercise))

    def __str__(self):
        with speaking(self.language):
            if self.verbose:
                lines = [*in_columns(self.cells()), *wrapped(self.message)]
            else:
                where = self.where or ("" if self.question else self.message)
                lines = [*wrapped(where), *(self.example.lines() if self.example else ()),
                         *wrapped(self.question), *in_columns(self.folded())]
            text = "\n".join([*wrapped(self.headline), *lines, *wrapped(self.hint)])
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        return text.encode(encoding, "replace").decode(encoding)       # "?" where a root cannot be

    __repr__ = __str__

    def cells(self) -> list[tuple[str, str, str]]:
        """Return (tensor, verdict, details) for each row, in the language of the report."""
        with speaking(self.language):
            return [(say_name(r.tensor), say(r.verdict), r.details) for r in self.table]

    def folded(self) -> list[tuple[str, str, str]]:
        """Return (tensors, verdict, details) for each kind of tensor and verdict; nothing if all
        are right in a report of something else.
        """
        if not self.passed and all(row.ok for row in self.table):
            return []
        groups: dict[tuple[str, str], list[Row]] = {}
        for row in self.table:
            groups.setdefault((kind_of_tensor(row.tensor), row.verdict), []).append(row)
        return [(listed(names_of(kind, rows)), say(verdict), details_of(rows))
                for (kind, verdict), rows in groups.items()]

    def show(self) -> None:
        """Print the report; in a notebook, show it as a page."""
        getattr(builtins, "display", print)(self)                      # IPython puts it there

    def _repr_html_(self):
        with speaking(self.language):
            return page(self)


def kind_of_tensor(name):
    """Return what a tensor is one of: the gradients of inputs, or those of parameters."""
    return ".grad" if name.endswith(".grad") else "grad_" if name.startswith("grad_") else name


def names_of(kind, rows):
    """Name the tensors of some rows, in a list of phrases."""
    if kind == ".grad" and len(rows) > 3:
        return [say("{count} gradients of parameters", count=len(rows))]
    return [say_name(row.tensor) for row in rows]


def kinds_in(rows):
    """Name the tensors of some rows, kind by kind."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(kind_of_tensor(row.tensor), []).append(row)
    return [name for kind, some in groups.items() for name in names_of(kind, some)]


def details_of(rows):
    """Tell how many entries of the worst row are wrong, or how large the largest error is."""
    worst = max(rows, key=lambda row: row.error if row.size else -1)
    if not worst.wrong or worst.size == 1:
        return ""
    return say("{wrong} of {size} entries", wrong=worst.wrong, size=worst.size)


def in_columns(cells):
    """Return a line for each (tensor, verdict, details)."""
    columns = max((width(tensor) for tensor, *_ in cells), default=0)
    return [f"  {flush_left(tensor, columns)}  {flush_left(verdict, 5)}  {details}".rstrip()
            for tensor, verdict, details in cells]
