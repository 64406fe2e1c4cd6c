"""Find the array that belongs into a matrix product that stops: another one, or a transpose."""

import re

import numpy as np

from ..language import say
from .comparing import same
from .tracing import kept_of

MEET = "In a @ b the last axis of a meets the last but one of b."
TRANSPOSED, REVERSED, ANOTHER = range(3)  # kinds of proposals


def refitted(stop, checking):
    """Return a sentence on the array that belongs into a matrix product that stops, or "".

    Only what makes a value of the right formula is said, and only if nothing else makes one. The
    value that the formula calls as the line calls the product comes first.
    """
    failure = stop.failure
    arrays = [(code, x) for code, x in failure.found if isinstance(x, np.ndarray) and x.ndim] if (
        failure) else []
    if len(arrays) != 2 or checking.stage == "function" or not re.search(
            "matmul|not aligned", failure.text):
        return ""
    for right in values_on_the_way(checking, failure.product):
        ways = [(kind, said) for kind, said, a, b in proposals(arrays, failure.scope)
                if any(same(product(a, b), value) for value in right)]
        if ways:
            return ways[0][1] if len({kind for kind, _ in ways}) == 1 else ""
    return ""


def proposals(arrays, scope):
    """Yield (kind, sentence, a, b) for what may stand in a matrix product of two arrays."""
    (one, x), (other, y) = arrays
    if min(x.ndim, y.ndim) > 1:
        for codes, a, b in (((one,), x.mT, y), ((other,), x, y.mT), ((one, other), x.mT, y.mT)):
            names = say(" and ").join(f"`{code}`" for code in codes)
            yield TRANSPOSED, say("Here the .mT of {codes} is too much." if codes[0].endswith(
                ".mT") else "Here {codes} must be transposed, .mT.", codes=names) + (
                f" {say(MEET)}"), a, b
    if max(x.ndim, y.ndim) > 2:                                        # K_T = K.T, lines before
        for code, a, b in (one, x.T.mT, y), (other, x, y.T.mT):
            yield REVERSED, say("All axes of {code} are reversed, as .T does it. .mT swaps the"
                                " last two alone.", code=f"`{code}`"), a, b
    for name, z in scope.items():
        for code, a, b, old in (one, z, y, x), (other, x, z, y):
            if not any(np.array_equal(z, some) for some in (old, old.T, np.atleast_2d(old).mT)):
                yield ANOTHER, say("Here {name} belongs, where {code} stands.", name=f"`{name}`",
                                   code=f"`{code}`"), a, b


def product(a, b):
    """Return a @ b, or nan if the shapes do not fit."""
    try:
        return a @ b
    except (ValueError, TypeError):
        return np.nan


def values_on_the_way(checking, target):
    """Return the arrays of the right formula called `target`, and all that it computes.

    They are those of the trial that stopped. A backward computes no output.
    """
    formula, stage, trial = checking.formula, checking.stage, checking.trial
    found = kept_of(formula, stage, trial)
    if isinstance(target, int):
        target = f"grad_{dict(enumerate(trial.moving)).get(target)}"
    named = [x for (name, _), some in found.items() if name == target for x in some]
    named += [x for name, x in trial.expected.items() if name == target]
    every = [x for some in (*found.values(), [*trial.expected.values()]) for x in some
             if stage == "forward" or not same(x, trial.expected["output"])]
    return (every,) if target is None else (named, every)
