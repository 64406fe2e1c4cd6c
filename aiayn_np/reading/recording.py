"""Record the outputs of a model's layers, and the gradients of these outputs."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..module import Cache, Module, Parameter, children


class Noted:
    """One array for each part of a cache; `noted[path]` is the array of the part at this path."""

    def __init__(self, cache: Cache, arrays: dict[int, np.ndarray]) -> None:
        self.cache, self.arrays = cache, arrays

    def __getitem__(self, path: str) -> np.ndarray:
        part: Any = self.cache
        for name in path.split(".") if path else ():
            part = {str(n): child for n, child in children(part)}[name]
        return self.arrays[id(part)]


class Recording:
    """One forward of a copy of a model, and the output of each of its layers.

    The copy shares the values of the model. Its biases have gradients of their own. All other
    parameters share one array for their gradients, since nobody reads them.
    cache, logits : the results of the forward
    given : {number of a call: an output that replaces the layer's own}
    noted : the attributes of the model whose layers are noted; None: all
    """

    def __init__(self, model: Module, *ids: np.ndarray,
                 given: dict[int, np.ndarray] | None = None,
                 noted: tuple[str, ...] | None = None) -> None:
        self.given = given or {}
        self.noted = noted
        self.calls: list[tuple] = []
        self.gradients: dict[int, np.ndarray] = {}
        self.parameters: dict[int, Parameter] = {}
        self.biases: list[Parameter] = []
        self.unread = np.zeros(0)
        self.model = self.copy_of(model)
        self.logits, self.cache = self.model.forward(*ids)
        self.outputs = Noted(self.cache, {id(cache): y for _, y, cache in self.calls})

    def copy_of(self, node: Any, name: str = "") -> Any:
        """Return a copy of a part of the model; its layers note their inputs and outputs."""
        if isinstance(node, Module):
            layer: Any = object.__new__(type(node))
            vars(layer).update((n, self.copy_of(part, n)) for n, part in vars(node).items())
            if self.noted is None or name in self.noted:
                layer.forward = partial(self.note_output, layer, layer.forward)
                layer.backward = partial(self.note_gradient, layer.backward)
            return layer
        if isinstance(node, Parameter):
            return self.parameters.get(id(node)) or self.new_parameter(node, name)
        if isinstance(node, (list, tuple)):
            return type(node)(self.copy_of(part) for part in node)
        if isinstance(node, dict):
            return {n: self.copy_of(part, n) for n, part in node.items()}
        return node

    def new_parameter(self, node: Parameter, name: str) -> Parameter:
        """Return the copy of a parameter; only a bias gets a gradient of its own."""
        copy = self.parameters[id(node)] = Parameter(node.value)
        if name in ("b", "beta"):
            self.biases.append(copy)
            return copy
        if self.unread.size < copy.value.size or self.unread.dtype != copy.value.dtype:
            self.unread = copy.grad.ravel()
        copy.grad = self.unread[: copy.value.size].reshape(copy.value.shape)
        return copy

    def note_output(self, layer: Module, forward: Callable, *arrays: Any, **options: Any) -> tuple:
        """Call a layer's forward. Note and return its output, or its replacement from `given`."""
        y, cache = forward(*arrays, **options)
        y = self.given.get(len(self.calls), y)
        self.calls.append((layer, y, cache))
        return y, cache

    def note_gradient(self, backward: Callable, grad_y: np.ndarray, cache: Cache) -> Any:
        """Note the gradient of a layer's output, and call its backward."""
        self.gradients[id(cache)] = grad_y
        return backward(grad_y, cache)

    def backward(self, grad_logits: np.ndarray, cache: Cache) -> tuple[Noted, float]:
        """Return the gradients of the outputs by path, and the share of the biases.

        cache : a cache with the parts of `self.cache`, such as frozen(self.cache)

        The biases are the parameters b and beta, which their layers add. Their share is the sum of
        value times gradient. A bias may be -inf if its gradient is zero.
        """
        for bias in self.biases:
            bias.zero_grad()                                  # clears the last backward's gradients
        self.gradients.clear()
        self.model.backward(grad_logits, cache)
        biases = 0.0
        for bias in self.biases:
            used = bias.grad != 0
            biases += float(bias.value[used] @ bias.grad[used])
        return Noted(cache, dict(self.gradients)), biases
