"""Exercise 11: Adam and the warm-up of its rate."""

import itertools
import math

import numpy as np

from aiayn_np.module import Parameter
from aiayn_np.training.optimizer import Adam, warmup_rate

from ..exercise import Case, exercise, function

EXERCISE = exercise(
    11, "optimizer", "Adam and warm-up", section="5.3, Eq. 3", lesson="10.3, 10.4", minutes=30,
    asks="two running means with their bias correction, a step in place, and the rate of Eq. 3",
)


def after_steps(cls, case):
    """Return the values and gradients of all parameters after each step."""
    gradients, shapes = case.inputs[0], case.options["shapes"]
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    start = np.resize(START, ends[-1])
    parameters = [Parameter(x.reshape(shape)) for x, shape in zip(np.split(start, ends), shapes)]
    adam = cls(iter(parameters), **case.options["settings"])
    values = [p.value for p in parameters]                             # layers hold them, too
    moved, kept = [], []
    for grads, rate in zip(gradients, itertools.cycle(RATES)):
        for p, grad in zip(parameters, np.split(grads, ends)):
            p.grad[...] = grad.reshape(p.grad.shape)
        adam.step(rate)
        moved.append(in_rows([p.value for p in parameters]))
        kept.append(in_rows([p.grad for p in parameters]))
    return {"values after each step": np.array(moved), "gradients after each step": np.array(kept),
            "arrays that layers hold": in_rows(values)}


def in_rows(arrays):
    """Return a copy of arrays as rows of one array, or one long row if their shapes differ."""
    one_shape = len({np.shape(x) for x in arrays}) == 1
    return np.array(arrays) if one_shape else np.concatenate([np.ravel(x) for x in arrays])


START = np.array([0.5, -1.5, 2.0, 3.0, 0.25, -0.75, 0.0])
ROWS = (3,), (3,)  # the shapes of two parameters
RATES = (0.1, 20.0, 0.5, 1e-5)
STEPS = (1, 2, 3, 6, 7, 8, 20, 10**6)

ADAM = function(
    EXERCISE, Adam,
    "Keep m and v for every parameter, zeros at first, and count the steps t = 1, 2, ...",
    "m = beta_1 m + (1 - beta_1) grad and v = beta_2 v + (1 - beta_2) grad^2 start at zero, and are"
    " too small at first: divide m by 1 - beta_1^t and v by 1 - beta_2^t, but do not keep that.",
    "p.value -= rate * m_hat / (sqrt(v_hat) + eps), in place, so that layers which share p see it.",
    run=after_steps,
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
    gradients = rng.standard_normal((4, 6))
    never = gradients.copy()
    never[:, 1] = 0
    unused = gradients.copy()
    unused[1::2, 3:] = unused[2] = 0

    def case(what, gradients, shapes=ROWS, why="", special=True, **settings):
        return Case(what, None, (gradients,), dict(shapes=shapes, settings=settings), {}, special,
                    why)
    return [
        case("the first step", gradients[:1], special=False),
        case("the paper's constants", gradients, special=False),
        case("beta_1 = 0.8, beta_2 = 0.9", gradients, special=False, beta_1=0.8, beta_2=0.9),
        case("a gradient that is always 0", never),
        case("small gradients", 1e-8 * gradients, special=False),
        case("eps = 0.1", gradients, special=False, eps=0.1),
        case("gradients around 1 000", 1e3 * gradients,
             why="Adam takes every gradient as it is, large ones too."),
        case("gradients of 0 in some steps", unused,
             why="A gradient of 0 is a gradient: m and v decay, and the parameter moves on."),
        case("one parameter", gradients[:, :3], ROWS[:1]),
        case("parameters of three shapes", rng.standard_normal((4, 18)), ((3,), (3, 1), (2, 2, 3)),
             "Every parameter moves, and m and v of a parameter have its own shape."),
        case("twelve parameters", rng.standard_normal((2, 36)), 12 * ROWS[:1],
             "The parameters have an order, and m and v the same."),
        case("200 steps", rng.standard_normal((200, 3)), ROWS[:1],
             "t goes on counting, and every step moves the parameter."),
    ]


M_HAT, V_HAT = (f"{x} / (1 - np.float64(self.beta_{i}) ** self.t)" for x, i in ("m1", "v2"))
ROOT, MOVE = "np.sqrt(v_hat) + self.eps", "rate * m_hat / (np.sqrt(v_hat) + self.eps)"
WRITTEN = "p.value[...] = moved"
ZEROS = "[np.zeros_like({0}.value) for {0} in self.parameters]"
M_ZEROS, V_ZEROS = ZEROS.format("p"), ZEROS.format("q")
ZIP = "zip(self.parameters, self.m, self.v)"
SHARED = "[np.zeros_like(self.parameters[0].value)] * len(self.parameters)"
V_NEW = "self.beta_2 * v + (1 - self.beta_2) * p.grad ** 2"
M_NEW = "self.beta_1 * m + (1 - self.beta_1) * p.grad"
LOCAL_M, LOCAL_V = f"m = {M_NEW}", f"v = {V_NEW}"
M_WRITTEN, V_WRITTEN = LOCAL_M.replace("m", "m[...]", 1), LOCAL_V.replace("v", "v[...]", 1)
SMALL_AT_FIRST = "m and v start at zero and are too small at first:"
EACH = "Every parameter has its own m and v: parameters of one shape must not share them."
KEPT = ("It begins at zero in every step. Make the zeros in __init__ alone, and keep what is"
        " computed: m = ... names a new array, m[...] = ... writes into the old.")
DECAY = "A weight decay is added. Adam has none: the parameter itself does not count."


@ADAM.right(
    "function",
    ((M_HAT, V_HAT), ("m", "v"), "bias correction missing", f"{SMALL_AT_FIRST} divide by"
     " 1 - beta_1^t and 1 - beta_2^t."),
    (V_HAT, "v", "bias correction missing", f"{SMALL_AT_FIRST} divide v by 1 - beta_2^t."),
    (M_HAT, "m", "bias correction missing", f"{SMALL_AT_FIRST} divide m by 1 - beta_1^t."),
    (ROOT, "v_hat + self.eps", "root missing", "It is divided by the corrected v. It must be"
     " its square root."),
    (ROOT, "np.sqrt(v_hat + self.eps)", "eps inside the root", "eps is added inside the root. It"
     " belongs outside, and is added to the root."),
    (f"p.value - {MOVE}", f"p.value + {MOVE}", "sign", "The parameter moves up the gradient. It"
     " must move down: -=."),
    (WRITTEN, f"{WRITTEN}\np.grad = 0 * p.grad", "gradient cleared", "The step clears p.grad. That"
     " is up to the loop."),
    ((M_NEW, V_NEW), ("(1 - self.beta_1) * m + self.beta_1 * p.grad", "(1 - self.beta_2) * v"
                      " + self.beta_2 * p.grad ** 2"), "beta and 1 - beta", "beta and 1 - beta are"
     " exchanged: the old mean keeps beta, the new gradient gets 1 - beta."),
    (("(1 - self.beta_1) * p.grad", "(1 - self.beta_2) * p.grad ** 2"), ("p.grad", "p.grad ** 2"),
     "1 - beta missing", "The new gradient is added whole: (1 - beta_1) grad, (1 - beta_2)"
     " grad^2."),
    ("p.grad ** 2", "m ** 2", "v of the wrong thing", "v is a mean of m^2. It is a mean of"
     " grad^2."),
    ("p.grad ** 2", "(p.grad ** 2).mean()", "v of the wrong thing", "All entries share one v. Each"
     " entry has its own: no mean over the gradient."),
    (ROOT, "np.sqrt(v_hat + self.eps ** 2)", "eps inside the root", "eps^2 is added inside the"
     " root. eps belongs outside, and is added to the root."),
    (M_HAT, f"({M_NEW}) / (1 - np.float64(self.beta_1) ** self.t)", "m twice in a step", "The new"
     " gradient comes into the corrected m once more than into m, as Nesterov does it. Corrected it"
     " is m, divided."),
    *(("p.grad", code, "gradient clipped", "Gradients are cut off, or scaled down to a norm. Adam"
       " takes every gradient as it is, large ones too.") for code in (
          "np.clip(p.grad, -number(1.0), number(1.0))",
          "(p.grad * min(1, number(1.0) / np.sqrt(sum((q.grad ** 2).sum() for q in"
          " self.parameters))))", "(p.grad * min(1, number(1.0) / np.sqrt((p.grad ** 2).sum())))")),
    (M_NEW, "self.beta_1 * (p.grad if self.t == 1 else m) + (1 - self.beta_1) * p.grad",
     "m begins as the gradient", "m is the gradient at first. m and v begin as zeros, each in an"
     " array of its own."),
    *((V_NEW, code, "v is no running mean", "v is a running mean: beta_2 v + (1 - beta_2) grad^2.")
      for code in ("np.maximum(v, p.grad ** 2)", "v + p.grad ** 2", "p.grad ** 2",
                   "np.maximum(self.beta_2 * v, p.grad ** 2)", f"np.maximum(v, {V_NEW})")),
    ("self.t", "((self.t - 1) * len(self.parameters) + i + 1)", "wrong t", "t is counted once for"
     " every parameter. It counts the calls of step."),
    (ROOT, "np.sqrt(v_hat) + self.eps / np.sqrt(1 - np.float64(self.beta_2) ** self.t)",
     "eps before the correction", "eps is added to sqrt(v) before the correction. It belongs after"
     " it, and is added to the root of the corrected v."),
    ((f"m_hat = {M_HAT}", f"v_hat = {V_HAT}"), (f"m[...] = {M_HAT}\nm_hat = m",
                                                f"v[...] = {V_HAT}\nv_hat = v"),
     "correction kept", "The corrected means are kept as m and v, and corrected again in the next"
     " step. The corrected ones must be new arrays."),
    (WRITTEN, WRITTEN.replace("[...]", ""), "not in place", "p.value becomes another array, and who"
     " holds the old one does not see the step. Write into it with p.value -=."),
    (WRITTEN, "pass", "nothing is written", "No parameter changes: nothing is written into p.value."
     " An iterator such as parameters can be read once only: list(parameters)."),
    (ZIP, ZIP.replace("parameters", "parameters[:1]"), "first parameter only", "Only the first"
     " parameter moves: is there a `return` in the loop?"),
    (ZIP, f"list({ZIP})[-1:]", "last parameter only", "Only the last parameter moves: does the line"
     " stand after the loop, and not in it?"),
    ((M_HAT, V_HAT), tuple(f"{x} / (1 - np.float64(self.beta_{i})) ** self.t" for x, i in
                           ("m1", "v2")), "brackets", "It is divided by (1 - beta)^t. It must be"
     " 1 - beta^t: a power comes before a difference."),
    ((M_HAT, V_HAT), (M_HAT.replace("beta_1", "beta_2"), V_HAT.replace("beta_2", "beta_1")),
     "betas exchanged", "m is corrected with beta_2, and v with beta_1. It is the other way round:"
     " m goes with beta_1, v with beta_2."),
    (V_ZEROS, "self.m", "m and v are one", "m and v are one array, and what is written into v is in"
     " m, too: make zeros for each of them."),
    ((M_WRITTEN, V_WRITTEN), (LOCAL_M, LOCAL_V), "means not kept", KEPT),
    (M_ZEROS, SHARED, "means shared", EACH), (V_ZEROS, SHARED, "means shared", EACH),
    ((M_ZEROS, V_ZEROS), (SHARED, SHARED), "means shared", EACH),
    ("eps is fixed", "eps is a fixed number here. Use self.eps."),
    ("p.grad", "(p.grad + number(0.01) * p.value)", "weight decay", DECAY),
    (MOVE, f"({MOVE} + rate * number(0.01) * p.value)", "weight decay", DECAY),
)
class PlainAdam:
    def __init__(self, parameters, *, beta_1=0.9, beta_2=0.98, eps=1e-9):
        self.parameters, self.t = list(parameters), 0
        self.beta_1, self.beta_2, self.eps = beta_1, beta_2, eps
        self.m = [np.zeros_like(p.value) for p in self.parameters]
        self.v = [np.zeros_like(q.value) for q in self.parameters]

    def step(self, rate):
        self.t += 1
        for i, (p, m, v) in enumerate(zip(self.parameters, self.m, self.v)):  # noqa: B007
            m[...] = self.beta_1 * m + (1 - self.beta_1) * p.grad
            v[...] = self.beta_2 * v + (1 - self.beta_2) * p.grad**2
            m_hat = m / (1 - np.float64(self.beta_1) ** self.t)
            v_hat = v / (1 - np.float64(self.beta_2) ** self.t)
            moved = p.value - rate * m_hat / (np.sqrt(v_hat) + self.eps)
            p.value[...] = moved


@WARMUP.tried_on
def sizes(rng):
    return [Case("d_model = 16, warmup_steps = 7", None, (16, 7)),
            Case("d_model = 10, warmup_steps = 3", None, (10, 3)),
            Case("d_model = 512, warmup_steps = 4000", None, (512, 4000), special=True),
            Case("d_model = warmup_steps = 1", None, (1, 1), special=True)]


RISE = "step * warmup_steps ** -1.5"
LEAST = f"min(step ** -0.5, {RISE})"
RATE = f"d_model ** -0.5 * {LEAST}"


@WARMUP.right(
    "function",
    (RATE, f"0.0 if step == 1 else {RATE.replace('step ', '(step - 1) ')}", "step off by one",
     "The rate is that of the step before. The first step is number 1, not 0."),
    (f"min(step ** -0.5, {RISE})", "min(1, step / warmup_steps)", "never falls", "The rate rises"
     " and then stays. After warmup_steps it must fall as 1 / sqrt(step)."),
    *((RATE, code, "d_model in one branch", "d_model^-0.5 multiplies one of the two arguments of"
       " min. It multiplies both: it stands before min.") for code in (
          f"min(d_model ** -0.5 * step ** -0.5, {RISE})",
          f"min(step ** -0.5, d_model ** -0.5 * {RISE})")),
)
def right_rate(step, d_model, warmup_steps):
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)
