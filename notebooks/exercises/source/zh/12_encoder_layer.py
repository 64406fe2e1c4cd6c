# %% en="4030d0cf"
import numpy as np  # noqa: F401, 供你试验用

from aiayn_np import AddNorm, Cache, Module, MultiHeadAttention, PositionwiseFeedForward
from aiayn_np.exercises import check, train_with

# %% [markdown] en="e04223e4"
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


# %% en="48b9c9ec"
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
        ### solution: EncoderLayer.forward
        c = Cache()
        attended, c.self_attention = self.self_attention.forward(x, x, x, allowed=allowed, rng=rng)
        x, c.add_norm_1 = self.add_norm_1.forward(x, attended, rng=rng)
        fed, c.feed_forward = self.feed_forward.forward(x)
        y, c.add_norm_2 = self.add_norm_2.forward(x, fed, rng=rng)
        return y, c
        ### end

    def backward(self, grad_y, cache):
        """grad_y (..., T, d_model) -> grad_x"""
        ### solution: EncoderLayer.backward
        grad_x, grad_fed = self.add_norm_2.backward(grad_y, cache.add_norm_2)
        grad_x = grad_x + self.feed_forward.backward(grad_fed, cache.feed_forward)
        grad_x, grad_attended = self.add_norm_1.backward(grad_x, cache.add_norm_1)
        return grad_x + sum(self.self_attention.backward(grad_attended, cache.self_attention))
        ### end


# %% [markdown] en="d6eac6a4"
# ## 写对了吗？

# %% en="69995346"
report = check(EncoderLayer)
print(report)

# %% [markdown] en="9d9973ff"
# ## 用它来训练

# %% en="a5bbca5b"
if report:
    print(train_with(EncoderLayer))
