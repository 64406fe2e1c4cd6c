"""Grade a folder of submissions, with a row for each student and exercise.

    >>> from aiayn_course.exercises.grading.grading import COLUMNS
    >>> COLUMNS
    ['student', 'exercise', 'passed', 'points', 'of', 'diagnosis', 'message', 'late', 'remarks',
     'seconds', 'file', 'seed']

`submissions` reads all files before the first one runs. `sandbox` runs each in a process of its
own, and `answer` is what that process does.
"""

import base64
import collections
import itertools
import os
import re
import secrets
import signal
import time
from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from pathlib import Path

from aiayn_np.files import replacing

from ..exercise import EXERCISES
from ..language import say, speaking, spoken
from .names import on_roster
from .sandbox import end_all, run_alone
from .submissions import defined_in, submissions
from .table import MARK, csv_bytes

MESSAGE = 300  # characters of a message that are kept
UNWRITTEN = "missing", "not written yet"


@dataclass
class Grade:
    """The grade of one student's answer to one exercise.

    points, of : how many of the exercise's classes and functions are right, of how many; a class
        whose forward alone is right counts one half
    diagnosis : that of `check`, or: missing, not readable, syntax error, too slow, memory, exits,
        check changed
    message : what is wrong, in one line
    late : whether it came after the time that was set, or the platform says so
    remarks : what a teacher should look at, such as code that asks the package for the solution
    seconds : how long the check took, start of Python included
    file : the path of the file in the folder
    seed : for the random numbers on which all answers of the run were tried
    time : when the file was changed last, in seconds since 1970
    reports : for each class or function: {name, points, diagnosis, cause, text, html}
    code : its lines, as `honesty.lines_of` lays them out
    """

    student: str
    exercise: str
    passed: bool
    points: float
    of: int
    diagnosis: str
    message: str
    late: bool = False
    remarks: str = ""
    seconds: float = 0.0
    file: str = ""
    seed: int = 0
    time: float = field(default=0.0, repr=False)
    reports: list[dict] = field(default_factory=list, repr=False)
    code: list = field(default_factory=list, repr=False)

    @property
    def cells(self) -> list:
        """The cells of the table's row."""
        return [getattr(self, name) for name in COLUMNS]


COLUMNS = [f.name for f in fields(Grade) if f.repr]


def grade(folder: str | Path, *, exercise: str | None = None, timeout: float = 60,
          memory: int = 1024, seed: int | None = None, jobs: int | None = None,
          best: bool = False, due: float | None = None, roster: str | Path | None = None,
          language: str | None = None) -> tuple[list[str], list[str], Generator[Grade, None, None]]:
    """Grade all submissions in a folder, several at a time.

    Parameters
    ----------
    folder : holds files as `submissions.submissions` describes them
    exercise : name of the only exercise to grade; None: all that were handed in
    timeout : seconds for each file
    memory : MB of address space for each file; only Linux enforces this limit
    seed : for the random numbers on which all answers are tried; None: one is drawn for the run
    jobs : how many files run at a time; None: as many as the machine has processors
    best : of several files for one exercise the best one counts, and not the newest. A file in
        which nothing is written never counts before another. Files of one minute are equally new
    due : seconds since 1970; a file that was changed later is late, unless Canvas says otherwise
    roster : a CSV file with the names of all students in its first column
    language : "en" or "zh", for the messages; None: as AIAYN_LANG or the locale says

    Returns
    -------
    (students, exercises, rows): names, and a generator of a Grade for every student and exercise

    Raises
    ------
    ValueError if there is no such folder, exercise or language, or a limit is not positive
    """
    with speaking(language):
        must_be_limits(exercise, timeout, memory, jobs)
        (handed_in, who), language = submissions(folder, due), spoken()
        names, known = on_roster(roster, who) if roster else (who, {})
    seed = secrets.randbelow(2**31) if seed is None else seed
    chosen = [exercise] if exercise else [
        name for name in EXERCISES if name in {s.exercise for s in handed_in}]
    students = [*names, *sorted(set(who) - set(names) - set(known))]

    def row(student, name):
        own = [s for s in handed_in if known.get(s.student, s.student) == student]
        mine = [s for s in own if s.exercise == name]
        mine = mine or [s for s in own if exercise and s.exercise is None]
        with speaking(language):                                       # a thread begins without
            grades = [graded(s, name, folder, timeout, memory, seed) for s in mine]
            result = counted(grades, best) if grades else missing(student, name, own, seed)
            if student not in names:
                result.remarks = say("; ").join(filter(None, (
                    say("not on the roster"), result.remarks)))
        result.student = printable(student)
        return result

    def rows():
        pool = ThreadPoolExecutor(jobs or os.cpu_count())
        futures = [pool.submit(row, *pair) for pair in itertools.product(students, chosen)]
        try:
            yield from (future.result() for future in futures)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            while not all(future.done() for future in futures):        # it was interrupted
                end_all()
                time.sleep(0.01)

    return [*map(printable, students)], chosen, rows()


def must_be_limits(exercise, timeout, memory, jobs):
    if exercise is not None and exercise not in EXERCISES:
        raise ValueError(say("exercise must be one of {names}, got {name}", name=exercise,
                             names=", ".join(EXERCISES)))
    if not 0 < timeout < 1e6:
        raise ValueError(say("timeout must be a positive number of seconds, got {timeout}",
                             timeout=timeout))
    if not 256 <= memory < 1e7:
        raise ValueError(say("memory must be at least 256 MB, for Python and NumPy, got {memory}",
                             memory=memory))
    if jobs is not None and jobs < 1:
        raise ValueError(say("jobs must be at least 1, got {jobs}", jobs=jobs))


def graded(submission, exercise, folder, timeout, memory, seed):
    """Return the Grade of one file."""
    path = submission.path
    row = Grade(submission.student, exercise, False, 0, len(EXERCISES[exercise].objects),
                "not readable", submission.problem, submission.late, seed=seed,
                file=printable(str(path.relative_to(folder))), time=submission.time)
    if not submission.problem:
        job = dict(exercise=exercise, suffix=path.suffix, seed=seed, language=spoken(),
                   data=base64.b64encode(submission.data).decode())
        outcome = run_alone(job, timeout=timeout, memory=memory)
        for name, value in verdict(outcome, timeout).items():
            setattr(row, name, value)
        row.seconds = round(outcome.seconds, 2)
    row.passed = row.diagnosis == "right"
    row.message, row.remarks = printable(row.message), printable(row.remarks)
    return row


def verdict(outcome, timeout):
    """Return what the Outcome of a process says, as {name: value} of a Grade."""
    if outcome.answer is not None:
        return outcome.answer
    last = (outcome.output.strip().splitlines() or [""])[-1]
    if outcome.code is None or -outcome.code == getattr(signal, "SIGXCPU", 0):
        return dict(diagnosis="too slow", message=say(
            "it did not end within {seconds} seconds", seconds=f"{timeout:g}"))
    if "MemoryError" in last:
        return dict(diagnosis="memory", message=say("it needs more memory than is allowed"))
    return dict(diagnosis="exits", message=say(
        "it ends the process, with code {code}, before it was checked. {last}", code=outcome.code,
        last=last))


def counted(grades, best):
    """Return the Grade that counts: the newest, or the best, of those in which something is."""
    return max(grades, key=lambda g: (g.diagnosis not in UNWRITTEN, 0 if best else g.time // 60,
                                      g.points))


def totals(grades: Iterable[Grade]) -> dict[str, tuple[float, int]]:
    """Return {student: (points, most possible points)} over all exercises."""
    points_of: dict[str, tuple[float, int]] = {}
    for g in grades:
        points, of = points_of.get(g.student, (0, 0))
        points_of[g.student] = points + g.points, of + g.of
    return points_of


def commonest(grades: Iterable[Grade]) -> list[tuple[Grade, int, int]]:
    """Return the ten commonest mistakes as (one such Grade, how often, of how many wrong ones).

    Wrong answers are counted in each exercise. A mistake that one student made is not common, and
    "error" and "wrong" are not one mistake.
    """
    wrong = [g for g in grades if not g.passed and g.diagnosis not in UNWRITTEN]
    of = collections.Counter(g.exercise for g in wrong)
    first = {(g.exercise, g.diagnosis): g for g in reversed(wrong)}
    often = collections.Counter((g.exercise, g.diagnosis) for g in wrong
                                if g.diagnosis not in ("error", "wrong"))
    return [(first[kind], count, of[kind[0]])
            for kind, count in often.most_common(10) if count > 1]


def missing(student, exercise, own, seed):
    """Return the Grade of a student who handed in nothing."""
    others = [say("{file} defines {names}", file=s.path.name,
                  names=", ".join(defined_in(s.data)[:5]) or "-")
              for s in own if s.exercise is None]
    more = say("; not recognised: {names}", names=", ".join(others[:3])) if others else ""
    return Grade(student, exercise, False, 0, len(EXERCISES[exercise].objects), "missing",
                 printable(say("no file for it{more}", more=more)), seed=seed)


def printable(text):
    """Return a text in one line that cannot steer a terminal and that UTF-8 can hold.

    A byte of a file's name that is not UTF-8, or half a character, is shown as in \\udcfc.
    """
    text = text.encode("utf-8", "backslashreplace").decode()
    text = " ".join(re.sub(r"[^ -~\u00a1-\u1fff\u2010-\u2027\u2030-\ufffd]", " ", text).split())
    return text if len(text) <= MESSAGE else text[: MESSAGE - 3] + "..."


def write_csv(rows: Iterable[Grade], path: str | Path) -> Path:
    """Write Grades as a CSV table in which a spreadsheet takes no cell for a formula."""
    with replacing(path) as file:
        file.write(MARK + csv_bytes([COLUMNS, *(row.cells for row in rows)]))
    return Path(path)
