"""Label-smoothed cross-entropy: its defaults, and what it refuses."""

import re
from math import log

import numpy as np
import pytest

from aiayn_np import LabelSmoothedCrossEntropy

# Three positions: p = [1/6, 2/6, 3/6], p = [3/5, 1/5, 1/5], and one of padding (target 0).
LOGITS = np.array([[0, log(2), log(3)], [log(3), 0, 0], [5, -7, 1]])
TARGETS = np.array([2, 1, 0])


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda layer: layer.forward(np.ones((2, 5, 7)), targets=np.ones((2, 1), int)), ValueError,
     "(2, 5), got (2, 1)"),
    (lambda layer: layer.forward(np.ones((2, 3)), targets=[-1, 2]), IndexError,
     "got id -1 at position (0,) with vocab_size=3"),
    (lambda layer: layer.forward(np.ones((2, 2, 3)), targets=[[1, 2], [1]]), ValueError,
     "targets must be rows of one length: pad the shorter ones"),
    *((lambda layer, grad=grad: layer.backward(grad, layer.forward(LOGITS, targets=TARGETS)[1]),
       error, message) for grad, error, message in [
           *((np.ones(shape), ValueError, f"must have the shape of y, (), got {shape}")
             for shape in [(1,), (3,), (3, 3)]),
           *((x, TypeError, "grad_loss must be a real number, got") for x in ("x", None, 1j))]),
    *((lambda layer, pad=pad: LabelSmoothedCrossEntropy(0.1, pad=pad), TypeError,
       "pad must be integers") for pad in ("x", 1.5, True)),
])
def test_what_does_not_fit_is_refused(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call(LabelSmoothedCrossEntropy(0.1))


def test_without_smoothing_a_class_that_is_ruled_out_costs_nothing():
    logits = np.array([[0.0, 0.0, -np.inf]])
    layer = LabelSmoothedCrossEntropy(0.0)
    loss, cache = layer.forward(logits, targets=np.array([1]))
    assert loss == pytest.approx(np.log(2), rel=1e-15)
    np.testing.assert_allclose(layer.backward(1.0, cache), [[0.5, -0.5, 0]], atol=1e-15)


def test_options_that_are_numpy_numbers_become_python_numbers():
    """A smoothing of type np.float64 would turn float32 into float64."""
    layer = LabelSmoothedCrossEntropy(np.float64(0.1), pad=np.int64(0))
    assert type(layer.pad) is int
    loss, cache = layer.forward(LOGITS.astype(np.float32), targets=TARGETS)
    assert loss.dtype == layer.backward(1.0, cache).dtype == np.float32
    assert (LabelSmoothedCrossEntropy().eps_ls, LabelSmoothedCrossEntropy().pad) == (0.1, 0)
