"""Softmax: empty rows, and other kinds of arrays."""

import numpy as np
import pytest

from aiayn_np import LabelSmoothedCrossEntropy, Softmax, Transformer, not_padding


def test_rows_of_no_entries_are_refused():
    with pytest.raises(ValueError, match="scores must have a last axis of at least 1, got shape"):
        Softmax()(np.zeros((2, 0)))


@pytest.mark.parametrize("kind", [np.matrix, np.ma.MaskedArray])
def test_a_subclass_of_the_array_is_refused(kind):
    """The product of two np.matrix is a matrix product: the gradient would be wrong."""
    x = np.ones((4, 4))
    layer = Softmax()
    _, cache = layer.forward(x)
    with pytest.raises(TypeError, match=r"must be a numpy array of floats, got (matrix|Masked)"):
        layer.forward(x.view(kind))
    with pytest.raises(TypeError, match=r"grad_y must be a numpy array of floats, got (matrix|Ma)"):
        layer.backward(x.view(kind), cache)


@pytest.mark.parametrize("kind", [np.matrix, np.ma.MaskedArray])
def test_a_subclass_of_the_array_of_ids_is_refused(kind, rng):
    """The mask of a masked array would be ignored."""
    ids = np.array([[3, 1], [2, 2]])
    model = Transformer(5, N=1, d_model=4, d_ff=4, h=1, max_len=4, rng=rng)
    loss, logits = LabelSmoothedCrossEntropy(0.1, pad=0), np.zeros((2, 2, 5))
    for call in (lambda ids: model(ids, np.asarray(ids)), lambda ids: not_padding(ids, 0),
                 lambda ids: loss(logits, targets=ids)):
        call(ids)
        with pytest.raises(TypeError, match=r"a numpy array of integers, got (matrix|Masked)"):
            call(ids.view(kind))
