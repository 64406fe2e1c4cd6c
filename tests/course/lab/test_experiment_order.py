"""Claims 6, 7 and 8: rotations, learned positions, and what no order changes."""

import dataclasses

import numpy as np
import pytest
from committed import REPEATS, committed

from aiayn_course.lab.claims.permutation import (
    PERMUTATION,
    ROUNDING,
    difference,
    permutation_symmetry,
)
from aiayn_course.lab.claims.position_training import (
    ENCODINGS,
    LEARNED_POSITIONS,
    of_length,
    position_training,
)
from aiayn_course.lab.claims.positions import shift_is_rotation
from aiayn_course.lab.experiment import AGREES, DISAGREES, NOT_SETTLED
from aiayn_np import (
    Encoder,
    EncoderLayer,
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
    causal,
)
from aiayn_np.dropout import Dropout
from aiayn_np.training.tasks import CopyTask


def test_learned_positions_would_not_agree():
    small = dict(k=(1, 3), d_model=16, T=512)
    assert shift_is_rotation(**small).verdict == AGREES
    planted = shift_is_rotation(**small, positions=LearnedPositionalEncoding)
    assert planted.error.min() > 1
    assert planted.verdict == DISAGREES


@pytest.mark.parametrize("base", [9999, 100])
def test_another_base_would_not_agree(base):
    class OtherBase(SinusoidalPositionalEncoding):
        def table(self, T, *, start=0):
            angle = np.arange(T)[:, None] / base ** (np.arange(0, self.d_model, 2) / self.d_model)
            return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(T, -1)

    planted = shift_is_rotation((1, 3), d_model=16, T=512, positions=OtherBase)
    assert planted.error.min() > 1e-6
    assert planted.verdict == DISAGREES


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


def test_others_are_trained_at_the_middle_rate_alone():
    result = position_training(seeds=(0,), rate_scale=(0.1, 0.2, 0.4), steps=10, longest=5,
                               trained_length=3, tests=20)
    assert result.verdict == NOT_SETTLED
    assert np.isnan(result.reached).all()
    assert "95 % of tokens are right first at step never and never" in result.finding
    assert result.curves.shape == (3, 3, 1, 3)
    assert np.isfinite(result.nats[:2]).all()
    np.testing.assert_array_equal(np.isnan(result.nats[RELATIVE, :, 0, 0]), [True, False, True])


@pytest.mark.slow
def test_the_committed_curves_are_those_of_these_models(kept):
    again = position_training(seeds=(0,), rate_scale=(0.2,), steps=10, tests=300)
    np.testing.assert_allclose(again.curves[:, 0, :, 0], kept.at_middle(kept.curves)[:, :1, 0],
                               rtol=REPEATS)


def trained(**encodings):
    return position_training(seeds=(0, 1), rate_scale=(0.2,), steps=100, longest=10, tests=600,
                             encodings=encodings)


@pytest.mark.slow
def test_a_model_without_positions_would_not_be_alike():
    result = trained(sinusoidal=ENCODINGS["sinusoidal"], none=dict(positions=Dropout(0.0)))
    assert (result.effects["trained lengths, alike"].difference < -0.1).all()


@pytest.fixture(scope="module")
def measured():
    return permutation_symmetry(N=2, d_model=32, h=4, permutations=20)


@pytest.fixture
def encoder(rng):
    return Encoder([EncoderLayer(8, 16, 2, P_drop=0.0, rng=rng) for _ in range(2)])


def test_without_positions_the_order_makes_no_difference_but_rounding(measured):
    for name in ("encoder", "decoder"):
        assert measured.random[name].max() < 1e-14


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
        assert dataclasses.replace(measured, random=random).verdict == DISAGREES
