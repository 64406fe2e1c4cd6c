# %% [markdown]
# # 练习 12 · 编码器层
#
# | | |
# |---|---|
# | **要写的** | `EncoderLayer` |
# | **要想明白的** | 自注意力、Add & Norm、前馈、Add & Norm；以及不遗漏 x 的任何一次使用的反向传播 |
# | **论文** | 第 3.1 节、图 1 左 |
# | **讲解** | 第 7.6 节 |
# | **时间** | 30 分钟（估计） |
# | **层的规则** | 前面可以有任意多个轴。传给方法的东西，一样也不能修改。backward 要用的东西取自缓存，不取自 self。进来是 float32，出去也是 float32。 |

# %%
import aiayn_np  # 如果出错：课程的 README.md 说明怎样安装


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
# 四个部件都已经给出，反向传播也有了。`AddNorm.forward(x, sublayer_output)` 把求和与规范化合在一起，它的 `backward` 返回**两个**梯度，`grad_x` 和 `grad_sublayer_output`。`MultiHeadAttention.backward` 返回**三个**。把 `allowed` 传给注意力；`rng` 用于暂退法（dropout），要传给注意力和两个 AddNorm。两者都只能按名字传，和模板里一样。
#
# **先推导。** 如果一个数组在几处用到，它的梯度就是各处的梯度之和。$x$ 用到几次？$x'$ 呢？
#
# **先试一个数。** `EncoderLayer(4, 8, 2, rng=np.random.default_rng(0))(np.arange(12.0).reshape(1, 3, 4)).sum(axis=-1).round(6)` 应得到 `[[0, 0, 0]]`：最后一步是规范化，其 gamma 是 1，beta 是 0。


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
#
# 想运行多少次都可以。报告把你的数和正确的数并排列出，指出从哪里开始不同，并提一个问题，引导你找到错误。需要帮助时，`check(EncoderLayer, hint=1)` 说出可能的原因，`hint=2` 把你的那一行和正确的写法并排列出，`hint=3` 给出推导。

# %%
report = check(EncoderLayer)
report.show()

# %% [markdown]
# ## 用它来训练

# %%
if report:
    print(train_with(EncoderLayer))
