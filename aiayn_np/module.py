"""The protocol that every layer follows: Parameter, Cache and Module, and nothing about attention.

    y, cache = layer.forward(*arrays, **options)   arrays: the variables of the gradient
    grad     = layer.backward(grad_y, cache)       one gradient per array, same order, shape, dtype

A layer holds parameters and hyper-parameters and nothing else. The cache that a forward returns has
all numbers that its backward needs, so one layer may run forward many times before any of its
backwards. `backward` adds to `Parameter.grad` and writes to nothing else.
A layer holds its parameters and sub-layers in attributes, lists, tuples and dicts. In a set, for
example, they would not be found.
A layer that draws its parameters takes `rng`. `rng=None` draws nothing and leaves the arrays empty
(np.empty), for a caller who fills in every value, as `load_state_dict` and `models` do.
A result may be an argument itself (a dropout that drops nothing returns x). So do not write into
results either.
"""

from collections.abc import Iterator, Mapping
from types import SimpleNamespace

import numpy as np

from .checks import FLOATS, check_array

Rng = np.random.Generator | None  # None: a forward drops nothing, a constructor draws nothing


class Parameter:
    """A learned array `value`, and `grad` of the same shape. Every backward adds to `grad`."""

    def __init__(self, value: np.ndarray):
        check_array("value", value)
        self.value = value
        self.grad = np.zeros(value.shape, value.dtype)

    @classmethod
    def normal(cls, deviation: float, shape: tuple, rng: Rng) -> "Parameter":
        """Draw from N(0, deviation^2); without `rng` the values are those of np.empty."""
        return cls(np.empty(shape) if rng is None else rng.normal(0, deviation, shape))

    @classmethod
    def uniform(cls, limit: float, shape: tuple, rng: Rng) -> "Parameter":
        """Draw from [-limit, limit); without `rng` the values are those of np.empty."""
        return cls(np.empty(shape) if rng is None else rng.uniform(-limit, limit, shape))

    def zero_grad(self) -> None:
        """Set `grad` to zeros, in place unless `value` now has another shape or dtype."""
        if np.shape(self.grad) == self.value.shape and self.grad.dtype == self.value.dtype:
            self.grad[...] = 0
        else:
            self.grad = np.zeros_like(self.value)

    def __repr__(self):
        return f"Parameter{self.value.shape} {self.value.dtype}"


class Cache(SimpleNamespace):
    """The arrays of one forward. Its attributes repeat the module's names; `print` lists them.

    `freeze` names the array that `reading.frozen` sets to zero; None if there is none.

    >>> print(Cache(Q=np.zeros((2, 3)), softmax=Cache(y=np.ones(3))))
    Q          (2, 3)  float64
    softmax.y  (3,)    float64
    2 arrays, 72 bytes
    """

    def __repr__(self):
        return table(dict(leaves(self, np.ndarray)))


class Module:
    """Base of every layer. Subclasses write `forward` and `backward`."""
    formula = ""  # of forward, in one line, for tables and pages
    position_wise = False  # whether each position (in attention: each query) is computed alone
    kept_at: tuple[str, ...] = ()  # path endings of the layers whose keys decoding may keep

    def __call__(self, *arrays, **options):
        return self.forward(*arrays, **options)[0]

    def forward(self, *arrays, **options):
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def backward(self, grad_y, cache):
        raise NotImplementedError(f"{type(self).__name__} has no backward")

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Yield (dotted name, Parameter); a shared Parameter comes once, with its first name."""
        seen = set()
        for name, parameter in leaves(self, Parameter):
            if id(parameter) not in seen:
                seen.add(id(parameter))
                yield name, parameter

    def parameters(self) -> Iterator[Parameter]:
        """Yield every Parameter once."""
        return (parameter for _, parameter in self.named_parameters())

    def zero_grad(self) -> None:
        """Clear the gradient of every parameter."""
        for parameter in self.parameters():
            parameter.zero_grad()

    def astype(self, dtype):
        """Cast every parameter (float32 for speed, float64 for checks) and return this model."""
        if np.dtype(dtype).char not in FLOATS:
            raise TypeError(f"dtype must be float32, float64 or complex128, got {np.dtype(dtype)}")
        for parameter in self.parameters():
            parameter.value = parameter.value.astype(dtype)
            parameter.grad = np.zeros(parameter.value.shape, dtype)
        return self

    def state_dict(self) -> dict[str, np.ndarray]:
        """Return {dotted name: copy of the value}."""
        return {name: parameter.value.copy() for name, parameter in self.named_parameters()}

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Write `state` into the parameters, in place and in their dtype; all values or none."""
        self.check_state_dict(state)
        for name, parameter in self.named_parameters():
            parameter.value[...] = state[name]

    def check_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Refuse a value that is not a state of this model.

        Raises KeyError when names are missing or unknown, ValueError for a wrong shape and
        TypeError for anything but a real array.
        """
        parameters = dict(self.named_parameters())
        if missing := [name for name in parameters if name not in state]:
            raise KeyError(f"state must hold every parameter, missing {', '.join(missing)}")
        if unknown := [name for name in state if name not in parameters]:
            raise KeyError(f"state must hold nothing else, got unknown {', '.join(unknown)}")
        for name, parameter in parameters.items():
            value = state[name]
            if not isinstance(value, np.ndarray) or value.dtype.char not in "fd":
                got = getattr(value, "dtype", type(value).__name__)
                raise TypeError(f"{name} must be a float32 or float64 array, got {got}")
            if value.shape != parameter.value.shape:
                raise ValueError(f"{name} must have shape {parameter.value.shape}, got"
                                 f" {value.shape}")

    def __repr__(self):
        values = {name: parameter.value for name, parameter in self.named_parameters()}
        total = sum(value.size for value in values.values())
        return f"{type(self).__name__} with {total:,} parameters\n{table(values)}"


def leaves(node, kind, path=""):
    """Yield (dotted path, object) for every object of type `kind` at or below a Module or Cache."""
    if isinstance(node, kind):
        yield path, node
    for name, child in children(node):
        if isinstance(child, (kind, Module, Cache, list, tuple, dict)):
            yield from leaves(child, kind, f"{path}.{name}" if path else str(name))


def children(node):
    """Return (name, child) pairs of a Module, Cache, list, tuple or dict; () for anything else."""
    if isinstance(node, (list, tuple)):
        return enumerate(node)
    node = vars(node) if isinstance(node, (Module, Cache)) else node
    return node.items() if isinstance(node, dict) else ()


def table(arrays):
    """Format {dotted name: array} as aligned lines of name, shape and dtype, and a total."""
    name_width = max((len(name) for name in arrays), default=0)
    shape_width = max((len(str(array.shape)) for array in arrays.values()), default=0)
    lines = [f"{n:<{name_width}}  {a.shape!s:<{shape_width}}  {a.dtype}" for n, a in arrays.items()]
    size = sum({id(array): array.nbytes for array in arrays.values()}.values())
    return "\n".join([*lines, f"{len(arrays)} arrays, {size:,} bytes"])
