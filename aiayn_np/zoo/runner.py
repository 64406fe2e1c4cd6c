"""Run the checks, with a bug planted or without."""

import numpy as np

from .checks import CHECKS, CheckFailed


def failures(names=None):
    """Run checks, all unless some are named: {name of a check that fails: what it found}.

    A layer that raises an error of its own, such as one of shapes, has failed the check as well.
    """
    found = {}
    with np.errstate(all="ignore"):
        for name in CHECKS if names is None else names:
            try:
                CHECKS[name]()
            except CheckFailed as error:
                found[name] = str(error)
            except Exception as error:
                found[name] = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return found


def hunt(bug, names=None):
    """The checks that fail while a bug is planted, in the order in which they run.

    Parameters
    ----------
    bug : Bug
    names : of the checks to run; None runs all of CHECKS

    Returns
    -------
    {name of the check: what it found}; empty if the bug was not caught
    """
    with bug.plant():
        return failures(names)
