# %% [markdown] en="b67764c4"
# # 第 3 课 · 为什么要除以 √d_k？
#
# | | |
# |---|---|
# | **你将做什么** | 手算有缩放和没有缩放的注意力，逐行推导点积的方差，再测量它对 softmax、对梯度和对训练的影响 |
# | **你将学到** | 点积为什么会变大；$\sqrt{d_k}$ 有什么用，为什么取平方根；加性注意力为什么不需要它；论文给出的理由*不能*解释什么 |
# | **需要** | 第 1 课和第 2 课；随机数的均值、方差和独立性 |
# | **论文** | 第 3.2.1 节及其脚注 4 |
# | **时间** | 45 分钟，不含第 3.6 节、第 3.7 节和第 3.9 节（*选读*：运行其中的单元格，跳过文字。其他部分都用不到它们） |
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
import math

import numpy as np

from aiayn_np import (
    CopyTask,
    LayerNorm,
    MultiHeadAttention,
    ScaledDotProductAttention,
    Softmax,
    plot_attention,
)
from aiayn_np.experiments.claims.saturation import SATURATION
from aiayn_np.experiments.claims.scale_training import SCALE_TRAINING
from aiayn_np.experiments.claims.variance import VARIANCE
from aiayn_np.experiments.learning import learn, small_model
from aiayn_np.plotting.drawings import SENTENCE, dot_products, figure_1
from aiayn_np.plotting.figures import draw_spread, new_figure
from aiayn_np.variants.scoring import AdditiveScore, DotScore, ScoredAttention, dot_attention

np.set_printoptions(precision=4, suppress=True)

# %% [markdown] en="85b38349"
# 每个注意力的内部都有缩放。图 1 中亮起了这些方框。

# %%
figure_1("attention")

# %% [markdown] en="b0738477"
# ## 3.1 手算：16 个里对 10 个
#
# 设查询和键的每个分量都是 $+1$ 或 $-1$。这时，$q \cdot k$ 等于两者一致的位置数减去不一致的位置数。取 $d_k = 16$，查询全为 1，三个键与它一致的位置分别有 10、8 和 6 个。靠抛硬币得到的键，平均有 8 个位置一致。所以，第一个键比碰运气好一点，最后一个键比碰运气差一点。

# %%
def agreeing(places, d_k):
    return np.where(np.arange(d_k) < places, 1.0, -1.0)                # (d_k,)

Q = np.stack([np.ones(16), np.tile([1.0, -1.0], 8)])                   # (2, 16)  two queries
K = np.stack([agreeing(n, 16) for n in (10, 8, 6)])                    # (3, 16)
V = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])                     # (3, 2)
d_k = Q.shape[-1]

# %% [markdown] en="097e1995"
# > **预测：** 第一个查询对每个键的分数是多少？如果把这些分数直接交给 softmax，第一个键的权重会是第二个键的多少倍？

# %%
scores = Q @ K.T                                                       # (2, 3)
print("scores", *scores, sep="\n  ")
print("e^4 =", math.exp(4), "  e =", math.e)

# %% [markdown] en="3501278e"
# 分数是 $10 - 6 = 4$，然后是 0 和 $-4$。差为 4，权重之比就是 $e^4$（第 2 课）。所以，一个键只在 16 个位置中多对了 2 个，权重就超过另一个键的 50 倍。现在按公式 1 除以 $\sqrt{d_k} = 4$，分数变成 1、0 和 $-1$，权重之比变成 $e$。第二个查询与每个键都有 8 个位置一致，所以不管有没有缩放，它的分数都是 0。

# %%
softmax = Softmax()
scaled = scores / math.sqrt(d_k)                                       # (2, 3)
weights = softmax(scaled)                                              # (2, 3)
out = weights @ V                                                      # (2, 2)
for name, array in {"scaled": scaled, "weights": weights, "out": out}.items():
    print(name, array.shape, *array, sep="\n  ")

# %% [markdown] en="ce5383f6"
# 这个类做的是同样的事。它的 `cache.weights` 就是我们的权重，它的输出也与我们的相同。

# %%
attention = ScaledDotProductAttention()
from_class, cache = attention.forward(Q, K, V)
print("weights:", np.abs(cache.weights - weights).max() < 1e-12)
print("out:    ", np.abs(from_class - out).max() < 1e-12)
print(cache)

# %% [markdown] en="11e60958"
# 本库也有不带缩放的注意力：`DotScore` 就是 $q \cdot k$，别的什么也没有；`ScoredAttention` 可以用任意的打分函数构成注意力。这是 `DotScore` 的全部：

# %%
print(inspect.getsource(DotScore.forward))

# %%
unscaled = ScoredAttention(DotScore())
_, unscaled_cache = unscaled.forward(Q, K, V)
print("its scores are Q Kᵀ:", np.array_equal(DotScore()(Q, K), scores))
print("with    ", cache.weights[0])
print("without ", unscaled_cache.weights[0])

# %% [markdown] en="c34a5099"
# 没有缩放时，第一个键拿走了 0.98 的权重。这几乎就是硬查找，而决定它的只是 16 个位置中的 2 个。
#
# > **预测：** 现在 $d_k = 1024$，三个键一致的位置分别有 528、512 和 496 个。有缩放时，权重是多少？没有缩放时呢？

# %%
q_wide = np.ones((1, 1024))                                            # (1, 1024)
K_wide = np.stack([agreeing(n, 1024) for n in (528, 512, 496)])        # (3, 1024)
for name, layer in {"with    ": attention, "without ": unscaled}.items():
    _, wide_cache = layer.forward(q_wide, K_wide, V)
    print(name, wide_cache.weights[0])
print("share of places that agree:", 528 / 1024)

# %% [markdown] en="0a3b637f"
# 有缩放时，权重与前面相同。没有缩放时，第一个键拿走了全部：它领先 32 分，因为 1024 个位置中有 528 个一致。抛 $d_k$ 次硬币，平均有 $d_k / 2$ 次一致，**标准差**是 $\sqrt{d_k} / 2$：16 个位置时是 2 个，1024 个位置时是 16 个。所以，两次的第一个键都比碰运气高出一个标准差。有了缩放，分数的单位就是标准差。现在来推导这一点。
#
# ## 3.2 点积为什么会变大？
#
# 论文的脚注 4 假设：$q$ 和 $k$ 的各个分量是相互独立的随机数，均值为 0，方差为 1。此外不需要别的假设。上面取 +1 或 -1 的分量就属于这种情况。$\mathbb{E}$ 表示均值。
#
# **一个乘积**：对于独立的随机数，乘积的均值等于均值的乘积。
# $$\mathbb{E}[q_i k_i] = \mathbb{E}[q_i]\, \mathbb{E}[k_i] = 0 \cdot 0 = 0$$
#
# **它的方差**：均值是 0，所以方差就是平方的均值。而 $\mathbb{E}[q_i^2]$ 就是 $q_i$ 的方差。
# $$\mathrm{Var}(q_i k_i) = \mathbb{E}[q_i^2 k_i^2] - 0^2 = \mathbb{E}[q_i^2]\, \mathbb{E}[k_i^2] = 1 \cdot 1 = 1$$
#
# **两个乘积**：位置 $i \ne j$ 上的两个乘积没有协方差。协方差等于乘积的均值减去均值的乘积：
# $$\mathrm{Cov}(q_i k_i,\, q_j k_j) = \mathbb{E}[q_i]\, \mathbb{E}[k_i]\, \mathbb{E}[q_j]\, \mathbb{E}[k_j] - 0 \cdot 0 = 0$$
#
# **求和**：均值总可以相加。这里没有协方差，所以方差也可以相加。
# $$\mathbb{E}[q \cdot k] = \sum_i \mathbb{E}[q_i k_i] = 0$$
# $$\mathrm{Var}(q \cdot k) = \sum_{i=1}^{d_k} \mathrm{Var}(q_i k_i) + \sum_{i \ne j} \mathrm{Cov}(q_i k_i,\, q_j k_j) = d_k$$
#
# 每一行都是一个论断，所以每一行都要测量。取 $d_k = 64$，抽取许多对查询和键。
#
# > **预测：** 这里 $q \cdot k$ 的标准差是多少：1、8 还是 64？

# %%
rng = np.random.default_rng(0)
d_k = 64
q, k = rng.standard_normal((2, 20_000, d_k))                           # (20000, 64) each
products = q * k                                                       # (20000, 64)  q_i k_i
print(f"q_i        mean {q.mean():7.4f}   variance {q.var():.4f}")
print(f"q_i k_i    mean {products.mean():7.4f}   variance {products.var():.4f}")

# %%
cov = np.cov(products.T)                                               # (64, 64)
pairs = cov[~np.eye(d_k, dtype=bool)]                                  # (64 · 63,)  i ≠ j
print(f"covariances of two products: {len(pairs)}, the largest |Cov| {np.abs(pairs).max():.3f}")
print(f"sum of the variances   {np.trace(cov):8.2f}")
print(f"sum of the covariances {pairs.sum():8.2f}")

# %%
dot = products.sum(axis=1)                                             # (20000,)  q · k
print(f"q · k      mean {dot.mean():7.4f}   variance {dot.var():.2f}   std {dot.std():.2f}")

# %% [markdown] en="f8d34eac"
# 标准差是 8，也就是 64 的平方根。（上面的两个和加起来等于方差，理应如此。）那么，点积为什么会变大？点积是 $d_k$ 项的和，每一项都贡献自己的方差。正负不同的项会抵消一部分，所以和的典型大小不是 64。但它们不会完全抵消。这个和就像走 $d_k$ 步，每一步随机向左或向右：走完 64 步，你大约离起点 8 步远。
#
# 推导只用到均值、方差和独立性，所以对其他分布，结果也成立：

# %%
draws = {
    "normal":         lambda shape: rng.standard_normal(shape),
    "uniform":        lambda shape: rng.uniform(-math.sqrt(3), math.sqrt(3), shape),
    "+1 or -1":       lambda shape: rng.choice([-1.0, 1.0], shape),
    "mean 1, not 0":  lambda shape: 1 + rng.standard_normal(shape),
}
for name, draw in draws.items():
    q, k = draw((2, 20_000, d_k))                                      # (20000, 64) each
    print(f"{name:14} mean {(q * k).sum(axis=1).mean():6.2f}"
          f"   variance {(q * k).sum(axis=1).var():6.2f}")

# %% [markdown] en="cbc25bcf"
# 最后一行违反了一个假设，结果也就不成立了：均值不为 0，就不会抵消。（这里每个乘积的均值是 1，方差是 3。）只要均值为 0，结果在任何宽度下都成立。图中画的是 $q \cdot k$ 的方差，分量服从正态分布，宽度从 1 到 16384。小方块是缩放之后的方差：因为 $\mathrm{Var}(c\,s) = c^2\, \mathrm{Var}(s)$，除以 $\sqrt{d_k}$，方差就除以 $d_k$。

# %%
variance = VARIANCE.run()
variance.figure()

# %% [markdown] en="dad466a1"
# ## 3.3 标准差为 √d_k，softmax 会怎样
#
# 图的上排画出 $d_k$ 增大时，分数怎样散开。下排画出对 8 个这样的分数作 softmax，平均会得到什么：权重最大的键占得越来越多。

# %%
dot_products()

# %% [markdown] en="ceb66ea4"
# 现在看我们的句子，查询和键是宽度为 512 的随机向量。先用整个向量，再只用同一批向量的前 4 个分量。

# %%
tokens = list(SENTENCE)
Q, K = rng.standard_normal((2, 4, 512))                                # (4, 512) each
V = np.eye(4)                                                          # (4, 4)
maps = {}
for width in (4, 512):
    for name, layer in {"without": unscaled, "with": attention}.items():
        _, cache = layer.forward(Q[:, :width], K[:, :width], V)
        maps[f"d_k = {width}, {name} scale"] = cache.weights          # (4, 4)
print("scores of 'cat', d_k =   4:", Q[1, :4] @ K[:, :4].T)
print("scores of 'cat', d_k = 512:", Q[1] @ K.T)

# %% [markdown] en="6a08232e"
# > **预测：** $d_k = 512$，没有缩放，`cat` 的 4 个权重中最大的是多少？

# %%
for name, weights in maps.items():
    print(f"{name:24} weights of 'cat' {weights[1]}")

# %% [markdown] en="c853fd6e"
# 最大的权重几乎就是 1。图中有四幅注意力图，每一行是一个查询。请看左下那一幅，宽度 512，没有缩放：它的各行都是硬查找，可是什么都还没有学过，一切由偶然决定。有缩放时，宽度 512 的各行都不是硬查找。

# %%
plot_attention(np.stack(list(maps.values())), tokens, tokens,
               titles=[name.replace(", ", ",\n") for name in maps])

# %% [markdown] en="e3e5423e"
# 4 个词元只能算个例。实验 `SATURATION` 抽取 2048 个查询，每个查询有 32 个键，统计有多少查询把超过 0.99 的权重给了*同一个*键。

# %%
saturation = SATURATION.run(queries=2048)
print("keys of each query:", saturation.n_keys)
print("d_k    with   without     share of queries with one weight > 0.99")
for d_k, share_with, share_without in zip(saturation.d_k, *saturation.one_hot):
    print(f"{d_k:<5} {share_with:6.3f} {share_without:8.3f}")

# %% [markdown] en="b3572c90"
# 没有缩放，$d_k = 512$ 时，大约三分之二的查询把几乎全部权重给了一个键。论文的模型取 $d_k = 64$，这时有超过五分之一的查询如此。有缩放时，在任何宽度下都不会发生。
#
# ## 3.4 这对梯度有什么影响
#
# 第 2 课求出了 softmax 的雅可比矩阵 $J_{jk} = w_j (\mathbb{1}[j = k] - w_k)$。某个权重几乎为 1 时，它几乎为零。下一个单元格对 `cat` 的查询作计算：先算雅可比矩阵的范数，再算分数的梯度通过这个矩阵之后的范数。

# %%
grad_w = rng.standard_normal(4)                                        # (4,)  from above
for name, weights in maps.items():
    w = weights[1]                                                     # (4,)
    J = np.diag(w) - np.outer(w, w)                                    # (4, 4)
    print(f"{name:24} norm of J {np.linalg.norm(J):.1e}"
          f"   of grad_s {np.linalg.norm(J.T @ grad_w):.1e}")

# %% [markdown] en="3147b101"
# 论文说，大的分数会把 softmax 推到梯度极小的区域。对这个查询，确实如此。对所有查询都如此吗？我们需要到达查询的梯度。用一步链式法则就能得到：查询出现在每个分数 $s_j = q \cdot k_j / \sqrt{d_k}$ 中，每次都带有因子 $k_j / \sqrt{d_k}$。所以
# $$\mathrm{grad\_q} = \frac{1}{\sqrt{d_k}} \sum_j \mathrm{grad\_s}_j\, k_j$$
# （没有缩放时，去掉 $1/\sqrt{d_k}$。其他数组的梯度在第 4 课推导。）同一个实验对 2048 个查询逐一测量了这个梯度的范数。一半的查询低于**中位数**，**均值**则把所有查询都算在内。
#
# > **预测：** $d_k = 512$，比较有缩放和没有缩放：哪一种的*中位数*更大？哪一种的*均值*更大？（提示：没有缩放时，这个公式里没有什么会缩短键，而宽度为 512 的键，长度约为 22。还有，在上面的表中，宽度为 512 的查询，有多少个的某个权重 > 0.99？）

# %%
at = list(saturation.d_k).index(512)
median, mean = saturation.gradient[:, :, 1], saturation.mean_gradient  # (2, widths) each
for name, size in {"median": median, "mean": mean}.items():
    for i in (list(saturation.d_k).index(64), at, -1):
        print(f"d_k = {saturation.d_k[i]:<5} {name:7} with {size[0, i]:.3f}   without {size[1, i]:.3f}"
              f"   ratio {size[1, i] / size[0, i]:.2g}")

# %% [markdown] en="b2673a5f"
# 没有缩放时，中位数更小：512 时约为有缩放时的十分之一，4096 时什么也不剩。但在 64，即论文的宽度，没有缩放的中位数反而*更大*，是有缩放时的三倍多。所以在论文自己的宽度上，还看不到梯度消失，至少在训练开始时看不到。至于均值，在这三个宽度上，没有缩放时都更大，是有缩放时的好几倍。图中画出 $J$ 的范数和梯度的范数随 $d_k$ 的变化。色带包含中间一半的查询，右图的点线是均值。

# %%
saturation.figure()

# %% [markdown] en="2482df09"
# 在右图中，没有缩放的中位数一直上升到 $d_k = 32$。从 256 起，它低于有缩放的中位数，然后急剧下降。均值却不下降。那么，在 512 时，梯度给了哪些查询？像实验中那样再抽取 2048 个查询，分成 32 组，同组共用键。把它们从得到最少的排到得到最多的。

# %%
Q = rng.standard_normal((32, 64, 512))                                 # 32 groups of 64 queries
K, V = rng.standard_normal((2, 32, 32, 512))                           # 32 keys and values each
grad_out = rng.standard_normal(Q.shape) / math.sqrt(512)               # rows of length 1
shares, means = {}, {}
for name, layer in {"with": attention, "without": unscaled}.items():
    _, cache = layer.forward(Q, K, V)
    grad_Q, _, _ = layer.backward(grad_out, cache)                     # (32, 64, 512)
    size = np.linalg.norm(grad_Q, axis=-1).ravel()                     # (2048,)
    order = size.argsort()                                             # ascending
    poor, rich = order[:1024], order[-205:]
    shares[name] = size[poor].sum() / size.sum(), size[rich].sum() / size.sum()
    means[name] = size[rich].mean()
    largest = cache.weights.max(axis=-1).ravel()                       # (2048,)  of each query's weights
    print(f"{name:8} the poorer half gets {shares[name][0]:.3f} of the gradient, the richest tenth {shares[name][1]:.3f}")
    print(f"         median of the largest weight: poorer half {np.median(largest[poor]):.3f},"
          f" richest tenth {np.median(largest[rich]):.3f}; mean gradient of that tenth {means[name]:.2f}")

# %% [markdown] en="f84487ea"
# 没有缩放时，有一半的查询几乎得不到梯度。这些查询只是碰巧很确定，而几乎没有梯度能改变这一点。三分之二的梯度流向十分之一的查询：这些查询碰巧还举棋不定，从它们的最大权重就看得出来。它们得到的梯度是有缩放时最多的那十分之一的二十多倍：没有缩放，$q$ 的梯度是 $\sum_j \mathrm{grad\_s}_j\, k_j$，而宽度为 $d_k$ 的键，长度约为 $\sqrt{d_k}$。所以，如实的说法是：没有缩放并且 $d_k$ 很大时，*大多数*查询的梯度会消失，少数查询的梯度会变成十倍以上。
#
# 这里要紧的是*查询之间*的差距。绝对大小不那么要紧，因为像 Adam（第 10 课）这样的优化器会把梯度的大小除掉。

# %% [markdown] en="b862235e"
# ## 3.5 为什么除以平方根，而不是 d_k 本身？
#
# 分数小一些有好处。再小一些，会不会更好？我们除以 $d_k^p$，分别取 $p = 0$（没有缩放）、$p = \tfrac12$（论文的做法）和 $p = 1$。单元格里除的是查询，而不是分数；两者是一回事。
#
# > **预测：** $q \cdot k / d_k$ 的方差是多少？有 32 个键并且 $d_k$ 很大时，权重会是什么样子？

# %%
def measure(d_k, p):
    Q, K, V = rng.standard_normal((3, 32, 32, d_k))                    # 32 groups of 32 queries
    q = Q / d_k**p
    _, cache = unscaled.forward(q, K, V)                               # scores q · k / d_k^p
    grad_q, _, _ = unscaled.backward(rng.standard_normal(V.shape) / math.sqrt(d_k), cache)
    grad_Q = grad_q / d_k**p                                           # q = Q / d_k^p
    size = np.median(np.linalg.norm(grad_Q, axis=-1))
    return (q @ K.mT).var(), np.median(cache.weights.max(axis=-1)), size

# %%
table = {(p, d_k): measure(d_k, p) for p in (0, 0.5, 1) for d_k in (16, 128, 1024)}
print("divided by       d_k   variance   largest weight   |grad_q|     (medians)")
for (p, d_k), (var, largest, size) in table.items():
    print(f"d_k^{p:<10} {d_k:5} {var:10.4f} {largest:16.3f} {size:10.1e}")
print("an equal share:", 1 / 32)

# %% [markdown] en="c4db9fa3"
# 除以 $d_k$，方差就是 $d_k / d_k^2 = 1/d_k$：向量越宽，权重越平均。这时，在宽的模型中，32 个权重中最大的那个，也只比平均份额大一点点，所以每个查询不管问什么，得到的都近乎普通平均。什么都没有饱和，但梯度也变小了，大约按 $1/\sqrt{d_k}$ 缩小。要想真正看某一个键，模型就得学出大 $\sqrt{d_k}$ 倍的分数。只有除以平方根，方差、权重和梯度才会在每个宽度下保持不变，而且这是指*训练开始时*。训练之后，$q$ 和 $k$ 不再独立，点积可能按 $d_k$ 增长（见问题 3）。正因为如此，有一种叫 μP 的规则终究还是除以 $d_k$（Yang 等，2022）：它能把窄模型的学习率用到宽模型上。
#
# 梯度为什么保持不变？看第 3.4 节的公式：每个 $k_j$ 的长度约为 $\sqrt{d_k}$，因子 $1/\sqrt{d_k}$ 恰好抵消这个长度。

# %%
Q, K, V = rng.standard_normal((3, 32, 512))                            # (32, 512) each
grad_out = rng.standard_normal(Q.shape)
_, cache = attention.forward(Q, K, V)
grad_Q, _, _ = attention.backward(grad_out, cache)
grad_s = softmax.backward(grad_out @ V.T, cache.softmax)               # (32, 32)
print("mean length of a key:", np.linalg.norm(K, axis=1).mean(), "  √512 =", math.sqrt(512))
print("the formula is backward:", np.abs(grad_s @ K / math.sqrt(512) - grad_Q).max() < 1e-12)

# %% [markdown] en="87ca1fce"
# ## 3.6 选读：q 和 k 的分量真是这样吗？
#
# 在 Transformer 中，它们不是随机抽取的：$q = x W^Q$，$k = x W^K$。除第一层以外，每一层的 $x$ 都来自**层规范化**（第 7 课）。在这里只需知道，它使每个词元的均值为 0、方差为 1。一个注意力有 $h$ 个并排的**头**，每个头的宽度为 $d_k$（第 6 课），所以 $W^Q$ 和 $W^K$ 有 $d_{model}$ 行、$h\, d_k$ 列。它们的初值是 Xavier 随机数（Glorot 和 Bengio，2010），方差为 $2 / (d_{model} + h\, d_k)$。$q$ 的一个分量是 $d_{model}$ 个乘积的和，所以由上面的推导
# $$\mathrm{Var}(q_i) = d_{model} \cdot 1 \cdot \frac{2}{d_{model} + h\, d_k}$$
#
# > **预测：** base 模型取 $d_{model} = 512$、$h = 8$、$d_k = 64$。$\mathrm{Var}(q_i)$ 是多少？如果每个头的 $d_k = 512$ 呢？

# %%
d_model, h = 512, 8
x = LayerNorm(d_model)(rng.standard_normal((1, 64, d_model)))          # (B, T, d_model)
print("d_k    Var(q_i)  as derived    Var(q·k)   Var(q·k)/d_k")
for d_k in (8, 64, 512):
    layer = MultiHeadAttention(d_model, h, d_k=d_k, rng=rng)
    _, cache = layer.forward(x, x, x)
    Q, K = cache.attention.Q, cache.attention.K                        # (B, h, T, d_k) each
    derived, dot = 2 * d_model / (d_model + h * d_k), Q @ K.mT         # (B, h, T, T)
    print(f"{d_k:<6} {Q.var():8.3f}  {derived:10.3f}  {dot.var():10.2f}  {dot.var() / d_k:13.3f}")

# %% [markdown] en="74d13a36"
# 按论文的选择，$h\, d_k = d_{model}$，$q_i$ 的方差是 1，分数缩放后的方差接近 1。所以，脚注 4 在训练开始时成立。换成其他宽度就不成立了。在 $d_k = 8$ 时，缩放后分数的方差约为 3。在 $d_k = 512$ 时，缩放后的方差是 0.05，不缩放则是 25。缩放去掉了因子 $d_k$，但因子 $\mathrm{Var}(q_i)\,\mathrm{Var}(k_i)$ 还在。
#
# 其实在任何宽度下，模型都可以自己学会缩放：用 $W^Q / \sqrt{d_k}$ 代替 $W^Q$，没有缩放的注意力就是同一个函数。

# %%
with_scale = MultiHeadAttention(64, 4, rng=np.random.default_rng(0))   # d_k = 16
without = MultiHeadAttention(64, 4, attention=dot_attention, rng=np.random.default_rng(0))
x = rng.standard_normal((1, 5, 64))                                    # (B, T, d_model)
before = np.abs(without(x, x, x) - with_scale(x, x, x)).max()
without.linear_Q.W.value /= math.sqrt(16)
after = np.abs(without(x, x, x) - with_scale(x, x, x)).max()
print(f"largest difference: {before:.4f} before, less than 1e-12 after: {after < 1e-12}")

# %% [markdown] en="c603df5a"
# 所以，缩放并没有扩大注意力的表达能力。它决定训练从*哪里开始*，也决定 $W^Q$ 更新一步会使分数移动多远。这是否要紧，只有训练才能回答。
#
# ## 3.7 选读：有缩放与没有缩放的训练
#
# 实验 `SCALE_TRAINING` 训练只有一个头的小模型来复制序列。有缩放和没有缩放各训练一遍，每种用两个学习率，取较好的那个。优化器是 Adam（第 10 课）。在这里只需知道，不管梯度有多大，Adam 每一步对每个参数的改变量都差不多。这里只运行几秒钟的小实验。完整的实验有三个随机种子和更多的学习率，见图集中的第 2 条论断（`figures/README.md`）。

# %%
training = SCALE_TRAINING.run(
    d_k=(4, 256), rate_scale=(0.2, 0.4), steps=120, seeds=(0, 1), d_model=32, batch_size=16, max_length=5,
)
print("d_k                         ", training.d_k)
for i, name in enumerate(("with", "without")):
    print(f"{name:8} variance at the start {training.score_variance[i]}"
          f"   last loss {training.final[i].mean(axis=-1)}")

# %% [markdown] en="29e451e9"
# 在 $d_k = 256$ 时，没有缩放的损失高得多。图中逐步画出了这时的损失。线是两个随机种子的平均，色带是它们的范围。

# %%
fig = new_figure(7, 3.8)
ax = fig.subplots()
steps = 10 * np.arange(1, 13)                                          # a point is the mean of ten
for i, name in enumerate(("with the scale", "without")):
    draw_spread(ax, steps, training.best[i, -1], name, i)
ax.set(xlabel="step", ylabel="loss (cross-entropy per token)", title="Learning to copy, $d_k$ = 256")
ax.set_ylim(bottom=0)
ax.legend()
fig

# %% [markdown] en="09de5fca"
# 再看分数的方差。没有缩放时，它们不是 4 和 256；有缩放时，也不是 1。要让 $q$ 和 $k$ 的分量方差为 1，所有头的总宽度必须是 $d_{model}$（第 3.6 节），而且 $x$ 必须来自层规范化。在这里的第一层，$x$ 是嵌入加位置。有缩放的宽模型，开始时权重非常平均，却学得最好：举棋不定的 softmax 是有梯度的。没有缩放时，两种宽度的*起点*差不多。所以宽模型落后这么多，不能只怪起点。我们来看编码器的 softmax，比较训练前和训练后：有多少查询，其中一个权重超过 0.99？

# %%
task = CopyTask(max_length=5)
src = task.validation(256)[0]                                          # (256, T)
src = src[(src != task.pad).all(axis=1)]                               # the longest: no padding

def sure(model):
    _, cache = model.encode(src)
    weights = cache.encoder.layers[0].self_attention.attention.weights
    return (weights.max(axis=-1) > 0.99).mean()

# %%
sure_after = {}
for d_k in (4, 256):
    for name, factory in {"with": None, "without": dot_attention}.items():
        model = small_model(task, 0, h=1, d_k=d_k, d_v=32, attention=factory)
        first = sure(model)
        for _ in learn(model, task, 0, steps=120, batch_size=16):
            pass
        sure_after[name, d_k] = sure(model)
        print(f"d_k = {d_k:<4} {name:8} {first:.2f} before, {sure_after[name, d_k]:.2f} after")

# %% [markdown] en="7613d8b9"
# 在这次实验中（一个随机种子，一个学习率），窄模型没有变得更确定。宽模型开始时*没有那么*饱和，是训练使它饱和的。原因很可能在 Adam：它使 $W^Q$ 和 $W^K$ 的每个元素都移动差不多的量，所以一个分数的 $d_k$ 个乘积同时改变，这些改变又累加起来。缩放也会使这些改变变小。（这一点在这里没有测量。）
#
# 哪些已经查明，哪些没有？测量到的是：没有缩放的宽模型在 120 步之后落后，而且它的大多数查询已经饱和。至于小梯度就是*原因*，那是论文的推测。第 3.4 节使它显得可信，但没有证明它。

# %% [markdown] en="fe642b26"
# ## 3.8 加性注意力为什么不需要它？
#
# 另一种常用的打分函数是一个小网络：$\mathrm{score}(q, k) = v^\top \tanh(W^\top q + U^\top k)$，其中向量 $v$ 是学出来的（Bahdanau 等，2015；这个 $v$ 是参数，不是值）。它没有 $1/\sqrt{d_k}$。论文引用 Britz 等（2017），说 $d_k$ 较大时，它比没有缩放的点积好。
#
# > **预测：** 从 $d_k = 4$ 到 $d_k = 1024$，$q \cdot k$ 的方差增大到 256 倍。加性分数的方差也会增大吗？

# %%
widths = np.array([4, 16, 64, 256, 1024])
variances = {"dot, no scale": [], "dot / √d_k": [], "additive": []}
for d_k in widths:
    h = 4096 // d_k                                                    # heads: so many draws of v
    Q, K = rng.standard_normal((2, h, 16, d_k))                        # (h, T, d_k) each
    dot = DotScore()(Q, K)                                             # (h, T, T)
    additive = AdditiveScore(h, d_k, rng=rng)(Q, K)                    # (h, T, T)
    for name, s in zip(variances, (dot, dot / math.sqrt(d_k), additive)):
        variances[name].append(s.var())
for name, values in variances.items():
    print(f"{name:14} {np.array(values)}")

# %% [markdown] en="dd45ae1d"
# 加性分数的方差没有增大。原因有两个，第一个众所周知：**tanh 有界**。隐藏层的每个分量都在 -1 和 1 之间，所以不管 $q$ 和 $k$ 有多长，总有 $|\mathrm{score}| \le \sum_i |v_i|$。点积没有这样的界。下一个单元格把 $q$ 和 $k$ 加长。

# %%
score = AdditiveScore(1, 64, rng=rng)
Q, K = rng.standard_normal((2, 1, 32, 64))                             # (h, T, d_k) each
print(f"Σ|v| = {np.abs(score.v.value).sum():.3f}")
for factor in (1, 10, 100):
    s, dot = score(factor * Q, factor * K), DotScore()(factor * Q, factor * K) / math.sqrt(64)
    print(f"q, k × {factor:3}   largest |additive| {np.abs(s).max():8.3f}"
          f"   largest |q·k| / √d_k {np.abs(dot).max():12.1f}")

# %% [markdown] en="0bf026b3"
# 有界还不是全部原因，因为 $\sum_i |v_i|$ 本身也是沿宽度求和。第二个原因是：**参数的初值足够小**。$v$ 的各个分量按方差 $1/d_a$ 抽取，其中 $d_a$ 是隐藏层的宽度，这里就是 $d_k$。这等于多了一个因子 $1/\sqrt{d_a}$，只是没有人把它写进公式。下一个单元格把它去掉：当 $v$ 的分量方差为 1 时，加性分数也和点积一样增长。

# %%
grown = []
for d_k in widths:
    h = 4096 // d_k
    score = AdditiveScore(h, d_k, rng=rng)
    score.v.value *= math.sqrt(d_k)                                    # variance 1/d_k becomes 1
    Q, K = rng.standard_normal((2, h, 16, d_k))
    grown.append(score(Q, K).var())
print("d_k                        ", widths)
print("variance with Var(v_i) = 1 ", np.array(grown))

# %% [markdown] en="2d99f9b9"
# 所以，加性注意力的缩放在内部：tanh 使隐藏层的每个分量的绝对值小于 1，参数也可以按较小的方差来抽取。点积既没有 tanh，也没有自己的参数，所以它的缩放写在公式里。

# %% [markdown] en="b40a4715"
# ## 3.9 选读：在训练好的模型里试一试
#
# 对训练好的模型，可以把缩放拿掉，看看会怎样。下面页面中的各个头 $d_k = 16$，所以没有缩放时，所有分数都变成 4 倍。
#
# > **预测：** 把缩放从一个学会反转的模型中拿掉，它的各行权重会变得更集中，还是更平均？它还能反转 `3 1 4` 吗？
#
# 打开[没有缩放的反转模型](../../docs/live/reverse.html#src=3+1+4&kind=cross&layer=1&head=0&what-if=scale&lang=zh)，比较“as trained”（训练所得）和“changed”（改动之后）。然后把滑块“Scale of the scores”（分数的缩放）移向另一边。

# %% [markdown] en="260e2d52"
# 各行变得更集中：大多数行中，一个键得到了几乎全部权重。反过来，分数变小会使各行更平均。没有缩放时，我们的模型写出 `4 1`，丢了最后一个符号，尽管它的参数一个也没有变。它的 $W^Q$ 和 $W^K$ 是针对大小合适的分数学出来的。

# %% [markdown] en="e633edad"
# ## 3.10 检验本课的结论

# %%
check = np.random.default_rng(1)
Q, K = check.standard_normal((2, 4, 256, 256))
assert np.abs(from_class - out).max() < 1e-12                          # the class is Equation 1
assert abs((Q @ K.mT).var() / 256 - 1) < 0.1                           # Var(q · k) = d_k
assert abs((Q @ K.mT / math.sqrt(256)).var() - 1) < 0.1                # after the scale: 1
assert variance.error < 0.03                                           # at every width
assert saturation.one_hot[1, at] > 0.5                                 # 512: mostly one-hot
assert saturation.one_hot[0].max() < 0.01                              # with the scale: never
assert median[1, at] < 0.3 * median[0, at]                             # the median query starves,
assert mean[1, at] > 2 * mean[0, at]                                   # the mean does not
assert median[1, 6] > 2 * median[0, 6]                                 # but not at d_k = 64
assert shares["without"][0] < 0.05 < 0.2 < shares["with"][0]
assert 0.6 < shares["without"][1] < 0.75                               # two thirds to one tenth
assert table[1, 1024][1] < 1.5 / 32                                    # / d_k: too flat
assert after < 1e-12 < before                                          # W^Q can do it, too
assert training.final[1, 1].min() > 1.5 * training.final[0, 1].max()   # d_k = 256: far behind
assert sure_after["without", 256] > 0.5 > 10 * sure_after["with", 256]
assert max(variances["additive"]) < 2 * min(variances["additive"])
assert grown[-1] > 50 * grown[0]                                       # v makes the difference
print("all true")

# %% [markdown] en="f349ac14"
# ## 小结
#
# - $q \cdot k$ 是 $d_k$ 个乘积的和，每个乘积的方差为 1，彼此没有协方差。所以它的方差是 $d_k$，典型大小是 $\sqrt{d_k}$。除以 $\sqrt{d_k}$，方差在每个宽度下都是 1。除以 $d_k$，权重就太平均了。
# - 向量很宽又没有缩放时，softmax 会碰巧接近独热。于是大多数查询得不到梯度，少数查询得到十倍以上的梯度。在论文自己的 $d_k = 64$ 下，开始时还看不到这种情况：五分之一的查询是独热的，而典型的梯度更大，不是更小。
# - 缩放也出现在反向传播中，它在那里抵消键的长度。
# - 加性注意力不需要缩放：tanh 有界，参数的初值也小。
#
# ## 问题
#
# **1.** base 模型取 $d_{model} = 512$，有 $h = 8$ 个头。一个头的分数除以多少？为什么不是除以 $\sqrt{512}$？
#
# <details><summary>答案</summary>
#
# 除以 $\sqrt{64} = 8$。一个头的分数是 $d_k = 512 / 8 = 64$ 个乘积的和，没有哪个分数会跨头求和。要看的是和式中有多少项。
#
# </details>
#
# **2.** $q$ 和 $k$ 的分量均值为 0，标准差为 $\sigma$。你会除以多少？
#
# <details><summary>答案</summary>
#
# $\mathrm{Var}(q_i k_i) = \sigma^2 \cdot \sigma^2 = \sigma^4$，所以 $\mathrm{Var}(q \cdot k) = d_k\, \sigma^4$：应当除以 $\sigma^2 \sqrt{d_k}$。论文的公式中没有 $\sigma$；使它保持在 1 附近，靠的是层规范化以及 $W^Q$ 和 $W^K$ 的初值。
#
# </details>
#
# **3.** 有人去掉 $W^Q$ 和 $W^K$，直接取 $q = k = x$，分量的方差为 1。$d_k = 64$ 时，一个词元与自己的分数，缩放后是多少？推导的哪一行不成立了？
#
# <details><summary>答案</summary>
#
# $q \cdot q = \sum_i q_i^2$ 的均值是 $d_k = 64$，缩放后是 8，而与其他词元的分数大约是 $\pm 1$。所以每个词元主要看自己。第一行就不成立了：$q_i$ 和 $k_i$ 不独立，$\mathbb{E}[q_i q_i] = 1$，不是 0。训练可能使 $q$ 和 $k$ 有意地一致，这时点积按 $d_k$ 增长，而不是按它的平方根。这种缩放适合随机的情形，而训练正是从随机开始的。
#
# </details>
