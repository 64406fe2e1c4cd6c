# %% en="1c2dcdcc"
import numpy as np

from aiayn_np import Cache, Module, Parameter
from aiayn_np.exercises import check, train_with

# %% [markdown] en="9ecb38db"
# ## 要写什么
#
# $$y = \gamma\, n + \beta, \qquad n = \frac{x - \mathrm{mean}(x)}{s}, \qquad
# s = \sqrt{\mathrm{mean}\big((x - \mathrm{mean}(x))^2\big) + \mathrm{eps}}$$
#
# 两个均值都对同一个位置的各个特征来求，也就是沿最后一个轴。`self.gamma` 和 `self.beta` 是 Parameter：数组是 `self.gamma.value`，它的梯度是 `self.gamma.grad`。
#
# - `forward(x)` 返回 `y` 和缓存。
# - `backward(grad_y, cache)` 把梯度**累加**到 `self.gamma.grad` 和 `self.beta.grad`，并返回 `grad_x`。所有位置共用 `gamma` 和 `beta`，所以它们的梯度要对最后一个轴以外的所有轴求和。
#
# **先推导。** 设 $g = \mathrm{grad\_y}\,\gamma$，它是对 $n$ 的梯度。特征 $x_k$ 通过三条路径影响 $n_j$：直接影响（如果 $j = k$），通过均值，通过 $s$。把 $\partial n_j/\partial x_k$ 写成三项，再对 $j$ 求和；用对特征的均值来表示，结果只有短短一行。


# %% en="1a284a43"
class LayerNorm(Module):
    def __init__(self, d_model, eps=1e-6):
        self.d_model, self.eps = d_model, eps
        self.gamma = Parameter(np.ones(d_model))
        self.beta = Parameter(np.zeros(d_model))

    def forward(self, x):
        """x (..., d_model) -> y (..., d_model) 和缓存。"""
        ### solution: LayerNorm.forward
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        inv_std = 1 / np.sqrt(variance + self.eps)
        n = centred * inv_std
        return self.gamma.value * n + self.beta.value, Cache(n=n, inv_std=inv_std)
        ### end

    def backward(self, grad_y, cache):
        """grad_y (..., d_model) -> grad_x (..., d_model)；把梯度累加到 gamma.grad 和 beta.grad。"""
        ### solution: LayerNorm.backward
        n, positions = cache.n, tuple(range(grad_y.ndim - 1))
        self.beta.grad += grad_y.sum(axis=positions)
        self.gamma.grad += (grad_y * n).sum(axis=positions)
        g = grad_y * self.gamma.value
        mean_g, mean_gn = g.mean(axis=-1, keepdims=True), (g * n).mean(axis=-1, keepdims=True)
        return cache.inv_std * (g - mean_g - n * mean_gn)
        ### end


# %% [markdown] en="d6eac6a4"
# ## 写对了吗？

# %% en="c777c74f"
report = check(LayerNorm)
print(report)

# %% [markdown] en="9d9973ff"
# ## 用它来训练

# %% en="dcf7d8b6"
if report:
    print(train_with(LayerNorm))
