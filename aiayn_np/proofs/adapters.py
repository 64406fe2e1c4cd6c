"""Layers of other code, in the form of this package. This page says what is taken, and how.

1. A layer is the first of these that fits (`parts_of`):
    a Module or Function of PyTorch        autograd is its backward, see pytorch.py
    as_layer(forward=, backward=, ...)     way `described`, nothing is guessed
    a Module of ours, named_parameters     taken as it is
    a pair (forward, backward)             the ways from `constant` on
    one function                           way `from_forward`
    an object or class with backward       the ways from `constant` on; forward may be a call
    anything else                          refused, and two functions around it are shown

2. Backward is called in each way that fits (`WAYS`):
    described      backward(grad_y, cache); a tuple grad_y if there are several outputs
    from_forward   forward returned (y, function of grad_y), or (loss, gradients)
    constant       a loss whose backward(dout=1) does not use dout
    derivative     all arguments are inputs, or the output, as in 1 - y**2
    by_name        gradients go to the arguments that are named like gradients
    together       one argument gets a tuple of gradients, as in backward(grads), or *grads
   What (loss, gradients), `constant` and `derivative` give is multiplied by the gradient of the
   output; if one of these fits a loss, no later way is tried. Another argument gets what has its
   name: a rate of 1, an input, the output; else the caches in their order.

3. The first results of forward are outputs (`with_outputs`): as many as backward has gradients for.
   An argument is a gradient if all that backward returns doubles with the gradients, and if its
   name says so, or nothing doubles without it.

4. The gradient of an input is returned, in order, or in a dict under its name, or left in an
   attribute (dx, dinputs). That of a parameter stands beside it (dW), under its key in grads, or is
   the change (before - after) / rate of a step; else it is the one array of its shape that backward
   wrote under a like name (`gradient_paths` in finding.py). Targets have none: each set of inputs
   to which the returned gradients may belong is a Reading.

Each call works on a copy of the layer; arrays of a class, a closure or a global, which no copy
reaches, are written in place and restored. A Reading never changes. The check takes the first one
under which the fewest gradients are wrong.
"""

import collections
import contextlib
import copy
import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ..module import Module
from .finding import (
    STATE,
    TARGET,
    arguments,
    arrays_in,
    children,
    dotted,
    gradient_paths,
    is_gradient,
    leaves,
    read_outside,
    upstream,
)
from .pytorch import is_of_torch, of_torch
from .report import Gap

RATES = ("lr", "learning_rate", "eta", "rate", "step_size", "alpha")  # of a step in backward
OUTPUTS = ("output", "out", "y")  # names of the result, if forward returns nothing
INPUTS = ("inputs", "input", "x")  # names of the inputs, if backward returns nothing
WRAP = ("; say what is what by as_layer(forward=, backward=, parameters=, gradients=), or two"
        " functions around it are checked: check_gradients((lambda x: (y, cache),"
        " lambda grad_y, cache: grad_x), x)")
AFTER_LOSS = "What stands after the loss was taken for the gradients of {}."


class Context:
    """The `ctx` of static functions: in it, forward saves the arrays that backward needs."""

    def save_for_backward(self, *arrays: Any) -> None:
        self.saved_values = self.saved_tensors = arrays


@dataclass(frozen=True)
class Layer:
    """The parts of a layer."""

    forward: Callable
    backward: Any = None  # if None, forward returns it, or (loss, gradients)
    parameters: dict | None = None  # {name: array} as the user described them; None: to be found
    gradients: dict | Callable = field(default_factory=dict)
    title: str = ""
    names: tuple | None = None  # of the inputs, in the order of forward


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
        return Layer(layer)
    if not hasattr(layer, "backward"):
        raise TypeError(f"layer must have backward, got {layer!r:.60}{WRAP}")
    named = layer if isinstance(layer, type) else type(layer)
    return Layer(getattr(layer, "forward", layer), layer.backward, title=named.__name__)


def adapted(layer: Any, *inputs: Any, **options: Any) -> list:
    """Return `layer` in all readings, or as it is; raise TypeError if there is no reading."""
    parts = parts_of(layer)
    if parts is None:
        return [layer]
    ways = WAYS[2:] if parts.backward else WAYS[1:2]
    ways = ways if parts.parameters is None else WAYS[:1]
    found, errors = [], []
    for find_way in ways:
        try:
            scene = Scene(parts, inputs, options)
            way = find_way(scene)
            found += [*readings(scene, way)] if way else []
        except Exception as error:                               # an error in code that is not ours
            errors.append(error)
        else:
            if way and way.scaled and scene.is_loss:
                break
    if found:
        return found
    raise TypeError(f"{errors[0]}{'' if WRAP in str(errors[0]) else WRAP}") from errors[0]


class Call(NamedTuple):
    """The results of a call of forward in a copy of the layer."""

    root: dict
    results: list  # what it returned, one by one
    nested: int  # the number of results in a tuple at the front, as in (y, z), cache
    as_tuple: bool  # the outputs are a tuple, even if there is one alone


class Run(NamedTuple):
    """The arrays and results of a call of forward and of backward."""

    y: bytes
    after: dict  # {path: array} of all arrays
    returned: list  # gradients that are not in a dict or a list, in order
    stays: set  # the paths of the arrays that forward kept
    wrote: set  # the paths that backward wrote
    factor: Any  # all gradients are still to be multiplied by it


@dataclass(frozen=True)
class Way:
    """A way to call backward, and what it returns."""

    call: Callable  # of (scene, way, call, gradients of the outputs)
    lead: tuple = ()  # the arguments that get gradients, if `takes` is as large
    takes: int = 1  # the number of outputs
    together: bool = False  # one argument gets a tuple of all gradients
    scaled: bool = False  # what backward returns is multiplied by the gradient of the output
    targets: tuple = ()  # the paths of the inputs to which the returned gradients belong
    note: str = ""  # what a report says of the way


class Scene:
    """A layer with all arrays that it reaches; each call works on a copy of them.

    inputs : {name: input}; `arrays` are those that are no dict, list or tuple
    root : the objects that are copied; `outside` of them are what functions read
    shared : the arrays that no copy reaches, by id
    rates, wanted : the arguments of backward that are learning rates, and the others
    first : the Call of a first forward
    """

    def __init__(self, layer: Layer, inputs: tuple, options: dict) -> None:
        names = layer.names or tuple(arguments(layer.forward, with_defaults=True))
        if names[:1] in (("ctx",), ("context",)):
            inputs = (Context(), *inputs)
        names += tuple(f"input {i}" for i in range(len(names), len(inputs)))
        self.layer, self.options = layer, options
        self.inputs = {name: x if is_held(x) else np.array(x) for name, x in zip(names, inputs)}
        self.arrays = {name: x for name, x in self.inputs.items() if not is_held(x)}
        self.random = np.random.get_state()                            # noqa: NPY002
        self.root: dict = {**self.inputs, "": layer.parameters}
        if layer.parameters is None:
            self.root[""] = read_outside(layer.forward, layer.backward)
            self.root |= {"forward": layer.forward, "backward": layer.backward}
        self.outside = {id(x): x for x in self.root[""].values()}
        copied = dict(arrays_in(copy.deepcopy(self.root, dict(self.outside))))
        self.shared = {id(x): x for path, x in arrays_in(self.root) if copied.get(path) is x
                       and isinstance(x, np.ndarray) and x.flags.writeable}
        with self.copied() as root:
            self.first = self.call(root, options)
        if all(path[0] in self.inputs for path, _ in arrays_in(self.root)):
            self.root = root | self.inputs                             # forward made the parameters
        self.is_loss = np.ndim(joined(self.first.results[: self.first.nested or 1])) == 0
        self.rates, self.wanted = {}, []
        if callable(layer.backward):
            asked = inspect.signature(layer.backward).parameters
            self.rates = {n: 1.0 for n in RATES if n in asked and n not in names}
            first = arguments(layer.backward, with_defaults=True)[:1]  # as in backward(dout=1)
            self.wanted = [n for n in arguments(layer.backward) if n not in self.rates] or [
                n for n in first if upstream(n)]

    @contextlib.contextmanager
    def copied(self, new: dict | None = None) -> Iterator[dict]:
        """Give a copy of the root, with new arrays by id; then restore what no copy reaches."""
        random = np.random.get_state()                                 # noqa: NPY002
        before = [(x, x.copy()) for x in self.shared.values()]
        holders = [(x, x.copy()) for x in self.outside.values() if isinstance(x, (dict, list))]
        memo: dict = {key: np.array(x) for key, x in (new or {}).items()}
        try:
            np.random.set_state(self.random)                           # noqa: NPY002
            for key in memo.keys() & self.shared.keys():
                if np.any(np.imag(memo[key])):
                    raise TypeError("arrays that are written in place hold no complex numbers")
                self.shared[key][...] = np.real(memo[key])
            yield copy.deepcopy(self.root, memo | self.outside | self.shared)
        finally:
            np.random.set_state(random)                                # noqa: NPY002
            for x, value in before:
                x[...] = value
            for holder, content in holders:
                holder.clear()
                (holder.update if isinstance(holder, dict) else holder.extend)(content)

    def call(self, root: dict, options: dict) -> Call:
        """Call forward in `root`."""
        forward, given = root.get("forward", self.layer.forward), [root[n] for n in self.inputs]
        y = forward(*given, **copy.deepcopy(options))
        if y is None:
            y = getattr(owner_of(root), next(n for n in OUTPUTS if hasattr(owner_of(root), n)))
        results = list(y) if isinstance(y, tuple) else [y]
        nested = len(results[0]) if results and isinstance(results[0], tuple) else 0
        if nested:                                                     # outputs, and a cache
            results[:1] = results[0]
        return Call(root, results, nested, type(y) is tuple and len(y) == 1)

    def run(self, way: Way, gradient: Callable, new: dict | None = None,
            options: dict | None = None) -> Run:
        """Call forward, and backward with gradient(y)."""
        with self.copied(new) as root:
            before = dict(arrays_in(root))
            call = self.call(root, self.options if options is None else options)
            outputs = outputs_of(call, way)
            y = joined(outputs)
            stays = {path for path, x in arrays_in(root) if before.get(path) is x}
            root["kept"] = call.results[1:]
            middle = {path: (x, np.array(x)) for path, x in arrays_in(root)}
            grads = parted(gradient(y), outputs)
            result = way.call(self, way, call, grads)
            wrote = {path for path, x in arrays_in(root) if path not in middle or not (
                middle[path][0] is x and np.array_equal(middle[path][1], x, equal_nan=True))}
            own = [getattr(owner_of(root), name, 0) for name in RATES]
            rate = 1.0 if self.rates else next((x for x in own if isinstance(x, float) and x), 0)
            steps = {path: (middle[path][1] - x) / rate for path, x in arrays_in(root)
                     if rate and path in wrote and path in middle
                     and np.shape(x) == middle[path][1].shape}         # W - rate * gradient
            returned, root["grads"] = gradients_in(self, way, root, result, steps)
            after = {path: np.array(x) for path, x in arrays_in(root)}
            wrote |= {path for path in after if path[0] == "grads"}
        return Run(np.array(y).tobytes(), after, returned, stays, wrote,
                   grads[0] if way.scaled else 1.0)


def described(scene: Scene) -> Way:
    takes = scene.first.nested or 1
    return Way(by_position, takes=takes, together=takes > 1)


def from_forward(scene: Scene) -> Way:
    if callable(scene.first.results[-1]):
        return Way(lambda scene, way, call, grads: call.results[-1](*grads))
    states = [name for name, x in scene.arrays.items() if STATE.search(name) and is_floats(x)]
    if states and not any(map(is_held, scene.first.results)):
        raise TypeError(f"a function must return (loss, {{name: gradient}}) if an input may be a"
                        f" state, got {states[0]}{WRAP}")
    return Way(lambda scene, way, call, grads: tuple(call.results[1:]), scaled=True,
               note=AFTER_LOSS.format(", ".join(scene.inputs)))


def constant(scene: Scene) -> Way | None:
    way = replace(plain(scene), scaled=True, note="The gradient of the loss is not used by"
                  " backward, and its result is multiplied by it.")
    applies = scene.is_loss and not arguments(scene.layer.backward) and scene.wanted
    return way if applies and doubles(scene, way) else None


def derivative(scene: Scene) -> Way | None:
    names, y = scene.wanted, scene.first.results[0]
    applies = names and set(names) <= set(scene.inputs) if scene.is_loss else (
        names in ([*scene.inputs], ["y"], ["output"]) and inspect.isfunction(scene.layer.backward)
        and all(np.shape(x) == np.shape(y) for x in scene.arrays.values()))
    return replace(plain(scene), lead=(), scaled=True, note="Backward gets the inputs, and its"
                   " result is multiplied by the gradient of the output.") if applies else None


def by_name(scene: Scene) -> Way:
    free = [n for n in scene.wanted if n not in (*scene.inputs, *OUTPUTS)]
    lead = [n for n in free if upstream(n)] or free[:1]
    lead += [n for n in scene.wanted if n not in lead]
    return with_outputs(scene, replace(plain(scene), lead=tuple(lead)))


def together(scene: Scene) -> Way | None:
    call, floats = scene.first, itertools.takewhile(is_floats, scene.first.results)
    way = replace(by_name(scene), together=True, takes=call.nested or max(1, len(list(floats))),
                  note="Backward gets one tuple of the gradients of all outputs.")
    if str(inspect.signature(scene.layer.backward)).startswith("(*"):
        return replace(way, call=by_position, together=False, scaled=False)
    return way if way.takes > 1 or call.as_tuple else None


WAYS = (described, from_forward, constant, derivative, by_name, together)


def plain(scene: Scene) -> Way:
    """Return the way in which the first argument gets the gradient of the first output."""
    return Way(by_arguments, tuple(scene.wanted), scene.first.nested or 1,
               scaled=not scene.wanted)


def with_outputs(scene: Scene, way: Way) -> Way:
    """Return the way with the number of outputs for which backward takes a gradient, see above."""
    results, names = scene.first.results, way.lead[1:]
    for name in names if not scene.first.nested else ():
        told = upstream(name) and name not in scene.inputs
        more = replace(way, takes=way.takes + 1)
        parts = results[way.takes:more.takes]
        parts = leaves(tuple(parts)) if told else parts
        alone = told or (len(names) == len(results) - 1 and not doubles(scene, way))
        if not (parts and all(map(is_floats, parts)) and alone and doubles(scene, more)):
            break
        way = more
    return way


def doubles(scene: Scene, way: Way) -> bool:
    """Tell whether what backward returns doubles with the gradients of the outputs.

    So it does if they are gradients. If one of them is a value, a product grows by four.
    """
    runs = [trial(scene, way, factor=factor) for factor in (1.0, 2.0)]
    named = ([g for path, g in run.after.items() if path[0] == "grads"] for run in runs)
    once, twice = ([run.factor * g for g in (*run.returned, *more) if g is not None]
                   for run, more in zip(runs, named))
    return all(map(np.allclose, twice, [2 * g for g in once]))


def by_position(scene: Scene, way: Way, call: Call, grads: list) -> Any:
    """Call backward(*gradients, *caches)."""
    function = call.root.get("backward", scene.layer.backward)
    return function(*([tuple(grads)] if way.together else grads), *call.results[way.takes:])


def by_arguments(scene: Scene, way: Way, call: Call, grads: list) -> Any:
    """Call backward with a value for each argument by its name."""
    function = call.root["backward"]
    lead = dict(zip(way.lead, [tuple(grads)] if way.together else grads))
    return function(**(scene.rates | lead | values(scene, way, call)))


def values(scene: Scene, way: Way, call: Call) -> dict:
    """Return the values of the arguments of backward that get no gradient, see the table above."""
    takers = way.lead[: 1 if way.together else way.takes]
    rest, names = call.results[way.takes:], [n for n in scene.wanted if n not in takers]
    known = dict.fromkeys(OUTPUTS, call.results[0]) | {n: call.root[n] for n in scene.inputs}
    free = [n for n in names if n not in known]
    if len(names) == len(rest) and not (names and set(names) <= set(OUTPUTS)):
        return dict(zip(names, rest))
    if not free or (len(free) <= len(rest) and all(map(is_floats, rest[: -len(free)]))):
        known |= dict(zip(free, rest[len(rest) - len(free):]))
        return {n: known[n] for n in names}
    raise TypeError("backward must take grad_y and a cache, the output or the inputs, got"
                    f" backward({', '.join(scene.wanted)}){WRAP}")


def gradients_in(scene: Scene, way: Way, root: dict, result: Any,
                 grads: dict) -> tuple[list, dict]:
    """Return the gradients that backward returned in order, and all others in a dict.

    The dict has the path of an array, or a name, for each gradient.
    """
    if callable(result):
        raise TypeError(f"backward must return gradients, got a function{WRAP}")
    if result is None:
        result = next((x for key, x in children(owner_of(root)) if any(
            is_gradient(key, name) for name in (*scene.inputs, *INPUTS))), ())
    held = [n for n, x in scene.inputs.items() if is_held(x) and not isinstance(x, Context)]
    several = isinstance(result, tuple if held else (tuple, list))
    parts = list(result) if several and scene.arrays else [result]
    if len(parts) == 1 and isinstance(parts[0], tuple) and not held:
        parts = list(parts[0])
    left = scene.layer.gradients
    grads = grads | (left() if callable(left) else left)
    many = [part for part in parts if is_held(part)]
    for part in many:
        grads |= {key: g for key, g in children(part) if g is not None and (
            len(many) == 1 or isinstance(key, str))}
    if len(held) == len(many):                                         # in the same order
        grads |= {(name, *path): g for name, part in zip(held, many)
                  for path, g in arrays_in(part)}
    found = [part for part in parts if not is_held(part)]
    grads |= {target: g for target, g in zip(way.targets, found)
              if target is not None and g is not None}
    if not found and not grads and any(map(is_floats, scene.arrays.values())):
        raise TypeError(f"backward must return a gradient for each input, got none{WRAP}")
    return found, grads


def targets_of(scene: Scene, way: Way, run: Run) -> list[tuple]:
    """Return the inputs to which the returned gradients may belong; each tuple is a reading."""
    found, keys = len(run.returned), {path[1] for path in run.after if path[0] == "grads"}
    free = [(name,) for name, x in scene.arrays.items() if is_floats(x) and not any(
        key == name or is_gradient(key, name) for key in keys)]
    if found == len(scene.arrays):                                     # with a None for ids
        return [tuple((name,) for name in scene.arrays)]
    if found > len(free):
        raise TypeError(f"backward must return a gradient for each of {len(scene.arrays)}"
                        f" inputs, got {found}{WRAP}")
    known = [path for path in free if not TARGET.search(path[0])]      # targets may have none
    return [tuple(known)] if len(known) == found else [*itertools.combinations(free, found)]


def trial(scene: Scene, way: Way, x: Any = None, factor: float = 1.0) -> Run:
    """Call the layer, with small changes in the array `x` if one is given."""
    rng, other = np.random.default_rng(0), np.random.default_rng(1)
    new = {} if x is None else {id(x): x + 0.01 * other.random(x.shape)}
    return scene.run(way, lambda y: factor * (
        rng.standard_normal(np.shape(y)) if np.ndim(y) else 1.0), new)


def readings(scene: Scene, way: Way) -> Iterator["Reading"]:
    """Yield the layer in every reading: one for each choice of inputs with a gradient."""
    for targets in targets_of(scene, way, trial(scene, way)):
        way = replace(way, targets=targets)
        base = trial(scene, way)
        found, without = owned(scene, way, base)
        arrays = {dotted(paths[0][0]): x for x, paths in found}
        places = {name: tuple({base.after[g].tobytes(): g for _, g in paths}.values())
                  for name, (_, paths) in zip(arrays, found)}          # a tied array has several
        every = {path for some in places.values() for path in some}
        gaps = not_compared(scene, way, base, without, every)
        yield Reading(scene, way, arrays, places, gaps, {
            n: SimpleNamespace(value=x.astype(float), grad=0 * x) for n, x in arrays.items()})


def owned(scene: Scene, way: Way, base: Run) -> tuple[list, list]:
    """Return [(array, its paths with a gradient each)], and [(other array, its first path)].

    An array may have several paths. A step is a gradient only if it doubles with grad_y.
    """
    twice = trial(scene, way, factor=2.0).after
    linear = {path: g for path, g in base.after.items()                # a step of Adam is none
              if path[-1] not in base.wrote or np.allclose(twice[path], 2 * g)}
    paths: dict[int, list] = {}
    for path, x in arrays_in(scene.root):
        paths.setdefault(id(x), [x]).append(path)
    claims = [(x, same, [(path, g[0]) for path in same if path in base.stays
                         and (g := gradient_paths(path, linear, base.wrote))])
              for x, *same in paths.values()]
    claimed = collections.Counter(g for *_, found in claims for _, g in found)

    owners = [(x, found) for x, same, found in claims if found and (
        (id(x) not in scene.shared and same[0] not in base.wrote
         and all(claimed[g] == 1 for _, g in found)) or trial(scene, way, x).y != base.y)]
    return owners, [(x, same[0]) for x, same, found in claims if not found]


def not_compared(scene: Scene, way: Way, base: Run, without: list, places: set) -> dict:
    """Return why inputs, outputs, arrays and gradients have no row."""
    gaps = {name: Gap.NO_FLOATS for name, x in scene.arrays.items() if not is_floats(x)}
    for x, path in without:
        if path not in places and trial(scene, way, x).y != base.y:
            gaps[dotted(path)] = Gap.FORGOTTEN
    if way.call is by_arguments:
        given = values(scene, way, scene.first).values()
        gaps |= {f"output {i + 1}": Gap.NOT_TAKEN for i, x in enumerate(scene.first.results)
                 if i >= way.takes and is_floats(x) and not any(x is g for g in given)}
    return gaps


@dataclass(frozen=True)
class Reading:
    """A layer, read in one way, in the form of this package; its inputs are parameters too."""

    scene: Scene
    way: Way
    arrays: dict[str, np.ndarray]  # {name: input or parameter of the layer}
    places: dict[str, tuple]  # {name: the paths of its gradients}, whose sum is checked
    gaps: dict[str, Gap]  # {array or output: why it is not checked}
    parameters: dict[str, SimpleNamespace]  # {name: value and grad}; only these change

    @property
    def title(self) -> str:
        owner = getattr(self.scene.layer.forward, "__self__", self.scene.layer.forward)
        return self.scene.layer.title or getattr(owner, "__name__", type(owner).__name__)

    def named_parameters(self) -> Iterator[tuple[str, SimpleNamespace]]:
        yield from self.parameters.items()

    def values(self) -> dict:
        """Return the arrays of a call by the id of the old one: parameters, and zero gradients."""
        places = {path for some in self.places.values() for path in some}
        zeros = {id(x): np.zeros_like(x) for path, x in arrays_in(self.scene.root)
                 if path in places}
        return zeros | {id(x): self.parameters[n].value for n, x in self.arrays.items()}

    def forward(self, **options: Any) -> tuple[Any, Any]:
        with self.scene.copied(self.values()) as root:
            call = self.scene.call(root, options)
            return joined(outputs_of(call, self.way)), (options, call)

    def backward(self, grad_y: Any, cache: Any) -> None:
        run = self.scene.run(self.way, lambda y: grad_y, self.values(), cache[0])
        for name, p in self.parameters.items():
            g = sum(run.after[path] for path in self.places[name] if path in run.after)
            g = run.factor * g if np.ndim(g) or not np.ndim(p.value) else np.zeros_like(p.value)
            p.grad = p.grad.astype(g.dtype) + g if np.shape(g) == p.value.shape else g


def outputs_of(call: Call, way: Way) -> list:
    """Return the results of forward that have a gradient."""
    outputs = call.results[: way.takes]
    if wrong := [type(x).__name__ for x in leaves(tuple(outputs)) if not is_floats(x)]:
        raise TypeError(f"an output must be an array of floats, got {wrong[0]}{WRAP}")
    return outputs


def is_held(x: Any) -> bool:
    """Tell whether `x` holds arrays, or will hold some."""
    return isinstance(x, (dict, list, tuple, Context)) and not (
        isinstance(x, list) and any(isinstance(i, float) for i in x))


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
    return isinstance(x, (np.ndarray, np.number, float)) and np.asarray(x).dtype.kind in "fc"


def owner_of(root: dict) -> Any:
    """Return the object whose method forward is."""
    return getattr(root.get("forward"), "__self__", root.get("forward"))
