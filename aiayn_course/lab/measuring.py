"""Comparable measurements of time, memory and growth."""

import os
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from aiayn_np.module import Module
from aiayn_np.plotting.figures import COLORS, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The processor's time for this program, if the clock is fine enough: it ignores other programs.
STEADY = time.thread_time if os.name == "posix" else time.perf_counter


def seconds(functions: Sequence[Callable[[], object]], repeats: int = 7,
            clock: Callable[[], float] = time.perf_counter) -> np.ndarray:
    """Return the seconds of each function, (functions, repeats), in turns; one call warms up.

    clock : perf_counter (elapsed time) or STEADY (processor time)
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


def step_of(layer: Module, inputs: Sequence[np.ndarray], grad: np.ndarray) -> Callable[[], None]:
    """Return one function without arguments that runs forward and backward of a layer."""
    def step():
        _, cache = layer.forward(*inputs)
        layer.backward(grad, cache)
    return step


def time_ratios(steps: Sequence[Callable[[], object]], base: int, repeats: int) -> np.ndarray:
    """Return the quartiles of each step's time over the median of step `base`: (3, steps)."""
    times = seconds(steps, repeats, STEADY)
    return np.quantile(times, (0.25, 0.5, 0.75), axis=1) / np.median(times[base])


def draw_quartiles(ax: "Axes", x: np.ndarray, quartiles: np.ndarray, label: str,
                   style: int) -> None:
    """Draw medians over x with bars from the lower to the upper quartile."""
    bars = np.abs(quartiles[[0, 2]] - quartiles[1])
    ax.errorbar(x, quartiles[1], bars, color=COLORS[style], marker=MARKERS[style], capsize=3,
                label=f"{label} (bars: quartiles)")


def peak_bytes(function: Callable[[], object]) -> int:
    """Return the peak memory of a call of the function, minus the memory before, in bytes."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        function()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def exponent(x: ArrayLike, y: ArrayLike) -> float:
    """Return the exponent b of the best power law y = a x^b: a slope on logarithmic axes."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
