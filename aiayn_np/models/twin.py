"""Build the Transformer that another library has too, its twin, and compare a model with it.

A model is exported only if all its layers equal those of this twin. Otherwise the other library
would compute other logits.
"""

from ..checks import one_line
from ..dropout import Dropout
from ..layer_norm import LayerNorm
from ..module import Module, leaves
from ..multi_head import MultiHeadAttention
from ..positional_encoding import LearnedPositionalEncoding
from ..structure import difference, structure
from ..transformer import Transformer
from ..variants.choices import keywords
from ..variants.layer_options import layer_factory, set_eps
from ..variants.pre_norm import PreNormEncoderLayer
from .config import ACTIVATIONS

NAMES = {kind: name for name, kind in reversed(ACTIVATIONS.items())}  # the usual name of each


def config_of(model: Transformer) -> dict:
    """Read the config of the twin, a dict that JSON can hold, from a model's first layers."""
    try:
        layer = model.encoder.layers[0]
        attention, (_, norm) = layer.self_attention, next(leaves(model, LayerNorm))
        active = type(getattr(layer.feed_forward, "activation", None))
        return dict(
            vocab_size=model.vocab_size, N=len(model.encoder.layers), d_model=model.d_model,
            d_ff=layer.feed_forward.linear_1.d_out, h=model.h, max_len=model.max_len,
            pad=model.pad, P_drop=model.dropout.P_drop,
            attention_P_drop=getattr(attention.attention, "dropout", Dropout(0)).P_drop,
            eps=norm.eps, bias=attention.linear_Q.b is not None,
            norm="pre" if isinstance(layer, PreNormEncoderLayer) else "post",
            positions=("learned" if isinstance(model.positions, LearnedPositionalEncoding)
                       else "sinusoidal"),
        ) | ({"activation": NAMES[active]} if active in NAMES else {})
    except AttributeError as error:
        raise ValueError(f"model must have the parts of a Transformer: {error}") from error


def build(config: dict) -> Transformer:
    """Build the Transformer of a config. The caller must fill in its parameters."""
    options = {name: config[name] for name in (
        "vocab_size", "N", "d_model", "d_ff", "h", "max_len", "pad", "P_drop")}
    options |= keywords({name: config[name] for name in ("positions", "norm")})
    for side in ("encoder_layer", "decoder_layer"):
        options[side] = layer_factory(options[side], bias=config["bias"],
                                      activation=ACTIVATIONS.get(config.get("activation", "")))
    model = set_eps(Transformer(**options, rng=None), float(config["eps"]))
    for _, attention in leaves(model, MultiHeadAttention):
        attention.attention.dropout.P_drop = float(config["attention_P_drop"])
    return model


def check_same(model: Module, built: Module, what: str) -> None:
    """Raise a ValueError that names the first difference if `model` is not made like `built`.

    Both must have the same layers, share the same Parameters, and have Parameters of the same names
    and shapes. The model must be all float32 or all float64. No `forward` may be assigned on a
    layer.

    built : a new model, of the kind that the other library supports
    what : the name of the other form in the message, such as "a Marian model"
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
