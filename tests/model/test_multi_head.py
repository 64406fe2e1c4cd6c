"""Multi-head attention: sizes, custom attention."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from aiayn_np import Module, MultiHeadAttention, Parameter, ScaledDotProductAttention


def make(rng, d_model=8, h=2, **options):
    """A layer whose biases, where it has them, are not zero."""
    mha = MultiHeadAttention(d_model, h, rng=rng, **options)
    for p in mha.parameters():
        p.value += rng.normal(size=p.value.shape) * 0.3
    return mha


def inputs(rng, d_model=8, leading=(2,), T_q=3, T_k=5):
    return [rng.normal(size=(*leading, T, d_model)) for T in (T_q, T_k, T_k)]


@pytest.mark.parametrize(("options", "shapes"), [
    ({}, [(8, 8), (8, 8), (8, 8), (8, 8)]),
    (dict(d_k=3, d_v=6), [(8, 6), (8, 6), (8, 12), (12, 8)]),
    (dict(h=3, d_k=5), [(8, 15), (8, 15), (8, 15), (15, 8)]),
    (dict(d_k=3, bias=True), [(8, 6), (8, 6), (8, 8), (8, 8)]),
])
def test_sizes_of_the_matrices(rng, options, shapes):
    """d_v is d_model / h where that is an integer, and else d_k; a bias is as long as its rows."""
    mha = MultiHeadAttention(**dict(d_model=8, h=2, rng=rng) | options)
    found = {name: p.value.shape for name, p in mha.named_parameters()}
    want = {f"linear_{name}.W": shape for name, shape in zip("QKVO", shapes)}
    biases = {f"linear_{name}.b": shape[1:] for name, shape in zip("QKVO", shapes)}
    assert found == want | (biases if "bias" in options else {})


class ScaledAttention(Module):
    """An attention of another class with a parameter: the output times `scale`."""

    def __init__(self, scale):
        self.scale, self.inner = Parameter(np.array([scale])), ScaledDotProductAttention()

    def forward(self, Q, K, V, *, allowed=None, rng=None):
        y, cache = self.inner.forward(Q, K, V, allowed=allowed, rng=rng)
        cache.y = y
        return y * self.scale.value, cache

    def backward(self, grad_y, cache):
        self.scale.grad += (grad_y * cache.y).sum()
        return self.inner.backward(grad_y * self.scale.value, cache)


def test_an_attention_of_ones_own_is_used_forward_and_backward(rng, seed):
    own = ScaledAttention(-3.0)
    mha = MultiHeadAttention(8, 2, d_v=3, attention=own, rng=np.random.default_rng(seed))
    plain = MultiHeadAttention(8, 2, d_v=3, rng=np.random.default_rng(seed))
    x, g = inputs(rng), rng.normal(size=(2, 3, 8))
    allowed = rng.random((3, 5)) < 0.6
    assert mha.attention is own
    assert "attention.scale" in mha.state_dict()
    (y, cache), (y_plain, cache_plain) = (m.forward(*x, allowed=allowed) for m in (mha, plain))
    assert_allclose(y, -3 * y_plain, rtol=1e-12, atol=1e-13)
    for ours, theirs in zip(mha.backward(g, cache), plain.backward(g, cache_plain), strict=True):
        assert_allclose(ours, -3 * theirs, rtol=1e-12, atol=1e-13)
    assert_allclose(own.scale.grad, [(g * y_plain).sum()], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("attention", [3, lambda h, d_k, d_v, rng: None])
def test_what_is_neither_attention_nor_factory_is_refused(rng, attention):
    message = "attention must be a layer, or a factory attention(h, d_k, d_v, rng) that returns one"
    with pytest.raises(TypeError, match=re.escape(message)):
        MultiHeadAttention(8, 2, attention=attention, rng=rng)
