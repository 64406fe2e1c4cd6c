"""Claim 17."""

import numpy as np
import pytest

from aiayn_course.lab.claims.induction import (
    HALF,
    PAD,
    PERIODS,
    SIZE,
    SYMBOLS,
    copied,
    exact_without,
    induction,
    prefix_scores,
    repeated,
)
from aiayn_np.variants.models import LanguageModel


@pytest.fixture
def model(rng):
    return LanguageModel(SYMBOLS + 1, N=2, pad=PAD, rng=rng, **SIZE)


def test_a_sequence_repeats_its_block_and_the_first_block_is_not_asked(rng):
    ids, targets, period = repeated(200, rng)
    assert {*period.ravel()} == {*PERIODS}
    for row, after, (p,) in zip(ids, targets, period):
        assert len({*row[:p]}) == p
        assert (row[p:] == row[:-p]).all()
        assert (after[:p] == PAD).all()
        assert (after[p:-1] == row[p + 1 :]).all()
    assert (targets[:, HALF:] != PAD).all()


def test_a_head_that_looks_at_what_followed_scores_1(model, rng):
    """Weights by hand: head 0 of layer 2 looks at the earlier place, head 1 at itself."""
    ids, _, period = repeated(20, rng)
    forward = model.forward

    def by_hand(ids):
        logits, cache = forward(ids)
        w = cache.stack.encoder.layers[1].self_attention.attention.weights
        w[:, :2] = 0
        t = np.arange(HALF, ids.shape[1])
        for i, (p,) in enumerate(period):
            w[i, 0, t, t + 1 - p] = 1
            w[i, 1, t, t] = 1
        return logits, cache

    model.forward = by_hand
    np.testing.assert_allclose(prefix_scores(model, ids, period)[[4, 5]], [1, 0])


def test_a_removed_head_changes_what_is_right_and_comes_back(model, rng):
    ids, _, _ = repeated(8, rng)
    for layer in model.stack.encoder.layers:
        layer.self_attention.linear_O.W.value *= 20
    own, state = model(ids).argmax(axis=-1), model.state_dict()
    assert copied(model, ids, own) == (1, 1)
    for head in (0, 7):
        twin = exact_without(model, ids, own)[head]
        layer = model.stack.encoder.layers[head // 4].self_attention
        kept = layer.linear_O.W.value.copy()
        layer.linear_O.W.value[16 * (head % 4) : 16 * (head % 4) + 16] = 0
        assert twin == copied(model, ids, own)[1] < 1
        layer.linear_O.W.value[...] = kept
    assert all((value == state[name]).all() for name, value in model.state_dict().items())


@pytest.mark.slow
def test_a_new_seed_finds_it_again():
    again = induction(rate_scale=(0.5,), seeds=(5,), steps=400)
    symbols, weight, rows = (e.difference[0, 1] for e in again.effects.values())
    assert min(symbols - 50, weight - 50, rows) > 0
