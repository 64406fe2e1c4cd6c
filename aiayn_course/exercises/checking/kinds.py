"""The table of kinds of edits: mistakes that may be made in any formula, the likeliest first.

Each kind has its question, its sentence and its rules. A rule replaces one piece of a formula by
other code. It is a tuple (pattern, code, piece): in a pattern A, B, C and D stand for any
expression, N for the name of an array, G for that of an argument, R for the right side of a line,
E for a result. A rule may also be a function of a Place and of Names that yields (code, piece,
names in the key).
"""

import ast
import functools
import itertools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

OTHERS = {  # names of functions that are easily taken for each other
    "sum": ("mean", "max"), "mean": ("sum", "max"), "max": ("min", "mean"), "min": ("max",),
    "any": ("all",), "all": ("any",), "argmax": ("argmin",), "sin": ("cos",), "cos": ("sin",),
    "log": ("log2", "log10"), "maximum": ("minimum",),
}
COMPARED = "==", "!=", "<", "<=", ">", ">="
SIZED = "np.arange", "np.eye", "range"  # what they are given is a size, and no fixed number
WILD = re.compile(r"\b[A-EGNR]\b")
INDICES = "-1", "-2", "0", "1"

text = functools.cache(ast.unparse)


@functools.cache
def parsed(pattern):
    return ast.parse(pattern, mode="eval").body


class Names:
    """The names that a formula uses: its arrays, arguments, layers, caches and sizes."""

    def __init__(self, tree):
        nodes = list(ast.walk(tree))
        self.arguments = [n.arg for n in nodes if isinstance(n, ast.arg) and n.arg != "self"]
        given = [n for n in self.arguments if n not in ("model", "parameters", "cache")]
        self.arrays = dict.fromkeys(given, 0)                          # name: line that makes it
        for n in nodes:
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
                self.arrays.setdefault(n.id, n.lineno)
        self.sizes = " ".join(text(n) for n in nodes if isinstance(n, ast.Call)
                              and text(n.func) in SIZED)
        self.parts, self.caches = (list(dict.fromkeys(
            text(n) for n in nodes if isinstance(n, ast.Attribute) and text(n.value) == owner))
            for owner in ("self", "cache"))


class Kind(NamedTuple):
    """One kind of mistake.

    key : its name, such as "sign". {function}, {option} and {name} in it are the piece
    question, sentence : what leads to the mistake, and what names it; {piece} is the code that is
        missing, or too much
    rules : what the mistake may do to a formula
    is_device : whether the wrong code only makes the numbers of the mistake, and nobody writes it
    is_missing : whether the sentence says that something is missing, which must be seen
    is_instead : whether what the wrong code calls must stand there more often than in the formula
    speaks : whether the sentence speaks of {piece} as of something that the student has
    """

    key: str
    question: str
    sentence: str
    rules: tuple[tuple[str, str, str] | Callable, ...]
    is_device: bool = False
    is_missing: bool = False
    is_instead: bool = False
    speaks: bool = False

    def codes(self, place, names):
        """Yield (code, piece, key) of each wrong code that may stand in a place."""
        for rule in self.rules:
            found = rule(place, names) if callable(rule) else replaced(place, names, *rule)
            for code, piece, *more in found or ():
                filled = more[0] if more else dict(function=piece, option=piece, name=piece)
                yield code, piece, self.key.format(**filled)


def replaced(place, names, pattern, code, piece):
    """Yield (code, piece) if a place fits a pattern.

    With N or G in the code alone it is done once for each array in the place, or each argument.

    The numbers of an index and of an axis are left to the kinds for them.
    """
    found: dict[str, str] = {}
    if is_index(place) or isinstance(place.parents[-1], ast.keyword) or not fits(
            pattern, place, names, found):
        return
    used = {n.id for n in ast.walk(place.node) if isinstance(n, ast.Name)} & names.arrays.keys()
    open_one = re.search(r"\b[GN]\b", code)
    given = dict(N=sorted(used), G=names.arguments)
    for whole in [found] if not open_one or open_one[0] in found else [
            dict(found, **{open_one[0]: name}) for name in given[open_one[0]]]:
        yield filled(code, {wild: f"({some})" for wild, some in whole.items()}), filled(
            piece, whole)


def filled(code, found):
    """Return code with what its letters stand for."""
    return WILD.sub(lambda wild: found[wild[0]], code)


def fits(pattern, place, names, found):
    """Tell whether a place fits a pattern, and write down what its letters stand for."""
    if pattern in PLACES:
        found[pattern] = text(place.node)
        return PLACES[pattern](place, names)
    return place.field != "func" and alike(parsed(pattern), place.node, found)


def alike(pattern, node, found):
    """Tell whether a syntax tree is that of a pattern, and write down what its letters stand for.
    """
    if isinstance(pattern, ast.Name) and WILD.fullmatch(pattern.id):
        found[pattern.id] = text(node)
        return isinstance(node, ast.expr)
    if isinstance(pattern, list):
        return len(pattern) == len(node) and all(
            alike(one, other, found) for one, other in zip(pattern, node))
    if not isinstance(pattern, ast.AST):
        return pattern == node
    return type(pattern) is type(node) and all(
        alike(getattr(pattern, name), getattr(node, name), found) for name in pattern._fields
        if name != "ctx")


def is_array(place, names):
    """Tell whether a place holds the name of an array, and not of a function that is called."""
    return isinstance(place.node, ast.Name) and place.field != "func" and (
        place.node.id in names.arrays)


def is_whole(place, names):
    """Tell whether a place is the right side of a line, or a result."""
    return isinstance(place.parents[-1], (ast.Return, ast.Dict, ast.Assign, ast.AugAssign)) and (
        not isinstance(place.node, (ast.Name, ast.Constant, ast.Dict, ast.Tuple)))


def is_result(place, names):
    """Tell whether a place is what a formula returns, or what it adds to a gradient."""
    return is_whole(place, names) and not isinstance(place.parents[-1], ast.Assign)


PLACES = {"N": is_array, "R": is_whole, "E": is_result, "G": lambda place, names: is_array(
    place, names) and place.node.id in names.arguments}


def is_index(place):
    """Tell whether a place holds a number in brackets, such as the -1 of x[:, -1]."""
    around = itertools.dropwhile(lambda p: isinstance(p, (ast.UnaryOp, ast.Tuple, ast.Slice)),
                                 reversed(place.parents))
    return isinstance(place.node, ast.expr) and re.fullmatch(r"-?\d+", text(place.node)) and (
        isinstance(next(around), ast.Subscript))


def left_out_line(place, names):
    if isinstance(place.node, (ast.AugAssign, ast.Expr, ast.Break)):
        yield "pass", text(place.node)


def of_a_call(find):
    """Return a rule that gives `find` a call, its name, its arguments and its options."""
    def found(place, names):
        node = place.node
        if isinstance(node, ast.Call):
            yield from find(node, text(node.func).rpartition(".")[2], [*map(text, node.args)],
                            [*map(text, node.keywords)])
    return found


def written(node, args, options, function=None):
    """Return the code of a call with other arguments, or of another function."""
    return f"{function or text(node.func)}({', '.join([*args, *options])})"


@of_a_call
def left_out(node, name, args, options):
    is_method = name in ("forward", "backward")
    yield from ((arg, text(node.func.value) if is_method else name, dict(function=name))
                for arg in args if arg[0] != "*" and name != "sqrt")


@of_a_call
def another_function(node, name, args, options):
    for other in OTHERS.get(name, ()):
        function = text(node.func).removesuffix(name) + other
        yield written(node, args, options, function), other, dict(function=name, other=other)


def wrong_axis(place, names):
    if getattr(place.parents[-1], "arg", "") == "axis":
        yield from ((axis, axis) for axis in (*INDICES, "None") if axis != text(place.node))


@of_a_call
def not_passed_on(node, name, args, options):
    for i, option in enumerate(node.keywords):
        if option.arg not in ("axis", "keepdims", "dtype"):
            yield written(node, args, options[:i] + options[i + 1 :]), option.arg


def another_array(place, names):
    if is_array(place, names):
        is_size = getattr(place.parents[-1], "attr", "") == "shape"
        yield from ((name, name) for name, line in names.arrays.items()
                    if name != place.node.id and line < place.node.lineno
                    and not (is_size and name[:5] == "grad_"))


def another_part(place, names):
    if text(place.node) in names.parts:
        yield from ((part, part) for part in names.parts if part != text(place.node))


def ignored(place, names):
    if isinstance(place.node, ast.Compare):
        yield f"({text(place.node)}) | True", text(place.node)


def another_comparison(place, names):
    if isinstance(place.node, ast.Compare):
        left, right = text(place.node.left), text(place.node.comparators[0])
        yield from ((f"({left}) {other} ({right})", "") for other in COMPARED
                    if text(place.node) in (f"{left} {some} {right}" for some in COMPARED))


def another_index(of_a_shape):
    """Return a rule that changes the index of a shape if `of_a_shape`, else those of arrays."""
    def find(place, names):
        holder = place.parents[-1]
        if is_index(place) and not isinstance(holder, ast.UnaryOp) and (
                (".shape[" in text(holder)) == of_a_shape):
            yield from ((i, i) for i in INDICES if i != text(place.node))
    return find


def axes_left_out(place, names):
    if isinstance(place.node, ast.Subscript) and "None" in text(place.node.slice):
        yield text(place.node.value), ""


def off_by_one(place, names):
    if is_array(place, names) and place.node.id[:5] != "grad_" and not isinstance(
            place.parents[-1], ast.keyword):
        code = text(place.node)
        yield from ((f"({code} {sign} 1)", code) for sign in "+-")


def another_number(place, names):
    value: Any = getattr(place.node, "value", None)
    if isinstance(place.node, ast.Constant) and type(value) in (int, float) and (
            not is_index(place)):
        for number in (f"{value + 1}", f"({value - 1})", f"-{value}", f"{2 * value:g}"):
            yield number, number


def fixed(place, names):
    """Yield a number of the student's code for what may be one number that is given."""
    code = text(place.node)
    short = code.rpartition(".")[2]
    if not isinstance(place.parents[-1], ast.Attribute) and place.field != "func" and (
            short not in names.sizes):
        if code in names.arguments or re.fullmatch(r"(self|model)\.\w+", code):
            yield f"number({code})", short
        if code.startswith("math.sqrt("):
            yield f"number({code})", code, dict(name="scale")


HAND = "Compute one of these numbers by hand: where do you get something else?"
TERM = "Which term of the formula is not there?"
CONDITION = "Which condition of the formula is not there?"
STEP = "Which step of the formula is not there?"
MORE = "What is there that the formula does not have?"
NUMBER, SIGN = "Which number does the formula have here?", "Which sign does the formula have here?"
DIVIDED = "Does the formula multiply here, or divide?"
ARRAY = "Which array does the formula have at this place?"
MOVED = "Follow one number: where does it stand before, and where after?"
ORDER = "What is computed first, and what must be?"
FUNCTION = "Which function does the formula have here?"
OPPOSITE = "Where must the values be positive, or True, and where are yours?"
INVERTED = "It is as if {piece} were turned into its opposite"
LEFT_OUT = "It is as if {piece} were left out"
SUM_OF = "(A * B).sum(axis=-1, keepdims=True)"
EXCHANGED = Kind("exchanged", ARRAY, "It is as if two things were exchanged", ())
LIKELY = (
    Kind("line left out", "Which line is not there, or comes too late?",
         "It is as if {piece} were left out, or came too late", (left_out_line,), is_device=True),
    Kind("whole-number division", "What is 5 / 2, and what is 5 // 2?",
         "It is as if `//` divided, to whole numbers", (("A / B", "A // B", ""),)),
    Kind("computed and not added", STEP, "It is as if {piece} were computed and not added",
         (("A + B.backward(C, D)", "(B.backward(C, D), A)[1]", "B.backward(C, D)"),),
         is_device=True),
    Kind("term left out", TERM, "It is as if the term {piece} were missing",
         (("A + B", "A", "B"), ("A + B", "B", "A"), ("A - B", "-B", "A"), ("A - B", "A", "B"))),
    Kind("sign", SIGN, "It is as if the sign of {piece} were the other",
         (("A + B", "A - B", "B"), ("A - B", "A + B", "B"), ("-A", "A", "A")), speaks=True),
    Kind("condition left out", CONDITION, "It is as if the condition {piece} were not there",
         (("A & B", "A", "B"), ("A & B", "B", "A"), ("A | B", "A", "B"), ("A | B", "B", "A"))),
    Kind("condition ignored", CONDITION, "It is as if the condition {piece} had no effect",
         (ignored,), is_device=True, is_missing=True),
    Kind("{function} left out", STEP, LEFT_OUT, (left_out,), is_missing=True),
    Kind("sqrt left out", "What does the formula divide by a root, and how often?",
         "It is as if `sqrt` were left out, or divided by twice",
         (("math.sqrt(A)", "A", ""), ("np.sqrt(A)", "A", ""))),
    Kind("wrong axis", "Which axis does the formula name here, and which one does your code?",
         "It is as if axis {piece} stood here", (wrong_axis,)),
    Kind("{option} not passed on", "Which call must get an option, and what does yours get?",
         "It is as if {piece} were not passed on, or had no effect", (not_passed_on,)),
    Kind("{other} instead of {function}", FUNCTION, "It is as if {piece} stood here",
         (another_function,), is_instead=True),
    Kind("power left out", "Which power of the formula is not there?",
         "It is as if the power {piece} were missing", (("A ** B", "A", "B"),)),
    Kind("factor left out", "Which factor of the formula is not there?",
         "It is as if the factor {piece} were missing",
         (("A * B", "A", "B"), ("A * B", "B", "A"), ("A / B", "A", "B"))),
    Kind("product instead of sum", MORE, "It is as if a product stood in place of a sum",
         (("A + B", "A * B", ""),)),
    Kind("divided", DIVIDED, "It is as if a division by {piece} stood here, and no product",
         (("A * B", "A / B", "B"),), speaks=True),
    Kind("multiplied", DIVIDED, "It is as if a product with {piece} stood here, and no division",
         (("A / B", "A * B", "B"),), speaks=True),
    Kind("the opposite", OPPOSITE, INVERTED, (("np.where(A, B, C)", "np.where(A, C, B)", "A"),)),
    Kind("another size", "Of which axis is the length that must stand here?",
         "It is as if the length of another axis stood here", (another_index(True),)),
    Kind("another index", "Which entries must be picked here?",
         "It is as if another entry were picked", (another_index(False),)),
    Kind("reshape for a transpose", MOVED, "A reshape keeps the order of the numbers. It cannot"
         " exchange axes", (("A.T", "A.reshape(A.T.shape)", ""),
                            ("A.mT", "A.reshape(A.mT.shape)", ""),
                            ("A.swapaxes(B, C)", "A.reshape(A.swapaxes(B, C).shape)", ""))),
)
OTHER_KINDS = (
    Kind("sign", SIGN, "It is as if the sign of {piece} were the other",
         (("A - B", "B - A", "A - B"),)),
    Kind("another array", ARRAY, "It is as if {piece} stood in place of another array",
         (another_array,)),
    Kind("another part", "Which part of the layer does the formula have here?",
         "It is as if {piece} stood in place of another part", (another_part,)),
    EXCHANGED,
    Kind("brackets", ORDER, "It is as if brackets stood elsewhere",
         (("A ** (B / C)", "A ** B / C", ""), ("A * B ** C", "(A * B) ** C", ""),
          ("A / B ** C", "(A / B) ** C", ""), ("A - B ** C", "(A - B) ** C", ""),
          ("A * B + C", "A * (B + C)", ""), ("A @ B + C", "A @ (B + C)", ""))),
    Kind("another comparison", "What must come out where both sides are equal, and where one is"
         " larger?", "It is as if another comparison stood here", (another_comparison,)),
    Kind("the opposite", OPPOSITE, INVERTED, (("A * B", "A * ~B", "B"),)),
    Kind("{name} is fixed", "Which number here must follow an argument?", "It is as if a fixed"
         " number stood in place of {piece}", (fixed,)),
    Kind("off by one", NUMBER, "It is as if {piece} were one larger or one smaller",
         (off_by_one,), speaks=True),
    Kind("another number", NUMBER, "It is as if the number {piece} stood here",
         (another_number,), speaks=True),
    Kind("axes not inserted", "How many axes must the array have, and which of them have length 1?",
         "It is as if no axis were inserted (None in an index puts in one of length 1)",
         (axes_left_out,)),
    Kind("replaced by zeros", STEP, "It is as if {piece} were 0 everywhere",
         (("G", "np.zeros_like(G)", "G"),), is_device=True),
    Kind("something added", MORE, "It is as if {piece} were added, too", (("E", "E + G", "G"),)),
    Kind("factor", MORE, "It is as if there were one factor more, {piece}",
         (("E", "E * G", "G"), ("E", "E / len(N)", "1 / len(N)"),
          ("E", "E * math.sqrt(G.shape[-1])", "math.sqrt(G.shape[-1])"),
          ("E", "E / math.sqrt(G.shape[-1])", "1 / math.sqrt(G.shape[-1])"),
          ("R", "R * 2", "2"), ("R", "R * 0.5", "0.5"), ("R", "R * (np.pi / 180)", "np.pi / 180"),
          ("R", "R * np.log2(np.e)", "np.log2(np.e)")), is_device=True),
    Kind("factor outside of the sum", ORDER, "It is as if {piece} stood outside of the sum",
         ((SUM_OF, SUM_OF.replace("(A * B)", "A * B"), "A"),
          (SUM_OF, SUM_OF.replace("(A * B)", "B * A"), "B"))),
    Kind("a function too many", MORE, "It is as if {piece} were applied, too",
         (("R", "np.sqrt(R)", "np.sqrt"), ("R", "np.abs(R)", "np.abs"),
          ("E", "np.maximum(E, 0)", "np.maximum"), ("E", "np.round(E, 4)", "np.round"))),
)
KINDS = LIKELY + OTHER_KINDS
