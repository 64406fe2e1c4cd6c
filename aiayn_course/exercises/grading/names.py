"""The names of a class: those of a roster, and pseudonyms."""

import itertools
import random
import re
from collections.abc import Iterable
from pathlib import Path

from aiayn_np.files import replacing

from ..language import say
from .table import MARK, csv_bytes, read_csv

HEADS = {"name", "names", "student", "students", "姓名", "学生", "full name"}


def on_roster(path, students):
    """Return (the names in a roster's first column, {student: name on the roster}).

    Case, spaces, punctuation and the order of words make no difference: doejane is "Doe, Jane".
    """
    names = [row[0].strip() for row in read_csv(path)]
    if names and names[0].casefold() in HEADS:
        del names[0]
    of_letters: dict[str, str] = {}
    for name in names:
        words = re.findall(r"[^\W_]+", name.casefold())
        orders = itertools.permutations(words) if len(words) < 6 else [words]
        of_letters |= {"".join(order): name for order in orders}
    letters = {student: re.sub(r"[\W_]", "", student.casefold()) for student in students}
    return names, {s: of_letters[key] for s, key in letters.items() if key in of_letters}


def pseudonyms(path: str | Path, students: Iterable[str]) -> dict[str, str]:
    """Return {student: pseudonym}; the file keeps them, so that a student has one for a term."""
    known = {row[0]: row[1] for row in read_csv(path)} if Path(path).exists() else {}
    new = [student for student in students if student not in known]
    random.shuffle(new)
    for student in new:
        known[student] = say("student {number}", number=f"{len(known) + 1:03}")
    with replacing(path) as file:
        file.write(MARK + csv_bytes(sorted(known.items())))
    return known
