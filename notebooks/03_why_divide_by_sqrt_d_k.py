# %% [markdown]
# # Lesson 3 · Why divide by √d_k?
#
# | | |
# |---|---|
# | **You will do** | compute attention by hand with and without the scale, derive the variance of a dot product line by line, and measure what it does to the softmax, to the gradient and to training |
# | **You will learn** | why dot products get large; what $\sqrt{d_k}$ is for, and why it is the root; why additive attention does without it; what the paper's reason does *not* explain |
# | **You need** | Lessons 1 and 2; mean, variance and independence of random numbers |
# | **Paper** | Section 3.2.1 and its footnote 4 |
# | **Time** | 45 minutes, without Lesson 3.6, Lesson 3.7 and Lesson 3.9, which are *for the keen*: run their cells, skip their text. No other part needs them |
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
from aiayn_np.experiments.claims.saturation import SATURATION
from aiayn_np.experiments.claims.scale_training import SCALE_TRAINING
from aiayn_np.experiments.claims.variance import VARIANCE
from aiayn_np.experiments.learning import learn, small_model
from aiayn_np.plotting.drawings import SENTENCE, dot_products, figure_1
from aiayn_np.plotting.figures import draw_spread, new_figure
from aiayn_np.variants.scoring import AdditiveScore, DotScore, ScoredAttention, dot_attention

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# The scale stands inside every attention. In Figure 1 these boxes are lit.

# %%
figure_1("attention")

# %% [markdown]
# ## 3.1 By hand: ten of sixteen
#
# Let every entry of a query and of a key be $+1$ or $-1$. Then $q \cdot k$ is the number of places where they agree, minus
# the number of places where they do not. Take $d_k = 16$, a query of ones, and three keys that agree with it in 10, 8
# and 6 places. A key of coin flips agrees in 8 places on average. So the first key is a little better than chance, and
# the last key a little worse.

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
# The scores are $10 - 6 = 4$, then 0 and $-4$. A difference of 4 is a ratio of $e^4$ (Lesson 2). So a key that is better
# in two places of sixteen gets more than fifty times the weight. Now divide by $\sqrt{d_k} = 4$, as Equation 1 does. The
# scores become 1, 0 and $-1$, and the ratio becomes $e$. The second query agrees with each key in 8 places, so its
# scores are 0 with and without the scale.

# %%
softmax = Softmax()
scaled = scores / math.sqrt(d_k)                                       # (2, 3)
weights = softmax(scaled)                                              # (2, 3)
out = weights @ V                                                      # (2, 2)
for name, array in {"scaled": scaled, "weights": weights, "out": out}.items():
    print(name, array.shape, *array, sep="\n  ")

# %% [markdown]
# The class does the same. Its `cache.weights` are our weights, and its output is ours.

# %%
attention = ScaledDotProductAttention()
from_class, cache = attention.forward(Q, K, V)
print("weights:", np.abs(cache.weights - weights).max() < 1e-12)
print("out:    ", np.abs(from_class - out).max() < 1e-12)
print(cache)

# %% [markdown]
# The library also has an attention without the scale: `DotScore` is $q \cdot k$ and nothing else, and `ScoredAttention`
# makes an attention from any score. This is the whole of `DotScore`:

# %%
print(inspect.getsource(DotScore.forward))

# %%
unscaled = ScoredAttention(DotScore())
_, unscaled_cache = unscaled.forward(Q, K, V)
print("its scores are Q Kᵀ:", np.array_equal(DotScore()(Q, K), scores))
print("with    ", cache.weights[0])
print("without ", unscaled_cache.weights[0])

# %% [markdown]
# Without the scale the first key takes 0.98 of the weight. This is nearly a hard look-up, and two places of sixteen
# have decided it.
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
# With the scale the weights are the same as before. Without it the first key gets everything: it leads by 32 points,
# because it agrees in 528 places of 1024. Of $d_k$ coin flips $d_k / 2$ agree on average, with a **standard deviation**
# of $\sqrt{d_k} / 2$: this is 2 places of 16, and 16 places of 1024. So both first keys are one standard deviation above
# chance. With the scale, a score counts standard deviations. Now we derive that.
#
# ## 3.2 Why do dot products get large?
#
# The paper's footnote 4 assumes that the entries of $q$ and $k$ are independent random numbers with mean 0 and
# variance 1. Nothing else is needed. The signs above are of this kind. $\mathbb{E}$ is the mean.
#
# **One product.** For independent numbers the mean of a product is the product of the means.
# $$\mathbb{E}[q_i k_i] = \mathbb{E}[q_i]\, \mathbb{E}[k_i] = 0 \cdot 0 = 0$$
#
# **Its variance.** The mean is 0, so the variance is the mean of the square. And $\mathbb{E}[q_i^2]$ is the variance of $q_i$.
# $$\mathrm{Var}(q_i k_i) = \mathbb{E}[q_i^2 k_i^2] - 0^2 = \mathbb{E}[q_i^2]\, \mathbb{E}[k_i^2] = 1 \cdot 1 = 1$$
#
# **Two products** at places $i \ne j$ have no covariance. The covariance is the mean of the product minus the product of
# the means:
# $$\mathrm{Cov}(q_i k_i,\, q_j k_j) = \mathbb{E}[q_i]\, \mathbb{E}[k_i]\, \mathbb{E}[q_j]\, \mathbb{E}[k_j] - 0 \cdot 0 = 0$$
#
# **The sum.** Means always add up. Variances add up because there is no covariance.
# $$\mathbb{E}[q \cdot k] = \sum_i \mathbb{E}[q_i k_i] = 0$$
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
# The standard deviation is 8, the root of 64. (The two sums above add up to the variance, as they must.) So why do dot
# products get large? A dot product is a sum of $d_k$ terms, and each term adds its variance. Terms with different signs
# cancel in part, so a typical sum is not 64. But they do not cancel completely. The sum is like a walk of $d_k$ steps,
# each left or right at random: after 64 steps you stand about 8 steps from where you began.
#
# The derivation uses only mean, variance and independence. So the result holds for other distributions, too:

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
# The last row breaks an assumption, and so the result fails: a mean that is not 0 does not cancel. (Here every product
# has mean 1 and variance 3.) With mean 0 the result holds at every width. The figure shows the variance of $q \cdot k$
# for normal entries and widths from 1 to 16384. Square markers show the variance after scaling:
# $\mathrm{Var}(c\,s) = c^2\, \mathrm{Var}(s)$, so dividing by $\sqrt{d_k}$ divides the variance by $d_k$.

# %%
variance = VARIANCE.run()
variance.figure()

# %% [markdown]
# ## 3.3 What a standard deviation of √d_k does to softmax
#
# In the drawing, the upper row shows how the scores spread when $d_k$ grows. The lower row shows what the softmax of a
# query's scores of eight keys does on average: the heaviest key takes more and more.

# %%
dot_products()

# %% [markdown]
# Now our sentence, with random queries and keys of width 512. Take first the whole vectors, and then only the first
# four entries of the same vectors.

# %%
tokens = list(SENTENCE)
Q, K = rng.standard_normal((2, 4, 512))                                # (4, 512) each
V = np.eye(4)                                                          # (4, 4)
maps = {}
for width in (4, 512):
    for name, layer in {"without": unscaled, "with": attention}.items():
        _, cache = layer.forward(Q[:, :width], K[:, :width], V)
        maps[f"d_k = {width}, {name} scale"] = cache.weights          # (4, 4)
print("scores of 'cat', d_k =   4:", Q[1, :4] @ K[:, :4].T)
print("scores of 'cat', d_k = 512:", Q[1] @ K.T)

# %% [markdown]
# > **Predict.** What is the largest of the four weights of `cat` for $d_k = 512$ without the scale?

# %%
for name, weights in maps.items():
    print(f"{name:24} weights of 'cat' {weights[1]}")

# %% [markdown]
# The largest weight is practically 1. The picture shows the four maps, and each row is a query. Look at the map below on
# the left, width 512 without the scale: its rows are hard look-ups, although nobody has learned anything. Chance has
# decided. With the scale, no row of width 512 is a hard look-up.

# %%
plot_attention(np.stack(list(maps.values())), tokens, tokens,
               titles=[name.replace(", ", ",\n") for name in maps])

# %% [markdown]
# Four tokens are an anecdote. The experiment `SATURATION` draws 2048 queries with 32 keys each. It counts the queries
# for which *one* key gets more than 0.99 of the weight.

# %%
saturation = SATURATION.run(queries=2048)
print("keys of each query:", saturation.n_keys)
print("d_k    with   without     share of queries with one weight > 0.99")
for d_k, share_with, share_without in zip(saturation.d_k, *saturation.one_hot):
    print(f"{d_k:<5} {share_with:6.3f} {share_without:8.3f}")

# %% [markdown]
# Without the scale, one key gets nearly everything in about two thirds of the queries at $d_k = 512$. The model of the
# paper has $d_k = 64$. There this happens in more than a fifth of them. With the scale it happens at no width.
#
# ## 3.4 What that does to the gradient
#
# Lesson 2 found the Jacobian of softmax, $J_{jk} = w_j (\mathbb{1}[j = k] - w_k)$. The matrix is almost zero where one weight is
# almost 1. The next cell computes it for the query of `cat`: first its norm, then the norm of the gradient of the
# scores that it lets through.

# %%
grad_w = rng.standard_normal(4)                                        # (4,)  from above
for name, weights in maps.items():
    w = weights[1]                                                     # (4,)
    J = np.diag(w) - np.outer(w, w)                                    # (4, 4)
    print(f"{name:24} norm of J {np.linalg.norm(J):.1e}"
          f"   of grad_s {np.linalg.norm(J.T @ grad_w):.1e}")

# %% [markdown]
# The paper says that large scores push the softmax to where its gradients are extremely small. For this query that is
# so. Is it so for all queries? We need the gradient that reaches a query. One step of the chain rule gives it: the
# query stands in every score, $s_j = q \cdot k_j / \sqrt{d_k}$, each time with the factor $k_j / \sqrt{d_k}$. So
# $$\mathrm{grad\_q} = \frac{1}{\sqrt{d_k}} \sum_j \mathrm{grad\_s}_j\, k_j$$
# (Without the scale, leave out $1/\sqrt{d_k}$. Lesson 4 derives the gradients of all the other arrays.) The same
# experiment measured the norm of this gradient for each of its 2048 queries. Half of the queries lie below the
# **median**. The **mean** counts all of them.
#
# > **Predict.** $d_k = 512$, with the scale and without. Which *median* is larger? And which *mean*? (A hint: without the
# > scale nothing shortens the keys in this formula, and a key of width 512 is about 22 long. And how many queries of width 512 have one weight > 0.99, in the table above?)

# %%
at = list(saturation.d_k).index(512)
median, mean = saturation.gradient[:, :, 1], saturation.mean_gradient  # (2, widths) each
for name, size in {"median": median, "mean": mean}.items():
    for i in (list(saturation.d_k).index(64), at, -1):
        print(f"d_k = {saturation.d_k[i]:<5} {name:7} with {size[0, i]:.3f}   without {size[1, i]:.3f}"
              f"   ratio {size[1, i] / size[0, i]:.2g}")

# %% [markdown]
# Without the scale the median is smaller: about a tenth at 512, and nothing is left at 4096. But at 64, the width of the
# paper, the median is *larger* without the scale, more than three times. So at the paper's own width one does not yet
# see gradients vanish, at least not at the start of training. And the mean is larger without the scale at all three
# widths, several times. The picture shows the norm of $J$ and of the gradient against $d_k$. A band holds the middle half
# of the queries, and on the right the dotted line is the mean.

# %%
saturation.figure()

# %% [markdown]
# On the right, the median without the scale rises up to $d_k = 32$. From 256 on it is below the scaled one, and then it
# falls steeply. The mean does not fall. So which queries get the gradient at 512? Draw 2048 queries again, in 32 groups
# that share their keys, as the experiment does. Sort them, from the one that gets least to the one that gets most.

# %%
Q = rng.standard_normal((32, 64, 512))                                 # 32 groups of 64 queries
K, V = rng.standard_normal((2, 32, 32, 512))                           # 32 keys and values each
grad_out = rng.standard_normal(Q.shape) / math.sqrt(512)               # rows of length 1
shares, means = {}, {}
for name, layer in {"with": attention, "without": unscaled}.items():
    _, cache = layer.forward(Q, K, V)
    grad_Q, _, _ = layer.backward(grad_out, cache)                     # (32, 64, 512)
    size = np.linalg.norm(grad_Q, axis=-1).ravel()                     # (2048,)
    order = size.argsort()                                             # ascending
    poor, rich = order[:1024], order[-205:]
    shares[name] = size[poor].sum() / size.sum(), size[rich].sum() / size.sum()
    means[name] = size[rich].mean()
    largest = cache.weights.max(axis=-1).ravel()                       # (2048,)  of each query's weights
    print(f"{name:8} the poorer half gets {shares[name][0]:.3f} of the gradient, the richest tenth {shares[name][1]:.3f}")
    print(f"         median of the largest weight: poorer half {np.median(largest[poor]):.3f},"
          f" richest tenth {np.median(largest[rich]):.3f}; mean gradient of that tenth {means[name]:.2f}")

# %% [markdown]
# Without the scale, one half of the queries gets next to nothing. These queries are sure by chance, and almost no
# gradient can change that. Two thirds of the gradient go to one tenth of the queries: those that happen to be undecided,
# as their largest weights show. They get more than twenty times as much as the richest tenth gets with the scale: without it the gradient of $q$ is
# $\sum_j \mathrm{grad\_s}_j\, k_j$, and a key of width $d_k$ is about $\sqrt{d_k}$ long. So the claim in its honest form is:
# without the scale and with a wide $d_k$, the gradient of *most* queries vanishes, and a few get more than ten times as much.
#
# What matters here is the spread *between queries*. The absolute sizes matter less, for an optimizer such as Adam
# (Lesson 10) divides the size of a gradient out.

# %% [markdown]
# ## 3.5 Why the root, and not d_k itself?
#
# Smaller scores help. Would still smaller scores help more? Divide by $d_k^p$ with $p = 0$ (no scale), $p = \tfrac12$ (the
# paper's) and $p = 1$. The cell divides the query and not the score; that is the same.
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
# Divided by $d_k$, the variance is $d_k / d_k^2 = 1/d_k$: the wider the vectors, the flatter the weights. In a wide model the largest of 32 weights is then hardly more than an equal share, so every query gets nearly the plain mean, whatever it asks. Nothing is
# saturated, but the gradient shrinks too, about as $1/\sqrt{d_k}$. To look at one key at all, the model would have to
# learn scores that are $\sqrt{d_k}$ times larger. Only with the root do variance, weights and gradient stay the same at
# every width, *at the start of training*. After training, $q$ and $k$ are no longer independent, and dot products may
# grow as $d_k$ (Question 3). For this reason a rule named μP divides by $d_k$ after all (Yang et al., 2022): it carries
# learning rates from narrow models to wide ones.
#
# Why does the gradient stay the same? Look at the formula of Lesson 3.4: each $k_j$ is about $\sqrt{d_k}$ long, and the
# factor $1/\sqrt{d_k}$ cancels that length.

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
# In a Transformer nobody draws them: $q = x W^Q$ and $k = x W^K$. In every layer but the first, $x$ comes out of a **layer
# norm** (Lesson 7). Here it is enough to know that it gives every token the mean 0 and the variance 1. An attention has
# $h$ **heads** side by side, each of width $d_k$ (Lesson 6), so $W^Q$ and $W^K$ have $d_{model}$ rows and $h\, d_k$
# columns. They start with Xavier's random numbers (Glorot and Bengio, 2010), of variance $2 / (d_{model} + h\, d_k)$. An entry of $q$ is a sum of
# $d_{model}$ products, so by the derivation above
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
# With the paper's choice $h\, d_k = d_{model}$ the variance of $q_i$ is 1, and the scores have variance close to 1 after
# the scale. So footnote 4 holds at the start of training. With other widths it does not. At $d_k = 8$ the variance of
# the scaled scores is about 3. At $d_k = 512$ the variance is 0.05 scaled, and 25 unscaled. The scale takes out the
# factor $d_k$, but the factor $\mathrm{Var}(q_i)\,\mathrm{Var}(k_i)$ remains.
#
# A model could also learn the scale by itself, at every width: with $W^Q / \sqrt{d_k}$ instead of $W^Q$, attention
# without the scale is the same function.

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
# $W^Q$ moves the scores. Only training can tell whether that matters.
#
# ## 3.7 For the keen: training with and without
#
# The experiment `SCALE_TRAINING` trains small models with one head to copy a sequence, with the scale and without it,
# each at two learning rates. The better rate counts. The optimizer is Adam (Lesson 10). Here it is enough to know that
# Adam changes every parameter by about the same amount in each step, however large its gradient is. This is a small run
# of a few seconds. The whole experiment, with three seeds and more rates, is claim 2 of the gallery (`figures/README.md`).

# %%
training = SCALE_TRAINING.run(
    d_k=(4, 256), rate_scale=(0.2, 0.4), steps=120, seeds=(0, 1), d_model=32, batch_size=16, max_length=5,
)
print("d_k                         ", training.d_k)
for i, name in enumerate(("with", "without")):
    print(f"{name:8} variance at the start {training.score_variance[i]}"
          f"   last loss {training.final[i].mean(axis=-1)}")

# %% [markdown]
# Without the scale the loss is much higher at $d_k = 256$. The picture shows the loss there, step by step. A line is the
# mean of the two seeds, and a band is their range.

# %%
fig = new_figure(7, 3.8)
ax = fig.subplots()
steps = 10 * np.arange(1, 13)                                          # a point is the mean of ten
for i, name in enumerate(("with the scale", "without")):
    draw_spread(ax, steps, training.best[i, -1], name, i)
ax.set(xlabel="step", ylabel="loss (cross-entropy per token)", title="Learning to copy, $d_k$ = 256")
ax.set_ylim(bottom=0)
ax.legend()
fig

# %% [markdown]
# Now read the variances of the scores. They are not 4 and 256 without the scale, and not 1 with it. The entries of $q$
# and $k$ have variance 1 only if the width of all heads together is $d_{model}$ (Lesson 3.6) and $x$ comes out of a layer
# norm. In this first layer $x$ is embedding plus position. The wide model with the scale starts with very flat weights,
# and it learns best: an undecided softmax has a gradient. Without the scale both widths *start* about alike. So the
# start alone cannot be the reason why the wide model is so far behind. Look at the softmax of the encoder before and
# after training: in which share of the queries does one weight exceed 0.99?

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
# In this run (one seed, one rate) the narrow model gets no surer. The wide model starts *less* saturated, and training
# saturates it. Adam is probably the reason: it moves every entry of $W^Q$ and $W^K$ by about the same amount, so all
# $d_k$ products of a score change at once, and the changes add up. The scale makes these changes smaller, too. (This is
# not measured here.)
#
# What is shown, and what is not? It is measured that the wide model without the scale is behind after 120 steps, and
# that most of its queries are saturated. That small gradients are the *reason* is what the paper suspects. Lesson 3.4
# makes it likely, but does not prove it.

# %% [markdown]
# ## 3.8 Why does additive attention not need it?
#
# The other common score is a little network: $\mathrm{score}(q, k) = v^\top \tanh(W^\top q + U^\top k)$ with a learned vector
# $v$ (Bahdanau et al., 2015; this $v$ is a parameter, not a value). It has no $1/\sqrt{d_k}$. The paper says that for large
# $d_k$ it does better than dot products without the scale, and cites Britz et al. (2017).
#
# > **Predict.** From $d_k = 4$ to $d_k = 1024$ the variance of $q \cdot k$ grows 256 times. Does the variance of the additive score grow as well?

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
# The variance of the additive score does not grow. There are two reasons, and the first is well known: **tanh is
# bounded.** Every entry of the hidden layer is between -1 and 1, so $|\mathrm{score}| \le \sum_i |v_i|$, however long $q$
# and $k$ are. A dot product has no such bound. The next cell makes $q$ and $k$ longer.

# %%
score = AdditiveScore(1, 64, rng=rng)
Q, K = rng.standard_normal((2, 1, 32, 64))                             # (h, T, d_k) each
print(f"Σ|v| = {np.abs(score.v.value).sum():.3f}")
for factor in (1, 10, 100):
    s, dot = score(factor * Q, factor * K), DotScore()(factor * Q, factor * K) / math.sqrt(64)
    print(f"q, k × {factor:3}   largest |additive| {np.abs(s).max():8.3f}"
          f"   largest |q·k| / √d_k {np.abs(dot).max():12.1f}")

# %% [markdown]
# The bound is not the whole reason, since $\sum_i |v_i|$ is itself a sum over the width. The second reason: **the
# parameters start small enough.** The entries of $v$ are drawn with variance $1/d_a$, where $d_a$ is the width of the
# hidden layer, here $d_k$. This is a factor $1/\sqrt{d_a}$ that nobody writes into the formula. The next cell takes it
# away: with entries of $v$ of variance 1, the additive score grows just like the dot product.

# %%
grown = []
for d_k in widths:
    h = 4096 // d_k
    score = AdditiveScore(h, d_k, rng=rng)
    score.v.value *= math.sqrt(d_k)                                    # variance 1/d_k becomes 1
    Q, K = rng.standard_normal((2, h, 16, d_k))
    grown.append(score(Q, K).var())
print("d_k                        ", widths)
print("variance with Var(v_i) = 1 ", np.array(grown))

# %% [markdown]
# So additive attention has its scale inside: in a tanh that holds each hidden entry below 1, and in parameters that can
# be drawn small. A dot product has neither a tanh nor parameters of its own. So its scale stands in the formula.

# %% [markdown]
# ## 3.9 For the keen: try it in a trained model
#
# In a trained model one can take the scale away and look. The heads of the next page have $d_k = 16$, so that without
# the scale all scores are 4 times as large.
#
# > **Predict.** The scale is taken out of a model that has learned to reverse. Do its rows of weights become sharper or more even? And does it still reverse `3 1 4`?
#
# Open [the reversing model without its scale](../docs/live/reverse.html#src=3+1+4&kind=cross&layer=1&head=0&what-if=scale)
# and compare "as trained" with "changed". Then move the slider "Scale of the scores" to the other side.
# If the page is not there yet, `python docs/make_live_pages.py` makes it in about four minutes.

# %% [markdown]
# The rows become sharper: in most of them one key gets almost all of the weight. Smaller scores make the rows more even
# instead. Our model wrote `4 1` without the scale and lost the last symbol, although not one of its parameters had
# changed. It had learned $W^Q$ and $W^K$ for scores of the right size.

# %% [markdown]
# ## 3.10 Check what this lesson claimed

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
assert median[1, 6] > 2 * median[0, 6]                                 # but not at d_k = 64
assert shares["without"][0] < 0.05 < 0.2 < shares["with"][0]
assert 0.6 < shares["without"][1] < 0.75                               # two thirds to one tenth
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
# - $q \cdot k$ is a sum of $d_k$ products of variance 1 without covariance. So its variance is $d_k$ and its typical size
#   $\sqrt{d_k}$. Divided by $\sqrt{d_k}$ its variance is 1 at every width. Divided by $d_k$ it would be too flat.
# - Without the scale, the softmax over scores of wide vectors is nearly one-hot by chance. Most queries then get almost no gradient, and a few get more than ten times as much. At the paper's own $d_k = 64$ this is not yet what one sees at the start: a fifth of the queries is
#   one-hot, and the typical gradient is larger, not smaller.
# - The scale stands in the backward pass as well, where it cancels the length of the keys.
# - Additive attention needs no scale: tanh is bounded, and its parameters start small.
#
# ## Questions
#
# **1.** The base model has $d_{model} = 512$ and $h = 8$ heads. By what are the scores of a head divided, and why not by
# $\sqrt{512}$?
#
# <details><summary>Answer</summary>
#
# They are divided by $\sqrt{64} = 8$. A score of one head is a sum of $d_k = 512 / 8 = 64$ products, and no score sums over
# the heads. What counts is the number of terms in the sum.
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
# each token looks at itself. The first line fails: $q_i$ and $k_i$ are not independent, and $\mathbb{E}[q_i q_i] = 1$, not 0. Where
# $q$ and $k$ agree on purpose, as training may make them, dot products grow as $d_k$, not as its root. The scale is right for
# chance, which is where training starts.
#
# </details>
