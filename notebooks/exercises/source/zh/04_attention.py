# %% en="a122e2f0"
import math

import numpy as np  # noqa: F401, 供你试验用

from aiayn_np import Cache, Mask, Module, Softmax
from aiayn_np.exercises import check, train_with

# %% [markdown] en="10793377"
# ## 要写什么
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\left(\frac{Q K^T}{\sqrt{d_k}}\right) V$$
#
# `Q` 是 (..., T_q, d_k)，`K` 是 (..., T_k, d_k)，`V` 是 (..., T_k, d_v)，前面可以有任意多个轴（批量、头）。图 2 的方框从下往上依次是：MatMul、Scale、Mask、SoftMax、MatMul。`Mask` 和 `Softmax` 已经给出，它们也是层：`forward` 返回结果和缓存，`backward` 接收这个缓存。（`Mask` 在下一个练习里由你自己写。）这样调用它们：`self.mask.forward(x, allowed=allowed)` 和 `self.softmax.forward(x)`。
#
# `backward(grad_out, cache)` 返回 `grad_Q, grad_K, grad_V`。`rng` 用于对权重的暂退法（dropout），论文里没有这一步：不要用它，也不要用 `P_drop`。
#
# **先在纸上写。** 设 `Q` 是 (2, 3)，`K` 是 (4, 3)，`V` 是 (4, 5)。写出分数、权重和输出的形状，再写出这三者的梯度的形状，以及 `Q`、`K` 和 `V` 的梯度的形状。
#
# **先推导。** 从前向传播的最后一行走到第一行。对每个乘积 $y = A\,B$（第 4.1 节）：$\mathrm{grad\_A} = \mathrm{grad\_y}\,B^T$，$\mathrm{grad\_B} = A^T\,\mathrm{grad\_y}$。`X.mT` 只交换最后两个轴。


# %% en="6650d50e"
class ScaledDotProductAttention(Module):
    def __init__(self, P_drop=0.0):
        self.mask = Mask()
        self.softmax = Softmax()

    def forward(self, Q, K, V, *, allowed=None, rng=None):
        """(..., T_q, d_v) 和缓存。allowed 是布尔数组：查询 i 可以看键 j 的地方为 True。"""
        ### solution: ScaledDotProductAttention.forward
        cache = Cache(Q=Q, K=K, V=V)
        scores = Q @ K.mT / math.sqrt(Q.shape[-1])
        scores, cache.mask = self.mask.forward(scores, allowed=allowed)
        cache.weights, cache.softmax = self.softmax.forward(scores)
        return cache.weights @ V, cache
        ### end

    def backward(self, grad_out, cache):
        """grad_out (..., T_q, d_v) -> grad_Q, grad_K, grad_V"""
        ### solution: ScaledDotProductAttention.backward
        grad_weights = grad_out @ cache.V.mT
        grad_V = cache.weights.mT @ grad_out
        grad_scores = self.softmax.backward(grad_weights, cache.softmax)
        grad_scores = self.mask.backward(grad_scores, cache.mask) / math.sqrt(cache.Q.shape[-1])
        return grad_scores @ cache.K, grad_scores.mT @ cache.Q, grad_V
        ### end


# %% [markdown] en="d6eac6a4"
# ## 写对了吗？

# %% en="b2cbd989"
report = check(ScaledDotProductAttention)
print(report)

# %% [markdown] en="a92982b1"
# ## 用它来训练
#
# 它在模型里出现六次：两个编码器层中各一次，两个解码器层中各两次。

# %% en="0b8b0dd6"
if report:
    print(train_with(ScaledDotProductAttention))
