"""The report of a check, as text, and in a notebook as a page with the two arrays that differ."""

import builtins
import sys
from dataclasses import dataclass, field

from aiayn_np.text.columns import flush_left, width

from ..language import listed, say, say_name, speaking, spoken, wrapped
from .example import Example
from .page import page


@dataclass
class Row:
    """The verdict on one tensor, in its worst case.

    verdict : "ok", "WRONG", "stops", "not looked at"
    error : of a wrong one, the largest |yours - expected|, relative to the largest expected entry
    wrong : how many entries are wrong, of `size`
    """

    tensor: str
    verdict: str = "not looked at"
    error: float = 0.0
    wrong: int = 0
    size: int = 0

    @property
    def ok(self) -> bool:
        return self.verdict == "ok"


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
    asked : the number of the hint that was asked for; 0 for none
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
    asked: int = 0

    def __bool__(self):
        return self.passed

    @property
    def cause(self) -> str:
        """Return the sentence that names the cause; empty if everything is right."""
        return self.hints[0]

    @property
    def hint(self) -> str:
        """Return the hint that was asked for, or how to ask for one."""
        if self.passed:
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
            if self.passed:
                return say("{subject} (exercise {exercise}): {mark}", subject=self.subject,
                           mark=say("right"), exercise=say(self.exercise))
            return say("{subject}: not right yet. {state}", subject=self.subject,
                       state=self.state).strip()

    def __str__(self):
        with speaking(self.language):
            lines = [self.headline, self.where or ("" if self.question else self.message)]
            columns = max((width(tensor) for tensor, *_ in self.rows()), default=0)
            rows = [f"  {flush_left(tensor, columns)}  {flush_left(verdict, 5)}  {details}".rstrip()
                    for tensor, verdict, details in self.rows()]
            text = "\n".join([*(line for text in lines for line in wrapped(text)),
                              *(self.example.lines() if self.example else ()),
                              *wrapped(self.question), *rows, *wrapped(self.hint)])
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        return text.encode(encoding, "replace").decode(encoding)       # "?" where a root cannot be

    __repr__ = __str__

    def rows(self) -> list[tuple[str, str, str]]:
        """Return (tensors, verdict, details) for each kind of tensor and verdict.

        No row is returned if all tensors are right, and another fault made the report.
        """
        if not self.passed and all(row.ok for row in self.table):
            return []
        return [(listed(names), say(rows[0].verdict), details_of(rows))
                for names, rows in groups_of(self.table)]

    def show(self) -> None:
        """Print the report; in a notebook, show it as a page."""
        getattr(builtins, "display", print)(self)                      # IPython puts it there

    def _repr_html_(self):
        with speaking(self.language):
            return page(self)


def kind_of_tensor(name):
    """Return what a tensor is one of: the gradients of inputs, or those of parameters."""
    return ".grad" if name.endswith(".grad") else "grad_" if name.startswith("grad_") else name


def groups_of(rows):
    """Return [(names, Rows)] for each kind of tensor and verdict; names is a list of phrases."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((kind_of_tensor(row.tensor), row.verdict), []).append(row)
    return [([say("{count} gradients of parameters", count=len(some))] if (
        kind == ".grad" and len(some) > 3) else [say_name(row.tensor) for row in some], some)
            for (kind, _), some in groups.items()]


def details_of(rows):
    """Tell how many entries of the worst row are wrong."""
    worst = max(rows, key=lambda row: row.error if row.size else -1)
    if not worst.wrong or worst.size == 1:
        return ""
    return say("{wrong} of {size} entries", wrong=worst.wrong, size=worst.size)
