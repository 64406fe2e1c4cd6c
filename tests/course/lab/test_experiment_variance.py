"""Claim 1."""

from dataclasses import replace

import numpy as np
import pytest

from aiayn_course.lab.claims.variance import dot_product_variance
from aiayn_course.lab.experiment import AGREES


@pytest.fixture(scope="module")
def measured():
    return dot_product_variance((16, 128, 1024))


def test_the_variance_is_d_k_within_3_percent(measured):
    np.testing.assert_allclose(measured.variance, measured.d_k, rtol=0.03)
    np.testing.assert_allclose(measured.scaled_variance, 1, rtol=0.03)
    assert measured.error < 0.03


def test_a_wrong_scale_would_be_seen(measured):
    wrong = type(measured)(
        measured.d_k, measured.mean, measured.variance * 1.05, measured.scaled_variance
    )
    assert wrong.verdict != AGREES


@pytest.mark.parametrize("field", ["mean", "scaled_variance"])
def test_a_mean_or_a_scaled_variance_that_is_off_would_be_seen(measured, field):
    off = getattr(measured, field) + 0.05 * np.sqrt(measured.d_k)
    assert replace(measured, **{field: off}).verdict != AGREES
