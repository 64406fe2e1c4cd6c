"""Sinusoids in halves."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from aiayn_np import SinusoidalPositionalEncoding
from aiayn_np.variants.embeddings import SinusoidsInHalves


@pytest.mark.parametrize("d_model", [6, 7])
def test_the_halves_are_the_papers_columns_in_another_order(d_model):
    paper = SinusoidalPositionalEncoding(d_model, max_len=20).table(9)
    halves = SinusoidsInHalves(d_model, max_len=20)
    sines, cosines = paper[:, 0::2], paper[:, 1::2]
    assert_array_equal(halves.table(9), np.concatenate([sines, cosines], axis=1))
    assert_array_equal(halves.table(4, start=5), halves.table(9)[5:])
