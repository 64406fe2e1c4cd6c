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
        ### solution: SinusoidalPositionalEncoding.table
        pos = np.arange(start, start + T)[:, None]
        angle = pos / 10000 ** (np.arange(0, self.d_model, 2) / self.d_model)
        PE = np.empty((T, self.d_model))
        PE[:, 0::2] = np.sin(angle)
        PE[:, 1::2] = np.cos(angle)[:, : self.d_model // 2]
        return PE
        ### end

    def forward(self, x, *, start=0):
        """x (..., T, d_model) -> y of the same shape; and a cache."""
        ### solution: SinusoidalPositionalEncoding.forward
        return x + self.table(x.shape[-2], start=start).astype(x.dtype), Cache()
        ### end

    def backward(self, grad_y, cache):
        """grad_y (..., T, d_model) -> grad_x"""
        ### solution: SinusoidalPositionalEncoding.backward
        return grad_y
        ### end


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
