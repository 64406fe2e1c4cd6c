# %% en="68f7c720"
import math

import numpy as np

from aiayn_np import Cache, Module, Parameter
from aiayn_np.exercises import check, train_with

# %% [markdown] en="3a52f9f3"
# ## 要写什么
#
# $$y = x\,W + b$$
#
# `x` 的形状是 (..., d_in)，前面可以有任意多个轴；`W` 是 (d_in, d_out)；`b` 是 (d_out,)，层没有偏置时则是 `None`，例如注意力的投影。
#
# - `forward(x)` 返回 `y` 和缓存。
# - `backward(grad_y, cache)` 把梯度累加到 `self.W.grad` 和 `self.b.grad`，并返回 `grad_x`。
#
# **先推导**，按下标来写：在每个位置上，$y_n = \sum_m x_m W_{mn} + b_n$。$L$ 通过哪些输出依赖 $x_m$？依赖 $W_{mn}$ 呢？依赖 $b_n$ 呢？后两者，批量中每个序列的每个位置都要用到。


# %% en="10f98102"
class Linear(Module):
    def __init__(self, d_in, d_out, *, bias=True, rng):
        self.d_in, self.d_out = d_in, d_out
        limit = math.sqrt(6 / (d_in + d_out))
        self.W = Parameter(rng.uniform(-limit, limit, (d_in, d_out)))
        self.b = Parameter(np.zeros(d_out)) if bias else None

    def forward(self, x):
        """x (..., d_in) -> y (..., d_out) 和缓存。"""
        ### solution: Linear.forward
        y = x @ self.W.value
        if self.b is not None:
            y = y + self.b.value
        return y, Cache(x=x)
        ### end

    def backward(self, grad_y, cache):
        """grad_y (..., d_out) -> grad_x (..., d_in)；把梯度累加到 W.grad 和 b.grad。"""
        ### solution: Linear.backward
        rows, grad_rows = cache.x.reshape(-1, self.d_in), grad_y.reshape(-1, self.d_out)
        self.W.grad += rows.T @ grad_rows
        if self.b is not None:
            self.b.grad += grad_rows.sum(axis=0)
        return grad_y @ self.W.value.T
        ### end


# %% [markdown] en="d6eac6a4"
# ## 写对了吗？

# %% en="c194de03"
report = check(Linear)
print(report)

# %% [markdown] en="c8118109"
# ## 用它来训练
#
# 除了嵌入和规范化，Transformer 的所有参数都在你写的这种层里。

# %% en="9a191074"
if report:
    print(train_with(Linear))
