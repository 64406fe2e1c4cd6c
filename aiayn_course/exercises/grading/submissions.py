"""Find the student and the exercise of each file in a folder."""

import re
from pathlib import Path
from typing import NamedTuple

from ..exercise import EXERCISES
from ..language import say

LARGEST = 5_000_000  # bytes; larger files are not read
STEMS = {e.stem: e.name for e in EXERCISES.values()}
NAMED = re.compile(rf"(?P<student>.*?)[ _-]*(?P<stem>{'|'.join(STEMS)})(?![a-z])", re.IGNORECASE)


class Submission(NamedTuple):
    """A file as it was when the folder was read; `problem` is "" or says why it was not read."""

    student: str
    exercise: str
    path: Path
    file: str
    data: bytes
    problem: str


def submissions(folder: Path, only: str | None = None) -> "list[Submission]":
    """Read all files of a folder that are scripts or notebooks, and return their Submissions.

    The student is the first folder in a file's path. For a file in `folder` itself, the student is
    the part of the name before the exercise, as in anna_01_softmax.py, or else the name of
    `folder`. `only` is the name of an exercise. Files of other exercises are then left out, and
    files without an exercise in their name count for it. `find_the_bug` is not graded, nor are
    lessons, which stand beside a folder `exercises`.
    """
    found = []
    for path in files_in(folder):
        parts, named = path.relative_to(folder).parts, NAMED.match(path.stem)
        exercise = STEMS[named["stem"].lower()] if named else only or ""
        before = named["student"] if named else path.stem
        student = parts[0] if len(parts) > 1 else before or folder.resolve().name
        is_lesson = not named and (path.parent / "exercises").is_dir()
        if path.stem != "find_the_bug" and not is_lesson and only in (None, exercise):
            found.append(Submission(student, exercise, path, str(Path(*parts)), *read(path)))
    return found


def files_in(folder):
    """Return the paths of scripts, notebooks and links below a folder, without hidden files."""
    found, folders = [], [folder]
    while folders:
        try:
            entries = [path for path in folders.pop().iterdir()
                       if not path.name.startswith((".", "__"))]
        except OSError:
            continue
        ours = [p for p in entries if p.suffix.lower() in (".py", ".ipynb") or p.is_symlink()]
        found += ours
        folders += [path for path in entries if path not in ours and path.is_dir()]
    return sorted(found)


def read(path):
    """Return (bytes, problem) of a file; problem is "" or says why the file is not read."""
    if path.is_symlink() or not path.is_file():
        return b"", say("it is a link, a folder or a device, and no file")
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        return b"", say("the file cannot be opened: {error}", error=error.strerror)
    if len(data) > LARGEST:
        return b"", say("the file is larger than {count} bytes", count=LARGEST)
    return data, ""
