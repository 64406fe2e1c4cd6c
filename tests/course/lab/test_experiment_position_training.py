"""Claim 7."""


import numpy as np
import pytest
from committed import REPEATS, committed

from aiayn_course.lab.claims.position_training import (
    ENCODINGS,
    LEARNED_POSITIONS,
    of_length,
    position_training,
)
from aiayn_course.lab.experiment import AGREES, IN_PART, NOT_HERE
from aiayn_np.dropout import Dropout
from aiayn_np.training.tasks import CopyTask

SINUSOIDAL, LEARNED, RELATIVE = range(3)


@pytest.fixture(scope="module")
def kept():
    return committed(LEARNED_POSITIONS)


def test_of_length_keeps_whole_sequences_of_that_length():
    batch = CopyTask(max_length=9).test(300)
    lengths = range(3, 10)
    assert sum(len(of_length(batch, n)[0]) for n in lengths) == 300
    for n in lengths:
        src, tgt_in, tgt_out = of_length(batch, n)
        assert src.shape == tgt_in.shape == tgt_out.shape == (len(src), n + 1)
        assert np.all(src[:, -1] == CopyTask.eos)
        np.testing.assert_array_equal(src, tgt_out)


def test_too_short_training_does_not_agree():
    result = position_training(seeds=(0,), steps=20, longest=5, trained_length=3, tests=20,
                               encodings={k: ENCODINGS[k] for k in ("sinusoidal", "learned")})
    assert result.verdict == NOT_HERE
    assert np.isnan(result.reached).all()
    assert "(first step with 95 % of tokens right: never and never)" in result.finding
    assert result.loss.shape == (2, 1, 2)


def trained(**encodings):
    return position_training(seeds=(0, 1), steps=300, longest=10, tests=600, encodings=encodings)


@pytest.mark.slow
def test_the_committed_curves_are_those_of_these_models(kept):
    again = position_training(seeds=(0,), steps=10, tests=300)
    np.testing.assert_allclose(again.loss[..., 0], kept.loss[:, :1, 0], rtol=REPEATS)


@pytest.mark.slow
def test_it_shows_again_on_two_seeds():
    result = trained(sinusoidal=ENCODINGS["sinusoidal"], learned=ENCODINGS["learned"])
    assert result.verdict == IN_PART
    assert result.reached[LEARNED].max() < result.reached[SINUSOIDAL].min()
    assert result.beyond(2).max() < 0.1


@pytest.mark.slow
def test_a_model_without_positions_would_not_agree():
    result = trained(sinusoidal=ENCODINGS["sinusoidal"], none=dict(positions=Dropout(0.0)))
    assert result.verdict != AGREES
