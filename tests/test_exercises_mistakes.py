"""The known mistakes: who makes one is told so, and who makes two is told one of them at least."""

import inspect

import numpy as np
import pytest

from aiayn_np.exercises.calling import Stop, copied
from aiayn_np.exercises.exercise import SUBJECTS
from aiayn_np.exercises.function_check import FunctionCheck
from aiayn_np.exercises.layer_check import LayerCheck


def layer_with(subject, mistake):
    """A student's class whose forward or backward is that of a known mistake."""
    reference = subject.reference
    names = [n for n in inspect.signature(reference.forward).parameters if n != "self"]

    def plain(self):
        right = reference.__new__(reference)
        right.__dict__.update(vars(self))
        return right

    def forward(self, *inputs, **options):
        y, cache = plain(self).forward(*inputs, **copied(options))
        if mistake.stage == "forward":
            y = np.array(mistake.wrong(plain(self), *inputs, **options))
        return y, (cache, inputs, options)

    def backward(self, grad_y, cache):
        before = {n: p.grad.copy() for n, p in self.named_parameters()}
        grads = reference.backward(self, grad_y, cache[0])
        if mistake.stage == "forward":
            return grads
        found = mistake.wrong(plain(self), grad_y, *cache[1], **cache[2])
        for name, p in self.named_parameters():
            if f"{name}.grad" in found:
                p.grad = before[name] + found[f"{name}.grad"]
        if isinstance(grads, tuple):
            return tuple(found.get(f"grad_{n}", g) for n, g in zip(names, grads))
        return found.get(f"grad_{names[0]}", grads)

    return type(reference.__name__, (reference,), dict(forward=forward, backward=backward))


def diagnosis_of(subject, mistake, seed=0):
    """What the check says of a student who makes a known mistake."""
    is_layer = subject.kind == "layer"
    student = layer_with(subject, mistake) if is_layer else mistake.wrong
    checking = (LayerCheck if is_layer else FunctionCheck)(subject, student, seed)
    with pytest.raises(Stop) as stop:
        checking.run()
    return stop.value.diagnosis


def test_what_is_right_is_what_the_library_computes():
    for name, subject in SUBJECTS.items():
        if subject.oracle is not subject.reference and name != "greedy_decode":
            FunctionCheck(subject, subject.reference, 0).run()


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
def test_every_known_mistake_is_known_again(name):
    subject = SUBJECTS[name]
    single = [mistake for mistake in subject.mistakes if mistake.count == 1]
    assert single
    other = [(m.key, found) for m in single if (found := diagnosis_of(subject, m)) != m.key]
    assert not other


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
def test_two_known_mistakes_at_once_are_known_again(name, rng):
    """One of the two is named; in a few pairs the one makes the other invisible, or undoes it."""
    subject = SUBJECTS[name]
    found = {"of the two": [], "another": []}
    pairs = [mistake for mistake in subject.mistakes if mistake.count == 2]
    for pair in [pairs[i] for i in rng.permutation(len(pairs))[:50]]:
        keys = {m.key for m in subject.mistakes if m.count == 1 and m.why in pair.why}
        diagnosis = diagnosis_of(subject, pair)
        found["of the two" if diagnosis in keys else "another"].append((pair.why, diagnosis))
    assert 9 * len(found["another"]) <= len(found["of the two"]), found["another"]
