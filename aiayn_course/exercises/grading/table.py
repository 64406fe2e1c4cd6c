"""CSV tables that a spreadsheet reads."""

import csv
import io
import re
from collections.abc import Iterable
from pathlib import Path

from ..language import say

FORMULA = re.compile("[\\s\"']*[=+\\-@\uff1d\uff0b\uff0d\uff20]")  # how a cell may begin a formula
MARK = "\ufeff".encode()  # by which a spreadsheet knows UTF-8


def csv_bytes(rows: Iterable[Iterable]) -> bytes:
    """Return lines of CSV in which a spreadsheet takes no cell for a formula."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows(map(harmless, row) for row in rows)
    return text.getvalue().encode()


def harmless(cell):
    """Return a cell with a ' in front if it begins like a formula of a spreadsheet."""
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell


def read_csv(path):
    """Return the rows of a CSV file that have a first cell; ValueError if it is not UTF-8."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(say("{file} must be a CSV file in UTF-8", file=path)) from None
    return [row for row in csv.reader(text.splitlines()) if row and row[0].strip()]
