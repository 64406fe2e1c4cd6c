"""Find arrays in a layer of other code, and the places of their gradients by plain names."""

import dis
import inspect
from collections.abc import Callable, Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

NAMED = ("d{}", "d_{}", "grad_{}", "{}_grad")  # names of the gradient of an array
HOLDERS = ("grads", "gradients", "grad")  # dicts or lists of gradients
VALUES = ("value", "data")  # attributes of an object that holds an array and its `grad`
INSIDE = ("forward", "backward", "self", "")  # parts of a path that a report leaves out


def arguments(function: Callable, with_defaults: bool = False) -> list[str]:
    """Return the names of the positional arguments, by default only of those without a default."""
    return [p.name for p in inspect.signature(function).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
            and (with_defaults or p.default is p.empty)]


def children(node: Any) -> list[tuple[Any, Any]]:
    """Return (name, child) pairs of a dict, list, tuple, bound method or object."""
    if isinstance(node, MethodType):
        return [("self", node.__self__)]
    if isinstance(node, (list, tuple)):
        return list(enumerate(node))
    if isinstance(node, (ModuleType, FunctionType, type)):
        return []
    return list((node if isinstance(node, dict) else getattr(node, "__dict__", {})).items())


def arrays_in(node: Any, path: tuple = (), above: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    """Yield (path, array) for every array of floats at or below a node, once for each path."""
    if isinstance(node, (np.ndarray, np.floating)):
        if node.dtype.kind in "fc":
            yield path, node
    elif not any(node is a for a in above):                            # no node below itself
        for name, child in children(node):
            yield from arrays_in(child, (*path, name), (*above, node))


def outside_of(*functions: Callable) -> dict:
    """Return the values that functions read from closures, globals and their object's class."""
    found: dict = {}
    for function in functions:
        for c in type(getattr(function, "__self__", None)).__mro__:
            found |= vars(c)
        function = getattr(function, "__func__", function)
        if isinstance(function, FunctionType):
            names = {i.argval for i in dis.get_instructions(function) if i.opname == "LOAD_GLOBAL"}
            found |= {n: x for n, x in function.__globals__.items() if n in names}
            found |= inspect.getclosurevars(function).nonlocals
    return found


def gradient_paths(path: tuple, known: Any) -> list[tuple]:
    """Return the paths in `known` that lead to the gradient of the array at `path`.

    The gradient lies beside its array (W, dW), under its key in a holder (params.W, grads.W or
    grads.dW), or under its key in what backward returned.
    """
    *base, name = path
    names = [name, *(form.format(name) for form in NAMED)]
    places = [(*base, other) for other in (["grad"] if name in VALUES else names[1:])]
    for holder in ("returned",), ("returned", *base), *(
            (*above, h) for above in (base, base[:-1]) for h in HOLDERS):
        places += [(*holder, other) for other in names]
    return [place for place in dict.fromkeys(places) if place in known and place != path]


def dotted(path: tuple) -> str:
    """Return the name of an array in a report: "layers.0.W"."""
    parts = [str(part) for part in path if part not in INSIDE]
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] in VALUES else parts)


def leaves(y: Any) -> list:
    """Return the arrays of an output of PyTorch, which may be a tuple of tuples."""
    return [leaf for part in y for leaf in leaves(part)] if isinstance(y, (tuple, list)) else [y]
