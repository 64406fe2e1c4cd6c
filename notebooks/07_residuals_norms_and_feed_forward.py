# %% [markdown]
# # Lesson 7 · Residuals, layer norm, feed-forward: what surrounds attention
#
# | | |
# |---|---|
# | **You will do** | send a gradient through 24 layers with and without "Add"; normalise one token with pen and paper; make batch norm fail on a padded batch; compute a whole encoder layer step by step; for the keen: derive the backward of layer norm |
# | **You will learn** | why the paper writes $x + \mathrm{Sublayer}(x)$; why layer norm runs over the features and batch norm over the batch; what the feed-forward network sees; what dropout is for; for the keen: what changes when the norm moves from after the sum to before the sub-layer |
# | **You need** | Lessons 1 and 2, the chain rule; for Lesson 7.6 also Lessons 4 and 6 |
# | **Paper** | Section 3.1, Section 3.3, Equation 2, Section 5.4, Figure 1 |
# | **Time** | 45 minutes, without Lesson 7.4 and Lesson 7.7, which are *for the keen*: run their cells, skip their text. Lesson 10.4 and Lesson 15.4 come back to the norm before the sub-layer, whose drawing is in Lesson 7.7 |
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

import numpy as np

from aiayn_np import (
    AddNorm,
    DecoderLayer,
    Dropout,
    Encoder,
    EncoderLayer,
    LayerNorm,
    PositionwiseFeedForward,
    check_gradients,
)
from aiayn_np.experiments.claims.normalisation import NORMALISATION
from aiayn_np.plotting.drawings import SENTENCE, figure_1, norm_axes, norm_places
from aiayn_np.plotting.figures import draw_spread, new_figure
from aiayn_np.variants.norms import BatchNorm
from aiayn_np.variants.pre_norm import PreNormEncoderLayer

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# Attention is one box of Figure 1. This lesson is about the boxes around it, which are lit.

# %%
figure_1("add_norm", "feed_forward")

# %% [markdown]
# The paper calls attention a **sub-layer**, and the feed-forward network another. It puts the same frame around every
# sub-layer (Section 3.1, Section 5.4):
#
# $$\mathrm{LayerNorm}\big(x + \mathrm{Dropout}(\mathrm{Sublayer}(x))\big)$$
#
# This lesson goes through the frame step by step: the sum, the norm, the feed-forward network, and then all of it.
#
# ## 7.1 Add: a straight path for the gradient
#
# Stack 24 small layers $f$, once as $y = f(x)$ and once as $y = x + f(x)$. Each $f$ is a feed-forward network of the
# library (Lesson 7.5). Then send a gradient of length 1 in at the top, and write down its length after each layer on
# its way down. `gain` multiplies the weight matrices that the library draws; first it is 1.

# %%
def lengths_on_the_way_down(residual, gain=1.0, depth=24, d_model=32, seed=0):
    rng = np.random.default_rng(seed)
    layers = [PositionwiseFeedForward(d_model, 4 * d_model, rng=rng) for _ in range(depth)]
    x, caches = rng.standard_normal((10, d_model)), []                 # (T, d_model)
    for f in layers:
        f.linear_1.W.value *= gain
        f.linear_2.W.value *= gain
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
# Without the sum about a millionth arrives: $0.57^{24} \approx 10^{-6}$. With the sum the gradient does not vanish. It has
# even grown.
#
# Is the sum the only cure? No. The plain stack loses gradient because of how its weights start. The library draws them
# by Xavier's rule (Glorot and Bengio, 2010). That rule gives both matrices of a layer, of widths 32 and 128, the variance $2/(32 + 128)$, or one in 80. On the way back this multiplies the squared length of the gradient by $128/80$ in one matrix and by $32/80$ in the other: the length gets a factor of 0.8. And the rule does not know of the step between them, **ReLU**, which is $\max(0, x)$ for each number $x$. It sets half of the numbers to 0, which costs a factor of $\sqrt{1/2}$ (He et al., 2015, in their paper on initialisation). The next cell measures the first factor by itself.

# %%
rng, shares = np.random.default_rng(0), []
for _ in range(100):                                                   # 100 draws of a layer
    f, grad = PositionwiseFeedForward(32, 128, rng=rng), rng.standard_normal((10, 32))
    without_relu = grad @ f.linear_2.W.value.T @ f.linear_1.W.value.T  # back through both matrices
    shares.append(np.linalg.norm(without_relu) / np.linalg.norm(grad))
kept_by_widths = np.mean(shares)
print(f"without ReLU {kept_by_widths:.2f}   ReLU {0.5**0.5:.2f}   together {kept_by_widths * 0.5**0.5:.2f}")

# %% [markdown]
# Together this is about the 0.57 of above. Multiply both matrices of each layer by 1.33, and try again.
#
# > **Predict.** One layer of the plain stack then lets about all of the gradient through. How much arrives at the input now?

# %%
louder = [lengths_on_the_way_down(False, gain=1.33, seed=seed) for seed in range(5)]
louder_added = [lengths_on_the_way_down(True, gain=1.33, seed=seed) for seed in range(5)]
for name, runs in (("y = f(x)    ", louder), ("y = x + f(x)", louder_added)):
    print(name, " gain 1.33, at the input:", " ".join(f"{run[-1]:.2g}" for run in runs))

# %% [markdown]
# About all of it arrives, without any sum. So a plain stack *can* pass its gradient, but only with one well-chosen gain:
# a factor of 0.57 for each layer becomes tiny after 24 layers, and a factor of $1/0.57$ becomes huge. (The authors of the ResNet paper, who
# made the sum popular, write that vanishing gradients are unlikely to be why plain stacks fail, since
# their stacks had been normalised.) In the picture, a line is the median of five stacks, and its band goes from the
# least to the most.

# %%
fig = new_figure(7.5, 3.8)
ax = fig.subplots()
stacks = {"y = x + f(x), gain 1.33": louder_added, "y = x + f(x), gain 1": added,
          "y = f(x), gain 1.33": louder, "y = f(x), gain 1": plain}
for style, (name, runs) in enumerate(stacks.items()):
    draw_spread(ax, range(25), runs, name, style)
ax.set(yscale="log", xlabel="layers passed, from the top", ylabel="length of the gradient",
       title="The gradient on its way down")
fig.legend(*ax.get_legend_handles_labels(), loc="outside right upper")
fig

# %% [markdown]
# One formula explains the two stacks. If $J_l$ is the Jacobian of $f$ in layer $l$, then the Jacobian of the stack is
#
# $$\text{without:}\quad J_N \cdots J_2 J_1 \qquad\qquad \text{with:}\quad (I + J_N) \cdots (I + J_2)(I + J_1) = I + \dots$$
#
# The product on the left has no term that is safe: it is tiny when the factors are small, and huge when they are large.
# Multiply out the product on the right, and its first term is $I$: a **straight path** on which no layer changes
# anything, whatever the weights are. (In the paper a norm stands behind every sum, so the path is not quite straight: Lesson 7.6.) Two things follow:
#
# - $x$ and $f(x)$ are added, so every sub-layer and the embedding have one width, `d_model` (Section 3.1).
# - Nothing limits the sum: here the gradient has *grown*, more than tenfold. Something must keep the sum in range.
#
# So why Add? A plain stack works at one gain only. With Add there is one term that no gain can make small. It can still
# explode, and the norm has to stop that.
#
# ## 7.2 Norm: one token, by hand
#
# **Layer norm** (Ba, Kiros and Hinton, 2016) takes one token, subtracts the mean of its features and divides by their
# standard deviation:
#
# $$\hat x = \frac{x - \mathrm{mean}}{\sqrt{\mathrm{variance} + \mathrm{eps}}}, \qquad y = \gamma\, \hat x + \beta$$
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
x_hat = centred / np.sqrt(variance + norm.eps)                         # (4,)
y, cache = norm.forward(x)
print("x_hat   ", x_hat, "  eps", norm.eps)
print("largest difference from the class:", np.abs(y - x_hat).max())

# %% [markdown]
# > **Predict.** Every feature is multiplied by 10 and then 100 is added. What is the output of layer norm now?

# %%
print("x          ", norm(x))
print("10 x + 100 ", norm(10 * x + 100))
print("-x         ", norm(-x))
print("x / 10000  ", norm(x / 1e4))
print("all equal  ", norm(np.full(4, 7.0)))

# %% [markdown]
# The output is the same. Layer norm removes the offset and the size of a token. It keeps which features stand out, upwards
# or downwards. The last two lines show what `eps` does. If the variance is not large against eps, the output shrinks,
# and a token whose features are all equal gives 0 and not $0/0$.
#
# What if size and offset were needed? The learned **gamma** and **beta**, one number of each for every feature, can give
# the output a size and an offset again. These two undo the norm of this token completely:

# %%
undo = LayerNorm(4)
undo.gamma.value[:] = 5.0                   # (d_model,)
undo.beta.value[:] = 8.0                    # (d_model,)
print("gamma x_hat + beta:", undo(x), " x:", x)

# %% [markdown]
# ## 7.3 Why over the features, and not over the batch?
#
# **Batch norm** (Ioffe and Szegedy, 2015) uses the same formula in the other direction: it takes the mean of each *feature*, over all tokens of all
# sequences. The drawing shows both for a batch of two sentences, the second with a token of padding.

# %%
norm_axes()

# %% [markdown]
# Look at the shapes of the standard deviations: layer norm has one for each token, batch norm has one for each feature.

# %%
rng = np.random.default_rng(0)
B, T, d_model = 2, len(SENTENCE), 8
x = rng.standard_normal((B, T, d_model))                               # two sequences of 4 tokens
layer_norm, batch_norm = LayerNorm(d_model), BatchNorm(d_model)
print("layer norm, 1 / std", layer_norm.forward(x)[1].inv_std.shape)   # (B, T, 1)
print("batch norm, 1 / std", batch_norm.forward(x)[1].inv_std.shape)   # (d_model,)

# %% [markdown]
# Now keep the first sequence and change what stands *around* it. In the first case it gets another neighbour in the batch.
# In the second case both sequences get three positions of padding, all zeros.
#
# > **Predict.** Which of the two norms gives the first sequence another output in the first case, and in the second case?

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
# Batch norm gives another output in both cases. With it, a translation would depend on which other sentences are in the
# batch, and on the length of the longest one. The worst case is also the most important one: the model writes, and its
# first token stands alone.
#
# > **Predict.** The batch is one sequence with one token. What does batch norm give?

# %%
token = x[:1, :1]                                                      # (1, 1, d_model)
print("layer norm", layer_norm(token)[0, 0])
print("batch norm", batch_norm(token)[0, 0])

# %% [markdown]
# Batch norm gives zeros: a single row *is* its mean, and nothing is left after the subtraction. In use, batch norm takes
# averages that were kept from training instead. So it computes one thing in training and another in
# use. Layer norm does not need this: **it normalises a token by its own features alone**, in training and in use.
#
# The experiment `normalisation` measures this with batches of embedded tokens: how much does batch norm's output for an
# unchanged sequence change, with other neighbours in the batch, and with padding? (Layer norm's does not change at all.)

# %%
dependence = NORMALISATION.run(draws=5)
for i in (0, 4, 7):
    print(f"other neighbours, batch of {dependence.batch_sizes[i]:3}: {np.median(dependence.batch_rows[:, i]):5.0%}")
for i in (1, 4, 7):
    print(f"share of padding {dependence.shares[i]:4.0%}: {np.median(dependence.batch_padding[:, i]):5.0%}")

# %% [markdown]
# With a larger batch the change becomes smaller, because the average is over more tokens, but it never becomes 0. With
# more padding the change becomes larger. For images batch norm is common: there is no padding, and each feature has
# thousands of pixels to average over.
#
# ## 7.4 For the keen: the backward of layer norm
#
# The layer above hands down `grad_y`. The step through gamma is easy: $g = \mathrm{grad\_y} \cdot \gamma$ is the gradient at
# $\hat x$. Write $d$ for `d_model`, $\mu$ for the mean, and $\sigma = \sqrt{\mathrm{variance} + \mathrm{eps}}$. Now move one
# feature $x_k$. It moves $\hat x_j = (x_j - \mu) / \sigma$ in three ways.
#
# **Directly**, and only if $j = k$. The numerator rises with $x_j$:
# $$\frac{\mathbb{1}[j = k]}{\sigma}$$
#
# **Through the mean.** The mean rises by $1/d$, and the numerator falls by as much:
# $$\frac{\partial \mu}{\partial x_k} = \frac1d \quad\text{so this part is}\quad -\frac{1}{d\, \sigma}$$
#
# **Through the variance**, in three steps. The variance is the mean of the squares $(x_i - \mu)^2$, and one of them
# contains $x_k$ directly. ($\mu$ moves in all of them, but that adds a multiple of $\sum_i (x_i - \mu)$, which is 0.)
# $$\frac{\partial\, \mathrm{variance}}{\partial x_k} = \frac{2 (x_k - \mu)}{d}$$
# The root halves and divides by $\sigma$:
# $$\frac{\partial \sigma}{\partial x_k} = \frac{1}{2 \sigma} \cdot \frac{2 (x_k - \mu)}{d} = \frac{\hat x_k}{d}$$
# And $\hat x_j$ has $\sigma$ in its denominator:
# $$\frac{\partial \hat x_j}{\partial \sigma} = -\frac{\hat x_j}{\sigma} \quad\text{so this part is}\quad -\frac{\hat x_j \hat x_k}{d\, \sigma}$$
#
# Sum the three:
# $$\frac{\partial \hat x_j}{\partial x_k} = \frac{1}{\sigma}\Big(\mathbb{1}[j = k] - \frac1d - \frac{\hat x_j \hat x_k}{d}\Big)$$
#
# The chain rule over all $j$ makes a mean of each sum over $d$:
# $$\mathrm{grad\_x}_k = \sum_j g_j \frac{\partial \hat x_j}{\partial x_k} = \frac{1}{\sigma}\big(g_k - \mathrm{mean}(g) - \hat x_k\, \mathrm{mean}(g\, \hat x)\big)$$
#
# Gamma and beta are used by every token, so their gradients are sums over the tokens:
# $\mathrm{grad\_gamma} = \sum \mathrm{grad\_y}\; \hat x$ and $\mathrm{grad\_beta} = \sum \mathrm{grad\_y}$.

# %%
x = np.array([15.0, 9.0, 7.0, 1.0])                                    # (4,)  the token of 7.2
norm.gamma.value[:] = [1.0, 2.0, 0.5, 1.0]                             # not all 1, or gamma is untested
_, cache = norm.forward(x)
x_hat, sigma, d = cache.normalised, 1 / cache.inv_std, 4
grad_y = rng.standard_normal(4)                                        # (4,)  from above
g = grad_y * norm.gamma.value                                          # (4,)  at x_hat

# %%
J = (np.eye(d) - 1 / d - np.outer(x_hat, x_hat) / d) / sigma           # (4, 4)  row j, column k
with_matrix = J.T @ g                                                  # (4,)
with_means = (g - g.mean() - x_hat * (g * x_hat).mean()) / sigma       # (4,)
from_class = norm.backward(grad_y, cache)                              # (4,)
print(with_matrix, with_means, from_class, sep="\n")

# %% [markdown]
# All three are the same. Compare the source of the class: `forward` is Lesson 7.2, and the end of `backward` is the formula.

# %%
print(inspect.getsource(LayerNorm.forward))
print(inspect.getsource(LayerNorm.backward))

# %% [markdown]
# What does the formula *mean*? In Lesson 7.2 two changes of $x$ changed nothing: a shift of all features, in the direction
# $(1, 1, 1, 1)$, and a change of scale, in the direction of $x$ itself. Since
# $x = \mu \cdot (1, 1, 1, 1) + \sigma\, \hat x$, the second direction is $\hat x$ and a shift. In a direction that changes
# nothing, the gradient has no component.
#
# > **Predict.** What is the sum of the features of `grad_x`? What is its dot product with $\hat x$?

# %%
print("grad_x · 1 is 0:", abs(from_class.sum()) < 1e-12)
print("grad_x · x_hat is 0:", abs(from_class @ x_hat) < 1e-6, "(up to eps)")
ten_times = norm.backward(grad_y, norm.forward(10 * x)[1])             # (4,)  at a larger token
print("grad at x / grad at 10 x:", from_class / ten_times)

# %% [markdown]
# Both are 0: $\mathrm{mean}(g)$ removes the component of $g$ along $(1, 1, 1, 1)$, and $\hat x\, \mathrm{mean}(g\, \hat x)$ removes
# the component along $\hat x$. The factor $1/\sigma$ remains: a token that is ten times as large gets a tenth of the gradient,
# because the same step moves $\hat x$ ten times less. Now check the backward for many tokens and with gamma and beta, as in
# Lesson 4.5:

# %%
print(check_gradients(LayerNorm(8), rng.standard_normal((2, 3, 8))))

# %% [markdown]
# ## 7.5 Feed-forward: each token by itself
#
# The other sub-layer is Equation 2: it widens a token to $d_{ff}$ numbers, sets the negative ones to 0 (this is ReLU), and narrows it again.
#
# $$\mathrm{FFN}(x) = \max(0,\, x W_1 + b_1)\, W_2 + b_2$$

# %%
print(inspect.getsource(PositionwiseFeedForward.forward))
f = PositionwiseFeedForward(8, 32, rng=rng)                            # d_model, d_ff = 4 d_model
x = rng.standard_normal((1, 5, 8))                                     # (B, T, d_model)
fed_alone, cache = f.forward(x)
print(cache)
print(f"hidden units that ReLU sets to 0: {(cache.relu.y == 0).mean():.0%}")

# %% [markdown]
# ReLU sets about half of the hidden units to 0: before training a unit is below 0 as often as above.
#
# > **Predict.** Token 2 of the 5 is changed. Which tokens of the output change?

# %%
changed = x.copy()
changed[0, 2] += 1.0
print("tokens that change:", np.any(f(changed) != fed_alone, axis=-1)[0])

# %% [markdown]
# Only token 2 changes, and the others do not change in a single bit. This is the meaning of "position-wise": attention
# *moves* information between tokens, and the feed-forward network *works* on each token.
# (The paper also calls it two convolutions with kernel size 1.)

# %% [markdown]
# > **Predict.** In an encoder layer of the base model, $d_\mathrm{model} = 512$ and $d_{ff} = 2048$: where are most of the parameters, in the attention or in the feed-forward network?

# %%
for layer in (EncoderLayer(512, 2048, 8, rng=rng), DecoderLayer(512, 2048, 8, rng=rng)):
    sizes = {name: p.value.size for name, p in layer.named_parameters()}
    fed = sum(size for name, size in sizes.items() if name.startswith("feed_forward"))
    print(f"{type(layer).__name__}: feed-forward {fed:,} of {sum(sizes.values()):,}"
          f" parameters, {fed / sum(sizes.values()):.1%}")

# %% [markdown]
# Two thirds are in the feed-forward network: it has $2 \cdot 512 \cdot 2048 = 8 \cdot 512^2$ weights, and the four matrices of
# the attention have $4 \cdot 512^2$. The decoder layer has a second attention, so there the share is half.
#
# ## 7.6 One encoder layer, whole
#
# An encoder layer has two sub-layers, each in its frame. This is the source, first of the frame, then of the layer:

# %%
print(inspect.getsource(AddNorm.forward))
print(inspect.getsource(EncoderLayer.forward))

# %% [markdown]
# The next cell prints everything that one forward keeps. You know every line by now.

# %%
layer = EncoderLayer(8, 32, 2, rng=rng)                                # d_model, d_ff, h
x = rng.standard_normal((1, 5, 8))                                     # (B, T, d_model)
y, cache = layer.forward(x)
print(cache)

# %% [markdown]
# Read it from the top. First come the inputs of the three projections, then queries, keys and values, and the attention map
# (one array under three names, because dropout is off). Then come the heads side by side before $W^O$, the first norm,
# the input of the network and the output of its ReLU, and the second norm. Now do the four steps with the layer's own parts:

# %%
attended = layer.self_attention(x, x, x)                               # (B, T, d_model)
x_1 = layer.add_norm_1.layer_norm(x + attended)                        # Add & Norm
fed = layer.feed_forward(x_1)                                          # (B, T, d_model)
by_hand = layer.add_norm_2.layer_norm(x_1 + fed)                       # Add & Norm
print("largest difference from the layer:", np.abs(by_hand - y).max())

# %% [markdown]
# Backward goes in reverse order. A sum gives its gradient to both of its terms, so each Add & Norm gives two equal
# gradients (without dropout). One goes straight on, the other goes through the sub-layer, and where they meet they add.
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
# Four gradients meet: $x$ is used in the sum, and three times in attention. The straight one is the longest here.
#
# One remark on the straight path. In the paper each Add is followed by a norm, which stands on the path and bends it
# (Lesson 7.7). With the norm *before* the sub-layer, as in most models since, it is straight.
#
# One part of the frame did nothing so far: **dropout** (Section 5.4). It sets a share of the sub-layer's output to 0 at
# random, *before* the sum, so the straight path is never cut. It happens only when `forward` gets a random generator.

# %%
dropout = Dropout(P_drop=0.1)
ones = np.ones(100_000)
dropped = dropout(ones, rng=rng)
print("without rng: values", np.unique(dropout(ones)))
print("with rng   : values", np.unique(dropped))
print(f"share of zeros {np.mean(dropped == 0):.2f}   mean {dropped.mean():.2f}")

# %% [markdown]
# The numbers that are kept are divided by $1 - P_\mathrm{drop}$. So the mean stays 1, and the next layer gets numbers of
# the same size in training and in use. Why would one delete numbers? So that a model with few examples learns less of
# them by heart: Lesson 10.2 measures it.
#
# ## 7.7 For the keen: norm after the sum, or before the sub-layer?
#
# The paper normalises after the sum (**post-norm**), and so does BERT. Most models since then, from GPT-2 on, normalise the
# input of the sub-layer (**pre-norm**):

# %%
norm_places()

# %% [markdown]
# As formulas:
#
# $$\text{post:}\quad x_{l+1} = \mathrm{LayerNorm}\big(x_l + \mathrm{Sublayer}(x_l)\big) \qquad\qquad \text{pre:}\quad x_{l+1} = x_l + \mathrm{Sublayer}\big(\mathrm{LayerNorm}(x_l)\big)$$
#
# Look for the straight path of Lesson 7.1. With pre-norm it is whole: it consists of sums only. With post-norm every
# sub-layer puts a norm on it. Each norm multiplies by its $1/\sigma$, and removes two directions (Lesson 7.4).
#
# First measure how much of the path is left.

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
print(f"mean of 1/σ: {after_attention:.2f} after attention, {after_feed_forward:.2f} after feed-forward")

# %% [markdown]
# Twelve layers have 24 such norms. Their product is what is left of the straight path from top to bottom.

# %%
print(f"product of all {factors.size}: {factors.prod():.3f}")

# %% [markdown]
# About a hundredth is left. The rest of the gradient has to go through the sub-layers. Does it vanish there, as in
# Lesson 7.1? Take stacks that are not trained. In each layer, measure the gradient of one matrix, the $W_2$ of its feed-forward
# network, relative to the gradient from above. Also measure the size of each layer's output.

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
# The next cell makes a stack four times as deep, from 6 layers to 24, and looks at the gradient of its *last* layer.

# %%
last = {key: np.median(both[:, 0, -1]) for key, both in measured.items()}
for kind in kinds:
    print(f"{kind:9}  last layer: N = 6 {last[kind, 6]:.1f}   N = 24 {last[kind, 24]:.1f}"
          f"   ratio {last[kind, 24] / last[kind, 6]:.2f}")

# %% [markdown]
# With post-norm it hardly changes. With pre-norm it is about half, $1/\sqrt{4}$; the reason follows. The picture shows all 24
# layers, from the bottom (1) to the top (24). The upper part shows the gradients, the lower part the size of the output.

# %%
fig = new_figure(7, 5.6)
above, below = fig.subplots(2, 1, sharex=True)                         # the gradient, the signal
for style, kind in enumerate(kinds):
    both = measured[kind, 24]                                          # (seeds, 2, N)
    draw_spread(above, range(1, 25), both[:, 0], kind, style)
    draw_spread(below, range(1, 25), both[:, 1], kind, style)
above.set(ylabel="relative gradient of $W_2$", title="gradient")
below.set(xlabel="layer, from the bottom", ylabel="std of the output", title="signal")
for ax in (above, below):
    ax.set_ylim(bottom=0)
    ax.legend()
fig

# %% [markdown]
# Read the lower part first. Post-norm sets every token back to the size 1 after every sum. With pre-norm each sub-layer
# adds a term of about the same size to a sum that nobody normalises. So the variance grows with the number of layers,
# and the standard deviation grows with its root. This has two consequences:
#
# - A pre-norm stack **needs one more norm at its end**. `Transformer` adds it, because the layer says so: `stack_norm`.
# - This norm divides by its $\sigma$, forwards and backwards: the deeper the stack, the smaller the gradient at its top.
#
# Now the upper part. With post-norm the gradient does not vanish: a possible reason, not measured here, is that the norms also make the gradients inside the sub-layers larger. But its top layers get the same gradient, however deep the
# stack is. The paper has to *warm up*: the rate starts near 0 and rises (Section 5.3). Xiong et al. (2020) give this as
# one explanation: the first steps at the top are too large. It cannot be the whole explanation, since Adam divides by the
# size of the gradient. Liu et al. (2020) have another: in a post-norm model more of the output comes from the sub-layers, so a small change of their weights changes it much.
#
# What warm-up does to training is measured in Lesson 10.4, for both norms. In short: *there* it makes a higher rate
# possible, and no better end. In deep post-norm models it can decide whether they learn at all. (Why did the authors
# choose post-norm? They do not say. Section 3.1 only defines it.)
#
# ## 7.8 Check what this lesson claimed

# %%
tokens, token = rng.standard_normal((1, 5, 8)), np.array([15.0, 9.0, 7.0, 1.0])
assert max(run[-1] for run in plain) < 1e-4 < 1 < min(run[-1] for run in added)
assert min(run[-1] for run in louder) > 0.1                            # with gain 1.33
assert abs(kept_by_widths - 0.8) < 0.05                                # Xavier's share,
assert abs(kept_by_widths * 0.5**0.5 - 0.57) < 0.04                    # and that of ReLU
assert np.allclose(LayerNorm(4)(token), [1.4, 0.2, -0.2, -1.4])        # by hand
assert np.abs(layer_norm(10 * tokens + 100) - layer_norm(tokens)).max() < 1e-5     # up to eps
assert np.all(batch_norm(tokens[:, :1]) == 0)                          # one token alone
assert not dependence.layer_rows.any()                                 # not the batch
assert not dependence.layer_padding.any()                              # not the padding
assert dependence.batch_rows.min() > 0.01
assert np.abs(with_means - from_class).max() < 1e-12                   # the three ways
assert abs(from_class.sum()) < 1e-12                                   # nothing along 1
assert abs(from_class @ x_hat) < 1e-6                                  # nothing along x_hat
assert np.any(f(changed) != fed_alone, axis=-1).sum() == 1             # position-wise
assert np.abs(by_hand - y).max() < 1e-12                               # four steps are the layer
assert np.abs(grad_x - from_layer).max() < 1e-12                       # four gradients meet
assert factors.prod() < 0.03                                           # post-norm's straight path
assert 0.7 < last["post-norm", 24] / last["post-norm", 6] < 1.4
assert 0.3 < last["pre-norm", 24] / last["pre-norm", 6] < 0.7

print("all true")

# %% [markdown]
# ## Summary
#
# - **Add** gives the gradient a path that does not depend on the weights: $I + J$ instead of $J$. So every sub-layer has
#   the width `d_model`. In the paper a norm stands on this path after each Add, and bends it. With pre-norm it is straight.
# - **Norm** removes offset and size from each token by itself. It does not see the batch or the padding. (Lesson 7.4: its
#   gradient is `(g - mean(g) - x_hat mean(g x_hat)) / sigma`, without a component in the two directions that change
#   nothing.)
# - **Feed-forward** is the same small network at every position. It holds two thirds of an encoder layer's parameters.
# - Where an array is used several times, the gradients of its uses add up: here four.
# - Lesson 7.7: post-norm (the paper) keeps the signal at size 1 and nearly closes the straight path. Pre-norm keeps the
#   path and lets the signal grow. It needs a norm at its end.
#
# ## Questions
#
# **1.** RMS norm (`variants.norms`) is $x / \sqrt{\mathrm{mean}(x^2)}$: no mean is subtracted. Which of the three terms of the
# backward does it not have, and why?
#
# <details><summary>Answer</summary>
#
# It has no term $\mathrm{mean}(g)$. This term removes the direction $(1, 1, 1, 1)$, because layer norm does not notice a
# shift of all features. RMS norm does notice it, so its gradient may have a component in this direction. A change of
# scale still changes nothing, so the term with $\hat x$ stays.
#
# </details>
#
# **2.** Leave out the ReLU. What is left of the feed-forward network?
#
# <details><summary>Answer</summary>
#
# One linear map from `d_model` to `d_model` is left: $(x W_1 + b_1) W_2 + b_2 = x\, (W_1 W_2) + (b_1 W_2 + b_2)$. In the
# base model $512 \cdot 512$ numbers and a bias would do the work of two million. Without the ReLU the wide layer in the
# middle is useless.
#
# </details>
#
# **3.** Somebody writes `EncoderLayer.backward` and returns `grad_Q + grad_K + grad_V`, without the straight term. Which
# gradients are then wrong: those of the layer's parameters, those of the layers below?
#
# <details><summary>Answer</summary>
#
# The gradients of this layer's parameters are right, because they are computed before the mistake. All layers below get a
# wrong gradient without its straight path, and in a stack it gets worse with every layer. The top layers still learn,
# so a falling loss does not show the mistake. `check_gradients` shows it, in the line `input 0`.
#
# </details>
