"""Claim 1."""


import numpy as np
import pytest

from aiayn_course.lab.claims.variance import dot_product_variance


@pytest.fixture(scope="module")
def measured():
    return dot_product_variance((16, 128, 1024))


def test_the_variance_is_d_k_within_3_percent(measured):
    np.testing.assert_allclose(measured.variance, measured.d_k, rtol=0.03)
    np.testing.assert_allclose(measured.scaled_variance, 1, rtol=0.03)
    assert measured.error < 0.03
