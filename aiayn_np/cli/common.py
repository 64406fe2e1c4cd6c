"""Helpers of all commands, which refuse a request, report, or open a run."""

import contextlib
import difflib
import itertools
import re
import shlex
import sys
from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..plotting.fonts import in_utf_8

NEEDS = dict(  # command -> methods of a model with its task; it needs one
    decode="lines", generate="written filled", perplexity="surprise", attend="drawings",
    why="explained", trace="example", export="lines")


class UsageError(Exception):
    """The error for a request that cannot be carried out; the exit code is 2."""


def nearest(word: str, names: Iterable[str]) -> str:
    """Return the nearest name to an unknown word, as the end of a message; "" for no near name."""
    close = difflib.get_close_matches(word, names, 1)
    return f"; did you mean {close[0]}?" if close else ""


def add_run(parser: ArgumentParser, what: str = "folder that `train` wrote") -> None:
    """Add the folder of the run that a command works on."""
    parser.add_argument("run", type=Path, help=what)


def note(text: object) -> None:
    """Write a whole line to stderr at once, for several processes may write there.

    An empty text writes nothing. A closed or full stderr stops no command.
    """
    if text != "":
        with contextlib.suppress(OSError):
            print(f"{printable(text)}\n", end="", file=sys.stderr, flush=True)


def printable(text: object) -> str:
    """Replace control characters of a terminal in a text: ESC, for example, becomes \\x1b.

    Line feeds and tabs stay.
    """
    return re.sub("[^\n\t -~\xa0-\U0010ffff]", lambda one: repr(one[0])[1:-1], in_utf_8(str(text)))


def command_line(*words: object) -> str:
    """Return a command to copy into a shell; a path that begins with a dash gets ./ before it."""
    return shlex.join(f"./{word}" if isinstance(word, Path) and str(word).startswith("-")
                      else str(word) for word in words)


def lines_of_stdin():
    """Yield each line of standard input, a sequence, as soon as it arrives.

    The input is UTF-8 in every locale; a ValueError names the first line that is not UTF-8.
    """
    from ..text.pairs import decoded, split

    if sys.stdin is None:
        raise UsageError("standard input must be open where no sequence is given, got it closed")
    if sys.stdin.isatty():
        note("one sequence per line, Ctrl-D ends")
    first = split(sys.stdin.buffer.readline())                         # all, without a line feed
    for number, line in enumerate(itertools.chain(first, sys.stdin.buffer), 1):
        yield decoded(line, "standard input", number)


def opened(folder: Path) -> Any:
    """Open the model in a folder, of a run or a real one, and write its note."""
    from ..runs.open import open_run

    loaded = open_run(folder)
    note(loaded.note)
    return loaded


def loaded_for(command: str, folder: Path) -> Any:
    """Return the model in a folder with its task; UsageError if the command needs another model."""
    loaded = opened(folder)
    works = [name for name, methods in NEEDS.items()
             if any(getattr(type(loaded), method, None) for method in methods.split())]
    if command not in works:
        raise UsageError(f"{folder} must hold a model for {command}, got one of"
                         f" {loaded.task.name}, which is for aiayn-np {', '.join(works)}")
    return loaded
