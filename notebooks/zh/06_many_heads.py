# %% [markdown] en="69c38e09"
# # 第 6 课 · 多头：拆分、注意、拼接
#
# | | |
# |---|---|
# | **你将做什么** | 向一个头同时提两个问题，得到一个没用的回答；把矩阵拆成多个头再合并，对的做法和错的做法各试一次；训练有 1 到 16 个头的层，完成一项需要四个头的任务 |
# | **你将学到** | 多个头带来什么，代价是什么；为什么一个大投影就是 $h$ 个小投影；为什么键的偏置没有用；为什么头可能太窄 |
# | **需要** | 第 1 课；第 2 课中“softmax 不受统一平移影响”这一点；第 6.5 节、第 6.7 节和第 6.8 节还要知道什么是反向传播（第 4 课） |
# | **论文** | 第 3.2.2 节、图 2（右）、表 3 (A) 和 (B) |
# | **时间** | 40 分钟，不含第 6.9 节（*选读*） |
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
    Adam,
    MultiHeadAttention,
    ScaledDotProductAttention,
    check_gradients,
    plot_attention,
)
from aiayn_np.experiments.claims.heads_cost import HEADS_COST
from aiayn_np.multi_head import merge_heads, split_heads
from aiayn_np.plotting.drawings import SENTENCE, figure_1, heads_split
from aiayn_np.plotting.figures import COLORS, MARKERS, new_figure

np.set_printoptions(precision=4, suppress=True)

# %% [markdown] en="6f2e4466"
# 图 1 中亮起的方框叫作**多头**注意力。这一课打开其中的一个。

# %%
figure_1("attention")

# %% [markdown] en="6f875b77"
# ## 6.1 一个 softmax，两个愿望
#
# `dog bites man` 和 `man bites dog` 不是一回事。要区分这两句，`bites` 既要知道谁在它前面，*也*要知道谁在它后面。让每个词元的键说明它在哪个位置，让它的值说明它是谁。

# %%
who = {"dog": [1.0, 0.0], "bites": [0.0, 0.0], "man": [0.0, 1.0]}
K = 10 * np.eye(3)                          # (T_k, d_k)  "I stand first", "second", "third"
values = {s: np.array([who[w] for w in s.split()]) for s in ("dog bites man", "man bites dog")}
q = np.array([[1.0, 0.0, 1.0]])             # (1, d_k)    bites: "who is before me, who after me?"
attention = ScaledDotProductAttention()

# %% [markdown] en="b1db6c15"
# > **预测：** 一个头给三个键的权重各是多少？两个句子的输出有区别吗？

# %%
for sentence, V in values.items():
    out, cache = attention.forward(q, K, V)
    print(sentence, "  weights", cache.weights[0], "  output", out[0])

# %% [markdown] en="5cdbe76f"
# 这个头同时被问了两件事，于是给两个键各分一半权重。输出是这两个键的值的平均：一只狗和一个人，至于谁咬谁，它没有说。论文第 3.2.2 节正是以这种平均为理由，引入多个头。如果两个权重不相等，倒是能区分这两个句子，但两个回答仍然混在同一个向量里。换成两个头，就各问一个问题，再把回答并排放在一起。（因此这里的输出是原来的两倍宽。从第 6.2 节起，每个头只分到一半的宽度。）

# %%
q_before, q_after = np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 0.0, 1.0]])
for sentence, V in values.items():
    heads = [attention(q_before, K, V), attention(q_after, K, V)]       # (1, d_v) each
    print(sentence, "  Concat(head_1, head_2)", np.concatenate(heads, axis=-1)[0])

# %% [markdown] en="95441d09"
# ## 6.2 拆分与合并
#
# 所以 $h$ 个头需要 $h$ 组查询、键和值。本库先算出一个宽矩阵，再把它拆开。下图用的是我们的例句，`d_model` = 6，头数 $h$ = 2。格子里的数表示位置：23 是词元 2 的特征 3，两者都从 0 数起。

# %%
heads_split()

# %% [markdown] en="24f27473"
# 下面用一个更小的矩阵做同样的事，其中的数同样表示位置。

# %%
T, h, d_k = len(SENTENCE), 2, 2
x = np.array([[10.0 * t + f for f in range(h * d_k)] for t in range(T)])    # (T, h d_k)
print(x)
print(split_heads(x, h))                                                # (h, T, d_k)

# %% [markdown] en="fd146dee"
# 每个头都拿到*全部词元*，但只拿到*一部分特征*：头 1 拿到特征 0 和 1，头 2 拿到其余的特征。两个函数的源码如下：

# %%
print(inspect.getsource(split_heads))
print(inspect.getsource(merge_heads))

# %% [markdown] en="28a637fa"
# `split_heads` 分两步。`reshape` 把最后一个轴拆成 (h, d_k)，形状变为 (T, h, d_k)。`swapaxes` 把头移到词元前面，得到 (h, T, d_k)，这样 `Q @ K.mT` 的乘法就在每个头内部完成。`merge_heads` 则原路返回。

# %%
print(x.reshape(T, h, d_k).shape, "->", x.reshape(T, h, d_k).swapaxes(-2, -3).shape)
print("merged again, equal:", np.array_equal(merge_heads(split_heads(x, h)), x))

# %% [markdown] en="12c06b66"
# 一个经典的错误是直接 reshape 成最终的形状。形状是对的，后面的代码也都不会报错。
#
# > **预测：** 在 `x.reshape(h, T, d_k)` 中，第二个头有哪些词元？

# %%
wrong = x.reshape(h, T, d_k)                                            # (h, T, d_k) too!
print(wrong)

# %% [markdown] en="8ebf7253"
# 第二个头有 `sat` 和 `down` 的全部特征，却完全没有 `the` 和 `cat`。这样的“头”拆开的是*序列*。要看清这一点，改动词元 0，看哪些输出会变：

# %%
other = x.copy()
other[0] += 5                                                           # another token 0
splits = {"split_heads": (lambda a: split_heads(a, 2), merge_heads),
          "wrong       ": (lambda a: a.reshape(2, T, d_k), lambda a: a.reshape(T, 2 * d_k))}
for name, (split, merge) in splits.items():
    one, two = (merge(attention(split(a), split(a), split(a))) for a in (x / 40, other / 40))   # / 40: small scores, no one-hot rows
    print(name, " change at each token:", np.abs(one - two).max(axis=-1))

# %% [markdown] en="d6610eb2"
# 拆法一错，`sat` 和 `down` 就永远得不到 `the` 的任何信息。
#
# ## 6.3 一个大投影就是 h 个小投影
#
# 论文第 3.2.2 节写道
#
# $$\mathrm{head}_i = \mathrm{Attention}(Q W_i^Q,\ K W_i^K,\ V W_i^V), \qquad \mathrm{MultiHead}(Q, K, V) = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O .$$
#
# 类里面没有 $W_i^Q$，只有一个 `linear_Q.W`：$W_1^Q, \dots, W_h^Q$ 是它的列块，并排放在其中。源码如下：

# %%
for method in ("project_Q", "attend"):
    print(inspect.getsource(getattr(MultiHeadAttention, method)))

# %% [markdown] en="c2679831"
# `project_Q` 用一次矩阵乘法算出所有的头，然后调用 `split_heads`。键和值也这样得到。`attend` 只调用一次第 1 课的注意力：头只是前面多出来的一个轴，公式 1 的每一行都不会动它。随后它合并各个头，再乘 $W^O$。下面按公式写一个循环，与这个类对照。

# %%
rng = np.random.default_rng(0)
d_model, h, T = 16, 4, 5
layer = MultiHeadAttention(d_model, h, rng=rng)
x = rng.standard_normal((1, T, d_model))                                # (B, T, d_model)
y, cache = layer.forward(x, x, x)
for name, parameter in layer.named_parameters():
    print(name, parameter.value.shape)

# %%
W_Q, W_K, W_V, W_O = (p.value for p in layer.parameters())
d_k = d_v = d_model // h
heads = []
for i in range(h):
    block = slice(i * d_k, (i + 1) * d_k)                               # the columns of head i + 1
    heads.append(attention(x @ W_Q[:, block], x @ W_K[:, block], x @ W_V[:, block]))
by_loop = np.concatenate(heads, axis=-1) @ W_O                          # (B, T, d_model)
print("loop over heads against the class:", np.abs(by_loop - y).max())

# %% [markdown] en="0ed9bc94"
# 最后的那次乘法也可以拆开。在 $W^O$ 中，每个头有一个*行块* $W_i^O$，并且
#
# $$\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O = \sum_i \mathrm{head}_i\, W_i^O .$$
#
# 也就是说，每个头通过自己的矩阵，把结果*加*到输出上。

# %%
by_sum = sum(head @ W_O[i * d_v : (i + 1) * d_v] for i, head in enumerate(heads))
print("sum over heads against the class: ", np.abs(by_sum - y).max())

# %% [markdown] en="e42e0b30"
# 缓存里列出了前向传播保留的全部内容。请找出第二个轴是头的数组 (B, h, T, d_k)，以及注意力图 (B, h, T_q, T_k)。

# %%
print(cache)

# %% [markdown] en="0e9c398f"
# 输出是一个和，所以头没有先后次序。下面把整个的头互换：三个 $W$ 的列和 $W^O$ 的行要一起换。

# %%
order = np.arange(d_model).reshape(h, d_k)[[2, 0, 3, 1]].ravel()        # heads 3, 1, 4, 2
shuffled = MultiHeadAttention(d_model, h, rng=rng)
for p, value in zip(shuffled.parameters(), (W_Q[:, order], W_K[:, order], W_V[:, order], W_O[order])):
    p.value[...] = value
print("heads in another order, difference:", np.abs(shuffled(x, x, x) - y).max())

# %% [markdown] en="467aba84"
# 所以，“头 3 做这件事”只对某一个训练好的模型成立。换一个随机种子，做这件事的可能是另一个头。
#
# ## 6.4 多个头的代价
#
# > **预测：** 取 $d_k = d_v = d_\mathrm{model} / h$。当 $d_\mathrm{model} = 512$，头数为 1、8 或 64 时，这一层各有多少参数？

# %%
layers = [MultiHeadAttention(512, heads, rng=rng) for heads in (1, 8, 64)]
print(f"4 · 512² = {4 * 512**2:,}")
for wide in layers:
    size = sum(p.value.size for p in wide.parameters())
    print(f"h = {wide.h:2}  d_k = {wide.d_k:3}  parameters {size:,}")

# %% [markdown] en="3f523a34"
# 因为 $h\, d_k = d_\mathrm{model}$，这一层总是有 $4\, d_\mathrm{model}^2$ 个参数：三个投影和 $W^O$。$QK^\top$ 以及“权重乘 $V$”这两次乘法，各需要 $h \cdot T^2 d_k = T^2 d_\mathrm{model}$ 次乘加，与 $h$ 无关。但*分数*的个数 $h\, T^2$ 随头数增加，而每个分数都要经过 softmax。实验 `heads_cost` 在 $d_\mathrm{model} = 512$ 时测量所用的时间，这里用 64 个词元运行。如果机器正忙，测出的时间只能作粗略参考。

# %%
cost = HEADS_COST.run(h=(1, 8, 16), n=(64,), repeats=7)
for heads, time, scores in zip(cost.h, cost.ratio[1, 0], cost.scores[0]):
    print(f"{heads:2} heads: {time:.2f} times the time of one, {scores:,} scores")

# %% [markdown] en="1e06574d"
# 所有头合起来，用时和一个头差不多，论文的说法是“similar”（相近）。64 个词元时，用时几乎反映不出分数变多了。到 512 个词元、32 个头时，就看得出来（图集的第 4 条论断）。
#
# ## 6.5 偏置会做什么？为什么键的偏置没有用？
#
# 论文的投影没有偏置。论文没有说明原因，而后来的许多模型在四处都有偏置（第 15.2 节）。其中，键的偏置没有用。设偏置为 $b$，查询 $q$ 对键 $k_j$ 的分数就是 $q \cdot (k_j + b) = q \cdot k_j + q \cdot b$（这里缩放不影响结论）。第二项对所有的键 $j$ 都相同，所以对 $j$ 做的 softmax 看不见它。
#
# > **预测：** 一个带偏置的层，把它的键偏置换成随机数。输出会变多少？对这个偏置的梯度是多少？

# %%
biased = MultiHeadAttention(d_model, h, bias=True, rng=rng)
before = biased(x, x, x)
biased.linear_K.b.value[...] = rng.standard_normal(d_model)
after, biased_cache = biased.forward(x, x, x)
print("change of the output:", np.abs(after - before).max())

# %%
biased.backward(rng.standard_normal(y.shape), biased_cache)
for name in ("linear_Q", "linear_K", "linear_V", "linear_O"):
    print(f"{name}.b  largest gradient {np.abs(getattr(biased, name).b.grad).max():.0e}")

# %% [markdown] en="1f1c38c7"
# 除去舍入误差，输出的变化和键偏置的梯度都是零，所以这个参数永远学不到东西。值的偏置也几乎没有用。权重之和是 1，所以它给每个输出都加上同一个向量 $b W^O$，而 `linear_O` 的偏置已经在做这件事：

# %%
biased.linear_V.b.value[...] = rng.standard_normal(d_model)
shift = biased(x, x, x) - after                                         # (B, T, d_model)
print("a value bias shifts the output by", np.abs(shift).max().round(2))
print("and differs between positions by ", np.ptp(shift, axis=1).max())

# %% [markdown] en="d0af1d3c"
# 三者之中，只有查询的偏置会改变注意力图。它给分数加上 $b \cdot k_j$，意思是“不管谁来问，这个键都重要”。
#
# ## 6.6 头可以窄到什么程度？
#
# 头越多，每个头就越窄。一个头的分数是 $QK^\top$，其中 $Q$ 和 $K$ 的宽度都是 $d_k$。把分数看成矩阵，不管序列多长，它的秩至多是 $d_k$。
#
# > **预测：** 一个头的 $d_k = 1$，共有 64 个词元。每个查询都有一个最偏爱的键，也就是权重最大的键。至少被一个查询偏爱的键，一共有几个？

# %%
T, ranks, favourites = 64, {}, {}
for d_k in (1, 2, 4, 16, 64):
    Q, K = rng.standard_normal((2, T, d_k))                             # (T, d_k) each
    weights = attention.forward(Q, K, K)[1].weights                     # (T_q, T_k)
    favourites[d_k] = len(set(weights.argmax(axis=1)))
    ranks[d_k] = np.linalg.matrix_rank(Q @ K.T)
for d_k in ranks:
    print(f"d_k = {d_k:2}  rank of the scores {ranks[d_k]:2}  different favourites {favourites[d_k]}")

# %% [markdown] en="c729736e"
# 只有两个键。$d_k = 1$ 时，分数是两个数的积 $q_i k_j$。正的查询偏爱最大的键，负的查询偏爱最小的键，别的键永远排不到第一。在二维时，只有点云最外缘上的键才能胜出，而边缘上相邻的键得到的权重几乎相同。维数越高，落在边缘上的键就越多。（64 维时，这个数由随机性决定：64 个查询在 64 个键中随意选择，不会恰好把每个键都选到。）所以，如果每个词元都要能被自己的查询找到，头就需要足够的宽度。论文的表 3 (B) 只减小 $d_k$，模型就变差了。
#
# ## 6.7 四项职责，h 个头
#
# 现在开始训练。12 个词元围成一圈。每个词元有 4 个随机数作为内容，还有一个独热的位置。在每个位置上，这一层必须输出*四个*邻居的内容：前面第 2 个、前面第 1 个、后面第 1 个、后面第 2 个。

# %%
T, places = 12, (-2, -1, 1, 2)


def neighbours(B, rng):
    content = rng.standard_normal((B, T, 4))
    position = np.broadcast_to(np.eye(T), (B, T, T))
    x = np.concatenate([content, position], axis=-1)                    # (B, T, 16)
    wanted = [np.roll(content, -place, axis=1) for place in places]     # (B, T, 4) each
    return x, np.concatenate(wanted, axis=-1)                           # (B, T, 16)


# %%
def fit(h, steps=3000, seed=0, **widths):
    rng = np.random.default_rng(seed)
    layer, errors = MultiHeadAttention(16, h, **widths, rng=rng), []
    optimizer = Adam(layer.parameters())                                # the optimizer of Lesson 10
    for _ in range(steps):
        x, wanted = neighbours(16, rng)
        layer.zero_grad()
        y, cache = layer.forward(x, x, x)
        errors.append(((y - wanted) ** 2).mean())                       # mean squared error
        layer.backward(2 * (y - wanted) / y.size, cache)
        optimizer.step(0.02)
    return cache, errors

# %% [markdown] en="a8aeab45"
# 如果一个层总是答 0，误差就是 1，也就是内容的方差。各种头数的层，参数个数都相同。一个头在每个位置只给出内容的一个加权平均，也就是关于邻居的 4 个数，而需要的是 16 个数。
#
# > **预测：** 假设每个头都能完美地找到一个邻居，对其余的邻居一无所知。那么 1、2、4 个头的误差各是多少？

# %%
trained = {h: fit(h) for h in (1, 2, 4, 8, 16)}
early = {h: np.mean(errors[280:300]) for h, (_, errors) in trained.items()}
final = {h: np.mean(errors[-100:]) for h, (_, errors) in trained.items()}
for h, error in final.items():
    print(f"h = {h:2}  d_k = {16 // h:2}  error after 300 steps {early[h]:.2f}, after 3000 {error:.2f}")

# %%
fig = new_figure(7, 4)
ax = fig.subplots()
for i, (h, (_, errors)) in enumerate(trained.items()):
    smooth = np.reshape(errors, (-1, 20)).mean(axis=1)                  # (150,)  means of 20 steps
    ax.plot(20 * np.arange(1, 151), smooth, color=COLORS[i], marker=MARKERS[i], markevery=15,
            label=f"h = {h}")
ax.set(xlabel="step", ylabel="mean squared error", ylim=(-0.03, 1.1), title="Four neighbours wanted")
ax.legend(loc="upper right", ncols=5)
fig

# %% [markdown] en="e2a903db"
# 这条简单的规则给出 $1 - h/4$：0.75、0.5 和 0。训练的结果是，一个头停在 0.7 附近，两个头停在 0.5 附近。这条规则不是严格的界限：头如果能巧妙地混合几个邻居，还可以稍好一点。四个头解决了这个任务。所以在这个任务里，一个头大约能回答一个问题。宽度在这里帮不上忙：那个单独的头宽度是 16，想看得多准都可以。
#
# 8 个头在 300 步之后还落后，但最后也解决了任务：它们只是学得慢。16 个头的情形不同。每个头的宽度只有 1，所以查询只能偏爱最大或最小的键（第 6.6 节），训练 3000 步也没有用。但它们的值的宽度也是 1。究竟哪一个才是原因？让这 16 个头的查询和键宽度为 4，值的宽度仍为 1。现在误差会下降吗？

# %%
_, errors = fit(16, d_k=4, d_v=1)
wider = np.mean(errors[-100:])
print(f"h = 16  d_k =  4  d_v = 1  error after 3000 steps {wider:.0e}")

# %% [markdown] en="f80a5506"
# 查询和键变宽之后，16 个头也解决了任务（以上都只用了一个随机种子）。所以原因在于查询和键的宽度：$d_k = 1$ 的头太窄，找不到自己的邻居。
#
# 论文的表 3 (A) 中，1 个头的 BLEU 是 $24.9$，8 个头和 16 个头都是 $25.8$，32 个头是 $25.4$。（BLEU 越高越好，见第 14.5 节。）可见只用一个头会变差，头太多也会变差。我们的任务是*特意设计*的，它需要四个头；用 16 个头时 $d_k$ 是 1，而论文中最窄的头还有 16。所以，这个任务只说明这两种情况可能怎样发生，并不说明它们就是翻译中的原因。在本库的小任务上看不到这种现象：图集的实验 `head_count` 没有得到表 3 (A) 的形状。而且，训练好的翻译模型去掉大部分头之后，往往仍然表现良好（Michel 等，2019；Voita 等，2019）。
#
# 下面看注意力图。第一幅图是单独的那个头，它把权重分散在几个邻居上。对单独一个头来说，不论是看一个邻居，还是看几个邻居的平均，损失都差不多。第二幅图是四个头。

# %%
names = [str(t + 1) for t in range(T)]
plot_attention(trained[1][0].attention.weights[0], names, names, titles=["h = 1"])

# %%
plot_attention(trained[4][0].attention.weights[0], names, names, title="h = 4: each head looks somewhere else")

# %% [markdown] en="3504be2f"
# 四个头各做各的事。紧挨着对角线的一条线是“后面第 1 个”或“前面第 1 个”，离得更远的一条线是“后面第 2 个”或“前面第 2 个”。（词元围成一圈，所以一条线会在对面的角上接着走。）没有人告诉哪个头该做什么。各个头从随机值开始。大概是这样：哪个头离某项职责稍近一点，哪个头就得到那项职责的梯度。
#
# ## 6.8 反向传播
#
# 没有新的东西要推导。`split_heads` 只是搬动数，所以它的反向传播就是把梯度搬回去，也就是 `merge_heads`。反过来，`merge_heads` 的反向传播是 `split_heads`。作为线性映射，它们互为转置：$\langle \mathrm{split}(a), b\rangle = \langle a, \mathrm{merge}(b)\rangle$，其中尖括号表示对应元素的乘积之和。其余部分就是 `Linear` 和第 4 课。

# %%
a, b = rng.standard_normal((5, 16)), rng.standard_normal((4, 5, 4))
left, right = (split_heads(a, 4) * b).sum(), (a * merge_heads(b)).sum()
print(left, right)

# %%
x_Q, x_K, x_V = rng.standard_normal((2, 3, 16)), *rng.standard_normal((2, 2, 5, 16))
report = check_gradients(MultiHeadAttention(16, 4, rng=rng), x_Q, x_K, x_V)
print(report)

# %% [markdown] en="526e30ed"
# ## 6.9 选读：在训练好的模型里试一试
#
# 所有的头都有必要吗？下面的页面可以让头静音：静音的头不向输出添加任何东西。
#
# > **预测：** 一个模型有两层，每层四个头，它要把 `3 1 4 1 5 9 2 6` 反过来写。把第 2 层编码器-解码器注意力的头轮流静音，每次一个。四次之中，答案有几次仍然正确？四个头全部静音呢？
#
# 打开[学会反转的模型](../../docs/live/reverse.html#src=3+1+4+1+5+9+2+6&kind=cross&layer=1&head=0&lang=zh)，点击头下方的“静音”，或者再点一次它的注意力图。然后选择“解码器自注意力（有掩蔽）”，让第 1 层的头静音。

# %% [markdown] en="f859cbb6"
# 在我们的模型里，四次的答案都正确：其中每个头的职责，别的头也担得起。四个头全部静音时，答案从第一个符号起就错了。在解码器第 1 层的自注意力里，各个头互相替代不了：少了头 3，答案就提前一个符号结束。（换一台机器训练，分工可能不同。）第 11.7 节用许多序列来统计这件事。

# %% [markdown] en="0f1cce9d"
# ## 6.10 检验本课的结论

# %%
assert np.abs(by_loop - y).max() < 1e-12                # one big projection = h small ones
assert np.abs(by_sum - y).max() < 1e-12                 # Concat W^O = sum of head_i W_i^O
assert np.abs(shuffled(x, x, x) - y).max() < 1e-12      # heads have no order
assert np.abs(after - before).max() < 1e-12             # a key bias does nothing
assert np.abs(biased.linear_K.b.grad).max() < 1e-12 < np.abs(biased.linear_Q.b.grad).max()
assert favourites[1] == 2
assert final[1] > 0.6 > final[2] > 0.3 > 0.1 > final[4]     # h heads, h answers
assert early[8] > 0.2 > 0.1 > final[8]                  # eight are only slow
assert final[16] > 0.5                                  # sixteen are too narrow
assert wider < 0.01                                     # it is the width of queries and keys
assert abs(left - right) < 1e-12
assert report
print("all true")

# %% [markdown] en="42fd386a"
# ## 小结
#
# - 一个头只给每个查询一个加权平均。查询如果同时问两件事，得到的回答就混在一起。两个头回答两个问题，再把回答并排放好。
# - 拆分的是特征，绝不是序列：先 reshape 成 (T, h, d_k)，再把 h 移到前面。
# - 一个宽度为 $h\, d_k$ 的投影，就是 $h$ 个并排的投影；$\mathrm{Concat}(\dots)W^O$ 是对各个头求和，没有次序。
# - 不论 $h$ 是多少，这一层都有 $4\, d_\mathrm{model}^2$ 个参数，做的乘法也一样多。只有分数的个数会增加。
# - 头太少，就只能折中。查询和键的宽度为 1 的头只能偏爱两个键，因为分数的秩至多是 $d_k$。
#
# ## 问题
#
# **1.** 一个头的 $W^Q$ 和 $W^K$ 只以 $W_i^Q (W_i^K)^\top$ 的形式出现在分数里。那么，为什么要学习两个矩阵，而不直接学习这一个？
#
# <details><summary>答案</summary>
#
# 这个乘积是 $d_\mathrm{model} \times d_\mathrm{model}$ 的矩阵，秩至多是 $d_k$。在 base 模型中，它为每个头用 $512 \cdot 512$ 个数，而两个因子只有 $2 \cdot 512 \cdot 64$ 个，是它的四分之一。另外，每个分数也会变成宽度为 512 而不是 64 的点积。
#
# </details>
#
# **2.** 一层中所有的头都从相同的数开始：$W_1^Q = W_2^Q = \dots$，$K$、$V$ 和 $W_i^O$ 也是这样。训练会得到什么？
#
# <details><summary>答案</summary>
#
# 相同的头得到相同的梯度，于是永远相同：结果是同一个窄头的 $h$ 份副本。正因为初始值是随机的，各个头才会变得不同。
#
# </details>
#
# **3.** 训练之后，你发现不需要头 3。怎样去掉它？去掉之后，这一层是什么样子？
#
# <details><summary>答案</summary>
#
# 把 $W_3^O$ 的各行设为零：输出是对各个头求和，这样它的那一项就没有了。也可以删掉 $W_3^Q, W_3^K, W_3^V$ 的列以及上面说的那些行，得到一个有 $h - 1$ 个头的层，$d_k$ 不变。这时 $h\, d_k$ 小于 $d_\mathrm{model}$，这是允许的：`MultiHeadAttention(d_model, h - 1, d_k=d_k, d_v=d_v, rng=rng)`。
#
# </details>
