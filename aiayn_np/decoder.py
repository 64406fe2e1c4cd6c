"""The decoder: right half of Fig. 1."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from .add_norm import AddNorm
from .checks import check_layer, check_layer_options
from .encoder import mirrored
from .feed_forward import PositionwiseFeedForward
from .module import Cache, Module
from .multi_head import MultiHeadAttention


class DecoderLayer(Module):
    """Masked self-attention, attention over the memory, feed-forward, each with Add & Norm

    Sec. 3.1 and 3.2.3, Fig. 1 right
    x (..., T_tgt, d_model)   memory (..., T_src, d_model)   ->   (..., T_tgt, d_model)
    allowed: the mask of the self-attention; it must include `causal`.
    memory_allowed: the mask over the memory.   attention: as in EncoderLayer.
    """
    formula = "Masked self-attention, attention over the memory, feed-forward, each with Add & Norm"
    position_wise = True  # computes each query alone, so decoding may keep keys and values

    def __init__(self, d_model, d_ff, h, *, P_drop=0.1, d_k=None, d_v=None, attention=None, rng):
        check_layer_options(d_model, d_ff, h, d_k, d_v, P_drop, rng)
        heads = dict(d_k=d_k, d_v=d_v, attention=attention, rng=rng)
        self.self_attention = MultiHeadAttention(d_model, h, **heads)
        self.add_norm_1 = AddNorm(d_model, P_drop)
        self.cross_attention = MultiHeadAttention(d_model, h, **heads)
        self.add_norm_2 = AddNorm(d_model, P_drop)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff, rng=rng)
        self.add_norm_3 = AddNorm(d_model, P_drop)

    def forward(self, x, memory, *, allowed=None, memory_allowed=None, rng=None):
        c = Cache()
        attended, c.self_attention = self.self_attention.forward(x, x, x, allowed=allowed, rng=rng)
        x, c.add_norm_1 = self.add_norm_1.forward(x, attended, rng=rng)
        attended, c.cross_attention = self.cross_attention.forward(
            x, memory, memory, allowed=memory_allowed, rng=rng
        )
        x, c.add_norm_2 = self.add_norm_2.forward(x, attended, rng=rng)
        fed, c.feed_forward = self.feed_forward.forward(x)
        x, c.add_norm_3 = self.add_norm_3.forward(x, fed, rng=rng)
        return x, c

    def backward(self, grad_y, cache):
        # y = add_norm_3(x, feed_forward(x)): a residual sum passes its gradient to both terms
        grad_x, grad_fed = self.add_norm_3.backward(grad_y, cache.add_norm_3)
        grad_x = grad_x + self.feed_forward.backward(grad_fed, cache.feed_forward)
        grad_x, grad_attended = self.add_norm_2.backward(grad_x, cache.add_norm_2)
        # attended = cross_attention(x, memory, memory)
        grad_Q, grad_K, grad_V = self.cross_attention.backward(grad_attended, cache.cross_attention)
        grad_memory = grad_K + grad_V
        grad_x, grad_attended = self.add_norm_1.backward(grad_x + grad_Q, cache.add_norm_1)
        # attended = self_attention(x, x, x)
        grad_Q, grad_K, grad_V = self.self_attention.backward(grad_attended, cache.self_attention)
        return grad_x + grad_Q + grad_K + grad_V, grad_memory


class Decoder(Module):
    """The stack of N decoder layers, each of which reads the same memory   Sec. 3.1, Fig. 1 right

    x (..., T_tgt, d_model)   memory (..., T_src, d_model)   ->   (..., T_tgt, d_model)
    norm: a layer for the output of the stack; None in the paper (see final_norm).
    """
    formula = "The stack of N decoder layers, each of which reads the same memory"
    kept_at = ("",)

    def __init__(self, layers: Iterable[Any], *, norm: Module | None = None):
        self.layers, self.norm = list(layers), norm
        for layer in self.layers:
            check_layer("layers", layer, "with the signature of the class")

    def forward(self, x, memory, *, allowed=None, memory_allowed=None, rng=None):
        masks = dict(allowed=allowed, memory_allowed=memory_allowed)
        cache = Cache(layers=[], memory=memory)
        for layer in self.layers:
            x, layer_cache = layer.forward(x, memory, **masks, rng=rng)
            cache.layers.append(layer_cache)
        if self.norm is not None:
            x, cache.norm = self.norm.forward(x)
        return x, cache

    def backward(self, grad_x, cache):
        pairs = mirrored(self, cache)
        if self.norm is not None:
            grad_x = self.norm.backward(grad_x, cache.norm)
        grad_memory = np.zeros_like(cache.memory)      # every layer adds its share
        for layer, layer_cache in pairs:
            grad_x, grad_layer_memory = layer.backward(grad_x, layer_cache)
            grad_memory += grad_layer_memory
        return grad_x, grad_memory
