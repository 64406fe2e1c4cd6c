"""The start of the command line. The commands and their options stand in parser.py.

Results go to stdout, progress to stderr. The exit code is 0 for success, 1 for a failure on the way
(a loss that is not finite, a gradient that does not agree, an interruption, a fault of the
program), and 2 for a wrong request. AIAYN_DEBUG=1 shows the traceback of every error.
"""

import os
import re
import sys
import traceback
import warnings
from argparse import Namespace
from collections.abc import Callable

from ..checks import one_line
from ..files import NO_ROOM, ChangedError, CheckpointError, reason_of
from ..plotting.figures import command_style
from ..training.ranks import end_all_ranks, this_rank
from .common import UsageError, note
from .options import flag_of
from .parser import parsed


def main(argv: list[str] | None = None, parsed: Callable = parsed) -> int:
    """Run the command line; return the exit code.

    parsed : function that turns words into options; the course's function knows more commands
    """
    use_utf_8()
    command_style()
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: note(f"note: {message}")
        return run(argv, parsed)


def run(argv, parsed):
    """Parse the options and call the command; an error becomes one line and an exit code."""
    args = Namespace(writes=False)
    try:
        args = parsed(argv)
        code = args.command(args)
        print(end="", flush=True)
        return code
    except BrokenPipeError as error:
        end_output()
        return fail(error, 1) if args.writes else 0                    # `check | head` is no error
    except OSError as error:
        end_output()
        return fail(error, 1 if error.errno in NO_ROOM else 2)
    except (UsageError, CheckpointError, ValueError, ImportError) as error:
        return fail(error, 2, with_flags(error, args))
    except (FloatingPointError, ChangedError) as error:
        return fail(error, 1)
    except MemoryError as error:
        return fail(f"not enough memory: {one_line(error) or 'none is left'}", 1)
    except KeyboardInterrupt as error:
        return fail(one_line(error) or "interrupted", 1)
    except Exception as error:                     # a fault of the program, not of the request
        return fail(f"{type(error).__name__}: {one_line(error)}; AIAYN_DEBUG=1 shows where", 1)


def with_flags(error, args):
    """Return the text of a ValueError with flags for the names of numbers, or None."""
    if not isinstance(error, ValueError):
        return None
    numbers = {name for name, value in vars(args).items() if not isinstance(value, str)}
    return re.sub(r"^\w+(?= must )|\b\w+(?==)", lambda name: flag_of(name[0])
                  if name[0] in numbers else name[0], str(error))


def use_utf_8():
    """Write UTF-8 to terminals, pipes and files, in every locale, and nowhere if it is closed."""
    sys.stdout = sys.stdout or open(os.devnull, "w")                   # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")                   # noqa: SIM115
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if hasattr(stream, "reconfigure"):                             # not in a notebook
            stream.reconfigure(encoding="utf-8", errors=errors)


def end_output():
    """Point stdout or stderr to nowhere if it cannot be written to, so that it closes quietly."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with open(os.devnull, "wb") as nothing:
                os.dup2(nothing.fileno(), stream.fileno())


def fail(error, code, said=None):
    """Write one line on the error, and return the exit code; in an MPI program, end all ranks."""
    if os.environ.get("AIAYN_DEBUG") == "1":
        note(traceback.format_exc().rstrip())
    rank, kind = this_rank(), "" if isinstance(error, str) else f"{type(error).__name__}: "
    who = f"{rank}: {kind}" if rank else ""
    note(f"aiayn-np: error: {who}{one_line(said or reason_of(error))}")
    end_all_ranks(code)
    return code
