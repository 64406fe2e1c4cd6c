# %% [markdown]
# # Exercise 2 · Layer normalisation
#
# | | |
# |---|---|
# | **Write** | `LayerNorm` |
# | **You have to find** | forward over the features of one position, the gradients of gamma and beta, and the three ways in which a feature moves the output |
# | **Paper** | Section 3.1, 5.4 |
# | **Explained in** | Lesson 7.4 |
# | **Time** | 45 minutes, estimated |
# | **Rules of a layer** | Any number of axes may stand in front. Nothing that a method is given is changed. backward takes what it needs from its cache, not from self. float32 in gives float32 out. |

# %%
import aiayn_np  # if this fails: README.md of the lessons says how to install it

# %%
import numpy as np

from aiayn_course.exercises import check, train_with
from aiayn_np import Cache, Module, Parameter

# %% [markdown]
# ## What to write
#
# $$y = \gamma\, n + \beta, \qquad n = \frac{x - \mathrm{mean}(x)}{s}, \qquad
# s = \sqrt{\mathrm{mean}\big((x - \mathrm{mean}(x))^2\big) + \mathrm{eps}}$$
#
# Both means are taken over the features of one position, the last axis. `self.gamma` and
# `self.beta` are Parameters: the array is `self.gamma.value`, and its gradient `self.gamma.grad`.
#
# - `forward(x)` returns `y` and a cache.
# - `backward(grad_y, cache)` **adds** to `self.gamma.grad` and `self.beta.grad`, and returns
#   `grad_x`. `gamma` and `beta` serve all positions, so their gradients are sums over all axes but
#   the last.
#
# **Derive first.** Let $g = \mathrm{grad\_y}\,\gamma$ be the gradient of $n$. A feature $x_k$
# moves $n_j$ in three ways: directly (if $j = k$), through the mean, and through $s$. Write
# $\partial n_j/\partial x_k$ as three terms, then sum over $j$; with means over the features the
# result has one short line.
#
# **Try first.** `LayerNorm(2)(np.array([1.0, 3.0])).round(4)` must give `[-1, 1]`: the mean is 2, the variance 1.


# %%
class LayerNorm(Module):
    def __init__(self, d_model, eps=1e-6):
        self.d_model, self.eps = d_model, eps
        self.gamma = Parameter(np.ones(d_model))
        self.beta = Parameter(np.zeros(d_model))

    def forward(self, x):
        """x (..., d_model) -> y (..., d_model); and a cache."""
        raise NotImplementedError("not written yet: LayerNorm.forward")

    def backward(self, grad_y, cache):
        """grad_y (..., d_model) -> grad_x (..., d_model); adds to gamma.grad and beta.grad."""
        raise NotImplementedError("not written yet: LayerNorm.backward")


# %% [markdown]
# ## Is it right?
#
# Run this as often as you like. The report shows your numbers beside the right ones, where they
# part, and asks a question that leads to the mistake. For help: `check(LayerNorm, hint=1)` names the
# likely cause, `hint=2` shows your line beside the right one, and `hint=3` derives it.

# %%
report = check(LayerNorm)
report.show()

# %% [markdown]
# ## Now train with it

# %%
if report:
    print(train_with(LayerNorm))
