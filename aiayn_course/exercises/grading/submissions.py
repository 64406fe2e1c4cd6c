"""Find out which file in a folder is whose answer to which exercise."""

import itertools
import re
from dataclasses import dataclass
from pathlib import Path

from ..exercise import EXERCISES
from ..language import say

LARGEST = 5_000_000  # bytes of a file that is looked at
# What learning platforms put in front of a file's name, or around it as a folder's name.
CANVAS = re.compile(r"(?P<name>[^_]+)_(?P<late>LATE_)?(?P<id>\d{3,})_\d{3,}_.+", re.IGNORECASE)
MOODLE = re.compile(r"(?P<name>.+)_(?P<id>\d+)_assignsubmission_.*")
DEFINED = re.compile(r'\b(?:class|def) +(\w+)|(?:^|")(\w+) *= *(?:lambda\b|[A-Za-z_][\w.]*'
                     r'(?= *(?:$|#|\\n|")))', re.MULTILINE)


@dataclass(frozen=True)
class Submission:
    """One file of a student, as it was when the folder was read.

    exercise : the exercise that it answers, None if there is none
    data : its bytes
    problem : why it could not be read, or ""
    time : when it was changed last, in seconds since 1970
    late : whether Canvas says so, or else whether it was changed after the time that was set
    """

    student: str
    exercise: str | None
    path: Path
    data: bytes
    problem: str
    time: float
    late: bool


def stem(exercise):
    """Return the name of an exercise's file without its ending, such as 02_layer_norm."""
    return f"{exercise.number:02}_{re.sub(r'[^a-z]+', '_', exercise.name)}"


STEMS = {stem(e): e.name for e in EXERCISES.values()}
NAMED = re.compile(rf"(?P<student>.*?)[ _-]*(?P<stem>{'|'.join(STEMS)})(?![a-z])", re.IGNORECASE)


def submissions(folder, due=None):
    """Read all Submissions in a folder, in the order of their paths; return them and the students.

    FOLDER/STUDENT/... holds one student's files, in folders if need be. The name of a file in
    FOLDER itself begins with the student, as in anna_01_softmax.py. Names as Canvas and Moodle give
    them are understood: without their numbers, unless two students have one name. Without a
    student's name, as `aiayn-np exercises FOLDER` writes the files, the student gets the folder's
    name. A file with another name belongs to every exercise whose classes or functions it defines.
    `find_the_bug` is not graded, nor are lessons, which stand beside a folder `exercises`. The
    students are those with a file, and those with a folder in which there is none. What was changed
    after `due`, in seconds since 1970, is late.

    Raises
    ------
    ValueError if `folder` is no folder
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(say("FOLDER must be a folder that holds submissions, got {folder}",
                             folder=folder))
    files, owners = [], {}
    lessons = {path.parent for path in folder.rglob("exercises") if path.is_dir()}
    for path in sorted(folder.rglob("*")):
        inside = [part for part in path.relative_to(folder).parts if part != "exercises"]
        if any(part.startswith((".", "__")) for part in inside) or path.stem == "find_the_bug":
            continue
        if path.is_dir() and len(inside) == 1 and folder not in lessons:
            owners[path] = owner(inside, inside[0])
        if path.suffix in (".py", ".ipynb") and path.is_file() and path.parent not in lessons:
            named = NAMED.match(path.stem)
            alone = (named["student"] if named else path.stem) or folder.resolve().name
            owners[path] = owner(inside, inside[0] if len(inside) > 1 else alone)
            files.append((path, named))
    for path, _ in files:
        top = folder / path.relative_to(folder).parts[0]
        if owners.get(top) != owners[path]:                            # it holds those of several
            owners.pop(top, None)
    several = {name for (name, one, _), (other, two, _) in itertools.combinations(
        set(owners.values()), 2) if name == other and one != two}
    names = {path: f"{name}_{number}" if name in several and number else name
             for path, (name, number, _) in owners.items()}
    handed_in = []
    for path, named in files:
        (data, problem), time, late = read(path), path.stat().st_mtime, owners[path][2]
        late = due is not None and time > due if late is None else late
        handed_in += [Submission(names[path], exercise, path, data, problem, time, late)
                      for exercise in exercises_of(data, named)]
    return handed_in, sorted({name for path, name in names.items() if path.is_dir()}
                             | {s.student for s in handed_in})


def owner(parts, otherwise):
    """Return (name, number, whether late or None) of the student in a path's parts."""
    for part in parts:
        if match := MOODLE.fullmatch(part):
            return match["name"], match["id"], None
        if match := CANVAS.fullmatch(part):
            return match["name"], match["id"], bool(match["late"])
    return otherwise, "", None


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
    defined = set(defined_in(data))
    return [e.name for e in EXERCISES.values() if defined & set(e.objects)] or [None]


def defined_in(data):
    """Return the names that a script or notebook gives to classes, functions and lambdas."""
    found = DEFINED.findall(data.decode(errors="replace"))
    return [*dict.fromkeys(by_word or by_equals for by_word, by_equals in found)]
