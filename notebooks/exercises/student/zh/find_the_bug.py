# %% [markdown]
# # 找 bug
#
# | | |
# |---|---|
# | **你将做什么** | 找出十二个 Transformer 各错在哪里，以及哪一个是健康的 |
# | **你将学到** | 有的 bug 不妨碍模型训练：怎样找出它们 |
# | **需要** | 第 1 课到第 10 课，或者各个练习 |
# | **时间** | 例子 20 分钟，之后每个模型 5 到 15 分钟 |
#
# 这里有十三个小 Transformer，带着损失、优化器和学习率调度。其中十二个各有一个 bug，都是人们会犯的那种；有五个 bug 在公开的实现中出现过。模型学习复制的时候，没有一个会报错。**十三个中有一个是健康的**；要说出是哪一个，和找 bug 一样难。
#
# 训练起来难道看不出吗？我们把每个 bug 都植入过一个模型，让它学习复制至多五个符号。**12 个 bug 中有 10 个**，模型带着它照样完成任务：从未见过的序列中，至少有 98.4% 一直对到最后一个符号。健康的模型则在 99.4% 到 100% 之间。损失在下降，样例看上去不错，而程序是错的。

# %%
import numpy as np

from aiayn_course.exercises.mystery import (
    STATEMENTS,
    TASK,
    guess,
    hint,
    mystery,
    randomise,
    reveal,
)
from aiayn_np import (
    Parameter,
    assert_causal,
    assert_heads_equal_loop,
    assert_padding_invariant,
    attention_maps,
    check_gradients,
    plot_attention,
    trace,
)
from aiayn_np.training.loss import ModelLoss

# %% [markdown]
# ## 你手上有什么
#
# `mystery(n)` 每次都重新生成一切，所以怎么折腾都可以。十三个模型的大小都相同；随机种子相同，参数也就相同。去看源码没有用：各层看上去与库里的一样，`??` 要么什么也不显示，要么显示正确的代码。

# %%
kit = mystery(0)
print(kit)
for name in ("model", "loss"):
    print(f"kit.{name:12}", type(getattr(kit, name)).__name__)
print("kit.Adam(kit.model).step(rate), kit.warmup_rate(step, d_model, warmup_steps)")
print("d_model", kit.model.d_model, " h", kit.model.h, " N", len(kit.model.encoder.layers))

# %% [markdown]
# 知道错在哪里以后，用一个字母作答。下列说法中，有几条对哪个模型都不成立。

# %%
for letter, statement in STATEMENTS.items():
    print(letter, " ", statement)

# %% [markdown]
# ## 你的工具
#
# | 工具 | 能找出什么 |
# |---|---|
# | `check_gradients(layer, *inputs, **options)` | 反向传播与自己的前向传播不符 |
# | `assert_causal(model)` | logits 依赖后面的目标词元 |
# | `assert_padding_invariant(model)` | 填充或者批量中的其他样本影响了结果 |
# | `assert_heads_equal_loop(mha)` | 逐个头来看，多头注意力不等于公式 1 |
# | `trace(model, src, tgt, targets)` | 所有中间结果的大小和范数，包括梯度 |
# | `attention_maps(cache)`、`plot_attention` | 不许有权重的地方有权重 |
# | 手算的数值 | 任何公式，只要你知道它的两个数 |
#
# 没有一种工具什么都能看出来。如果前向传播和反向传播错得一致，梯度检验照样通过；而性质成立，不说明数值正确。
#
# 有些数值，不用计算机也知道：
#
# - 位置编码：$pos = 0$ 的一行是 0, 1, 0, 1, …；$pos = 1$ 的一行开头是 $\sin 1, \cos 1, \sin 10000^{-2/d_{model}}, \cos 10000^{-2/d_{model}}$；
# - Adam 的第一步使*每个*参数的*每个*元素都移动一个学习率的距离，方向与梯度的正负号相反，不管梯度有多大（不计 `eps`，梯度为 0 时除外）；
# - 学习率从第 1 步起沿直线上升，一直到 $(d_{model}\, warmup\_steps)^{-1/2}$；
# - 层规范化之后的一行，在 $\gamma = 1$、$\beta = 0$ 时，均值是 0，平方的均值是 1；
# - 没有 `rng`，暂退法（dropout）就什么也不做，前向和反向都是如此，不管以前调用过什么；有了它，留下的元素乘以 $1/(1 - P_{drop})$，它的梯度也一样；其余的梯度为 0；
# - 如果 logits 全都相等，损失就是 $\ln V$。
#
# 遵守下面四条规则，检验才灵敏。每个 bug 都能躲过马虎的检验，就是因为马虎的检验没有遵守它们：
#
# 1. **不用特殊的数值。** $\gamma = 1$ 和 $\beta = 0$ 就是特殊的数值：先做 `randomise(layer)`。
# 2. **打开所有的开关。** 调用时给了 `rng`，暂退法才会起作用；有填充，掩蔽才有影响。
# 3. **任何两个大小都不相等**，除非要看的就是相等的情形；批量里要有不止一个样本。
# 4. **做两次。** 层或优化器可能会记住什么：用不同的输入调用两次。
#
# 不许与库里的模型比较。现实中并没有一个正确的版本。
#
# 下面是用作输入的一些数值。源序列有 4 个位置，目标序列有 5 个，填充是 0，有的编号出现不止一次：

# %%
rng = np.random.default_rng(0)
src = np.array([[3, 4, 5, 4], [6, 3, 2, 0]])                      # (B, T_src)
tgt = np.array([[1, 4, 8, 4, 6], [1, 3, 7, 0, 0]])                # (B, T_tgt)
targets = np.array([[4, 8, 4, 6, 2], [3, 7, 2, 0, 0]])            # (B, T_tgt)
x = rng.standard_normal((2, 5, 12))                               # (B, T_tgt, d_model)
memory = rng.standard_normal((2, 4, 12))                          # (B, T_src, d_model)
print("ids below", TASK.vocab_size, " end", TASK.eos, " begin", TASK.bos)


def dice():
    """处于初始状态的随机数生成器，用在 rng=dice() 这样的选项里。"""
    return np.random.default_rng(1)


def wrong(report, limit=4):
    """只打印不一致的梯度，其余的略去。"""
    rows = [row for row in report.rows if not row.ok]
    print(f"{report.title}: {len(rows)} of {len(report.rows)} wrong")
    for row in rows[:limit]:
        print("   ", row.tensor, row.verdict)


# %% [markdown]
# ## 方法：分三步，以模型 0 为例
#
# **第一步：看整体。** 先做不用动脑筋的：三条性质，再加上整个模型连同损失的梯度检验，暂退法和填充都要有。如果抛出了异常，那也是一个发现。
#
# > **先猜：** 一个小小的层里有一个 bug：模型的梯度会错多少个？

# %%
kit = mystery(0)
assert_causal(kit.model)
assert_padding_invariant(kit.model)
assert_heads_equal_loop(kit.model.encoder.layers[0].self_attention)
whole = ModelLoss(randomise(kit.model), kit.loss)
report = check_gradients(whole, src, tgt, targets=targets, rng=dice())
wrong(report, limit=2)

# %% [markdown]
# 三条性质都成立，所以前向传播大概是对的。梯度却几乎全错：一个 bug 会弄坏在它之后算出的一切。**对的那些**透露得更多。梯度从模型的末尾往开头计算，所以对的梯度到哪里为止，bug 就在哪里：

# %%
for row in report.rows:
    if row.ok:
        print(row.tensor)

# %% [markdown]
# 对的全都属于最后一个解码器层：在最末尾的 `add_norm_3`，以及它前面的前馈网络。再往前的都错了。
#
# **第二步：缩小范围。** 一个层可以单独检验：用随机的输入，不要模型的其余部分。把这个最后的解码器层拆开。
#
# > **先猜：** 它的哪些部件通不过？

# %%
layer = mystery(0).model.decoder.layers[1]
wrong(check_gradients(randomise(layer), x, memory, rng=dice()), limit=0)
wrong(check_gradients(layer.self_attention, x, x, x), limit=0)
wrong(check_gradients(layer.cross_attention, x, memory, memory), limit=0)
wrong(check_gradients(layer.feed_forward, x), limit=0)
wrong(check_gradients(layer.add_norm_3, x, x[::-1], rng=dice()))

# %% [markdown]
# 只有一个部件通不过。它又由两个部件组成，一个是暂退法，一个是层规范化：

# %%
wrong(check_gradients(layer.add_norm_3.dropout, x, rng=dice()))
wrong(check_gradients(layer.add_norm_3.layer_norm, x))

# %% [markdown]
# 两个都对。所以错的是 `AddNorm` 自己做的事，也就是两者之间的求和。
#
# **第三步：用数来说话。** 对错得最多的元素，报告说“is 0, must be …”（它是 0，应该是……）。处处都是这样吗？

# %%
y, cache = layer.add_norm_3.forward(x, x[::-1])
grad_x, grad_sublayer_output = layer.add_norm_3.backward(rng.standard_normal(y.shape), cache)
print("largest entry of grad_x              ", np.abs(grad_x).max())
print("largest entry of grad_sublayer_output", np.abs(grad_sublayer_output).max())

# %% [markdown]
# 求和 $x + \mathrm{Sublayer}(x)$ 必须把自己的梯度交给两个加数，而 $x$ 什么也没有得到。到这时才可以选定一个字母，不能更早。（下一个单元格打印的提示，你在途中卡住时，看到的就是它。）

# %%
print(hint(0))
print(guess(0, "I"))
print(guess(0, "G"))
print()
print(reveal(0))

# %% [markdown]
# 如果错的是*前向传播*，步骤也一样，但梯度检验不会作声：反向传播很可能正好与这个错误的前向传播相符。这时能用的只有性质、图和手算的数值。下面看看怎样读一幅注意力图：对角线上方如果有权重，就是泄漏。`trace` 则列出从开头到末尾的范数，以及各个部件处的梯度有多大：

# %%
_, cache = kit.model.forward(src, tgt)
weights = attention_maps(cache)["decoder.layers.0.self_attention.attention.weights"]
plot_attention(weights[0], tgt[0], tgt[0], title="Decoder of model 0, layer 0")

# %%
print(trace(kit.model, src, tgt, targets)["encoder"].table(depth=1))

# %% [markdown]
# 经过一个编码器层，梯度就只剩五分之一。绕过子层的直通路径断了，就是这个样子。
#
# 再手算一个数：优化器的第一步，用两个参数。

# %%
parameters = [Parameter(np.zeros(3)), Parameter(np.zeros(2))]
adam = kit.Adam(parameters)
parameters[0].grad[...], parameters[1].grad[...] = [5, -0.1, 2], [-3, 0.001]
adam.step(0.01)
print(parameters[0].value, parameters[1].value)

# %% [markdown]
# 移动的距离是学习率 0.01，方向与正负号相反：正该如此。
#
# ## 十三个模型
#
# 如果卡住了，`hint(n)` 说出一种工具，`hint(n, 2)` 说出该看哪个部件，`hint(n, 3)` 说出那里发生了什么。`reveal(n)` 说出一切，请在猜对之后再读。如果猜错，回答会说你离正确答案有多近。
#
# ### 模型 1 · 5 分钟

# %%
kit = mystery(1)


# guess(1, "?")

# %% [markdown]
# ### 模型 2 · 5 分钟

# %%
kit = mystery(2)


# guess(2, "?")

# %% [markdown]
# ### 模型 3 · 10 分钟

# %%
kit = mystery(3)


# guess(3, "?")

# %% [markdown]
# ### 模型 4 · 10 分钟

# %%
kit = mystery(4)


# guess(4, "?")

# %% [markdown]
# ### 模型 5 · 10 分钟

# %%
kit = mystery(5)


# guess(5, "?")

# %% [markdown]
# ### 模型 6 · 15 分钟

# %%
kit = mystery(6)


# guess(6, "?")

# %% [markdown]
# ### 模型 7 · 10 分钟

# %%
kit = mystery(7)


# guess(7, "?")

# %% [markdown]
# ### 模型 8 · 10 分钟

# %%
kit = mystery(8)


# guess(8, "?")

# %% [markdown]
# ### 模型 9 · 10 分钟

# %%
kit = mystery(9)


# guess(9, "?")

# %% [markdown]
# ### 模型 10 · 15 分钟

# %%
kit = mystery(10)


# guess(10, "?")

# %% [markdown]
# ### 模型 11 · 15 分钟

# %%
kit = mystery(11)


# guess(11, "?")

# %% [markdown]
# ### 模型 12 · 10 分钟

# %%
kit = mystery(12)


# guess(12, "?")

# %% [markdown]
# ### 模型 13 · 15 分钟

# %%
kit = mystery(13)


# guess(13, "?")

# %% [markdown]
# ## 选读
#
# 写一个函数，用所有的工具检验 `mystery(n)`，打印一行；对十三个模型都运行它。哪种工具找到的 bug，是别的工具都没有看出来的？然后违反四条规则中的一条：哪些 bug 会溜走？
#
# ## 小结
#
# - 模型学得会，并不是证据。这 12 个里有 10 个学会了任务。
# - 梯度检验能看出反向传播与前向传播不符。性质能看出不该变的东西变了。其余的要靠手算的数值。哪一个都代替不了另一个。
# - 从整体到部件：*对*的东西指出该看哪里。
# - 特殊情形会掩盖 bug：一和零、相等的大小、没有填充、第一次调用。
# - “没有错”也是一个结果，只要检验本来有可能通不过。
