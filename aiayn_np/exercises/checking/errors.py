"""A teacher's sentences for the errors that Python and NumPy raise."""

import re

import numpy as np

from ..language import say
from .operands import words
from .shapes import FACTORS, NOT_SUMMED, shapes_that_do_not_fit

UNPACK = "A layer's forward returns two things: `y, cache = layer.forward(x)`."
GRADIENTS = ("A backward returns one gradient for each array that its forward takes, and no cache:"
             " that of an attention three, grad_Q, grad_K, grad_V; that of a linear map one.")
SAID = (  # (what the error says, with the line it stops in; diagnosis, sentence)
    (r"Input operand .* \(has 0.*@ *self\.linear_\w+\b(?!\.)", "layer for an array", "A layer is"
     " no array: call its forward, `y, cache = layer.forward(x)`, or take its matrix,"
     " layer.W.value."),
    (r"Input operand .* \(has 0|too many subscripts for operand", "value forgotten", "A factor of"
     " the product has too few axes: a Parameter is no array, its numbers are in .value, as in"
     " self.W.value."),
    (r"with shape \(\) doesn't match", "value forgotten", "The array on the left has no axes, such"
     " as np.zeros_like(p) of a Parameter p: it must be made from p.value."),
    (r"(?:integer|AxisError|inhomogeneous).*`.*np\.a?(max|min)\(", "two arrays for one", "{name}"
     " looks along an axis of one array. Entry by entry, between two, it is np.{name}imum."),
    (r"truth value of an array.*`.*(?<![\w.])(max|min)\(", "two arrays for one", "Python's {name}"
     " compares two numbers. Entry by entry, between two arrays, it is np.{name}imum."),
    (r"broadcast.*`(?!.*\[:, -1\].*\b1\)).*argmax\((?!.*-1\))", "wrong axis", "argmax looks along"
     " the axis"
     " that it is given and keeps the others: it must be the vocabulary, the last axis, axis=-1,"
     " at the last"
     " position alone."),
    (r"(?:broadcast|mismatch|not aligned).*`.*np\.dot\(|remapped shapes \[original",
     "another product", "From three axes on np.dot is not @: it makes all pairs of matrices. Write"
     " @, and X.mT for the"
     " last two axes swapped."),
    (r"Attention\.backward .*broadcast.*`(?:return|\w+ =) \w+ \+ \w+ \+ \w+", "wrong count",
     "Three gradients are returned, grad_Q, grad_K, grad_V or those of x_Q, x_K, x_V, and not their"
     " sum: the three arrays need not be the same, nor of one length."),
    (r"output has more dimensions than subscripts", "einsum", "einsum sums over letters, and never"
     " over `...`: lay all positions one below another, x.reshape(-1, d_in), and give them a"
     " letter."),
    (r"operand has more dimensions than subscripts", "number of axes", "An array has more axes here"
     " than letters: `...` stands for all axes in front."),
    (r"MultiHead.*must have d_in.*`.*linear_O", "error", "linear_O takes all heads of a position"
     " side by side, h d_v numbers: merge them first, and call it once."),
    (r"Parameter'|not Parameter|Parameter object", "value forgotten", "A Parameter is no array: its"
     " numbers are in .value, as in self.W.value, and its gradient in .grad."),
    (r"name '(np|math)' is not defined", "import missing", "`import {name}` is missing at the top"
     " of the file: `import numpy as np`, `import math`."),
    (r"name '(\w+)' is not defined", "unknown name", "{name} is not known here: what was computed"
     " in forward comes from the cache, what belongs to the layer from self."),
    (r"takes \d+ positional arguments? but|got multiple values for argument|unexpected keyword"
     r" argument|missing \d+ required", "signature", "The first line must be that of the stub, with"
     " self in front and with every argument under its name; and what is called must get what it"
     " asks for."),
    (r"backward .*('tuple' object has no attribute '(shape|ndim|dtype|T|mT|swapaxes|reshape|sum)'"
     r"|'tuple' and|and 'tuple'|got tuple|unpack.*`.*\.backward\()", "not unpacked", GRADIENTS),
    (r"backward .*'tuple' object has no attribute", "not kept", "A tuple has no names: unpack it,"
     " `a, b = cache`, or keep a Cache(a=a, b=b)."),
    (r"shape of y, \(\d+, (.*)\), got \(\1\)", "not unpacked", "The first axis is gone: an array"
     " that is unpacked, `a, b = array`, is split along it. A backward that has one gradient"
     " returns it"
     " alone."),
    (r"MultiHead.*grad_y must have the shape of y.*`.*(?:grad|d)_?[QKV]", "shapes",
     "The backward of the attention returns the gradients of Q, K and V, in this order; those of K"
     " and V have the length of the keys. They are unpacked in this order, merged, and each goes to"
     " its own projection."),
    (r"grad_y must have the shape of y", "shapes", "What forward does is undone in reverse order:"
     " what it split is merged, what it merged is split, and each gradient goes back where its"
     " array"
     " came from."),
    (r"'tuple' object (has no attribute|is not callable|cannot be interpreted)|'tuple' and|and"
     r" 'tuple'|not tuple|got tuple|inhomogeneous shape", "not unpacked", UNPACK),
    (r"unpack.*`[^`]*\.shape", "number of axes", "The input may have any number of axes in front:"
     " take the sizes from the end, such as x.shape[-1]."),
    (r"unpack", "not unpacked", "The names on the left are not as many as the things on the right."
     " A layer's forward returns two things, y and its cache."),
    (r"axis -?\d+ is out of bounds|tuple index out of range|too many indices", "number of axes",
     "There are inputs with fewer axes: count axes from the end, -1, -2."),
    (r"duplicate value in 'axis'", "axis twice", "One axis is there twice: -1 is the last one,"
     " which also has a number. For all axes but the last: tuple(range(x.ndim - 1))."),
    (r"must be 1- or 2-d|must be 2-d|1-dimensional", "number of axes", "This works for one row or"
     " one matrix only. There may be any number of axes in front: write it with sums along the last"
     " axis, or with einsum."),
    (r"(not supported between|unsupported operand).*('Cache'|'dict'|'list')", "cache for an array",
     "A cache or a list stands here in the place of an array. Take the array out of it, or pass the"
     " cache that this function made itself."),
    (r"boolean index did not match", "index", "A mask with axes of length 1 is no index. np.where"
     " stretches it: np.where(allowed, scores, -math.inf)."),
    (r"index -?\d+ is out of bounds for axis", "index", "The axis that is indexed is shorter: look"
     " which axis counts what."),
    (r"truth value of an array", "if on an array", "`if` asks for one truth value, and an array has"
     " many: choose with np.where, or ask .any() or .all()."),
    (r"Integers to negative integer powers", "integer power", "NumPy does not raise whole numbers"
     " to a negative power: begin with a float, 10000.0, or float(step)."),
    (r"Cannot cast ufunc|casting rule", "dtype", "The array on the left is of another type than"
     " what is written into it: make it of floats."),
    (r"'NoneType' object", "None", "Something is None here: a bias that a layer does not have, an"
     " option that was not given, or a function without `return`."),
    (r"'(\w+)' object has no attribute '(\w+)'|KeyError: '?(\w+)|no attribute '(\w+)'",
     "not kept", "Nothing of that name was kept: backward finds in the cache what forward put into"
     " it, and in self what __init__ put into it."),
    (r"doesn't match the broadcast shape.*`.*\.grad", "not summed", NOT_SUMMED),
    (r"(?:matmul.*mismatch|not aligned).*`.*\.grad\b.*=.*\.T\b", "number of axes",
     "X.T reverses all axes, so this is right for one matrix alone. The gradient of a parameter is"
     " a sum over all positions of all sequences: lay them one below another first,"
     " x.reshape(-1, x.shape[-1]), and grad_y too."),
    (r"matmul.*mismatch|not aligned", "error", FACTORS),
    (r"could not broadcast input array", "shapes", "What is written must have the shape of the"
     " place that it is written into."),
)


PARTS = ("The backward of a part takes the gradient of its own output and the cache of its own"
         " forward. What is unpacked comes in the order in which it was packed.")
BEGINS = (  # what NumPy calls it, what it is
    ("overflow encountered in exp", "with an overflow: exp of a number above 709 is inf"),
    ("invalid value encountered in subtract", "with inf - inf, or -inf - -inf, which is nan"),
    ("invalid value encountered in sqrt", "with the root of a negative number, which is nan"),
    ("invalid value encountered in log", "with the logarithm of a negative number"),
    ("divide by zero encountered in log", "with the logarithm of 0, which is -inf"),
    (r"invalid value encountered in (scalar )?divide", "with 0 / 0, or inf / inf"),
    ("invalid value encountered in multiply", "with 0 * inf, which is nan"),
    ("divide by zero", "with a division by 0"),
)


def in_words(error):
    """Return a phrase that names the operation in NumPy's error, such as "with a division by 0".

    The phrase ends the sentence "It begins in line 7 …". An unknown error is quoted.
    """
    return next((say(words) for pattern, words in BEGINS if re.search(pattern, str(error))),
                say("with: {error}", error=error))


def advice(text, line, what=""):
    """Return (diagnosis, sentence) for the text of an error, raised by a `line` of `what`."""
    part = say(PARTS) if ".backward(" in line else ""
    for pattern, diagnosis, sentence in SAID:
        if match := re.search(pattern, f"{what} {text} `{line}"):
            said = say(sentence, name=next(filter(None, match.groups()), ""))
            return diagnosis, said if sentence is GRADIENTS else f"{said} {part}".strip()
    diagnosis, said = shapes_that_do_not_fit(text, line) or ("error", "")
    return diagnosis, f"{said} {part}".strip()


NO_ARRAY = "Which of them is no array, and where is the array in it?"
ASKED = (  # what the error says, or what stands there; a question
    (r"matmul|not aligned|dot", "Over which axis of each must the product sum?"),
    (r"non-broadcastable output", "Which axes does the array on the left not have, and what must"
     " happen along them?"),
    (r"broadcast", "Beside each other from the last axis on: which two lengths do not fit?"),
    (r"unpack", "How many things stand on the right, and how many names on the left?"),
    (r"axis|axes|index|subscripts|1- or 2-d", "How many axes has it here, and on how many do you"
     " count?"),
    (r"reshape", "How many numbers has it, and how many must the new shape hold?"),
    (r"truth value", "How many truth values are there?"),
    (r"NameError|AttributeError|KeyError", "Where was it made, and under which name was it kept?"),
    (r"argument", "What does the first line of the function take, and what is it given?"),
    (r"", "What stands there, and what did you expect?"),
)


def question_of_error(text, found):
    """Return the question for an error, given its text and the parts of the line."""
    if any(not isinstance(value, (np.ndarray, np.generic, int, float)) and words(value)
           for _, value in found):
        return NO_ARRAY
    return next(question for pattern, question in ASKED if re.search(pattern, text))
