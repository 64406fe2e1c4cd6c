"""Call the student's code, and turn an error into one sentence with the student's own line."""

import contextlib
import copy
import linecache
import re
import signal
import textwrap
import threading
import traceback
import warnings

import numpy as np

import aiayn_course
import aiayn_np
from aiayn_np.checks import one_line

from ..language import say
from .errors import advice, question_of_error
from .failing import NOTHING, scope_of, seen_around, shown_by, target_of
from .operands import parts, shown
from .shapes import BESIDE

SECONDS = 10  # of the processor, for one call of the student's code
FOLDERS = tuple(package.__path__[0] for package in (aiayn_np, aiayn_course, np))
NOT_STUDENTS = *FOLDERS, "<__array_function__", "<frozen"


class Stop(Exception):
    """Ends a check with a diagnosis, a message and the tensor that they are about.

    by_error : whether the student's code stopped with an error
    tensor : its name, or a list of names; got : the student's array, if its shape is wrong
    cause : the end of the message that names the likely cause, if it has one
    where, question : what a report says before the cause; without them it says the message
    parts : [(code, value)] of what stands around the operation that stopped
    scope : {code: array} of all that the line could use; target : what `target_of` gives
    code : the line itself, if Python or NumPy raised an error in it
    """

    def __init__(self, diagnosis, message, tensor=None, *, by_error=False, got=None, cause="",
                 where="", question="", parts=(), scope=None, target=("", False), code=""):
        super().__init__(message)
        self.diagnosis, self.message, self.tensor = diagnosis, message, tensor
        self.by_error, self.got, self.cause = by_error, got, cause
        self.where, self.question, self.parts = where, question, parts
        self.scope, self.target, self.code = scope or {}, target, code

    def advise(self, case):
        """Add the case's advice to what is said of an error of Python or of a wrong shape."""
        if case.why and (self.by_error or self.got is not None):
            self.message += f" {say(case.why)}"
            self.cause += f" {say(case.why)}"

    def explained(self, finding):
        """Return a Stop that also says how an array of a wrong shape came about."""
        explanation = finding.explanation
        plain = self.message.removesuffix(say(BESIDE)).strip()
        return Stop(explanation.key, f"{plain} {explanation.why}", self.tensor)


def call(what, function, *args, case="", **options):
    """Call a student's function without warnings, and turn any error into a Stop."""
    forget()
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(), limited(what):
            warnings.simplefilter("ignore")
            return function(*args, **options)
    except (Stop, KeyboardInterrupt):
        raise
    except NotImplementedError as error:
        raise Stop("not written yet", say("{what} is not written yet.", what=what)) from error
    except BaseException as error:                                     # also a SystemExit
        text = describe(error).rstrip(".")
        if "read-only" in text:
            raise Stop("changed in place", say("{what} writes{line} into an array that it was"
                       " given. {why}", what=what, line=line_of(error, 60),
                       why=say(OWN_ARRAY)), cause=say(OWN_ARRAY)) from error
        frames = student_frames(error)
        last, _ = [*traceback.walk_tb(error.__traceback__)][-1]
        frame, number = frames[-1] if frames else (None, 0)
        found = parts(frame, number, last) if frames else []
        where, question = seen_in(error, found, what, case)
        if of_line := frame and shown_by(frame, number, error):
            key, why, asked = of_line
            question = f"{shown(found)} {asked}".strip()
        else:
            key, why = advice(text, line_of(error), found, what, is_in_part(frames),
                              seen_around(frame, number) if frame else NOTHING)
        said = say("{what} stops{line} with {error} ({case}). {why}" if case else
                   "{what} stops{line} with {error}. {why}", what=what, line=line_of(error),
                   error=text, case=say(case), why=why)
        raise Stop(key, said.strip(), by_error=True, cause=why, where=where, question=question,
                   parts=found, scope=scope_of(frame) if frame else {},
                   target=target_of(frame, number, found) if frame else ("", False),
                   code=code_of(frames[-1]) if frames else "") from error


@contextlib.contextmanager
def limited(what):
    """Raise a Stop if the `with` block computes for more than SECONDS.

    It needs signals of the processor's time, and so the main thread and no Windows.
    """
    def end(*_):
        raise Stop("endless", say("{what} does not end: it was stopped after {seconds} seconds."
                                  " Look at the condition of its loop.", what=what,
                                  seconds=SECONDS))
    is_main = threading.current_thread() is threading.main_thread()
    if not hasattr(signal, "SIGPROF") or not is_main:
        yield
        return
    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def describe(error):
    """Return an error in one line, without its text if the student's class cannot make one."""
    try:
        text = one_line(error)
    except BaseException:
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def forget():
    """Fill freed memory with nan, so that np.empty is not right by chance."""
    [np.full(n, np.nan) for n in range(1, 129) for _ in range(2)]


OWN_ARRAY = ("Others still need what you did not make yourself: x = x + 1 and x.reshape(...) make"
             " new arrays, x += 1 and x.shape = ... change the old one.")


def seen_in(error, found, what, case):
    """Return (where, question): the student's line with the parts that it puts together."""
    text = describe(error)
    of_shapes = len(found) > 1 and shown(found) and re.search(
        "matmul|broadcast|aligned|boolean index|too many indices", text)
    said = type(error).__name__ if of_shapes else re.split(r"\. ", text)[0].rstrip(".")
    where = say("{what} stops{line} with {error} ({case})." if case else
                "{what} stops{line} with {error}.", what=what, line=line_of(error, 60),
                error=said, case=say(case))
    frames = student_frames(error)
    if len(frames) > 1 and frames[-2][1] != frames[-1][1]:             # no generator of the line
        where += say(" Line {number} calls it: `{code}`.", number=frames[-2][1],
                     code=code_of(frames[-2]))
    question = question_of_error(text, line_of(error), found, is_in_part(frames))
    return where, f"{shown(found)} {say(question)}".strip()


def is_in_part(frames):
    """Tell whether code stops in the student's own backward of a part of the layer."""
    return len(frames) > 1 and frames[-1][0].f_code.co_name == "backward"


def student_frames(error):
    """Return [(frame, line)] of an error in the student's own code, the innermost last."""
    return [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)
            if not frame.f_code.co_filename.startswith(NOT_STUDENTS)]


def line_of(error, most=200):
    """Return the student's line that raised an error, as " in line 7, `y = x @ W`,"."""
    frames = student_frames(error)
    if not frames:
        return ""
    number, code = frames[-1][1], code_of(frames[-1], most)
    return say(" in line {number}, `{code}`," if code else " in line {number}", number=number,
               code=code)


def code_of(place, most=60):
    """Return the line of code at a (frame, line), shortened to `most` columns."""
    frame, number = place
    return textwrap.shorten(linecache.getline(frame.f_code.co_filename, number), most,
                            placeholder=" …")


def copied(thing):
    """Copy arrays and generators, also those in a tuple or dict; return all else as it is.

    The copies of arrays are read-only, so that NumPy stops in the line that writes into one.
    """
    if isinstance(thing, np.ndarray):
        thing = thing.copy("K")                                        # as it lies in the memory
        thing.flags.writeable = False
        return thing
    if isinstance(thing, tuple):
        return tuple(map(copied, thing))
    if isinstance(thing, np.random.Generator):
        return copy.deepcopy(thing)
    return {k: copied(v) for k, v in thing.items()} if isinstance(thing, dict) else thing


def must_be_unchanged(what, names, before, after):
    """Raise a Stop if an array in `after` differs from its copy in `before`."""
    for name, old, new in zip(names, before, after):
        if isinstance(old, np.ndarray) and not np.array_equal(old, new, equal_nan=True):
            raise Stop("changed in place", say("{what} changes {name}, which it was given, in"
                       " place. {why}", what=what, name=name, why=say(OWN_ARRAY)),
                       cause=say(OWN_ARRAY))
