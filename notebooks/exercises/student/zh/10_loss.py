# %% [markdown]
# # 练习 10 · 带标签平滑的交叉熵
#
# | | |
# |---|---|
# | **要写的** | `LabelSmoothedCrossEntropy` |
# | **要想明白的** | 不会上溢的 log-softmax、平滑后的目标、只对有效目标取的平均，以及 p - q |
# | **论文** | 第 5.4 节 |
# | **讲解** | 第 10.2 节 |
# | **时间** | 45 分钟（估计） |
# | **层的规则** | 前面可以有任意多个轴。传给方法的东西，一样也不能修改。backward 要用的东西取自缓存，不取自 self。进来是 float32，出去也是 float32。 |

# %%
import aiayn_np  # 如果出错：课程的 README.md 说明怎样安装


import os

os.environ.setdefault("AIAYN_LANG", "zh")  # 检验报告用中文

# %%
import numpy as np

from aiayn_course.exercises import check, train_with
from aiayn_np import Cache, Module

# %% [markdown]
# ## 要写什么
#
# $$\mathrm{loss} = \text{对有效目标求平均：} -\sum_v q_v \log p_v, \qquad
# p = \mathrm{softmax}(\mathrm{logits}), \qquad
# q_v = (1 - \varepsilon_{ls})\,[v = \mathrm{target}] + \varepsilon_{ls} / V$$
#
# 有效目标就是不是填充的目标。
#
# - `forward(logits, *, targets)`，其中 logits 是 (..., V)，targets 是编号 (...)，给出一个数（浮点数或没有轴的数组）和缓存。等于 `self.pad` 的目标不算：既不算进总和，也不算进作除数的个数；至少有一个目标是有效的。
# - `backward(grad_loss, cache)` 得到一个数（训练时是 1），返回 `grad_logits`。
#
# logits 可能很大：不能先算 softmax 再取对数来求 $\log p$，因为 softmax 会下溢。
#
# **先推导。** $\log p_v = z_v - \log \sum_u \exp z_u$，而 $q$ 的和是 1。在一个位置上，对 $z_u$ 的梯度有两项。求平均又使它怎样变化？
#
# **先试一个数。** `LabelSmoothedCrossEntropy()(np.zeros((2, 4)), targets=np.array([1, 0]))` 应得到 `1.3863`：四个类别概率相等，不论 eps_ls 是多少，损失都是 ln 4；第二个目标是填充。


# %%
class LabelSmoothedCrossEntropy(Module):
    def __init__(self, eps_ls=0.1, pad=0):
        self.eps_ls, self.pad = eps_ls, pad

    def forward(self, logits, *, targets):
        """logits (..., V), targets (...) -> 损失（一个数）和缓存。"""
        raise NotImplementedError("尚未编写：LabelSmoothedCrossEntropy.forward")

    def backward(self, grad_loss, cache):
        """grad_loss（一个数）-> grad_logits (..., V)"""
        raise NotImplementedError("尚未编写：LabelSmoothedCrossEntropy.backward")


# %% [markdown]
# ## 写对了吗？
#
# 想运行多少次都可以。报告把你的数和正确的数并排列出，指出从哪里开始不同，并提一个问题，引导你找到错误。需要帮助时，`check(LabelSmoothedCrossEntropy, hint=1)` 说出可能的原因，`hint=2` 把你的那一行和正确的写法并排列出，`hint=3` 给出推导。

# %%
report = check(LabelSmoothedCrossEntropy)
report.show()

# %% [markdown]
# ## 用它来训练

# %%
if report:
    print(train_with(LabelSmoothedCrossEntropy))
