# %% [markdown]
# # 练习 12 · 编码器层
#
# | | |
# |---|---|
# | **要写的** | `EncoderLayer` |
# | **要想明白的** | 自注意力、Add & Norm、前馈、Add & Norm；以及不遗漏 x 的任何一次使用的反向传播 |
# | **论文** | 第 3.1 节、图 1 左 |
# | **讲解** | 第 7.6 节 |
# | **时间** | 30 分钟 |
# | **层的规则** | 前面可以有任意多个轴。传给方法的东西，一样也不能修改。backward 要用的东西取自缓存，不取自 self。进来是 float32，出去也是 float32。 |

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
import numpy as np  # noqa: F401, 供你试验用

from aiayn_course.exercises import check, train_with
from aiayn_np import AddNorm, Cache, Module, MultiHeadAttention, PositionwiseFeedForward

# %% [markdown]
# ## 要写什么
#
# 图 1 的左半边，只要一层：自注意力、Add & Norm、前馈网络、Add & Norm。
#
# $$x' = \mathrm{LayerNorm}(x + \mathrm{MultiHead}(x, x, x)), \qquad
# y = \mathrm{LayerNorm}(x' + \mathrm{FFN}(x'))$$
#
# 四个部件都已经给出，反向传播也有了。`AddNorm.forward(x, sublayer_output)` 把求和与规范化合在一起，它的 `backward` 返回**两个**梯度，`grad_x` 和 `grad_sublayer_output`。`MultiHeadAttention.backward` 返回**三个**。把 `allowed` 传给注意力；`rng` 用于暂退法（dropout），要传给注意力和两个 AddNorm。
#
# **先推导。** 如果一个数组在几处用到，它的梯度就是各处的梯度之和。$x$ 用到几次？$x'$ 呢？


# %%
class EncoderLayer(Module):
    def __init__(
        self, d_model, d_ff, h, *, P_drop=0.1, d_k=None, d_v=None, attention=None, rng
    ):
        heads = dict(d_k=d_k, d_v=d_v, attention=attention, rng=rng)
        self.self_attention = MultiHeadAttention(d_model, h, **heads)
        self.add_norm_1 = AddNorm(d_model, P_drop)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff, rng=rng)
        self.add_norm_2 = AddNorm(d_model, P_drop)

    def forward(self, x, *, allowed=None, rng=None):
        """x (..., T, d_model) -> y（形状相同）和缓存。"""
        raise NotImplementedError("尚未编写：EncoderLayer.forward")

    def backward(self, grad_y, cache):
        """grad_y (..., T, d_model) -> grad_x"""
        raise NotImplementedError("尚未编写：EncoderLayer.backward")


# %% [markdown]
# ## 写对了吗？

# %%
report = check(EncoderLayer)
report.show()

# %% [markdown]
# ## 用它来训练

# %%
if report:
    print(train_with(EncoderLayer))
