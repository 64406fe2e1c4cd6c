"""The order of a check, which the checks of a layer and of a function have in common."""

from collections.abc import Callable
from typing import Any

from .calling import forget
from .comparing import TOLERANCE, errors, guess, look, same
from .explaining import compared, explain, is_wrong, telling
from .report import Row
from .stop import Stop

ZERO = "line left out", "replaced by zeros"  # edits that tell why numbers are zero


class Check:
    """The check of a student's answer: `run` fills `rows` and raises a Stop for the first fault.

    stages : what is checked, one after the other; `stage` is the present one
    trials : one for each case so far, the special ones last; `trial` is the one that runs
    rows : {tensor: Row}
    """

    stages: tuple[str, ...] = ("function",)
    trial_of: Callable  # make the trial of a case
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

    def finish(self):
        """Check what is left when all numbers are right."""

    def run(self):
        """Raise a Stop that names the first fault, if any."""
        ordinary = sum(not case.special for case in self.cases)
        for stage in self.stages:
            self.stage, tried = stage, 0
            for end in range(ordinary, len(self.cases) + 1):           # special ones one by one
                for case in self.cases[len(self.trials) : end]:
                    self.trials.append(self.trial_of(case))
                    self.rows = {t: Row(t) for t in self.trials[-1].expected} | self.rows
                self.try_all(self.trials[tried:end], self.trials[:end])
                tried = end
        self.finish()

    def try_all(self, new, trials):
        """Run the new trials, and compare the results of all trials so far."""
        for trial in new:
            self.trial = trial
            forget()
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

    The Row shows the first wrong case.
    """
    for _, got, want in compared:
        if not same(got, want):
            error = errors(got, want)
            return Row(tensor, "WRONG", float(error.max()), int((error > TOLERANCE).sum()),
                       error.size)
    return Row(tensor, "ok")
