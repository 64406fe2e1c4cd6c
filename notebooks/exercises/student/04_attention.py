# %% [markdown]
# # Exercise 4 · Scaled dot-product attention
#
# | | |
# |---|---|
# | **Write** | `ScaledDotProductAttention` |
# | **You have to find** | the five boxes of the figure in order, and their backward in reverse order |
# | **Paper** | Section 3.2.1, Eq. 1, Fig. 2 left |
# | **Explained in** | Lesson 4 |
# | **Time** | 60 minutes, estimated |
# | **Rules of a layer** | Any number of axes may stand in front. Nothing that a method is given is changed. backward takes what it needs from its cache, not from self. float32 in gives float32 out. |

# %%
import aiayn_np  # if this fails: README.md of the lessons says how to install it

# %%
import math

import numpy as np  # noqa: F401, for your trials

from aiayn_course.exercises import check, train_with
from aiayn_np import Cache, Mask, Module, Softmax

# %% [markdown]
# ## What to write
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\left(\frac{Q K^T}{\sqrt{d_k}}\right) V$$
#
# for `Q` (..., T_q, d_k), `K` (..., T_k, d_k), `V` (..., T_k, d_v), with any number of axes in
# front (batch, heads). The boxes of Figure 2 from below to above: MatMul, Scale, Mask, SoftMax,
# MatMul. `Mask` and `Softmax` are given, as layers: their `forward` returns a result and a cache,
# their `backward` takes that cache. (You write `Mask` yourself in the next exercise.) Call them so:
# `self.mask.forward(x, allowed=allowed)` and `self.softmax.forward(x)`.
#
# `backward(grad_out, cache)` returns `grad_Q, grad_K, grad_V`. `rng` is for dropout on the weights,
# which the paper does not have: leave it unused, and `P_drop` too.
#
# **On paper first.** Let `Q` be (2, 3), `K` (4, 3) and `V` (4, 5). Write down the shapes of the scores, the weights and
# the output, and of the gradients of all three and of `Q`, `K` and `V`.
#
# **Derive first.** Go through the forward from its last line to its first. For each product
# $y = A\,B$ (Lesson 4.1): $\mathrm{grad\_A} = \mathrm{grad\_y}\,B^T$ and $\mathrm{grad\_B} =
# A^T\,\mathrm{grad\_y}$. `X.mT` swaps the last two axes only.
#
# **Try first.** `ScaledDotProductAttention()(np.zeros((1, 2)), np.ones((3, 2)), np.array([[1.0], [2.0], [6.0]]))` must give `[[3]]`: all
# scores are equal, and the output is the mean of the values.


# %%
class ScaledDotProductAttention(Module):
    def __init__(self, P_drop=0.0):
        self.mask = Mask()
        self.softmax = Softmax()

    def forward(self, Q, K, V, *, allowed=None, rng=None):
        """(..., T_q, d_v), and a cache. allowed: bool, True where query i may look at key j."""
        raise NotImplementedError("not written yet: ScaledDotProductAttention.forward")

    def backward(self, grad_out, cache):
        """grad_out (..., T_q, d_v) -> grad_Q, grad_K, grad_V"""
        raise NotImplementedError("not written yet: ScaledDotProductAttention.backward")


# %% [markdown]
# ## Is it right?
#
# Run this as often as you like. The report shows your numbers beside the right ones, where they
# part, and asks a question that leads to the mistake. For help: `check(ScaledDotProductAttention, hint=1)` names the
# likely cause, `hint=2` shows your line beside the right one, and `hint=3` derives it.

# %%
report = check(ScaledDotProductAttention)
report.show()

# %% [markdown]
# ## Now train with it
#
# It stands in the model six times: in two encoder layers, and twice in each of two decoder layers.

# %%
if report:
    print(train_with(ScaledDotProductAttention))
