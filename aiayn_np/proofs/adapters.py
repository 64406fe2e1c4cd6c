"""Layers of other code: `read` makes a Reading, which says how a layer is understood.

    a Module or Function of PyTorch          autograd is its backward, see pytorch.py
    as_layer(forward=, backward=, ...)       its parts, as they are described
    (forward, backward), or an object        y, or (outputs, ..., caches, ...) = forward(*inputs)
    with forward and backward                backward(*gradients of outputs, *caches)

Backward returns a gradient for each input, in order; ids have None, or are left out. The gradients
of parameters lie beside them (dW), or under their keys in a dict (`gradient_paths`). Everything
else is refused by one sentence, and never judged:

- A backward must be linear in the gradients that it gets. This tells gradients from caches too: if
  forward returns (y, z) and backward takes (a, b), its result is linear in both if b is a gradient,
  and in a alone if b is a cache. If both hold, backward does not use b, and nobody can tell.
- Every gradient must belong to an array. If a parameter has none, and backward wrote an array of
  its shape under another name, that may be it.
- Backward must change neither a parameter nor an array outside of the layer.
"""

import contextlib
import copy
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..module import Module
from .finding import arguments, arrays_in, dotted, gradient_paths, outside_of
from .pytorch import is_of_torch, of_torch
from .report import FORGOTTEN, NO_FLOATS, NOT_TAKEN, OUTSIDE

WRAP = ("; two functions around it are checked, f(x) that returns (y, cache) and b(grad_y, cache)"
        " that returns grad_x, with the arrays that you list: as_layer(forward=f, backward=b,"
        " parameters={'W': W}, gradients={'W': dW}), from aiayn_np.proofs.adapters")
INTEGERS = "are the inputs integers? Give x as floats"
NOT_FIRST = {"y", "out", "output"}  # names that no gradient has
MISSES = 1e-3  # the part of a sum that a linear backward may miss: it may round to float32


@dataclass(frozen=True)
class Layer:
    """The parts of a layer."""

    forward: Callable
    backward: Callable
    parameters: dict | None = None  # {name: array} as they were described; None: to be found
    gradients: dict | Callable = field(default_factory=dict)
    title: str = ""
    names: tuple | None = None  # of the inputs, in the order of forward


def as_layer(*, forward: Callable, backward: Callable, parameters: dict | None = None,
             gradients: dict | Callable | None = None) -> Layer:
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
    return Layer(forward, backward, parameters or {}, {} if gradients is None else gradients,
                 getattr(forward, "__name__", "layer"))


def parts_of(layer: Any) -> Layer | None:
    """Return forward and backward of a layer, or None if it has the form of this package."""
    if is_of_torch(layer):
        return Layer(**of_torch(layer))
    if isinstance(layer, Layer):
        return layer
    if isinstance(layer, Module) or hasattr(layer, "named_parameters"):
        return None
    if isinstance(layer, (tuple, list)) and len(layer) == 2 and all(map(callable, layer)):
        owner = getattr(layer[0], "__self__", layer[0])
        title = getattr(owner, "__name__", type(owner).__name__)
        return Layer(layer[0], layer[1], title=title)
    forward = getattr(layer, "forward", layer)
    if not callable(forward) or not hasattr(layer, "backward") or not hasattr(layer, "__dict__"):
        raise TypeError(f"layer must be an object with forward and backward, got {layer!r:.60}")
    title = getattr(layer, "__name__", type(layer).__name__)
    return Layer(forward if forward is not layer else layer.__call__, layer.backward, title=title)


def read(layer: Any, inputs: tuple, options: dict) -> "Reading | None":
    """Return the Reading of a layer, or None if it has the form of this package.

    Raises TypeError, with two functions that may stand around the layer, if nothing was understood;
    without them for a class, for inputs of integers, and for an error that forward raised.
    """
    if isinstance(layer, type) and not is_of_torch(layer) and "self" in arguments(
            getattr(layer, "forward", read)):
        raise TypeError(f"layer must be an object such as {layer.__name__}(...), got its class")
    try:
        parts = parts_of(layer)
        return None if parts is None else reading_of(Calls(parts, inputs, options))
    except Exception as error:                                   # an error in code that is not ours
        frames = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
        if Calls.forward.__code__ in frames[:-1]:
            raise TypeError(f"your forward raised {type(error).__name__}: {error}") from error
        why = f"{error}{'' if INTEGERS in str(error) else WRAP}"
        raise TypeError(why) from None if isinstance(error, TypeError) else error


class Split(NamedTuple):
    """A way to call backward: with the gradients of the first outputs, and the last caches."""

    gradients: int
    caches: int


class Run(NamedTuple):
    """The arrays of a layer, by path, after a forward and after the backward that follows it."""

    stays: set  # the paths of the arrays that forward left where they are
    kept: dict  # {path: array} after forward
    after: dict  # {path: array} after backward; ("returned", name) is the path of a returned one


class Calls:
    """Calls of a layer with its inputs, each in a copy, in which arrays may be replaced.

    inputs : {name: input}, where ids and settings are inputs too
    root : the inputs and the objects that are copied
    in_place : described arrays, which are not copied; their values are restored
    results : what forward returned, one by one
    """

    def __init__(self, layer: Layer, inputs: tuple, options: dict) -> None:
        names = list(layer.names or arguments(layer.forward, with_defaults=True))
        names += [f"input {i}" for i in range(len(names), len(inputs))]
        self.layer, self.options, self.described = layer, options, layer.parameters is not None
        self.inputs = {n: np.array(x) if is_array(x) else x for n, x in zip(names, inputs)}
        self.random = np.random.get_state()                            # noqa: NPY002
        parts = {"": layer.parameters} if self.described else {
            "forward": layer.forward, "backward": layer.backward}
        self.root = {**self.inputs, **parts}
        self.in_place = [x for _, x in arrays_in(layer.parameters or {})]
        self.zeros: dict = {}
        with self.copied({}) as root:
            self.results = self.forward(root, options)
        self.as_tuple = self.described and isinstance(self.results[0], tuple)
        if self.as_tuple:
            self.results[:1] = self.results[0]
        if all(path[0] in self.inputs for path, _ in arrays_in(self.root)):
            self.root = root | self.inputs                             # forward made the parameters
        found = dict(arrays_in(self.root))
        self.zeros = {id(found[place]): np.zeros_like(found[place])    # gradients of earlier calls
                      for path in found for place in gradient_paths(path, found)}

    @contextlib.contextmanager
    def copied(self, new: dict) -> Iterator[dict]:
        """Give a copy of the root with new arrays by id; afterwards restore what is not copied."""
        random = np.random.get_state()                                 # noqa: NPY002
        before = [x.copy() for x in self.in_place]
        memo: dict = {key: np.array(x) for key, x in (self.zeros | new).items()}
        try:
            np.random.set_state(self.random)                           # noqa: NPY002
            for x in self.in_place:
                if np.iscomplexobj(value := memo.get(id(x), x)) and np.any(value.imag):
                    raise TypeError("arrays that are written in place hold no complex numbers")
                x[...] = np.real(value)
                memo[id(x)] = x
            yield copy.deepcopy(self.root, memo)
        finally:
            np.random.set_state(random)                                # noqa: NPY002
            for x, value in zip(self.in_place, before):
                x[...] = value

    def outside(self) -> dict:
        """Return the values that the functions read from places that are not copied."""
        return {} if self.described else outside_of(self.layer.forward, self.layer.backward)

    def forward(self, root: dict, options: dict) -> list:
        """Call forward in `root`; return its results."""
        function = root.get("forward", self.layer.forward)
        y = function(*(root[name] for name in self.inputs), **copy.deepcopy(options))
        return list(y) if isinstance(y, tuple) else [y]

    def outputs(self, results: list, split: Split) -> list:
        """Return the results whose gradients backward gets."""
        return list(results[0]) if self.as_tuple else results[: split.gradients]

    def run(self, split: Split, new: dict, gradient: Callable) -> Run:
        """Call forward, then backward with `gradient(y)` as the gradient of y."""
        with self.copied(new) as root:
            before = dict(arrays_in(root))
            results = self.forward(root, self.options)
            outputs = self.outputs(results, split)
            stays, kept = {p for p, x in arrays_in(root) if before.get(p) is x}, snapshot(root)
            grads = parted(gradient(joined(outputs)), outputs)
            given = [tuple(grads)] if self.as_tuple else grads
            caches = results[len(results) - split.caches:]
            function = root.get("backward", self.layer.backward)
            root["returned"] = self.by_name(function(*given, *caches))
            return Run(stays, kept, snapshot(root))

    def depend_on(self, x: np.ndarray, split: Split) -> bool:
        """Tell whether the outputs change with the array `x` of the root."""
        def y(new):
            with self.copied(new) as root:
                return np.array(joined(self.outputs(self.forward(root, self.options), split)))

        moved = x + 0.01 * np.random.default_rng(1).random(x.shape)
        return not np.array_equal(y({}), y({id(x): moved}), equal_nan=True)

    def by_name(self, returned: Any) -> dict:
        """Return {name: gradient} of what backward returned; several lie under an input's name."""
        parts = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        left = self.layer.gradients
        named = dict(left() if callable(left) else left)
        if parts and isinstance(parts[-1], dict) and not fits(self.inputs, parts):
            named |= parts.pop()
        floats = {n: x for n, x in self.inputs.items() if any(arrays_in(x))}
        for inputs in (self.inputs, floats):
            if fits(inputs, parts):
                return named | {n: x for n, x in zip(inputs, parts) if x is not None}
        nothing = not parts if named else not floats and parts[0] is None
        if not nothing:
            raise TypeError(f"backward must return a gradient for each of {len(self.inputs)}"
                            f" inputs, or None, got {len(parts)}")
        return named


def fits(inputs: dict, parts: list) -> bool:
    """Tell whether there is one part for each input: arrays for an array, a dict for a dict."""
    return len(inputs) == len(parts) and all(
        part is None or isinstance(part, (dict, list)) == isinstance(x, (dict, list))
        for part, x in zip(parts, inputs.values()))


def reading_of(calls: Calls) -> "Reading":
    """Return the only Reading of a layer; raise TypeError if there are none or several."""
    names = arguments(calls.layer.backward) or arguments(calls.layer.backward, True)[:1]
    n = len(calls.results)
    if calls.described:
        caches = min(len(names) - 1, 1)
        return understood(calls, Split(n - caches, caches))
    if {*names[:1]} & {*calls.inputs, *NOT_FIRST}:
        raise TypeError(f"backward must take the gradient of y first, got {names[0]}")
    good: list[Reading] = []
    why = f"backward must take gradients, then the caches of forward, got ({', '.join(names)})"
    for k in range(1, len(names) + 1) if len(names) <= n else ():
        try:
            found = understood(calls, Split(k, len(names) - k))
            good += [found] if found.is_linear() else []
            why = "what backward returns must be linear in the gradients that it gets"
        except Exception as error:                                     # it is called in another way
            why = str(error)
    if len(good) > 1 and names[-1] in ("cache", *calls.inputs):
        good = [found for found in good if found.split.caches]
    if len(good) > 1:
        why = f"{names[-1]} may be a gradient or a cache, for backward does not use it"
    elif good and NOT_TAKEN in good[0].gaps.values() and names[0].endswith("s"):
        why = f"{names[0]} may be the gradients of all outputs at once"
    elif good:
        return good[0]
    raise TypeError(why)


def understood(calls: Calls, split: Split) -> "Reading":
    """Find the gradient of each array; raise TypeError for a gradient that belongs to no array."""
    before = snapshot(calls.outside())
    run = calls.run(split, {}, lambda y: np.random.default_rng(2).standard_normal(np.shape(y)))
    for path in changed(before, snapshot(calls.outside())):
        raise TypeError(f"backward must write into the layer, not into {dotted(path)}")
    inside = {id(x) for _, x in arrays_in(calls.root)}
    without = {dotted(path): x for path, x in arrays_in(calls.outside()) if id(x) not in inside}
    gaps = {n: NO_FLOATS for n, x in calls.inputs.items() if is_array(x) and not is_floats(x)}
    gaps |= dict.fromkeys(without, OUTSIDE)
    owned, wrote = owned_arrays(calls, run), changed(run.kept, run.after)
    claimed = {place for *_, at in owned for place in at}
    arrays, places = {}, {}
    for x, paths, at in owned:
        name, given = dotted(paths[0]), paths[0][0] in calls.inputs
        if claimed.intersection(paths) or not (at or calls.depend_on(x, split)):
            continue                                                   # a gradient, or not read
        if not given and wrote.intersection(paths):
            raise TypeError(f"backward must not change {name}")
        if at:
            unequal = {run.after[g].tobytes(): g for g in at}          # a tied array has several
            arrays[name], places[name] = x, tuple(unequal.values())
        else:
            gaps[name] = FORGOTTEN
            without |= {} if given else {name: x}
    made = wrote | {path for path in run.after if path[0] == "returned"}
    check_names(run, made - claimed, without)
    first, last = split.gradients, len(calls.results) - split.caches
    gaps |= {f"output {i + 1}": NOT_TAKEN for i, x in enumerate(calls.results)
             if first <= i < last and is_floats(x)}
    return Reading(calls, split, arrays, places, gaps)


def owned_arrays(calls: Calls, run: Run) -> list[tuple]:
    """Return (array, its paths, the paths of its gradients) for each array that forward keeps."""
    same: dict[int, list] = {}  # the paths of an array, which may have several
    for path, x in arrays_in(calls.root):
        same.setdefault(id(x), [x]).extend([path] if path in run.stays else [])
    return [(x, paths, [g for path in paths for g in gradient_paths(path, run.after)])
            for x, *paths in same.values() if paths]


def check_names(run: Run, unclaimed: set, without: dict[str, np.ndarray]) -> None:
    """Raise TypeError if an unclaimed array may be the gradient of one without a gradient."""
    for path in unclaimed:
        name = next((n for n, x in without.items() if x.shape == run.after[path].shape), "nothing")
        if name in without or path[0] == "returned":
            raise TypeError(f"{dotted(path)} must have a usual name, such as dW of W, if it is the"
                            f" gradient of {name}")


@dataclass(frozen=True)
class Reading:
    """The reading of a layer: the call of its backward, and the places of its gradients."""

    calls: Calls
    split: Split
    arrays: dict[str, np.ndarray]  # {name: input or parameter}
    places: dict[str, tuple]  # {name: the paths of its gradients}, whose sum is checked
    gaps: dict[str, str]  # {array or output: why it is not checked}

    def __str__(self) -> str:
        outputs, caches = self.split
        lies = [f"{name} in {', '.join(dotted(place) for place in at)}"
                for name, at in self.places.items()]
        return (f"Read: {outputs} output{'s' * (outputs > 1)}, {caches or 'no'}"
                f" cache{'s' * (caches > 1)}; gradients: {'; '.join(lies)}.")

    def tensors(self) -> dict[str, np.ndarray]:
        """Return {name: float64 array}."""
        return {name: x.astype(float) for name, x in self.arrays.items()}

    def forward(self, values: dict) -> tuple[Any, Any]:
        """Return (y, what forward kept) for {name: array}; several outputs are one vector."""
        with self.calls.copied(self.by_id(values)) as root:
            results = self.calls.forward(root, self.calls.options)
            return joined(self.calls.outputs(results, self.split)), (root, results)

    def gradients(self, values: dict, u: Any, cache: Any = None) -> tuple[dict, list]:
        """Return ({name: gradient}, []) for the gradient u of y; forward is called anew."""
        after = self.calls.run(self.split, self.by_id(values), lambda y: u).after
        return {name: sum(after[place] for place in at) for name, at in self.places.items()}, []

    def by_id(self, values: dict) -> dict:
        return {id(self.arrays[name]): value for name, value in values.items()}

    def is_linear(self) -> bool:
        """Tell whether backward(a + b) is backward(a) + backward(b)."""
        values, rng = self.tensors(), np.random.default_rng(0)
        shape = np.shape(self.forward(values)[0])
        a, b = rng.standard_normal(shape), rng.standard_normal(shape)
        one, two, both = (self.gradients(values, u)[0] for u in (a, b, a + b))
        return bool(both) and all(np.allclose(
            both[n], one[n] + two[n], MISSES, MISSES * np.abs(both[n]).max(initial=0))
            for n in both)


def snapshot(node: Any) -> dict:
    """Return {path: copy} of the arrays in a node."""
    return {path: np.array(x) for path, x in arrays_in(node)}


def changed(before: dict, after: dict) -> set:
    """Return the paths of the arrays that are new, or unequal."""
    return {path for path, x in after.items() if path not in before
            or not np.array_equal(x, before[path], equal_nan=True)}


def is_array(x: Any) -> bool:
    """Tell whether an input is an array, a float, or a list of floats."""
    return isinstance(x, (np.ndarray, np.floating, float)) or (
        isinstance(x, list) and any(isinstance(i, float) for i in x))


def is_floats(x: Any) -> bool:
    """Tell whether `x` is an array of floats or a float, so that it may be an output."""
    return isinstance(x, (np.ndarray, np.inexact, float)) and np.asarray(x).dtype.kind in "fc"


def joined(outputs: list) -> Any:
    """Return one output as it is, and several as one vector, end to end."""
    if wrong := [f"an array of {x.dtype}; {INTEGERS}" if isinstance(x, np.ndarray)
                 else type(x).__name__ for x in outputs if not is_floats(x)]:
        raise TypeError(f"an output must be an array of floats, got {wrong[0]}")
    return outputs[0] if len(outputs) == 1 else np.concatenate([np.ravel(x) for x in outputs])


def parted(u: Any, outputs: list) -> list:
    """Cut `u`, the gradient of all outputs end to end, into a part for each output."""
    ends = np.cumsum([np.size(x) for x in outputs])[:-1]
    pieces = np.split(np.array(u).ravel(), ends)                       # backward may write in it
    parts = [piece.reshape(np.shape(x)) for piece, x in zip(pieces, outputs)]
    return [part if part.ndim else float(part) for part in parts]
