"""Grade a folder of answers: a row for each file, checked in a process that has limits.

They keep mistakes from doing harm. They stop no attack: use a container for that.
"""

import contextlib
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..checking.stop import describe
from ..exercise import EXERCISES
from ..language import say, spoken

LARGEST, OUTPUT = 5_000_000, 10_000  # bytes that are read: of a file, and of what it prints
MEMORY_IS_LIMITED = sys.platform.startswith("linux")  # elsewhere the system ignores the limit
STEMS = {e.stem: e.name for e in EXERCISES.values()}
NAMED = re.compile(rf"(?P<student>.*?)[ _-]*(?P<stem>{'|'.join(STEMS)})(?![a-z])", re.IGNORECASE)
ROOTS = [str(Path(__file__).parents[3]), str(Path(np.__file__).parents[1])]
START = ("import sys; sys.path += sys.argv[1:]; import aiayn_course.exercises.grading.running as r;"
         " r.main(sys.stdin.buffer.read())")


class Grade(NamedTuple):
    """The grade of one file: `points` of its `of` classes and functions are right."""

    student: str
    exercise: str
    passed: bool
    points: int
    of: int
    diagnosis: str
    message: str
    seconds: float
    file: str
    seed: int


def submissions(folder: Path, only: str | None = None) -> list[tuple[str, str, Path]]:
    """Return (student, exercise, path) of the scripts and notebooks in a folder, but for lessons.

    The student is the first folder of a path, or what stands before the exercise in the name, or
    the name of `folder`. `only` : an exercise, to which files without one in their name belong, too
    """
    found, folders = [], [folder]
    while folders:
        with contextlib.suppress(OSError):
            for path in folders.pop().iterdir():
                parts, named = path.relative_to(folder).parts, NAMED.match(path.stem)
                exercise = STEMS[named["stem"].lower()] if named else only or ""
                is_lesson = (path.parent / "exercises").is_dir() and (
                    not named or path.name == "05_masks.ipynb")        # Lesson 5
                if path.name.startswith((".", "__")) or path.stem == "find_the_bug":
                    continue
                if path.suffix.lower() not in (".py", ".ipynb"):
                    folders += [path] * (path.is_dir() and not path.is_symlink())
                elif only in (None, exercise) and not is_lesson:
                    before = (named["student"] if named else path.stem) or folder.resolve().name
                    found.append((parts[0] if len(parts) > 1 else before, exercise, path))
    return sorted(found, key=lambda one: one[-1])


def grade(folder: Path, *, only: str | None = None, timeout: float = 60, memory: int = 1024,
          seed: int | None = None) -> Iterator[Grade]:
    """Grade the files of a folder one after the other, and yield a Grade for each.

    timeout, memory : seconds and MB for each file      seed : None: a new one for this run
    """
    seed = secrets.randbelow(2**31) if seed is None else seed
    for student, exercise, path in submissions(folder, only):
        of, began = len(EXERCISES[exercise].objects) if exercise else 0, time.monotonic()
        job = dict(exercise=exercise, seed=seed, timeout=timeout, memory=memory, language=spoken(),
                   secret=secrets.token_hex())
        points, diagnosis, message = graded(path, of, job)
        yield Grade(student, exercise, diagnosis == "right", points, of, diagnosis, message,
                    round(time.monotonic() - began, 2), str(path.relative_to(folder)), seed)


def graded(path, of, job):
    """Return (points, diagnosis, message) of one file."""
    if not of:
        return 0, "missing", say("its name must hold that of an exercise, such as 01_softmax.py")
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST:
            raise OSError(say("it is no file of at most {count} bytes", count=LARGEST))
        is_script = path.suffix.lower() == ".py"
        with tokenize.open(path) if is_script else open(path, encoding="utf-8-sig") as file:
            cells = [dict(cell_type="code", source=file.read())] if is_script else (
                json.load(file)["cells"])
        cells = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        job["cells"] = {"<answer>" if is_script else f"<cell {number}>": source
                        for number, source in enumerate(cells, 1)}
        return verdict(job["secret"], of, job["timeout"], *run_alone(job))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, SyntaxError,
            RecursionError) as error:
        return 0, "not readable", say("it cannot be read or run: {error}", error=describe(error))


def run_alone(job):
    """Do a job in a process; return (verdict, output, exit code, or None after the timeout)."""
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as output, \
            tempfile.TemporaryDirectory(prefix="aiayn-np-", ignore_cleanup_errors=True) as home:
        env = dict(PATH=os.defpath, HOME=home, TMPDIR=home, OMP_NUM_THREADS="1",
                   OPENBLAS_NUM_THREADS="1", SYSTEMROOT=os.environ.get("SYSTEMROOT", ""))
        code = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = subprocess.run(
                [sys.executable, "-I", "-B", "-X", "utf8", "-c", START, *ROOTS], cwd=home, env=env,
                input=json.dumps(job).encode(), timeout=job["timeout"], stdout=said, stderr=output,
                start_new_session=True).returncode
        texts = [(file.seek(0), file.read(OUTPUT))[1] for file in (said, output)]
    return *(text.decode(errors="replace") for text in texts), code


def verdict(secret, of, timeout, said, output, code):
    """Return (points, diagnosis, message), `said` by a process if the secret stands in front."""
    given, diagnosis, points, message = [*said.split("\0", 3), "", "", "", ""][:4]
    is_whole = points == str(of)
    if given == secret and points in map(str, range(of + 1)) and is_whole == (diagnosis == "right"):
        return int(points), diagnosis, message
    if code is None or -code == getattr(signal, "SIGXCPU", 0):
        return 0, "too slow", say("it did not end within {seconds} seconds", seconds=timeout)
    if said:
        return 0, "check changed", say("something else than the check writes its verdict")
    return 0, "exits", say("it ends the process, with code {code}, before it was checked. {last}",
                           code=code, last=output.strip().rpartition("\n")[2])
