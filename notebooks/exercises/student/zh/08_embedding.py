# %% [markdown]
# # 练习 8 · 嵌入和共享的矩阵
#
# | | |
# |---|---|
# | **要写的** | `Embedding`、`OutputProjection` |
# | **要想明白的** | 查表，编号重复时梯度要累加，以及与它共享矩阵的投影 |
# | **论文** | 第 3.4 节 |
# | **讲解** | 第 8.5 节、第 9.6 节 |
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
from aiayn_np import Cache, Module, Parameter

# %% [markdown]
# ## 要写什么
#
# $$y = \sqrt{d_\mathrm{model}}\; E[\mathrm{ids}], \qquad \mathrm{logits} = x\,E^T$$
#
# 同一个矩阵 `E` (vocab_size, d_model) 有三个用处：源序列的嵌入，目标序列的嵌入，以及到 logits 的投影（论文第 3.4 节）。
#
# - `Embedding.forward(ids)` 查出 `E` 中的各行。它的 `backward` 把梯度累加到 `self.E.grad`，并返回 `None`：编号没有梯度。同一个编号 可能在一个批量里出现很多次。
# - `OutputProjection(E)` 得到的就是嵌入的那个 Parameter。它的 `backward` 把梯度累加到同一个 `E.grad`，并返回 `grad_x`。
#
# **先推导。** 凡是 `ids == v` 的地方，都用到了 $E$ 的第 $v$ 行。它在这些地方的作用，加起来是什么？
#
# **先试一个数。** `layer = Embedding(3, 4, rng=np.random.default_rng(0)); layer.E.value[...] = 1; layer(np.array([2]))` 应得到 `[[2, 2, 2, 2]]`：d_model = 4 的平方根是 2。


# %%
class Embedding(Module):
    def __init__(self, vocab_size, d_model, *, rng):
        self.vocab_size, self.d_model = vocab_size, d_model
        self.E = Parameter(rng.normal(0, 1 / math.sqrt(d_model), (vocab_size, d_model)))

    def forward(self, ids):
        """ids (...) -> y (..., d_model) 和缓存。"""
        raise NotImplementedError("尚未编写：Embedding.forward")

    def backward(self, grad_y, cache):
        """把梯度累加到 E.grad；返回 None。"""
        raise NotImplementedError("尚未编写：Embedding.backward")


class OutputProjection(Module):
    def __init__(self, E):
        self.E = E

    def forward(self, x):
        """x (..., d_model) -> logits (..., vocab_size) 和缓存。"""
        raise NotImplementedError("尚未编写：OutputProjection.forward")

    def backward(self, grad_logits, cache):
        """grad_logits (..., vocab_size) -> grad_x (..., d_model)；把梯度累加到 E.grad。"""
        raise NotImplementedError("尚未编写：OutputProjection.backward")


# %% [markdown]
# ## 写对了吗？
#
# 想运行多少次都可以。报告把你的数和正确的数并排列出，指出从哪里开始不同，并提一个问题，引导你找到错误。需要帮助时，`check(Embedding, hint=1)` 说出可能的原因，`hint=2` 把你的那一行和正确的写法并排列出，`hint=3` 给出推导。

# %%
reports = [check(Embedding), check(OutputProjection)]
for report in reports:
    report.show()

# %% [markdown]
# ## 用它们来训练
#
# 在模型里，三个层共用一个 `E`。三个用处中只要少了一个，梯度就不一样。

# %%
if all(reports):
    print(train_with(Embedding, OutputProjection))
