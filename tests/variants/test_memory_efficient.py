"""Attention without its map: equal to plain attention, in little memory."""

import re
import tracemalloc

import numpy as np
import pytest
from attention_inputs import both_ways, random_QKV
from numpy.testing import assert_allclose, assert_array_equal

from aiayn_np import (
    ScaledDotProductAttention,
    attention_maps,
    causal,
)
from aiayn_np.variants.memory_efficient import MemoryEfficientAttention

B, H, T_q, T_k, D_K, D_V = 2, 3, 5, 7, 4, 6
BLOCKS = [1, 2, 3, T_k - 1, T_k, T_k + 1, 512]
SIZES = dict(T_q=T_q, T_k=T_k, d_k=D_K, d_v=D_V)
MASKS = [(T_q, T_k), (B, 1, 1, T_k), (1, 1, 1, T_k), (B, 1, T_q, 1), (B, H, T_q, T_k),
         (1, H, 1, 1)]
PLAIN = ScaledDotProductAttention()


def assert_equals_plain(block, inputs, allowed=None):
    got = both_ways(MemoryEfficientAttention(block), inputs, allowed=allowed)
    for a, b in zip(got, both_ways(PLAIN, inputs, allowed=allowed)):
        assert_allclose(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("leading", [(), (B,), (B, H)])
def test_equals_plain_attention(rng, leading, block):
    assert_equals_plain(block, random_QKV(rng, leading, **SIZES))


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("shape", MASKS)
def test_equals_plain_attention_with_every_kind_of_mask(rng, shape, block):
    allowed = rng.random(shape) < 0.5
    assert_equals_plain(block, random_QKV(rng, **SIZES), allowed)
    assert_equals_plain(block, random_QKV(rng, **SIZES), np.zeros(shape, bool))


def test_equals_plain_attention_with_a_mask_of_two_broadcast_axes(rng):
    for shape in [(1, T_k), (T_q, 1), (1, 1)]:
        assert_equals_plain(2, random_QKV(rng, (), **SIZES), rng.random(shape) < 0.6)


def test_a_query_that_may_look_nowhere_gives_zeros_and_no_gradient(rng):
    inputs = random_QKV(rng, **SIZES)
    allowed = np.ones((B, 1, T_q, T_k), bool)
    allowed[1, 0, 2] = False
    allowed[0, 0, 1, :4] = False               # the first two blocks hold nothing for this one
    y, grad_Q, *_ = both_ways(MemoryEfficientAttention(2), inputs, allowed=allowed)
    assert not y[1, :, 2].any()
    assert not grad_Q[1, :, 2].any()
    assert y[0, :, 1].all()
    assert_equals_plain(2, inputs, allowed)


@pytest.mark.parametrize("size", [1e3, 1e100])
@pytest.mark.parametrize("sign", [1, -1])
def test_huge_scores_do_not_overflow(rng, size, sign):
    """Rising, every block raises the maximum; falling, the first block holds it."""
    Q, K = np.ones((2, 1)), size * np.arange(7.0)[:, None] * sign
    V = rng.standard_normal((7, D_V))
    y, *gradients = both_ways(MemoryEfficientAttention(2), [Q, K, V])
    assert_array_equal(y, V[[-1 if sign > 0 else 0] * 2])
    assert all(np.isfinite(g).all() for g in gradients)
    y = MemoryEfficientAttention(2)(Q, K - 10 * size, V)
    assert_array_equal(y, V[[-1 if sign > 0 else 0] * 2])


def test_it_keeps_no_array_of_all_scores_and_has_no_dropout(rng):
    inputs = random_QKV(rng, **SIZES)
    layer = MemoryEfficientAttention(2)
    y, cache = layer.forward(*inputs, rng=rng)
    assert_array_equal(y, layer(*inputs))
    assert set(vars(cache)) == {"Q", "K", "V", "allowed", "out", "log_total", "freeze"}
    assert cache.log_total.shape == (B, H, T_q, 1)
    assert not attention_maps(cache)


@pytest.mark.parametrize(("block", "error", "message"), [
    (0, ValueError, "block must be at least 1, got block=0"),
    (2.0, TypeError, "block must be an integer, got block=2.0"),
])
def test_bad_block(block, error, message):
    with pytest.raises(error, match=re.escape(message)):
        MemoryEfficientAttention(block)


def test_bad_inputs(rng):
    Q, K, V = random_QKV(rng, **SIZES)
    layer = MemoryEfficientAttention(2)
    with pytest.raises(ValueError, match="Q and K must have one d_k"):
        layer(Q[..., :3], K, V)
    with pytest.raises(ValueError, match="K and V must have one length"):
        layer(Q, K, V[..., :6, :])
    with pytest.raises(ValueError, match="lengths must be at least 1"):
        layer(Q, K[..., :0, :], V[..., :0, :])
    with pytest.raises(ValueError, match="must have the same leading axes"):
        layer(Q, K[:1], V)
    with pytest.raises(ValueError, match="V must have at least 2 axes"):
        layer(Q, K, V[0, 0, 0])
    with pytest.raises(ValueError, match="allowed must have shape"):
        layer(Q, K, V, allowed=causal(T_k))
    with pytest.raises(TypeError, match="allowed must be a boolean array"):
        layer(Q, K, V, allowed=np.ones((T_q, T_k)))


@pytest.mark.slow
def test_peak_memory_at_8192_keys():
    """The scores alone would take 268 MB."""
    inputs = np.random.default_rng(0).standard_normal((3, 1, 8192, 64)).astype(np.float32)
    tracemalloc.start()
    both_ways(MemoryEfficientAttention(), inputs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 120e6


def test_default_block():
    assert MemoryEfficientAttention().block == 512
