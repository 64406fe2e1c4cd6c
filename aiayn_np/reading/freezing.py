"""Make a model linear by its cache: hold scales, attention weights and gates fixed."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..module import Cache


def frozen(cache: Cache) -> Cache:
    """Return a copy of a cache in which the scales of norms, weights and gates are constants.

    One array in a layer's cache tells backward how the layer's scale moves with x. The layer names
    this array (`freeze`). The copy has zeros in its place, and shares the other arrays with
    `cache`. Through the copy, backward gives the gradients of the linear model; only the gradient
    of a norm's gamma is zero.

    Raises ValueError for a layer that has no such array: dropout that dropped something, batch
    norm, attention that keeps no weights.
    """
    def zero(path, node):
        name = getattr(node, "freeze", "")
        if name is None:
            raise ValueError(f"every layer must have a cache that can be frozen, got {path}")
        return {name: np.zeros_like(getattr(node, name))} if name else {}
    return edited(cache, zero)


def edited(node: Any, change: Callable[[str, Cache], dict[str, Any]], path: str = "") -> Any:
    """Return a copy of a cache; change(path, part) gives the new values of each part."""
    if isinstance(node, Cache):
        values = vars(node) | change(path or "the layer", node)
        return Cache(**{name: edited(value, change, f"{path}.{name}".strip("."))
                        for name, value in values.items()})
    if isinstance(node, (list, tuple)):
        return type(node)(edited(v, change, f"{path}.{i}") for i, v in enumerate(node))
    if isinstance(node, dict):
        return {name: edited(v, change, f"{path}.{name}") for name, v in node.items()}
    return node
