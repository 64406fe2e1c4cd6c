"""Describe the layers of a model as text, for a checkpoint and an export to compare."""

import numpy as np

from .module import Module, Parameter, leaves


def structure(module, without=()):
    """Return {dotted name: text} of every layer: class and values, "MultiHeadAttention(h=4, ...)".

    The texts differ for models that have arrays of the same names and shapes: two heads or four,
    scores with or without a scale. A method that was assigned on a layer is left out.
    without : names of values to leave out
    """
    return {path: description(layer, without) for path, layer in leaves(module, Module)}


def description(layer, without=()):
    """Return one layer as text, without the layers and Parameters that it holds."""
    values = {name: value for name, value in sorted(vars(layer).items()) if name not in without
              and not callable(getattr(type(layer), name, None))
              and not any(True for _ in leaves(value, (Module, Parameter)))}
    return f"{type(layer).__name__}({', '.join(f'{n}={plain(v)}' for n, v in values.items())})"


def plain(value):
    """Return a value as text that is the same in every process."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}"
    value = value.item() if isinstance(value, np.generic) else value
    known = (int, float, complex, str, bytes, type(None), list, tuple, set, frozenset, dict)
    return repr(value) if isinstance(value, known) else (
        getattr(value, "__qualname__", type(value).__name__))


def difference(one, other):
    """Return (name, text in one, text in the other) of the first layer in which structures differ.

    Return None if the structures are equal. The text of a missing layer is "missing".
    """
    name = next((name for name in [*one, *other] if one.get(name) != other.get(name)), None)
    return None if name is None else (name, one.get(name, "missing"), other.get(name, "missing"))
