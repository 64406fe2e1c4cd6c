"""Claim 12: dropout and label smoothing."""

import numpy as np
import pytest
from committed import REPEATS, committed

from aiayn_course.lab.claims.overfitting import DROPOUT, FewExamples, dropout
from aiayn_course.lab.claims.smoothing import LABEL_SMOOTHING, NoisyReverse, label_smoothing
from aiayn_np import ReverseTask
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


@pytest.mark.slow
def test_the_committed_curves_are_those_of_these_models_overfitting():
    kept, again = committed(DROPOUT), dropout(rate_scale=(0.2,), steps=50, seeds=(0,))
    for field in ("training", "held_out", "right"):
        want, found = getattr(kept, field)[:, kept.usual, :1, :3], getattr(again, field)[:, 0]
        tokens = 2e-3 * (field == "right")                 # a few that are as likely as another one
        np.testing.assert_allclose(found[..., 0], want[..., 0], rtol=REPEATS, atol=tokens)


def test_noise_replaces_its_share_of_the_answer_and_no_more():
    noisy, clean = NoisyReverse(0.3, max_length=6), ReverseTask(max_length=6)
    (src, tgt_in, got), (same, _, want) = noisy.validation(3000), clean.validation(3000)
    np.testing.assert_array_equal(src, same)
    np.testing.assert_array_equal(got > noisy.eos, want > noisy.eos)
    np.testing.assert_array_equal(tgt_in[:, 1:][got[:, :-1] > 2], got[:, :-1][got[:, :-1] > 2])
    share = (got != want)[want > noisy.eos].mean()
    assert abs(share - 0.3 * 0.9) < 0.02                # one in ten of the random ones is right
    np.testing.assert_array_equal(NoisyReverse(0.0).test(50)[2], ReverseTask().test(50)[2])


@pytest.mark.slow
def test_the_committed_losses_are_those_of_these_models_smoothing():
    kept = committed(LABEL_SMOOTHING)
    again = label_smoothing(rate_scale=kept.rate_scale[:1], seeds=(0,))
    np.testing.assert_allclose(again.loss[:, 0, 0, 0], kept.loss[:, 0, 0, 0], rtol=REPEATS)
    np.testing.assert_allclose(again.right[:, 0, 0, 0], kept.right[:, 0, 0, 0], atol=2e-3)
