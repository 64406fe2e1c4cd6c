# %% [markdown]
# # 练习 2 · 层规范化
#
# | | |
# |---|---|
# | **要写的** | `LayerNorm` |
# | **要想明白的** | 在同一位置的特征上做的前向传播、gamma 和 beta 的梯度，以及一个特征影响输出的三条路径 |
# | **论文** | 第 3.1 节、第 5.4 节 |
# | **讲解** | 第 7.4 节 |
# | **时间** | 45 分钟（估计） |
# | **层的规则** | 前面可以有任意多个轴。传给方法的东西，一样也不能修改。backward 要用的东西取自缓存，不取自 self。进来是 float32，出去也是 float32。 |

# %%
import aiayn_np  # 如果出错：课程的 README.md 说明怎样安装


import os

os.environ.setdefault("AIAYN_LANG", "zh")  # 检验报告用中文

# %%
import numpy as np

from aiayn_course.exercises import check, train_with
from aiayn_np import Cache, Module, Parameter

# %% [markdown]
# ## 要写什么
#
# $$y = \gamma\, n + \beta, \qquad n = \frac{x - \mathrm{mean}(x)}{s}, \qquad
# s = \sqrt{\mathrm{mean}\big((x - \mathrm{mean}(x))^2\big) + \mathrm{eps}}$$
#
# 两个均值都对同一个位置的各个特征来求，也就是沿最后一个轴。`self.gamma` 和 `self.beta` 是 Parameter：数组是 `self.gamma.value`，它的梯度是 `self.gamma.grad`。
#
# - `forward(x)` 返回 `y` 和缓存。
# - `backward(grad_y, cache)` 把梯度**累加**到 `self.gamma.grad` 和 `self.beta.grad`，并返回 `grad_x`。所有位置共用 `gamma` 和 `beta`，所以它们的梯度要对最后一个轴以外的所有轴求和。
#
# **先推导。** 设 $g = \mathrm{grad\_y}\,\gamma$，它是对 $n$ 的梯度。特征 $x_k$ 通过三条路径影响 $n_j$：直接影响（如果 $j = k$），通过均值，通过 $s$。把 $\partial n_j/\partial x_k$ 写成三项，再对 $j$ 求和；用对特征的均值来表示，结果只有短短一行。
#
# **先试一个数。** `LayerNorm(2)(np.array([1.0, 3.0])).round(4)` 应得到 `[-1, 1]`：均值是 2，方差是 1。


# %%
class LayerNorm(Module):
    def __init__(self, d_model, eps=1e-6):
        self.d_model, self.eps = d_model, eps
        self.gamma = Parameter(np.ones(d_model))
        self.beta = Parameter(np.zeros(d_model))

    def forward(self, x):
        """x (..., d_model) -> y (..., d_model) 和缓存。"""
        raise NotImplementedError("尚未编写：LayerNorm.forward")

    def backward(self, grad_y, cache):
        """grad_y (..., d_model) -> grad_x (..., d_model)；把梯度累加到 gamma.grad 和 beta.grad。"""
        raise NotImplementedError("尚未编写：LayerNorm.backward")


# %% [markdown]
# ## 写对了吗？
#
# 想运行多少次都可以。报告把你的数和正确的数并排列出，指出从哪里开始不同，并提一个问题，引导你找到错误。需要帮助时，`check(LayerNorm, hint=1)` 说出可能的原因，`hint=2` 把你的那一行和正确的写法并排列出，`hint=3` 给出推导。

# %%
report = check(LayerNorm)
report.show()

# %% [markdown]
# ## 用它来训练

# %%
if report:
    print(train_with(LayerNorm))
