"""A factory of layers with biases and another activation."""

import functools
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from ..encoder import EncoderLayer
from ..layer_norm import LayerNorm
from ..module import Module, Parameter, leaves
from ..multi_head import MultiHeadAttention
from .activations import FeedForward
from .norms import RMSNorm

Mod = TypeVar("Mod", bound=Module)


def layer_factory(layer: Callable[..., Module] = EncoderLayer, *, bias: bool = False,
                  activation: Callable[[], Module] | None = None) -> Callable[..., Module]:
    """Return a factory called as `layer`, for `encoder_layer=`, `decoder_layer=`, `layer=`.

    Parameters
    ----------
    layer : a class such as EncoderLayer, DecoderLayer or PreNormEncoderLayer
    bias : whether the four projections of each attention have biases, which start at zero
    activation : the class of the activation that replaces ReLU in the feed-forward network

    >>> make = layer_factory(EncoderLayer, bias=True)
    >>> print(make(4, 6, 2, rng=np.random.default_rng(0)).self_attention.linear_Q.b)
    Parameter(4,) float64
    """
    return functools.partial(make_layer, layer, bias, activation)


def make_layer(layer, bias, activation, d_model, d_ff, h, *, rng, **options):
    """Build a layer as usual, then add biases and replace the activation."""
    made = layer(d_model, d_ff, h, rng=rng, **options)
    if bias:
        for _, attention in leaves(made, MultiHeadAttention):
            add_biases(attention)
    if activation is not None:                                         # nothing is drawn again
        paper, made.feed_forward = made.feed_forward, FeedForward(
            1, 1, activation=activation(), rng=None)
        made.feed_forward.linear_1, made.feed_forward.linear_2 = paper.linear_1, paper.linear_2
    return made


def add_biases(attention):
    """Give each projection of an attention a bias of zeros."""
    for name in ("linear_Q", "linear_K", "linear_V", "linear_O"):
        linear = getattr(attention, name)
        linear.b = Parameter(np.zeros(linear.d_out, linear.W.value.dtype))


def set_eps(model: Mod, eps: float) -> Mod:
    """Set eps of every layer norm and RMS norm of a model, and return the model."""
    for _, norm in leaves(model, (LayerNorm, RMSNorm)):
        norm.eps = eps
    return model
