# %% en="58146d41"
import numpy as np

from aiayn_np import Cache, Linear, Module
from aiayn_np.exercises import check, train_with

# %% [markdown] en="870ed337"
# ## 要写什么
#
# $$\mathrm{FFN}(x) = \max(0,\; x W_1 + b_1)\, W_2 + b_2$$
#
# - `ReLU` 及其导数：$x > 0$ 处为 1，其他地方为 0，$x = 0$ 处也是 0。
# - `PositionwiseFeedForward`，依次经过三个层。`Linear` 已经给出，反向传播也有了；`ReLU` 用你写的。每个位置都单独计算，所以没有别的事要做：把前向传播从最后一行往上读，就是反向传播。


# %% en="e87cffcb"
class ReLU(Module):
    def forward(self, x):
        """max(0, x) 和缓存。"""
        ### solution: ReLU.forward
        return np.maximum(x, 0), Cache(x=x)
        ### end

    def backward(self, grad_y, cache):
        """grad_y（形状与 x 相同）-> grad_x"""
        ### solution: ReLU.backward
        return grad_y * (cache.x > 0)
        ### end


class PositionwiseFeedForward(Module):
    def __init__(self, d_model, d_ff, *, rng):
        self.linear_1 = Linear(d_model, d_ff, rng=rng)
        self.relu = ReLU()
        self.linear_2 = Linear(d_ff, d_model, rng=rng)

    def forward(self, x):
        """x (..., d_model) -> y (..., d_model) 和缓存，中间经过 d_ff。"""
        ### solution: PositionwiseFeedForward.forward
        c = Cache()
        hidden, c.linear_1 = self.linear_1.forward(x)
        active, c.relu = self.relu.forward(hidden)
        y, c.linear_2 = self.linear_2.forward(active)
        return y, c
        ### end

    def backward(self, grad_y, cache):
        """grad_y (..., d_model) -> grad_x (..., d_model)"""
        ### solution: PositionwiseFeedForward.backward
        grad_active = self.linear_2.backward(grad_y, cache.linear_2)
        grad_hidden = self.relu.backward(grad_active, cache.relu)
        return self.linear_1.backward(grad_hidden, cache.linear_1)
        ### end


# %% [markdown] en="d6eac6a4"
# ## 写对了吗？

# %% en="45a5081d"
reports = [check(ReLU), check(PositionwiseFeedForward)]
print(*reports, sep="\n\n")

# %% [markdown] en="dde6b2dc"
# ## 用它们来训练

# %% en="3af25f83"
if all(reports):
    print(train_with(ReLU, PositionwiseFeedForward))
