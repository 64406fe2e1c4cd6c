"""Checks of training: a seed, a gradient, targets, and a model whose parameters are searched for.

A message says what must hold, then what was given, as in the checks of the layers.
"""

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from ..checks import check_array, check_ids, is_integer
from ..module import Cache, Module, Parameter, children


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
    parameter that only another collection or object holds, such as a set, a deque or an array of
    objects, and ValueError for two parameters with one dotted name, and for a layer that contains
    itself. What a function or an iterator holds is not seen.
    """
    seen: dict[str, object] = {}
    found: set[int] = set()
    others: list[tuple] = []
    waiting: list[tuple] = [("", model, ())]
    while waiting:
        path, node, above = waiting.pop()
        if id(node) in above:
            raise ValueError(f"a layer must not contain itself, got one at {path}")
        if isinstance(node, Parameter) and seen.setdefault(path, node) is not node:
            raise ValueError(f"parameters must have names of their own, got two at {path}")
        if isinstance(node, (Module, Parameter)):
            found.add(id(node))
        elif not isinstance(node, (list, tuple, Cache)):
            others.append((path, node.keys() if isinstance(node, dict) else node))
        waiting += [(f"{path}.{name}" if path else str(name), child, (*above, id(node)))
                    for name, child in children(node)]
    for path, node in others:
        check_holds_no_layer(path, node, found)


def check_holds_no_layer(path, collection, found):
    """Nothing with parameters in what is not searched for them, but for what was `found`."""
    seen: dict[int, object] = {}                                       # kept: ids stay theirs
    waiting = [collection]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (Module, Parameter)) and id(node) not in found:
            kind = type(collection).__name__
            raise TypeError(f"layers must be in attributes, lists, tuples or dicts, got"
                            f" {type(node).__name__} in the {kind} {path}")
        if id(node) not in found and id(node) not in seen:
            seen[id(node)] = node
            waiting += contents(node)


def contents(node):
    """What any collection or object holds; nothing for texts, numbers, functions and classes."""
    if isinstance(node, np.ndarray):
        return np.asarray(node).ravel().tolist() if node.dtype.hasobject else []
    if isinstance(node, (str, bytes, bytearray, range)) or callable(node):
        return []
    values = [*node.keys(), *node.values()] if isinstance(node, Mapping) else []
    items = node if isinstance(node, Collection) and not values else values
    return [*items, *getattr(node, "__dict__", {}).values()]
