"""The command `grade`: check a folder of students' answers, and write a table of grades."""

import argparse
import contextlib
import datetime
import os
from pathlib import Path

from aiayn_np.cli.common import UsageError, note
from aiayn_np.cli.writing import add_out, check_file, check_folder, make_writable, new_path


def add_grade_options(p):
    """Add the options of `grade` to its parser."""
    p.add_argument("folder", type=Path, help="FOLDER/STUDENT/01_softmax.py or .ipynb and so on, or"
                   " FOLDER/STUDENT_01_softmax.py; what Canvas or Moodle gives to download; or what"
                   " `exercises` wrote")
    p.add_argument("--exercise", help='only this one, such as "layer norm" (default: all)')
    add_out(p, "--csv", "file for the table (default: FOLDER/grades.csv)")
    p.add_argument("--feedback", type=new_path, metavar="DIR",
                   help="folder for a page and a text for each student")
    p.add_argument("--roster", type=Path, metavar="NAMES.CSV",
                   help="names of all students, in the first column")
    p.add_argument("--due", type=moment, metavar="TIME",
                   help='what was changed later is late: "2026-11-20 18:00"')
    p.add_argument("--best", action="store_true",
                   help="of several files the best one counts (default: the newest)")
    p.add_argument("--pseudonyms", action="store_true",
                   help="numbers for names; pseudonyms.csv beside the table has the key")
    p.add_argument("--gradescope", type=new_path, metavar="RESULTS.JSON",
                   help="file for Gradescope's autograder; FOLDER then holds one student's files")
    p.add_argument("--jobs", type=int, help="files at a time (default: one for each processor)")
    p.add_argument("--timeout", type=float, default=60, help="seconds for a file (default: 60)")
    p.add_argument("--seed", type=int, help="of the numbers that all answers are tried on"
                   " (default: drawn for this run, and printed)")
    p.add_argument("--memory", type=int, default=1024, help="MB for a file (default: 1024)")


def moment(text):
    """Return a date and time of the machine's clock as seconds since 1970."""
    try:
        return datetime.datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'must be a date and time such as "2026-11-20 18:00", got {text!r}') from None


def grade_command(args):
    """Print a row for every student and exercise, and write them all as CSV."""
    from aiayn_np.text.columns import width

    from ..exercises.grading.feedback import write_feedback, write_results
    from ..exercises.grading.grading import COLUMNS, grade, write_csv
    from ..exercises.grading.names import pseudonyms
    from ..exercises.grading.sandbox import MEMORY_IS_LIMITED
    from ..exercises.language import say

    students, exercises, rows = grade(
        args.folder, exercise=args.exercise, timeout=args.timeout, memory=args.memory,
        seed=args.seed, jobs=args.jobs, best=args.best, due=args.due, roster=args.roster)
    if not students or not exercises:
        raise UsageError(say("{folder} holds no file of an exercise;"
                             " see notebooks/exercises/TEACHING.md", folder=args.folder))
    path = args.csv or args.folder / "grades.csv"
    read = [args.roster] if args.roster else []
    check_file("--csv", path, ".csv", force=args.force, own=args.csv is None, inputs=read)
    if args.gradescope:
        check_file("--gradescope", args.gradescope, ".json", force=args.force, inputs=read)
    if args.feedback:
        check_folder(args.feedback, "*.html", force=args.force)
        make_writable(args.feedback)
    names = dict(zip(students, students))
    if args.pseudonyms:
        names = pseudonyms(path.with_name("pseudonyms.csv"), students)
    if not MEMORY_IS_LIMITED:
        note(say("note: memory cannot be limited on this system"))
    widths = [max(map(width, some)) for some in (
        [names[student] for student in students], map(say, exercises))]
    done: list = []
    begun = Path(os.path.realpath(path)).with_suffix(".unfinished.csv")  # no end loses a row
    try:
        with contextlib.closing(rows), open(begun, "wb", buffering=0) as file:
            append(file, COLUMNS)                                      # a full disk is seen here
            for row in rows:
                if args.pseudonyms:
                    row.student, row.file = names[row.student], ""
                append(file, row.cells)
                done.append(row)
                print(line_of(row, *widths), flush=True)
        if args.pseudonyms:                                            # their order tells nothing
            done.sort(key=lambda row: row.student)
        if args.feedback:
            write_feedback(done, args.feedback)
        if args.gradescope:
            write_results(done, args.gradescope)
        write_csv(done, path)
    except BaseException:
        if done:
            note(say("{count} of {all} rows are in {file}", count=len(done),
                     all=len(students) * len(exercises), file=begun))
        else:
            begun.unlink(missing_ok=True)
        raise
    begun.unlink(missing_ok=True)
    print(*summary(done), path, sep="\n")
    return 0


def append(file, cells):
    """Write a row at the end of an open CSV file; an OSError names the file."""
    from ..exercises.grading.table import csv_bytes

    try:
        file.write(csv_bytes([cells]))
    except OSError as error:
        raise OSError(error.errno, error.strerror, file.name) from error


def summary(done):
    """Return the lines below the table: points, what is alike, the commonest mistakes."""
    from ..exercises.exercise import EXERCISES
    from ..exercises.grading.grading import commonest, totals
    from ..exercises.grading.honesty import alike
    from ..exercises.language import say, say_name

    lines = [say("{student}: {points} of {of} points", student=student, points=f"{points:g}",
                 of=of) for student, (points, of) in totals(done).items()]
    lines += [say("the same code in {exercise}: {names}" if same else
                  "nearly the same code in {exercise}: {names}", exercise=say(exercise),
                  names=say("; ").join(names)) for exercise, names, same in alike(done)]
    for g, count, wrong in commonest(done):
        lines.append(say("commonest mistake in {exercise}: {diagnosis}, {count} of {wrong} wrong"
                         " answers (lesson {lesson})", exercise=say(g.exercise),
                         diagnosis=say_name(g.diagnosis), count=count, wrong=wrong,
                         lesson=EXERCISES[g.exercise].lesson))
        lines += [f"  {line}" for line in shortened(g.message, 3)]
    return [*lines, say("{count} of {all} answers passed, seed {seed}",
                        count=sum(row.passed for row in done), all=len(done), seed=done[0].seed)]


def line_of(row, student_width, exercise_width):
    """Return a Grade as a line of the table."""
    from aiayn_np.text.columns import flush_left

    from ..exercises.language import say, say_name

    mark = flush_left(say("passed") if row.passed else say("no"), 6)
    said = say("; ").join(filter(None, (say("late") if row.late else "", row.remarks, row.message)))
    message = "".join(shortened(said, 1))
    student, exercise, diagnosis = (flush_left(*cell) for cell in (
        (row.student, student_width), (say(row.exercise), exercise_width),
        (say_name(row.diagnosis), 24)))
    return f"{student}  {exercise}  {mark}  {diagnosis}  {row.seconds:5.1f} s  {message}".rstrip()


def shortened(message, most):
    """Return the first lines of a message, at most so many; [...] stands for the rest."""
    from ..exercises.checking.report import wrapped

    lines = wrapped(message)
    return [*lines[:most - 1], *(f"{line} [...]" if lines[most:] else line
                                 for line in lines[most - 1 : most])]
