"""Record the outputs of a model's layers, and the gradients of these outputs."""

import copy
import functools
from typing import Any

import numpy as np

from ..module import Cache, Module, Parameter, leaves


class Recording:
    """One forward of a copy of a model, and the output of each of its layers.

    The copy shares the values of the model and has gradients of its own.
    cache, logits : what the forward returned
    layers, outputs, caches : {path in the cache: the layer, its output, its cache}
    numbers : {path: which call of a layer it was}
    given : {number of a call: the output to use in place of the layer's own}
    """

    def __init__(self, model: Module, *ids: np.ndarray,
                 given: dict[int, np.ndarray] | None = None) -> None:
        named = dict(model.named_parameters())
        twins = {id(p): Parameter(p.value) for p in named.values()}
        self.parameters = {name: twins[id(p)] for name, p in named.items()}
        self.model: Any = copy.deepcopy(model, twins)
        self.given = given or {}
        self.calls: list[tuple] = []
        self.gradients: dict[int, np.ndarray] = {}
        for layer in {id(layer): layer for _, layer in leaves(self.model, Module)}.values():
            wrapped: Any = layer
            wrapped.forward = functools.partial(self.note_output, layer, layer.forward)
            wrapped.backward = functools.partial(self.note_gradient, layer.backward)
        self.logits, self.cache = self.model.forward(*ids)
        self.caches = dict(leaves(self.cache, Cache))
        paths = {id(node): path for path, node in self.caches.items()}
        calls = [(paths.get(id(cache)), layer, y) for layer, y, cache in self.calls]
        self.layers = {path: layer for path, layer, _ in calls}
        self.outputs = {path: y for path, _, y in calls}
        self.numbers = {path: number for number, (path, _, _) in enumerate(calls)}

    def note_output(self, layer, forward, *arrays, **options):
        """Call a layer's forward. Note and return its output, or the one in `given`."""
        y, cache = forward(*arrays, **options)
        y = self.given.get(len(self.calls), y)
        self.calls.append((layer, y, cache))
        return y, cache

    def note_gradient(self, backward, grad_y, cache):
        """Note the gradient of a layer's output, and call its backward."""
        self.gradients[id(cache)] = grad_y
        return backward(grad_y, cache)

    def backward(self, grad_logits: np.ndarray,
                 cache: Cache) -> tuple[dict[str, np.ndarray], float]:
        """Return {path: gradient of the output}, and the share of the biases.

        cache : one with the parts of `self.cache`, such as frozen(self.cache)

        The biases are the parameters b and beta, which their layers add. Their share is the sum of
        value times gradient. A bias may be -inf where its gradient is zero.
        """
        for parameter in self.parameters.values() if self.gradients else ():
            parameter.zero_grad()                                      # left by the last backward
        self.gradients.clear()
        self.model.backward(grad_logits, cache)
        noted = {path: self.gradients[id(node)] for path, node in leaves(cache, Cache)
                 if id(node) in self.gradients}
        biases = 0.0
        for name, parameter in self.parameters.items():
            if name.split(".")[-1] in ("b", "beta"):
                used = parameter.grad != 0
                biases += float((parameter.value[used] * parameter.grad[used]).sum())
        return noted, biases
