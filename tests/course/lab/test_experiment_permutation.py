"""Claim 8."""

import dataclasses

import numpy as np
import pytest
from committed import committed

from aiayn_course.lab.claims.permutation import (
    PERMUTATION,
    ROUNDING,
    difference,
    moving,
    permutation_symmetry,
)
from aiayn_course.lab.experiment import AGREES
from aiayn_np import Encoder, EncoderLayer, causal


@pytest.fixture(scope="module")
def measured():
    return permutation_symmetry(N=2, d_model=32, h=4, permutations=20)


@pytest.fixture
def encoder(rng):
    return Encoder([EncoderLayer(8, 16, 2, P_drop=0.0, rng=rng) for _ in range(2)])


def test_without_positions_the_order_makes_no_difference_but_rounding(measured):
    for name in ("encoder", "decoder"):
        assert measured.random[name].max() < 1e-14
        assert measured.by_moved[name].max() < 1e-14


def test_something_was_reordered(measured):
    """Of the identity not even rounding would be left."""
    assert measured.random["encoder"].min() > 0
    assert committed(PERMUTATION).random["encoder"].min() > 0


def test_an_encoder_with_a_mask_or_one_that_looks_at_places_would_be_seen(encoder, rng, measured):
    x, P = rng.standard_normal((6, 8)), rng.permuted(np.tile(np.arange(6), (10, 1)), axis=1)
    assert difference(encoder, x, P).max() < ROUNDING
    ramp = 1e-9 * np.arange(6)[:, None]
    for wrong in (lambda x: encoder(x, allowed=causal(6)), lambda x: encoder(x + ramp)):
        found = difference(wrong, x, P)
        assert found.max() > ROUNDING
        random = measured.random | {"encoder": found}
        assert dataclasses.replace(measured, random=random).verdict != AGREES


@pytest.mark.parametrize("m", [2, 5, 9])
def test_moving_gives_permutations_that_move_so_many(rng, m):
    P = moving(m, 9, 30, rng)
    np.testing.assert_array_equal(np.sort(P, axis=1), np.tile(np.arange(9), (30, 1)))
    np.testing.assert_array_equal((np.arange(9) != P).sum(axis=1), m)
    assert len(np.unique(P, axis=0)) > 10
