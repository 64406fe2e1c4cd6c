"""A layer whose parts were named: its functions, its parameters and their gradients.

Nothing is guessed here. The functions are called as they are, so they may read what they like: an
object, a closure, the globals of a notebook. For each call the values to try are written into the
arrays of `parameters`. These hold no complex numbers, so the central difference decides.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..module import Parameter
from .finding import WITHOUT, arguments


def joined(outputs: Any) -> Any:
    """Return one output as it is, and several as one vector, end to end."""
    return outputs[0] if len(outputs) == 1 else np.concatenate([np.ravel(x) for x in outputs])


def parted(u: Any, outputs: Any) -> list:
    """Return the part of `u`, which is of all outputs end to end, that belongs to each."""
    cuts = np.cumsum([np.size(x) for x in outputs])[:-1]
    return [u] if len(outputs) == 1 else [
        g.reshape(np.shape(x)) for g, x in zip(np.split(u, cuts), outputs)]


class Described:
    """A layer in the form that the check calls, made by ``as_layer(forward=, backward=, ...)``."""

    def __init__(self, forward: Callable, backward: Callable, parameters: dict,
                 gradients: dict | Callable) -> None:
        self.functions, self.values, self.gradients = (forward, backward), parameters, gradients
        owner = getattr(forward, "__self__", forward)
        self.title = getattr(owner, "__name__", type(owner).__name__)
        self.names = {f"input {i}": n for i, n in enumerate(arguments(forward, True))}
        self.not_checked: dict[str, str] = {}
        self.notes: list[str] = []
        self.parameters: dict[str, Parameter] = {}

    def __deepcopy__(self, memo: dict) -> "Described":
        return self                                                    # its functions hold arrays

    def prepared(self, inputs: tuple, options: dict) -> "Described":
        """Call both functions once, and note what has no gradient."""
        self.inputs, fixed, self.not_checked = inputs, set(), {}
        self.parameters = {n: Parameter(np.array(x)) for n, x in self.values.items()}
        y, cache = self.forward(*inputs, **options)
        returned, found = self.call_backward(np.ones(np.shape(y)), cache)
        self.parameters = {n: p for n, p in self.parameters.items() if n in found}
        self.not_checked = {n: WITHOUT for n in self.values if n not in found}
        for i, x in enumerate(inputs):
            name = self.names.get(f"input {i}", f"input {i}")
            if np.asarray(x).dtype.kind != "f":
                self.not_checked[name] = "holds no floats"
            elif i < len(returned) and returned[i] is None:
                fixed.add(i)
        self.readings = [fixed]
        return self

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        yield from self.parameters.items()

    def forward(self, *arrays: Any, **options: Any) -> tuple[Any, Any]:
        with self.in_place():
            outputs, kept = self.call_forward(arrays, options)
        return joined(outputs), (arrays, options, kept)

    def backward(self, grad_y: Any, cache: Any) -> list:
        returned, found = self.call_backward(grad_y, cache)
        for name, p in self.parameters.items():
            p.grad = p.grad + found[name] if np.shape(found[name]) == p.value.shape else found[name]
        return returned

    def call_forward(self, arrays: Any, options: dict) -> tuple[list, list]:
        """Return (outputs, [cache] or [])."""
        returned = self.functions[0](*[np.array(x) for x in arrays], **options)
        y, *kept = returned if isinstance(returned, tuple) else (returned,)
        return list(y) if isinstance(y, tuple) else [y], kept

    def call_backward(self, grad_y: Any, cache: Any) -> tuple[list, dict]:
        """Run forward and backward; return the gradients of the inputs, and those by name."""
        with self.in_place():
            for g in self.left().values():
                if isinstance(g, np.ndarray):
                    g[...] = 0
            outputs, kept = self.call_forward(*cache[:2])
            grads = parted(grad_y, outputs)
            returned = self.functions[1](grads[0] if len(grads) == 1 else tuple(grads), *kept)
            found = {n: np.array(g) for n, g in self.left().items() if g is not None}
        parts = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        if parts and isinstance(parts[-1], dict):
            found |= parts.pop()
        parts += [found.get(n) for n in list(self.names.values())[len(parts) : len(self.inputs)]]
        return parts, found

    def left(self) -> dict:
        """Return the gradients where backward leaves them."""
        return self.gradients() if callable(self.gradients) else self.gradients

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Put the values to try into the arrays that forward reads, within a `with` block."""
        if any(np.iscomplexobj(p.value) for p in self.parameters.values()):
            raise TypeError("arrays that are written in place hold no complex numbers")
        before = {name: np.array(self.values[name]) for name in self.parameters}
        try:
            for name, p in self.parameters.items():
                self.values[name][...] = p.value
            yield
        finally:
            for name, value in before.items():
                self.values[name][...] = value
