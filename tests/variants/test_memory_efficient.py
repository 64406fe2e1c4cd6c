"""Attention without its map: no huge scores, little memory."""

import tracemalloc

import numpy as np
import pytest
from attention_inputs import both_ways, random_QKV
from numpy.testing import assert_array_equal

from aiayn_np import (
    attention_maps,
)
from aiayn_np.variants.local import LocalAttention
from aiayn_np.variants.memory_efficient import MemoryEfficientAttention

B, H, T_q, T_k, D_K, D_V = 2, 3, 5, 7, 4, 6
SIZES = dict(T_q=T_q, T_k=T_k, d_k=D_K, d_v=D_V)


def test_it_keeps_no_array_of_all_scores_and_has_no_dropout(rng):
    inputs = random_QKV(rng, **SIZES)
    layer = MemoryEfficientAttention(2)
    y, cache = layer.forward(*inputs, rng=rng)
    assert_array_equal(y, layer(*inputs))
    assert set(vars(cache)) == {"Q", "K", "V", "allowed", "out", "log_total", "freeze"}
    assert cache.log_total.shape == (B, H, T_q, 1)
    assert not attention_maps(cache)


@pytest.mark.parametrize(("layer", "most"), [
    (LocalAttention(8), 25e6),
    pytest.param(MemoryEfficientAttention(), 120e6, marks=pytest.mark.slow)], ids=str)
def test_a_long_sequence_needs_no_square_array(layer, most):
    """With 8192 keys the scores would take 268 MB in float32, their mask 67 MB."""
    inputs = np.random.default_rng(0).standard_normal((3, 1, 8192, 64)).astype(np.float32)
    tracemalloc.start()
    both_ways(layer, inputs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < most
