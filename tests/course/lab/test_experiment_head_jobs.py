"""Claim 10."""

import numpy as np
import pytest
from committed import REPEATS, committed

from aiayn_course.lab.claims.head_jobs import (
    ANSWER,
    HEAD_JOBS,
    JOBS,
    PairTask,
    apart,
    head_jobs,
    job_scores,
    job_table,
)
from aiayn_course.lab.experiment import NOT_SETTLED
from aiayn_course.lab.learning import small_model
from aiayn_np.training.tasks import CopyTask, ReverseTask


@pytest.fixture(scope="module")
def kept():
    return committed(HEAD_JOBS)


@pytest.mark.parametrize("task", ["copy", "reverse"])
def test_a_head_that_looks_at_the_answer_scores_1_and_one_beside_it_0(task, rng):
    lengths = np.tile([3, 5, 6], 20)
    heads = np.zeros((60, 2, 7, 7))
    for i, n in enumerate(lengths):
        t = np.arange(n)
        heads[i, 0, t, ANSWER[task](t, n)] = 1
        heads[i, 1, t, ANSWER[task](t, n) + 1] = 1
    score, baseline = job_scores(heads, lengths, ANSWER[task], rng)
    np.testing.assert_array_equal(score, [1, 0])
    after, _ = job_scores(heads, lengths, ANSWER[task], rng, JOBS["one after it"])
    np.testing.assert_array_equal(after, [0, 1])
    assert (baseline < 0.6).all()


def test_the_baseline_of_any_head_is_1_over_the_positions(rng):
    heads = np.broadcast_to(np.eye(7), (800, 1, 7, 7))
    for job in JOBS.values():
        _, baseline = job_scores(heads, [6] * 800, ANSWER["copy"], rng, job)
        np.testing.assert_allclose(baseline, 1 / 7, atol=0.03)


def test_heads_are_apart_by_what_both_prefer_to_the_other_ones_job():
    assert apart(np.array([[0.6, 0.1, 0], [0.2, 0.5, 0]])) == pytest.approx(0.3)
    assert apart(np.array([[0.6, 0.6, -0.2], [0.5, 0.5, -0.1]])) == 0      # two jobs in each head
    assert apart(np.array([[0.8, -0.2], [0.1, -0.1]])) == 0                # no head at job 2


def test_a_pair_needs_the_symbol_and_the_one_as_far_from_the_end():
    task = PairTask(symbols=6, max_length=6)
    np.testing.assert_array_equal(task.target(np.array([0, 5, 2, 3]) + 3),
                                  np.array([1, 5, 3, 3]) + 3)


def test_untrained_heads_have_no_job():
    untrained = head_jobs(seeds=(0,), steps=1, most=1)
    assert untrained.verdict == NOT_SETTLED
    assert (untrained.best == -1).all()
    found = (untrained.effects | untrained.controls).values()
    assert all(np.abs(e.difference).max() < 0.05 for e in found)


@pytest.mark.slow
def test_the_best_untrained_head_is_measured_again(kept):
    margins = []
    for Task in (CopyTask, ReverseTask):
        task = Task(symbols=6, max_length=6)
        for seed in range(kept.margin.shape[1]):
            score, baseline = job_table(small_model(task, seed, N=2), task, 300, seed)
            margins.append(score - baseline)
    assert kept.untrained == pytest.approx(np.max(margins), rel=REPEATS)


@pytest.mark.slow
def test_training_makes_the_heads_align():
    again = head_jobs(seeds=(5,), steps=150)
    assert (again.margin[..., 0].max(axis=-1) > 0.3).all()
    assert again.controls["pair: two jobs in a model"].difference[0, 1] > 0.2
