# %% [markdown]
# # 练习 7 · 前馈网络
#
# | | |
# |---|---|
# | **要写的** | `ReLU`、`PositionwiseFeedForward` |
# | **要想明白的** | max(0, x) 和它的导数；三层连在一起，前向和反向 |
# | **论文** | 第 3.3 节、公式 2 |
# | **讲解** | 第 7.5 节 |
# | **时间** | 20 分钟（估计） |
# | **层的规则** | 前面可以有任意多个轴。传给方法的东西，一样也不能修改。backward 要用的东西取自缓存，不取自 self。进来是 float32，出去也是 float32。 |

# %%
import aiayn_np  # 如果出错：课程的 README.md 说明怎样安装


import os

os.environ.setdefault("AIAYN_LANG", "zh")  # 检验报告用中文

# %%
import numpy as np

from aiayn_course.exercises import check, train_with
from aiayn_np import Cache, Linear, Module

# %% [markdown]
# ## 要写什么
#
# $$\mathrm{FFN}(x) = \max(0,\; x W_1 + b_1)\, W_2 + b_2$$
#
# - `ReLU` 及其导数：$x > 0$ 处为 1，其他地方为 0，$x = 0$ 处也是 0。
# - `PositionwiseFeedForward`，依次经过三个层。`Linear` 已经给出，反向传播也有了；`ReLU` 用你写的。每个位置都单独计算，所以没有别的事要做：把前向传播从最后一行往上读，就是反向传播。
#
# **先试一个数。** `ReLU()(np.array([-1.0, 2.0]))` 应得到 `[0, 2]`，`ReLU().backward(np.array([5.0, 5.0]), ReLU().forward(np.array([0.0, 2.0]))[1])` 应得到 `[0, 5]`。


# %%
class ReLU(Module):
    def forward(self, x):
        """max(0, x) 和缓存。"""
        raise NotImplementedError("尚未编写：ReLU.forward")

    def backward(self, grad_y, cache):
        """grad_y（形状与 x 相同）-> grad_x"""
        raise NotImplementedError("尚未编写：ReLU.backward")


class PositionwiseFeedForward(Module):
    def __init__(self, d_model, d_ff, *, rng):
        self.linear_1 = Linear(d_model, d_ff, rng=rng)
        self.relu = ReLU()
        self.linear_2 = Linear(d_ff, d_model, rng=rng)

    def forward(self, x):
        """x (..., d_model) -> y (..., d_model) 和缓存，中间经过 d_ff。"""
        raise NotImplementedError("尚未编写：PositionwiseFeedForward.forward")

    def backward(self, grad_y, cache):
        """grad_y (..., d_model) -> grad_x (..., d_model)"""
        raise NotImplementedError("尚未编写：PositionwiseFeedForward.backward")


# %% [markdown]
# ## 写对了吗？
#
# 想运行多少次都可以。报告把你的数和正确的数并排列出，指出从哪里开始不同，并提一个问题，引导你找到错误。需要帮助时，`check(ReLU, hint=1)` 说出可能的原因，`hint=2` 把你的那一行和正确的写法并排列出，`hint=3` 给出推导。

# %%
reports = [check(ReLU), check(PositionwiseFeedForward)]
for report in reports:
    report.show()

# %% [markdown]
# ## 用它们来训练

# %%
if all(reports):
    print(train_with(ReLU, PositionwiseFeedForward))
