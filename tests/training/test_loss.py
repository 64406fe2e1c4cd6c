"""Label-smoothed cross-entropy: its defaults, and what it refuses."""

import re
from math import log

import numpy as np
import pytest

from aiayn_np import LabelSmoothedCrossEntropy

# Three positions: p = [1/6, 2/6, 3/6], p = [3/5, 1/5, 1/5], and one of padding (target 0).
LOGITS = np.array([[0, log(2), log(3)], [log(3), 0, 0], [5, -7, 1]])
TARGETS = np.array([2, 1, 0])


def random_case(rng, B=2, T=5, V=7):
    """Logits and targets, of which some are padding (0) but not all."""
    targets = rng.integers(0, V, (B, T))
    targets[0, :2], targets[1, 0] = [0, 3], 0
    return rng.normal(0, 2, size=(B, T, V)), targets


def test_defaults():
    layer = LabelSmoothedCrossEntropy()
    assert (layer.eps_ls, layer.pad) == (0.1, 0)


@pytest.mark.parametrize(
    ("logits", "targets", "error", "message"),
    [
        (np.ones((2, 5, 7)), np.ones((2, 1), int), ValueError, "(2, 5), got (2, 1)"),
        (np.ones((2, 3)), [-1, 2], IndexError, "got id -1 at position (0,) with vocab_size=3"),
        (np.ones((2, 2, 3)), [[1, 2], [1]], ValueError,
         "targets must be rows of one length: pad the shorter ones"),
    ],
)
def test_refused_inputs(logits, targets, error, message):
    with pytest.raises(error, match=re.escape(message)):
        LabelSmoothedCrossEntropy(0.1).forward(logits, targets=targets)


@pytest.mark.parametrize("shape", [(1,), (3,), (3, 3)])
def test_a_gradient_that_is_not_one_number_is_refused(shape):
    layer = LabelSmoothedCrossEntropy(0.1)
    _, cache = layer.forward(LOGITS, targets=TARGETS)
    with pytest.raises(ValueError, match=re.escape(f"must have the shape of y, (), got {shape}")):
        layer.backward(np.ones(shape), cache)


@pytest.mark.parametrize("grad", ["x", None, 1j])
def test_a_gradient_that_is_no_real_number_is_refused(grad):
    layer = LabelSmoothedCrossEntropy(0.1)
    _, cache = layer.forward(LOGITS, targets=TARGETS)
    with pytest.raises(TypeError, match="grad_loss must be a real number, got"):
        layer.backward(grad, cache)


def test_without_smoothing_a_class_that_is_ruled_out_costs_nothing():
    logits = np.array([[0.0, 0.0, -np.inf]])
    layer = LabelSmoothedCrossEntropy(0.0)
    loss, cache = layer.forward(logits, targets=np.array([1]))
    assert loss == pytest.approx(np.log(2), rel=1e-15)
    np.testing.assert_allclose(layer.backward(1.0, cache), [[0.5, -0.5, 0]], atol=1e-15)


@pytest.mark.parametrize("pad", ["x", 1.5, True])
def test_a_pad_that_is_no_id_is_refused(pad):
    with pytest.raises(TypeError, match="pad must be integers"):
        LabelSmoothedCrossEntropy(0.1, pad=pad)


def test_options_that_are_numpy_numbers_become_python_numbers(rng):
    """A smoothing of type np.float64 would turn float32 into float64."""
    layer = LabelSmoothedCrossEntropy(np.float64(0.1), pad=np.int64(0))
    assert type(layer.pad) is int
    logits, targets = random_case(rng)
    loss, cache = layer.forward(logits.astype(np.float32), targets=targets)
    assert loss.dtype == layer.backward(1.0, cache).dtype == np.float32
