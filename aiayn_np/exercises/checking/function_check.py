"""Check a function, or a class that is no layer, such as an optimizer."""

import dataclasses
import re

import numpy as np

from ..language import say, say_name
from .calling import Stop, call, copied, must_be_unchanged
from .comparing import guess, is_numbers, look, row_of, same
from .diagnosis import explain, is_wrong, reason, seen_elsewhere
from .report import Row
from .shapes import BESIDE
from .trial import check_shape

SHARED = ("`{name}` stands in the class, so all its objects share it. What belongs to one object is"
          " made in __init__.")


class FunctionCheck:
    """The check of a student's function on every case, which compares results name by name."""

    def __init__(self, subject, student, seed):
        self.subject, self.student = subject, student
        self.rng = np.random.default_rng(seed)
        self.cases = sorted(subject.cases(self.rng), key=lambda case: case.special)
        self.formula = subject.formulas["function"]
        self.wanted = [self.run_on(self.formula.function, case) for case in self.cases]
        self.rows = {name: Row(name) for wanted in self.wanted for name in wanted}

    def run_on(self, thing, case):
        """Run a class or function on one case, and return {name: array}."""
        return self.subject.run(thing, case)

    def run(self):
        """Raise a Stop that names the first fault, if any."""
        tried = []
        ordinary = sum(not case.special for case in self.cases)
        for i, (case, want) in enumerate(zip(self.cases, self.wanted), 1):
            tried.append((case, self.student_on(case), want))
            if i >= ordinary:                                          # special ones one by one
                self.look_at(tried)

    def look_at(self, tried):
        """Compare the results so far, and try to explain one of a wrong shape."""
        try:
            self.must_fit(tried)
        except Stop as stop:
            if stop.diagnosis in ("dtype", "wrong type", "nothing returned"):
                raise
            explanation = self.explain(tried)
            if not explanation:
                raise
            plain = stop.message.removesuffix(say(BESIDE)).strip()
            _, why = reason((stop.diagnosis, plain), explanation)
            raise Stop(explanation.key, why, stop.tensor) from stop
        self.compare(tried)

    def compare(self, tried):
        """Compare `tried`, a list of (case, student's results, right results), name by name."""
        pairs = {name: [(case, np.asarray(got[name]), want[name])
                        for case, got, want in tried if name in want] for name in self.rows}
        self.rows = {name: row_of(name, pairs[name]) for name in self.rows}
        if wrong := [name for name in self.rows if not self.rows[name].ok]:
            self.must_repeat(*tried[0][:2])
            seen = pairs[wrong[0]]
            raise Stop(*(reason(look(seen), self.explain(tried)) or guess(seen, seen)))

    def must_repeat(self, case, got):
        """Raise a Stop if a second run of a case gives other results."""
        again = self.student_on(case)
        if again.keys() != got.keys() or not all(
                is_numbers(got[n]) and same(got[n], again[n]) for n in again):
            in_class = [name for name, value in vars(self.student).items()
                        if isinstance(value, (list, dict, set, np.ndarray)) and name[:2] != "__"]
            raise Stop("stale", say(SHARED, name=in_class[0]) if in_class else say(
                "The first case gives another result when it runs again: something is kept from one"
                " call or object to the next. Each must begin anew."))

    def must_fit(self, tried):
        """Raise a Stop for the first result of a wrong shape or kind of number."""
        for case, got, want in tried:
            for name in want:
                self.must_be_comparable(name, got.get(name), want[name], case)

    def student_on(self, case):
        """Return the student's {name: array}; raise a Stop for an error or a changed input."""
        inputs = copied(case.inputs)
        results = call(self.subject.name, self.run_on, self.student,
                     dataclasses.replace(case, inputs=inputs))
        code = getattr(self.student, "__code__", None)
        names = [name for name in code.co_varnames if name != "model"] if code else [
            say("argument {number}", number=i + 1) for i in range(len(inputs))]
        must_be_unchanged(self.subject.name, names, case.inputs, inputs)
        return results

    def must_be_comparable(self, name, got, want, case):
        """Raise a Stop unless `got` and `want` have one shape and one kind of number."""
        objects = isinstance(got, np.ndarray) and got.dtype.kind == "O"
        if got is None or (objects and None in got.ravel().tolist()):
            raise Stop("nothing returned", say("{subject} returns nothing.",
                                               subject=self.subject.name), name)
        check_shape(self.subject.name, name, got, want, case)
        kinds = {"b": "True and False", "i": "integers", "f": "real numbers"}
        if np.asarray(got).dtype.kind != want.dtype.kind:
            raise Stop("dtype", say("{name} must hold {kind}, and is of type {dtype}.",
                                    name=say_name(name), kind=say(kinds[want.dtype.kind]),
                                    dtype=np.asarray(got).dtype), name)

    def explain(self, tried):
        """Return an Explanation of the student's numbers, or None."""
        trials = [Tried(self, *each) for each in tried]
        wrong = [n for n in trials[0].expected if any(is_wrong(trial, [n]) for trial in trials)]
        explanation = explain(self.formula, "function", trials, wrong)
        if not explanation:
            return None
        trials += [Tried(self, *each) for each in self.others(len(tried))]
        more = seen_elsewhere(explanation, "function", trials, wrong)
        return explanation._replace(why=explanation.why + more)

    def others(self, number):
        """Run the cases after the first `number`, and return [(case, got, want)] for them.

        Return [] if the student's code stops in one of them.
        """
        try:
            return [(case, self.student_on(case), want)
                    for case, want in list(zip(self.cases, self.wanted))[number:]]
        except Stop:
            return []


class Tried:
    """One case with the student's results and the expected ones, both as {kind: array}."""

    def __init__(self, checking, case, got, want):
        self.checking, self.case = checking, case
        self.results, self.expected = kinds(got), kinds(want)

    def run(self, change):
        """Return the results of a Change, as {kind: array}."""
        return kinds(self.checking.run_on(change, self.case))


def kinds(results):
    """Join numbered results, such as the values after each step, into {kind: array}."""
    parts: dict[str, list] = {}
    for name, array in results.items():
        array = np.asarray(array if is_numbers(array) else np.nan)
        parts.setdefault(re.split(r" \d", name)[0], []).append(array)
    return {kind: some[0] if len(some) == 1 else np.concatenate([x.ravel() for x in some])
            for kind, some in parts.items()}
