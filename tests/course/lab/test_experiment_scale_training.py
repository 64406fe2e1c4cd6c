"""Claim 2: training with and without the scale."""

from dataclasses import replace

import numpy as np
import pytest
from committed import REPEATS, committed

from aiayn_course.lab.claims.scale_training import (
    SCALE_TRAINING,
    SCALED,
    scale_training,
    score_variance,
    shrink,
)
from aiayn_course.lab.experiment import AGREES
from aiayn_course.lab.learning import small_model
from aiayn_np.training.tasks import CopyTask
from aiayn_np.variants.scoring import dot_attention


@pytest.fixture(scope="module")
def kept():
    return committed(SCALE_TRAINING)


def test_a_grid_that_is_cut_at_the_best_rate_settles_nothing(kept):
    rate = np.median(kept.curves[SCALED, -1, ..., -1], axis=-1).argmin()
    cut = replace(kept, curves=kept.curves[:, :, rate:], rate_scale=kept.rate_scale[rate:])
    assert cut.verdict != AGREES


def test_a_smaller_start_is_the_scale_at_the_first_step_and_at_no_other(seed):
    task, size = CopyTask(max_length=8), dict(h=1, d_model=16, d_ff=16, d_v=16, d_k=64)
    source = task.validation(64)[0]
    scaled, plain, small = (small_model(task, seed, attention=attention, **size)
                            for attention in (None, dot_attention, dot_attention))
    shrink(small, 64**-0.5)
    first, without, start = (score_variance(m, source) for m in (scaled, plain, small))
    assert start == pytest.approx(first, rel=1e-4)
    assert without == pytest.approx(64 * first, rel=1e-4)
    for model in (scaled, small):
        shrink(model, 8)
    assert score_variance(small, source) == pytest.approx(64 * first, rel=1e-4)


@pytest.mark.slow
def test_the_committed_curves_are_those_of_these_models(kept):
    again = scale_training(kept.d_k[:1], rate_scale=kept.rate_scale[:1], steps=10, seeds=(0,))
    np.testing.assert_allclose(again.curves[:, 0, 0, 0, 0], kept.curves[:, 0, 0, 0, 0],
                               rtol=REPEATS)
