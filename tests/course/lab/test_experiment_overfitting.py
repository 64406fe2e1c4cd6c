"""Claim 12, dropout."""

import dataclasses

import numpy as np
import pytest
from committed import REPEATS, committed

from aiayn_course.lab.claims.overfitting import DROPOUT, FewExamples, dropout
from aiayn_course.lab.experiment import AGREES, DISAGREES, NOT_HERE
from aiayn_np.training.tasks import TEST, bucket


def sequences(src, task):
    """The sequences of a batch, as a set of tuples."""
    return {tuple(row[row > task.eos]) for row in src}


def test_few_examples_are_few_and_never_held_out(rng):
    task = FewExamples(40, rng)
    known = sequences(task.examples[0], task)
    assert sequences(task.batch(500, rng)[0], task) == known
    assert len(known) <= 40
    assert all(bucket(np.array(s)) > TEST for s in known)
    for src, _, _ in (task.validation(2000), task.test(2000)):
        assert not known & sequences(src, task)


def test_few_examples_are_answered_as_reverse_answers_them(rng):
    task = FewExamples(40, rng)
    for row, before, after in zip(*task.batch(20, rng)):
        symbols = row[row > task.eos]
        np.testing.assert_array_equal(after[after > task.eos], symbols[::-1])
        np.testing.assert_array_equal(before[: len(symbols) + 1], [task.bos, *symbols[::-1]])


def test_the_verdict_follows_the_numbers():
    kept = committed(DROPOUT)
    swap = [1, 0, 2]
    swapped = {name: getattr(kept, name)[swap] for name in ("training", "validation", "accuracy")}
    assert dataclasses.replace(kept, **swapped).verdict != AGREES
    one_seed = kept.validation.copy()
    one_seed[1, 2, -1] = one_seed[0, 2, -1] + 0.1
    assert dataclasses.replace(kept, validation=one_seed).verdict == NOT_HERE
    worse = dataclasses.replace(
        kept, validation=kept.validation[:, ::1] * np.array([1, 9, 9])[:, None, None],
        accuracy=kept.accuracy * np.array([1, 0.5, 0.5])[:, None, None],
    )
    assert worse.verdict == DISAGREES


def test_it_is_repeatable_and_measures_at_every_step_it_names():
    options = dict(sequences=20, steps=12, every=5, seeds=(3,), d_model=8, d_ff=8, h=2)
    first, again = dropout(**options), dropout(**options)
    np.testing.assert_array_equal(first.steps, [5, 10])
    assert first.validation.shape == (3, 1, 2)
    assert np.all(first.validation > 0)
    np.testing.assert_array_equal(first.validation, again.validation)
    other = dropout(**options | {"seeds": (4,)})
    assert np.all(first.validation != other.validation)


@pytest.mark.slow
def test_the_committed_curves_are_those_of_these_models():
    kept, again = committed(DROPOUT), dropout(steps=50, seeds=(0,))
    for field in ("training", "validation", "accuracy"):
        want, found = getattr(kept, field)[:, :1, 0], getattr(again, field)[..., 0]
        tokens = 2e-3 * (field == "accuracy")              # a few that are as likely as another one
        np.testing.assert_allclose(found, want, rtol=REPEATS, atol=tokens)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "verdict"), [(200, AGREES), (20_000, DISAGREES)])
def test_dropout_helps_where_examples_are_few_and_only_there(size, verdict):
    steps = 400 if size == 200 else 300
    found = dropout((0.0, 0.1), sequences=size, steps=steps, every=100, seeds=(0,))
    assert found.verdict == verdict
