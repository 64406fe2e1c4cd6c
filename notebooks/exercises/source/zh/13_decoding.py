# %% en="2afda7df"
import numpy as np

from aiayn_np import not_padding
from aiayn_np.exercises import check, train_with

# %% [markdown] en="f896cde9"
# ## 要写什么
#
# 写一个循环，反复向模型要下一个词元，每次都取概率最大的那个。模型有：
#
# - `model.encode(src)`，返回 `memory, cache`：所有的步只需要一次；
# - `model.decode(tgt, memory, memory_allowed=mask)`，返回 `logits, cache`。logits 的三个轴是 B、tgt 的长度和 V；位置 t 上的 logits 预测 `tgt[:, t]` 之后的词元。`mask` 说明哪些源词元是真正的词元：`not_padding(src, model.pad)`；
# - `model.pad` 和 `model.max_len`，后者是 `tgt` 最多可以有的词元数。
#
# `src` 是一个批量的源序列，形状是 (B, T_src)。返回 ids (B, L)，**不含** bos；每行包含自己的 eos（如果写出了），其后全是 `model.pad`。L 是最长的一行的长度。所有的行都结束了，或者写完了 `max_len` 个词元，就停下；`max_len=None` 表示 T_src + 50（论文第 6.1 节），如果 `model.max_len` 更小，就取它。


# %% en="87738115"
def greedy_decode(model, src, *, bos, eos, max_len=None):
    """由源序列 src (B, T_src) 得到 ids (B, L)，L <= max_len"""
    ### solution: greedy_decode
    max_len = min(src.shape[1] + 50, model.max_len) if max_len is None else max_len
    memory, _ = model.encode(src)
    memory_allowed = not_padding(src, model.pad)
    tgt = np.full((len(src), 1), bos)
    ended = np.zeros(len(src), dtype=bool)
    for _ in range(max_len):
        logits, _ = model.decode(tgt, memory, memory_allowed=memory_allowed)
        token = np.where(ended, model.pad, logits[:, -1].argmax(axis=-1))
        tgt = np.concatenate([tgt, token[:, None]], axis=1)
        ended |= token == eos
        if ended.all():
            break
    return tgt[:, 1:]
    ### end


# %% [markdown] en="d6eac6a4"
# ## 写对了吗？

# %% en="8e22abb4"
report = check(greedy_decode)
print(report)

# %% [markdown] en="ba2022f2"
# ## 用它来解码
#
# 先让一个模型学习复制，再用你的函数和库里的函数分别解码，看它学到了什么。

# %% en="81b85cdf"
if report:
    print(train_with(greedy_decode, steps=300))
