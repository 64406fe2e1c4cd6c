"""One store for many parameters: all values in one array, all gradients in another.

A model has dozens of parameters, most of them small. The optimizer and `zero_grad` treat all
numbers alike. With a store, each of the two is one sweep over one array instead of a visit to every
parameter. The layers do not notice: `Parameter.value` and `Parameter.grad` become views.
"""

import math
from collections.abc import Iterable, Iterator

import numpy as np

from ..module import Module, Parameter

BLOCK = 64 * 1024  # numbers at a time, so that the temporary arrays fit the processor cache


class Store:
    """Join parameters of one dtype: arrays `values` and `grads` (n,) hold their numbers in order.

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
        return Store, (self.parameters,)       # copied views share no memory: make new arrays

    def gather(self) -> None:
        """Copy assigned gradients into the store; raise ValueError if a value was assigned."""
        for p, (value, grad) in zip(self.parameters, self.views):
            if p.value is not value:
                raise ValueError("parameters must keep the arrays that the optimizer gave them, but"
                                 f" a value of shape {p.value.shape}, {p.value.dtype}, was assigned"
                                 " or cast since: make a new optimizer")
            if p.grad is not grad:
                check_shape(p)
                grad[...], p.grad = p.grad, grad

    def finite(self) -> bool:
        """Tell whether every gradient is finite; a finite sum of squares shows it in one sweep."""
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
        """Split an array (n,) into views, one for each parameter and in its shape."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])
        return [part.reshape(shape) for part, shape in
                zip(np.split(array, ends[:-1]), self.shapes)]

    def blocks(self, *arrays: np.ndarray) -> Iterator[list[np.ndarray]]:
        """Yield the same BLOCK numbers of several arrays (n,), block by block."""
        for start in range(0, self.values.size, BLOCK):
            yield [array[start : start + BLOCK] for array in arrays]


def check_parameters(parameters):
    """Return the parameters of a model or an iterable as a list without repetitions, not empty."""
    if isinstance(parameters, Module):
        parameters = parameters.parameters()
    found = list(parameters) if isinstance(parameters, Iterable) else [None]
    if not all(isinstance(p, Parameter) for p in found):
        raise TypeError("parameters must be a model, or Parameter objects: model.parameters()")
    if not found:
        raise ValueError("parameters must hold at least one Parameter, got none")
    return list(dict.fromkeys(found))


def check_shape(parameter):
    """Refuse a gradient whose shape is not its value's, and a complex gradient of a real value.

    A wrong shape would be broadcast, and complex numbers would lose their imaginary parts.
    """
    value, grad = parameter.value, parameter.grad
    if np.shape(grad) != value.shape:
        raise ValueError(f"grad must have the shape of the value, {value.shape}, got"
                         f" {np.shape(grad)}")
    if np.iscomplexobj(grad) and not np.iscomplexobj(value):
        raise TypeError(f"grad of shape {value.shape} must be real as its value is, got"
                        f" {grad.dtype}")
