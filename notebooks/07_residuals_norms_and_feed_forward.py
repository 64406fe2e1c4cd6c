# %% [markdown]
# # Lesson 7 · Residuals, layer norm, feed-forward: what surrounds attention
#
# | | |
# |---|---|
# | **You will do** | send a gradient through 24 layers with and without "Add"; normalise one token by hand; compute an encoder layer, forwards and backwards |
# | **You will learn** | why the paper writes $x + \mathrm{Sublayer}(x)$; why layer norm runs over the features; what changes with the norm before the sub-layer |
# | **You need** | Lessons 1 and 2, the chain rule; for Lesson 7.6 also Lessons 4 and 6 |
# | **Paper** | Section 3.1, Section 3.3, Equation 2, Section 5.4, Figure 1 |
# | **Time** | *see*, and from Lesson 7.4 on *then prove*: about 40 minutes each (estimated); of the parts *for the keen* run the cells, skip the text |

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
from pathlib import Path

import numpy as np

from aiayn_course.drawings import SENTENCE, figure_1, norm_axes, norm_places
from aiayn_course.lab.claims.overfitting import DROPOUT
from aiayn_np import Dropout, EncoderLayer, LayerNorm, PositionwiseFeedForward, check_gradients
from aiayn_np.plotting.figures import draw_spread, new_figure
from aiayn_np.variants.norms import BatchNorm
from aiayn_np.variants.pre_norm import PreNormEncoderLayer

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# Stack 24 small layers $y = f(x)$, each a feed-forward network (Lesson 7.5). Send a gradient of length 1 in at the top, and measure its length below
# each layer. Five stacks, with the range:
#
# <!-- slide:
# Stack 24 small layers $y = f(x)$. Each $f$ is a feed-forward network (Lesson 7.5). Send a gradient of length 1 in at the top, and measure its length below each layer on its way down.\
# ![]
# About a millionth of the gradient is left. The gradient of a weight is a product, of the input of its layer and the gradient that arrives. So it is tiny in *all* layers. -->

# %%
def lengths_from_the_top(residual, depth=24, d_model=32, seed=0):
    rng = np.random.default_rng(seed)
    layers = [PositionwiseFeedForward(d_model, 4 * d_model, rng=rng) for _ in range(depth)]
    x, inputs, caches, found = rng.standard_normal((10, d_model)), [], [], []    # (T, d_model)
    for f in layers:
        inputs.append(x)
        fx, cache = f.forward(x)
        x = x + fx if residual else fx                                 # the only difference
        caches.append(cache)
    grad = rng.standard_normal(x.shape)
    grad /= np.linalg.norm(grad)
    for f, x, cache in zip(layers[::-1], inputs[::-1], caches[::-1]):
        through_f = f.backward(grad, cache)
        grad = grad + through_f if residual else through_f             # a sum: both terms get it
        found.append([np.linalg.norm(of) for of in (grad, x, f.linear_1.W.grad, f.linear_1.b.grad)])
    return np.transpose(found)                                         # (4, depth), the top layer first

plain = np.array([lengths_from_the_top(residual=False, seed=seed) for seed in range(5)])    # (seeds, 4, depth)
ax = new_figure(6.5, 3.4).subplots()
for i, name in enumerate(("gradient of x", "x, the input of a layer", "gradient of its $W_1$", "gradient of its $b_1$")):
    draw_spread(ax, range(1, 25), plain[:, i], name, i)
ax.set(yscale="log", xlabel="layers passed, from the top", ylabel="length", ylim=(1e-7, 1e4), title="y = f(x)")
ax.legend(ncols=2, loc="upper center")
print(f"share of the gradient of x that one layer lets through: {np.median(plain[:, 0, 1:] / plain[:, 0, :-1]):.2f}")
ax.figure

# %% [markdown]
# About a millionth of the gradient is left. The gradient of a weight is the input of its layer times the gradient that arrives, and inputs shrink on
# the way up as gradients do on the way down. So the gradient of $W_1$ is tiny in *all* layers; only that of a bias, which no input multiplies, shrinks
# downwards. <!-- result -->
#
# <!-- slide: Attention is a **sub-layer**, and the feed-forward network another
# Models of 24 layers are trained all the same, with two more boxes around attention.\
# ![] -->

# %%
figure_1("add_norm", "feed_forward")

# %% [markdown]
# <!-- slide:
# Attention is a **sub-layer**, and the feed-forward network another.
# Around each the paper puts the same frame, whose sum is called a **residual connection** (Section 3.1, Section 5.4; dropout is in Lesson 7.6):\
# $$\mathrm{LayerNorm}\big(x + \mathrm{Dropout}(\mathrm{Sublayer}(x))\big)$$ -->
#
# Attention is a **sub-layer**, and the feed-forward network another. Around each stands the same frame, whose sum is a **residual connection** (Section 3.1,
# Section 5.4):
#
# $$\mathrm{LayerNorm}\big(x + \mathrm{Dropout}(\mathrm{Sublayer}(x))\big)$$
#
# ## 7.1 Add: does the gradient come through?
#
# Write the layers as $y = x + f(x)$ (the argument `residual`).
#
# > **Predict.** Without the sum, one layer lets about $0.57$ of the gradient through, and 24 layers about a millionth. *With* the sum, how long is the gradient that arrives?
# >
# > - About 1/25: it vanishes, only more slowly → The sum gives the gradient to both of its terms.
# > - About 1: as it was sent in → And what comes through f?
# > - About 25: it grows <!-- true: 10 < np.median(added[:, 0, -1]) < 100 and plain[:, 0, -1].max() < 1e-5 --> → Each layer adds to the gradient what comes through f, at about a right angle: √(1 + 0.57²) is 1.15, and 24 such factors make 29.
# >
# > <!-- given: Each of 24 layers is $y = x + f(x)$, where $f$ is an untrained network. A gradient of length 1 goes in at the top. -->

# %%
added = np.array([lengths_from_the_top(residual=True, seed=seed) for seed in range(5)])
fig = new_figure(6.5, 3.6)
ax = fig.subplots()
for style, (name, runs) in enumerate({"y = f(x)": plain, "y = x + f(x)": added}.items()):
    at_input, of_W = np.median(runs[:, [0, 2], -1], axis=0)
    print(f"{name:12}  median at the input: {at_input:.2g}, of W_1 in the lowest layer: {of_W:.2g}")
    draw_spread(ax, range(1, 25), runs[:, 0], name, style)
ax.set(yscale="log", xlabel="layers passed, from the top", ylabel="length of the gradient",
       title="One plus sign, 24 layers")
ax.legend()
fig

# %% [markdown]
# <!-- answer: With the sum the gradient does not vanish; it has even grown
# ![]
# What comes straight has the length 1, what comes through $f$ about 0.57, and in random directions lengths add in squares: $\sqrt{1 + 0.57^2} \approx 1.15$. -->
#
# <!-- slide:
# With the sum the gradient does not vanish; it has even grown. What comes straight has the length 1, what comes through $f$ about 0.57, and in random directions lengths add in squares: $\sqrt{1 + 0.57^2} \approx 1.15$. $1.15^{24}$ is about 29, near the 26 that is measured, and $0.57^{24}$ about $10^{-6}$. If $J_l$ is the Jacobian of $f$ in layer $l$, then the Jacobian of the stack is\
# $$\text{without:}\quad J_N \cdots J_2 J_1 \qquad\qquad \text{with:}\quad (I + J_N) \cdots (I + J_2)(I + J_1) = I + \dots$$ -->
#
# <!-- slide:
# The product on the left is tiny when its factors are small, and huge when they are large. Multiply out the one on the right, and its first term is $I$, whatever the other terms do: a **straight path** on which no layer changes anything. So:\
# - $x$ and $f(x)$ are added, so every sub-layer has one width, `d_model` (Section 3.1).\
# - Nothing limits the sum. Something must keep it in range. -->
#
# With the sum the gradient does not vanish; it has even grown. What comes straight has the length 1, what comes through $f$ about 0.57, and in random
# directions lengths add in squares: $\sqrt{1 + 0.57^2} \approx 1.15$. $1.15^{24}$ is about 29, near what is measured, and $0.57^{24}$ about $10^{-6}$.
# The gradients of the weights are no longer tiny. <!-- result --> If $J_l$ is the Jacobian of $f$ in layer $l$, then the Jacobian of the stack is
#
# $$\text{without:}\quad J_N \cdots J_2 J_1 \qquad\qquad \text{with:}\quad (I + J_N) \cdots (I + J_2)(I + J_1) = I + \dots$$
#
# The product on the left is tiny when its factors are small, and huge when they are large. The first term of the one on the right is $I$, whatever the
# others do: a **straight path** on which no layer changes anything. So:
#
# - $x$ and $f(x)$ are added, so every sub-layer has one width, `d_model` (Section 3.1).
# - Nothing limits the sum. Something must keep it in range.
#
# ## 7.2 Norm: one token, by hand
#
# **Layer norm** (Ba, Kiros and Hinton, 2016) takes one token, subtracts the mean of its features and divides by their
# standard deviation:
#
# $$\hat x = \frac{x - \mathrm{mean}}{\sqrt{\mathrm{variance} + \mathrm{eps}}}, \qquad y = \gamma\, \hat x + \beta$$
#
# Do it on paper for the token below. The variance is divided by 4, not by 3.

# %%
x = np.array([15.0, 9.0, 7.0, 1.0])         # (d_model,)  one token
norm = LayerNorm(4)                         # gamma = 1, beta = 0 at the start
variance = ((x - x.mean()) ** 2).mean()
x_hat = (x - x.mean()) / np.sqrt(variance + norm.eps)                  # (4,)
print("mean", x.mean(), "  variance", variance, "  x_hat", x_hat, "  the class", norm(x))

# %% [markdown]
# > **Predict.** Every feature is multiplied by 10, and then 100 is added. What is the output of layer norm now?
# >
# > - The same as before <!-- true: np.abs(norm(10 * x + 100) - norm(x)).max() < 1e-5 --> → The mean takes away the 100, and the standard deviation is ten times as large.
# > - Ten times the output from before → What are the features divided by?
# > - The output from before, plus 100 → What has become of the mean, which is subtracted?
# > - Ten times the output from before, plus 100 → So size and offset would come through.
# >
# > <!-- given: The token $x$ is {np.array([15., 9., 7., 1.])}, and its layer norm is {LayerNorm(4)(np.array([15., 9., 7., 1.]))}. -->

# %%
print("x          ", norm(x))
print("10 x + 100 ", norm(10 * x + 100))

# %% [markdown]
# <!-- answer:
# [print]
# Layer norm removes the offset and the size of a token, and keeps which features stand out. -->
#
# Layer norm removes the offset and the size of a token, and keeps which features stand out. <!-- result -->
#
# `eps` keeps equal features from giving $0/0$. The learned **gamma** and **beta**, one of each for every feature, can bring size and offset back:
# $\gamma = 5$, $\beta = 8$ would undo this norm.
#
# ## 7.3 Why over the features, and not over the batch?
#
# **Batch norm** (Ioffe and Szegedy, 2015) takes the mean of each *feature*, over all tokens of all sequences. The drawing shows both for two sentences,
# the second with a token of padding.
#
# <!-- slide:
# The drawing shows both for a batch of two sentences, the second with a token of padding.\
# ![]
# Keep one sequence, and change what is around it: another neighbour, or three positions of padding. -->

# %%
norm_axes()

# %% [markdown]
# Keep one sequence, and change what is around it: another neighbour, or padding. Which norm then gives it another output?
#
# <!-- slide:
# [print]
# Only batch norm does, with padding, too. It takes its means from the batch, so in training a sentence depends on the others. (In use it takes constants from training. Then this is over, but it is another function than in training.) -->

# %%
rng = np.random.default_rng(0)
x = rng.standard_normal((2, len(SENTENCE), 8))                         # (B, T, d_model)
neighbour = x.copy()
neighbour[1] = rng.standard_normal((4, 8))                             # another second sequence
padded = np.concatenate([x, np.zeros((2, 3, 8))], axis=1)              # (B, T + 3, d_model)
moved = {}
for name, f in (("layer norm", LayerNorm(8)), ("batch norm", BatchNorm(8))):
    before = f(x)[0]                                                   # (T, d_model)
    moved[name] = np.abs(f(neighbour)[0] - before).max(), np.abs(f(padded)[0, :4] - before).max()
    print(f"{name}  moved by the neighbour {moved[name][0]:.2f}, by the padding {moved[name][1]:.2f}")
print("one token alone, batch norm:", f(x[:1, :1])[0, 0])

# %% [markdown]
# Only batch norm does, with padding, too. It takes its means from the batch, so in training a sentence depends on the others. (In use it takes constants from training. Then this is over, but it is another function than in training.) <!-- result -->
#
# With the statistics of its batch, a single token gives zeros: that row *is* its mean. Layer norm **normalises a token by its own features
# alone**.
#
# ## 7.4 Back through the norm
#
# A shift of all features and another scale change nothing. So the gradient has no component along $(1, 1, 1, 1)$, and none along $\hat x$ (but for
# eps). The backward begins with $g = \gamma \cdot \mathrm{grad\_y}$, takes both components out, and divides by the standard deviation $\sigma$
# (Exercise 2 derives it):
#
# $$\mathrm{grad\_x} = \frac{1}{\sigma}\big(g - \mathrm{mean}(g) - \hat x\, \mathrm{mean}(g\, \hat x)\big)$$
#
# <!-- slide: Both are the same
# Two changes of $x$ change nothing: a shift of all features, and another scale. So in these two directions the slope is 0: the gradient has no component along $(1, 1, 1, 1)$, and none along $\hat x$ (but for eps).\
# The backward begins with $g = \gamma \cdot \mathrm{grad\_y}$, takes both components out, and divides by the standard deviation $\sigma$, as the forward did (Exercise 2 derives it):\
# $$\mathrm{grad\_x} = \frac{1}{\sigma}\big(g - \mathrm{mean}(g) - \hat x\, \mathrm{mean}(g\, \hat x)\big)$$
# [print]
# The factor $1/\sigma$ says: a token that is ten times as large gets a tenth of the gradient. -->

# %%
x = np.array([15.0, 9.0, 7.0, 1.0])                                    # (4,)  the token of 7.2
norm.gamma.value[:] = [1.0, 2.0, 0.5, 1.0]                             # not all 1, or gamma is untested
_, cache = norm.forward(x)
x_hat, grad_y = cache.normalised, rng.standard_normal(4)               # (4,)
g = grad_y * norm.gamma.value                                          # (4,)  at x_hat
with_means = (g - g.mean() - x_hat * (g * x_hat).mean()) * cache.inv_std    # (4,)
from_class = norm.backward(grad_y, cache)                              # (4,)
print(with_means, from_class, sep="\n")

# %% [markdown]
# Both are the same. The factor $1/\sigma$ says: a token that is ten times as large gets a tenth of the gradient. <!-- result -->
#
# ## 7.5 Feed-forward: each token by itself
#
# Equation 2 widens a token to $d_{ff}$ numbers, sets the negative ones to 0 (ReLU), and narrows it again.
#
# $$\mathrm{FFN}(x) = \max(0,\, x W_1 + b_1)\, W_2 + b_2$$
#
# Change one token of five:
#
# <!-- slide:
# The other sub-layer is Equation 2: it widens a token to $d_{ff}$ numbers, sets the negative ones to 0 (this is ReLU), and narrows it again.\
# $$\mathrm{FFN}(x) = \max(0,\, x W_1 + b_1)\, W_2 + b_2$$\
# Change one token of five:\
# [code] -->

# %% show=[1, 2, 3, 4, 5]
f = PositionwiseFeedForward(8, 32, rng=rng)                            # d_model, d_ff = 4 d_model
x = rng.standard_normal((1, 5, 8))                                     # (B, T, d_model)
changed = x.copy()
changed[0, 2] += 1.0                                                   # token 2 of the 5
tokens = np.any(f(changed) != f(x), axis=-1)[0]                        # (T,)
print("tokens of the output that change:", tokens)

# %% [markdown]
# <!-- slide:
# [print]
# The others do not change in a single bit: "position-wise" means that attention *moves* information between tokens, and the feed-forward network *works* on each token. -->
#
# The others do not change in a single bit: "position-wise" means that attention *moves* information between tokens, and the feed-forward network *works* on each token. <!-- result -->
#
# > **Predict.** In an encoder layer of the base model, $d_\mathrm{model} = 512$ and $d_{ff} = 2048$. Where are its parameters?
# >
# > - Two thirds in the feed-forward network <!-- true: 0.66 < fed / sum(sizes.values()) < 0.67 --> → It has two matrices of four squares each, and the attention four squares.
# > - Half in the attention, half in the network → How wide are the network's two matrices?
# > - Two thirds in the attention → Count its four matrices, and the two of the network.
# > - Two thirds in the norms → A norm has two numbers for each feature.

# %%
base = EncoderLayer(512, 2048, 8, rng=rng)
sizes = {name: p.value.size for name, p in base.named_parameters()}
fed = sum(size for name, size in sizes.items() if name.startswith("feed_forward"))
print(f"feed-forward {fed:,} of {sum(sizes.values()):,}, {fed / sum(sizes.values()):.1%}")

# %% [markdown]
# <!-- answer:
# [print]
# Two thirds are in the feed-forward network: it has $2 \cdot 512 \cdot 2048 = 8 \cdot 512^2$ weights, and the four matrices of the attention have $4 \cdot 512^2$. -->
#
# Two thirds are in the feed-forward network: it has $2 \cdot 512 \cdot 2048 = 8 \cdot 512^2$ weights, and the four matrices of
# the attention have $4 \cdot 512^2$. <!-- result -->
#
# ## 7.6 One encoder layer, whole
#
# An encoder layer has two sub-layers, each in its frame: four steps, here with the layer's own parts.

# %% show=false
layer = EncoderLayer(8, 32, 2, rng=rng)                                # d_model, d_ff, h
y, cache = layer.forward(x)
attended = layer.self_attention(x, x, x)                               # (B, T, d_model)
x_1 = layer.add_norm_1.layer_norm(x + attended)                        # Add & Norm
fed = layer.feed_forward(x_1)                                          # (B, T, d_model)
by_hand = layer.add_norm_2.layer_norm(x_1 + fed)                       # Add & Norm
print("largest difference from the layer:", np.abs(by_hand - y).max())

# %% [markdown]
# Now the way back: a sum gives its gradient to both of its terms.
#
# > **Predict.** How many gradients meet at the input $x$ of the layer?
# >
# > - 1 → One comes back from every place where x is used.
# > - 2 → How many inputs does the attention have?
# > - 3 → The attention gives back three. And else?
# > - 4 <!-- true: len(terms) == 4 and np.abs(sum(terms.values()) - from_layer).max() < 1e-12 --> → x is used in the sum, and as queries, keys and values.
# >
# > <!-- given: $x_1 = \mathrm{LayerNorm}(x + \mathrm{attention}(x, x, x))$ and $y = \mathrm{LayerNorm}(x_1 + \mathrm{FFN}(x_1))$. -->

# %%
grad_y = rng.standard_normal(y.shape)                                  # (B, T, d_model)
grad_x_1, grad_fed = layer.add_norm_2.backward(grad_y, cache.add_norm_2)
grad_x_1 = grad_x_1 + layer.feed_forward.backward(grad_fed, cache.feed_forward)
straight, grad_attended = layer.add_norm_1.backward(grad_x_1, cache.add_norm_1)
grad_Q, grad_K, grad_V = layer.self_attention.backward(grad_attended, cache.self_attention)
terms = {"straight": straight, "as Q": grad_Q, "as K": grad_K, "as V": grad_V}
from_layer = layer.backward(grad_y, cache)                             # (B, T, d_model)
for name, term in terms.items():
    print(f"{name:8}  length {np.linalg.norm(term):.2f}")
print(f"largest difference of their sum from the layer: {np.abs(sum(terms.values()) - from_layer).max():.0e}")

# %% [markdown]
# <!-- answer: Four gradients meet, and they add up to the layer's
# [print] -->
#
# Four gradients meet, and they add up to the layer's. <!-- result -->
#
# **Dropout** (Section 5.4) did nothing so far. Given a random generator, it sets a share of the sub-layer's output to 0, *before* the sum, so the
# straight path is never cut.
#
# <!-- slide: What is kept is divided by $1 - P_\mathrm{drop}$, so the mean stays 1
# One part of the frame did nothing so far: **dropout** (Section 5.4). Given a random generator, it sets a share of the sub-layer's output to 0, *before* the sum, so the straight path is never cut.\
# [code]
# [print]
# It is against learning by heart. -->

# %% show=[1]
dropped = Dropout(P_drop=0.1)(np.ones(100_000), rng=rng)
print("values", np.unique(dropped), f"  share of zeros {np.mean(dropped == 0):.2f}   mean {dropped.mean():.2f}")

# %% [markdown]
# What is kept is divided by $1 - P_\mathrm{drop}$, so the mean stays 1. It is against learning by heart (Lesson 7.8). <!-- result -->
#
# ## 7.7 Norm after the sum, or before the sub-layer?
#
# The paper normalises after the sum (**post-norm**). Most models from GPT-2 on normalise the input of the sub-layer (**pre-norm**):
#
# <!-- slide:
# Most models from GPT-2 on normalise the input of the sub-layer (**pre-norm**):\
# ![] -->

# %%
norm_places()

# %% [markdown]
# $$\text{post:}\quad x_{l+1} = \mathrm{LayerNorm}\big(x_l + \mathrm{Sublayer}(x_l)\big) \qquad\qquad \text{pre:}\quad x_{l+1} = x_l + \mathrm{Sublayer}\big(\mathrm{LayerNorm}(x_l)\big)$$
#
# The straight path of Lesson 7.1 consists of sums only with pre-norm. With post-norm a norm stands on it after every sum, and multiplies by its
# $1/\sigma$.
#
# Watch the first layers of a pre-norm stack that is not trained:

# %%
def variances(kind, depth):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 10, 64))                               # (B, T, d_model)
    found = [x.var()]
    for layer in [kind(64, 256, 4, rng=rng) for _ in range(depth)]:
        x = layer(x)
        found.append(x.var())
    return found                                                       # depth + 1 numbers

print("variance after 0 to 4 layers:", np.round(variances(PreNormEncoderLayer, 4), 1))

# %% [markdown]
# > **Predict.** How large are the numbers, their standard deviation, after 24 layers of pre-norm?
# >
# > - About 1 → Each sub-layer gets an input of size 1. But the sum?
# > - About 5 <!-- true: 3 < sizes["pre-norm"] < 7 and abs(sizes["post-norm"] - 1) < 0.01 --> → The variance goes on to rise, by about 1 with each layer. The size is its root.
# > - About 25 → That is the variance.
# > - Many thousands → Each layer would have to multiply.
# >
# > <!-- given: $x_{l+1} = x_l + \mathrm{Sublayer}(\mathrm{LayerNorm}(x_l))$ twice in each layer. The variance after 0, 1, 2, 3 and 4 layers: {variances(PreNormEncoderLayer, 4)} -->

# %%
sizes, ax = {}, new_figure(6, 2.6).subplots()
for style, (name, kind) in enumerate({"pre-norm": PreNormEncoderLayer, "post-norm": EncoderLayer}.items()):
    size = np.sqrt(variances(kind, 24))                                # (25,)
    sizes[name] = size[-1]
    draw_spread(ax, range(25), [size], f"{name}, at the end {size[-1]:.2f}", style)
ax.set(xlabel="layers passed", ylabel="standard deviation", ylim=(0, None))
ax.legend()
ax.figure

# %% [markdown]
# <!-- answer:
# ![]
# With pre-norm the size grows with the root of the depth: the variance rises by about 1 with each layer. -->
#
# With pre-norm the size grows with the root of the depth: the variance rises by about 1 with each layer. <!-- result -->
#
# So a pre-norm stack **needs one more norm at its end**, and `Transformer` adds it. Post-norm sets every token back to size 1. (Training: Lesson 10.4.)
#
# ## 7.8 For the keen: dropout, or stop in time?
#
# Here are models that learned from 200 sequences alone (experiment `dropout`), and the best step of those without dropout, where one could stop in
# time:

# %% show=[]
if Path("../figures/dropout.json").exists():                           # what the whole experiment found
    few = DROPOUT.load("../figures")
else:                                                                  # a small one, in seconds: too short to tell
    few = DROPOUT.run(rate_scale=(0.2,), steps=50, seeds=(0,))
without, dropped = few.validation[:2]                                  # (seeds, steps) each
for name, x in {"without, at the end": without[:, -1], "without, at its best step": without.min(axis=1),
                "P_drop = 0.1, at the end": dropped[:, -1]}.items():
    print(f"{name:25} loss on others {np.median(x):.2f} ({x.min():.2f} to {x.max():.2f})")

# %% [markdown]
# It beats a model without dropout that stops at its best step, by less than it beats one that goes on. <!-- result -->
# All learned at the usual rate. At the best rate of each, the gallery (claim 12) finds no difference that is settled.
#
# ## 7.9 Yours: the weights of a pre-norm stack
#
# <!-- slide: Write your number down, then measure
# The opening drew the gradient of the *weights*, since these learn. Ask the same of 24 pre-norm layers, `PreNormEncoderLayer(64, 256, 4, rng=rng)` with seed 0: send a random gradient in at the top, and divide the length of the gradient of $W_1$ in the lowest layer by that in the top layer. What do you get? -->
#
# The opening drew the gradient of the *weights*. Take 24 pre-norm layers, `PreNormEncoderLayer(64, 256, 4, rng=rng)` with seed 0, send $x$
# of shape (4, 10, 64) through and a random gradient back, and divide the length of the gradient of $W_1$ of the feed-forward network in the lowest layer by that in the top layer. What do you get?

# %% show=false
from aiayn_course.exercises import judge

predicted = 1.0                    # type your number first
# yours: lowest layer over top layer
rng = np.random.default_rng(0)
stack, caches, y = [PreNormEncoderLayer(64, 256, 4, rng=rng) for _ in range(24)], [], rng.standard_normal((4, 10, 64))
for layer in stack:
    y, layer_cache = layer.forward(y)
    caches.append(layer_cache)
grad = rng.standard_normal(y.shape)
for layer, layer_cache in zip(stack[::-1], caches[::-1]):
    grad = layer.backward(grad, layer_cache)
lengths = [np.linalg.norm(layer.feed_forward.linear_1.W.grad) for layer in stack]
measured = lengths[0] / lengths[-1]
judge(7, predicted, measured)

# %% [markdown]
# Several times as long below as above. Each sub-layer adds to the gradient what comes back through it. <!-- result --> Two controls, each with one change. The gradient takes the straight path alone; or the norms of the sub-layers do not divide it by the spread $\sigma$ (Lesson 7.4):

# %% show=false
class Undivided(LayerNorm):
    def backward(self, grad_y, cache):
        return super().backward(grad_y, cache) / cache.inv_std


class UndividedLayer(PreNormEncoderLayer):
    stack_norm = Undivided


def ratio(kind, seed, straight):                                       # lowest layer over top layer
    rng = np.random.default_rng(seed)
    stack, y, caches = [kind(64, 256, 4, rng=rng) for _ in range(24)], rng.standard_normal((4, 10, 64)), []
    for layer in stack:
        y, layer_cache = layer.forward(y)
        caches.append(layer_cache)
    grad = rng.standard_normal(y.shape)
    for layer, layer_cache in zip(stack[::-1], caches[::-1]):
        below = layer.backward(grad, layer_cache)
        grad = grad if straight else below
    first, *_, last = (np.linalg.norm(layer.feed_forward.linear_1.W.grad) for layer in stack)
    return first / last


for name, kind, straight in (("as it is", PreNormEncoderLayer, False), ("straight path alone", PreNormEncoderLayer, True),
                             ("not divided by the spread", UndividedLayer, False)):
    ratios = [ratio(kind, seed, straight) for seed in range(5)]
    print(f"{name:25}  lowest over top layer, five seeds: {min(ratios):8.2f} to {max(ratios):8.2f}")

# %% [markdown]
# With the straight path alone the ratio is about 1. Without the division it is about ten thousand: the division holds back what the sub-layers add. <!-- result -->
#
# ## 7.10 Check what this lesson claimed

# %%
assert np.allclose(5 * x_hat + 8, [15, 9, 7, 1])                       # the norm undone
assert np.abs(with_means - from_class).max() < 1e-12
assert abs(from_class.sum()) < 1e-12                                   # nothing along 1
assert abs(from_class @ x_hat) < 1e-6                                  # nothing along x_hat
assert check_gradients(LayerNorm(8), rng.standard_normal((2, 3, 8)))
assert 20 < np.median(added[:, 0, -1]) < 1.15**24 < 30                 # the sum of 7.1
assert plain[:, 2].max() < 1e-3 < 10 < added[:, 2].min()               # weights: tiny in all layers, or not
assert 0.1 < (plain[:, 2, -1] / plain[:, 2, 0]).min() < 10             # about as long above as below
assert (plain[:, 3, -1] / plain[:, 3, 0]).max() < 1e-4                 # biases: not so
assert few.steps[-1] < 600 or dropped[:, -1].max() < without.min()     # dropout against stopping in time
print("all true")

# %% [markdown]
# ## Summary
#
# - **Add** gives the gradient a path that does not depend on the weights: $I + J$ instead of $J$.
# - **Norm** removes offset and size from each token by itself, whatever the batch.
# - **Feed-forward** is the same network at every position, with two thirds of a layer's parameters.
# - Post-norm (the paper) keeps the signal at size 1 and puts norms on the straight path. Pre-norm keeps the path and lets the signal grow.
#
# **What you can do now:** put the frame around any sub-layer, send a gradient back through it by hand, and say what becomes of it in a deep stack
# (Exercises 2, 7 and 12).
#
# ## Questions
#
# **1.** RMS norm (`variants.norms`) is $x / \sqrt{\mathrm{mean}(x^2)}$: no mean is subtracted. Which of the three terms of the
# backward does it not have, and why?
#
# <details><summary>Answer</summary>
#
# It has no term $\mathrm{mean}(g)$. This term removes the direction $(1, 1, 1, 1)$, because layer norm does not notice a shift of all features; RMS
# norm does. A change of scale still changes nothing, so the term with $\hat x$ stays.
#
# </details>
#
# **2.** Leave out the ReLU. What is left of the feed-forward network?
#
# <details><summary>Answer</summary>
#
# One linear map from `d_model` to `d_model` is left: $(x W_1 + b_1) W_2 + b_2 = x\, (W_1 W_2) + (b_1 W_2 + b_2)$. In the base model $512 \cdot 512$
# numbers and a bias would do the work of two million.
#
# </details>
#
# **3.** Would larger weights save the stack without the sum?
#
# <details><summary>Answer</summary>
#
# Yes, at one size only. A layer must let through $1 / 0.57 = 1.75$ times as much, so each of its two matrices must be $\sqrt{1.75} = 1.32$ times as
# large. A little more, and the product of 24 factors explodes; a little less, and it vanishes. Training changes the weights.
#
# </details>
