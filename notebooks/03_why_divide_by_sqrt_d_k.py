# %% [markdown]
# # Lesson 3 · Why divide by √d_k?
#
# | | |
# |---|---|
# | **You will do** | compute attention by hand with and without the scale, derive the variance of a dot product line by line, and measure what it does to the softmax, to the gradient and to training |
# | **You will learn** | why dot products get large; what $\sqrt{d_k}$ is for, and why it is the root; why additive attention does without; and what the paper's reason does *not* explain |
# | **You need** | Lessons 1 and 2; mean, variance and independence of random numbers |
# | **Paper** | Section 3.2.1 and its footnote 4 |
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
import math

import numpy as np

from aiayn_np import (
    CopyTask,
    LayerNorm,
    MultiHeadAttention,
    ScaledDotProductAttention,
    Softmax,
    plot_attention,
)
from aiayn_np.experiments.learning import learn, small_model
from aiayn_np.experiments.saturation import SATURATION
from aiayn_np.experiments.scale_training import SCALE_TRAINING
from aiayn_np.experiments.variance import VARIANCE
from aiayn_np.plotting import draw_spread, new_figure
from aiayn_np.variants.scoring import AdditiveScore, DotScore, ScoredAttention, dot_attention

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# ## 3.1 By hand: ten of sixteen
#
# Let every entry of a query and of a key be $+1$ or $-1$. Then $q \cdot k$ counts: the places where they agree, minus
# the places where they do not. Take $d_k = 16$, a query of ones, and three keys that agree with it in 10, 8 and 6
# places. A key of coin flips agrees in 8 on average, so the first is a little better than chance, the last a little
# worse.

# %%
def agreeing(places, d_k):
    return np.where(np.arange(d_k) < places, 1.0, -1.0)                # (d_k,)

Q = np.stack([np.ones(16), np.tile([1.0, -1.0], 8)])                   # (2, 16)  two queries
K = np.stack([agreeing(n, 16) for n in (10, 8, 6)])                    # (3, 16)
V = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])                     # (3, 2)
d_k = Q.shape[-1]

# %% [markdown]
# > **Predict.** What is the first query's score for each key? And if softmax took these scores as they are, how many times the weight of the second key would the first one get?

# %%
scores = Q @ K.T                                                       # (2, 3)
print("scores", *scores, sep="\n  ")
print("e^4 =", math.exp(4), "  e =", math.e)

# %% [markdown]
# The scores are $10 - 6 = 4$, then 0 and $-4$. A difference of 4 is a ratio of $e^4$ (Lesson 2): two places of
# sixteen better, and more than fifty times the weight. Now divide by $\sqrt{d_k} = 4$, as Equation 1 does. The scores
# become 1, 0 and $-1$, and the ratio $e$. The second query agrees with each key in 8 places; it has nothing to scale.

# %%
softmax = Softmax()
scaled = scores / math.sqrt(d_k)                                       # (2, 3)
weights = softmax(scaled)                                              # (2, 3)
out = weights @ V                                                      # (2, 2)
for name, array in {"scaled": scaled, "weights": weights, "out": out}.items():
    print(name, array.shape, *array, sep="\n  ")

# %% [markdown]
# The class does the same, and keeps every step. `cache.weights` is ours, and so is what it returns.

# %%
attention = ScaledDotProductAttention()
from_class, cache = attention.forward(Q, K, V)
print("weights:", np.abs(cache.weights - weights).max() < 1e-12)
print("out:    ", np.abs(from_class - out).max() < 1e-12)
print(cache)

# %% [markdown]
# Its twin without the scale is among the variants: `DotScore` is $q \cdot k$ and nothing else, and `ScoredAttention`
# makes an attention of any score.

# %%
unscaled = ScoredAttention(DotScore())
_, unscaled_cache = unscaled.forward(Q, K, V)
print("its scores are Q Kᵀ:", np.array_equal(DotScore()(Q, K), scores))
print("with    ", cache.weights[0])
print("without ", unscaled_cache.weights[0])

# %% [markdown]
# Without the scale the first key takes 0.98 of the weight: nearly a hard look-up, decided by two places of sixteen.
#
# > **Predict.** Now $d_k = 1024$, and the keys agree in 528, 512 and 496 places. Which weights with the scale? And without?

# %%
q_wide = np.ones((1, 1024))                                            # (1, 1024)
K_wide = np.stack([agreeing(n, 1024) for n in (528, 512, 496)])        # (3, 1024)
for name, layer in {"with    ": attention, "without ": unscaled}.items():
    _, wide_cache = layer.forward(q_wide, K_wide, V)
    print(name, wide_cache.weights[0])
print("share of places that agree:", 528 / 1024)

# %% [markdown]
# With the scale, the same weights as before. Without, the first key has everything: a lead of 32 points, because it
# agrees in 528 places of 1024. Of $d_k$ coin flips $d_k / 2$ agree on average, with a **standard deviation** of
# $\sqrt{d_k} / 2$: 2 places of 16, 16 places of 1024. So both keys are one standard deviation above chance. The scale
# makes scores count in standard deviations, and now we derive that.
#
# ## 3.2 Why do dot products get large?
#
# The paper's footnote 4 assumes that the entries of $q$ and $k$ are independent random numbers with mean 0 and
# variance 1. It needs nothing else; the signs above are of that kind. $E$ is the mean.
#
# **One product.** Independent numbers: the mean of a product is the product of the means.
# $$E[q_i k_i] = E[q_i]\, E[k_i] = 0 \cdot 0 = 0$$
#
# **Its variance.** The mean is 0, so the variance is the mean of the square; and $E[q_i^2]$ is the variance of $q_i$.
# $$\mathrm{Var}(q_i k_i) = E[q_i^2 k_i^2] - 0^2 = E[q_i^2]\, E[k_i^2] = 1 \cdot 1 = 1$$
#
# **Two products** at places $i \ne j$ do not go together. The measure of that is their covariance, the mean of the
# product minus the product of the means:
# $$\mathrm{Cov}(q_i k_i,\, q_j k_j) = E[q_i]\, E[k_i]\, E[q_j]\, E[k_j] - 0 \cdot 0 = 0$$
#
# **The sum.** Means always add up. Variances add up because there is no covariance.
# $$E[q \cdot k] = \sum_i E[q_i k_i] = 0$$
# $$\mathrm{Var}(q \cdot k) = \sum_{i=1}^{d_k} \mathrm{Var}(q_i k_i) + \sum_{i \ne j} \mathrm{Cov}(q_i k_i,\, q_j k_j) = d_k$$
#
# Every line is a claim, so measure every line, for $d_k = 64$ and many pairs of a query and a key.
#
# > **Predict.** What is the standard deviation of $q \cdot k$ here: 1, 8 or 64?

# %%
rng = np.random.default_rng(0)
d_k = 64
q, k = rng.standard_normal((2, 20_000, d_k))                           # (20000, 64) each
products = q * k                                                       # (20000, 64)  q_i k_i
print(f"q_i        mean {q.mean():7.4f}   variance {q.var():.4f}")
print(f"q_i k_i    mean {products.mean():7.4f}   variance {products.var():.4f}")

# %%
cov = np.cov(products.T)                                               # (64, 64)
pairs = cov[~np.eye(d_k, dtype=bool)]                                  # (64 · 63,)  i ≠ j
print(f"covariances of two products: {len(pairs)}, the largest |Cov| {np.abs(pairs).max():.3f}")
print(f"sum of the variances   {np.trace(cov):8.2f}")
print(f"sum of the covariances {pairs.sum():8.2f}")

# %%
dot = products.sum(axis=1)                                             # (20000,)  q · k
print(f"q · k      mean {dot.mean():7.4f}   variance {dot.var():.2f}   std {dot.std():.2f}")

# %% [markdown]
# 8, the root of 64. (And the two sums above add up to this variance, as they must.) So why do dot products get large?
# They are sums of $d_k$ terms, and each term adds its variance. The signs cancel a good deal, so a typical sum is not
# 64, but they do not cancel all of it. It is a walk of $d_k$ steps, left or right at random: after 64 steps you stand
# about 8 from where you began.
#
# The derivation never asked how the numbers are distributed. Nor does the measurement:

# %%
draws = {
    "normal":         lambda shape: rng.standard_normal(shape),
    "uniform":        lambda shape: rng.uniform(-math.sqrt(3), math.sqrt(3), shape),
    "+1 or -1":       lambda shape: rng.choice([-1.0, 1.0], shape),
    "mean 1, not 0":  lambda shape: 1 + rng.standard_normal(shape),
}
for name, draw in draws.items():
    q, k = draw((2, 20_000, d_k))                                      # (20000, 64) each
    print(f"{name:14} mean {(q * k).sum(axis=1).mean():6.2f}"
          f"   variance {(q * k).sum(axis=1).var():6.2f}")

# %% [markdown]
# The last row breaks an assumption, and the result: a mean that is not 0 does not cancel. (Here every product has
# mean 1 and variance 3.) The result holds at every width: the figure shows the variance of $q \cdot k$ for normal
# entries and widths from 1 to 16384. The squares are what is left after the scale:
# $\mathrm{Var}(c\,s) = c^2\, \mathrm{Var}(s)$, so dividing by $\sqrt{d_k}$ divides the variance by $d_k$.

# %%
variance = VARIANCE.run()
variance.figure()

# %% [markdown]
# ## 3.3 What a standard deviation of √d_k does to softmax
#
# Six tokens with random queries and keys of width 512. Take all of it, and then only the first four entries of the same
# vectors.

# %%
tokens = ["the", "cat", "sat", "on", "a", "mat"]
Q, K = rng.standard_normal((2, 6, 512))                                # (6, 512) each
V = np.eye(6)                                                          # (6, 6)
maps = {}
for width in (4, 512):
    for name, layer in {"without": unscaled, "with": attention}.items():
        _, cache = layer.forward(Q[:, :width], K[:, :width], V)
        maps[f"d_k = {width}, {name} scale"] = cache.weights          # (6, 6)
print("scores of 'cat', d_k =   4:", Q[1, :4] @ K[:, :4].T)
print("scores of 'cat', d_k = 512:", Q[1] @ K.T)

# %% [markdown]
# > **Predict.** What is the largest of the six weights of `cat` for $d_k = 512$ without the scale?

# %%
for name, weights in maps.items():
    print(f"{name:24} weights of 'cat' {weights[1]}")

# %% [markdown]
# Practically 1. The picture shows the four maps, each row a query. The third is a hard look-up in most of its rows,
# although nobody has learned anything: it is chance, magnified. With the scale, width 512 looks like width 4.

# %%
plot_attention(np.stack(list(maps.values())), tokens, tokens,
               titles=[name.replace(", ", ",\n") for name in maps])

# %% [markdown]
# Six tokens are an anecdote. The experiment `SATURATION` draws 2048 queries with 32 keys each, and counts.
#
# > **Predict.** $d_k = 512$, 32 random keys, no scale. In what share of queries does *one* key get more than 0.99 of the weight?

# %%
saturation = SATURATION.run(queries=2048)
print("keys of each query:", saturation.n_keys)
print("d_k    with   without     share of queries with one weight > 0.99")
for d_k, share_with, share_without in zip(saturation.d_k, *saturation.one_hot):
    print(f"{d_k:<5} {share_with:6.3f} {share_without:8.3f}")

# %% [markdown]
# In about two thirds. At the width of the paper's base model, $d_k = 64$, it is more than a fifth, and with the scale
# none at any width.
#
# ## 3.4 What that does to the gradient
#
# Lesson 2 found the Jacobian of softmax, $J_{jk} = w_j (\mathbb{1}[j = k] - w_k)$, and that it is almost zero where one
# weight is almost 1. Here it is for the query of `cat`, first its length, then the gradient of the scores that it lets
# through.

# %%
grad_w = rng.standard_normal(6)                                        # (6,)  from above
for name, weights in maps.items():
    w = weights[1]                                                     # (6,)
    J = np.diag(w) - np.outer(w, w)                                    # (6, 6)
    print(f"{name:24} length of J {np.linalg.norm(J):.1e}"
          f"   of grad_s {np.linalg.norm(J.T @ grad_w):.1e}")

# %% [markdown]
# The paper says that large scores push the softmax to where its gradients are extremely small. For this query that is
# so. For all of them? The same experiment measured, for each of its 2048 queries, the length of the gradient that
# reaches the query, $\partial L / \partial q$. The median is the query in the middle; the mean counts them all.
#
# > **Predict.** $d_k = 512$, with the scale and without. Which *median* is larger? And which *mean*?

# %%
at = list(saturation.d_k).index(512)
median, mean = saturation.gradient[:, :, 1], saturation.mean_gradient  # (2, widths) each
for name, size in {"median": median, "mean": mean}.items():
    for i in (list(saturation.d_k).index(64), at, -1):
        print(f"d_k = {saturation.d_k[i]:<5} {name:7} with {size[0, i]:.3f}   without {size[1, i]:.3f}"
              f"   ratio {size[1, i] / size[0, i]:.1g}")

# %% [markdown]
# The median at 512 has shrunk to about a tenth, and at 4096 nothing is left of it. (At 64 it is still *larger* without the
# scale.) But the mean is *larger* at all three widths, several times what it is with the scale! The picture shows the
# length of $J$ and of the gradient against $d_k$; a band holds the middle half of the queries, the dotted line is the
# mean.

# %%
saturation.figure()

# %% [markdown]
# On the right, the median without the scale rises up to $d_k = 32$, is below the scaled one from 256 on, and then
# falls off a cliff. Its mean stays up. Who gets the gradient at 512? Line the queries up, from the one that gets
# least to the one that gets most.

# %%
Q = rng.standard_normal((32, 64, 512))                                 # 32 groups of 64 queries
K, V = rng.standard_normal((2, 32, 32, 512))                           # 32 keys and values each
grad_out = rng.standard_normal(Q.shape) / math.sqrt(512)
shares = {}
for name, layer in {"with": attention, "without": unscaled}.items():
    _, cache = layer.forward(Q, K, V)
    grad_Q, _, _ = layer.backward(grad_out, cache)                     # (32, 64, 512)
    size = np.sort(np.linalg.norm(grad_Q, axis=-1), axis=None)         # (2048,)  ascending
    shares[name] = size[:1024].sum() / size.sum(), size[-205:].sum() / size.sum()
    print(f"{name:8} the poorer half gets {shares[name][0]:.3f} of the gradient,"
          f" the richest tenth {shares[name][1]:.3f}")

# %% [markdown]
# Without the scale one half of the queries shares next to nothing. They are sure, by chance, and nothing can change
# their mind. The rest goes to the few that happen to hang between two keys. They get *too much*: since
# $s_j = q \cdot k_j$, the gradient of $q$ is $\sum_j \mathrm{grad\_s}_j\, k_j$, and a key of width $d_k$ is about
# $\sqrt{d_k}$ long. So the honest form of the claim: without the scale and with a wide $d_k$, the gradient of *most* queries
# vanishes, and a few get far too much.

# %% [markdown]
# ## 3.5 Why the root, and not d_k itself?
#
# Shrinking helps. Would more help more? Divide by $d_k^p$ with $p = 0$ (no scale), $p = ½$ (the paper's) and $p = 1$.
#
# > **Predict.** What is the variance of $q \cdot k / d_k$? With 32 keys and a wide $d_k$, what do the weights then look like?

# %%
def measure(d_k, p):
    Q, K, V = rng.standard_normal((3, 32, 32, d_k))                    # 32 groups of 32 queries
    q = Q / d_k**p
    _, cache = unscaled.forward(q, K, V)                               # scores q · k / d_k^p
    grad_q, _, _ = unscaled.backward(rng.standard_normal(V.shape) / math.sqrt(d_k), cache)
    grad_Q = grad_q / d_k**p                                           # q = Q / d_k^p
    size = np.median(np.linalg.norm(grad_Q, axis=-1))
    return (q @ K.mT).var(), np.median(cache.weights.max(axis=-1)), size

# %%
table = {(p, d_k): measure(d_k, p) for p in (0, 0.5, 1) for d_k in (16, 128, 1024)}
print("divided by       d_k   variance   largest weight   |grad_q|     (medians)")
for (p, d_k), (var, largest, size) in table.items():
    print(f"d_k^{p:<10} {d_k:5} {var:10.4f} {largest:16.3f} {size:10.1e}")
print("an equal share:", 1 / 32)

# %% [markdown]
# Divided by $d_k$, the variance is $d_k / d_k^2 = 1/d_k$: the wider, the flatter. The largest of 32 weights is then hardly
# more than an equal share: every query gets the plain mean, whatever it asks. Nothing is saturated, but the gradient
# shrinks all the same, about as $1/\sqrt{d_k}$, and to look at one key at all the model would have to learn scores that
# are $\sqrt{d_k}$ times larger. Only with the root do variance, weights and gradient stay where they are at every width.
#
# Why does the gradient stay, too? Because the scale stands in the backward pass once more (Lesson 4 derives it):
# $$\mathrm{grad\_q} = \frac{1}{\sqrt{d_k}} \sum_j \mathrm{grad\_s}_j\, k_j$$
# Each $k_j$ is about $\sqrt{d_k}$ long, and $1/\sqrt{d_k}$ makes up for just that.

# %%
Q, K, V = rng.standard_normal((3, 32, 512))                            # (32, 512) each
grad_out = rng.standard_normal(Q.shape)
_, cache = attention.forward(Q, K, V)
grad_Q, _, _ = attention.backward(grad_out, cache)
grad_s = softmax.backward(grad_out @ V.T, cache.softmax)               # (32, 32)
print("mean length of a key:", np.linalg.norm(K, axis=1).mean(), "  √512 =", math.sqrt(512))
print("the formula is backward:", np.abs(grad_s @ K / math.sqrt(512) - grad_Q).max() < 1e-12)

# %% [markdown]
# ## 3.6 For the keen: are the entries of q and k like that?
#
# In a Transformer they are not drawn. They are $q = x W^Q$ and $k = x W^K$. In every layer but the first, $x$ comes out
# of a layer norm (Lesson 7; before training its entries have variance 1). An attention has $h$ **heads** side by side,
# each of width $d_k$ (Lesson 6), so $W^Q$ and $W^K$ have $d_{model}$ rows and $h\, d_k$ columns. Here they start with
# Xavier's random numbers, of variance $2 / (d_{model} + h\, d_k)$. An entry of $q$ is a sum of $d_{model}$ products, so
# by the derivation above
# $$\mathrm{Var}(q_i) = d_{model} \cdot 1 \cdot \frac{2}{d_{model} + h\, d_k}$$
#
# > **Predict.** The base model has $d_{model} = 512$, $h = 8$, $d_k = 64$. What is $\mathrm{Var}(q_i)$? And if each head had $d_k = 512$?

# %%
d_model, h = 512, 8
x = LayerNorm(d_model)(rng.standard_normal((1, 64, d_model)))          # (B, T, d_model)
print("d_k    Var(q_i)  as derived    Var(q·k)   Var(q·k)/d_k")
for d_k in (8, 64, 512):
    layer = MultiHeadAttention(d_model, h, d_k=d_k, rng=rng)
    _, cache = layer.forward(x, x, x)
    Q, K = cache.attention.Q, cache.attention.K                        # (B, h, T, d_k) each
    derived, dot = 2 * d_model / (d_model + h * d_k), Q @ K.mT         # (B, h, T, T)
    print(f"{d_k:<6} {Q.var():8.3f}  {derived:10.3f}  {dot.var():10.2f}  {dot.var() / d_k:13.3f}")

# %% [markdown]
# With the paper's choice $h\, d_k = d_{model}$ it is 1, and the scores have variance close to 1 after the scale:
# footnote 4 holds at the start. With other widths it does not. Narrow heads get scores of variance about 3, and
# the very wide ones about 0.05: the scale still takes out the factor $d_k$, but $\mathrm{Var}(q_i)\,\mathrm{Var}(k_i)$ stays.
# There the wide scores are too *flat* with the scale, and without it far below 512.
#
# One more thing is true of every width. A model could learn the scale by itself: with $W^Q / \sqrt{d_k}$ instead of $W^Q$,
# attention without the scale is the same function.

# %%
with_scale = MultiHeadAttention(64, 4, rng=np.random.default_rng(0))   # d_k = 16
without = MultiHeadAttention(64, 4, attention=dot_attention, rng=np.random.default_rng(0))
x = rng.standard_normal((1, 5, 64))                                    # (B, T, d_model)
before = np.abs(without(x, x, x) - with_scale(x, x, x)).max()
without.linear_Q.W.value /= math.sqrt(16)
after = np.abs(without(x, x, x) - with_scale(x, x, x)).max()
print(f"largest difference: {before:.4f} before, less than 1e-12 after: {after < 1e-12}")

# %% [markdown]
# So the scale adds nothing to what attention can express. It decides where training *starts*, and how far a step of
# $W^Q$ moves the scores. Whether that matters, only training tells.
#
# ## 3.7 Training with and without
#
# The experiment `SCALE_TRAINING` trains small models with one head to copy a sequence, with the scale and without, each
# at two learning rates, of which the better one counts. By default it takes up to a minute; this is a smaller run of a
# few seconds.
#
# > **Predict.** $d_k = 4$ and $d_k = 256$. Where does leaving out the scale cost more?

# %%
training = SCALE_TRAINING.run(
    d_k=(4, 256), rate_scale=(0.2, 0.4), steps=120, seeds=(0, 1), d_model=32, batch_size=16, max_length=5,
)
print("d_k                         ", training.d_k)
for i, name in enumerate(("with", "without")):
    print(f"{name:8} variance at the start {training.score_variance[i]}"
          f"   last loss {np.median(training.final[i], axis=-1)}")

# %% [markdown]
# At 256. The picture shows the loss there, step by step; a line is the median of the two seeds, its band their range.

# %%
fig = new_figure(7, 3.8)
ax = fig.subplots()
steps = 10 * np.arange(1, 13)                                          # a point is the mean of ten
for i, name in enumerate(("with the scale", "without")):
    draw_spread(ax, steps, training.best[i, -1], name, i)
ax.set(xlabel="step", ylabel="loss (nats per token)", title="Learning to copy, $d_k$ = 256")
ax.set_ylim(bottom=0)
ax.legend()
fig

# %% [markdown]
# Now read the variances. They are not 4 and 256, and with the scale not 1: the entries of $q$ and $k$ have variance 1
# only if the width of all heads is $d_{model}$ (Lesson 3.6) and $x$ comes out of a layer norm, and in this first
# layer it is embedding plus position. The wide model with the scale even starts very flat, and learns best: an
# undecided softmax has a gradient. And without the scale both widths *start* about alike, so the start alone cannot
# be why the wide one is so far behind. Look at the softmax of the encoder before and after.
#
# > **Predict.** How does the share of queries with one weight above 0.99 change in 120 steps without the scale?

# %%
task = CopyTask(max_length=5)
src = task.validation(256)[0]                                          # (256, T)
src = src[(src != task.pad).all(axis=1)]                               # the longest: no padding

def sure(model):
    _, cache = model.encode(src)
    weights = cache.encoder.layers[0].self_attention.attention.weights
    return (weights.max(axis=-1) > 0.99).mean()

# %%
sure_after = {}
for d_k in (4, 256):
    for name, factory in {"with": None, "without": dot_attention}.items():
        model = small_model(task, 0, h=1, d_k=d_k, d_v=32, attention=factory)
        first = sure(model)
        for _ in learn(model, task, 0, steps=120, batch_size=16):
            pass
        sure_after[name, d_k] = sure(model)
        print(f"d_k = {d_k:<4} {name:8} {first:.2f} before, {sure_after[name, d_k]:.2f} after")

# %% [markdown]
# The narrow one gets no surer. The wide one, which starts *less* saturated, drives itself there. A likely reason: Adam
# moves every entry of $W^Q$ and $W^K$ by about the same amount (Lesson 10), so all $d_k$ products of a score change at
# once, and the changes add up. The scale divides that, too.
#
# Be careful all the same. It is measured that the wide model without the scale is behind, and that most of its queries
# are saturated. That small gradients are *why* is what the paper itself only suspects. Lesson 3.4 makes it likely; it is
# no proof.

# %% [markdown]
# ## 3.8 Why does additive attention not need it?
#
# The other common score is a little network: $\mathrm{score}(q, k) = v^\top \tanh(W^\top q + U^\top k)$. It has no
# $1/\sqrt{d_k}$. The paper says that for large $d_k$ it does better than dot products without the scale.
#
# > **Predict.** From $d_k = 4$ to $d_k = 1024$ the variance of $q \cdot k$ grows 256 times. And that of the additive score?

# %%
widths = np.array([4, 16, 64, 256, 1024])
variances = {"dot, no scale": [], "dot / √d_k": [], "additive": []}
for d_k in widths:
    h = 4096 // d_k                                                    # heads: so many draws of v
    Q, K = rng.standard_normal((2, h, 16, d_k))                        # (h, T, d_k) each
    dot = DotScore()(Q, K)                                             # (h, T, T)
    additive = AdditiveScore(h, d_k, rng=rng)(Q, K)                    # (h, T, T)
    for name, s in zip(variances, (dot, dot / math.sqrt(d_k), additive)):
        variances[name].append(s.var())
for name, values in variances.items():
    print(f"{name:14} {np.array(values)}")

# %% [markdown]
# It does not grow. There are two reasons, and the first is the well-known one. **tanh is bounded.** Every entry of the
# hidden layer is between -1 and 1, so $|\mathrm{score}| \le \sum_a |v_a|$, however long $q$ and $k$ are. A dot product has no
# such bound. Make $q$ and $k$ longer and see:

# %%
score = AdditiveScore(1, 64, rng=rng)
Q, K = rng.standard_normal((2, 1, 32, 64))                             # (h, T, d_k) each
print(f"Σ|v| = {np.abs(score.v.value).sum():.3f}")
for factor in (1, 10, 100):
    s, dot = score(factor * Q, factor * K), DotScore()(factor * Q, factor * K) / math.sqrt(64)
    print(f"q, k × {factor:3}   largest |additive| {np.abs(s).max():8.3f}"
          f"   largest |q·k| / √d_k {np.abs(dot).max():12.1f}")

# %% [markdown]
# **For the keen.** The bound is not all, since $\sum_a |v_a|$ is itself a sum over the width. **The parameters start
# small enough.** $v$ is drawn with variance $1/d_a$ ($d_a$ is the width of the hidden layer, here $d_k$): a
# $1/\sqrt{d_a}$ that nobody writes into the formula. Take it away, with entries of $v$ of variance 1, and the
# additive score grows just like the dot product.

# %%
grown = []
for d_k in widths:
    h = 4096 // d_k
    score = AdditiveScore(h, d_k, rng=rng)
    score.v.value *= math.sqrt(d_k)                                    # variance 1/d_k becomes 1
    Q, K = rng.standard_normal((2, h, 16, d_k))
    grown.append(score(Q, K).var())
print("d_k                        ", widths)
print("variance with Var(v_a) = 1 ", np.array(grown))

# %% [markdown]
# So additive attention has its scale inside: in a tanh that holds each hidden entry below 1, and in parameters that
# can be drawn small. A dot product has neither tanh nor parameters of its own. So its scale stands in the formula
# (or, as in Lesson 3.6, in $W^Q$).

# %% [markdown]
# ## 3.9 Check what this lesson claimed

# %%
check = np.random.default_rng(1)
Q, K = check.standard_normal((2, 4, 256, 256))
assert np.abs(from_class - out).max() < 1e-12                          # the class is Equation 1
assert abs((Q @ K.mT).var() / 256 - 1) < 0.1                           # Var(q · k) = d_k
assert abs((Q @ K.mT / math.sqrt(256)).var() - 1) < 0.1                # after the scale: 1
assert variance.error < 0.03                                           # at every width
assert saturation.one_hot[1, at] > 0.5                                 # 512: mostly one-hot
assert saturation.one_hot[0].max() < 0.01                              # with the scale: never
assert median[1, at] < 0.3 * median[0, at]                             # the median query starves,
assert mean[1, at] > 2 * mean[0, at]                                   # the mean does not
assert shares["without"][0] < 0.05 < 0.2 < shares["with"][0]
assert table[1, 1024][1] < 1.5 / 32                                    # / d_k: too flat
assert after < 1e-12 < before                                          # W^Q can do it, too
assert training.final[1, 1].min() > 1.5 * training.final[0, 1].max()   # d_k = 256: far behind
assert sure_after["without", 256] > 0.5 > 10 * sure_after["with", 256]
assert max(variances["additive"]) < 2 * min(variances["additive"])
assert grown[-1] > 50 * grown[0]                                       # v makes the difference
print("all true")

# %% [markdown]
# ## Summary
#
# - $q \cdot k$ is a sum of $d_k$ products of variance 1 that do not go together, so its variance is $d_k$ and its
#   typical size $\sqrt{d_k}$. Divided by $\sqrt{d_k}$ it is 1 at every width. Divided by $d_k$ it would be too flat.
# - Without the scale a wide softmax is nearly one-hot by chance. Most queries then get no gradient, a few get too much.
# - The scale stands in the backward pass as well, where it makes up for the length of the keys.
# - $W^Q$ could learn the scale. So the scale only sets where training starts and how far a step goes; without it, a
#   wide head learns more slowly.
# - Additive attention needs none: tanh is bounded, and its $v$ starts with variance $1/d_a$.
#
# ## Questions
#
# **1.** The base model has $d_{model} = 512$ and $h = 8$ heads. By what are the scores of a head divided, and why not by
# $\sqrt{512}$?
#
# <details><summary>Answer</summary>
#
# By $\sqrt{64} = 8$. A score of one head is a sum of $d_k = 512 / 8 = 64$ products, and no score ever sums over the heads.
# What counts is the number of terms in the sum.
#
# </details>
#
# **2.** The entries of $q$ and $k$ have mean 0 and standard deviation $\sigma$. By what would you divide?
#
# <details><summary>Answer</summary>
#
# $\mathrm{Var}(q_i k_i) = \sigma^2 \cdot \sigma^2 = \sigma^4$, so $\mathrm{Var}(q \cdot k) = d_k\, \sigma^4$: divide by
# $\sigma^2 \sqrt{d_k}$. The formula of the paper has no $\sigma$; keeping it near 1 is left to layer norm and to how
# $W^Q$ and $W^K$ start.
#
# </details>
#
# **3.** Someone leaves out $W^Q$ and $W^K$ and takes $q = k = x$ with entries of variance 1. What is the score of a token
# with itself, for $d_k = 64$, after the scale? Which line of the derivation fails?
#
# <details><summary>Answer</summary>
#
# $q \cdot q = \sum_i q_i^2$ has mean $d_k = 64$; after the scale 8, while the scores with other tokens are about $\pm 1$. So
# each token looks at itself. The first line fails: $q_i$ and $k_i$ are not independent, and $E[q_i q_i] = 1$, not 0. Where
# $q$ and $k$ agree on purpose, as training may make them, dot products grow as $d_k$, not as its root. The scale is right for
# chance, which is where training starts.
#
# </details>
