# %% [markdown] en="71051b81"
# # 第 13 课 · 代价是多少：自注意力、循环、卷积
#
# | | |
# |---|---|
# | **你将做什么** | 数清四种层的每一次乘法，给它们计时，测量它们的内存；把它们切成两半，分给两个工人；用精确的零找出一条消息要经过几层；最后打印论文的表 1，把你自己的测量放进去 |
# | **你将学到** | 自注意力什么时候比循环便宜；$(n, n)$ 的注意力图代价多大，怎样可以不要它；CNN、RNN 和自注意力在并行性和路径长度上有何不同；这对长序列和解码意味着什么 |
# | **需要** | 第 1 课和第 5 课；反向传播（第 4 课）只需知道有这回事 |
# | **论文** | 第 4 节、表 1 |
# | **时间** | 50 分钟，不含标有*选读*的部分（运行其中的单元格，跳过文字。后面的部分都用不到它们） |
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
from pathlib import Path

import numpy as np

from aiayn_np import Module, MultiHeadAttention, ScaledDotProductAttention, causal
from aiayn_np.experiments.claims.complexity import COMPLEXITY
from aiayn_np.experiments.counting import count
from aiayn_np.experiments.measuring import STEADY, peak_bytes, seconds
from aiayn_np.plotting.drawings import figure_1
from aiayn_np.plotting.figures import COLORS, MARKERS, new_figure
from aiayn_np.variants.convolution import Convolution1D
from aiayn_np.variants.local import LocalAttention
from aiayn_np.variants.memory_efficient import MemoryEfficientAttention
from aiayn_np.variants.recurrent import GRU, RNN

np.set_printoptions(precision=4, suppress=True)

# %% [markdown] en="32e5038e"
# 对照图 1，这一课要问的是：各个注意力的代价是多少，还有什么可以代替它们？

# %%
figure_1("self_attention")

# %% [markdown] en="f8f5907d"
# ## 13.1 做同一件事的四种层
#
# 编码器的一层，把 $n$ 个宽度为 $d$ 的向量变成 $n$ 个宽度为 $d$ 的向量，每个新向量都可以含有其他向量的信息。论文第 4 节比较四种层：自注意力（所有位置看所有位置）、受限自注意力（每个位置看 $r$ 个邻居）、循环层、卷积。
#
# - **循环层**（RNN）从一个词元到下一个词元传递一个状态：$h_t = \tanh(x_t W + h_{t-1} U + b)$。状态 $h_t$ 就是它的输出。
# - **卷积**把一个窗口内的 $k$ 个词元加起来，每个先乘自己的矩阵：$y_t = \sum_j x_{t+j} W_j + b$。
#
# 这一课采用表 1 的字母：$n$ 是词元数（别处写作 $T$），$d$ 是 $d_\text{model}$，$k$ 是窗口的宽度而不是键，$r$ 是邻居数，$h_t$ 是状态。

# %%
rng = np.random.default_rng(0)
n, d, radius, k = 24, 8, 2, 3
r = 2 * radius + 1                                                     # neighbours, itself included
layers = {"self-attention": ScaledDotProductAttention(), "restricted": LocalAttention(radius),
          "recurrent": RNN(d, d, rng=rng), "convolution": Convolution1D(d, d, k, rng=rng)}

def inputs(layer, x):                                                  # attention: as Q, as K and as V
    return [x] * (3 if isinstance(layer, ScaledDotProductAttention | MultiHeadAttention) else 1)

# %%
x = rng.standard_normal((n, d))                                        # (n, d)
caches = {name: layer.forward(*inputs(layer, x))[1] for name, layer in layers.items()}
print("map of self-attention ", caches["self-attention"].weights.shape, " (n, n)")
print("band of the restricted", caches["restricted"].band.shape, "  (n, r)")
print("states of the RNN     ", caches["recurrent"].y.shape, "  (n, d), and U", layers["recurrent"].U)
print("W of the convolution  ", layers["convolution"].W.value.shape, "(k, d, d)")

# %% [markdown] en="f1ab102d"
# 自注意力你已经认识。下面是 RNN 和卷积的前向传播：

# %%
print(inspect.getsource(RNN.forward))
print(inspect.getsource(Convolution1D.forward))

# %% [markdown] en="96a1c62b"
# RNN 先对所有词元计算 $xW + b$（`linear_x`），然后用一个循环语句把状态 $h$ 从一个词元传给下一个。卷积的循环语句遍历窗口的 $k$ 个位置，不遍历词元。

# %% [markdown] en="48207ec9"
# **在纸上数**。$(a, b)$ 与 $(b, c)$ 的矩阵相乘，要 $a\,b\,c$ 次乘加。
#
# - 自注意力：$QK^\top$ 是 $(n, d)(d, n)$，权重乘 $V$ 是 $(n, n)(n, d)$：一共 $2 n^2 d$
# - 受限自注意力：同上，但键不是 $n$ 个而是 $r$ 个：$2 r n d$
# - 循环层：$x W$ 是 $(n, d)(d, d)$，$h\,U$ 是 $(1, d)(d, d)$，做 $n$ 次：$2 n d^2$
# - 卷积：$k$ 个 $(n, d)(d, d)$ 的乘积：$k n d^2$
#
# **实际地数**。`count` 把一个会计数的数组送进一层：NumPy 会把每一次运算告诉这个数组；遇到矩阵乘法，它就把乘加次数累加起来。它还会说出有多少次乘法必须一个等一个，即*链*的长度；第 13.4 节要用到。先试一下：一次 (2, 3) 乘 (3, 4)，再试接连两次：

# %%
A, B, C = np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 4))
print("chain and multiply-adds:", count(lambda A: A @ B, A), count(lambda A: A @ B @ C, A))

# %% [markdown] en="b24c78c5"
# > **预测：** $n = 24$，$d = 8$，$r = 5$，$k = 3$。四种层中哪一种需要的乘加最多？

# %%
formula = {"self-attention": lambda n, d: 2 * n**2 * d, "restricted": lambda n, d: 2 * r * n * d,
           "recurrent": lambda n, d: 2 * n * d**2, "convolution": lambda n, d: k * n * d**2}
counted = {name: count(layer, *inputs(layer, x))[1] for name, layer in layers.items()}
for name in layers:
    print(f"{name:15} by formula {formula[name](n, d):6,}   counted {counted[name]:6,}")

# %% [markdown] en="065fdee3"
# 自注意力需要的最多，而且公式是精确的。表 1 略去因子 2，只留下 $n^2 d$、$r n d$、$n d^2$、$k n d^2$。所以自注意力与循环之比是 $n^2 d$ 比 $n d^2$。
#
# > **预测：** $d = 512$，和 base 模型一样。长度是多少时，自注意力比循环便宜？

# %%
print("multiply-adds in millions, d = 512, r = 5, k = 3")
print("n    ", *(f"{name:>15}" for name in formula))
for length in (32, 128, 512, 2048, 8192):
    print(f"{length:<5}", *(f"{f(length, 512) / 1e6:15,.0f}" for f in formula.values()))

# %% [markdown] en="de1db65a"
# $n^2 d$ 比 $n d^2$ 就是 $n$ 比 $d$，所以当 $n < d$ 时，自注意力更便宜：也就是少于 512 个词元时。几乎所有句子都是这样，论文第 4 节也这么说。$n = d$ 时两者相等；$n = 8192$ 时，自注意力的次数是循环的 16 倍。
#
# 表 1 没有算注意力的投影。多头注意力有四个投影，共 $4 n d^2$ 次乘加，是整个 RNN 的两倍：

# %%
whole = MultiHeadAttention(d, 2, rng=rng)
_, total = count(whole, x, x, x)
print(f"multi-head attention {total:,} = 4nd² + 2n²d = {4 * n * d**2 + 2 * n**2 * d:,}")
print(f"RNN                  {counted['recurrent']:,} = 2nd²")

# %% [markdown] en="31580fba"
# 所以，选择注意力并不是因为乘加更少。第 13.4 节说明真正的理由。

# %% [markdown] en="81717d58"
# ## 13.2 计时的结果也如此吗？
#
# 实验 `complexity` 在几种长度和宽度下给前向传播计时，每种一百次。这要几分钟，所以下一个单元格从文件读取它的数；`aiayn-np figures complexity` 可以重新算出来。在对数坐标轴上，幂函数是直线，指数就是斜率。每种层的规模各不相同，所以图中画的是倍数：长度或宽度变成这么多倍时，时间变成多少倍？虚线是表 1 的幂。

# %%
if Path("../figures/complexity.json").exists():                        # what the whole experiment found
    complexity = COMPLEXITY.load("../figures")
else:                                                                  # a shorter one
    complexity = COMPLEXITY.run(repeats=5)
print(complexity.finding)
complexity.figure()

# %% [markdown] en="658dbdc1"
# 幂是对的。但幂没有说明，两种层的代价在*哪里*相等。按计数，自注意力和 RNN 在 $n = d$ 时相等。计时的结果也如此吗？取 $d = 128$，现在就给两者计时。

# %%
d_time, lengths = 128, np.array([16, 32, 64, 128, 256, 512, 1024])
attention, rnn = ScaledDotProductAttention(), RNN(d_time, d_time, rng=rng).astype(np.float32)
clock = []
for length in lengths:
    x_time = rng.standard_normal((length, d_time), dtype=np.float32)   # (n, d)
    clock.append(seconds([lambda x=x_time: attention(x, x, x), lambda x=x_time: rnn(x)], 7, STEADY))
times = np.array(clock).min(axis=-1)                                   # (lengths, 2)  the fastest of 7

# %%
by_clock, by_count = times[:, 0] / times[:, 1], lengths / d_time       # self-attention / RNN
for length, a, b in zip(lengths, by_count, by_clock):
    print(f"n = {length:4}   self-attention / RNN   by count {a:5.2f}   by clock {b:5.2f}")

# %% [markdown] en="d2ef3dd0"
# 在 $n = 128$ 处，自注意力明显更快。图中是这两个比值；在点线以下，自注意力更便宜。

# %%
fig = new_figure(7, 4)
ax = fig.subplots()
for i, (name, ratio) in enumerate({"by count": by_count, "by clock": by_clock}.items()):
    ax.loglog(lengths, ratio, color=COLORS[i], marker=MARKERS[i], label=name)
ax.axhline(1, color="0.6", linestyle=":")
ax.set_xticks(lengths, [str(length) for length in lengths])
ax.set_yticks([0.25, 0.5, 1, 2, 4, 8], ["1/4", "1/2", "1", "2", "4", "8"])
ax.minorticks_off()
ax.set(xlabel="$n$, length of the sequence", ylabel="self-attention / RNN", title=f"$d$ = {d_time}")
ax.legend()
fig

# %% [markdown] en="975906d7"
# 在左边，几乎全部时间都是函数调用的开销。计时的曲线在哪里穿过点线，取决于机器。在这里，它远在 $n = d$ 之后：乘加次数相等，不等于时间相等。部分原因是这个 RNN 用了 Python 的循环语句。另一部分原因见第 13.4 节。

# %% [markdown] en="93016c90"
# ## 13.3 内存：注意力图
#
# 自注意力还有一个平方：注意力图。每个头一幅，形状是 $(n, n)$，要为反向传播保留。
#
# > **预测：** 8192 个词元、8 个头、float32（4 字节），一层的注意力图有多大？

# %%
print(f"{8 * 8192**2 * 4 / 1e9:.1f} GB")

# %% [markdown] en="38f0a0fd"
# 光是这些注意力图就要 2.1 GB，而一个模型有许多层。出路有两条，都在 `aiayn_np.variants` 里。
#
# - `LocalAttention(radius)` 是论文的受限自注意力。它只计算一条带以内的分数，带以外的一概不算。这是另一个函数。
# - `MemoryEfficientAttention(block)` 计算*全部*，但每次只算 `block` 个键，在反向传播中再算一遍。内存中从来没有整幅注意力图，而函数是同一个（Rabe 和 Staats，2021）。FlashAttention（Dao 等，2022）在图形处理器上做这件事。

# %%
Q, K, V, grad = rng.standard_normal((4, 200, 16))                      # (n, d_k) each
near = np.abs(np.subtract.outer(np.arange(200), np.arange(200))) <= 32     # (n, n)  |i - j| ≤ radius

def step(layer, **options):
    out, cache = layer.forward(Q, K, V, **options)
    return out, *layer.backward(grad, cache)                           # (n, d_k) each: out and 3 gradients

plain, banded = step(ScaledDotProductAttention()), step(ScaledDotProductAttention(), allowed=near)
blocks, local = step(MemoryEfficientAttention(64)), step(LocalAttention(32))

# %%
def difference(one, other):
    return max(np.abs(a - b).max() for a, b in zip(one, other))

print("memory-efficient = plain           ", difference(blocks, plain) < 1e-12)
print("local = plain with a mask of a band", difference(local, banded) < 1e-12)
print("local = plain                      ", difference(local, plain) < 1e-12)

# %% [markdown] en="d491383a"
# > **预测：** 序列长度变成两倍。三种注意力的内存各变成几倍？

# %%
def peak(layer, n):
    x = rng.standard_normal((n, 64), dtype=np.float32)                 # (n, d_k)
    return peak_bytes(lambda: layer.backward(x, layer.forward(x, x, x)[1]))

kinds = {"plain": ScaledDotProductAttention(), "memory-efficient": MemoryEfficientAttention(64),
         "local": LocalAttention(32)}
bytes_of = {name: [peak(layer, n) for n in (512, 1024, 2048)] for name, layer in kinds.items()}
for name, sizes in bytes_of.items():
    print(f"{name:17}", *(f"{size / 1e6:6.1f} MB" for size in sizes), f"  × {sizes[-1] / sizes[-2]:.1f}")

# %% [markdown] en="4478f6d0"
# 保留注意力图，内存变成 4 倍；不保留，变成 2 倍。省内存的注意力仍然要做全部 $n^2 d$ 次乘加，有一些还要做两遍：它节省的是内存，不是计算量。局部注意力两样都省，却看不远；它为此付出什么，见第 13.5 节。

# %% [markdown] en="0e5cc56d"
# ## 13.4 并行性：谁必须等？
#
# 你有两个工人。一个计算输出的前一半，另一个同时计算后一半，谁也不重复对方的工作。
#
# > **预测：** 自注意力、卷积、RNN，哪些可以这样做？

# %%
half = n // 2
f, whole_input = layers["self-attention"], (x, x)                      # keys and values: all of x
two = np.concatenate([f(x[:half], *whole_input), f(x[half:], *whole_input)])
print("self-attention", np.abs(two - f(x, x, x)).max() < 1e-12)
f = layers["convolution"]                                              # each half and one neighbour
two = np.concatenate([f(x[: half + 1])[:half], f(x[half - 1 :])[1:]])
print("convolution   ", np.abs(two - f(x)).max() < 1e-12)
f = layers["recurrent"]
two = np.concatenate([f(x[:half]), f(x[half:])])
print("recurrent     ", np.abs(two - f(x)).max() < 1e-12)

# %% [markdown] en="e10ecb8c"
# 自注意力和卷积可以，RNN 不行：第二个工人缺少第一个工人的最后一个状态。状态 $h_t$ 需要 $h_{t-1}$，后者又需要 $h_{t-2}$，依此类推。如果每个输出都有一个工人，自注意力和卷积可以同时算出全部输出。而在 RNN 中，除一个工人以外，其他人都得等着。
#
# 表 1 把它叫作“sequential operations”（顺序操作）。`count` 知道它是多少：它给出最长的一条矩阵乘法的链，链中每一次乘法都需要前一次的结果。
#
# > **预测：** $n = 24$ 时，四种层的最长链各有多长？$n = 48$ 时呢？

# %%
longer = rng.standard_normal((48, d))                                  # (n, d)
chains = {name: [count(layer, *inputs(layer, data))[0] for data in (x, longer)]
          for name, layer in layers.items()}
for name, chain in chains.items():
    print(f"{name:15} n = 24: {chain[0]:2}   n = 48: {chain[1]:2}")

# %% [markdown] en="407b35ec"
# 自注意力的链长是 2，先是分数，再是输出，与序列多长无关。卷积的链长是 1（它的 $k$ 次乘法互不等待）。RNN 的链长是 $n + 1$（只数矩阵的乘法）：先是 $xW$，然后每一步与 $U$ 相乘一次。
#
# RNN 必须一行接一行地做乘法。不能合成一次乘法，代价是多少？用 1024 行乘同一个矩阵，一种做法是一次乘完，另一种做法是逐行相乘。乘加次数相同。

# %%
X = rng.standard_normal((1024, 128), dtype=np.float32)                 # (n, d)
U = rng.standard_normal((128, 128), dtype=np.float32)                  # (d, d)
at_once, row_by_row = seconds([lambda: X @ U, lambda: [row @ U for row in X]], 9, STEADY).min(axis=1)
print(f"row by row takes {row_by_row / at_once:.0f} times as long")

# %% [markdown] en="1272d369"
# 这只用了*一个*处理器核，也没有哪一行要等另一行。逐行相乘时，处理器核为每一行重新读一遍 $U$，Python 也为每一行做一次调用。在第 13.2 节中，自注意力比计数所说的更快，另一个原因就是前一点。等待本身在一个核上看不出来。在有几千个核的硬件上才看得出来：如果各行不必等待，它可以给每一行一个核。这是论文不用循环的第一个理由（论文第 1 节）。

# %% [markdown] en="40fdff5d"
# ## 13.5 路径长度：一条消息要经过几层？
#
# 最后一个词元需要的东西，可能在最开头。它要经过几层？反向传播给出 $\partial y_t / \partial x_s$。如果输出 $t$ 不依赖输入 $s$（这时就说输出*听不见*输入），这个导数精确地等于零。要一次问遍所有的 $t$，就取序列的 $n$ 份副本，在第 $t$ 份中只向输出 $t$ 送入梯度。

# %%
def hears(stack, n=27, d=8):
    """(n, n): whether output t, the row, depends on input s, the column."""
    x = np.stack([rng.standard_normal((n, d))] * n)                    # (n, n, d)  n copies
    caches = []
    for layer in stack:
        x, cache = layer.forward(*inputs(layer, x))
        caches.append(cache)
    grad = np.eye(n)[:, :, None] * rng.standard_normal(d)              # (n, n, d)  copy t: at output t
    for layer, cache in zip(reversed(stack), reversed(caches)):
        grad = layer.backward(grad, cache)
        grad = sum(grad) if isinstance(grad, tuple) else grad          # as Q, as K, as V
    return (grad != 0).any(axis=-1)                                    # (n, n)

# %%
make = {
    "self-attention": lambda: MultiHeadAttention(8, 2, rng=rng),
    "restricted, r = 9": lambda: MultiHeadAttention(8, 2, attention=LocalAttention(4), rng=rng),
    "convolution, k = 3": lambda: Convolution1D(8, 8, 3, rng=rng),
    "recurrent": lambda: RNN(8, 8, rng=rng),
}
shown = [("convolution, k = 3", 1), ("convolution, k = 3", 4), ("restricted, r = 9", 1),
         ("recurrent", 1), ("self-attention", 1)]
maps = {f"{name}, layers: {N}": hears([make[name]() for _ in range(N)]) for name, N in shown}
for name, heard in maps.items():
    print(f"{name:29} the last output hears {heard[-1].sum():2} of 27 inputs")

# %% [markdown] en="b6c0ca93"
# > **预测：** 27 个词元。要几层，最后一个输出才能听见第一个输入：用卷积（$k = 3$），用受限注意力（$r = 9$，即每边 4 个），用自注意力？

# %%
def layers_needed(new_layer, distance):
    stack = [new_layer()]
    while not hears(stack)[distance, 0]:
        stack.append(new_layer())
    return len(stack)

paths = {name: [layers_needed(new, distance) for distance in (1, 4, 13, 26)] for name, new in make.items()}
for name, path in paths.items():
    print(f"{name:19} distance 1: {path[0]}   4: {path[1]}   13: {path[2]:2}   26: {path[3]:2}")

# %% [markdown] en="f602cafa"
# 卷积需要 26 层，受限注意力需要 7 层，自注意力需要 1 层。每一层，卷积把消息送出 $(k - 1)/2$ 个位置，受限注意力送出 $(r - 1)/2$ 个。所以从一端到另一端，它们需要约 $2n / (k - 1)$ 层和 $2n / (r - 1)$ 层；表 1 略去常数，只留下 $n / r$。自注意力只需要一层，不论距离多远。
#
# 对卷积，表 1 写的是 $\log_k n$，不是 $n / k$。那指的是*空洞*卷积，它的卷积核各点彼此隔开（第 13.6 节会做一个）。
#
# 下图显示谁能听见谁：深色格子是精确的零。每一行是一个输出。

# %%
fig = new_figure(9, 6.4)
axes = fig.subplots(2, 3, sharex=True, sharey=True).flat
axes[5].axis("off")
for ax, (name, heard) in zip(axes, maps.items()):
    ax.imshow(heard, cmap="cividis", vmin=0, vmax=1)
    ax.set_title(name, fontsize="medium")
    ax.set_xticks(range(0, 27, 13))
    ax.set_yticks(range(0, 27, 13))
fig.supxlabel("input position", fontsize="medium")
fig.supylabel("output position", fontsize="medium")
fig

# %% [markdown] en="fdc7fce8"
# RNN 只用一层就能听见前面的一切。那么它的路径和自注意力一样短吗？不是：在这一层里面，消息从一个状态走到下一个状态，要与 $U$ 相乘 $n - 1$ 次。这就是表 1 中的 $n$。

# %% [markdown] en="cb1329a9"
# ## 13.6 选读：空洞卷积，以及消息还剩下多少
#
# *空洞*卷积的卷积核各点，彼此先相距 1 个位置，再相距 $k$ 个，再相距 $k^2$ 个。可以用 `Convolution1D` 做一个：把序列排成 `gap` 行，使一行中相邻的两个在原序列中相距 `gap` 个位置。

# %%
class Dilated(Module):
    def __init__(self, convolution, gap):
        self.convolution, self.gap = convolution, gap

    def apart(self, x):                                                # (..., n, d) -> (..., gap, n / gap, d)
        return x.reshape(*x.shape[:-2], -1, self.gap, x.shape[-1]).swapaxes(-2, -3)

    def together(self, x):                                             # and back
        x = x.swapaxes(-2, -3)
        return x.reshape(*x.shape[:-3], -1, x.shape[-1])

    def forward(self, x):
        y, cache = self.convolution.forward(self.apart(x))
        return self.together(y), cache

    def backward(self, grad_y, cache):
        return self.together(self.convolution.backward(self.apart(grad_y), cache))

# %% [markdown] en="b90c655b"
# > **预测：** 三层 $k = 3$ 的卷积，间距是 1、3、9。正中间的输出能听见 27 个输入中的几个？

# %%
dilated = hears([Dilated(make["convolution, k = 3"](), gap) for gap in (1, 3, 9)])    # (n, n)

print("inputs heard by output 13:", dilated[13].sum())

# %% [markdown] en="284c0745"
# 正中间的输出 27 个全都听得见：每一层乘 3，而 $\log_3 27 = 3$。（靠边的输出听见的要少一些：如果消息要路过序列以外的位置，它就丢了。）
#
# 如果消息在路上变弱，路径长就有影响。测量*最后一个*输出的雅可比矩阵 $\partial y_n / \partial x_s$ 的长度（范数），看它怎样随距离 $n - s$ 变化：对 RNN、GRU 和自注意力各测一次。GRU（Cho 等，2014）是带门的循环层。门 $z$ 在 0 和 1 之间，表示旧状态保留多少：$h_t = z\, h_{t-1} + (1 - z)\, \tilde h_t$。这里什么也没有训练。每条曲线是十次抽取的中位数，每次重新抽取层和序列。

# %%
T, d = 100, 32

def lengths_of_jacobian(new_layer, draws=10):
    found = []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        layer, x = new_layer(rng), np.stack([rng.standard_normal((T, d))] * d)     # (d, T, d)  d copies
        grad = np.zeros((d, T, d))
        grad[:, -1] = np.eye(d)                                        # copy i: entry i of the last output
        _, cache = layer.forward(*inputs(layer, x))
        grad = layer.backward(grad, cache)
        grad = sum(grad) if isinstance(grad, tuple) else grad          # (d, T, d)
        found.append(np.linalg.norm(grad, axis=(0, 2))[::-1])
    return np.median(found, axis=0)                                    # (T,)  distance 0, 1, 2, ...

def open_gru(rng):
    gru = GRU(d, d, rng=rng)
    gru.b.value[d : 2 * d] = 4.0                                       # z near 1: "keep what you have"
    return gru

# %%
messages = {"RNN": lengths_of_jacobian(lambda rng: RNN(d, d, rng=rng)),
            "GRU": lengths_of_jacobian(lambda rng: GRU(d, d, rng=rng)),
            "GRU, told to keep": lengths_of_jacobian(open_gru),
            "self-attention": lengths_of_jacobian(lambda rng: MultiHeadAttention(d, 4, rng=rng))}

# %% [markdown] en="9f7f06db"
# > **预测：** 每走一步，这个 RNN 大约保留四成。50 步之后还剩多少：$10^{-2}$，$10^{-6}$，还是不到 $10^{-12}$？

# %%
for name, length in messages.items():
    print(f"{name:20} distance 1: {length[1]:.0e}   51: {length[51]:.0e}   99: {length[99]:.0e}")
kept_by_rnn = (messages["RNN"][51] / messages["RNN"][1]) ** (1 / 50)
print(f"the RNN keeps {kept_by_rnn:.2f} per step")

# %% [markdown] en="22e9aa05"
# 剩下的远远不到 $10^{-12}$。每一步都把雅可比矩阵乘上 $U^\top$ 和 $1 - h_t^2 < 1$，而在这里，这些因子的乘积按指数衰减（如果 $U$ 更大，它反而可能爆炸）。在图中的对数坐标轴上，直线就是指数函数。在自注意力中，隔 99 个位置的词元与隔 2 个位置的词元一样重要：公式中没有距离。

# %%
fig = new_figure(7, 4.2)
ax = fig.subplots()
for i, (name, length) in enumerate(messages.items()):
    ax.semilogy(length, color=COLORS[i], marker=MARKERS[i], markevery=10, label=name)
ax.set(xlabel="distance from the last output", ylabel="length of the Jacobian", ylim=(1e-25, 30),
       title="How much does the last output hear?")
ax.legend()
fig

# %% [markdown] en="f8ef1ee3"
# 两点说明。循环层可以*学会*记忆：更新门保持在 1 附近时，GRU 每一步只丢失一点点。门就是为此而设的。但它仍然要走 $n$ 步。另外，图中的注意力没有训练过：它对全部 100 个词元看得差不多同样多，所以每个词元约得百分之一。训练可以让它集中，不论距离多远。

# %% [markdown] en="3fba1d92"
# ## 13.7 亲手测量的表 1
#
# 现在把一切放在一起。每种层有两行：论文的说法，和这里的测量。论文的表给的是增长的阶：这里的链长 2 就是表中的 1，这里的 25 就是表中的 $n$。

# %%
paper = {"self-attention": ("n² d", "1", "1"), "restricted": ("r n d", "1", "n / r"),
         "recurrent": ("n d²", "n", "n"), "convolution": ("k n d²", "1", "log_k n")}
found = {"self-attention": "1 layer", "restricted": f"{paths['restricted, r = 9'][-1]} layers (r = 9)",
         "recurrent": "1 layer, 26 steps in it",
         "convolution": f"{paths['convolution, k = 3'][-1]} layers (k = 3, not dilated)"}
in_n, in_d = complexity.exponents("n"), complexity.exponents("d")
print(f"{'layer':15} {'':9} {'operations':12} {'sequential':11} path, n = 27")
for name, (operations, waits, path) in paper.items():
    print(f"{name:15} {'paper':9} {operations:12} {waits:11} {path}")
    print(f"{'':15} measured  {f'n^{in_n[name]:.1f} d^{in_d[name]:.1f}':12} {chains[name][0]:<11} {found[name]}")

# %% [markdown] en="3000a4b7"
# 按列来读这张表。**运算次数**：自注意力随长度的平方增长，循环和卷积随宽度的平方增长，受限注意力对两者都不是平方。**顺序操作**：只有 RNN 必须等。**路径**：只有不受限的自注意力路径是 1。CNN 像注意力一样可以并行，路径却像 RNN 一样长；空洞卷积使它变成对数。

# %% [markdown] en="6256c8e7"
# ## 13.8 这对解码意味着什么
#
# RNN 有一个优点，表 1 没有显示。训练时，解码器知道整个目标序列，所以所有位置一次算出（第 5 课）。*使用*时，它一次写一个词元，每个词元都由前一个得到：这要一个接一个地走 $n$ 步，不管用的是什么层。那么，一步的代价是多少？
#
# 因果的层不必为每个词元把一切重新算一遍。旧词元的键和值不变，所以可以保留。这就是第 5.7 节的键值缓存（KV cache）：

# %%
n, d = 64, 32
layer = MultiHeadAttention(d, 4, rng=rng)
x = rng.standard_normal((n, d))                                        # (n, d)  the tokens, as they come

def decode_with_kept_keys(x):
    K, V, rows = [], [], []
    for t in range(len(x)):
        token = x[t : t + 1]                                           # (1, d)
        k, v, _ = layer.project_KV(token, token)                       # (h, 1, d_k) each
        K, V = K + [k], V + [v]                                        # what is kept grows
        q, _ = layer.project_Q(token)                                  # (h, 1, d_k)
        rows.append(layer.attend(q, np.concatenate(K, axis=1), np.concatenate(V, axis=1))[0])
    return np.concatenate(rows)                                        # (n, d)

at_once = layer(x, x, x, allowed=causal(n))                            # (n, d)  as in training
print("one at a time = all at once:", np.abs(decode_with_kept_keys(x) - at_once).max() < 1e-12)

# %% [markdown] en="0de324b5"
# > **预测：** 如果不保留，第 $t$ 步要让这一层处理全部 $t$ 个词元。对 64 个词元，乘加次数是保留时的多少倍：约 2 倍，约 8 倍，还是超过 30 倍？

# %%
def decode_again_and_again(x):
    return np.concatenate([layer(x[:t], x[:t], x[:t])[-1:] for t in range(1, len(x) + 1)])

kept, again = count(decode_with_kept_keys, x)[1], count(decode_again_and_again, x)[1]
by_rnn = count(RNN(d, d, rng=rng), x)[1]
print(f"keys and values kept {kept:10,}\nagain and again      {again:10,}   × {again / kept:.0f}")
print(f"RNN                  {by_rnn:10,}")

# %% [markdown] en="92530ca2"
# 不保留时，次数是 36 倍，比长度的一半略多。（本库的 `greedy_decode` 也有键值缓存，每一个提供 GPT 服务的程序也都有。）保留键和值时，第 $t$ 步的代价是 $4 d^2 + 2 t d$；每一层要用 $2 t d$ 个数的内存，每来一个词元就多一些。RNN 的一步代价是 $2 d^2$，需要 $d$ 个数的状态，第一个词元如此，第一百万个也如此。
#
# | | 训练，长序列 | 解码，一次一个词元 |
# |---|---|---|
# | RNN | 接连 $n$ 步，路径 $n$ | 每个词元的时间和内存固定 |
# | 卷积 | 并行，路径 $n / k$ 或 $\log_k n$ | 每个词元固定（一个窗口） |
# | 自注意力 | 并行，路径 1，但有 $n^2$ | 第 $t$ 个词元 $t\,d$，还要保留所有的键和值 |
#
# 论文想要训练得更快。就此而言，这笔交易很划算：付出 $n^2$，得到并行和短路径。序列很长时，$n^2$ 就太大了。局部注意力（Longformer：Beltagy 等，2020）和新型的循环（Mamba：Gu 和 Dao，2023）都是少付一些的尝试。

# %% [markdown] en="d88f703d"
# ## 13.9 检验本课的结论

# %%
assert all(counted[name] == formula[name](24, 8) for name in formula)  # the formulas are exact
assert formula["self-attention"](512, 512) == formula["recurrent"](512, 512)       # equal at n = d
assert total == 4 * 24 * 8**2 + 2 * 24**2 * 8                          # with its projections
assert complexity.exponents("n")["self-attention"] > 1.5               # a square
assert complexity.exponents("n")["recurrent"] < 1.5                    # not a square
assert by_clock[lengths == d_time].item() < 1                          # self-attention wins at n = d
assert difference(blocks, plain) < 1e-12 < difference(local, plain)     # the same, another
assert difference(local, banded) < 1e-12
assert bytes_of["plain"][-1] > 3 * bytes_of["plain"][-2]
assert bytes_of["memory-efficient"][-1] < 2.5 * bytes_of["memory-efficient"][-2]
assert {name: chain[1] for name, chain in chains.items()} == {
    "self-attention": 2, "restricted": 2, "recurrent": 49, "convolution": 1}
assert [path[-1] for path in paths.values()] == [1, 7, 26, 1]
assert dilated[13].all()
assert messages["RNN"][51] < 1e-12 * messages["RNN"][1]
assert messages["self-attention"][1:].min() > messages["self-attention"][1:].max() / 10
assert np.abs(decode_with_kept_keys(x) - at_once).max() < 1e-12
assert np.abs(decode_again_and_again(x) - at_once).max() < 1e-12
assert round(again / kept) == 36
print("all true")

# %% [markdown] en="6fc216d1"
# ## 小结
#
# - 乘加次数：自注意力 $2 n^2 d$，受限自注意力 $2 r n d$，循环层 $2 n d^2$，卷积 $k n d^2$。当 $n < d$ 时，自注意力比循环便宜（不算投影）。
# - 注意力图为每个头占用 $n^2$ 个数。省内存的注意力不需要它，而且是同一个函数；局部注意力则是另一个函数。
# - **并行性**：自注意力和卷积同时算出所有位置，RNN 要等 $n$ 次。
# - **路径**：自注意力是 1；RNN 要走 $n$ 步，每一步都使梯度变小；卷积要 $n/k$ 量级的层数，空洞卷积要 $\log_k n$ 层。
# - 解码时，每种模型都是一次写一个词元；这时，RNN 的小状态比所有词元的键和值便宜。
#
# ## 问题
#
# **1.** 一位同事说：“用双向 RNN，两个工人：一个从前往后读，一个从后往前读。这样就并行了。”最长的链有多长？
#
# <details><summary>答案</summary>
#
# 最长的链仍然约为 $n$：每个工人都要一步一步走完整个序列。有事可做的工人是两个，或者有几层就有几个；一百个也没有用。在自注意力中，有 $n$ 个工人可以工作。
#
# </details>
#
# **2.** 字符级的文本：$n = 10\,000$，$d = 512$。按计数，自注意力的代价是循环的多少倍？$r$ 要是多少，受限注意力才比循环便宜？
#
# <details><summary>答案</summary>
#
# 自注意力的代价是 $n / d$ 倍，约 20 倍。当 $2 r n d < 2 n d^2$，即 $r < d = 512$ 时，受限注意力比循环便宜。取 $r = 511$，每层走 255 个位置，总共要走 $n$ 个，从一端到另一端约 40 层：它用路径来付账。
#
# </details>
#
# **3.** 在第 13.5 节，六层受限注意力（$r = 9$）连不起 27 个词元的两端。如果把六层中的*一层*换成完整的自注意力呢？
#
# <details><summary>答案</summary>
#
# 那么所有位置都能听见所有位置：单是这一层的路径就是 1，而其他层不会把它夺走（它们的带包含词元自己）。许多处理长序列的模型，把许多便宜的局部层和少数几个全局层混合使用。用 `hears` 试一试。
#
# </details>
