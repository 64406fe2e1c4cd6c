# %% [markdown]
# # 练习 18 · 一个 logit 由什么组成
#
# | | |
# |---|---|
# | **要写的** | `token_shares` |
# | **要想明白的** | 注意力权重保持不变时，词元经过两层到 logit 的所有路径 |
# | **论文** | 第 3.1 节、第 3.2.2 节、第 3.4 节 |
# | **讲解** | 第 15.3 节 |
# | **时间** | 45 分钟（估计） |

# %%
import aiayn_np  # 如果出错：课程的 README.md 说明怎样安装


import os

os.environ.setdefault("AIAYN_LANG", "zh")  # 检验报告用中文

# %%
import numpy as np

from aiayn_course.exercises import check

# %% [markdown]
# ## 要写什么
#
# 一个 logit 由什么组成？让注意力权重保持原来的值，一个没有规范化、没有前馈网络的两层模型就是线性的，它的 logit 是一个和，每个词元有一个**份额**（第 15.3 节）。
#
# `x` (B, T, d) 是嵌入后的词元。在两层中的每一层，每个头 $i$ 给位置 $t$ 加上它在各位置 $j$ 找到的东西：
#
# $$x_t \leftarrow x_t + \sum_i \sum_j A^i_{tj}\; x_j\, W^i, \qquad W^i = W^V_i W^O_i$$
#
# logit 是**最后**一个位置上的 $x_T \cdot e$，其中 `e` (d,) 是 $E$ 中某个符号的那一行。
#
# `token_shares(x, weights, W_VO, e)`：`weights` (2, B, h, T, T) 是第 1 层和第 2 层的注意力图，行是查询。`W_VO` (2, h, d, d) 是每层每个头的乘积 $W^V_i W^O_i$。返回 (B, T)，每个词元的份额：logit 经由所有路径从它得到的一切。所以一个序列的份额加起来就是它的 logit。
#
# **先推导。** 词元到 logit 有四条路径：绕过两层，只经过第一层，只经过第二层，经过两层。把它们写下来。或者像练习 4 那样倒着走：logit 对第 2 层之后、第 2 层之前、第 1 层之前的 $x_j$ 的导数是什么？在线性模型中，份额与它有什么关系？
#
# **先试一个数。** `token_shares(np.array([[[1.0], [2.0]]]), np.full((2, 1, 1, 2, 2), 0.5), np.ones((2, 1, 1, 1)), np.ones(1))` 应得到 `[[1.5, 5]]`。用手算：第 1 层把 (1, 2) 变成 (2.5, 3.5)，第 2 层把最后一个变成 6.5。


# %%
def token_shares(x, weights, W_VO, e):
    """x (B, T, d)，weights (2, B, h, T, T)，W_VO (2, h, d, d)，e (d,) -> (B, T)"""
    raise NotImplementedError("尚未编写：token_shares")


# %% [markdown]
# ## 写对了吗？
#
# 想运行多少次都可以。报告把你的数和正确的数并排列出，指出从哪里开始不同，并提一个问题，引导你找到错误。需要帮助时，`check(token_shares, hint=1)` 说出可能的原因，`hint=2` 把你的那一行和正确的写法并排列出，`hint=3` 给出推导。

# %%
report = check(token_shares)
report.show()

# %% [markdown]
# ## 把它们加起来
#
# 这里是经过两层的前向传播，以及每个序列的 logit。你的份额加起来必须等于它。整个模型（有规范化和前馈网络）的份额，见 `aiayn_np.reading.shares`。

# %%
if report:
    rng = np.random.default_rng(0)
    x, e = rng.standard_normal((2, 5, 8)), rng.standard_normal(8)
    weights = np.tril(rng.random((2, 2, 3, 5, 5)))
    weights = weights / weights.sum(axis=-1, keepdims=True)            # (2, B, h, T, T)
    W_VO = rng.standard_normal((2, 3, 8, 8)) / 4
    shares, state = token_shares(x, weights, W_VO, e), x
    for A, W in zip(weights, W_VO):
        state = state + (A @ state[:, None] @ W).sum(axis=1)
    for row, logit in zip(shares, state[:, -1] @ e):
        print("shares", row.round(2), " their sum", row.sum().round(4), " the logit", logit.round(4))
