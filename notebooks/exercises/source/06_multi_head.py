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
    ### solution: split_heads
    return x.reshape(*x.shape[:-1], h, x.shape[-1] // h).swapaxes(-2, -3)
    ### end


def merge_heads(x):
    """(..., h, T, d) -> (..., T, h * d), the inverse of split_heads"""
    ### solution: merge_heads
    x = x.swapaxes(-2, -3)
    return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])
    ### end


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
        ### solution: MultiHeadAttention.forward
        c = Cache()
        Q, c.linear_Q = self.linear_Q.forward(x_Q)
        K, c.linear_K = self.linear_K.forward(x_K)
        V, c.linear_V = self.linear_V.forward(x_V)
        Q, K, V = split_heads(Q, self.h), split_heads(K, self.h), split_heads(V, self.h)
        heads, c.attention = self.attention.forward(Q, K, V, allowed=allowed, rng=rng)
        y, c.linear_O = self.linear_O.forward(merge_heads(heads))
        return y, c
        ### end

    def backward(self, grad_y, cache):
        """grad_y (..., T_q, d_model) -> grad_x_Q, grad_x_K, grad_x_V"""
        ### solution: MultiHeadAttention.backward
        grad_heads = split_heads(self.linear_O.backward(grad_y, cache.linear_O), self.h)
        grad_Q, grad_K, grad_V = self.attention.backward(grad_heads, cache.attention)
        grad_x_V = self.linear_V.backward(merge_heads(grad_V), cache.linear_V)
        grad_x_K = self.linear_K.backward(merge_heads(grad_K), cache.linear_K)
        grad_x_Q = self.linear_Q.backward(merge_heads(grad_Q), cache.linear_Q)
        return grad_x_Q, grad_x_K, grad_x_V
        ### end


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
