# %% en="18c80cfb"
import math

import numpy as np

from aiayn_np import Cache, Module
from aiayn_np.exercises import check, train_with

# %% [markdown] en="cf15ee09"
# ## 要写什么
#
# 掩蔽是布尔数组，**查询可以看某个键的地方为 True**。行是查询，列是键。
#
# - `causal(T)`，形状是 (T, T)：位置 $i$ 只能看 $j \le i$（论文第 3.2.3 节）。
# - `not_padding(ids, pad=0)`，由 (B, T) 的 ids 得到形状 (B, 1, 1, T)：哪些键是真正的词元。分数的轴是 (B, h, T_q, T_k)；不论哪个头、哪个查询，填充都一样。
# - `Mask`，图 2 中的方框：`forward(scores, allowed=None)` 在允许的地方给出分数，在其他地方给出 $-\infty$；如果是 `None`，就给出所有的分数。它的 `backward` 很短：想一想，在分数已经换掉的地方，输出依赖什么。
#
# 写 `Mask` 时注意：给它的东西，一样也不能修改。


# %% en="7a270175"
def causal(T):
    """掩蔽 (T, T)：位置 i 可以看 j <= i。"""
    ### solution: causal
    return np.tri(T, dtype=bool)
    ### end


def not_padding(ids, pad=0):
    """ids (B, T) 中真正的词元的掩蔽，形状是 (B, 1, 1, T)。"""
    ### solution: not_padding
    return (ids != pad)[:, None, None, :]
    ### end


class Mask(Module):
    def forward(self, scores, *, allowed=None):
        """允许的地方是分数，其他地方是 -inf；以及缓存。"""
        ### solution: Mask.forward
        if allowed is None:
            return scores, Cache(allowed=None)
        return np.where(allowed, scores, -math.inf), Cache(allowed=allowed)
        ### end

    def backward(self, grad_y, cache):
        """grad_y（形状与分数相同）-> grad_scores"""
        ### solution: Mask.backward
        return grad_y if cache.allowed is None else np.where(cache.allowed, grad_y, 0.0)
        ### end


# %% [markdown] en="d6eac6a4"
# ## 写对了吗？

# %% en="ded67446"
reports = [check(causal), check(not_padding), check(Mask)]
print(*reports, sep="\n\n")

# %% [markdown] en="dde6b2dc"
# ## 用它们来训练

# %% en="fe8c087d"
if all(reports):
    print(train_with(causal, not_padding, Mask))
