"""Helpers of all commands: refusing a request, reporting, opening a run."""

import contextlib
import difflib
import sys
from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import Any


class UsageError(Exception):
    """A request that cannot be carried out; the program ends with exit code 2."""


def nearest(word: str, names: Iterable[str]) -> str:
    """Return the end of a message about an unknown word: the name nearest to it, or ""."""
    close = difflib.get_close_matches(word, names, 1)
    return f"; did you mean {close[0]}?" if close else ""


def add_run(parser: ArgumentParser, what: str = "folder that `train` wrote") -> None:
    """Add the folder of the run that a command works on."""
    parser.add_argument("run", type=Path, help=what)


def note(text: object) -> None:
    """Write a line to stderr, whole, as several processes may write there; nothing for "".

    Where stderr is closed or full, the work goes on without it.
    """
    if text != "" and sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(f"{text}\n", end="", file=sys.stderr, flush=True)


def lines_of_stdin(what):
    """Yield each line of standard input as soon as it is there; `what` a line is, for a prompt.

    It is UTF-8 whatever the locale says. ValueError names the line that is not.
    """
    from ..text.pairs import MARK, decoded

    if sys.stdin is None:
        raise UsageError("standard input must be open where no sequence is given, got it closed")
    if sys.stdin.isatty():
        note(f"one {what} per line, Ctrl-D ends")
    for number, line in enumerate(sys.stdin.buffer, 1):
        yield decoded(line.removeprefix(MARK) if number == 1 else line, "standard input", number)


def opened(folder: Path, command: str = "") -> Any:
    """Open the run in a folder, and say what its user must know.

    command : what its model must be for, unless all models are; UsageError if it is not
    """
    from ..runs.open import open_run

    run = open_run(folder)
    if command and command not in run.uses:
        raise UsageError(f"{folder} must hold a model for {command}, got one of {run.task.name},"
                         f" which is for aiayn-np {', '.join(run.uses)}")
    note(run.note)
    return run
