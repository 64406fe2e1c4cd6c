"""Make a model linear by its cache: hold scales, attention weights and gates fixed."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..module import Cache


def frozen(cache: Cache) -> Cache:
    """Return a copy of a cache in which the scales of norms, weights and gates are constants.

    A layer names one array of its cache (`freeze`): in backward, this array carries the changes of
    the layer's scale with x. The copy has zeros in its place, and shares the other arrays with
    `cache`. Through the copy, backward gives the gradients of the linear model. Only the gradient
    of a norm's gamma is zero.

    Raises ValueError for a layer without such an array: dropout that dropped something, batch
    norm, attention that keeps no weights.
    """
    def zero(path, node):
        name = getattr(node, "freeze", "")
        if name is None:
            raise ValueError(f"every layer must have a cache that can be frozen, got {path}")
        return {name: np.zeros_like(getattr(node, name))} if name else {}
    return edited(cache, zero)


def edited(node: Any, change: Callable[[str, Cache], dict[str, Any]], path: str = "") -> Any:
    """Return a copy of a cache; change(path, part) returns the new values of a part."""
    if isinstance(node, Cache):
        values = vars(node) | change(path or "the layer", node)
        return Cache(**{name: edited(value, change, f"{path}.{name}".strip("."))
                        for name, value in values.items()})
    if isinstance(node, (list, tuple)):
        return type(node)(edited(v, change, f"{path}.{i}") for i, v in enumerate(node))
    if isinstance(node, dict):
        return {name: edited(v, change, f"{path}.{name}") for name, v in node.items()}
    return node
