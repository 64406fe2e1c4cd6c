"""Attention maps, read from a cache: neither hooks nor second return values are needed."""

import numpy as np

from ..module import Cache, leaves


def attention_maps(cache: Cache) -> dict[str, np.ndarray]:
    """Return every attention map in a cache, in order: dotted name -> (B, h, T_q, T_k).

    The name is the path of the array, e.g. ``decoder.layers.1.cross_attention.attention.weights``.
    An attention that does not keep its map is left out.
    """
    arrays = leaves(cache, np.ndarray)
    return {name: array for name, array in arrays if name.split(".")[-1] == "weights"}


def attention_masks(cache: Cache) -> dict[str, np.ndarray]:
    """Return the mask of every attention map, under the same names: bool (B, h, T_q, T_k)."""
    arrays = dict(leaves(cache, np.ndarray))
    masks = {}
    for name, weights in attention_maps(cache).items():
        allowed = arrays.get(name.removesuffix("weights") + "mask.allowed", np.array(True))
        masks[name] = np.broadcast_to(allowed, weights.shape)
    return masks
