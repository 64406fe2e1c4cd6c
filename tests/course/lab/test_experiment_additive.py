"""Claim 3: additive attention needs no scale."""

import dataclasses

import numpy as np
import pytest
from committed import REPEATS, TRAINED, committed

from aiayn_course.lab.claims import additive as module
from aiayn_course.lab.claims.additive import ADDITIVE, additive_against_dot, start_variances
from aiayn_course.lab.experiment import AGREES, DISAGREES


@pytest.mark.slow
def test_the_additive_score_is_flat_and_the_dot_product_is_not(rng):
    width = np.array([4, 32, 256])
    variance = start_variances(width, rng)
    assert variance["additive"].max() / variance["additive"].min() < 1.25
    np.testing.assert_allclose(variance["dot"], width, rtol=0.1)
    np.testing.assert_allclose(variance["scaled"], 1, rtol=0.1)


def test_a_dot_product_in_place_of_the_additive_score_is_seen(rng, monkeypatch):
    monkeypatch.setattr(module, "AdditiveScore", lambda h, d_k, rng: module.DotScore())
    variance = start_variances((4, 32, 256), rng)
    assert variance["additive"].max() / variance["additive"].min() > 50
    kept = dataclasses.replace(committed(ADDITIVE), variance=variance)
    assert kept.verdict == DISAGREES


def test_the_committed_variances_are_measured_again():
    kept = committed(ADDITIVE)
    again = start_variances(kept.width[:1], np.random.default_rng(0))
    for name, variance in again.items():
        np.testing.assert_allclose(kept.variance[name][:1], variance, rtol=1e-4)


@pytest.mark.slow
def test_the_committed_models_are_trained_again():
    kept = committed(ADDITIVE)
    again = additive_against_dot(width=(4,), d_k=(4,), seeds=(0,))
    assert kept.start[0, 0] == pytest.approx(again.start.item(), rel=REPEATS)
    assert kept.end[0, 0] == pytest.approx(again.end.item(), rel=TRAINED)
    assert kept.loss["dot"][0, 0] == pytest.approx(again.loss["dot"].item(), rel=TRAINED)


@pytest.mark.slow
def test_the_models_part_again(seed):
    seeds = (seed, seed + 1, seed + 2)
    measured = additive_against_dot(width=(4, 64), d_k=(4, 128), seeds=seeds)
    assert measured.behind[-1] > 0.5
    assert measured.verdict == AGREES, measured.finding
