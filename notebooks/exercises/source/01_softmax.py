# %%
import math

import numpy as np

from aiayn_course.exercises import check, train_with
from aiayn_np import Cache, Module

# %% [markdown]
# ## What to write
#
# $$w_j = \mathrm{softmax}(s)_j = \frac{\exp(s_j)}{\sum_k \exp(s_k)}$$
#
# along the **last axis** of an array with any number of axes in front. A layer has two methods:
#
# - `forward(scores)` returns the weights **and a cache**, with whatever your backward needs. How
#   you keep it is up to you: `Cache(name=array)`, a tuple, a dictionary.
# - `backward(grad_weights, cache)` gets the gradient of some number $L$ by the weights,
#   $\partial L/\partial w$, of their shape, and returns $\partial L/\partial s$. It reads the
#   cache and changes nothing.
#
# Two things must not happen: `exp` must not overflow for large scores, and a row of only
# $-\infty$ (a query that may look nowhere) must give weights of 0, not nan.
#
# **Derive first.** All weights of a row depend on all its scores, so there is a Jacobian,
# $\partial w_j/\partial s_k$. Write it down for $j = k$ and for $j \ne k$, then sum:
# $\mathrm{grad\_s}_k = \sum_j \mathrm{grad\_w}_j\, \partial w_j/\partial s_k$.
#
# **Try first.** `Softmax()(np.array([0, math.log(3)]))` must give `[0.25, 0.75]`: $e^0 = 1$ and $e^{\ln 3} = 3$.


# %%
class Softmax(Module):
    def forward(self, scores):
        """scores (..., n) -> weights (..., n), each row sums to 1; and a cache."""
        ### solution: Softmax.forward
        highest = scores.max(axis=-1, keepdims=True)
        highest = np.where(highest == -math.inf, 0.0, highest)
        exp_scores = np.exp(scores - highest)
        total = exp_scores.sum(axis=-1, keepdims=True)
        weights = exp_scores / (total + (total == 0))
        return weights, Cache(weights=weights)
        ### end

    def backward(self, grad_weights, cache):
        """grad_weights (..., n) -> grad_scores (..., n)"""
        ### solution: Softmax.backward
        weights = cache.weights
        mean_grad = (grad_weights * weights).sum(axis=-1, keepdims=True)
        return weights * (grad_weights - mean_grad)
        ### end


# %% [markdown]
# ## Is it right?
#
# Run this as often as you like. The report shows your numbers beside the right ones, where they
# part, and asks a question that leads to the mistake. For help: `check(Softmax, hint=1)` names the
# likely cause, `hint=2` shows your line beside the right one, and `hint=3` derives it.

# %%
report = check(Softmax)
report.show()

# %% [markdown]
# ## Now train with it
#
# Your softmax in every attention of a small Transformer, beside the same model with the library's:
# same parameters, same batches. Both must stay equal, step by step.

# %%
if report:
    print(train_with(Softmax))
