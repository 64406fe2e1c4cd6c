# %% [markdown]
# # 练习 6 · 多头注意力
#
# | | |
# |---|---|
# | **要写的** | `MultiHeadAttention` |
# | **要想明白的** | 把一个乘积拆成 h 个头，以及它的逆；前向和反向都要 |
# | **论文** | 第 3.2.2 节、图 2 右 |
# | **讲解** | 第 6.2 节、第 6.3 节、第 6.8 节 |
# | **时间** | 60 分钟（估计） |
# | **层的规则** | 前面可以有任意多个轴。传给方法的东西，一样也不能修改。backward 要用的东西取自缓存，不取自 self。进来是 float32，出去也是 float32。 |

# %%
import aiayn_np  # 如果出错：课程的 README.md 说明怎样安装


import os

os.environ.setdefault("AIAYN_LANG", "zh")  # 检验报告用中文

# %%
import numpy as np  # noqa: F401, 供你试验用

from aiayn_course.exercises import check, train_with
from aiayn_np import Cache, Linear, Module, ScaledDotProductAttention

# %% [markdown]
# ## 要写什么
#
# $$\mathrm{MultiHead}(Q, K, V) = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\,W^O,
# \qquad \mathrm{head}_i = \mathrm{Attention}(Q W_i^Q, K W_i^K, V W_i^V)$$
#
# 矩阵 $W_1^Q \dots W_h^Q$ 并排放在同一个矩阵 `linear_Q.W` 里：一次乘法就为所有的头做了投影。头的编号是 $1 \dots h$，结果中从 $(i - 1)\,d_k$ 到 $i\,d_k - 1$ 的特征（从 0 数起）属于头 $i$。所以每个投影都要拆开，从 (..., T, h d) 变成 (..., h, T, d)；最后再把各个头合并起来。
#
# `Linear` 和 `ScaledDotProductAttention` 已经给出，反向传播也有了。每个 `forward` 都返回 `(result, cache)`；五个缓存都要保存，即 `linear_Q`、`linear_K`、`linear_V`、`attention` 和 `linear_O` 的缓存。`backward(grad_y, cache)` 返回 `grad_x_Q, grad_x_K, grad_x_V`。把 `allowed` 和 `rng` 传给注意力。
#
# **先在纸上做。** `split_heads` 的反向传播是哪个函数？这两个函数只是帮手，不用也可以。
#
# **先试一个数。** `split_heads(np.arange(12).reshape(3, 4), 2)[0]` 应得到 `[[0, 1], [4, 5], [8, 9]]`：三个位置、两个头，`d = 2`，这些是头 1 的数值。


# %%
def split_heads(x, h):
    """(..., T, h * d) -> (..., h, T, d)"""
    raise NotImplementedError("尚未编写：split_heads")


def merge_heads(x):
    """(..., h, T, d) -> (..., T, h * d)，split_heads 的逆"""
    raise NotImplementedError("尚未编写：merge_heads")


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
        raise NotImplementedError("尚未编写：MultiHeadAttention.forward")

    def backward(self, grad_y, cache):
        """grad_y (..., T_q, d_model) -> grad_x_Q, grad_x_K, grad_x_V"""
        raise NotImplementedError("尚未编写：MultiHeadAttention.backward")


# %% [markdown]
# ## 写对了吗？
#
# 想运行多少次都可以。报告把你的数和正确的数并排列出，指出从哪里开始不同，并提一个问题，引导你找到错误。需要帮助时，`check(MultiHeadAttention, hint=1)` 说出可能的原因，`hint=2` 把你的那一行和正确的写法并排列出，`hint=3` 给出推导。

# %%
report = check(MultiHeadAttention)
report.show()

# %% [markdown]
# ## 用它来训练

# %%
if report:
    print(train_with(MultiHeadAttention))
