# %% [markdown]
# # Lesson 3 · Why divide by √d_k?
#
# | | |
# |---|---|
# | **You will do** | compute attention by hand with and without the scale; derive the variance of a dot product line by line; measure what it does to the softmax and to the gradient |
# | **You will learn** | why dot products get large; what $\sqrt{d_k}$ is for, and why the root; what the paper's reason does *not* explain |
# | **You need** | Lessons 1 and 2; mean, variance and independence of random numbers |
# | **Paper** | Section 3.2.1 and its footnote 4 |
# | **Time** | *see*, and from Lesson 3.4 on *then prove*: about 40 minutes each (estimated); of the parts *for the keen* run the cells, skip the text |

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
import math
from pathlib import Path

import numpy as np

from aiayn_course.drawings import SENTENCE, dot_products
from aiayn_course.lab.claims.saturation import SATURATION
from aiayn_course.lab.claims.scale_training import SCALE_TRAINING
from aiayn_course.lab.claims.variance import VARIANCE
from aiayn_course.lab.learning import at_scale, losses, small_model
from aiayn_np import CopyTask, ScaledDotProductAttention, Softmax, Transformer, plot_attention
from aiayn_np.plotting.figures import COLORS, new_figure
from aiayn_np.variants.scoring import DotScore, ScoredAttention, dot_attention

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# Our sentence, with random queries and keys: left, the scores are $q \cdot k$; right, divided by $\sqrt{d_k}$, as in Equation 1.
#
# <!-- slide: Wide vectors look at one key alone, and nothing has been learned
# Our sentence, with random queries and keys. Left: the scores are $q \cdot k$. Right: divided by $\sqrt{d_k}$, as in Equation 1.\
# ![]
# Below left, chance decides. Why does one division change it? -->

# %%
rng = np.random.default_rng(6)
attention, unscaled = ScaledDotProductAttention(), ScoredAttention(DotScore())  # the second: q · k alone
tokens, maps = list(SENTENCE), {}
Q, K = rng.standard_normal((2, 4, 512))                                # (4, 512) each
for width in (4, 512):
    for name, layer in {"without": unscaled, "with": attention}.items():
        _, cache = layer.forward(Q[:, :width], K[:, :width], np.eye(4))
        maps[f"$d_k$ = {width}, {name}"] = cache.weights              # (4, 4)
many_Q, many_K = rng.standard_normal((2, 2000, 4, 512))               # 2000 other draws
for name, layer in {"without": unscaled, "with": attention}.items():
    _, cache = layer.forward(many_Q, many_K, many_K)
    print(f"d_k = 512, {name}: one key gets more than 0.99 in {np.mean(cache.weights.max(axis=-1) > 0.99):.0%} of the rows")
plot_attention(np.stack(list(maps.values())), tokens, tokens, titles=list(maps))

# %% [markdown]
# Below left, each row looks at one key alone (four rows of five do in other draws), and nothing has been learned. Why? And why does one division change it?
#
# <!-- say: Point at the lower left map, then at the lower right one: the same numbers, divided by 23. Say: nothing has been learned here, chance alone looks so sure. Often said and wrong: a sharp map is the work of training. -->
#
# ## 3.1 By hand: ten of sixteen
#
# Let every entry of a query and of a key be $+1$ or $-1$. Then $q \cdot k$ is the number of places where they agree, minus
# the number of places where they do not. Take $d_k = 16$, a query of ones, and three keys that agree with it in 10, 8
# and 6 places. Their scores are $10 - 6 = 4$, $8 - 8 = 0$ and $6 - 10 = -4$.
#
# > **Predict.** Softmax takes these scores as they are. About how many times the weight of the second key does the first one get?
# >
# > - 5/4 times → Softmax does not compare places, it takes the exponential of scores.
# > - 3 times → This is near $e$, the ratio for a difference of 1.
# > - 7 times → This is near $e^2$. By how many points does the score lead?
# > - 55 times <!-- true: 50 < unscaled_cache.weights[0, 0] / unscaled_cache.weights[0, 1] < 60 --> → The first score leads by 4, and $e^4$ is about 55.
# >
# > <!-- given: $d_k = 16$, all entries are $+1$ or $-1$. A score is the number of places that agree, minus the number of those that do not. Three keys agree with the query in 10, 8 and 6 places: $10 - 6 = 4$, $8 - 8 = 0$, $6 - 10 = -4$. -->

# %%
def agreeing(places, d_k):
    return np.where(np.arange(d_k) < places, 1.0, -1.0)                # (d_k,)

q = np.ones((1, 16))                                                   # (1, 16)
K = np.stack([agreeing(n, 16) for n in (10, 8, 6)])                    # (3, 16)
V = np.eye(3)                                                          # (3, 3)
_, cache = attention.forward(q, K, V)
_, unscaled_cache = unscaled.forward(q, K, V)
scores = q @ K.T                                                       # (1, 3)
print("                  ten eight six")
for name, x in {"score": scores, "weight": unscaled_cache.weights, "score / 4": scores / 4, "its weight": cache.weights}.items():
    print(f"{name:10}", x[0])

# %% [markdown]
# <!-- answer: Two places decide nearly everything
# [print]
# A difference of 4 is a ratio of $e^4 \approx 55$ (Lesson 2). Divide the scores by $\sqrt{d_k} = 4$: they become 1, 0 and $-1$, and the ratio becomes $e$. -->
#
# Two places decide nearly everything. A difference of 4 is a ratio of $e^4 \approx 55$ (Lesson 2). Divide the scores by $\sqrt{d_k} = 4$: they become 1, 0 and $-1$, and the ratio becomes $e$. <!-- result -->
#
# <!-- say: Point at 0.98 and 0.02: a lead of two places, a ratio of 55. Then at the last row: 0.67 and 0.24. Say: softmax sees differences, and it makes ratios of them. Often said and wrong: ten of sixteen against eight of sixteen is 5 to 4. -->
#
# > **Predict.** Now $d_k = 1024$, and the keys agree in 528, 512 and 496 places. *With* the scale, what weight does the first key get?
# >
# > - Hardly more than a third → It agrees in only 52 % of the places, but a score counts all of them.
# > - About two thirds, as for 16 places <!-- true: np.allclose(wide["with"], cache.weights[0]) and 0.66 < wide["with"][0] < 0.67 --> → It leads by 32 points, and $\sqrt{d_k}$ is 32: again one point of difference.
# > - Practically 1 → It leads by 32 points, but the divisor has grown.
# >
# > <!-- given: All entries are $+1$ or $-1$. For $d_k = 16$ the keys agreed in 10, 8 and 6 places, and with the scale their weights were {cache.weights[0]}. -->

# %%
q_wide = np.ones((1, 1024))                                            # (1, 1024)
K_wide = np.stack([agreeing(n, 1024) for n in (528, 512, 496)])        # (3, 1024)
wide = {name: layer.forward(q_wide, K_wide, V)[1].weights[0]
        for name, layer in (("with", attention), ("without", unscaled))}
print("          528 512 496")
for name, weights in wide.items():
    print(f"{name:8}", weights)

# %% [markdown]
# <!-- answer: With the scale the weights are as before
# [print]
# Divided by $\sqrt{1024} = 32$, the scores 32, 0 and $-32$ are 1, 0 and $-1$ again. Without it the first key gets everything. -->
#
# With the scale the weights are as before. Divided by $\sqrt{1024} = 32$, the scores 32, 0 and $-32$ are 1, 0 and $-1$ again. Without it the first key gets everything. <!-- result -->
#
# <!-- say: Point at 0.67 in both tables: 16 places or 1024, the same weight. Say: the lead is 2 places of 16 and 16 of 1024, and the scale makes the same of both. Often said and wrong: 52 % of the places is hardly more than chance, so the weights are nearly equal. -->
#
# <!-- slide: With the scale, a score counts standard deviations
# | places | agree by chance | the first key | its lead |
# |---|---|---|---|
# | $d_k = 16$ | $8 \pm 2$ | 10 | 2, one standard deviation |
# | $d_k = 1024$ | $512 \pm 16$ | 528 | 16, one standard deviation |
# Of $d_k$ coin flips $d_k/2$ agree on average, with a **standard deviation** of $\sqrt{d_k}/2$.
# With the scale, the score of both keys is 1. -->
#
# Of $d_k$ coin flips $d_k / 2$ agree on average, with a **standard deviation** of $\sqrt{d_k} / 2$: 2 places of 16, and 16 of 1024. So both first keys are one standard deviation above chance. With the scale, a score counts standard deviations.
#
# <!-- say: Let the class compute the root of 16 over 2 and that of 1024 over 2. Say: one standard deviation of luck is worth one point, at any width. -->
#
# ## 3.2 Why do dot products get large?
#
# <!-- slide: One product has mean 0 and variance 1
# The paper's footnote 4 assumes that the entries of $q$ and $k$ are independent random numbers with mean 0 and variance 1. $\mathbb{E}$ is the mean.
# **One product.** For independent numbers the mean of a product is the product of the means.
# $$\mathbb{E}[q_i k_i] = \mathbb{E}[q_i]\, \mathbb{E}[k_i] = 0 \cdot 0 = 0$$
# **Its variance.** The mean is 0, so the variance is the mean of the square. And $\mathbb{E}[q_i^2]$ is the variance of $q_i$.
# $$\mathrm{Var}(q_i k_i) = \mathbb{E}[q_i^2 k_i^2] - 0^2 = \mathbb{E}[q_i^2]\, \mathbb{E}[k_i^2] = 1 \cdot 1 = 1$$ -->
#
# The paper's footnote 4 assumes that the entries of $q$ and $k$ are independent, with mean 0 and variance 1. ($\mathbb{E}$ is the mean.)
#
# **One product.** For independent numbers the mean of a product is the product of the means.
# $$\mathbb{E}[q_i k_i] = \mathbb{E}[q_i]\, \mathbb{E}[k_i] = 0 \cdot 0 = 0$$
#
# **Its variance.** The mean is 0, so the variance is the mean of the square, and $\mathbb{E}[q_i^2]$ is the variance of $q_i$.
# $$\mathrm{Var}(q_i k_i) = \mathbb{E}[q_i^2 k_i^2] - 0^2 = \mathbb{E}[q_i^2]\, \mathbb{E}[k_i^2] = 1 \cdot 1 = 1$$
#
# <!-- say: Ask at each line which assumption it uses: independence for the first, mean 0 and variance 1 for the second. Often said and wrong: the variance of a product is the product of the variances. That holds for mean 0 only. -->
#
# <!-- slide: The sum of $d_k$ products has variance $d_k$
# **Two products** at places $i \ne j$ have no covariance.
# The covariance is the mean of the product minus the product of the means:\
# $$\mathrm{Cov}(q_i k_i,\, q_j k_j) = \mathbb{E}[q_i]\, \mathbb{E}[k_i]\, \mathbb{E}[q_j]\, \mathbb{E}[k_j] - 0 \cdot 0 = 0$$
# Means always add up.
# Variances add up because there is no covariance.
# $$\mathbb{E}[q \cdot k] = \sum_i \mathbb{E}[q_i k_i] = 0$$ $$\mathrm{Var}(q \cdot k) = \sum_{i=1}^{d_k} \mathrm{Var}(q_i k_i) + \sum_{i \ne j} \mathrm{Cov}(q_i k_i,\, q_j k_j) = d_k$$ -->
#
# **Two products** at places $i \ne j$ have no covariance, which is the mean of the product minus the product of the means:
# $$\mathrm{Cov}(q_i k_i,\, q_j k_j) = \mathbb{E}[q_i]\, \mathbb{E}[k_i]\, \mathbb{E}[q_j]\, \mathbb{E}[k_j] - 0 \cdot 0 = 0$$
#
# **The sum.** Means always add up. Variances add up because there is no covariance.
# $$\mathbb{E}[q \cdot k] = \sum_i \mathbb{E}[q_i k_i] = 0$$
# $$\mathrm{Var}(q \cdot k) = \sum_{i=1}^{d_k} \mathrm{Var}(q_i k_i) + \sum_{i \ne j} \mathrm{Cov}(q_i k_i,\, q_j k_j) = d_k$$
#
# <!-- say: Point at the two sums of the last line: $d_k$ ones and nothing else. Say: variances add up because there is no covariance. Often said and wrong: standard deviations add up. Then it would be $d_k$, and not its root. -->
#
# <!-- slide: The standard deviation is 8, the root of 64
# [code]
# [print]
# Think of a walk: after 64 steps, left or right at random, you stand about 8 from the start. -->

# %% show=[3, 4, 6]
rng = np.random.default_rng(0)
d_k = 64
q, k = rng.standard_normal((2, 20_000, d_k))                           # (20000, 64) each
products = q * k                                                       # (20000, 64)  q_i k_i
cov = np.cov(products.T)                                               # (64, 64)
dot = products.sum(axis=1)                                             # (20000,)  q · k
print(f"sum of the variances {np.trace(cov):.2f}, of the covariances {cov.sum() - np.trace(cov):.2f}")
for name, x in {"q_i k_i": products, "q · k": dot}.items():
    print(f"{name:8}  mean {x.mean():5.2f}  variance {x.var():5.2f}  std {x.std():5.2f}")

# %% [markdown]
# The standard deviation is 8, the root of 64. Think of a walk: after 64 steps, left or right at random, you stand about 8 from the start. <!-- result -->
#
# <!-- say: Point at 1 and 64 in the column of variances, then at 8. Say: 64 steps of size 1 in random directions lead about 8 away. Often said and wrong: 64 terms make a size of 64. -->
#
# These are pairs. But a softmax compares the keys of *one* query, a row. The **law of total variance** splits the variance of all scores:
#
# $$\mathrm{Var}(q \cdot k) = \mathbb{E}_q\big[\mathrm{Var}_k(q \cdot k)\big] + \mathrm{Var}_q\big(\mathbb{E}_k[q \cdot k]\big)$$
#
# First comes the variance within a row, then that of the rows' means. A row's mean is a shift, and no softmax sees it (Lesson 2.1).
#
# <!-- slide: Softmax sees the variance within a row
# $$\mathrm{Var}(q \cdot k) = \underbrace{\mathbb{E}_q\big[\mathrm{Var}_k(q \cdot k)\big]}_{\text{within a row}} + \underbrace{\mathrm{Var}_q\big(\mathbb{E}_k[q \cdot k]\big)}_{\text{of the rows' means}}$$
# This is the law of total variance. A row's mean is a shift of the row, and no softmax sees it. -->
#
# > **Predict.** Give every entry of every *key* the mean 1. The variance over all pairs doubles, from 64 to 128. And within a row?
# >
# > - It stays at 64 <!-- true: abs(within["k"] / within["none"] - 1) < 0.1 and within["q"] > 1.8 * within["none"] --> → The keys of a query all gain the same number, the sum of its entries.
# > - It doubles → Which number does a query add to the score of each of its keys?
# > - It triples → So does the variance over pairs, if queries have the mean 1, too.
# >
# > <!-- given: $d_k = 64$. All entries of queries and keys are independent, with the variance 1 and the mean 0. The variance of a score is 64, over all pairs and within a row, the keys of one query. -->

# %%
within = {}
print("mean 1 of  over all pairs  within a row  of the rows' means")
for name, (mean_q, mean_k) in {"none": (0, 0), "k": (0, 1), "q": (1, 0), "q and k": (1, 1)}.items():
    q, k = mean_q + rng.standard_normal((1000, d_k)), mean_k + rng.standard_normal((1000, d_k))
    scores = q @ k.T                                                   # (1000, 1000)  a row is a query
    within[name] = scores.var(axis=1).mean()
    print(f"{name:10} {scores.var():14.1f} {within[name]:13.1f} {scores.mean(axis=1).var():19.1f}")

# %% [markdown]
# <!-- answer: A mean of the keys changes no softmax, a mean of the queries does
# [print]
# What the keys share moves a whole row. What the queries share makes each query longer. -->
#
# A mean of the keys shifts whole rows, and so changes no softmax. A mean of the queries doubles the variance within a row: they are longer. <!-- result -->
#
# <!-- say: Read the table by rows: the first column is the sum of the other two. Often said and wrong: any mean of 1 moves all scores alike. That of the keys does, that of the queries does not. -->
#
# Does a model begin so? Here are the first layers of an encoder of the base model's widths, before training. In layers 2 and 3 the entries of $q$ and $k$ have variances near 1, as the footnote assumes.
#
# <!-- slide: In a model, a row has a smaller variance than all scores together
# [print]
# From layer 2 on all scores together have the variance 1. Within a row it is smaller: the rest are the rows' means. -->

# %% show=[]
layers = []
for seed in range(3):
    rng = np.random.default_rng(seed)
    model = Transformer(100, N=3, d_model=512, d_ff=2048, h=8, P_drop=0.0, rng=rng)
    ids = rng.integers(3, 100, (1, 32))                                # one sequence of 32 random tokens
    for layer in model.forward(ids, ids)[1].encoder.layers:
        head = layer.self_attention.attention
        scores = head.Q @ head.K.mT / 8                                # (1, 8, 32, 32)  after the scale
        layers.append([head.Q.var(), head.K.var(), scores.var(), scores.var(axis=-1).mean()])
layers = np.reshape(layers, (3, 3, 4))                                 # (seeds, layers, 4)
print("variance, lowest to highest of three seeds\nlayer   of q_i        of k_i       of all scores within a row")
for i, (low, high) in enumerate(zip(layers.min(axis=0), layers.max(axis=0)), 1):
    print(i, *(f"  {a:.2f} to {b:.2f}" for a, b in zip(low, high)))

# %% [markdown]
# From layer 2 on all scores together have the variance 1. Within a row it is smaller, and smaller still in layer 3: the rest are the rows' means. A row's mean is its query times the mean key, so the keys of a sequence share a part. <!-- result -->
#
# <!-- say: Point at layer 3: 1 over all scores, less than a half within a row. Say: the footnote is about independent vectors, and the keys of one sequence share a mean. Often said and wrong: after the scale every softmax sees the variance 1. -->
#
# The figure shows the variance for widths from 1 to 16384. Squares show it after scaling: $\mathrm{Var}(c\,s) = c^2\, \mathrm{Var}(s)$, so dividing by $\sqrt{d_k}$ divides the variance by $d_k$.
#
# <!-- slide: The variance is $d_k$ at every width, and 1 after scaling
# ![]
# So random scores spread alike for narrow and for wide vectors. -->

# %%
variance = VARIANCE.run()
variance.figure()

# %% [markdown]
# The variance is $d_k$ at every width, and 1 after scaling. <!-- result -->
#
# <!-- say: Follow the dots along the line, then the squares along the bottom. Say: the line was not fitted, it is the derivation. Often said and wrong: the scale makes scores small. It makes them alike at all widths. -->
#
# ## 3.3 What a standard deviation of √d_k does to softmax
#
# Undivided scores: above, they spread when $d_k$ grows; below, the mean softmax of eight.
#
# <!-- slide: The wider the vectors, the more the heaviest key takes
# ![]
# Eight random keys, no score divided: chance alone makes the softmax sure. -->

# %%
dot_products()

# %% [markdown]
# The wider the vectors, the more the heaviest key takes. <!-- result -->
#
# <!-- say: Go from left to right: above the histogram gets wider, below the first bar grows from 0.52 to 0.96. Say: the same softmax, only wider scores. Often said and wrong: wider vectors carry more information, so the weights are better informed. -->
#
# Now draw 2048 queries with 32 keys each.
#
# > **Predict.** The heads of the paper have $d_k = 64$. *Without* the scale, in which share of these queries does one key of 32 get more than 0.99 of the weight?
# >
# > - In none → So large a weight needs no training: chance is enough.
# > - In about a fifth <!-- true: 0.2 < saturation.one_hot[1, list(saturation.d_k).index(64)] < 0.25 --> → The scores have a standard deviation of 8, so by chance the best of 32 can lead by 5 points.
# > - About a half → This needs wider vectors.
# > - In nearly all → The best two of 32 keys are sometimes close to each other.
# >
# > <!-- given: There are 2048 queries with 32 keys each, all random: independent entries of mean 0 and variance 1. -->

# %%
saturation = SATURATION.run(n_keys=(32,), queries=2048)
print("share of queries with one weight > 0.99")
for d_k, share_with, share_without in list(zip(saturation.d_k, *saturation.one_hot))[::3]:
    print(f"d_k = {d_k:<5} with {share_with:6.3f}   without {share_without:6.3f}")

# %% [markdown]
# <!-- answer: At $d_k = 64$, without the scale, over a fifth of the queries see a single key
# [print]
# With the scale it did not happen once. -->
#
# At $d_k = 64$, without the scale, over a fifth of the queries see a single key. With the scale it did not happen once. <!-- result -->
#
# <!-- say: Point at the row 64, then compare the columns: without it grows, with it stays 0. Say: at the width of the paper chance alone blinds one query in five. Often said and wrong: so large a weight can only come from training. -->
#
# ## 3.4 What that does to the gradient
#
# <!-- slide: A sure softmax passes no gradient on, and the keys are long
# Where one weight is almost 1, the Jacobian $J_{jk} = w_j (\mathbb{1}[j = k] - w_k)$ is almost zero.
# A query stands in every score $s_j = q \cdot k_j / \sqrt{d_k}$, with the factor $k_j / \sqrt{d_k}$. So its gradient is
# $$\mathrm{grad\_q} = \frac{1}{\sqrt{d_k}} \sum_j \mathrm{grad\_s}_j\, k_j$$
# Without the scale $1/\sqrt{d_k}$ is missing, and the keys are long: about 23 for width 512. -->
#
# Lesson 2's Jacobian of softmax, $J_{jk} = w_j (\mathbb{1}[j = k] - w_k)$, is almost zero where one weight is almost 1. The paper suspects that large
# scores push the softmax to where its gradients are extremely small. A query stands in every score: in $s_j = q \cdot k_j / \sqrt{d_k}$ its factor is
# $k_j / \sqrt{d_k}$. So its gradient is
#
# $$\mathrm{grad\_q} = \frac{1}{\sqrt{d_k}} \sum_j \mathrm{grad\_s}_j\, k_j$$
#
# Without the scale the factor $1/\sqrt{d_k}$ is missing, and the keys are long: about 23 for width 512.
#
# <!-- say: Point at the two parts of the formula: the gradient of the score, small where the softmax is sure, and the key, long if nothing divides it. Often said and wrong: without the scale all gradients are small. -->
#
# > **Predict.** Add up the lengths of the gradients of 2048 random queries. With the scale, the quarter with the longest has about a third of the sum. And without it?
# >
# > - Less than a third → The softmax is sure for most. And for the others?
# > - About a third → A third of the queries is not sure. Does it get no more?
# > - More than a third <!-- true: quarter["without"] > 0.9 and 0.3 < quarter["with"] < 0.4 --> → One query in three is undecided, and its long keys are not divided by anything.
# >
# > <!-- given: $d_k = 512$, each query has 32 random keys, and a random gradient arrives. Without the scale one key gets more than 0.99 of the weight in {saturation.one_hot[1, 9]} of the queries, with the scale in none. -->

# %%
Q, K, V = rng.standard_normal((3, 64, 32, 512))                        # 64 groups of 32 queries
grad_out = rng.standard_normal(V.shape) / math.sqrt(512)               # then grad_weights has variance 1
quarter = {}
fig = new_figure(7.5, 3.6)
ax = fig.subplots()
for i, (name, layer) in enumerate({"with": attention, "without": unscaled}.items()):
    _, cache = layer.forward(Q, K, V)
    grad_q, _, _ = layer.backward(grad_out, cache)                     # (64, 32, 512)
    size = np.linalg.norm(grad_q, axis=-1).ravel()                     # (2048,)
    order = size.argsort()[::-1]                                       # the largest first
    size = size[order]
    quarter[name] = size[:512].sum() / size.sum()
    sure = cache.weights.max(axis=-1).ravel()[order] > 0.99            # one key has it all
    ax.plot(np.arange(1, 2049) / 2048, size.cumsum() / size.sum(), color=COLORS[i], label=f"{name} the scale")
    print(f"{name:8} the quarter {quarter[name]:.2f}   median {np.median(size):.3f}   mean {size.mean():.3f}"
          f"   one weight > 0.99: {sure[:512].mean():4.0%} in the quarter, {sure[512:].mean():4.0%} elsewhere")
ax.plot([0, 1], [0, 1], color="0.6", linestyle=":", label="all alike")
ax.set(xlabel="share of the queries, largest gradient first", ylabel="share of the gradient", xlim=(0, 1), ylim=(0, 1),
       title="$d_k$ = 512")
ax.legend()
fig

# %% [markdown]
# <!-- answer: Without the scale, a quarter of the queries has over nine tenths of the gradient
# ![]
# In this quarter no key has 0.99 of the weight. -->
#
# Without the scale, a quarter of the queries has over nine tenths of the gradient. In this quarter no key has 0.99 of the weight, and elsewhere mostly one has: the **median** length, below which half of the queries lie, falls to about a tenth. <!-- result -->
#
# <!-- say: Point at the orange curve at 0.25: it is above 0.9. Then at the blue one: a third. Say: without the scale a few queries learn for all. Often said and wrong: the sure ones learn most. -->
#
# ## 3.5 And at the paper's own width?
#
# The paper speaks of the gradients of the *softmax*, the Jacobian. In $\mathrm{grad\_q}$ the missing factor $1/\sqrt{d_k}$ works against it. Here are both, without the scale over with it:
#
# <!-- slide: At $d_k = 64$ the Jacobian has begun to fall, and the gradient of $q$ is *larger*
# The paper speaks of the gradients of the *softmax*, the Jacobian. In $\mathrm{grad\_q}$ the missing factor $1/\sqrt{d_k}$ works against it.\
# [print]
# Divided by the missing factor, 8, the gradient of $q$ would be smaller, too. -->

# %% show=[]
ratios = np.array([SATURATION.run(d_k=(16, 64, 512), n_keys=(32,), queries=1024, seed=seed).shares for seed in range(8)])
print("median without the scale / with it, lowest to highest of eight seeds\n               d_k=16        d_k=64        d_k=512")
for name, low, high in zip(("Jacobian", "gradient of q"), ratios.min(axis=0), ratios.max(axis=0)):
    print(f"{name:13}", *(f" {a:.2f} to {b:.2f} " for a, b in zip(low, high)))

# %% [markdown]
# At $d_k = 64$ the Jacobian has begun to fall, and the gradient of $q$ is *larger* without the scale. Divided by the missing factor, 8, it would be smaller. (Adam would divide such a common factor out.) With wide vectors both are small for *most* queries, and a quarter gets far too much. <!-- result -->
#
# <!-- say: Point at the column 64: below 1 above, about 3 below. Say: the softmax passes less, and long keys make more of it. Often said and wrong: at 64 gradients vanish already; and: at 64 nothing is lost. -->
#
# ## 3.6 For the keen: another divisor?
#
# Would still smaller scores help more? Divide by $d_k^p$ with $p = 0$ (no scale), $p = \tfrac12$ (the
# paper's) and $p = 1$.
#
# > **Predict.** Divided by $d_k$ itself, with $d_k = 1024$: what is the largest of a query's 32 weights, typically?
# >
# > - About 0.03, an equal share <!-- true: 1 / 32 < table[1, 1024][1] < 1.2 / 32 --> → The scores have the variance 1/d_k, so they are nearly equal.
# > - About 0.15, as with the root → The variance of the scores is not 1 any more.
# > - About 0.5 → Divided by more, scores lie closer together.
# > - Practically 1 → This is the case without a scale.
# >
# > <!-- given: Queries and keys are random, with independent entries of mean 0 and variance 1. With the divisor $\sqrt{d_k}$ the largest of 32 weights is {table[0.5, 1024][1]} in the median. -->

# %%
def measure(d_k, p):
    Q, K = rng.standard_normal((2, 32, 32, d_k))                       # 32 groups of 32 queries
    scores = Q @ K.mT / d_k**p
    return scores.var(), np.median(Softmax()(scores).max(axis=-1))

divided = {0: "not divided", 0.5: "by √d_k", 1: "by d_k"}
table = {(p, d_k): measure(d_k, p) for p in (0, 0.5, 1) for d_k in (16, 1024)}
print("largest weight, median\n            d_k=16 d_k=1024")
for p, name in divided.items():
    print(f"{name:11}", np.round([table[p, d_k][1] for d_k in (16, 1024)], 2))

# %% [markdown]
# Divided by $d_k$, a wide query looks at all keys alike: the variance is $d_k / d_k^2 = 1/d_k$. For random vectors, only with the root do variance and weights stay about the same. <!-- result -->
#
# ## 3.7 And in training?
#
# After some training $q$ and $k$ are not independent (Question 3). Let each key hold half of its query:

# %% show=[2]
draws = np.random.default_rng(0)
aligned = {}
for d_k in (16, 256, 4096):
    q, other = draws.standard_normal((2, 2048, d_k))                   # (pairs, d_k) each
    k = q / 2 + math.sqrt(3 / 4) * other                               # variance 1, as before
    aligned[d_k] = (q * k).sum(axis=-1).mean()
    print(f"d_k = {d_k:4}  mean score over √d_k: {aligned[d_k] / math.sqrt(d_k):5.2f}  over d_k: {aligned[d_k] / d_k:.2f}")

# %% [markdown]
# <!-- slide: Where queries and keys align, scores grow as $d_k$
# [print]
# Divided by the root they still grow: Yang et al. (2022) divide by $d_k$. -->
#
# Where $q$ and $k$ align, scores grow as $d_k$: divided by the root they still grow. So Yang et al. (2022) divide by $d_k$. <!-- result -->
#
# An experiment trains small models on copying, each at its best rate, with five seeds. A control has no scale, but a $W^Q$ that starts $\sqrt{d_k}$ times smaller: its first scores are the same.
#
# <!-- slide: Without the scale wide models learn slowly
# ![]
# A smaller $W^Q$ at the start helps, too. -->

# %%
if Path("../figures/scale_training.json").exists():                    # what the whole experiment found
    training = SCALE_TRAINING.load("../figures")
else:                                                                  # a small one, in seconds
    training = SCALE_TRAINING.run(d_k=(4, 64), rate_scale=(0.2,), steps=40, seeds=(0,))
print("loss after", training.steps[-1] // 3, "and", training.steps[-1], "steps")
for d_k, ends in zip(training.d_k, np.median(training.final, axis=3).min(axis=2).swapaxes(0, 1)):
    scaled, plain, small = ends                                      # (3, 2), each at its best rate
    print(f"d_k = {d_k:<4} with the scale {scaled.round(2)}, without {plain.round(2)}, small start {small.round(2)}")
training.figure()

# %% [markdown]
# Without the scale wide models learn slowly; with three times the steps about half catch up. A smaller start in place of the scale helps, too. <!-- result -->
#
# <!-- say: Left: point at the three curves at step 150. Right: each thin mark is a seed, hollow after the shorter training. Say: the scale helps early; a smaller W^Q at the start does much of the same. Often said and wrong: this proves that small gradients are the reason. -->
#
# Is it the size of the *first* scores? Turn it round: keep the scale, and let $W^Q$ start $\sqrt{d_k} = 8$ times larger. The first scores are then those without the scale.
#
# <!-- slide: With the scale and large first scores a model learns as slowly as without the scale
# Turn it round: keep the scale, and let $W^Q$ start $\sqrt{d_k} = 8$ times larger. The first scores are then those without the scale.\
# [print]
# So here it is the size of the first scores. That small gradients are the reason is not shown. -->

# %% show=false
task = CopyTask(max_length=8)
for name, factory, times in (("with the scale", None, 1), ("with it, W^Q starts 8 times larger", None, 8), ("without it", dot_attention, 1)):
    last = []
    for seed in range(3):
        model = small_model(task, seed, h=1, d_model=64, d_ff=128, d_k=64, d_v=64, attention=factory)
        for parameter_name, p in model.named_parameters():
            p.value *= np.float32(times if parameter_name.endswith("linear_Q.W") else 1)
        last.append(losses(model, task, seed, steps=150, batch_size=32, schedule=at_scale(model, 0.2))[-10:].mean())
    print(f"{name:34}  loss at step 150, three seeds: {min(last):.2f} to {max(last):.2f}")

# %% [markdown]
# With the scale and large first scores a model learns as slowly as without the scale. So here, at $d_k = 64$ and one rate, it is the size of the first scores. That small gradients are the *reason* is not shown. <!-- result -->
#
# <!-- say: Point at the second line and then at the third: the scale is there in one and missing in the other, and both have hardly learned. Often said and wrong: the scale has to stand there all through training. -->
#
# ## 3.8 Why does additive attention not need it?
#
# <!-- slide: Another score has another size by chance
# The other common score (Bahdanau et al., 2015) is a network with a learned vector $v$:\
# $$\mathrm{score}(q, k) = v^\top \tanh(W^\top q + U^\top k)$$ It is a sum over its $d_a$ hidden entries, weighted by $v$, each of them between -1 and 1. So its size does not grow with the width of $q$ and $k$, and how $v$ starts decides it. Lesson 12.4 derives and measures it. -->
#
# The other common score (Bahdanau et al., 2015) is a network with a learned vector $v$:
#
# $$\mathrm{score}(q, k) = v^\top \tanh(W^\top q + U^\top k)$$
#
# It is a sum over hidden entries, weighted by $v$, each between -1 and 1. So how $v$ starts decides its size (Lesson 12.4).
#
# <!-- say: Ask what takes the place of $d_k$ here: the number of hidden entries. Often said and wrong: tanh alone does it. A sum of many bounded entries is large, if $v$ is. -->

# %% [markdown]
# ## 3.9 Yours: what the keys share
#
# <!-- slide: Write your number down, then measure
# Lesson 3.2 says that the keys of a sequence share a part, and that a row does not see it. Change one cause: let all 32 tokens of the sequence be the same token, in the first of the three models (seed 0). Only the positions still differ. What is the variance within a row in layer 1, after the scale? (Lesson 3.2 prints it for different tokens.) -->
#
# The keys of a sequence share a part, and a row does not see it (Lesson 3.2). Change one cause: let all 32 tokens of the sequence be the same token, in
# the first of the three models (seed 0). Only the positions still differ. What is the variance within a row in layer 1, after the scale? (Lesson 3.2
# prints it for different tokens.)

# %% show=false
from aiayn_course.exercises import judge

predicted = 0.8                    # type your number first
# yours: the variance within a row in layer 1
rng = np.random.default_rng(0)
model = Transformer(100, N=3, d_model=512, d_ff=2048, h=8, P_drop=0.0, rng=rng)
ids = np.full((1, 32), 7)                                              # one token, 32 times
head = model.forward(ids, ids)[1].encoder.layers[0].self_attention.attention
scores = head.Q @ head.K.mT / 8
measured = scores.var(axis=-1).mean()
judge(3, predicted, measured)

# %% [markdown]
# It is a small part of what it was, though queries and keys are as long as before: what all keys share, here the token, moves whole rows. <!-- result -->
#
# ## 3.10 Check what this lesson claimed

# %%
assert variance.error < 0.03                                           # at every width
assert saturation.one_hot[1, list(saturation.d_k).index(512)] > 0.5                                 # 512: mostly one-hot
assert np.allclose(within["k"], within["none"], rtol=0.1)              # a shift of rows
assert within["q"] > 1.8 * within["none"]                              # longer queries
assert layers[:, 2, 3].max() < 0.5 < layers[:, 1:, 2].min()            # in a model, layers 2 and 3
assert layers[:, 1, 3].max() < layers[:, 0, 3].min()
assert ratios[:, :, 2].max() < 0.2                                     # 512: the median query starves
assert ratios[:, 0, 1].max() < 1 < ratios[:, 1, 1].min() < ratios[:, 1, 1].max() < 8    # 64: see 3.5
print("all true")

# %% [markdown]
# ## Summary
#
# - For independent entries $q \cdot k$ is a sum of $d_k$ products of variance 1. So its variance is $d_k$, its typical size $\sqrt{d_k}$; divided by $\sqrt{d_k}$ its variance is 1 at every width. Softmax sees the part within a row only.
# - Without the scale, the softmax over scores of wide vectors is nearly one-hot by chance. Most queries then get almost no gradient, and a quarter far too much. At $d_k = 64$ a fifth of the queries is one-hot and the Jacobian is smaller; the gradient of $q$ is larger, as no factor divides it.
#
# **What you can do now:** say from the width how large a score is by chance, and what softmax makes of it.
#
# Try it: [the reversing model without its scale](../docs/live/reverse.html#src=3+1+4&kind=cross&layer=1&head=0&what-if=scale)<!-- else: (README.md says how to get this page) -->.<!-- repository only --> `python docs/make_live_pages.py` makes the page.<!-- end -->
#
# ## Questions
#
# **1.** The base model has $d_\mathrm{model} = 512$ and $h = 8$ heads. By what are the scores of a head divided, and why not by
# $\sqrt{512}$?
#
# <details><summary>Answer</summary>
#
# They are divided by $\sqrt{64} = 8$. A score of one head is a sum of $d_k = 512 / 8 = 64$ products, and no score sums over the heads.
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
# $q \cdot q = \sum_i q_i^2$ has mean $d_k = 64$; after the scale 8, while the scores with other tokens are about $\pm 1$. So each token looks at
# itself. The first line fails: $q_i$ and $k_i$ are not independent, and $\mathbb{E}[q_i q_i] = 1$, not 0. Where training makes $q$ and $k$ agree, dot
# products grow as $d_k$, not as its root.
#
# </details>
