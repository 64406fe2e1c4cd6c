"""Batches of text: every pair once, within the budget, and from seed and step alone."""

import numpy as np
import pytest

from aiayn_np.text.batches import Batches, arrays
from aiayn_np.text.vocabulary import BOS, EOS, PAD


def pairs_of(rng, n=300, longest=30):
    """n pairs of ids, each of which is its own number in base 50, so that it is known again."""
    def side(i):
        digits = [4 + i // 50**k % 50 for k in range(2)]
        return np.array([*digits, *rng.integers(4, 54, rng.integers(0, longest - 2)), EOS])
    return [(side(i), side(i)) for i in range(n)]


def number(row):
    return row[0] - 4 + 50 * (row[1] - 4)


@pytest.fixture
def batches(rng, seed):
    return Batches(pairs_of(rng), 200, seed)


def test_every_pair_comes_once_in_an_epoch(batches):
    for epoch in range(3):
        seen = []
        for step in range(epoch * batches.per_epoch + 1, (epoch + 1) * batches.per_epoch + 1):
            src, _, tgt_out = batches.batch(step)
            assert [number(row) for row in src] == [number(row) for row in tgt_out]
            seen += [number(row) for row in src]
        assert sorted(seen) == [*range(300)]


def test_no_batch_is_larger_than_the_budget_and_none_is_needlessly_small(batches):
    sizes = []
    for step in range(1, batches.per_epoch + 1):
        src, tgt_in, tgt_out = batches.batch(step)
        assert tgt_in.shape == tgt_out.shape
        sizes.append(len(src) * max(src.shape[1], tgt_out.shape[1]))
    assert max(sizes) <= 200
    assert np.mean(sizes) > 0.8 * 200


def test_similar_lengths_come_together(batches):
    """In any order, sides padded to the longest of 300 pairs would be more than half padding."""
    real, padded = batches.tokens()
    assert real == sum(len(source) + len(target) for source, target in batches.pairs)
    assert 1 - real / padded < 0.3


def test_a_batch_follows_from_seed_and_step_alone(batches, seed):
    for step in (2 * batches.per_epoch + 1, 1, batches.per_epoch, batches.per_epoch + 1, 5):
        fresh = Batches(batches.pairs, 200, seed)
        for a, b in zip(batches.batch(step), fresh.batch(step)):
            np.testing.assert_array_equal(a, b)


def test_epochs_and_seeds_differ(batches, seed):
    first, second = (set(map(frozenset, (r.tolist() for r in batches.rows(e)))) for e in (1, 2))
    assert first != second
    assert len(first & second) < 0.8 * len(first)          # of few lengths there is one batch alone
    other = Batches(batches.pairs, 200, seed + 1).rows(1)
    assert [r.tolist() for r in other] != [r.tolist() for r in batches.rows(1)]


def test_long_and_short_batches_come_in_any_order(batches):
    orders = [[batches.longer[rows].max() for rows in batches.rows(epoch)] for epoch in (1, 2)]
    for longest in orders:
        assert abs(np.corrcoef(longest, np.arange(len(longest)))[0, 1]) < 0.7
    assert orders[0] != orders[1]


def test_targets_are_shifted_right():
    src, tgt_in, tgt_out = arrays([(np.array([5, EOS]), np.array([7, 8, EOS])),
                                   (np.array([5, 6, EOS]), np.array([9, EOS]))])
    assert src.tolist() == [[5, EOS, PAD], [5, 6, EOS]]
    assert tgt_in.tolist() == [[BOS, 7, 8], [BOS, 9, PAD]]
    assert tgt_out.tolist() == [[7, 8, EOS], [9, EOS, PAD]]


def test_bad_options_are_refused(rng):
    with pytest.raises(ValueError, match="budget"):
        Batches(pairs_of(rng), 0, 0)
