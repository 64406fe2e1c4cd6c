"""Where commands write: one rule for all of them.

If the user names no file, a command replaces its own file, such as RUN/why.png. A file that the
user names must be new, and must have the right ending. A folder must be new or empty, or hold a
file that the command wrote before. A command with `--force` writes in any case, but never over a
file that it reads. For `export`, `lessons` and `exercises` a folder must be new or empty.
"""

import argparse
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..files import check_replaceable
from .common import UsageError

MODEL = (".npz", ".model", ".csv", ".json", ".safetensors", ".spm")  # files of a model

def new_path(text: str) -> Path:
    """Return the path of an output; an empty text, which means the current folder, is refused."""
    if not text.strip():
        raise UsageError(f"the name of what to write must be a path, got {text!r}")
    return Path(text)


def add_out(parser: argparse.ArgumentParser, flag: str, what: str, **options: Any) -> None:
    """Add the option for the place of the output, and --force; set `writes` for the command."""
    parser.add_argument(flag, type=new_path, help=what, **options)
    parser.add_argument("--force", action="store_true",
                        help="write there although something else is there")
    parser.set_defaults(writes=True)


def check_file(flag: str, path: Path, *endings: str, force: bool = False, own: bool = False,
               inputs: Iterable[Path] = ()) -> None:
    """Refuse a file that exists or has another ending, before the work begins.

    own : whether the command itself chose the path; the file may then exist
    inputs : files that the command reads; none of them is ever replaced

    Raises UsageError, or OSError if nothing can be written there.
    """
    for read in inputs:
        if os.path.realpath(path) == os.path.realpath(read):
            raise UsageError(f"{flag} must be another file than {read}, which is read, got {path}")
    if path.suffix.lower() not in endings and not force:
        raise UsageError(f"{flag} must be a {' or '.join(endings)}, got {path}; --force writes it"
                         " in any case")
    make_writable(path.parent, flag if own else "")
    check_replaceable(path)
    if os.path.lexists(path) and not (own or force):
        raise UsageError(f"{flag} must be a new file, got {path}, which is there already; --force"
                         " replaces it")


def check_folder(folder: Path, *known: str, force: bool = False) -> None:
    """Raise UsageError for a folder that holds files, but none with a `known` name.

    known : names or patterns of files that the command writes
    """
    filled = folder.exists() and any(folder.iterdir())
    if filled and not force and not any(any(folder.glob(name)) for name in known):
        raise UsageError(f"{folder} is there already, and holds something else: choose another"
                         " folder; --force writes into it")


def make_writable(folder: Path, flag: str = "") -> None:
    """Make the folder and try to write in it; an OSError names the folder.

    flag : the option that names another folder, for the message
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):                       # even a kill removes it
            pass
    except OSError as error:
        reason = f"{error.strerror}; {flag} writes elsewhere" if flag else error.strerror
        raise OSError(error.errno, reason, str(folder)) from error


def files_of(folder: Path) -> list[Path]:
    """Return the files in a folder that a model is read from."""
    return [path for path in folder.iterdir() if path.suffix in MODEL]
