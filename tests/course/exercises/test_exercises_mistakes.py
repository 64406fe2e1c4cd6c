"""The known mistakes: who makes one is told so, and who makes two does not pass."""

import inspect
import re

import numpy as np
import pytest

from aiayn_course.exercises.checking.calling import Stop, copied
from aiayn_course.exercises.checking.edits import Edit
from aiayn_course.exercises.checking.function_check import FunctionCheck
from aiayn_course.exercises.checking.layer_check import LayerCheck
from aiayn_course.exercises.exercise import SUBJECTS

NUMBERS = -1e9, 0.01, 1e-9, 1.0, 1e3, 700.0  # of known mistakes: a student's are read in his file
STAGES = [(name, stage) for name, subject in SUBJECTS.items() for stage in subject.formulas]


def function_with(edit):
    """A student's function, or class that is no layer, that has this edit in it."""
    def student(*args, **options):
        return edit(*args, **options)
    return student


def layer_with(subject, stage, edit):
    """A student's class whose forward or backward has this edit in it."""
    reference = subject.reference
    names = [n for n in inspect.signature(reference.forward).parameters if n != "self"]

    def plain(self):
        right = reference.__new__(reference)
        right.__dict__.update(vars(self))
        return right

    def forward(self, *inputs, **options):
        y, cache = plain(self).forward(*inputs, **copied(options))
        if stage == "forward":
            y = np.array(edit(plain(self), *inputs, **options))
        return y, (cache, inputs, options)

    def backward(self, grad_y, cache):
        cache, inputs, options = cache
        if stage == "forward":
            return reference.backward(self, grad_y, cache)
        found = edit(plain(self), grad_y, *inputs,
                       **options if edit.formula.by_itself else dict(cache=cache))
        grads = tuple(found[f"grad_{n}"] for n in names if f"grad_{n}" in found)
        if len(grads) == 1:
            return grads[0]
        return grads or None

    return type(reference.__name__, (reference,), dict(forward=forward, backward=backward))


def student_with(subject, stage, edit):
    """A student's answer that has this edit of the right formula in it."""
    return function_with(edit) if stage == "function" else layer_with(subject, stage, edit)


def said_of(subject, stage, edit, seed=0):
    """What the check says of a student who makes an edit of the right formula."""
    student = student_with(subject, stage, edit)
    checking = (FunctionCheck if stage == "function" else LayerCheck)(subject, student, seed)
    with pytest.raises(Stop) as stop, np.errstate(all="ignore"):
        checking.run()
    return stop.value


def known_of(formula):
    """The Edits of what is known by heart, each with the number that its code begins with."""
    for edit in (formula.known_one(*entry) for entry in formula.known):
        start = re.search(r"number\(([^)]+)\)", str(edit.parts))
        yield edit.with_number(NUMBERS[NUMBERS.index(float(start[1]))]) if start else edit


@pytest.mark.slow
@pytest.mark.parametrize(("name", "stage"), STAGES)
def test_every_known_mistake_is_known_again(name, stage):
    subject = SUBJECTS[name]
    other = [(edit.key, edit.known, said.diagnosis, said.message)
             for edit in known_of(subject.formulas[stage])
             if (said := said_of(subject, stage, edit)).diagnosis != edit.key]
    assert not other


@pytest.mark.slow
@pytest.mark.parametrize(("name", "stage"), STAGES)
def test_two_known_mistakes_at_once_do_not_pass(name, stage, rng):
    subject = SUBJECTS[name]
    every = (subject.formulas[stage].known_one(*entry) for entry in subject.formulas[stage].known)
    known = [edit for edit in every if not edit.is_open]
    pairs = [(a, b) for i, a in enumerate(known) for b in known[:i]]
    for a, b in [pairs[i] for i in rng.permutation(len(pairs))[:20]]:
        both = Edit(subject.formulas[stage], a.key, a.parts + b.parts)
        assert said_of(subject, stage, both).diagnosis, (a.why, b.why)
