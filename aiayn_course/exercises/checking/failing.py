"""What a statement that fails shows itself, read from its syntax tree and from its values."""

import ast
import inspect
from typing import NamedTuple

import numpy as np

from aiayn_np.module import Module, Parameter

from ..language import say
from .operands import is_pure, statement_at, tree_of, value_of
from .report import listed

KEYWORDS = {"dim": "axis", "keepdim": "keepdims"}
METHODS = {  # names of PyTorch, and what NumPy has
    "view": "reshape", "permute": "transpose", "unsqueeze": "x[..., None]", "size": "shape",
    "masked_fill": "np.where", "clamp": "np.clip", "contiguous": "np.ascontiguousarray",
    "expand": "np.broadcast_to", "cat": "np.concatenate", "numel": "size", "t": ".T",
    "float": "astype(np.float64)", "bmm": "@",
}
REDUCTIONS = {"sum", "mean", "max", "min", "std", "var", "prod"}


def shown_by(frame, line, error):
    """Return (diagnosis, sentence, question) of what a failing line shows, or None."""
    statement = statement_at(frame.f_code.co_filename, line)
    tests = {AttributeError: (name_of_pytorch,), TypeError: (name_of_pytorch, by_position),
             ValueError: (name_of_pytorch,), IndexError: (another_axis,)}
    for test in tests.get(type(error), ()) if statement else ():
        if found := test(statement, frame):
            return found
    return None


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


def by_position(statement, frame):
    """Name the arguments that a call must be given by name."""
    for node in ast.walk(statement):
        if not isinstance(node, ast.Call) or not is_pure(node.func, frame):
            continue
        function = value_of(node.func, frame)
        if not inspect.isroutine(function) or any(isinstance(a, ast.Starred) for a in node.args):
            continue
        try:
            some = inspect.signature(function).parameters.values()
        except ValueError:                                             # a function in C
            continue
        named = [p.name for p in some if p.kind == p.KEYWORD_ONLY]
        if named and len(node.args) > sum(p.kind == p.POSITIONAL_OR_KEYWORD for p in some):
            return ("signature", say("{function} takes {names} by name alone: {example}.",
                                     function=f"`{ast.unparse(node.func)}`",
                                     names=listed([f"`{name}`" for name in named]),
                                     example=f"`{named[0]}={named[0]}`"),
                    say("Which arguments of this call must be given by name?"))
    return None


def another_axis(statement, frame):
    """Name the axis that an array of indices goes along, and the axes that are long enough."""
    for node in ast.walk(statement):
        if not isinstance(node, ast.Subscript):
            continue
        indices = getattr(node.slice, "elts", [node.slice])
        array, values = value_of(node.value, frame), [value_of(i, frame) for i in indices]
        for axis, (code, ids) in enumerate(zip(indices, values)):
            if isinstance(array, np.ndarray) and isinstance(ids, np.ndarray) and (
                    ids.dtype.kind == "i" and ids.size and axis < array.ndim):
                largest, size = int(ids.max()), array.shape[axis]
                fits = [str(n) for n, length in enumerate(array.shape) if largest < length]
                if largest >= size and fits and not ast.unparse(node.value).endswith("T"):
                    return ("index", say(
                        "The numbers in {ids} go up to {largest}. They pick along axis {axis} of"
                        " {array}, which has length {size}. Long enough is axis {others}.",
                        ids=f"`{ast.unparse(code)}`", largest=largest, axis=axis, size=size,
                        array=f"`{ast.unparse(node.value)}`", others=listed(fits)),
                        say("Along which axis must the numbers pick?"))
    return None


def target_of(frame, line, found):
    """Return (name, is_all): what a line calls its result, and whether that is a matrix product.

    found : [(code, value)] of the two factors. In a `return` of several things the name is the
        place of the product among them.
    """
    statement = statement_at(frame.f_code.co_filename, line)
    value = getattr(statement, "value", None)

    def is_product(node):
        return isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult) and [
            ast.unparse(node.left), ast.unparse(node.right)] == [code for code, _ in found]
    if isinstance(statement, ast.Return) and isinstance(value, ast.Tuple):
        places = [i for i, part in enumerate(value.elts) if is_product(part)]
        return (places[0], True) if places else ("", False)
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    name = ast.unparse(targets[0]).removeprefix("self.") if targets[0] else ""
    return name, is_product(value)


class Seen(NamedTuple):
    """What the student's function around a line has.

    calls : names of the functions and methods that it calls
    loses_an_axis : whether one of them is a sum, a mean or a maximum without keepdims
    """

    calls: set
    loses_an_axis: bool


NOTHING = Seen(set(), False)


def seen_around(frame, line):
    """Return what is Seen in the student's function that holds a line."""
    calls = [node for function in ast.walk(tree_of(frame.f_code.co_filename))
             if isinstance(function, ast.FunctionDef)
             and function.lineno <= line <= (function.end_lineno or 0)
             for node in ast.walk(function) if isinstance(node, ast.Call)]
    names = [ast.unparse(node.func).rpartition(".")[2] for node in calls]
    loses = any(name in REDUCTIONS and not any(k.arg == "keepdims" for k in node.keywords)
                for name, node in zip(names, calls))
    return Seen(set(names), loses)


def scope_of(frame):
    """Return {code: array} of all that a line could use: variables, caches and parameters."""
    found = {}
    for name, value in frame.f_locals.items():
        if isinstance(value, np.ndarray):
            found[name] = value
        elif not name.startswith("__") and hasattr(value, "__dict__"):
            for key, x in vars(value).items():
                if isinstance(x, Parameter):
                    found[f"{name}.{key}.value"] = x.value
                elif isinstance(x, np.ndarray) and not isinstance(value, Module):
                    found[f"{name}.{key}"] = x
    return found
