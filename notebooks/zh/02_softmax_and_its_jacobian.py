# %% [markdown] en="8c5e192c"
# # 第 2 课 · softmax 及其雅可比矩阵
#
# | | |
# |---|---|
# | **你将做什么** | 从我们对它的要求出发造出 softmax，把它弄坏，再修好；逐行推导它的雅可比矩阵，再把它变成 `Softmax.backward` 的两行代码。然后抓出两个貌似正确、其实错误的反向传播 |
# | **你将学到** | 为什么是 $e^s$；为什么大的分数对前向无害，却会让反向的梯度消失；为什么没有人构造雅可比矩阵；怎样*证明*一个梯度，这样的证明又不能证明什么 |
# | **需要** | 第 1 课、商的求导法则、链式法则 |
# | **论文** | 第 3.2.1 节、公式 1 |
# | **时间** | 45 分钟 |
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

from aiayn_np import Softmax, check_gradients
from aiayn_np.plotting.drawings import SENTENCE, figure_1
from aiayn_np.plotting.figures import COLORS, MARKERS, new_figure, plot_signed

np.set_printoptions(precision=4, suppress=True)

# %% [markdown] en="f73ac6a7"
# softmax 位于模型的末端，也位于每一个注意力的内部。图 1 中亮起了这些方框。

# %%
figure_1("attention", "softmax")

# %% [markdown] en="5dbea1b8"
# ## 2.1 为什么用指数？
#
# 一个查询的分数可以是任意实数。（送入 softmax 的分数也叫 **logits**。）权重必须为正，加起来必须等于 1，而且分数越高，权重必须越大。最容易想到的办法是除以总和。下面的单元格分别对分数本身、分数的平方和分数的指数这样做。

# %%
tokens = list(SENTENCE)                     # the cat sat down
s = np.array([-1.0, 1.0, 0.0, -2.0])        # (4,)  one query's scores for four keys
for name, f in {"s": lambda s: s, "s²": np.square, "exp(s)": np.exp}.items():
    print(f"{name:7} {f(s)}   sum {f(s).sum():7.4f}   over the sum {f(s) / f(s).sum()}")

# %% [markdown] en="2e1d702f"
# 直接用分数，会得到负的权重。（这里分数的和是负数，连大小次序都颠倒了。）平方不会是负数，但这时 -2 胜过了 1，而分数 0 什么也得不到。指数处处为正，并且始终递增。它还有第三个性质：$e^{s_j + c} = e^c e^{s_j}$，分子和分母都含有因子 $e^c$。
#
# > **预测：** 给每个分数都加上 100，`cat` 的权重会怎样？

# %%
def by_hand(s):
    return np.exp(s) / np.exp(s).sum()

print("s       ", by_hand(s))
print("s + 100 ", by_hand(s + 100))
print("differ by less than 1e-12:", np.abs(by_hand(s) - by_hand(s + 100)).max() < 1e-12)

# %% [markdown] en="b9add1f6"
# 权重不变：softmax 是**平移不变**的。起作用的只有分数之差，而差决定了权重之比：$w_j / w_k = e^{s_j - s_k}$。不论两个分数处在哪里，多 1 分总是多一个因子 $e$。

# %%
w = by_hand(s)
print("weight of cat / weight of sat:", w[1] / w[2], "  e =", math.e)

# %% [markdown] en="aa227427"
# ## 2.2 上溢，以及减去最大值的技巧
#
# > **预测：** 对于分数 10000、9999 和 0，`by_hand` 会给出什么？（最大的 `float64` 约为 $10^{308}$。）

# %%
large = np.array([1e4, 9999.0, 0.0])
print("largest s whose exp(s) is a float64:", math.log(sys.float_info.max))
with np.errstate(over="ignore", invalid="ignore"):
    print("exp    ", np.exp(large))
    print("by hand", by_hand(large))

# %% [markdown] en="7a908741"
# 结果是 `nan`。float64 的上限略低于 $e^{710}$。更大的指数值会变成 `inf`，而 `inf / inf` 是 `nan`。不过，所有分数可以一起平移，于是我们减去最大的那个分数。这样，最大的指数值是 $e^0 = 1$，不会上溢。总和至少是 1，也就不会除以零。某一项若下溢为 0，那么它在总和中本来就小得无关紧要。

# %%
shifted = large - large.max()
print("shifted      ", shifted)
print("by hand      ", by_hand(shifted))
softmax = Softmax()
print("the library's", softmax(large))

# %% [markdown] en="993f369e"
# 掩蔽用分数 $-\infty$ 来表示“不许看”（第 5 课），因为 $e^{-\infty}$ 恰好是 0。还剩一种情况：如果*所有*分数都是 $-\infty$，最大值也是 $-\infty$，而 $-\infty - (-\infty)$ 又是 `nan`。这个类会找出这样的行，并给它全零：什么都不许看的查询，什么也得不到。

# %%
masked = np.array([[1.0, -np.inf, 0.0],     # (2, 3)
                   [-np.inf, -np.inf, -np.inf]])
print(softmax(masked))

# %% [markdown] en="3082105a"
# ## 2.3 温度
#
# 在 softmax 之前，把分数除以**温度** $\tau$。高温缩小所有的差，低温放大所有的差。
#
# > **预测：** $\tau$ 非常高时，`cat` 的权重是多少？非常低时呢？

# %%
taus = np.logspace(-1.5, 2, 36)
weights = softmax(s / taus[:, None])        # (36, 4)  one row for each temperature
for tau in (100.0, 1.0, 0.1, 0.03):
    print(f"τ = {tau:6}   weights {softmax(s / tau)}")

# %% [markdown] en="b86af413"
# $\tau$ 非常高时，`cat` 的权重是四分之一；非常低时是 1。图中画出了所有温度。最左端是 **argmax**，即独热的一行；最右端是普通平均。softmax 更名副其实的叫法是“soft argmax”（软的 argmax）。温度从不改变次序：几条曲线会靠到一起，但绝不交叉。（语言模型写作时的“温度”，就是这个 $\tau$。）

# %%
fig = new_figure(7, 3.8)
ax = fig.subplots()
for j, token in enumerate(tokens):
    ax.semilogx(taus, weights[:, j], color=COLORS[j], marker=MARKERS[j], markevery=5,
                label=f"{token}, score {s[j]:g}")
ax.set(xlabel="temperature τ", ylabel="weight", title="softmax(s / τ): from argmax to the mean")
ax.legend()
fig

# %% [markdown] en="d370fef9"
# 有两种特殊情况。分数相等，则在任何温度下权重都相等。只有*一个*分数的行，权重总是 1：只有一个键，就没有选择，它的分数也就没有什么可学。

# %%
print("a tie, cold:", softmax(np.array([1.0, 1.0, 0.0]) / 0.01))
print("one key    :", softmax(np.array([-7.0])), softmax(np.array([300.0])))

# %% [markdown] en="ef0a8f40"
# ## 2.4 雅可比矩阵，逐行推导
#
# 移动一个分数 $s_k$，每个权重 $w_j$ 会怎样变化？记 $Z = \sum_i e^{s_i}$，则 $w_j = e^{s_j} / Z$，且 $\partial Z / \partial s_k = e^{s_k}$：和式中只有一项含有 $s_k$。用商的求导法则，分两种情况。
#
# 分数对应自己的权重，$j = k$：
# $$\frac{\partial w_k}{\partial s_k} = \frac{e^{s_k} Z - e^{s_k} e^{s_k}}{Z^2} = w_k - w_k^2 = w_k (1 - w_k)$$
#
# 其余每一个权重，$j \ne k$，这时分子不变：
# $$\frac{\partial w_j}{\partial s_k} = \frac{0 \cdot Z - e^{s_j} e^{s_k}}{Z^2} = -w_j w_k$$
#
# 两种情况合在一起，用 $\mathbb{1}[j = k]$ 表示“相等为 1，否则为 0”：
# $$\frac{\partial w_j}{\partial s_k} = w_j \, (\mathbb{1}[j = k] - w_k)$$
#
# 写成矩阵，行是 $j$，列是 $k$：对角线上放权重，再减去外积。

# %%
w, cache = softmax.forward(s)               # (4,)
J = np.diag(w) - np.outer(w, w)             # (4, 4)
print("w", w)
print(J)

# %% [markdown] en="3df6f430"
# 推导只是论断，还要用测量来检验。把一个键的分数上下移动一小步 $\delta$，看所有权重怎样变化。这就是 $J$ 的一**列**。

# %%
delta = 1e-5
for k, token in enumerate(tokens):
    up, down = s.copy(), s.copy()
    up[k] += delta
    down[k] -= delta
    column = (softmax(up) - softmax(down)) / (2 * delta)               # (4,)
    print(f"{token:5} {column}   agrees to 1e-9: {np.abs(column - J[:, k]).max() < 1e-9}")

# %% [markdown] en="0e37f3ac"
# 图中画出了 $J$ 和它的正负号：紫色为正，橙色为负。这不是注意力图。每一列说的是：“提高这个键的分数，这些权重上升，那些权重下降”。

# %%
plot_signed(J, tokens, tokens, value="change of weight per unit of score",
            rows="weight that moves", columns="score raised", title="Jacobian of softmax")

# %% [markdown] en="634f512e"
# 提高一个分数，只有它自己的权重增加，其余权重全都减少。权重大的键减少得最多。
#
# > **预测：** $J$ 每一列的和是多少？每一行的和呢？$J$ 中可能出现的最大的数是多少？（提示：对角线上的元素是 $w(1 - w)$。）

# %%
print("columns sum to 0:", np.abs(J.sum(axis=0)).max() < 1e-12)
print("rows    sum to 0:", np.abs(J.sum(axis=1)).max() < 1e-12)
p = np.linspace(0, 1, 101)
print("largest w (1 - w):", (p * (1 - p)).max(), "at w =", p[(p * (1 - p)).argmax()])

# %% [markdown] en="9de2d489"
# 两种和都是零，原因却不同。**列**的和为零，是因为权重加起来总是 1：一个权重增加多少，其他权重就一共减少多少。**行**的和为零，是因为平移不变：所有分数一起升高，权重都不动。任何元素都不会超过 0.25。因此，分数移动一小步，它的权重最多移动这一步的四分之一，而且只有权重等于二分之一时才能达到这么多。

# %% [markdown] en="598059fe"
# ## 2.5 从雅可比矩阵到 `backward`
#
# 设 $L$ 是损失。上面的层传下来 $\mathrm{grad\_w}_j = \partial L / \partial w_j$，我们要求 $\mathrm{grad\_s}_k = \partial L / \partial s_k$。链式法则对从 $s_k$ 到 $L$ 的所有路径求和：
#
# $$\mathrm{grad\_s}_k = \sum_j \mathrm{grad\_w}_j \frac{\partial w_j}{\partial s_k}$$
# $$= \sum_j \mathrm{grad\_w}_j \, w_j \, \mathbb{1}[j = k] \;-\; \sum_j \mathrm{grad\_w}_j \, w_j \, w_k$$
# $$= w_k \Big( \mathrm{grad\_w}_k - \sum_j \mathrm{grad\_w}_j \, w_j \Big)$$
#
# 指示函数使第一个和式只剩一项，第二个和式可以提出公因子 $w_k$。矩阵不见了。（第一行就是 $J^\top \mathrm{grad\_w}$。这里的 $J$ 碰巧是对称的，一般情况下转置不能省。）

# %%
rng = np.random.default_rng(0)
grad_w = rng.standard_normal(4)                                        # (4,)  from above
with_matrix = J.T @ grad_w                                             # (4,)  builds n × n
mean_grad = (grad_w * w).sum()                                         # ()
without = w * (grad_w - mean_grad)                                     # (4,)  builds nothing
from_class = softmax.backward(grad_w, cache)                           # (4,)
print(with_matrix, without, from_class, sep="\n")

# %% [markdown] en="626bf7bc"
# 来读这个公式。`mean_grad` 是以 $w$ 为权重对各个梯度求的平均。一个分数的梯度，等于它自己的梯度与这个平均之差，再乘以它的权重。它问的是：“这个键比我平均得到的更差吗？”（如果它为正，下降就使分数降低。）
#
# > **预测：** 一幅注意力图有 1000 个查询和 1000 个键。所有行的雅可比矩阵所占的内存，是这幅图的多少倍？

# %%
n = 1000
print(f"the map      {8 * n * n / 1e9:6.3f} GB in float64")
print(f"its Jacobians{8 * n * n * n / 1e9:6.3f} GB: {n} matrices of {n} × {n}")

# %% [markdown] en="43f7049d"
# 是一千倍。所以，没有哪个反向传播会去构造雅可比矩阵。它只需要 $J^\top$ 与一个向量的*乘积*，而这个乘积的开销和前向传播一样小。这是这个类的源码：

# %%
print(inspect.getsource(Softmax.forward))
print(inspect.getsource(Softmax.backward))

# %% [markdown] en="b45069b6"
# `forward` 就是第 2.2 节的内容：减去最大值，取指数，除以总和。全是 $-\infty$ 的行，它另作处理。`backward` 就是上面的公式，沿最后一个轴计算，行数任意。缓存中只有一个数组，就是权重本身，名字叫 `y`。下一个单元格一次计算三行。

# %%
scores = 2 * rng.standard_normal((3, 4))                               # (3, 4)  three queries
w, cache = softmax.forward(scores)                                     # (3, 4)
print(cache)
grad_w = rng.standard_normal((3, 4))                                   # (3, 4)
grad_s = softmax.backward(grad_w, cache)                               # (3, 4)
for i in range(3):
    J_i = np.diag(w[i]) - np.outer(w[i], w[i])                         # (4, 4)  row i's own
    print("row", i, " same to 1e-12:", np.abs(J_i.T @ grad_w[i] - grad_s[i]).max() < 1e-12)

# %% [markdown] en="28cefef1"
# ## 2.6 饱和：梯度在哪里消失
#
# $J$ 的每个元素都是 $w_j$ 与 $\mathbb{1}[j = k] - w_k$ 的乘积。如果这一行接近独热，那么每个这样的乘积都有一个接近 0 的因子。
#
# > **预测：** 权重是 0.999、0.001 和 0。$J$ 中最大的元素有多大？

# %%
sure = np.array([0.999, 0.001, 0.0])
print(np.round(np.diag(sure) - np.outer(sure, sure), 6))

# %% [markdown] en="0c95cd8c"
# 最大的元素约为 0.001。这一行很确定，梯度只有大约千分之一能通过。现在，对每个温度都测量一遍。$J$ 的大小用它的（Frobenius）范数表示，$\lVert J \rVert = \sqrt{\sum_{jk} J_{jk}^2}$。

# %%
def norm_of_J(w):
    return np.linalg.norm(np.diag(w) - np.outer(w, w))

norms = np.array([norm_of_J(softmax(s / tau)) for tau in taus])        # (36,)
for tau in (1.0, 0.3, 0.1, 0.03):
    w = softmax(s / tau)
    print(f"τ = {tau:4}   largest weight {w.max():.6f}   norm of J {norm_of_J(w):.1e}")

# %% [markdown] en="d28072f3"
# 图中两个轴都是对数刻度。往低温方向，范数下降许多个数量级；往高温方向，范数保持平坦，因为那里的权重都几乎相等。这个 $J$ 是对 $s / \tau$ 的导数。真正到达分数 $s$ 的，还要再乘一个因子 $1/\tau$，即图中的虚线：所以温度过高，分数同样得不到梯度。这两种情形，第 3.5 节都会遇到。

# %%
fig = new_figure(7, 3.8)
ax = fig.subplots()
ax.loglog(taus, norms, color=COLORS[0], marker=MARKERS[0], markevery=5, label="norm of J")
ax.loglog(taus, norms / taus, "--", color=COLORS[1], label="norm of J / τ")
for tau in (0.3, 0.03):
    ax.plot(tau, norm_of_J(softmax(s / tau)), "ko", markersize=5)
    ax.annotate(f"τ = {tau}", (tau, norm_of_J(softmax(s / tau))), xytext=(12, -4), textcoords="offset points")
ax.set(xlabel="temperature τ", ylabel="norm", title="A sure softmax: its Jacobian vanishes", ylim=(1e-16, 10))
ax.axvline(1, color="0.6", linestyle=":", label="τ = 1: softmax as it is")
ax.legend()
fig

# %% [markdown] en="9eef70eb"
# 这对学习有什么影响？下面这一行看错了键，而损失 $L = -w_2$ 要的是第二个键（在代码中是 `w[1]`）。开始时，错误的键领先 2 分或 10 分，然后对分数做 200 步梯度下降。

# %%
def learn(lead, grad_of_loss, steps=200):
    s = np.array([lead, 0.0, 0.0])
    for _ in range(steps):
        w, cache = softmax.forward(s)
        s = s - softmax.backward(grad_of_loss(w), cache)               # a step of rate 1
    return softmax(s)[1]

def by_weight(w):
    return np.array([0.0, -1.0, 0.0])                                  # L = -w_2

for lead in (2.0, 10.0):
    before, after = learn(lead, by_weight, steps=0), learn(lead, by_weight)
    print(f"lead {lead:4}   weight of the wanted key: {before:.6f} before, {after:.6f} after")

# %% [markdown] en="ca332826"
# 领先 2 分的那一行学会了。领先 10 分的那一行没有动：它完全错了，损失也指出了这一点，但几乎没有梯度传过来。
#
# 确定的 softmax 总会挡住梯度吗？不是，这取决于损失。在模型的*末端*，损失是**对数损失** $L = -\ln w_2$（第 10 课）。$w_2$ 很小时，它的梯度 $-1/w_2$ 非常大，而它与 $J$ 的乘积就是 $w - t$，其中 $t$ 是想要的那个独热行：各个梯度的加权平均是 $-1$，所以键 $k$ 得到 $w_k (\mathrm{grad\_w}_k + 1)$，对第二个键是 $w_2 - 1$，对其他的键是 $w_k$。（第 9 课和第 10 课对模型的输出会写出同样的差。）
#
# > **预测：** 用对数损失，领先 10 分的那一行能在 200 步内学会吗？

# %%
def by_log(w):
    return np.array([0.0, -1.0 / w[1], 0.0])                           # L = -ln w_2

w, cache = softmax.forward(np.array([10.0, 0.0, 0.0]))
print("gradient of the scores", softmax.backward(by_log(w), cache), "  w - t", w - [0, 1, 0])
print(f"lead 10   weight of the wanted key after 200 steps: {learn(10.0, by_log):.6f}")

# %% [markdown] en="000b6298"
# 用对数损失，这一行学会了。所以，模型输出处的 softmax 不受饱和之苦，模型*内部*的 softmax 则会：那里的梯度来自上面的层，其中没有什么会像 $1/w$ 那样增长。注意力就是这样的 softmax，而宽向量的点积会给出很大的分数。论文推测，这就是需要 $1/\sqrt{d_k}$ 的原因（论文第 3.2.1 节）。第 3 课将测量这个说法在多大程度上成立。

# %% [markdown] en="2ccdd551"
# ## 2.7 怎样证明一个梯度
#
# 第 2.4 节的差分能吻合到 1e-9，却永远达不到全部 16 位。差分要让两个几乎相等的数相减，两者相同的那些位就丢掉了。有一种办法不需要减法：沿*虚数*方向走一步（Squire 和 Trapp，1998）。先用平方试一试：$(x + i\delta)^2 = x^2 - \delta^2 + 2 i\, \delta x$。虚部除以 $\delta$ 得 $2x$，恰好是斜率。一般地：
#
# $$f(x + i\delta) = f(x) + i \delta f'(x) - \tfrac12 \delta^2 f''(x) - \dots \quad\text{so}\quad
# f'(x) = \frac{\mathrm{Im}\, f(x + i\delta)}{\delta} + O(\delta^2)$$
#
# 导数独自待在虚部里，所以 $\delta$ 可以小到 $10^{-20}$。这要求前向传播是**解析**的：公式对复数也成立，和、积与 $e^s$ 都是这样。绝对值则不是：复数的 `abs` 是它的模，虚部就丢了。另外，复数没有大小之分，所以本库在取最大值时只看实部。我们来试两个函数：$e^x$ 在 1 处的斜率是 $e$，$|x|$ 在 1 处的斜率是 1。

# %%
x = 1.0
central = (np.exp(x + 1e-5) - np.exp(x - 1e-5)) / 2e-5
complex_step = np.exp(x + 1e-20j).imag / 1e-20
print(f"central, δ = 1e-5   {central:.16f}   error {abs(central - math.e):.0e}")
print(f"complex, δ = 1e-20  {complex_step:.16f}   error {abs(complex_step - math.e):.0e}")
print(f"e                   {math.e:.16f}")
print("slope of abs(x) by the complex step, which is wrong:", np.abs(x + 1e-20j).imag / 1e-20)

# %% [markdown] en="5877b7fa"
# 要证明一个反向传播，还需要一个想法，因为反向传播并不给出可供比较的雅可比矩阵。（这里的 $J$ 是整个层的雅可比矩阵：三行，每行四个分数，所以是 12 × 12。没有人会把它写出来。）
#
# 1. 随机取一个 $u$，形状与输出相同；再随机取一个 $v$，形状与输入相同。
# 2. 只用**前向**：$Jv = \mathrm{Im}\, F(s + i\delta v) / \delta$，再算出一个数 $u \cdot Jv$。
# 3. 只用**反向**：$J^\top u$ 就是 `backward(u)`，再算出一个数 $J^\top u \cdot v$。
# 4. 如果反向传播正确，两者就是同一个数，因为 $u \cdot Jv = u^\top J v = J^\top u \cdot v$。
# 5. 如果某个元素错了，随机的 $u$ 和 $v$ 就得碰巧把错误抵消掉，而且直到第十二位。这种事不会发生。

# %%
u, v = rng.standard_normal((2, 3, 4))                                  # (3, 4) each
Jv = softmax(scores + 1e-20j * v).imag / 1e-20                         # (3, 4)
_, cache = softmax.forward(scores)
from_forward, from_backward = (u * Jv).sum(), (softmax.backward(u, cache) * v).sum()
print("from forward ", from_forward)
print("from backward", from_backward)

# %% [markdown] en="6b212cc3"
# `check_gradients` 对任意的层都这样做，对层的参数也这样做。`analytic` 是从反向传播得到的数，`numeric` 是用复数步长得到的数，`central` 是普通的差分，作为旁证。
#
# 这里的“证明”是物理学家意义上的：出错的概率小到可以忽略，而且只针对这个输入。这个输入没有走到的代码分支，就没有检验到。
#
# 要清楚证明的是什么：反向传播是*这个前向传播*的导数。如果前向传播本身错了，反向传播仍然可能与它一致。没有哪种梯度检验能发现错误的前向传播。那需要另外的检验，例如像第 1.4 节那样，与手写的公式比较。

# %%
print(check_gradients(softmax, scores))

# %% [markdown] en="cdefeab8"
# 现在故意埋下两个常见的错误。第一个忘了 `mean_grad`。第二个沿错误的轴求和：本该对键求和，却对查询求和。两者返回的形状都对，乍一看，其中的数也没有什么异样。再仔细看看：`grad_s` 每一行的和应该是多少（第 2.4 节）？

# %%
class ForgetsTheMean(Softmax):
    def backward(self, grad_weights, cache):
        return cache.y * grad_weights

class WrongAxis(Softmax):
    def backward(self, grad_weights, cache):
        mean_grad = (grad_weights * cache.y).sum(axis=0, keepdims=True)
        return cache.y * (grad_weights - mean_grad)

for layer in (softmax, ForgetsTheMean(), WrongAxis()):
    grad_s = layer.backward(grad_w, cache)
    print(type(layer).__name__, "sums of the rows", grad_s.sum(axis=1).round(4) + 0.0, grad_s, sep="\n")

# %% [markdown] en="5a08d705"
# 每一行的和必须是 0，因为 $J$ 的行就是这样。错误的反向传播却不是。
#
# > **预测：** 分别用每一种反向传播来训练这三行分数，使它们趋向想要的权重。用错误的反向传播时，损失会下降吗？

# %%
wanted = softmax(3 * rng.standard_normal((3, 4)))                      # (3, 4)

def loss_after(layer, steps):
    s = scores
    for _ in range(steps):
        w, cache = layer.forward(s)
        s = s - layer.backward(w - wanted, cache)                      # L = ½ Σ (w - wanted)²
    return 0.5 * ((softmax(s) - wanted) ** 2).sum()

for layer in (softmax, ForgetsTheMean(), WrongAxis()):
    print(f"{type(layer).__name__:15} loss {loss_after(layer, 0):.4f} before,"
          f" {loss_after(layer, 500):.4f} after 500 steps")

# %% [markdown] en="97f93f93"
# 有第一个错误时，损失照样下降，在这里最后甚至比用正确的梯度还低。每个分数都朝着减小自身误差的方向移动，没有误差时就不动了。这条损失曲线看不出错误。有第二个错误时，损失在这里反而上升，所以你会发现*出了*问题，却不知道问题在哪里。因此，损失下降什么也证明不了。`check_gradients` 则证明两者都错了，还指出一个具体的元素：

# %%
print(check_gradients(ForgetsTheMean(), scores), "\n")
print(check_gradients(WrongAxis(), scores))

# %% [markdown] en="c25bd5b4"
# ## 2.8 检验本课的结论

# %%
w, cache = softmax.forward(s)
J = np.diag(w) - np.outer(w, w)
u = rng.standard_normal(4)
assert np.abs(softmax(s + 100) - w).max() < 1e-12                      # shift-invariant
assert np.abs(w - by_hand(s)).max() < 1e-12                            # the class is Equation 1's
assert np.all(softmax(masked)[1] == 0)                                 # nothing allowed, no weight
assert np.abs(J.T @ u - softmax.backward(u, cache)).max() < 1e-12      # no matrix needed
assert np.abs(J.sum(axis=0)).max() < 1e-12                             # weights add up to 1
assert np.abs(J.sum(axis=1)).max() < 1e-12                             # a shift changes nothing
assert learn(2.0, by_weight) > 0.9
assert learn(10.0, by_weight) < 0.01                                   # saturation
assert learn(10.0, by_log) > 0.9                                       # not with the log-loss
assert loss_after(ForgetsTheMean(), 500) < loss_after(softmax, 500)    # no curve would tell
assert loss_after(WrongAxis(), 500) > loss_after(WrongAxis(), 0)
assert check_gradients(softmax, scores)
assert not check_gradients(ForgetsTheMean(), scores)
assert not check_gradients(WrongAxis(), scores)
print("all true")

# %% [markdown] en="a7751a8d"
# ## 小结
#
# - softmax 是指数值除以指数值的总和。它是正的，保持分数的次序，也看不见共同的平移。所以可以减去最大值，再大的分数也不怕。
# - $\partial w_j / \partial s_k = w_j (\mathbb{1}[j = k] - w_k)$。列的和为零，因为权重加起来等于 1；行的和为零，因为平移不改变任何东西。
# - 反向传播只需要一个加权平均：`grad_s = w * (grad_w - mean_grad)`，从不构造矩阵。
# - 接近独热的行几乎不让梯度通过。在模型末端，对数损失会弥补这一点；在模型内部，没有什么来弥补。
# - 如果 $u \cdot Jv$（前向，复数步长）与 $J^\top u \cdot v$（反向）在十二位上相等，反向传播就是正确的。前向传播必须是解析的，至于*它*对不对，那是另一个问题。损失下降不是证据。
#
# ## 问题
#
# **1.** 某一行的所有梯度 `grad_w` 都是同一个数。`grad_s` 是什么？
#
# <details><summary>答案</summary>
#
# 是零。若干个相等的数，平均就是这个数，所以每个差都是 0。换句话说：要每个权重都升高同样多，而它们的和又必须是 1，那就什么也做不了。
#
# </details>
#
# **2.** 如果某个键的权重恰好为 0，例如被掩蔽的键，它的 `grad_s` 是什么？
#
# <details><summary>答案</summary>
#
# 是零，因为有因子 $w_k$。这里不必为掩蔽另作处理：键得不到权重，也就得不到梯度。
#
# </details>
#
# **3.** 有两个键，分数为 $s_1$ 和 $s_2$。把 $w_1$ 写成差 $s_1 - s_2$ 的函数。你认得它吗？
#
# <details><summary>答案</summary>
#
# $w_1 = 1 / (1 + e^{-(s_1 - s_2)})$，就是 logistic sigmoid 函数。它的导数是 $w_1 (1 - w_1)$，也就是 $J$ 的对角线元素，最大为四分之一。softmax 就是 sigmoid 向两个以上的键的推广。
#
# </details>
