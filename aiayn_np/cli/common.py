"""Helpers of all commands, which refuse a request, report, or open a run."""

import contextlib
import difflib
import itertools
import re
import shlex
import shutil
import sys
import textwrap
from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import Any

NARROWEST = 20  # columns; on a narrower terminal, lines are folded for this width


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
    if text != "" and sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(f"{printable(text)}\n", end="", file=sys.stderr, flush=True)


def printable(text: object) -> str:
    """Replace control characters of a terminal in a text: ESC, for example, becomes \\x1b.

    Line feeds and tabs stay.
    """
    return re.sub("[^\n\t -~\xa0-\U0010ffff]", lambda one: repr(one[0])[1:-1], str(text))


def command_line(*words: object) -> str:
    """Return a command to copy into a shell; a path that begins with a dash gets ./ before it."""
    return shlex.join(f"./{word}" if isinstance(word, Path) and str(word).startswith("-")
                      else str(word) for word in words)


def terminal_width() -> int | None:
    """Return the columns of the terminal on stdout, or None if stdout is no terminal."""
    seen = sys.stdout is not None and sys.stdout.isatty()
    return max(shutil.get_terminal_size().columns, NARROWEST) if seen else None


def folded(line: str, width: int) -> list[str]:
    """Break a long line of help. An example can still be copied: its comment moves below it."""
    if len(line) <= width:
        return [line]
    if not line.startswith("  aiayn-np "):
        hang = " " * len(re.findall(r"^ *(?:\S+  +)?", line)[0])
        return textwrap.wrap(re.sub(r",(?=\S)", ", ", line), width, subsequent_indent=hang,
                             break_on_hyphens=False)
    command, _, comment = line.partition("  # ")
    whole = re.sub(r'"[^"]*"', lambda quoted: quoted[0].replace(" ", "\0"), command.strip())
    parts = textwrap.wrap(whole, width - 4, subsequent_indent="  ", break_long_words=False,
                          break_on_hyphens=False)
    lines = " \\\n".join(parts).replace("\0", " ").split("\n")
    remarks = [f"  # {remark}" for remark in textwrap.wrap(comment, width - 6)]
    return [f"  {part}" for part in lines + remarks]


def show(text: object) -> None:
    """Print a text with tables; on a narrow terminal, each row of a table becomes a paragraph."""
    from ..plotting.tracing import paragraph

    lines, head = printable(text).splitlines(), None
    widest = max(map(len, lines))
    columns = terminal_width() or widest
    for line in lines:
        cells = re.split("  +", line.strip())
        if widest <= columns or len(cells) < 3:                        # it is no row of a table
            print(*folded(line, columns), sep="\n")
        elif head is None:
            head = cells
        else:
            print(paragraph(head, cells, columns))


def lines_of_stdin(what):
    """Yield each line of standard input as soon as it arrives.

    The input is UTF-8 in every locale; a ValueError names the first line that is not UTF-8. `what`
    is the name of a line, for the prompt.
    """
    from ..text.pairs import decoded, split

    if sys.stdin is None:
        raise UsageError("standard input must be open where no sequence is given, got it closed")
    if sys.stdin.isatty():
        note(f"one {what} per line, Ctrl-D ends")
    first = split(sys.stdin.buffer.readline())                         # all, without a line feed
    for number, line in enumerate(itertools.chain(first, sys.stdin.buffer), 1):
        yield decoded(line, "standard input", number)


def opened(folder: Path, command: str = "") -> Any:
    """Open the run in a folder, and write its note.

    command : the command that the model must work with, else UsageError; "" for any model
    """
    from ..runs.open import open_run

    run = open_run(folder)
    if command and command not in run.uses:
        raise UsageError(f"{folder} must hold a model for {command}, got one of {run.task.name},"
                         f" which is for aiayn-np {', '.join(run.uses)}")
    note(run.note)
    return run
