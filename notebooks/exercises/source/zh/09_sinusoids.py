# %% en="4aff21e1"
import numpy as np

from aiayn_np import Cache, Module
from aiayn_np.exercises import check, train_with

# %% [markdown] en="ce2f1502"
# ## 要写什么
#
# $$\mathrm{PE}(\mathrm{pos}, 2i) = \sin\frac{\mathrm{pos}}{10000^{2i/d_\mathrm{model}}}, \qquad
# \mathrm{PE}(\mathrm{pos}, 2i+1) = \cos\frac{\mathrm{pos}}{10000^{2i/d_\mathrm{model}}}, \qquad
# y = x + \mathrm{PE}$$
#
# - `table(T, start=0)` 给出位置 `start` ... `start + T - 1` 的各行，形状是 (T, d_model)。不要用循环。d_model 是奇数时，最后一列是正弦。
# - `forward(x, start=0)` 把这些行加到 `x` (..., T, d_model) 上，dtype 与 `x` 相同：进来是 float32，出去也必须是 float32。
# - `backward`：PE 依赖什么？


# %% en="9d65d05b"
class SinusoidalPositionalEncoding(Module):
    def __init__(self, d_model, max_len, *, rng=None):
        self.d_model, self.max_len = d_model, max_len

    def table(self, T, *, start=0):
        """位置 start ... start + T - 1 的 PE，形状是 (T, d_model)"""
        ### solution: SinusoidalPositionalEncoding.table
        pos = np.arange(start, start + T)[:, None]
        angle = pos / 10000 ** (np.arange(0, self.d_model, 2) / self.d_model)
        PE = np.empty((T, self.d_model))
        PE[:, 0::2] = np.sin(angle)
        PE[:, 1::2] = np.cos(angle)[:, : self.d_model // 2]
        return PE
        ### end

    def forward(self, x, *, start=0):
        """x (..., T, d_model) -> y（形状相同）和缓存。"""
        ### solution: SinusoidalPositionalEncoding.forward
        return x + self.table(x.shape[-2], start=start).astype(x.dtype), Cache()
        ### end

    def backward(self, grad_y, cache):
        """grad_y (..., T, d_model) -> grad_x"""
        ### solution: SinusoidalPositionalEncoding.backward
        return grad_y
        ### end


# %% [markdown] en="d6eac6a4"
# ## 写对了吗？

# %% en="383cc88c"
report = check(SinusoidalPositionalEncoding)
print(report)

# %% [markdown] en="9d9973ff"
# ## 用它来训练

# %% en="b11f1e54"
if report:
    print(train_with(SinusoidalPositionalEncoding))
