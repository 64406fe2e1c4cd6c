"""Grade a folder of submissions, with a row for each student and exercise.

    >>> from aiayn_np.exercises.grading.grading import COLUMNS
    >>> COLUMNS
    ['student', 'exercise', 'passed', 'points', 'of', 'diagnosis', 'message', 'seconds', 'file',
     'seed']

`submissions` reads all files before the first one runs. `sandbox` runs each in a process of its
own, and `answer` is what that process does.
"""

import base64
import collections
import csv
import io
import re
import secrets
import signal
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from ...files import replacing
from ..exercise import EXERCISES
from ..language import say, speaking, spoken
from .sandbox import run_alone
from .submissions import students as students_of
from .submissions import submissions

MESSAGE = 300  # characters of a message that are kept
# The places of a cell where a spreadsheet may see a formula, if its cells are separated by a space
# or by any character but a letter, a digit or a sign. After a space, a number alone is none.
SIGNS = r"=+\-@\uff1d\uff0b\uff0d\uff20"
NUMBER = r"[+-][\d.]+(?:e[+-]?\d+)?[,;:.)\]]*(?:\s|$)"
FORMULA = re.compile(rf"""((?:^|_|[^\w\s{SIGNS}])[\s"']*(?=[{SIGNS}])"""
                     rf"""|\s(?!{NUMBER})(?=[{SIGNS}]+[^\s{SIGNS}>]))""")


@dataclass
class Grade:
    """The grade of one student's answer to one exercise.

    points, of : how many of the exercise's classes and functions are right, of how many
    diagnosis : that of `check`, or: missing, not readable, syntax error, too slow, memory, exits
    message : what is wrong, in one line
    seconds : how long the check took, start of Python included
    file : the path of the file in the folder
    seed : for the random numbers on which all answers of the run were tried
    """

    student: str
    exercise: str
    passed: bool
    points: int
    of: int
    diagnosis: str
    message: str
    seconds: float
    file: str
    seed: int = 0


COLUMNS = [field.name for field in fields(Grade)]


def grade(folder: str | Path, *, exercise: str | None = None, timeout: float = 60,
          memory: int = 1024, seed: int | None = None,
          language: str | None = None) -> tuple[list[str], list[str], Iterator[Grade]]:
    """Grade all submissions in a folder, one after the other.

    Parameters
    ----------
    folder : holds files as `submissions.submissions` describes them
    exercise : name of the only exercise to grade; None: all that were handed in
    timeout : seconds for each file
    memory : MB of address space for each file; only Linux enforces this limit
    seed : for the random numbers on which all answers are tried; None: one is drawn for the run
    language : "en" or "zh", for the messages; None: as AIAYN_LANG or the locale says

    Returns
    -------
    (students, exercises, rows): names, and a generator of a Grade for every student and exercise.
    Of two files for one exercise, script and notebook, the better one counts.

    Raises
    ------
    ValueError if there is no such folder, exercise or language, or a limit is not positive
    """
    with speaking(language):
        must_be_limits(exercise, timeout, memory)
        handed_in, language = submissions(folder), spoken()
    seed = secrets.randbelow(2**31) if seed is None else seed
    exercises = {s.exercise for s in handed_in}
    names = [exercise] if exercise else [name for name in EXERCISES if name in exercises]
    who = students_of(folder, handed_in)

    def rows():
        for student in who:
            own = [s for s in handed_in if s.student == student]
            for name in names:
                mine = [s for s in own if s.exercise == name]
                with speaking(language):                               # not while it waits
                    grades = [graded(s, folder, timeout, memory, seed) for s in mine]
                    row = best(grades) if grades else missing(student, name, own, seed)
                yield row

    return who, names, rows()


def must_be_limits(exercise, timeout, memory):
    if exercise is not None and exercise not in EXERCISES:
        raise ValueError(say("exercise must be one of {names}, got {name}", name=exercise,
                             names=", ".join(EXERCISES)))
    if not 0 < timeout < 1e6:
        raise ValueError(say("timeout must be a positive number of seconds, got {timeout}",
                             timeout=timeout))
    if not 256 <= memory < 1e7:
        raise ValueError(say("memory must be at least 256 MB, for Python and NumPy, got {memory}",
                             memory=memory))


def graded(submission, folder, timeout, memory, seed):
    """Return the Grade of one file."""
    path, points, seconds = submission.path, 0, 0.0
    if submission.problem:
        diagnosis, message = "not readable", submission.problem
    else:
        job = dict(exercise=submission.exercise, suffix=path.suffix, seed=seed,
                   language=spoken(),
                   data=base64.b64encode(submission.data).decode())
        outcome = run_alone(job, timeout=timeout, memory=memory)
        points, diagnosis, message = verdict(outcome, timeout)
        seconds = round(outcome.seconds, 2)
    of = len(EXERCISES[submission.exercise].objects)
    return Grade(printable(submission.student), submission.exercise, diagnosis == "right", points,
                 of, diagnosis, printable(message), seconds,
                 printable(str(path.relative_to(folder))), seed)


def verdict(outcome, timeout):
    """Return (points, diagnosis, message) from the Outcome of a process."""
    if outcome.answer is not None:
        return tuple(outcome.answer[name] for name in ("points", "diagnosis", "message"))
    if outcome.code is None or -outcome.code == getattr(signal, "SIGXCPU", 0):
        return 0, "too slow", say("it did not end within {seconds} seconds", seconds=f"{timeout:g}")
    last = (outcome.output.strip().splitlines() or [""])[-1]
    if "MemoryError" in last:
        return 0, "memory", say("it needs more memory than is allowed")
    message = say("it ends the process, with code {code}, before it was checked. {last}",
                  code=outcome.code, last=last)
    return 0, "exits", message


def best(grades):
    """Return the Grade that counts: most points first, then one that was written."""
    return min(grades, key=lambda g: (-g.points, g.diagnosis in ("not written yet", "missing")))


def totals(grades: Iterable[Grade]) -> dict[str, tuple[int, int]]:
    """Return {student: (points, most possible points)} over all exercises."""
    points_of: dict[str, tuple[int, int]] = {}
    for g in grades:
        points, of = points_of.get(g.student, (0, 0))
        points_of[g.student] = points + g.points, of + g.of
    return points_of


def commonest(grades: Iterable[Grade]) -> dict[str, tuple[str, int, int]]:
    """Return the commonest mistake as {exercise: (diagnosis, how often, of how many wrong)}."""
    wrong: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    for g in grades:
        if not g.passed and g.diagnosis not in ("missing", "not written yet"):
            wrong[g.exercise][g.diagnosis] += 1
    return {exercise: (*counts.most_common(1)[0], counts.total())
            for exercise, counts in wrong.items()}


def missing(student, exercise, own, seed):
    """Return the Grade of a student who handed in nothing."""
    others = [s.path.name for s in own if s.exercise is None]
    more = say("; not recognised: {names}", names=", ".join(others[:3])) if others else ""
    message = printable(say("no file for it{more}", more=more))
    of = len(EXERCISES[exercise].objects)
    return Grade(printable(student), exercise, False, 0, of, "missing", message, 0.0, "", seed)


def printable(text):
    """Return a text in one line that cannot steer a terminal and that UTF-8 can hold.

    A byte of a file's name that is not UTF-8, or half a character, is shown as in \\udcfc.
    """
    text = text.encode("utf-8", "backslashreplace").decode()
    text = " ".join(re.sub(r"[^ -~\u00a1-\u1fff\u2010-\u2027\u2030-\ufffd]", " ", text).split())
    return text if len(text) <= MESSAGE else text[: MESSAGE - 3] + "..."


def write_csv(rows: Iterable[Grade], path: str | Path) -> Path:
    """Write Grades as a CSV table in which a spreadsheet takes no cell for a formula."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([harmless(cell) for cell in astuple(row)])
    with replacing(path) as file:
        file.write(text.getvalue().encode("utf-8-sig"))
    return Path(path)


def harmless(cell):
    """Return a cell with a ' wherever a spreadsheet may see a formula, whatever separates cells."""
    return FORMULA.sub(r"\1'", cell) if isinstance(cell, str) else cell
