"""Claim 12, label smoothing."""

import dataclasses

import numpy as np
import pytest
from committed import committed

from aiayn_course.lab.claims.smoothing import (
    HOLDS,
    LABEL_SMOOTHING,
    NoisyReverse,
    label_smoothing,
)
from aiayn_course.lab.experiment import DISAGREES, NOT_HERE
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


def test_the_verdict_follows_the_numbers():
    kept = committed(LABEL_SMOOTHING)
    assert dataclasses.replace(kept, perplexity=kept.perplexity[::-1]).verdict == DISAGREES
    lower = kept.accuracy - np.array([0, 2 * HOLDS + 0.01, 0])[:, None]
    assert dataclasses.replace(kept, accuracy=lower).verdict == DISAGREES
    one_seed = kept.perplexity.copy()
    lowest = one_seed[1].argmin()                                      # so that no median moves
    one_seed[1, lowest] = one_seed[0, lowest] - 0.01
    assert dataclasses.replace(kept, perplexity=one_seed).verdict == NOT_HERE


def test_it_is_repeatable():
    options = dict(steps=6, max_length=4, seeds=(3,), d_model=8, d_ff=8, h=2)
    first, again = label_smoothing(**options), label_smoothing(**options)
    np.testing.assert_array_equal(first.perplexity, again.perplexity)
    assert len(set(first.perplexity.ravel())) == 3


@pytest.mark.slow
def test_again_at_a_small_size():
    found = label_smoothing((0.0, 0.2), max_length=4, steps=600, seeds=(0,))
    assert np.all(np.diff(found.perplexity, axis=0) > 0)
    assert np.all(np.median(found.change[1], axis=1) >= -HOLDS)
