# %% [markdown]
# # 练习 13 · 贪心解码
#
# | | |
# |---|---|
# | **要写的** | `greedy_decode` |
# | **要想明白的** | 把模型自己的输出再喂给模型的循环，各行结束的时间不同 |
# | **论文** | 第 3.1 节、第 6.1 节 |
# | **讲解** | 第 5.7 节、第 10.9 节 |
# | **时间** | 30 分钟（估计） |

# %%
import aiayn_np  # 如果出错：课程的 README.md 说明怎样安装


import os

os.environ.setdefault("AIAYN_LANG", "zh")  # 检验报告用中文

# %%
import numpy as np

from aiayn_course.exercises import check, train_with
from aiayn_np import not_padding

# %% [markdown]
# ## 要写什么
#
# 写一个循环，反复向模型要下一个词元，每次都取概率最大的那个（几个一样大时取第一个，argmax 就是这样）。模型有：
#
# - `model.encode(src)`，返回 `memory, cache`：所有的步只需要一次；
# - `model.decode(tgt, memory, memory_allowed=mask)`，返回 `logits, cache`。logits 的三个轴是 B、tgt 的长度和 V；位置 t 上的 logits 预测 `tgt[:, t]` 之后的词元。`mask` 说明哪些源词元是有效词元：`not_padding(src, model.pad)`；
# - `model.pad` 和 `model.max_len`，后者是 `tgt` 最多可以有的词元数。
#
# `src` 是一个批量的源序列，形状是 (B, T_src)。返回整数 ids (B, L)：
#
# - **不含** bos；每行包含自己的 eos（如果写出了），其后全是 `model.pad`；
# - L 是最长一行的长度：所有的行都结束了，或者写完了 `max_len` 个词元，就停下；bos 不计在内，0 得到 (B, 0)；
# - 模型自己写出的 pad 不结束一行；
# - `max_len=None` 表示 T_src + 50（论文第 6.1 节），如果 `model.max_len` 更小，就取它。
#
# 如果一行写出 5、7 和 eos，另一行写出五个词元，那么第一行就是 `5 7 eos pad pad`。
#
# **先试一个数。** 一个总是写 5 的模型：`from types import SimpleNamespace as Model; five = Model(pad=0, max_len=9, encode=lambda src: (src, None), decode=lambda tgt, memory, *, memory_allowed: (np.eye(7)[np.full(tgt.shape, 5)], None)); greedy_decode(five, np.array([[3, 4]]), bos=1, eos=2, max_len=3)` 应得到 `[[5, 5, 5]]`。


# %%
def greedy_decode(model, src, *, bos, eos, max_len=None):
    """由源序列 src (B, T_src) 得到 ids (B, L)，L <= max_len"""
    raise NotImplementedError("尚未编写：greedy_decode")


# %% [markdown]
# ## 写对了吗？
#
# 想运行多少次都可以。报告把你的数和正确的数并排列出，指出从哪里开始不同，并提一个问题，引导你找到错误。需要帮助时，`check(greedy_decode, hint=1)` 说出可能的原因，`hint=2` 把你的那一行和正确的写法并排列出，`hint=3` 给出推导。

# %%
report = check(greedy_decode)
report.show()

# %% [markdown]
# ## 用它来解码
#
# 先让一个模型学习复制，再用你的函数和库里的函数分别解码，看它学到了什么。

# %%
if report:
    print(train_with(greedy_decode, steps=300))
