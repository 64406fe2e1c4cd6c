"""Adapters: they give a layer of other code the `forward` and `backward` of this package.

Public code writes layers in many ways: as two functions, with the input kept in `self`, with
gradients in `dW` or in a dict, with a learning rate in `backward`, in PyTorch. Each call works on a
new copy of the layer, so nothing is left over from the last call. To change a parameter, the
adapter puts another array in its place, wherever the copy holds it.

An array is a parameter if backward leaves a gradient for it, under one of the usual names. A result
of forward is an output, and not a cache, if an argument of backward is by its name its gradient.
"""

import contextlib
import copy
import inspect
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..module import Module, Parameter
from .described import Described, joined, parted
from .finding import (
    STATE,
    arguments,
    arrays_in,
    children,
    dotted,
    gradient_paths,
    is_gradient,
    names_returned,
    upstream,
)

RATES = {"lr", "learning_rate", "eta", "rate", "step_size", "alpha"}  # of a backward that steps
OUTPUTS = ("output", "out", "y")  # where a forward that returns nothing leaves its result
INPUTS = ("inputs", "input", "x")  # a backward that returns nothing leaves their gradient
WRAP = ("; say what is what by as_layer(forward=, backward=, parameters=, gradients=), or two"
        " functions around it are checked: check_gradients((lambda x: (y, cache),"
        " lambda grad_y, cache: grad_x), x)")


def as_layer(*, forward: Callable, backward: Callable | None = None,
             parameters: dict | None = None, gradients: dict | Callable | None = None) -> Described:
    """Say which part of a layer is what; return a layer for ``check_gradients``.

    Parameters
    ----------
    forward : a function of the inputs that returns y, or (y, cache); y may be a tuple
    backward : a function of grad_y, or of (grad_y, cache), that returns a gradient for each input,
        or None; a dict behind them holds gradients by name
    parameters : {name: array}, the arrays that forward reads; they are as before after each call
    gradients : {name: array} as backward leaves it, or a function that returns it
    """
    if not (callable(forward) and callable(backward)):
        name, part = ("backward", backward) if callable(forward) else ("forward", forward)
        raise TypeError(f"{name} must be a function, got {part!r:.60}")
    return Described(forward, backward, parameters or {}, {} if gradients is None else gradients)


def adapted(layer: Any, *inputs: Any, **options: Any) -> Any:
    """Return `layer` in the form that the gradient check calls, or as it is if it has this form.

    A TypeError is raised for an object without backward, or a backward of unknown arguments.
    """
    torch = sys.modules.get("torch")                                   # else nothing is of PyTorch
    if torch and (isinstance(layer, torch.nn.Module) or (
            isinstance(layer, type) and issubclass(layer, torch.autograd.Function))):
        return of_torch(layer, inputs, options)
    if isinstance(layer, Described):
        return layer.prepared(inputs, options)
    if isinstance(layer, Module) or hasattr(layer, "named_parameters"):
        return layer
    if isinstance(layer, (tuple, list)) and len(layer) == 2:
        return Adapter(layer[0], layer[1], inputs, options)
    if inspect.isroutine(layer):
        return Adapter(layer, None, inputs, options)
    if not hasattr(layer, "backward"):
        raise TypeError(f"layer must have backward, got {layer!r:.60}{WRAP}")
    if hasattr(layer, "forward") and "ctx" in arguments(layer.forward)[:1]:
        return of_context(layer, inputs, options)
    return Adapter(getattr(layer, "forward", layer), layer.backward, inputs, options)


class Adapter:
    """A forward and a backward. Each call works on a copy of everything that they hold.

    inputs : the arrays among the inputs
    names : {"input 0": name in the signature of forward}
    not_checked : {array or output: why there is nothing to compare}
    notes : sentences on how the results were read
    """

    def __init__(self, forward: Callable, backward: Callable | None, inputs: tuple,
                 options: dict, names: list[str] | None = None) -> None:
        if any(isinstance(x, tuple) for x in inputs):
            raise TypeError(f"an input must be an array, a dict or a list, got a tuple{WRAP}")
        owner = getattr(forward, "__self__", forward)
        self.title = getattr(owner, "__name__", type(owner).__name__)
        self.order = (names or arguments(forward, with_defaults=True))[: len(inputs)]
        self.order += [f"input {i}" for i in range(len(self.order), len(inputs))]
        given = dict(zip(self.order, inputs))
        held = {name: x for name, x in given.items() if isinstance(x, (dict, list))}
        self.inputs = [x for name, x in given.items() if name not in held]
        free = [name for name in self.order if name not in held]
        self.names = {f"input {i}": name for i, name in enumerate(free)}
        self.state = np.random.get_state()                             # noqa: NPY002
        self.root: dict = {"forward": forward, "backward": backward, **held}
        self.arrays: dict[str, np.ndarray] = {}  # parameters as the root holds them
        self.gradients: dict[str, tuple] = {}  # parameter -> path of its gradient
        self.not_checked: dict[str, str] = {}
        self.notes: list[str] = []
        self.readings: list[set] = [set()]  # numbers of inputs without a gradient, likeliest first
        self.count = self.count_outputs(options)
        self.find(options)
        if not self.arrays:                                            # made by the first forward?
            self.root = copy.deepcopy(self.root)
            self.start(self.root, self.inputs, options)
            del self.root["kept"]
            self.find(options)
        self.parameters = {n: Parameter(x.astype(float)) for n, x in self.arrays.items()}

    def find(self, options: dict) -> None:
        """Find the parameters, the paths of their gradients, and the arrays that have none."""
        self.not_checked = {name: "holds no floats" for name, x in zip(
            self.names.values(), self.inputs) if np.asarray(x).dtype.kind != "f"}
        root, rng = copy.deepcopy(self.root), np.random.default_rng(0)
        before = dict(arrays_in(root))
        y, back = self.start(root, self.inputs, options)
        stays = {path for path, x in arrays_in(root) if before.get(path) is x}
        u = rng.standard_normal(np.shape(y)) if np.ndim(y) else 1.0
        self.readings = self.read(back(u))
        after = dict(arrays_in(root))
        paths: dict[int, list] = {}                                    # of one array, maybe several
        for path, x in arrays_in(self.root):
            paths.setdefault(id(x), [x]).append(path)
        without = []
        for x, *same in paths.values():
            found = [(dotted(path), g) for path in same if path in stays
                     for g in gradient_paths(path, after)]
            if found:
                name, of_gradient = found[0]
                self.arrays[name], self.gradients[name] = x, of_gradient
            else:
                without.append((x, same))
        for x, same in without:
            moved = copy.deepcopy(self.root, {id(x): x + 0.01 * rng.random(x.shape)})
            other, back = self.start(moved, self.inputs, options)
            back(u)
            left = dict(arrays_in(moved)).get(same[0], 0)
            of_last_call = np.array_equal(left, after.get(same[0], 0))
            if set(self.gradients.values()).isdisjoint(same) and not of_last_call:
                depends = not np.array_equal(other, y)
                self.not_checked[dotted(same[0])] = "has no gradient, " + (
                    "though the output depends on it" if depends
                    else "and the output does not depend on it")

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        yield from self.parameters.items()

    def forward(self, *arrays: np.ndarray, **options: Any) -> tuple[Any, Any]:
        root = self.fresh()
        return self.start(root, arrays, options)[0], (arrays, options, root)

    def backward(self, grad_y: Any, cache: Any) -> list:
        arrays, options, _ = cache
        root = self.fresh()
        gradients = self.start(root, arrays, options)[1](grad_y)
        left = dict(arrays_in(root))
        for name, p in self.parameters.items():
            g = left.get(self.gradients[name], np.zeros_like(p.value))
            if np.shape(g) == p.value.shape:                           # else the check reports it
                g = np.add(p.grad, root["factor"] * g, dtype=np.result_type(g, np.float32))
            p.grad = g
        return gradients

    def fresh(self) -> dict:
        """Return a copy of the root with the current parameters, and zeros for the gradients."""
        paths = set(self.gradients.values())
        memo: dict = {id(x): np.zeros_like(x) for path, x in arrays_in(self.root) if path in paths}
        memo |= {id(x): np.array(self.parameters[n].value) for n, x in self.arrays.items()}
        return copy.deepcopy(self.root, memo)

    def start(self, root: dict, arrays: Any, options: dict) -> tuple[Any, Callable]:
        """Call forward in `root`; return (y, a function that calls backward)."""
        free = iter([np.array(x) for x in arrays])
        inputs = [root[name] if name in root else next(free) for name in self.order]
        with repeated(self.state):
            y = root["forward"](*inputs, **copy.deepcopy(options))
            state = np.random.get_state()                              # noqa: NPY002
        if y is None:
            y = getattr(owner_of(root), next(n for n in OUTPUTS if hasattr(owner_of(root), n)))
        y, *rest = y if isinstance(y, tuple) else (y,)
        outputs = [y, *rest[: self.count]]
        if wrong := [type(x).__name__ for x in outputs if not is_floats(x)]:
            raise TypeError(f"an output must be an array of floats, got {wrong[0]}{WRAP}")

        def back(u):
            with repeated(state):
                return self.finish(root, parted(u, outputs), [y, *rest], inputs, options)

        root["kept"] = rest
        return joined(outputs), back

    def count_outputs(self, options: dict) -> int:
        """Return how many results after the first get a gradient from backward's arguments.

        The argument's name tells it; else what backward does with it. Only a gradient can have an
        effect when the gradients before it are zeros: the values of a cache are factors of these.
        """
        self.count, backward = 0, self.root["backward"]
        wanted = [] if backward is None else arguments(backward)[1:]
        for name in wanted:
            root = copy.deepcopy(self.root)
            y, back = self.start(root, self.inputs, options)
            rest = root["kept"]
            if self.count == len(rest) or not is_floats(rest[self.count]):
                break
            told = name not in self.order and upstream(name)
            if not told and not (len(wanted) == len(rest) and any(
                    np.any(g) for _, g in arrays_in(back(np.zeros_like(y))))):
                break
            self.count += 1
        return self.count

    def read(self, gradients: list) -> list[set]:
        """Return the sets of inputs, by number, that may have no gradient."""
        floats = [i for i, x in enumerate(self.inputs) if np.asarray(x).dtype.kind == "f"]
        if len(gradients) == len(self.inputs):
            gradients = [gradients[i] for i in floats]
        if len(gradients) == len(floats):
            none = {i for i, g in zip(floats, gradients) if g is None}
            if self.root["backward"] or any(upstream(n) for n in names_returned(
                    self.root["forward"])[-1:]):
                return [none]
            states = list(itertools.takewhile(
                lambda i: STATE.search(self.names[f"input {i}"]), floats[::-1]))
            return [none | set(states[:n]) for n in range(len(states) + 1)]
        if 0 < len(gradients) < len(floats):                           # targets may have none
            chosen = itertools.combinations(floats, len(gradients))
            return [set(floats) - set(some) for some in chosen]
        return [set()]

    def finish(self, root: dict, grads: list, results: list, inputs: list, options: dict) -> list:
        """Call backward; return the gradients of the inputs, and leave the others in `root`."""
        function, rest = root["backward"], results[len(grads):]
        if function is None:                                           # forward returned them
            return self.sort(root, self.behind_loss(rest), grads[0])
        parameters = inspect.signature(function).parameters
        rates = {name: 1.0 for name in parameters if name in RATES}
        if np.size(results[0]) == 1 and set(arguments(function)) <= set(rates):  # of a loss
            return self.sort(root, function(**rates), grads[0])
        given = dict(zip(self.order, inputs))
        words = {name: x for name, x in given.items() if isinstance(x, np.ndarray)
                 and x.dtype.kind == "U"}
        defaults = {p.name: p.default for p in inspect.signature(
            root["forward"]).parameters.values()
            if p.default is not p.empty and p.name not in (*given, *INPUTS)}
        settings = {n: x for n, x in (defaults | words | options).items() if n in parameters}
        wanted = [name for name in arguments(function)[len(grads):] if name not in rates | settings]
        extra = self.values(wanted, results[0], rest, given)
        if extra is None:
            raise TypeError("backward must take grad_y and a cache, the output or the inputs, got"
                            f" backward({', '.join(parameters)}){WRAP}")
        self.tell(wanted, extra, rest, given, len(grads))
        before = {path: x.copy() for path, x in arrays_in(root)} if rates else {}
        returned = function(*grads, *extra, **(rates | settings))
        now = [(path, x) for path, x in arrays_in(root) if path in before]
        steps = {path: before[path] - x for path, x in now             # W is now W - gradient
                 if before[path].shape == x.shape and np.any(before[path] != x)}
        return self.sort(root, returned, 1.0, steps)

    def behind_loss(self, results: list) -> tuple:
        """Return what of a loss function's results, without the loss, is gradients of inputs."""
        self.notes = ["What stands after the loss was taken for the gradients of"
                      f" {', '.join(self.order)}; a state there is none, leave it out."]
        floats = [x for x in self.inputs if np.asarray(x).dtype.kind == "f"]
        more = len(floats) < len(results) != len(self.inputs)
        if not (more and all(map(is_floats, results))):
            return tuple(results)
        fits = itertools.takewhile(lambda pair: np.shape(pair[0]) == np.shape(pair[1]),
                                   zip(results, floats))
        found = [g for g, _ in fits]
        return tuple(found + [None] * (len(floats) - len(found)))

    def tell(self, wanted: list, extra: list, rest: list, given: dict, count: int) -> None:
        """Note which results of forward backward got as values, and which it did not get."""
        self.not_checked |= {
            f"output {count + i + 1}": "is an output whose gradient backward does not take"
            for i, x in enumerate(rest) if is_floats(x) and not any(x is e for e in extra)}
        self.notes = [f"backward got a result of forward as {name}: call it d{name} if it is to be"
                      " a gradient." for name, x in zip(wanted, extra)
                      if name not in given and is_floats(x) and any(x is r for r in rest)]

    @staticmethod
    def values(wanted: list[str], y: Any, rest: list, given: dict) -> list | None:
        """Return what backward gets after the gradients; None where its arguments do not tell."""
        count = len(wanted)
        if count == 1 and wanted[0] in OUTPUTS:
            return [y]
        if count == len(rest) or not count:
            return rest[:count]
        if set(wanted) <= set(given):
            return [given[name] for name in wanted]
        if count < len(rest) and all(is_floats(x) for x in rest[:-count]):
            return rest[-count:]                                       # a cache after all outputs
        return list(given.values()) if count == len(given) else None

    def sort(self, root: dict, returned: Any, factor: Any, gradients: Any = None) -> list:
        """Return the gradients of the inputs. Put those in a dict or list into root["grads"]."""
        if callable(returned):
            raise TypeError(f"backward must return gradients, got a function{WRAP}")
        if returned is None:
            returned = next((x for key, x in children(owner_of(root)) if any(
                is_gradient(key, name) for name in (*self.order, *INPUTS))), ())
        held = len(self.root) > 2                                      # parameters among the inputs
        several = isinstance(returned, tuple if held else (tuple, list))
        parts = list(returned) if several else [returned]
        if len(parts) == 1 and isinstance(parts[0], tuple):
            parts = list(parts[0])
        root["grads"], root["factor"] = dict(gradients or {}), factor  # of the gradient of a loss
        for part in parts:
            if isinstance(part, (dict, list)):
                root["grads"] |= {key: g for key, g in children(part) if g is not None}
        found = [None if g is None else factor * g
                 for g in parts if not isinstance(g, (dict, list))]
        if len(found) > len(self.inputs) and self.root["backward"]:
            raise TypeError(f"backward must return a gradient for each of {len(self.inputs)}"
                            f" inputs, got {len(found)}{WRAP}")
        if len(found) < len(self.inputs):
            found += [factor * g for name in self.names.values()
                      for key, g in root["grads"].items() if key == name or is_gradient(key, name)]
        return found


def of_torch(module: Any, inputs: tuple, options: dict) -> Adapter:
    """Return an adapter whose backward is PyTorch's autograd, on a float64 copy of the module."""
    torch, is_function = sys.modules["torch"], isinstance(module, type)
    parameters, learned = {}, set()
    if not is_function:
        module = copy.deepcopy(module).cpu().double()
        named = [*module.named_parameters(), *module.named_buffers()]
        parameters = {name: x.detach().numpy().copy() for name, x in named}
        learned = {name for name, x in named if x.requires_grad}

    def forward(parameters, *arrays, **options):
        if any(np.iscomplexobj(x) for x in [*arrays, *parameters.values()]):
            raise TypeError("PyTorch is checked by central differences")
        inputs = [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in arrays]
        values = {name: torch.tensor(x, requires_grad=name in learned)
                  for name, x in parameters.items()}
        with torch.random.fork_rng(devices=[]):                        # dropout repeats
            y = (module.apply(*inputs) if is_function else
                 torch.func.functional_call(module, values, tuple(inputs), options))
        parts = [t for t in tensors_in(y) if torch.is_tensor(t) and t.is_floating_point()]
        y = torch.cat([part.flatten() for part in parts]) if len(parts) > 1 else parts[0]
        return y.detach().numpy(), (y, inputs, values)

    def backward(grad_y, cache):
        y, inputs, values = cache
        moving = [x for x in (*inputs, *values.values()) if x.requires_grad]
        found = [None] * len(moving)
        if y.requires_grad:
            found = torch.autograd.grad(y, moving, torch.as_tensor(grad_y, dtype=y.dtype),
                                        allow_unused=True)
        numbers = iter([np.zeros(x.shape) if g is None else g.numpy()
                        for g, x in zip(found, moving)])
        gradients = [next(numbers) for x in inputs if x.requires_grad]
        return *gradients, {name: next(numbers) for name, x in values.items() if x.requires_grad}

    names = ["", *arguments(module.forward, with_defaults=True)[is_function:]]
    adapter = Adapter(forward, backward, (parameters, *inputs), options, names)
    adapter.title = module.__name__ if is_function else type(module).__name__
    return adapter


def tensors_in(y: Any) -> list:
    """Return the tensors of an output, which may be a tuple of tuples, as that of an LSTM."""
    return [t for part in y for t in tensors_in(part)] if isinstance(y, (tuple, list)) else [y]


class Context:
    """The `ctx` of static functions: it keeps what forward saves for backward."""

    def save_for_backward(self, *arrays: Any) -> None:
        self.saved_values = self.saved_tensors = arrays


def of_context(layer: Any, inputs: tuple, options: dict) -> Adapter:
    """Return an adapter of forward(ctx, ...) and backward(ctx, grad_y), as in minitorch."""
    def forward(*arrays, **options):
        ctx = Context()
        return layer.forward(ctx, *arrays, **options), ctx

    names = arguments(layer.forward, with_defaults=True)[1:]
    adapter = Adapter(forward, lambda d, ctx: layer.backward(ctx, d), inputs, options, names)
    adapter.title = getattr(layer, "__name__", type(layer).__name__)
    return adapter


def is_floats(x: Any) -> bool:
    """Tell whether `x` is an array of floats or a float, so that it may be an output."""
    return isinstance(x, (np.ndarray, np.number, float, list)) and np.asarray(x).dtype.kind in "fc"


def owner_of(root: dict) -> Any:
    """Return the object that forward belongs to."""
    return getattr(root["forward"], "__self__", root["forward"])


@contextlib.contextmanager
def repeated(state: Any) -> Iterator[None]:
    """Set NumPy's global generator to `state` within a `with` block; then put it back."""
    now = np.random.get_state()                                        # noqa: NPY002
    np.random.set_state(state)                                         # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(now)                                       # noqa: NPY002
