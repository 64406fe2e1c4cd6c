# %% [markdown] en="347dcace"
# # 第 12 课 · 其他打分函数，以及你自己的一种
#
# | | |
# |---|---|
# | **你将做什么** | 手工给一个查询和一个键打分；弄清四种打分函数中有几种真正不同；测量每一种的代价；在同一个 Transformer 里把它们都训练一遍；然后发明一种打分函数，推导它的反向传播，证明它正确，再装进模型 |
# | **你将学到** | “dot”“general”“concat”“additive”各是什么；其中哪些真正不同；为什么加性注意力不需要缩放，而论文仍然选了点积 |
# | **需要** | 第 1 课、第 2 课、第 3 课和第 6 课；自己写打分函数还需要第 4 课 |
# | **论文** | 第 3.2.1 节（这些打分函数来自 Bahdanau 等和 Luong 等，都是 2015 年） |
# | **时间** | 45 分钟，不含标有*选读*的部分（运行其中的单元格，跳过文字。后面的部分都用不到它们） |
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
from pathlib import Path

import numpy as np

from aiayn_np import (
    Cache,
    CopyTask,
    Module,
    MultiHeadAttention,
    ScaledDotProductAttention,
    Softmax,
    check_gradients,
    plot_attention,
)
from aiayn_np.experiments.claims.additive import ADDITIVE, start_variances
from aiayn_np.experiments.claims.additive_cost import ADDITIVE_COST
from aiayn_np.experiments.learning import losses, small_model, smooth
from aiayn_np.multi_head import merge_heads, split_heads
from aiayn_np.plotting.drawings import figure_1
from aiayn_np.plotting.figures import COLORS, MARKERS, new_figure
from aiayn_np.variants.scoring import (
    AdditiveScore,
    ConcatScore,
    DotScore,
    GeneralScore,
    ScoredAttention,
    additive_attention,
    concat_attention,
    dot_attention,
    general_attention,
)

np.set_printoptions(precision=4, suppress=True)

# %% [markdown] en="c587b339"
# 对照图 1，这一课只改每个注意力里的一行：查询和键怎样比较。

# %%
figure_1("attention")

# %% [markdown] en="51dadf94"
# ## 12.1 四种打分函数，三种手工算
#
# 对每一对查询和键，注意力需要一个数，即**分数**：这个键回答得有多好？此后的一切，即掩蔽、softmax、值的平均，用什么分数都行。常见的打分函数有四种：
#
# | 名称 | score$(q, k)$ | 学习的参数 |
# |---|---|---|
# | dot（点积） | $q \cdot k$ | 无 |
# | general | $q^\top W k$ | $W$ |
# | additive（加性） | $v^\top \tanh(W^\top q + U^\top k)$ | $W$, $U$, $v$ |
# | concat（拼接） | $v^\top \tanh(W^\top [q; k])$ | $W$, $v$ |
#
# 前两种把 $q$ 和 $k$ *相乘*。后两种是小网络，把从两者得到的东西*相加*。（表中的 $v$ 是打分函数的一个向量，这是原文献的写法；它不是值。）取 $q = (1, 2)$，$k = (3, 1)$。对 general，让 $W$ 交换两个分量；对 additive，取 $W = I$，$U = -I$，$v = (1, 1)$。
#
# > **预测：** 前两个分数是多少？additive 的分数大于零还是小于零？

# %%
q, k = np.array([1.0, 2.0]), np.array([3.0, 1.0])                      # (d_k,) each
exchange = np.array([[0.0, 1.0], [1.0, 0.0]])                          # (d_k, d_k)
W, U, v = np.eye(2), -np.eye(2), np.ones(2)                            # (d_k, d_a) twice, (d_a,)
hidden = np.tanh(W.T @ q + U.T @ k)                                    # (d_a,)  tanh(q - k)
by_hand = {"dot": q @ k, "general": q @ exchange @ k, "additive": v @ hidden}
print("hidden", hidden)
for name, score in by_hand.items():
    print(f"{name:9} {score:.4f}")

# %% [markdown] en="3527c87b"
# 点积是 5，即 $1 \cdot 3 + 2 \cdot 1$。general 是 7，即 $1 \cdot 1 + 2 \cdot 3$：查询的第一个分量遇到键的第二个分量。additive 的分数是 $\tanh(-2) + \tanh(1)$，比零略小。因为 $U = -I$，每个隐藏单元都在*比较* $q$ 和 $k$ 的一个分量，再由 $v$ 把结果加起来。
#
# 本库为每种打分函数准备了一个类。它们的参数有一个轴留给头；这里只有 $h = 1$ 个头、一个查询、一个键。下面是 additive 的前向传播：

# %%
print(inspect.getsource(AdditiveScore.forward))

# %% [markdown] en="6f980cf0"
# 查询和键按词元投影，每个词元只投影一次。`pair_tanh` 对每一对把它们相加，再取 tanh。得到的数组有一个查询轴、一个键轴，还有一个轴对应 $d_a$ 个隐藏单元。最后与 $v$ 相乘，每一对只剩一个数。

# %%
rng = np.random.default_rng(0)
Q, K = q[None, None], k[None, None]                                    # (h, T_q, d_k), (h, T_k, d_k)
general, additive = GeneralScore(1, 2, rng=rng), AdditiveScore(1, 2, rng=rng)
general.W.value[0] = exchange
additive.W.value[0], additive.U.value[0], additive.v.value[0] = W, U, v
from_class = {"dot": DotScore()(Q, K), "general": general(Q, K), "additive": additive(Q, K)}
for name, scores in from_class.items():
    print(f"{name:9} {scores.shape}  same to 1e-12: {abs(scores.item() - by_hand[name]) < 1e-12}")

# %% [markdown] en="89a9e2c6"
# ## 12.2 general 比 dot 做得更多吗？
#
# 当 $W = I$ 时，general 就是点积。换一个 $W$，能做得更多吗？在本库中词元是行，所以用行向量来写两个词元 $x$ 和 $y$ 的分数：$x W y^\top$。现在令 $W = W_1 W_2^\top$：
#
# $$x\, W\, y^\top = x\, W_1 W_2^\top y^\top = (x W_1) \cdot (y W_2)$$
#
# 这又是点积，是两个投影的点积。多头注意力做的正是这件事：头 $i$ 的查询是 $x W_i^Q$，键是 $y W_i^K$。为了看清这一点，把*原始*词元和 $W_i = W_i^Q (W_i^K)^\top$ 交给一个 `GeneralScore`：

# %%
layer = MultiHeadAttention(16, 4, rng=rng)                             # d_model, h; so d_k = 4
x = rng.standard_normal((1, 5, 16))                                    # (B, T, d_model)
_, cache = layer.forward(x, x, x)
by_heads = cache.attention.Q @ cache.attention.K.mT                    # (B, h, T, T)
W_Q = split_heads(layer.linear_Q.W.value, 4)                           # (h, d_model, d_k)
W_K = split_heads(layer.linear_K.W.value, 4)                           # (h, d_model, d_k)

# %%
general = GeneralScore(4, 16, rng=rng)
general.W.value[...] = W_Q @ W_K.mT                                    # (h, d_model, d_model)
raw = np.stack([x] * 4, axis=1)                                        # (B, h, T, d_model)
by_general = general(raw, raw)                                         # (B, h, T, T)
print("scores", by_general.shape, " same to 1e-12:", np.abs(by_general - by_heads).max() < 1e-12)

# %% [markdown] en="23431a8d"
# > **预测：** 每个 $W_i$ 是 16 乘 16 的矩阵。它的秩是多少？在 base 模型中（$d_{model} = 512$，$d_k = 64$）：一个自由的 $W$ 有多少个数，两块投影矩阵又有多少个？

# %%
print("rank of each W_i  ", np.linalg.matrix_rank(general.W.value))
print(f"a free W           {512 * 512:,}")
print(f"the two blocks     {2 * 512 * 64:,}")

# %% [markdown] en="6b175e2d"
# 秩是 $d_k = 4$；两块投影矩阵里的数，总共只有自由的 $W$ 的四分之一。所以一个头*就是*一个低秩的 general 打分函数。在头的*内部*，在查询和键之间再放一个 $W$，什么也不增加：因为 $(x W_i^Q)\, W = x\, (W_i^Q W)$，它可以并入 $W_i^Q$（第 12.8 节检验这一点）。
#
# 所以在多头注意力之下，general 参数更多，却算不出任何新的东西。Luong 等需要它，是因为他们的查询和键是两个网络的状态，没有经过投影。现在剩下三种。

# %% [markdown] en="5f1c0f2b"
# ## 12.3 concat 是另一种打分函数吗？
#
# concat 把 $q$ 和 $k$ 上下叠放，再乘一个有 $2 d_k$ 行的 $W$。上面的行只遇到 $q$，下面的行只遇到 $k$：
#
# $$W^\top [q; k] = \begin{bmatrix} W_q \\ W_k \end{bmatrix}^\top \begin{bmatrix} q \\ k \end{bmatrix} = W_q^\top q + W_k^\top k$$
#
# 那么，把 additive 的 $W$ 和 $U$ 上下叠放，交给 concat：

# %%
additive, concat = AdditiveScore(2, 8, rng=rng), ConcatScore(2, 8, rng=rng)
concat.W.value[...] = np.concatenate([additive.W.value, additive.U.value], axis=1)    # (h, 2 d_k, d_a)
concat.v.value[...] = additive.v.value                                 # (h, d_a)
Q, K = rng.standard_normal((2, 2, 4, 8))                               # (h, T, d_k) each
print("W of concat", concat.W.value.shape, " W and U of additive", additive.W.value.shape)
print("largest difference:", np.abs(concat(Q, K) - additive(Q, K)).max())

# %% [markdown] en="10c6cdad"
# 分数相等。concat 是换了名字的 additive。四种里剩下两种：**点积**和**加性**，正是论文第 3.2.1 节谈到的两种。
#
# tanh 有什么用？去掉它，分数就是 $v^\top W^\top [q; k] = a \cdot q + b \cdot k$，其中 $a = W_q v$ 和 $b = W_k v$ 是两个固定的向量。
#
# > **预测：** 两个查询，同样的键，没有 tanh。这两个查询看的键会不同吗？

# %%
class NoTanh(Module):
    def forward(self, x, y):
        hidden = x[..., :, None, :] + y[..., None, :, :]               # (..., T_q, T_k, d_a)
        return hidden, Cache(hidden=hidden)

linear = ConcatScore(2, 8, rng=rng)
concat.v.value *= 2                                                    # for clearer maps
linear.W.value[...], linear.v.value[...] = concat.W.value, concat.v.value
linear.pair_tanh = NoTanh()                                            # everything else stays

# %%
attend = {"with tanh": ScoredAttention(concat), "without": ScoredAttention(linear)}
maps = {name: a.forward(3 * Q, 3 * K, K)[1].weights[0] for name, a in attend.items()}   # (T, T) each
for name, weights in maps.items():
    print(f"{name:10} largest difference between two rows: {np.ptp(weights, axis=0).max():.4f}")

# %% [markdown] en="6a8154a8"
# 两个查询不可能看不同的键。$a \cdot q$ 这一部分对每个键都一样，在各个键上取的 softmax 看不见它（第 2 课）。另一部分 $b \cdot k$ 不含查询。图中是两幅注意力图：没有 tanh 时，所有的行都相等。每个词元看的键都一样，不管它查询什么。（为了让图更清楚，这里的 $q$、$k$ 和 $v$ 比通常长。它们是随机数，不是单词。）

# %%
queries, keys = ([f"{kind} {i}" for i in range(1, 5)] for kind in ("query", "key"))
plot_attention(np.stack(list(maps.values())), queries, keys, titles=list(maps))

# %% [markdown] en="401ed4ed"
# 在和式里，$q$ 和 $k$ 只有通过非线性才能相互作用。点积不需要 tanh，因为在乘积里，$q$ 的每个分量都在放大或缩小 $k$ 的一个分量。

# %% [markdown] en="1bc183d8"
# ## 12.4 加性注意力为什么不需要缩放？
#
# 第 3.8 节给出了理由：tanh 有界，而 $v$ 开始时足够小。现在来推导。设 $q$ 和 $k$ 的分量方差为 1，矩阵的抽取方式使 tanh 里面的和也有方差 1。$v$ 有 $d_a$ 个分量，方差为 $1/d_a$（这里 $d_a = d_k$），均值为 0，而且互相独立，所以和的各项没有协方差：
#
# $$\mathrm{Var}(\mathrm{score}) = \sum_{a=1}^{d_a} \mathrm{Var}(v_a)\, \mathbb{E}[\tanh^2 z] = d_a \cdot \frac{1}{d_a} \cdot \mathbb{E}[\tanh^2 z] = \mathbb{E}[\tanh^2 z], \qquad z \sim N(0, 1)$$
#
# 宽度约掉了。实验 `additive` 的函数 `start_variances` 测量这个方差。
#
# > **预测：** 这个方差大于 1 还是小于 1？$d_k = 256$ 时，$q \cdot k$ 的方差又是多少？

# %%
print(f"E[tanh² z] = {(np.tanh(rng.standard_normal(1_000_000)) ** 2).mean():.2f}")
widths = (4, 16, 64, 256)
variance = start_variances(widths, np.random.default_rng(0))
print("d_k             ", *(f"{d:8}" for d in widths))
for name, values in variance.items():
    print(f"{name:16}", *(f"{value:8.2f}" for value in values))

# %% [markdown] en="b23d2859"
# 不论宽度是多少，加性分数的方差都约为 0.4，而点积的方差是 $d_k$。这是开始时的情况。以后不管训练怎样改变 $W$ 和 $U$，界 $|\mathrm{score}| \le \sum_a |v_a|$ 始终成立。（第 12.8 节会说明，这是有代价的。）

# %% [markdown] en="80f44189"
# ## 12.5 它的代价
#
# 论文第 3.2.1 节说，两者在理论上复杂度相近，但点积快得多，也更省空间，因为它是矩阵乘法。取 64 个宽度为 64 的词元，找出缓存中最大的数组。

# %%
Q, K, V = rng.standard_normal((3, 1, 64, 64))                          # (h, T, d_k) each
_, dot_cache = dot_attention(1, 64, 64, rng).forward(Q, K, V)
_, additive_cache = additive_attention(1, 64, 64, rng).forward(Q, K, V)
print(additive_cache)

# %% [markdown] en="ba65fbde"
# > **预测：** 对注意力图 `weights` 中的每个数，`score.pair_tanh.hidden` 里有几个数？点积为每一对保留什么？

# %%
hidden, weights = additive_cache.score.pair_tanh.hidden, additive_cache.weights
print("numbers for each pair:", hidden.size // weights.size)
print(dot_cache)

# %% [markdown] en="4b72efd1"
# `hidden` 为每一对保存 64 个数，也就是 $d_a$ 个。点积只保存一个，即权重。它的各个乘积 $q_a k_a$ 在矩阵乘法内部就加好了，从不存下来。加性打分函数必须为每一对保存隐藏层，因为 tanh 的反向传播要用到它。（$W^\top q$ 和 $U^\top k$ 这两个乘积很便宜：每个词元算一次，而不是每一对算一次。）
#
# 在时间上，计数相近：点积是 $T^2 d_k$ 次乘加，加性是 $T^2 d_a$ 次加法、tanh 和乘加。但矩阵乘法是处理器最擅长的。实验 `additive_cost` 测量前向传播加反向传播，取加性与点积之比：

# %%
cost = ADDITIVE_COST.run(n=(16, 32, 64, 128), d_k=(4, 16, 64, 256), repeats=5)
cost.figure()

# %% [markdown] en="1e36e65f"
# 在点线上，两者代价相同。左图的横轴是长度，右图的横轴是宽度；每个点都是单独的一次测量。时间取决于机器，字节数几乎不取决于机器：64 个宽度为 256 的词元，加性注意力占用的字节是点积的 50 倍以上，因为它为每一对保存 $d_a$ 个数。

# %% [markdown] en="4dc9bfb6"
# ## 12.6 在同一个 Transformer 里比较它们
#
# `Transformer(attention=...)` 接受一个工厂函数，为模型的每个注意力调用一次；一层的模型有三个注意力。所以除了打分函数，其余都相同：任务、规模、学习率、数据的随机种子。任务是复制最多 5 个符号，用 2 个头，$d_k = 64$。
#
# > **预测：** 五种打分函数，200 步。哪一种落在后面？

# %%
task = CopyTask(symbols=6, max_length=5)
factories = {"scaled dot": None, "dot": dot_attention, "general": general_attention,
             "concat": concat_attention, "additive": additive_attention}

def train_with(factory, seed=0):
    model = small_model(task, seed, h=2, d_k=64, attention=factory)
    return losses(model, task, seed, steps=200, batch_size=16)         # (steps,)

curves = {name: train_with(factory) for name, factory in factories.items()}

# %%
last = {name: curve[-25:].mean() for name, curve in curves.items()}
print("loss at the end:", "   ".join(f"{name} {loss:.2f}" for name, loss in last.items()))

# %% [markdown] en="31697478"
# 没有缩放的点积落在后面。（general 也没有缩放，但它的 $W$ 的初值方差是 $1/d_k^2$，所以它最初的分数不大。）concat 与加性注意力是同一个函数（第 12.3 节），但开始时的随机数不同。图中是五条损失曲线；每个点是十步的平均。

# %%
fig = new_figure(7, 4)
ax = fig.subplots()
for i, (name, curve) in enumerate(curves.items()):
    points = smooth(curve, 10)
    ax.plot(10 * np.arange(1, len(points) + 1), points, color=COLORS[i], marker=MARKERS[i],
            markevery=(i, 5), label=name)
ax.set(xlabel="step", ylabel="loss (nats a token)", title="Learning to copy, one seed each")
ax.set_ylim(bottom=0)
ax.legend()
fig

# %% [markdown] en="17da1327"
# 这只是一个随机种子。不要从中读出另外四种的次序；试试 `train_with(factory, seed=1)` 和 2，看看什么保持不变。使无缩放的点积变差的，是不是论文猜测的宽度？实验 `additive` 在每个宽度上，用五个随机种子训练三种打分函数。这要几分钟，所以下一个单元格从文件读取它的数；`aiayn-np figures additive` 可以重新算出来。左图是分数的方差：实心符号对应按第 12.4 节的方式抽取的数，空心符号对应模型中的 $q \cdot k$，训练前和训练后都有。右图是损失。

# %%
if Path("../figures/additive.json").exists():                          # what the whole experiment found
    result = ADDITIVE.load("../figures")
else:                                                                  # a small one, in seconds
    result = ADDITIVE.run(d_k=(4, 256), steps=120, seeds=(0, 1))
result.figure()

# %% [markdown] en="48c2a787"
# $d_k = 4$ 时，三者的范围互相重叠；头越宽，没有缩放的点积落后得越多。加性注意力没有落后。请注意空心方块：在模型里，头更宽时，分数*开始*时并没有更大，因为更宽的矩阵是用更小的数初始化的。头宽的时候，是训练使分数变大（第 3.7 节）。有了缩放，点积就跟得上。所以在这个小任务上，论文的选择和加性注意力一样好，而它只花一次矩阵乘法和一次除法。

# %% [markdown] en="c57360f8"
# ## 12.7 你自己的打分函数
#
# 让远近起作用：键离查询越近，回答得越好。
#
# $$\mathrm{score}(q, k) = -\frac{\lVert q - k \rVert^2}{2 \sqrt{d_k}}$$
#
# **第 1 步，思考**。展开：$-\lVert q - k \rVert^2 = 2\, q \cdot k - \lVert q \rVert^2 - \lVert k \rVert^2$。所以
#
# $$\mathrm{score}(q, k) = \frac{q \cdot k}{\sqrt{d_k}} - \frac{\lVert k \rVert^2}{2 \sqrt{d_k}} - \frac{\lVert q \rVert^2}{2 \sqrt{d_k}}$$
#
# 最后一项对所有的键都相同，softmax 看不见它。与论文的分数相比，新东西是中间那一项：长的键要为它的长度付出代价。
#
# **第 2 步，前向传播**。一个层接受 `Q` 和 `K`，返回分数和缓存。平方要写成 `Q * Q`，不要用 `abs`：梯度检验会让复数通过前向传播（第 2.7 节），而 $|z|^2$ 没有复导数，$z \cdot z$ 有。

# %%
class DistanceForward(Module):
    """score(q, k) = -|q - k|^2 / (2 sqrt(d_k))"""

    def forward(self, Q, K):
        of_q = (Q * Q).sum(axis=-1)[..., :, None]                      # (..., T_q, 1)  |q|²
        of_k = (K * K).sum(axis=-1)[..., None, :]                      # (..., 1, T_k)  |k|²
        scores = (Q @ K.mT - of_q / 2 - of_k / 2) / math.sqrt(Q.shape[-1])    # (..., T_q, T_k)
        return scores, Cache(Q=Q, K=K)

# %%
Q, K = rng.standard_normal((2, 1, 4, 6))                               # (h, T, d_k) each
scores = DistanceForward()(Q, K)                                       # (h, T_q, T_k)
one = -((Q[0, 1] - K[0, 3]) ** 2).sum() / (2 * math.sqrt(6))           # query 1, key 3, from the formula
print(f"{scores[0, 1, 3]:.6f}  {one:.6f}  same to 1e-12: {abs(scores[0, 1, 3] - one) < 1e-12}")

# %% [markdown] en="8b382609"
# **第 3 步，推导**。把查询 $i$ 和键 $j$ 的分数记作 $s_{ij}$。先看一对：
#
# $$\frac{\partial s_{ij}}{\partial q_i} = \frac{k_j - q_i}{\sqrt{d_k}}, \qquad \frac{\partial s_{ij}}{\partial k_j} = \frac{q_i - k_j}{\sqrt{d_k}}$$
#
# 查询 $i$ 出现在它与所有键 $j$ 的分数里，键 $j$ 出现在它与所有查询 $i$ 的分数里，所以要求和。记 $g_{ij} = \mathrm{grad\_scores}_{ij} / \sqrt{d_k}$，则
#
# $$\mathrm{grad\_Q}_i = \sum_j g_{ij} K_j - \Big(\sum_j g_{ij}\Big) Q_i, \qquad \mathrm{grad\_K}_j = \sum_i g_{ij} Q_i - \Big(\sum_i g_{ij}\Big) K_j$$
#
# **第 4 步，反向传播**。有个人写得太急，漏掉了 `grad_Q` 的第二项：

# %%
class DistanceScore(DistanceForward):
    def backward(self, grad_scores, cache):
        g = grad_scores / math.sqrt(cache.Q.shape[-1])                 # (..., T_q, T_k)
        grad_Q = g @ cache.K - g.sum(axis=-1)[..., None] * cache.Q     # (..., T_q, d_k)
        grad_K = g.mT @ cache.Q - g.sum(axis=-2)[..., None] * cache.K  # (..., T_k, d_k)
        return grad_Q, grad_K

class Hurried(DistanceScore):
    def backward(self, grad_scores, cache):
        _, grad_K = super().backward(grad_scores, cache)
        return grad_scores @ cache.K / math.sqrt(cache.Q.shape[-1]), grad_K

# %% [markdown] en="3d289919"
# **第 5 步，证明**。先单独检验打分函数。

# %%
for score in (Hurried(), DistanceScore()):
    print(check_gradients(score, Q, K), end="\n\n")

# %% [markdown] en="969bc134"
# > **预测：** 现在用写得太急的那个打分函数，检验整个注意力 `ScoredAttention(Hurried())`。检验能发现错误吗？

# %%
V = rng.standard_normal((1, 4, 3))                                     # (h, T_k, d_v)
hidden_mistake = check_gradients(ScoredAttention(Hurried()), Q, K, V)
print(hidden_mistake)

# %% [markdown] en="f7cb1d5b"
# 检验什么也没有发现，而且它是对的：在注意力里，*确实*没有错误。softmax 传回的梯度，每一行之和为零（第 4.4 节），所以 $\sum_j g_{ij} = 0$，漏掉的那一项消失了。这是“softmax 看不见 $\lVert q \rVert^2$”在反向传播中的一面。但层还是要单独证明：换一个地方，上面没有 softmax，写得太急的那个就错了。
#
# **第 6 步，比较**。取点积，减去长的键付出的代价：得到的应该是同一幅注意力图。如果所有的键长度相同，它就是论文的注意力。

# %%
_, cache = ScoredAttention(DistanceScore()).forward(Q, K, V)
pays = (K * K).sum(axis=-1)[:, None, :] / 2                            # (h, 1, T_k)
by_dot = Softmax()((Q @ K.mT - pays) / math.sqrt(6))                   # (h, T_q, T_k)
print("dot minus the keys' norm, same map:", np.abs(cache.weights - by_dot).max() < 1e-12)
K_1 = K / np.linalg.norm(K, axis=-1, keepdims=True)                    # all keys of length 1
equal = ScoredAttention(DistanceScore())(Q, K_1, V) - ScaledDotProductAttention()(Q, K_1, V)
print("keys of one length, the paper's:   ", np.abs(equal).max() < 1e-12)

# %% [markdown] en="ec00a376"
# 这个差别有什么影响？把一个键变成原来的三倍长。
#
# > **预测：** 把所有查询合在一起看，哪一种打分函数给这个长键的权重更大？

# %%
loud = K.copy()
loud[0, 1] *= 3                                                        # key 2
attentions = {"scaled dot": ScaledDotProductAttention(), "distance": ScoredAttention(DistanceScore())}
maps = {name: a.forward(Q, loud, V)[1].weights[0] for name, a in attentions.items()}
for name, weights in maps.items():
    print(f"{name:11} weights of key 2 {weights[:, 1]}   mean {weights[:, 1].mean():.2f}")

# %% [markdown] en="73e7057e"
# 图中是两幅注意力图；请看键 2 那一列。用点积时，它的平均权重不超过平均分配的一份，但查询 3 与它方向一致，几乎把全部权重给了它。用距离时，没有一个查询给它权重：它离所有的查询都很远。（基于距离的分数由 Kim 等（2021）研究过。）

# %%
plot_attention(np.stack(list(maps.values())), queries, keys, titles=list(maps))

# %% [markdown] en="a77d16da"
# **第 7 步，装进模型**。工厂函数接受 `h`、`d_k`、`d_v` 和 `rng`；没有参数的打分函数一个也用不上。

# %%
def distance_attention(h, d_k, d_v, rng):
    return ScoredAttention(DistanceScore())

curve = train_with(distance_attention)
print(f"loss at the end: distance {curve[-25:].mean():.2f}, scaled dot {last['scaled dot']:.2f}")

# %% [markdown] en="414e028c"
# 用新打分函数的模型学会了复制。你已经走完了全程：一个想法，二十行代码，一次证明，一次比较。

# %% [markdown] en="efb3be89"
# ## 12.8 选读：头里面的 W，以及有界的代价
#
# 这一课还有两个说法没有检验；下面的单元格来检验。第一个：每个头*里面*的 $W$ 可以并入 $W_i^Q$（第 12.2 节）。

# %%
inside = MultiHeadAttention(16, 4, attention=general_attention, rng=rng)   # has a W in each head
plain = MultiHeadAttention(16, 4, attention=dot_attention, rng=rng)
for name in ("linear_Q", "linear_K", "linear_V", "linear_O"):
    getattr(plain, name).W.value[...] = getattr(inside, name).W.value
W = inside.attention.score.W.value                                     # (h, d_k, d_k)
plain.linear_Q.W.value[...] = merge_heads(split_heads(plain.linear_Q.W.value, 4) @ W)
absorbed = np.abs(plain(x, x, x) - inside(x, x, x)).max()
print("dot with another W^Q is general, to 1e-12:", absorbed < 1e-12)

# %% [markdown] en="c75a36d2"
# 第二个：加性分数有界。这个界有代价吗？把 $q$ 和 $k$ 变长，看隐藏单元，再看传回到 $q$ 的梯度：

# %%
score = AdditiveScore(1, 64, rng=rng)
many_q, many_k = rng.standard_normal((2, 1, 32, 64))                   # (h, T, d_k) each
grad = rng.standard_normal((1, 32, 32))                                # (h, T, T)  of the scores
bound, flat, reach = np.abs(score.v.value).sum(), {}, {}
for factor in (1, 10, 100):
    scores, cache = score.forward(factor * many_q, factor * many_k)
    flat[factor] = (np.abs(cache.pair_tanh.hidden) > 0.99).mean()      # of (h, T, T, d_a) units
    reach[factor] = np.linalg.norm(score.backward(grad, cache)[0])
    print(f"q, k × {factor:3}   largest |score| {np.abs(scores).max():.2f} of {bound:.2f}"
          f"   units beyond 0.99: {flat[factor]:4.0%}   length of grad_Q {reach[factor]:5.2f}")

# %% [markdown] en="a4e16c7c"
# 这个界有代价。分数一直很小，但向量长到 100 倍时，几乎所有的隐藏单元都饱和了：在那里导数 $1 - \tanh^2$ 接近 0，梯度降到约十分之一。总和过大的麻烦没有消失：它从 softmax 搬进了 tanh。而且，如果 $W$ 和 $U$ 不是按方差 $1/(2 d_k)$ 抽取的，tanh 里面的和也会随 $d_k$ 增大。这也是一种缩放，只是放在另一个地方。

# %% [markdown] en="821f6619"
# ## 12.9 检验本课的结论

# %%
assert by_hand["dot"] == 5
assert by_hand["general"] == 7
assert -0.3 < by_hand["additive"] < 0                                  # tanh(-2) + tanh(1)
assert np.abs(by_general - by_heads).max() < 1e-12                     # general is in multi-head
assert absorbed < 1e-12                                                # a W inside a head adds nothing
assert np.ptp(variance["additive"]) < 0.1                              # flat in the width
assert abs(variance["dot"][-1] / 256 - 1) < 0.1                        # grows as d_k
assert flat[100] > 0.9                                                 # a bound is not free
assert reach[100] < reach[1] / 5
assert additive_cache.score.pair_tanh.hidden.size == 64 * dot_cache.weights.size
assert cost.memory_n.min() > 2                                         # more memory at every length
assert last["dot"] > max(last["scaled dot"], last["additive"])         # without scale: behind
assert curve[-25:].mean() < 1                                          # the distance learns
assert not check_gradients(Hurried(), Q, K)
assert check_gradients(DistanceScore(), Q, K)
assert hidden_mistake
assert maps["distance"][:, 1].mean() < maps["scaled dot"][:, 1].mean()
print("all true")

# %% [markdown] en="939c723d"
# ## 小结
#
# - 四种打分函数，两种思路：$q$ 和 $k$ 的乘积，或者把它们相加的小网络。general 做的事，多头注意力的投影已经做了；concat 就是 additive。
# - 加性需要 tanh，否则它不能依赖查询。它不需要缩放，因为 tanh 有界，而且 $v$ 开始时很小；不论宽度是多少，它的方差都约为 0.4。
# - 它的代价是：点积为每一对保存一个数，它要保存 $d_a$ 个；此外还有时间。
# - 没有缩放，点积随 $d_k$ 增大而落后；有了缩放，它和加性一样好，而且是矩阵乘法。
# - 打分函数是一个层：(Q, K) → 分数。先推导，再单独证明，然后放进 `ScoredAttention`。
#
# ## 问题
#
# **1.** 给加性打分函数加两个偏置：$v^\top \tanh(W^\top q + U^\top k + b) + c$。其中哪一个能改变权重？
#
# <details><summary>答案</summary>
#
# $b$ 能：它让每一对都沿着 tanh 移动，而 tanh 是弯的，所以各个分数的变化不全一样。$c$ 给一个查询的所有分数加上同样的数，softmax 看不见它；它的梯度总是零，和第 6.5 节中键的偏置一样。
#
# </details>
#
# **2.** 一个批量有 8 个序列，每个 1024 个词元，8 个头，$d_a = 64$，float32（4 字节）。一个注意力的注意力图需要多少内存？`hidden` 需要多少？
#
# <details><summary>答案</summary>
#
# 一共有 $8 \cdot 8 \cdot 1024^2$ 对，约 6700 万对。注意力图每一对 4 字节：268 MB。`hidden` 是它的 64 倍：约 17 GB，而这只是一层中的一个注意力。论文说点积“more space-efficient”（更省空间），就是这个意思。
#
# </details>
#
# **3.** 让 general 反对称，即 $W^\top = -W$，并令 $q = k = x$。每个词元给自己打多少分？如果 $i$ 喜欢 $j$，$j$ 怎样看 $i$？
#
# <details><summary>答案</summary>
#
# 每个词元给自己打 0 分：$x^\top W x$ 是一个数，所以等于它的转置 $x^\top W^\top x = -x^\top W x$。而且 $s_{ji} = -s_{ij}$：你喜欢谁，谁就讨厌你。令 $q = k = x$ 的点积正好相反，$s_{ij} = s_{ji}$，而且每个词元都喜欢自己。当 $W^Q \ne W^K$ 时，注意力不受这两种限制。为什么要有两个矩阵，这是又一种解释（第 1.5 节）。
#
# </details>
