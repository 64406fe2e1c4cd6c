# %% [markdown] en="92e018a2"
# # 第 4 课 · 注意力的反向传播：推导与证明
#
# | | |
# |---|---|
# | **你将做什么** | 手工对公式 1 求导，前向的每一行对应反向的一行，再看看梯度想要什么。然后证明它，并抓出三个错误的反向传播 |
# | **你将学到** | 注意力的反向传播由哪些法则组成；`grad_scores` 说明了什么；损失下降、复数步长、比较输出，各自能证明什么；缓存为什么要返回 |
# | **需要** | 第 1 课和第 2 课、链式法则 |
# | **论文** | 第 3.2.1 节、公式 1、图 2（左） |
# | **时间** | 45 分钟，不含第 4.6 节（*选读*：运行其中的单元格，跳过文字。后面的部分都用不到它） |
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
    Cache,
    Linear,
    Module,
    ScaledDotProductAttention,
    Softmax,
    check_gradients,
    plot_attention,
)
from aiayn_np.plotting.drawings import SENTENCE, attention_gradients, figure_1
from aiayn_np.plotting.figures import COLORS, MARKERS, new_figure, plot_signed
from aiayn_np.variants.scoring import DotScore, ScoredAttention

np.set_printoptions(precision=4, suppress=True)

# %% [markdown] en="be0f2499"
# 本课沿反方向走过图 1 中亮起的一个方框。

# %%
figure_1("attention")

# %% [markdown] en="3f8e3597"
# ## 4.1 两条法则，加上你已经知道的第三条
#
# 反向传播对每个数组的每个元素只问一个问题：*如果这个元素增大一点，损失 $L$ 会增大多少*？对数组 $A$ 的所有回答，组成一个形状相同的数组 $\mathrm{grad\_A} = \partial L / \partial A$。注意力需要三条法则。第三条是 softmax，你在第 2 课已经学过。第一条是矩阵乘法：
#
# $$y = AB \quad\text{means}\quad y_{ij} = \sum_k A_{ik} B_{kj}$$
#
# 元素 $A_{ik}$ 出现在 $y$ 的第 $i$ 行的每个元素中，每次都带有因子 $B_{kj}$。把它通向损失的所有路径加起来。元素 $B_{kj}$ 出现在第 $j$ 列的每个元素中，它的路径也同样相加：
#
# $$\mathrm{grad\_A}_{ik} = \sum_j \mathrm{grad\_y}_{ij} B_{kj} \quad\text{so}\quad \mathrm{grad\_A} = \mathrm{grad\_y}\, B^\top$$
# $$\mathrm{grad\_B}_{kj} = \sum_i A_{ik}\, \mathrm{grad\_y}_{ij} \quad\text{so}\quad \mathrm{grad\_B} = A^\top \mathrm{grad\_y}$$
#
# 第二条是常数因子的法则：由 $y = A / c$ 得 $\mathrm{grad\_A} = \mathrm{grad\_y} / c$。

# %%
A = np.array([[1.0, 2.0, 0.0],              # (2, 3)
              [0.0, 1.0, 3.0]])
B = np.array([[1.0, 0.0],                   # (3, 2)
              [2.0, 1.0],
              [0.0, 4.0]])
grad_y = np.array([[1.0, 10.0],             # (2, 2)  as it comes from above
                   [0.0, -1.0]])
grad_A = grad_y @ B.T                       # (2, 3)
grad_B = A.T @ grad_y                       # (3, 2)
print("grad_A", grad_A.shape)
print(grad_A)
print("grad_B", grad_B.shape)
print(grad_B)

# %% [markdown] en="d5a14a21"
# 检验一个元素。损失 $L = \sum_{ij} \mathrm{grad\_y}_{ij}\, y_{ij}$ 在 $y$ 处的梯度就是 `grad_y`。损失对 $A$ 是线性的，所以步长取 1 和取很小的值一样好。
#
# > **预测：** $A_{01}$ 现在是 2，把它变成 3。$L$ 改变多少？

# %%
def L(A, B):
    return (grad_y * (A @ B)).sum()

moved = A.copy()
moved[0, 1] += 1
print("L changes by", L(moved, B) - L(A, B), "  grad_A[0, 1] =", grad_A[0, 1])

# %% [markdown] en="b80255c4"
# $L$ 改变 $1 \cdot 2 + 10 \cdot 1 = 12$。形状能帮助我们记住哪个因子要转置、放在哪一边。但不要依赖形状：如果所有矩阵都是方阵，`grad_y @ B` 和 `B @ grad_y` 的形状也对得上，却是错的。第 4.7 节会埋下一个这样的错误。

# %% [markdown] en="6e345e8b"
# ## 4.2 前向：给每个数组一个名字
#
# 句子有 4 个词元，这次 4 个都提问。取 $d_k = 3$、$d_v = 2$，加上 $T = 4$，就有三种不同的大小，形状错了就看得出来。（只有 $T_q = T_k$ 是相等的，因为第 4.7 节的一个错误需要这一点。）数值是随机的，因为太整齐的数会把错误掩盖起来。

# %%
tokens = list(SENTENCE)                                                # the cat sat down
rng = np.random.default_rng(0)
Q, K = rng.standard_normal((2, 4, 3))                                  # (T_q, d_k), (T_k, d_k)
V = rng.standard_normal((4, 2))                                        # (T_k, d_v)
d_k = Q.shape[-1]
scores = Q @ K.T / math.sqrt(d_k)                                      # (T_q, T_k)  MatMul, Scale
weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)  # (T_q, T_k)  SoftMax
out_by_hand = weights @ V                                              # (T_q, d_v)  MatMul

# %%
attention = ScaledDotProductAttention()
out, cache = attention.forward(Q, K, V)                                # (T_q, d_v)
print("same as by hand to 1e-12:", np.abs(out - out_by_hand).max() < 1e-12)
print(cache)

# %% [markdown] en="64831f9c"
# 缓存中放着反向传播所需要的东西。`kept` 是暂退法（dropout）留下的权重。暂退法把一些数随机置为 0，只在训练中使用（第 7 课）。论文没有对权重使用暂退法。许多程序用了，所以这个类提供了这一选项，默认关闭。因此在这里，`kept`、`weights` 和 `softmax.y` 是同一个数组，它的字节只计一次。
#
# > **预测：** 这个清单里没有分数。反向传播需要它们吗？

# %%
print("one array under three names:", cache.kept is cache.weights is cache.softmax.y)
print("have the scores been kept?  ", hasattr(cache, "scores"))

# %% [markdown] en="135fa538"
# 反向传播不需要分数。乘积的反向传播需要它的两个*因子*，softmax 的反向传播只需要它自己的结果：第 2 课的公式 $w_k (\mathrm{grad\_w}_k - \sum_j \mathrm{grad\_w}_j w_j)$ 里没有分数。（许多程序使用的 FlashAttention 更进一步：它连权重也不保存，而是在反向传播时分块重新计算。本库变体中的 `MemoryEfficientAttention` 就是这样做的。）

# %% [markdown] en="b666b842"
# ## 4.3 反向：一行对一行
#
# 上面的层传下来 `grad_out`，输出的每个元素对应一个数。下图是我们的计算图，标出了各个形状。我们从上往下走一遍。

# %%
attention_gradients(Q, K, V, backward=False)

# %% [markdown] en="22f624f7"
# > **预测：** 最后一个运算是 `out = kept @ V`，`grad_out` 的形状是 (4, 2)。哪两个乘积分别给出形状为 (4, 4) 的 `grad_kept` 和形状为 (4, 2) 的 `grad_V`？

# %%
grad_out = rng.standard_normal(out.shape)                              # (T_q, d_v)
grad_kept = grad_out @ cache.V.T                                       # (T_q, T_k)
grad_V = cache.kept.T @ grad_out                                       # (T_k, d_v)
print("grad_kept", grad_kept.shape, " grad_V", grad_V.shape)

# %% [markdown] en="b0194723"
# 按元素写，$\mathrm{out}_{ic} = \sum_j \mathrm{kept}_{ij} V_{jc}$，其中 $c$ 是值的各个特征的编号。查询 $i$ 给键 $j$ 的权重，乘上了 $V$ 的第 $j$ 行的所有元素，所以它的梯度是 `grad_out[i]` 与 `V[j]` 的点积。它问的是：“这个值多一点，损失会升高吗？”而 $V$ 的第 $j$ 行流向了每个查询，各带那个查询的权重。所以它的梯度来自每个查询，带着同样的权重：$\mathrm{grad\_V}_{jc} = \sum_i \mathrm{kept}_{ij}\, \mathrm{grad\_out}_{ic}$。这就是同一幅注意力图，只不过按列来读。
#
# 接下来是暂退法，它什么也没做；再接下来是 softmax，逐行计算（第 2.5 节）：

# %%
grad_weights = grad_kept                                               # (T_q, T_k)
mean_grad = (grad_weights * cache.weights).sum(axis=-1, keepdims=True)  # (T_q, 1)
grad_scores = cache.weights * (grad_weights - mean_grad)               # (T_q, T_k)

# %% [markdown] en="97b68a68"
# 最后是分数，它是一个乘积再带一个常数因子：$\mathrm{scores}_{ij} = \sum_c Q_{ic} K_{jc} / \sqrt{d_k}$。前向时 $K$ 转置了，反向时就不转置：$\mathrm{grad\_Q}_{ic} = \sum_j \mathrm{grad\_scores}_{ij} K_{jc} / \sqrt{d_k}$。因子 $1/\sqrt{d_k}$ 在这里再次出现。

# %%
grad_Q = grad_scores @ cache.K / math.sqrt(d_k)                        # (T_q, d_k)
grad_K = grad_scores.T @ cache.Q / math.sqrt(d_k)                      # (T_k, d_k)
from_class = attention.backward(grad_out, cache)
for name, ours, theirs in zip("QKV", (grad_Q, grad_K, grad_V), from_class):
    print(f"grad_{name} {ours.shape}  same to 1e-12: {np.abs(ours - theirs).max() < 1e-12}")

# %% [markdown] en="80034574"
# 我们的梯度与这个类的梯度一致。这是完整的计算图，红色的是反向传回来的量。向上的箭头传送一个数组，对应的向下的箭头就传送它的梯度。（图中的 `products` 是缩放之前的分数。）

# %%
attention_gradients(Q, K, V)

# %% [markdown] en="8c64a6fc"
# 这是这个类的源码，请与图中的红字逐行对照。

# %%
print(inspect.getsource(ScaledDotProductAttention.backward))

# %% [markdown] en="0b075f78"
# 我们写 `.T` 的地方，类中写的是 `.mT`：它转置最后两个轴，前面的批量轴和头轴保持不变。`product_like` 就是矩阵乘法，没有别的；它只决定结果在内存中怎样排列。其余各行，在上文都有对应的一行。

# %% [markdown] en="e179bdda"
# ## 4.4 梯度想要什么？
#
# 布置一个任务：`sat` 要得到 `cat` 所说的内容，输出的其他行保持不变。损失是输出与这些目标输出之间距离平方的一半。

# %%
wanted = out.copy()                                                    # (T_q, d_v)
wanted[2] = V[1]                                                       # row "sat": the value of "cat"
grad_out = out - wanted                                                # L = ½ Σ (out - wanted)²
grad_scores = attention.softmax.backward(grad_out @ V.T, cache.softmax)    # (T_q, T_k)
print("loss", 0.5 * ((out - wanted) ** 2).sum())
print("weight that sat gives to cat", cache.weights[2, 1])

# %% [markdown] en="9b6fb33c"
# > **预测：** `grad_scores` 有几行不为零？每一行的和是多少？

# %%
print(grad_scores)
print("every row sums to 0:", np.abs(grad_scores.sum(axis=1)).max() < 1e-12)

# %% [markdown] en="0337e492"
# 只有一行不为零，因为眼下只有 `sat` 的输出是错的。每一行的和都为零，因为注意力只能从一个键移到另一个键。图中画的是 `-grad_scores`，即下降一步的方向：紫色的分数应当升高，橙色的分数应当降低。

# %%
plot_signed(-grad_scores, tokens, tokens, value="-grad_scores", title="Which scores should rise?")

# %% [markdown] en="06b49a79"
# `sat` 应当少看自己，多看 `cat`，但也要多看 `down`。损失并没有说要看*谁*。梯度只表明，与这一行的平均相比，哪些值会有帮助。`cat` 和 `down` 的值都比平均更有帮助：

# %%
help_of = -grad_out[2] @ V.T                                           # (T_k,)
print("would more of this value help?", dict(zip(tokens, help_of.round(4).tolist())))
print("their mean, weighted as the row looks:", (cache.weights[2] * help_of).sum().round(4))

# %% [markdown] en="1bee30f0"
# 现在做 100 步梯度下降，先只更新查询和键。

# %%
def fit(layer, wanted, steps, rate=0.5, values_too=True):
    """Gradient descent on Q, K, V themselves; the loss before each step, and the last cache."""
    q, k, v, losses = Q, K, V, []
    for _ in range(steps + 1):
        out, cache = layer.forward(q, k, v)
        losses.append(0.5 * ((out - wanted) ** 2).sum())
        grad_Q, grad_K, grad_V = layer.backward(out - wanted, cache)
        q, k, v = q - rate * grad_Q, k - rate * grad_K, v - rate * values_too * grad_V
    return losses, cache

losses_QK, cache_QK = fit(attention, wanted, 100, values_too=False)
print(f"loss {losses_QK[0]:.4f} before, {losses_QK[-1]:.4f} after")

# %% [markdown] en="5304b4ba"
# > **预测：** 如果值也可以更新，损失会更低吗？`sat` 会因此更多地看 `cat` 吗？

# %%
losses_QKV, cache_QKV = fit(attention, wanted, 100)
print(f"loss {losses_QKV[0]:.4f} before, {losses_QKV[-1]:.4f} after")
for name, c in {"before": cache, "Q, K": cache_QK, "Q, K, V": cache_QKV}.items():
    print(f"{name:8} sat looks at {dict(zip(tokens, c.weights[2].round(4).tolist()))}")

# %% [markdown] en="7b68db0d"
# 损失更低了，而 `sat` 看 `cat` *比训练之前还少*。它主要看 `down`，梯度则移动了各个值，直到它们的平均符合要求。这只是一次随机抽取；换一次，`sat` 也可能找到 `cat`。但一次就足以看出，损失要的是输出，而不是注意力图。读注意力图时请记住这一点（第 11 课）。图中画出 `sat` 的那一行，共三次。

# %%
rows = np.stack([c.weights[2] for c in (cache, cache_QK, cache_QKV)])  # (3, T_k)
plot_attention(rows, ["before", "Q, K learned", "Q, K, V learned"], tokens, titles=["whom does sat look at?"])

# %% [markdown] en="1474dc58"
# ## 4.5 证明
#
# 我们推导出了梯度，类的代码也是同样的几行。但两者可能有同样的错误。所以要与前向传播本身比较。第 2 课已经给出了办法：在复数点上做一次前向传播得到的 $u \cdot Jv$，必须等于由反向传播得到的 $J^\top u \cdot v$。

# %%
print(check_gradients(attention, Q, K, V))

# %% [markdown] en="724aa3cf"
# 表中，每个得到梯度的数组占一行。`input 0` 是 $Q$，`input 1` 是 $K$，`input 2` 是 $V$。最后一行中，三者同时移动。`analytic` 来自反向传播，`numeric` 来自复数步长。`error` 是两者的相对误差，`central` 是普通的差分，作为旁证。误差低于 1e-12 时，判定为 `ok`。
#
# 这个证明有两点局限。第一，前向传播必须是解析的（第 2.7 节）：复数步长对 `abs` 会给出错误的结果，好在注意力里没有这类运算。第二，它证明的是反向传播与*这个*前向传播相符。如果有人在前向*和*反向中都忘了缩放，两者仍然一致，检验也会通过：

# %%
forgets_both = ScoredAttention(DotScore())                              # q · k, never divided
print("its gradients agree:", bool(check_gradients(forgets_both, Q, K, V)))
print("largest difference from Equation 1:", np.abs(forgets_both(Q, K, V) - out_by_hand).max())

# %% [markdown] en="c2a3e1f1"
# 所以，一个层需要两种检验：证明它的梯度，并像第 4.2 节那样，把它的输出与公式比较。

# %% [markdown] en="459b0bb3"
# ## 4.6 选读：为什么不直接用差分？
#
# 沿 $Q$ 的一个方向，用三种方法测量 $u \cdot \mathrm{out}$ 的斜率，步长 $\delta$ 从 1 减小到 $10^{-16}$，再与反向传播给出的斜率比较。

# %%
u, v = rng.standard_normal((20, 4, 2)), rng.standard_normal((20, 4, 3))    # 20 directions

def f(move):                                                           # u · out at Q + move
    return (u * attention(Q + move, np.stack([K] * 20), np.stack([V] * 20))).sum(axis=(1, 2))

grads = [attention.backward(u_i, cache)[0] for u_i in u]               # 20 × (T_q, d_k)
exact = np.array([(g * v_i).sum() for g, v_i in zip(grads, v)])        # (20,)
methods = {
    "one-sided": lambda step: (f(step * v) - f(0 * v)) / step,
    "central": lambda step: (f(step * v) - f(-step * v)) / (2 * step),
    "complex step": lambda step: f(1j * step * v).imag / step,
}

# %% [markdown] en="6ed210e0"
# > **预测：** 对中心差分，哪个步长最好：$10^{-1}$、$10^{-5}$ 还是 $10^{-15}$？

# %%
steps = np.logspace(0, -16, 33)
errors = {
    name: np.array([np.median(np.abs(slope(step) / exact - 1)) for step in steps])
    for name, slope in methods.items()
}
for name, error in errors.items():
    some = [f"{steps[i]:.0e}: {max(error[i], 1e-16):.0e}" for i in (2, 10, 18, 30)]
    print(f"{name:13}", "   ".join(some))

# %% [markdown] en="28495947"
# 每一项是“步长：误差”，误差取 20 个方向的中位数。中心差分在 $10^{-5}$ 处最好。到了 $10^{-15}$，几乎没有一位是对的。看图时，请从右往左看。起初，步长越小，每种方法都越好，因为被忽略的项随 $\delta$ 或 $\delta^2$ 缩小。然后，两种差分变差了：它们让几乎相等的数相减，剩下的主要是舍入误差。复数步长不做减法，它的误差一直降到 float64 的最后一位，并停在那里。

# %%
fig = new_figure(7, 4.2)
ax = fig.subplots()
for i, (name, error) in enumerate(errors.items()):
    ax.loglog(steps, np.maximum(error, 1e-16), color=COLORS[i], marker=MARKERS[i], markevery=4,
              label=name)
ax.axhline(1e-12, color="0.6", linestyle=":", label="asked by check_gradients")
ax.set(xlabel="step δ", ylabel="relative error of the slope",
       title="Three ways to measure a slope of attention")
ax.legend()
fig

# %% [markdown] en="50e3577e"
# 为什么这么多位数字都要紧？因为错误的梯度可能几乎正确。这里就有这样一个错误：前向传播除以总和加 1e-6，“以免除以零”，而反向传播并不知道。

# %%
class NearlyRight(Softmax):
    def forward(self, scores):
        weights, cache = super().forward(scores)
        Z = np.exp(scores).sum(axis=-1, keepdims=True)
        return weights * Z / (Z + 1e-6), cache

print(check_gradients(NearlyRight(), Q @ K.T))

# %% [markdown] en="d3276100"
# 容差取 1e-5，这个错误会当作舍入误差放过去。取 1e-12 就不会。

# %% [markdown] en="aa9ce35c"
# ## 4.7 三个错误的反向传播
#
# 这三个错误都很容易犯。第一个在反向时忘了 $1/\sqrt{d_k}$。

# %%
class ForgetsTheScale(ScaledDotProductAttention):
    def backward(self, grad_out, cache):
        grad_Q, grad_K, grad_V = super().backward(grad_out, cache)
        scale = math.sqrt(cache.Q.shape[-1])
        return grad_Q * scale, grad_K * scale, grad_V

# %% [markdown] en="2da7d1ea"
# 第二个只取 softmax 的雅可比矩阵的对角线 $w_k (1 - w_k)$，好像 softmax 是逐元素计算的。

# %%
class ElementwiseSoftmax(Softmax):
    def backward(self, grad_weights, cache):
        return grad_weights * cache.y * (1 - cache.y)

class OnlyTheDiagonal(ScaledDotProductAttention):
    def __init__(self):
        super().__init__()
        self.softmax = ElementwiseSoftmax()

# %% [markdown] en="b68acf03"
# 第三个忘了转置。查询与键一样多时，形状对得上。

# %%
class NotTransposed(ScaledDotProductAttention):
    def backward(self, grad_out, cache):
        grad_Q, grad_K, _ = super().backward(grad_out, cache)
        return grad_Q, grad_K, cache.kept @ grad_out

# %% [markdown] en="6ffaf041"
# > **预测：** 用正确的层和这三个错误的层去拟合随机的输出，各 200 步。四个之中，有几个的损失会降到初值的十分之一以下？

# %%
target = rng.standard_normal((4, 2))                                   # (T_q, d_v)
layers = [attention, ForgetsTheScale(), OnlyTheDiagonal(), NotTransposed()]
curves = {type(layer).__name__: fit(layer, target, 200, rate=0.2)[0] for layer in layers}
for name, losses in curves.items():
    print(f"{name:26} loss {losses[0]:.4f} before, {losses[-1]:.0e} after")

# %% [markdown] en="c65867ab"
# 四个的损失都下降了，而且在这里，有两个错误的层最后比正确的层还低。图中画出四条曲线，没有写名字：你能找出正确的那一条吗？图后面的单元格给出答案。

# %%
fig = new_figure(7, 4.2)
ax = fig.subplots()
order = [2, 0, 3, 1]                                                   # of the layers, mixed
for i, losses in enumerate([*curves.values()][j] for j in order):
    ax.semilogy(losses, color=COLORS[i], marker=MARKERS[i], markevery=(4 * i, 25), label=f"curve {i + 1}")
ax.set(xlabel="step", ylabel="loss", title="Three of these four backwards are wrong")
ax.legend()
fig

# %%
for i, layer in enumerate(layers):
    report = check_gradients(layer, Q, K, V)
    wrong = [row.tensor for row in report.rows if not row.ok]
    print(f"curve {order.index(i) + 1}  {type(layer).__name__:26} {'ok' if report else 'WRONG: ' + ', '.join(wrong)}")

# %% [markdown] en="d16e704a"
# 检验还指出错误*在哪里*：前两个错误影响 $Q$ 和 $K$，第三个影响 $V$。完整的报告还会列出错得最多的元素：

# %%
print(check_gradients(NotTransposed(), Q, K, V))

# %% [markdown] en="90af6acc"
# 错误的梯度为什么也能训练？只要错误的梯度与真正的梯度夹角的余弦为正，足够小的一步就能使损失下降。下面是开始时的余弦：

# %%
out, cache = attention.forward(Q, K, V)
right = attention.backward(out - target, cache)
print("cosine            grad_Q  grad_K  grad_V")
for layer in layers[1:]:
    pairs = zip(layer.backward(out - target, cache), right)
    cosines = [(a * b).sum() / np.linalg.norm(a) / np.linalg.norm(b) for a, b in pairs]
    print(f"{type(layer).__name__:16}", *(f"{cosine:7.2f}" for cosine in cosines))

# %% [markdown] en="35e11e72"
# 忘了缩放，并不会使 $Q$ 或 $K$ 的梯度转向，只会使它们变长。但是 $x$ 得到的是三个梯度的和（第 4.8 节），这个和会转向，下面所有层的梯度也跟着转向。至于 $W^Q$ 和 $W^K$ 的梯度变长，Adam（第 10 课）甚至感觉不到。`OnlyTheDiagonal` 使 $Q$ 和 $K$ 的梯度转向，`NotTransposed` 使 $V$ 的梯度转向。其余的梯度都是对的，所以全部梯度合在一起，余弦也是正的，损失就沿另一条路下降。单看损失曲线看不出这一点，因为没有人知道正确的曲线是什么样。而前向传播是已知的，所以可以拿梯度与它比较。

# %% [markdown] en="eeef6e69"
# ## 4.8 一个数组用了三次
#
# 在自注意力中，$Q$、$K$ 和 $V$ 都来自同一个 $x$。$x$ 一动，三者都动，损失就沿三条路径改变。先看最简单的情形，$Q = K = V = x$。
#
# > **预测：** `backward` 返回三个数组。怎样由它们得到 $x$ 的梯度？

# %%
x = rng.standard_normal((4, 5))                                        # (T, d_model)
u, v = rng.standard_normal((2, 4, 5))
out, cache = attention.forward(x, x, x)
grads = attention.backward(u, cache)                                   # three times (T, d_model)
moved = x + 1e-20j * v                                                 # x moves in all three places
print("u · Jv, from forward", (u * attention(moved, moved, moved)).sum().imag / 1e-20)
print("grad_Q alone        ", (grads[0] * v).sum())
print("the sum of all three", (sum(grads) * v).sum())

# %% [markdown] en="f15929b7"
# $x$ 的梯度是三者之和：一个数组若使用了不止一次，它的各个梯度就要**相加**。现在加上第 1 课的三个学出来的矩阵。由若干层组成的层，按相反的次序调用它们的反向传播，并在路径分叉的地方把梯度相加。

# %%
class SelfAttention(Module):
    def __init__(self, d_model, d_k, d_v, rng):
        self.linears = [Linear(d_model, n, bias=False, rng=rng) for n in (d_k, d_k, d_v)]
        self.attention = ScaledDotProductAttention()

    def forward(self, x):
        (Q, of_Q), (K, of_K), (V, of_V) = [linear.forward(x) for linear in self.linears]
        out, of_attention = self.attention.forward(Q, K, V)
        return out, Cache(linears=[of_Q, of_K, of_V], attention=of_attention)

    def backward(self, grad_out, cache):
        grads = self.attention.backward(grad_out, cache.attention)
        paths = [m.backward(g, c) for m, g, c in zip(self.linears, grads, cache.linears)]
        return paths[0] + paths[1] + paths[2]                          # (T, d_model)

# %%
print(check_gradients(SelfAttention(5, 3, 2, rng), x))

# %% [markdown] en="3f90d228"
# `input 0` 是 $x$，其余各行是 $W^Q$、$W^K$ 和 $W^V$。本库的层用这个检验来证明，你写的层也一样。去掉一条路径，看看会怎样：

# %%
class LosesAPath(SelfAttention):
    def backward(self, grad_out, cache):
        lost = self.attention.backward(grad_out, cache.attention)[2] @ self.linears[2].W.value.T
        return super().backward(grad_out, cache) - lost

report = check_gradients(LosesAPath(5, 3, 2, rng), x)
for row in report.rows:
    print(f"{row.tensor:14} {row.verdict[:5]}")

# %% [markdown] en="d7e4e900"
# 三个矩阵得到的梯度仍然正确，所以这个层能学习。只有它*下面*的层学错了。

# %% [markdown] en="578bd5b9"
# ## 4.9 缓存为什么要返回？
#
# 层也可以记住自己上一次的前向传播，这样 `backward` 就少一个参数。下面就是这样的层。用它处理两个句子，然后再反向传播。

# %%
class Remembers(ScaledDotProductAttention):
    def forward(self, *arrays):
        out, self.last = super().forward(*arrays)
        return out, None

    def backward(self, grad_out, cache):
        return super().backward(grad_out, self.last)

# %% [markdown] en="f79af649"
# > **预测：** 先对句子 $a$ 前向，再对句子 $b$ 前向，然后对 $a$ 反向，对 $b$ 反向。用这两种层，两个梯度各有哪些是对的？

# %%
a, b = rng.standard_normal((2, 3, 4, 3))                               # each: Q, K, V of (T, d_k)
grad_out = rng.standard_normal((4, 3))
alone = [attention.backward(grad_out, attention.forward(*s)[1])[0] for s in (a, b)]
for layer in (attention, Remembers()):
    caches = [layer.forward(*s)[1] for s in (a, b)]
    after = [layer.backward(grad_out, c)[0] for c in caches]
    same = [bool(np.abs(x - y).max() < 1e-12) for x, y in zip(alone, after)]
    print(f"{type(layer).__name__:26} a right: {same[0]}   b right: {same[1]}")

# %% [markdown] en="c968f2f1"
# 自己保存前向结果的层忘了 $a$，而且一声不吭。大多数测试在 `forward` 之后马上调用 `backward`，所以查不出错误。`check_gradients` 会在两者之间再做一次前向传播，所以能查出这个错误：

# %%
print(check_gradients(Remembers(), Q, K, V))

# %% [markdown] en="e586d8e3"
# 返回缓存，谁也不会犯这个错误：可以先做任意多次前向传播，再按任意次序做它们的反向传播。Transformer 需要这一点，因为它有一个层，即加上位置的那一层，先用于源序列，再用于目标序列，然后才轮到两者的反向传播。从缓存也能看出，训练为什么需要内存：所有这些数组都要等到反向传播。推断时则可以马上丢掉。（语言模型的“键值缓存”（KV cache）是另一回事：模型写作时，它保存先前词元的键和值，见第 5.7 节。）

# %% [markdown] en="6506dee5"
# ## 4.10 检验本课的结论

# %%
for ours, theirs in zip((grad_Q, grad_K, grad_V), from_class):
    assert np.abs(ours - theirs).max() < 1e-12                         # derived = implemented
assert np.abs(grad_scores.sum(axis=1)).max() < 1e-12                   # moved, not made
assert cache_QK.weights[2, 1] > 0.8                                    # Q, K learn the map
assert cache_QKV.weights[2, 1] < 0.1                                   # Q, K, V do not
assert losses_QKV[-1] < losses_QK[-1]                                  # and have the lower loss
assert 1e-13 < errors["central"].min() < 1e-8                          # differences have a bottom
assert errors["complex step"][16:].max() < 1e-12                       # for every step below 1e-8
assert all(losses[-1] < 0.1 * losses[0] for losses in curves.values())    # all four train
right, *wrong = [losses[-1] for losses in curves.values()]
assert any(loss < right for loss in wrong)                             # some even better, here
assert not check_gradients(NearlyRight(), Q @ K.T)                     # wrong by about 1e-6
assert [bool(check_gradients(layer, Q, K, V)) for layer in layers] == [True, False, False, False]
assert not check_gradients(Remembers(), Q, K, V)                       # forward, forward, backward
assert check_gradients(ForgetsTheScale(), Q[:, :1], K[:, :1], V)       # d_k = 1: see question 2
assert check_gradients(forgets_both, Q, K, V)                          # its forward is wrong!
assert np.abs(forgets_both(Q, K, V) - out_by_hand).max() > 0.01
assert check_gradients(SelfAttention(5, 3, 2, rng), x)                 # gradients of x add up
assert not check_gradients(LosesAPath(5, 3, 2, rng), x)
print("all true")

# %% [markdown] en="a84f5219"
# ## 小结
#
# - 由 $y = AB$ 得 $\mathrm{grad\_A} = \mathrm{grad\_y}\, B^\top$ 和 $\mathrm{grad\_B} = A^\top \mathrm{grad\_y}$。再加上常数因子的法则和第 2 课的 softmax，就是注意力的全部。
# - 反向就是把前向倒过来：一行对一行，每个梯度的形状都与它的数组相同。
# - `grad_scores` 各行的和为零：注意力只是在键之间移动。损失要的是输出，不是注意力图。
# - 损失下降什么也证明不了。复数步长能证明反向传播与它的前向传播相符，精确到十二位。前向传播对不对，是另一个问题。
# - 一个数组若使用了不止一次，它的各个梯度就要相加。
#
# ## 问题
#
# **1.** 有一个键，从每个查询得到的权重都是 0。这个键和它的值得到什么梯度？
#
# <details><summary>答案</summary>
#
# 两个梯度都为零。$\mathrm{grad\_V}_j$ 对查询求和，权重是其中的因子；$\mathrm{grad\_K}_j$ 用到 `grad_scores` 的第 $j$ 列，其中也有权重作因子。没有人看的键什么也学不到。被掩蔽的键就是这样（第 5 课）。
#
# </details>
#
# **2.** 如果 $d_k$ 取某个特殊的值，`ForgetsTheScale` 就能通过检验。是哪个值？由此可知，测试时各个大小应当怎样选？
#
# <details><summary>答案</summary>
#
# 这个值是 $d_k = 1$，这时 $\sqrt{d_k} = 1$。同样，如果注意力图是对称的，`NotTransposed` 就是对的，而一个查询对一个键的图总是对称的。所以，测试用的各个大小都应大于 1，而且互不相同。这样，转置错了，形状就对不上。
#
# </details>
#
# **3.** 给所有的键都加上同一个向量。第 1 课说，权重不变。由此可以得出 `grad_K` 的什么性质？
#
# <details><summary>答案</summary>
#
# `grad_K` 的各行加起来是零向量：所有的键一起移动，什么都不变，所以这个方向上的斜率是 0。从公式看，$\sum_j \mathrm{grad\_K}_{jc} = \sum_i Q_{ic} \sum_j \mathrm{grad\_scores}_{ij} / \sqrt{d_k}$，而 `grad_scores` 各行的和为 0。
#
# </details>
