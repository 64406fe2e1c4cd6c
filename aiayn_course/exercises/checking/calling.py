"""Call the student's code, and turn an error into a Stop with the student's own line."""

import contextlib
import copy
import signal
import threading
import warnings

import numpy as np

from ..language import say
from .comparing import digest_of
from .errors import stop_of
from .stop import OWN_ARRAY, Stop

SECONDS = 10  # of the processor, for one call of the student's code
NANS = [np.full(n, np.nan) for n in range(1, 129) for _ in range(2)]


def call(what, function, *args, case="", **options):
    """Call a student's function without warnings, and turn any error into a Stop."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(), limited(what):
            warnings.simplefilter("ignore")
            return function(*args, **options)
    except (Stop, KeyboardInterrupt):
        raise
    except NotImplementedError as error:
        raise Stop("not written yet", say("{what} is not written yet.", what=what)) from error
    except BaseException as error:                                     # also a SystemExit
        raise stop_of(error, what, case) from error


@contextlib.contextmanager
def limited(what):
    """Raise a Stop if the `with` block computes for more than SECONDS.

    It needs signals of the processor's time, and so the main thread and no Windows.
    """
    def end(*_):
        raise Stop("endless", say("{what} does not end: it was stopped after {seconds} seconds."
                                  " Look at the condition of its loop.", what=what,
                                  seconds=SECONDS))
    is_main = threading.current_thread() is threading.main_thread()
    if not hasattr(signal, "SIGPROF") or not is_main:
        yield
        return
    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def forget():
    """Fill freed memory with nan, so that np.empty is not right by chance."""
    [x.copy() for x in NANS]


def copied(thing):
    """Copy arrays and generators, also those in a tuple or dict; return all else as it is.

    The copies of arrays are read-only, so that NumPy stops in the line that writes into one.
    """
    if isinstance(thing, np.ndarray):
        thing = thing.copy("K")                                        # as it lies in the memory
        thing.flags.writeable = False
        return thing
    if isinstance(thing, tuple):
        return tuple(map(copied, thing))
    if isinstance(thing, np.random.Generator):
        return copy.deepcopy(thing)
    return {k: copied(v) for k, v in thing.items()} if isinstance(thing, dict) else thing


def must_be_unchanged(what, names, before, after):
    """Raise a Stop if an array in `after` differs from its copy in `before`."""
    for name, old, new in zip(names, before, after):
        if isinstance(old, np.ndarray) and digest_of(old) != digest_of(new):
            raise Stop("changed in place", say("{what} changes {name}, which it was given, in"
                       " place. {why}", what=what, name=name, why=say(OWN_ARRAY)))
