"""Masks: causal, not_padding, and the Mask box."""

import re
from math import inf

import numpy as np
import pytest

from aiayn_np import Mask, causal, not_padding

T, F = True, False


def test_causal_lets_a_position_see_itself_and_the_past():
    expected = [[T, F, F, F], [T, T, F, F], [T, T, T, F], [T, T, T, T]]
    assert causal(4).tolist() == expected
    assert causal(4).dtype == bool
    assert causal(1).tolist() == [[T]]


@pytest.mark.parametrize("pad", [0, 3])
def test_not_padding_marks_the_key_columns(pad):
    ids = np.array([[5, 1, pad, pad], [pad, 2, 4, pad], [1, 1, 1, 1]])
    mask = not_padding(ids, pad)
    assert mask.shape == (3, 1, 1, 4)
    assert mask[:, 0, 0].tolist() == [[T, T, F, F], [F, T, T, F], [T, T, T, T]]


def test_masks_combine_to_batch_head_query_key():
    """Pad is zero unless told, and lists are taken."""
    both = causal(3) & not_padding([[7, 0, 8], [1, 2, 0]])
    assert both.shape == (2, 1, 3, 3)
    assert both[0, 0].tolist() == [[T, F, F], [T, F, F], [T, F, T]]
    assert both[1, 0].tolist() == [[T, F, F], [T, T, F], [T, T, F]]


@pytest.mark.parametrize("shape", [(3, 5), (1, 1, 1, 5), (2, 1, 3, 5), (1, 4, 3, 1), (2, 4, 3, 5)])
def test_every_legal_shape_means_what_indexing_says(rng, shape):
    scores = rng.normal(size=(2, 4, 3, 5))
    allowed = rng.random(shape) < 0.6
    y, _ = Mask().forward(scores, allowed=allowed)
    for at in np.ndindex(scores.shape):
        axes = at[-len(shape):]
        seen = allowed[tuple(0 if n == 1 else i for i, n in zip(axes, shape, strict=True))]
        assert y[at] == (scores[at] if seen else -inf)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: causal(0), ValueError, "T must be at least 1, got T=0"),
        (lambda: causal(2.0), TypeError, "T must be an integer, got T=2.0"),
        (lambda: causal(True), TypeError, "T must be an integer, got T=True"),
        (lambda: not_padding([1, 2, 0]), ValueError, "ids must have 2 axes (B, T), got shape (3,)"),
        (lambda: Mask().forward(np.ones(3)), ValueError, "scores must have at least 2 axes"),
        (lambda: Mask().forward(np.ones((2, 3), dtype=int)), TypeError,
         "scores must be float32 or float64, got int64"),
    ],
)
def test_refused(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()
