"""Read what a statement of the student that fails shows itself: its values and its syntax tree.

A Failure holds an error and its line. The functions below it are the tests of the table in
`errors`: each tells whether a Failure is of one kind, and some return the values to name.
"""

import ast
import inspect
import linecache
import textwrap
import traceback
from typing import Any

import numpy as np

import aiayn_course
import aiayn_np
from aiayn_np.module import Cache, Module, Parameter

from ..language import listed, say
from .operands import is_pure, parts, statement_at, value_of
from .stop import describe

FOLDERS = tuple(package.__path__[0] for package in (aiayn_np, aiayn_course, np))
NOT_STUDENTS = *FOLDERS, "<__array_function__", "<frozen"
PYTORCH = {  # names of PyTorch, and what NumPy has
    "dim": "axis", "keepdim": "keepdims", "view": "reshape", "permute": "transpose",
    "unsqueeze": "x[..., None]", "size": "shape", "masked_fill": "np.where", "clamp": "np.clip",
    "contiguous": "np.ascontiguousarray", "expand": "np.broadcast_to", "cat": "np.concatenate",
    "numel": "size", "t": ".T", "float": "astype(np.float64)", "bmm": "@",
}


class Failure:
    """An error of the student's code, and the statement in which it came.

    node : the expression that fails, or None
    found : [(code, value)] of what stands around the operation that failed
    """

    def __init__(self, error, what):
        self.error, self.what, self.text = error, what, describe(error).rstrip(".")
        self.frames = student_frames(error)
        inner: tuple[Any, int] = self.frames[-1] if self.frames else (None, 0)
        self.frame, self.number = inner
        self.last, _ = [*traceback.walk_tb(error.__traceback__)][-1]
        self.statement: Any = None
        self.node: Any = None
        self.found = list[tuple[str, Any]]()
        if self.frames:
            self.statement = statement_at(self.frame.f_code.co_filename, self.number)
            self.node, self.found = parts(self.statement, self.frame, self.last)
        self.code = code_of(inner) if self.frames else ""
        self.arrays = [x for _, x in self.found if isinstance(x, np.ndarray)]
        self.shapes = [x.shape for x in self.arrays[:2]]
        self.nodes = [*ast.walk(self.statement or ast.Pass())]
        self.calls = [node for node in self.nodes if isinstance(node, ast.Call)]

    @property
    def is_backward(self):
        return ".backward(" in self.code

    @property
    def in_ours(self):
        """Tell whether it is the library that raises the error."""
        return self.last.f_code.co_filename.startswith(FOLDERS[:2]) and bool(self.frames)

    @property
    def function(self):
        """Return the name of the function whose call fails, without what stands before a dot."""
        return name_of(self.node.func) if isinstance(self.node, ast.Call) else ""

    @property
    def operator(self):
        """Return the type of the operator that fails, or that of None."""
        return type(getattr(self.node, "op", None))

    @property
    def is_product(self):
        """Tell whether a matrix product of two arrays fails."""
        return len(self.arrays) == 2 and (
            self.function in ("dot", "matmul") or self.operator is ast.MatMult)

    @property
    def is_broadcast(self):
        """Tell whether two arrays stand side by side whose shapes do not fit."""
        if self.is_product or self.in_ours or not isinstance(self.error, ValueError):
            return False
        if len(self.shapes) < 2:
            return isinstance(self.node, ast.BinOp) or "broadcast" in self.text
        try:
            whole = np.broadcast_shapes(*self.shapes)
        except ValueError:
            return True
        return isinstance(self.statement, ast.AugAssign) and whole != self.shapes[0]

    @property
    def target(self):
        """Return the name that the line gives what it computes, or "" for what is returned."""
        if not self.what.endswith(self.frame.f_code.co_name if self.frame else "?"):
            return None                                                # what a helper returns
        targets = getattr(self.statement, "targets", [getattr(self.statement, "target", None)])
        return ast.unparse(targets[0]).removeprefix("self.") if targets[0] else ""

    @property
    def place(self):
        """Return the number of the thing that fails among those that a line returns."""
        things = getattr(getattr(self.statement, "value", None), "elts", [])
        return next((i for i, thing in enumerate(things) if self.node in ast.walk(thing)), 0)

    @property
    def scope(self):
        """Return {code: array} of all that a line could use: variables, caches and parameters."""
        found = {}
        for name, value in (self.frame.f_locals if self.frame else {}).items():
            if isinstance(value, np.ndarray):
                found[name] = value
            for key, x in vars(value).items() if hasattr(value, "__dict__") else ():
                if isinstance(x, Parameter):
                    found[f"{name}.{key}.value"] = x.value
                elif isinstance(x, np.ndarray) and not isinstance(value, Module):
                    found[f"{name}.{key}"] = x
        return found

    def value(self, node):
        """Return the value of an expression that can be computed again, or None."""
        is_whole = isinstance(node, ast.expr) and is_pure(node, self.frame)
        return value_of(node, self.frame) if is_whole else None


def student_frames(error):
    """Return [(frame, line)] of an error in the student's own code, the innermost last."""
    return [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)
            if not frame.f_code.co_filename.startswith(NOT_STUDENTS)]


def line_of(error):
    """Return the student's line that raised an error, as " in line 7, `y = x @ W`,"."""
    frames = student_frames(error)
    if not frames:
        return ""
    number, code = frames[-1][1], code_of(frames[-1])
    return say(" in line {number}, `{code}`," if code else " in line {number}", number=number,
               code=code)


def code_of(place):
    """Return the line of code at a (frame, line), in at most 60 columns."""
    frame, number = place
    return textwrap.shorten(linecache.getline(frame.f_code.co_filename, number), 60,
                            placeholder=" …")


def where_of(failure, case):
    """Return a sentence on the student's line that stops, and on the line that calls it."""
    of_shapes = len(failure.found) > 1 and not failure.function and isinstance(
        failure.error, (ValueError, IndexError))
    error = type(failure.error).__name__ if of_shapes else failure.text.partition(". ")[0]
    where = say("{what} stops{line} with {error} ({case})." if case else
                "{what} stops{line} with {error}.", what=failure.what, error=error.rstrip("."),
                line=line_of(failure.error), case=say(case))
    frames = failure.frames
    if len(frames) > 1 and frames[-2][1] != frames[-1][1]:             # no generator of the line
        where += say(" Line {number} calls it: `{code}`.", number=frames[-2][1],
                     code=code_of(frames[-2]))
    return where


def name_of(node):
    """Return the last name of what is called, such as sum for x.sum."""
    return ast.unparse(node).rpartition(".")[2]


def pytorch(failure):
    """Name what is called as in PyTorch, and what NumPy has in its place."""
    for node in failure.nodes:
        name = getattr(node, "arg", getattr(node, "attr", ""))
        owner = failure.value(getattr(node, "value", None))
        if name in PYTORCH and (isinstance(node, ast.keyword) == (name in ("dim", "keepdim"))) and (
                isinstance(node, ast.keyword) or isinstance(owner, np.ndarray) or owner is np):
            return dict(name=name, other=PYTORCH[name])
    swaps = any(name_of(node.func) == "transpose" and len(node.args) == 2
                and ast.unparse(node.func) != "np.transpose" for node in failure.calls)
    return dict(name="transpose", other="swapaxes") if swaps else None


def by_name_alone(failure):
    """Name the arguments that a call must be given by name."""
    for node in failure.calls if isinstance(failure.error, TypeError) else ():
        function = failure.value(node.func)
        if inspect.ismethod(function) or inspect.isfunction(function):
            some = inspect.signature(function).parameters
            named = [name for name, p in some.items() if p.kind == p.KEYWORD_ONLY]
            if named and len(node.args) > len(some) - len(named):
                return dict(function=f"`{ast.unparse(node.func)}`", names=listed([
                    f"`{name}`" for name in named]), example=f"`{named[0]}={named[0]}`")
    return None


def two_for_one(failure):
    """Name max or min if it is given two arrays."""
    node, name = failure.node, failure.function.removeprefix("a")
    if name not in ("max", "min") or any(k.arg == "axis" for k in node.keywords):
        return None
    several = len(node.args) > 1 or isinstance(node.args[0], (ast.List, ast.Tuple))
    return dict(name=name) if several else None


def stands_here(*types):
    """Return a test whether something of some types stands in the place of an array.

    A shape is no mistake, nor is a cache that a backward is given.
    """
    def test(failure):
        if is_unpacking(failure) or isinstance(failure.error, KeyError):
            return False
        values = [x for _, x in failure.found if not is_shape(x) and not (
            failure.is_backward and isinstance(x, (Cache, tuple, dict)))]
        return any(isinstance(x, types) for x in values) or (Parameter in types and any(
            x.dtype == object for x in failure.arrays))                # np.zeros_like(p)
    return test


def is_shape(value):
    return isinstance(value, tuple) and all(isinstance(n, int) for n in value)


def cache_of_another(failure):
    """Tell whether a backward stops that is given an array, or a cache that is not its own."""
    if isinstance(failure.error, AttributeError):
        return failure.is_backward and isinstance(failure.error.obj, np.ndarray)
    in_part = len(failure.frames) > 1 and failure.frame.f_code.co_name == "backward"
    return in_part and any(isinstance(x, (Cache, tuple, dict)) and not is_shape(x)
                           for _, x in failure.found)


def is_not_unpacked(failure):
    """Tell whether a tuple stands in the place of an array, or is unpacked into too many names."""
    given = failure.node.args[:1] if failure.is_backward and failure.function else ()
    return is_unpacking(failure) or stands_here(tuple)(failure) or any(
        isinstance(failure.value(node), tuple) for node in given)


def not_kept(failure):
    """Name what a cache or a layer does not have."""
    error = failure.error
    if isinstance(error, KeyError) and error.args:
        return dict(name=error.args[0])
    owner = getattr(error, "obj", None)
    of_an_array = isinstance(owner, tuple) and hasattr(np.ndarray, error.name)
    if owner is None or isinstance(owner, Parameter) or of_an_array:
        return None
    return dict(name=error.name)


def none(failure):
    """Tell whether None stands where something else is needed."""
    if isinstance(failure.error, AttributeError):
        return failure.error.obj is None and bool(failure.error.name)
    values = [x for _, x in failure.found] + [
        failure.value(k.value) for node in failure.calls for k in node.keywords]
    return isinstance(failure.error, TypeError) and any(
        x is None or (isinstance(x, np.ndarray) and x.dtype.kind == "O") for x in values)


def truth(failure):
    """Tell whether an array is asked for one truth value."""
    asked = []
    for node in failure.nodes if isinstance(failure.error, ValueError) else ():
        asked += [getattr(node, "test", None), getattr(node, "operand", None)]
        asked += getattr(node, "values", [])
        asked += node.args if isinstance(node, ast.Call) and name_of(node.func) == "bool" else []
    return any(isinstance(x, np.ndarray) and x.size > 1 for x in map(failure.value, asked))


def is_unpacking(failure):
    """Tell whether the names on the left of a line are not as many as the things on the right."""
    targets = getattr(failure.statement, "targets", [None])
    return isinstance(targets[0], (ast.Tuple, ast.List)) and failure.node is None and (
        isinstance(failure.error, (ValueError, TypeError)))


def another_axis(failure):
    """Name the axis that an array of indices goes along, and the axes that are long enough."""
    indexed = [(code, axis, node.value) for node in failure.nodes if isinstance(node, ast.Subscript)
               for axis, code in enumerate(getattr(node.slice, "elts", [node.slice]))]
    for code, axis, picked in indexed if isinstance(failure.error, IndexError) else ():
        array, ids = failure.value(picked), failure.value(code)
        if isinstance(array, np.ndarray) and isinstance(ids, np.ndarray) and ids.size and (
                ids.dtype.kind == "i" and axis < array.ndim):
            largest, size = int(ids.max()), array.shape[axis]
            fits = [str(n) for n, length in enumerate(array.shape) if largest < length]
            if largest >= size and fits:
                return dict(ids=f"`{ast.unparse(code)}`", largest=largest, axis=axis, size=size,
                            array=f"`{ast.unparse(picked)}`", others=listed(fits))
    return None


def axes_counted(failure):
    """Tell whether a line failed because it relies on a fixed number of axes.

    It swaps axes for a product, unpacks a shape into sizes, or names an axis that is not there.
    """
    swaps = [node for node in ast.walk(failure.node or ast.Pass()) if isinstance(node, ast.Call)
             and name_of(node.func) in ("swapaxes", "transpose")]
    picked = [(failure.value(node.value), getattr(node.slice, "elts", ()))
              for node in failure.nodes if isinstance(node, ast.Subscript)]
    return isinstance(failure.error, np.exceptions.AxisError) or (
        isinstance(failure.error, IndexError) and any(isinstance(x, tuple) or (
            isinstance(x, np.ndarray) and len(index) > x.ndim) for x, index in picked)) or (
        is_unpacking(failure) and ast.unparse(failure.statement.value).endswith(".shape")) or (
        failure.is_product and any(isinstance(arg, ast.Constant) for node in swaps
                                   for arg in node.args)) or failure.function == "diag"


def all_axes_reversed(failure):
    return failure.is_product and ".grad" in ast.unparse(failure.statement) and any(
        (code.endswith(".T") or "transpose(" in code) and np.ndim(x) > 2
        for code, x in failure.found)


def axis_lost(failure):
    """Tell whether the second array has the shape of the first one without one of its axes."""
    return failure.is_broadcast and len(failure.shapes) > 1 and is_without_an_axis(
        *failure.shapes[::-1])


def is_without_an_axis(short, long):
    """Tell whether the shape `short` is `long` without one of its axes."""
    return any(short == long[:i] + long[i + 1 :] for i in range(len(long)))
