# %% [markdown]
# # 练习 5 · 掩蔽：未来、填充和 -inf
#
# | | |
# |---|---|
# | **要写的** | `causal`、`not_padding`、`Mask` |
# | **要想明白的** | 两个形状正确的布尔掩蔽，以及在查询不能看的地方填 -inf 的方框 |
# | **论文** | 第 3.2.3 节、图 2 左 |
# | **讲解** | 第 5 课 |
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
# 掩蔽是布尔数组，**查询可以看某个键的地方为 True**。行是查询，列是键。
#
# - `causal(T)`，形状是 (T, T)：位置 $i$ 只能看 $j \le i$（论文第 3.2.3 节）。
# - `not_padding(ids, pad=0)`，由 (B, T) 的 ids 得到形状 (B, 1, 1, T)：哪些键是有效词元。分数的轴是 (B, h, T_q, T_k)；不论哪个头、哪个查询，填充都一样。填充可以出现在任何位置。
# - `Mask`，图 2 中的方框：`forward(scores, *, allowed=None)` 在允许的地方给出分数，在其他地方给出 $-\infty$；如果是 `None`，就给出所有的分数。它的 `backward` 很短：想一想，在分数已经换掉的地方，输出依赖什么。`allowed` 是 (T_q, T_k)，或者轴数与分数相同，每个轴为 1 或与分数相等。
#
# **先试一个数。** `causal(2)` 应得到 `[[True, False], [True, True]]`，`Mask()(np.array([[1.0, 2.0]]), allowed=np.array([[True, False]]))` 应得到 `[[1, -np.inf]]`。


# %%
def causal(T):
    """掩蔽 (T, T)：位置 i 可以看 j <= i。"""
    raise NotImplementedError("尚未编写：causal")


def not_padding(ids, pad=0):
    """ids (B, T) 中有效词元的掩蔽，形状是 (B, 1, 1, T)。"""
    raise NotImplementedError("尚未编写：not_padding")


class Mask(Module):
    def forward(self, scores, *, allowed=None):
        """允许的地方是分数，其他地方是 -inf；以及缓存。"""
        raise NotImplementedError("尚未编写：Mask.forward")

    def backward(self, grad_y, cache):
        """grad_y（形状与分数相同）-> grad_scores"""
        raise NotImplementedError("尚未编写：Mask.backward")


# %% [markdown]
# ## 写对了吗？
#
# 想运行多少次都可以。报告把你的数和正确的数并排列出，指出从哪里开始不同，并提一个问题，引导你找到错误。需要帮助时，`check(causal, hint=1)` 说出可能的原因，`hint=2` 把你的那一行和正确的写法并排列出，`hint=3` 给出推导。

# %%
reports = [check(causal), check(not_padding), check(Mask)]
for report in reports:
    report.show()

# %% [markdown]
# ## 用它们来训练

# %%
if all(reports):
    print(train_with(causal, not_padding, Mask))
