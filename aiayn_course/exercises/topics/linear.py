"""Exercise 3: the affine map, whose weights serve every position of every sequence."""

import numpy as np

from aiayn_np.linear import Linear

from ..exercise import STAYS, Case, exercise, layer, seeded

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


@LINEAR.tried_on
def cases(rng):
    draw, layer = rng.standard_normal, Linear(4, 5, rng=seeded())
    return [
        Case("x (2, 3, 4)", layer, (draw((2, 3, 4)),), {},
             dict(B=2, T=3, d_in=4, d_out=5, rows=6, sequences=2)),
        Case("x (3, 7, 2, 6)", Linear(6, 5, rng=seeded()), (draw((3, 7, 2, 6)),), {},
             dict(B=3, T=2, d_in=6, d_out=5, rows=42, sequences=21)),
        Case("no bias", Linear(4, 5, bias=False, rng=seeded()), (draw((2, 3, 4)),), special=True,
             why="With bias=False, self.b is None."),
        Case("x (5, 5), d_in = d_out = 5", Linear(5, 5, rng=seeded()), (draw((5, 5)),),
             special=True),
        Case("d_in = d_out = 1", Linear(1, 1, rng=seeded()), (draw((2, 3, 1)),), special=True,
             why=STAYS),
        Case("one axis, (d_in,)", layer, (draw(4),), special=True),
    ]


@LINEAR.right(
    "forward",
    ("x @ self.W.value if self.b is None else x @ self.W.value + self.b.value", "x @ self.W.value",
     "bias missing", "The bias is not added: y = x W + b."),
)
def right_output(self, x):
    return x @ self.W.value if self.b is None else x @ self.W.value + self.b.value


@LINEAR.right("backward")
def right_gradients(self, grad_y, x):
    x_rows, grad_rows = x.reshape(-1, self.d_in), grad_y.reshape(-1, self.d_out)
    self.W.grad += x_rows.T @ grad_rows
    if self.b is not None:
        self.b.grad += grad_rows.sum(axis=0)
    return {"grad_x": grad_y @ self.W.value.T}
