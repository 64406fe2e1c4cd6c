"""The start of the command line. The commands and their options stand in parser.py.

Results go to stdout, progress to stderr. The exit code is 0 for success, 1 for a failure on the way
(a loss that is not finite, a gradient that does not agree, an interruption), and 2 for a wrong
request.
"""

import argparse
import contextlib
import errno
import os
import sys
import time
import warnings

from ..checks import one_line
from ..files import NO_ROOM, CheckpointError, reason_of
from ..training.ranks import end_all_ranks, may_speak, this_rank
from .common import UsageError, note
from .figures import figures_command
from .grade import grade_command
from .parser import parsed
from .train import train_command

LONGEST = 2000  # characters of a message
WRITERS = (train_command, grade_command, figures_command)  # they print before all is written


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    try:
        open_what_is_closed()
    except OSError as error:
        return fail(error, 2)
    use_utf_8()
    with warnings.catch_warnings():
        warnings.showwarning = as_note
        return run(argv)


def as_note(message, *_):
    """A warning of the library in one line."""
    note(f"note: {message}")


def run(argv):
    """Parse the options and call the command; an error becomes one line and an exit code."""
    args = argparse.Namespace(command=None)
    try:
        args = parsed(argv)
        code = args.command(args)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read stdout has seen enough, as in `aiayn-np check | head`
        end_output()
        if args.command in WRITERS or getattr(args, "train", False):   # of `zoo`
            return fail("stopped: whoever read the output has left; what is written is whole", 1)
        return 0
    except OSError as error:
        end_output()
        return fail(error, 1 if error.errno in NO_ROOM else 2)
    except (UsageError, CheckpointError, ValueError, TypeError, IndexError, OverflowError,
            ImportError, RecursionError) as error:
        return fail(error, 2)
    except FloatingPointError as error:
        return fail(error, 1)
    except MemoryError as error:
        return fail(f"not enough memory: {error}", 1)
    except KeyboardInterrupt:
        return fail("interrupted", 1)


def open_what_is_closed():
    """A closed stdin is empty, and a closed stderr takes nothing. A closed stdout is an OSError."""
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    for name in closed:                                                # else a file gets its number
        stream = open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8")  # noqa: SIM115
        setattr(sys, name, stream)
    if "stdout" in closed:
        raise OSError(errno.EBADF, "it is closed; redirect it, as with > results.txt")


def use_utf_8():
    """Write UTF-8 whatever the locale is, to terminals, pipes and files alike."""
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if hasattr(stream, "reconfigure"):                             # not in a notebook
            stream.reconfigure(encoding="utf-8", errors=errors)


def end_output():
    """Stop writing to a stream that cannot be written to, so that closing it does not try again."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with open(os.devnull, "wb") as nothing:
                os.dup2(nothing.fileno(), stream.fileno())


def fail(error, code):
    """Write one line to stderr, and return the exit code; in an MPI program, end all ranks."""
    rank, kind = this_rank(), "" if isinstance(error, str) else f"{type(error).__name__}: "
    text = one_line(reason_of(error))
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"
    who = f"{rank}: {kind}" if rank else ""
    if rank and not may_speak():
        time.sleep(1)              # if the first rank has found the same, it tells, and ends all
    with contextlib.suppress(OSError):
        print(f"aiayn-np: error: {who}{text}", file=sys.stderr, flush=True)
    end_all_ranks(code)
    return code
