# %% [markdown]
# # 练习 1 · softmax 及其雅可比矩阵
#
# | | |
# |---|---|
# | **要写的** | `Softmax` |
# | **要想明白的** | 不会上溢的前向传播，以及体现“一个分数升高，其他权重就降低”的反向传播 |
# | **论文** | 第 3.2.1 节、公式 1 |
# | **讲解** | 第 2 课 |
# | **时间** | 30 分钟（估计） |
# | **层的规则** | 前面可以有任意多个轴。传给方法的东西，一样也不能修改。backward 要用的东西取自缓存，不取自 self。进来是 float32，出去也是 float32。 |

# %%
import aiayn_np  # 如果出错：课程的 README.md 说明怎样安装


import os

os.environ.setdefault("AIAYN_LANG", "zh")  # 检验报告用中文

# %%
import math

import numpy as np

from aiayn_course.exercises import check, train_with
from aiayn_np import Cache, Module

# %% [markdown]
# ## 要写什么
#
# $$w_j = \mathrm{softmax}(s)_j = \frac{\exp(s_j)}{\sum_k \exp(s_k)}$$
#
# 沿数组的**最后一个轴**计算，前面可以有任意多个轴。层有两个方法：
#
# - `forward(scores)` 返回权重**和缓存**，你的反向传播需要的一切都放在缓存里。怎样保存由你决定：`Cache(name=array)`、元组、字典都可以。
# - `backward(grad_weights, cache)` 得到某个标量 $L$ 对权重的梯度 $\partial L/\partial w$，形状与权重相同；它返回 $\partial L/\partial s$。它只读缓存，什么也不修改。
#
# 有两件事不许发生：分数很大时，`exp` 不能上溢；一行全是 $-\infty$ 时（查询哪里都不许看），权重必须是 0，不能是 nan。
#
# **先推导。** 一行中的每个权重都依赖这一行的所有分数，所以这里要用雅可比矩阵 $\partial w_j/\partial s_k$。分别对 $j = k$ 和 $j \ne k$ 写出它，再求和：$\mathrm{grad\_s}_k = \sum_j \mathrm{grad\_w}_j\, \partial w_j/\partial s_k$。
#
# **先试一个数。** `Softmax()(np.array([0, math.log(3)]))` 应得到 `[0.25, 0.75]`：$e^0 = 1$，$e^{\ln 3} = 3$。


# %%
class Softmax(Module):
    def forward(self, scores):
        """scores (..., n) -> weights (..., n) 和缓存；每行权重的和是 1。"""
        raise NotImplementedError("尚未编写：Softmax.forward")

    def backward(self, grad_weights, cache):
        """grad_weights (..., n) -> grad_scores (..., n)"""
        raise NotImplementedError("尚未编写：Softmax.backward")


# %% [markdown]
# ## 写对了吗？
#
# 想运行多少次都可以。报告把你的数和正确的数并排列出，指出从哪里开始不同，并提一个问题，引导你找到错误。需要帮助时，`check(Softmax, hint=1)` 说出可能的原因，`hint=2` 把你的那一行和正确的写法并排列出，`hint=3` 给出推导。

# %%
report = check(Softmax)
report.show()

# %% [markdown]
# ## 用它来训练
#
# 把你的 softmax 放进一个小 Transformer 的每一处注意力，旁边是同一个模型，用库里的 softmax：参数相同，批量也相同。两者必须每一步都相等。

# %%
if report:
    print(train_with(Softmax))
