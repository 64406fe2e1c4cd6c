"""Helpers of all commands: refusing a request, reporting, checking where to write."""

import errno
import os
import sys
import tempfile
from pathlib import Path

from ..files import followed, new_folder

DIGITS = 40  # of a number in an option; a seed may be one of 128 bits


class UsageError(Exception):
    """A request that cannot be carried out; the program ends with exit code 2."""


def integer(text):
    """The type of options that are integers: of at most 40 digits, else UsageError."""
    if len(text) > DIGITS:
        raise UsageError(f"integers must have at most {DIGITS} digits, got {len(text)}:"
                         f" {text[:10]}...")
    return int(text)


integer.__name__ = "int"  # argparse says it for what is no integer


def new_path(text):
    """The type of paths to write to. "" would be the current folder: UsageError."""
    if not text.strip():
        raise UsageError(f"the name of what to write must be a path, got {text!r}")
    return Path(text)


def note(text):
    """Write a line of progress to stderr, whole: several processes may write there."""
    print(f"{text}\n", end="", file=sys.stderr, flush=True)


def lines_of_stdin(what):
    """Yield each line of standard input as soon as it is there; `what` a line is, for a prompt.

    It is UTF-8 whatever the locale says. ValueError names the line that is not.
    """
    from ..text.pairs import MARK, decoded

    if sys.stdin.isatty():
        note(f"one {what} per line, Ctrl-D ends")
    for number, line in enumerate(sys.stdin.buffer, 1):
        yield decoded(line.removeprefix(MARK) if number == 1 else line, "standard input", number)


def opened(folder):
    """Open the run in a folder; before a large one is loaded, say what it will need."""
    from ..runs.open import announcement, open_run

    tell(announcement(folder))
    run = open_run(folder)
    tell(run.note)
    return run


def unused(path):
    """A folder of that name that appears when it is complete; UsageError where one is there."""
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise UsageError(f"{path} is there already: choose another name")
    if os.path.realpath(path) == os.getcwd():
        raise UsageError(f"{path} is the folder that you are in: choose the name of a new one")
    return new_folder(path)


def tell(line):
    """A line of progress, if there is one: small models need none."""
    if line:
        note(line)


def make_writable(folder):
    """Make the folder and try to write in it; an OSError names the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryFile(dir=folder):                       # a kill removes it too
            pass
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(folder)) from error


def make_writable_file(flag, path):
    """Make the folder of a file and try to write in it; UsageError if the path is a folder.

    A device or a FIFO is not tried: it is written into, and not replaced.
    """
    if path.is_dir():
        raise UsageError(f"{flag} must be a file, got the folder {path}")
    if path.exists() and not path.is_file():
        return
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    make_writable(followed(path).parent)
