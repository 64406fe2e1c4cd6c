"""Attention maps out of a cache: no hook, no second return value, just reading what is there."""

import numpy as np

from .module import Cache


def attention_caches(node, path=""):
    """Yield (dotted name, cache) of every attention below `node` that kept its weights."""
    if isinstance(node, Cache):
        if isinstance(getattr(node, "weights", None), np.ndarray):
            yield path, node
        children = vars(node).items()
    else:
        children = enumerate(node) if isinstance(node, list) else ()
    for name, child in children:
        yield from attention_caches(child, f"{path}.{name}" if path else str(name))


def attention_maps(cache):
    """Ordered dict of every attention map in a cache: dotted name -> (B, h, T_q, T_k).

    The name is the path of the array, e.g. ``decoder.layers.1.cross_attention.attention.weights``.
    An attention that does not keep its map has none.
    """
    return {f"{path}.weights".lstrip("."): c.weights for path, c in attention_caches(cache)}


def attention_masks(cache):
    """Under the same names, which cells were allowed: bool (B, h, T_q, T_k)."""
    masks = {}
    for path, c in attention_caches(cache):
        allowed = getattr(getattr(c, "mask", None), "allowed", None)
        allowed = np.array(True) if allowed is None else allowed
        masks[f"{path}.weights".lstrip(".")] = np.broadcast_to(allowed, c.weights.shape)
    return masks
