# %% en="5387ac90"
import numpy as np  # noqa: F401, 供你试验用

from aiayn_np import Cache, Linear, Module, ScaledDotProductAttention
from aiayn_np.exercises import check, train_with

# %% [markdown] en="92353847"
# ## 要写什么
#
# $$\mathrm{MultiHead}(Q, K, V) = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\,W^O,
# \qquad \mathrm{head}_i = \mathrm{Attention}(Q W_i^Q, K W_i^K, V W_i^V)$$
#
# 矩阵 $W_1^Q \dots W_h^Q$ 并排放在同一个矩阵 `linear_Q.W` 里：一次乘法就为所有的头做了投影。头的编号是 $1 \dots h$，结果中从 $(i - 1)\,d_k$ 到 $i\,d_k - 1$ 的特征（从 0 数起）属于头 $i$。所以每个投影都要拆开，从 (..., T, h d) 变成 (..., h, T, d)；最后再把各个头合并起来。
#
# `Linear` 和 `ScaledDotProductAttention` 已经给出，反向传播也有了。每个 `forward` 都返回 `(result, cache)`；五个缓存都要保存，即 `linear_Q`、`linear_K`、`linear_V`、`attention` 和 `linear_O` 的缓存。`backward(grad_y, cache)` 返回 `grad_x_Q, grad_x_K, grad_x_V`。把 `allowed` 和 `rng` 传给注意力。
#
# **动手写之前：** 试试 `np.arange(12).reshape(3, 4)`，也就是三个位置、两个头，`d = 2`。找出一个表达式，使头 1 得到 [[0, 1], [4, 5], [8, 9]] 这些数。再在纸上回答：`split_heads` 的反向传播是哪个函数？


# %% en="b40e704f"
def split_heads(x, h):
    """(..., T, h * d) -> (..., h, T, d)"""
    ### solution: split_heads
    return x.reshape(*x.shape[:-1], h, x.shape[-1] // h).swapaxes(-2, -3)
    ### end


def merge_heads(x):
    """(..., h, T, d) -> (..., T, h * d)，split_heads 的逆"""
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
        """x_Q (..., T_q, d_model)，x_K 和 x_V (..., T_k, d_model) -> (..., T_q, d_model)"""
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


# %% [markdown] en="d6eac6a4"
# ## 写对了吗？

# %% en="4d0fc9e3"
report = check(MultiHeadAttention)
print(report)

# %% [markdown] en="9d9973ff"
# ## 用它来训练

# %% en="2a396357"
if report:
    print(train_with(MultiHeadAttention))
