# %%
import numpy as np

from aiayn_course.exercises import check, train_with
from aiayn_np import Cache, Linear, Module

# %% [markdown]
# ## What to write
#
# $$\mathrm{FFN}(x) = \max(0,\; x W_1 + b_1)\, W_2 + b_2$$
#
# - `ReLU`, with its derivative: 1 where $x > 0$ and 0 elsewhere, at $x = 0$ too.
# - `PositionwiseFeedForward`, three layers in a row. `Linear` is given, with its backward; the
#   `ReLU` is yours. It works on every position by itself, so there is nothing else to do: backward
#   takes the lines of forward from the last to the first.
#
# **Try first.** `ReLU()(np.array([-1.0, 2.0]))` must give `[0, 2]`, and `ReLU().backward(np.array([5.0, 5.0]), ReLU().forward(np.array([0.0, 2.0]))[1])` must
# give `[0, 5]`.


# %%
class ReLU(Module):
    def forward(self, x):
        """max(0, x), and a cache."""
        ### solution: ReLU.forward
        return np.maximum(x, 0), Cache(x=x)
        ### end

    def backward(self, grad_y, cache):
        """grad_y, of the shape of x -> grad_x"""
        ### solution: ReLU.backward
        return grad_y * (cache.x > 0)
        ### end


class PositionwiseFeedForward(Module):
    def __init__(self, d_model, d_ff, *, rng):
        self.linear_1 = Linear(d_model, d_ff, rng=rng)
        self.relu = ReLU()
        self.linear_2 = Linear(d_ff, d_model, rng=rng)

    def forward(self, x):
        """x (..., d_model) -> y (..., d_model), through d_ff; and a cache."""
        ### solution: PositionwiseFeedForward.forward
        c = Cache()
        hidden, c.linear_1 = self.linear_1.forward(x)
        active, c.relu = self.relu.forward(hidden)
        y, c.linear_2 = self.linear_2.forward(active)
        return y, c
        ### end

    def backward(self, grad_y, cache):
        """grad_y (..., d_model) -> grad_x (..., d_model)"""
        ### solution: PositionwiseFeedForward.backward
        grad_active = self.linear_2.backward(grad_y, cache.linear_2)
        grad_hidden = self.relu.backward(grad_active, cache.relu)
        return self.linear_1.backward(grad_hidden, cache.linear_1)
        ### end


# %% [markdown]
# ## Is it right?
#
# Run this as often as you like. The report shows your numbers beside the right ones, where they
# part, and asks a question that leads to the mistake. For help: `check(ReLU, hint=1)` names the
# likely cause, `hint=2` shows your line beside the right one, and `hint=3` derives it.

# %%
reports = [check(ReLU), check(PositionwiseFeedForward)]
for report in reports:
    report.show()

# %% [markdown]
# ## Now train with them

# %%
if all(reports):
    print(train_with(ReLU, PositionwiseFeedForward))
