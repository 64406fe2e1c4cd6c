# %% [markdown]
# # 练习 9 · 正弦位置编码
#
# | | |
# |---|---|
# | **要写的** | `SinusoidalPositionalEncoding` |
# | **要想明白的** | 正弦和余弦的表，不用循环，d_model 为奇数时也要对 |
# | **论文** | 第 3.5 节 |
# | **讲解** | 第 8.3 节 |
# | **时间** | 25 分钟（估计） |
# | **层的规则** | 前面可以有任意多个轴。传给方法的东西，一样也不能修改。backward 要用的东西取自缓存，不取自 self。进来是 float32，出去也是 float32。 |

# %%
import aiayn_np  # 如果出错：课程的 README.md 说明怎样安装


import os

os.environ.setdefault("AIAYN_LANG", "zh")  # 检验报告用中文

# %%
import numpy as np

from aiayn_course.exercises import check, train_with
from aiayn_np import Cache, Module

# %% [markdown]
# ## 要写什么
#
# $$\mathrm{PE}(\mathrm{pos}, 2i) = \sin\frac{\mathrm{pos}}{10000^{2i/d_\mathrm{model}}}, \qquad
# \mathrm{PE}(\mathrm{pos}, 2i+1) = \cos\frac{\mathrm{pos}}{10000^{2i/d_\mathrm{model}}}, \qquad
# y = x + \mathrm{PE}$$
#
# - `table(T, *, start=0)` 给出位置 `start` ... `start + T - 1` 的各行，形状是 (T, d_model)。它不需要循环。d_model 是奇数时，最后一列是正弦。超出 max_len 的行不必拒绝。
# - `forward(x, *, start=0)` 返回 `x` (..., T, d_model) 与这些行的和，这是一个新数组，dtype 与 `x` 相同。
# - `backward`：PE 依赖什么？
#
# **先试一个数。** `SinusoidalPositionalEncoding(4, 10).table(2).round(4)` 应得到 `[[0, 1, 0, 1], [0.8415, 0.5403, 0.01, 1]]`：sin 1、cos 1、sin 0.01、cos 0.01。


# %%
class SinusoidalPositionalEncoding(Module):
    def __init__(self, d_model, max_len, *, rng=None):
        self.d_model, self.max_len = d_model, max_len

    def table(self, T, *, start=0):
        """位置 start ... start + T - 1 的 PE，形状是 (T, d_model)"""
        raise NotImplementedError("尚未编写：SinusoidalPositionalEncoding.table")

    def forward(self, x, *, start=0):
        """x (..., T, d_model) -> y（形状相同）和缓存。"""
        raise NotImplementedError("尚未编写：SinusoidalPositionalEncoding.forward")

    def backward(self, grad_y, cache):
        """grad_y (..., T, d_model) -> grad_x"""
        raise NotImplementedError("尚未编写：SinusoidalPositionalEncoding.backward")


# %% [markdown]
# ## 写对了吗？
#
# 想运行多少次都可以。报告把你的数和正确的数并排列出，指出从哪里开始不同，并提一个问题，引导你找到错误。需要帮助时，`check(SinusoidalPositionalEncoding, hint=1)` 说出可能的原因，`hint=2` 把你的那一行和正确的写法并排列出，`hint=3` 给出推导。

# %%
report = check(SinusoidalPositionalEncoding)
report.show()

# %% [markdown]
# ## 用它来训练

# %%
if report:
    print(train_with(SinusoidalPositionalEncoding))
