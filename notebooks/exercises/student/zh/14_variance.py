# %% [markdown]
# # 练习 14 · 一行分数的方差
#
# | | |
# |---|---|
# | **要写的** | `row_variance`、`scale_moved` |
# | **要想明白的** | 一次 softmax 比较哪些数，缩放对它们做了什么 |
# | **论文** | 第 3.2.1 节 |
# | **讲解** | 第 3.2 节、第 3.7 节 |
# | **时间** | 30 分钟（估计） |

# %%
import aiayn_np  # 如果出错：课程的 README.md 说明怎样安装


import os

os.environ.setdefault("AIAYN_LANG", "zh")  # 检验报告用中文

# %%
import math

import numpy as np

from aiayn_course.exercises import check
from aiayn_np import Transformer

# %% [markdown]
# ## 要写什么
#
# 一次 softmax 比较的是同一个查询的分数，也就是一行。对它来说，要紧的不是所有分数的方差，而是一行之内的方差（第 3.2 节）。
#
# - `row_variance(Q, K, *, allowed=None)`：`Q` (B, h, T_q, d_k) 和 `K` (B, h, T_k, d_k) 是 $h$ 个头的查询和键。取分数 $Q K^T / \sqrt{d_k}$，再取每一行的方差：$(s - \mathrm{mean}(s))^2$ 对这一行的键的均值。返回 (h,)：每个头一个数，即这些方差对所有序列的所有查询的均值。给出 `allowed`（查询可以看某个键的地方为 True）时，一行只由允许的键组成；它是能广播到分数的掩蔽，每个查询至少有一个键可看。
# - `scale_moved(W_Q, h)`：`W_Q` (d_model, h d_k) 是所有头的 $W^Q$，并排放在一起。返回一个矩阵，用了它，分数就不必再除：在每个头中 $(x W)(y W^K)^T = (x W^Q)(y W^K)^T / \sqrt{d_k}$。d_model 不一定等于 h d_k。
#
# **先推导。** 如果知道 $s$ 的方差，$c\,s$ 的方差是多少？再在纸上回答：不论缩放放在哪里，最初的分数都一样。Adam 让 $W^Q$ 的每个元素移动大约一个学习率：分数移动的幅度也一样吗？
#
# **先试一个数。** `row_variance(np.ones((1, 1, 1, 4)), np.array([[[[1, 1, 1, 1], [0, 0, 0, 0]]]]))` 应得到 `[1]`：分数是 4/2 和 0，均值是 1。`scale_moved(np.ones((1, 8)), 2)[0, 0]` 应得到 `0.5`：d_k 是 4。


# %%
def row_variance(Q, K, *, allowed=None):
    """Q (B, h, T_q, d_k)，K (B, h, T_k, d_k) -> (h,)"""
    raise NotImplementedError("尚未编写：row_variance")


def scale_moved(W_Q, h):
    """W_Q (d_model, h d_k) -> (d_model, h d_k)"""
    raise NotImplementedError("尚未编写：scale_moved")


# %% [markdown]
# ## 写对了吗？
#
# 想运行多少次都可以。报告把你的数和正确的数并排列出，指出从哪里开始不同，并提一个问题，引导你找到错误。需要帮助时，`check(row_variance, hint=1)` 说出可能的原因，`hint=2` 把你的那一行和正确的写法并排列出，`hint=3` 给出推导。

# %%
reports = [check(row_variance), check(scale_moved)]
for report in reports:
    report.show()

# %% [markdown]
# ## 看一个模型的内部
#
# 这是一个从未训练过的编码器的各行。论文第 3.2.1 节的脚注预期方差是 1。你看到的是多少，在哪一层？然后移动第 1 层的缩放：分数和以前一样。

# %%
if all(reports):
    rng = np.random.default_rng(0)
    model = Transformer(100, N=3, d_model=64, d_ff=128, h=4, P_drop=0.0, rng=rng)
    ids = rng.integers(3, 100, (8, 32))
    layers = model.forward(ids, ids)[1].encoder.layers
    for number, layer in enumerate(layers, 1):
        head = layer.self_attention.attention
        print("layer", number, "variance of a row, head by head:", row_variance(head.Q, head.K).round(2))
    W_Q = model.encoder.layers[0].self_attention.linear_Q.W
    head = layers[0].self_attention.attention
    scores = head.Q @ head.K.mT / math.sqrt(head.Q.shape[-1])
    W_Q.value[...] = scale_moved(W_Q.value, 4)
    head = model.forward(ids, ids)[1].encoder.layers[0].self_attention.attention
    print("largest difference of a score:", abs(head.Q @ head.K.mT - scores).max())
