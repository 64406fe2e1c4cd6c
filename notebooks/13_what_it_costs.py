# %% [markdown]
# # Lesson 13 · What it costs: self-attention, recurrence, convolution
#
# | | |
# |---|---|
# | **You will do** | count every multiplication of four kinds of layer, and weigh their memory; cut them in half for two workers; find out by exact zeros how many layers a message needs; and print Table 1 of the paper with your own measurements in it |
# | **You will learn** | when self-attention is cheaper than recurrence; what the $(n, n)$ map costs and how to do without; how CNN, RNN and self-attention differ in parallelism and path length; what that means for long sequences and for decoding |
# | **You need** | Lessons 1 and 5, the backward pass (Lesson 4) as something that exists |
# | **Paper** | Section 4, Table 1 |
# | **Time** | 45 minutes, without the parts marked *for the keen*: run their cells, skip their text, since no later part needs it |
#
# Run the cells from top to bottom. Wherever it says **Predict**, stop, write down a number, and only then go on.

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
from pathlib import Path

import numpy as np

from aiayn_np import Module, MultiHeadAttention, ScaledDotProductAttention, causal
from aiayn_np.experiments.claims.complexity import COMPLEXITY
from aiayn_np.experiments.counting import count
from aiayn_np.experiments.measuring import peak_bytes
from aiayn_np.multi_head import merge_heads, split_heads
from aiayn_np.plotting.drawings import figure_1
from aiayn_np.plotting.figures import COLORS, MARKERS, new_figure
from aiayn_np.variants.convolution import Convolution1D
from aiayn_np.variants.local import LocalAttention
from aiayn_np.variants.memory_efficient import MemoryEfficientAttention
from aiayn_np.variants.recurrent import RNN

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# Before 2017 a recurrent network stood where Figure 1 has attention, and it worked. At the end of this lesson you can say what was gained, what was paid, and when you would go back.

# %%
figure_1("self_attention")

# %% [markdown]
# ## 13.1 Four layers that do the same job
#
# A layer of an encoder turns $n$ vectors of width $d$ into $n$ vectors of width $d$, each of which may know something of the
# others. Section 4 compares four kinds: self-attention (all look at all), restricted self-attention (each looks at
# $r$ neighbours), a recurrent layer, and a convolution.
#
# - A **recurrent** layer (RNN) passes a state on, from each token to the next: $h_t = \tanh(x_t W + h_{t-1} U + b)$. The state $h_t$ is its output.
# - A **convolution** adds up a window of $k$ tokens, each times a matrix of its own: $y_t = \sum_j x_{t+j} W_j + b$.
#
# This lesson has the letters of Table 1: $n$ is the number of tokens ($T$ elsewhere), $d$ is $d_\text{model}$, $k$ is the width of a window and no key, $r$ is a number of neighbours, and $h_t$ is a state.

# %%
rng = np.random.default_rng(0)
n, d, radius, k = 24, 8, 2, 3
r = 2 * radius + 1                                                     # neighbours, itself included
layers = {"self-attention": ScaledDotProductAttention(), "restricted": LocalAttention(radius),
          "recurrent": RNN(d, d, rng=rng), "convolution": Convolution1D(d, d, k, rng=rng)}

def inputs(layer, x):                                                  # attention: as Q, as K and as V
    return [x] * (3 if isinstance(layer, ScaledDotProductAttention | MultiHeadAttention) else 1)

x = rng.standard_normal((n, d))                                        # (n, d)

# %% [markdown]
# **Count on paper.** A product of $(a, b)$ and $(b, c)$ takes $a\,b\,c$ multiply-adds.
#
# - self-attention: $QK^\top$ is $(n, d)(d, n)$, and weights times $V$ is $(n, n)(n, d)$: together $2 n^2 d$
# - restricted: the same for $r$ keys instead of $n$: $2 r n d$
# - recurrent: $x W$ is $(n, d)(d, d)$, and $h\,U$ is $(1, d)(d, d)$, $n$ times: $2 n d^2$
# - convolution: $k$ products $(n, d)(d, d)$: $k n d^2$
#
# **Count for real.** `count` sends an array that counts through a layer: NumPy tells the array of every operation, and for every product of matrices it adds up the multiply-adds.
# It also tells how many products in a row had to wait for one another, the *chain*; Lesson 13.4 needs that.

# %%
formula = {"self-attention": lambda n, d: 2 * n**2 * d, "restricted": lambda n, d: 2 * r * n * d,
           "recurrent": lambda n, d: 2 * n * d**2, "convolution": lambda n, d: k * n * d**2}
counted = {name: count(layer, *inputs(layer, x))[1] for name, layer in layers.items()}
for name in layers:
    print(f"{name:15} by formula {formula[name](n, d):6,}   counted {counted[name]:6,}")

# %% [markdown]
# The formulas are exact. Table 1 drops the factors 2 and keeps $n^2 d$, $r n d$, $n d^2$, $k n d^2$. So
# self-attention against recurrence is $n^2 d$ against $n d^2$.
#
# > **Predict.** $d = 512$, as in the base model. For which lengths is self-attention cheaper than recurrence?
# >
# > - For none, since it is the square of the length → A square of a small number may be small.
# > - Above 512 tokens → The square grows faster than what is linear.
# > - Below 512 tokens <!-- true: formula["self-attention"](128, 512) < formula["recurrent"](128, 512) and formula["self-attention"](2048, 512) > formula["recurrent"](2048, 512) -->
# > - Below 8 tokens → This would be true for d = 8.
# >
# > <!-- given: Self-attention takes $2n^2d$ multiply-adds, a recurrent layer $2nd^2$. -->

# %%
print("multiply-adds in millions, d = 512, r = 5, k = 3")
print("n    ", *(f"{name:>15}" for name in formula))
for length in (32, 128, 512, 2048, 8192):
    print(f"{length:<5}", *(f"{f(length, 512) / 1e6:15,.0f}" for f in formula.values()))

# %% [markdown]
# $n^2 d$ against $n d^2$ is $n$ against $d$, so self-attention is cheaper for $n < d$: below 512 tokens, that is for nearly every sentence, as Section 4 says. At $n = d$ the two are equal, and at
# $n = 8192$ self-attention takes 16 times as many.
#
# Table 1 leaves out the four projections of multi-head attention. They take $4 n d^2$, twice the whole RNN. So fewer multiply-adds are not the reason to take attention. Lesson 13.4 shows the reason.
#
# ## 13.2 Does the clock agree?
#
# The experiment `complexity` times forward passes at several lengths and widths, a hundred times each; `aiayn-np figures complexity` makes it again. On logarithmic axes a power is a straight line,
# and its exponent is the slope. The dashed lines are the powers of Table 1.

# %%
if Path("../figures/complexity.json").exists():                        # what the whole experiment found
    complexity = COMPLEXITY.load("../figures")
else:                                                                  # a shorter one
    complexity = COMPLEXITY.run(repeats=5)
print(complexity.finding)
complexity.figure()

# %% [markdown]
# The powers are right: on this picture self-attention is steeper in the length, and the RNN and the convolution in the width. Where two lines of real time cross depends on the machine, since equal multiply-adds are not equal time.
#
# ## 13.3 Memory: the map
#
# Self-attention has another square: the map, $(n, n)$ for every head, kept for the backward pass.
#
# For 8192 tokens and 8 heads in float32 the maps of one layer take $8 \cdot 8192^2 \cdot 4$ bytes, more than 2 GB, and a model has many layers. There are two ways out, both in `aiayn_np.variants`.
#
# - `LocalAttention(radius)` is the paper's restricted self-attention. It computes nothing outside a band. That is another function.
# - `MemoryEfficientAttention(block)` computes *everything*, but only `block` keys at a time, and again in the backward pass. The map is never in memory as a whole, and the function is the same
#   (Rabe and Staats, 2021). FlashAttention (Dao et al., 2022) does this on graphics processors.

# %%
Q, K, V = rng.standard_normal((3, 200, 16))                            # (n, d_k) each
exact = ScaledDotProductAttention()(Q, K, V)                           # (n, d_k)
blocks, local = MemoryEfficientAttention(64)(Q, K, V), LocalAttention(32)(Q, K, V)
print("memory-efficient = plain", np.allclose(blocks, exact), "  local = plain", np.allclose(local, exact))

# %% [markdown]
# > **Predict.** The sequence gets twice as long. By which factor does the memory grow, for plain, memory-efficient and local attention?
# >
# > - 4, 2, 2 <!-- true: [round(sizes[-1] / sizes[-2]) for sizes in bytes_of.values()] == [4, 2, 2] -->
# > - 4, 4, 2 → Memory-efficient attention computes all of the map. How much of it at a time?
# > - 4, 4, 4 → Two of the three never have the whole map in memory.
# > - 2, 2, 2 → The first keeps a number for each *pair* of tokens.
# >
# > <!-- given: Plain attention keeps the $(n, n)$ map. Memory-efficient attention computes all of it, a block of 64 keys at a time. Local attention computes a band of it. -->

# %%
def peak(layer, n):
    x = rng.standard_normal((n, 64), dtype=np.float32)                 # (n, d_k)
    return peak_bytes(lambda: layer.backward(x, layer.forward(x, x, x)[1]))

kinds = {"plain": ScaledDotProductAttention(), "memory-efficient": MemoryEfficientAttention(64),
         "local": LocalAttention(32)}
bytes_of = {name: [peak(layer, n) for n in (512, 1024, 2048)] for name, layer in kinds.items()}
for name, sizes in bytes_of.items():
    print(f"{name:17}", *(f"{size / 1e6:6.1f} MB" for size in sizes), f"  × {sizes[-1] / sizes[-2]:.1f}")

# %% [markdown]
# The memory grows by 4 with the map, and by 2 without it. Memory-efficient attention still does all $n^2 d$ multiply-adds, and some twice: it saves
# memory, not work. Local attention saves both, and cannot look far; Lesson 13.5 shows what that costs.

# %% [markdown]
# ## 13.4 Parallelism: who has to wait?
#
# You have two workers. One should compute the first half of the output, the other the second half, at the same time, and neither should do the other's work again.
#
# > **Predict.** With which of these does it work?
# >
# > - With all three → Every layer gives one output for each token. Can each be computed when the input is there?
# > - With self-attention and the convolution <!-- true: works == [True, True, False] -->
# > - With the convolution only → In self-attention every output needs all *inputs*. They are there from the start.
# > - With the convolution and the RNN → Both look at neighbours. One of them looks at what its neighbour has *computed*.
# >
# > <!-- given: There are three layers: self-attention, a convolution with a window of 3 tokens, and an RNN, $h_t = \tanh(x_t W + h_{t-1} U + b)$. All inputs are there at the start. -->

# %%
half = n // 2
f, whole_input = layers["self-attention"], (x, x)                      # keys and values: all of x
two = [np.concatenate([f(x[:half], *whole_input), f(x[half:], *whole_input)])]
f = layers["convolution"]                                              # each half and one neighbour
two += [np.concatenate([f(x[: half + 1])[:half], f(x[half - 1 :])[1:]])]
f = layers["recurrent"]
two += [np.concatenate([f(x[:half]), f(x[half:])])]
kinds_tried = ("self-attention", "convolution", "recurrent")
works = [bool(np.abs(halves - layers[name](*inputs(layers[name], x))).max() < 1e-12)
         for name, halves in zip(kinds_tried, two)]
for name, equal in zip(kinds_tried, works):
    print(f"{name:15} two halves = the whole: {equal}")

# %% [markdown]
# It works with self-attention and with the convolution, but not with the RNN: the second worker lacks the last state of the first one. State $h_t$ needs $h_{t-1}$,
# which needs $h_{t-2}$, and so on. With a worker for each output, all of them could work at once; with the RNN all but one have to wait.
#
# Table 1 calls it *sequential operations*. Our `count` knows: it tells the longest chain of matrix products in which
# each needs the result of the one before.
# %%
longer = rng.standard_normal((48, d))                                  # (n, d)
chains = {name: [count(layer, *inputs(layer, data))[0] for data in (x, longer)]
          for name, layer in layers.items()}
for name, chain in chains.items():
    print(f"{name:15} n = 24: {chain[0]:2}   n = 48: {chain[1]:2}")

# %% [markdown]
# Self-attention has a chain of two, the scores and then the output, however long the sequence is. The convolution has a chain of one (its $k$ products do not wait
# for each other). The RNN has $n + 1$: the product $xW$, and then one product with $U$ for each step.
#
# Waiting does not show on one core. It shows on hardware with thousands of cores, which could give each row a core if the rows did not have to wait.
# That is the paper's first reason to do without recurrence (Section 1).
#
# ## 13.5 Path length: through how many layers does a message go?
#
# What the last token needs may stand at the very beginning. Through how many layers must it go? Backward gives
# $\partial y_t / \partial x_s$. If output $t$ does not depend on input $s$ (we say: it does not *hear* it), this derivative is exactly zero. To ask for all $t$ at
# once, take $n$ copies of the sequence, and in copy $t$ send a gradient into output $t$ only.

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

# %% [markdown]
# > **Predict.** There are 27 tokens. After how many layers of convolution ($k = 3$) does the last output hear the first input?
# >
# > - 3 → Three is log₃ 27. Each layer would have to reach three times as far as the one below.
# > - 9 → A window has three places. How far does it reach to one side?
# > - 13 → This is the way to the middle.
# > - 26 <!-- true: paths["convolution, k = 3"][-1] == 26 -->

# %%
def layers_needed(new_layer, distance):
    stack = [new_layer()]
    while not hears(stack)[distance, 0]:
        stack.append(new_layer())
    return len(stack)

paths = {name: [layers_needed(new, distance) for distance in (1, 4, 13, 26)] for name, new in make.items()}
for name, path in paths.items():
    print(f"{name:19} distance 1: {path[0]}   4: {path[1]}   13: {path[2]:2}   26: {path[3]:2}")

# %% [markdown]
# The convolution needs 26 layers: it carries a message one place further in each. Restricted attention with $r = 9$ needs 7, self-attention 1. From end to end they need
# about $2n / (k - 1)$ and $2n / (r - 1)$ layers; Table 1 drops the constants and keeps $n / r$. Self-attention needs one, whatever the distance.
#
# For convolutions Table 1 says $\log_k n$, not $n / k$. That is for *dilated* ones, whose taps stand apart (Lesson 13.6 builds one).
#
# The picture shows who hears whom: dark cells are exact zeros. Each row is an output.

# %%
shown = [("convolution, k = 3", 1), ("convolution, k = 3", 4), ("restricted, r = 9", 1),
         ("recurrent", 1), ("self-attention", 1)]
maps = {f"{name}, layers: {N}": hears([make[name]() for _ in range(N)]) for name, N in shown}
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

# %% [markdown]
# The RNN hears everything before it, in one layer. So is its path as short as that of self-attention? No: inside
# the layer the message walks from state to state, through $n - 1$ products with $U$. This is the $n$ in Table 1.

# %% [markdown]
# ## 13.6 For the keen: dilated convolutions, and what is left of the message
#
# A *dilated* convolution has taps that stand 1, then $k$, then $k^2$ places
# apart. You can build one from `Convolution1D`: lay the sequence out in `gap` rows, so that neighbours in a row stand
# `gap` places apart.

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

# %% [markdown]
# Three layers of $k = 3$ with gaps 1, 3 and 9 hear this many of 27 inputs:

# %%
dilated = hears([Dilated(make["convolution, k = 3"](), gap) for gap in (1, 3, 9)])    # (n, n)

print("inputs heard by output 13:", dilated[13].sum())

# %% [markdown]
# The output in the middle hears all 27: every layer multiplies by 3, and $\log_3 27 = 3$.
#
# A long path matters if the message becomes weaker on the way. Measure the length (the norm) of the Jacobian $\partial y_n / \partial x_s$ of the *last* output
# against the distance $n - s$. Nothing is trained, so it matters how $U$ is drawn (Lesson 7.1). `RNN` draws it evenly between $\pm 1/\sqrt{d}$, as PyTorch does. A second RNN gets twice an orthogonal matrix, which makes every vector twice as long. Each curve is the median of ten draws.

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

def rnn_with_large_U(rng):
    rnn = RNN(d, d, rng=rng)
    rnn.U.value[:] = 2 * np.linalg.qr(rng.standard_normal((d, d)))[0]  # twice an orthogonal matrix
    return rnn

messages = {"RNN": lengths_of_jacobian(lambda rng: RNN(d, d, rng=rng)),
            "RNN with a larger U": lengths_of_jacobian(rnn_with_large_U),
            "self-attention": lengths_of_jacobian(lambda rng: MultiHeadAttention(d, 4, rng=rng))}
fig = new_figure(7, 4.2)
ax = fig.subplots()
for i, (name, length) in enumerate(messages.items()):
    ax.semilogy(length, color=COLORS[i], marker=MARKERS[i], markevery=10, label=name)
ax.set(xlabel="distance from the last output", ylabel="length of the Jacobian", ylim=(1e-25, 1e3),
       title="How much does the last output hear?")
ax.legend()
fig

# %% [markdown]
# Straight lines on a logarithmic axis are exponentials. Each step of the RNN multiplies the Jacobian by $U^\top$ and by $1 - h_t^2 < 1$. The first $U$ makes a vector
# shorter, so after 50 steps less than $10^{-12}$ is left; the larger $U$ more than makes up for it. So a long path need not lose the message, but what arrives depends on $n$ factors. The gates of a GRU (Cho et al., 2014; `GRU` in `aiayn_np.variants`) are made to hold them near 1. In self-attention the token 99 places back
# counts as much as one 2 places back: the formula does not contain the distance.
#
# ## 13.7 Table 1, measured
#
# Here is everything together. Each layer has two lines: what the paper says, and what we measured. The table of the paper gives
# orders of growth: our chain of 2 is its 1, our 25 its $n$.

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

# %% [markdown]
# Read the table by columns. **Operations:** self-attention is square in the length, recurrence and convolution in the width,
# restricted attention in neither. **Sequential:** only the RNN has to wait. **Path:** only self-attention without restriction has a path of one. CNNs are parallel like attention, and
# their path is long like that of an RNN; dilation makes it a logarithm.

# %% [markdown]
# ## 13.8 For the keen: what that means for decoding
#
# The RNN has one advantage that Table 1 does not show. In training a decoder knows the whole target, so all positions are computed at once
# (Lesson 5). In *use* it writes one token at a time, and each token is made from the one before: that takes $n$ steps in
# a row, whatever the layer is. What does one step cost?
#
# A causal layer need not compute everything again for each token. Keys and values of old tokens do not change, so keep them. This is the KV cache of Lesson 5.7:

# %%
n, d = 64, 32
layer = MultiHeadAttention(d, 4, rng=rng)
x = rng.standard_normal((n, d))                                        # (n, d)  the tokens, as they come

def decode_with_kept_keys(x):
    K, V, rows = [], [], []
    for t in range(len(x)):
        token = x[t : t + 1]                                           # (1, d)
        q, k, v = (split_heads(linear(token), layer.h)                 # (h, 1, d_k) each
                   for linear in (layer.linear_Q, layer.linear_K, layer.linear_V))
        K, V = K + [k], V + [v]                                        # what is kept grows
        heads = layer.attention(q, np.concatenate(K, axis=1), np.concatenate(V, axis=1))
        rows.append(layer.linear_O(merge_heads(heads)))                # (1, d)
    return np.concatenate(rows)                                        # (n, d)

at_once = layer(x, x, x, allowed=causal(n))                            # (n, d)  as in training
print("one at a time = all at once:", np.abs(decode_with_kept_keys(x) - at_once).max() < 1e-12)

# %% [markdown]
# > **Predict.** Without keeping them, step $t$ runs the layer over all $t$ tokens. For 64 tokens, how many times as many multiply-adds is that?
# >
# > - About 2 → Half of all tokens are old, on average. But each old one is computed again in *every* step.
# > - About 8 → This would be the root of the length.
# > - More than 30 <!-- true: again / kept > 30 -->

# %%
def decode_again_and_again(x):
    return np.concatenate([layer(x[:t], x[:t], x[:t])[-1:] for t in range(1, len(x) + 1)])

kept, again = count(decode_with_kept_keys, x)[1], count(decode_again_and_again, x)[1]
by_rnn = count(RNN(d, d, rng=rng), x)[1]
print(f"keys and values kept {kept:10,}\nagain and again      {again:10,}   × {again / kept:.0f}")
print(f"RNN                  {by_rnn:10,}")

# %% [markdown]
# Without keeping them it takes 36 times as many, a little more than half of the length. (`greedy_decode` of this library has a KV cache, too, and so has every program that serves GPT.) With keys and values kept, step $t$ costs $4 d^2 + 2 t d$ and needs $2 t d$ numbers of memory for each layer, more with
# each token. A step of the RNN costs $2 d^2$ and needs its $d$ numbers of state, at the first token as at the millionth.
#
# | | training, long sequences | decoding, one token at a time |
# |---|---|---|
# | RNN | $n$ steps in a row, path $n$ | constant time and memory per token |
# | convolution | parallel, path $n / k$ or $\log_k n$ | constant per token (a window) |
# | self-attention | parallel, path 1, but $n^2$ | $t\,d$ at token $t$, and all keys and values to keep |
#
# The paper wanted to train faster, and for that the exchange is good: pay with $n^2$, get parallelism and short paths. For
# very long sequences $n^2$ becomes too much. Local attention (Longformer: Beltagy et al., 2020) and new kinds of recurrence (Mamba: Gu and Dao, 2023) are attempts to
# pay less.

# %% [markdown]
# ## 13.9 Check what this lesson claimed

# %%
assert all(counted[name] == formula[name](24, 8) for name in formula)  # the formulas are exact
assert formula["self-attention"](512, 512) == formula["recurrent"](512, 512)       # equal at n = d
assert complexity.exponents("n")["self-attention"] > 1.5 > complexity.exponents("n")["recurrent"]
assert (np.allclose(blocks, exact), np.allclose(local, exact)) == (True, False)
assert {name: chain[1] for name, chain in chains.items()} == {
    "self-attention": 2, "restricted": 2, "recurrent": 49, "convolution": 1}
assert [path[-1] for path in paths.values()] == [1, 7, 26, 1]
assert dilated[13].all()
assert messages["RNN"][51] < 1e-12 * messages["RNN"][1]
assert messages["self-attention"][1:].min() > messages["self-attention"][1:].max() / 10
assert np.abs(decode_with_kept_keys(x) - at_once).max() < 1e-12
assert round(again / kept) == 36
print("all true")

# %% [markdown]
# ## Summary
#
# - Multiply-adds: self-attention $2 n^2 d$, restricted $2 r n d$, recurrent $2 n d^2$, convolution $k n d^2$. Self-attention is
#   cheaper than recurrence for $n < d$ (projections not counted).
# - The map costs $n^2$ numbers for each head. Memory-efficient attention does without, and is the same function; local
#   attention is another one.
# - **Parallelism:** self-attention and convolution compute all positions at once, an RNN waits $n$ times.
# - **Path:** 1 for self-attention; $n$ steps in an RNN; of the order of $n/k$ layers of convolutions, $\log_k n$ of dilated ones.
# - In decoding every model writes one token at a time, and there an RNN's small state is cheaper than the keys and values of all tokens.
#
# **What you can do now:** count the price of any layer on paper, check it with `count`, and read Table 1 as a list of trades.
#
# ## Questions
#
# **1.** A colleague says: "Bidirectional RNN, two workers: one reads forwards, one backwards. So it is parallel." What is the longest chain?
#
# <details><summary>Answer</summary>
#
# The longest chain is still about $n$: each worker walks through the whole sequence, step by step. Two workers, or as many as there are layers, are
# busy; a hundred would not help. In self-attention $n$ workers are.
#
# </details>
#
# **2.** Character-level text: $n = 10\,000$, $d = 512$. By the count, how many times as expensive is self-attention as recurrence?
# What would $r$ have to be for restricted attention to be cheaper than recurrence?
#
# <details><summary>Answer</summary>
#
# Self-attention is $n / d$, about 20 times as expensive. Restricted attention is cheaper than recurrence if $2 r n d < 2 n d^2$, that is $r < d = 512$. With $r = 511$ the path is then
# $n$ over 255 places per layer, about 40 layers from end to end: it pays with the path.
#
# </details>
#
# **3.** In Lesson 13.5 six layers of restricted attention ($r = 9$) do not connect the ends of 27 tokens. What if *one* of the six were
# replaced by full self-attention?
#
# <details><summary>Answer</summary>
#
# Then everything hears everything: that one layer alone has path 1, and the others do not take it away (their bands contain
# each token itself). Many models for long sequences mix many cheap local layers with a few global ones. Try it with `hears`.
#
# </details>
