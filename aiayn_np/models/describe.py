"""Describe a model by its first layers, and build a model from the description.

A model is exported only if all its layers equal those of the built model: otherwise another library
would compute something else. The description of a Transformer is a dict that JSON can hold.
"""

from collections.abc import Callable

import numpy as np

from ..checks import one_line
from ..dropout import Dropout
from ..layer_norm import LayerNorm
from ..module import Module, leaves
from ..multi_head import MultiHeadAttention
from ..structure import difference, structure
from ..transformer import Transformer
from ..variants.choices import CHOICES, keywords
from ..variants.layer_options import layer_factory, set_eps
from .weights import Undrawn

SIZES = ("vocab_size", "N", "d_model", "d_ff", "h", "max_len")



def describe(model: Transformer) -> dict:
    """Return the config of a Transformer that torch.nn.Transformer can represent.

    Raises TypeError for another class, and ValueError with the first layer that differs from the
    model that `build` makes from the config.
    """
    if type(model) is not Transformer:
        raise TypeError(f"model must be a Transformer, got {type(model).__name__}")
    config = sizes_of(model)
    for option, layer in (("positions", model.positions), ("norm", model.encoder.layers[0])):
        config[option] = choice(option, type(layer))
    check_same(model, build(config), "torch.nn.Transformer")
    return config


def sizes_of(model: Transformer) -> dict:
    """Read the config, except "positions" and "norm", from the first layers of a Transformer."""
    try:
        layer = model.encoder.layers[0]
        attention, (_, norm) = layer.self_attention, next(leaves(model, LayerNorm))
        return dict(
            vocab_size=model.vocab_size, N=len(model.encoder.layers), d_model=model.d_model,
            d_ff=layer.feed_forward.linear_1.d_out, h=model.h, max_len=model.max_len,
            pad=model.pad, P_drop=model.dropout.P_drop,
            attention_P_drop=getattr(attention.attention, "dropout", Dropout(0)).P_drop,
            eps=norm.eps, bias=attention.linear_Q.b is not None,
        )
    except AttributeError as error:
        raise ValueError(f"model must have the parts of a Transformer: {error}") from error


def choice(option, cls):
    """Return the name in CHOICES[option] that chooses a class."""
    for name, chosen in CHOICES[option].items():
        if cls is next(iter(chosen.values())):
            return name
    raise ValueError(f"{option} must be {' or '.join(CHOICES[option])}, got {cls.__name__}")


def check_same(model: Module, built: Module, what: str) -> None:
    """Raise a ValueError that names the first difference if `model` is not made like `built`.

    Both must have the same layers, share the same Parameters, and have Parameters of the same names
    and shapes. The model must be all float32 or all float64, and no layer may have a `forward` of
    its own.

    built : a new model that the other format can hold
    what : what the model is exported as, for the message, such as "a GPT-2"
    """
    dtypes = sorted({str(p.value.dtype) for p in model.parameters()})
    if dtypes not in (["float32"], ["float64"]):
        raise ValueError(f"dtype must be float32 or float64 in all layers, got {', '.join(dtypes)}")
    for path, layer in leaves(model, Module):
        if "forward" in vars(layer):
            raise ValueError(f"{what} has the forward of the class at {path}, got another")
    found = difference(structure(model), structure(built)) or difference(shapes(model),
                                                                        shapes(built))
    if found:
        path, *both = found
        got, must = ("nothing of its own" if text == "missing" else text for text in both)
        raise ValueError(f"{what} has {must} at {path or 'the top'}, got {one_line(got)}"[:300])


def shapes(model):
    """Return {name: shape as text} of a model's Parameters."""
    return {name: f"Parameter{p.value.shape}" for name, p in model.named_parameters()}


def build(config: dict, activation: Callable[[], Module] | None = None) -> Transformer:
    """Build the Transformer that a config describes. The caller must fill in its parameters.

    activation : the class that replaces ReLU in the feed-forward network
    """
    options = {name: config[name] for name in (*SIZES, "pad", "P_drop")}
    options |= keywords({name: config[name] for name in ("positions", "norm")})
    for side in ("encoder_layer", "decoder_layer"):
        options[side] = layer_factory(options[side], bias=config["bias"], activation=activation)
    model = set_eps(Transformer(**options, rng=Undrawn(np.float64)), float(config["eps"]))
    for _, attention in leaves(model, MultiHeadAttention):
        attention.attention.dropout.P_drop = float(config["attention_P_drop"])
    return model
