"""What can be measured of wrong numbers: a sum, a place, a condition, an option without effect."""

import contextlib

import numpy as np

from ..language import say
from .comparing import TOLERANCE, errors, same


def measured(stage, trial, got, want):
    """Return a sentence on what a trial's wrong numbers have that the right ones have not, or "".

    got, want : the student's array and the right one
    """
    if np.shape(got) != np.shape(want):
        return say("It has shape {got}, and must have {want}.", got=np.shape(got),
                   want=np.shape(want))
    return (sums(got, want) or only_where(trial, got, want)
            or (stage == "forward" and without(trial)) or moved(got, want))


def sums(got, want):
    """Say so if a row of the right array adds up to 0 or 1, and one of the student's does not."""
    got, want = np.asarray(got), np.asarray(want)
    if not (want.ndim > 1 and want.shape[-1] > 1 and np.isfinite(got).all() and np.any(want)
            and want.dtype.kind == "f" and np.isfinite(want).all()):
        return ""
    for total in (1, 0):
        if np.allclose(want.sum(axis=-1), total, rtol=0, atol=1e-9):
            off = np.abs(got.sum(axis=-1) - total)
            if off.max() < 1e-9:
                return ""
            added = float(got.sum(axis=-1).flat[np.argmax(off)])
            row = next(said for n in (3, 6, 9, 12, 17) if float(said := f"{added:.{n}g}") != total)
            column = next((axis for axis in range(got.ndim - 1) if np.allclose(
                got.sum(axis=axis), total, rtol=0, atol=1e-9)), None)
            if column is not None:
                return say("A row of yours adds up to {row}, and along axis {axis} to {total}.",
                           row=row, total=total, axis=column)
            return say("A row of yours adds up to {row}, not to {total}.", row=row, total=total)
    return ""


def only_where(trial, got, want):
    """Name the condition on an input under which entries are wrong, or return ""."""
    given = {**dict(zip(getattr(trial, "names", ()), trial.case.inputs)), **trial.case.options}
    with contextlib.suppress(ValueError):
        bad = errors(got, want) > TOLERANCE
        for name, condition, mask, exact in conditions(given):
            while np.ndim(mask) < bad.ndim and np.shape(mask) == bad.shape[:np.ndim(mask)]:
                mask = mask[..., None]
            mask = np.broadcast_to(mask, bad.shape)
            if mask.all() or not bad.any() or (bad & ~mask).any():
                continue
            if exact <= np.array_equal(bad, mask) and 2 * bad.sum() >= mask.sum():
                return say("It is wrong only where {name} {condition}.", name=f"`{name}`",
                           condition=condition)
    return ""


def conditions(given):
    """Yield (name, words, mask, exact) of what may be special about entries of the inputs.

    exact : whether all such entries must be wrong, since the others may be right by chance
    """
    for name, x in given.items():
        if isinstance(x, np.ndarray) and x.dtype == bool:
            yield from ((name, say("is False"), ~x, False), (name, say("is True"), x, False))
        elif isinstance(x, np.ndarray) and x.dtype.kind in "fi":
            yield from ((name, words, mask, exact) for words, mask, exact in (
                (say("is 0"), x == 0, True), (say("is -inf"), np.isneginf(x), False),
                (say("is negative"), x < 0, True), (say("is positive"), x > 0, True)))


def without(trial):
    """Name an option that has no effect on the student's output, or return ""."""
    for name, y in trial.without_each_option():
        if same(y, trial.got) and not same(trial.right_without(name), trial.want):
            return say("Your output is the same with {name} and without it.", name=f"`{name}`")
    return ""


def moved(got, want):
    """Say so if the student's numbers are the right ones at other places."""
    got, want = np.asarray(got), np.asarray(want)
    if want.size > 2 and want.dtype.kind == "f" and same(np.sort(got.ravel()),
                                                         np.sort(want.ravel())):
        return say("The right numbers, at other places.")
    return ""
