"""Check whether a student's class or function is right, and say why it is not."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from aiayn_course import PACKAGES
from aiayn_np.module import Module

from ..exercise import SUBJECTS
from ..language import say, speaking
from .asking import sentence, told
from .comparing import UNKNOWN
from .failing import line_of, student_frames
from .function_check import FunctionCheck
from .layer_check import LayerCheck
from .report import Report
from .stop import Stop, describe

CHECKS: dict[str, Any] = {"layer": LayerCheck, "function": FunctionCheck}


def check(student: type | Callable, *, hint: int = 0, seed: int = 0,
          language: str | None = None) -> Report:
    """Check one class or function of an exercise, show what is wrong, and ask what leads to it.

    Parameters
    ----------
    student : the function, or the class itself and not an object of it. The exercise is found by
        its name, or by the name that the student's file assigns it to
    hint : 1 adds the likely cause to the report, 2 the code, 3 the derivation
    seed : for the random numbers of the cases
    language : of the report, "en" or "zh"; None: the one that AIAYN_LANG or the locale names

    Returns
    -------
    Report, true if everything is right; ``print`` shows it

    Raises
    ------
    TypeError if `student` is no class or function; ValueError if its name belongs to no exercise,
    or if there is no such hint or language
    """
    with speaking(language):
        return checked(subject_of(student), student, seed, hint)


@np.errstate(all="ignore")                                             # a change may do anything
def checked(subject, student, seed, hint=0):
    """Return the Report of a check, in the user's language."""
    if hint not in range(4):
        raise ValueError(say("hint must be one of 1 to 3, or 0 for none, got {number}",
                             number=hint))
    checking = CHECKS[subject.kind](subject, student, seed)
    try:
        must_be_the_students(subject, student)
        must_have_the_defaults(subject, student)
        checking.run()
    except Stop as stop:
        return report_of_stop(checking, stop, hint)
    except KeyboardInterrupt:
        raise
    except BaseException as fault:  # of the diagnosis: what is known without it is said
        return report_of_stop(checking, without_diagnosis(checking, fault), hint)
    message = say("Everything agrees in {count} cases.", count=len(checking.cases))
    return Report(subject.exercise.name, subject.name, True, "right", message,
                  list(checking.rows.values()), where=message)


def without_diagnosis(checking, fault):
    """Return the Stop that a fault of the check interrupted, or one that says what is known."""
    before: BaseException | None = fault
    while before:
        if isinstance(before, Stop):
            return before
        if student_frames(before):
            return Stop("error", say("{what} stops{line} with {error}.", what=checking.subject.name,
                                     line=line_of(before), error=describe(before)))
        before = before.__context__
    wrong = [row.tensor for row in checking.rows.values() if row.verdict == "WRONG"]
    if wrong:
        return Stop("wrong", say(UNKNOWN), tensor=wrong)
    return Stop("not checked", say("The check itself stopped with {error}: it says nothing of your"
                                   " code.", error=describe(fault)))


def report_of_stop(checking, stop, hint):
    """Return the Report of what a Stop says."""
    subject, rows = checking.subject, checking.rows
    for name in stop.tensor if isinstance(stop.tensor, list) else [stop.tensor]:
        if name in rows:
            rows[name].verdict = "WRONG"
    for row in rows.values():
        if stop.failure and (row.tensor == "output") == (checking.stage == "forward"):
            row.verdict = "stops"
    try:
        said = told(checking, stop)
    except Exception:  # a fault of the diagnosis: what is wrong is known, and is all that is said
        message = sentence(stop.message or say(UNKNOWN))
        said = dict(where=message, message=message, question=sentence(stop.question))
    return Report(subject.exercise.name, subject.name, False, stop.diagnosis,
                  table=list(rows.values()), stage=checking.stage, asked=hint, **said)


def subject_of(student):
    """Return the Subject that a class or function is an answer to."""
    if not is_answer(student):
        raise TypeError(say("student must be a class or function itself, got an object of {name}",
                            name=type(student).__name__))
    if (name := name_of(student)) not in SUBJECTS:
        raise ValueError(say("student must be one of {names}, got {name}", name=name,
                             names=", ".join(SUBJECTS)))
    return SUBJECTS[name]


def is_answer(thing):
    """Tell whether a thing is a class or a function, also one that functools.partial made."""
    return inspect.isclass(thing) or inspect.isfunction(getattr(thing, "func", thing))


def name_of(student):
    """Return the name of a class or function, or a name in SUBJECTS that its file assigned it to.

    `causal = lambda T: ...` and `Softmax = MySoftmax` are answers, too.
    """
    inside = getattr(student, "func", student)
    functions = filter(inspect.isfunction, [inside, *vars(student).values()])
    scope = next((function.__globals__ for function in functions), {})
    names = [name for name in SUBJECTS if scope.get(name) is student]
    return inside.__name__ if inside.__name__ in SUBJECTS or not names else names[0]


def must_be_the_students(subject, student):
    """Raise a Stop if `student` is the package's own, or inherits a method that it must define."""
    if student is subject.reference:
        raise Stop("not yours", say("This {name} is imported from aiayn_np. Your own is not written"
                   " yet, or an import below it took its name.", name=subject.name))
    methods = [getattr(student, "func", student)]
    if inspect.isclass(student):
        wanted = [n for n, m in vars(subject.reference).items() if inspect.isfunction(m)]
        methods += [next(c for c in student.__mro__ if name in vars(c))
                    for name in wanted if hasattr(student, name)]
    for method in methods:
        if method is not Module and method.__module__.split(".")[0] in PACKAGES:
            raise Stop("not yours", say("A method of this {name} is inherited from aiayn_np:"
                       " write your own.", name=subject.name))


def must_have_the_defaults(subject, student):
    """Raise a Stop if an argument has a default value that is not that of the stub."""
    right = inspect.signature(subject.reference).parameters
    for name, argument in inspect.signature(student).parameters.items():
        default, own = getattr(right.get(name), "default", argument.empty), argument.default
        if argument.empty not in (default, own) and np.any(own != default):
            raise Stop("another default", say(
                "Without an argument {name}, {subject} takes {own}, and must take {default}. Leave"
                " the first line as it is in the stub.", name=f"`{name}`", subject=subject.name,
                own=own, default=default))
