"""What a mutant may be: for a piece of syntax, what could stand there by mistake."""

import ast
import copy

OTHER_OPERATOR = {
    ast.Add: [ast.Sub], ast.Sub: [ast.Add], ast.Mult: [ast.Div], ast.Div: [ast.Mult],
    ast.MatMult: [ast.Mult], ast.FloorDiv: [ast.Div], ast.Pow: [ast.Mult], ast.Mod: [ast.FloorDiv],
    ast.BitAnd: [ast.BitOr], ast.BitOr: [ast.BitAnd], ast.And: [ast.Or], ast.Or: [ast.And],
    ast.Eq: [ast.NotEq], ast.NotEq: [ast.Eq], ast.Lt: [ast.LtE, ast.Gt], ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.Lt], ast.GtE: [ast.Gt, ast.Lt], ast.Is: [ast.IsNot], ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn], ast.NotIn: [ast.In],
}
ORDERED = (ast.Sub, ast.Div, ast.MatMult, ast.FloorDiv, ast.Pow, ast.Mod)
OTHER_NAME = {
    "sum": "mean", "mean": "sum", "max": "min", "min": "max", "maximum": "minimum",
    "minimum": "maximum", "sin": "cos", "cos": "sin", "zeros": "ones", "zeros_like": "ones_like",
    "left": "right", "right": "left", "reversed": "list",
}
NO_ARRAY = ("Cache", "cache", "c")  # what is returned beside the result
CALLS_THAT_STAY = ("forward", "append", "range", "zip", "super", "dict", "isinstance", "items")


def is_validation(node):
    """Checks of input, errors and docstrings."""
    match node:
        case ast.FunctionDef(name=name):
            return name.startswith("check_")
        case ast.Call(func=ast.Name(id=name)):
            return name.startswith("check_")
        case ast.If(body=[ast.Raise()], orelse=[]) | ast.Raise():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
    return isinstance(node, (ast.Expr, ast.Assign)) and is_validation(node.value)


def changes(node):
    """(container, key, old, new) for everything at or below a definition that can be changed."""
    for field, value in ast.iter_fields(node):
        is_list = isinstance(value, list)
        for key, child in enumerate(value) if is_list else [(field, value)]:
            skip = field in ("decorator_list", "annotation", "returns") or is_validation(child)
            if isinstance(child, ast.AST) and not skip:
                for new in replacements(child):
                    yield (value if is_list else node), key, child, new
                if not is_negative(child):
                    yield from changes(child)


def is_negative(node):
    """A number such as -1, which is one thing and not a minus before a 1."""
    return isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)


def changed(node, **fields):
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def without(elements, i):
    return [*elements[:i], *elements[i + 1 :]]


def swapped(elements):
    """The list with two neighbours exchanged, for each pair that differs."""
    for i in range(len(elements) - 1):
        if ast.dump(elements[i]) != ast.dump(elements[i + 1]):
            yield [*elements[:i], elements[i + 1], elements[i], *elements[i + 2 :]]


def replacements(node):
    """Syntax that may stand for `node` by mistake."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            yield from (changed(node, op=other()) for other in OTHER_OPERATOR[type(op)])
            yield from (left, right)
            if isinstance(op, ORDERED) and ast.dump(left) != ast.dump(right):
                yield changed(node, left=right, right=left)
        case ast.Compare(ops=[op]):
            yield from (changed(node, ops=[other()]) for other in OTHER_OPERATOR[type(op)])
        case ast.BoolOp(op=op, values=values):
            yield changed(node, op=OTHER_OPERATOR[type(op)][0]())
            yield from values
        case ast.UnaryOp(operand=ast.Constant(value=value) as number):
            yield number
            yield from (ast.Constant(other) for other in (-value - 1, -value + 1))
        case ast.UnaryOp(operand=operand) | ast.Attribute(attr="T" | "mT", value=operand):
            yield operand
        case ast.Constant(value=value):
            yield from (changed(node, value=other) for other in other_values(value))
        case ast.Name(id=name) if name in OTHER_NAME and isinstance(node.ctx, ast.Load):
            yield changed(node, id=OTHER_NAME[name])
        case ast.Attribute(attr=name) if name in OTHER_NAME and isinstance(node.ctx, ast.Load):
            yield changed(node, attr=OTHER_NAME[name])
        case ast.Call():
            yield from other_calls(node)
        case ast.Slice(lower=lower, upper=upper, step=step):
            parts = {"lower": lower, "upper": upper, "step": step}
            yield from (changed(node, **{name: None}) for name, part in parts.items() if part)
        case ast.Tuple(elts=elements, ctx=ast.Load()) | ast.List(elts=elements, ctx=ast.Load()):
            yield from (changed(node, elts=other) for other in swapped(elements))
        case _:
            yield from other_statements(node)


def other_values(value):
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    if isinstance(value, float):
        return [2 * value, 0.0] if value else [1.0]
    return []


def other_calls(call):
    """A call with an argument less or in another place, or not made at all."""
    for i in range(len(call.args) if len(call.args) > 1 else 0):
        yield changed(call, args=without(call.args, i))
    for i in range(len(call.keywords)):
        yield changed(call, keywords=without(call.keywords, i))
    yield from (changed(call, args=args) for args in swapped(call.args))
    function = call.func
    name = getattr(function, "attr", getattr(function, "id", ""))
    if name in CALLS_THAT_STAY or name[:1].isupper():
        return
    is_method = isinstance(function, ast.Attribute) and name != "backward"
    if is_method and getattr(function.value, "id", None) not in ("np", "math", "self"):
        yield function.value
    elif name == "where":
        yield from call.args[1:]
    elif call.args and not isinstance(call.args[0], ast.Starred):
        yield call.args[0]


def other_statements(node):
    """A condition turned round, a result negated, a sum replaced, a line left out."""
    match node:
        case ast.If(test=test) | ast.IfExp(test=test):
            if not isinstance(test, (ast.Compare, ast.UnaryOp)):
                yield changed(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Return(value=ast.Tuple(elts=elements) as result):
            for i, element in enumerate(elements):
                if not is_cache(element):
                    minus = [*elements[:i], ast.UnaryOp(ast.USub(), element), *elements[i + 1 :]]
                    yield changed(node, value=changed(result, elts=minus))
        case ast.Return(value=ast.Constant(value=0)):                  # -0 is 0
            return
        case ast.Return(value=ast.expr() as result) if not is_cache(result):
            yield changed(node, value=ast.UnaryOp(ast.USub(), result))
        case ast.AugAssign(target=target, op=op, value=value):
            yield changed(node, op=OTHER_OPERATOR[type(op)][0]())
            yield ast.Assign([target], value, lineno=node.lineno)
            yield ast.Pass()
        case ast.Assign():
            yield ast.Pass()
        case ast.Expr(value=ast.Call(func=function)):  # the name stays: `super` needs its cell
            yield changed(node, value=function)


def is_cache(node):
    """A Cache, a layer or another object that cannot be negated."""
    name = getattr(node, "func", node)
    name = getattr(name, "attr", getattr(name, "id", ""))
    return name in NO_ARRAY or name[:1].isupper()
