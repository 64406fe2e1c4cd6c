# %% [markdown]
# # Exercise 7 · The feed-forward network
#
# | | |
# |---|---|
# | **Write** | `ReLU`, `PositionwiseFeedForward` |
# | **You have to find** | max(0, x) and its derivative, and three layers in a row, forwards and backwards |
# | **Paper** | Section 3.3, Eq. 2 |
# | **Explained in** | Lesson 7.5 |
# | **Time** | 20 minutes, estimated |
# | **Rules of a layer** | Any number of axes may stand in front. Nothing that a method is given is changed. backward takes what it needs from its cache, not from self. float32 in gives float32 out. |

# %%
import aiayn_np  # if this fails: README.md of the lessons says how to install it

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
        raise NotImplementedError("not written yet: ReLU.forward")

    def backward(self, grad_y, cache):
        """grad_y, of the shape of x -> grad_x"""
        raise NotImplementedError("not written yet: ReLU.backward")


class PositionwiseFeedForward(Module):
    def __init__(self, d_model, d_ff, *, rng):
        self.linear_1 = Linear(d_model, d_ff, rng=rng)
        self.relu = ReLU()
        self.linear_2 = Linear(d_ff, d_model, rng=rng)

    def forward(self, x):
        """x (..., d_model) -> y (..., d_model), through d_ff; and a cache."""
        raise NotImplementedError("not written yet: PositionwiseFeedForward.forward")

    def backward(self, grad_y, cache):
        """grad_y (..., d_model) -> grad_x (..., d_model)"""
        raise NotImplementedError("not written yet: PositionwiseFeedForward.backward")


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
