"""Grade a folder of submissions: a row for every student and exercise.

    >>> from aiayn_np.exercises.grading import COLUMNS
    >>> COLUMNS
    ['student', 'exercise', 'passed', 'diagnosis', 'message', 'seconds', 'file']

`submissions` finds the files, `sandbox` runs each in a process of its own, `answer` is that
process, and `own_work` says what does not count as an answer.
"""

import base64
import csv
import re
import signal
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from .exercise import EXERCISES
from .sandbox import run_alone
from .submissions import LARGEST, submissions
from .submissions import students as students_of

MESSAGE = 300  # characters of a message that are kept


@dataclass
class Grade:
    """How one student's answer to one exercise is.

    diagnosis   that of `check`, or: missing, not readable, syntax error, not allowed, not yours,
                tampered, too slow, memory, exits
    message     what is wrong, in one line;   seconds   that it took, start of Python included
    file        the file that was graded, as seen from the folder
    """

    student: str
    exercise: str
    passed: bool
    diagnosis: str
    message: str
    seconds: float
    file: str


COLUMNS = [field.name for field in fields(Grade)]


def grade(folder, *, exercise=None, timeout=60, memory=1024):
    """Grade all submissions in a folder, one after the other.

    Parameters
    ----------
    folder : see `submissions.submissions` for the two ways in which files may lie in it
    exercise : name of the only exercise to grade; None: all that anyone handed in
    timeout : seconds for each file
    memory : MB of address space for each file; it is kept to on Linux only

    Returns
    -------
    (students, exercises, rows): names, and a generator of a Grade for every student and exercise.
    Of two files for one exercise, script and notebook, the better one counts.

    Raises
    ------
    ValueError for what is no folder, an exercise that there is not, a limit that is not positive
    """
    must_be_limits(exercise, timeout, memory)
    found = submissions(folder)
    handed_in = {s.exercise for s in found}
    names = [exercise] if exercise else [name for name in EXERCISES if name in handed_in]
    who = students_of(folder, found)

    def rows():
        for student in who:
            own = [s for s in found if s.student == student]
            for name in names:
                grades = [graded(s, folder, timeout, memory) for s in own if s.exercise == name]
                yield best(grades) if grades else missing(student, name, own)

    return who, names, rows()


def must_be_limits(exercise, timeout, memory):
    if exercise is not None and exercise not in EXERCISES:
        raise ValueError(f"exercise must be one of {', '.join(EXERCISES)}, got {exercise}")
    if not 0 < timeout < 1e6:
        raise ValueError(f"timeout must be a positive number of seconds, got {timeout}")
    if not 256 <= memory < 1e7:
        raise ValueError(f"memory must be at least 256 MB, for Python and NumPy, got {memory}")


def graded(submission, folder, timeout, memory):
    """The Grade of one file."""
    path = submission.path
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        data, problem = b"", f"the file cannot be opened: {error.strerror}"
    else:
        problem = f"the file is larger than {LARGEST} bytes" if len(data) > LARGEST else ""
    if problem:
        diagnosis, message, seconds = "not readable", problem, 0.0
    else:
        job = dict(exercise=submission.exercise, suffix=path.suffix,
                   data=base64.b64encode(data).decode())
        outcome = run_alone(job, timeout=timeout, memory=memory)
        diagnosis, message = verdict(outcome, timeout)
        seconds = round(outcome.seconds, 2)
    return Grade(one_line(submission.student), submission.exercise, diagnosis == "right", diagnosis,
                 one_line(message), seconds, one_line(str(path.relative_to(folder))))


def verdict(outcome, timeout):
    """(diagnosis, message) of a process that has ended."""
    if outcome.answer is not None:
        return outcome.answer["diagnosis"], outcome.answer["message"]
    if outcome.code is None or -outcome.code == getattr(signal, "SIGXCPU", 0):
        return "too slow", f"it did not end within {timeout:g} seconds"
    last = (outcome.output.strip().splitlines() or [""])[-1]
    if "MemoryError" in last:
        return "memory", "it needs more memory than it may have"
    return "exits", f"it ends the process, with code {outcome.code}, before it was checked. {last}"


def best(grades):
    """The Grade that counts: one that passed, or else one that was written."""
    return min(grades, key=lambda g: (not g.passed, g.diagnosis in ("not written yet", "missing")))


def missing(student, exercise, own):
    """The Grade of who handed in nothing."""
    others = [s.path.name for s in own if s.exercise is None]
    more = f"; not recognised: {', '.join(others[:3])}" if others else ""
    message = one_line(f"no file for it{more}")
    return Grade(one_line(student), exercise, False, "missing", message, 0.0, "")


def one_line(text):
    """A text that can neither leave its line nor steer a terminal."""
    text = " ".join(re.sub(r"[^ -~\u00a1-\u1fff\u2010-\u2027\u2030-\ufffd]", " ", text).split())
    return text if len(text) <= MESSAGE else text[: MESSAGE - 3] + "..."


def write_csv(rows, path):
    """Write Grades as a table that a spreadsheet opens, and does not take for formulas."""
    with open(path, "w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow([harmless(cell) for cell in astuple(row)])
    return Path(path)


def harmless(cell):
    """A cell that does not begin as a formula does."""
    risky = isinstance(cell, str) and cell.startswith(("=", "+", "-", "@"))
    return f"'{cell}" if risky else cell
