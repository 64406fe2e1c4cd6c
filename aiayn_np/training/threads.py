"""Set the number of threads that BLAS uses while a model is trained.

A matrix product on two threads ends when the slower one ends, and the second thread waits for the
next product in a loop that keeps its processor busy. Where another program wants that processor,
both lose most of their time. So training uses one thread unless the user sets more.
docs/scaling.md says when more threads help. Training on one thread also gives the same numbers, to
the last bit, on machines with another number of processors.
"""

import contextlib
import functools
import os
from typing import Any

VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def blas_threads(threads: int | None = None) -> contextlib.AbstractContextManager:
    """Return a context that limits BLAS to `threads` threads; it never raises a lower limit.

    None takes the limit from the first of VARIABLES that is set, else 1. Without threadpoolctl,
    None leaves BLAS as it is.
    """
    try:
        blas = libraries()
    except ImportError:
        if threads is None:
            return contextlib.nullcontext()
        raise
    allowed = [library.num_threads for library in blas.lib_controllers]
    n = user_threads() if threads is None else threads
    return blas.limit(limits=min([n, *allowed]))


@functools.cache
def libraries() -> Any:
    """Return the libraries of BLAS that this program has loaded."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def user_threads() -> int:
    """Return the number of threads that the user's environment sets; else 1."""
    for name in VARIABLES:
        value = os.environ.get(name, "").split(",")[0].strip()
        if value.isdecimal() and int(value):
            return int(value)
    return 1
