# %% [markdown]
# # 练习 16 · 屏蔽一个头
#
# | | |
# |---|---|
# | **要写的** | `muted` |
# | **要想明白的** | 一个头给输出加上了什么，可以用什么代替它 |
# | **论文** | 第 3.2.2 节 |
# | **讲解** | 第 11.6 节 |
# | **时间** | 30 分钟（估计） |

# %%
import aiayn_np  # 如果出错：课程的 README.md 说明怎样安装


import os

os.environ.setdefault("AIAYN_LANG", "zh")  # 检验报告用中文

# %%
import numpy as np

from aiayn_course.exercises import check
from aiayn_course.lab.claims.head_jobs import solve
from aiayn_course.lab.learning import small_model
from aiayn_np import CopyTask

# %% [markdown]
# ## 要写什么
#
# 一个头是必需的吗？屏蔽它：在它的输出的地方放上别的东西，看什么会坏掉（第 11.6 节）。可以放零。但是头带来的东西，往往有一部分处处相同，后面的层也习惯了它；所以还有一种办法，是放上这个头的均值。
#
# `muted(heads, W_O, head, *, real=None)`：`heads` (B, h, T, d_v) 是所有头的输出，`W_O` (h d_v, d_model) 是 $W^O$。返回 $\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\,W^O$，形状是 (B, T, d_model)，其中编号为 `head` 的头（从 0 数起）的输出换成了别的：
#
# - 如果 `real` 是 `None`，换成零；
# - 否则在每个位置都换成这个头的输出的**均值**，(d_v,)。取均值的是所有序列中 `real` (B, T) 为 True 的所有位置，也就是词元，不是填充。每个位置算一次。
#
# 传给函数的东西，一样也不能修改。
#
# **先推导。** 与 $W^O$ 的乘积是 $h$ 个乘积的和。$W^O$ 的哪些行属于头 $i$？
#
# **先试一个数。** `muted(np.array([[[[2.0]], [[5.0]]]]), np.array([[1.0], [10.0]]), 1)` 应得到 `[[[2]]]`：2 · 1 + 5 · 10 的第二项没有了。`muted(np.array([[[[2.0], [4.0], [9.0]]]]), np.ones((1, 1)), 0, real=np.array([[True, True, False]]))` 应得到 `[[[3], [3], [3]]]`。


# %%
def muted(heads, W_O, head, *, real=None):
    """heads (B, h, T, d_v)，W_O (h d_v, d_model) -> (B, T, d_model)"""
    raise NotImplementedError("尚未编写：muted")


# %% [markdown]
# ## 写对了吗？
#
# 想运行多少次都可以。报告把你的数和正确的数并排列出，指出从哪里开始不同，并提一个问题，引导你找到错误。需要帮助时，`check(muted, hint=1)` 说出可能的原因，`hint=2` 把你的那一行和正确的写法并排列出，`hint=3` 给出推导。

# %%
report = check(muted)
report.show()

# %% [markdown]
# ## 屏蔽一个模型的头
#
# 一个模型用几秒钟学会复制。用零屏蔽一个头，或用它的均值屏蔽它，最后一个注意力的输出平均移动多远？

# %%
if report:
    task = CopyTask(symbols=6, max_length=6)
    model = small_model(task, 0, N=2, h=4)
    solve(model, task, 0, steps=1000)
    src, tgt_in, _ = task.test(300)
    attention = model.decoder.layers[1].cross_attention
    cache = model.forward(src, tgt_in)[1].decoder.layers[1].cross_attention.attention
    heads, W_O = cache.weights @ cache.V, attention.linear_O.W.value   # (B, h, T, d_v)
    real = tgt_in != task.pad
    whole = heads.swapaxes(1, 2).reshape(*real.shape, -1) @ W_O
    for head in range(4):
        for name, given in (("zeros", None), ("mean", real)):
            moved = np.linalg.norm(muted(heads, W_O, head, real=given) - whole, axis=-1)[real].mean()
            print(f"head {head + 1}, {name:5}: {moved:.2f}")
