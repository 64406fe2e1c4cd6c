"""Check a function, or a class that is no layer, such as an optimizer."""

import dataclasses

import numpy as np

from ..language import say, say_name
from .calling import call, copied, must_be_unchanged
from .checks import Check
from .comparing import is_numbers, same
from .operands import Code
from .stop import Stop
from .trial import NOTHING, check_shape

TYPED = ("A comparison such as x == y gives True and False, which become numbers by * or +."
         " np.zeros and np.ones make floats, and other types with dtype=int or dtype=bool; np.full"
         " takes the type of what it is filled with.")
KINDS = {"b": "True and False", "i": "integers", "f": "real numbers"}


class FunctionCheck(Check):
    """The check of a student's function on every case, which compares results name by name."""

    def __init__(self, subject, student, seed):
        super().__init__(subject, student, subject.cases(np.random.default_rng(seed)))

    def trial_of(self, case):
        return Tried(self, case)

    def tensors(self):
        return list(self.rows)

    def code(self):
        return Code(self.student)

    def compute(self, trial):
        trial.results = trial.student()
        for name, want in trial.expected.items():
            self.must_be_comparable(name, trial.results[name], want, trial.case)

    def fill(self, trials):
        """Give all trials results, and raise a Stop if they are not fixed; tell that they have."""
        for trial in trials:
            trial.results = trial.results or trial.student()
        self.suspect(trials, self.tensors())
        return True

    def suspect(self, trials, wrong):
        """Raise a Stop if a second run of a case gives other results."""
        if not wrong:
            return
        got, again = trials[0].results, trials[0].student()
        if again.keys() != got.keys() or not all(
                same(got[n], again[n]) for n in again if is_numbers(got[n])):
            raise Stop("stale", say(
                "The first case gives another result when it runs again: something is drawn, or is"
                " kept from one call or object to the next. Each must begin anew."))

    def finish(self):
        """Raise a Stop if a result is handed out again after its receiver has changed it."""
        results = self.trials[0].student()
        for array in results.values():
            if isinstance(array, np.ndarray) and array.flags.writeable:
                array[...] = np.logical_not(array) if array.dtype == bool else array + 1
        again = self.trials[0].student()
        if wrong := [n for n, want in self.trials[0].expected.items() if not same(again[n], want)]:
            raise Stop("stale", say(
                "A second call with the same arguments is wrong after the result of the first call"
                " was changed: both calls return one array."), say(
                "Whoever receives an array may write into it. Make a new one in each call."),
                tensor=wrong[0])

    def must_be_comparable(self, name, got, want, case):
        """Raise a Stop unless `got` and `want` have one shape and one kind of number."""
        objects = isinstance(got, np.ndarray) and got.dtype.kind == "O"
        if got is None or (objects and None in got.ravel().tolist()):
            raise Stop("nothing returned", say("{subject} returns nothing.",
                                               subject=self.subject.name), say(NOTHING),
                       tensor=name)
        check_shape(self.subject.name, name, got, want, case)
        if want.size and np.asarray(got).dtype.kind != want.dtype.kind:
            raise Stop("dtype", say("{name} must hold {kind}, and is of type {dtype}.",
                                    name=say_name(name), kind=say(KINDS[want.dtype.kind]),
                                    dtype=np.asarray(got).dtype), say(TYPED), tensor=name)


class Tried:
    """One case of a function.

    expected : the right {name: array}      results : the student's {name: array}
    """

    def __init__(self, checking, case):
        self.checking, self.subject, self.case = checking, checking.subject, case
        self.results: dict = {}
        self.expected = {name: np.asarray(x) for name, x in self.right(
            checking.formula.function).items()}

    def runner(self, stage):
        """Return a function that runs the student's code."""
        return self.student

    def student(self):
        """Return the student's {name: array}; raise a Stop for an error or a changed input."""
        student, inputs = self.checking.student, copied(self.case.inputs)
        results = call(self.subject.name, self.subject.run, student,
                       dataclasses.replace(self.case, inputs=inputs))
        code = getattr(student, "__code__", None)
        names = [name for name in code.co_varnames if name != "model"] if code else [
            say("argument {number}", number=i + 1) for i in range(len(inputs))]
        must_be_unchanged(self.subject.name, names, self.case.inputs, inputs)
        return results

    def right(self, function):
        """Return the results of a function in this case."""
        return self.subject.run(function, self.case)
