# %% [markdown] en="522cf2ed"
# # 第 8 课 · 位置：从集合到序列
#
# | | |
# |---|---|
# | **你将做什么** | 证明编码器分不清 `the cat sat down` 和 `down sat the cat`；用五条要求检验五种给词元标上位置的办法；手算正弦曲线，再用旋转把一个位置变成另一个位置 |
# | **你将学到** | 为什么要加上位置，位置的编码必须满足什么；为什么嵌入要乘 $\sqrt{d_\mathrm{model}}$；可学习的位置、正弦位置和相对位置各有什么优点 |
# | **需要** | 第 1 课、第 5 课（掩蔽）和第 7 课（层规范化、前馈网络）；正弦、余弦以及它们的和角公式 |
# | **论文** | 第 3.5 节、第 3.4 节、表 3 (E) |
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

import numpy as np

from aiayn_np import (
    Embedding,
    Encoder,
    EncoderLayer,
    LearnedPositionalEncoding,
    MultiHeadAttention,
    SinusoidalPositionalEncoding,
    not_padding,
    plot_positional_encoding,
)
from aiayn_np.experiments.claims.embedding_scale import EMBEDDING_SCALE
from aiayn_np.experiments.claims.permutation import PERMUTATION
from aiayn_np.experiments.claims.position_training import LEARNED_POSITIONS
from aiayn_np.experiments.claims.positions import ROTATION
from aiayn_np.plotting.drawings import SENTENCE, clock_hands, figure_1
from aiayn_np.plotting.figures import new_figure, plot_signed
from aiayn_np.variants.relative_position import RelativePositionBias, relative_attention

np.set_printoptions(precision=4, suppress=True)

# %% [markdown] en="fc902068"
# 在图 1 中，这一课讲的是嵌入，以及加上位置的那两个圆圈。

# %%
figure_1("positions", "embedding")

# %% [markdown] en="751fd44c"
# ## 8.1 注意力看到的是集合
#
# 下面两个句子由同样的四个词组成。编码器只收到这些词，此外什么也没有。

# %%
rng = np.random.default_rng(0)
words = ["<pad>", *SENTENCE]
ids = np.array([[1, 2, 3, 4],                                          # (B, T)  the cat sat down
                [4, 3, 1, 2]])                                         #         down sat the cat
embedding = Embedding(len(words), 16, rng=rng)                         # d_model = 16
encoder = Encoder([EncoderLayer(16, 32, 2, rng=rng) for _ in range(2)])    # N = 2, h = 2
y_plain = encoder(embedding(ids))                                      # (B, T, d_model)
print(y_plain.shape)

# %% [markdown] en="3a5b08a2"
# > **预测：** 取 `cat` 处的两个输出。它在第一句中是第二个词，在另一句中是最后一个词。这两个向量相差多少？

# %%
print("cat", np.abs(y_plain[0, 1] - y_plain[1, 3]).max())
print("sat", np.abs(y_plain[0, 2] - y_plain[1, 1]).max())

# %% [markdown] en="02b8454e"
# 除去舍入误差，这两个向量相等。这个编码器也分不清“dog bites man”和“man bites dog”。
#
# 理由很短。取两个词元 $a$ 和 $b$，交换它们。$Q$、$K$、$V$ 的每一行都只来自一个词元，所以这些行也随之交换。于是 $a$ 对 $b$ 的分数还是同一个数，只是换了一格。对 $x$ 的各行做任意的置换 $P$，也是这样：查询变成 $PQ$，键变成 $PK$，分数变成 $PQ(PK)^\top = P\,QK^\top P^\top$，数还是那些数，只是行和列移动了。softmax 在每一行内部计算，所以权重（记它们的矩阵为 $A$）也同样移动。在 $(P A P^\top)(P V) = P\,(A V)$ 中，中间的 $P^\top P$ 就是 $I$：输出只是移动了行，别的都没有变。层规范化和前馈网络从来不看别的词元。因此每一层 $f$ 都满足
#
# $$f(Px) = P f(x),$$
#
# 由这些层组成的栈也满足。这叫作**置换等变**：词元换一种次序，输出也换成那种次序，此外什么都不变。实验 `permutation` 为 16 个词元随机抽取 50 种次序，测量四种栈偏离这条规律多远，用 $\lVert f(Px) - P f(x) \rVert \,/\, \lVert f(x) \rVert$ 来衡量。

# %%
permutation = PERMUTATION.run(N=2, permutations=50)
names = {"encoder": "encoder, no positions", "decoder": "decoder, no mask, no positions",
         "causal": "decoder, causal mask, no positions", "positions": "encoder with positions"}
for name, difference in permutation.random.items():
    print(f"{names[name]:35} least {difference.min():.1g}   most {difference.max():.1g}")

# %% [markdown] en="19cf8567"
# 第三行出人意料：解码器的因果掩蔽独自就打破了这种对称。一个词元可以看另外三个，与一个词元可以看另外十个，情况是不同的。没有位置的语言模型，仅凭这一点就能学习（Tsai 等，2019；Haviv 等，2022）。但编码器没有因果掩蔽，所以它需要位置。
#
# ## 8.2 位置的编码必须满足什么？
#
# 给每个词元加上一个向量，说明它在哪个位置。用什么向量？有五条要求：
#
# 1. **唯一**：任何两个位置的编码都不同；
# 2. **有界**：数不会随序列变长而增大，以致淹没词的信息；
# 3. **与长度无关**：不论句子有 16 个词还是 512 个词，位置 3 就是位置 3；
# 4. **每一步的距离相同**：从 7 到 8 和从 8 到 9 一样远，这样“下一个”才只有一个意思；
# 5. **有序**：在句子里近，在编码里也近。
#
# 候选有五种。每一种都是长度 $T$ 的函数，给出一张表，每个位置占一行。

# %%
sinusoids = SinusoidalPositionalEncoding(512, max_len=512)
codes = {
    "integer":   lambda T: np.arange(T)[:, None] * 1.0,                # (T, 1)    pos
    "pos / T":   lambda T: np.arange(T)[:, None] / T,                  # (T, 1)
    "one-hot":   lambda T: np.eye(512)[:T],                            # (T, 512)
    "binary":    lambda T: (np.arange(T)[:, None] >> np.arange(9)) % 2 * 1.0,  # (T, 9)  digit j of pos
    "sinusoids": sinusoids.table,                                      # (T, 512)
}
print(codes["binary"](5)[:, :4])

# %% [markdown] en="d2df3598"
# 二进制从最低位写起，所以第 3 行是 1 1 0 0。现在来测量；`far` 是相隔 $k$ 的两个位置的编码之间的距离。
#
# > **预测：** 用独热（one-hot）编码时，位置 0 的编码离位置 1 的编码有多远？离位置 256 的编码有多远？

# %%
def far(table, k):
    return np.linalg.norm(table[k:] - table[:-k], axis=1)              # (T - k,)

rows = {}
for name, code in codes.items():
    table = code(512)                                                  # (512, width)
    unique = len(np.unique(table.round(9), axis=0))
    moved = np.abs(code(16) - table[:16]).max()
    rows[name] = unique, np.abs(table).max(), moved, far(table, 1).min(), far(table, 1).max()

# %%
print("           (1) different  (2) largest  (3) change     (4) least and largest step")
print("           codes of 512   number       with T")
for name, (unique, largest, moved, least, most) in rows.items():
    print(f"{name:10} {unique:13} {largest:12.1f} {moved:11.3f} {least:12.3f} to {most:.3f}")

# %%
print("(5) mean distance", *(f"k = {k:<5}" for k in (1, 4, 16, 64, 256)))
distances = {name: [far(code(512), k).mean() for k in (1, 4, 16, 64, 256)] for name, code in codes.items()}
for name, mean in distances.items():
    print(f"{name:17}", *(f"{d:<9.2f}" for d in mean))

# %% [markdown] en="ea8903b6"
# 每种候选违反了哪一条要求？先在两张表里找一找，再往下读。
#
# - **整数**（integer）无限增大（2）。下一个单元格说明这对词有什么影响。
# - **pos / T** 在每一种长度下给位置 3 的编码都不同（3）。所以“下一个”也取决于长度。
# - **独热**没有次序（5）：不管相隔 1 个位置还是 256 个位置，任何两个位置的距离都是 $\sqrt2$。
# - **二进制**（binary）的步子不均匀（4）：从 0 到 1 翻转一位，从 255 到 256 九位全部翻转。而且平均来说，距离甚至随 $k$ 的增大而*减小*，与次序相反（5）。
# - **正弦曲线**（sinusoids）不违反第 1 到第 4 条，第 5 条在平均意义上成立。第 8.4 节会更仔细地看第 5 条。
#
# 关于第 2 条要求，把整数加到两个不同的词的一个分量上：

# %%
def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

one, other = rng.standard_normal((2, 512))                             # (512,) each: two words
for pos in (0, 10, 500):
    number = np.zeros(512)
    number[0] = pos
    wave = sinusoids.table(512)[pos]
    print(f"position {pos:3}   cosine of the two words: with the integer {cosine(one + number, other + number):6.3f}"
          f"   with sinusoids {cosine(one + wave, other + wave):.3f}")

# %% [markdown] en="8854f2ba"
# 用整数时，这两个词在位置 500 几乎相等。用正弦曲线时，它们也有相同的东西，就是各自所在位置的编码，但在 500 处并不比在 0 处更多。
#
# ## 8.3 手算正弦曲线
#
# $$PE_{(pos, 2i)} = \sin\frac{pos}{10000^{2i/d_\mathrm{model}}}, \qquad PE_{(pos, 2i+1)} = \cos\frac{pos}{10000^{2i/d_\mathrm{model}}} \qquad \text{(Section 3.5)}$$
#
# 每两列是一对：同一个角的正弦和余弦。当 $d_\mathrm{model} = 4$ 时有两对，$i = 0$ 和 $i = 1$，而 $10000^{2/4} = 100$。所以两个角是 $pos$ 和 $pos / 100$。
#
# > **预测：** 第 0 行是哪四个数？又有哪一行是 $(\sin 2, \cos 2, \sin 0.02, \cos 0.02)$？

# %%
pos = np.arange(4)                                                     # (T,)
by_hand = np.stack([np.sin(pos), np.cos(pos), np.sin(pos / 100), np.cos(pos / 100)], axis=1)
print(by_hand)                                                         # (T, d_model)
from_class = SinusoidalPositionalEncoding(4, max_len=100).table(4)
print("the same as the class:", np.abs(by_hand - from_class).max() < 1e-12)

# %% [markdown] en="597284db"
# 第 0 行是 $(0, 1, 0, 1)$：0 的正弦和 0 的余弦。另外那一行是第 2 行。类是这样生成这张表的，每一行代码都是公式的一部分：

# %%
print(inspect.getsource(SinusoidalPositionalEncoding.table))

# %% [markdown] en="93e625b9"
# 一对数就像钟表的一根指针：正弦和余弦说明针尖在哪里。图中有三根指针，它们随着我们的例句往前走而转动。

# %%
clock_hands()

# %% [markdown] en="f147276e"
# 每过一个位置，指针 $i$ 就转过 $1 / 10000^{2i/d_\mathrm{model}}$。第一根指针最快。转一圈需要 $2\pi \cdot 10000^{2i/d_\mathrm{model}}$ 个位置，这就是它的**波长**：

# %%
two_i = np.arange(0, 512, 2)                                           # (d_model / 2,)
wavelength = 2 * np.pi * 10000 ** (two_i / 512)
print("pairs", len(wavelength), "  first ones", wavelength[:3], "  last", wavelength[-1].round())
print("each is longer than the one before by a factor", wavelength[1] / wavelength[0])

# %% [markdown] en="c25235e6"
# 论文说波长“从 $2\pi$ 到 $10000 \cdot 2\pi$”，后者是 $62\,832$；最后一对是 $2i = 510$，比它还差一步。图中是 64 个位置、$d_\mathrm{model} = 32$ 的表。每一列是一条波，请从上往下看。左边的列是快波，越往右越慢。最右边的列一深一浅：仍接近 0 的正弦，旁边是仍接近 1 的余弦。

# %%
plot_positional_encoding(SinusoidalPositionalEncoding(32, max_len=64).table(64))

# %% [markdown] en="f42a4a41"
# **二进制计数器**也是这样工作的：每数一个数，最低位就翻转一次，下一位翻转的次数减半，依此类推。所有的位合在一起，就表示这个数。正弦曲线是没有跳跃的计数器：二进制的位突然翻转，指针则平滑移动。所以相邻的位置，编码也相邻。只用第一根快指针为什么不够？

# %%
clock = SinusoidalPositionalEncoding(2, max_len=1000).table(1000)      # (1000, 2)  one hand
for k in (1, 22, 44, 710):
    print(f"positions 0 and {k:3}: {k / (2 * np.pi):8.4f} turns, distance {np.linalg.norm(clock[k] - clock[0]):.5f}")

# %% [markdown] en="1cbc8aa2"
# 经过 44 个位置，指针几乎恰好转了 7 圈；经过 710 个位置，几乎恰好转了 113 圈。没有两个位置的编码相等，但许多编码太相像，无法分辨。慢指针能分辨它们，就像钟表上只看分针不够，还要看时针。
#
# ## 8.4 走 k 步就是一次旋转
#
# 取一对数，记 $\omega = 1 / 10000^{2i/d_\mathrm{model}}$。指针往前走 $k$ 个位置，就转过角 $\omega k$，不管它原来在哪里。图中的指针顺时针转动。写成公式，就是和角公式：
#
# $$\sin \omega(pos + k) = \phantom{-}\cos(\omega k)\, \sin(\omega\, pos) + \sin(\omega k)\, \cos(\omega\, pos)$$
# $$\cos \omega(pos + k) = -\sin(\omega k)\, \sin(\omega\, pos) + \cos(\omega k)\, \cos(\omega\, pos)$$
#
# 两个式子的右边都是原来那一对数的线性组合。四个系数构成一个 2 × 2 的矩阵，其中有 $k$，没有 $pos$。

# %%
def turn(omega, k):
    c, s = np.cos(omega * k), np.sin(omega * k)
    return np.array([[c, s], [-s, c]])                                 # (2, 2)

hand = SinusoidalPositionalEncoding(4, max_len=1000).table(1000)[:, 2:]    # (1000, 2)  i = 1
M_3 = turn(1 / 100, 3)
print(M_3)

# %% [markdown] en="98a1707d"
# > **预测：** $M_3$ 把位置 5 变成位置 8。它把 100 变成什么？连用两次 $M_3$，相当于哪一个矩阵？

# %%
print("  5 →   8:", np.abs(M_3 @ hand[5] - hand[8]).max() < 1e-12)
print("100 → 103:", np.abs(M_3 @ hand[100] - hand[103]).max() < 1e-12)
print("every one:", np.abs(hand[:-3] @ M_3.T - hand[3:]).max() < 1e-12)
print("M_3 M_3 = M_6:", np.abs(M_3 @ M_3 - turn(1 / 100, 6)).max() < 1e-12)

# %% [markdown] en="76c53d11"
# $M_3$ 把 100 变成 103，连用两次就是 $M_6$。走多少步，就有一个对应的矩阵，步数还可以相加。把所有的对合起来，$M_k$ 为每一对各有一个这样的块，于是 $PE_{pos+k} = M_k\, PE_{pos}$。
#
# 作者选择正弦曲线，是因为他们*猜想*（hypothesized）这样有帮助（论文第 3.5 节）。它为什么可能有帮助？分数里可以含有 $PE_p^\top M_k\, PE_j$ 这一项，因为 $W^Q$ 和 $W^K$ 能学到 $M_k$ 这样的矩阵，$d_k$ 容得下多少对，就能学多少对（第 6.6 节）。而 $M_k\, PE_j = PE_{j+k}$，所以这一项在键位于 $j = p - k$ 时最大：对所有的位置，“往回看 $k$ 步”都是同一个矩阵。（旋转位置编码 RoPE 由 Su 等（2021）提出，今天的大多数语言模型都在用。它不加任何东西，而是用这些矩阵旋转查询和键。）
#
# 旋转不改变长度，于是第 4 条要求成立：对每个 $p$，$\lVert PE_{p+k} - PE_p \rVert$ 都相同。点积也是如此，因为 $\sin a \sin b + \cos a \cos b = \cos(a - b)$：
#
# $$PE_p \cdot PE_{p+k} = \sum_i \cos(\omega_i k).$$
#
# 实验 `rotation` 在 $d_\mathrm{model} = 512$ 时检验这一点，并与一张随机编码的表比较。图中是两个编码的夹角余弦随它们的距离怎样变化，也就是第 5 条要求。所有编码的长度都相同（第 8.5 节），所以夹角余弦就是点积除以 256。三种大小的圆圈代表三个位置。

# %%
rotation = ROTATION.run()
print(f"PE(pos + k) = M_k PE(pos) holds within {rotation.error.max():.0e};"
      f" random codes, best matrix of all: off by {rotation.random_error.min():.1f} or more")
fig = new_figure(7, 3.8)
rotation.draw_similarity(fig.subplots())
fig

# %% [markdown] en="7aafdbc0"
# 三个位置的曲线是同一条：圆圈一个套着一个。曲线在距离 0 处最高，随距离下降。但它*每*走一步都下降吗？

# %%
product = sinusoids.table(200) @ sinusoids.table(200)[0] / 256         # (200,)  PE_0 · PE_k
falls = np.diff(product) < 0                                           # (199,)
print(f"k = 0, 10, 50, 199: {product[[0, 10, 50, 199]]}   it falls at {falls.sum()} of {falls.size} steps")

# %% [markdown] en="7d11b132"
# 点积并不是每一步都下降：它带着波纹往下走。所以第 5 条要求只在平均意义上成立。近的位置比远的位置编码更相似，但如果两个距离差不多，较大的那个距离，编码反而可能更相似。
#
# ## 8.5 为什么用加法，为什么有 √d_model
#
# 为什么把编码加到词上，而不是放在词的旁边？如果并排放置，投影是 $[x, PE]\, W = x W_x + PE\, W_p$。如果相加，投影是 $(x + PE)\, W = x W + PE\, W$。可见相加是 $W_x = W_p$ 的特例：这是它的代价，好处是宽度不变。那么词和位置会混在一起吗？512 维里有的是地方。数一数编码用了多少个方向：

# %%
table = sinusoids.table(100)                                           # (100, 512)
share = np.linalg.svd(table, compute_uv=False) ** 2
share = np.cumsum(share) / share.sum()                                 # (100,)
directions = np.searchsorted(share, 0.99) + 1
print(f"{directions} directions of 512 hold 99 % of the codes of 100 positions")

# %% [markdown] en="c6dfdbb4"
# 其余的方向可以留给词，而可学习的 $W$ 能够从中挑出词或者位置。但两者的大小必须相近，这里就有矛盾。词的嵌入是矩阵 $E$ 的一行。本库抽取 $E$ 的元素时，方差取 $1/d_\mathrm{model}$，因为 $E$ 还有第二个用途（论文第 3.4 节，第 9 课）：在模型的末端，一个词的分数是它在 $E$ 中的那一行乘输出 $x$。这样的分数叫作 **logit**。它是宽度为 $d_\mathrm{model}$ 的点积（第 3 课）：

# %%
E = Embedding(1000, 512, rng=rng).E.value                              # (vocab_size, d_model)
x = rng.standard_normal((100, 512))                                    # as after a layer norm
print(f"logits: standard deviation {(x @ E.T).std():.2f},"
      f" with entries of variance 1 it would be {(x @ (E * 512**0.5).T).std():.1f}")

# %% [markdown] en="fe52b68f"
# 所以，作为输出矩阵，$E$ 必须小。那么作为嵌入呢？
#
# > **预测：** $d_\mathrm{model} = 512$。$PE$ 的一行由正弦和余弦组成，它的长度是多少？$E$ 的一行长度大约是 1。位置的长度是词的多少倍？

# %%
position_length = np.linalg.norm(table, axis=1)                        # (100,)
word_length = np.linalg.norm(E, axis=1).mean()
print("position:", position_length.min(), "to", position_length.max())
print(f"word: {word_length:.2f}   position / word: {position_length[0] / word_length:.0f}")

# %% [markdown] en="834b608c"
# 位置的长度是词的 16 倍：256 对中的每一对都有 $\sin^2 + \cos^2 = 1$，所以每一行的长度是 $\sqrt{256}$。位置会把词淹没。所以这一层把词乘上 $\sqrt{d_\mathrm{model}}$，大约是 22.6。这样，词就成了两者中较长的一个：

# %%
print(inspect.getsource(Embedding.forward))
word = Embedding(1000, 512, rng=rng)(np.arange(1000))                  # (1000, 512)  as the layer returns it
scaled_length = np.linalg.norm(word, axis=1).mean()
print(f"√512 = {512**0.5:.1f}   word: {scaled_length:.1f}   word / position: {scaled_length / position_length[0]:.2f}")

# %% [markdown] en="0be01369"
# 不论宽度是多少，这个比值都是 $\sqrt2$，因为正弦或余弦的平方平均是 ½。论文没有说明为什么要乘这个因子。原因之一可能是：在这样抽取 $E$ 时，它使词和位置的大小相近。实验 `embedding_scale` 给许多词加上位置，有这个因子和没有这个因子各做一次。要比较的是，哪两个和更相像：一个词在两个位置上，还是两个词在一个位置上？（表的最后两列是夹角余弦的平均值。）
#
# > **预测：** $d_\mathrm{model} = 512$，没有这个因子：哪一种情形的两个和更相像？

# %%
scale = EMBEDDING_SCALE.run()
print("d_model            word / position   one word, two positions   two words, one position")
for row, factor in enumerate(("with   ", "without")):
    size = (scale.scaled, scale.unscaled)[row] / scale.position
    for i in (0, 3, 6):
        print(f"{scale.d_model[i]:5}  {factor} {size[i]:15.2f} {scale.same_token[row, i]:22.2f}"
              f" {scale.same_position[row, i]:25.3f}")

# %% [markdown] en="0aa686bd"
# 没有这个因子时，同一位置上的两个*不同的词*，比两个位置上的同一个词更相像。宽度为 512 时，它们几乎相等，模型越宽越糟。有了这个因子，不论宽度是多少，一个词在每个位置上都认得出来。
#
# ## 8.6 可学习的位置
#
# 论文还试过最朴素的办法：一张参数表，每个位置占一行，像嵌入一样学习。

# %%
learned = LearnedPositionalEncoding(16, max_len=8, rng=rng)            # E (max_len, d_model)
x = rng.standard_normal((4, 5, 16))                                    # (B, T, d_model)
y, cache = learned.forward(x)
learned.backward(np.ones_like(y), cache)
print("y = x + E[pos]:", np.abs(y - (x + learned.E.value[:5])).max() < 1e-12)

# %% [markdown] en="253492fa"
# > **预测：** 表有 8 行，序列有 5 个词元。哪些行得到梯度？

# %%
print("largest gradient of each row:", np.abs(learned.E.grad).max(axis=1))

# %% [markdown] en="1dac0248"
# 前五行得到梯度。（每行是 4：每个序列贡献一个 1。）如果没有更长的序列，第 5 到第 7 行就永远学不到东西：抽取时是什么，就一直是什么。最后一行之后，则根本什么也没有。本库的两种编码在那里都会报错。对正弦曲线来说，`max_len` 只是你设定的上限；对可学习的编码来说，它就是行数。

# %%
try:
    learned(np.zeros((1, 9, 16)))
except ValueError as error:
    print("ValueError:", error)

# %% [markdown] en="7e304300"
# 可学习的好，还是正弦曲线好？论文的表 3 (E) 说几乎没有区别。（两者最后的困惑度都是 $4.92$。困惑度是衡量错误的一种量，见第 10.2 节。）作者选了正弦曲线，因为它*或许*适用于比训练时更长的序列；他们没有检验这一点。实验 `learned_positions` 来检验：小模型学习复制最多 8 个符号，然后要在训练时没有用过的（held-out）序列上复制更多的符号。有 10 个符号时，也就是比训练时多两个，正弦曲线有帮助吗？

# %%
if Path("../figures/learned_positions.json").exists():                 # what the whole experiment found
    trained = LEARNED_POSITIONS.load("../figures")
else:                                                                  # a small one, in seconds
    trained = LEARNED_POSITIONS.run(seeds=(0,), steps=250, tests=300, longest=12)
for name, one, two, steps in zip(trained.encodings, trained.beyond(1), trained.beyond(2), trained.reached):
    print(f"{name:27}  9 symbols: {one:4.0%}   10 symbols: {two:4.0%}"
          f"   95 % of the training tokens right after {np.median(steps):.0f} steps")

# %% [markdown] en="cd1e78f7"
# 不论用哪一种编码，10 个符号的序列几乎从来没有完全复制正确。只多*一个*符号时，正弦曲线还能复制对少数几个。左图是训练过程，右图是完全复制正确的比例随长度怎样变化。第三条线给每个*分数*加上一个可学习的数，键与查询的每种距离各有一个（第 8.7 节）。它能一直撑到长得多的序列。

# %%
trained.figure()

# %% [markdown] en="4ab6c0bd"
# 所以，在训练过的长度之内，两种编码都管用；在这里，可学习的编码需要的训练步甚至更少。超出这些长度，可学习的行只是噪声。正弦曲线在那里仍然算得出来，但模型从未见过这样的组合，大概也没有学会怎样处理它们。Press 等（2022）在语言模型上发现了同样的现象，他们改为按距离给分数加上一个数（ALiBi）。（可学习的位置用在 BERT 和 GPT-2 等模型中。）
#
# ## 8.7 选读：相对位置，只看距离
#
# 第三条线的模型根本不给词元任何位置。它给*分数*加上一个可学习的数，这个数只取决于键离查询有多远：
#
# $$s_{ij} = \frac{q_i \cdot k_j}{\sqrt{d_k}} + b_{j - i}$$
#
# （这不在论文中：像 T5 那样每种距离一个数，又像 Shaw 等（2018）那样把超过最大距离的都截断。）图中是它给全为 0 的分数加上的值：一个头，最大距离是 3。为了让对角线容易看清，我们把 $j - i$ 本身写了进去。

# %%
bias = RelativePositionBias(1, 3, rng=rng)                             # b (2 · 3 + 1, h)
bias.b.value[:, 0] = np.arange(-3, 4)                                  # made up, not learned
added = bias(np.zeros((1, 5, 5)))[0]                                   # (T_q, T_k)
plot_signed(added, range(5), range(5), value="added to the score", title="One number for each distance")

# %% [markdown] en="8502edd6"
# 每条对角线上只有一个数（这样的矩阵叫作 Toeplitz 矩阵），从距离 3 起，两边各只有一个数。7 个数填满了 25 个格子，也能填满一百万个。现在把句子移动一下：同样的五个词元，一次单独出现，一次排在四个已经掩蔽的 `<pad>` 后面，位于位置 4 到 8。

# %%
near = np.array([[1, 2, 3, 1, 2]])                                     # (1, 5)
later = np.array([[0, 0, 0, 0, 1, 2, 3, 1, 2]])                        # (1, 9)

def map_of(layer, ids, encode):
    x = encode(embedding(ids))                                         # (1, T, d_model)
    _, cache = layer.forward(x, x, x, allowed=not_padding(ids))
    return cache.attention.weights[0][:, -5:, -5:]                     # (h, 5, 5)

# %% [markdown] en="d1a3e770"
# > **预测：** 这五个词元的注意力图会变吗？用正弦曲线时呢？用相对偏置时呢？

# %%
absolute = MultiHeadAttention(16, 2, rng=rng)
relative = MultiHeadAttention(16, 2, attention=relative_attention, rng=rng)
sines = SinusoidalPositionalEncoding(16, max_len=64)
changes = {}
for name, layer, encode in (("sinusoids", absolute, sines), ("relative ", relative, lambda x: x)):
    changes[name] = np.abs(map_of(layer, later, encode) - map_of(layer, near, encode)).max()
    print(f"{name}  largest change of a weight {changes[name]:.1e}")

# %% [markdown] en="25e3e7c7"
# 用偏置时，注意力图不变，因为距离没有变。不管学到什么，平移不变性都由*构造本身*保证。正弦曲线只是使它成为可能：由 $x + PE$ 这个和算出的分数中，还有词与位置相乘的项，而且 $W^Q$ 和 $W^K$ 可以是任何矩阵。
#
# ## 8.8 选读：一次一个词元
#
# 模型写作时，词元一个一个地来。有了键值缓存（第 13.8 节），模型每次只收到最新的词元。这个词元在数组中是第 0 行，所以必须告诉这一层它的位置：`start`。

# %%
x = embedding(near)                                                    # (1, 5, d_model)
whole = sines(x)                                                       # (1, 5, d_model)
pieces = [sines(x[:, t : t + 1], start=t) for t in range(5)]           # (1, 1, d_model) each
forgot = [sines(x[:, t : t + 1]) for t in range(5)]
print("with start   :", np.abs(np.concatenate(pieces, axis=1) - whole).max())
print("without start:", np.abs(np.concatenate(forgot, axis=1) - whole).max().round(2))

# %% [markdown] en="d51a3d3a"
# 没有 `start`，每个词元都会是第一个。第 3 条要求在这里有了回报：一个词元的编码不取决于后面还有多少词元。如果用 $pos / T$，每来一个新词元，其余所有词元的编码都会变。

# %% [markdown] en="8b44d84f"
# ## 8.9 选读：在训练好的模型里试一试
#
# 拿走训练好的模型的位置，它也会这样丢失次序。
#
# > **预测：** 一个学会了复制的模型拿不到位置。它先后读到 `1 1 2`、`1 2 1` 和 `2 1 1`。三个答案中哪些相同？
#
# 打开[没有位置的复制模型](../../docs/live/copy.html#src=1+1+2&kind=cross&layer=0&head=0&what-if=positions&lang=zh)，输入另外两个序列，看“changed”（改动之后）那幅注意力图中两个 `1` 的列。

# %% [markdown] en="bcb19898"
# 三个答案全都相同，所以三次复制至多有一次是对的。（我们的模型只写了一个 `1`。）两个 `1` 离开编码器时是同一个向量，所以它们的列在每一行都相等。解码器对值做加权求和，而求和与各项的次序无关。

# %% [markdown] en="9f7c4fb7"
# ## 8.10 检验本课的结论

# %%
assert np.abs(y_plain[0, 1] - y_plain[1, 3]).max() < 1e-12             # cat = cat: a set
assert np.allclose(far(codes["one-hot"](512), 256), 2**0.5)            # as far as from 0 to 1
assert permutation.verdict == rotation.verdict == scale.verdict == "agrees"
unique, largest, moved, least, most = rows["sinusoids"]                # wishes 1 to 4
assert unique == 512
assert largest <= 1
assert moved < 1e-12
assert most - least < 1e-9
assert np.all(np.diff(distances["sinusoids"]) > 0)                     # wish 5, on average
assert not falls.all()                                                 # ... not at every step
assert np.abs(by_hand - from_class).max() < 1e-12
assert np.abs(hand[:-3] @ M_3.T - hand[3:]).max() < 1e-12              # a step is a rotation
assert np.allclose(position_length, 16)
assert abs(scaled_length / position_length[0] - 2**0.5) < 0.05
assert not learned.E.grad[5:].any()                                    # rows that no token used
assert trained.beyond(2)[:2].max() < 0.1 < 0.3 < trained.beyond(2)[2]
assert changes["relative "] < 1e-12 < 0.01 < changes["sinusoids"]
assert np.abs(np.concatenate(pieces, axis=1) - whole).max() < 1e-12
print("all true")

# %% [markdown] en="8e51669e"
# ## 小结
#
# - 注意力、层规范化和前馈网络都是置换等变的：没有位置，编码器读到的就是一个词袋。
# - 位置的编码应当唯一、有界、与长度无关、步距均匀，并且位置相近时编码相似。整数、分数、独热和二进制都至少违反其中一条。正弦曲线满足前四条，最后一条在平均意义上满足。
# - 走 $k$ 步，就是把正弦曲线的每一对旋转一下：$PE_{pos+k} = M_k\, PE_{pos}$，而 $PE_p \cdot PE_{p+k}$ 只取决于 $k$。
# - 用加法，而不是并排：宽度不变，而且有足够的地方。嵌入兼作输出矩阵，所以很小；$\sqrt{d_\mathrm{model}}$ 使它与位置的大小相近。
# - 可学习的，还是正弦曲线？在训练过的长度之内，两者差不多。超出这些长度，两者在这里都失败；按距离给分数加偏置，能撑得更久。
#
# ## 问题
#
# **1.** 位置只在第一层下面加一次。最后一层怎么还能知道词元在哪个位置？
#
# <details><summary>答案</summary>
#
# 残差路径把它带上来（第 7 课）：每个子层都是在进来的东西上做加法，所以位置随着词一起往上走，除非模型学会把它去掉。而且，注意力搬运词元所知道的东西时，也把它的位置一起搬走。
#
# </details>
#
# **2.** 一个没有位置的编码器，后面先对所有词元求平均，再接一个分类器。它分不清哪些句子？
#
# <details><summary>答案</summary>
#
# 如果两个句子有相同的词，每个词出现的次数也相同，那么不论次序如何，它都分不清：$f(Px) = P f(x)$，而对各行求平均看不见 $P$。它读到的是一个词袋，不过每个词都知道袋里还有哪些词。
#
# </details>
#
# **3.** 你使用 $d_\mathrm{model} = 512$ 的 $PE$，而所有序列至多有 20 个词元。最慢的那些指针告诉模型什么？
#
# <details><summary>答案</summary>
#
# 几乎什么也没有：波长为 60 000 的指针，20 个位置只转过大约十分之一度。它的正弦一直接近 0，余弦一直接近 1，是个常数。这些列实际上可以留给词用。
#
# </details>
