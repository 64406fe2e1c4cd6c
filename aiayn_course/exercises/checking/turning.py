"""Find which factor of a product that stops must be transposed."""

import re

import numpy as np

from ..language import say
from .comparing import same
from .explaining import predict
from .tracing import values_of

REVERSED = re.compile(r"\.T$|\.transpose\(\)$|^np\.transpose\([^,]*\)$")
REVERSES = "All axes of {code} are reversed, as .T does it. .mT swaps the last two alone."
MEET = "In a @ b the last axis of a meets the last but one of b."


def turned(stop, checking):
    """Return a sentence on how the two arrays of a matrix product that stops fit, or ""."""
    arrays = [(code, x) for code, x in stop.parts if isinstance(x, np.ndarray) and x.ndim > 1]
    if stop.diagnosis not in ("error", "another product") or len(arrays) != 2:
        return ""
    (one, x), (other, y) = arrays
    for code, array in arrays:
        if REVERSED.search(code) and array.ndim > 2:
            return say(REVERSES, code=f"`{code}`")
    if stop.diagnosis != "error" or len(stop.parts) != 2:
        return ""
    ways = (((one,), x.mT, y), ((other,), x, y.mT), ((one, other), x.mT, y.mT))
    fitting = [(codes, product) for codes, a, b in ways if (product := made(a, b)) is not None]
    right = values_on_the_way(checking)
    for codes, product in fitting:
        if any(same(product, value) for value in right):
            names = say(" and ").join(f"`{code}`" for code in codes)
            return say("Here the .mT of {codes} is too much." if codes[0].endswith(".mT") else
                       "Here {codes} must be transposed, .mT.", codes=names) + f" {say(MEET)}"
    for code, a, b in ((one, x.T.mT, y), (other, x, y.T.mT)):          # K_T = K.T, lines before
        if not fitting and made(a, b) is not None:
            return say(REVERSES, code=f"`{code}`")
    if [len(codes) for codes, _ in fitting] == [1]:
        return say("The shapes fit with {code} transposed, .mT: is that what the formula has?",
                   code=f"`{fitting[0][0][0]}`") + f" {say(MEET)}"
    return ""


def made(a, b):
    """Return a @ b, or None if the shapes do not fit."""
    try:
        return a @ b
    except ValueError:
        return None


def values_on_the_way(checking):
    """Return all arrays that the right formula computes in the trial that stopped."""
    if checking.stage == "function":
        return []
    formula, trial = checking.subject.formulas[checking.stage], checking.trial
    found = values_of(lambda: predict(formula, checking.stage, trial), "<edit>".__eq__)
    return [*(x for some in found.values() for x in some), trial.want, *trial.expected.values()]
