"""Checks of training: a seed, a gradient, targets, parameters, and numbers that are not finite.

A message says what must hold, then what was given, as in the checks of the layers.
"""

from collections.abc import Iterable

import numpy as np

from ..checks import check_array, check_ids, is_integer
from ..module import Cache, Module, Parameter, leaves


def check_seed(seed: int) -> None:
    """A seed that a numpy Generator takes."""
    if not is_integer(seed) or seed < 0:
        raise ValueError(f"seed must be an integer of at least 0, got seed={seed!r}")


def check_scalar(name, value):
    """Return a real number, given as a number or an array without axes, as a float."""
    value = np.asarray(value)
    if value.dtype.kind not in "fiu":
        raise TypeError(f"{name} must be a real number, got {value.dtype}")
    if value.shape != ():
        raise ValueError(f"{name} must have the shape of y, (), got {value.shape}")
    return float(value)


def check_targets(logits, targets, pad):
    """Return targets as ids, one for each position of the logits, not all of them padding."""
    check_array("logits", logits, min_ndim=2)
    targets = check_ids("targets", targets, logits.shape[-1])
    if targets.shape != logits.shape[:-1]:
        raise ValueError("targets must have the shape of logits without its last axis,"
                         f" {logits.shape[:-1]}, got {targets.shape}")
    if targets.size and (targets == pad).all():
        raise ValueError(f"targets must hold at least one id that is not pad={pad}")
    return targets


def check_parameters(parameters: object) -> list[Parameter]:
    """Return those of a model or of an iterable as a list, at least one, each of them once."""
    if isinstance(parameters, Module):
        parameters = parameters.parameters()
    found: list = list(parameters) if isinstance(parameters, Iterable) else [None]
    if not all(isinstance(p, Parameter) for p in found):
        raise TypeError("parameters must be a model, or Parameter objects: model.parameters()")
    if not found:
        raise ValueError("parameters must hold at least one Parameter, got none")
    return list(dict.fromkeys(found))


def first_not_finite(loss: float, model: Module, cache: Cache | None = None) -> str:
    """Return the name of the first tensor that is not finite; "" if the loss is.

    It looks at the values, then at the cache, then at the gradients.
    """
    if np.isfinite(loss):
        return ""
    tensors = {name: p.value for name, p in model.named_parameters()}
    tensors |= {f"cache.{name}": array for name, array in leaves(cache, np.ndarray)}
    tensors |= {f"{name}.grad": p.grad for name, p in model.named_parameters()}
    return next((name for name, x in tensors.items() if not np.isfinite(x).all()), "loss")
