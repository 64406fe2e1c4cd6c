"""Time, memory and growth, measured so that they can be compared: in turns, as medians."""

import time
import tracemalloc

import numpy as np


def seconds(functions, repeats=7):
    """Seconds of each function, called in turns: (len(functions), repeats). One call warms up."""
    times = np.zeros((len(functions), repeats))
    for function in functions:
        function()
    for r in range(repeats):
        for i, function in enumerate(functions):
            started = time.perf_counter()
            function()
            times[i, r] = time.perf_counter() - started
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
