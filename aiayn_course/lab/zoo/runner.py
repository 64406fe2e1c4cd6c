"""Run the checks, with or without a planted bug."""

from collections.abc import Iterable

import numpy as np

from aiayn_np.checks import one_line

from .bug import Bug
from .checks.registry import CHECKS


def failures(names: Iterable[str] | None = None) -> dict[str, str]:
    """Run all checks, or the named ones; return {name of a failing check: its finding}.

    A check also fails if a layer raises another error, such as an error of shapes.
    """
    found = {}
    with np.errstate(all="ignore"):
        for name in CHECKS if names is None else names:
            try:
                CHECKS[name]()
            except AssertionError as error:
                found[name] = str(error)
            except Exception as error:
                found[name] = f"{type(error).__name__}: {one_line(error)}"
    return found


def hunt(bug: Bug, names: Iterable[str] | None = None) -> dict[str, str]:
    """Plant a bug and return the `failures`; {} if no check catches the bug."""
    with bug.plant():
        return failures(names)
