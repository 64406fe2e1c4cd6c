"""Read what a statement of the student that fails shows itself: its values and its syntax tree."""

import ast
import functools
import inspect
import linecache
import textwrap
import traceback
from typing import Any

import numpy as np

import aiayn_course
import aiayn_np
from aiayn_np.module import Module, Parameter

from ..language import listed, say
from .operands import is_pure, parts, shown, statement_at, tree_of, value_of
from .stop import describe

FOLDERS = tuple(package.__path__[0] for package in (aiayn_np, aiayn_course, np))
NOT_STUDENTS = *FOLDERS, "<__array_function__", "<frozen"
KEYWORDS = {"dim": "axis", "keepdim": "keepdims"}
METHODS = {  # names of PyTorch, and what NumPy has
    "view": "reshape", "permute": "transpose", "unsqueeze": "x[..., None]", "size": "shape",
    "masked_fill": "np.where", "clamp": "np.clip", "contiguous": "np.ascontiguousarray",
    "expand": "np.broadcast_to", "cat": "np.concatenate", "numel": "size", "t": ".T",
    "float": "astype(np.float64)", "bmm": "@",
}
REDUCTIONS = {"sum", "mean", "max", "min", "std", "var", "prod"}


class Failure:
    """An error of the student's code, and the statement in which it came.

    found : [(code, value)] of what stands around the operation that failed
    """

    def __init__(self, error, what):
        self.error, self.what, self.text = error, what, describe(error).rstrip(".")
        self.frames = student_frames(error)
        self.frame: Any = self.frames[-1][0] if self.frames else None
        self.number: int = self.frames[-1][1] if self.frames else 0
        last, _ = [*traceback.walk_tb(error.__traceback__)][-1]
        self.found = parts(self.frame, self.number, last) if self.frames else []
        self.statement = self.frame and statement_at(self.frame.f_code.co_filename, self.number)

    @property
    def code(self):
        return code_of(self.frames[-1]) if self.frames else ""

    @property
    def in_part(self):
        """Tell whether code stops in the student's own backward of a part of the layer."""
        return len(self.frames) > 1 and self.frame.f_code.co_name == "backward"

    @functools.cached_property
    def shown(self):
        """Return (diagnosis, sentence, question) of what the line shows, or None."""
        tests = {AttributeError: (name_of_pytorch,), TypeError: (name_of_pytorch, in_the_call),
                 ValueError: (name_of_pytorch,), IndexError: (another_axis,)}
        return next((said for test in tests.get(type(self.error), ()) if self.statement
                     and (said := test(self.statement, self.frame))), None)

    @property
    def calls(self):
        """Return the calls in the student's function that holds the line."""
        return [node for function in ast.walk(tree_of(self.frame.f_code.co_filename))
                if isinstance(function, ast.FunctionDef)
                and function.lineno <= self.number <= (function.end_lineno or 0)
                for node in ast.walk(function) if isinstance(node, ast.Call)] if self.frame else []

    def has_call(self, name):
        """Tell whether the function calls another one of a name."""
        return any(ast.unparse(node.func).endswith(name) for node in self.calls)

    @property
    def loses_an_axis(self):
        """Tell whether a sum, a mean or a maximum without keepdims stands in the function."""
        return any(ast.unparse(node.func).rpartition(".")[2] in REDUCTIONS
                   and not any(k.arg == "keepdims" for k in node.keywords) for node in self.calls)

    @property
    def product(self):
        """Return the place of a matrix product that fails in what the line makes, or None.

        The place is the name that the line gives the product, or in a `return` of several things
        the number of the product among them.
        """
        value = getattr(self.statement, "value", None)
        values = value.elts if isinstance(value, ast.Tuple) else [value]
        places = [i for i, node in enumerate(values)
                  if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
                  and [*map(ast.unparse, (node.left, node.right))] == [c for c, _ in self.found]]
        if not places or not isinstance(value, ast.Tuple):
            return self.target if places else None
        return places[0] if isinstance(self.statement, ast.Return) else None

    @property
    def target(self):
        """Return the name that the line gives what it computes, or "" for what is returned."""
        statement = self.statement
        if not self.what.endswith(self.frame.f_code.co_name if self.frame else "?"):
            return None                                                # what a helper returns
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        return ast.unparse(targets[0]).removeprefix("self.") if targets[0] else ""

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


def student_frames(error):
    """Return [(frame, line)] of an error in the student's own code, the innermost last."""
    return [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)
            if not frame.f_code.co_filename.startswith(NOT_STUDENTS)]


def line_of(error, most=200):
    """Return the student's line that raised an error, as " in line 7, `y = x @ W`,"."""
    frames = student_frames(error)
    if not frames:
        return ""
    number, code = frames[-1][1], code_of(frames[-1], most)
    return say(" in line {number}, `{code}`," if code else " in line {number}", number=number,
               code=code)


def code_of(place, most=60):
    """Return the line of code at a (frame, line), shortened to `most` columns."""
    frame, number = place
    return textwrap.shorten(linecache.getline(frame.f_code.co_filename, number), most,
                            placeholder=" …")


def name_of_pytorch(statement, frame):
    """Name what is called as in PyTorch, and what NumPy has in its place."""
    calls = {node.func: node for node in ast.walk(statement) if isinstance(node, ast.Call)}
    for node in ast.walk(statement):
        name = other = ""
        if isinstance(node, ast.keyword) and node.arg in KEYWORDS:
            name, other = node.arg, KEYWORDS[node.arg]
        if isinstance(node, ast.Attribute) and is_pure(node.value, frame):
            owner = value_of(node.value, frame)
            if node.attr in METHODS and (isinstance(owner, np.ndarray) or owner is np):
                name, other = node.attr, METHODS[node.attr]
            if node.attr == "transpose" and len(getattr(calls.get(node), "args", ())) == 2:
                name, other = "transpose", "swapaxes"
        if name:
            return ("a name of PyTorch", say("`{name}` is a name of PyTorch. In NumPy it is"
                                             " `{other}`.", name=name, other=other),
                    say("Which library does `{name}` belong to?", name=name))
    return None


def in_the_call(statement, frame):
    """Name the arguments that a call must be given by name, and those that it does not take."""
    calls = (node for node in ast.walk(statement) if isinstance(node, ast.Call))
    for node in calls:
        function = is_pure(node.func, frame) and value_of(node.func, frame)
        if not inspect.isroutine(function) or any(isinstance(a, ast.Starred) for a in node.args):
            continue
        try:
            some = inspect.signature(function).parameters
        except ValueError:                                             # a function in C
            continue
        called, kinds = f"`{ast.unparse(node.func)}`", [p.kind for p in some.values()]
        named = [name for name, p in some.items() if p.kind == p.KEYWORD_ONLY]
        if named and len(node.args) > kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD):
            return ("signature", say("{function} takes {names} by name alone: {example}.",
                                     function=called, example=f"`{named[0]}={named[0]}`",
                                     names=listed([f"`{name}`" for name in named])),
                    say("Which arguments of this call must be given by name?"))
        others = [k.arg for k in node.keywords if k.arg and k.arg not in some]
        if others and inspect.Parameter.VAR_KEYWORD not in kinds:
            return ("signature", say("{function} takes no {name}. It takes {names}.",
                                     function=called, name=f"`{others[0]}`",
                                     names=listed([f"`{name}`" for name in some])),
                    say("What does this function take, and what is it given?"))
    return None


def another_axis(statement, frame):
    """Name the axis that an array of indices goes along, and the axes that are long enough."""
    for node in ast.walk(statement):
        for code, ids, axis, picked in picks(node, frame):
            array = value_of(picked, frame)
            if not (isinstance(array, np.ndarray) and isinstance(ids, np.ndarray) and ids.size
                    and ids.dtype.kind == "i" and axis < array.ndim):
                continue
            largest, size = int(ids.max()), array.shape[axis]
            fits = [str(n) for n, length in enumerate(array.shape) if largest < length]
            if largest >= size and fits and not ast.unparse(picked).endswith("T"):
                return ("index", say(
                    "The numbers in {ids} go up to {largest}. They pick along axis {axis} of"
                    " {array}, which has length {size}. Long enough is axis {others}.",
                    ids=f"`{ast.unparse(code)}`", largest=largest, axis=axis, size=size,
                    array=f"`{ast.unparse(picked)}`", others=listed(fits)),
                    say("Along which axis must the numbers pick?"))
    return None


def picks(node, frame):
    """Yield (code of indices, their value, axis, code of the array) of an index or np.take."""
    if isinstance(node, ast.Subscript):
        for axis, code in enumerate(getattr(node.slice, "elts", [node.slice])):
            yield code, value_of(code, frame), axis, node.value
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "np.take" and len(node.args) == 2:
        along = next((value_of(k.value, frame) for k in node.keywords if k.arg == "axis"), None)
        if type(along) is int:
            yield node.args[1], value_of(node.args[1], frame), along, node.args[0]


def where_of(failure, case):
    """Return a sentence on the student's line that stops, and on the line that calls it."""
    of_shapes = len(failure.found) > 1 and shown(failure.found) and any(word in failure.text for (
        word) in ("matmul", "broadcast", "aligned", "boolean index", "too many indices"))
    error = type(failure.error).__name__ if of_shapes else failure.text.partition(". ")[0]
    where = say("{what} stops{line} with {error} ({case})." if case else
                "{what} stops{line} with {error}.", what=failure.what, error=error.rstrip("."),
                line=line_of(failure.error, 60), case=say(case))
    frames = failure.frames
    if len(frames) > 1 and frames[-2][1] != frames[-1][1]:             # no generator of the line
        where += say(" Line {number} calls it: `{code}`.", number=frames[-2][1],
                     code=code_of(frames[-2]))
    return where
