"""Solve for numbers that a student may have chosen otherwise, such as a fixed eps.

Code of a change may hold `free(start)` or `free(start, name)`: a number that is not known yet.
"""

import ast
import math

import numpy as np

from .comparing import is_numbers, same

STEPS, ROUNDED = 15, (1, 2, 3, 4)  # of Newton's method; digits of a number that is written down
POWERS = np.repeat(10.0 ** np.arange(1, 22), 2) ** np.tile([1, -1], 21)  # 10, 0.1, 100, ...
WHOLE = 0, 1, 2, 3  # whole numbers that are tried, such as an id of padding


class Free:
    """The function `free` of a formula: it returns `numbers[name]`, or without one its start.

    starts : {name: start} of the last run
    """

    def __init__(self):
        self.numbers, self.starts = {}, {}

    def __call__(self, start, name="it"):
        self.starts[name] = start
        return self.numbers.get(name, start)


class Filled(ast.NodeTransformer):
    """Write numbers in the place of calls of `free`."""

    def __init__(self, numbers):
        self.numbers = numbers

    def visit_Call(self, node):
        self.generic_visit(node)
        if ast.unparse(node.func) != "free":
            return node
        name = node.args[1].value if len(node.args) > 1 else "it"
        return ast.Name(f"{self.numbers.get(name, 0):.6g}")


def filled(code, numbers):
    """Return code with its free numbers written down."""
    return ast.unparse(Filled(numbers).visit(ast.parse(code))) if "free(" in code else code


def solutions(function, starts, target, likely=False):
    """Yield ("round" or "other", numbers) for which `function` may give the target.

    function : takes an array of numbers, and returns an array or None
    starts : the right numbers, or likely ones
    likely : whether powers of ten are tried, too, where a little more or less makes no difference
    """
    whole = [isinstance(start, (int, np.integer)) for start in starts]

    def typed(numbers):
        return [int(n) if w and float(n).is_integer() else float(n) for n, w in zip(numbers, whole)]
    if whole == [True]:
        yield from (("round", [n]) for n in WHOLE)
    starts = np.array(starts, dtype=float)
    ways = (np.array, np.array, 1), (np.log, np.exp, 1), (np.log, np.exp, 1e-3)
    for there, back, size in ways if (starts > 0).all() else ways[:1]:
        found = newton(lambda x: function(typed(back(x))),             # noqa: B023
                       there(size * starts), target)
        found = None if found is None else back(found)
        if found is not None:
            for digits in ROUNDED:
                yield "round", typed(float(f"{n:.{digits - 1}e}") for n in found)
            yield from (("round", [constant]) for constant in (math.e, math.pi)
                        if len(found) == 1 and abs(found[0] / constant - 1) < 1e-6)
            yield "other", typed(found)
            return
    beside = [function(typed(size * starts)) for size in (1, 1.001) if likely]
    if likely and all(map(is_numbers, beside)) and same(*beside):
        yield from (("round", typed(starts * power)) for power in (1, *POWERS))
        yield from (("round", [sign * float(np.finfo(kind).max)]) for sign in (1, -1)
                    for kind in (np.float16, np.float32, np.float64))


def newton(function, x, target):
    """Return x with function(x) = target, by the method of Gauss and Newton, or None."""
    where, best, since = np.isfinite(target), np.inf, 0
    target = target[where]
    scale = max(np.abs(target).max(initial=0), 1e-30)

    def off(x):
        y = function(x) if np.isfinite(x).all() else None
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
        moves = np.maximum(1e-5 * np.abs(x), 1e-7) * np.eye(len(x))
        beside = [off(x + move) for move in moves]
        if any(b is None for b in beside):
            return None
        jacobian = np.stack([(b - residual) / h for b, h in zip(beside, moves.diagonal())], axis=1)
        if not jacobian.any():
            return None
        x = x - np.linalg.lstsq(jacobian, residual)[0]
    return found if best < 1e-9 else None
