"""Adam with choices that can be wrong, for exercise 11: what they are, and what comes out."""

from typing import Any

import numpy as np

BETAS = [  # those of m and v, and those of their corrections
    lambda beta_1, beta_2: (beta_1, beta_2, beta_1, beta_2),
    ("v with beta_1", "v is updated with beta_1. It has its own, beta_2.",
     lambda beta_1, beta_2: (beta_1, beta_1, beta_1, beta_2)),
    ("v with beta_1", "v is updated and corrected with beta_1. It has its own, beta_2.",
     lambda beta_1, beta_2: (beta_1, beta_1, beta_1, beta_1)),
    ("v with beta_1", "v is corrected with beta_1. It has its own, beta_2.",
     lambda beta_1, beta_2: (beta_1, beta_2, beta_1, beta_1)),
    ("betas exchanged", "beta_1 and beta_2 are exchanged: beta_1 belongs to m, beta_2 to v.",
     lambda beta_1, beta_2: (beta_2, beta_1, beta_2, beta_1)),
]
NEW = [
    (lambda beta: 1 - beta, lambda grad, m: grad**2),
    ("1 - beta missing", "The new gradient is added whole: (1 - beta_1) grad, (1 - beta_2) grad^2.",
     (lambda beta: 1.0, lambda grad, m: grad**2)),
    ("v of the wrong thing", "v is a mean of m^2. It is a mean of grad^2.",
     (lambda beta: 1 - beta, lambda grad, m: m**2)),
    ("v of the wrong thing", "v is a mean of |grad|. It is a mean of grad^2.",
     (lambda beta: 1 - beta, lambda grad, m: np.abs(grad))),
]
T = [
    lambda t, i, n: t,
    ("wrong t", "The correction uses the number of the parameter, not of the step.",
     lambda t, i, n: i + 1),
    ("wrong t", "t is counted once for every parameter. It counts the calls of step.",
     lambda t, i, n: (t - 1) * n + i + 1),
    ("wrong t", "t is one too large: it is 1 in the first step.", lambda t, i, n: t + 1),
    ("wrong t", "t is 0 in the first step, where it must be 1: count before you correct.",
     lambda t, i, n: t - 1),
    ("wrong t", "t does not change: it is 1 in every step.", lambda t, i, n: 1),
]
BOTH = "m and v start at zero and are too small at first: divide by 1 - beta_1^t and 1 - beta_2^t."
CORRECTED = [
    (True, True),
    ("bias correction missing", BOTH, (False, False)),
    ("bias correction missing", "v is not corrected: divide it by 1 - beta_2^t.", (True, False)),
    ("bias correction missing", "m is not corrected: divide it by 1 - beta_1^t.", (False, True)),
]
ROOT = [
    lambda v, eps, _: np.sqrt(v) + eps,
    ("eps inside the root", "eps is added inside the root. It belongs outside: sqrt(v_hat) + eps.",
     lambda v, eps, _: np.sqrt(v + eps)),
    ("eps is fixed", "eps is a fixed number here. Use self.eps.", lambda v, *_: np.sqrt(v) + 1e-8),
    ("eps missing", "There is no eps: where a gradient is always 0, 0 / 0 is nan.",
     lambda v, eps, _: np.sqrt(v)),
    ("eps before the correction", "eps is added to sqrt(v) before the correction. It belongs after"
     " it: sqrt(v_hat) + eps.", lambda v, eps, part: np.sqrt(v) + eps / np.sqrt(part)),
    ("root missing", "It is divided by v_hat. It must be its square root.",
     lambda v, eps, _: v + eps),
]
SIGN = [-1, ("sign", "The parameter moves up the gradient. It must move down: -=.", 1)]
KEPT = [False, ("correction kept", "The corrected means are kept as m and v, and corrected again in"
                " the next step. m_hat and v_hat must be new arrays.", True)]
PLACE = [True, ("not in place", "p.value becomes another array, and who holds the old one does not"
                " see the step. Write into it: p.value -= ...", False)]
CLEARED = [False, ("gradient cleared", "The step clears p.grad. That is up to the loop.", True)]
MEANS = [True, ("no running means", "This is plain gradient descent.", False)]


class WrongAdam:
    """Adam with some choices that can be wrong."""

    def __init__(self, parameters, *, beta_1=0.9, beta_2=0.98, eps=1e-9, **choices):
        self.parameters, self.choices = list(parameters), choices
        self.beta_1, self.beta_2, self.eps, self.t = beta_1, beta_2, eps, 0
        self.m = [np.zeros_like(p.value) for p in self.parameters]
        self.v = [np.zeros_like(p.value) for p in self.parameters]

    def step(self, rate):
        self.t += 1
        for i, p in enumerate(self.parameters):
            direction = self.direction(i, p, **self.choices) if self.choices["means"] else p.grad
            p.value, old = p.value + self.choices["sign"] * rate * direction, p.value
            if self.choices["place"]:
                old[...] = p.value
                p.value = old
            if self.choices["cleared"]:
                p.grad = 0 * p.grad

    def direction(self, i, p, *, betas, new, t, corrected, root, kept, **others):
        m, v, t = self.m[i], self.v[i], t(self.t, i, len(self.parameters))
        beta_1, beta_2, *corrections = betas(self.beta_1, self.beta_2)
        m[...] = beta_1 * m + new[0](beta_1) * p.grad
        v[...] = beta_2 * v + new[0](beta_2) * new[1](p.grad, m)
        parts = [1 - np.float64(beta) ** t for beta in corrections]
        m_hat, v_hat = (a / part if c else a for a, part, c in zip((m, v), parts, corrected))
        if kept:
            m[...], v[...] = m_hat, v_hat
        return m_hat / root(v_hat, self.eps, parts[1])


CHOICES: dict[str, Any] = dict(
    betas=BETAS, new=NEW, t=T, corrected=CORRECTED, root=ROOT, sign=SIGN, kept=KEPT, means=MEANS,
    place=PLACE, cleared=CLEARED,
)
RIGHT = {name: choices[0] for name, choices in CHOICES.items()}
