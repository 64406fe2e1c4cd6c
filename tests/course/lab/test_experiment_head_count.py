"""Claim 11."""


import numpy as np
import pytest
from committed import REPEATS, committed

from aiayn_course.lab.claims.head_count import (
    HEAD_COUNT,
    KEY_WIDTH,
    head_count,
    key_width,
)
from aiayn_course.lab.experiment import AGREES
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
