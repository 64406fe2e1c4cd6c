# %% [markdown]
# # Exercise 6 · Multi-head attention
#
# | | |
# |---|---|
# | **Write** | `MultiHeadAttention` |
# | **You have to find** | the split of one product into h heads and its inverse, forwards and backwards |
# | **Paper** | Section 3.2.2, Fig. 2 right |
# | **Explained in** | Lesson 6.2, 6.3, 6.8 |
# | **Time** | 60 minutes, estimated |
# | **Rules of a layer** | Any number of axes may stand in front. Nothing that a method is given is changed. backward takes what it needs from its cache, not from self. float32 in gives float32 out. |

# %%
import aiayn_np  # if this fails: README.md of the lessons says how to install it

# %%
import numpy as np  # noqa: F401, for your trials

from aiayn_course.exercises import check, train_with
from aiayn_np import Cache, Linear, Module, ScaledDotProductAttention

# %% [markdown]
# ## What to write
#
# $$\mathrm{MultiHead}(Q, K, V) = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\,W^O,
# \qquad \mathrm{head}_i = \mathrm{Attention}(Q W_i^Q, K W_i^K, V W_i^V)$$
#
# The matrices $W_1^Q \dots W_h^Q$ stand side by side in one, `linear_Q.W`: one product projects for
# all heads, and head $i$ of $1 \dots h$ owns the features $(i - 1)\,d_k$ to $i\,d_k - 1$ of the result, counted from 0. So each
# projection has to be split, (..., T, h d) to (..., h, T, d), and the heads to be merged again.
#
# `Linear` and `ScaledDotProductAttention` are given, with their backwards. Each `forward` returns
# `(result, cache)`; keep all five caches, of `linear_Q`, `linear_K`, `linear_V`, `attention` and `linear_O`. `backward(grad_y, cache)` returns
# `grad_x_Q, grad_x_K, grad_x_V`. Pass `allowed` and `rng` on to the attention.
#
# **On paper first.** Which function is the backward of `split_heads`? The two functions help; you may do without.
#
# **Try first.** `split_heads(np.arange(12).reshape(3, 4), 2)[0]` must give `[[0, 1], [4, 5], [8, 9]]`: three positions of two heads with
# `d = 2`, and these are the numbers of head 1.


# %%
def split_heads(x, h):
    """(..., T, h * d) -> (..., h, T, d)"""
    raise NotImplementedError("not written yet: split_heads")


def merge_heads(x):
    """(..., h, T, d) -> (..., T, h * d), the inverse of split_heads"""
    raise NotImplementedError("not written yet: merge_heads")


class MultiHeadAttention(Module):
    def __init__(self, d_model, h, *, d_k=None, d_v=None, rng):
        self.d_model, self.h = d_model, h
        self.d_k, self.d_v = d_k or d_model // h, d_v or d_model // h
        self.linear_Q = Linear(d_model, h * self.d_k, bias=False, rng=rng)
        self.linear_K = Linear(d_model, h * self.d_k, bias=False, rng=rng)
        self.linear_V = Linear(d_model, h * self.d_v, bias=False, rng=rng)
        self.attention = ScaledDotProductAttention()
        self.linear_O = Linear(h * self.d_v, d_model, bias=False, rng=rng)

    def forward(self, x_Q, x_K, x_V, *, allowed=None, rng=None):
        """x_Q (..., T_q, d_model), x_K and x_V (..., T_k, d_model) -> (..., T_q, d_model)"""
        raise NotImplementedError("not written yet: MultiHeadAttention.forward")

    def backward(self, grad_y, cache):
        """grad_y (..., T_q, d_model) -> grad_x_Q, grad_x_K, grad_x_V"""
        raise NotImplementedError("not written yet: MultiHeadAttention.backward")


# %% [markdown]
# ## Is it right?
#
# Run this as often as you like. The report shows your numbers beside the right ones, where they
# part, and asks a question that leads to the mistake. For help: `check(MultiHeadAttention, hint=1)` names the
# likely cause, `hint=2` shows your line beside the right one, and `hint=3` derives it.

# %%
report = check(MultiHeadAttention)
report.show()

# %% [markdown]
# ## Now train with it

# %%
if report:
    print(train_with(MultiHeadAttention))
