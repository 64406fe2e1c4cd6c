"""The command `grade`: check a folder of students' answers, and write a table of grades."""

import contextlib
import csv
import difflib
import io
import itertools
import os
import re
from collections.abc import Iterable
from pathlib import Path

from aiayn_np.checks import check_number
from aiayn_np.cli.common import UsageError, note
from aiayn_np.cli.writing import add_out, check_file
from aiayn_np.files import replacing
from aiayn_np.training.checks import check_seed

MESSAGE = 300  # the most characters of a message
MARK = "\ufeff".encode()  # tells a spreadsheet that the file is UTF-8
FORMULA = re.compile("[\\s\"']*[=+\\-@\uff1d\uff0b\uff0d\uff20]")  # begin of a formula


def add_grade_options(p):
    """Add the options of `grade` to its parser."""
    p.add_argument("folder", type=Path, help="FOLDER/STUDENT/01_softmax.py or .ipynb and so on, or"
                   " FOLDER/STUDENT_01_softmax.py; or what `exercises` wrote")
    p.add_argument("--exercise", help='only this one, such as "layer norm" (default: all)')
    add_out(p, "--csv", "file for the table (default: FOLDER/grades.csv)")
    p.add_argument("--timeout", type=float, default=60, help="seconds for a file (default: 60)")
    p.add_argument("--seed", type=int, help="of the numbers that all answers are tried on"
                   " (default: drawn for this run, and printed)")
    p.add_argument("--memory", type=int, default=1024, help="MB for a file (default: 1024)")


def grade_command(args):
    """Print a row for each file and exercise, and write all rows as CSV."""
    from aiayn_np.text.columns import width

    from ..exercises.grading.grading import MEMORY_IS_LIMITED, grade, submissions
    from ..exercises.language import say

    must_be_possible(args)
    handed_in = submissions(args.folder, args.exercise)
    if not handed_in and args.exercise:
        raise UsageError(say("no file in {folder} belongs to the exercise {name}",
                             folder=args.folder, name=args.exercise))
    if not handed_in:
        raise UsageError(say("{folder} must hold files such as ann/01_softmax.py, got none;"
                             " aiayn-np exercises --teacher writes a page on it, TEACHING.md",
                             folder=args.folder))
    path = args.csv or args.folder / "grades.csv"
    check_file("--csv", path, ".csv", force=args.force, inputs=[path for *_, path in handed_in])
    if not MEMORY_IS_LIMITED:
        note(say("note: memory cannot be limited on this system"))
    widest = max(width(printable(str(path.relative_to(args.folder)))) for *_, path in handed_in)
    passed = set()                                                     # the better of two files
    with table(path, len(handed_in)) as add:
        for row in grade(args.folder, only=args.exercise, timeout=args.timeout, memory=args.memory,
                         seed=args.seed):
            add(row)
            passed |= {(row.student, row.exercise)} if row.passed else set()
            print(line_of(row, widest), flush=True)
    print(say("{count} of {all} answers passed, seed {seed}", count=len(passed),
              all=len({one[:2] for one in handed_in}), seed=row.seed), path, sep="\n")
    return 0


def must_be_possible(args):
    """Refuse a folder, an exercise or a limit that does not exist."""
    from ..exercises.exercise import EXERCISES
    from ..exercises.language import say

    if args.seed is not None:
        check_seed(args.seed)
    if not args.folder.is_dir():
        raise UsageError(say("FOLDER must be a folder that holds submissions, got {folder}",
                             folder=args.folder))
    if args.exercise not in (None, *EXERCISES):
        close = difflib.get_close_matches(args.exercise, EXERCISES, 1)
        meant = say("; did you mean {name}?", name=close[0]) if close else ""
        raise UsageError(say("exercise must be one of {names}, got {name}",
                             names=", ".join(EXERCISES), name=args.exercise) + meant)
    check_number("timeout", args.timeout, 0, 1e6, open_low=True)
    check_number("memory", args.memory, 256, 1e7)                      # Python and NumPy need that


@contextlib.contextmanager
def table(path, rows):
    """Yield a function that adds a Grade to a table of `rows` rows, for the file `path`.

    Until the table is complete, it grows in a file beside `path`; after an error this file stays.
    """
    from ..exercises.grading.grading import Grade
    from ..exercises.language import say

    lines = []
    with new_file(path) as file:
        def add(cells):
            append(file, csv_bytes(cells))
            lines.append(csv_bytes(cells))
        try:
            add(Grade._fields)                                         # shows a full disk at once
            yield add
            with replacing(path) as whole:
                whole.write(MARK + b"".join(lines))
        except BaseException:
            if len(lines) > 1:
                note(say("{count} of {all} rows are in {file}", count=len(lines) - 1, all=rows,
                         file=file.name))
            else:
                os.unlink(file.name)
            raise
    os.unlink(file.name)


def new_file(path):
    """Open a new file beside the table for the finished rows; existing files stay."""
    for number in itertools.count(1):
        end = f".unfinished-{number}.csv" if number > 1 else ".unfinished.csv"
        with contextlib.suppress(FileExistsError):
            return open(Path(os.path.realpath(path)).with_suffix(end), "xb", buffering=0)


def append(file, line):
    """Write a line at the end of an open file; an OSError names the file."""
    try:
        file.write(line)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file.name)) from error


def line_of(row, widest):
    """Return a Grade as a line of the table."""
    from aiayn_np.text.columns import flush_left

    from ..exercises.language import say, say_name, wrapped

    mark = flush_left(say("passed") if row.passed else say("no"), 6)
    first, *more = wrapped(printable(row.message)) or [""]
    return (f"{flush_left(printable(row.file), widest)}  {say(row.exercise)}  {mark}"
            f"  {flush_left(say_name(row.diagnosis), 24)}  {row.seconds:5.1f} s  {first}"
            f"{' [...]' if more else ''}").rstrip()


def csv_bytes(cells: Iterable) -> bytes:
    """Return a line of CSV without a cell that a spreadsheet would take for a formula."""
    text = io.StringIO(newline="")
    cells = [printable(cell) if isinstance(cell, str) else cell for cell in cells]
    csv.writer(text).writerow(
        f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else
        f"{cell:g}" if isinstance(cell, float) else cell for cell in cells)
    return text.getvalue().encode()


def printable(text):
    """Return a text in one line of UTF-8 that cannot control a terminal.

    A byte of a file's name that is not UTF-8, or half a character, is shown as in \\udcfc.
    """
    text = text.encode("utf-8", "backslashreplace").decode()
    text = " ".join(re.sub(r"[^ -~\u00a1-\u1fff\u2010-\u2027\u2030-\ufffd]", " ", text).split())
    return text if len(text) <= MESSAGE else text[: MESSAGE - 3] + "..."
