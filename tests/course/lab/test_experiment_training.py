"""Claims 12 and 15: dropout, label smoothing, and norms over rows."""

import numpy as np
import pytest
from committed import REPEATS, committed

from aiayn_course.lab.claims.normalisation import (
    padding_appended,
    rows_replaced,
)
from aiayn_course.lab.claims.overfitting import DROPOUT, FewExamples, dropout
from aiayn_course.lab.claims.smoothing import NoisyReverse, label_smoothing
from aiayn_np import LayerNorm, ReverseTask
from aiayn_np.training.tasks import TEST, bucket
from aiayn_np.variants.norms import BatchNorm


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
    found = dropout(sequences=20, rate_scale=(0.1, 0.2), steps=10, every=5, seeds=(3,), d_model=8,
                    d_ff=8, h=2)
    np.testing.assert_array_equal(found.steps, range(5, 31, 5))
    assert found.held_out.shape == (2, 2, 1, 6)
    np.testing.assert_array_equal(found.validation, found.held_out[:, 1])
    assert np.all(found.validation > 0)


@pytest.mark.slow
def test_the_committed_curves_are_those_of_these_models_overfitting():
    kept, again = committed(DROPOUT), dropout(rate_scale=(0.2,), steps=50, seeds=(0,))
    for field in ("training", "held_out", "right"):
        want, found = getattr(kept, field)[:, kept.usual, :1, :3], getattr(again, field)[:, 0]
        tokens = 2e-3 * (field == "right")                 # a few that are as likely as another one
        np.testing.assert_allclose(found[..., 0], want[..., 0], rtol=REPEATS, atol=tokens)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "sign"), [(200, 1), (20_000, -1)])
def test_dropout_helps_where_examples_are_few_and_only_there(size, sign):
    without, with_it = dropout(rate_scale=(0.2,), sequences=size, steps=100, seeds=(0,)).validation
    assert np.sign(without - with_it)[0, -1] == sign


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
def test_smoothing_costs_perplexity_at_a_small_size_too():
    found = label_smoothing((0.0, 0.2), rate_scale=(0.2,), max_length=4, steps=200, seeds=(0,))
    assert found.loss[1, 0, 0, 1] > found.loss[0, 0, 0, 1]


def test_the_change_by_zeros_is_as_computed_by_hand():
    """With mean 0, a share p of zeros divides the variance by 1 / (1 - p)."""
    x = np.array([1.0, -1.0, -1.0, 1.0]).reshape(1, 4, 1)
    for zeros in (4, 12):
        expected = np.sqrt((4 + zeros) / 4) - 1
        found = padding_appended(BatchNorm(1, eps=1e-12), x, np.zeros((1, zeros, 1)))
        assert found == pytest.approx(expected)


def test_a_norm_over_the_wrong_axis_and_fixed_statistics_are_told_apart(rng):
    x, other = rng.standard_normal((2, 4, 3, 8))
    layer, batch = LayerNorm(8), BatchNorm(8)
    fixed = (x.mean(axis=(0, 1)), x.var(axis=(0, 1)))

    def inference(x):
        return batch(x, statistics=fixed)

    for norm, exact in ((layer, True), (inference, True), (batch, False)):
        assert (rows_replaced(norm, x, other) == 0) == exact
        assert (padding_appended(norm, x, other) == 0) == exact
    assert rows_replaced(batch, x, x) == 0
