"""Grouped queries: one head of keys for several heads of queries, and multi-head at the two ends.
"""

import pytest
from numpy.testing import assert_allclose

from aiayn_np import MultiHeadAttention, ScaledDotProductAttention
from aiayn_np.variants.grouped import GroupedQueryAttention


@pytest.mark.parametrize("h_kv", [1, 2, 3, 6])
def test_it_is_multi_head_attention_whose_matrices_repeat(h_kv, rng):
    """Head i of the keys of the twin is head i // g here; the twin's gradients are summed."""
    layer = GroupedQueryAttention(12, 6, h_kv=h_kv, d_k=4, d_v=3, rng=rng)
    twin = MultiHeadAttention(12, 6, d_k=4, d_v=3, rng=rng)
    g = 6 // h_kv
    for name, d in (("linear_K", 4), ("linear_V", 3)):
        W = getattr(layer, name).W.value
        assert W.shape == (12, h_kv * d)
        getattr(twin, name).W.value = W.reshape(12, h_kv, d).repeat(g, axis=1).reshape(12, -1)
    for name in ("linear_Q", "linear_O"):
        getattr(twin, name).W.value = getattr(layer, name).W.value
    x_Q, x_K, x_V = (rng.standard_normal((2, T, 12)) for T in (5, 7, 7))
    y, cache = layer.forward(x_Q, x_K, x_V)
    want, of_twin = twin.forward(x_Q, x_K, x_V)
    assert_allclose(y, want, rtol=0, atol=1e-14)
    grad_y = rng.standard_normal(y.shape)
    for got, one in zip(layer.backward(grad_y, cache), twin.backward(grad_y, of_twin)):
        assert_allclose(got, one, rtol=0, atol=1e-13)
    repeated = twin.linear_K.W.grad.reshape(12, h_kv, g, 4).sum(axis=2).reshape(12, -1)
    assert_allclose(layer.linear_K.W.grad, repeated, rtol=0, atol=1e-13)
    assert cache.attention.weights.shape == (2, 6, 5, 7)


def test_options_reach_the_parts(rng):
    attention = ScaledDotProductAttention(0.2)
    layer = GroupedQueryAttention(12, 6, h_kv=2, bias=True, attention=attention, rng=rng)
    assert layer.attention is attention
    assert layer.linear_K.b.value.shape == layer.linear_V.b.value.shape == (4,)
    assert GroupedQueryAttention(12, 6, h_kv=2, rng=rng).linear_K.b is None
