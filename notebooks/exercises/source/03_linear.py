# %%
import math

import numpy as np

from aiayn_course.exercises import check, train_with
from aiayn_np import Cache, Module, Parameter

# %% [markdown]
# ## What to write
#
# $$y = x\,W + b$$
#
# with `x` of shape (..., d_in), any number of axes in front; `W` (d_in, d_out); `b` (d_out,), or
# `None` where the layer has no bias, as in the projections of attention.
#
# - `forward(x)` returns `y` and a cache.
# - `backward(grad_y, cache)` adds to `self.W.grad` and `self.b.grad`, and returns `grad_x`.
#
# **Derive first**, index by index: $y_n = \sum_m x_m W_{mn} + b_n$ at every position. By which
# outputs does $L$ depend on $x_m$? On $W_{mn}$? On $b_n$? The two last serve every position of
# every sequence of the batch.
#
# **Try first.** `layer = Linear(2, 2, rng=np.random.default_rng(0)); layer.W.value[...] = [[1, 2], [3, 4]]; layer(np.ones(2))` must give `[4, 6]`,
# and then `layer.backward(np.array([1.0, 0.0]), layer.forward(np.ones(2))[1])` must give `[1, 3]`.


# %%
class Linear(Module):
    def __init__(self, d_in, d_out, *, bias=True, rng):
        self.d_in, self.d_out = d_in, d_out
        limit = math.sqrt(6 / (d_in + d_out))
        self.W = Parameter(rng.uniform(-limit, limit, (d_in, d_out)))
        self.b = Parameter(np.zeros(d_out)) if bias else None

    def forward(self, x):
        """x (..., d_in) -> y (..., d_out); and a cache."""
        ### solution: Linear.forward
        y = x @ self.W.value
        if self.b is not None:
            y = y + self.b.value
        return y, Cache(x=x)
        ### end

    def backward(self, grad_y, cache):
        """grad_y (..., d_out) -> grad_x (..., d_in); adds to W.grad and b.grad."""
        ### solution: Linear.backward
        rows, grad_rows = cache.x.reshape(-1, self.d_in), grad_y.reshape(-1, self.d_out)
        self.W.grad += rows.T @ grad_rows
        if self.b is not None:
            self.b.grad += grad_rows.sum(axis=0)
        return grad_y @ self.W.value.T
        ### end


# %% [markdown]
# ## Is it right?
#
# Run this as often as you like. The report shows your numbers beside the right ones, where they
# part, and asks a question that leads to the mistake. For help: `check(Linear, hint=1)` names the
# likely cause, `hint=2` shows your line beside the right one, and `hint=3` derives it.

# %%
report = check(Linear)
report.show()

# %% [markdown]
# ## Now train with it
#
# All parameters of a Transformer but its embedding and its norms are in layers like yours.

# %%
if report:
    print(train_with(Linear))
