"""Find one or two changes of the right formula that give the student's numbers."""

import itertools
from typing import NamedTuple

import numpy as np

from ..language import say, say_name
from .calling import copied
from .changes import Change, Pair
from .comparing import is_numbers, same
from .free import solutions
from .report import listed


class Explanation(NamedTuple):
    """A change that explains wrong tensors. `left` holds the tensors that it does not explain."""

    change: Change
    why: str
    left: set

    @property
    def key(self):
        return self.change.key

    @property
    def known(self):
        return bool(self.change.known)


class Finding(NamedTuple):
    """What is known of wrong numbers.

    wrong : the wrong tensors      trials : those that show the mistake
    seen : (diagnosis, sentence) of what is seen at once, or None
    why : sentences on the likely reason
    """

    stage: str
    wrong: list
    trials: list
    seen: tuple | None
    why: str
    explanation: Explanation | None


def explain(formula, stage, trials, wrong):
    """Return an Explanation of the `wrong` tensors, or None.

    All hypotheses stand in one list: the changes of the formula, then pairs of them. The first one
    that explains all wrong tensors is named, or else the first one that explains the most.
    """
    trials = telling(trials, wrong)
    failing = [t for t in trials if is_wrong(t, wrong)]

    def computes(change):
        values = [(trial, predict(change, stage, trial) or {})
                  for trial in dict.fromkeys((failing[0], failing[-1]))]
        off = [(value[t], observed(trial, t)[0]) for trial, value in values for t in wrong
               if t in value and not same(value[t], observed(trial, t)[1])]
        part = any(same(got, value) for value, got in off)
        return (part, tuple(np.asarray(value).tobytes() for value, _ in off)) if off else None

    hypotheses = itertools.chain(formula.changes, formula.pairs(computes))
    best, unlikely, explained = None, None, set[str]()
    for change in hypotheses:
        if change.free and solved(change, stage, failing[0], wrong) != "round":
            if change.numbers and not (unlikely and unlikely.known):
                unlikely = explains(change, stage, trials) & set(wrong) and change
            continue
        if explains(change, stage, failing[:1]) & set(wrong):          # most give nothing there
            tensors = explains(change, stage, trials) & set(wrong)
            if len(tensors) > len(explained):
                best, explained = change, tensors
            if len(explained) == len(wrong):
                break
    if best is None:
        best = next((change for change in formula.several()
                     if solved(change, stage, failing[0], wrong)
                     and explains(change, stage, trials) >= {*wrong}), None)
        explained = set(wrong)
        if best is not None:
            keep_needed(best, stage, trials, wrong)
    if best is None and unlikely:
        best, explained = unlikely, explains(unlikely, stage, trials)
    if best is None:
        return None
    why, left = best.why, set(wrong) - explained
    if left:
        why += say(" There is more: {names} is wrong in another way, too.",
                   names=listed([say_name(tensor) for tensor in sorted(left)]))
    return Explanation(best, why, left)


def keep_needed(change, stage, trials, wrong):
    """Leave out the parts of a change that are not needed to explain the wrong tensors."""
    for part in list(change.parts):
        change.parts.remove(part)
        if not explains(change, stage, trials) >= {*wrong}:
            change.parts.append(part)


def solved(change, stage, trial, wrong):
    """Return "round", "other" or "" for the free numbers with which a change explains a trial.

    The numbers are kept in the change.
    """
    free = change.formula.free
    free.starts, change.numbers = {}, {}
    right = predict(change, stage, trial) or {}
    names, starts = list(free.starts), list(free.starts.values())
    if not starts or not all(type(start) in (int, float) for start in starts):
        return ""
    seen = {t: observed(trial, t)[0] for t in wrong if t in right}

    def compute(numbers):
        change.numbers = dict(zip(names, numbers))
        value = predict(change, stage, trial) or {}
        fits = seen and all(t in value and value[t].shape == array.shape
                            for t, array in seen.items())
        return joined(value[t] for t in seen) if fits else None
    for kind, numbers in solutions(compute, starts, joined(seen.values()), names == ["it"]
                                   and change.cost < 0):
        change.numbers = dict(zip(names, numbers))
        if explains(change, stage, [trial]) & set(wrong):
            return kind
    change.numbers = {}
    return ""


def joined(arrays):
    """Return all entries of arrays in one array of floats."""
    return np.concatenate([np.zeros(0), *map(np.ravel, arrays)])


def reason(plain, explanation):
    """Return (diagnosis, sentences), first what is seen at once; None if there is neither.

    plain : (diagnosis, sentence) of what is seen at once, or None
    """
    if not explanation:
        return plain
    if not plain:
        return explanation.key, explanation.why
    why, sure = explanation.why, explanation.known or explanation.key == "line left out"
    zeros = plain[0] == "zero" and (explanation.key == "replaced by zeros" or not sure)
    if zeros or plain[0] in ("nan", "inf"):                            # many changes give the same
        why = say(explanation.change.known)
    return explanation.key if explanation.known else plain[0], f"{plain[1]} {why}".strip()


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
    return not all(same(*observed(trial, t)) for t in tensors if has(trial, t))


def explains(change, stage, trials):
    """Return the wrong tensors that a change explains: it gives the student's numbers.

    Return an empty set if the student has a tensor right and the change makes it wrong.
    """
    differs, off = set(), set()
    for trial in trials:
        predicted = predict(change, stage, trial)
        if predicted is None or not all(map(is_numbers, predicted.values())):
            return set()
        for tensor, value in predicted.items():
            if not has(trial, tensor):
                continue
            got, want = observed(trial, tensor)
            if not same(got, value) or not (np.size(got) or change.known):
                off.add(tensor)
                if change.whole and same(got, want):
                    return set()
            elif not same(value, want):
                differs.add(tensor)
    return differs - off


def seen_elsewhere(explanation, stage, trials, wrong):
    """Return a sentence on a second mistake that only later cases show, or ""."""
    known, one = telling(trials, wrong), explanation.change
    for trial in trials[len(known) :]:
        value = predict(one, stage, trial) or {}
        for tensor in (value.keys() & set(wrong)) - explanation.left:
            got, want = observed(trial, tensor)
            if np.isfinite(got).all() and np.isfinite(want).all() and not same(
                    got, value[tensor]) and not same(got, want):
                pairs = [Pair(one, other) for other in one.formula.changes
                         if one.known and other.known and one.apart_from(other)]
                why = next((pair.both[1].why for pair in pairs if all(
                    tensor in explains(pair, stage, some) for some in ([trial], known))), None)
                return say(" There is more ({case}): {why}" if why else " There is more: look at"
                           " {case} when this is mended.", case=say(trial.case.what), why=why)
    return ""


def predict(formula, stage, trial):
    """Return {tensor: value} of a formula in one trial, or None if the formula raises an error."""
    try:
        with np.errstate(all="ignore"):
            if stage == "function":
                return trial.run(formula)
            case, options, layer = trial.case, copied(trial.case.options), trial.ours
            if stage == "forward":
                return {"output": np.asarray(formula(layer, *case.inputs, **options))}
            if not formula.by_itself:
                options = {"cache": trial.our_cache}
            for p in trial.our_parameters.values():
                p.grad[...] = 0
            values = dict(formula(layer, trial.grad_y, *case.inputs, **options))
    except Exception:                                                  # a change may break anything
        return None
    return values | {f"{name}.grad": p.grad for name, p in trial.our_parameters.items()}


def has(trial, tensor):
    """Tell whether a trial has a tensor: a bias may be missing."""
    return tensor == "output" or tensor in trial.expected


def compared(trials, tensor):
    """Return (case, student's value, right value) of a tensor for each trial that has it."""
    return [(t.case, *observed(t, tensor)) for t in trials if has(t, tensor)]


def observed(trial, tensor):
    """Return the student's value of a tensor, and the right one."""
    if tensor == "output":
        return np.asarray(trial.got), np.asarray(trial.want)
    return trial.results[tensor], trial.expected[tensor]
