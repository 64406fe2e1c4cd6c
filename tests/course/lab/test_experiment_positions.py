"""Claim 6."""

import numpy as np
import pytest

from aiayn_course.lab.claims.positions import fitted, rotation, shift_is_rotation
from aiayn_course.lab.experiment import AGREES, DISAGREES
from aiayn_np import LearnedPositionalEncoding, SinusoidalPositionalEncoding


@pytest.fixture(scope="module")
def measured():
    return shift_is_rotation()


def test_rotations_are_orthogonal_and_add_up(rng):
    one = np.eye(16)
    np.testing.assert_array_equal(rotation(16, 0), one)
    for a, b in rng.integers(1, 500, (10, 2)):
        np.testing.assert_allclose(rotation(16, a) @ rotation(16, a).T, one, atol=1e-14)
        np.testing.assert_allclose(rotation(16, a) @ rotation(16, -a), one, atol=1e-14)
        np.testing.assert_allclose(
            rotation(16, a) @ rotation(16, b), rotation(16, a + b), atol=1e-12
        )


def test_least_squares_finds_the_rotation_in_the_table():
    M, error = fitted(SinusoidalPositionalEncoding(8, 1024).table(1024), 5)
    np.testing.assert_allclose(M, rotation(8, 5), atol=1e-12)
    assert error <= 1e-12


def test_random_positions_have_no_such_matrix(rng):
    _, error = fitted(LearnedPositionalEncoding(8, 1024, rng=rng).table(1024), 5)
    assert error > 1


def test_the_product_depends_on_the_distance_only_and_is_largest_at_0(measured):
    assert measured.distance_error <= 1e-12
    np.testing.assert_allclose(measured.similarity, measured.similarity[[0]] * np.ones((3, 1)),
                               atol=1e-12)
    middle = measured.similarity.shape[1] // 2
    np.testing.assert_allclose(measured.similarity, measured.similarity[:, ::-1], atol=1e-12)
    np.testing.assert_allclose(measured.similarity[:, middle], 1)
    assert np.all(np.delete(measured.similarity, middle, axis=1) < 0.98)
    assert np.all(np.diff(measured.falling) < 0)


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


@pytest.mark.parametrize(
    "field", ["error", "fitted_error", "matrix_error", "orthogonality", "composition",
              "distance_error"],
)
def test_each_error_counts(measured, field):
    wrong = type(measured)(**(vars(measured) | {field: getattr(measured, field) + 2e-12}))
    assert wrong.verdict == DISAGREES
