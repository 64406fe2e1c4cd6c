"""Time, memory and growth, measured so that they can be compared."""

import os
import time
import tracemalloc
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

# The processor's time for this program, if its clock is fine enough: other programs do not count.
STEADY = time.thread_time if os.name == "posix" else time.perf_counter


def seconds(functions: Sequence[Callable[[], object]], repeats: int = 7,
            clock: Callable[[], float] = time.perf_counter) -> np.ndarray:
    """Seconds of each function, (len(functions), repeats). They take turns; one call warms up.

    clock : perf_counter (time that passes) or STEADY (time of the processor)
    """
    times = np.zeros((len(functions), repeats))
    for function in functions:
        function()
    for r in range(repeats):
        for i, function in enumerate(functions):
            started = clock()
            function()
            times[i, r] = clock() - started
    return times


def peak_bytes(function: Callable[[], object]) -> int:
    """The most bytes that a call of the function held at once, beyond those held before."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        function()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def exponent(x: ArrayLike, y: ArrayLike) -> float:
    """The exponent b of the power law y = a x^b that fits best: the slope on logarithmic axes."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
