"""Solve for a number that a student may have chosen otherwise, such as a fixed eps.

Code of a change may hold `free(start)`: a number that is not known yet.
"""

import ast
import math

import numpy as np

from .comparing import is_numbers, same

STEPS, ROUNDED = 15, (1, 2, 3, 4)  # of Newton's method; digits of a number that is written down
POWERS = np.repeat(10.0 ** np.arange(1, 22), 2) ** np.tile([1, -1], 21)  # 10, 0.1, 100, ...
WHOLE = 0, 1, 2, 3  # whole numbers that are tried, such as an id of padding


class Free:
    """The function `free` of a formula: it returns `number`, or without one its start.

    start : that of the last call
    """

    number = start = None

    def __call__(self, start):
        self.start = start
        return start if self.number is None else self.number


class Filled(ast.NodeTransformer):
    """Write a number in the place of calls of `free`."""

    def __init__(self, number):
        self.number = number

    def visit_Call(self, node):
        self.generic_visit(node)
        return ast.Name(f"{self.number or 0:.6g}") if ast.unparse(node.func) == "free" else node


def filled(code, number):
    """Return code with its free number written down."""
    return ast.unparse(Filled(number).visit(ast.parse(code))) if "free(" in code else code


def solutions(function, start, target, likely=False):
    """Yield ("round" or "other", number) for which `function` may give the target.

    function : takes a number, and returns an array or None
    start : the right number, or a likely one
    likely : whether powers of ten are tried, too, where a little more or less makes no difference
    """
    whole = isinstance(start, int)

    def typed(number):
        return int(number) if whole and float(number).is_integer() else float(number)
    if whole:
        yield from (("round", number) for number in WHOLE)
    ways = (float, float, 1), (np.log, np.exp, 1), (np.log, np.exp, 1e-3)
    for there, back, size in ways if start > 0 else ways[:1]:
        found = newton(lambda x: function(typed(back(x))),             # noqa: B023
                       there(size * start), target)
        if found is not None:
            found = back(found)
            yield from (("round", typed(float(f"{found:.{digits - 1}e}"))) for digits in ROUNDED)
            yield from (("round", constant) for constant in (math.e, math.pi)
                        if abs(found / constant - 1) < 1e-6)
            yield "other", typed(found)
            return
    beside = [function(typed(size * start)) for size in (1, 1.001) if likely]
    if likely and all(map(is_numbers, beside)) and same(*beside):
        yield from (("round", typed(start * power)) for power in (1, *POWERS))
        yield from (("round", sign * float(np.finfo(kind).max)) for sign in (1, -1)
                    for kind in (np.float16, np.float32, np.float64))


def newton(function, x, target):
    """Return x with function(x) = target in least squares, by the method of Newton, or None."""
    where, best, since = np.isfinite(target), np.inf, 0
    target = target[where]
    scale = max(np.abs(target).max(initial=0), 1e-30)

    def off(x):
        y = function(x) if np.isfinite(x) else None
        return None if y is None or not np.isfinite(y[where]).all() else y[where] - target
    for _ in range(STEPS):
        residual = off(x)
        if residual is None:
            return None
        size = np.abs(residual).max(initial=0) / scale
        if size < 0.9 * best:
            best, found, since = size, x, 0
        since += 1
        if size < 1e-15 or since > 1:
            break
        move = max(1e-5 * abs(x), 1e-7)
        beside = off(x + move)
        slope = residual if beside is None else (beside - residual) / move
        if beside is None or not slope.any():
            return None
        x = x - np.linalg.lstsq(slope[:, None], residual)[0][0]
    return found if best < 1e-9 else None
