"""The checks themselves: what they let through, what they refuse, and in which words."""

import math
import re

import numpy as np
import pytest

from aiayn_np import (
    EncoderLayer,
    LayerNorm,
    LearnedPositionalEncoding,
    Linear,
    OutputProjection,
    Parameter,
    PositionwiseFeedForward,
    checks,
)
from aiayn_np.training.checks import check_targets


def refused(error, message):
    return pytest.raises(error, match=f"^{re.escape(message)}$")


@pytest.mark.parametrize("value", [1, 7, np.int32(3), np.uint8(1)])
def test_sizes_are_integers_from_1(value):
    checks.check_sizes(d_model=value, h=1)


@pytest.mark.parametrize(("value", "error", "message"), [
    (0, ValueError, "d_ff must be at least 1, got d_ff=0"),
    (-3, ValueError, "d_ff must be at least 1, got d_ff=-3"),
    (2.0, TypeError, "d_ff must be an integer, got d_ff=2.0"),
    (True, TypeError, "d_ff must be an integer, got d_ff=True"),
    ("2", TypeError, "d_ff must be an integer, got d_ff='2'"),
    (None, TypeError, "d_ff must be an integer, got d_ff=None"),
])
def test_other_sizes_are_refused(value, error, message):
    with refused(error, message):
        checks.check_sizes(d_model=4, d_ff=value)


@pytest.mark.parametrize("value", [0, 0.0, 0.999, np.float32(0.5)])
def test_numbers_in_the_interval(value):
    checks.check_number("P_drop", value, 0, 1)


@pytest.mark.parametrize(("value", "open_low", "error", "message"), [
    (1, False, ValueError, "P_drop must lie in [0, 1), got P_drop=1"),
    (-1e-9, False, ValueError, "P_drop must lie in [0, 1), got P_drop=-1e-09"),
    (math.nan, False, ValueError, "P_drop must lie in [0, 1), got P_drop=nan"),
    (0, True, ValueError, "P_drop must lie in (0, 1), got P_drop=0"),
    ("a", False, TypeError, "P_drop must be a number in [0, 1), got P_drop='a'"),
    (False, False, TypeError, "P_drop must be a number in [0, 1), got P_drop=False"),
    (0.5j, True, TypeError, "P_drop must be a number in (0, 1), got P_drop=0.5j"),
])
def test_other_numbers_are_refused(value, open_low, error, message):
    with refused(error, message):
        checks.check_number("P_drop", value, 0, 1, open_low=open_low)


@pytest.mark.parametrize(("arguments", "expected"), [
    ((8, 2, None, None), (4, 4)),
    ((8, 2, 3, None), (3, 4)),
    ((8, 2, None, 6), (4, 6)),
    ((8, 2, 3, 6), (3, 6)),
    ((8, 3, 5, None), (5, 5)),
    ((8, 3, 5, 2), (5, 2)),
])
def test_head_sizes(arguments, expected):
    assert checks.check_heads(*arguments) == expected


@pytest.mark.parametrize("d_v", [None, 2])
def test_heads_that_do_not_divide_are_refused(d_v):
    with refused(ValueError, "d_model must be divisible by h, got d_model=10, h=4"):
        checks.check_heads(10, 4, None, d_v)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_float_arrays_of_any_layout_pass(dtype):
    for x in (np.ones((2, 3), dtype), np.ones((3, 2), dtype).T, np.ones((4, 6), dtype)[::2, ::2]):
        checks.check_array("x", x, last=("d_model", 3))


@pytest.mark.parametrize(
    "dtype", [np.float16, np.longdouble, np.complex64, int, bool, object, "U1"]
)
def test_other_dtypes_are_refused(dtype):
    with refused(TypeError, f"x must be float32 or float64, got {np.dtype(dtype)}"):
        checks.check_array("x", np.ones(3).astype(dtype))


@pytest.mark.parametrize("x", [1.0, [1.0], None])
def test_what_is_not_an_array_is_refused(x):
    with refused(TypeError, f"x must be a numpy array of floats, got {type(x).__name__}"):
        checks.check_array("x", x)


def test_one_real_dtype_for_all_and_complex_beside_it():
    single, double = np.ones(2, np.float32), np.ones(2)
    checks.check_same_dtype(Q=double, K=double, V=double)
    checks.check_same_dtype(Q=double, K=double.astype(complex))
    checks.check_same_dtype(Q=double.astype(complex), K=single)
    with refused(TypeError, "Q and V must have one dtype, got float64 and float32"
                            " (cast the array, or the model with .astype)"):
        checks.check_same_dtype(Q=double, K=double, V=single)


@pytest.mark.parametrize("make", [
    lambda rng: Linear(4, 4, rng=rng), lambda rng: LayerNorm(4),
    lambda rng: OutputProjection(Parameter(rng.normal(size=(3, 4)))),
    lambda rng: LearnedPositionalEncoding(4, 5, rng=rng),
    lambda rng: PositionwiseFeedForward(4, 3, rng=rng), lambda rng: EncoderLayer(4, 3, 2, rng=rng),
])
def test_complex_input_to_real_parameters_is_refused_and_passes_complex_ones(make, rng):
    layer, x = make(rng), rng.normal(size=(2, 3, 4)).astype(complex)
    message = r"\w+ and the parameters must have one dtype, got complex128 and float64 \(cast"
    with pytest.raises(TypeError, match=message):
        layer.forward(x)
    layer.astype(complex)
    assert layer(x).dtype == layer(x.real).dtype == complex


def test_gradients_have_the_shape_and_dtype_of_y():
    double = np.dtype(np.float64)
    checks.check_gradient(np.ones((2, 3)), (2, 3), double)
    checks.check_gradient(np.ones((2, 3), complex), (2, 3), double)
    with refused(ValueError, "grad_y must have the shape of y, (2, 3), got (1, 3)"):
        checks.check_gradient(np.ones((1, 3)), (2, 3), double)
    with refused(TypeError, "grad_y must have the dtype of y, float64, got float32"):
        checks.check_gradient(np.ones((2, 3), np.float32), (2, 3), double)
    with refused(TypeError, "grad_y must be a numpy array of floats, got list"):
        checks.check_gradient([1.0], (1,), double)


@pytest.mark.parametrize("ids", [3, [1, 2], [[0, 4]], np.array([[4]], np.uint8), range(5)])
def test_ids_become_an_integer_array(ids):
    checked = checks.check_ids("ids", ids, 5)
    assert isinstance(checked, np.ndarray)
    assert checked.tolist() == np.asarray(ids).tolist()


@pytest.mark.parametrize(("ids", "error", "message"), [
    ([[1, 2], [3, 5]], IndexError,
     "src must lie in [0, vocab_size), got id 5 at position (1, 1) with vocab_size=5"),
    ([[1, -1], [2, 3]], IndexError,
     "src must lie in [0, vocab_size), got id -1 at position (0, 1) with vocab_size=5"),
    ([1, 2], ValueError, "src must have 2 axes (B, T), got shape (2,)"),
    (np.zeros((2, 0), int), ValueError, "src must have a length of at least 1, got shape (2, 0)"),
    ([[1, 2], [3]], ValueError, "src must be rows of one length: pad the shorter ones"),
    ([[1.0]], TypeError, "src must be integers, got float64"),
    ([[True]], TypeError, "src must be integers, got bool"),
    ([[None]], TypeError, "src must be integers, got object"),
])
def test_other_ids_are_refused(ids, error, message):
    with refused(error, message):
        checks.check_ids("src", ids, 5, ndim=2)


@pytest.mark.parametrize(("T", "start"), [(1, 0), (9, 0), (1, 8), (4, np.int64(5))])
def test_positions_within_max_len(T, start):
    checks.check_positions(T, start, 9)


@pytest.mark.parametrize(("T", "start", "error", "message"), [
    (10, 0, ValueError, "length must be at most max_len=9, got length 10"),
    (1, 9, ValueError, "length must be at most max_len=9, got length 1 from start=9"),
    (0, 0, ValueError, "T must be at least 1, got T=0"),
    (1.0, 0, TypeError, "T must be an integer, got T=1.0"),
    (1, -1, ValueError, "start must be an integer of at least 0, got start=-1"),
    (1, True, ValueError, "start must be an integer of at least 0, got start=True"),
])
def test_other_positions_are_refused(T, start, error, message):
    with refused(error, message):
        checks.check_positions(T, start, 9)


SCORES = (2, 4, 3, 5)


@pytest.mark.parametrize("shape", [(3, 5), (1, 1, 1, 5), (2, 1, 1, 5), (1, 4, 1, 1), (2, 4, 3, 5)])
def test_masks_of_a_legal_shape(shape):
    checks.check_mask(np.ones(shape, dtype=bool), SCORES)


def test_no_mask_is_a_legal_mask():
    checks.check_mask(None, SCORES)


@pytest.mark.parametrize("shape", [(), (5,), (1, 5), (3, 1), (5, 3), (4, 3, 5), (2, 1, 5),
                                   (1, 2, 1, 5), (4, 1, 3, 5), (1, 2, 4, 3, 5), (2, 4, 3, 0)])
def test_masks_of_another_shape_are_refused(shape):
    with pytest.raises(ValueError, match=re.escape("allowed must have shape (3, 5)")) as caught:
        checks.check_mask(np.ones(shape, dtype=bool), SCORES)
    assert str(SCORES) in str(caught.value)
    assert str(caught.value).endswith(f"got {shape}")


@pytest.mark.parametrize(("allowed", "got"), [
    (np.ones((3, 5)), "float64"), (np.ones((3, 5), int), "int64"), ([[True]], "list"),
])
def test_masks_that_are_not_boolean_are_refused(allowed, got):
    with refused(TypeError, f"allowed must be a boolean array, True = may attend, got {got}"):
        checks.check_mask(allowed, SCORES)


def test_memory_is_counted_in_bytes_and_refused_one_above_the_limit(monkeypatch):
    monkeypatch.setattr(checks, "memory_bytes", lambda: 2 * 3 * 5 * 8)
    checks.check_memory((2, 3, 5), np.dtype(np.float64))
    checks.check_memory((2, 3, 10), np.dtype(np.float32))
    with refused(MemoryError, "scores of shape (2, 3, 6) need 288 bytes, this machine has 240"):
        checks.check_memory((2, 3, 6), np.dtype(np.float64))


@pytest.mark.parametrize("error", [AttributeError, OSError, ValueError])
def test_a_system_that_does_not_tell_its_memory_sets_no_limit(monkeypatch, error):
    def untold(name):
        raise error

    monkeypatch.setattr(checks.os, "sysconf", untold, raising=False)
    assert checks.memory_bytes.__wrapped__() == math.inf


@pytest.mark.parametrize(("targets", "error", "message"), [
    ([[1, 2, 3]], ValueError,
     "targets must have the shape of logits without its last axis, (2, 3), got (1, 3)"),
    ([[9, 9, 9]] * 2, ValueError, "targets must hold at least one id that is not pad=9"),
    ([[1, 2, 10]] * 2, IndexError,
     "targets must lie in [0, vocab_size), got id 10 at position (0, 2) with vocab_size=10"),
])
def test_refused_targets(targets, error, message):
    with refused(error, message):
        check_targets(np.ones((2, 3, 10)), targets, 9)


def test_targets_of_which_one_is_real_pass():
    assert check_targets(np.ones((2, 3, 10)), [[9, 9, 9], [9, 9, 0]], 9).shape == (2, 3)
