"""Claim 15."""


import numpy as np
import pytest

from aiayn_course.lab.claims.normalisation import (
    padding_appended,
    rows_replaced,
)
from aiayn_np import LayerNorm
from aiayn_np.variants.norms import BatchNorm


def test_the_change_by_zeros_is_as_computed_by_hand():
    """With mean 0, a share p of zeros divides the variance by 1 / (1 - p)."""
    x = np.array([1.0, -1.0, -1.0, 1.0]).reshape(1, 4, 1)
    for zeros in (4, 12):
        expected = np.sqrt((4 + zeros) / 4) - 1
        found = padding_appended(BatchNorm(1, eps=1e-12), x, np.zeros((1, zeros, 1)))
        assert found == pytest.approx(expected)


def test_a_norm_over_the_wrong_axis_and_fixed_statistics_are_told_apart(rng):
    x, other = rng.standard_normal((2, 4, 3, 8))
    layer, batch = LayerNorm(8), BatchNorm(8)
    fixed = (x.mean(axis=(0, 1)), x.var(axis=(0, 1)))

    def inference(x):
        return batch(x, statistics=fixed)

    for norm, exact in ((layer, True), (inference, True), (batch, False)):
        assert (rows_replaced(norm, x, other) == 0) == exact
        assert (padding_appended(norm, x, other) == 0) == exact
    assert rows_replaced(batch, x, x) == 0
