"""Check a function, or a class that is no layer, such as an optimizer."""

import dataclasses

import numpy as np

from ..language import say, say_name
from .calling import Stop, call, copied, must_be_unchanged
from .comparing import guess, is_numbers, look, row_of, same
from .explaining import Finding, compared, explain, of_a_shape, reason, telling
from .operands import Code
from .report import Row
from .trial import NOTHING, check_shape

TYPED = ("A comparison such as x == y gives True and False, which become numbers by * or +."
         " np.zeros and np.ones make floats, and other types with dtype=int or dtype=bool; np.full"
         " takes the type of what it is filled with.")
SHARED = ("`{name}` stands in the class, so all its objects share it. What belongs to one object is"
          " made in __init__.")


class FunctionCheck:
    """The check of a student's function on every case, which compares results name by name."""

    def __init__(self, subject, student, seed):
        self.subject, self.student = subject, student
        self.rng = np.random.default_rng(seed)
        self.cases = sorted(subject.cases(self.rng), key=lambda case: case.special)
        self.formula = subject.formulas["function"]
        self.trials = [Tried(self, case) for case in self.cases]
        self.rows = {name: Row(name) for trial in self.trials for name in trial.expected}
        self.stage, self.finding, self.trial = "function", None, None

    def run(self):
        """Raise a Stop that names the first fault, if any."""
        ordinary = sum(not case.special for case in self.cases)
        for i, trial in enumerate(self.trials, 1):
            self.trial = trial                                         # the one that runs
            try:
                trial.compute("function")
            except Stop as stop:
                stop.advise(trial.case)
                raise
            if i >= ordinary:                                          # special ones one by one
                self.look_at(self.trials[:i])

    def look_at(self, trials):
        """Compare the results so far, and try to explain one of a wrong shape."""
        try:
            self.must_fit(trials)
        except Stop as stop:
            self.must_repeat(trials[0])
            self.finding = of_a_shape(stop, self.formula, "function", trials, self.rows,
                                      Code(self.student))
            raise stop.explained(self.finding) from stop
        self.compare(trials)

    def compare(self, trials):
        """Compare the results of trials name by name."""
        pairs = {name: compared(trials, name) for name in self.rows}
        self.rows = {name: row_of(name, pairs[name]) for name in self.rows}
        if wrong := [name for name in self.rows if not self.rows[name].ok]:
            self.must_repeat(trials[0])
            explanation = explain(self.formula, "function", trials, wrong, Code(self.student))
            seen = pairs[wrong[0]]
            plain = look(seen)
            key, why = reason(plain, explanation) or guess(seen, seen)
            self.finding = Finding("function", wrong, telling(trials, wrong), plain, why,
                                   explanation)
            raise Stop(key, why)

    def must_repeat(self, trial):
        """Raise a Stop if wrong results are drawn, or if a second run of a case gives others."""
        got, again = trial.results, self.student_on(trial.case)
        if draws(getattr(self.student, "__code__", None)):
            raise Stop("random", say(
                "Your code draws random numbers. Nothing is random here: a decoder takes the"
                " most probable token, argmax."))
        if again.keys() != got.keys() or not all(
                same(got[n], again[n]) for n in again if is_numbers(got[n])):
            in_class = [name for name, value in vars(self.student).items()
                        if isinstance(value, (list, dict, set, np.ndarray)) and name[:2] != "__"]
            raise Stop("stale", say(SHARED, name=in_class[0]) if in_class else say(
                "The first case gives another result when it runs again: something is kept from one"
                " call or object to the next. Each must begin anew."))

    def must_fit(self, trials):
        """Raise a Stop for the first result of a wrong shape or kind of number."""
        for trial in trials:
            for name, want in trial.expected.items():
                self.must_be_comparable(name, trial.results[name], want, trial.case)

    def student_on(self, case):
        """Return the student's {name: array}; raise a Stop for an error or a changed input."""
        inputs = copied(case.inputs)
        results = call(self.subject.name, self.subject.run, self.student,
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
            where = say("{subject} returns nothing.", subject=self.subject.name)
            raise Stop("nothing returned", where, name, where=where, cause=say(NOTHING))
        self.must_be_as_long(name, got, want, case)
        check_shape(self.subject.name, name, got, want, case)
        kinds = {"b": "True and False", "i": "integers", "f": "real numbers"}
        if want.size and np.asarray(got).dtype.kind != want.dtype.kind:
            where = say("{name} must hold {kind}, and is of type {dtype}.", name=say_name(name),
                        kind=say(kinds[want.dtype.kind]), dtype=np.asarray(got).dtype)
            raise Stop("dtype", where, name, where=where, cause=say(TYPED))

    def must_be_as_long(self, name, got, want, case):
        """Raise a Stop if rows of ids begin as they must, and end too early or too late."""
        if not is_numbers(got) or want.dtype.kind != "i" or np.ndim(got) != 2 or want.ndim != 2 or (
                len(got) != len(want) or got.shape == want.shape):
            return
        columns, right = got.shape[1], want.shape[1]
        both = min(columns, right)
        if np.array_equal(got[:, :both], want[:, :both]):
            where = say("Your output has {columns} columns, and must have {right} ({case}).",
                        columns=columns, right=right, case=say(case.what))
            cause = say("What is there is right: the loop ends too early, or what is returned is"
                        " cut off." if columns < right else
                        "It begins right, and then more comes: the loop ends too late.")
            raise Stop("too short" if columns < right else "too long", f"{where} {cause}", name,
                       where=where, cause=cause, got=got, question=say(
                           "After which token, or how many, must the loop end?"))


def draws(code):
    """Tell whether code, or a function inside it, names NumPy's or Python's random numbers."""
    names = getattr(code, "co_names", ())
    return any("random" in name or name == "default_rng" for name in names) or any(
        map(draws, getattr(code, "co_consts", ())))


class Tried:
    """One case of a function.

    expected : the right {name: array}      results : the student's {name: array}
    """

    def __init__(self, checking, case):
        self.checking, self.case, self.results = checking, case, None
        self.expected = self.run(checking.formula.function)

    def compute(self, stage):
        """Keep what the student's function computes; there is one stage."""
        self.results = self.checking.student_on(self.case)

    def run(self, function):
        """Return the results of a function in this case."""
        return self.checking.subject.run(function, self.case)
