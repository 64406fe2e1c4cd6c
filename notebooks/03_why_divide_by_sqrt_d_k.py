# %% [markdown]
# # Lesson 3 · Why divide by √d_k?
#
# | | |
# |---|---|
# | **You will do** | compute attention by hand with and without the scale, derive the variance of a dot product line by line, and measure what it does to the softmax and to the gradient |
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
# One factor stands between attention and chance. Take it out, and coin flips decide where a query looks: you will see it happen with sixteen. The factor is $1/\sqrt{d_k}$ in Equation 1. It stands inside each box that is lit.

# %%
figure_1("attention")

# %% [markdown]
# ## 3.1 By hand: ten of sixteen
#
# Let every entry of a query and of a key be $+1$ or $-1$. Then $q \cdot k$ is the number of places where they agree, minus
# the number of places where they do not. Take $d_k = 16$, a query of ones, and three keys that agree with it in 10, 8
# and 6 places. Their scores are 4, 0 and $-4$. A key of coin flips agrees in 8 places on average. So the first key is a little better than chance.
#
# > **Predict.** Softmax takes these scores as they are. How many times the weight of the second key does the first one get?
# >
# > - 5/4 times → This is 10 places over 8. Softmax does not compare places, it takes the exponential of scores.
# > - About 3 times → This is near $e$, the ratio for a difference of 1.
# > - About 7 times → This is near $e^2$, for the lead of two places. By how many points does the score lead?
# > - More than 50 times <!-- true: 50 < unscaled_cache.weights[0, 0] / unscaled_cache.weights[0, 1] < 60 -->
# >
# > <!-- given: $d_k = 16$, all entries are $+1$ or $-1$. Three keys agree with the query in 10, 8 and 6 places, so the scores are {scores[0]}. -->

# %%
def agreeing(places, d_k):
    return np.where(np.arange(d_k) < places, 1.0, -1.0)                # (d_k,)

q = np.ones((1, 16))                                                   # (1, 16)
K = np.stack([agreeing(n, 16) for n in (10, 8, 6)])                    # (3, 16)
V = np.eye(3)                                                          # (3, 3)
attention, unscaled = ScaledDotProductAttention(), ScoredAttention(DotScore())  # q · k alone
_, cache = attention.forward(q, K, V)
_, unscaled_cache = unscaled.forward(q, K, V)
scores = q @ K.T                                                       # (1, 3)
print("by hand, with    ", Softmax()(scores / math.sqrt(16))[0])
print("by hand, without ", Softmax()(scores)[0])
print("class, with      ", cache.weights[0])
print("class, without   ", unscaled_cache.weights[0])

# %% [markdown]
# A difference of 4 is a ratio of $e^4 \approx 55$ (Lesson 2), so two places of sixteen decide nearly everything. Divide by $\sqrt{d_k} = 4$, as Equation 1 does: the scores become 1, 0 and $-1$, and the ratio becomes $e$.
#
# > **Predict.** Now $d_k = 1024$, and the keys agree in 528, 512 and 496 places. *With* the scale, what weight does the first key get?
# >
# > - Hardly more than a third → It agrees in only 52 % of the places. But there are many places, and a score counts all of them.
# > - About two thirds, as for 16 places <!-- true: np.allclose(wide["with"], cache.weights[0]) and 0.66 < wide["with"][0] < 0.67 -->
# > - Practically 1 → It leads by 32 points now. The divisor has grown as well.
# >
# > <!-- given: All entries are $+1$ or $-1$. For $d_k = 16$ the keys agreed in 10, 8 and 6 places, and with the scale their weights were {cache.weights[0]}. -->

# %%
q_wide = np.ones((1, 1024))                                            # (1, 1024)
K_wide = np.stack([agreeing(n, 1024) for n in (528, 512, 496)])        # (3, 1024)
wide = {name: layer.forward(q_wide, K_wide, V)[1].weights[0]
        for name, layer in (("with", attention), ("without", unscaled))}
for name, weights in wide.items():
    print(f"{name:8}", weights)

# %% [markdown]
# With the scale the weights are the same as before; without it the first key gets everything. Of $d_k$ coin flips $d_k / 2$ agree on average, with a **standard deviation** of $\sqrt{d_k} / 2$: this is 2 places of 16, and 16 places of 1024. So both first keys are one standard deviation above chance. With the scale, a score counts standard deviations. Now we derive that.
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
# %%
rng = np.random.default_rng(0)
d_k = 64
q, k = rng.standard_normal((2, 20_000, d_k))                           # (20000, 64) each
products = q * k                                                       # (20000, 64)  q_i k_i
cov = np.cov(products.T)                                               # (64, 64)
dot = products.sum(axis=1)                                             # (20000,)  q · k
print(f"q_i k_i    mean {products.mean():7.4f}   variance {products.var():.4f}")
print(f"sum of the variances {np.trace(cov):.2f}, of the covariances {cov.sum() - np.trace(cov):.2f}")
print(f"q · k      mean {dot.mean():7.4f}   variance {dot.var():.2f}   std {dot.std():.2f}")

# %% [markdown]
# The standard deviation is 8, the root of 64. A dot product is a sum of $d_k$ terms, and each term adds its variance. Terms with different signs cancel, but not completely. The sum is like a walk of $d_k$ steps, each left or right at random: after 64 steps you stand about 8 steps from where you began.
#
# The derivation uses only mean, variance and independence. So signs will do as well:

# %%
signs = rng.choice([-1.0, 1.0], (2, 20_000, d_k))                      # (2, 20000, 64)
shifted = 1 + rng.standard_normal(signs.shape)                         # (2, 20000, 64)
for name, (q, k) in {"+1 or -1": signs, "mean 1, not 0": shifted}.items():
    sums = (q * k).sum(axis=1)                                         # (20000,)
    print(f"{name:14} mean {sums.mean():6.2f}   variance {sums.var():6.2f}")

# %% [markdown]
# The last row breaks an assumption, and the result fails: a mean that is not 0 does not cancel. Otherwise it holds at every width. The figure shows the variance of $q \cdot k$ for widths from 1 to 16384. Square markers show it after scaling: $\mathrm{Var}(c\,s) = c^2\, \mathrm{Var}(s)$, so dividing by $\sqrt{d_k}$ divides the variance by $d_k$.

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
# Now our sentence, with random queries and keys of width 512, and with only their first four entries.

# %%
tokens = list(SENTENCE)
Q, K = rng.standard_normal((2, 4, 512))                                # (4, 512) each
maps = {}
for width in (4, 512):
    for name, layer in {"without": unscaled, "with": attention}.items():
        _, cache = layer.forward(Q[:, :width], K[:, :width], np.eye(4))
        maps[f"d_k = {width},\n{name} scale"] = cache.weights         # (4, 4)
plot_attention(np.stack(list(maps.values())), tokens, tokens, titles=list(maps))

# %% [markdown]
# At width 512 without the scale the rows are hard look-ups, although nobody has learned anything. Chance has decided. The experiment `SATURATION` draws 2048 queries with 32 keys each.
#
# > **Predict.** The heads of the paper have $d_k = 64$. *Without* the scale, in how many of these queries does one key of 32 get more than 0.99 of the weight?
# >
# > - In none → So large a weight needs no training: chance is enough.
# > - In more than a fifth <!-- true: 0.2 < saturation.one_hot[1, list(saturation.d_k).index(64)] < 0.25 -->
# > - In more than a half → This needs still wider vectors.
# > - In nearly all → The best two of 32 keys are sometimes close to each other.
# >
# > <!-- given: Queries and keys are random, with independent entries of mean 0 and variance 1. Each query has 32 keys. -->

# %%
saturation = SATURATION.run(queries=2048)
print("share of queries with one weight > 0.99")
for d_k, share_with, share_without in list(zip(saturation.d_k, *saturation.one_hot))[::3]:
    print(f"d_k = {d_k:<5} with {share_with:6.3f}   without {share_without:6.3f}")

# %% [markdown]
# Without the scale, more than a fifth of the queries at $d_k = 64$ look at one key only, and two thirds at 512. With the scale it happens at no width.
#
# ## 3.4 What that does to the gradient
#
# Lesson 2 found the Jacobian of softmax, $J_{jk} = w_j (\mathbb{1}[j = k] - w_k)$. It is almost zero where one weight is almost 1. The paper suspects that large scores push the softmax to where its gradients are extremely small. Look at the gradient that reaches a query, which stands in every score, $s_j = q \cdot k_j / \sqrt{d_k}$, each time with the factor $k_j / \sqrt{d_k}$:
#
# $$\mathrm{grad\_q} = \frac{1}{\sqrt{d_k}} \sum_j \mathrm{grad\_s}_j\, k_j$$
#
# Without the scale, leave out $1/\sqrt{d_k}$. A key of width 512 is about 22 long, and then nothing shortens it. `SATURATION` measured the length of this gradient for each query. Half of the queries lie below the **median**. The **mean** counts all of them.
#
# > **Predict.** $d_k = 512$. The scale is taken out. What happens to the gradient?
# >
# > - Median and mean fall → A softmax that is sure lets nothing through. But a third of the queries is not sure.
# > - The median rises, the mean falls → Which queries get almost nothing, the many or the few?
# > - The median falls, the mean rises <!-- true: median[1, at] < median[0, at] and mean[1, at] > mean[0, at] -->
# > - Median and mean rise → Nothing shortens the keys any more. But two thirds of the queries have a Jacobian near zero.
# >
# > <!-- given: Random queries, each with 32 random keys. Without the scale, one key gets more than 0.99 of the weight in {saturation.one_hot[1, 9]} of the queries, with the scale in none. -->

# %%
median, mean = saturation.gradient[:, :, 1], saturation.mean_gradient  # (2, widths) each
at = list(saturation.d_k).index(512)
print("           median              mean\nd_k      with  without     with  without")
for i in (6, at, -1):
    print(f"{saturation.d_k[i]:<6} {median[0, i]:6.3f} {median[1, i]:8.3f}   {mean[0, i]:6.3f} {mean[1, i]:8.3f}")
saturation.figure()

# %% [markdown]
# Without the scale the median falls to about a tenth, and the mean rises to six times as much. Most queries are sure by chance, and almost no gradient can change that. A quarter of the queries happens to be undecided. It gets more than four fifths of the gradient.
#
# In the picture a band holds the middle half of the queries. Look at $d_k = 64$ on the right, the width of the paper: there the median is *larger* without the scale, more than three times. So at the start of training one does not yet see gradients vanish there. The honest claim is: without the scale and with wide vectors, the gradient of *most* queries vanishes, and a quarter gets far too much.
#
# ## 3.5 Why the root, and not d_k itself?
#
# Smaller scores help. Would still smaller scores help more? Divide by $d_k^p$ with $p = 0$ (no scale), $p = \tfrac12$ (the
# paper's) and $p = 1$.
#
# > **Predict.** Divided by $d_k$ itself, with $d_k = 1024$: what is the largest of a query's 32 weights, typically?
# >
# > - About 0.03, an equal share <!-- true: 1 / 32 < table[1, 1024][1] < 1.2 / 32 -->
# > - About 0.15, as with the root → The variance of the scores is not 1 any more.
# > - About 0.5 → Scores that are divided by more lie closer together.
# > - Practically 1 → This is the case without a scale.
# >
# > <!-- given: Queries and keys are random, with independent entries of mean 0 and variance 1. With the divisor $\sqrt{d_k}$ the largest of 32 weights is {table[0.5, 1024][1]} in the median. -->

# %%
def measure(d_k, p):
    Q, K, V = rng.standard_normal((3, 32, 32, d_k))                    # 32 groups of 32 queries
    q = Q / d_k**p
    _, cache = unscaled.forward(q, K, V)                               # scores q · k / d_k^p
    grad_q, _, _ = unscaled.backward(rng.standard_normal(V.shape) / math.sqrt(d_k), cache)
    size = np.linalg.norm(grad_q / d_k**p, axis=-1)                    # q = Q / d_k^p
    return (q @ K.mT).var(), np.median(cache.weights.max(axis=-1)), np.median(size)

table = {(p, d_k): measure(d_k, p) for p in (0, 0.5, 1) for d_k in (16, 128, 1024)}
print("divided by       d_k   variance   largest weight   |grad_q|     (medians)")
for (p, d_k), (var, largest, size) in table.items():
    print(f"d_k^{p:<10} {d_k:5} {var:10.4f} {largest:16.3f} {size:10.1e}")

# %% [markdown]
# Divided by $d_k$, a wide query looks at all keys alike, whatever it asks. The variance is $d_k / d_k^2 = 1/d_k$, and the gradient shrinks, too, about as $1/\sqrt{d_k}$. Only with the root do variance, weights and gradient stay the same at every width: in the formula of Lesson 3.4 each $k_j$ is about $\sqrt{d_k}$ long, and the factor $1/\sqrt{d_k}$ cancels that length.
#
# This holds *at the start of training*. Later $q$ and $k$ are no longer independent, and dot products may grow as $d_k$ (Question 3). For this reason a rule named μP divides by $d_k$ after all (Yang et al., 2022).

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
# > **Predict.** The base model has $d_{model} = 512$ and $h = 8$ heads of $d_k = 64$, so $\mathrm{Var}(q_i)$ is 1. What is it if each head has $d_k = 512$?
# >
# > - 8 → The sum has no more terms than before: it goes over $d_{model}$.
# > - 1, as before → $W^Q$ has more columns now, and Xavier counts them.
# > - 2/9 <!-- true: abs(Q.var() - 2 / 9) < 0.02 -->

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
# $v$ (Bahdanau et al., 2015; this $v$ is a parameter, not a value). It has no $1/\sqrt{d_k}$. The cell measures its variance as it is, then with $q$ and $k$ a hundred times as long, then with larger numbers in $v$.

# %%
additive = {}
print("variance of       q · k    additive   q, k × 100   Var(v_i) = 1")
for d_k in (4, 64, 1024):
    score = AdditiveScore(4096 // d_k, d_k, rng=rng)                   # many heads: many draws of v
    Q, K = rng.standard_normal((2, 4096 // d_k, 16, d_k))              # (h, T, d_k) each
    row = [DotScore()(Q, K).var(), score(Q, K).var(), score(100 * Q, 100 * K).var()]
    score.v.value *= math.sqrt(d_k)                                    # its variance was 1/d_k
    additive[d_k] = [*row, score(Q, K).var()]
    print(f"d_k = {d_k:<6} {row[0]:10.2f} {row[1]:11.2f} {row[2]:12.2f} {additive[d_k][3]:14.2f}")

# %% [markdown]
# It needs no scale for two reasons. **tanh is bounded:** a hidden entry is between -1 and 1, however long $q$ and $k$ are. And **the parameters start small:** the entries of $v$ are drawn with variance $1/d_k$, a factor $1/\sqrt{d_k}$ that nobody writes into the formula. Without it (last column) the score grows, too. A dot product has neither, so its scale stands in the formula. (Lesson 12.4 derives it.)

# %% [markdown]
# ## 3.9 For the keen: try it in a trained model
#
# In a trained model one can take the scale away and look. The heads of the next page have $d_k = 16$, so that without
# the scale all scores are 4 times as large. Do the rows of weights become sharper or more even? And does the model, which has learned to reverse, still reverse `3 1 4`?
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
assert variance.error < 0.03                                           # at every width
assert saturation.one_hot[1, at] > 0.5                                 # 512: mostly one-hot
assert median[1, at] < 0.3 * median[0, at]                             # the median query starves,
assert mean[1, at] > 5 * mean[0, at]                                   # the mean does not
assert (median[1, at] / 2 + saturation.gradient[1, at, 2] / 4) < mean[1, at] / 5  # three quarters
assert median[1, 6] > 3 * median[0, 6]                                 # but not at d_k = 64
assert after < 1e-12 < before                                          # W^Q can do it, too
assert training.final[1, 1].min() > 1.5 * training.final[0, 1].max()   # d_k = 256: far behind
assert sure_after["without", 256] > 0.5 > 10 * sure_after["with", 256]
assert max(row[1] for row in additive.values()) < 0.6                  # additive: no growth
assert additive[1024][3] > 50 * additive[4][3]                         # v makes the difference
print("all true")

# %% [markdown]
# ## Summary
#
# - $q \cdot k$ is a sum of $d_k$ products of variance 1 without covariance. So its variance is $d_k$ and its typical size
#   $\sqrt{d_k}$. Divided by $\sqrt{d_k}$ its variance is 1 at every width.
# - Without the scale, the softmax over scores of wide vectors is nearly one-hot by chance. Most queries then get almost no gradient, and a quarter far too much. At the paper's own $d_k = 64$ a fifth of the queries is one-hot, but the typical gradient is larger, not smaller.
# - The scale stands in the backward pass as well, where it cancels the length of the keys.
# - Additive attention needs no scale: tanh is bounded, and its parameters start small.
#
# **What you can do now:** say from the width alone how large a score is by chance, and what softmax makes of it. Lesson 4 sends a gradient back through all of attention.
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
