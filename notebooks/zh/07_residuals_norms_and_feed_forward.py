# %% [markdown] en="b178cf56"
# # 第 7 课 · 残差、层规范化、前馈网络：注意力周围的部分
#
# | | |
# |---|---|
# | **你将做什么** | 让梯度穿过 24 层，有 Add 和没有 Add 各一次；用纸笔规范化一个词元；让批量规范化在带填充的批量上失灵；一步一步算出整个编码器层；选读：推导层规范化的反向传播 |
# | **你将学到** | 论文为什么写成 $x + \mathrm{Sublayer}(x)$；为什么层规范化沿特征计算，而批量规范化沿批量计算；前馈网络能看到什么；暂退法有什么用；选读：规范化从求和之后移到子层之前，会有什么变化 |
# | **需要** | 第 1 课和第 2 课、链式法则；第 7.6 节还需要第 4 课和第 6 课 |
# | **论文** | 第 3.1 节、第 3.3 节、公式 2、第 5.4 节、图 1 |
# | **时间** | 45 分钟，不含第 7.4 节和第 7.7 节（*选读*：运行其中的单元格，跳过文字。后面的部分都用不到它们） |
#
# 请从上到下依次运行各个单元格。看到**预测**时，先停下来，写下一个数，再往下走。

# %%
import importlib.util
import subprocess
import sys
from pathlib import Path

REPOSITORY = ""  # build.py writes the address here that pyproject.toml gives
if importlib.util.find_spec("aiayn_np") is None:  # on a hosted notebook service: one pip install
    package = ".." if Path("../pyproject.toml").exists() else REPOSITORY and f"git+{REPOSITORY}"
    if "ipykernel" not in sys.modules or not package:
        sys.exit("This lesson needs the package aiayn_np, and it is not installed. Get a copy of"
                 " the whole project, run pip install -e '.[notebooks]' in it, and start again.")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", package], check=True)

# %%
import inspect

import numpy as np

from aiayn_np import (
    AddNorm,
    DecoderLayer,
    Dropout,
    Encoder,
    EncoderLayer,
    LayerNorm,
    PositionwiseFeedForward,
    check_gradients,
)
from aiayn_np.experiments.claims.normalisation import NORMALISATION
from aiayn_np.plotting.drawings import SENTENCE, figure_1, norm_axes, norm_places
from aiayn_np.plotting.figures import draw_spread, new_figure
from aiayn_np.variants.norms import BatchNorm
from aiayn_np.variants.pre_norm import PreNormEncoderLayer

np.set_printoptions(precision=4, suppress=True)

# %% [markdown] en="fc20f146"
# 注意力只是图 1 中的一个方框。这一课讲它周围的方框，也就是图中亮起的部分。

# %%
figure_1("add_norm", "feed_forward")

# %% [markdown] en="f2d15ffd"
# 论文把注意力叫作**子层**，前馈网络是另一个子层。每个子层外面都套着同样的外框（论文第 3.1 节、第 5.4 节）：
#
# $$\mathrm{LayerNorm}\big(x + \mathrm{Dropout}(\mathrm{Sublayer}(x))\big)$$
#
# 这一课一步一步讲这个外框：先是求和，再是规范化，然后是前馈网络，最后把它们合在一起。
#
# ## 7.1 Add：梯度的直通路径
#
# 把 24 个小层 $f$ 叠起来，一次用 $y = f(x)$，一次用 $y = x + f(x)$。每个 $f$ 都是本库的前馈网络（第 7.5 节）。然后从顶部送入长度为 1 的梯度，让它往下走，每过一层就记下它的长度。`gain` 是乘在权重矩阵上的增益，这些矩阵由本库随机抽取；先取 1。

# %%
def lengths_on_the_way_down(residual, gain=1.0, depth=24, d_model=32, seed=0):
    rng = np.random.default_rng(seed)
    layers = [PositionwiseFeedForward(d_model, 4 * d_model, rng=rng) for _ in range(depth)]
    x, caches = rng.standard_normal((10, d_model)), []                 # (T, d_model)
    for f in layers:
        f.linear_1.W.value *= gain
        f.linear_2.W.value *= gain
        fx, cache = f.forward(x)
        x = x + fx if residual else fx                                 # the only difference
        caches.append(cache)
    grad = rng.standard_normal(x.shape)
    grad, lengths = grad / np.linalg.norm(grad), [1.0]
    for f, cache in zip(layers[::-1], caches[::-1]):
        through_f = f.backward(grad, cache)
        grad = grad + through_f if residual else through_f             # a sum: both terms get it
        lengths.append(np.linalg.norm(grad))
    return lengths

# %%
plain = [lengths_on_the_way_down(False, seed=seed) for seed in range(5)]
added = [lengths_on_the_way_down(True, seed=seed) for seed in range(5)]
print(f"without Add, after 1 layer: {plain[0][1]:.2f}")

# %% [markdown] en="ea95e3ff"
# > **预测：** 一层能让一半多一点的梯度通过。穿过 24 层，到达输入的梯度还剩多少：大约十分之一、千分之一，还是百万分之一？

# %%
for name, runs in (("y = f(x)    ", plain), ("y = x + f(x)", added)):
    print(name, " at the input, five seeds:", " ".join(f"{run[-1]:.2g}" for run in runs))

# %% [markdown] en="7e547a55"
# 没有求和时，到达的大约是百万分之一：$0.57^{24} \approx 10^{-6}$。有求和时，梯度没有消失，甚至还变大了。
#
# 只有求和才能解决问题吗？不是。没有求和的栈会丢失梯度，原因在于权重的初始值。本库按 Xavier 规则（Glorot 和 Bengio，2010）抽取权重。一层的两个矩阵，宽度是 32 和 128，这个规则给它们的方差都是 $2/(32 + 128)$，即八十分之一。反向传播时，梯度长度的平方在一个矩阵处乘 $128/80$，在另一个矩阵处乘 $32/80$，所以长度乘 0.8。这个规则也没有考虑两个矩阵之间的一步，即 **ReLU**：对每个数 $x$ 取 $\max(0, x)$。它把一半的数变成 0，因此还要再乘 $\sqrt{1/2}$（He 等，2015，关于初始化的那篇论文）。下面的单元格单独测量第一个因子。

# %%
rng, shares = np.random.default_rng(0), []
for _ in range(100):                                                   # 100 draws of a layer
    f, grad = PositionwiseFeedForward(32, 128, rng=rng), rng.standard_normal((10, 32))
    without_relu = grad @ f.linear_2.W.value.T @ f.linear_1.W.value.T  # back through both matrices
    shares.append(np.linalg.norm(without_relu) / np.linalg.norm(grad))
kept_by_widths = np.mean(shares)
print(f"without ReLU {kept_by_widths:.2f}   ReLU {0.5**0.5:.2f}   together {kept_by_widths * 0.5**0.5:.2f}")

# %% [markdown] en="4c18f187"
# 两个因子合起来，大约就是上面的 0.57。把每层的两个矩阵都乘 1.33，再试一次。
#
# > **预测：** 这时，没有求和的栈每一层都让大约全部的梯度通过。到达输入的梯度还剩多少？

# %%
louder = [lengths_on_the_way_down(False, gain=1.33, seed=seed) for seed in range(5)]
louder_added = [lengths_on_the_way_down(True, gain=1.33, seed=seed) for seed in range(5)]
for name, runs in (("y = f(x)    ", louder), ("y = x + f(x)", louder_added)):
    print(name, " gain 1.33, at the input:", " ".join(f"{run[-1]:.2g}" for run in runs))

# %% [markdown] en="68e34275"
# 大约全部到达，不需要任何求和。所以，没有求和的栈*也能*传递梯度，但增益必须选得恰到好处：每层的因子若是 0.57，过了 24 层就变得极小；若是 $1/0.57$，就变得极大。（这种求和因 ResNet 论文而流行。它的作者写道，梯度消失不太可能是没有求和的栈失败的原因，因为他们的栈已经做过规范化。）图中的线是五个栈的中位数，色带从最小值延伸到最大值。

# %%
fig = new_figure(7.5, 3.8)
ax = fig.subplots()
stacks = {"y = x + f(x), gain 1.33": louder_added, "y = x + f(x), gain 1": added,
          "y = f(x), gain 1.33": louder, "y = f(x), gain 1": plain}
for style, (name, runs) in enumerate(stacks.items()):
    draw_spread(ax, range(25), runs, name, style)
ax.set(yscale="log", xlabel="layers passed, from the top", ylabel="length of the gradient",
       title="The gradient on its way down")
fig.legend(*ax.get_legend_handles_labels(), loc="outside right upper")
fig

# %% [markdown] en="af616afc"
# 一个公式就能解释这两种栈。设 $J_l$ 是第 $l$ 层中 $f$ 的雅可比矩阵，那么整个栈的雅可比矩阵是
#
# $$\text{without:}\quad J_N \cdots J_2 J_1 \qquad\qquad \text{with:}\quad (I + J_N) \cdots (I + J_2)(I + J_1) = I + \dots$$
#
# 左边（没有求和）的乘积里没有一项是有保障的：因子小，它就极小；因子大，它就极大。把右边（有求和）的乘积展开，第一项是 $I$。这是一条**直通路径**：不管权重是多少，路上没有哪一层改变任何东西。（在论文中，每个和的后面都有规范化，所以这条路并不完全直通：见第 7.6 节。）由此得到两点：
#
# - $x$ 与 $f(x)$ 要相加，所以所有的子层和嵌入都有同一个宽度 `d_model`（论文第 3.1 节）。
# - 和的大小没有限制：这里梯度*变大*了十倍以上。必须有什么东西把和控制在一定范围内。
#
# 那么，为什么要有 Add？没有它的栈只在一个增益下可用。有了 Add，就有一项是任何增益都无法变小的。和仍然可能爆炸，这要靠规范化来阻止。
#
# ## 7.2 规范化：手算一个词元
#
# **层规范化**（Ba、Kiros 和 Hinton，2016）取一个词元，减去它的各个特征的均值，再除以这些特征的标准差：
#
# $$\hat x = \frac{x - \mathrm{mean}}{\sqrt{\mathrm{variance} + \mathrm{eps}}}, \qquad y = \gamma\, \hat x + \beta$$
#
# 请用纸笔对下面这个宽度为 4 的词元算一遍。求方差时除以 4，不是除以 3。

# %%
x = np.array([15.0, 9.0, 7.0, 1.0])         # (d_model,)  one token
mean = x.mean()
centred = x - mean                          # (4,)
variance = (centred**2).mean()
print("mean    ", mean)
print("centred ", centred)
print("variance", variance, " standard deviation", variance**0.5)

# %%
norm = LayerNorm(4)                         # gamma = 1, beta = 0 at the start
x_hat = centred / np.sqrt(variance + norm.eps)                         # (4,)
y, cache = norm.forward(x)
print("x_hat   ", x_hat, "  eps", norm.eps)
print("largest difference from the class:", np.abs(y - x_hat).max())

# %% [markdown] en="36344a62"
# > **预测：** 每个特征都乘 10，再加 100。现在层规范化的输出是什么？

# %%
print("x          ", norm(x))
print("10 x + 100 ", norm(10 * x + 100))
print("-x         ", norm(-x))
print("x / 10000  ", norm(x / 1e4))
print("all equal  ", norm(np.full(4, 7.0)))

# %% [markdown] en="d8301ea2"
# 输出不变。层规范化去掉了词元的偏移和大小，保留了哪些特征突出，以及是向上突出还是向下突出。最后两行说明 `eps` 的作用。如果方差与 eps 相比不够大，输出就会缩小；如果一个词元的特征全部相等，得到的是 0，而不是 $0/0$。
#
# 万一模型需要大小和偏移呢？可学习的 **gamma** 和 **beta** 对每个特征各有一个数，能够让输出重新带上大小和偏移。下面这一组恰好完全撤销了这个词元的规范化：

# %%
undo = LayerNorm(4)
undo.gamma.value[:] = 5.0                   # (d_model,)
undo.beta.value[:] = 8.0                    # (d_model,)
print("gamma x_hat + beta:", undo(x), " x:", x)

# %% [markdown] en="a749ee99"
# ## 7.3 为什么沿特征，而不沿批量？
#
# **批量规范化**（Ioffe 和 Szegedy，2015）用的是同一个公式，但方向不同：它对每个*特征*求平均，范围是所有序列的所有词元。下图用一个有两个句子的批量来表示这两种做法，其中第二个句子有一个填充词元。

# %%
norm_axes()

# %% [markdown] en="cc4757f9"
# 看一看标准差的形状：层规范化对每个词元有一个标准差，批量规范化对每个特征有一个。

# %%
rng = np.random.default_rng(0)
B, T, d_model = 2, len(SENTENCE), 8
x = rng.standard_normal((B, T, d_model))                               # two sequences of 4 tokens
layer_norm, batch_norm = LayerNorm(d_model), BatchNorm(d_model)
print("layer norm, 1 / std", layer_norm.forward(x)[1].inv_std.shape)   # (B, T, 1)
print("batch norm, 1 / std", batch_norm.forward(x)[1].inv_std.shape)   # (d_model,)

# %% [markdown] en="ad282036"
# 现在保持第一个序列不变，改变它*周围*的东西。第一种情形：它在批量里换一个邻居。第二种情形：两个序列都添上三个填充位置，全是零。
#
# > **预测：** 在第一种情形下，哪一种规范化会让第一个序列的输出改变？在第二种情形下呢？

# %%
neighbour = x.copy()
neighbour[1] = rng.standard_normal((T, d_model))                       # another second sequence
padded = np.concatenate([x, np.zeros((B, 3, d_model))], axis=1)        # (B, T + 3, d_model)
for name, f in (("layer norm", layer_norm), ("batch norm", batch_norm)):
    before = f(x)[0]                                                   # (T, d_model)
    by_neighbour = np.abs(f(neighbour)[0] - before).max()
    by_padding = np.abs(f(padded)[0, :T] - before).max()
    print(f"{name}: moved by the neighbour {by_neighbour:.2f}, by the padding {by_padding:.2f}")

# %% [markdown] en="a1eaf575"
# 两种情形下，批量规范化的输出都变了。用了它，一个句子的翻译就会取决于批量里还有哪些句子，以及最长的句子有多长。最糟的情形也正是最重要的情形：模型写作时，第一个词元只有它自己。
#
# > **预测：** 批量里只有一个序列，序列里只有一个词元。批量规范化给出什么？

# %%
token = x[:1, :1]                                                      # (1, 1, d_model)
print("layer norm", layer_norm(token)[0, 0])
print("batch norm", batch_norm(token)[0, 0])

# %% [markdown] en="f7d5b702"
# 批量规范化给出的全是零：只有一行时，这一行*就是*均值，减完什么也不剩。实际使用时，批量规范化改用训练期间保存下来的均值。这样一来，它在训练时算的是一回事，使用时算的是另一回事。层规范化没有这个问题：**它只用词元自己的特征来规范化这个词元**，训练时和使用时都一样。
#
# 实验 `normalisation` 用几批嵌入之后的词元来测量：一个序列本身不变，只是批量中的邻居换了，或者多了填充，批量规范化对它的输出会变多少？（层规范化的输出完全不变。）

# %%
dependence = NORMALISATION.run(draws=5)
for i in (0, 4, 7):
    print(f"other neighbours, batch of {dependence.batch_sizes[i]:3}: {np.median(dependence.batch_rows[:, i]):5.0%}")
for i in (1, 4, 7):
    print(f"share of padding {dependence.shares[i]:4.0%}: {np.median(dependence.batch_padding[:, i]):5.0%}")

# %% [markdown] en="fb602fb3"
# 批量越大，变化越小，因为求平均的词元更多了，但变化永远不会是 0。填充越多，变化越大。批量规范化常用于图像：图像没有填充，每个特征又有成千上万个像素可以求平均。
#
# ## 7.4 选读：层规范化的反向传播
#
# 上面的层传下来 `grad_y`。经过 gamma 的这一步很简单：$g = \mathrm{grad\_y} \cdot \gamma$ 是在 $\hat x$ 处的梯度。用 $d$ 表示 `d_model`，$\mu$ 表示均值，并记 $\sigma = \sqrt{\mathrm{variance} + \mathrm{eps}}$。现在改动一个特征 $x_k$。它通过三条途径改变 $\hat x_j = (x_j - \mu) / \sigma$。
#
# **直接改变**，仅当 $j = k$ 时才有。分子随 $x_j$ 增大：
# $$\frac{\mathbb{1}[j = k]}{\sigma}$$
#
# **通过均值。** 均值增大 $1/d$，分子就减小同样多（式中 so this part is 的意思是“因此这一部分是”）：
# $$\frac{\partial \mu}{\partial x_k} = \frac1d \quad\text{so this part is}\quad -\frac{1}{d\, \sigma}$$
#
# **通过方差**，分三步。方差是各个平方 $(x_i - \mu)^2$ 的平均，其中有一个直接含有 $x_k$。（$\mu$ 在每个平方里都会变，但它贡献的是 $\sum_i (x_i - \mu)$ 的倍数，也就是 0。）
# $$\frac{\partial\, \mathrm{variance}}{\partial x_k} = \frac{2 (x_k - \mu)}{d}$$
# 求平方根带来二分之一，并且除以 $\sigma$：
# $$\frac{\partial \sigma}{\partial x_k} = \frac{1}{2 \sigma} \cdot \frac{2 (x_k - \mu)}{d} = \frac{\hat x_k}{d}$$
# 而 $\hat x_j$ 的分母中有 $\sigma$：
# $$\frac{\partial \hat x_j}{\partial \sigma} = -\frac{\hat x_j}{\sigma} \quad\text{so this part is}\quad -\frac{\hat x_j \hat x_k}{d\, \sigma}$$
#
# 三部分相加：
# $$\frac{\partial \hat x_j}{\partial x_k} = \frac{1}{\sigma}\Big(\mathbb{1}[j = k] - \frac1d - \frac{\hat x_j \hat x_k}{d}\Big)$$
#
# 对所有的 $j$ 用链式法则，每个和除以 $d$ 就成了均值：
# $$\mathrm{grad\_x}_k = \sum_j g_j \frac{\partial \hat x_j}{\partial x_k} = \frac{1}{\sigma}\big(g_k - \mathrm{mean}(g) - \hat x_k\, \mathrm{mean}(g\, \hat x)\big)$$
#
# 每个词元都用到 gamma 和 beta，所以它们的梯度是对词元求和：$\mathrm{grad\_gamma} = \sum \mathrm{grad\_y}\; \hat x$，$\mathrm{grad\_beta} = \sum \mathrm{grad\_y}$。

# %%
x = np.array([15.0, 9.0, 7.0, 1.0])                                    # (4,)  the token of 7.2
norm.gamma.value[:] = [1.0, 2.0, 0.5, 1.0]                             # not all 1, or gamma is untested
_, cache = norm.forward(x)
x_hat, sigma, d = cache.normalised, 1 / cache.inv_std, 4
grad_y = rng.standard_normal(4)                                        # (4,)  from above
g = grad_y * norm.gamma.value                                          # (4,)  at x_hat

# %%
J = (np.eye(d) - 1 / d - np.outer(x_hat, x_hat) / d) / sigma           # (4, 4)  row j, column k
with_matrix = J.T @ g                                                  # (4,)
with_means = (g - g.mean() - x_hat * (g * x_hat).mean()) / sigma       # (4,)
from_class = norm.backward(grad_y, cache)                              # (4,)
print(with_matrix, with_means, from_class, sep="\n")

# %% [markdown] en="d63e839a"
# 三种结果相同。再对照类的源码：`forward` 就是第 7.2 节，`backward` 的结尾就是上面的公式。

# %%
print(inspect.getsource(LayerNorm.forward))
print(inspect.getsource(LayerNorm.backward))

# %% [markdown] en="81d74089"
# 这个公式的*含义*是什么？在第 7.2 节中，$x$ 的两种改变不影响输出：一种是所有特征一起平移，方向是 $(1, 1, 1, 1)$；另一种是改变大小，方向是 $x$ 自己。因为 $x = \mu \cdot (1, 1, 1, 1) + \sigma\, \hat x$，所以第二个方向就是 $\hat x$ 再加一个平移。在不影响输出的方向上，梯度没有分量。
#
# > **预测：** `grad_x` 的各个特征之和是多少？它与 $\hat x$ 的点积是多少？

# %%
print("grad_x · 1 is 0:", abs(from_class.sum()) < 1e-12)
print("grad_x · x_hat is 0:", abs(from_class @ x_hat) < 1e-6, "(up to eps)")
ten_times = norm.backward(grad_y, norm.forward(10 * x)[1])             # (4,)  at a larger token
print("grad at x / grad at 10 x:", from_class / ten_times)

# %% [markdown] en="53762bc2"
# 两者都是 0：$\mathrm{mean}(g)$ 去掉了 $g$ 沿 $(1, 1, 1, 1)$ 的分量，$\hat x\, \mathrm{mean}(g\, \hat x)$ 去掉了沿 $\hat x$ 的分量。剩下的是因子 $1/\sigma$：词元大到十倍，梯度就只有十分之一，因为同样的一步对 $\hat x$ 的改变只有十分之一。下面像第 2.7 节那样，对许多词元以及 gamma 和 beta 证明这个反向传播：

# %%
print(check_gradients(LayerNorm(8), rng.standard_normal((2, 3, 8))))

# %% [markdown] en="f35f55de"
# ## 7.5 前馈网络：每个词元各算各的
#
# 另一个子层是公式 2：它把一个词元加宽到 $d_{ff}$ 个数，把其中的负数变成 0（这就是 ReLU），再变回原来的宽度。
#
# $$\mathrm{FFN}(x) = \max(0,\, x W_1 + b_1)\, W_2 + b_2$$

# %%
print(inspect.getsource(PositionwiseFeedForward.forward))
f = PositionwiseFeedForward(8, 32, rng=rng)                            # d_model, d_ff = 4 d_model
x = rng.standard_normal((1, 5, 8))                                     # (B, T, d_model)
fed_alone, cache = f.forward(x)
print(cache)
print(f"hidden units that ReLU sets to 0: {(cache.relu.y == 0).mean():.0%}")

# %% [markdown] en="ef162f3f"
# ReLU 把大约一半的隐藏单元变成 0：训练之前，一个单元小于 0 和大于 0 的机会相同。
#
# > **预测：** 改动 5 个词元中的词元 2。输出中哪些词元会变？

# %%
changed = x.copy()
changed[0, 2] += 1.0
print("tokens that change:", np.any(f(changed) != fed_alone, axis=-1)[0])

# %% [markdown] en="8a906772"
# 只有词元 2 改变，其余的词元一个比特也没有变。这就是“基于位置的”（position-wise）的含义：注意力在词元之间*搬运*信息，前馈网络则在每个词元上*加工*信息。（论文也把它说成两个卷积核大小为 1 的卷积。）

# %% [markdown] en="311a4464"
# > **预测：** 在 base 模型的编码器层中，$d_\mathrm{model} = 512$，$d_{ff} = 2048$。大部分参数在哪里：在注意力里，还是在前馈网络里？

# %%
for layer in (EncoderLayer(512, 2048, 8, rng=rng), DecoderLayer(512, 2048, 8, rng=rng)):
    sizes = {name: p.value.size for name, p in layer.named_parameters()}
    fed = sum(size for name, size in sizes.items() if name.startswith("feed_forward"))
    print(f"{type(layer).__name__}: feed-forward {fed:,} of {sum(sizes.values()):,}"
          f" parameters, {fed / sum(sizes.values()):.1%}")

# %% [markdown] en="0d9879e0"
# 三分之二在前馈网络里：它有 $2 \cdot 512 \cdot 2048 = 8 \cdot 512^2$ 个权重，而注意力的四个矩阵共有 $4 \cdot 512^2$ 个。解码器层多一个注意力，所以前馈网络在那里占一半。
#
# ## 7.6 完整的编码器层
#
# 编码器层有两个子层，各自套着外框。先看外框的源码，再看这一层的源码：

# %%
print(inspect.getsource(AddNorm.forward))
print(inspect.getsource(EncoderLayer.forward))

# %% [markdown] en="a320b8bf"
# 下面的单元格列出一次前向传播保留的全部内容。其中的每一行，你都已经认识。

# %%
layer = EncoderLayer(8, 32, 2, rng=rng)                                # d_model, d_ff, h
x = rng.standard_normal((1, 5, 8))                                     # (B, T, d_model)
y, cache = layer.forward(x)
print(cache)

# %% [markdown] en="0ef8e923"
# 从上往下读。先是三个投影的输入，再是查询、键和值，然后是注意力图（同一个数组有三个名字，因为暂退法没有启用）。接着是 $W^O$ 之前并排的各个头、第一个规范化、前馈网络的输入、ReLU 的输出，以及第二个规范化。现在用这一层自己的部件完成这四步：

# %%
attended = layer.self_attention(x, x, x)                               # (B, T, d_model)
x_1 = layer.add_norm_1.layer_norm(x + attended)                        # Add & Norm
fed = layer.feed_forward(x_1)                                          # (B, T, d_model)
by_hand = layer.add_norm_2.layer_norm(x_1 + fed)                       # Add & Norm
print("largest difference from the layer:", np.abs(by_hand - y).max())

# %% [markdown] en="916f6862"
# 反向传播的次序相反。求和把自己的梯度交给两个加数，所以（没有暂退法时）每个 Add & Norm 都给出两个相等的梯度。一个直接往下走，一个穿过子层，两者相遇时相加。
#
# > **预测：** 在这一层的输入 $x$ 处，有几个梯度相遇？

# %%
grad_y = rng.standard_normal(y.shape)                                  # (B, T, d_model)
straight, grad_fed = layer.add_norm_2.backward(grad_y, cache.add_norm_2)
print("the two are equal:", np.array_equal(straight, grad_fed))
grad_x_1 = straight + layer.feed_forward.backward(grad_fed, cache.feed_forward)
straight, grad_attended = layer.add_norm_1.backward(grad_x_1, cache.add_norm_1)
grad_Q, grad_K, grad_V = layer.self_attention.backward(grad_attended, cache.self_attention)

# %%
for name, term in (("straight", straight), ("as Q", grad_Q), ("as K", grad_K), ("as V", grad_V)):
    print(f"{name:8}  {term.shape}  length {np.linalg.norm(term):.2f}")
grad_x = straight + grad_Q + grad_K + grad_V                           # (B, T, d_model)
from_layer = layer.backward(grad_y, cache)                             # (B, T, d_model)
print("largest difference from layer.backward:", np.abs(grad_x - from_layer).max())

# %% [markdown] en="46ca9f47"
# 有四个梯度相遇：$x$ 在求和中用了一次，在注意力中用了三次。这里最长的是直通的那个。
#
# 关于直通路径，还有一点要说明。在论文中，每个 Add 后面都有一个规范化。它就立在路上，使路径不再笔直（第 7.7 节）。后来的大多数模型把规范化放在子层*之前*，路径就是笔直的。
#
# 外框中还有一部分至今没有起作用：**暂退法**（dropout，论文第 5.4 节）。它在求和*之前*把子层的输出随机选出一部分，变成 0，所以直通路径绝不会切断。只有给 `forward` 传入随机数生成器时，它才起作用。

# %%
dropout = Dropout(P_drop=0.1)
ones = np.ones(100_000)
dropped = dropout(ones, rng=rng)
print("without rng: values", np.unique(dropout(ones)))
print("with rng   : values", np.unique(dropped))
print(f"share of zeros {np.mean(dropped == 0):.2f}   mean {dropped.mean():.2f}")

# %% [markdown] en="20467c9a"
# 保留下来的数要除以 $1 - P_\mathrm{drop}$。这样均值仍然是 1，下一层在训练时和使用时收到的数大小一致。为什么要把数删掉？为了让训练样本不多的模型少一些死记硬背：第 10.2 节会测量它的效果。
#
# ## 7.7 选读：规范化放在求和之后，还是子层之前？
#
# 论文在求和之后规范化（**后置规范化**，post-norm），BERT 也是这样。从 GPT-2 开始，大多数模型改为规范化子层的输入（**前置规范化**，pre-norm）：

# %%
norm_places()

# %% [markdown] en="8ab65925"
# 写成公式：
#
# $$\text{post:}\quad x_{l+1} = \mathrm{LayerNorm}\big(x_l + \mathrm{Sublayer}(x_l)\big) \qquad\qquad \text{pre:}\quad x_{l+1} = x_l + \mathrm{Sublayer}\big(\mathrm{LayerNorm}(x_l)\big)$$
#
# 请找出第 7.1 节的直通路径。前置规范化（pre）的路径是完整的，一路上只有求和。后置规范化（post）的每个子层都在路上放了一个规范化。每个规范化都乘上自己的 $1/\sigma$，并去掉两个方向（第 7.4 节）。
#
# 先测量路径还剩下多少。

# %%
def stack(layer_class, N, seed, d_model=64):
    rng = np.random.default_rng(seed)
    layers = [layer_class(d_model, 4 * d_model, 4, rng=rng) for _ in range(N)]
    norm = LayerNorm(d_model) if layer_class is PreNormEncoderLayer else None
    encoder = Encoder(layers, norm=norm)                               # pre-norm needs one at its end
    x = rng.standard_normal((4, 10, d_model))                          # (B, T, d_model)
    y, cache = encoder.forward(x)
    return encoder, x, cache, rng.standard_normal(y.shape)             # and a gradient from above

# %%
_, _, cache, _ = stack(EncoderLayer, 12, seed=0)
factors = np.array([[c.add_norm_1.layer_norm.inv_std.mean(), c.add_norm_2.layer_norm.inv_std.mean()]
                    for c in cache.layers])                            # (N, 2)
after_attention, after_feed_forward = factors.mean(axis=0)
print(f"mean of 1/σ: {after_attention:.2f} after attention, {after_feed_forward:.2f} after feed-forward")

# %% [markdown] en="58160713"
# 12 层有 24 个这样的规范化。把它们的因子全部乘起来，就是直通路径从顶到底还剩下的部分。

# %%
print(f"product of all {factors.size}: {factors.prod():.3f}")

# %% [markdown] en="5af948ee"
# 大约只剩百分之一。梯度的其余部分必须穿过各个子层。它会像第 7.1 节那样在那里消失吗？取未经训练的栈，在每一层测量一个矩阵的梯度，即前馈网络的 $W_2$ 的梯度，并与从上面传来的梯度相比。同时测量每一层输出的大小。

# %%
def measure(layer_class, N, seed):
    encoder, x, cache, grad_y = stack(layer_class, N, seed)
    encoder.backward(grad_y, cache)
    gradients, sizes = [], []
    for layer in encoder.layers:
        W_2 = layer.feed_forward.linear_2.W
        gradients.append(np.linalg.norm(W_2.grad) / np.linalg.norm(grad_y))
        x = layer(x)
        sizes.append(x.std())
    return gradients, sizes                                            # N of each

# %%
kinds = {"post-norm": EncoderLayer, "pre-norm": PreNormEncoderLayer}
measured = {(kind, N): np.array([measure(kinds[kind], N, seed) for seed in range(5)])
            for kind in kinds for N in (6, 24)}                        # (seeds, 2, N) each

# %% [markdown] en="f762045b"
# 下一个单元格使栈的深度变为四倍，从 6 层到 24 层，再看*最后*一层的梯度。

# %%
last = {key: np.median(both[:, 0, -1]) for key, both in measured.items()}
for kind in kinds:
    print(f"{kind:9}  last layer: N = 6 {last[kind, 6]:.1f}   N = 24 {last[kind, 24]:.1f}"
          f"   ratio {last[kind, 24] / last[kind, 6]:.2f}")

# %% [markdown] en="ab700836"
# 用后置规范化时，它几乎不变。用前置规范化时，它大约变为一半，即 $1/\sqrt{4}$；原因下面会讲。图中是全部 24 层，从底部（1）到顶部（24）。上半部分是梯度，下半部分是输出的大小。

# %%
fig = new_figure(7, 5.6)
above, below = fig.subplots(2, 1, sharex=True)                         # the gradient, the signal
for style, kind in enumerate(kinds):
    both = measured[kind, 24]                                          # (seeds, 2, N)
    draw_spread(above, range(1, 25), both[:, 0], kind, style)
    draw_spread(below, range(1, 25), both[:, 1], kind, style)
above.set(ylabel="relative gradient of $W_2$", title="gradient")
below.set(xlabel="layer, from the bottom", ylabel="std of the output", title="signal")
for ax in (above, below):
    ax.set_ylim(bottom=0)
    ax.legend()
fig

# %% [markdown] en="2859a190"
# 先看下半部分。后置规范化在每次求和之后，都把每个词元恢复到大小 1。用前置规范化时，每个子层都往和里加一项，各项大小差不多，却没有谁来规范化这个和。所以方差随层数增长，标准差随层数的平方根增长。这有两个后果：
#
# - 用前置规范化的栈，**末端还需要一个规范化**。`Transformer` 会加上它，因为层自己提出了这个要求：`stack_norm`。
# - 这个规范化要除以它的 $\sigma$，前向和反向都是如此：栈越深，顶部的梯度越小。
#
# 再看上半部分。用后置规范化时，梯度没有消失：一种可能的原因（这里没有测量）是，这些规范化也使子层里面的梯度变大。但无论栈有多深，它顶部各层得到的梯度都还是那么大。论文不得不使用*预热*：学习率从接近 0 开始上升（论文第 5.3 节）。Xiong 等（2020）给出的一种解释是：训练最初几步，顶部各层的步子太大。这不可能是全部原因，因为 Adam 会除以梯度的大小。Liu 等（2020）有另一种解释：在后置规范化的模型中，输出更多来自子层，所以子层的权重稍有改变，输出就大幅改变。
#
# 预热对训练的影响，第 10.4 节会用两种规范化来测量。简单地说：*在那里*，预热使更高的学习率成为可能，但最终结果并没有更好。在用后置规范化的深模型中，预热可以决定模型究竟能不能学会。（作者为什么选择后置规范化？他们没有说。论文第 3.1 节只给出了定义。）
#
# ## 7.8 检验本课的结论

# %%
tokens, token = rng.standard_normal((1, 5, 8)), np.array([15.0, 9.0, 7.0, 1.0])
assert max(run[-1] for run in plain) < 1e-4 < 1 < min(run[-1] for run in added)
assert min(run[-1] for run in louder) > 0.1                            # with gain 1.33
assert abs(kept_by_widths - 0.8) < 0.05                                # Xavier's share,
assert abs(kept_by_widths * 0.5**0.5 - 0.57) < 0.04                    # and that of ReLU
assert np.allclose(LayerNorm(4)(token), [1.4, 0.2, -0.2, -1.4])        # by hand
assert np.abs(layer_norm(10 * tokens + 100) - layer_norm(tokens)).max() < 1e-5     # up to eps
assert np.all(batch_norm(tokens[:, :1]) == 0)                          # one token alone
assert not dependence.layer_rows.any()                                 # not the batch
assert not dependence.layer_padding.any()                              # not the padding
assert dependence.batch_rows.min() > 0.01
assert np.abs(with_means - from_class).max() < 1e-12                   # the three ways
assert abs(from_class.sum()) < 1e-12                                   # nothing along 1
assert abs(from_class @ x_hat) < 1e-6                                  # nothing along x_hat
assert np.any(f(changed) != fed_alone, axis=-1).sum() == 1             # position-wise
assert np.abs(by_hand - y).max() < 1e-12                               # four steps are the layer
assert np.abs(grad_x - from_layer).max() < 1e-12                       # four gradients meet
assert factors.prod() < 0.03                                           # post-norm's straight path
assert 0.7 < last["post-norm", 24] / last["post-norm", 6] < 1.4
assert 0.3 < last["pre-norm", 24] / last["pre-norm", 6] < 0.7

print("all true")

# %% [markdown] en="66b57e9b"
# ## 小结
#
# - **Add** 给了梯度一条不依赖权重的路径：用 $I + J$ 代替 $J$。所以每个子层的宽度都是 `d_model`。在论文中，每个 Add 后面的这条路径上都立着一个规范化，使它不再笔直。前置规范化的路径是笔直的。
# - **规范化**只用词元自己，去掉它的偏移和大小。它看不见批量，也看不见填充。（第 7.4 节：它的梯度是 `(g - mean(g) - x_hat mean(g x_hat)) / sigma`，在那两个不影响输出的方向上没有分量。）
# - **前馈网络**是同一个小网络，用在每个位置上。编码器层的参数有三分之二在它里面。
# - 一个数组用了几次，各次使用的梯度就要相加：这里是四次。
# - 第 7.7 节：后置规范化（论文）让信号保持大小 1，却几乎堵住了直通路径。前置规范化保住了路径，却让信号不断增大，所以末端还需要一个规范化。
#
# ## 问题
#
# **1.** RMS 规范化（`variants.norms`）是 $x / \sqrt{\mathrm{mean}(x^2)}$：它不减均值。反向传播的三项中，它没有哪一项？为什么？
#
# <details><summary>答案</summary>
#
# 它没有 $\mathrm{mean}(g)$ 这一项。这一项去掉的是 $(1, 1, 1, 1)$ 方向，因为所有特征一起平移，层规范化察觉不到。RMS 规范化能察觉，所以它的梯度在这个方向上可以有分量。改变大小仍然不影响输出，所以含 $\hat x$ 的那一项还在。
#
# </details>
#
# **2.** 去掉 ReLU，前馈网络还剩下什么？
#
# <details><summary>答案</summary>
#
# 只剩下一个从 `d_model` 到 `d_model` 的线性映射：$(x W_1 + b_1) W_2 + b_2 = x\, (W_1 W_2) + (b_1 W_2 + b_2)$。在 base 模型中，$512 \cdot 512$ 个数加一个偏置，就能做两百万个数的工作。没有 ReLU，中间加宽的那一层就没有用。
#
# </details>
#
# **3.** 有人写了 `EncoderLayer.backward`，返回 `grad_Q + grad_K + grad_V`，漏掉了直通的那一项。哪些梯度会出错：这一层的参数的梯度，还是下面各层的梯度？
#
# <details><summary>答案</summary>
#
# 这一层的参数的梯度是对的，因为它们在出错之前就已算好。下面所有的层得到的梯度都是错的，缺少直通路径，而且在栈里每过一层就错得更多。顶部的层仍然在学习，所以只看损失在下降，发现不了这个错误。`check_gradients` 能发现它，就在 `input 0` 那一行。
#
# </details>
