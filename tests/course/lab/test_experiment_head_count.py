"""Claim 11."""

import dataclasses

import numpy as np
import pytest
from committed import REPEATS, committed

from aiayn_course.lab.claims.head_count import (
    HEAD_COUNT,
    KEY_WIDTH,
    HeadCount,
    KeyWidth,
    head_count,
    key_width,
)
from aiayn_course.lab.experiment import AGREES, DISAGREES, NOT_HERE
from aiayn_course.lab.learning import small_model
from aiayn_np import CopyTask

WORSE, BETTER = 1, -1


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


@pytest.mark.parametrize(
    ("loss", "verdict"),
    [
        ([[2, 1, 2], [3, 1, 1.5]], AGREES),
        ([[2, 1, 2], [1, 1, 1.5]], NOT_HERE),
        ([[0.5, 1, 2], [0.9, 1, 1.5]], NOT_HERE),
        ([[2, 1, 0.9], [2, 1, 0.9]], NOT_HERE),
    ],
)
def test_the_verdict_on_h_is_decided_by_both_ends(loss, verdict):
    assert HeadCount(["copy"], np.array([1, 8, 32]), 10, np.array([loss]), 8).verdict == verdict


def test_the_verdict_on_d_k_turns_when_the_losses_do(widths):
    turned = dataclasses.replace(widths, loss=widths.loss[..., ::-1])
    assert turned.verdict == DISAGREES
    mixed = KeyWidth(["copy"], np.array([1, 8]), 10, np.array([[[2, 1], [1, 2]]]), 4)
    assert mixed.verdict == NOT_HERE


def test_a_run_of_few_steps_has_a_loss_for_every_task_seed_and_value():
    small = dict(seeds=(0, 1), steps=2, tasks=("sort",), batch_size=4)
    heads, again = (head_count((1, 8), **small) for _ in range(2))
    assert heads.loss.shape == (1, 2, 2)
    np.testing.assert_array_equal(heads.loss, again.loss)
    assert np.unique(heads.loss).size == heads.loss.size
    assert key_width((1, 8), **small).loss.shape == (1, 2, 2)


@pytest.mark.slow
def test_the_committed_losses_are_those_of_these_models(heads, widths):
    one = dict(seeds=(0,), tasks=("sort",))
    assert heads.loss[2, 0, 2] == pytest.approx(head_count((8,), **one).loss.item(), rel=REPEATS)
    assert widths.loss[2, 0, 0] == pytest.approx(key_width((1,), **one).loss.item(), rel=REPEATS)


@pytest.mark.slow
def test_it_shows_when_run_again():
    heads = head_count((1, 8, 32), tasks=("copy",), seeds=(4, 5))
    assert list(heads.compare(1, 8)[1]) == [BETTER]
    assert list(heads.compare(32, 8)[1]) == [WORSE]
    assert key_width((1, 8), tasks=("copy", "reverse"), seeds=(4, 5)).verdict == AGREES


def test_both_panels_have_one_axis_on_which_the_base_is_one(heads, widths):
    for result, base in ((heads, 8), (widths, 8)):
        ours, paper = result.figure().axes
        assert ours.get_ylim() == paper.get_ylim()
        for line, loss in zip(ours.lines, result.loss):
            at = list(result.x).index(base)
            np.testing.assert_allclose(line.get_ydata(), np.median(loss / loss[:, [at]], axis=0))
            assert line.get_ydata()[at] == 1
        assert min(paper.lines[0].get_ydata()) > 0.9
