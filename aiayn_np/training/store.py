"""One store for many parameters: all values in one array, all gradients in another.

A model has dozens of parameters, most of them small. The optimizer treats all numbers alike, and
clearing the gradients does so too. With a store each is one sweep over one array instead of a visit
to every parameter. The layers do not notice: `Parameter.value` and `Parameter.grad` become views.
"""

import math
from collections.abc import Iterable, Iterator

import numpy as np

from ..module import Module, Parameter

BLOCK = 64 * 1024  # numbers at a time: the temporary arrays of a sweep fit the processor cache


class Store:
    """Adopt parameters of one dtype: `values` and `grads` (n,) hold their numbers in their order.

    Raises TypeError for parameters of several dtypes, and ValueError for a gradient whose shape is
    not that of its value.
    """

    def __init__(self, parameters: Module | Iterable[Parameter]) -> None:
        self.parameters = check_parameters(parameters)
        dtypes = {p.value.dtype for p in self.parameters}
        if len(dtypes) > 1:
            names = " and ".join(sorted(map(str, dtypes)))
            raise TypeError(f"parameters must have one dtype, got {names}")
        for p in self.parameters:
            check_shape(p)
        self.shapes = [p.value.shape for p in self.parameters]
        size = sum(math.prod(shape) for shape in self.shapes)
        self.values, self.grads = np.empty(size, *dtypes), np.empty(size, *dtypes)
        self.views = list(zip(self.split(self.values), self.split(self.grads)))
        for p, (value, grad) in zip(self.parameters, self.views):
            value[...], grad[...] = p.value, p.grad
            p.value, p.grad = value, grad

    def __reduce__(self):
        return Store, (self.parameters,)       # a copy of a view is none: its arrays are made anew

    def gather(self) -> None:
        """Take in the gradients that were assigned; ValueError if a value was."""
        for p, (value, grad) in zip(self.parameters, self.views):
            if p.value is not value:
                raise ValueError("parameters must keep the arrays that the optimizer gave them, but"
                                 f" a value of shape {p.value.shape}, {p.value.dtype}, was assigned"
                                 " or cast since: make a new optimizer")
            if p.grad is not grad:
                check_shape(p)
                grad[...], p.grad = p.grad, grad

    def finite(self) -> bool:
        """Tell whether every gradient is finite: so is its square, unless the gradient is huge."""
        self.gather()
        return bool(np.isfinite(np.vdot(self.grads, self.grads)) or np.isfinite(self.grads).all())

    def check_finite(self) -> None:
        """Refuse gradients that are not finite, and name the first parameter that has one."""
        if self.finite():
            return
        number, shape = next((i, grad.shape) for i, (_, grad) in enumerate(self.views)
                             if not np.isfinite(grad).all())
        raise ValueError(f"grad must be finite, got nan or inf in that of parameter {number},"
                         f" of shape {shape}")

    def split(self, array: np.ndarray) -> list[np.ndarray]:
        """Return views of the parts of an array like `values`, in the parameters' shapes."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])
        return [part.reshape(shape) for part, shape in
                zip(np.split(array, ends[:-1]), self.shapes)]

    def blocks(self, *arrays: np.ndarray) -> Iterator[list[np.ndarray]]:
        """Walk through arrays like `values` side by side, BLOCK numbers at a time."""
        for start in range(0, self.values.size, BLOCK):
            yield [array[start : start + BLOCK] for array in arrays]


def check_parameters(parameters):
    """Return those of a model or of an iterable as a list, at least one, each of them once."""
    if isinstance(parameters, Module):
        parameters = parameters.parameters()
    found = list(parameters) if isinstance(parameters, Iterable) else [None]
    if not all(isinstance(p, Parameter) for p in found):
        raise TypeError("parameters must be a model, or Parameter objects: model.parameters()")
    if not found:
        raise ValueError("parameters must hold at least one Parameter, got none")
    return list(dict.fromkeys(found))


def check_shape(parameter):
    """Refuse a gradient of another shape than its value, and a complex one of a real value.

    The first would be broadcast, and the second would lose its imaginary part.
    """
    value, grad = parameter.value, parameter.grad
    if np.shape(grad) != value.shape:
        raise ValueError(f"grad must have the shape of the value, {value.shape}, got"
                         f" {np.shape(grad)}")
    if np.iscomplexobj(grad) and not np.iscomplexobj(value):
        raise TypeError(f"grad of shape {value.shape} must be real as its value is, got"
                        f" {grad.dtype}")
