"""Find the arrays of a layer in public code, and the gradients of these arrays."""

import inspect
import itertools
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

GRADIENTS = {"grads", "gradients", "grad", "gradient", "dparams"}  # dicts, lists, or one array
VALUES = {"value", "data", "val", "array"}  # attributes of an object with an array and its gradient
AFFIXES = ("d", "g", "grad", "grads", "gradient", "gradients", "delta", "nabla",
           "dl", "dld", "dlossd", "ded", "djd", "dcd")  # dL_dW, dE_dW
SHORT = {"weight": "w", "weights": "w", "kernel": "w", "bias": "b", "biases": "b"}

UPSTREAM = re.compile(  # dnext_c, dZ, d_h, g2, grad_w, h_grad, next_dc, top_diff_s, delta_c
    r"^[dg]_?\w*|(^|_)d[a-zA-Z0-9]{1,2}$|grad|diff|delta|upstream|cotangent|_bar$")
VALUE = re.compile(  # names that begin like gradients but are values
    r"^(data|dims?|dtype|drop\w*|dilation|depth|gates?|gamma|d_model|d_[kv]|group\w*"
    r"|denom\w*|den|dist\w*|diag\w*|decay\w*|det|degrees?|draws?|gain|gelu|grid|graph)$")
TARGET = re.compile(r"true|target|label|gold|expected|^[ty]$")  # what a loss compares with
STATE = re.compile(r"^[hc]\d*$|prev|state|hidden|memory|carry")  # what a step passes on


def arguments(function: Callable, with_defaults: bool = False) -> list[str]:
    """Return the names of the positional arguments, by default only of those without a default."""
    return [p.name for p in inspect.signature(function).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
            and (with_defaults or p.default is p.empty)]


def children(node: Any) -> Iterable[tuple[Any, Any]]:
    """Return (name, child) pairs of an object, a dict, a list, a tuple or a bound method."""
    if isinstance(node, MethodType):
        return [("self", node.__self__)]
    if isinstance(node, (list, tuple)):
        return list(enumerate(node))
    if isinstance(node, dict):
        return list(node.items())
    if isinstance(node, (ModuleType, FunctionType)):
        return []
    of_type = node if isinstance(node, type) else type(node)
    found: dict = {}
    for c in reversed(of_type.__mro__[:-1]):                           # object holds nothing
        found |= {n: x for n, x in vars(c).items() if isinstance(x, (np.ndarray, dict, list))}
        found |= {n: getattr(node, n) for n in np.atleast_1d(getattr(c, "__slots__", ()))
                  if hasattr(node, n)}
    own = {} if node is of_type else getattr(node, "__dict__", {})
    return [(n, x) for n, x in (found | own).items() if not str(n).startswith("__")]


def read_outside(*functions: Any) -> dict:
    """Return the closure variables and globals that functions and their callees read."""
    found: dict = {}
    todo, seen = [*functions], []
    while todo:
        f = todo.pop()
        f = getattr(f, "__func__", f)
        if not isinstance(f, FunctionType) or f in seen:
            continue
        seen.append(f)
        outer, module, *_ = inspect.getclosurevars(f)
        for name, x in {**module, **outer}.items():
            home = x if isinstance(x, (type, FunctionType)) else type(x)
            ours = isinstance(x, (np.ndarray, dict, list, MethodType))
            if ours or home.__module__ == f.__module__:
                found[name] = x
                todo.append(x)
    return found


def arrays_in(node: Any, path: tuple = (), above: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    """Yield (path, array) for every array of floats at or below a node, once for each path."""
    if isinstance(node, (np.ndarray, np.floating)):
        if node.dtype.kind in "fc":
            yield path, node
    elif not any(node is a for a in above):                            # no node below itself
        for name, child in children(node):
            yield from arrays_in(child, (*path, name), (*above, node))


def is_gradient(name: Any, of: Any) -> bool:
    """Tell whether `name` is a usual name for the gradient of `of`: dW, grad_W, W_grad, gW."""
    name, of = (str(n).lower().replace("_", "") for n in (name, of))
    if of in VALUES and name in GRADIENTS:
        return True
    rests = {rest for a in AFFIXES for rest in (name.removeprefix(a), name.removesuffix(a))}
    return SHORT.get(of, of) in {SHORT.get(rest, rest) for rest in rests - {name}}


def upstream(name: str) -> bool:
    """Tell whether the name of an argument of backward is usual for the gradient of an output."""
    return bool(UPSTREAM.search(name)) and not VALUE.match(name)


def gradient_paths(path: tuple, arrays: dict, wrote: set) -> list[tuple]:
    """Return the paths of `arrays` that may lead to the gradient of the array at `path`.

    The gradient lies beside its array, or under the same key in a dict or list of gradients. Else
    it is the one array of the same shape that backward wrote elsewhere under the same name.
    """
    base, name = path[:-1], path[-1]
    beside = [p for p in arrays if p[:-1] == base and is_gradient(p[-1], name)]
    keyed = [p for p in arrays if len(p) > 1 and p != path and p[-2] in GRADIENTS
             and p[:-2] in (base, base[:-1], ())
             and (p[-1] in (name, path) or is_gradient(p[-1], name))]
    moved = [p for p in arrays if len(p) == len(path) and p[-1] == name and any(
        p[:i] + path[i:i + 1] + p[i + 1:] == path and p != path
        and (p[i] in GRADIENTS or is_gradient(p[i], path[i])) for i in range(len(path) - 1))]
    usual = beside + keyed + moved
    if usual or path in wrote or path not in arrays:
        return usual
    near = {p: sum(itertools.accumulate(map(operator.eq, p, path), min)) for p in
            wrote & arrays.keys() if arrays[p].shape == arrays[path].shape and alike(p, path)}
    nearest = [p for p, n in near.items() if n == max(near.values())]
    return nearest if len(nearest) == 1 else []


def alike(one: tuple, other: tuple) -> bool:
    """Tell whether the last words of two paths may be an array and its gradient."""
    words, numbers = [], []
    for path in (one, other):
        names = [str(part) for part in path if part not in VALUES and not isinstance(part, int)]
        words += re.findall(r"[a-zA-Z]\w*", str(names[-1:]))[-1:]
        numbers.append(re.findall(r"\b\d+\b", str(names[-1:])))        # of 0.bias and 1.bias
    return len(words) == 2 and numbers[0] == numbers[1] and (is_gradient(*words) or len(
        {SHORT.get(word, word) for word in map(str.lower, words)}) == 1)


def dotted(path: tuple) -> str:
    """Return the name of an array in a report: "layers.0.W"."""
    parts = [str(p) for p in path if p not in ("forward", "backward", "self", "")]
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] in VALUES else parts)


def leaves(y: Any) -> list:
    """Return the arrays of an output, which may be a tuple, as the state (h, c) of an LSTM."""
    return [leaf for part in y for leaf in leaves(part)] if isinstance(y, (tuple, list)) else [y]
