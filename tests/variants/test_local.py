"""Restricted self-attention: its band."""

import numpy as np
from attention_inputs import random_QKV
from numpy.testing import assert_allclose

from aiayn_np import attention_maps
from aiayn_np.variants.local import LocalAttention

B, H, T, D_K, D_V = 2, 3, 7, 4, 5
SIZES = dict(T_q=T, T_k=T, d_k=D_K, d_v=D_V)


def test_rows_of_the_band_sum_to_one_or_to_zero_and_it_is_no_map(rng):
    inputs = random_QKV(rng, **SIZES)
    allowed = np.ones((T, T), bool)
    allowed[2, 1:4] = False                    # all that query 2 sees within radius 1
    y, cache = LocalAttention(1).forward(*inputs, allowed=allowed)
    assert cache.band.shape == (B, H, T, 3)
    sums = np.ones(T)
    sums[2] = 0
    assert_allclose(cache.band.sum(axis=-1), np.broadcast_to(sums, (B, H, T)), rtol=1e-14)
    assert not y[..., 2, :].any()
    assert not attention_maps(cache)


def test_dropout_drops_in_the_band(rng):
    inputs = random_QKV(rng, **SIZES)
    layer = LocalAttention(1, P_drop=0.5)
    _, cache = layer.forward(*inputs, rng=rng)
    kept = cache.dropout.kept
    assert kept.shape == cache.band.shape
    assert_allclose(cache.kept, 2 * cache.band * kept)
    assert_allclose(cache.band.sum(axis=-1), 1)
