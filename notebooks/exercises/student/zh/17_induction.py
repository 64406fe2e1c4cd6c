# %% [markdown]
# # 练习 17 · 归纳头的检测器
#
# | | |
# |---|---|
# | **要写的** | `prefix_score` |
# | **要想明白的** | 跟在更早的相同词元后面的键，以及一个头放在它们上面的权重 |
# | **论文** | 第 3.2.3 节 |
# | **讲解** | 第 15.2 节 |
# | **时间** | 40 分钟（估计） |

# %%
import aiayn_np  # 如果出错：课程的 README.md 说明怎样安装


import os

os.environ.setdefault("AIAYN_LANG", "zh")  # 检验报告用中文

# %%
import numpy as np

from aiayn_course.exercises import check
from aiayn_course.lab.claims.induction import repeated, trained
from aiayn_np import attention_maps

# %% [markdown]
# ## 要写什么
#
# **归纳头**（induction head）找到刚读的词元以前出现过的地方，再看跟在后面的词元（第 15.2 节）。在 `6 3 1 5 6 3` 中，最后一个查询读了 3；以前有过一个 3，跟在后面的是 1。
#
# `prefix_score(weights, ids)`：`weights` (B, h, T, T) 是 $h$ 个头的因果注意力图，行是查询。`ids` (B, T) 是词元，其中没有填充。如果一个查询的词元在更早的位置也出现过，这个查询就算数。它的数值，是它在所有这样的键上的权重之**和**：键紧跟在一个*更早的*相同词元之后。返回 (h,)：每个头一个数，即所有序列中所有算数的查询一起的均值。如果没有一个查询算数，数值是 0。
#
# **先在纸上做。** 对编号 2 2 5 2，画一个 4 × 4 的表，行是查询，标出紧跟在更早的相同词元之后的键。哪些查询算数？这样的键可以是查询自己的位置吗？
#
# **先试一个数。** `prefix_score(np.tril(np.ones((1, 1, 4, 4))), np.array([[7, 8, 7, 8]]))` 应得到 `[1]`；对编号 2 2 5 2，它是 1.5：第二个查询一个键，最后一个查询两个键。（这里的权重之和不必是 1。）


# %%
def prefix_score(weights, ids):
    """weights (B, h, T, T)，ids (B, T) -> (h,)"""
    raise NotImplementedError("尚未编写：prefix_score")


# %% [markdown]
# ## 写对了吗？
#
# 想运行多少次都可以。报告把你的数和正确的数并排列出，指出从哪里开始不同，并提一个问题，引导你找到错误。需要帮助时，`check(prefix_score, hint=1)` 说出可能的原因，`hint=2` 把你的那一行和正确的写法并排列出，`hint=3` 给出推导。

# %%
report = check(prefix_score)
report.show()

# %% [markdown]
# ## 找到这个头
#
# 一个两层的语言模型学习续写重复的符号块；这里所有的代码中，这一格运行得最久。它的哪些头看着跟在后面的词元？头看哪里，还不等于需要它做什么：像练习 16 那样屏蔽它。

# %%
if report:
    ids, _, _ = repeated(100, np.random.default_rng(1))
    for steps in (0, 800):
        maps = attention_maps(trained(N=2, seed=0, steps=steps).forward(ids)[1])
        scores = [prefix_score(weights, ids).round(2) for weights in maps.values()]
        print(f"after {steps} steps: layer 1 {scores[0]}, layer 2 {scores[1]}")
