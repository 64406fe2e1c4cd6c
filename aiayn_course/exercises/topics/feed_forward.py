"""Exercise 7: the position-wise feed-forward network and its ReLU."""

import re

import numpy as np

from aiayn_np.feed_forward import PositionwiseFeedForward, ReLU

from ..exercise import STAYS, Case, exercise, layer, seeded

EXERCISE = exercise(
    7, "feed-forward", "The feed-forward network", section="3.3, Eq. 2", lesson="7.5", minutes=20,
    asks="max(0, x) and its derivative, and three layers in a row, forwards and backwards",
)

RELU = layer(
    EXERCISE, ReLU,
    "y = max(0, x), number by number. Make a new array: np.maximum.",
    "The slope is 1 where x > 0 and 0 where x < 0; at x = 0 take 0.",
    "grad_x = grad_y * (x > 0). Ask the input, or ask whether y > 0; y >= 0 is always true.",
)
FEED_FORWARD = layer(
    EXERCISE, PositionwiseFeedForward,
    "linear_1, relu, linear_2, one after the other; keep the cache of each.",
    "The backwards of the three in reverse order, each with its own cache.",
    "Each with its own cache:\ngrad_active = linear_2.backward(grad_y, ...)\n"
    "grad_hidden = relu.backward(grad_active, ...)\nreturn linear_1.backward(grad_hidden, ...)",
)
FEED_FORWARD.made_like = lambda cls, ours: cls(
    ours.linear_1.d_in, ours.linear_1.d_out, rng=np.random.default_rng()
)


@RELU.tried_on
def cases_of_relu(rng):
    with_zeros = rng.standard_normal((3, 4))
    with_zeros[1] = 0
    return [
        Case("x (2, 3, 4)", None, (rng.standard_normal((2, 3, 4)),), {}, dict(B=2, T=3)),
        Case("x (5, 2)", None, (rng.standard_normal((5, 2)),), {}, dict(B=5)),
        Case("every x is negative", None, (-rng.random((4, 4)),), special=True),
        Case("some x are 0", None, (with_zeros,), special=True),
        Case("one axis, (5,)", None, (rng.standard_normal(5),), special=True),
    ]


@RELU.right(
    "forward",
    ("np.maximum(x, 0)", "np.abs(x)", "absolute value", "This is |x|. Negative numbers must become"
     " 0."),
    ("np.maximum(x, 0)", "np.where(x > 0, x, number(0.01) * x)", "leaky", "Negative numbers keep a"
     " small part of their value. The paper's max(0, x) makes them 0."),
    ("np.maximum(x, 0)", "0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))",
     "GELU", "This is GELU, a later and smooth function. The paper's max(0, x) makes negative"
     " numbers 0."),
)
def right_relu(self, x):
    return np.maximum(x, 0)


@RELU.right(
    "backward",
    ("grad_y * (x > 0)", "grad_y", "always open", "The gradient passes everywhere. Where x < 0"
     " nothing went through, and the gradient is 0. The condition y >= 0 is always true."),
    ("x > 0", "(np.sign(x) + 1) / 2", "slope at 0", "At x = 0 the slope is taken as 1/2. Take 0:"
     " x > 0."),
)
def right_gradient(self, grad_y, x):
    return {"grad_x": grad_y * (x > 0)}


@FEED_FORWARD.tried_on
def cases(rng):
    layer, other = (PositionwiseFeedForward(*sizes, rng=seeded()) for sizes in ((4, 7), (6, 3)))
    return [
        Case("x (2, 3, 4)", layer, (rng.standard_normal((2, 3, 4)),), {},
             dict(B=2, T=3, d_model=4, d_ff=7)),
        Case("x (5, 6)", other, (rng.standard_normal((5, 6)),), {}, dict(B=5, d_model=6, d_ff=3)),
        Case("T = d_model = d_ff = 5", PositionwiseFeedForward(5, 5, rng=seeded()),
             (rng.standard_normal((2, 5, 5)),), special=True),
        Case("d_model = d_ff = 1", PositionwiseFeedForward(1, 1, rng=seeded()),
             (rng.standard_normal((2, 3, 1)),), special=True, why=STAYS),
        Case("one axis, (d_model,)", layer, (rng.standard_normal(4),), special=True),
    ]


FIRST = "x @ self.linear_1.W.value + self.linear_1.b.value"
HIDDEN, LAST = "np.maximum(hidden, 0)", "active @ self.linear_2.W.value + self.linear_2.b.value"


@FEED_FORWARD.right(
    "forward",
    (HIDDEN, "hidden", "ReLU missing", "What linear_2 gets has not gone through the ReLU, and two"
     " linear maps in a row are one linear map."),
    ((HIDDEN, LAST), ("hidden", f"np.maximum({LAST}, 0)"), "ReLU at the end", "The ReLU stands"
     " after linear_2. It belongs between the two maps, and only there."),
    *((HIDDEN, re.sub(r"\bx\b", "hidden", code), *why)                 # a ReLU that is wrong
      for _, code, *why in RELU.formulas["forward"].known),
    ((FIRST, HIDDEN), (f"np.maximum(x, 0) {FIRST[1:]}", "hidden"), "ReLU before linear_1", "The"
     " ReLU is applied to x. It belongs between the two maps, after linear_1."),
    (LAST, f"x + {LAST}", "residual added", 'x is added. The residual sum belongs to "Add & Norm",'
     " around this layer."),
)
def right_output(self, x):
    hidden = x @ self.linear_1.W.value + self.linear_1.b.value
    active = np.maximum(hidden, 0)
    return active @ self.linear_2.W.value + self.linear_2.b.value


@FEED_FORWARD.right("backward")
def right_gradients(self, grad_y, x, cache):
    grad_active = self.linear_2.backward(grad_y, cache.linear_2)
    grad_hidden = self.relu.backward(grad_active, cache.relu)
    return {"grad_x": self.linear_1.backward(grad_hidden, cache.linear_1)}
