"""A layer of PyTorch as forward and backward of NumPy arrays, for the gradient check."""

import copy
import sys
from typing import Any

import numpy as np

from .finding import arguments, leaves


def is_of_torch(layer: Any) -> bool:
    """Tell whether a layer is a Module of PyTorch, or an autograd Function."""
    torch = sys.modules.get("torch")                         # None if no layer can be of PyTorch
    return torch is not None and (isinstance(layer, torch.nn.Module) or (
        isinstance(layer, type) and issubclass(layer, torch.autograd.Function)))


def of_torch(module: Any) -> dict:
    """Return the fields of a Layer whose backward is autograd, on a float64 copy of the module."""
    torch, is_function = sys.modules["torch"], isinstance(module, type)
    held: dict = {}
    if not is_function:
        module = copy.deepcopy(module).cpu().double()
        held = dict([*module.named_parameters(), *module.named_buffers()])
    learned = {name: x for name, x in held.items() if x.requires_grad}

    def forward(*arrays, **options):
        if any(np.iscomplexobj(x) for x in arrays):
            raise TypeError("PyTorch is checked by central differences")
        inputs = [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in arrays]
        with torch.random.fork_rng(devices=[]):                        # dropout repeats
            y = (module.apply if is_function else module)(*inputs, **options)
        parts = [t for t in leaves(y) if torch.is_tensor(t) and t.is_floating_point()]
        y = torch.cat([part.flatten() for part in parts]) if len(parts) > 1 else parts[0]
        return y.detach().numpy(), (y, inputs)

    def backward(grad_y, cache):
        y, inputs = cache
        moving = [x for x in (*inputs, *learned.values()) if x.requires_grad]
        found = [None] * len(moving)
        if y.requires_grad:
            found = torch.autograd.grad(y, moving, torch.as_tensor(grad_y, dtype=y.dtype),
                                        allow_unused=True)
        numbers = iter([np.zeros(x.shape) if g is None else g.numpy()
                        for g, x in zip(found, moving)])
        gradients = [next(numbers) if x.requires_grad else None for x in inputs]
        return *gradients, dict(zip(learned, numbers))

    parameters = {name: x.detach().numpy() for name, x in held.items()}
    names = arguments(module.forward, with_defaults=True)[is_function:]
    return dict(forward=forward, backward=backward, parameters=parameters, names=names,
                title=(module if is_function else type(module)).__name__)
