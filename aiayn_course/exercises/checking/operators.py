"""Pieces of code that students write by mistake in place of a piece of the right formula.

A table holds (cost, key, piece, template). A likelier mistake costs less. `piece` is what a
sentence about the mistake names, see `questions.GENERAL`. In a template {0} is the right code; {l}
and {r} are the two sides of an operator.
"""

import ast
import copy
import functools
import itertools
import re
from typing import Any

OTHERS = {  # names of functions that are easily taken for each other
    "sum": ("mean", "max", "prod", "std"), "mean": ("sum", "max"), "max": ("min", "mean", "sum"),
    "min": ("max",), "any": ("all",), "all": ("any",), "argmax": ("argmin",), "sin": ("cos",),
    "cos": ("sin",), "log": ("log2", "log10", "log1p"), "exp": ("exp2", "expm1"),
    "sqrt": ("abs", "square"), "maximum": ("minimum", "add"),
}
COMPARED = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
CALLED = ("a function too many", "absolute value", "applied twice", "reshape instead",
          "reshape for a transpose")  # keys whose piece is a function, see `Change.function`
SIZED = "np.arange", "np.eye", "range"  # a large number there takes memory and time
LEFT_OUT = {"reshape", "swapaxes", "mT", "T"}


def table(*kinds):
    """Expand (cost, key, piece, template, template, ...) into rows of one template each."""
    return tuple((*kind[:3], template) for kind in kinds for template in kind[3:])


OPERATORS = {
    ast.Add: table(
        (0, "term left out", "{r}", "{l}"), (0, "term left out", "{l}", "{r}"),
        (0, "sign", "{r}", "{l} - {r}"), (1, "term twice", "{r}", "{l} + 2 * {r}"),
        (1, "term twice", "{l}", "2 * {l} + {r}"), (1, "product instead of sum", "", "{l} * {r}")),
    ast.Sub: table(
        (0, "term left out", "{r}", "{l}"), (0, "term left out", "{l}", "-{r}"),
        (0, "sign", "{r}", "{l} + {r}"), (0.5, "difference turned", "", "{r} - {l}"),
        (1, "term twice", "{r}", "{l} - 2 * {r}"), (1, "term twice", "{l}", "2 * {l} - {r}")),
    ast.Mult: table(
        (0.1, "factor left out", "{r}", "{l}"), (0.1, "factor left out", "{l}", "{r}"),
        (1, "divided", "{r}", "{l} / {r}"),
        (1, "factor twice", "{r}", "{l} * {r} * {r}")),
    ast.Div: table(
        (-1, "whole-number division", "", "{l} // {r}"), (0.1, "factor left out", "{r}", "{l}"),
        (0.1, "factor left out", "{l}", "1 / {r}"),
        (1, "multiplied", "{r}", "{l} * {r}"),
        (1, "factor twice", "{r}", "{l} / {r} / {r}"), (2, "fraction turned", "", "{r} / {l}")),
    ast.Pow: table(
        (0, "power left out", "{r}", "{l}"), (1, "absolute value", "np.abs", "np.abs({l})")),
    ast.BitAnd: table((0, "condition left out", "{r}", "{l}"),
                      (0, "condition left out", "{l}", "{r}")),
    ast.BitOr: table((0, "condition left out", "{r}", "{l}"),
                     (0, "condition left out", "{l}", "{r}")),
}
NAMED = table(
    (2, "replaced by ones", "{0}", "np.ones_like({0})"),
    (2, "replaced by zeros", "{0}", "np.zeros_like({0})"),
    (2, "off by one", "{0}", "({0} + 1)", "({0} - 1)"),
    (3, "the opposite", "{0}", "~{0}", "-{0}"),
    (3, "cut to whole numbers", "{0}", "np.trunc({0})"),
    (3, "reverse order", "{0}", "np.flip({0}, -1)", "np.flip({0}, -2)"),
)
WHOLE = table(  # the right side of a line
    *((4, "factor", factor, f"({{0}}) * {factor}") for factor in (
        "-1", "2", "0.5", "(np.pi / 180)", "(2 * np.pi)", "np.log2(np.e)")),
    *((4, "a function too many", f"{name}", f"{name}({{0}}{more})") for name, more in (
        ("np.sqrt", ""), ("np.abs", ""), ("np.maximum", ", 0"), ("np.round", ", 4"))),
    (4, "float32", "", "({0}).astype(np.float32)"),
)
SIZE = table((1, "off by one", "{0}", "({0} - 1)"))

text = functools.cache(ast.unparse)


@functools.cache
def normal(code):
    """Return code as `text` writes it."""
    return ast.unparse(ast.parse(code))


def replacements(place, names):
    """Yield (cost, key, piece, code) for each wrong piece of code that may stand in a place.

    names : what `names_of` returns for the formula
    """
    node, code = place.node, text(place.node)
    if isinstance(node, ast.stmt):
        if isinstance(node, (ast.AugAssign, ast.Expr, ast.If, ast.Break)):
            yield 1 if isinstance(node, ast.If) else 0, "line left out", code, "pass"
        return
    sides = {}
    if is_index(place):
        holder, others = place.parents[-1], {"-1", "-2", "0", "1"} - {code}
        if not isinstance(holder, ast.UnaryOp):
            key = "another size" if ".shape[" in text(holder) else "another index"
            yield from ((1, key, i, i) for i in sorted(others))
        return
    if isinstance(node, ast.BinOp):
        sides = dict(l=f"({text(node.left)})", r=f"({text(node.right)})")
    for cost, key, piece, template in templates(place, code, names):
        yield cost, key, *(some.format(code, **sides) for some in (piece, template))
    yield from codes(place, code, names)


def templates(place, code, names):
    """Yield the table rows that fit a place."""
    node, holder = place.node, place.parents[-1]
    if isinstance(node, ast.BinOp):
        one = isinstance(node.left, ast.Constant)                      # the 1 of 1 - x alone
        yield from (row for row in OPERATORS.get(type(node.op), ()) if not (
            one and row[1:] == ("term left out", "{r}", "{l}")))
    if isinstance(node, ast.Subscript) and ".shape[" in code:
        yield from SIZE
    if is_array(place, code, names) and not isinstance(holder, ast.keyword):
        yield from NAMED
    if isinstance(holder, (ast.Return, ast.Dict, ast.Assign, ast.AugAssign)) and not isinstance(
            node, (ast.Name, ast.Constant, ast.Dict, ast.Tuple)):
        yield from WHOLE


def is_index(place):
    """Tell whether a place holds a number in brackets, such as the -1 of x[:, -1]."""
    around = itertools.dropwhile(lambda p: isinstance(p, (ast.UnaryOp, ast.Tuple, ast.Slice)),
                                 reversed(place.parents))
    return re.fullmatch(r"-?\d+", text(place.node)) and isinstance(next(around), ast.Subscript)


def is_array(place, code, names):
    """Tell whether a place holds the name of an array, and not of a function that is called."""
    return isinstance(place.node, ast.Name) and code in names[0] and place.field != "func"


def sized(place):
    """Tell whether a place decides how long an array or a loop is."""
    return any(isinstance(p, ast.Call) and text(p.func) in SIZED for p in place.parents)


def scalar(node, code, place, names):
    """Return the name of what may be one number that is given, or None; only a run can tell."""
    if isinstance(place.parents[-1], ast.Attribute) or sized(place):
        return None
    if isinstance(node, ast.Name) and code in names[3] and place.field != "func":
        return code
    if isinstance(node, ast.Attribute) and place.field != "func" and text(node.value) in (
            "self", "model"):
        return node.attr
    return "scale" if code.startswith("math.sqrt(") else None


def codes(place, code, names):
    """Yield (cost, key, piece, code) for the changes that no template describes."""
    node, holder = place.node, place.parents[-1]
    if kind := KINDS.get(type(node)):
        yield from kind(node, code, names)
    if is_array(place, code, names):
        passed = text(getattr(holder, "func", node)).endswith(".backward")
        yield from ((1, "another gradient" if passed and name[:5] == "grad_" else "another array",
                     name, name) for name in names[0] if name != code)
    value: Any = getattr(node, "value", None)
    if isinstance(node, ast.Constant) and type(value) in (int, float):
        yield from ((2, "another number", number, number)
                    for number in (f"{value + 1}", f"({value - 1})", f"-{code}", f"{2 * value:g}"))
    if short := scalar(node, code, place, names):
        yield 1.5, f"{short} is fixed", short, f"free({code})"
    if isinstance(holder, ast.Assign) and isinstance(holder.targets[0], ast.Tuple) and (
            isinstance(node, ast.Call)):
        yield 0, "results in another order", "", f"{code}[::-1]"
    if isinstance(holder, ast.AugAssign) and isinstance(node, ast.BinOp):
        yield from ((3, "factor", f"1 / len({name})", f"({code}) / len({name})")
                    for name in names[0])
    if isinstance(holder, ast.Return) and isinstance(node, ast.BinOp):
        for root in (f"math.sqrt({name}.shape[-1])" for name in names[3]):
            yield 3, "factor", root, f"({code}) * {root}"
            yield 3, "factor", f"1 / {root}", f"({code}) / {root}"
    if isinstance(holder, (ast.Return, ast.Dict)) and isinstance(node, (ast.BinOp, ast.Call)):
        yield from ((2, "something added", name, f"({code}) + {name}") for name in names[0])
        yield from ((2, "factor", name, f"({code}) * {name}") for name in names[0])


def called(node, code, names):
    function, args = text(node.func), [text(a) for a in node.args]
    options, short = [text(k) for k in node.keywords], function.rpartition(".")[2]

    def call(args, options=options, function=function):
        return f"{function}({', '.join([*args, *options])})"

    for other in OTHERS.get(short, ()):
        yield 0.9, f"{other} instead of {short}", other, call(
            args, function=function.removesuffix(short) + other)
    if isinstance(node.func, ast.Attribute):
        yield from turned(node.func.value, short, code)
        if isinstance(node.func.value, ast.BinOp) and short in ("sum", "mean"):
            one, two = text(node.func.value.left), text(node.func.value.right)
            rest = call(args, function=short)
            yield from ((2, "factor outside of the sum", a, f"({a}) * ({b}).{rest}")
                        for a, b in ((one, two), (two, one)))
    yield from ((2, "applied twice", short, call([code, *args[1:]]))
                for _ in args[:1] if short != "where")
    part = text(node.func.value) if short in ("forward", "backward") else short
    yield from ((0, f"{short} left out", part, arg) for arg in args if not arg.startswith("*"))
    for i in range(len(args)):
        for j in range(i):
            code = call([*args[:j], args[i], *args[j + 1 : i], args[j], *args[i + 1 :]])
            if short == "where" and j > 0:                             # the condition is inverted
                yield 1, "the opposite", args[0], code
            else:
                yield 1, "order of the arguments", "", code
    if len(args) == 1 and not options:
        yield 2, "reshape instead", "reshape", f"({args[0]}).reshape({code}.shape)"
        if isinstance(node.args[0], ast.BinOp) and isinstance(node.args[0].op, (ast.Add, ast.Sub)):
            first = ast.Call(node.func, [node.args[0].left], [])
            yield 1, "term outside of the function", text(node.args[0].right), ast.unparse(
                ast.BinOp(first, node.args[0].op, node.args[0].right))
    for i, option in enumerate(node.keywords):
        rest = options[:i] + options[i + 1 :]
        if option.arg == "axis":
            yield from ((0, "wrong axis", axis, call(
                args, [*options[:i], f"axis={axis}", *options[i + 1 :]]))
                        for axis in ("-1", "-2", "0", "1", "None") if axis != text(option.value))
        elif option.arg not in ("keepdims", "dtype"):
            yield 0, f"{option.arg} not passed on", option.arg, call(args, rest)


def turned(owner, name, code):
    """Yield changes that leave out a reshape or transpose, or reshape instead of transposing."""
    if name in LEFT_OUT:
        yield 0, f"{name} left out", name, text(owner)
        yield 1, "reshape for a transpose", "reshape", f"{text(owner)}.reshape({code}.shape)"
    if name == "mT":
        yield 1, "all axes reversed", "", f"{text(owner)}.T"


def attribute(node, code, names):
    owner = text(node.value)
    yield from ((1, "another part", f"self.{part}", f"self.{part}") for part in names[1]
                if owner == "self" and part != node.attr)
    yield from turned(node.value, node.attr, code)


def added(node, code, names):
    """Yield changes that move brackets, or that compute a term without adding it."""
    one, other = node.left, node.right
    if isinstance(other, ast.BinOp):                                   # (a * b) ** c
        first = ast.BinOp(one, node.op, other.left)
        yield 1, "brackets", "", ast.unparse(ast.BinOp(first, other.op, other.right))
    if isinstance(one, ast.BinOp):                                     # a + (b * c), (a * c) + b
        ends = ast.BinOp(one.left, node.op, other), ast.BinOp(one.right, node.op, other)
        yield from ((1, "brackets", "", ast.unparse(ast.BinOp(first, one.op, last)))
                    for first, last in ((one.left, ends[1]), (ends[0], one.right)))
    terms = terms_of(node)
    yield from ((0.5, "terms left out", "", " + ".join(some)) for count in range(1, len(terms) - 1)
                for some in itertools.combinations(terms, count))
    if isinstance(node.op, ast.Add) and ".backward(" in text(node.right):
        yield -1, "computed and not added", text(node.right), (
            f"({text(node.right)}, {text(node.left)})[1]")


def terms_of(node):
    """List the terms of a sum, each with its sign."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub))):
        return [text(node)]
    sign = "-" if isinstance(node.op, ast.Sub) else ""
    return [*terms_of(node.left), f"{sign}({text(node.right)})"]


def compared(node, code, names):
    yield 0, "condition ignored", text(node), f"({text(node)}) | True"
    for other in COMPARED:
        if not isinstance(node.ops[0], (other, ast.Is, ast.IsNot)):
            new = copy.copy(node)
            new.ops = [other()]
            yield 1, "another comparison", "", ast.unparse(new)


def indexed(node, code, names):
    key = "axes not inserted" if "None" in text(node.slice) else "index left out"
    yield 2, key, "", text(node.value)


KINDS = {
    ast.Call: called, ast.Attribute: attribute, ast.BinOp: added, ast.Compare: compared,
    ast.Subscript: indexed,
    ast.UnaryOp: lambda node, code, names: [
        (0, "sign", text(node.operand), f"({text(node.operand)})")],
    ast.IfExp: lambda node, code, names: [(0, "condition ignored", "", text(branch))
                                          for branch in (node.body, node.orelse)],
}
