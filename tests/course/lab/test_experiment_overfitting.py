"""Claim 12, dropout."""


import numpy as np
import pytest
from committed import REPEATS, committed

from aiayn_course.lab.claims.overfitting import DROPOUT, FewExamples, dropout
from aiayn_course.lab.experiment import AGREES, DISAGREES
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


def test_it_measures_at_every_step_it_names():
    found = dropout(sequences=20, steps=12, every=5, seeds=(3,), d_model=8, d_ff=8, h=2)
    np.testing.assert_array_equal(found.steps, [5, 10])
    assert found.validation.shape == (3, 1, 2)
    assert np.all(found.validation > 0)


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
