"""A teacher's sentences for the errors that Python and NumPy raise, and for a wrong shape.

An error is read from its type, from the syntax tree of the line, and from the values in it: what
NumPy says differs from one version to the next. RULES is the table, in the order of its questions.
"""

import ast
from collections.abc import Callable
from typing import NamedTuple

from aiayn_np.module import Module, Parameter

from ..language import say
from .failing import (
    Failure,
    all_axes_reversed,
    another_axis,
    axes_counted,
    axis_lost,
    by_name_alone,
    cache_of_another,
    is_not_unpacked,
    is_without_an_axis,
    line_of,
    none,
    not_kept,
    pytorch,
    stands_here,
    truth,
    two_for_one,
    where_of,
)
from .operands import shown
from .stop import OWN_ARRAY, Stop

SUM = ("Gradients of several inputs are added up. Each input needs its own: they need not be the"
       " same array.")
UNPACK = "A layer's forward returns two things: `y, cache = layer.forward(x)`."
GRADIENTS = ("A backward returns one gradient for each array that its forward takes, and no cache:"
             " that of an attention three, for Q, K and V; that of a linear map one.")
LENGTH = "What decides how long axis {axis} is: where does it get another length?"
SHAPES = "Lay both shapes beside each other: which axis is missing, left over or in another place?"
LONGER = "Axis {axis} has length {got}, and must have {want}: begin at what decides this length."
BESIDE = "Write the shape of each array beside its line, and find the first wrong one."
PARTS = ("The backward of a part takes the gradient of its own output and the cache of its own"
         " forward. What is unpacked comes in the order in which it was packed.")
GONE = ("An axis is gone that must stay: a sum, mean, max or argmax runs along it, or an index"
        " picks from it. Entry by entry, the larger of two is np.maximum.")
TAKES = "What does the first line of the function take, and what is it given?"
WHOSE = "Whose cache does the calling line give, and whose must it be?"
WHICH = "What stands here that is no array, and where is the array in it?"
OVER = "Over which axis of each must the product sum?"
TOGETHER = "Beside each other from the last axis on: which two lengths do not fit?"
AXES = "How many axes has the array here, and on how many do you count?"
EXPECTED = "What stands in this line, and what did you expect?"
MADE = "Where was the missing value made, and under which name was it kept?"


class Rule(NamedTuple):
    """What is said of one kind of error.

    test : a function of a Failure. It returns what is false if the rule does not fit, and may
        return the values that the sentence names
    diagnosis, sentence, question : a short key, the cause, what leads to it
    """

    test: Callable
    diagnosis: str
    sentence: str
    question: str


RULES = (
    Rule(pytorch, "a name of PyTorch", "`{name}` is a name of PyTorch. In NumPy it is `{other}`.",
         "Which library does `{name}` belong to?"),
    Rule(by_name_alone, "signature", "{function} takes {names} by name alone: {example}.",
         "Which arguments of this call must be given by name?"),
    Rule(lambda f: isinstance(f.error, TypeError) and not f.frames, "signature",
         "The first line must be that of the stub, with self in front and with every argument under"
         " its name; and what is called must get what it asks for.", TAKES),
    Rule(lambda f: isinstance(f.error, NameError) and dict(name=f.error.name),
         "unknown name", "{name} is not known here: what was computed in forward comes from the"
         " cache, what belongs to the layer from self, and np and math from an import at the top"
         " of the file.", MADE),
    Rule(two_for_one, "two arrays for one", "Entry by entry, the larger or smaller of two arrays"
         " is np.{name}imum.", EXPECTED),
    Rule(lambda f: isinstance(f.error, IndexError) and any(x.dtype == bool for x in f.arrays),
         "mask as an index", "An index by a mask does not broadcast: out[mask] needs a mask of the"
         " shape of out. np.where(mask, a, b) broadcasts.", "Which axes has the array, and which"
         " has the mask?"),
    Rule(cache_of_another, "cache for an array", f"{PARTS} {UNPACK}", WHOSE),
    Rule(not_kept, "not kept", "Nothing was kept under the name {name}: backward finds in the"
         " cache what forward put into it, and in self what __init__ put into it. A tuple has no"
         " names: unpack it.", MADE),
    Rule(stands_here(Parameter, Module), "value forgotten", "A Parameter is no array: its numbers"
         " are in .value, as in self.W.value, and its gradient in .grad. Nor is a layer: call its"
         " forward.", WHICH),
    Rule(lambda f: not axes_counted(f) and is_not_unpacked(f), "not unpacked",
         f"{UNPACK} {GRADIENTS}", WHICH),
    Rule(none, "None", "Something is None here: a bias that a layer does not have, an option that"
         " was not given, or a function without `return`.", "What is None here, and in which"
         " case?"),
    Rule(truth, "if on an array", "`if` asks for one truth value, and an array has many: choose"
         " with np.where, or ask .any() or .all(). Whether an argument was given at all is asked"
         " by `is None`.", "How many truth values are there?"),
    Rule(lambda f: f.function == "einsum", "einsum", "There may be any number of axes in front, and"
         " einsum sums over none that `...` stands for: lay all positions one below another,"
         " x.reshape(-1, d_in), and give them a letter.", AXES),
    Rule(lambda f: f.in_ours and "must have the shape of y" in f.text, "shapes",
         "What forward does is undone in reverse order: what it split is merged, what it merged"
         f" is split, and each gradient goes back where its array came from. {PARTS}", EXPECTED),
    Rule(another_axis, "index", "The numbers in {ids} go up to {largest}. They pick along axis"
         " {axis} of {array}, which has length {size}. Long enough is axis {others}.",
         "Along which axis must the numbers pick?"),
    Rule(lambda f: f.function in ("concatenate", "stack", "append", "hstack", "vstack"),
         "number of axes", "Arrays that are joined have equally many axes: x[:, None] has one"
         " more than x.", AXES),
    Rule(lambda f: f.function == "reshape", "another shape", "The number of entries stays the"
         " same in a reshape. Is it the array that you mean, and is its last axis as wide as you"
         " think: d_model, d_k or d_v?", "How many numbers has the array, and how many must the"
         " new shape hold?"),
    Rule(all_axes_reversed, "number of axes", "X.T reverses all axes, so this is right for one"
         " matrix alone. The gradient of a parameter is a sum over all positions of all"
         " sequences: lay them one below another first, x.reshape(-1, x.shape[-1]), and grad_y"
         " too.", OVER),
    Rule(axes_counted, "number of axes", "There may be any number of axes in front: count them, and"
         " take sizes, from the end, such as x.shape[-1].", AXES),
    Rule(lambda f: f.is_product, "error", "", OVER),
    Rule(lambda f: f.is_broadcast and f.what.endswith(".backward") and isinstance(f.statement,
         ast.Return) and f.operator is ast.Add, "wrong count", SUM, TOGETHER),
    Rule(lambda f: f.is_broadcast and isinstance(f.statement, ast.AugAssign) and (".grad" in
         ast.unparse(f.statement.target)) and f.arrays[1].ndim > f.arrays[0].ndim, "not summed",
         "A parameter serves all positions of all sequences, so its gradient is the sum over them:"
         " sum over all axes in front, without keepdims. They are one axis where the positions are"
         " laid one below another, x.reshape(-1, x.shape[-1]), and grad_y too.", "Which axes does"
         " the array on the left not have, and what must happen along them?"),
    Rule(axis_lost, "axis lost", "The second array lacks an axis of the first. A sum, mean"
         " or max along an axis takes it away, and keeps it with keepdims=True.", TOGETHER),
    Rule(lambda f: f.is_broadcast or (isinstance(f.error, ValueError) and isinstance(
         f.statement, ast.Assign) and isinstance(f.statement.targets[0], ast.Subscript)),
         "shapes", "Shapes are laid beside each other from the last axis on: two lengths must be"
         " equal, or one of them 1. Go back to the line that made the one with the wrong length:"
         " along which axis did it go?", TOGETHER),
    Rule(lambda f: f.is_backward, "error", PARTS, EXPECTED),
    Rule(lambda f: True, "error", "", EXPECTED),
)


def stop_of(error, what, case):
    """Return the Stop for an error of the student's code."""
    failure = Failure(error, what)
    if "read-only" in failure.text:
        return Stop("changed in place", say(
            "{what} writes{line} into an array that it was given. {why}", what=what,
            line=line_of(error), why=say(OWN_ARRAY)), code=failure.code)
    key, why, question = advice(failure)
    return Stop(key, where_of(failure, case), why, failure=failure,
                question=f"{shown(failure.found)} {question}".strip())


def advice(failure):
    """Return (diagnosis, sentence, question) for an error."""
    rule, found = next((rule, found) for rule in RULES if (found := rule.test(failure)))
    values = found if isinstance(found, dict) else {}
    return rule.diagnosis, say(rule.sentence, **values), say(rule.question, **values)


def shape_guess(got, want):
    """Return (diagnosis, sentence, question) for a result of a wrong shape."""
    long, wanted = ([n for n in shape if n != 1] for shape in (got, want))
    off = [i for i, (g, w) in enumerate(zip(got, want)) if g != w and len(got) == len(want)]
    question = say(LENGTH, axis=off[0]) if len(off) == 1 else say(SHAPES)
    diagnosis, why = "shape", say(BESIDE)
    if len(want) > 1 and got == (*want[:-2], *want[:-3:-1]):
        diagnosis, why = "transposed", say("It is transposed: check the order of the factors in the"
                                           " product.")
    elif not want and long:
        why = say("It must be a single number: take the sum or mean over all axes.")
    elif long == wanted:
        why = say("An axis of length 1 is missing, left over, or at another place: look at None"
                  " and keepdims.")
    elif is_without_an_axis(got, want):
        diagnosis, why = "axis lost", say(GONE)
    elif len(off) == 1:
        why = say(LONGER, axis=off[0], got=got[off[0]], want=want[off[0]])
    return diagnosis, why, question
