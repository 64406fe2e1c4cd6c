# %% [markdown]
# # 练习 4 · 缩放点积注意力
#
# | | |
# |---|---|
# | **要写的** | `ScaledDotProductAttention` |
# | **要想明白的** | 按次序写出图中的五个方框，再按相反的次序写它们的反向传播 |
# | **论文** | 第 3.2.1 节、公式 1、图 2 左 |
# | **讲解** | 第 4 课 |
# | **时间** | 60 分钟（估计） |
# | **层的规则** | 前面可以有任意多个轴。传给方法的东西，一样也不能修改。backward 要用的东西取自缓存，不取自 self。进来是 float32，出去也是 float32。 |

# %%
import aiayn_np  # 如果出错：课程的 README.md 说明怎样安装


import os

os.environ.setdefault("AIAYN_LANG", "zh")  # 检验报告用中文

# %%
import math

import numpy as np  # noqa: F401, 供你试验用

from aiayn_course.exercises import check, train_with
from aiayn_np import Cache, Mask, Module, Softmax

# %% [markdown]
# ## 要写什么
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\left(\frac{Q K^T}{\sqrt{d_k}}\right) V$$
#
# `Q` 是 (..., T_q, d_k)，`K` 是 (..., T_k, d_k)，`V` 是 (..., T_k, d_v)，前面可以有任意多个轴（批量、头）。图 2 的方框从下往上依次是：MatMul、Scale、Mask、SoftMax、MatMul。`Mask` 和 `Softmax` 已经给出，它们也是层：`forward` 返回结果和缓存，`backward` 接收这个缓存。（`Mask` 在下一个练习里由你自己写。）这样调用它们：`self.mask.forward(x, allowed=allowed)` 和 `self.softmax.forward(x)`。
#
# `backward(grad_out, cache)` 返回 `grad_Q, grad_K, grad_V`。`rng` 用于对权重的暂退法（dropout），论文里没有这一步：不要用它，也不要用 `P_drop`。
#
# **先在纸上写。** 设 `Q` 是 (2, 3)，`K` 是 (4, 3)，`V` 是 (4, 5)。写出分数、权重和输出的形状，再写出这三者的梯度的形状，以及 `Q`、`K` 和 `V` 的梯度的形状。
#
# **先推导。** 从前向传播的最后一行走到第一行。对每个乘积 $y = A\,B$（第 4.1 节）：$\mathrm{grad\_A} = \mathrm{grad\_y}\,B^T$，$\mathrm{grad\_B} = A^T\,\mathrm{grad\_y}$。`X.mT` 只交换最后两个轴。
#
# **先试一个数。** `ScaledDotProductAttention()(np.zeros((1, 2)), np.ones((3, 2)), np.array([[1.0], [2.0], [6.0]]))` 应得到 `[[3]]`：所有分数相等，输出是各个值的平均。


# %%
class ScaledDotProductAttention(Module):
    def __init__(self, P_drop=0.0):
        self.mask = Mask()
        self.softmax = Softmax()

    def forward(self, Q, K, V, *, allowed=None, rng=None):
        """(..., T_q, d_v) 和缓存。allowed 是布尔数组：查询 i 可以看键 j 的地方为 True。"""
        raise NotImplementedError("尚未编写：ScaledDotProductAttention.forward")

    def backward(self, grad_out, cache):
        """grad_out (..., T_q, d_v) -> grad_Q, grad_K, grad_V"""
        raise NotImplementedError("尚未编写：ScaledDotProductAttention.backward")


# %% [markdown]
# ## 写对了吗？
#
# 想运行多少次都可以。报告把你的数和正确的数并排列出，指出从哪里开始不同，并提一个问题，引导你找到错误。需要帮助时，`check(ScaledDotProductAttention, hint=1)` 说出可能的原因，`hint=2` 把你的那一行和正确的写法并排列出，`hint=3` 给出推导。

# %%
report = check(ScaledDotProductAttention)
report.show()

# %% [markdown]
# ## 用它来训练
#
# 它在模型里出现六次：两个编码器层中各一次，两个解码器层中各两次。

# %%
if report:
    print(train_with(ScaledDotProductAttention))
