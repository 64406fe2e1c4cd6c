"""Checks of training: a seed, a gradient, targets, options, and numbers that are not finite.

A message says what must hold, then what was given, as in the checks of the layers.
"""

import numpy as np

from ..checks import check_array, check_ids, is_integer
from ..module import Cache, Module, leaves
from .optimizer import Adam


def check_seed(seed: int) -> None:
    """Refuse a seed that a numpy Generator does not take."""
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
    """Return targets as ids, one for each position of the logits; all padding is refused."""
    check_array("logits", logits, min_ndim=2)
    targets = check_ids("targets", targets, logits.shape[-1])
    if targets.shape != logits.shape[:-1]:
        raise ValueError("targets must have the shape of logits without its last axis,"
                         f" {logits.shape[:-1]}, got {targets.shape}")
    if targets.size and (targets == pad).all():
        raise ValueError(f"targets must hold at least one id that is not pad={pad}")
    return targets


def check_optimizer(model, optimizer):
    """Refuse an optimizer that could not train the model."""
    if not isinstance(optimizer, Adam):
        raise TypeError(f"optimizer must be an Adam, got {optimizer!r}")
    if not {*optimizer.parameters} <= {*model.parameters()}:
        raise ValueError("optimizer must hold parameters of the model that is trained, not of"
                         " another one or of a copy")


def check_finite(step: int, loss: float, not_finite: str, model: Module, optimizer: Adam) -> None:
    """Stop at the first step whose loss or gradient is not finite, and name the tensor."""
    if not (np.isfinite(loss) and optimizer.store.finite()):
        name = not_finite or first_not_finite(model)
        raise FloatingPointError(f"step {step}: loss {loss},"
                                 f" first tensor that is not finite: {name}")


def first_not_finite(model: Module, cache: Cache | None = None) -> str:
    """Return the name of the first value, cached array or gradient that is not finite."""
    tensors = {name: p.value for name, p in model.named_parameters()}
    tensors |= {f"cache.{name}": array for name, array in leaves(cache, np.ndarray)}
    tensors |= {f"{name}.grad": p.grad for name, p in model.named_parameters()}
    return next((name for name, x in tensors.items() if not np.isfinite(x).all()), "loss")
