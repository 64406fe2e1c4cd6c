"""Exercises that tell you why you are wrong: write a layer, `check` it, train with it.

    >>> from aiayn_course.exercises import EXERCISES, check
    >>> EXERCISES["layer norm"].objects
    ['LayerNorm']

A student writes the class or function of an exercise under its name and calls
``print(check(LayerNorm))``. The report is true if everything is right. Otherwise it shows where the
student's numbers differ, and asks a question; hints name the cause. ``train_with(LayerNorm)`` then
trains the Transformer with the student's layer. The files to fill in are in notebooks/exercises.

    exercise, topics/                  the exercises: cases, right formulas, known mistakes
    topics/questions, topics/scripted  the questions on known mistakes; a model for decoding
    checker, report, example, page     check, and its report, as text and as a page
    checks, layer_check, function_check, trial  the steps of a check, in their order; one case
    calling, stop                      a call of the student's code; the end of a check
    comparing                          descriptions of a difference
    errors, failing, operands          the meaning of an error, and the values in its line
    kinds, edits, explaining           edits of the right formula; the one that explains an answer
    tracing, asking                    the first wrong line; the question and the hints
    plug_in                            the student's parts in the real model
    grading, running                   `aiayn-np grade`: a row and a process for each file
    derivation                         the check of a derivation, line by line
    yours, verdict                     the numbers that readers of lessons measure themselves
    language, chinese.json             the language of all texts
    editions                           the student edition of a lesson (`aiayn-np lessons`)
    mystery/                           broken models, for notebooks/exercises/find_the_bug.ipynb

An explanation is a change of the right formula that gives the student's numbers in every case.
``check`` compares results, not the way to them. It refuses the library's own classes, but not an
answer that calls them.

Public names, by the file that defines them:

    checker        check
    plug_in        train_with, TrainingReport
    yours          judge
    derivation     DerivationReport, check_derivation
    report         Report, Row
    exercise       Exercise
    language       say, say_name, speaking, spoken, wrapped
    editions       student_edition, asks, exercises_of
    grading        Grade, grade, submissions
    models         mystery, guess, hint, reveal
"""

from . import topics  # noqa: F401, its files fill EXERCISES and SUBJECTS
from .checking.checker import check
from .checking.report import Report, Row
from .exercise import EXERCISES, Exercise
from .plug_in import TrainingReport, train_with
from .yours import judge

__all__ = [
    "EXERCISES", "Exercise", "Report", "Row", "TrainingReport", "check", "judge", "train_with",
]
