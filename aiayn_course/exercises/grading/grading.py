"""Grade a folder of answers, with a row for each file and exercise.

`submissions` reads all files before the first one runs. `sandbox` runs each file in a process of
its own, and that process runs `running`.
"""

import base64
import secrets
import signal
from collections.abc import Iterator
from dataclasses import dataclass, fields

from ..exercise import EXERCISES
from ..language import say, speaking, spoken
from .sandbox import run_alone
from .submissions import Submission


@dataclass
class Grade:
    """The grade of one file as an answer to one exercise.

    points, of : the number of right classes and functions, and the number of all in the exercise; a
        class with only a right forward counts one half
    diagnosis : the diagnosis of `check`, or: missing, not readable, syntax error, too slow, memory,
        exits, check changed, not run
    message : one line about the result
    seconds : the duration of the check, start of Python included
    seed : the seed of the random numbers, the same for all answers of the run
    """

    student: str
    exercise: str
    passed: bool
    points: float
    of: int
    diagnosis: str
    message: str
    seconds: float
    file: str
    seed: int


COLUMNS = [f.name for f in fields(Grade)]


def grade(handed_in: list[Submission], *, timeout: float = 60, memory: int = 1024,
          seed: int | None = None, language: str | None = None) -> Iterator[Grade]:
    """Grade Submissions one after the other, and yield a Grade for each.

    timeout, memory : seconds and MB of address space for each file; only Linux limits memory
    seed : the seed of the random numbers for all answers; None: a new one for this run
    language : "en" or "zh", for the messages; None: from AIAYN_LANG or the locale
    """
    seed = secrets.randbelow(2**31) if seed is None else seed
    for submission in handed_in:
        with speaking(language):
            row = graded(submission, timeout, memory, seed)
        yield row


def graded(submission, timeout, memory, seed):
    """Return the Grade of one file."""
    exercise, problem, seconds = submission.exercise, submission.problem, 0.0
    of = len(EXERCISES[exercise].objects) if exercise else 0
    points, diagnosis, message = 0.0, "not readable", problem
    if not (exercise or problem):
        diagnosis = "missing"
        message = say("its name belongs to no exercise, such as 01_softmax.py")
    elif not problem:
        secret = secrets.token_hex()
        job = dict(exercise=exercise, seed=seed, secret=secret, language=spoken(),
                   suffix=submission.path.suffix.lower(),
                   data=base64.b64encode(submission.data).decode())
        try:
            said, output, code, seconds = run_alone(job, timeout=timeout, memory=memory)
            points, diagnosis, message = verdict(said, output, code, secret, of, timeout)
        except OSError as error:
            diagnosis, message = "not run", say("no process could run it: {error}", error=error)
    return Grade(submission.student, exercise, diagnosis == "right", points, of, diagnosis, message,
                 round(seconds, 2), submission.file, seed)


def verdict(said, output, code, secret, of, timeout):
    """Return (points, diagnosis, message) of a process that has ended.

    Its output `said` counts if it begins with the secret and has a possible number of points.
    """
    given, diagnosis, points, message = [*said.split("\0", 3), "", "", "", ""][:4]
    possible = {f"{n / 2:g}": n / 2 for n in range(2 * of + 1)}
    if given == secret and points in possible and (diagnosis == "right") == (points == f"{of}"):
        return possible[points], diagnosis, message
    last = (output.strip().splitlines() or [""])[-1]
    if code is None or -code == getattr(signal, "SIGXCPU", 0):
        return 0.0, "too slow", say("it did not end within {seconds} seconds",
                                    seconds=f"{timeout:g}")
    if said:
        return 0.0, "check changed", say("something else than the check writes its verdict")
    if "MemoryError" in last:
        return 0.0, "memory", say("it needs more memory than is allowed")
    return 0.0, "exits", say("it ends the process, with code {code}, before it was checked. {last}",
                             code=code, last=last)
