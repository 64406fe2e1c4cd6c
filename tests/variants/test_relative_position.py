"""Relative positions and windows: the shifted mask, what is refused."""

import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from reference_variants import region

from aiayn_np.variants.relative_position import (
    RelativeAttention,
    RelativePositionBias,
    RelativePositionBias2D,
    relative_attention,
)
from aiayn_np.variants.windows import WindowAttention, from_windows, shifted_mask, to_windows


@pytest.mark.parametrize(("height", "width"), [(3, 2), (2, 4), (1, 5), (1, 1), (3, 3)])
def test_no_row_of_the_table_is_without_use(rng, height, width):
    layer, T = RelativePositionBias2D(3, height, width, rng=rng), height * width
    assert len(layer.b.value) == len(np.unique(layer.index(T, T)))


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


@pytest.mark.parametrize(("shape", "message"), [
    ((2, 6, 4, 4), "H and W divisible by the window 3, got (2, 6, 4, 4)"),
    ((2, 4, 6, 4), "H and W divisible by the window 3, got (2, 4, 6, 4)"),
    ((6, 6, 4), "x must have shape (B, H, W, d), H and W divisible by the window 3, got (6, 6, 4)"),
    ((2, 0, 6, 4), "H and W divisible by the window 3, got (2, 0, 6, 4)"),
])
def test_refused_images(rng, shape, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        WindowAttention(4, 2, 3, rng=rng).forward(np.ones(shape))


@pytest.mark.parametrize(("options", "error", "message"), [
    (dict(shift=3), ValueError, r"shift must lie in \[0, window\), got shift=3, window=3"),
    (dict(shift=-1), ValueError, "shift must be at least 0, got shift=-1"),
    (dict(shift=1.0), TypeError, "shift must be an integer, got shift=1.0"),
    (dict(shift=True), TypeError, "shift must be an integer, got shift=True"),
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


def test_scores_of_another_image_are_refused(rng):
    message = re.escape("scores must end with axes (6, 6), got (6, 5)")
    with pytest.raises(ValueError, match=message):
        RelativePositionBias2D(2, 2, 3, rng=rng).forward(np.ones((2, 6, 5)))


@pytest.mark.parametrize("bias", [RelativePositionBias, relative_attention, None])
def test_refused_biases(bias):
    with pytest.raises(TypeError, match=r"bias must be a layer with forward\(scores\), got"):
        RelativeAttention(bias)


def test_the_factory_counts_distances_up_to_16(rng):
    bias = relative_attention(3, 4, 5, rng).score.bias
    assert (bias.max_distance, bias.b.value.shape) == (16, (33, 3))
