# %% [markdown]
# # Lesson 13 · What it costs: self-attention, recurrence, convolution
#
# | | |
# |---|---|
# | **You will do** | count, time and weigh four kinds of layer; split them between two workers; find by exact zeros how many layers a message needs |
# | **You will learn** | when self-attention is cheaper than recurrence; what the $(n, n)$ map costs; how CNN, RNN and self-attention differ in parallelism and path length |
# | **You need** | Lessons 1 and 5 |
# | **Paper** | Section 4, Table 1 |
# | **Time** | *see*, and from Lesson 13.4 on *then prove*: about 40 minutes each (estimated); of the parts *for the keen* run the cells, skip the text |

# %%
import importlib.util
import subprocess
import sys
from pathlib import Path

REPOSITORY = ""  # build.py writes the address here that pyproject.toml gives
if importlib.util.find_spec("aiayn_np") is None:  # on a hosted notebook service: one pip install
    package = ".." if Path("../pyproject.toml").exists() else REPOSITORY and f"git+{REPOSITORY}"
    if "ipykernel" not in sys.modules or not package:
        sys.exit("This lesson needs the package aiayn_np, and it is not installed."
                 " README.md, in this folder, says how to install it. Then start again.")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", package], check=True)

# %%
import numpy as np

from aiayn_course.drawings import figure_1
from aiayn_course.lab.claims.complexity import COMPLEXITY, forward_of
from aiayn_course.lab.counting import count
from aiayn_course.lab.measuring import STEADY, peak_bytes, seconds
from aiayn_np import MultiHeadAttention, ScaledDotProductAttention
from aiayn_np.plotting.figures import COLORS, MARKERS, log_ticks, new_figure
from aiayn_np.training.threads import blas_threads
from aiayn_np.variants.convolution import Convolution1D
from aiayn_np.variants.local import LocalAttention
from aiayn_np.variants.memory_efficient import MemoryEfficientAttention
from aiayn_np.variants.recurrent import RNN

# %% [markdown]
# Before 2017 a recurrent network stood where Figure 1 has attention. Four layers read the same 24 tokens. Change the first token: by how much does the last output of each move?
#
# <!-- slide:
# Before 2017 a recurrent network stood where Figure 1 has attention. Four layers read the same 24 tokens. Change the first token: by how much does the last output of each move? -->

# %%
rng = np.random.default_rng(0)
n, d, radius, k = 24, 8, 2, 3
r = 2 * radius + 1                                                     # neighbours, itself included
layers = {"self-attention": ScaledDotProductAttention(), "restricted": LocalAttention(radius),
          "recurrent": RNN(d, d, rng=rng), "convolution": Convolution1D(d, d, k, rng=rng)}

def inputs(layer, x):                                                  # attention: as Q, as K and as V
    return [x] * (3 if isinstance(layer, ScaledDotProductAttention | MultiHeadAttention) else 1)

x = rng.standard_normal((n, d))                                        # (n, d)
changed = x + np.eye(n)[:, :1]                                         # another first token
for name, layer in layers.items():
    moved = layer(*inputs(layer, changed)) - layer(*inputs(layer, x))
    print(f"{name:15} {np.abs(moved[-1]).max():.0e}")

# %% [markdown]
# <!-- slide: Two layers do not notice at all, self-attention does, and the recurrent one hardly, with these numbers
# [print] -->
#
# Two layers do not notice at all, self-attention does, and the recurrent one hardly, with these numbers. <!-- result -->
#
# <!-- slide:
# ![] -->

# %%
figure_1("self_attention")

# %% [markdown]
# ## 13.1 Four layers that do the same job
#
# <!-- slide:
# A layer of an encoder turns $n$ vectors of width $d$ into $n$ vectors of width $d$, each of which may know something of the others. Section 4 compares four kinds: self-attention (all look at all), restricted (each looks at $r$ neighbours), a recurrent layer, and a convolution.
# - A **recurrent** layer (RNN) passes a state on, from each token to the next: $h_t = \tanh(x_t W + h_{t-1} U + b)$. The state $h_t$ is its output.\
# - A **convolution** adds up a window of $k$ tokens, each times a matrix of its own: $y_t = \sum_j x_{t+j} W_j + b$. -->
#
# <!-- slide:
# The letters are those of Table 1: $n$ is the number of tokens ($T$ elsewhere), $d$ is $d_\text{model}$, and $k$ is no key.\
# **Count on paper.** A product of $(a, b)$ and $(b, c)$ takes $a\,b\,c$ multiply-adds.\
# - self-attention: $QK^\top$ is $(n, d)(d, n)$, and weights times $V$ is $(n, n)(n, d)$: together $2 n^2 d$\
# - restricted: the same for $r$ keys instead of $n$: $2 r n d$\
# - recurrent: $x W$ is $(n, d)(d, d)$, and $h\,U$ is $(1, d)(d, d)$, $n$ times: $2 n d^2$\
# - convolution: $k$ products $(n, d)(d, d)$: $k n d^2$ -->
#
# A layer of an encoder turns $n$ vectors of width $d$ into $n$ others of width $d$, each of which may know something of the rest. Section 4 compares
# self-attention (all look at all), restricted (each looks at $r$ neighbours), a recurrent layer and a convolution.
#
# - A **recurrent** layer (RNN) passes a state on, from each token to the next: $h_t = \tanh(x_t W + h_{t-1} U + b)$. The state $h_t$ is its output.
# - A **convolution** adds up a window of $k$ tokens, each times a matrix of its own: $y_t = \sum_j x_{t+j} W_j + b$.
#
# The letters are those of Table 1: $n$ tokens ($T$ elsewhere), $d$ is $d_\text{model}$, and $k$ is no key.
#
# **Count on paper.** A product of $(a, b)$ and $(b, c)$ takes $a\,b\,c$ multiply-adds.
#
# - self-attention: $QK^\top$ is $(n, d)(d, n)$, and weights times $V$ is $(n, n)(n, d)$: together $2 n^2 d$
# - restricted: the same for $r$ keys instead of $n$: $2 r n d$
# - recurrent: $x W$ is $(n, d)(d, d)$, and $h\,U$ is $(1, d)(d, d)$, $n$ times: $2 n d^2$
# - convolution: $k$ products $(n, d)(d, d)$: $k n d^2$
#
# **Count for real.** `count` adds up the multiply-adds of a layer's matrix products.
#
# <!-- slide: The formulas are exact
# `count` adds up the multiply-adds of each product of matrices in a layer.\
# [code]
# [print]
# Table 1 drops the factors 2. -->

# %% show=[1, 2, 3]
formula = {"self-attention": lambda n, d: 2 * n**2 * d, "restricted": lambda n, d: 2 * r * n * d,
           "recurrent": lambda n, d: 2 * n * d**2, "convolution": lambda n, d: k * n * d**2}
counted = {name: count(layer, *inputs(layer, x))[1] for name, layer in layers.items()}
for name in layers:
    print(f"{name:15} by formula {formula[name](n, d):6,}   counted {counted[name]:6,}")

# %% [markdown]
# The formulas are exact. Table 1 drops the factors 2. <!-- result -->
#
# > **Predict.** $d = 512$, as in the base model. For which lengths is self-attention cheaper than recurrence?
# >
# > - Below 512 tokens → It is n²d against nd², so n against d. <!-- true: formula["self-attention"](128, 512) < formula["recurrent"](128, 512) and formula["self-attention"](2048, 512) > formula["recurrent"](2048, 512) -->
# > - Above 512 tokens → A square grows faster than a line.
# > - Below 8 tokens → This would be true for d = 8.
# > - For none, since it is the square of the length → The square of a small number may be small.
# >
# > <!-- given: Self-attention takes $2n^2d$ multiply-adds, a recurrent layer $2nd^2$. -->

# %%
lengths = np.array([32, 128, 512, 2048, 8192])
ax = new_figure(6.5, 3.6).subplots()
for i, (name, f) in enumerate(formula.items()):
    ax.loglog(lengths, f(lengths, 512) / 1e6, color=COLORS[i], marker=MARKERS[i], label=name)
ax.axvline(512, color="0.6", linestyle=":")                            # n = d
ax.set(xlabel="n, tokens", ylabel="millions of multiply-adds", title="d = 512, r = 5, k = 3")
log_ticks(ax.xaxis, lengths)
ax.legend()
ax.figure

# %% [markdown]
# <!-- answer: Most sentences are shorter than 512 tokens, as Section 4 says
# ![]
# At $n = d$, the dotted line, the two are equal. -->
#
# Most sentences are shorter than 512 tokens, as Section 4 says. At $n = d$, the dotted line, the two are equal. <!-- result -->
#
# Table 1 leaves out the four projections of multi-head attention: $4 n d^2$, twice the whole RNN. So fewer multiply-adds are not the reason to take
# attention.
#
# ## 13.2 Does the clock agree?
#
# One forward pass of each layer, $d = 256$, one thread (restricted attention now has $r = 65$):
#
# <!-- slide: Self-attention has the steepest line, as counted
# ![]
# At $n = d$, the dotted line, it has as many multiply-adds as recurrence, and is faster. Because the steps of a recurrence wait for one another? -->

# %%
timed, milliseconds = (64, 128, 256, 512, 1024, 2048), {}
ax = new_figure(6.5, 3.6).subplots()
for i, name in enumerate(layers):
    with blas_threads():                                               # one
        times = seconds([forward_of(name, n, 256, rng) for n in timed], clock=STEADY)
    milliseconds[name] = 1e3 * np.median(times, axis=1)
    print(f"{name:15} n = 256: {milliseconds[name][2]:5.2f} ms   n = 2048: {milliseconds[name][-1]:6.2f} ms")
    ax.loglog(timed, milliseconds[name], color=COLORS[i], marker=MARKERS[i], label=name)
ax.axvline(256, color="0.6", linestyle=":")                            # n = d
ax.set(xlabel="n, tokens", ylabel="milliseconds", title="d = 256, r = 65, k = 3")
log_ticks(ax.xaxis, timed)
ax.legend()
ax.figure

# %% [markdown]
# Self-attention has the steepest line, as counted. At $n = d$, the dotted line, it does as many multiply-adds as recurrence, faster. <!-- result -->
# Because the steps of a recurrence wait for one another? Give each step a state $z_t$ that is there from the start, so that none waits; then take all
# steps as one product.

# %%
X, Z, W, U = (rng.standard_normal((256, 256), dtype=np.float32) / 16 for _ in "XZWU")   # n = d

def steps(X, Z, W, U, waits=True):
    XW, h = X @ W, Z[0]
    for t in range(len(X)):
        h = np.tanh(XW[t] + (h if waits else Z[t]) @ U)

whole, narrow = (X, Z, W, U), (X[:, :1], Z[:, :1], W[:1, :1], U[:1, :1])                # d = 256, d = 1
tries = {"every step waits": lambda: steps(*whole), "no step waits": lambda: steps(*whole, waits=False),
         "the calls, d = 1": lambda: steps(*narrow), "one product": lambda: np.tanh(X @ W + Z @ U)}
with blas_threads():                                                   # one
    times = seconds([*tries.values()], clock=STEADY, repeats=21)       # (4, repeats), in turns
tried = np.median(times / times[0], axis=1)                            # each turn beside its own first
for name, ratio in zip(tries, tried):
    print(f"{name:17} takes {ratio:.2f} times as long as the first")

# %% [markdown]
# <!-- slide: The steps take as long if none waits for another; one product is faster
# [print]
# One thread never waits. Many calls and small products take longer than one large product. -->
#
# No: the loop takes as long if no step waits. Part of the gap is the price of many NumPy calls: with $d = 1$ the loop does hardly anything else. The
# rest is many small products in place of a large one. Waiting costs those who have more workers than one (Lesson 13.4). <!-- result -->
#
# ## 13.3 Memory: the map
#
# <!-- slide:
# Self-attention has another square: the map, $(n, n)$ for every head, kept for the backward pass.\
# For 8192 tokens and 8 heads in float32 the maps of one layer take $8 \cdot 8192^2 \cdot 4$ bytes, more than 2 GB.
# Two ways out:\
# - `LocalAttention(radius)` is the paper's restricted self-attention. It computes nothing outside a band. That is another function.\
# - `MemoryEfficientAttention(block)` computes *everything*, but only `block` keys at a time, and again in the backward pass (Rabe and Staats, 2021; on graphics processors FlashAttention: Dao et al., 2022). -->
#
# Self-attention has another square: the map, $(n, n)$ for every head, kept for the backward pass.
#
# For 8192 tokens and 8 heads in float32 the maps of one layer take $8 \cdot 8192^2 \cdot 4$ bytes, more than 2 GB. Two ways out:
#
# - `LocalAttention(radius)`, the paper's restricted self-attention, computes nothing outside a band. That is another function.
# - `MemoryEfficientAttention(block)` computes *everything*, but only `block` keys at a time, and again in the backward pass (Rabe and Staats, 2021; on graphics processors FlashAttention: Dao et al., 2022).

# %%
Q, K, V = rng.standard_normal((3, 200, 16))                            # (n, d_k) each
exact = ScaledDotProductAttention()(Q, K, V)                           # (n, d_k)
blocks, local = MemoryEfficientAttention(64)(Q, K, V), LocalAttention(32)(Q, K, V)
print("memory-efficient = plain", np.allclose(blocks, exact), "  local = plain", np.allclose(local, exact))

def megabytes(layer, n):                                               # at most, forwards and backwards
    x = rng.standard_normal((n, 64), dtype=np.float32)                 # (n, d_k)
    return peak_bytes(lambda: layer.backward(x, layer.forward(x, x, x)[1])) / 1e6

plain, blockwise, band = ScaledDotProductAttention(), MemoryEfficientAttention(64), LocalAttention(32)
print(f"512 tokens: plain {megabytes(plain, 512):.1f} MB, memory-efficient {megabytes(blockwise, 512):.1f} MB")

# %% [markdown]
# > **Predict.** Now 2048 tokens, four times as many. How many times as much memory do the two need?
# >
# > - 4 times as many, both → Plain attention keeps a number for each *pair* of tokens.
# > - Plain 16 times as many, memory-efficient 4 times → Only plain attention keeps the map, a square. <!-- true: [round(large[name] / small[name]) for name in ("plain", "memory-efficient")] == [16, 4] -->
# > - 16 times as many, both: both compute the whole map → How much of it does each have in memory at a time?
# > - Plain 16 times as many, memory-efficient no more: a block has 64 keys → Are queries, keys and values still as short?
# >
# > <!-- given: Plain attention keeps the $(n, n)$ map. Memory-efficient attention computes all of it, a block of 64 keys at a time. With 512 tokens they need {megabytes(plain, 512)} and {megabytes(blockwise, 512)} MB. -->

# %%
kinds = {"plain": plain, "memory-efficient": blockwise, "local": band}
small, large = ({name: megabytes(layer, n) for name, layer in kinds.items()} for n in (512, 2048))
for name in kinds:
    print(f"{name:17} 512 tokens {small[name]:5.1f} MB, 2048 tokens {large[name]:5.1f} MB")

# %% [markdown]
# <!-- answer:
# [print]
# Memory-efficient attention is the same function, and never has the map in memory as a whole. It still does all $n^2 d$ multiply-adds, and some twice: it saves memory, not work. Local attention saves both, and cannot look far. -->
#
# Memory-efficient attention is the same function, and never has the whole map in memory. It still does all $n^2 d$ multiply-adds, some twice: it saves
# memory, not work. Local attention saves both, and cannot look far. <!-- result -->

# %% [markdown]
# ## 13.4 Parallelism: who has to wait?
#
# Two workers share a layer, and neither does the other's work again.
#
# > **Predict.** Self-attention, a convolution ($k = 3$) and an RNN: with which of the three can two workers compute half of the outputs each, at the same time?
# >
# > - With all three → Can each output be computed when the input is there?
# > - With the convolution only → In self-attention every output needs all *inputs*, and they are there.
# > - With the convolution and the RNN → One of them looks at what its neighbour has *computed*.
# > - With self-attention and the convolution → Their outputs need inputs alone, and no other output. <!-- true: works == [True, True, False] -->
# >
# > <!-- given: The RNN computes $h_t = \tanh(x_t W + h_{t-1} U + b)$. All inputs are there at the start. -->

# %%
half = n // 2
f = layers["self-attention"]                                           # keys and values: all of x
by_attention = f(x[:half], x, x), f(x[half:], x, x)
f = layers["convolution"]                                              # each half and one neighbour
first, second = f(x[: half + 1]), f(x[half - 1 :])
by_convolution = first[:half], second[1:]                              # without the neighbour
f = layers["recurrent"]
by_rnn = f(x[:half]), f(x[half:])
two = [np.concatenate(halves) for halves in (by_attention, by_convolution, by_rnn)]
kinds_tried = ("self-attention", "convolution", "recurrent")
works = [bool(np.abs(halves - layers[name](*inputs(layers[name], x))).max() < 1e-12)
         for name, halves in zip(kinds_tried, two)]
for name, equal in zip(kinds_tried, works):
    print(f"{name:15} two halves = the whole: {equal}")

# %% [markdown]
# <!-- answer:
# [print]
# In the RNN the second worker lacks the last state of the first one: $h_t$ needs $h_{t-1}$, which needs $h_{t-2}$, and so on. -->
#
# In the RNN the second worker lacks the last state of the first one: $h_t$ needs $h_{t-1}$, which needs $h_{t-2}$, and so on. <!-- result -->
#
# Table 1 calls this *sequential operations*. `count` tells the longest chain of matrix products in which each needs the one before.
#
# <!-- slide: Self-attention has a chain of two, the scores and then the output, at any length
# Table 1 calls this *sequential operations*. `count` tells the longest chain of matrix products in which each needs the result of the one before.\
# [code]
# [print]
# The convolution has a chain of one. The RNN has $n + 1$: $xW$, and then a product with $U$ for each step. -->

# %% show=[1, 2, 3]
longer = rng.standard_normal((48, d))                                  # (n, d)
chains = {name: [count(layer, *inputs(layer, data))[0] for data in (x, longer)]
          for name, layer in layers.items()}
for name, chain in chains.items():
    print(f"{name:15} n = 24: {chain[0]:2}   n = 48: {chain[1]:2}")

# %% [markdown]
# Self-attention has a chain of two, the scores and then the output, at any length. The convolution has a chain of one. The RNN has $n + 1$: $xW$, and then a product with $U$ for each step. <!-- result -->
#
# That is the paper's first reason to do without recurrence (Section 1).
#
# ## 13.5 Path length: through how many layers does a message go?
#
# What the last token needs may stand at the very beginning. If output $t$ does not depend on input $s$ (does not *hear* it), the backward's $\partial
# y_t / \partial x_s$ is exactly zero. To ask for all $t$ at once, take $n$ copies of the sequence, and in copy $t$ send a gradient into output $t$
# only.

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
# > - 3 → For log₃ 27 each layer would have to reach three times as far as the one below.
# > - 9 → How far does a window of three reach to one side?
# > - 13 → This is the way to the middle.
# > - 26 → Each layer carries a message one place further. <!-- true: paths["convolution, k = 3"][-1] == 26 -->
# >
# > <!-- given: An output hears an input if it depends on it. A convolution with $k = 3$ reads a token and its two neighbours. -->

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
# <!-- answer: Restricted attention with $r = 9$ needs 7 layers, self-attention always one
# [print]
# From end to end a convolution needs about $2n / (k - 1)$ layers and restricted attention $2n / (r - 1)$; Table 1 drops the constants and keeps $n / r$. -->
#
# Restricted attention with $r = 9$ needs 7 layers, self-attention always one. From end to end a convolution needs about $2n / (k - 1)$ layers and restricted attention $2n / (r - 1)$; Table 1 drops the constants and keeps $n / r$. <!-- result -->
#
# For convolutions Table 1 says $\log_k n$, not $n / k$. That is for *dilated* ones, whose taps stand 1, then $k$, then $k^2$ places apart: with three layers of $k = 3$ the middle output hears all 27 tokens, and $\log_3 27 = 3$.
#
# The picture shows who hears whom: dark cells are exact zeros.
#
# <!-- slide: The RNN hears everything before it, in one layer
# The picture shows who hears whom: dark cells are exact zeros.\
# ![]
# So is its path as short as that of self-attention? -->

# %%
shown = [("convolution, k = 3", 1), ("convolution, k = 3", 4), ("convolution, k = 3", 13),
         ("restricted, r = 9", 1), ("recurrent", 1), ("self-attention", 1)]
maps = {f"{name}\nlayers: {N}": hears([make[name]() for _ in range(N)]) for name, N in shown}
fig = new_figure(7, 5.6)
axes = fig.subplots(2, 3, sharex=True, sharey=True).flat
for ax, (name, heard) in zip(axes, maps.items()):
    ax.imshow(heard, cmap="cividis", vmin=0, vmax=1)
    ax.set(title=name, xticks=range(0, 27, 13), yticks=range(0, 27, 13))
fig.suptitle("Who hears whom? (yellow: the output hears the input)", fontsize="medium")
fig.supxlabel("input position", fontsize="medium")
fig.supylabel("output position", fontsize="medium")
fig

# %% [markdown]
# The RNN hears everything before it, in one layer. But inside
# the layer the message walks from state to state, through $n - 1$ products with $U$. This is the $n$ in Table 1. <!-- result -->

# %% [markdown]
# ## 13.6 Table 1, measured
#
# The exponents are of the time (experiment `complexity`). The paper drops constants: it writes 1 for our chain of 2, and $n$ for our 25.
#
# <!-- slide: Only the RNN's wait grows with $n$, and only self-attention without restriction has a path of one
# The exponents are of the time, from the experiment `complexity`. The paper writes 1 for our chain of 2, and $n$ for our 25, since it drops constants.
# [print] -->

# %%
paper = {"self-attention": ("n² d", "1", "1"), "restricted": ("r n d", "1", "n / r"),
         "recurrent": ("n d²", "n", "n"), "convolution": ("k n d²", "1", "log_k n")}
found = {"self-attention": "1 layer", "restricted": f"{paths['restricted, r = 9'][-1]} layers (r = 9)",
         "recurrent": "1 layer, 26 steps in it",
         "convolution": f"{paths['convolution, k = 3'][-1]} layers (k = 3, not dilated)"}
if Path("../figures/complexity.json").exists():                        # what the whole experiment found
    complexity = COMPLEXITY.load("../figures")
else:                                                                  # a shorter one
    complexity = COMPLEXITY.run(repeats=5)
in_n, in_d = complexity.exponents("n"), complexity.exponents("d")
print(f"{'layer':15} {'':9} {'operations':12} {'n = 24: waits':14} n = 27: path")
for name, (operations, waits, path) in paper.items():
    print(f"{name:15} {'paper':9} {operations:12} {waits:14} {path}")
    print(f"{'':15} measured  {f'n^{in_n[name]:.1f} d^{in_d[name]:.1f}':12} {chains[name][0]:<14} {found[name]}")

# %% [markdown]
# Only the RNN's wait grows with $n$, and only self-attention without restriction has a path of one. <!-- result -->
#
# ## 13.7 For the keen: and when it writes?
#
# The RNN has one advantage that Table 1 does not show. In *use* a decoder writes one token at a time, whatever the layer is. With the KV cache of Lesson 5.7,
# step $t$ of self-attention takes $4 d^2 + 2 t d$ multiply-adds, projections included, and keeps $2 t d$ numbers in each layer. A step of the RNN
# always takes $2 d^2$ and keeps $d$ numbers.
#
# For very long sequences $n^2$ becomes too much. Local attention (Longformer: Beltagy et al., 2020) and recurrences that are linear in $h$ (Mamba: Gu
# and Dao, 2023) pay less. Without the $\tanh$ a recurrence need not wait: its products can be taken in pairs, pairs of pairs and so on, in about
# $\log_2 n$ rounds.

# %% [markdown]
# ## 13.8 Yours: a recurrence that waits for nothing
#
# <!-- slide: Write your number down, then measure
# Lesson 13.2 gave each step a state that is there from the start. Count it: with `count`, how long is the longest chain of matrix products of such a loop, for $n = 48$? (That of the RNN is 49.) -->
#
# Lesson 13.2 gave each step a state that is there from the start. Count it: with `count`, how long is the longest chain of matrix products of such a loop, for $n = 48$? (That of the RNN is 49.)

# %% show=false
from aiayn_course.exercises import judge

predicted = 48                     # type your number first
# yours: the longest chain of matrix products
states = rng.standard_normal((48, d))                                  # there from the start
W_x, U_h = rng.standard_normal((2, d, d))
def no_waiting(x):
    return np.stack([np.tanh(x[t] @ W_x + states[t] @ U_h) for t in range(len(x))])

measured, _ = count(no_waiting, longer)
judge(13, predicted, measured)

# %% [markdown]
# One: 48 workers could take a step each. One thread still does all steps; the chain only says how
# many must follow one another. <!-- result -->
#
# ## 13.9 Check what this lesson claimed

# %%
assert all(counted[name] == formula[name](24, 8) for name in formula)  # the formulas are exact
assert complexity.exponents("n")["self-attention"] > 1.5 > complexity.exponents("n")["recurrent"]
assert tried[3] < 0.75 < tried[1] < 1.35                               # not the waiting costs time
assert tried[2] < 1 - tried[3]                                         # nor the calls alone
assert (np.allclose(blocks, exact), np.allclose(local, exact)) == (True, False)
assert [round(large[name] / small[name]) for name in ("plain", "memory-efficient")] == [16, 4]
assert {name: chain[1] for name, chain in chains.items()} == {
    "self-attention": 2, "restricted": 2, "recurrent": 49, "convolution": 1}
assert [path[-1] for path in paths.values()] == [1, 7, 26, 1]
print("all true")

# %% [markdown]
# ## Summary
#
# - Multiply-adds: self-attention $2 n^2 d$, restricted $2 r n d$, recurrent $2 n d^2$, convolution $k n d^2$. By this count self-attention is cheaper than recurrence for $n < d$.
# - The map costs $n^2$ numbers for each head. Memory-efficient attention does without, and is the same function; local attention is not.
# - **Parallelism:** self-attention and convolution compute all positions at once, an RNN with a tanh waits $n$ times.
# - **Path:** 1 for self-attention; $n$ steps in an RNN; of the order of $n/k$ layers of convolutions, $\log_k n$ of dilated ones.
#
# **What you can do now:** say what a layer costs in time, memory, waiting and path, before you build it.
#
# ## Questions
#
# **1.** A colleague says: "Bidirectional RNN, two workers: one reads forwards, one backwards. So it is parallel." What is the longest chain?
#
# <details><summary>Answer</summary>
#
# The longest chain is still about $n$: each worker walks through the whole sequence. Two workers are busy; a hundred would not help. In self-attention
# $n$ are.
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
# Then everything hears everything: that one layer has path 1, and the others do not take it away (their bands contain each token itself).
#
# </details>
