"""Masks: which keys a query may read. The "Mask (opt.)" box of Fig. 2 (left)."""

import math

import numpy as np

from .checks import check_array, check_gradient, check_integers, check_mask, check_sizes
from .module import Cache, Module


def causal(T: int) -> np.ndarray:
    """Return the mask (T, T) that lets position i look at positions j <= i only (Sec. 3.2.3)."""
    check_sizes(T=T)
    return np.tri(T, dtype=bool)


def not_padding(ids: np.ndarray, pad: int | None = 0) -> np.ndarray:
    """Return the mask (B, 1, 1, T) of the real tokens in `ids` (B, T).

    The mask hides key *columns*, from every head and query. The rows of padded queries stay. Nobody
    reads their outputs: as keys they are masked, and the loss leaves their targets out.
    """
    ids = check_integers("ids", ids, ndim=2)
    return (ids != pad)[:, None, None, :]


class Mask(Module):
    """scores where allowed, -inf elsewhere                            Sec. 3.2.3, Fig. 2 left

    scores (..., T_q, T_k)   allowed: bool, True where query i may look at key j, or None
    """
    formula = "scores where allowed, -inf elsewhere"
    position_wise = True

    def forward(self, scores, *, allowed=None):
        check_array("scores", scores, min_ndim=2)
        check_mask(allowed, scores.shape)
        cache = Cache(allowed=allowed, shape=scores.shape, dtype=scores.dtype)
        if allowed is None:
            return scores, cache
        return np.where(allowed, scores, -math.inf), cache             # (..., T_q, T_k)

    def backward(self, grad_y, cache):
        check_gradient(grad_y, cache.shape, cache.dtype)
        if cache.allowed is None:
            return grad_y
        # y = scores where allowed, a constant elsewhere
        return grad_y * cache.allowed                                  # (..., T_q, T_k)
