"""AdamW and the cosine schedule, with which models since 2017 are trained."""

import math
from collections.abc import Iterable

from ..checks import check_number, check_sizes
from ..module import Module, Parameter
from ..training.optimizer import Adam


def cosine_rate(step: int, steps: int, *, peak: float, warmup_steps: int,
                least: float = 0.1) -> float:
    """Return the rate at `step` = 1 ... steps: linear up to `peak`, then half a cosine down.

    It is peak * step / warmup_steps up to warmup_steps, and then falls from `peak` to `least` *
    peak (Loshchilov and Hutter, 2017, Eq. 5). Raises ValueError for a step below 1.
    """
    check_sizes(step=step, steps=steps, warmup_steps=warmup_steps)
    check_number("peak", peak, 0, math.inf)
    check_number("least", least, 0, 1)
    if step <= warmup_steps:
        return peak * step / warmup_steps
    done = min(1.0, (step - warmup_steps) / max(1, steps - warmup_steps))
    return peak * (least + (1 - least) * (1 + math.cos(math.pi * done)) / 2)


class AdamW(Adam):
    """Adam with a decay of values, apart from the gradient          Loshchilov and Hutter, 2019

    value -= rate * (m_hat / (sqrt(v_hat) + eps) + decay * value)
    If decay * value were added to the gradient, Adam would divide it by the size of the gradient.
    Then a weight with large gradients would hardly decay.

    parameters: a model, or an iterable of Parameter.   decayed: the parameters that decay; None:
    all. Usually these are the matrices, `matrices(model)`, and not the gains and biases.
    """

    def __init__(self, parameters: Module | Iterable[Parameter], *, beta_1: float = 0.9,
                 beta_2: float = 0.999, eps: float = 1e-08, decay: float = 0.01,
                 decayed: Iterable[Parameter] | None = None) -> None:
        super().__init__(parameters, beta_1=beta_1, beta_2=beta_2, eps=eps)
        check_number("decay", decay, 0, math.inf)
        self.decay = float(decay)
        self.decayed = self.parameters if decayed is None else list(decayed)
        if not {*self.decayed} <= {*self.parameters}:
            raise ValueError("decayed must hold only parameters of this optimizer")

    def update(self, rate: float) -> None:
        """Multiply the decayed parameters by 1 - rate * decay, then update as Adam does."""
        for parameter in self.decayed:
            parameter.value *= 1 - rate * self.decay
        super().update(rate)


def matrices(model: Module) -> list[Parameter]:
    """Return the parameters of a model with two axes or more: no gains and no biases."""
    return [parameter for parameter in model.parameters() if parameter.value.ndim > 1]
