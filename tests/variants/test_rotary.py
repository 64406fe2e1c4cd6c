"""Rotary positions: distances alone count, one pairing is the other but for a permutation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from proof import arrays_in

from aiayn_np import MultiHeadAttention
from aiayn_np.variants.rotary import (
    NoPositions,
    NormedRotaryPositions,
    RotaryAttention,
    RotaryPositions,
    rotary_attention,
)

every_pairing = pytest.mark.parametrize("interleaved", [False, True])


def to_halves(d_k):
    """The order in which the features (2i, 2i + 1) become (i, i + d_k / 2)."""
    return np.arange(d_k).reshape(-1, 2).T.ravel()


@every_pairing
def test_a_score_depends_on_the_distance_alone(interleaved, rng):
    layer, (q, k) = RotaryPositions(6, interleaved=interleaved), rng.standard_normal((2, 1, 6))
    scores = [float(np.vdot(layer(q, start=s), layer(k, start=s + 3))) for s in (0, 1, 7, 500)]
    assert_allclose(scores, scores[0], rtol=1e-12)
    other = float(np.vdot(layer(q, start=0), layer(k, start=4)))
    assert abs(other - scores[0]) > 1e-3


def heads_of(rng, interleaved):
    attention = RotaryAttention(RotaryPositions(6, interleaved=interleaved))
    return MultiHeadAttention(12, 2, d_k=6, attention=attention, rng=rng)


def test_permuted_matrices_in_the_other_pairing_give_the_same_and_unpermuted_ones_do_not(rng):
    """Without the permutation position 0 is right, for a rotation by 0 has no pairs."""
    here, there = heads_of(rng, True), heads_of(rng, False)
    there.load_state_dict(here.state_dict())
    x = rng.standard_normal((3, 7, 12))
    allowed = np.tri(7, dtype=bool)
    want, wrong = here(x, x, x, allowed=allowed), there(x, x, x, allowed=allowed)
    assert_allclose(wrong[:, 0], want[:, 0], rtol=0, atol=1e-15)
    assert (np.linalg.norm(wrong - want, axis=-1)[:, 1:] > 1e-3).all()
    columns = np.concatenate([to_halves(6), 6 + to_halves(6)])
    for linear in (there.linear_Q, there.linear_K):
        linear.W.value = linear.W.value[:, columns]
    assert_allclose(there(x, x, x, allowed=allowed), want, rtol=0, atol=1e-14)


def test_attention_may_turn_queries_and_keys_by_one_layer(rng):
    one = RotaryAttention(NormedRotaryPositions(4, base=10), P_drop=0.3)
    assert one.rotary_K is one.rotary_Q
    assert one.dropout.P_drop == 0.3
    assert type(rotary_attention(2, 4, 6, rng).rotary_Q) is RotaryPositions
    layer = NormedRotaryPositions(4, interleaved=True)
    assert (layer.base, layer.interleaved) == (10000, True)


def test_angles_are_not_rounded_to_float32_and_float32_stays(rng):
    """At position 100 000 an angle in float32 is wrong by 0.004; here it is rounded when it is
    small."""
    x = rng.standard_normal((1, 8))
    exact = RotaryPositions(8)(x, start=100_000)
    single = RotaryPositions(8)(x.astype(np.float32), start=100_000)
    assert single.dtype == np.float32
    assert_allclose(single, exact, rtol=0, atol=1e-6)
    _, cache = RotaryPositions(8).forward(x.astype(np.float32))
    assert {a.dtype for a in arrays_in(cache)} == {np.dtype(np.float32)}


def test_no_positions_adds_nothing_and_ends_where_positions_end(rng):
    layer, x = NoPositions(6, 9), rng.standard_normal((2, 4, 6))
    assert_array_equal(layer(x, start=5), x)
    assert_array_equal(layer.table(3), np.zeros((3, 6)))
    with pytest.raises(ValueError, match="length must be at most max_len=9, got length 4 from"):
        layer(x, start=6)
