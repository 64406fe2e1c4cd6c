# %% [markdown]
# # Lesson 12 · Other scores, and one of your own
#
# | | |
# |---|---|
# | **You will do** | score one query and one key by hand; find out how many of four scores are really different; measure what each costs; train all of them in the same Transformer; then invent a score, derive its backward, check it and plug it in |
# | **You will learn** | what "dot", "general", "concat" and "additive" are; which of them are really different; why additive attention needs no scale, and why the paper takes the dot product all the same |
# | **You need** | Lessons 1, 2, 3 and 6; for your own score Lesson 4 |
# | **Paper** | Section 3.2.1 (the scores are those of Bahdanau et al. and Luong et al., both 2015) |
# | **Time** | 45 minutes, without the part marked *for the keen*: run its cells, skip its text, since no later part needs it |
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
from pathlib import Path

import numpy as np

from aiayn_np import (
    Cache,
    CopyTask,
    Module,
    MultiHeadAttention,
    ScaledDotProductAttention,
    Softmax,
    check_gradients,
    plot_attention,
)
from aiayn_np.experiments.claims.additive import ADDITIVE, start_variances
from aiayn_np.experiments.claims.additive_cost import ADDITIVE_COST
from aiayn_np.experiments.learning import losses, small_model, smooth
from aiayn_np.multi_head import merge_heads, split_heads
from aiayn_np.plotting.drawings import figure_1
from aiayn_np.plotting.figures import COLORS, MARKERS, new_figure
from aiayn_np.variants.scoring import (
    AdditiveScore,
    ConcatScore,
    DotScore,
    GeneralScore,
    ScoredAttention,
    additive_attention,
    concat_attention,
    dot_attention,
    general_attention,
)

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# In Figure 1 this lesson changes one line inside each attention: how a query and a key are compared.

# %%
figure_1("attention")

# %% [markdown]
# ## 12.1 Four scores, three by hand
#
# Attention needs one number for each pair of a query and a key, the **score**: how well does this key answer? Everything after that,
# the mask, the softmax, the mean of the values, works with any score. Four scores are common:
#
# | name | score$(q, k)$ | learned |
# |---|---|---|
# | dot | $q \cdot k$ | nothing |
# | general | $q^\top W k$ | $W$ |
# | additive | $v^\top \tanh(W^\top q + U^\top k)$ | $W$, $U$, $v$ |
# | concat | $v^\top \tanh(W^\top [q; k])$ | $W$, $v$ |
#
# The first two multiply $q$ with $k$. The other two are small networks that *add* what they see of both. (In this table $v$ is a vector of the score, as in the sources; it is not a value.) Take
# $q = (1, 2)$ and $k = (3, 1)$. For "general" let $W$ exchange the two entries, and for "additive" let $W = I$, $U = -I$, $v = (1, 1)$.
#
# > **Predict.** What are the first two scores? And is the additive one above or below zero?

# %%
q, k = np.array([1.0, 2.0]), np.array([3.0, 1.0])                      # (d_k,) each
exchange = np.array([[0.0, 1.0], [1.0, 0.0]])                          # (d_k, d_k)
W, U, v = np.eye(2), -np.eye(2), np.ones(2)                            # (d_k, d_a) twice, (d_a,)
hidden = np.tanh(W.T @ q + U.T @ k)                                    # (d_a,)  tanh(q - k)
by_hand = {"dot": q @ k, "general": q @ exchange @ k, "additive": v @ hidden}
print("hidden", hidden)
for name, score in by_hand.items():
    print(f"{name:9} {score:.4f}")

# %% [markdown]
# The dot product is 5, as $1 \cdot 3 + 2 \cdot 1$. "General" is 7, as $1 \cdot 1 + 2 \cdot 3$: the first entry of the query meets the second of the key. The
# additive score is $\tanh(-2) + \tanh(1)$, just below zero. With $U = -I$ each hidden unit *compares* an entry of $q$ with that
# of $k$, and $v$ adds up the results.
#
# The library has a class for each score. Their parameters have an axis for the heads; here we have $h = 1$ head, one query, one key.
# This is the forward of the additive one:

# %%
print(inspect.getsource(AdditiveScore.forward))

# %% [markdown]
# Queries and keys are projected once for each token. `pair_tanh` adds them for every pair and takes the tanh: an array with an axis for queries, one for keys and one for the $d_a$ hidden units. The last product, with $v$, leaves one number for each pair.

# %%
rng = np.random.default_rng(0)
Q, K = q[None, None], k[None, None]                                    # (h, T_q, d_k), (h, T_k, d_k)
general, additive = GeneralScore(1, 2, rng=rng), AdditiveScore(1, 2, rng=rng)
general.W.value[0] = exchange
additive.W.value[0], additive.U.value[0], additive.v.value[0] = W, U, v
from_class = {"dot": DotScore()(Q, K), "general": general(Q, K), "additive": additive(Q, K)}
for name, scores in from_class.items():
    print(f"{name:9} {scores.shape}  same to 1e-12: {abs(scores.item() - by_hand[name]) < 1e-12}")

# %% [markdown]
# ## 12.2 Does general do more than dot?
#
# With $W = I$ "general" is the dot product. Can another $W$ do more? In the library tokens are rows, so write the score of two tokens $x$ and $y$ with rows: $x W y^\top$. Now let $W = W_1 W_2^\top$:
#
# $$x\, W\, y^\top = x\, W_1 W_2^\top y^\top = (x W_1) \cdot (y W_2)$$
#
# This is a dot product again, of two projections. Multi-head attention does just that: the query of head $i$ is $x W_i^Q$, and the key is $y W_i^K$. To see it, give a
# `GeneralScore` the *raw* tokens and $W_i = W_i^Q (W_i^K)^\top$:

# %%
layer = MultiHeadAttention(16, 4, rng=rng)                             # d_model, h; so d_k = 4
x = rng.standard_normal((1, 5, 16))                                    # (B, T, d_model)
_, cache = layer.forward(x, x, x)
by_heads = cache.attention.Q @ cache.attention.K.mT                    # (B, h, T, T)
W_Q = split_heads(layer.linear_Q.W.value, 4)                           # (h, d_model, d_k)
W_K = split_heads(layer.linear_K.W.value, 4)                           # (h, d_model, d_k)

# %%
general = GeneralScore(4, 16, rng=rng)
general.W.value[...] = W_Q @ W_K.mT                                    # (h, d_model, d_model)
raw = np.stack([x] * 4, axis=1)                                        # (B, h, T, d_model)
by_general = general(raw, raw)                                         # (B, h, T, T)
print("scores", by_general.shape, " same to 1e-12:", np.abs(by_general - by_heads).max() < 1e-12)

# %% [markdown]
# > **Predict.** Each $W_i$ is a matrix of 16 by 16. What is its rank? And in the base model ($d_{model} = 512$, $d_k = 64$): how many numbers would a free $W$ have, how many have the two blocks?

# %%
print("rank of each W_i  ", np.linalg.matrix_rank(general.W.value))
print(f"a free W           {512 * 512:,}")
print(f"the two blocks     {2 * 512 * 64:,}")

# %% [markdown]
# The rank is $d_k = 4$, and the two blocks together have a quarter of the numbers of a free $W$. So a head *is* a general score, of low rank. A further $W$ *inside* a head, between its queries and its keys, adds nothing: since $(x W_i^Q)\, W = x\, (W_i^Q W)$, it can be put into $W_i^Q$ (Lesson 12.8 checks it).
#
# So under multi-head attention "general" has more parameters, but can compute nothing new. Luong et al. needed it because their
# queries and keys were the states of two networks, without projections. Three scores are left.

# %% [markdown]
# ## 12.3 Is concat another score?
#
# "Concat" sets $q$ and $k$ one above the other and multiplies with a $W$ of $2 d_k$ rows. The upper rows meet only $q$, the
# lower ones only $k$:
#
# $$W^\top [q; k] = \begin{bmatrix} W_q \\ W_k \end{bmatrix}^\top \begin{bmatrix} q \\ k \end{bmatrix} = W_q^\top q + W_k^\top k$$
#
# So set additive's $W$ and $U$ one above the other, and give the result to "concat":

# %%
additive, concat = AdditiveScore(2, 8, rng=rng), ConcatScore(2, 8, rng=rng)
concat.W.value[...] = np.concatenate([additive.W.value, additive.U.value], axis=1)    # (h, 2 d_k, d_a)
concat.v.value[...] = additive.v.value                                 # (h, d_a)
Q, K = rng.standard_normal((2, 2, 4, 8))                               # (h, T, d_k) each
print("W of concat", concat.W.value.shape, " W and U of additive", additive.W.value.shape)
print("largest difference:", np.abs(concat(Q, K) - additive(Q, K)).max())

# %% [markdown]
# The scores are equal. Concat is additive under another name, and two scores are left of four: **dot** and **additive**, the two that Section 3.2.1
# speaks of.
#
# What is the tanh for? Leave it out, and the score is $v^\top W^\top [q; k] = a \cdot q + b \cdot k$ with two fixed
# vectors $a = W_q v$ and $b = W_k v$.
#
# > **Predict.** Two queries, the same keys, no tanh. Do the two look at different keys?

# %%
class NoTanh(Module):
    def forward(self, x, y):
        hidden = x[..., :, None, :] + y[..., None, :, :]               # (..., T_q, T_k, d_a)
        return hidden, Cache(hidden=hidden)

linear = ConcatScore(2, 8, rng=rng)
concat.v.value *= 2                                                    # for clearer maps
linear.W.value[...], linear.v.value[...] = concat.W.value, concat.v.value
linear.pair_tanh = NoTanh()                                            # everything else stays

# %%
attend = {"with tanh": ScoredAttention(concat), "without": ScoredAttention(linear)}
maps = {name: a.forward(3 * Q, 3 * K, K)[1].weights[0] for name, a in attend.items()}   # (T, T) each
for name, weights in maps.items():
    print(f"{name:10} largest difference between two rows: {np.ptp(weights, axis=0).max():.4f}")

# %% [markdown]
# Two queries cannot look at different keys. The part $a \cdot q$ is the same for every key, and the softmax over the keys does not see it (Lesson 2).
# The other part, $b \cdot k$, does not contain the query. The picture shows both maps: without tanh all rows are equal. Every token
# looks at the same keys, whatever it asks. (For clearer maps $q$, $k$ and $v$ are longer than usual. They are random numbers, not words.)

# %%
queries, keys = ([f"{kind} {i}" for i in range(1, 5)] for kind in ("query", "key"))
plot_attention(np.stack(list(maps.values())), queries, keys, titles=list(maps))

# %% [markdown]
# In a sum, $q$ and $k$ interact only through the nonlinearity. The dot product needs no tanh, because in a product
# every entry of $q$ scales an entry of $k$.

# %% [markdown]
# ## 12.4 Why does additive attention need no scale?
#
# Lesson 3.8 has the argument: tanh is bounded, and $v$ starts small enough. Here is the derivation. For $q$ and $k$ with entries of
# variance 1, the matrices are drawn so that the sum inside the tanh has variance 1 as well. $v$ has $d_a$ entries of variance
# $1/d_a$ (here $d_a = d_k$) and mean 0, and they are independent, so the terms of the sum have no covariance:

#
# $$\mathrm{Var}(\mathrm{score}) = \sum_{a=1}^{d_a} \mathrm{Var}(v_a)\, \mathbb{E}[\tanh^2 z] = d_a \cdot \frac{1}{d_a} \cdot \mathbb{E}[\tanh^2 z] = \mathbb{E}[\tanh^2 z], \qquad z \sim N(0, 1)$$
#
# The width cancels. The function `start_variances` of the experiment `additive` measures it.
#
# > **Predict.** Is this variance above or below 1? And what is the variance of $q \cdot k$ for $d_k = 256$?

# %%
print(f"E[tanh² z] = {(np.tanh(rng.standard_normal(1_000_000)) ** 2).mean():.2f}")
widths = (4, 16, 64, 256)
variance = start_variances(widths, np.random.default_rng(0))
print("d_k             ", *(f"{d:8}" for d in widths))
for name, values in variance.items():
    print(f"{name:16}", *(f"{value:8.2f}" for value in values))

# %% [markdown]
# The variance is about 0.4 at every width, and $d_k$ for the dot product. So much for the start. Whatever training does to $W$ and $U$
# later, the bound $|\mathrm{score}| \le \sum_a |v_a|$ stays. (Lesson 12.8 shows that it has a price.)
#
# %% [markdown]
# ## 12.5 What it costs
#
# Section 3.2.1 says that the two are alike in theory, but that the dot product is much faster and needs less space, since it
# is a matrix product. Take 64 tokens of width 64, and look for the largest array that is kept.

# %%
Q, K, V = rng.standard_normal((3, 1, 64, 64))                          # (h, T, d_k) each
_, dot_cache = dot_attention(1, 64, 64, rng).forward(Q, K, V)
_, additive_cache = additive_attention(1, 64, 64, rng).forward(Q, K, V)
print(additive_cache)

# %% [markdown]
# > **Predict.** How many numbers does `score.pair_tanh.hidden` hold for each number of the map `weights`? And what does the dot product keep for a pair?

# %%
hidden, weights = additive_cache.score.pair_tanh.hidden, additive_cache.weights
print("numbers for each pair:", hidden.size // weights.size)
print(dot_cache)

# %% [markdown]
# `hidden` holds 64 numbers for each pair, that is $d_a$. The dot product keeps one, the weight. Its products $q_a k_a$ are summed up inside the matrix
# product and never stored. An additive score must keep the hidden layer of every pair, because the backward of tanh asks for
# it. (The products $W^\top q$ and $U^\top k$ are cheap: once for each token, not for each pair.)
#
# In time the counts are alike: $T^2 d_k$ multiply-adds for dot, $T^2 d_a$ sums, tanhs and multiply-adds for additive. But a matrix
# product is what processors do best. The experiment `additive_cost` measures forward and backward, additive over dot:

# %%
cost = ADDITIVE_COST.run(n=(16, 32, 64, 128), d_k=(4, 16, 64, 256), repeats=5)
cost.figure()

# %% [markdown]
# On the dotted line both would cost the same. The left panel has the length on its axis, the right one the width; each point is a measurement of its own. Time depends on the machine. The bytes hardly do:
# at 64 tokens of width 256 additive attention takes more than 50 times as many, since it keeps $d_a$ numbers for each pair.

# %% [markdown]
# ## 12.6 All of them in the same Transformer
#
# `Transformer(attention=...)` takes a factory and calls it for every attention of the model, three in a model of one layer. So
# everything but the score stays equal: task, sizes, learning rate, seed of the data. The task is to copy up to 5 symbols, with 2 heads and $d_k = 64$.
#
# > **Predict.** Five scores, 200 steps. Which one is behind the others?

# %%
task = CopyTask(symbols=6, max_length=5)
factories = {"scaled dot": None, "dot": dot_attention, "general": general_attention,
             "concat": concat_attention, "additive": additive_attention}

def train_with(factory, seed=0):
    model = small_model(task, seed, h=2, d_k=64, attention=factory)
    return losses(model, task, seed, steps=200, batch_size=16)         # (steps,)

curves = {name: train_with(factory) for name, factory in factories.items()}

# %%
last = {name: curve[-25:].mean() for name, curve in curves.items()}
print("loss at the end:", "   ".join(f"{name} {loss:.2f}" for name, loss in last.items()))

# %% [markdown]
# The dot product without its scale is behind. (General has no scale either, but its $W$ starts with entries of variance $1/d_k^2$, which keeps its first scores small.) Concat and additive are the same function (Lesson 12.3), but start with other random numbers. The picture shows the five losses; each point is the mean of ten steps.

# %%
fig = new_figure(7, 4)
ax = fig.subplots()
for i, (name, curve) in enumerate(curves.items()):
    points = smooth(curve, 10)
    ax.plot(10 * np.arange(1, len(points) + 1), points, color=COLORS[i], marker=MARKERS[i],
            markevery=(i, 5), label=name)
ax.set(xlabel="step", ylabel="loss (nats a token)", title="Learning to copy, one seed each")
ax.set_ylim(bottom=0)
ax.legend()
fig

# %% [markdown]
# This is one seed. Do not read an order of the other four from it; try `train_with(factory, seed=1)` and 2, and see what
# stays. Is it the width that hurts the unscaled one, as the paper suspects? The experiment `additive` trains three scores
# with five seeds at each width. It takes minutes, so the next cell reads its numbers from a file; `aiayn-np figures additive` makes them again. The left panel shows the variance of the scores: full symbols for numbers drawn
# as in Lesson 12.4, open ones for $q \cdot k$ in the models, before and after training. The right panel shows the loss.

# %%
if Path("../figures/additive.json").exists():                          # what the whole experiment found
    result = ADDITIVE.load("../figures")
else:                                                                  # a small one, in seconds
    result = ADDITIVE.run(d_k=(4, 256), steps=120, seeds=(0, 1))
result.figure()

# %% [markdown]
# For $d_k = 4$ the ranges of the three overlap; the wider the heads, the further the dot product without the scale falls behind.
# Additive attention does not fall behind. Mind the open squares: in the models the scores do not *start* larger where the heads are wider, because wider matrices are drawn with smaller entries. Where the heads are wide, training makes them large (Lesson 3.7). With the scale the dot product keeps up. So on this small task the paper's choice is as good as
# additive attention, and it costs one matrix product and one division.

# %% [markdown]
# ## 12.7 A score of your own
#
# Let closeness count: the nearer a key lies to the query, the better it answers.
#
# $$\mathrm{score}(q, k) = -\frac{\lVert q - k \rVert^2}{2 \sqrt{d_k}}$$
#
# **Step 1, think.** Multiply out: $-\lVert q - k \rVert^2 = 2\, q \cdot k - \lVert q \rVert^2 - \lVert k \rVert^2$. So
#
# $$\mathrm{score}(q, k) = \frac{q \cdot k}{\sqrt{d_k}} - \frac{\lVert k \rVert^2}{2 \sqrt{d_k}} - \frac{\lVert q \rVert^2}{2 \sqrt{d_k}}$$
#
# The last term is the same for all keys, and the softmax does not see it. What is new against the paper's score is
# the middle one: a long key pays for its length.
#
# **Step 2, forward.** A layer takes `Q` and `K` and returns scores and a cache. Square with `Q * Q`, not with `abs`: the
# gradient check sends complex numbers through the forward (Lesson 4.5), and $|z|^2$ has no complex derivative, while $z \cdot z$ has one.

# %%
class DistanceForward(Module):
    """score(q, k) = -|q - k|^2 / (2 sqrt(d_k))"""

    def forward(self, Q, K):
        of_q = (Q * Q).sum(axis=-1)[..., :, None]                      # (..., T_q, 1)  |q|²
        of_k = (K * K).sum(axis=-1)[..., None, :]                      # (..., 1, T_k)  |k|²
        scores = (Q @ K.mT - of_q / 2 - of_k / 2) / math.sqrt(Q.shape[-1])    # (..., T_q, T_k)
        return scores, Cache(Q=Q, K=K)

# %%
Q, K = rng.standard_normal((2, 1, 4, 6))                               # (h, T, d_k) each
scores = DistanceForward()(Q, K)                                       # (h, T_q, T_k)
one = -((Q[0, 1] - K[0, 3]) ** 2).sum() / (2 * math.sqrt(6))           # query 1, key 3, from the formula
print(f"{scores[0, 1, 3]:.6f}  {one:.6f}  same to 1e-12: {abs(scores[0, 1, 3] - one) < 1e-12}")

# %% [markdown]
# **Step 3, derive.** Write $s_{ij}$ for the score of query $i$ and key $j$. One pair first:
#
# $$\frac{\partial s_{ij}}{\partial q_i} = \frac{k_j - q_i}{\sqrt{d_k}}, \qquad \frac{\partial s_{ij}}{\partial k_j} = \frac{q_i - k_j}{\sqrt{d_k}}$$
#
# Query $i$ is in the scores of all keys $j$, and key $j$ in those of all queries $i$, so sum up. With $g_{ij} = \mathrm{grad\_scores}_{ij} / \sqrt{d_k}$
#
# $$\mathrm{grad\_Q}_i = \sum_j g_{ij} K_j - \Big(\sum_j g_{ij}\Big) Q_i, \qquad \mathrm{grad\_K}_j = \sum_i g_{ij} Q_i - \Big(\sum_i g_{ij}\Big) K_j$$
#
# **Step 4, backward.** Somebody else was in a hurry, and forgot the second term of `grad_Q`:

# %%
class DistanceScore(DistanceForward):
    def backward(self, grad_scores, cache):
        g = grad_scores / math.sqrt(cache.Q.shape[-1])                 # (..., T_q, T_k)
        grad_Q = g @ cache.K - g.sum(axis=-1)[..., None] * cache.Q     # (..., T_q, d_k)
        grad_K = g.mT @ cache.Q - g.sum(axis=-2)[..., None] * cache.K  # (..., T_k, d_k)
        return grad_Q, grad_K

class Hurried(DistanceScore):
    def backward(self, grad_scores, cache):
        _, grad_K = super().backward(grad_scores, cache)
        return grad_scores @ cache.K / math.sqrt(cache.Q.shape[-1]), grad_K

# %% [markdown]
# **Step 5, check.** First the score alone.

# %%
for score in (Hurried(), DistanceScore()):
    print(check_gradients(score, Q, K), end="\n\n")

# %% [markdown]
# > **Predict.** Now the whole attention with the *hurried* score, `ScoredAttention(Hurried())`. Does the check find the mistake?

# %%
V = rng.standard_normal((1, 4, 3))                                     # (h, T_k, d_v)
hidden_mistake = check_gradients(ScoredAttention(Hurried()), Q, K, V)
print(hidden_mistake)

# %% [markdown]
# The check finds nothing, and it is right: there *is* no mistake in the attention. The rows of the softmax's gradient sum to zero (Lesson 4.4), so
# $\sum_j g_{ij} = 0$ and the forgotten term vanishes. It is the backward side of "the softmax does not see $\lVert q \rVert^2$". Still, check a layer
# by itself: in another place, without a softmax above, the hurried one is wrong.
#
# **Step 6, compare.** Take the dot product and subtract what a long key pays: it must be the same map. And if all keys have
# one length, it is the paper's attention.

# %%
_, cache = ScoredAttention(DistanceScore()).forward(Q, K, V)
pays = (K * K).sum(axis=-1)[:, None, :] / 2                            # (h, 1, T_k)
by_dot = Softmax()((Q @ K.mT - pays) / math.sqrt(6))                   # (h, T_q, T_k)
print("dot minus the keys' norm, same map:", np.abs(cache.weights - by_dot).max() < 1e-12)
K_1 = K / np.linalg.norm(K, axis=-1, keepdims=True)                    # all keys of length 1
equal = ScoredAttention(DistanceScore())(Q, K_1, V) - ScaledDotProductAttention()(Q, K_1, V)
print("keys of one length, the paper's:   ", np.abs(equal).max() < 1e-12)

# %% [markdown]
# What does the difference do? Make one key three times as long as it was.
#
# > **Predict.** Which score gives the long key more weight, over all queries?

# %%
loud = K.copy()
loud[0, 1] *= 3                                                        # key 2
attentions = {"scaled dot": ScaledDotProductAttention(), "distance": ScoredAttention(DistanceScore())}
maps = {name: a.forward(Q, loud, V)[1].weights[0] for name, a in attentions.items()}
for name, weights in maps.items():
    print(f"{name:11} weights of key 2 {weights[:, 1]}   mean {weights[:, 1].mean():.2f}")

# %% [markdown]
# The picture shows both maps; look at the column of key 2. With the dot product its mean weight is no more than an equal share, but query 3, which points in its direction, gives it nearly all. With the
# distance no query gives it anything: it is far from all of them. (A score by distance was studied by Kim et al., 2021.)

# %%
plot_attention(np.stack(list(maps.values())), queries, keys, titles=list(maps))

# %% [markdown]
# **Step 7, plug it in.** A factory takes `h`, `d_k`, `d_v` and `rng`; a score without parameters needs none of them.

# %%
def distance_attention(h, d_k, d_v, rng):
    return ScoredAttention(DistanceScore())

curve = train_with(distance_attention)
print(f"loss at the end: distance {curve[-25:].mean():.2f}, scaled dot {last['scaled dot']:.2f}")

# %% [markdown]
# The model with the new score learns to copy. You have seen the whole way: an idea, twenty lines of code, a check and a comparison.

# %% [markdown]
# ## 12.8 For the keen: a W inside a head, and the price of a bound
#
# Two claims of this lesson are still unchecked; the cells below check them. The first: a $W$ *inside* each head can be put into $W_i^Q$ (Lesson 12.2).

# %%
inside = MultiHeadAttention(16, 4, attention=general_attention, rng=rng)   # has a W in each head
plain = MultiHeadAttention(16, 4, attention=dot_attention, rng=rng)
for name in ("linear_Q", "linear_K", "linear_V", "linear_O"):
    getattr(plain, name).W.value[...] = getattr(inside, name).W.value
W = inside.attention.score.W.value                                     # (h, d_k, d_k)
plain.linear_Q.W.value[...] = merge_heads(split_heads(plain.linear_Q.W.value, 4) @ W)
absorbed = np.abs(plain(x, x, x) - inside(x, x, x)).max()
print("dot with another W^Q is general, to 1e-12:", absorbed < 1e-12)

# %% [markdown]
# The second: the additive score is bounded. Does the bound have a price? Make $q$ and $k$ longer, and look at the hidden units, and at the gradient that comes through to $q$:

# %%
score = AdditiveScore(1, 64, rng=rng)
many_q, many_k = rng.standard_normal((2, 1, 32, 64))                   # (h, T, d_k) each
grad = rng.standard_normal((1, 32, 32))                                # (h, T, T)  of the scores
bound, flat, reach = np.abs(score.v.value).sum(), {}, {}
for factor in (1, 10, 100):
    scores, cache = score.forward(factor * many_q, factor * many_k)
    flat[factor] = (np.abs(cache.pair_tanh.hidden) > 0.99).mean()      # of (h, T, T, d_a) units
    reach[factor] = np.linalg.norm(score.backward(grad, cache)[0])
    print(f"q, k × {factor:3}   largest |score| {np.abs(scores).max():.2f} of {bound:.2f}"
          f"   units beyond 0.99: {flat[factor]:4.0%}   length of grad_Q {reach[factor]:5.2f}")

# %% [markdown]
# The bound has a price. The scores stay small, but with vectors 100 times as long nearly all units are saturated: there the derivative
# $1 - \tanh^2$ is close to 0, and the gradient falls to about a tenth. The trouble with large sums is not gone: it has
# moved from the softmax into the tanh. And the sum inside would grow with $d_k$ too, if $W$ and $U$ were not drawn with
# variance $1/(2 d_k)$. That is a scale as well; it only stands in another place.

# %% [markdown]
# ## 12.9 Check what this lesson claimed

# %%
assert by_hand["dot"] == 5
assert by_hand["general"] == 7
assert -0.3 < by_hand["additive"] < 0                                  # tanh(-2) + tanh(1)
assert np.abs(by_general - by_heads).max() < 1e-12                     # general is in multi-head
assert absorbed < 1e-12                                                # a W inside a head adds nothing
assert np.ptp(variance["additive"]) < 0.1                              # flat in the width
assert abs(variance["dot"][-1] / 256 - 1) < 0.1                        # grows as d_k
assert flat[100] > 0.9                                                 # a bound is not free
assert reach[100] < reach[1] / 5
assert additive_cache.score.pair_tanh.hidden.size == 64 * dot_cache.weights.size
assert cost.memory_n.min() > 2                                         # more memory at every length
assert last["dot"] > max(last["scaled dot"], last["additive"])         # without scale: behind
assert curve[-25:].mean() < 1                                          # the distance learns
assert not check_gradients(Hurried(), Q, K)
assert check_gradients(DistanceScore(), Q, K)
assert hidden_mistake
assert maps["distance"][:, 1].mean() < maps["scaled dot"][:, 1].mean()
print("all true")

# %% [markdown]
# ## Summary
#
# - Four scores, two ideas: a product of $q$ and $k$, or a small network that adds them. "General" is what the projections
#   of multi-head attention do already; "concat" is "additive".
# - Additive needs tanh, else it cannot depend on the query. It needs no scale, as tanh is bounded and $v$ starts small; its
#   variance is about 0.4 at every width.
# - It pays with $d_a$ numbers for each pair where the dot product keeps one, and with time.
# - Without its scale the dot product falls behind as $d_k$ grows; with it, it is as good as additive, and a matrix product.
# - A score is a layer (Q, K) → scores. Derive, check it by itself, put it into `ScoredAttention`.
#
# ## Questions
#
# **1.** Give the additive score two biases: $v^\top \tanh(W^\top q + U^\top k + b) + c$. Which of them can change the weights?
#
# <details><summary>Answer</summary>
#
# $b$ can: it moves every pair along the tanh, and since the tanh bends, not all scores change alike. $c$ is added to all scores of a query alike,
# so the softmax does not see it; its gradient is always zero, like that of the key bias in Lesson 6.5.
#
# </details>
#
# **2.** A batch of 8 sequences of 1024 tokens, 8 heads, $d_a = 64$, float32 (4 bytes). How much memory do the maps of one
# attention need, and how much `hidden`?
#
# <details><summary>Answer</summary>
#
# There are $8 \cdot 8 \cdot 1024^2$, about 67 million pairs. The maps are 4 bytes for each: 268 MB. `hidden` is 64 times as
# large: about 17 GB, for one attention of one layer. This is what "more space-efficient" means.
#
# </details>
#
# **3.** Make "general" antisymmetric, $W^\top = -W$, and let $q = k = x$. What score does each token give to itself? And if $i$
# likes $j$, what does $j$ think of $i$?
#
# <details><summary>Answer</summary>
#
# Each token gives itself the score 0: $x^\top W x$ is a number, so it equals its transpose $x^\top W^\top x = -x^\top W x$. And $s_{ji} = -s_{ij}$: what one likes
# is disliked back. The dot product with $q = k = x$ is the opposite, $s_{ij} = s_{ji}$, with every token liking itself. With $W^Q \ne W^K$
# attention is free of both, and this is one more way to see why there are two matrices (Lesson 1.5).
#
# </details>
