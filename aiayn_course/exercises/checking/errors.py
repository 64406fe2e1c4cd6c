"""A teacher's sentences for the errors that Python and NumPy raise, and for a wrong shape."""

import ast
import math
import re

import numpy as np

from aiayn_np.module import Cache, Module, Parameter

from ..language import say
from .failing import Failure, line_of, where_of
from .operands import shown
from .stop import OWN_ARRAY, Stop

SUM = ("Gradients of several inputs are added up. Each input needs its own: they need not be the"
       " same array.")
UNPACK = "A layer's forward returns two things: `y, cache = layer.forward(x)`."
GRADIENTS = ("A backward returns one gradient for each array that its forward takes, and no cache:"
             " that of an attention three, grad_Q, grad_K, grad_V; that of a linear map one.")
LENGTH = "What decides how long axis {axis} is: where does it get another length?"
SHAPES = "Lay both shapes beside each other: which axis is missing, left over or in another place?"
BROADCAST = re.compile(r"broadcast together with (?:remapped )?shapes ((?:\([\d,]*\) ?)+)")
LONGER = "Axis {axis} has length {got}, and must have {want}: begin at what decides this length."
BESIDE = "Write the shape of each array beside its line, and find the first wrong one."
EACH_PAIR = ("Shapes are laid beside each other from the last axis on: two lengths must be equal,"
             " or one of them 1. Go back to the line that made the one with the wrong length: along"
             " which axis did it go?")
NOT_SUMMED = ("A parameter serves all positions of all sequences, so its gradient is the sum over"
              " them: sum over all axes in front, without keepdims. They are one axis where the"
              " positions are laid one below another, x.reshape(-1, x.shape[-1]), and grad_y too.")
LOST = ("The second array has lost an axis of the first: a sum, mean or max along an axis needs"
        " keepdims=True to stay beside it.")
GONE = ("An axis is gone that must stay: a sum, mean, max or argmax runs along it, or an index"
        " picks from it. Entry by entry, the larger of two is np.maximum.")
TURNED = "One of the two is the other one's transpose: check the order of the factors."
OF_ARRAYS = "shape|ndim|dtype|T|mT|swapaxes|reshape|sum"
SAID = (  # (what the error says, with the line it stops in; diagnosis, sentence)
    (r"^[\w.]+ SystemExit", "exits", "exit() and SystemExit end the whole program. A function ends"
     " with `return`."),
    (r"takes \d+ positional arguments? but|got multiple values for argument|unexpected keyword"
     r" argument|missing \d+ required", "signature", "The first line must be that of the stub, with"
     " self in front and with every argument under its name; and what is called must get what it"
     " asks for."),
    (r"name '(\w+)' is not defined", "unknown name", "{name} is not known here: what was computed"
     " in forward comes from the cache, what belongs to the layer from self, and np and math from"
     " an import at the top of the file."),
    (r"'numpy.ndarray' object has no attribute.*`[^`]*\.backward\(", "not kept", "An array stands"
     " in the place of a cache. A backward needs the cache that forward of the same part returned:"
     " `y, cache = layer.forward(x)`."),
    (rf"'(?!tuple|NoneType|Parameter)[\w.]+' object has no attribute '(\w+)'|KeyError: '?(\w+)"
     rf"|'tuple' object has no attribute '(?!{OF_ARRAYS})(\w+)'", "not kept", "Nothing was kept"
     " under the name {name}: backward finds in the cache what forward put into it, and in self"
     " what __init__ put into it. A tuple has no names: unpack it."),
    (r"Integers to negative integer powers", "integer power", "NumPy does not raise whole numbers"
     " to a negative power: begin with a float, 10000.0, or float(step)."),
    (r"(?:integer|AxisError|inhomogeneous|truth value).*`.*(?:np\.a?|(?<![\w.]))(max|min)\("
     r"(?!.*axis)", "two arrays for one", "Entry by entry, the larger or smaller of two arrays is"
     " np.{name}imum."),
    (r"(?:broadcast|mismatch|not aligned).*`.*np\.dot\(|remapped shapes \[original",
     "another product", "From three axes on np.dot is not @: it makes all pairs of matrices. Write"
     " @, and X.mT for the last two axes swapped."),
    (r"Attention\.backward .*broadcast.*`[^`]* \+", "wrong count", SUM),
    (r"must be a boolean array.*got object", "None", "np.array(None) is no mask: pass None on as it"
     " is."),
    (r"allowed must have shape", "shapes", "The mask goes on as it is: its axes are laid beside"
     " those of the scores, from the last one on."),
    (r"matmul.*`.*(?:swapaxes|transpose|moveaxis)\(\d", "number of axes", "There may be any number"
     " of axes in front: count those that are swapped from the end, -1 and -2."),
    (r"has more dimensions than subscripts", "einsum", "`...` stands for all axes in front, and"
     " einsum never sums over it: lay all positions one below another, x.reshape(-1, d_in), and"
     " give them a letter."),
    (r"`[^`]*einsum\(", "number of axes", "There may be any number of axes in front: lay all"
     " positions one below another, x.reshape(-1, d_in), and give them a letter."),
    (r"grad_y must have the shape of y", "shapes", "What forward does is undone in reverse order:"
     " what it split is merged, what it merged is split, and each gradient goes back where its"
     " array came from."),
    (r"unpack.*`[^`]*\.shape", "number of axes", "The input may have any number of axes in front:"
     " take the sizes from the end, such as x.shape[-1]."),
    (r"unpack", "not unpacked", "The names on the left are not as many as the things on the right."
     f" {UNPACK} {GRADIENTS}"),
    (r"axis -?\d+ is out of bounds|tuple index out of range|too many indices|must be 1- or 2-d"
     r"|must be 2-d|1-dimensional", "number of axes", "There may be any number of axes in front:"
     " count them from the end, -1, -2, and sum along the last one."),
    (r"index \d+ is out of bounds.*`[^`]*\.m?T\b", "transposed", "An index picks rows, and the rows"
     " of a transpose are the columns of the array: is .T needed here?"),
    (r"index (\d+) is out of bounds for axis -?\d+ with size \1\b", "index", "The first index is 0,"
     " so the last one is the length less 1: {name} is one too large."),
    (r"index .*out of bounds for axis", "index", "The axis that is indexed is"
     " another one: look which axis counts what."),
    (r"truth value of an array", "if on an array", "`if` asks for one truth value, and an array has"
     " many: choose with np.where, or ask .any() or .all(). Whether an argument was given at all is"
     " asked by `is None`."),
    (r"'NoneType' object", "None", "Something is None here: a bias that a layer does not have, an"
     " option that was not given, or a function without `return`."),
    (r"doesn't match the broadcast shape.*`[^=]*\.grad", "not summed", NOT_SUMMED),
    (r"(?:matmul.*mismatch|not aligned).*`.*\.grad\b.*=.*(?:\.T\b|transpose\()",
     "number of axes",
     "X.T reverses all axes, so this is right for one matrix alone. The gradient of a parameter is"
     " a sum over all positions of all sequences: lay them one below another first,"
     " x.reshape(-1, x.shape[-1]), and grad_y too."),
    (r"cannot reshape array(?!.*\.backward\()", "another shape", "The number of entries stays the"
     " same in a reshape. Is it the array that you mean, and is its last axis as wide as you think:"
     " d_model, d_k or d_v?"),
    (r"arrays used as indices must be of integer", "index", "An index holds whole numbers."
     " np.add.at is given the array, the indices and the values, in this order."),
    (r"must have same number of dimensions", "number of axes", "Arrays that are joined have equally"
     " many axes: x[:, None] has one more than x."),
    (r"could not broadcast input array", "shapes", "What is written must have the shape of the"
     " place that it is written into."),
)
NO_ARRAY = (  # what stands in the place of an array; diagnosis, sentence
    (Parameter, "value forgotten", "A Parameter is no array: its numbers are in .value, as in"
     " self.W.value, and its gradient in .grad."),
    (Module, "layer for an array", "A layer is no array: call its forward, `y, cache ="
     " layer.forward(x)`, or take its matrix, layer.W.value."),
    (tuple, "not unpacked", UNPACK),
    ((Cache, dict), "cache for an array", "A cache stands here in the place of an array. Take the"
     " array out of it, or pass the cache that this function made itself."),
)
CACHES = NO_ARRAY[2:]

PARTS = ("The backward of a part takes the gradient of its own output and the cache of its own"
         " forward. What is unpacked comes in the order in which it was packed.")

MASK_INDEX = (  # diagnosis, question, sentence
    "mask as an index", "Which axes has the array, and which has the mask?", "An index by a mask"
    " does not broadcast: out[mask] needs a mask of the shape of out. np.where(mask, a, b)"
    " broadcasts.")
WHOSE = "Whose cache does the calling line give, and whose must it be?"
WHICH = "What stands here that is no array, and where is the array in it?"
ASKED = (  # what the error says, or what stands there; a question
    (r"TypeError.*argument", "What does the first line of the function take, and what is it"
     " given?"),
    (r"broadcast dimensions|subscripts", "Which axis does each letter stand for, and which axes are"
     " in front of them?"),
    (r"matmul|not aligned|dot", "Over which axis of each must the product sum?"),
    (r"non-broadcastable output", "Which axes does the array on the left not have, and what must"
     " happen along them?"),
    (r"broadcast", "Beside each other from the last axis on: which two lengths do not fit?"),
    (r"must have (?!same)", "Which array belongs here, and which one stands here?"),
    (r"unpack", "How many things stand on the right, and how many names on the left?"),
    (r"index (\d+) is out of bounds for axis -?\d+ with size \1\b", "Which index is the last one"
     " here, and for which do you ask?"),
    (r"axis|axes|dimensions|index|1- or 2-d", "How many axes has the array"
     " here, and on how many do you count?"),
    (r"reshape", "How many numbers has the array, and how many must the new shape hold?"),
    (r"truth value", "How many truth values are there?"),
    (r"NoneType", "What is None here, and in which case?"),
    (r"'numpy.ndarray' object has no attribute", "Which array stands in the place of something"
     " else here, and of what?"),
    (r"NameError|AttributeError|KeyError", "Where was the missing value made, and under which"
     " name was it kept?"),
    (r"", "What stands in this line, and what did you expect?"),
)


def stop_of(error, what, case):
    """Return the Stop for an error of the student's code."""
    failure = Failure(error, what)
    if "read-only" in failure.text:
        return Stop("changed in place", say(
            "{what} writes{line} into an array that it was given. {why}", what=what,
            line=line_of(error, 60), why=say(OWN_ARRAY)), code=failure.code)
    key, why, question = failure.shown or advice(failure)
    return Stop(key, where_of(failure, case), why, failure=failure,
                question=f"{shown(failure.found)} {say(question)}".strip())


def advice(failure):
    """Return (diagnosis, sentence, question) for an error."""
    question = next(asked for pattern, asked in ASKED if re.search(pattern, failure.text))
    if is_mask_index(failure):
        return MASK_INDEX[0], say(MASK_INDEX[2]), MASK_INDEX[1]
    entry = no_array(failure)
    is_others = failure.in_part and entry in CACHES
    if entry and not re.search("'Cache' object has no|KeyError", failure.text):
        question = WHOSE if is_others else WHICH
    if said := told_of(failure):
        return *said, question
    if entry:
        is_tuple = entry[0] is tuple and failure.what.endswith(".backward")
        return (entry[1], say(PARTS if is_others else GRADIENTS if is_tuple else entry[2]),
                question)
    diagnosis, said = shapes_that_do_not_fit(failure) or ("error", "")
    part = say(PARTS) if ".backward(" in failure.code and said != say(PARTS) else ""
    return diagnosis, f"{said} {part}".strip(), question


def told_of(failure):
    """Return (diagnosis, sentence) of the first entry of SAID that fits an error, or None."""
    line = line_of(failure.error)
    for pattern, diagnosis, sentence in SAID:
        match = re.search(pattern, f"{failure.what} {failure.text} `{line}")
        if match and (diagnosis != "another product" or failure.has_call("dot")) and (
                diagnosis != "einsum" or "..." in line) and not (
                "one too large" in sentence and has_whole_numbers(failure.found)):
            said = say(sentence, name=next(filter(None, match.groups()), ""))
            return diagnosis, f"{said} {say(PARTS)}" if ".backward(" in line else said
    return None


def is_mask_index(failure):
    """Tell whether it is an index that fails, and one of truth values."""
    return failure.text.startswith("IndexError") and ("boolean index" in failure.text or any(
        isinstance(value, np.ndarray) and value.dtype == bool for _, value in failure.found))


def has_whole_numbers(found):
    """Tell whether an array of whole numbers stands in the line, which may be the index."""
    return any(isinstance(x, np.ndarray) and x.dtype.kind == "i" for _, x in found)


def no_array(failure):
    """Return the entry of NO_ARRAY for the first part of a line that should be an array, or None.

    A shape is no mistake, nor is a cache that a backward is given.
    """
    for _, value in failure.found:
        if isinstance(value, np.ndarray) and value.dtype == object:    # np.zeros_like(p)
            return NO_ARRAY[0]
        is_shape = isinstance(value, tuple) and all(isinstance(n, int) for n in value)
        is_cache = ".backward(" in failure.code and isinstance(value, (Cache, tuple, dict))
        entry = next((e for e in NO_ARRAY if isinstance(value, e[0])), None)
        if entry and not is_shape and not is_cache:
            return entry
    return None


def shapes_that_do_not_fit(failure):
    """Return (diagnosis, sentence) for NumPy's broadcast error, or None."""
    if not (match := BROADCAST.search(failure.text)):
        return None
    if failure.in_part:
        return "shapes", say(PARTS)
    shapes = [ast.literal_eval(shape) for shape in match[1].split()]
    first, second, *target = [s for s in shapes if s] if len(shapes) > 2 else shapes
    if first == second[::-1]:
        return "transposed", say(TURNED)
    if target == [first] and ".grad" in failure.code:                  # first += second
        return "not summed", say(NOT_SUMMED)
    if failure.loses_an_axis and is_without_an_axis(second, first):
        return "axis lost", say(LOST)
    return "shapes", say(EACH_PAIR)


def is_without_an_axis(short, long):
    """Tell whether the shape `short` is `long` without one of its axes."""
    return any(short == long[:i] + long[i + 1 :] for i in range(len(long)))


def shape_guess(got, want, sizes):
    """Return (diagnosis, sentence) for a result of a wrong shape; `sizes` is {name: length}."""
    got, want = tuple(got), tuple(want)
    names = {n: label for label, n in sizes.items()}
    in_front, off = got[: len(got) - len(want)], lengths_off(got, want)
    long, wanted = ([n for n in shape if n != 1] for shape in (got, want))
    axes = say(" and ").join(names.get(n, str(n)) for n in in_front)
    guesses = (
        (got == want[::-1] and len(want) > 1, "transposed", say(
            "It is transposed: check the order of the factors in the product.")),
        (want and tuple(long) == want, "shape", say(
            "It has axes of length 1 that must not be there: index them away.")),
        (not want, "shape", say(
            "It must be a single number: take the sum or mean over all axes.")),
        (len(got) > len(want) and got == in_front + want, "not summed", say(
            "Sum over all other axes (here {axes}): each position adds its part.", axes=axes)),
        (len(got) == len(want) and all(g in (1, w) for g, w in zip(got, want)), "shape", say(
            "An axis was summed that must stay.")),
        (long == wanted and len(got) < len(want), "shape", say(
            "An axis of length 1 is missing: insert it, as in x[:, None], or keep it, with"
            " keepdims=True.")),
        (long == wanted, "shape", say(
            "An axis of length 1 is left over, or at another place: look at None and keepdims.")),
        (got[-1:] == want[-1:] and len(got) < len(want) and math.prod(got) == math.prod(want),
         "shape", say("The axes in front are merged into one: reshape to those of the input.")),
        (is_without_an_axis(got, want), "axis lost", say(GONE)),
        (sorted(got) == sorted(want), "transposed", say("The axes are in another order.")),
        (len(off) == 1, "shape", say(LONGER, axis=off[0], got=got[off[0]], want=want[off[0]])
         if off else ""),
        (True, "shape", say(BESIDE)),
    )
    return next(guess[1:] for guess in guesses if guess[0])


def lengths_off(got, want):
    """Return the axes whose length is another; [] if the shapes have not the same axes."""
    return [i for i, (g, w) in enumerate(zip(got, want)) if g != w] if len(got) == len(want) else []


def shape_question(got, want):
    """Return the question that leads to the cause of a wrong shape."""
    off = lengths_off(got, want)
    return say(LENGTH, axis=off[0]) if len(off) == 1 else say(SHAPES)
