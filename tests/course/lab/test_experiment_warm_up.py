"""Claim 14."""

from dataclasses import replace

import numpy as np
import pytest
from committed import REPEATS, committed

from aiayn_course.lab.claims.warm_up import (
    POST,
    POST_FLAT,
    PRE,
    PRE_FLAT,
    WARM_UP,
    blind_loss,
    schedule,
    warm_up,
)
from aiayn_course.lab.experiment import AGREES
from aiayn_course.lab.learning import losses, small_model
from aiayn_np.training.optimizer import warmup_rate
from aiayn_np.training.tasks import CopyTask


@pytest.fixture(scope="module")
def kept():
    return committed(WARM_UP)


def test_both_schedules_have_one_peak_and_one_decay():
    steps = range(1, 101)
    warm, level = (np.array([schedule(0.5, 20, w)(s) for s in steps]) for w in (True, False))
    eq_3 = np.array([warmup_rate(s, 32, 20) for s in steps])
    np.testing.assert_allclose(warm, 0.5 * eq_3 / eq_3.max())
    np.testing.assert_array_equal(level[19:], warm[19:])
    assert np.all(level[:20] == 0.5)


def test_the_blind_loss_is_that_of_guessing_lengths_and_symbols(rng):
    task = CopyTask(max_length=2)
    # lengths 1 and 2 with 1/4 and 3/4: 1.75 symbols and one end for each sequence
    nats = np.log(4) - 0.75 * np.log(3) + 1.75 * np.log(10)
    assert blind_loss(task) == pytest.approx(nats / 2.75)
    lengths = (CopyTask(max_length=5).batch(1000, rng)[2] > 2).sum(axis=1)
    assert np.bincount(lengths)[5] / 1000 == pytest.approx(9 / 25, abs=0.07)


def test_a_run_that_is_no_longer_finite_is_nan_from_there(seed):
    task = CopyTask(max_length=3)
    rates = lambda step: 0.01 if step < 3 else 1e30  # noqa: E731
    with np.errstate(all="ignore"):
        found = losses(small_model(task, 0), task, 0, steps=8, batch_size=2, schedule=rates)
    assert np.isfinite(found[:3]).all()
    assert np.isnan(found[-1])


def test_at_the_highest_rate_post_norm_fails_either_way_and_pre_norm_nowhere(kept):
    np.testing.assert_array_equal(kept.failing[[POST, POST_FLAT]].all(axis=0), [False] * 3 + [True])
    assert not kept.failing[[PRE, PRE_FLAT]].any()
    assert "at 0.03 it fails either way" in kept.finding
    fine = replace(kept, curves=kept.curves / 10)
    assert "at no rate it fails either way" in fine.finding


@pytest.mark.slow
def test_the_committed_curves_are_those_of_these_models(kept):
    again = warm_up(steps=10, seeds=(0,))
    np.testing.assert_allclose(again.curves[..., 0], kept.curves[:, :, :1, 0], rtol=REPEATS)


@pytest.mark.slow
def test_training_again_at_the_smallest_size_shows_it():
    again = warm_up((0.01,), seeds=(0,))
    assert again.verdict == AGREES
    assert again.final[PRE_FLAT].max() < again.blind - 0.3 < again.final[POST_FLAT].min()
