# %% [markdown]
# # 练习 11 · Adam 和预热
#
# | | |
# |---|---|
# | **要写的** | `Adam`、`warmup_rate` |
# | **要想明白的** | 两个滑动平均和它们的偏差修正、原地更新的一步，以及公式 3 的学习率 |
# | **论文** | 第 5.3 节、公式 3 |
# | **讲解** | 第 10.3 节、第 10.4 节 |
# | **时间** | 30 分钟 |

# %%
import importlib.util
import subprocess
import sys
from pathlib import Path

REPOSITORY = ""  # build.py writes the address here that pyproject.toml gives
if importlib.util.find_spec("aiayn_np") is None:  # on a hosted notebook service: one pip install
    here = Path("../../../../pyproject.toml").exists()
    package = "../../../.." if here else REPOSITORY and f"git+{REPOSITORY}"
    if "ipykernel" not in sys.modules or not package:
        sys.exit("这个练习需要 aiayn_np 包，但它没有安装。"
                 "怎样安装，见课程的 README.md。安装以后重新开始。")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", package], check=True)


import os

os.environ.setdefault("AIAYN_LANG", "zh")  # 检验报告用中文

# %%
import numpy as np

from aiayn_course.exercises import check, train_with

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

# %%
reports = [check(Adam), check(warmup_rate)]
for report in reports:
    report.show()

# %% [markdown]
# ## 用它们来训练

# %%
if all(reports):
    print(train_with(Adam, warmup_rate))
