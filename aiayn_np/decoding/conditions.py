"""When decoding can keep keys and values: what must be true of the layers and of their methods."""

import inspect
from types import FunctionType

from ..checks import is_layer
from ..decoder import Decoder
from ..module import Module, leaves
from ..multi_head import MultiHeadAttention
from ..transformer import Transformer


def not_position_wise(model):
    """Names of the classes on the decoder's side that may mix positions or count them; [] if none.

    A class that does neither says so in its own body: `position_wise = True`. A subclass does not
    inherit this, because it may compute something else. The attentions in their usual places mix
    positions too, but the KV cache knows how.
    """
    if type(model) is not Transformer or type(model.decoder) is not Decoder:
        return [type(model if type(model) is not Transformer else model.decoder).__name__]
    places = dict(attentions(model.decoder)).values()
    usual = {id(model.decoder), *(id(a) for a in places if type(a) is MultiHeadAttention)}
    layers = [*places, *layers_of([model.tgt_embedding, model.positions, model.dropout,
                                   model.decoder, model.output_projection])]
    found = [type(layer) for layer in layers if id(layer) not in usual
             and not vars(type(layer)).get("position_wise", False)]
    if not (takes_start(model.positions) or replaced(model.positions, "forward", "")):
        found.append(type(model.positions))
    return list(dict.fromkeys(cls.__name__ for cls in found))


def bypassed(model):
    """Names of replaced methods that the model calls and the KV cache would not; [] if none.

    The cache has its own version of `Transformer.decode` and of an attention's `forward`. It runs
    copies of the decoder and of its layers, and a method that was replaced on one of these objects
    would still call the object that was copied. A replaced `forward` of the positional encoding is
    bypassed too, if it does not take `start`.
    """
    if type(model) is not Transformer or type(model.decoder) is not Decoder:
        return []
    names = [replaced(model, name, "model") for name in ("forward", "decode")]
    if not takes_start(model.positions):
        names.append(replaced(model.positions, "forward", "model.positions"))
    for i, layer in enumerate(model.decoder.layers):
        names += replaced_on(layer, f"model.decoder.layers[{i}]")
    names += replaced_on(model.decoder, "model.decoder")
    names += [replaced(a, "forward", path) for path, a in attentions(model.decoder)
              if type(a) is MultiHeadAttention]
    return [name for name in dict.fromkeys(names) if name]


def attentions(decoder):
    """Yield (path, attention) of the usual places; None where a layer has no such attention."""
    for i, layer in enumerate(decoder.layers):
        for name in ("self_attention", "cross_attention"):
            yield f"model.decoder.layers[{i}].{name}", getattr(layer, name, None)


def replaced(layer, name, path):
    """The name of a method that was replaced, on the object or in its class; else "".

    A method is the class's own if it is a function that the module of the class defined under this
    name. (`functools.wraps` copies the name into another function, but not the globals.)
    """
    if name in getattr(layer, "__dict__", {}):
        return f"{path}.{name}"
    cls = next((cls for cls in type(layer).__mro__ if name in vars(cls)), None)
    if cls is None:
        return ""
    method = vars(cls)[name]
    own = (isinstance(method, FunctionType) and not hasattr(method, "__wrapped__")
           and method.__qualname__ == f"{cls.__qualname__}.{name}"
           and method.__globals__.get("__name__") == cls.__module__)
    return "" if own else f"{cls.__qualname__}.{name}"


def replaced_methods(layer: Module, path: str) -> list[str]:
    """Names of all methods of a layer that were replaced, on the object or in its class."""
    names = dict.fromkeys(
        name for cls in type(layer).__mro__ for name, value in vars(cls).items()
        if callable(value) and not isinstance(value, type)
        and (name == "__call__" or not name.startswith("__")))
    return [found for name in names if (found := replaced(layer, name, path))]


def replaced_on(layer, path):
    """Names of the methods that were assigned to an object and hide those of its class.

    Methods that every Module has play no part in decoding, except `forward`.
    """
    return [f"{path}.{name}" for name in vars(layer) if callable(getattr(type(layer), name, None))
            and (name == "forward" or not hasattr(Module, name))]


def takes_start(positions):
    """Whether the current `forward` takes `start`, the number of the first position."""
    parameters = inspect.signature(positions.forward, follow_wrapped=False).parameters
    kinds = [parameter.kind for parameter in parameters.values()]
    return "start" in parameters or inspect.Parameter.VAR_KEYWORD in kinds


def layers_of(node):
    """Yield a layer and all layers in it, whether Modules or not."""
    for _, layer in leaves(node, object):
        if is_layer(layer):
            yield layer
            if not isinstance(layer, Module):
                yield from layers_of(getattr(layer, "__dict__", {}))
