# %% en="4aff21e1"
import numpy as np

from aiayn_np import Cache, Module
from aiayn_np.exercises import check, train_with

# %% [markdown] en="d4df4397"
# ## 要写什么
#
# $$\mathrm{loss} = \text{mean over real targets of } -\sum_v q_v \log p_v, \qquad
# p = \mathrm{softmax}(\mathrm{logits}), \qquad
# q_v = (1 - \varepsilon_{ls})\,[v = \mathrm{target}] + \varepsilon_{ls} / V$$
#
# 公式中的 mean over real targets 表示只对真正的目标求平均，填充不算。
#
# - `forward(logits, targets=ids)`，其中 logits 是 (..., V)，ids 是 (...)，给出一个数和缓存。等于 `self.pad` 的目标不算：既不算进总和，也不算进作除数的个数。
# - `backward(grad_loss, cache)` 得到一个数（训练时是 1），返回 `grad_logits`。
#
# logits 可能很大：不能先算 softmax 再取对数来求 $\log p$，因为 softmax 会下溢。
#
# **先推导。** $\log p_v = z_v - \log \sum_u \exp z_u$，而 $q$ 的和是 1。在一个位置上，对 $z_u$ 的梯度有两项。求平均又使它怎样变化？


# %% en="84bd2bd9"
class LabelSmoothedCrossEntropy(Module):
    def __init__(self, eps_ls=0.1, pad=0):
        self.eps_ls, self.pad = eps_ls, pad

    def forward(self, logits, *, targets):
        """logits (..., V), targets (...) -> 损失（一个数）和缓存。"""
        ### solution: LabelSmoothedCrossEntropy.forward
        shifted = logits - logits.max(axis=-1, keepdims=True)
        log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
        q = np.full(logits.shape, self.eps_ls / logits.shape[-1], dtype=logits.dtype)
        at_target = np.take_along_axis(q, targets[..., None], axis=-1) + (1 - self.eps_ls)
        np.put_along_axis(q, targets[..., None], at_target, axis=-1)
        real = (targets != self.pad)[..., None]
        count = int(real.sum())
        loss = -np.where(real, q * log_p, 0).sum() / count
        return loss, Cache(log_p=log_p, q=q, real=real, count=count)
        ### end

    def backward(self, grad_loss, cache):
        """grad_loss（一个数）-> grad_logits (..., V)"""
        ### solution: LabelSmoothedCrossEntropy.backward
        p_minus_q = np.exp(cache.log_p) - cache.q
        return np.where(cache.real, p_minus_q, 0) * (grad_loss / cache.count)
        ### end


# %% [markdown] en="d6eac6a4"
# ## 写对了吗？

# %% en="96cdc44a"
report = check(LabelSmoothedCrossEntropy)
print(report)

# %% [markdown] en="9d9973ff"
# ## 用它来训练

# %% en="42bb7e4e"
if report:
    print(train_with(LabelSmoothedCrossEntropy))
