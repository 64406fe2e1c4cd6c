"""The command `grade`: check a folder of students' answers, and write a table of grades."""

import os
import textwrap
from pathlib import Path

from .common import UsageError, note
from .writing import add_out, check_file

WIDTH = 100  # characters of a message that are printed; the file has the whole message


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
    """Print a row for every student and exercise, and write them all as CSV."""
    from ..exercises.grading.grading import commonest, grade, totals, write_csv
    from ..exercises.grading.sandbox import MEMORY_IS_LIMITED
    from ..exercises.language import say, say_name, width

    students, exercises, rows = grade(args.folder, exercise=args.exercise, timeout=args.timeout,
                                      memory=args.memory, seed=args.seed)
    if not students or not exercises:
        raise UsageError(say("{folder} holds no file of an exercise;"
                             " see notebooks/exercises/TEACHING.md", folder=args.folder))
    path = args.csv or args.folder / "grades.csv"
    check_file("--csv", path, ".csv", force=args.force)
    if not MEMORY_IS_LIMITED:
        note(say("note: memory cannot be limited on this system"))
    widths = [max(map(width, names)) for names in (students, map(say, exercises))]
    done: list = []
    begun = Path(os.path.realpath(path)).with_suffix(".unfinished.csv")  # no end loses a row
    try:
        write_csv(done, begun)                                         # a full disk is seen here
        for row in rows:
            write_csv([*done, row], begun)
            done.append(row)
            print(line_of(row, *widths), flush=True)
        write_csv(done, path)
    except BaseException:
        if done:
            note(say("{count} of {all} rows are in {file}", count=len(done),
                     all=len(students) * len(exercises), file=begun))
        else:
            begun.unlink(missing_ok=True)
        raise
    begun.unlink(missing_ok=True)
    for student, (points, of) in totals(done).items():
        print(say("{student}: {points} of {of}", student=student, points=points, of=of))
    for exercise, (diagnosis, count, wrong) in commonest(done).items():
        print(say("commonest mistake in {exercise}: {diagnosis}, {count} of {wrong} wrong answers",
                  exercise=say(exercise), diagnosis=say_name(diagnosis), count=count, wrong=wrong))
    print(say("{count} of {all} passed, seed {seed}", count=sum(row.passed for row in done),
              all=len(done), seed=done[0].seed), path, sep="\n")
    return 0


def line_of(row, student_width, exercise_width):
    """Return a Grade as a line of the table."""
    from ..exercises.checking.report import wrapped
    from ..exercises.language import flush_left, say, say_name, spoken

    mark = flush_left(say("passed") if row.passed else say("no"), 6)
    message = textwrap.shorten(row.message, WIDTH)
    if spoken() == "zh" and (lines := wrapped(row.message)):
        message = lines[0] + " [...]" * (len(lines) > 1)
    student, exercise, diagnosis = (flush_left(*cell) for cell in (
        (row.student, student_width), (say(row.exercise), exercise_width),
        (say_name(row.diagnosis), 24)))
    return f"{student}  {exercise}  {mark}  {diagnosis}  {row.seconds:5.1f} s  {message}".rstrip()
