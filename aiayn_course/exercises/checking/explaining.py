"""Find the edit of the right formula that gives the student's numbers."""

from typing import NamedTuple

import numpy as np

from .calling import copied
from .comparing import is_numbers, same
from .edits import Edit


class Finding(NamedTuple):
    """The facts that a check has found on wrong numbers.

    wrong : the wrong tensors      trials : those that show the mistake
    edit : the Edit that gives the student's numbers, or None
    left : the wrong tensors that the edit does not explain
    seen : (diagnosis, sentence) of how the numbers differ, or None
    """

    stage: str
    wrong: list
    trials: list
    edit: Edit | None
    left: list
    seen: tuple | None = None


def explain(formula, stage, trials, wrong, code):
    """Return the Finding on `wrong` tensors, with an edit that explains them or without one.

    The first edit of the formula that explains all wrong tensors is named, or else the first one
    that explains the most. An edit is passed over if what it speaks of is not seen in the student's
    Code.
    """
    trials = telling(trials, wrong)
    failing = next(t for t in trials if is_wrong(t, wrong))
    best, explained = None, set[str]()
    for edit in formula.edits(code.numbers):
        least = len(explained) + 1
        if explains(edit, stage, [failing], wrong, least):             # most give nothing there
            tensors = explains(edit, stage, trials, wrong, least)
            if len(tensors) > len(explained) and edit.is_seen_in(code):
                best, explained = edit, tensors
            if len(explained) == len(wrong):
                break
    if best and not best.known:
        best = best.needed(lambda less: explains(less, stage, trials, explained) == explained)
    return Finding(stage, wrong, trials, best, [t for t in wrong if t not in explained])


def telling(trials, tensors):
    """Return the trials from which a mistake is diagnosed.

    These are all trials whose case is not special, if one of them is wrong. Otherwise they are the
    trials up to the first wrong one: a later one may show a second mistake.
    """
    ordinary = [trial for trial in trials if not trial.case.special]
    if any(is_wrong(trial, tensors) for trial in ordinary):
        return ordinary
    first = next(i for i, trial in enumerate(trials) if is_wrong(trial, tensors))
    return trials[: first + 1]


def is_wrong(trial, tensors):
    return not all(same(*observed(trial, t)) for t in tensors if t in trial.expected)


def explains(edit, stage, trials, wrong, least=1):
    """Return those of the `wrong` tensors that an edit explains: it gives the student's numbers.

    Return an empty set if they are certain to be fewer than `least`, or if the student has a tensor
    right and the edit makes it wrong.
    """
    left, differs = {*wrong}, set()
    for trial in trials:
        predicted = predict(edit, stage, trial) or {}
        for tensor in sorted(predicted, key=lambda tensor: tensor not in left):
            if len(left) < least or not is_numbers(predicted[tensor]):
                return set()
            if tensor not in trial.expected:                           # a bias may be missing
                continue
            (got, want), value = observed(trial, tensor), predicted[tensor]
            if not same(*finite_alike(got, value, want)):
                left.discard(tensor)
                if same(got, want):
                    return set()
            elif tensor in left and not same(value, want) and (np.size(got) or edit.known):
                differs.add(tensor)
        if not predicted:
            return set()
    return differs & left


def finite_alike(got, value, want):
    """Return two arrays with nan wherever one is not finite and `want` is: inf * 0 is nan."""
    got, value, want = map(np.asarray, (got, value, want))
    if want.dtype.kind != "f" or not got.shape == value.shape == want.shape or (
            np.isfinite(got).all()):
        return got, value
    finite = np.isfinite(want)
    return [np.where(finite & ~np.isfinite(x), np.nan, x) for x in (got, value)]


def predict(formula, stage, trial):
    """Return {tensor: value} of a formula in one trial, or None if the formula raises an error."""
    try:
        if stage == "function":
            return trial.right(formula)
        case, options, layer = trial.case, copied(trial.case.options), trial.ours
        if stage == "forward":
            return {"output": np.asarray(formula(layer, *case.inputs, **options))}
        if not getattr(formula, "formula", formula).by_itself:
            options = {"cache": trial.our_cache}
        for p in trial.our_parameters.values():
            p.grad[...] = 0
        values = dict(formula(layer, trial.grad_y, *case.inputs, **options))
    except Exception:                                                  # an edit may break anything
        return None
    return values | {f"{name}.grad": p.grad for name, p in trial.our_parameters.items()}


def compared(trials, tensor):
    """Return (case, student's value, right value) of a tensor for each trial that has it."""
    return [(t.case, *observed(t, tensor)) for t in trials if tensor in t.expected]


def observed(trial, tensor):
    """Return the student's value of a tensor, and the right one."""
    return np.asarray(trial.results[tensor]), trial.expected[tensor]
