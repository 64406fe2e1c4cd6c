"""Relative positions and windows: the loops, what is refused."""

import math
import re

import numpy as np
import pytest
from attention_inputs import random_QKV
from numpy.testing import assert_allclose, assert_array_equal
from reference import naive_matmul, naive_softmax

from aiayn_np import ScaledDotProductAttention
from aiayn_np.proofs.probing import randomise
from aiayn_np.variants.relative_position import (
    RelativeAttention,
    RelativePositionBias,
    RelativePositionBias2D,
    relative_attention,
)
from aiayn_np.variants.windows import WindowAttention, from_windows, shifted_mask, to_windows

SIZES = dict(leading=(2, 4), T_k=6, d_k=5, d_v=7)


def naive_bias(b, max_distance, T_q, T_k):
    """(h, T_q, T_k), entry by entry."""
    bias = np.zeros((b.shape[1], T_q, T_k))
    for head, i, j in np.ndindex(bias.shape):
        distance = max(-max_distance, min(max_distance, j - i))
        bias[head, i, j] = b[distance + max_distance, head]
    return bias


def naive_bias_2d(b, height, width):
    """(h, T, T): for every offset of rows and columns the next row of the table."""
    offsets = {}
    for down in range(-(height - 1), height):
        for right in range(-(width - 1), width):
            offsets[down, right] = b[len(offsets)]
    T = height * width
    bias = np.zeros((b.shape[1], T, T))
    for y_i in range(height):
        for x_i in range(width):
            for y_j in range(height):
                for x_j in range(width):
                    i, j = y_i * width + x_i, y_j * width + x_j
                    bias[:, i, j] = offsets[y_i - y_j, x_i - x_j]
    return bias


@pytest.mark.parametrize("max_distance", [1, 2, 9])
@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_bias_equals_the_loop(rng, max_distance, batch):
    layer = randomise(RelativePositionBias(4, max_distance, rng=rng), rng)
    scores = rng.normal(size=(*batch, 4, 3, 6))
    expected = scores + naive_bias(layer.b.value, max_distance, 3, 6)
    assert_array_equal(layer(scores), expected)


@pytest.mark.parametrize(("height", "width"), [(3, 2), (2, 4), (1, 5), (1, 1), (3, 3)])
def test_bias_2d_equals_the_fourfold_loop(rng, height, width):
    layer = randomise(RelativePositionBias2D(3, height, width, rng=rng), rng)
    T = height * width
    scores = rng.normal(size=(2, 3, T, T))
    assert_array_equal(layer(scores), scores + naive_bias_2d(layer.b.value, height, width))
    assert len(layer.b.value) == len(np.unique(layer.index(T, T)))  # no row is without use


def test_new_tables_are_small(rng):
    for layer in (RelativePositionBias(50, 20, rng=rng), RelativePositionBias2D(50, 5, 5, rng=rng)):
        assert_allclose(layer.b.value.std(), 0.02, rtol=0.1)
        assert abs(layer.b.value.mean()) < 0.002


def test_a_table_of_zeros_is_plain_attention(rng):
    attention = RelativeAttention(RelativePositionBias(4, 2, rng=rng))
    attention.score.bias.b.value[...] = 0
    q, k, v = random_QKV(rng, **SIZES)
    allowed = rng.random((2, 1, 3, 6)) < 0.6
    y, cache = attention.forward(q, k, v, allowed=allowed)
    want, plain = ScaledDotProductAttention().forward(q, k, v, allowed=allowed)
    assert_array_equal(y, want)
    wanted = ScaledDotProductAttention().backward(y, plain)
    for grad, wants in zip(attention.backward(y, cache), wanted):
        assert_array_equal(grad, wants)


def test_attention_equals_the_loop_with_a_mask(rng):
    attention = randomise(RelativeAttention(RelativePositionBias(4, 2, rng=rng)), rng)
    q, k, v = random_QKV(rng, **SIZES)
    allowed = rng.random((2, 1, 3, 6)) < 0.6
    allowed[1, 0, 2] = False
    y, cache = attention.forward(q, k, v, allowed=allowed)
    scores = np.zeros((2, 4, 3, 6))
    for b, h, i, j in np.ndindex(scores.shape):
        scores[b, h, i, j] = sum(q[b, h, i, a] * k[b, h, j, a] for a in range(5)) / math.sqrt(5)
    scores = scores + naive_bias(attention.score.bias.b.value, 2, 3, 6)
    weights = naive_softmax(np.where(allowed, scores, -math.inf))
    assert_allclose(cache.weights, weights, rtol=1e-12, atol=1e-14)
    for b, h, i, c in np.ndindex(y.shape):
        total = sum(weights[b, h, i, j] * v[b, h, j, c] for j in range(6))
        assert abs(y[b, h, i, c] - total) < 1e-12
    assert (y[1, :, 2] == 0).all()


def test_windows_equal_the_loop_and_go_back(rng):
    B, H, W, M, d = 2, 6, 9, 3, 5
    x = rng.normal(size=(B, H, W, d))
    windows = to_windows(x, M)
    assert windows.shape == (B * 6, 9, 5)
    n = 0
    for b in range(B):
        for top in range(0, H, M):
            for left in range(0, W, M):
                for t in range(M * M):
                    assert_array_equal(windows[n, t], x[b, top + t // M, left + t % M])
                n += 1
    assert_array_equal(from_windows(windows, M, H, W), x)
    assert_array_equal(to_windows(from_windows(windows, M, H, W), M), windows)


def region(r, c, M, shift):
    """The window of the shifted grid that pixel (r, c) lies in, cut off at the edges."""
    return (r - shift) // M, (c - shift) // M


@pytest.mark.parametrize(("H", "W", "M", "shift"), [
    (6, 9, 3, 0), (6, 9, 3, 1), (6, 9, 3, 2), (4, 2, 2, 1), (3, 3, 3, 1),
])
def test_shifted_mask_equals_the_loop(H, W, M, shift):
    pixels = np.arange(H * W, dtype=float).reshape(1, H, W, 1)
    windows = to_windows(np.roll(pixels, (-shift, -shift), axis=(1, 2)), M)[..., 0].astype(int)
    allowed = shifted_mask(H, W, M, shift)
    for n, i, j in np.ndindex(allowed.shape):
        one, other = (divmod(int(windows[n, t]), W) for t in (i, j))
        assert allowed[n, i, j] == (region(*one, M, shift) == region(*other, M, shift))
    if shift == 0:
        assert allowed.all()


def naive_window_attention(layer, x):
    """For every pixel: attention over the pixels of its region, head by head."""
    m, (B, H, W, d_model) = layer.self_attention, x.shape
    h, M, d_k = m.h, layer.window, m.d_k
    q, k, v = (naive_matmul(x, linear.W.value) for linear in (m.linear_Q, m.linear_K, m.linear_V))
    b = m.attention.score.bias.b.value.reshape(2 * M - 1, 2 * M - 1, h)
    heads = np.zeros((B, H, W, d_model))
    for n, r, c, head in np.ndindex(B, H, W, h):
        mine = slice(head * d_k, (head + 1) * d_k)
        here = region(r, c, M, layer.shift)
        seen = [(R, C) for R, C in np.ndindex(H, W) if region(R, C, M, layer.shift) == here]
        scores = np.array([
            sum(q[n, r, c, mine] * k[n, R, C, mine]) / math.sqrt(d_k)
            + b[r - R + M - 1, c - C + M - 1, head] for R, C in seen
        ])
        for w, (R, C) in zip(naive_softmax(scores), seen):
            heads[n, r, c, mine] += w * v[n, R, C, mine]
    return naive_matmul(heads, m.linear_O.W.value)


@pytest.mark.parametrize(("window", "shift"), [(2, 0), (2, 1), (3, 1), (3, 2), (1, 0)])
def test_window_attention_equals_the_loop(rng, window, shift):
    layer = randomise(WindowAttention(6, 3, window, shift=shift, rng=rng), rng)
    x = rng.normal(size=(2, 2 * window, 3 * window, 6))
    expected = naive_window_attention(layer, x)
    assert_allclose(layer(x), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(("shape", "message"), [
    ((2, 6, 4, 4), "H and W divisible by the window 3, got (2, 6, 4, 4)"),
    ((2, 4, 6, 4), "H and W divisible by the window 3, got (2, 4, 6, 4)"),
    ((6, 6, 4), "x must have shape (B, H, W, d), H and W divisible by the window 3, got (6, 6, 4)"),
    ((2, 0, 6, 4), "H and W divisible by the window 3, got (2, 0, 6, 4)"),
    ((2, 3, 3, 5), "must have d_model=4 on its last axis, got shape"),
])
def test_refused_images(rng, shape, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        WindowAttention(4, 2, 3, rng=rng).forward(np.ones(shape))


@pytest.mark.parametrize(("options", "error", "message"), [
    (dict(d_model=5), ValueError, "d_model must be divisible by h, got d_model=5, h=2"),
    (dict(window=0), ValueError, "window must be at least 1, got window=0"),
    (dict(shift=3), ValueError, r"shift must lie in \[0, window\), got shift=3, window=3"),
    (dict(shift=-1), ValueError, "shift must be at least 0, got shift=-1"),
    (dict(shift=1.0), TypeError, "shift must be an integer, got shift=1.0"),
    (dict(shift=True), TypeError, "shift must be an integer, got shift=True"),
    (dict(rng=1), TypeError, r"rng must be a numpy\.random\.Generator, got int"),
])
def test_refused_window_attention(rng, options, error, message):
    with pytest.raises(error, match=message):
        WindowAttention(**(dict(d_model=4, h=2, window=3, rng=rng) | options))


@pytest.mark.parametrize(("shape", "M", "H", "W"), [
    ((4, 9, 5), 3, 6, 5), ((4, 9, 5), 3, 5, 6), ((4, 8, 5), 3, 6, 6), ((5, 9, 5), 3, 6, 6),
    ((9, 5), 3, 3, 3),
])
def test_refused_windows(shape, M, H, W):
    with pytest.raises(ValueError, match=r"windows must have shape \(B \* nW, M \* M, d\) for M=3"):
        from_windows(np.ones(shape), M, H, W)
    with pytest.raises(ValueError, match="H must be at least 1, got H=0"):
        from_windows(np.ones(shape), M, 0, W)


@pytest.mark.parametrize(("shape", "message"), [
    ((1, 3, 3), "scores must have h=2 on axis -3, got shape (1, 3, 3)"),
    ((3, 3), "scores must have at least 3 axes, got shape (3, 3)"),
])
def test_refused_scores(rng, shape, message):
    for layer in (RelativePositionBias(2, 3, rng=rng), RelativePositionBias2D(2, 1, 3, rng=rng)):
        with pytest.raises(ValueError, match=re.escape(message)):
            layer.forward(np.ones(shape))


def test_refused_sizes(rng):
    message = re.escape("scores must end with axes (6, 6), got (6, 5)")
    with pytest.raises(ValueError, match=message):
        RelativePositionBias2D(2, 2, 3, rng=rng).forward(np.ones((2, 6, 5)))
    with pytest.raises(ValueError, match="max_distance must be at least 1, got max_distance=0"):
        RelativePositionBias(2, 0, rng=rng)
    with pytest.raises(ValueError, match="width must be at least 1, got width=0"):
        RelativePositionBias2D(2, 2, 0, rng=rng)


@pytest.mark.parametrize("bias", [RelativePositionBias, relative_attention, None])
def test_refused_biases(bias):
    with pytest.raises(TypeError, match=r"bias must be a layer with forward\(scores\), got"):
        RelativeAttention(bias)


def test_the_factory_counts_distances_up_to_16(rng):
    bias = relative_attention(3, 4, 5, rng).score.bias
    assert (bias.max_distance, bias.b.value.shape) == (16, (33, 3))
