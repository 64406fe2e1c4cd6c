"""The fast sums equal NumPy's, in every shape and dtype that layers hand to them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aiayn_np.reductions import FEW, SHORT, add_at, column_sum, row_max, row_mean, row_sum

SHAPES = [(3,), (5, 7), (2, 3, 4, 5), (4, 1), (1, 6), (0, 3), (2, 0, 5), (3, SHORT), (3, SHORT + 1),
          (2, 3, SHORT + 1)]
ROWS = {
    row_sum: lambda x: x.sum(axis=-1, keepdims=True),
    row_mean: lambda x: x.mean(axis=-1, keepdims=True),
    row_max: lambda x: x.max(axis=-1, keepdims=True),
    column_sum: lambda x: x.sum(axis=tuple(range(x.ndim - 1))),
}


@pytest.mark.parametrize("function", ROWS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", "fdD")
def test_equal_to_numpy(rng, function, dtype):
    for shape in SHAPES:
        x = rng.normal(size=shape).astype(dtype)
        if dtype == "D":
            x = x + 1j * rng.normal(size=shape)
        for given in (x, np.asfortranarray(x), np.repeat(x, 2, axis=0)[::2]):
            y, expected = function(given), ROWS[function](x)
            assert (y.shape, y.dtype) == (expected.shape, x.dtype), shape
            rounding = 2 * np.finfo(dtype).eps * ROWS[function](abs(x))
            assert (abs(y - expected) <= rounding).all(), shape


def test_a_complex_step_survives_in_a_sum(rng):
    """1e-20 beside 1 is kept apart from it: nothing is added to the imaginary part but itself."""
    x, v = rng.normal(size=(2, 4, 6))
    same = dict(rtol=1e-13, atol=1e-34)                                # of numbers around 1e-20
    assert_allclose(row_sum(x + 1e-20j * v).imag, 1e-20 * v.sum(axis=-1, keepdims=True), **same)
    assert_allclose(column_sum(x + 1e-20j * v).imag, 1e-20 * v.sum(axis=0), **same)


def test_what_is_not_finite_stays_in_its_row():
    x = np.ones((4, 3))
    x[1, 2], x[2, 0] = np.nan, -np.inf
    assert_array_equal(row_sum(x)[:, 0], [3, np.nan, -np.inf, 3])
    assert_array_equal(row_max(x)[:, 0], [1, np.nan, 1, 1])
    assert_array_equal(row_max(np.full((2, 3), -np.inf)), np.full((2, 1), -np.inf))


@pytest.mark.parametrize("V", [2, 5, FEW, FEW + 1])
@pytest.mark.parametrize("dtype", "fdD")
def test_rows_are_added_where_their_ids_say(rng, V, dtype):
    ids = rng.integers(0, V, 40)
    rows = rng.normal(size=(40, 3)).astype(dtype)
    total = rng.normal(size=(V, 3)).astype(dtype)
    expected, size = total.copy(), abs(total)
    for i, row in zip(ids, rows, strict=True):
        expected[i] += row
        size[i] += abs(row)
    add_at(total, ids, rows)
    assert (abs(total - expected) <= 2 * np.finfo(dtype).eps * size).all()
    assert total.dtype == dtype
    before = total.copy()
    add_at(total, ids[:0], rows[:0])
    assert_array_equal(total, before)


@pytest.mark.parametrize("V", [5, 300])
def test_an_inf_reaches_only_the_row_of_its_id(V):
    total = np.zeros((V, 2))
    add_at(total, np.array([1, 2, 2]), np.array([[np.inf, 1.0], [2, 3], [4, 5]]))
    want = np.zeros((V, 2))
    want[1:3] = [[np.inf, 1], [6, 8]]
    np.testing.assert_array_equal(total, want)
