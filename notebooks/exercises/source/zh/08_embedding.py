# %% en="68f7c720"
import math

import numpy as np

from aiayn_np import Cache, Module, Parameter
from aiayn_np.exercises import check, train_with

# %% [markdown] en="e221bbf7"
# ## 要写什么
#
# $$y = \sqrt{d_\mathrm{model}}\; E[\mathrm{ids}], \qquad \mathrm{logits} = x\,E^T$$
#
# 同一个矩阵 `E` (vocab_size, d_model) 有三个用处：源序列的嵌入，目标序列的嵌入，以及到 logits 的投影（论文第 3.4 节）。
#
# - `Embedding.forward(ids)` 查出 `E` 中的各行。它的 `backward` 把梯度累加到 `self.E.grad`，并返回 `None`：ids 没有梯度。同一个 id 可能在一个批量里出现很多次。
# - `OutputProjection(E)` 得到的就是嵌入的那个 Parameter。它的 `backward` 把梯度累加到同一个 `E.grad`，并返回 `grad_x`。
#
# **先推导。** 凡是 `ids == v` 的地方，都用到了 $E$ 的第 $v$ 行。它在这些地方的作用，加起来是什么？


# %% en="e5e1ff18"
class Embedding(Module):
    def __init__(self, vocab_size, d_model, *, rng):
        self.vocab_size, self.d_model = vocab_size, d_model
        self.E = Parameter(rng.normal(0, 1 / math.sqrt(d_model), (vocab_size, d_model)))

    def forward(self, ids):
        """ids (...) -> y (..., d_model) 和缓存。"""
        ### solution: Embedding.forward
        return self.E.value[ids] * math.sqrt(self.d_model), Cache(ids=ids)
        ### end

    def backward(self, grad_y, cache):
        """把梯度累加到 E.grad；返回 None。"""
        ### solution: Embedding.backward
        np.add.at(self.E.grad, cache.ids, grad_y * math.sqrt(self.d_model))
        ### end


class OutputProjection(Module):
    def __init__(self, E):
        self.E = E

    def forward(self, x):
        """x (..., d_model) -> logits (..., vocab_size) 和缓存。"""
        ### solution: OutputProjection.forward
        return x @ self.E.value.T, Cache(x=x)
        ### end

    def backward(self, grad_logits, cache):
        """grad_logits (..., vocab_size) -> grad_x (..., d_model)；把梯度累加到 E.grad。"""
        ### solution: OutputProjection.backward
        rows = cache.x.reshape(-1, cache.x.shape[-1])
        self.E.grad += grad_logits.reshape(len(rows), -1).T @ rows
        return grad_logits @ self.E.value
        ### end


# %% [markdown] en="d6eac6a4"
# ## 写对了吗？

# %% en="9e2dfdb9"
reports = [check(Embedding), check(OutputProjection)]
print(*reports, sep="\n\n")

# %% [markdown] en="d3cf2d61"
# ## 用它们来训练
#
# 在模型里，三个层共用一个 `E`。三个用处中只要少了一个，梯度就不一样。

# %% en="9d511a13"
if all(reports):
    print(train_with(Embedding, OutputProjection))
