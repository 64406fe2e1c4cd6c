"""Read a student's code: values of the parts of a line, and what stands in his files."""

import ast
import collections
import contextlib
import copy
import functools
import inspect
import linecache
import math
import types
import warnings

import numpy as np

from aiayn_np.module import Cache, Module, Parameter

from ..language import say

METHODS = {"sum", "mean", "max", "min", "any", "all", "argmax", "argmin", "std", "var", "cumsum",
           "reshape", "swapaxes", "transpose", "ravel", "squeeze", "astype", "copy", "dot", "item"}
CHANGING = {"put", "place", "copyto", "save", "savez", "load", "putmask", "fill_diagonal"}
IMPURE = ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.Lambda, ast.comprehension
NUMBERS = (ast.Constant, ast.Attribute, ast.UnaryOp, ast.BinOp, ast.Call)  # what may be a number
GIVING = "np.finfo", "float", "np.exp", "math.exp", "np.sqrt", "math.sqrt"  # calls that make one
FAILED = object()


def parts(statement, frame, last):
    """Return what fails in a statement, or None, and [(code, value)] of what stands around it.

    frame : the student's frame in which it fails; only what changes nothing is computed again
    last : the frame that raised the error, which may be one of a function that the line calls
    """
    for node in after_its_parts(statement or ast.Pass()):
        if isinstance(node, ast.expr) and fails(node, frame, last):
            return node, values(node.args if isinstance(node, ast.Call) and not is_pure(
                node, frame) else children(node), frame)
    if not isinstance(statement, (ast.Assign, ast.AugAssign)):
        return None, []
    into = statement.target if isinstance(statement, ast.AugAssign) else statement.targets[0]
    kept: list = [] if isinstance(statement, ast.Assign) and isinstance(into, ast.Name) else [into]
    if isinstance(into, ast.Subscript) and not values(kept, frame):    # it is the index that fails
        kept = children(into)
    return None, values([*kept, statement.value], frame)


def fails(node, frame, last):
    """Tell whether an expression fails, or may fail. None of its parts fails."""
    if isinstance(node, (ast.Starred, ast.Slice)) or isinstance(
            getattr(node, "ctx", None), ast.Store):
        return False
    if is_pure(node, frame):
        return value_of(node, frame) is FAILED
    if isinstance(node, ast.Call):                                     # in Python or not
        code = getattr(is_pure(node.func, frame) and value_of(node.func, frame), "__code__", None)
        return code is None or (last is not frame and code.co_filename != frame.f_code.co_filename)
    return isinstance(node, ast.BinOp) and last is frame


def shown(found):
    """Return a sentence on the parts, "`x.T` is (4, 3, 2), `grad_y` is (2, 3, 5).", or ""."""
    said = dict.fromkeys(say("{code} is {what}", code=f"`{code}`", what=words(value))
                         for code, value in found if words(value))
    return say(", ").join(said) + say(".") if said else ""


def words(value):
    """Describe a part: the shape of an array, or what it is if it is none."""
    if isinstance(value, np.ndarray):
        return str(value.shape)
    if isinstance(value, Parameter):
        return say("a Parameter of {shape}", shape=value.value.shape)
    if isinstance(value, tuple) and not all(isinstance(x, int) for x in value):
        return say("a tuple of {count}", count=len(value))
    if isinstance(value, (Cache, Module)):
        return say("a Cache" if isinstance(value, Cache) else "a layer")
    return str(value) if value is None or isinstance(value, tuple) else ""


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
    """Return [(code, value)] of those expressions that can be computed again."""
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
    return not any(isinstance(part, IMPURE) or (
        isinstance(part, ast.Call) and not is_pure_call(part, frame)) for part in ast.walk(node))


def is_pure_call(call, frame):
    """Tell whether a call is one of a function of NumPy or of math that changes nothing."""
    function = call.func
    if not isinstance(function, ast.Attribute) or not is_pure(function.value, frame) or any(
            k.arg in (None, "out") for k in call.keywords):
        return False
    owner = value_of(function.value, frame)
    if isinstance(owner, types.ModuleType):
        return owner in (np, math) and function.attr not in CHANGING
    return isinstance(owner, np.ndarray) and function.attr in METHODS


def tree_of(filename):
    """Return the syntax tree of a file, which nobody changes; an empty one if it is unreadable."""
    return parsed("".join(linecache.getlines(filename)))


@functools.lru_cache(8)
def parsed(code):
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def statement_at(filename, line):
    """Return the syntax tree of the simple statement or header in a line of a file, or None."""
    found = [node for node in ast.walk(tree_of(filename)) if isinstance(node, ast.stmt)
             and node.lineno <= line <= (node.end_lineno or node.lineno)]
    found = [node for node in found if node.lineno == max(n.lineno for n in found)]
    if len(found) != 1:                                                # several in one line
        return None
    last = copy.copy(found[0])
    for name in ("body", "orelse", "handlers", "finalbody"):
        if hasattr(last, name):
            setattr(last, name, [])
    return last


def source_of(filename, line):
    """Return the statement that begins in a line of a file, in one line."""
    statement = statement_at(filename, line)
    last = (statement and statement.end_lineno) or line
    return " ".join(linecache.getline(filename, n).strip() for n in range(line, last + 1))


class Code:
    """The code of a student's class or function, without some of its methods.

    tokens : functions that are called, transposes, signs such as `//`, each with its count
    numbers : all numbers that are written
    conditions : all comparisons, also without `others`, which are methods too
    """

    def __init__(self, student, without=(), others=()):
        files = {function.__code__.co_filename for function in functions_of(student)}
        nodes, own = ([node for file in files for node in nodes_of(tree_of(file), names)]
                      for names in (without, others))
        self.tokens = tokens_in(nodes)
        found = [0, *numbers_in(nodes), *[math.e] * ("exp" in self.tokens)]  # 0 may be a default
        self.conditions = {ast.unparse(node) for node in own if isinstance(node, ast.Compare)}
        self.numbers = [*dict.fromkeys([*found, *(-n for n in found if abs(n) > 1000)])]


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
    """Return all numbers that code writes, such as 1e-9, 10 ** -6 and np.finfo(float).min."""
    found = {}
    for node in (node for node in nodes if isinstance(node, NUMBERS)):
        inside = [*ast.walk(node)]
        names = {n.id for n in inside if isinstance(n, ast.Name)}
        calls = {ast.unparse(n.func) for n in inside if isinstance(n, ast.Call)}
        if names <= {"np", "math", "float"} and calls <= {*GIVING}:
            with contextlib.suppress(Exception):
                value = eval(ast.unparse(node), dict(np=np, math=math))
                if isinstance(value, (int, float)) and abs(value) < math.inf:
                    found[value] = True
    return list(found)


def tokens_in(nodes):
    """Count what can be seen in code: functions that are called, transposes, some signs."""
    found = collections.Counter[str]()
    for node in nodes:
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).removesuffix(".forward").rpartition(".")[2]
            found["sum" if name == "mean" else name] += 1              # but for a division
        elif isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
            found[node.attr] += 1
        elif isinstance(node, (ast.FloorDiv, ast.Mod, ast.Compare)):
            found[type(node).__name__] += 1
    return found
