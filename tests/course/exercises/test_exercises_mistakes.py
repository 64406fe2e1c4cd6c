"""The known mistakes: who makes one is told so, and who makes two does not pass."""

import inspect

import numpy as np
import pytest

from aiayn_course.exercises.checking.calling import Stop, copied
from aiayn_course.exercises.checking.changes import Change
from aiayn_course.exercises.checking.function_check import FunctionCheck
from aiayn_course.exercises.checking.layer_check import LayerCheck
from aiayn_course.exercises.exercise import SUBJECTS

STAGES = [(name, stage) for name, subject in SUBJECTS.items() for stage in subject.formulas]


def layer_with(subject, stage, change):
    """A student's class whose forward or backward has this change in it."""
    reference = subject.reference
    names = [n for n in inspect.signature(reference.forward).parameters if n != "self"]

    def plain(self):
        right = reference.__new__(reference)
        right.__dict__.update(vars(self))
        return right

    def forward(self, *inputs, **options):
        y, cache = plain(self).forward(*inputs, **copied(options))
        if stage == "forward":
            y = np.array(change(plain(self), *inputs, **options))
        return y, (cache, inputs, options)

    def backward(self, grad_y, cache):
        cache, inputs, options = cache
        if stage == "forward":
            return reference.backward(self, grad_y, cache)
        found = change(plain(self), grad_y, *inputs,
                       **options if change.by_itself else dict(cache=cache))
        grads = tuple(found[f"grad_{n}"] for n in names if f"grad_{n}" in found)
        if len(grads) == 1:
            return grads[0]
        return grads or None

    return type(reference.__name__, (reference,), dict(forward=forward, backward=backward))


def said_of(subject, stage, change, seed=0):
    """What the check says of a student who makes a change of the right formula."""
    student = change
    if stage != "function":
        student = layer_with(subject, stage, change)
    checking = (FunctionCheck if stage == "function" else LayerCheck)(subject, student, seed)
    with pytest.raises(Stop) as stop, np.errstate(all="ignore"):
        checking.run()
    return stop.value


def known_of(formula):
    """The Changes of what is known by heart."""
    return [formula.known_one(*entry) for entry in formula.known]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "stage"), STAGES)
def test_every_known_mistake_is_known_again(name, stage):
    subject = SUBJECTS[name]
    known = known_of(subject.formulas[stage])
    other = [(change.key, change.known, said.diagnosis, said.message) for change in known
             if (said := said_of(subject, stage, change)).diagnosis != change.key]
    assert not other


@pytest.mark.slow
@pytest.mark.parametrize(("name", "stage"), STAGES)
def test_two_known_mistakes_at_once_do_not_pass(name, stage, rng):
    subject = SUBJECTS[name]
    known = known_of(subject.formulas[stage])
    pairs = [(a, b) for i, a in enumerate(known) for b in known[:i]]
    for a, b in [pairs[i] for i in rng.permutation(len(pairs))[:20]]:
        both = Change(subject.formulas[stage], a.key, a.parts + b.parts, 0)
        assert said_of(subject, stage, both).diagnosis, (a.why, b.why)
