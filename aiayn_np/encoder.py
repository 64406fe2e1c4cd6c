"""The encoder: left half of Fig. 1."""

from collections.abc import Iterable
from typing import Any

from .add_norm import AddNorm
from .checks import check_layer, check_layer_options
from .feed_forward import PositionwiseFeedForward
from .module import Cache, Module, leaves
from .multi_head import MultiHeadAttention


class EncoderLayer(Module):
    """Self-attention, Add & Norm, feed-forward, Add & Norm            Sec. 3.1, Fig. 1 left

    x (..., T, d_model)   allowed: the mask of MultiHeadAttention   ->   (..., T, d_model)
    attention: a factory called as attention(h, d_k, d_v, rng), or a layer; None: the paper's.
    """
    formula = "Self-attention, Add & Norm, feed-forward, Add & Norm"
    kept_at = ("",)

    def __init__(self, d_model, d_ff, h, *, P_drop=0.1, d_k=None, d_v=None, attention=None, rng):
        check_layer_options(d_model, d_ff, h, d_k, d_v, P_drop, rng)
        heads = dict(d_k=d_k, d_v=d_v, attention=attention, rng=rng)
        self.self_attention = MultiHeadAttention(d_model, h, **heads)
        self.add_norm_1 = AddNorm(d_model, P_drop)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff, rng=rng)
        self.add_norm_2 = AddNorm(d_model, P_drop)

    def forward(self, x, *, allowed=None, rng=None):
        c = Cache()
        attended, c.self_attention = self.self_attention.forward(x, x, x, allowed=allowed, rng=rng)
        x, c.add_norm_1 = self.add_norm_1.forward(x, attended, rng=rng)
        fed, c.feed_forward = self.feed_forward.forward(x)
        x, c.add_norm_2 = self.add_norm_2.forward(x, fed, rng=rng)
        return x, c

    def backward(self, grad_y, cache):
        # y = add_norm_2(x, feed_forward(x)): a residual sum passes its gradient to both terms
        grad_x, grad_fed = self.add_norm_2.backward(grad_y, cache.add_norm_2)
        grad_x = grad_x + self.feed_forward.backward(grad_fed, cache.feed_forward)
        grad_x, grad_attended = self.add_norm_1.backward(grad_x, cache.add_norm_1)
        # attended = self_attention(x, x, x): x is used three times, and once in the residual
        grad_Q, grad_K, grad_V = self.self_attention.backward(grad_attended, cache.self_attention)
        return grad_x + grad_Q + grad_K + grad_V


class Encoder(Module):
    """The stack of N encoder layers                                   Sec. 3.1, Fig. 1 left

    x (..., T, d_model)   ->   memory (..., T, d_model), which the decoder attends to
    norm: a layer for the output of the stack; None in the paper (see final_norm).
    """
    formula = "The stack of N encoder layers"
    kept_at = ("",)

    def __init__(self, layers: Iterable[Any], *, norm: Module | None = None):
        self.layers, self.norm = list(layers), norm
        for layer in self.layers:
            check_layer("layers", layer, "with the signature of the class")

    def forward(self, x, *, allowed=None, rng=None):
        cache = Cache(layers=[])
        for layer in self.layers:
            x, layer_cache = layer.forward(x, allowed=allowed, rng=rng)
            cache.layers.append(layer_cache)
        if self.norm is not None:
            x, cache.norm = self.norm.forward(x)
        return x, cache

    def backward(self, grad_x, cache):
        pairs = mirrored(self, cache)
        if self.norm is not None:
            grad_x = self.norm.backward(grad_x, cache.norm)
        for layer, layer_cache in pairs:
            grad_x = layer.backward(grad_x, layer_cache)
        return grad_x


def mirrored(stack, cache):
    """Return the pairs (layer, cache) in the order of backward: the last layer comes first."""
    if len(stack.layers) != len(cache.layers):
        raise ValueError("cache must hold one cache for each layer of the stack,"
                         f" {len(stack.layers)}, got {len(cache.layers)}")
    return list(zip(stack.layers, cache.layers))[::-1]


def final_norm(layers, d_model):
    """Return the norm at the end of a stack; None in the paper. A pre-norm layer does not normalise
    its output. Its `stack_norm` is the class of the missing norm; another layer may wrap it."""
    norms = (x.stack_norm for _, x in leaves(layers[-1], object) if hasattr(x, "stack_norm"))
    norm = next(norms, None)
    return norm and norm(d_model)
