"""Claim 12, label smoothing."""


import numpy as np
import pytest

from aiayn_course.lab.claims.smoothing import (
    HOLDS,
    NoisyReverse,
    label_smoothing,
)
from aiayn_np import ReverseTask


def test_noise_replaces_its_share_of_the_answer_and_no_more():
    noisy, clean = NoisyReverse(0.3, max_length=6), ReverseTask(max_length=6)
    (src, tgt_in, got), (same, _, want) = noisy.validation(3000), clean.validation(3000)
    np.testing.assert_array_equal(src, same)
    np.testing.assert_array_equal(got > noisy.eos, want > noisy.eos)
    np.testing.assert_array_equal(tgt_in[:, 1:][got[:, :-1] > 2], got[:, :-1][got[:, :-1] > 2])
    share = (got != want)[want > noisy.eos].mean()
    assert abs(share - 0.3 * 0.9) < 0.02                # one in ten of the random ones is right
    np.testing.assert_array_equal(NoisyReverse(0.0).test(50)[2], ReverseTask().test(50)[2])


@pytest.mark.slow
def test_again_at_a_small_size():
    found = label_smoothing((0.0, 0.2), max_length=4, steps=600, seeds=(0,))
    assert np.all(np.diff(found.perplexity, axis=0) > 0)
    assert np.all(np.median(found.change[1], axis=1) >= -HOLDS)
