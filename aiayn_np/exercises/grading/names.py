"""The names of a class: those of a roster, and pseudonyms."""

import csv
import io
import itertools
import random
import re
from collections.abc import Iterable
from pathlib import Path

from ...files import replacing
from ..language import say

HEADS = {"name", "names", "student", "students", "姓名", "学生", "full name"}


def first_column(path):
    """Return the rows of a CSV file that have a first cell; ValueError if it is not UTF-8."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(say("{file} must be a CSV file in UTF-8", file=path)) from None
    rows = [row for row in csv.reader(text.splitlines()) if row and row[0].strip()]
    return rows[1:] if rows and rows[0][0].strip().casefold() in HEADS else rows


def on_roster(path, students):
    """Return (the names in a roster's first column, {student: name on the roster}).

    Case, spaces, punctuation and the order of words make no difference: doejane is "Doe, Jane".
    """
    names = [row[0].strip() for row in first_column(path)]
    of_letters: dict[str, str] = {}
    for name in names:
        words = re.findall(r"[^\W_]+", name.casefold())
        orders = itertools.permutations(words) if len(words) < 6 else [words]
        of_letters |= {"".join(order): name for order in orders}
    letters = {student: re.sub(r"[\W_]", "", student.casefold()) for student in students}
    return names, {s: of_letters[key] for s, key in letters.items() if key in of_letters}


def pseudonyms(path: str | Path, students: Iterable[str]) -> dict[str, str]:
    """Return {student: pseudonym}; the file keeps them, so that a student has one for a term."""
    known = {row[0]: row[1] for row in first_column(path)} if Path(path).exists() else {}
    new = [student for student in students if student not in known]
    random.shuffle(new)
    for student in new:
        known[student] = say("student {number}", number=f"{len(known) + 1:03}")
    text = io.StringIO(newline="")
    csv.writer(text).writerows([("name", "pseudonym"), *sorted(known.items())])
    with replacing(path) as file:
        file.write(text.getvalue().encode("utf-8-sig"))
    return known
