"""Claim 11."""

from dataclasses import replace

import numpy as np
import pytest
from committed import REPEATS, committed

from aiayn_course.lab.claims.head_count import (
    HEAD_COUNT,
    KEY_WIDTH,
    head_count,
    key_width,
)
from aiayn_course.lab.learning import small_model
from aiayn_np import CopyTask


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


def test_the_controls_hold_wider_heads_against_the_base_and_the_most_heads_against_them(heads):
    as_base = replace(heads, wider=heads.loss[0, list(heads.x).index(heads.base)])
    wider, most = as_base.controls.values()
    np.testing.assert_array_equal(wider.difference, 0)
    np.testing.assert_array_equal(most.difference, heads.effects["copy, h = 32"].difference)


@pytest.mark.slow
def test_the_committed_losses_are_those_of_these_models(heads, widths):
    for kept, run in ((heads, head_count), (widths, key_width)):
        again = run((1,), **dict(base=1) if run is head_count else {}, tasks=kept.tasks[-1:],
                    rate_scale=kept.rate_scale[:1], seeds=(0,))
        assert kept.loss[-1, 0, 0, 0, 0] == pytest.approx(again.loss[0, 0, 0, 0, 0], rel=REPEATS)
