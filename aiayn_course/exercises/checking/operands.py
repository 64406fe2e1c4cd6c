"""Say what stands in the part of a student's line that raised an error: names and shapes."""

import ast
import collections
import contextlib
import inspect
import linecache
import math
import types
import warnings
from functools import reduce

import numpy as np

from aiayn_np.module import Cache, Module, Parameter

from ..language import say

METHODS = {"sum", "mean", "max", "min", "any", "all", "argmax", "argmin", "std", "var", "cumsum",
           "reshape", "swapaxes", "transpose", "ravel", "squeeze", "astype", "copy", "dot", "item"}
CHANGING = {"put", "place", "copyto", "save", "savez", "load", "putmask", "fill_diagonal"}
KNOWN = "np.e", "np.pi", "math.e", "math.pi"
LIMITS = [float(limit) for kind in (np.float16, np.float32, np.float64)
          for limit in (np.finfo(kind).min, np.finfo(kind).max, np.finfo(kind).eps)]
NAMED = {"exp": (math.e,), "finfo": LIMITS}  # numbers that a call stands for
PURE = (ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Constant, ast.Tuple, ast.List,
        ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.operator, ast.unaryop,
        ast.cmpop, ast.boolop, ast.expr_context, ast.keyword, ast.Starred)


def parts(frame, line, last):
    """Return [(code, value)] of what stands around the operation that fails in a line, or [].

    frame : the student's frame in which it fails; only what changes nothing is computed again
    last : the frame that raised the error, which may be one of a function that the line calls
    """
    statement = statement_at(frame.f_code.co_filename, line)
    if statement is None:
        return []
    for node in after_its_parts(statement):
        if isinstance(node, ast.expr) and not isinstance(node, (ast.Starred, ast.Slice)) and (
                not isinstance(getattr(node, "ctx", None), ast.Store)):
            if not is_pure(node, frame):
                if isinstance(node, ast.Call) and may_fail(node.func, frame, last):
                    return values(node.args, frame)
                if isinstance(node, ast.BinOp) and last is frame:
                    return values(children(node), frame)
            elif value_of(node, frame) is FAILED:
                return values(children(node), frame)
    if isinstance(statement, ast.AugAssign):
        return values([statement.target, statement.value], frame)
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
        kept = [target] if isinstance(target, (ast.Subscript, ast.Attribute)) else []
        if isinstance(target, ast.Subscript) and not values(kept, frame):
            kept = children(target)                                    # it is the index that fails
        return values([*kept, statement.value], frame)
    return []


def may_fail(function, frame, last):
    """Tell whether it may be this function that fails: if it is in Python, it has a last frame."""
    code = getattr(is_pure(function, frame) and value_of(function, frame), "__code__", None)
    return code is None or (last is not frame and code.co_filename != frame.f_code.co_filename)


def shown(found):
    """Return a sentence on the parts, "`x.T` is (4, 3, 2), `grad_y` is (2, 3, 5).", or ""."""
    said = dict.fromkeys(say("{code} is {what}", code=f"`{code}`", what=words(value))
                         for code, value in found if words(value))
    if not said:
        return ""
    return reduce(lambda first, second: say("{first}, {second}", first=first, second=second),
                  said) + say(".")


def words(value):
    """Describe a part: the shape of an array, or what it is if it is none."""
    if isinstance(value, np.ndarray):
        return str(value.shape)
    if isinstance(value, Parameter):
        return say("a Parameter of {shape}", shape=value.value.shape)
    if value is None:
        return "None"
    if isinstance(value, tuple):
        whole = all(isinstance(x, int) for x in value)
        return str(value) if whole else say("a tuple of {count}", count=len(value))
    if isinstance(value, Cache):
        return say("a Cache")
    return say("a layer") if isinstance(value, Module) else ""


FAILED = object()


def value_of(node, frame):
    """Return the value of an expression in a frame, or FAILED if it raises an error."""
    try:
        code = compile(ast.Expression(node), "<part>", "eval")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return eval(code, frame.f_globals, frame.f_locals)
    except Exception:
        return FAILED


def values(nodes, frame):
    found = []
    for node in (part for whole in nodes for part in getattr(whole, "elts", [whole])):
        if isinstance(node, ast.expr) and not isinstance(node, (ast.Constant, ast.Starred)):
            try:
                pure = ast.parse(ast.unparse(node), mode="eval").body  # read, not stored
            except SyntaxError:                                        # `:, None` of an index
                continue
            if is_pure(pure, frame) and (value := value_of(pure, frame)) is not FAILED:
                found.append((ast.unparse(node), value))
    return found


def children(node):
    """Return the parts of an expression that it puts together, without np and math."""
    if isinstance(node, ast.Call):
        owner = [part.value for part in [node.func] if isinstance(part, ast.Attribute)
                 and ast.unparse(part.value) not in ("np", "math")]
        return [*owner, *node.args]
    return list(ast.iter_child_nodes(node))


def after_its_parts(node):
    """Yield the nodes of a tree, each after its children."""
    for child in ast.iter_child_nodes(node):
        yield from after_its_parts(child)
    yield node


def is_pure(node, frame):
    """Tell whether an expression can be computed again without any effect."""
    if isinstance(node, ast.Call):
        return is_pure_call(node.func, frame) and not any(
            k.arg in (None, "out") for k in node.keywords) and all(
            is_pure(part, frame) for part in (*node.args, *(k.value for k in node.keywords)))
    return isinstance(node, PURE) and all(
        is_pure(child, frame) for child in ast.iter_child_nodes(node))


def is_pure_call(function, frame):
    """Tell whether a function is one of NumPy's or of math that changes nothing."""
    if not isinstance(function, ast.Attribute) or not is_pure(function.value, frame):
        return False
    owner = value_of(function.value, frame)
    if isinstance(owner, types.ModuleType):
        return owner in (np, math) and function.attr not in CHANGING
    return isinstance(owner, np.ndarray) and function.attr in METHODS


def tree_of(filename):
    """Return the syntax tree of a file; an empty one if it cannot be read."""
    try:
        return ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError):
        return ast.Module([], [])


class Code:
    """What stands in the files of a student's class or function, without some of its methods.

    tokens : functions that are called, transposes, signs such as `//`, each with its count
    numbers : all numbers that are written
    conditions : all comparisons, also without `others`, which are methods too
    """

    def __init__(self, student, without=(), others=()):
        files = {function.__code__.co_filename for function in functions_of(student)}
        trees = [tree_of(file) for file in files]
        nodes = [node for tree in trees for node in nodes_of(tree, without)]
        self.tokens = tokens_in(nodes)
        named = [number for name, some in NAMED.items() for number in some if name in self.tokens]
        found = [0, *numbers_in(nodes), *named]                        # 0 may be a default
        self.numbers = [*dict.fromkeys([*found, *(-n for n in found if abs(n) > 1000)])]
        self.conditions = {ast.unparse(node) for tree in trees for node in nodes_of(tree, others)
                           if isinstance(node, ast.Compare)}


def functions_of(student):
    """Return the functions of a student's class, or the one that he wrote."""
    inside = getattr(student, "func", student)
    return [*filter(inspect.isfunction, [inside, *vars(inside).values()])]


def names_in(files):
    """Return all names of variables in files."""
    nodes = [node for file in files for node in ast.walk(tree_of(file))]
    return {node.id for node in nodes if isinstance(node, ast.Name)} | {
        node.arg for node in nodes if isinstance(node, ast.arg)}


def nodes_of(tree, without=()):
    """Yield the nodes of a syntax tree, without the functions of some names."""
    if getattr(tree, "name", "") not in without or not isinstance(tree, ast.FunctionDef):
        yield tree
        for child in ast.iter_child_nodes(tree):
            yield from nodes_of(child, without)


def numbers_in(nodes):
    """Return all numbers that are written in syntax trees, such as 1e-9, -1e9 and 10 ** -6."""
    found = {}
    for node in nodes:
        is_sign = isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)
        is_power = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)
        is_known = isinstance(node, ast.Attribute) and ast.unparse(node) in KNOWN
        if isinstance(node, ast.Constant) or is_sign or is_power or is_known:
            with contextlib.suppress(Exception):
                value = eval(ast.unparse(node), dict(np=np, math=math))
                if type(value) in (int, float) and abs(value) < 1e308:
                    found[value] = True
    return list(found)


def numbers_of(code):
    """Return all numbers that are written in a piece of code."""
    return numbers_in(ast.walk(ast.parse(code)))


def tokens_of(tree):
    """Count what can be seen in a syntax tree: see `tokens_in`."""
    return tokens_in(ast.walk(tree))


def tokens_in(nodes):
    """Count what can be seen in code: functions that are called, transposes, some signs."""
    found = collections.Counter[str]()
    for node in nodes:
        if isinstance(node, ast.Call):
            found[ast.unparse(node.func).removesuffix(".forward").rpartition(".")[2]] += 1
        elif isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
            found[node.attr] += 1
        elif isinstance(node, (ast.FloorDiv, ast.Mod, ast.Compare)):
            found[type(node).__name__] += 1
    return found


def statement_at(filename, line):
    """Return the syntax tree of the simple statement or header in a line of a file, or None."""
    found = [node for node in ast.walk(tree_of(filename)) if isinstance(node, ast.stmt)
             and node.lineno <= line <= (node.end_lineno or node.lineno)]
    found = [node for node in found if node.lineno == max(n.lineno for n in found)]
    if len(found) != 1:                                                # several in one line
        return None
    (last,) = found
    for name in ("body", "orelse", "handlers", "finalbody"):
        if hasattr(last, name):
            setattr(last, name, [])
    return last
