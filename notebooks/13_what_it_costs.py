# %% [markdown]
# # Lesson 13 · What it costs: self-attention, recurrence, convolution
#
# | | |
# |---|---|
# | **You will do** | count every multiplication of four kinds of layer, time them, weigh them; cut them in half for two workers; find out by exact zeros how many layers a message needs; and print Table 1 of the paper with your own measurements in it |
# | **You will learn** | when self-attention is cheaper than recurrence; what the $(n, n)$ map costs and how to do without; how CNN, RNN and self-attention differ in parallelism and path length; what that means for long sequences and for decoding |
# | **You need** | Lessons 1 and 5, the backward pass (Lesson 4) as something that exists |
# | **Paper** | Section 4, Table 1 |
# | **Time** | 50 minutes, without the part marked *for the keen*: run its cells, skip its text, since no later part needs it |
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
import inspect
from pathlib import Path

import numpy as np

from aiayn_np import Module, MultiHeadAttention, ScaledDotProductAttention, causal
from aiayn_np.experiments.claims.complexity import COMPLEXITY
from aiayn_np.experiments.counting import count
from aiayn_np.experiments.measuring import STEADY, peak_bytes, seconds
from aiayn_np.multi_head import merge_heads, split_heads
from aiayn_np.plotting.drawings import figure_1
from aiayn_np.plotting.figures import COLORS, MARKERS, new_figure
from aiayn_np.variants.convolution import Convolution1D
from aiayn_np.variants.local import LocalAttention
from aiayn_np.variants.memory_efficient import MemoryEfficientAttention
from aiayn_np.variants.recurrent import GRU, RNN

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# In Figure 1 this lesson asks what the attentions cost, and what else could stand in their place.

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

# %%
x = rng.standard_normal((n, d))                                        # (n, d)
caches = {name: layer.forward(*inputs(layer, x))[1] for name, layer in layers.items()}
print("map of self-attention ", caches["self-attention"].weights.shape, " (n, n)")
print("band of the restricted", caches["restricted"].band.shape, "  (n, r)")
print("states of the RNN     ", caches["recurrent"].y.shape, "  (n, d), and U", layers["recurrent"].U)
print("W of the convolution  ", layers["convolution"].W.value.shape, "(k, d, d)")

# %% [markdown]
# You know self-attention. Here are the forwards of the RNN and of the convolution:

# %%
print(inspect.getsource(RNN.forward))
print(inspect.getsource(Convolution1D.forward))

# %% [markdown]
# The RNN first computes $xW + b$ for all tokens (`linear_x`). Then a loop passes the state $h$ on, from each token to the next. The convolution has a loop over the $k$ places of its window, and no loop over the tokens.

# %% [markdown]
# **Count on paper.** A product of $(a, b)$ and $(b, c)$ takes $a\,b\,c$ multiply-adds.
#
# - self-attention: $QK^\top$ is $(n, d)(d, n)$, and weights times $V$ is $(n, n)(n, d)$: together $2 n^2 d$
# - restricted: the same for $r$ keys instead of $n$: $2 r n d$
# - recurrent: $x W$ is $(n, d)(d, d)$, and $h\,U$ is $(1, d)(d, d)$, $n$ times: $2 n d^2$
# - convolution: $k$ products $(n, d)(d, d)$: $k n d^2$
#
# **Count for real.** `count` sends an array that counts through a layer: NumPy tells the array of every operation, and for every product of matrices it adds up the multiply-adds.
# It also tells how many products in a row had to wait for one another, the *chain*; Lesson 13.4 needs that. A first try, with one product of (2, 3) and (3, 4), and with two in a row:

# %%
A, B, C = np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 4))
print("chain and multiply-adds:", count(lambda A: A @ B, A), count(lambda A: A @ B @ C, A))

# %% [markdown]
# > **Predict.** $n = 24$, $d = 8$, $r = 5$, $k = 3$. Which of the four needs the most multiply-adds?

# %%
formula = {"self-attention": lambda n, d: 2 * n**2 * d, "restricted": lambda n, d: 2 * r * n * d,
           "recurrent": lambda n, d: 2 * n * d**2, "convolution": lambda n, d: k * n * d**2}
counted = {name: count(layer, *inputs(layer, x))[1] for name, layer in layers.items()}
for name in layers:
    print(f"{name:15} by formula {formula[name](n, d):6,}   counted {counted[name]:6,}")

# %% [markdown]
# Self-attention needs the most, and the formulas are exact. Table 1 drops the factors 2 and keeps $n^2 d$, $r n d$, $n d^2$, $k n d^2$. So
# self-attention against recurrence is $n^2 d$ against $n d^2$.
#
# > **Predict.** $d = 512$, as in the base model. For which lengths is self-attention cheaper than recurrence?

# %%
print("multiply-adds in millions, d = 512, r = 5, k = 3")
print("n    ", *(f"{name:>15}" for name in formula))
for length in (32, 128, 512, 2048, 8192):
    print(f"{length:<5}", *(f"{f(length, 512) / 1e6:15,.0f}" for f in formula.values()))

# %% [markdown]
# $n^2 d$ against $n d^2$ is $n$ against $d$, so self-attention is cheaper for $n < d$: below 512 tokens, that is for nearly every sentence, as Section 4 says. At $n = d$ the two are equal, and at
# $n = 8192$ self-attention takes 16 times as many.
#
# Table 1 leaves out the projections of attention. Multi-head attention has four, $4 n d^2$ multiply-adds, and that is twice the whole RNN:

# %%
whole = MultiHeadAttention(d, 2, rng=rng)
_, total = count(whole, x, x, x)
print(f"multi-head attention {total:,} = 4nd² + 2n²d = {4 * n * d**2 + 2 * n**2 * d:,}")
print(f"RNN                  {counted['recurrent']:,} = 2nd²")

# %% [markdown]
# So fewer multiply-adds are not the reason to take attention. Lesson 13.4 shows the reason.

# %% [markdown]
# ## 13.2 Does the clock agree?
#
# The experiment `complexity` times forward passes at several lengths and widths, a hundred times each. That takes minutes, so the next cell reads its numbers from a file; `aiayn-np figures complexity` makes them again. On logarithmic axes a power is a straight line,
# and its exponent is the slope. Each layer has sizes of its own, so the picture shows multiples: how many times as long does it take if the length, or the width, is so many times as large? The dashed lines are the powers of Table 1.

# %%
if Path("../figures/complexity.json").exists():                        # what the whole experiment found
    complexity = COMPLEXITY.load("../figures")
else:                                                                  # a shorter one
    complexity = COMPLEXITY.run(repeats=5)
print(complexity.finding)
complexity.figure()

# %% [markdown]
# The powers are right. But powers say nothing about *where* the costs of two layers are equal. By the count, self-attention and the RNN are equal at $n = d$. Does the clock agree? Take $d = 128$ and time both, here and now.

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

# %% [markdown]
# At $n = 128$ self-attention is clearly faster. The picture shows both ratios; below the dotted line self-attention is cheaper.

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

# %% [markdown]
# On the left nearly all time is the overhead of a call. Where the clock's line crosses the dotted one depends on the machine. Here
# it is well beyond $n = d$: equal multiply-adds are not equal time. Part of the reason is the Python loop of this RNN. Lesson 13.4 shows the other part.

# %% [markdown]
# ## 13.3 Memory: the map
#
# Self-attention has another square: the map, $(n, n)$ for every head, kept for the backward pass.
#
# > **Predict.** How large are the maps of one layer, for 8192 tokens, 8 heads and float32 (4 bytes)?

# %%
print(f"{8 * 8192**2 * 4 / 1e9:.1f} GB")

# %% [markdown]
# These maps alone take 2.1 GB, and a model has many layers. There are two ways out, both in `aiayn_np.variants`.
#
# - `LocalAttention(radius)` is the paper's restricted self-attention. It computes nothing outside a band. That is another function.
# - `MemoryEfficientAttention(block)` computes *everything*, but only `block` keys at a time, and again in the backward pass. The map is never in memory as a whole, and the function is the same
#   (Rabe and Staats, 2021). FlashAttention (Dao et al., 2022) does this on graphics processors.

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

# %% [markdown]
# > **Predict.** The sequence gets twice as long. By which factor does the memory of each grow?

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
# > **Predict.** With which of these does it work: self-attention, a convolution, an RNN?

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

# %% [markdown]
# It works with self-attention and with the convolution, but not with the RNN: the second worker lacks the last state of the first one. State $h_t$ needs $h_{t-1}$,
# which needs $h_{t-2}$, and so on. With a worker for each output, self-attention and convolution compute all outputs at once. With the RNN
# all workers but one have to wait.
#
# Table 1 calls it *sequential operations*. Our `count` knows: it tells the longest chain of matrix products in which
# each needs the result of the one before.
#
# > **Predict.** How long is the longest chain for each of the four with $n = 24$? And with $n = 48$?

# %%
longer = rng.standard_normal((48, d))                                  # (n, d)
chains = {name: [count(layer, *inputs(layer, data))[0] for data in (x, longer)]
          for name, layer in layers.items()}
for name, chain in chains.items():
    print(f"{name:15} n = 24: {chain[0]:2}   n = 48: {chain[1]:2}")

# %% [markdown]
# Self-attention has a chain of two, the scores and then the output, however long the sequence is. The convolution has a chain of one (its $k$ products do not wait
# for each other). The RNN has $n + 1$ (only products of matrices are counted): the product $xW$, and then one product with $U$ for each step.
#
# An RNN must multiply its rows one after the other. What does it cost that they are not one product? Multiply 1024 rows by the same matrix, once in a single product, and once row after row.
# The number of multiply-adds is the same.

# %%
X = rng.standard_normal((1024, 128), dtype=np.float32)                 # (n, d)
U = rng.standard_normal((128, 128), dtype=np.float32)                  # (d, d)
at_once, row_by_row = seconds([lambda: X @ U, lambda: [row @ U for row in X]], 9, STEADY).min(axis=1)
print(f"row by row takes {row_by_row / at_once:.0f} times as long")

# %% [markdown]
# That was *one* processor core, and no row had to wait for another. Row by row, the core reads $U$ again for each row, and Python makes a call for each row. The first is the other reason why self-attention was
# faster in Lesson 13.2 than the count says. Waiting itself does not show on one core. It shows on hardware with thousands of cores, which could give each row a core if the rows did not have to wait.
# That is the paper's first reason to do without recurrence (Section 1).

# %% [markdown]
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
shown = [("convolution, k = 3", 1), ("convolution, k = 3", 4), ("restricted, r = 9", 1),
         ("recurrent", 1), ("self-attention", 1)]
maps = {f"{name}, layers: {N}": hears([make[name]() for _ in range(N)]) for name, N in shown}
for name, heard in maps.items():
    print(f"{name:29} the last output hears {heard[-1].sum():2} of 27 inputs")

# %% [markdown]
# > **Predict.** 27 tokens. How many layers until the last output hears the first input: with the convolution ($k = 3$), with the restricted attention ($r = 9$, that is 4 on each side), with self-attention?

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
# The convolution needs 26 layers, the restricted attention 7, self-attention 1. Per layer a convolution carries a message $(k - 1)/2$ places far, restricted attention $(r - 1)/2$. So from end to end they need
# about $2n / (k - 1)$ and $2n / (r - 1)$ layers; Table 1 drops the constants and keeps $n / r$. Self-attention needs one, whatever the distance.
#
# For convolutions Table 1 says $\log_k n$, not $n / k$. That is for *dilated* ones, whose taps stand apart (Lesson 13.6 builds one).
#
# The picture shows who hears whom: dark cells are exact zeros. Each row is an output.

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
# > **Predict.** Three layers of $k = 3$ with gaps 1, 3 and 9. How many of the 27 inputs does the output in the middle hear?

# %%
dilated = hears([Dilated(make["convolution, k = 3"](), gap) for gap in (1, 3, 9)])    # (n, n)

print("inputs heard by output 13:", dilated[13].sum())

# %% [markdown]
# The output in the middle hears all 27: every layer multiplies by 3, and $\log_3 27 = 3$. (An output at the edge hears fewer, since a message whose way leads over a place outside of the sequence is lost.)
#
# A long path matters if the message becomes weaker on the way. Measure the length (the norm) of the Jacobian $\partial y_n / \partial x_s$ of the *last* output
# against the distance $n - s$: for an RNN, for a GRU, and for self-attention. A GRU (Cho et al., 2014) is a recurrent layer with gates. A gate $z$ between 0 and 1 says how much of the old state is kept:
# $h_t = z\, h_{t-1} + (1 - z)\, \tilde h_t$. Nothing is trained, so it matters how $U$ is drawn (Lesson 7.1). `RNN` draws it evenly between $\pm 1/\sqrt{d}$, as PyTorch does. A second RNN gets twice an orthogonal matrix, which makes every vector twice as long. Each curve is the median of ten draws of the layer and of the sequence.

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

def open_gru(rng):
    gru = GRU(d, d, rng=rng)
    gru.b.value[d : 2 * d] = 4.0                                       # z near 1: "keep what you have"
    return gru

# %%
messages = {"RNN": lengths_of_jacobian(lambda rng: RNN(d, d, rng=rng)),
            "RNN with a larger U": lengths_of_jacobian(rnn_with_large_U),
            "GRU": lengths_of_jacobian(lambda rng: GRU(d, d, rng=rng)),
            "GRU, told to keep": lengths_of_jacobian(open_gru),
            "self-attention": lengths_of_jacobian(lambda rng: MultiHeadAttention(d, 4, rng=rng))}

# %% [markdown]
# > **Predict.** From one step to the next the first RNN keeps about four tenths. What is left after 50 steps: $10^{-2}$, $10^{-6}$ or less than $10^{-12}$?

# %%
for name, length in messages.items():
    print(f"{name:20} distance 1: {length[1]:.0e}   51: {length[51]:.0e}   99: {length[99]:.0e}")
for name in ("RNN", "RNN with a larger U"):
    print(f"{name} keeps {(messages[name][51] / messages[name][1]) ** (1 / 50):.2f} per step")

# %% [markdown]
# Less than $10^{-12}$ is left, by far. But this number is one of the *draw*. Each step multiplies the Jacobian by $U^\top$ and by $1 - h_t^2 < 1$. A $U$ between $\pm 1/\sqrt{d}$ makes a vector
# shorter, to about $1/\sqrt{3} = 0.58$ of its length, so the product decays exponentially. The larger $U$ more than makes up for the factors $1 - h_t^2$: the message even grows from step to step, and with a still larger $U$ it explodes. So a long path need not lose the message, but what arrives depends on $n$ factors. In the picture, straight lines on a logarithmic axis are exponentials. In self-attention the token 99 places back
# counts as much as one 2 places back: the formula does not contain the distance.

# %%
fig = new_figure(7, 4.2)
ax = fig.subplots()
for i, (name, length) in enumerate(messages.items()):
    ax.semilogy(length, color=COLORS[i], marker=MARKERS[i], markevery=10, label=name)
ax.set(xlabel="distance from the last output", ylabel="length of the Jacobian", ylim=(1e-25, 1e3),
       title="How much does the last output hear?")
ax.legend()
fig

# %% [markdown]
# Two remarks. A recurrent layer can *learn* to remember: with the update gate held near 1 the GRU loses only a
# little per step. Gates are made for that. It still takes $n$ steps. And the attention of the plot
# is not trained: it looks at all 100 tokens about equally, so each gets about a hundredth. Training can sharpen that, at any distance.

# %% [markdown]
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
# ## 13.8 What that means for decoding
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
# > **Predict.** Without keeping them, step $t$ runs the layer over all $t$ tokens. For 64 tokens: how many times as many multiply-adds is that: about 2, about 8, or more than 30?

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
assert messages["RNN with a larger U"][51] > 0.1                       # another draw, another end
assert messages["self-attention"][1:].min() > messages["self-attention"][1:].max() / 10
assert np.abs(decode_with_kept_keys(x) - at_once).max() < 1e-12
assert np.abs(decode_again_and_again(x) - at_once).max() < 1e-12
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
# - **Path:** 1 for self-attention; $n$ steps in an RNN, each of which changes the length of the gradient, so that it depends on the draw of $U$ what is left of it; of the order of $n/k$ layers of convolutions,
#   $\log_k n$ of dilated ones.
# - In decoding every model writes one token at a time, and there the RNN's small state is cheaper than keys and values of all tokens.
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
