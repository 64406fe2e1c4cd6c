"""Attention inside windows of an image, plain and shifted, as in Swin (Liu et al., 2021)."""

import numpy as np

from ..checks import check_array, check_gradient, check_heads, check_sizes
from ..module import Cache, Module, Rng
from ..multi_head import MultiHeadAttention
from .relative_position import RelativeAttention, RelativePositionBias2D


def check_windows(x, M):
    """Check that windows of M x M tokens cover an image (B, H, W, d) exactly."""
    check_array("x", x)
    check_sizes(M=M)
    if x.ndim != 4 or x.shape[1] % M or x.shape[2] % M or 0 in x.shape[1:3]:
        raise ValueError(f"x must have shape (B, H, W, d), H and W multiples of {M}, got {x.shape}")


def to_windows(x: np.ndarray, M: int) -> np.ndarray:
    """Turn (B, H, W, d) into (B * nW, M * M, d): nW = H W / M^2 windows of M x M, row by row."""
    check_windows(x, M)
    B, H, W, d = x.shape
    x = x.reshape(B, H // M, M, W // M, M, d).swapaxes(2, 3)           # (B, H/M, W/M, M, M, d)
    return x.reshape(B * (H // M) * (W // M), M * M, d)


def from_windows(windows: np.ndarray, M: int, H: int, W: int) -> np.ndarray:
    """Turn (B * nW, M * M, d) into (B, H, W, d): the inverse of to_windows."""
    check_array("windows", windows)
    check_sizes(M=M, H=H, W=W)
    nW, d = (H // M) * (W // M), windows.shape[-1]
    if windows.ndim != 3 or H % M or W % M or windows.shape[1] != M * M or len(windows) % nW:
        raise ValueError(f"windows must have shape (B * nW, M * M, d) for M={M}, H={H}, W={W},"
                         f" got {windows.shape}")
    B = len(windows) // nW
    x = windows.reshape(B, H // M, W // M, M, M, d).swapaxes(2, 3)     # (B, H/M, M, W/M, M, d)
    return x.reshape(B, H, W, d)


def shifted_mask(H: int, W: int, M: int, shift: int) -> np.ndarray:
    """Return a mask (nW, M * M, M * M) of the pairs that were neighbours before a cyclic shift.

    After x is rolled by -shift, the last `shift` rows come from the top, and the last `shift`
    columns come from the left. If a window has tokens from several sides, tokens attend only to
    tokens from their own side.
    """
    came_round = np.zeros((1, H, W, 1))
    came_round[:, H - shift :] += 1
    came_round[:, :, W - shift :] += 2
    region = to_windows(came_round, M)                                 # (nW, M * M, 1)
    return region == region.mT


class WindowAttention(Module):
    """Self-attention of an image inside its windows of window x window tokens       Swin, Sec. 3.2

    x (B, H, W, d_model), H and W divisible by `window`   ->   the same shape
    With `shift`, x is rolled up and left, so that the windows lie elsewhere, and y is rolled back.
    Tokens from opposite edges that share a window after the roll do not see each other. A window
    uses MultiHeadAttention with RelativeAttention over RelativePositionBias2D.

    backward: roll, to_windows and from_windows only move numbers, so the inverse moves their
    gradients back. x is used three times, as queries, keys and values, so grad_x is a sum of three.
    """
    formula = "Self-attention of an image inside its windows of window x window tokens"

    def __init__(self, d_model: int, h: int, window: int, *, shift: int = 0, rng: Rng) -> None:
        check_heads(d_model, h, None, None)
        check_sizes(window=window)
        check_sizes(shift=shift, least=0)
        if shift >= window:
            raise ValueError(f"shift must lie in [0, window), got shift={shift}, window={window}")
        self.window, self.shift = window, shift
        attention = RelativeAttention(RelativePositionBias2D(h, window, window, rng=rng))
        self.self_attention = MultiHeadAttention(d_model, h, attention=attention, rng=rng)

    def forward(self, x: np.ndarray) -> tuple[np.ndarray, Cache]:
        check_windows(x, self.window)
        B, H, W, _ = x.shape
        cache = Cache(shape=x.shape, dtype=x.dtype)
        rolled = np.roll(x, (-self.shift, -self.shift), axis=(1, 2))   # (B, H, W, d_model)
        tokens = to_windows(rolled, self.window)                       # (B nW, M M, d_model)
        allowed = shifted_mask(H, W, self.window, self.shift)          # (nW, M M, M M)
        allowed = np.tile(allowed, (B, 1, 1))[:, None]                 # (B nW, 1, M M, M M)
        y, cache.self_attention = self.self_attention.forward(
            tokens, tokens, tokens, allowed=allowed
        )
        y = from_windows(y, self.window, H, W)                         # (B, H, W, d_model)
        return np.roll(y, (self.shift, self.shift), axis=(1, 2)), cache

    def backward(self, grad_y: np.ndarray, cache: Cache) -> np.ndarray:
        check_gradient(grad_y, cache.shape, cache.dtype)
        H, W = cache.shape[1:3]
        # y = roll(from_windows(self_attention(tokens, tokens, tokens)))
        grad_y = np.roll(grad_y, (-self.shift, -self.shift), axis=(1, 2))
        grad_y = to_windows(grad_y, self.window)                       # (B nW, M M, d_model)
        grad_Q, grad_K, grad_V = self.self_attention.backward(grad_y, cache.self_attention)
        # tokens = to_windows(roll(x))
        grad_x = from_windows(grad_Q + grad_K + grad_V, self.window, H, W)
        return np.roll(grad_x, (self.shift, self.shift), axis=(1, 2))  # (B, H, W, d_model)
