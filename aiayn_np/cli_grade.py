"""The command `grade`: check a folder of students' answers, and write a table of grades."""

import textwrap
from pathlib import Path

from .cli_train import UsageError, make_writable_file, note

WIDTH = 100  # characters of a message that are printed; the table in the file has more


def add_grade_options(p):
    """The options of `grade`, added to its parser."""
    p.add_argument("folder", type=Path, help="FOLDER/STUDENT/01_softmax.py or .ipynb and so on, or"
                   " FOLDER/STUDENT_01_softmax.py")
    p.add_argument("--exercise", help='only this one, such as "layer norm" (default: all)')
    p.add_argument("--csv", type=Path, help="file for the table (default: FOLDER/grades.csv)")
    p.add_argument("--timeout", type=float, default=60, help="seconds for a file (default: 60)")
    p.add_argument("--memory", type=int, default=1024, help="MB for a file (default: 1024)")


def grade_command(args):
    """Print a row for every student and exercise, and write them all as CSV."""
    from .exercises.grading import grade, write_csv
    from .exercises.sandbox import MEMORY_IS_LIMITED

    students, exercises, rows = grade(args.folder, exercise=args.exercise, timeout=args.timeout,
                                      memory=args.memory)
    if not students or not exercises:
        raise UsageError(f"{args.folder} holds no file of an exercise; see exercises/TEACHING.md")
    path = args.csv or args.folder / "grades.csv"
    make_writable_file("--csv", path)
    if not MEMORY_IS_LIMITED:
        note("note: memory cannot be limited on this system")
    wide, deep = (max(map(len, names)) for names in (students, exercises))
    done = []
    try:
        for row in rows:
            done.append(row)
            print(line_of(row, wide, deep), flush=True)
    finally:
        write_csv(done, path)                                          # after Ctrl-C, too
    print(f"{sum(row.passed for row in done)} of {len(done)} passed\n{path}")
    return 0


def line_of(row, wide, deep):
    """A Grade as a line of the table, with columns for the longest names."""
    mark = "passed" if row.passed else "no    "
    message = textwrap.shorten(row.message, WIDTH)
    return (f"{row.student:<{wide}}  {row.exercise:<{deep}}  {mark}  {row.diagnosis:<24}"
            f"  {row.seconds:5.1f} s  {message}").rstrip()
