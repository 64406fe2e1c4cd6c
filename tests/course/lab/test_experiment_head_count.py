"""Claim 11."""

import numpy as np
import pytest
from committed import REPEATS, committed

from aiayn_course.lab.claims.head_count import (
    HEAD_COUNT,
    KEY_WIDTH,
    HeadCount,
    head_count,
    key_width,
)
from aiayn_course.lab.experiment import AGREES, DISAGREES, IN_PART, NOT_SETTLED
from aiayn_course.lab.learning import small_model
from aiayn_np import CopyTask

NOISE = 0.01 * np.array([-2, -1, 0, 1, 2])[:, None]


@pytest.fixture(scope="module")
def heads():
    return committed(HEAD_COUNT)


@pytest.fixture(scope="module")
def widths():
    return committed(KEY_WIDTH)


def test_models_that_differ_in_h_begin_with_the_same_values(seed):
    one, many = (small_model(CopyTask(), seed, h=h).state_dict() for h in (1, 32))
    assert one.keys() == many.keys()
    assert all(np.array_equal(one[name], many[name]) for name in one)


def test_models_that_differ_in_d_k_differ_in_queries_and_keys_alone(seed):
    narrow, wide = (small_model(CopyTask(), seed, d_k=d_k).state_dict() for d_k in (1, 8))
    different = {name for name in narrow if narrow[name].shape != wide[name].shape}
    assert different == {n for n in narrow if n.split(".")[-2] in ("linear_Q", "linear_K")}


@pytest.mark.parametrize(("few", "many", "verdict"), [
    (0.3, 0.2, AGREES), (0.3, 0.0, IN_PART), (0.3, -0.3, IN_PART), (-0.3, 0.0, DISAGREES),
    (-0.3, -0.3, DISAGREES), (0.0, 0.0, NOT_SETTLED),
])
def test_the_verdict_on_h_can_be_each_of_the_four(few, many, verdict):
    means = 1 + np.array([few, 0.0, many])[:, None, None, None]
    loss = np.tile(means, (1, 1, 5, 2)) + np.array([1, 0, 2])[:, None, None, None] * NOISE
    found = HeadCount(["copy"], np.array([1, 8, 32]), 8, np.array([0.2]), 10, loss[None], loss[1])
    assert found.verdict == verdict
    wider, width = found.controls.values()
    np.testing.assert_allclose(wider.difference, 0)
    np.testing.assert_allclose(width.difference, (loss[2] - loss[1])[0])


def test_a_run_of_few_steps_has_a_loss_for_every_task_value_rate_seed_and_time():
    small = dict(seeds=(0, 1), steps=1, tasks=("sort",), batch_size=4, rate_scale=(0.1, 0.2))
    heads, again = (head_count((1, 8), **small) for _ in range(2))
    assert (heads.loss.shape, heads.wider.shape) == ((1, 2, 2, 2, 2), (2, 2, 2))
    np.testing.assert_array_equal(heads.loss, again.loss)
    assert np.unique(heads.loss).size == heads.loss.size
    assert key_width((1, 8), **small).loss.shape == (1, 2, 2, 2, 2)


@pytest.mark.slow
def test_the_committed_losses_are_those_of_these_models(heads, widths):
    for kept, run in ((heads, head_count), (widths, key_width)):
        again = run((1,), **dict(base=1) if run is head_count else {}, tasks=kept.tasks[-1:],
                    rate_scale=kept.rate_scale[:1], seeds=(0,))
        assert kept.loss[-1, 0, 0, 0, 0] == pytest.approx(again.loss[0, 0, 0, 0, 0], rel=REPEATS)
