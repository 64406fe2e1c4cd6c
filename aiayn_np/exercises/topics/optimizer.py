"""Exercise 11: Adam and the warm-up of its rate."""

import numpy as np

from ...module import Parameter
from ...optimizer import Adam, warmup_rate
from ..exercise import Case, exercise, function
from .wrong_adam import CHOICES, RIGHT, WrongAdam

EXERCISE = exercise(
    11, "optimizer", "Adam and warm-up", section="5.3, Eq. 3", lesson="10.3, 10.4", minutes=30,
    asks="two running means with their bias correction, a step in place, and the rate of Eq. 3",
)


def after_steps(cls, case):
    """The values of two parameters after each of some steps."""
    (gradients,) = case.inputs
    parameters = [Parameter(x.copy()) for x in START]
    adam = cls(iter(parameters), **case.options)
    values = [p.value for p in parameters]                             # layers hold them, too
    found: dict[str, np.ndarray] = {}
    for t, (grads, rate) in enumerate(zip(gradients, RATES), 1):
        for p, grad in zip(parameters, grads):
            p.grad[...] = grad
        adam.step(rate)
        found |= {f"value {i} after step {t}": x.copy() for i, x in enumerate(values)}
        found |= {f"gradient {i} after step {t}": p.grad.copy() for i, p in enumerate(parameters)}
    return found


def right_adam(parameters, **options):
    """Adam by the letter, in place."""
    return WrongAdam(parameters, **options, **RIGHT)


START = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]])
RATES = (0.1, 0.2, 0.05, 0.1)
STEPS = (1, 2, 3, 6, 7, 8, 20)

ADAM = function(
    EXERCISE, Adam,
    "Keep m and v for every parameter, zeros at first, and count the steps t = 1, 2, ...",
    "m = beta_1 m + (1 - beta_1) grad and v = beta_2 v + (1 - beta_2) grad^2 start at zero, and are"
    " too small at first: divide m by 1 - beta_1^t and v by 1 - beta_2^t, but do not keep that.",
    "p.value -= rate * m_hat / (sqrt(v_hat) + eps), in place, so that layers which share p see it.",
    run=after_steps, oracle=right_adam,
)
WARMUP = function(
    EXERCISE, warmup_rate,
    "Eq. 3: d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5), with steps from 1.",
    "It rises in a straight line up to step = warmup_steps, where both arguments of min are equal,"
    " and then falls as 1 / sqrt(step).",
    "return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)",
    run=lambda it, case: {"rate": np.array([it(step, *case.inputs) for step in STEPS])},
)

@ADAM.tried_on
def cases(rng):
    gradients = rng.standard_normal((4, 2, 3))
    never = gradients.copy()
    never[:, 0, 1] = 0
    return [
        Case("the paper's constants", None, (gradients,)),
        Case("beta_1 = 0.8, beta_2 = 0.9", None, (gradients,), dict(beta_1=0.8, beta_2=0.9)),
        Case("a gradient that is always 0", None, (never,), special=True),
        Case("small gradients", None, (1e-8 * gradients,), special=True),
        Case("eps = 0.1", None, (gradients,), dict(eps=0.1)),
    ]


ADAM.family("function", **CHOICES)(WrongAdam)


@WARMUP.tried_on
def sizes(rng):
    return [Case("d_model = 16, warmup_steps = 7", None, (16, 7)),
            Case("d_model = 9, warmup_steps = 3", None, (9, 3))]


@WARMUP.mistake("function", "step off by one")
def step_from_zero(step, d_model, warmup_steps):
    """The rate is that of the step before. The first step is number 1, not 0."""
    return 0.0 if step == 1 else warmup_rate(step - 1, d_model, warmup_steps)


@WARMUP.mistake("function", "step off by one")
def one_ahead(step, d_model, warmup_steps):
    """The rate is that of the next step. The first step is number 1, as it is given."""
    return warmup_rate(step + 1, d_model, warmup_steps)


@WARMUP.mistake("function", "max instead of min")
def maximum(step, d_model, warmup_steps):
    """max stands in the place of min: it falls first and rises for ever."""
    return d_model**-0.5 * max(step**-0.5, step * warmup_steps**-1.5)


@WARMUP.mistake("function", "warm-up missing")
def only_falling(step, d_model, warmup_steps):
    """There is no warm-up: the rate only falls."""
    return (d_model * step) ** -0.5


@WARMUP.mistake("function", "only rising")
def only_rising(step, d_model, warmup_steps):
    """The rate rises for ever. After warmup_steps it must fall as 1 / sqrt(step)."""
    return d_model**-0.5 * step * warmup_steps**-1.5


for exponent in (-0.5, -1):
    @WARMUP.mistake("function", "exponent of warmup_steps")
    def too_small(step, d_model, warmup_steps, exponent=exponent):
        """The exponent of warmup_steps must be -1.5, so that the two branches meet."""
        return d_model**-0.5 * min(step**-0.5, step * warmup_steps**exponent)


@WARMUP.mistake("function", "d_model missing")
def no_width(step, d_model, warmup_steps):
    """The factor d_model^-0.5 is missing."""
    return d_model**0.5 * warmup_rate(step, d_model, warmup_steps)


@WARMUP.mistake("function", "d_model multiplied")
def wide(step, d_model, warmup_steps):
    """It is multiplied by the root of d_model. The exponent is -0.5."""
    return d_model * warmup_rate(step, d_model, warmup_steps)
