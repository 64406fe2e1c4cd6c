"""Exercise 7: the position-wise feed-forward network and its ReLU."""

import numpy as np

from ...feed_forward import PositionwiseFeedForward, ReLU
from ..exercise import Case, exercise, layer, plain

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
        Case("x (2, 3, 4)", plain, (rng.standard_normal((2, 3, 4)),), {}, dict(B=2, T=3)),
        Case("x (5, 2)", plain, (rng.standard_normal((5, 2)),), {}, dict(B=5)),
        Case("some x are 0", plain, (with_zeros,), special=True),
    ]


@RELU.mistake("forward", "absolute value")
def absolute(layer, x):
    """This is |x|. Negative numbers must become 0."""
    return np.abs(x)


@RELU.mistake("forward", "minimum")
def minimum(layer, x):
    """This is min(0, x): the positive numbers must stay."""
    return np.minimum(x, 0)


@RELU.mistake("forward", "leaky")
def leaky(layer, x):
    """Negative numbers keep a hundredth of their value. The paper's max(0, x) makes them 0."""
    return np.where(x > 0, x, 0.01 * x)


@RELU.mistake("forward", "derivative in forward")
def step(layer, x):
    """This is the derivative, 1 where x > 0. The output is x there."""
    return (x > 0) * 1.0


@RELU.mistake("backward", "always open")
def always_open(layer, grad_y, x):
    """The gradient passes everywhere. Where x < 0 nothing went through, and the gradient is 0. (If
    the condition is y >= 0: it is always true.)"""
    return dict(grad_x=grad_y)


@RELU.mistake("backward", "slope at 0")
def open_at_zero(layer, grad_y, x):
    """At x = 0 the slope is taken as 1. There is none; everyone takes 0, x > 0."""
    return dict(grad_x=grad_y * (x >= 0))


@RELU.mistake("backward", "sign of grad_y")
def of_the_gradient(layer, grad_y, x):
    """The sign of grad_y decides. It must be the sign of x, from the cache."""
    return dict(grad_x=np.maximum(grad_y, 0))


@RELU.mistake("backward", "grad_y forgotten")
def slope_alone(layer, grad_y, x):
    """The slope is returned alone. It must be multiplied by grad_y, which comes from above."""
    return dict(grad_x=(x > 0) * 1.0)


@RELU.mistake("backward", "times x")
def times_x(layer, grad_y, x):
    """The gradient is multiplied by the output. The derivative of max(0, x) is 1, not x."""
    return dict(grad_x=grad_y * np.maximum(x, 0))


def of_sizes(d_model, d_ff):
    """Make a feed-forward network of these sizes."""
    return lambda cls: cls(d_model, d_ff, rng=np.random.default_rng(0))


@FEED_FORWARD.tried_on
def cases(rng):
    return [
        Case("x (2, 3, 4)", of_sizes(4, 7), (rng.standard_normal((2, 3, 4)),), {},
             dict(B=2, T=3, d_model=4, d_ff=7)),
        Case("x (5, 6)", of_sizes(6, 3), (rng.standard_normal((5, 6)),), {},
             dict(B=5, d_model=6, d_ff=3)),
    ]


@FEED_FORWARD.mistake("forward", "ReLU missing")
def no_relu(layer, x):
    """There is no ReLU, and two linear maps in a row are one linear map."""
    return layer.linear_2(layer.linear_1(x))


@FEED_FORWARD.mistake("forward", "ReLU at the end")
def relu_last(layer, x):
    """The ReLU stands after linear_2. It belongs between the two maps, and only there."""
    return np.maximum(layer.linear_2(layer.linear_1(x)), 0)


@FEED_FORWARD.mistake("forward", "ReLU twice")
def relu_twice(layer, x):
    """There is a second ReLU after linear_2. The output of the network may be negative."""
    return np.maximum(layer.linear_2(np.maximum(layer.linear_1(x), 0)), 0)


@FEED_FORWARD.mistake("forward", "residual added")
def with_residual(layer, x):
    """x is added. The residual sum belongs to "Add & Norm", around this layer."""
    return x + layer(x)


@FEED_FORWARD.mistake("backward", "ReLU forgotten in backward")
def relu_skipped(layer, grad_y, x):
    """The backward of ReLU is left out: where the hidden number was 0, nothing may come back."""
    grad_hidden = grad_y @ layer.linear_2.W.value.T
    return dict(grad_x=grad_hidden @ layer.linear_1.W.value.T)
