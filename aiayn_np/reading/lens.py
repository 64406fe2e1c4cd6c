"""The logits that the model would have after each sublayer."""

from typing import Any

import numpy as np

from ..module import Cache, Module, leaves
from .sharing import paths_of


def logit_lens(model: Module, cache: Cache) -> dict[str, np.ndarray]:
    """Return {path of a norm: logits (B, T, V)}, computed as if its state were the last one.

    model : a model that `shares` takes
    cache : the cache that its forward returned

    The norms are those of the last stack, layer by layer. In a post-norm model, the state is the
    output of the norm. In a pre-norm model, the state is the input of the norm, and the final norm
    is applied to it, with the mean and the variance of this state. The last entry has the logits of
    the model.
    """
    *_, path, head = paths_of(model)
    layers: dict[str, Any] = dict(leaves(model, Module))
    norm, said = layers[path].norm, {}
    for name, c in leaves(cache, Cache):
        if name.startswith(f"{path}.") and hasattr(c, "normalised"):
            if norm is None:
                state = layers[name].gamma.value * c.normalised
                state = state + layers[name].beta.value if hasattr(layers[name], "beta") else state
            else:                       # the norm's input, less its mean, which no norm keeps
                inverse = c.inv_std if hasattr(c, "inv_std") else c.inv_rms
                state = norm(c.normalised / inverse)
            said[name] = layers[head](state)
    return said
