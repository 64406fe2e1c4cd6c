# %% [markdown] en="2ca35725"
# # 第 1 课 · 注意力是一种软查找
#
# | | |
# |---|---|
# | **你将做什么** | 先在字典里查一个值，再把查找一步步变软，直到它可以学习。先用 4 个词元在纸上算，再用 Transformer 最核心的那个类来算 |
# | **你将学到** | 什么是查询、键和值；注意力中各个形状的含义；论文中的三种注意力问的是什么，又是向谁问 |
# | **需要** | 点积、矩阵乘法、一点 Python |
# | **论文** | 第 3.2 节、公式 1、第 3.2.3 节 |
# | **时间** | 30 分钟，不含第 1.7 节（*选读*） |
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

from aiayn_np import DecoderLayer, Linear, ScaledDotProductAttention, Softmax, plot_attention
from aiayn_np.plotting.drawings import ASKING, SENTENCE, attention_shapes, figure_1

np.set_printoptions(precision=4, suppress=True)

# %% [markdown] en="21318992"
# Transformer 读入一句话，即**源序列**；再写出另一句话，即**目标序列**，每次写一个词元。**词元**（token）是一个词，或者词的一部分。下面是论文的图 1，我们重新画了一遍。左边的栈是**编码器**，负责读；右边的栈是**解码器**，负责写。亮起的方框是本课的主题，其余的方框今天都用不到。每一课都从这幅图开始，并点亮本课要讲的部分。

# %%
figure_1("attention")

# %% [markdown] en="f2c90f96"
# ## 1.1 硬查找
#
# 字典把**值**（value）存放在**键**（key）下面。你带着一个**查询**（query）来，字典拿它和每一个键比较。有一个键与它相等，你就得到那个键的值。

# %%
legs = {"cat": 4.0, "bird": 2.0, "snake": 0.0}
print(legs["cat"])

# %% [markdown] en="6b87babd"
# 用数组也能做到。`K` 的每一行是一个键，`V` 的同一行是它的值。点积负责比较：与相等的键作点积得 1，与其他的键作点积得 0。把这些点积当作各个值的权重，就恰好取出一个值。

# %%
K = np.eye(3)                               # (3, 3)  the keys of cat, bird, snake
V = np.array([[4.0], [2.0], [0.0]])         # (3, 1)  how many legs
q = K[0]                                    # (3,)    the query: "cat"
matches = K @ q                             # (3,)    how well does each key answer it?
print("matches", matches)
print("value  ", matches @ V)

# %% [markdown] en="38b8a323"
# 字典是精确的，但不能用来学习，原因有两个。第一，查询若不等于任何一个键，就什么也查不到。第二，“相等”和“不相等”之间没有斜率：把键稍微改动一点，答案不会因此变好一点，也就没有梯度可循。点积倒是有斜率。但换成别的键和查询，点积可能是负数，加起来也可能是任意的数，这时就不能再当权重用了。

# %% [markdown] en="2e2f8c9f"
# ## 1.2 软查找：每个键都答一点
#
# 那么，让键和查询取任意的向量，并让*每一个*值都进入答案，各带一个 0 到 1 之间的**权重**。权重表示：与其他键相比，这个键匹配得有多好。所有权重加起来等于 1。计算分三步：
#
# 1. **分数**：对每个键 $j$，$s_j = q \cdot k_j \,/\, \sqrt{d_k}$（为什么要除以 $\sqrt{d_k}$，见第 3 课）；
# 2. **权重**：$w = \mathrm{softmax}(s)$，也就是 $w_j = e^{s_j} / \sum_i e^{s_i}$；
# 3. **输出**：$\sum_j w_j\, v_j$，即以这些权重对各个值求平均。
#
# 先用纸笔算一遍。句子是 `the cat sat down`，它有 4 个词元，所有课程都用它。各个键的宽度是 $d_k = 5$。查询来自 `sat`，它问的是：*谁做的*？查询中只有一个数不为零，这个数带着因子 $\sqrt5$，除完以后分数就很简单。

# %%
tokens = list(SENTENCE)
print(tokens)
K = np.array([[0.0, 1.0, 0.0, 0.0, 0.0],    # (4, 5)  the:  "I am an article"
              [1.0, 0.0, 0.0, 0.0, 1.0],    #         cat:  "I can do things, and I am a noun"
              [0.0, 0.0, 1.0, 0.0, 0.0],    #         sat:  "I am an action"
              [0.0, 0.0, 0.0, 1.0, 0.0]])   #         down: "I am a direction"
V = np.array([[0.0, 0.0],                   # (4, 2)  what each token tells: is it a thing? an action?
              [1.0, 0.0],
              [0.0, 1.0],
              [0.0, 0.0]])
ask = math.sqrt(5) * math.log(3)            # √5 ln 3
q = np.array([ask, 0.0, 0.0, 0.0, 0.0])     # (5,)  sat: "who can do things?"

# %% [markdown] en="14a7a109"
# > **预测：** `cat` 的分数是多少？其余三个词元的分数各是多少？`cat` 的权重是多少？（提示：$e^{\ln 3} = 3$，$e^0 = 1$。）

# %%
d_k = K.shape[-1]
scores = K @ q / math.sqrt(d_k)             # (4,)
print("scores ", scores)

# %%
exp_scores = np.exp(scores)                 # (4,)
print("exp    ", exp_scores)
weights = exp_scores / exp_scores.sum()     # (4,)
print("weights", weights, " sum", weights.sum())

# %%
output = weights @ V                        # (2,)
print("output ", output)

# %% [markdown] en="bdafd5fc"
# 分数是 $(0, \ln 3, 0, 0)$，取指数得 $1, 3, 1, 1$，所以权重是 $\tfrac16, \tfrac12, \tfrac16, \tfrac16$。答案的一半来自 `cat`，另一半由其余三个词元平分。查找变软了，它的回答是：“主要是 `cat`”。

# %% [markdown] en="f6979f9a"
# ## 1.3 有多软？由查询的长短决定
#
# 方向不变，查询越长，问得就越坚决。
#
# > **预测：** 把查询加长到原来的 2 倍，现在 `cat` 的权重是多少？（提示：$e^{2 \ln 3} = 9$。）

# %%
softmax = Softmax()
for length in (0, 1, 2, 4, 16):
    print(f"query × {length:2}   weights {softmax(length * K @ q / math.sqrt(d_k))}")

# %% [markdown] en="a83b4437"
# 查询 × 2 时，指数值是 $1, 9, 1, 1$，所以 `cat` 的权重是 $9/12$，即四分之三。长度为 0 的查询什么也没问，得到的是所有值的普通平均。非常长的查询又变回硬查找。介于两者之间的查询，得到的都是软的答案；键一变，软的答案也跟着变。字典缺少的正是这种斜率。下一个单元格来测量它。

# %%
step = 1e-6
moved = K.copy()
moved[1, 0] += step                         # the key of "cat" a little further along the query
change = softmax(moved @ q / math.sqrt(d_k)) @ V - output
print("change of the output for each unit that the key moves:", change / step)

# %% [markdown] en="2cd97318"
# 第一个数是正的：`cat` 的键朝查询靠近一点，答案中“事物”的成分就多一点。

# %% [markdown] en="635bfe49"
# ## 1.4 所有查询一起算
#
# 每个词元都可以提自己的问题。这里，4 个词元中有 3 个提问：`cat`、`sat` 和 `down`。它们的查询组成矩阵 $Q$，每个查询占一行。一次矩阵乘法就算出每个查询对每个键的分数：
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V \qquad \text{(Equation 1)}$$
#
# > **预测：** 有 3 个查询、4 个宽度为 5 的键，值的宽度为 2。$QK^\top$、权重和输出的形状各是什么？

# %%
Q = np.array([[0.0, 0.0, 2 * ask, 0.0, 0.0],    # (3, 5)  cat:  "what did I do?", and asks it firmly
              [ask, 0.0, 0.0, 0.0, 0.0],        #         sat:  "who did it?", our q
              [0.0, 0.0, ask, 0.0, 0.0]])       #         down: "which action has this direction?"
scores = Q @ K.T / math.sqrt(d_k)           # (3, 4)  row = query, column = key
print("scores ", scores.shape)
weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)     # (3, 4)
print("weights", weights.shape, " rows sum to", weights.sum(axis=1))
output = weights @ V                        # (3, 2)
print("output ", output.shape)
print(output)

# %% [markdown] en="fe692d2b"
# `sat` 那一行就是第 1.2 节的答案。下图画出了这些矩阵，以及它们的形状和数值。$T_q$ 是查询的个数，$T_k$ 是键的个数，$d_v$ 是值的宽度。请沿着加框的 `sat` 那一行，从 $Q$ 一直看到输出。

# %%
attention_shapes()

# %% [markdown] en="2bbe99c5"
# 本库用一个类实现公式 1。下面是它的 `forward` 的源码：

# %%
print(inspect.getsource(ScaledDotProductAttention.forward))

# %% [markdown] en="41b74c9a"
# 我们逐行来看。第一行检查形状。`K.mT` 就是 $K^\top$：它转置最后两个轴。接着是缩放、掩蔽（第 5 课；不给 `allowed` 时它什么也不做）和 softmax。暂退法（dropout，第 7 课）没有开启，所以 `kept` 与 `weights` 是同一个数组。（论文没有对权重使用暂退法，许多程序用了。）最后一行是对各个值求平均。`forward` 返回输出和一份**缓存**：反向传播将来要用的每一个数组，都按名字放在里面。没有什么藏起来，层自身也不保存任何东西。

# %%
attention = ScaledDotProductAttention()
out, cache = attention.forward(Q, K, V)
print("largest difference from ours:", np.abs(out - output).max())
print(cache)

# %% [markdown] en="8bb5dca8"
# `cache.weights` 就是**注意力图**。在这些课程的每一幅注意力图中，**行是查询**，即提问的词元；**列是键**，即被问的词元。每一行加起来等于 1。从图中可以看到，`cat` 主要看 `sat`，`sat` 主要看 `cat`，`down` 主要看 `sat`。

# %%
plot_attention(cache.weights, ASKING, tokens, titles=["who looks at whom"])

# %% [markdown] en="4d5f3441"
# ## 1.5 查询、键和值从哪里来？
#
# 它们不是手写出来的。每个词元都是一个宽度为 `d_model` 的向量 $x$，即它的**嵌入**，嵌入是学出来的（第 8.5 节）。再用三个学出来的矩阵，从它得到三个向量：$q = xW^Q$ 是这个词元要问的，$k = xW^K$ 是它能应答的，$v = xW^V$ 是它要说的。矩阵有三个，因为一个词元有三项任务：提问、被找到、说出内容。下面几个单元格看看没有这些矩阵会怎样。

# %%
rng = np.random.default_rng(0)
d_model, d_k, d_v = 8, 5, 6
x = rng.standard_normal((4, d_model))                    # (T, d_model)  four tokens
W_Q = Linear(d_model, d_k, bias=False, rng=rng)
W_K = Linear(d_model, d_k, bias=False, rng=rng)
W_V = Linear(d_model, d_v, bias=False, rng=rng)
out, cache = attention.forward(W_Q(x), W_K(x), W_V(x))
print("x", x.shape, " Q", cache.Q.shape, " K", cache.K.shape, " V", cache.V.shape)
print("weights", cache.weights.shape, " out", out.shape)

# %% [markdown] en="a676a2eb"
# > **预测：** 如果不用这两个矩阵，直接取 $q = k = x$，每个词元会主要看哪个词元？

# %%
_, same = attention.forward(x, x, x)
itself = []
for _ in range(100):                                     # 100 draws of the two matrices
    W_Q, W_K = (Linear(d_model, d_k, bias=False, rng=rng) for _ in range(2))
    weights = attention.forward(W_Q(x), W_K(x), x)[1].weights
    itself.append(weights.argmax(axis=1) == np.arange(4))
print("q = k = x            looks most at itself:", same.weights.argmax(axis=1) == np.arange(4))
print(f"q = x W^Q, k = x W^K looks most at itself: {np.mean(itself):.0%} of the tokens")

# %% [markdown] en="c0545659"
# 那样的话，每个词元主要看的都是自己：向量与自身的点积是各个分量的平方和，多半比它与另一个向量的点积大。但是，一个词要找什么，与它本身是什么，是两回事。有了这两个矩阵，词元就能看别处。（用随机矩阵时，它主要看自己的机会大约就是随机水平：4 次里有 1 次。）
#
# ## 1.6 Transformer 的三种注意力
#
# 论文第 3.2.3 节在三处用到了这同一个函数，也就是图 1 中亮起的方框。它们的区别只在于*谁来问*、*谁来答*。（目标序列：德语 `die Katze setzte sich hin`。）
#
# | 位置 | 查询来自 | 键和值来自 | 于是 |
# |---|---|---|---|
# | 编码器自注意力 | 源序列 | 源序列 | 每个源词元都可以问所有的源词元（`sat`：谁做的？） |
# | 解码器自注意力（带掩蔽） | 已写出的目标序列 | 已写出的目标序列 | 目标词元可以问自己和自己之前的词元，绝不问之后的词元（`setzte`：谁做的？）（第 5 课） |
# | 编码器-解码器注意力 | 已写出的目标序列 | 编码器的输出，称为**记忆**（memory） | 正在写的词元可以问已经读过的词元（`Katze`：源序列说它做了什么？） |
#
# 你听说过的一些模型只保留了这张表的一部分。**BERT** 是只有第一行的栈，**GPT** 是只有第二行的栈。论文的 Transformer 三行都有。
#
# 键和值总是来自同一处，因为值就是在键下面找到的东西。只有查询可以来自别处，所以注意力图不一定是正方形。下面是一个解码器层：它的目标序列有 3 个词元，源序列有 4 个。
#
# > **预测：** 这一层接收一对句子（批量大小为 1），它有 2 个头（第 6 课），也就是两个并排的注意力，各用 12 个特征中的 6 个。自注意力和编码器-解码器注意力的注意力图，形状 (1, 2, ?, ?) 各是什么？最后两个轴是查询和键。

# %%
layer = DecoderLayer(12, 16, 2, rng=rng)                 # d_model = 12, d_ff = 16, h = 2 heads
target = rng.standard_normal((1, 3, 12))                 # (B, T_tgt, d_model)
memory = rng.standard_normal((1, 4, 12))                 # (B, T_src, d_model)
y, cache = layer.forward(target, memory)
for name in ("self_attention", "cross_attention"):
    inner = getattr(cache, name).attention               # the cache of the attention itself
    print(f"{name:15}  Q {inner.Q.shape}  K {inner.K.shape}  weights {inner.weights.shape}")

# %% [markdown] en="7071cf1f"
# 这一层没有训练过，所以它的注意力图还没有意义。训练以后，这样的图应该是什么样子？我们手工做一幅。源序列是我们的句子，键就用上面的那些。目标序列是它的德语译文，其中 `die Katze` 已经写出。`<bos>` 表示开头。每个目标词元要问的，是写*下一个*词需要的东西：`<bos>` 要找一个冠词，`die` 要找一个能做事的事物，`Katze` 要找一个动作。

# %%
Q_target = 2 * ask * np.array([[0.0, 1.0, 0.0, 0.0, 0.0],     # (3, 5)  <bos>: "which article comes first?"
                               [1.0, 0.0, 0.0, 0.0, 0.0],     #         die:   "which thing does it name?"
                               [0.0, 0.0, 1.0, 0.0, 0.0]])    #         Katze: "what did she do?"
_, crossed = attention.forward(Q_target, K, V)
print(crossed.weights)
plot_attention(crossed.weights, ["<bos>", "die", "Katze"], tokens, titles=["the target asks the source"])

# %% [markdown] en="2849a982"
# 这幅图有 3 行 4 列。（这里的行以提问的词元命名。从第 5 课起，解码器的行还会写上接下来要写的词元。）第 14 课会训练一个翻译模型，并查看它的注意力图。

# %% [markdown] en="7f30b5cb"
# ## 1.7 选读：在训练好的模型里试一试
#
# 同样的公式也在训练好的模型里起作用。下面的页面在浏览器中运行一个小的 Transformer。这个模型学会了倒着写序列，它刚刚读完 `3 1 4`。它的注意力图中，行是查询，即它已经写出的词元；列是键，即它读过的词元。（`<bos>` 在第一个词元之前，`<eos>` 在最后一个词元之后。）
#
# > **预测：** 模型正处在 `<bos>`，要写答案的第一个词元。在这一行里，哪一列的权重最大？
#
# 打开[反转模型，输入 `3 1 4`](../../docs/live/reverse.html#src=3+1+4&kind=cross&layer=1&head=0&query=0&key=3&lang=zh)，点击你猜的格子，然后从头读“Why this weight?”（为什么是这个权重？）：先是各个乘积，再是它们的和、缩放、分数，最后是这一行的 softmax。这个页面由 `python docs/make_live_pages.py` 生成；[命令说明页](../../docs/commands.md)介绍了怎样用你自己训练的模型生成这样的页面。

# %% [markdown] en="a4f3f666"
# `4` 那一列几乎得到了全部权重：`4` 是源序列的最后一个符号，所以是答案的第一个符号。它的查询和键的宽度都是 $d_k = 16$。16 个乘积加起来是 $q \cdot k$，它的四分之一，即 $q \cdot k / \sqrt{16}$，就是分数。其他键的分数低得多，softmax 几乎没有给它们留下什么。

# %% [markdown] en="6c36dd78"
# ## 1.8 检验本课的结论

# %%
hand = ScaledDotProductAttention()(Q, K, V)
assert np.abs(hand - output).max() < 1e-12               # the class is Equation 1
assert np.allclose(softmax(K @ q / math.sqrt(5)), [1 / 6, 1 / 2, 1 / 6, 1 / 6])
assert np.allclose(softmax(2 * K @ q / math.sqrt(5))[1], 9 / 12)    # asked twice as firmly
assert np.allclose(output[1], [1 / 2, 1 / 6])            # sat, as on paper
assert change[0] > 0                                     # the look-up has a slope
assert np.mean(itself) < 0.4                             # two matrices: not mostly at itself
assert inner.weights.shape == (1, 2, 3, 4)               # (B, h, T_tgt, T_src)
assert crossed.weights.argmax(axis=1).tolist() == [0, 1, 2]
print("all true")

# %% [markdown] en="3eda1837"
# ## 小结
#
# - 注意力是一种查找，每个键都答一点：输出是各个值的加权平均，权重取决于每个键与查询匹配得有多好。
# - 分数是点积除以 $\sqrt{d_k}$，权重是分数的 softmax；把所有查询放在一起，就是公式 1。
# - 注意力图中，每个查询占一行，每个键占一列。每一行的和为 1。
# - 查询、键和值是词元的三种视角，都是学出来的。在自注意力中，三者来自同一个序列；在编码器-解码器注意力中，查询来自目标序列，键和值来自记忆。
#
# ## 问题
#
# **1.** 有两个键相等，它们的值却不相等。与它们匹配的查询会得到什么？
#
# <details><summary>答案</summary>
#
# 如果没有别的键与它匹配，得到的是两个值的平均：键相等，分数就相等，权重也就相等。字典不能在一个键下存放两个值，注意力则对它们求平均。
#
# </details>
#
# **2.** 给所有的键都加上同一个向量。一个查询的权重会怎样变化？
#
# <details><summary>答案</summary>
#
# 权重不变。这个查询的每个分数都改变了同一个数，所以 softmax 的分子和分母都乘上了同一个因子。（第 6 课会再次遇到这一点：正因为如此，给键加偏置没有用。）
#
# </details>
#
# **3.** 公式 1 里没有任何东西说明词元在哪个位置。如果把 $K$ 和 $V$ 的行用同一种方式打乱，输出会怎样？如果打乱 $Q$ 的行呢？
#
# <details><summary>答案</summary>
#
# 一起打乱 $K$ 和 $V$，什么也不会变：对键求和，只是换了次序。打乱 $Q$，输出的各行也按同样的方式打乱。注意力看到的是集合，而不是序列；所以要给词元加上位置（第 8 课）。
#
# </details>
