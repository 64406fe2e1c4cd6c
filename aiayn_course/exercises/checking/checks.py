"""The order of a check, which the checks of a layer and of a function have in common."""

from collections.abc import Callable
from typing import Any

from .comparing import TOLERANCE, errors, guess, look
from .explaining import compared, explain, is_wrong, telling
from .report import Row
from .stop import Stop

ZERO = "line left out", "replaced by zeros"  # edits that tell why numbers are zero


class Check:
    """The check of a student's answer: `run` fills `rows` and raises a Stop for the first fault.

    stages : what is checked, one after the other; `stage` is the present one
    trials : one for each case, the special ones last; `trial` is the one that runs
    rows : {tensor: Row}
    """

    stages: tuple[str, ...] = ("function",)
    compute: Callable  # run a stage on a trial, and keep its results
    fill: Callable  # give trials results, also of a wrong shape, and tell whether all have them
    tensors: Callable  # the names of what a stage compares
    suspect: Callable  # raise a Stop for a fault that no edit of the formula makes
    code: Callable  # the Code in which a mistake of the stage may stand

    def __init__(self, subject, student, cases):
        self.subject, self.student = subject, student
        self.cases = sorted(cases, key=lambda case: case.special)
        self.stage, self.trial = self.stages[0], None
        self.trials: list[Any] = []
        self.rows: dict[str, Row] = {}

    @property
    def formula(self):
        return self.subject.formulas[self.stage]

    def begin(self):
        """Make what the first stage needs."""

    def finish(self):
        """Check what is left when all numbers are right."""

    def rows_of_all(self):
        """Return {tensor: Row} of all trials."""
        return {tensor: Row(tensor) for trial in self.trials for tensor in trial.expected}

    def run(self):
        """Raise a Stop that names the first fault, if any."""
        self.begin()
        ordinary = sum(not case.special for case in self.cases)
        for stage in self.stages:
            self.stage = stage
            self.try_all(self.trials[:ordinary], self.trials[:ordinary])
            for i in range(ordinary, len(self.trials)):                # special ones one by one
                self.try_all([self.trials[i]], self.trials[: i + 1])
        self.finish()

    def try_all(self, new, trials):
        """Run the new trials, and compare the results of all trials so far."""
        for trial in new:
            self.trial = trial
            try:
                self.compute(trial)
            except Stop as stop:
                stop.advise(trial.case)
                raise self.explained_shape(stop, trials) from stop
        tensors = self.tensors()
        for tensor in tensors:
            self.rows[tensor] = row_of(tensor, compared(new, tensor))  # the others are right
        wrong = [tensor for tensor in tensors if not self.rows[tensor].ok]
        self.suspect(trials, wrong)
        if wrong:
            raise self.diagnosed(trials, wrong)

    def diagnosed(self, trials, wrong):
        """Return a Stop with what is known of wrong tensors."""
        finding = explain(self.formula, self.stage, trials, wrong, self.code())
        pairs, edit = compared(telling(trials, wrong[:1]), wrong[0]), finding.edit
        seen = look(pairs) or (None if edit else guess(pairs, compared(trials, wrong[0])))
        if seen and seen[0] == "zero" and edit and not edit.known and edit.key not in ZERO:
            edit = None                                                # many edits give zeros
        key, said = seen or ("", "")
        return Stop(edit.key if edit and (edit.known or key in ("", "factor")) else key, said,
                    finding=finding._replace(seen=seen, edit=edit))

    def explained_shape(self, stop, trials):
        """Return the Stop for an array of a wrong shape with what explains the array, if known."""
        if stop.got is None or not self.fill(trials):
            return stop
        wrong = [t for t in self.tensors() if any(is_wrong(trial, [t]) for trial in trials)]
        finding = explain(self.formula, self.stage, trials, wrong, self.code())
        edit = finding.edit
        return Stop(edit.key, stop.where, tensor=stop.tensor, finding=finding) if edit else stop


def row_of(tensor, compared):
    """Return the Row of one tensor from a list of (case, got, want), arrays of equal shapes.

    The Row shows the first wrong case, or the largest error of all cases if none is wrong.
    """
    row = Row(tensor, "ok")
    for _, got, want in compared:
        error = errors(got, want)
        if row.ok and error.size and (not row.size or error.max() > row.error):
            row.error, row.size = float(error.max()), error.size
            row.wrong = int((error > TOLERANCE).sum())
            row.verdict = "WRONG" if row.wrong else "ok"
    return row
