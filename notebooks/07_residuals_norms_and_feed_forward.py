# %% [markdown]
# # Lesson 7 · Residuals, layer norm, feed-forward: what surrounds attention
#
# | | |
# |---|---|
# | **You will do** | send a gradient through 24 layers with and without "Add"; normalise one token with pen and paper; make batch norm fail on a padded batch; derive the backward of layer norm; take a whole encoder layer apart and put it together again |
# | **You will learn** | why the paper writes $x + \mathrm{Sublayer}(x)$; why layer norm runs over the features and batch norm over the batch; what the feed-forward network sees; what changes when the norm moves from after the sum to before the sub-layer |
# | **You need** | Lessons 1 and 2, the chain rule; for Lesson 7.6 also Lessons 4 and 6 |
# | **Paper** | Section 3.1, Section 3.3, Equation 2, Section 5.4, Figure 1 |
# | **Time** | 45 minutes, without the parts marked *for the keen*: run their cells, skip their text, since no later part needs it |
#
# Run the cells from top to bottom. Wherever it says **Predict**, stop, write down a number, and only then go on.

# %%
import importlib.util
import subprocess
import sys
from pathlib import Path

if importlib.util.find_spec("aiayn_np") is None:  # on a hosted notebook service: one pip install
    if "ipykernel" not in sys.modules or not Path("../pyproject.toml").exists():
        raise ImportError("aiayn_np is missing: pip install it from a copy of the whole project")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", ".."], check=True)

# %%
import numpy as np

from aiayn_np import (
    DecoderLayer,
    Dropout,
    Encoder,
    EncoderLayer,
    LayerNorm,
    PositionwiseFeedForward,
    check_gradients,
)
from aiayn_np.experiments.normalisation import NORMALISATION
from aiayn_np.experiments.warm_up import WARM_UP
from aiayn_np.plotting import draw_spread, new_figure
from aiayn_np.variants.convolution import Convolution1D
from aiayn_np.variants.norms import BatchNorm
from aiayn_np.variants.pre_norm import PreNormEncoderLayer

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# Attention is one box of Figure 1. The paper puts around it, and around every other **sub-layer**, the same frame
# (Section 3.1, Section 5.4):
#
# $$\mathrm{LayerNorm}\big(x + \mathrm{Dropout}(\mathrm{Sublayer}(x))\big)$$
#
# This lesson goes through it from the inside out: the sum, the norm, the other sub-layer, and then all of it.
#
# ## 7.1 Add: a straight path for the gradient
#
# Stack 24 small layers $f$, the library's feed-forward networks, once as $y = f(x)$ and once as $y = x + f(x)$. Then
# send a gradient of length 1 in at the top and note its length after each layer, on its way down.

# %%
def lengths_on_the_way_down(residual, depth=24, d_model=32, seed=0):
    rng = np.random.default_rng(seed)
    layers = [PositionwiseFeedForward(d_model, 4 * d_model, rng=rng) for _ in range(depth)]
    x, caches = rng.standard_normal((10, d_model)), []                 # (T, d_model)
    for f in layers:
        fx, cache = f.forward(x)
        x = x + fx if residual else fx                                 # the only difference
        caches.append(cache)
    grad = rng.standard_normal(x.shape)
    grad, lengths = grad / np.linalg.norm(grad), [1.0]
    for f, cache in zip(layers[::-1], caches[::-1]):
        through_f = f.backward(grad, cache)
        grad = grad + through_f if residual else through_f             # a sum: both terms get it
        lengths.append(np.linalg.norm(grad))
    return lengths

# %%
plain = [lengths_on_the_way_down(False, seed=seed) for seed in range(5)]
added = [lengths_on_the_way_down(True, seed=seed) for seed in range(5)]
print(f"without Add, after 1 layer: {plain[0][1]:.2f}")

# %% [markdown]
# > **Predict.** One layer lets a bit more than half of the gradient through. How much arrives at the input below 24 of them: about a tenth, a thousandth, or a millionth?

# %%
for name, runs in (("y = f(x)    ", plain), ("y = x + f(x)", added)):
    print(name, " at the input, five seeds:", " ".join(f"{run[-1]:.2g}" for run in runs))

# %% [markdown]
# About a millionth: $0.57^{24} \approx 10^{-6}$. A bit more than half, 24 times over. The first layer of such a stack
# learns next to nothing. With the sum the gradient is alive. In the picture, a line is the median of five stacks and
# its band goes from the least to the most.

# %%
fig = new_figure(6.4, 3.4)
ax = fig.subplots()
draw_spread(ax, range(25), added, "y = x + f(x)", 0)
draw_spread(ax, range(25), plain, "y = f(x)", 1)
ax.set(yscale="log", xlabel="layers passed, from the top", ylabel="length of the gradient",
       title="Without the sum, the gradient dies on its way down")
ax.legend()
fig

# %% [markdown]
# The reason is one line. If $J_l$ is the Jacobian of $f$ in layer $l$, then the Jacobian of the stack is
#
# $$\text{without:}\quad J_N \cdots J_2 J_1 \qquad\qquad \text{with:}\quad (I + J_N) \cdots (I + J_2)(I + J_1) = I + \dots$$
#
# Small factors have a tiny product. But multiply out the second one and the first term is $I$: a **straight path** on which
# no layer weakens anything. Two things follow:
#
# - $x + f(x)$ must have a meaning, so every sub-layer and the embedding have one width, `d_model` (Section 3.1).
# - Nothing holds the sum back: here the gradient has *grown*, more than tenfold. Something must keep the sum in range.
#
# ## 7.2 Norm: one token, by hand
#
# **Layer norm** takes one token, subtracts the mean of its features and divides by their standard deviation:
#
# $$n = \frac{x - \mathrm{mean}}{\sqrt{\mathrm{variance} + \mathrm{eps}}}, \qquad y = \gamma\, n + \beta$$
#
# Do it with pen and paper for the token below, of width 4. The variance is divided by 4, not by 3.

# %%
x = np.array([15.0, 9.0, 7.0, 1.0])         # (d_model,)  one token
mean = x.mean()
centred = x - mean                          # (4,)
variance = (centred**2).mean()
print("mean    ", mean)
print("centred ", centred)
print("variance", variance, " standard deviation", variance**0.5)

# %%
norm = LayerNorm(4)                         # gamma = 1, beta = 0 at the start
n = centred / np.sqrt(variance + norm.eps)  # (4,)
y, cache = norm.forward(x)
print("n       ", n, "  eps", norm.eps)
print("largest difference from the class:", np.abs(y - n).max())

# %% [markdown]
# > **Predict.** Every feature is multiplied by 10 and then 100 is added. What is the output of layer norm now?

# %%
print("x          ", norm(x))
print("10 x + 100 ", norm(10 * x + 100))
print("-x         ", norm(-x))
print("x / 10000  ", norm(x / 1e4))
print("all equal  ", norm(np.full(4, 7.0)))

# %% [markdown]
# The same. Offset and size of a token are thrown away; what is left is its *shape*: which features stand out, upwards
# or downwards. The last two lines show what `eps` does. If the variance is not large against eps, the output shrinks,
# and a token without any shape gives 0 and not $0/0$.
#
# If throwing away was wrong, the learned **gamma** and **beta**, one number of each for every feature, can give the
# layer a size and an offset of its own. These two undo the norm of this token altogether:

# %%
undo = LayerNorm(4)
undo.gamma.value[:] = 5.0                   # (d_model,)
undo.beta.value[:] = 8.0                    # (d_model,)
print("gamma n + beta:", undo(x), " x:", x)

# %% [markdown]
# ## 7.3 Why over the features, and not over the batch?
#
# **Batch norm** uses the same formula across: the mean of each *feature*, over all tokens of all sequences. Look at the
# shapes of the standard deviations: layer norm has one for each token, batch norm one for each feature.

# %%
rng = np.random.default_rng(0)
B, T, d_model = 2, 4, 8
x = rng.standard_normal((B, T, d_model))                               # two sequences of 4 tokens
layer_norm, batch_norm = LayerNorm(d_model), BatchNorm(d_model)
print("layer norm, 1 / std", layer_norm.forward(x)[1].inv_std.shape)   # (B, T, 1)
print("batch norm, 1 / std", batch_norm.forward(x)[1].inv_std.shape)   # (d_model,)

# %% [markdown]
# Now leave the first sequence alone and change what stands *around* it: another neighbour in the batch, or three
# positions of padding behind both, all zeros.
#
# > **Predict.** Which of the two norms gives the first sequence another output: in the first case, in the second case?

# %%
neighbour = x.copy()
neighbour[1] = rng.standard_normal((T, d_model))                       # another second sequence
padded = np.concatenate([x, np.zeros((B, 3, d_model))], axis=1)        # (B, T + 3, d_model)
for name, f in (("layer norm", layer_norm), ("batch norm", batch_norm)):
    before = f(x)[0]                                                   # (T, d_model)
    by_neighbour = np.abs(f(neighbour)[0] - before).max()
    by_padding = np.abs(f(padded)[0, :T] - before).max()
    print(f"{name}: moved by the neighbour {by_neighbour:.2f}, by the padding {by_padding:.2f}")

# %% [markdown]
# Batch norm, both times. A translation would depend on which other sentences are in the batch, and on the length of the
# longest one. The worst case is the one that matters most: the model writes, and its first token stands alone.
#
# > **Predict.** A batch of one sequence with one token. What does batch norm give?

# %%
token = x[:1, :1]                                                      # (1, 1, d_model)
print("layer norm", layer_norm(token)[0, 0])
print("batch norm", batch_norm(token)[0, 0])

# %% [markdown]
# Zeros: a single row *is* its mean, and nothing of it is left. Batch norm gets out of this by averages kept
# from training (`statistics=`), so that it computes one thing in training and another in use. Layer norm needs none of
# that: **a token is normalised by what it is itself**, in whichever company, in training and in use.
#
# The experiment `normalisation` measures this with batches of embedded tokens. The picture shows how much the output
# for an unchanged sequence changes, left with other neighbours in the batch, right with padding.

# %%
dependence = NORMALISATION.run(draws=5)
dependence.figure()

# %% [markdown]
# A larger batch helps batch norm, as an average over more does, but never to 0, and padding gets worse the more there is.
# Over images batch norm is at home: there is no padding, and each feature has thousands of pixels to average.
#
# ## 7.4 The backward of layer norm
#
# From above comes `grad_y`. The step through gamma is easy: $g = \mathrm{grad\_y} \cdot \gamma$ is the gradient at
# $n$. Write $s = \sqrt{\mathrm{variance} + \mathrm{eps}}$ and $d$ for `d_model`. Now move one feature $x_k$. It moves $n_j = (x_j - \mathrm{mean}) / s$ in three ways:
#
# | way | derivative | part of $\partial n_j / \partial x_k$ |
# |---|---|---|
# | directly, only if $j = k$ | $\partial x_j / \partial x_k = \mathbb{1}[j = k]$ | $\mathbb{1}[j = k] \,/\, s$ |
# | through the mean | $\partial\, \mathrm{mean} / \partial x_k = 1/d$ | $-\,(1/d) \,/\, s$ |
# | through the variance | $\partial\, \mathrm{variance} / \partial x_k = 2 (x_k - \mathrm{mean}) / d$, so $\partial s / \partial x_k = n_k / d$, and $\partial n_j / \partial s = -n_j / s$ | $-\,(n_j n_k / d) \,/\, s$ |
#
# (In the variance the mean moves too, but that adds a multiple of $\sum_i (x_i - \mathrm{mean})$, which is 0.) Sum
# the three:
#
# $$\frac{\partial n_j}{\partial x_k} = \frac{1}{s}\Big(\mathbb{1}[j = k] - \frac1d - \frac{n_j n_k}{d}\Big)$$
#
# and the chain rule over all $j$ makes a mean of each sum over $d$:
#
# $$\mathrm{grad\_x}_k = \sum_j g_j \frac{\partial n_j}{\partial x_k} = \frac{1}{s}\big(g_k - \mathrm{mean}(g) - n_k\, \mathrm{mean}(g\, n)\big)$$
#
# (Gamma and beta are used by every token, so their gradients are sums over the tokens:
# $\mathrm{grad\_gamma} = \sum \mathrm{grad\_y}\; n$ and $\mathrm{grad\_beta} = \sum \mathrm{grad\_y}$.)

# %%
x = np.array([15.0, 9.0, 7.0, 1.0])                                    # (4,)  the token of 7.2
norm.gamma.value[:] = [1.0, 2.0, 0.5, 1.0]                             # not all 1, or gamma is untested
_, cache = norm.forward(x)
n, s, d = cache.normalised, 1 / cache.inv_std, 4
grad_y = rng.standard_normal(4)                                        # (4,)  from above
g = grad_y * norm.gamma.value                                          # (4,)  at n

# %%
J = (np.eye(d) - 1 / d - np.outer(n, n) / d) / s                       # (4, 4)  row j, column k
with_matrix = J.T @ g                                                  # (4,)
with_means = (g - g.mean() - n * (g * n).mean()) / s                   # (4,)
from_class = norm.backward(grad_y, cache)                              # (4,)
print(with_matrix, with_means, from_class, sep="\n")

# %% [markdown]
# Three times the same. What does it *mean*? In Lesson 7.2 two moves of $x$ changed nothing: a shift of all features,
# the direction $(1, 1, 1, 1)$, and a change of scale, the direction $x = \mathrm{mean} \cdot (1, 1, 1, 1) + s\, n$,
# which but for a shift is $n$. Along a direction that changes nothing the gradient has no component.
#
# > **Predict.** What is the sum of the features of `grad_x`? And its dot product with $n$?

# %%
print("grad_x · 1 is 0:", abs(from_class.sum()) < 1e-12)
print("grad_x · n is 0:", abs(from_class @ n) < 1e-6, "(up to eps)")
ten_times = norm.backward(grad_y, norm.forward(10 * x)[1])             # (4,)  at a larger token
print("grad at x / grad at 10 x:", from_class / ten_times)

# %% [markdown]
# Both are 0: $\mathrm{mean}(g)$ takes the component along $(1, 1, 1, 1)$ out of $g$, and $n\, \mathrm{mean}(g\, n)$
# takes out the one along $n$. The factor $1/s$ remains: a token ten times as large gets a tenth of the gradient,
# since the same step moves it ten times less. Now for many tokens and with gamma and beta, by the proof of
# Lesson 2.7:

# %%
print(check_gradients(LayerNorm(8), rng.standard_normal((2, 3, 8))))

# %% [markdown]
# ## 7.5 Feed-forward: each token thinks for itself
#
# The other sub-layer is Equation 2: widen to $d_{ff}$, set what is negative to 0, narrow again.
#
# $$\mathrm{FFN}(x) = \max(0,\, x W_1 + b_1)\, W_2 + b_2$$

# %%
f = PositionwiseFeedForward(8, 32, rng=rng)                            # d_model, d_ff = 4 d_model
x = rng.standard_normal((1, 5, 8))                                     # (B, T, d_model)
fed_alone, cache = f.forward(x)
print(cache)
print(f"hidden units that ReLU sets to 0: {(cache.relu.y == 0).mean():.0%}")

# %% [markdown]
# About half: not trained, a hidden unit is as often below 0 as above.
#
# > **Predict.** Token 2 of the 5 is changed. Which tokens of the output change?

# %%
changed = x.copy()
changed[0, 2] += 1.0
print("tokens that change:", np.any(f(changed) != fed_alone, axis=-1)[0])

# %% [markdown]
# Only token 2, and the others not in a single bit. That is "position-wise": attention *moves* information between
# tokens, the feed-forward network *works* on each.
#
# **For the keen.** The paper's other name for it is two convolutions of width 1. Literally so:

# %%
widen, narrow = Convolution1D(8, 32, 1, rng=rng), Convolution1D(32, 8, 1, rng=rng)     # k = 1
widen.W.value[0], widen.b.value[:] = f.linear_1.W.value, f.linear_1.b.value
narrow.W.value[0], narrow.b.value[:] = f.linear_2.W.value, f.linear_2.b.value
by_convolution = narrow(np.maximum(0, widen(x)))                       # (B, T, d_model)
print("largest difference:", np.abs(by_convolution - fed_alone).max())

# %% [markdown]
# > **Predict.** In an encoder layer of the base model, $d_\mathrm{model} = 512$ and $d_{ff} = 2048$: where are most of the parameters, in the attention or here?

# %%
for layer in (EncoderLayer(512, 2048, 8, rng=rng), DecoderLayer(512, 2048, 8, rng=rng)):
    sizes = {name: p.value.size for name, p in layer.named_parameters()}
    fed = sum(size for name, size in sizes.items() if name.startswith("feed_forward"))
    print(f"{type(layer).__name__}: feed-forward {fed:,} of {sum(sizes.values()):,}"
          f" parameters, {fed / sum(sizes.values()):.1%}")

# %% [markdown]
# Two thirds are in the feed-forward network: $2 \cdot 512 \cdot 2048 = 8 \cdot 512^2$ against $4 \cdot 512^2$ of the four attention
# matrices. The decoder layer has a second attention, so there it is half.
#
# ## 7.6 One encoder layer, whole
#
# Two sub-layers, each in its frame. Here is all that one forward keeps; you know every line by now.

# %%
layer = EncoderLayer(8, 32, 2, rng=rng)                                # d_model, d_ff, h
x = rng.standard_normal((1, 5, 8))                                     # (B, T, d_model)
y, cache = layer.forward(x)
print(cache)

# %% [markdown]
# Read it from the top: the three inputs of the projections, queries, keys, values; the attention map (one array under
# three names, as nothing is dropped from it); the heads side by side before $W^O$; then the norm; then in and out of the ReLU; then the second norm. Do the four steps with
# the layer's own parts:

# %%
attended = layer.self_attention(x, x, x)                               # (B, T, d_model)
x_1 = layer.add_norm_1.layer_norm(x + attended)                        # Add & Norm
fed = layer.feed_forward(x_1)                                          # (B, T, d_model)
by_hand = layer.add_norm_2.layer_norm(x_1 + fed)                       # Add & Norm
print("largest difference from the layer:", np.abs(by_hand - y).max())

# %% [markdown]
# Backwards in reverse order. A sum hands its gradient to both of its terms, so each Add & Norm gives
# two equal gradients (without dropout): one goes on straight, one goes through the sub-layer, and where they meet again they add.
#
# > **Predict.** How many gradients meet at the input $x$ of the layer?

# %%
grad_y = rng.standard_normal(y.shape)                                  # (B, T, d_model)
straight, grad_fed = layer.add_norm_2.backward(grad_y, cache.add_norm_2)
print("the two are equal:", np.array_equal(straight, grad_fed))
grad_x_1 = straight + layer.feed_forward.backward(grad_fed, cache.feed_forward)
straight, grad_attended = layer.add_norm_1.backward(grad_x_1, cache.add_norm_1)
grad_Q, grad_K, grad_V = layer.self_attention.backward(grad_attended, cache.self_attention)

# %%
for name, term in (("straight", straight), ("as Q", grad_Q), ("as K", grad_K), ("as V", grad_V)):
    print(f"{name:8}  {term.shape}  length {np.linalg.norm(term):.2f}")
grad_x = straight + grad_Q + grad_K + grad_V                           # (B, T, d_model)
from_layer = layer.backward(grad_y, cache)                             # (B, T, d_model)
print("largest difference from layer.backward:", np.abs(grad_x - from_layer).max())

# %% [markdown]
# Four: $x$ is used in the sum, and three times in attention. The straight one is the longest here.
#
# One part of the frame was silent: **dropout** (Section 5.4). It sets a share of the sub-layer's output to 0, *before* the
# sum, so the straight path is never cut. It happens only when `forward` is given a random generator.

# %%
dropout = Dropout(P_drop=0.1)
ones = np.ones(100_000)
dropped = dropout(ones, rng=rng)
print("without rng: values", np.unique(dropout(ones)))
print("with rng   : values", np.unique(dropped))
print(f"share of zeros {np.mean(dropped == 0):.2f}   mean {dropped.mean():.2f}")

# %% [markdown]
# What is kept is divided by $1 - P_\mathrm{drop}$, so the mean stays 1 and the next layer meets the same sizes in training and in use.
#
# ## 7.7 Norm after the sum, or before the sub-layer?
#
# The paper normalises after the sum (**post-norm**). Most models since then normalise what goes into the sub-layer (**pre-norm**):
#
# $$\text{post:}\quad x_{l+1} = \mathrm{LayerNorm}\big(x_l + \mathrm{Sublayer}(x_l)\big) \qquad\qquad \text{pre:}\quad x_{l+1} = x_l + \mathrm{Sublayer}\big(\mathrm{LayerNorm}(x_l)\big)$$
#
# Look for the straight path of Lesson 7.1. With pre-norm it is whole: a sum, nothing else. With post-norm there is a
# norm on it in every sub-layer, and each multiplies by its $1/s$ (besides taking two directions out, Lesson 7.4).
#
# First, how much of the path is left?

# %%
def stack(layer_class, N, seed, d_model=64):
    rng = np.random.default_rng(seed)
    layers = [layer_class(d_model, 4 * d_model, 4, rng=rng) for _ in range(N)]
    norm = LayerNorm(d_model) if layer_class is PreNormEncoderLayer else None
    encoder = Encoder(layers, norm=norm)                               # pre-norm needs one at its end
    x = rng.standard_normal((4, 10, d_model))                          # (B, T, d_model)
    y, cache = encoder.forward(x)
    return encoder, x, cache, rng.standard_normal(y.shape)             # and a gradient from above

# %%
_, _, cache, _ = stack(EncoderLayer, 12, seed=0)
factors = np.array([[c.add_norm_1.layer_norm.inv_std.mean(), c.add_norm_2.layer_norm.inv_std.mean()]
                    for c in cache.layers])                            # (N, 2)
after_attention, after_feed_forward = factors.mean(axis=0)
print(f"mean of 1/s: {after_attention:.2f} after attention, {after_feed_forward:.2f} after feed-forward")

# %% [markdown]
# > **Predict.** 12 layers have 24 such norms. What is left of the straight path from top to bottom: about a half, a tenth, or a hundredth?

# %%
print(f"product of all {factors.size}: {factors.prod():.3f}")

# %% [markdown]
# About a hundredth. The rest of the gradient has to go through the sub-layers. So does it die as in Lesson 7.1? Take
# stacks that are not trained. In each layer, measure the gradient of one matrix, the $W_2$ of its feed-forward
# network, relative to the gradient from above; and, on the way up, the size of what leaves the layer.

# %%
def measure(layer_class, N, seed):
    encoder, x, cache, grad_y = stack(layer_class, N, seed)
    encoder.backward(grad_y, cache)
    gradients, sizes = [], []
    for layer in encoder.layers:
        W_2 = layer.feed_forward.linear_2.W
        gradients.append(np.linalg.norm(W_2.grad) / np.linalg.norm(grad_y))
        x = layer(x)
        sizes.append(x.std())
    return gradients, sizes                                            # N of each

# %%
kinds = {"post-norm": EncoderLayer, "pre-norm": PreNormEncoderLayer}
measured = {(kind, N): np.array([measure(kinds[kind], N, seed) for seed in range(5)])
            for kind in kinds for N in (6, 24)}                        # (seeds, 2, N) each

# %% [markdown]
# > **Predict.** A stack gets four times as deep, from 6 layers to 24. Does the gradient of its *last* layer change: with post-norm, with pre-norm?

# %%
last = {key: np.median(both[:, 0, -1]) for key, both in measured.items()}
for kind in kinds:
    print(f"{kind:9}  last layer: N = 6 {last[kind, 6]:.1f}   N = 24 {last[kind, 24]:.1f}"
          f"   ratio {last[kind, 24] / last[kind, 6]:.2f}")

# %% [markdown]
# With post-norm hardly. With pre-norm it is about half; $1/\sqrt{4}$, as we shall see. Here is all of it, for the 24
# layers from bottom (1) to top (24): on the left the gradients, on the right the size of the signal.

# %%
fig = new_figure(9, 3.5)
left, right = fig.subplots(1, 2)
for style, kind in enumerate(kinds):
    both = measured[kind, 24]                                          # (seeds, 2, N)
    draw_spread(left, range(1, 25), both[:, 0], kind, style)
    draw_spread(right, range(1, 25), both[:, 1], kind, style)
left.set(xlabel="layer", ylabel="relative gradient of $W_2$", title="gradient")
right.set(xlabel="layer", ylabel="standard deviation of the output", title="signal")
for ax in (left, right):
    ax.set_ylim(bottom=0)
    ax.legend()
fig

# %% [markdown]
# Read the right side first. Post-norm sets every token back to 1 after every sum. With pre-norm each sub-layer adds a
# piece of about the same size to a sum that nobody normalises: the variance grows with the number of layers, the standard
# deviation with its root. This has two consequences:
#
# - A pre-norm stack **needs one more norm at its end**. `Transformer` adds it, since the layer asks for it: `stack_norm`.
# - This norm divides by its $s$, forwards and backwards: the deeper the stack, the smaller the gradient at its top.
#
# And the left side: post-norm does not let the gradient die, since its norms rescale what went through the sub-layers too.
# But its top layers get the same gradient however deep the stack is. One explanation of why the paper has to
# *warm up* (Section 5.3: the rate starts near 0 and rises) is just this: the first steps at the top are too large (Xiong et
# al., 2020). It cannot be all, since Adam divides by the size of the gradient. So look at training itself:
# the experiment `warm_up` trains small models on copying, four ways. The right side shows the loss at the rate where warm-up
# matters most; a model above the dotted line does not read its source.
#
# > **Predict.** At that rate, without warm-up: does post-norm get below the dotted line? Does pre-norm?

# %%
if Path("../figures/warm_up.json").exists():                           # what the whole experiment found
    trained = WARM_UP.load("../figures")
else:                                                                  # a small one, in seconds
    trained = WARM_UP.run(peak=(0.001, 0.01, 0.03), seeds=(0,))
trained.figure()

# %% [markdown]
# Post-norm does not, and with warm-up it does. Pre-norm does without. Now read the left side. At the lowest rate all
# four learn, at the highest post-norm fails either way, and the lowest points of its two curves, each at its own best
# rate, are about equally low. So warm-up does not make learning possible, it makes a *high rate* possible. (Why then
# did the authors choose post-norm? They do not say; Section 3.1 just defines it.)
#
# ## 7.8 Check what this lesson claimed

# %%
tokens, token = rng.standard_normal((1, 5, 8)), np.array([15.0, 9.0, 7.0, 1.0])
assert max(run[-1] for run in plain) < 1e-4 < 1 < min(run[-1] for run in added)
assert np.allclose(LayerNorm(4)(token), [1.4, 0.2, -0.2, -1.4])        # by hand
assert np.abs(layer_norm(10 * tokens + 100) - layer_norm(tokens)).max() < 1e-5     # up to eps
assert np.all(batch_norm(tokens[:, :1]) == 0)                          # one token alone
assert not dependence.layer_rows.any()                                 # not the batch
assert not dependence.layer_padding.any()                              # not the padding
assert dependence.batch_rows.min() > 0.01
assert np.abs(with_means - from_class).max() < 1e-12                   # the three ways
assert abs(from_class.sum()) < 1e-12                                   # nothing along 1
assert abs(from_class @ n) < 1e-6                                      # nothing along n
assert np.any(f(changed) != fed_alone, axis=-1).sum() == 1             # position-wise
assert np.abs(by_convolution - fed_alone).max() < 1e-12                # two convolutions, k = 1
assert np.abs(by_hand - y).max() < 1e-12                               # four steps are the layer
assert np.abs(grad_x - from_layer).max() < 1e-12                       # four gradients meet
assert factors.prod() < 0.03                                           # post-norm's straight path
assert 0.7 < last["post-norm", 24] / last["post-norm", 6] < 1.4
assert 0.3 < last["pre-norm", 24] / last["pre-norm", 6] < 0.7
assert trained.verdict == "agrees"
print("all true")

# %% [markdown]
# ## Summary
#
# - **Add** gives the gradient a straight path: $I + J$ in place of $J$. So every sub-layer has the width `d_model`.
# - **Norm** takes offset and size away from each token by itself, never looking at the batch or the padding. Its gradient is
#   `(g - mean(g) - n mean(g n)) / s`: nothing along the two directions that change nothing.
# - **Feed-forward** is the same small network at every position. It holds two thirds of an encoder layer's parameters.
# - In backward, an array that is used several times adds up the gradients of its uses: here four.
# - Post-norm (the paper) keeps the signal at size 1 and all but closes the straight path; pre-norm keeps the path, lets the
#   signal grow, needs a norm at the end, and does without warm-up at rates where post-norm does not.
#
# ## Questions
#
# **1.** RMS norm (`variants.norms`) is $x / \sqrt{\mathrm{mean}(x^2)}$: no mean is subtracted. Which of the three terms of the
# backward does it not have, and why?
#
# <details><summary>Answer</summary>
#
# $\mathrm{mean}(g)$. That term takes out the direction 1, because layer norm does not notice a shift of all features. RMS norm
# does notice it, so there the gradient may have a component along 1. The scale still changes nothing, so the term with $n$ stays.
#
# </details>
#
# **2.** Leave out the ReLU. What is left of the feed-forward network?
#
# <details><summary>Answer</summary>
#
# $(x W_1 + b_1) W_2 + b_2 = x\, (W_1 W_2) + (b_1 W_2 + b_2)$: one linear map from `d_model` to `d_model`. In the base model $512 \cdot 512$
# numbers and a bias would do what two million do. Without the ReLU the wide layer in the middle buys nothing.
#
# </details>
#
# **3.** Somebody writes `EncoderLayer.backward` and returns `grad_Q + grad_K + grad_V`, without the straight term. Which
# gradients are then wrong: those of the layer's parameters, those of the layers below?
#
# <details><summary>Answer</summary>
#
# Those of this layer's parameters are right: they are computed before the mistake. Everything below gets a wrong
# gradient, without its straight path, and in a stack it gets worse with every layer. The top layers still learn, so a
# falling loss does not tell; `check_gradients` does, in the line `input 0`.
#
# </details>
