"""Claim 2: training with and without the scale."""

from dataclasses import replace

import numpy as np
import pytest
from committed import REPEATS, committed

from aiayn_course.lab.claims.scale_training import SCALE_TRAINING, scale_training
from aiayn_course.lab.experiment import AGREES


@pytest.fixture(scope="module")
def kept():
    return committed(SCALE_TRAINING)


def test_with_the_scale_the_best_rate_is_the_highest_tried(kept):
    assert (kept.best_rate[0] == len(kept.rate_scale) - 1).all()
    assert "at the highest rate tried" in kept.finding
    lower = replace(kept, curves=kept.curves[:, :, ::-1])
    assert "highest" not in lower.finding


@pytest.mark.slow
def test_training_again_at_the_smallest_size_shows_it():
    again = scale_training((4, 64), rate_scale=(0.2,), steps=150, seeds=(0,))
    assert again.verdict == AGREES


@pytest.mark.slow
def test_the_committed_curves_are_those_of_these_models(kept):
    again = scale_training(steps=10, seeds=(0,))
    np.testing.assert_allclose(again.curves[..., 0], kept.curves[:, :, :, :1, 0], rtol=REPEATS)
