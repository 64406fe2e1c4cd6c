# %% [markdown]
# # 练习 3 · 线性映射和它的三个梯度
#
# | | |
# |---|---|
# | **要写的** | `Linear` |
# | **要想明白的** | 前面可以有任意多个轴的前向传播，以及 x、W 和 b 的梯度 |
# | **论文** | 第 3.2.2 节、第 3.3 节 |
# | **讲解** | 第 4.1 节 |
# | **时间** | 20 分钟（估计） |
# | **层的规则** | 前面可以有任意多个轴。传给方法的东西，一样也不能修改。backward 要用的东西取自缓存，不取自 self。进来是 float32，出去也是 float32。 |

# %%
import aiayn_np  # 如果出错：课程的 README.md 说明怎样安装


import os

os.environ.setdefault("AIAYN_LANG", "zh")  # 检验报告用中文

# %%
import math

import numpy as np

from aiayn_course.exercises import check, train_with
from aiayn_np import Cache, Module, Parameter

# %% [markdown]
# ## 要写什么
#
# $$y = x\,W + b$$
#
# `x` 的形状是 (..., d_in)，前面可以有任意多个轴；`W` 是 (d_in, d_out)；`b` 是 (d_out,)，层没有偏置时则是 `None`，例如注意力的投影。
#
# - `forward(x)` 返回 `y` 和缓存。
# - `backward(grad_y, cache)` 把梯度累加到 `self.W.grad` 和 `self.b.grad`，并返回 `grad_x`。
#
# **先推导**，按下标来写：在每个位置上，$y_n = \sum_m x_m W_{mn} + b_n$。$L$ 通过哪些输出依赖 $x_m$？依赖 $W_{mn}$ 呢？依赖 $b_n$ 呢？后两者，批量中每个序列的每个位置都要用到。
#
# **先试一个数。** `layer = Linear(2, 2, rng=np.random.default_rng(0)); layer.W.value[...] = [[1, 2], [3, 4]]; layer(np.ones(2))` 应得到 `[4, 6]`，接着 `layer.backward(np.array([1.0, 0.0]), layer.forward(np.ones(2))[1])` 应得到 `[1, 3]`。


# %%
class Linear(Module):
    def __init__(self, d_in, d_out, *, bias=True, rng):
        self.d_in, self.d_out = d_in, d_out
        limit = math.sqrt(6 / (d_in + d_out))
        self.W = Parameter(rng.uniform(-limit, limit, (d_in, d_out)))
        self.b = Parameter(np.zeros(d_out)) if bias else None

    def forward(self, x):
        """x (..., d_in) -> y (..., d_out) 和缓存。"""
        raise NotImplementedError("尚未编写：Linear.forward")

    def backward(self, grad_y, cache):
        """grad_y (..., d_out) -> grad_x (..., d_in)；把梯度累加到 W.grad 和 b.grad。"""
        raise NotImplementedError("尚未编写：Linear.backward")


# %% [markdown]
# ## 写对了吗？
#
# 想运行多少次都可以。报告把你的数和正确的数并排列出，指出从哪里开始不同，并提一个问题，引导你找到错误。需要帮助时，`check(Linear, hint=1)` 说出可能的原因，`hint=2` 把你的那一行和正确的写法并排列出，`hint=3` 给出推导。

# %%
report = check(Linear)
report.show()

# %% [markdown]
# ## 用它来训练
#
# 除了嵌入和规范化，Transformer 的所有参数都在你写的这种层里。

# %%
if report:
    print(train_with(Linear))
