"""Adapters give a layer of other code the `forward` and `backward` of this package.

Public code writes layers in many ways: as two functions, with the input kept in `self`, with
gradients in `dW` or in a dict, with a learning rate in `backward`, in PyTorch. Each call works on a
new copy of the layer, so nothing is left over from the last call. Arrays of a class, a closure or a
global are not copied. They are written in place for the call, and then get their old values back.

An array is a parameter if backward leaves a gradient for it under one of the usual names. WAYS are
the ways to call a backward. The check takes the way under which the gradients are right.
"""

import collections
import contextlib
import copy
import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..module import Module
from .finding import (
    LEFT_OVER,
    STATE,
    TARGET,
    alike,
    arguments,
    arrays_in,
    children,
    dotted,
    gradient_paths,
    is_gradient,
    names_returned,
    read_outside,
    upstream,
)
from .pytorch import is_of_torch, of_torch

RATES = {"lr", "learning_rate", "eta", "rate", "step_size", "alpha"}  # names of a rate in backward
OUTPUTS = ("output", "out", "y")  # names of the result, if forward returns nothing
INPUTS = ("inputs", "input", "x")  # names of the inputs, if backward returns nothing
WAYS = {  # what backward gets
    "one": "the gradient of the loss, does not use it, and its result is multiplied by it",
    "inputs": "the inputs, and what it returns is multiplied by the gradient of the output",
    "names": "the gradients of the outputs where its arguments are named like gradients",
    "order": "the gradients of the outputs first",
    "tuple": "one tuple of the gradients of all outputs",
}
WRAP = ("; say what is what by as_layer(forward=, backward=, parameters=, gradients=), or two"
        " functions around it are checked: check_gradients((lambda x: (y, cache),"
        " lambda grad_y, cache: grad_x), x)")


class Context:
    """The `ctx` of static functions; forward saves its arrays in it for backward."""

    def save_for_backward(self, *arrays: Any) -> None:
        self.saved_values = self.saved_tensors = arrays


@dataclass
class Layer:
    """The parts of a layer. Without a backward, forward returns (loss, gradients).

    If `parameters` is a dict, the user described the layer, and no parameter is guessed.
    """

    forward: Callable
    backward: Any
    parameters: dict | None = None
    gradients: dict | Callable = field(default_factory=dict)
    title: str = ""
    names: Any = None

    def __post_init__(self) -> None:
        owner = getattr(self.forward, "__self__", self.forward)
        self.title = self.title or getattr(owner, "__name__", type(owner).__name__)
        if self.names is None:
            self.names = arguments(self.forward, with_defaults=True)
        self.starred = callable(self.backward) and (                   # backward(*grads)
            str(inspect.signature(self.backward)).startswith("(*"))


def as_layer(*, forward: Callable, backward: Callable | None = None,
             parameters: dict | None = None, gradients: dict | Callable | None = None) -> Layer:
    """Describe the parts of a layer; return a layer for ``check_gradients``.

    Parameters
    ----------
    forward : a function of the inputs that returns y, or (y, cache); y may be a tuple
    backward : a function of grad_y, or of (grad_y, cache). It returns a gradient for each input,
        or None; a dict after these has gradients by name
    parameters : {name: array}, the arrays that forward reads; each call restores their values
    gradients : {name: array} as backward leaves it, or a function that returns it
    """
    for name, part in (("forward", forward), ("backward", backward)):
        if not callable(part):
            raise TypeError(f"{name} must be a function, got {part!r:.60}")
    return Layer(forward, backward, parameters or {}, {} if gradients is None else gradients)


def adapted(layer: Any, *inputs: Any, **options: Any) -> list:
    """Return `layer` in forms that the gradient check can call, one for each way that works.

    Raises TypeError for an object without backward, or a backward with unknown arguments.
    """
    parts = parts_of(layer)
    if parts is None:
        return [layer]
    if "ctx" in parts.names[:1] or "context" in parts.names[:1]:
        inputs = (Context(), *inputs)
    found, errors = [], []
    for way in WAYS if parts.parameters is None else ("described",):
        try:
            adapter = Adapter(parts, inputs, options, way)
        except Exception as error:                               # an error in code that is not ours
            errors.append(error)
        else:
            found += [adapter] if adapter.applies else []
        if found and way in ("one", "inputs") and found[-1].loss:
            break
    if found:
        return found
    raise TypeError(f"{errors[0]}{'' if WRAP in str(errors[0]) else WRAP}") from errors[0]


def parts_of(layer: Any) -> Layer | None:
    """Return forward and backward of a layer, or None if it has the form of this package."""
    if is_of_torch(layer):
        return Layer(**of_torch(layer))
    if isinstance(layer, Layer):
        return layer
    if isinstance(layer, Module) or hasattr(layer, "named_parameters"):
        return None
    if isinstance(layer, (tuple, list)) and len(layer) == 2:
        return Layer(*layer)
    if inspect.isroutine(layer):
        return Layer(layer, None)
    if not hasattr(layer, "backward"):
        raise TypeError(f"layer must have backward, got {layer!r:.60}{WRAP}")
    named = layer if isinstance(layer, type) else type(layer)
    return Layer(getattr(layer, "forward", layer), layer.backward, title=named.__name__)


class Adapter:
    """A forward and a backward. Each call works on a copy of all arrays that both use.

    inputs : the arrays among the inputs
    names : {"input 0": name in the signature of forward}
    not_checked : {array or output: the reason why there is nothing to compare}
    notes : sentences that explain how the results were read
    """

    def __init__(self, layer: Layer, inputs: tuple, options: dict, way: str) -> None:
        self.layer, self.way, self.title, self.options = layer, way, layer.title, options
        order = [*layer.names[: len(inputs)]]
        self.order = order + [f"input {i}" for i in range(len(order), len(inputs))]
        given = {n: np.array(x) if isinstance(x, list) and any(isinstance(i, float) for i in x)
                 else x for n, x in zip(self.order, inputs)}
        held = {n: x for n, x in given.items() if isinstance(x, (dict, list, tuple, Context))}
        self.inputs = [x for name, x in given.items() if name not in held]
        self.names = {f"input {i}": name for i, name in enumerate(
            name for name in self.order if name not in held)}
        self.lists = any(not isinstance(x, Context) for x in held.values())
        self.state = np.random.get_state()                             # noqa: NPY002
        outside = layer.parameters
        self.root: dict = {"": outside, **held}
        if outside is None:
            outside = read_outside(layer.forward, layer.backward)
            self.root |= {"forward": layer.forward, "backward": layer.backward, "": outside}
        self.kept = {id(x): x for x in outside.values()}
        self.takes = 1  # outputs
        self.arrays: dict[str, np.ndarray] = {}
        self.gradients: dict[str, tuple] = {}  # the paths of the gradients of each array
        self.parameters: dict[str, SimpleNamespace] = {}
        self.notes: list[str] = []
        self.not_checked: dict[str, str] = {}
        copied = dict(arrays_in(copy.deepcopy(self.root, dict(self.kept))))
        self.shared = {id(x): x for path, x in arrays_in(self.root) if copied.get(path) is x
                       and isinstance(x, np.ndarray) and x.flags.writeable}
        with self.in_place():
            self.applies = self.is_a_way()
            if self.applies:
                self.count_outputs()
                self.find()
            if self.applies and not self.arrays:                       # made by the first forward?
                self.root = self.fresh()
                self.start(self.root, self.inputs, options)
                del self.root["kept"]
                self.find()
        self.parameters = {n: SimpleNamespace(value=x.astype(float), grad=0 * x)
                           for n, x in self.arrays.items()}

    def __deepcopy__(self, memo: dict) -> "Adapter":
        other = copy.copy(self)
        other.parameters = {n: copy.copy(p) for n, p in self.parameters.items()}
        return other

    def is_a_way(self) -> bool:
        """Tell whether the layer can be called in this way, and note an unusual way."""
        y, _ = self.start(self.fresh(), self.inputs, self.options)
        self.loss = np.ndim(y) == 0
        if self.way in ("names", "described") or self.layer.backward is None:
            return self.way in ("names", "described")
        names = self.wanted()
        self.notes += [f"Backward gets {WAYS[self.way]}."] if self.way != "order" else []
        if self.way == "inputs":
            return bool(names) and set(names) <= set(self.order) if self.loss else (
                names in (self.order, ["y"], ["output"]) and inspect.isfunction(self.layer.backward)
                and all(np.shape(x) == np.shape(y) for x in self.inputs))  # 1 - y**2 of tanh
        if self.way == "one":
            return self.loss and not arguments(self.layer.backward) and bool(names) and (
                self.effect(1.0) == self.effect(2.0))
        return self.as_tuple if self.way == "tuple" else self.leading() != names

    def find(self) -> None:
        """Find the parameters, the paths of their gradients, and the arrays without a gradient."""
        self.not_checked = {name: "holds no floats" for name, x in zip(
            self.names.values(), self.inputs) if np.asarray(x).dtype.kind != "f"}
        y, returned, after, stays, wrote = self.trial()
        self.readings = self.read(returned)
        paths: dict[int, list] = {}                               # one array may have several paths
        for path, x in arrays_in(self.root):
            paths.setdefault(id(x), [x]).append(path)
        twice = self.trial(factor=2.0)[2]                              # a step of Adam is no more
        linear = {path: g for path, g in after.items()
                  if path[-1] not in wrote or np.allclose(twice[path], 2 * g)}
        without, claims = [], [(x, same[0], [
            (path, g[0]) for path in same if path in stays
            and (g := gradient_paths(path, linear, wrote))]) for x, *same in paths.values()]
        claimed = collections.Counter(g for *_, found in claims for _, g in found)
        for x, path, found in claims:
            sure = id(x) not in self.shared and path not in wrote and all(
                claimed[g] == 1 for _, g in found)
            if found and (sure or self.trial(x)[0] != y):
                self.hold(x, found, after)
            elif not found:
                without.append((x, path))
        for x, path in without:
            other, _, moved, *_ = self.trial(x)
            of_last_call = id(x) not in self.shared and np.array_equal(
                moved.get(path, 0), after.get(path, 0))
            if path not in self.places() and not of_last_call and (
                    other != y or path[0] or self.way == "described"):
                self.not_checked[dotted(path)] = "has no gradient, " + (
                    "and the output does not depend on it" if other == y else
                    "though the output depends on it" + self.left_over(x, path, after, wrote))
        self.not_checked |= {
            f"gradient {path[1]}": "goes with no array" for path in after if path[0] == "grads"
            and isinstance(path[1], str) and path not in self.places() and not any(
                path[1] == n or is_gradient(path[1], n) for n in self.names.values())}

    def left_over(self, x: np.ndarray, path: tuple, after: dict, wrote: set) -> str:
        """Return a note on what backward wrote that may be the gradient of an array, or ""."""
        found = [p for p in wrote - self.places() if after[p].shape == np.shape(x) and (
            p[0] in ("", "grads") or p == path or alike(p, path))]
        return LEFT_OVER.format(dotted(min(found, key=str))) if found else ""

    def hold(self, x: np.ndarray, found: list, after: dict) -> None:
        """Store a parameter with the paths of its gradients, one for each name that has a gradient.

        If an array has several names, each may have a gradient of its own. Then the sum is checked.
        """
        name, distinct = dotted(found[0][0]), {after[g].tobytes(): g for _, g in found[::-1]}
        self.arrays[name], self.gradients[name] = x, tuple(distinct.values())
        if len(distinct) > 1:
            names = " and ".join(dotted(path) for path, g in found if g in distinct.values())
            self.notes.append(f"{names} are one array: the sum of their gradients was checked.")

    def trial(self, x: Any = None, factor: float = 1.0) -> tuple[bytes, list, dict, set, set]:
        """Call the layer, with small changes in the array `x` if one is given.

        Return the output, the gradients of inputs, all arrays, the paths that forward kept, and the
        paths that backward wrote.
        """
        rng, other = np.random.default_rng(0), np.random.default_rng(1)
        moved = {} if x is None else {id(x): x + 0.01 * other.random(x.shape)}
        with self.in_place():
            if x is not None and id(x) in self.shared:
                x[...] = moved[id(x)]
            root = copy.deepcopy(self.root, {**self.kept, **moved})
            before = dict(arrays_in(root))
            y, back = self.start(root, self.inputs, self.options)
            stays = {path for path, x in arrays_in(root) if before.get(path) is x}
            middle = {path: (x, np.array(x)) for path, x in arrays_in(root)}
            returned = back(factor * (rng.standard_normal(np.shape(y)) if np.ndim(y) else 1.0))
            after = {path: np.array(g) for path, g in arrays_in(root)}
            wrote = {path for path, g in arrays_in(root) if path not in middle
                     or middle[path][0] is not g or not np.array_equal(middle[path][1], g)}
        return np.array(y).tobytes(), returned, after, stays, wrote

    def places(self) -> set:
        """Return the paths of all gradients that backward leaves."""
        return {path for some in self.gradients.values() for path in some}

    def named_parameters(self) -> Iterator[tuple[str, SimpleNamespace]]:
        yield from self.parameters.items()

    def forward(self, *arrays: np.ndarray, **options: Any) -> tuple[Any, Any]:
        with self.in_place():
            root = self.fresh()
            return self.start(root, arrays, options)[0], (arrays, options, root)

    def backward(self, grad_y: Any, cache: Any) -> list:
        arrays, options, _ = cache
        with self.in_place():
            root = self.fresh()
            gradients = self.start(root, arrays, options)[1](grad_y)
            left, factor = dict(arrays_in(root)), root["factor"]
            for name, p in self.parameters.items():
                g = sum(left[path] for path in self.gradients[name] if path in left)
                g = np.zeros_like(p.value) if np.ndim(g) == 0 and np.ndim(p.value) else factor * g
                p.grad = p.grad.astype(g.dtype) + g if np.shape(g) == p.value.shape else g
        return [None if g is None else factor * g for g in gradients]

    def fresh(self) -> dict:
        """Return a copy of the root with the current parameters, and zeros for the gradients."""
        memo: dict = {id(x): np.zeros_like(x) for path, x in arrays_in(self.root)
                      if path in self.places()}
        memo |= {id(self.arrays[n]): np.array(p.value) for n, p in self.parameters.items()}
        return copy.deepcopy(self.root, memo | self.kept | self.shared)

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Write the parameters into the arrays that stay shared, and zeros into their gradients."""
        before = [(x, x.copy()) for x in self.shared.values()]
        holders = [(x, x.copy()) for x in self.kept.values() if isinstance(x, (dict, list))]
        try:
            for path, x in arrays_in(self.root) if self.shared else ():
                if path in self.places() and id(x) in self.shared:
                    x[...] = 0
            for name, p in self.parameters.items():
                if id(self.arrays[name]) in self.shared:
                    if np.any(np.imag(p.value)):
                        raise TypeError("arrays that are written in place hold no complex numbers")
                    self.arrays[name][...] = np.real(p.value)
            yield
        finally:
            for x, value in before:
                x[...] = value
            for holder, content in holders:
                holder.clear()
                (holder.update if isinstance(holder, dict) else holder.extend)(content)

    def start(self, root: dict, arrays: Any, options: dict) -> tuple[Any, Callable]:
        """Call forward in `root`; return (y, a function that calls backward)."""
        free = iter([np.array(x) for x in arrays])
        given = {name: root[name] if name in root else next(free) for name in self.order}
        forward = root.get("forward", self.layer.forward)
        with repeated(self.state):
            y = forward(*given.values(), **copy.deepcopy(options))
            state = np.random.get_state()                              # noqa: NPY002
        if y is None:
            y = getattr(owner_of(root), next(n for n in OUTPUTS if hasattr(owner_of(root), n)))
        results = list(y) if isinstance(y, tuple) else [y]
        if results and isinstance(results[0], tuple):              # a tuple of outputs, and a cache
            self.takes = len(results[0])
            results[:1] = results[0]
        elif self.way == "tuple":
            self.takes = max(1, len(list(itertools.takewhile(is_floats, results))))
        outputs = results[: self.takes]
        if wrong := [type(x).__name__ for x in leaves(tuple(outputs)) if not is_floats(x)]:
            raise TypeError(f"an output must be an array of floats, got {wrong[0]}{WRAP}")

        def back(u):
            with repeated(state):
                return self.finish(root, parted(u, outputs), results, given)

        self.as_tuple = self.layer.starred or self.takes > 1 or (type(y) is tuple and len(y) == 1)
        self.results, root["kept"], root["factor"] = results, results[1:], 1.0
        return joined(outputs), back

    def wanted(self) -> list[str]:
        """Return the arguments of backward without the settings."""
        backward = self.layer.backward
        known = (RATES - set(self.order)) | set(self.settings())
        names = [n for n in arguments(backward) if n not in known]
        first = arguments(backward, with_defaults=True)[:1]            # as in backward(dout=1)
        return names or [n for n in first if upstream(n)]

    def leading(self) -> list[str]:
        """Return the `wanted` arguments, with names of gradients of outputs first."""
        names = self.wanted()
        free = [n for n in names if n not in (*self.order, *OUTPUTS)]
        lead = [n for n in free if upstream(n)] or free[:1]
        return names if self.way == "order" else lead + [n for n in names if n not in lead]

    def settings(self) -> dict:
        """Return the settings of forward that backward takes too."""
        defaults = {p.name: p.default for p in inspect.signature(
            self.layer.forward).parameters.values() if p.default is not p.empty}
        given = {n: x for n, x in zip(self.order, self.inputs) if isinstance(x, str)}
        asked = inspect.signature(self.layer.backward).parameters
        free = {n: x for n, x in defaults.items() if n not in (*self.order, *INPUTS)}
        return {n: x for n, x in (free | given | self.options).items() if n in asked}

    def count_outputs(self) -> None:
        """Count the results of forward for which backward takes a gradient.

        Zeros are set for all earlier gradients. A further gradient still has an effect, but a value
        has none: it is multiplied by the zeros. Without any effect, the argument's name decides.
        """
        if self.layer.backward is None or self.way not in ("names", "order"):
            return
        names = self.leading()[1:]
        for name in names:
            rest, told = self.results[self.takes:], upstream(name) and name not in self.order
            parts = leaves(rest[0]) if told and rest else rest[:1]
            if not rest or not all(map(is_floats, parts)) or not (
                    told or len(names) == len(self.results) - 1):
                return
            self.takes += 1
            alone = self.effect(0.0, 1.0) != self.effect(0.0, 2.0)
            factor = self.effect(1.0, 1.0) != self.effect(1.0, 2.0)
            if not (alone or (told and not factor)):
                self.takes -= 1
                return

    def effect(self, first: float, last: float = 1.0) -> list:
        """Return the results of backward for some gradients; `last` scales the last gradient."""
        root = self.fresh()
        y, back = self.start(root, self.inputs, self.options)
        u: Any = np.cos(np.arange(np.size(y))) * first if np.ndim(y) else first
        if self.takes > 1:
            u[-sum(map(np.size, leaves(self.results[self.takes - 1]))):] = last
        left = dict(arrays_in([back(u), root.get("forward"), root["grads"]]))
        return [(path, (g + 0.0).tobytes()) for path, g in left.items()]  # -0.0 is 0.0

    def read(self, gradients: list) -> list[set]:
        """Return the sets of inputs, by number, that may be the inputs without a gradient."""
        floats = [i for i, x in enumerate(self.inputs) if np.asarray(x).dtype.kind == "f"]
        if len(gradients) == len(self.inputs):
            gradients = [gradients[i] for i in floats]
        if len(gradients) == len(floats):
            none = {i for i, g in zip(floats, gradients) if g is None}
            if self.layer.backward or any(upstream(n) for n in names_returned(
                    self.layer.forward)[-1:]):
                return [none]
            states = list(itertools.takewhile(
                lambda i: STATE.search(self.names[f"input {i}"]), floats[::-1]))
            return [none | set(states[:n]) for n in range(len(states) + 1)]
        if 0 < len(gradients) < len(floats):                           # targets may have none
            targets = {i for i in floats if TARGET.search(self.names[f"input {i}"])}
            chosen = itertools.combinations(floats, len(gradients))
            readings = [set(floats) - set(some) for some in chosen]
            return [targets] if targets in readings else readings
        return [set()]

    def finish(self, root: dict, grads: list, results: list, given: dict) -> list:
        """Call backward; return the gradients of the inputs, and leave the others in `root`."""
        function, rest = root.get("backward", self.layer.backward), results[len(grads):]
        if self.way == "described":
            return self.sort(root, function(grads[0] if len(grads) == 1 else tuple(grads), *rest))
        if function is None and callable(rest[-1] if rest else None):  # y and a pullback
            return self.sort(root, rest[-1](*grads))
        if function is None:                                           # forward returned them
            self.notes = ["What stands after the loss was taken for the gradients of"
                          f" {', '.join(self.order)}; a state there is none, leave it out."]
            root["factor"] = grads[0]
            return self.sort(root, tuple(rest), names_returned(self.layer.forward)[1:])
        if self.layer.starred and self.way == "tuple":
            return self.sort(root, function(*grads, *rest), names_returned(self.layer.backward))
        settings = self.settings()
        asked = inspect.signature(function).parameters
        rates = {n: 1.0 for n in asked if n in RATES and n not in given and n not in settings}
        named = settings | rates | self.values(grads, results, given, root)
        own = [getattr(owner_of(root), n, 0) for n in sorted(RATES, reverse=True)]
        rate = 1.0 if rates else next((x for x in own if isinstance(x, float) and x), None)
        before = {path: x.copy() for path, x in arrays_in(root)} if rate else {}
        first = [named.pop(n) for n, p in asked.items() if n in named
                 and p.kind == p.POSITIONAL_ONLY]
        returned = function(*first, **named)
        now = [(path, x) for path, x in arrays_in(root) if path in before]
        steps = {path: (before[path] - x) / rate for path, x in now    # W - rate * gradient
                 if before[path].shape == x.shape and np.any(before[path] != x)}
        return self.sort(root, returned, names_returned(self.layer.backward), steps)

    def values(self, grads: list, results: list, given: dict, root: dict) -> dict:
        """Return the values of the arguments of backward."""
        wanted, rest = self.wanted(), results[len(grads):]
        leads: dict[str, list] = {"tuple": [tuple(grads)], "inputs": []}
        lead = leads.get(self.way, grads)
        if self.way in ("one", "inputs") or not wanted:
            root["factor"] = grads[0]
        takers = self.leading()[: len(lead)]
        names = [n for n in wanted if n not in takers]
        known = given | {n: results[0] for n in OUTPUTS if n not in given}
        free = [n for n in names if n not in known]
        if len(names) == len(rest) and not (names and set(names) <= set(OUTPUTS)):
            extra = rest
        elif not free or (len(free) <= len(rest) and all(map(is_floats, rest[: -len(free)]))):
            caches = iter(rest[len(rest) - len(free):])
            extra = [known[n] if n in known else next(caches) for n in names]
        elif len(names) == len(given):
            extra = list(given.values())
        else:
            raise TypeError("backward must take grad_y and a cache, the output or the inputs, got"
                            f" backward({', '.join(wanted)}){WRAP}")
        self.tell(names, extra, rest, given, len(grads))
        return dict(zip([*takers, *names], [*lead, *extra]))

    def tell(self, names: list, extra: list, rest: list, given: dict, count: int) -> None:
        """Note the results of forward that backward got as values, and results it did not get."""
        self.not_checked |= {
            f"output {count + i + 1}": "is an output whose gradient backward does not take"
            for i, x in enumerate(rest) if is_floats(x) and not any(x is e for e in extra)}
        notes = [f"backward got a result of forward as {name}: call it d{name} if it is to be"
                 " a gradient." for name, x in zip(names, extra)
                 if name not in given and is_floats(x) and any(x is r for r in rest)]
        self.notes += [note for note in notes if note not in self.notes]

    def sort(self, root: dict, returned: Any, names: Any = (), gradients: Any = None) -> list:
        """Return the gradients of the inputs; put those of a dict or list into root["grads"]."""
        if callable(returned):
            raise TypeError(f"backward must return gradients, got a function{WRAP}")
        if returned is None:
            returned = next((x for key, x in children(owner_of(root)) if any(
                is_gradient(key, name) for name in (*self.order, *INPUTS))), ())
        several = isinstance(returned, tuple if self.lists else (tuple, list))
        parts = list(returned) if several and self.inputs else [returned]
        if len(parts) == 1 and isinstance(parts[0], tuple) and not self.lists:
            parts = list(parts[0])
        left = self.layer.gradients
        root["grads"] = {**(gradients or {}), **(left() if callable(left) else left)}
        many = [part for part in parts if isinstance(part, (dict, list, tuple))]
        for part in many:
            root["grads"] |= {key: g for key, g in children(part) if g is not None and (
                len(many) == 1 or isinstance(key, str))}
        held = [n for n in self.order if isinstance(root.get(n), (dict, list, tuple))]
        if len(held) == len(many):                                     # in the same order
            root["grads"] |= {(name, *path): g for name, part in zip(held, many)
                              for path, g in arrays_in(part)}
        found = [g for g in parts if not isinstance(g, (dict, list, tuple))]
        if len(found) > len(self.inputs):
            found = self.assign(root, found, names)
        if len(found) < len(self.inputs):
            found += [g for name in self.names.values() for key, g in root["grads"].items()
                      if key == name or is_gradient(key, name)]
        return found or [None] * len(self.inputs) * bool(many)

    def assign(self, root: dict, found: list, names: Any) -> list:
        """Choose the gradients of the inputs, by the names in the code, if there are too many."""
        named = dict(zip(names, found)) if len(names) == len(found) else {}
        arrays = [path[-1] for path, _ in arrays_in(self.root)]
        root["grads"] |= {key: g for key, g in named.items()
                          if any(is_gradient(key, name) for name in arrays)}
        rest = [g for key, g in named.items() if key not in root["grads"]]
        if len(rest) > len(self.inputs):                               # a state behind a loss
            rest = [next((g for key, g in named.items() if is_gradient(key, name)), None)
                    for name in self.names.values()]
        if not root["grads"] and all(g is None for g in rest):
            raise TypeError(f"backward must return a gradient for each of {len(self.inputs)}"
                            f" inputs, got {len(found)}{WRAP}")
        return rest


def leaves(y: Any) -> list:
    """Return the arrays of an output, which may be a tuple, as the state (h, c) of an LSTM."""
    return [leaf for part in y for leaf in leaves(part)] if isinstance(y, tuple) else [y]


def joined(outputs: list) -> Any:
    """Return one output as it is, and several as one vector, end to end."""
    parts = leaves(tuple(outputs))
    return parts[0] if len(parts) == 1 else np.concatenate([np.ravel(x) for x in parts])


def parted(u: Any, outputs: list) -> list:
    """Return the part of `u`, which is of all outputs end to end, that belongs to each."""
    parts = leaves(tuple(outputs))
    pieces = iter(np.split(np.ravel(u), np.cumsum([np.size(x) for x in parts])[:-1]))

    def shaped(x):
        return (tuple(map(shaped, x)) if isinstance(x, tuple)
                else next(pieces).reshape(np.shape(x)))

    return list(map(shaped, outputs))


def is_floats(x: Any) -> bool:
    """Tell whether `x` is an array of floats or a float, so that it may be an output."""
    if isinstance(x, list):
        return bool(x) and all(map(is_floats, x))
    return isinstance(x, (np.ndarray, np.number, float)) and np.asarray(x).dtype.kind in "fc"


def owner_of(root: dict) -> Any:
    """Return the object whose method forward is."""
    return getattr(root.get("forward"), "__self__", root.get("forward"))


@contextlib.contextmanager
def repeated(state: Any) -> Iterator[None]:
    """Set NumPy's global generator to `state` in a `with` block; restore it afterwards."""
    now = np.random.get_state()                                        # noqa: NPY002
    np.random.set_state(state)                                         # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(now)                                       # noqa: NPY002
