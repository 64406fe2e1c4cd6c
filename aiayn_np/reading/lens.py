"""The logits that the model would have after each sublayer."""

import numpy as np

from ..module import Cache, Module, leaves
from ..transformer import Transformer
from ..variants.masked import MaskedLanguageModel


def logit_lens(model: Module, cache: Cache) -> dict[str, np.ndarray]:
    """Return {path of a norm: logits (B, T, V)}, computed as if its state were the last one.

    model : a model that `shares` takes
    cache : the cache that its forward returned

    The norms are those of the last stack, layer by layer. In a post-norm model, the state is the
    output of the norm. In a pre-norm model, the state is the input of the norm, and the final norm
    is applied to it, with the mean and the variance of this state. The last entry has the logits of
    the model.
    """
    stack, stack_cache, path, head = last_stack(model, cache)
    layers, said = dict(leaves(stack, Module)), {}
    for name, c in leaves(stack_cache, Cache):
        if hasattr(c, "normalised"):
            if stack.norm is None:
                layer = layers[name]
                state = layer.gamma.value * c.normalised
                state = state + layer.beta.value if hasattr(layer, "beta") else state
            else:                       # the norm's input, less its mean, which no norm keeps
                inverse = c.inv_std if hasattr(c, "inv_std") else c.inv_rms
                state = stack.norm(c.normalised / inverse)
            said[f"{path}.{name}"] = head(state)
    return said


def last_stack(model, cache):
    """Return (stack, its cache, its path, the layer that turns the output into logits)."""
    if isinstance(model, Transformer):
        return model.decoder, cache.decoder, "decoder", model.output_projection
    if isinstance(model, MaskedLanguageModel):
        return model.encoder, cache.encoder, "encoder", model.head
    return model.stack.encoder, cache.stack.encoder, "stack.encoder", model.output_projection
