"""Likely reasons for a wrong shape, and for NumPy's errors about shapes."""

import ast
import math
import re

from ..language import say
from .questions import LENGTH, SHAPES

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


def shapes_that_do_not_fit(text, line, loses_an_axis):
    """Return (diagnosis, sentence) for NumPy's broadcast error in a line of code, or None."""
    if not (match := BROADCAST.search(text)):
        return None
    shapes = [ast.literal_eval(shape) for shape in match[1].split()]
    first, second, *target = [s for s in shapes if s] if len(shapes) > 2 else shapes
    if first == second[::-1]:
        return "transposed", say(TURNED)
    if target == [first] and ".grad" in line:                          # first += second
        return "not summed", say(NOT_SUMMED)
    if loses_an_axis and len(second) + 1 == len(first) and is_without_an_axis(second, first):
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
