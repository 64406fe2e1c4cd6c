"""The check of a function, or of a class that is no layer, such as an optimizer."""

import dataclasses

import numpy as np

from .calling import Stop, call, copied, must_be_unchanged
from .comparing import guess, is_numbers, row_of, same
from .report import Row
from .trial import check_shape


class FunctionCheck:
    """Runs the student's function on every case, and compares what comes out, name by name."""

    def __init__(self, subject, student, seed):
        self.subject, self.student = subject, student
        self.rng = np.random.default_rng(seed)
        self.cases = sorted(subject.cases(self.rng), key=lambda case: case.special)
        self.wanted = [self.run_on(subject.oracle, case) for case in self.cases]
        self.rows = {name: Row(name) for wanted in self.wanted for name in wanted}

    def run_on(self, thing, case):
        """{name: array} of one case."""
        return self.subject.run(thing, case)

    def run(self):
        """Raise the Stop that names the first thing that is wrong."""
        tried = []
        ordinary = sum(not case.special for case in self.cases)
        for i, (case, want) in enumerate(zip(self.cases, self.wanted), 1):
            tried.append((case, self.student_on(case), want))
            if i >= ordinary:                                          # special ones one by one
                self.look_at(tried)

    def look_at(self, tried):
        """Compare all that was tried; what has not even the right shape may be known, too."""
        try:
            self.must_fit(tried)
        except Stop as stop:
            key, why = self.explain(tried) or (stop.diagnosis, stop.message)
            raise Stop(key, why, stop.tensor) from stop
        self.compare(tried)

    def compare(self, tried):
        """Compare what came out, (case, the student's, the right one), name by name."""
        pairs = {name: [(case, np.asarray(got[name]), want[name])
                        for case, got, want in tried if name in want] for name in self.rows}
        self.rows = {name: row_of(name, pairs[name]) for name in self.rows}
        if wrong := [name for name in self.rows if not self.rows[name].ok]:
            raise Stop(*(self.explain(tried) or guess(pairs[wrong[0]], pairs[wrong[0]])))

    def must_fit(self, tried):
        """Stop at the first result of a wrong shape or kind of number."""
        for case, got, want in tried:
            for name in want:
                self.must_be_comparable(name, got.get(name), want[name], case)

    def student_on(self, case):
        """{name: array} that the student's code gives; Stop for an error or a changed input."""
        inputs = copied(case.inputs)
        found = call(self.subject.name, self.run_on, self.student,
                     dataclasses.replace(case, inputs=inputs))
        names = [f"argument {i + 1}" for i in range(len(inputs))]
        must_be_unchanged(self.subject.name, names, case.inputs, inputs)
        return found

    def must_be_comparable(self, name, got, want, case):
        """Stop unless it is an array of the right shape and kind of number."""
        objects = isinstance(got, np.ndarray) and got.dtype.kind == "O"
        if got is None or (objects and None in got.ravel().tolist()):
            raise Stop("nothing returned", f"{self.subject.name} returns nothing.", name)
        check_shape(self.subject.name, name, got, want, case)
        kinds = {"b": "True and False", "i": "integers", "f": "real numbers"}
        if np.asarray(got).dtype.kind != want.dtype.kind:
            raise Stop("dtype", f"{name} must hold {kinds[want.dtype.kind]}, and is of type"
                       f" {np.asarray(got).dtype}.", name)

    def explain(self, tried):
        """(diagnosis, why) of the known mistake that gives the same, or None.

        All ordinary cases must fit, and the special ones up to the first that is wrong.
        """
        wrong = [i for i, (_, got, want) in enumerate(tried) if not same_all(got, want)]
        ordinary = sum(not case.special for case, _, _ in tried)
        tried = tried[: max(ordinary, wrong[0] + 1)] if wrong else tried
        for mistake in self.subject.known("function"):
            if all(same_all(got, self.wrong_on(mistake, case)) for case, got, _ in tried):
                return mistake.key, mistake.why
        return None

    def wrong_on(self, mistake, case):
        """What a mistake gives, {} where it cannot be computed."""
        try:
            with np.errstate(all="ignore"):
                return self.run_on(mistake.wrong, case)
        except (ValueError, IndexError, TypeError, ZeroDivisionError):
            return {}


def same_all(got, value):
    return value.keys() == got.keys() and all(
        is_numbers(got[n]) and same(got[n], value[n]) for n in value
    )
