"""Dropout: the share that is dropped, one draw both ways, no rng means no dropout."""


import numpy as np
import pytest

from aiayn_np import Dropout


def test_a_share_of_P_drop_is_dropped_and_the_rest_divided_by_the_probability_to_keep(rng):
    """60 000 draws: a deviation of 0.01 is more than five standard deviations."""
    y = Dropout(0.3)(np.full((2, 30_000), 5.0), rng=rng)
    assert abs((y == 0).mean() - 0.3) < 0.01
    np.testing.assert_allclose(y[y != 0], 5 / 0.7, rtol=1e-15)


def test_each_entry_is_drawn_on_its_own(rng):
    """Not one draw for a row, a column or a sequence."""
    dropped = Dropout(0.3)(np.ones((2, 40, 50)), rng=rng) == 0
    for axis in range(3):
        share = dropped.mean(axis=axis)
        assert 0 < share.mean() < 1
        assert not np.isin(share, [0, 1]).all()


@pytest.mark.parametrize(("P_drop", "with_rng"), [(0.3, False), (0, True)])
def test_without_rng_or_with_P_drop_0_it_is_the_identity_and_draws_nothing(rng, P_drop, with_rng):
    x, g = rng.normal(size=(2, 3, 5)), rng.normal(size=(2, 3, 5))
    state = rng.bit_generator.state
    y, cache = Dropout(P_drop).forward(x, **{"rng": rng} if with_rng else {})
    assert rng.bit_generator.state == state
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(Dropout(P_drop).backward(g, cache), g)


def test_a_rate_that_is_a_numpy_number_does_not_turn_float32_into_float64(rng):
    layer, x = Dropout(np.float64(0.3)), rng.normal(size=(2, 3)).astype(np.float32)
    y, cache = layer.forward(x, rng=rng)
    assert y.dtype == layer.backward(x, cache).dtype == np.float32
