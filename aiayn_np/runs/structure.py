"""The structure of a model, by which a checkpoint knows its model.

Arrays alone do not tell: two heads and four have matrices of the same shapes, and so have scores
with and without a scale. So a checkpoint holds a line for every layer, and loads only into a model
that has the same lines.
"""

import numpy as np

from ..module import Module, Parameter, leaves

FREE = {"P_drop", "max_len"}  # these may differ: they do not change what the parameters mean
PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)


def structure(model):
    """{dotted name: class and hyper-parameters} of every layer."""
    return {name: description(layer) for name, layer in leaves(model, Module)}


def description(layer):
    """One layer as text: MultiHeadAttention(d_model=64, h=4)."""
    values = {name: text for name, value in sorted(vars(layer).items())
              if name not in FREE and not callable(getattr(type(layer), name, None))
              and (text := plain(value)) is not None}                  # no replaced methods
    return f"{type(layer).__name__}({', '.join(f'{n}={v}' for n, v in values.items())})"


def plain(value):
    """A hyper-parameter as text; None for a layer, a parameter, or a collection with one."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, PLAIN):
        return repr(value)
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}:{digest(np.ascontiguousarray(value).tobytes())[:16]}"
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        return None if any(True for kind in (Module, Parameter) for _ in leaves(value, kind)) else (
            repr(value))
    if isinstance(value, (Module, Parameter)):
        return None
    return getattr(value, "__qualname__", type(value).__name__)        # a function, a class


def difference(saved, model):
    """A sentence on the first layer that two structures do not share; "" where they are equal."""
    for name in [*model, *saved]:
        mine, other = model.get(name), saved.get(name)
        if mine != other:
            return (f"{name or 'model'} is {other or 'missing'} in the file,"
                    f" {mine or 'missing'} here")
    return ""


def digest(data):
    """The SHA-256 of some bytes."""
    import hashlib  # imported here because it takes time

    return hashlib.sha256(data).hexdigest()
