"""Time, memory and growth, measured so that they can be compared: in turns, as medians."""

import os
import time
import tracemalloc

import numpy as np

# The processor's time for this program where its clock is fine enough: other programs do not count.
STEADY = time.thread_time if os.name == "posix" else time.perf_counter


def seconds(functions, repeats=7, clock=time.perf_counter):
    """Seconds of each function, called in turns: (len(functions), repeats). One call warms up.

    clock : perf_counter, what passes for us, or STEADY
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


def peak_bytes(function):
    """The most bytes that a call of the function held at once, beyond what was there before."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        function()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def exponent(x, y):
    """b of the power law y = a x^b that fits best: the slope on two logarithmic axes."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
