# %% [markdown]
# # Exercise 9 · Sinusoidal positions
#
# | | |
# |---|---|
# | **Write** | `SinusoidalPositionalEncoding` |
# | **You have to find** | the table of sines and cosines, without a loop and for an odd d_model too |
# | **Paper** | Section 3.5 |
# | **Explained in** | Lesson 8.3 |
# | **Time** | 25 minutes, estimated |
# | **Rules of a layer** | Any number of axes may stand in front. Nothing that a method is given is changed. backward takes what it needs from its cache, not from self. float32 in gives float32 out. |

# %%
import aiayn_np  # if this fails: README.md of the lessons says how to install it

# %%
import numpy as np

from aiayn_course.exercises import check, train_with
from aiayn_np import Cache, Module

# %% [markdown]
# ## What to write
#
# $$\mathrm{PE}(\mathrm{pos}, 2i) = \sin\frac{\mathrm{pos}}{10000^{2i/d_\mathrm{model}}}, \qquad
# \mathrm{PE}(\mathrm{pos}, 2i+1) = \cos\frac{\mathrm{pos}}{10000^{2i/d_\mathrm{model}}}, \qquad
# y = x + \mathrm{PE}$$
#
# - `table(T, *, start=0)` gives the rows of positions `start` ... `start + T - 1`, (T, d_model). It
#   needs no loop. An odd d_model ends with a sine. Rows beyond max_len need not be refused.
# - `forward(x, *, start=0)` returns the sum of `x` (..., T, d_model) and these rows, a new array in the
#   dtype of `x`.
# - `backward`: on what does PE depend?
#
# **Try first.** `SinusoidalPositionalEncoding(4, 10).table(2).round(4)` must give `[[0, 1, 0, 1], [0.8415, 0.5403, 0.01, 1]]`: sin 1, cos 1,
# sin 0.01, cos 0.01.


# %%
class SinusoidalPositionalEncoding(Module):
    def __init__(self, d_model, max_len, *, rng=None):
        self.d_model, self.max_len = d_model, max_len

    def table(self, T, *, start=0):
        """PE for positions start ... start + T - 1, (T, d_model)"""
        raise NotImplementedError("not written yet: SinusoidalPositionalEncoding.table")

    def forward(self, x, *, start=0):
        """x (..., T, d_model) -> y of the same shape; and a cache."""
        raise NotImplementedError("not written yet: SinusoidalPositionalEncoding.forward")

    def backward(self, grad_y, cache):
        """grad_y (..., T, d_model) -> grad_x"""
        raise NotImplementedError("not written yet: SinusoidalPositionalEncoding.backward")


# %% [markdown]
# ## Is it right?
#
# Run this as often as you like. The report shows your numbers beside the right ones, where they
# part, and asks a question that leads to the mistake. For help: `check(SinusoidalPositionalEncoding, hint=1)` names the
# likely cause, `hint=2` shows your line beside the right one, and `hint=3` derives it.

# %%
report = check(SinusoidalPositionalEncoding)
report.show()

# %% [markdown]
# ## Now train with it

# %%
if report:
    print(train_with(SinusoidalPositionalEncoding))
