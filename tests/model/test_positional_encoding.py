"""Positional encodings: known sines and cosines, and what is refused."""


import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aiayn_np import LearnedPositionalEncoding, SinusoidalPositionalEncoding

BOTH = [SinusoidalPositionalEncoding, LearnedPositionalEncoding]

SIN_1, COS_1 = 0.8414709848078965, 0.5403023058681398
SIN_001, COS_001 = 0.009999833334166664, 0.9999500004166653  # of 0.01 = 1 / 10000^(2 / 4)


def test_known_values():
    """d_model = 4: angles pos and pos / 100; sine and cosine alternate."""
    table = SinusoidalPositionalEncoding(4, 9).table(3)
    assert_allclose(table[0], [0, 1, 0, 1], rtol=0)
    assert_allclose(table[1], [SIN_1, COS_1, SIN_001, COS_001], rtol=1e-15)
    assert_allclose(table[2, :2], [2 * SIN_1 * COS_1, COS_1**2 - SIN_1**2], rtol=1e-14)
    assert_allclose(table[2, 2:], [2 * SIN_001 * COS_001, COS_001**2 - SIN_001**2], rtol=1e-14)


def test_learned_table_is_a_copy(rng):
    layer = LearnedPositionalEncoding(5, 9, rng=rng)
    before = layer.E.value.copy()
    layer.table(3)[...] = 7
    assert_array_equal(layer.E.value, before)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("start", [-1, 1.0])
def test_a_start_that_is_none_is_refused(rng, kind, start):
    with pytest.raises(ValueError, match=f"start must be an integer of at least 0, got {start=}"):
        kind(5, 9, rng=rng).forward(np.ones((2, 3, 5)), start=start)
