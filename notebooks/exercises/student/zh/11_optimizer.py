# %% [markdown]
# # 练习 11 · Adam 和预热
#
# | | |
# |---|---|
# | **要写的** | `Adam`、`warmup_rate` |
# | **要想明白的** | 两个滑动平均和它们的偏差修正、原地更新的一步，以及公式 3 的学习率 |
# | **论文** | 第 5.3 节、公式 3 |
# | **讲解** | 第 10.3 节、第 10.4 节 |
# | **时间** | 30 分钟（估计） |

# %%
import aiayn_np  # 如果出错：课程的 README.md 说明怎样安装


import os

os.environ.setdefault("AIAYN_LANG", "zh")  # 检验报告用中文

# %%
import numpy as np

from aiayn_course.exercises import check, train_with
from aiayn_np import Parameter  # noqa: F401, 供你试验用

# %% [markdown]
# ## 要写什么
#
# Adam 为每个参数保存两个滑动平均，并用一个除以另一个的平方根：
#
# $$m \leftarrow \beta_1 m + (1 - \beta_1)\, g, \qquad
# v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2, \qquad
# \theta \leftarrow \theta - \mathrm{rate} \cdot \frac{\hat m}{\sqrt{\hat v} + \mathrm{eps}}$$
#
# 两者都从零开始，所以要用 $\hat m = m / (1 - \beta_1^t)$ 和 $\hat v = v / (1 - \beta_2^t)$，其中步数 $t = 1, 2, \dots$。第 $t$ 步的学习率（公式 3）是
#
# $$d_\mathrm{model}^{-0.5} \cdot \min(\mathrm{step}^{-0.5},\;
# \mathrm{step} \cdot \mathrm{warmup\_steps}^{-1.5})$$
#
# - `Adam(parameters).step(rate)` 读出每个 `p.grad`，原地写入数组 `p.value`：`p.value = ...` 得到的是另一个数组，而层里保存的还是原来那个。它不把梯度清零。这一次，`__init__` 也由你来写。
# - `warmup_rate(step, d_model, warmup_steps)` 返回一个数；第一步的编号是 1。
#
# **先试一个数。** `p = Parameter(np.zeros(2)); p.grad[...] = [5, -0.1]; Adam([p]).step(0.01); p.value` 应得到 `[-0.01, 0.01]`：第一步把每个元素都移动一个学习率，方向与梯度的符号相反。`warmup_rate(1, 4, 100)` 应得到 `0.0005`。


# %%
class Adam:
    def __init__(self, parameters, *, beta_1=0.9, beta_2=0.98, eps=1e-9):
        self.parameters = list(parameters)
        self.beta_1, self.beta_2, self.eps = beta_1, beta_2, eps
        raise NotImplementedError("尚未编写：Adam.__init__")

    def step(self, rate):
        """按梯度原地更新每个参数。"""
        raise NotImplementedError("尚未编写：Adam.step")


def warmup_rate(step, d_model, warmup_steps):
    """公式 3 的学习率，step = 1, 2, ..."""
    raise NotImplementedError("尚未编写：warmup_rate")


# %% [markdown]
# ## 写对了吗？
#
# 想运行多少次都可以。报告把你的数和正确的数并排列出，指出从哪里开始不同，并提一个问题，引导你找到错误。需要帮助时，`check(Adam, hint=1)` 说出可能的原因，`hint=2` 把你的那一行和正确的写法并排列出，`hint=3` 给出推导。

# %%
reports = [check(Adam), check(warmup_rate)]
for report in reports:
    report.show()

# %% [markdown]
# ## 用它们来训练

# %%
if all(reports):
    print(train_with(Adam, warmup_rate))
