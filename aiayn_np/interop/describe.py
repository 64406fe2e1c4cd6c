"""A Transformer described by a dict that JSON can hold, and built from such a dict."""

import numpy as np

from ..attention import ScaledDotProductAttention
from ..checks import check_ids, check_number, check_sizes
from ..dropout import Dropout
from ..feed_forward import PositionwiseFeedForward, ReLU
from ..layer_norm import LayerNorm
from ..linear import Linear
from ..module import Parameter, leaves
from ..multi_head import MultiHeadAttention
from ..pretrained.weights import Undrawn
from ..transformer import Transformer
from ..variants.choices import CHOICES, keywords
from .parts import check_same

SIZES = ("vocab_size", "N", "d_model", "d_ff", "h", "max_len")
KEYS = (*SIZES, "pad", "P_drop", "attention_P_drop", "eps", "bias", "positions", "norm")


def describe(model):
    """The config of a Transformer whose layers torch.nn.Transformer has too.

    Raises TypeError for another model, and ValueError with the part and the reason for a model
    that is not exactly the one that `build` makes of the config.
    """
    if type(model) is not Transformer:
        raise TypeError(f"model must be a Transformer, got {type(model).__name__}")
    try:
        config = config_of(model)
    except AttributeError as error:
        raise ValueError(f"model must have the parts of a Transformer: {error}") from error
    check_same(model, build(config), "model")
    return config


def config_of(model):
    """The config of a Transformer, read from its layers."""
    norm = norm_of(model)
    attentions = [layer for _, layer in leaves(model, MultiHeadAttention)]
    check_attentions(attentions, model)
    dtype = one("dtype", (str(p.value.dtype) for p in model.parameters()))
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype must be float32 or float64, got {dtype}")
    scores = [a.attention for a in attentions]
    dropouts = [layer for _, layer in leaves(model, Dropout)]
    of_attention = [s.dropout for s in scores]
    others = [d for d in dropouts if all(d is not a for a in of_attention)]
    feed_forward = [layer for _, layer in leaves(model, PositionwiseFeedForward)]
    return dict(
        vocab_size=model.vocab_size, N=one("N", map(len, stacks(model))), d_model=model.d_model,
        d_ff=one("d_ff", (f.linear_1.d_out for f in feed_forward)), h=model.h,
        max_len=model.max_len, pad=model.pad,
        P_drop=one("P_drop", (d.P_drop for d in others)),
        attention_P_drop=one("P_drop of attention", (d.P_drop for d in of_attention)),
        eps=one("eps", (n.eps for _, n in leaves(model, LayerNorm))),
        bias=one("bias", (linear.b is not None for a in attentions
                          for _, linear in leaves(a, Linear))),
        positions=choice("positions", [type(model.positions)]), norm=norm,
    )


def stacks(model):
    """The layers of the encoder and of the decoder."""
    return model.encoder.layers, model.decoder.layers


def check_attentions(attentions, model):
    """Refuse an attention that torch.nn.MultiheadAttention does not have."""
    for a in attentions:
        if type(a.attention) is not ScaledDotProductAttention:
            raise ValueError("attention must be the paper's scaled dot products, because"
                             " torch.nn.Transformer has no other, got"
                             f" {type(a.attention).__name__}")
        if not a.h * a.d_k == a.h * a.d_v == model.d_model or a.h != model.h:
            raise ValueError("d_k and d_v must be d_model / h, because torch.nn.MultiheadAttention"
                             f" has no other heads, got d_k={a.d_k}, d_v={a.d_v} with"
                             f" d_model={model.d_model}, h={a.h}")


def one(name, values):
    """The one value in `values`; torch.nn.Transformer has the same for all layers."""
    found = sorted(set(values))
    if len(found) != 1:
        raise ValueError(f"{name} must be the same in all layers, got"
                         f" {', '.join(map(str, found)) or 'none'}")
    return found[0]


def choice(option, classes):
    """The name in CHOICES of an option that is exactly these classes."""
    for name, chosen in CHOICES[option].items():
        if list(chosen.values()) == classes:
            return name
    raise ValueError(f"{option} must be {' or '.join(CHOICES[option])}, got"
                     f" {' and '.join(c.__name__ for c in classes)}")


def norm_of(model):
    """Where the layers have their norms, "post" or "pre". Everything else must be the paper's."""
    kinds = [one_class(layers) for layers in stacks(model)]
    name = choice("norm", kinds)
    for layer in (layer for layers in stacks(model) for layer in layers):
        f = layer.feed_forward
        if type(f) is not PositionwiseFeedForward or type(f.relu) is not ReLU:
            raise ValueError(f"feed_forward must be the paper's, with ReLU, got {type(f).__name__}")
    return name


def one_class(layers):
    """The class of the layers of a stack, which must be the same for all."""
    kinds = {type(layer) for layer in layers}
    if len(kinds) > 1:
        raise ValueError("the layers of a stack must be of one class, got"
                         f" {', '.join(sorted(k.__name__ for k in kinds))}")
    return kinds.pop()


def check_config(config):
    """Refuse a dict that `describe` cannot have made: KeyError, TypeError, ValueError, IndexError.
    """
    if set(config) != set(KEYS):
        raise KeyError(f"a config must have {', '.join(KEYS)}, missing or unknown:"
                       f" {', '.join(sorted(set(config) ^ set(KEYS)))}")
    check_sizes(**{name: config[name] for name in SIZES})
    for name in ("P_drop", "attention_P_drop", "eps"):
        check_number(name, config[name], 0, 1)
    check_ids("pad", config["pad"], config["vocab_size"], ndim=0)
    for option in ("positions", "norm"):
        if config[option] not in list(CHOICES[option]):
            raise ValueError(f"{option} must be {' or '.join(CHOICES[option])}, got"
                             f" {config[option]!r}")
    if not isinstance(config["bias"], bool):
        raise TypeError(f"bias must be true or false, got {config['bias']!r}")
    if config["d_model"] % config["h"]:
        raise ValueError("d_model must be divisible by h, got"
                         f" d_model={config['d_model']}, h={config['h']}")


def build(config):
    """The Transformer of a config; its values are to be overwritten."""
    check_config(config)
    options = {name: config[name] for name in (*SIZES, "pad", "P_drop")}
    options |= keywords({name: config[name] for name in ("positions", "norm")})
    model = Transformer(**options, rng=Undrawn(np.float64))
    for _, norm in leaves(model, LayerNorm):
        norm.eps = float(config["eps"])
    for _, attention in leaves(model, MultiHeadAttention):
        attention.attention.dropout.P_drop = float(config["attention_P_drop"])
        for _, linear in leaves(attention, Linear) if config["bias"] else ():
            linear.b = Parameter(np.zeros(linear.d_out))
    return model
