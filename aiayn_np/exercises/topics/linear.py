"""Exercise 3: the affine map, whose weights serve every position of every sequence."""

import numpy as np

from ...linear import Linear
from ..exercise import Case, exercise, layer

EXERCISE = exercise(
    3, "linear", "The linear map and its three gradients", section="3.2.2, 3.3", lesson="4.1",
    minutes=20, asks="forward with any number of axes in front, and the gradients of x, W and b",
)

LINEAR = layer(
    EXERCISE, Linear,
    "y = x W + b. The @ of NumPy takes any number of axes in front: x (..., d_in) times W"
    " (d_in, d_out). With bias=False, self.b is None.",
    "Index by index, y_n = sum_m x_m W_mn + b_n at every position. So x_m reaches every y_n by"
    " W_mn, and W_mn reaches y_n at every position: its gradient is a sum over all of them.",
    "grad_x_m = sum_n grad_y_n W_mn, in NumPy grad_y @ W.T\nWith all positions one below another,"
    " rows = x.reshape(-1, d_in) and grad_rows = grad_y.reshape(-1, d_out):\n"
    "W.grad += rows.T @ grad_rows\nb.grad += grad_rows.sum(axis=0)",
)
LINEAR.made_like = lambda cls, ours: cls(
    ours.d_in, ours.d_out, bias=ours.b is not None, rng=np.random.default_rng()
)


def of_sizes(d_in, d_out, bias=True):
    """Make a linear map of these sizes."""
    return lambda cls: cls(d_in, d_out, bias=bias, rng=np.random.default_rng(0))


@LINEAR.tried_on
def cases(rng):
    draw = rng.standard_normal
    return [
        Case("x (2, 3, 4)", of_sizes(4, 5), (draw((2, 3, 4)),), {},
             dict(B=2, T=3, d_in=4, d_out=5, rows=6)),
        Case("x (2, 7, 3, 6)", of_sizes(6, 5), (draw((2, 7, 3, 6)),), {},
             dict(B=2, T=3, d_in=6, d_out=5, rows=42)),
        Case("x (4, 3), one axis in front", of_sizes(3, 2), (draw((4, 3)),), special=True),
        Case("no bias", of_sizes(4, 5, bias=False), (draw((2, 3, 4)),), special=True),
    ]


def rows(x):
    """All positions of all sequences, one below another."""
    return x.reshape(-1, x.shape[-1])


@LINEAR.mistake("forward", "bias missing")
def no_bias(layer, x):
    """The bias is not added: y = x W + b."""
    return x @ layer.W.value


@LINEAR.mistake("forward", "bias subtracted")
def minus_bias(layer, x):
    """The bias is subtracted: y = x W + b."""
    return x @ layer.W.value - layer.b.value


@LINEAR.mistake("backward", "x instead of grad_y")
def gradient_of_x_from_x(layer, grad_y, x):
    """grad_x must be made of grad_y: grad_y W^T."""
    return dict(grad_x=(x @ layer.W.value) @ layer.W.value.T)


@LINEAR.mistake("backward", "grad_y forgotten")
def ones(layer, grad_y, x):
    """It is as if grad_y were 1 everywhere. What comes back from above must be multiplied in: a
    test with `y.sum()` as the loss cannot see this."""
    g = np.ones_like(grad_y)
    return {"grad_x": g @ layer.W.value.T, "W.grad": rows(x).T @ rows(g)}


@LINEAR.mistake("backward", "mean over the rows")
def mean(layer, grad_y, x):
    """The gradient is averaged over the positions. It must be their sum: an average belongs to the
    loss, once."""
    n = len(rows(x))
    return {"W.grad": rows(x).T @ rows(grad_y) / n, "b.grad": rows(grad_y).mean(axis=0)}


@LINEAR.mistake("backward", "mean over the rows")
def mean_of_W(layer, grad_y, x):
    """W.grad is averaged over the positions. It must be their sum: an average belongs to the loss,
    once."""
    return {"W.grad": rows(x).T @ rows(grad_y) / len(rows(x))}


@LINEAR.mistake("backward", "mean over the rows")
def mean_of_b(layer, grad_y, x):
    """b.grad is averaged over the positions. It must be their sum: an average belongs to the loss,
    once."""
    return {"b.grad": rows(grad_y).mean(axis=0)}


@LINEAR.mistake("backward", "mean over the batch")
def mean_over_batch(layer, grad_y, x):
    """The gradient is divided by the number of sequences. It must be a sum: an average belongs to
    the loss, once."""
    total = {"W.grad": rows(x).T @ rows(grad_y), "b.grad": rows(grad_y).sum(axis=0)}
    return {name: grad / len(x) for name, grad in total.items()}


@LINEAR.mistake("backward", "grad_y forgotten")
def ones_for_b(layer, grad_y, x):
    """b.grad does not depend on grad_y. It must be the sum of grad_y over all positions."""
    return {"b.grad": np.ones(layer.d_out)}


@LINEAR.mistake("backward", "grad_y forgotten")
def rows_for_b(layer, grad_y, x):
    """b.grad is the number of positions. It must be the sum of grad_y over all of them."""
    return {"b.grad": np.full(layer.d_out, len(rows(x)))}


@LINEAR.mistake("backward", "one sequence only")
def last_only(layer, grad_y, x):
    """Only the last sequence of the batch counts: W.grad is written over by each. The gradient is
    the sum over all of them."""
    return {"W.grad": rows(x[-1]).T @ rows(grad_y[-1])}


@LINEAR.mistake("backward", "one sequence only")
def first_only(layer, grad_y, x):
    """Only the first sequence of the batch counts. The gradient is the sum over all of them."""
    return {"W.grad": rows(x[0]).T @ rows(grad_y[0]), "b.grad": rows(grad_y[0]).sum(axis=0)}
