"""Which known mistake gives the numbers that the student's code gives."""

import numpy as np

from .calling import copied
from .comparing import same


def explain(subject, stage, trials, wrong):
    """(diagnosis, why) of the known mistake that explains most of the `wrong` tensors, or None."""
    best, explained = None, 0
    trials = telling(trials, wrong)
    for mistake in subject.known(stage):
        count = len(explains(mistake, trials) & set(wrong))
        if count > explained:
            best, explained = mistake, count
    return best and (best.key, best.why)


def telling(trials, tensors):
    """The trials by which a mistake is known: all ordinary ones, and then up to the first special
    one that is wrong; beyond it a wrong formula may do anything."""
    ordinary = [trial for trial in trials if not trial.case.special]
    if any(is_wrong(trial, tensors) for trial in ordinary):
        return ordinary
    first = next(i for i, trial in enumerate(trials) if is_wrong(trial, tensors))
    return trials[: first + 1]


def is_wrong(trial, tensors):
    return not all(same(*observed(trial, t)) for t in tensors if has(trial, t))


def explains(mistake, trials):
    """The tensors that this mistake makes wrong in just the way in which they are; or none."""
    differs, tried = set(), False
    for trial in trials:
        predicted = predict(mistake, trial)
        if predicted is None:
            continue
        tried = True
        for tensor, value in predicted.items():
            if not has(trial, tensor):
                continue
            got, want = observed(trial, tensor)
            if not same(got, value):
                return set()
            if not same(value, want):
                differs.add(tensor)
    return differs if tried else set()


def predict(mistake, trial):
    """{tensor: value} of a mistake in one case; None where it cannot be computed."""
    case, options = trial.case, copied(trial.case.options)
    try:
        with np.errstate(all="ignore"):
            if mistake.stage == "forward":
                y = mistake.wrong(trial.ours, *case.inputs, **options)
                return {"output": np.asarray(y)}
            return mistake.wrong(trial.ours, trial.grad_y, *case.inputs, **options)
    except (ValueError, IndexError, TypeError, AttributeError, ZeroDivisionError):
        return None


def has(trial, tensor):
    """Whether there is such a tensor in this case: a bias may be missing."""
    return tensor == "output" or tensor in trial.expected


def observed(trial, tensor):
    """(the student's value, the right one) of a tensor."""
    if tensor == "output":
        return np.asarray(trial.got), np.asarray(trial.want)
    return trial.found[tensor], trial.expected[tensor]
