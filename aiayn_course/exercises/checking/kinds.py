"""Kinds of mistakes that may be made in any formula, each with its question and its sentence.

A kind finds the places of a formula in which it may be made, and the wrong code that stands there
then. The kinds are tried in their order, the likeliest first.
"""

import ast
import copy
import functools
import itertools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

OTHERS = {  # names of functions that are easily taken for each other
    "sum": ("mean", "max", "prod", "std"), "mean": ("sum", "max"), "max": ("min", "mean", "sum"),
    "min": ("max",), "any": ("all",), "all": ("any",), "argmax": ("argmin",), "sin": ("cos",),
    "cos": ("sin",), "log": ("log2", "log10", "log1p"), "exp": ("exp2", "expm1"),
    "sqrt": ("abs", "square"), "maximum": ("minimum", "add"),
}
COMPARED = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
SIZED = "np.arange", "np.eye", "range"  # what they are given is a size, and no fixed number
TRANSPOSES = "reshape", "swapaxes", "mT", "T"

text = functools.cache(ast.unparse)


@functools.cache
def normal(code):
    """Return code as `text` writes it."""
    return ast.unparse(ast.parse(code))


class Names:
    """The names that a formula uses: its arrays, arguments, layers, caches and sizes."""

    def __init__(self, tree):
        nodes = list(ast.walk(tree))
        self.arguments = [n.arg for n in nodes if isinstance(n, ast.arg) and n.arg != "self"]
        stored = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        given = [n for n in self.arguments if n not in ("model", "parameters", "cache")]
        self.arrays = list(dict.fromkeys([*given, *stored]))
        self.sizes = [n for n in nodes if isinstance(n, ast.Call) and text(n.func) in SIZED]
        self.parts, self.caches = (list(dict.fromkeys(
            text(n) for n in nodes if isinstance(n, ast.Attribute) and text(n.value) == owner))
            for owner in ("self", "cache"))


class Kind(NamedTuple):
    """One kind of mistake.

    key : its name, such as "sign". A pattern such as "{function} left out" is filled with what a
        finder gives
    question, sentence : what leads to the mistake, and what names it; {piece} is the code that is
        missing, or too much
    finders : functions of a Place and of Names, which give (code, piece, what fills the key)
    is_device : whether the wrong code only makes the numbers of the mistake, and nobody writes it
    is_missing : whether the sentence says that something is missing, which must be seen
    is_instead : whether what the wrong code calls must stand there more often than in the formula
    speaks : whether the sentence speaks of {piece} as of something that the student has
    """

    key: str
    question: str
    sentence: str
    finders: tuple[Callable, ...]
    is_device: bool = False
    is_missing: bool = False
    is_instead: bool = False
    speaks: bool = False

    def codes(self, place, names):
        """Yield (code, piece, key) of each wrong code that may stand in a place."""
        for finder in self.finders:
            for code, *more in finder(place, names) or ():
                piece = more[0] if more else ""
                filled = more[1] if len(more) > 1 else {}
                yield code, piece, self.key.format(**filled)


def operator(types, *templates):
    """Return a finder of other code for an operator; {l} and {r} are its sides."""
    def find(place, names):
        node = place.node
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, types):
            return
        sides = dict(l=f"({text(node.left)})", r=f"({text(node.right)})")
        for code, *piece in templates:
            is_one = code == "{l}" and isinstance(node.left, ast.Constant)  # the 1 of 1 - x alone
            if not (is_one and isinstance(node.op, ast.Sub)):
                yield code.format(**sides), *(some.format(**sides) for some in piece)
    return find


def named(*templates):
    """Return a finder of other code for the name of an array; {0} is the name."""
    def find(place, names):
        if is_array(place, names) and not isinstance(place.parents[-1], ast.keyword):
            yield from ((code.format(text(place.node)), text(place.node)) for code in templates)
    return find


def is_array(place, names):
    """Tell whether a place holds the name of an array, and not of a function that is called."""
    return isinstance(place.node, ast.Name) and place.field != "func" and (
        place.node.id in names.arrays)


def whole(*templates):
    """Return a finder of other code for the right side of a line, or for a result."""
    def find(place, names):
        if isinstance(place.parents[-1], (ast.Return, ast.Dict, ast.Assign, ast.AugAssign)) and (
                not isinstance(place.node, (ast.Name, ast.Constant, ast.Dict, ast.Tuple))):
            yield from ((code.format(text(place.node)), piece) for code, piece in templates)
    return find


def left_out_line(place, names):
    if isinstance(place.node, (ast.AugAssign, ast.Expr, ast.Break)):
        yield "pass", text(place.node)


def sign_of_one(place, names):
    if isinstance(place.node, ast.UnaryOp) and not is_index(place) and not isinstance(
            place.parents[-1], ast.keyword):
        yield f"({text(place.node.operand)})", text(place.node.operand)


def not_added(place, names):
    node = place.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and (
            ".backward(" in text(node.right)):
        yield f"({text(node.right)}, {text(node.left)})[1]", text(node.right)


def of_a_call(find):
    """Return a finder that gives `find` a call, its name, its arguments and its options."""
    def found(place, names):
        node = place.node
        if isinstance(node, ast.Call):
            yield from find(node, text(node.func).rpartition(".")[2], [*map(text, node.args)],
                            [*map(text, node.keywords)])
    return found


def written(node, args, options, function=None):
    """Return the code of a call with other arguments, or of another function."""
    return f"{function or text(node.func)}({', '.join([*args, *options])})"


def left_out(is_root, is_part=False):
    """Return a finder that leaves out a function: a square root, a part of self, another one."""
    @of_a_call
    def find(node, name, args, options):
        of_self = name in ("forward", "backward") or text(node.func).startswith("self.")
        part = text(node.func.value) if name in ("forward", "backward") else name
        yield from ((arg, part, dict(function=name)) for arg in args if not arg.startswith("*")
                    and (name == "sqrt", of_self) == (is_root, is_part))
    return find


@of_a_call
def another_function(node, name, args, options):
    for other in OTHERS.get(name, ()):
        function = text(node.func).removesuffix(name) + other
        yield written(node, args, options, function), other, dict(function=name, other=other)


@of_a_call
def wrong_axis(node, name, args, options):
    for i, option in enumerate(node.keywords):
        for axis in ("-1", "-2", "0", "1", "None") if option.arg == "axis" else ():
            if axis != text(option.value):
                yield written(node, args, [*options[:i], f"axis={axis}", *options[i + 1 :]]), axis


@of_a_call
def not_passed_on(node, name, args, options):
    for i, option in enumerate(node.keywords):
        if option.arg not in ("axis", "keepdims", "dtype"):
            rest = options[:i] + options[i + 1 :]
            yield written(node, args, rest), option.arg, dict(option=option.arg)


def exchanged_arguments(is_condition):
    """Return a finder of two arguments in another order; of `where`, those inverted by it."""
    @of_a_call
    def find(node, name, args, options):
        for j, i in itertools.combinations(range(len(args)), 2):
            other = [*args[:j], args[i], *args[j + 1 : i], args[j], *args[i + 1 :]]
            if is_condition == (name == "where" and j > 0):
                yield written(node, other, options), args[0]
    return find


@of_a_call
def outside_of_the_sum(node, name, args, options):
    inner = getattr(node.func, "value", None)
    if isinstance(inner, ast.BinOp) and name in ("sum", "mean"):
        for a, b in itertools.permutations((text(inner.left), text(inner.right))):
            yield f"({a}) * ({b}).{written(node, args, options, name)}", a


def transposes(template):
    """Return a finder of other code for a reshape or transpose of {owner}."""
    def find(place, names):
        node = place.node.func if isinstance(place.node, ast.Call) else place.node
        if isinstance(node, ast.Attribute) and node.attr in TRANSPOSES and place.field != "func":
            yield (template.format(owner=text(node.value), code=text(place.node)), node.attr,
                   dict(function=node.attr))
    return find


@of_a_call
def reshape_instead(node, name, args, options):
    if len(args) == 1 and not options:
        yield f"({args[0]}).reshape({text(node)}.shape)",


def another_array(of_a_backward):
    """Return a finder of other arrays; of gradients that a backward is given, or of all others."""
    def find(place, names):
        if is_array(place, names):
            holder = place.parents[-1]
            passed = text(getattr(holder, "func", place.node)).endswith(".backward")
            is_size = isinstance(holder, ast.Attribute) and holder.attr == "shape"
            yield from ((name, name) for name in names.arrays if name != place.node.id
                        and (passed and name[:5] == "grad_") == of_a_backward
                        and not (is_size and name[:5] == "grad_"))
    return find


def another_part(place, names):
    if isinstance(place.node, ast.Attribute) and text(place.node.value) == "self":
        yield from ((part, part) for part in names.parts if part != text(place.node))


def brackets(place, names):
    node = place.node
    if not isinstance(node, ast.BinOp):
        return
    one, other = node.left, node.right
    if isinstance(other, ast.BinOp):                                   # (a * b) ** c
        yield ast.unparse(ast.BinOp(ast.BinOp(one, node.op, other.left), other.op, other.right)),
    if isinstance(one, ast.BinOp):                                     # a + (b * c), (a * c) + b
        yield ast.unparse(ast.BinOp(one.left, one.op, ast.BinOp(one.right, node.op, other))),
        yield ast.unparse(ast.BinOp(ast.BinOp(one.left, node.op, other), one.op, one.right)),


def some_terms(place, names):
    terms = terms_of(place.node)
    for count in range(1, len(terms) - 1):
        yield from ((" + ".join(some),) for some in itertools.combinations(terms, count))


def terms_of(node):
    """List the terms of a sum, each with its sign."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub))):
        return [text(node)]
    sign = "-" if isinstance(node.op, ast.Sub) else ""
    return [*terms_of(node.left), f"{sign}({text(node.right)})"]


def ignored(place, names):
    if isinstance(place.node, ast.Compare):
        yield f"({text(place.node)}) | True", text(place.node)
    if isinstance(place.node, ast.IfExp):
        yield from ((text(branch), text(place.node.test))
                    for branch in (place.node.body, place.node.orelse))


def another_comparison(place, names):
    node = place.node
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], COMPARED):
        for other in COMPARED:
            if not isinstance(node.ops[0], other):
                new = copy.copy(node)
                new.ops = [other()]
                yield ast.unparse(new),


def is_index(place):
    """Tell whether a place holds a number in brackets, such as the -1 of x[:, -1]."""
    around = itertools.dropwhile(lambda p: isinstance(p, (ast.UnaryOp, ast.Tuple, ast.Slice)),
                                 reversed(place.parents))
    return isinstance(place.node, ast.expr) and re.fullmatch(r"-?\d+", text(place.node)) and (
        isinstance(next(around), ast.Subscript))


def another_index(of_a_shape):
    """Return a finder of other indices: of a shape, which is a size, or of another array."""
    def find(place, names):
        holder = place.parents[-1]
        if is_index(place) and not isinstance(holder, ast.UnaryOp) and (
                (".shape[" in text(holder)) == of_a_shape):
            yield from ((i, i) for i in ("-1", "-2", "0", "1") if i != text(place.node))
    return find


def axes_left_out(place, names):
    if isinstance(place.node, ast.Subscript) and "None" in text(place.node.slice):
        yield text(place.node.value),


def off_by_one(place, names):
    node, code = place.node, text(place.node)
    if isinstance(node, ast.Subscript) and ".shape[" in code:
        yield f"({code} - 1)", code
    if is_array(place, names) and not isinstance(place.parents[-1], ast.keyword):
        yield from ((f"({code} {sign} 1)", code) for sign in "+-")


def another_number(place, names):
    node = place.node
    value: Any = getattr(node, "value", None)
    if isinstance(node, ast.Constant) and type(value) in (int, float) and not is_index(place):
        for number in (f"{value + 1}", f"({value - 1})", f"-{value}", f"{2 * value:g}"):
            yield number, number


def fixed(place, names):
    """Yield a number of the student's code for what may be one number that is given."""
    node, code = place.node, text(place.node)
    short = code.rpartition(".")[2]
    if isinstance(place.parents[-1], ast.Attribute) or place.field == "func" or any(
            short in text(size) for size in names.sizes):
        return
    of_self = isinstance(node, ast.Attribute) and text(node.value) in ("self", "model")
    if of_self or (isinstance(node, ast.Name) and code in names.arguments):
        yield f"number({code})", short, dict(name=short)
    if code.startswith("math.sqrt("):
        yield f"number({code})", code, dict(name="scale")


def in_another_order(place, names):
    holder = place.parents[-1]
    if isinstance(holder, ast.Assign) and isinstance(holder.targets[0], ast.Tuple) and (
            isinstance(place.node, ast.Call)):
        yield f"{text(place.node)}[::-1]",


def one_more(template):
    """Return a finder of results that have one array more, as a factor or as a term."""
    def find(place, names):
        if isinstance(place.parents[-1], (ast.Return, ast.Dict)) and isinstance(
                place.node, (ast.BinOp, ast.Call)):
            yield from ((template.format(text(place.node), name), name) for name in names.arrays)
    return find


def root_more(place, names):
    if isinstance(place.parents[-1], ast.Return) and isinstance(place.node, ast.BinOp):
        for root in (f"math.sqrt({name}.shape[-1])" for name in names.arguments):
            yield f"({text(place.node)}) * {root}", root
            yield f"({text(place.node)}) / {root}", f"1 / {root}"


def mean_instead(place, names):
    if isinstance(place.parents[-1], ast.AugAssign) and isinstance(place.node, ast.BinOp):
        for name in names.arrays:
            yield f"({text(place.node)}) / len({name})", f"1 / len({name})"


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
STOOD = "It is as if {piece} stood here"
LEFT_OUT = "It is as if {piece} were left out"
LIKELY = (
    Kind("line left out", "Which line is not there, or comes too late?",
         "It is as if {piece} were left out, or came too late", (left_out_line,), is_device=True),
    Kind("whole-number division", "What is 5 / 2, and what is 5 // 2?",
         "It is as if `//` divided, to whole numbers", (operator(ast.Div, ("{l} // {r}",)),)),
    Kind("computed and not added", STEP, "It is as if {piece} were computed and not added",
         (not_added,), is_device=True),
    Kind("term left out", TERM, "It is as if the term {piece} were missing",
         (operator(ast.Add, ("{l}", "{r}"), ("{r}", "{l}")),
          operator(ast.Sub, ("{l}", "{r}"), ("-{r}", "{l}")))),
    Kind("sign", SIGN, "It is as if the sign of {piece} were the other",
         (operator(ast.Add, ("{l} - {r}", "{r}")), operator(ast.Sub, ("{l} + {r}", "{r}")),
          sign_of_one), speaks=True),
    Kind("condition left out", CONDITION, "It is as if the condition {piece} were not there",
         (operator((ast.BitAnd, ast.BitOr), ("{l}", "{r}"), ("{r}", "{l}")),)),
    Kind("condition ignored", CONDITION, "It is as if the condition {piece} had no effect",
         (ignored,), is_device=True, is_missing=True),
    Kind("{function} left out", STEP, LEFT_OUT, (left_out(False), transposes("{owner}")),
         is_missing=True),
    Kind("{function} left out", STEP, LEFT_OUT, (left_out(False, is_part=True),)),
    Kind("sqrt left out", "What does the formula divide by a root, and how often?",
         "It is as if `sqrt` were left out, or divided by twice", (left_out(True),)),
    Kind("wrong axis", "Which axis does the formula name here, and which one does your code?",
         "It is as if axis {piece} stood here", (wrong_axis,)),
    Kind("{option} not passed on", "Which call must get an option, and what does yours get?",
         "It is as if {piece} were not passed on, or had no effect", (not_passed_on,)),
    Kind("results in another order", "In which order are they returned?",
         "It is as if results came in another order", (in_another_order,)),
    Kind("{other} instead of {function}", FUNCTION, STOOD, (another_function,),
         is_instead=True),
    Kind("power left out", "Which power of the formula is not there?",
         "It is as if the power {piece} were missing", (operator(ast.Pow, ("{l}", "{r}")),)),
    Kind("factor left out", "Which factor of the formula is not there?",
         "It is as if the factor {piece} were missing",
         (operator(ast.Mult, ("{l}", "{r}"), ("{r}", "{l}")),
          operator(ast.Div, ("{l}", "{r}"), ("1 / {r}", "{l}")))),
    Kind("terms left out", TERM, "It is as if terms were missing", (some_terms,)),
    Kind("product instead of sum", MORE, "It is as if a product stood in place of a sum",
         (operator(ast.Add, ("{l} * {r}",)),)),
    Kind("divided", DIVIDED, "It is as if a division by {piece} stood here, and no product",
         (operator(ast.Mult, ("{l} / {r}", "{r}")),), speaks=True),
    Kind("multiplied", DIVIDED, "It is as if a product with {piece} stood here, and no division",
         (operator(ast.Div, ("{l} * {r}", "{r}")),), speaks=True),
    Kind("factor twice", MORE, "It is as if the factor {piece} came in twice",
         (operator(ast.Mult, ("{l} * {r} * {r}", "{r}")),
          operator(ast.Div, ("{l} / {r} / {r}", "{r}"))), speaks=True),
    Kind("the opposite", OPPOSITE, INVERTED, (exchanged_arguments(True),)),
    Kind("order of the arguments", ARRAY, "It is as if the arguments came in another order",
         (exchanged_arguments(False),)),
    Kind("another size", "Of which axis is the length that must stand here?",
         "It is as if the length of another axis stood here", (another_index(True),)),
    Kind("another index", "Which entries must be picked here?",
         "It is as if another entry were picked", (another_index(False),)),
    Kind("reshape for a transpose", MOVED, "A reshape keeps the order of the numbers. It cannot"
         " exchange axes", (transposes("{owner}.reshape({code}.shape)"),)),
)
OTHER_KINDS = (
    Kind("another gradient", "The gradient of whose output must arrive here?",
         "It is as if {piece} arrived where the gradient of this part's own output belongs",
         (another_array(True),)),
    Kind("another array", ARRAY, "It is as if {piece} stood in place of another array",
         (another_array(False),)),
    Kind("another part", "Which part of the layer does the formula have here?",
         "It is as if {piece} stood in place of another part", (another_part,)),
    Kind("exchanged", ARRAY, "It is as if two things were exchanged", ()),
    Kind("brackets", ORDER, "It is as if brackets stood elsewhere", (brackets,)),
    Kind("another comparison", "What must come out where both sides are equal, and where one is"
         " larger?", "It is as if another comparison stood here", (another_comparison,)),
    Kind("{name} is fixed", "Which number here must follow an argument?", "It is as if a fixed"
         " number stood in place of {piece}", (fixed,)),
    Kind("off by one", NUMBER, "It is as if {piece} were one larger or one smaller",
         (off_by_one,), speaks=True),
    Kind("another number", NUMBER, "It is as if the number {piece} stood here",
         (another_number,)),
    Kind("axes not inserted", "How many axes must the array have, and which of them have length 1?",
         "It is as if no axis were inserted (None in an index puts in one of length 1)",
         (axes_left_out,)),
    Kind("reshape instead", MOVED, "It is as if a reshape stood here", (reshape_instead,)),
    Kind("replaced by zeros", STEP, "It is as if {piece} were 0 everywhere",
         (named("np.zeros_like({0})"),), is_device=True),
    Kind("replaced by ones", STEP, "It is as if {piece} were 1 everywhere",
         (named("np.ones_like({0})"),), is_device=True),
    Kind("something added", MORE, "It is as if {piece} were added, too",
         (one_more("({0}) + {1}"),)),
    Kind("factor", MORE, "It is as if there were one factor more, {piece}",
         (one_more("({0}) * {1}"), root_more, mean_instead, whole(
             ("({0}) * 2", "2"), ("({0}) * 0.5", "0.5"),
             ("({0}) * (np.pi / 180)", "np.pi / 180"),
             ("({0}) * np.log2(np.e)", "np.log2(np.e)"))), is_device=True),
    Kind("factor outside of the sum", ORDER, "It is as if {piece} stood outside of the sum",
         (outside_of_the_sum,)),
    Kind("a function too many", MORE, "It is as if {piece} were applied, too",
         (whole(("np.sqrt({0})", "np.sqrt"), ("np.abs({0})", "np.abs"),
                ("np.maximum({0}, 0)", "np.maximum"), ("np.round({0}, 4)", "np.round")),)),
    Kind("the opposite", OPPOSITE, INVERTED, (named("~{0}", "-{0}"),)),
    Kind("float32", "Which line makes an array of its own, and of which type?",
         "It is as if numbers were rounded to float32 on the way",
         (whole(("({0}).astype(np.float32)", "")),), is_device=True),
)
KINDS = LIKELY + OTHER_KINDS
