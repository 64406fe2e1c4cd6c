"""The command line `aiayn-np`: the commands of the paper's package and of the course."""

import argparse

from aiayn_np.cli import main as paper
from aiayn_np.cli import parser as words
from aiayn_np.cli.train import train_command
from aiayn_np.cli.vectors import vectors_command

from . import explore, figures, grade, lessons, zoo

INSTEAD = {  # a command of the paper: the same one with what the course adds
    train_command: explore.train_command, vectors_command: zoo.vectors_command}
COMMANDS: tuple = (("course", (  # in the same form as the paper's commands
    ("explore", explore.explore_command, explore.add_explore_options,
     "write a page that runs a trained model, to try it out", """
  aiayn-np explore runs/copy                        # with sequences of the test set
  aiayn-np explore runs/copy "3 1 4" "1 5 9" --out copy.html --title "Copying"
  aiayn-np explore runs/text "Ein kleiner Hund läuft.\""""),
    ("zoo", zoo.zoo_command, zoo.add_zoo_options,
     "plant real bugs one by one, and see which checks catch them", """
  aiayn-np zoo
  aiayn-np zoo 3 7                                  # these two, in detail
  aiayn-np zoo 3 --train                            # what a model learns with this bug"""),
    ("figures", figures.figures_command, figures.add_figures_options,
     "measure the paper's claims and draw what was found", """
  aiayn-np figures variance                         # into figures-here
  aiayn-np figures variance --measure               # its numbers, too
  aiayn-np figures --out gallery                    # all"""),
    ("grade", grade.grade_command, grade.add_grade_options,
     "check a folder of students' answers", """
  aiayn-np grade answers
  aiayn-np grade answers --exercise "layer norm" --csv table.csv"""),
    ("lessons", lessons.lessons_command, lessons.add_lessons_options,
     "write the lessons into a new folder", """
  aiayn-np lessons here
  aiayn-np lessons --zh here                        # in Chinese
  aiayn-np lessons --teacher course                 # with outputs and solutions
  aiayn-np lessons here --pages                     # with pages that run trained models"""),
    ("exercises", lessons.exercises_command, lessons.add_exercises_options,
     "write exercises into a new folder", """
  aiayn-np exercises answers
  aiayn-np exercises --zh answers                   # in Chinese"""),
)),)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    return paper.main(argv, parsed)


def parsed(argv: list[str] | None = None) -> argparse.Namespace:
    """Return the options of a command line with the commands of both packages."""
    options = words.parsed(argv, COMMANDS)
    options.command = INSTEAD.get(options.command, options.command)
    return options


def parser() -> tuple[argparse.ArgumentParser, dict]:
    """Return (the parser of the whole command line, {name: the parser of a command})."""
    return words.parser(COMMANDS)
