# %% [markdown]
# # 练习 15 · 注意力图与它的基线
#
# | | |
# |---|---|
# | **要写的** | `margin`、`best_job` |
# | **要想明白的** | 用一个数说出头看着什么，它的基线，以及碰巧也能达到的超出量 |
# | **论文** | 第 3.2.3 节 |
# | **讲解** | 第 11.3 节 |
# | **时间** | 35 分钟（估计） |

# %%
import aiayn_np  # 如果出错：课程的 README.md 说明怎样安装


import os

os.environ.setdefault("AIAYN_LANG", "zh")  # 检验报告用中文

# %%
import numpy as np

from aiayn_course.exercises import check
from aiayn_course.lab.claims.head_jobs import JOBS, cross_attention_heads, solve
from aiayn_course.lab.learning import small_model
from aiayn_np import CopyTask

# %% [markdown]
# ## 要写什么
#
# “这个头看着答案”要变成一个数：它在答案所在位置上的平均权重。一个数需要基线，还要知道碰巧能达到多少（第 11.3 节）。
#
# - `margin(weights, places, shuffled)`：`weights` (B, h, T_q, T_k) 是 $h$ 个头的注意力图。`places` (B, T_q) 对每个查询给出它应该看的键的编号；没有这样的键时是 -1，这样的查询不算。头的**数值**是它在这些位置上的平均权重，所有算数的查询一起只取一次均值。**基线**是在另一些位置 `shuffled` (B, T_q) 上的同样的均值，-1 出现在同样的查询上。返回数值减基线，即超出量，(h,)。
# - `best_job(margins, untrained)`：`margins` (h, jobs) 是所有头在几种职责上的超出量，`untrained` (models, h, jobs) 是从未训练过的模型的超出量。**阈值**是所有未训练的超出量中最大的那个。返回整数 (h,)：每个头超出量最大的职责的编号；如果这个超出量不大于阈值，就是 -1。
#
# **先推导。** 一个处处看得一样多的头，数值是多少，超出量是多少？为什么取未训练的超出量中最大的，而不取它们的均值？
#
# **先试一个数。** `margin(np.array([[[[0.1, 0.9], [0.4, 0.6]]]]), np.array([[1, -1]]), np.array([[0, -1]]))` 应得到 `[0.8]`：第二个查询不算。`best_job(np.array([[0.1, 0.5], [0.2, 0.1]]), np.array([[[0.3, 0.0], [0.0, 0.1]]]))` 应得到 `[1, -1]`。


# %%
def margin(weights, places, shuffled):
    """weights (B, h, T_q, T_k)，places 和 shuffled (B, T_q) -> (h,)"""
    raise NotImplementedError("尚未编写：margin")


def best_job(margins, untrained):
    """margins (h, jobs)，untrained (models, h, jobs) -> (h,)"""
    raise NotImplementedError("尚未编写：best_job")


# %% [markdown]
# ## 写对了吗？
#
# 想运行多少次都可以。报告把你的数和正确的数并排列出，指出从哪里开始不同，并提一个问题，引导你找到错误。需要帮助时，`check(margin, hint=1)` 说出可能的原因，`hint=2` 把你的那一行和正确的写法并排列出，`hint=3` 给出推导。

# %%
reports = [check(margin), check(best_job)]
for report in reports:
    report.show()

# %% [markdown]
# ## 读一个模型的注意力图
#
# 一个模型用几秒钟学会复制；另外四个什么也没有学过。职责是第 11.3 节的那些。哪些头有职责？

# %%
def margins_of(model, task):
    """所有头在所有职责上的超出量，(N h, jobs)，取六个符号的测试序列。"""
    weights, lengths = cross_attention_heads(model, task.test(500))    # (B, N h, T_q, T_k), (B,)
    weights, rng, columns = weights[lengths == 6], np.random.default_rng(0), []
    order = rng.permuted(np.tile(np.arange(7), (len(weights), 1)), axis=1)      # 最后一个是 <eos>
    for job in JOBS.values():
        places = np.tile(job(np.arange(6), 6), (len(weights), 1))      # (B, 6)
        places[(places < 0) | (places > 6)] = -1
        shuffled = np.where(places < 0, -1, np.take_along_axis(order, places % 7, axis=1))
        columns.append(margin(weights[:, :, :6], places, shuffled))
    return np.stack(columns, axis=-1)


if all(reports):
    task = CopyTask(symbols=6, max_length=6)
    models = [small_model(task, seed, N=2, h=4) for seed in range(5)]
    solve(models[0], task, 0, steps=1000)
    margins, *untrained = (margins_of(model, task) for model in models)
    for head, job in enumerate(best_job(margins, np.stack(untrained))):
        print(f"layer {head // 4 + 1}, head {head % 4 + 1}: {'no job' if job < 0 else [*JOBS][job]}")
