"""Adam and the warm-up schedule: Sec. 5.3."""

from collections.abc import Iterable

import numpy as np

from ..checks import check_number, check_sizes
from ..module import Module, Parameter
from .store import Store


def warmup_rate(step: int, d_model: int, warmup_steps: int, scale: float = 1.0) -> float:
    """Return the learning rate of Eq. (3) at `step` = 1, 2, ..., times `scale` (1 in the paper).

    d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5): it rises linearly for `warmup_steps`
    steps and then falls with the inverse square root. Raises ValueError for integers below 1.
    """
    check_sizes(step=step, d_model=d_model, warmup_steps=warmup_steps)
    check_number("scale", scale, 0, float("inf"))
    return scale * float(d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5))


class Adam:
    """Adam with the paper's constants                                 Sec. 5.3; Kingma and Ba

    m = beta_1 m + (1 - beta_1) grad          mean of the gradient
    v = beta_2 v + (1 - beta_2) grad^2        mean of its square
    value -= rate * m_hat / (sqrt(v_hat) + eps),    m_hat = m / (1 - beta_1^t), v_hat likewise
    Both means start at zero. The division corrects the bias of this start in the first steps.

    parameters: a model, or an iterable of Parameter.
    All values stand side by side in one array, all gradients in another (see Store), so that each
    line of `step` is one sweep. For this, Adam rebinds `value` and `grad` of every parameter to
    views of the two arrays. A model that gets new arrays later, as by `astype`, needs a new Adam.
    """

    def __init__(self, parameters: Module | Iterable[Parameter], *, beta_1: float = 0.9,
                 beta_2: float = 0.98, eps: float = 1e-09) -> None:
        check_number("beta_1", beta_1, 0, 1)
        check_number("beta_2", beta_2, 0, 1)
        check_number("eps", eps, 0, 1, open_low=True)
        self.beta_1, self.beta_2, self.eps = float(beta_1), float(beta_2), float(eps)
        self.t = 0
        self.store = Store(parameters)
        self.parameters = self.store.parameters
        self.all_m = np.zeros_like(self.store.values)
        self.all_v = np.zeros_like(self.store.values)

    @property
    def m(self) -> list[np.ndarray]:
        """Return the means of the gradients, a view for each parameter."""
        return self.store.split(self.all_m)

    @property
    def v(self) -> list[np.ndarray]:
        """Return the means of the squared gradients, a view for each parameter."""
        return self.store.split(self.all_v)

    def gradients(self) -> np.ndarray:
        """Return all gradients in one array, also gradients assigned since the last step."""
        self.store.gather()
        return self.store.grads

    def zero_grad(self) -> None:
        """Clear the gradients of all parameters at once."""
        self.gradients()[...] = 0

    def step(self, rate: float) -> None:
        """Update every parameter in place. The rate must lie in [0, inf), gradients be finite."""
        check_number("rate", rate, 0, float("inf"))
        self.store.check_finite()
        self.t += 1
        self.update(float(rate))

    def update(self, rate: float) -> None:
        """Change every value by its gradient; `step` has checked the gradients."""
        store = self.store
        unbias_m, unbias_v = 1 / (1 - self.beta_1**self.t), 1 / (1 - self.beta_2**self.t)
        for value, grad, m, v in store.blocks(store.values, store.grads, self.all_m, self.all_v):
            m *= self.beta_1
            m += (1 - self.beta_1) * grad
            v *= self.beta_2
            v += (1 - self.beta_2) * grad * grad
            change = m * unbias_m                                  # m_hat, then in place
            change *= rate
            root = np.sqrt(v * unbias_v)                           # of v_hat
            root += self.eps
            change /= root
            value -= change
