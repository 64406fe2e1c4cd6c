"""Find out which file in a folder is whose answer to which exercise."""

import re
from dataclasses import dataclass
from pathlib import Path

from ..exercise import EXERCISES
from ..language import say

LARGEST = 5_000_000  # bytes of a file that is looked at


@dataclass(frozen=True)
class Submission:
    """One file of a student, as it was when the folder was read.

    exercise : the exercise that it answers, None if there is none
    data : its bytes
    problem : why it could not be read, or ""
    """

    student: str
    exercise: str | None
    path: Path
    data: bytes
    problem: str


def stem(exercise):
    """Return the name of an exercise's file without its ending, such as 02_layer_norm."""
    return f"{exercise.number:02}_{re.sub(r'[^a-z]+', '_', exercise.name)}"


STEMS = {stem(e): e.name for e in EXERCISES.values()}
NAMED = re.compile(rf"(?P<student>.*?)[ _-]*(?P<stem>{'|'.join(STEMS)})(?![a-z])", re.IGNORECASE)


def submissions(folder):
    """Read all Submissions in a folder, in the order of their paths.

    FOLDER/STUDENT/... holds one student's files, in folders if need be. The name of a file in
    FOLDER itself begins with the student, as in anna_01_softmax.py. Without a student's name, as
    `aiayn-np exercises FOLDER` writes the files, the student gets the folder's name. A file with
    another name belongs to every exercise whose classes or functions it defines. `find_the_bug` is
    not graded.

    Raises
    ------
    ValueError if `folder` is no folder
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(say("FOLDER must be a folder that holds submissions, got {folder}",
                             folder=folder))
    handed_in = []
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        hidden = any(part.startswith((".", "__")) for part in inside)
        hidden |= path.stem == "find_the_bug"
        if path.suffix in (".py", ".ipynb") and path.is_file() and not hidden:
            named = NAMED.match(path.stem)
            alone = (named["student"] if named else path.stem) or folder.resolve().name
            student = inside[0] if len(inside) > 1 else alone
            data, problem = read(path)
            handed_in += [Submission(student, exercise, path, data, problem)
                      for exercise in exercises_of(data, named)]
    return handed_in


def read(path):
    """Return (bytes, problem) of a file; problem is "" or tells why the file cannot be read."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        return b"", say("the file cannot be opened: {error}", error=error.strerror)
    too_large = say("the file is larger than {count} bytes", count=LARGEST)
    return data, too_large if len(data) > LARGEST else ""


def exercises_of(data, named):
    """Return the exercises that a file belongs to, by its name or by what it defines."""
    if named:
        return [STEMS[named["stem"].lower()]]
    defined = set(re.findall(r"\b(?:class|def) +(\w+)", data.decode(errors="replace")))
    return [e.name for e in EXERCISES.values() if defined & set(e.objects)] or [None]


def students(folder, handed_in):
    """Return all students: those with a file, and those with an empty folder."""
    folders = {p.name for p in Path(folder).iterdir() if p.is_dir() and p.name[0] not in "._"}
    return sorted({s.student for s in handed_in} | folders)
