"""The cache of another layer: with its scales, attention weights and gates held, it is linear."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..module import Cache


def frozen(cache: Cache) -> Cache:
    """Return a copy of a cache whose backward takes norms' scales, weights and gates as constants.

    A layer's backward reads in one array of its cache how its own scale moves with x. The layer
    says which one (`freeze`). Here it is zero. The other arrays are those of `cache`, not copies.
    Raises ValueError for a layer that has no such array: dropout that dropped something, batch
    norm, attention that keeps no weights. Gradients of parameters through this cache are those of
    the linear model, except that of a norm's gamma, which is zero.
    """
    def zero(path, node):
        name = getattr(node, "freeze", "")
        if name is None:
            raise ValueError(f"every layer must have a cache that can be frozen, got {path}")
        return {name: np.zeros_like(getattr(node, name))} if name else {}
    return edited(cache, zero)


def edited(node: Any, change: Callable[[str, Cache], dict[str, Any]], path: str = "") -> Any:
    """Return a copy of a cache in which each part has the values that change(path, part) gives."""
    if isinstance(node, Cache):
        values = vars(node) | change(path or "the layer", node)
        return Cache(**{name: edited(value, change, f"{path}.{name}".strip("."))
                        for name, value in values.items()})
    if isinstance(node, (list, tuple)):
        return type(node)(edited(v, change, f"{path}.{i}") for i, v in enumerate(node))
    if isinstance(node, dict):
        return {name: edited(v, change, f"{path}.{name}") for name, v in node.items()}
    return node
