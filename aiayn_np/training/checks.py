"""Checks of training: a seed, a gradient, targets, and a model whose parameters are searched for.

A message says what must hold, then what was given, as in the checks of the layers.
"""

from collections.abc import Iterable

import numpy as np

from ..checks import check_array, check_ids, is_integer
from ..module import Module, Parameter, children


def check_seed(seed: int) -> None:
    """A seed that a numpy Generator takes."""
    if not is_integer(seed) or seed < 0:
        raise ValueError(f"seed must be an integer of at least 0, got seed={seed!r}")


def check_scalar(name, value):
    """Return a real number, given as a number or an array without axes, as a float."""
    value = np.asarray(value)
    if value.dtype.kind not in "fiu":
        raise TypeError(f"{name} must be a real number, got {value.dtype}")
    if value.shape != ():
        raise ValueError(f"{name} must have the shape of y, (), got {value.shape}")
    return float(value)


def check_targets(logits, targets, pad):
    """Return targets as ids, one for each position of the logits, not all of them padding."""
    check_array("logits", logits, min_ndim=2)
    targets = check_ids("targets", targets, logits.shape[-1])
    if targets.shape != logits.shape[:-1]:
        raise ValueError("targets must have the shape of logits without its last axis,"
                         f" {logits.shape[:-1]}, got {targets.shape}")
    if targets.size and (targets == pad).all():
        raise ValueError(f"targets must hold at least one id that is not pad={pad}")
    return targets


def check_parameters(parameters: object) -> list[Parameter]:
    """Return an iterable of at least one Parameter as a list."""
    found: list = list(parameters) if isinstance(parameters, Iterable) else [None]
    if not all(isinstance(p, Parameter) for p in found):
        raise TypeError("parameters must be a model, or Parameter objects: model.parameters()")
    if not found:
        raise ValueError("parameters must hold at least one Parameter, got none")
    return found


def check_tree(model: object) -> None:
    """A model whose parameters are all found, each under a name of its own.

    Parameters are found in attributes, lists, tuples and dicts. Raises TypeError for a layer or a
    parameter in a set or in an array of objects, and ValueError for two parameters with one dotted
    name, and for a layer that contains itself.
    """
    seen: dict[str, object] = {}
    waiting: list[tuple] = [("", model, ())]
    while waiting:
        path, node, above = waiting.pop()
        if id(node) in above:
            raise ValueError(f"a layer must not contain itself, got one at {path}")
        if isinstance(node, Parameter) and seen.setdefault(path, node) is not node:
            raise ValueError(f"parameters must have names of their own, got two at {path}")
        if isinstance(node, (set, frozenset)) or getattr(node, "dtype", None) == np.dtype(object):
            check_holds_no_layer(path, node)
        waiting += [(f"{path}.{name}" if path else str(name), child, (*above, id(node)))
                    for name, child in children(node)]


def check_holds_no_layer(path, collection):
    """Nothing with parameters in a collection that is not searched for them."""
    for item in (collection.ravel() if isinstance(collection, np.ndarray) else collection):
        if isinstance(item, (Module, Parameter)):
            kind = type(collection).__name__
            raise TypeError(f"layers must be in attributes, lists, tuples or dicts, got"
                            f" {type(item).__name__} in the {kind} {path}")
