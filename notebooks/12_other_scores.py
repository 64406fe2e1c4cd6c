# %% [markdown]
# # Lesson 12 · Other scores, and one of your own
#
# | | |
# |---|---|
# | **You will do** | score a query and a key by hand; measure what each score costs; train a model with each; build your own |
# | **You will learn** | which of four named scores really differ; why additive attention needs no scale, and why the paper still takes the dot product |
# | **You need** | Lessons 1, 2, 3 and 6; for your own score Lesson 4 |
# | **Paper** | Section 3.2.1 (the scores are those of Bahdanau et al. and Luong et al., both 2015) |
# | **Time** | *see*, and from Lesson 12.4 on *then prove*: about 40 minutes each (estimated) |

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

import numpy as np

from aiayn_course.lab.claims.additive import ADDITIVE, start_variances
from aiayn_course.lab.claims.additive_cost import ADDITIVE_COST
from aiayn_course.lab.learning import losses, small_model
from aiayn_course.lab.populations import draw_population
from aiayn_np import Cache, CopyTask, Module, Softmax, check_gradients
from aiayn_np.plotting.figures import COLORS, MARKERS, draw_map, draw_spread, log_ticks, new_figure
from aiayn_np.variants import scoring

# %% [markdown]
# One query stays, the star, and each picture gives a **score** to every key in a square: on the left the dot product, on the right a small network.
#
# <!-- slide: The dot product is a plane: it rises without end in the query's direction
# ![]
# The other score is a landscape of plateaus, and far out it is flat. -->

# %%
q, side = np.array([1.0, 2.0]), np.linspace(-4, 4, 81)                 # q: (d_k,)
keys = np.stack(np.meshgrid(side, side), axis=-1)                      # (81, 81, d_k)
shown = {"dot": keys @ q, "additive": np.tanh(q - keys) @ np.ones(2)}  # (81, 81) each
fig = new_figure(7.5, 3.2)
for ax, (name, scores) in zip(fig.subplots(1, 2), shown.items()):
    image = ax.contourf(side, side, scores, 12, cmap="cividis")
    ax.plot(*q, "w*", markersize=12)
    ax.set(title=name, xlabel="first entry of the key", ylabel="second entry", aspect="equal")
    fig.colorbar(image, ax=ax, label="score")
fig

# %% [markdown]
# The dot product is a plane: it rises without end in the query's direction. The other is a landscape of plateaus, flat far out. Can one attend with
# that?

# %% [markdown]
# ## 12.1 Four scores, two by hand
#
# <!-- slide:
# Four scores have names:
# | name | score$(q, k)$ | learned |
# |---|---|---|
# | dot | $q \cdot k$ | nothing |
# | general | $q^\top W k$ | $W$ |
# | additive | $v^\top \tanh(W^\top q + U^\top k)$ | $W$, $U$, $v$ |
# | concat | $v^\top \tanh(W^\top [q; k])$ | $W$, $v$ | -->
#
# Four scores have names:
#
# | name | score$(q, k)$ | learned |
# |---|---|---|
# | dot | $q \cdot k$ | nothing |
# | general | $q^\top W k$ | $W$ |
# | additive | $v^\top \tanh(W^\top q + U^\top k)$ | $W$, $U$, $v$ |
# | concat | $v^\top \tanh(W^\top [q; k])$ | $W$, $v$ |
#
# The first two multiply $q$ with $k$. The other two are small networks that *add* what they see of both. ($v$ is a vector of the score, no value.) Take
# $q = (1, 2)$ and $k = (3, 1)$. For "additive" let $W = I$, $U = -I$, $v = (1, 1)$.
#
# > **Predict.** What is the additive score, about? (A hint: $\tanh 1 \approx 0.76$ and $\tanh 2 \approx 0.96$.)
# >
# > - −1 → The sum of the entries of $q - k$: each passes through the tanh first.
# > - 0.2 → The size is right, but look at the sign of $U$ again.
# > - −0.2 → It is tanh(1 − 3) + tanh(2 − 1). <!-- true: np.isclose(by_hand["additive"], -0.2, atol=0.01) -->
# > - 5 → This multiplies $q$ with $k$.
# >
# > <!-- given: $\mathrm{score}(q, k) = v^\top \tanh(W^\top q + U^\top k)$ with $q$ = {q}, $k$ = {k}, $W = I$, $U = -I$ and $v = (1, 1)$. -->

# %%
k = np.array([3.0, 1.0])                                               # (d_k,), and q from above
W, U, v = np.eye(2), -np.eye(2), np.ones(2)                            # (d_k, d_a) twice, (d_a,)
hidden = np.tanh(W.T @ q + U.T @ k)                                    # (d_a,)  tanh(q - k)
by_hand = {"dot": q @ k, "additive": v @ hidden}
for name, score in by_hand.items():
    print(f"{name:9} {score:.4f}")

# %% [markdown]
# <!-- answer:
# [print]
# With $U = -I$ each hidden unit *compares* an entry of $q$ with that of $k$, and $v$ adds up the results. -->
#
# With $U = -I$ each hidden unit *compares* an entry of $q$ with that of $k$, and $v$ adds up the results. <!-- result -->
#
# ## 12.2 Does general do more than dot?
#
# <!-- slide:
# With $W = I$ "general" is the dot product. Can another $W$ do more? For two tokens, the rows $x$ and $y$, let $W = W_1 W_2^\top$:
# $$x\, W\, y^\top = x\, W_1 W_2^\top y^\top = (x W_1) \cdot (y W_2)$$
# This is a dot product again, of two projections. Multi-head attention does just that: the query of head $i$ is $x W_i^Q$, and the key is $y W_i^K$. So a head *is* a general score, and inside a head $W$ can compute nothing new: $(x W_i^Q)\, W = x\, (W_i^Q W)$. Three scores are left. -->
#
# With $W = I$ "general" is the dot product. Can another $W$ do more? For two tokens, the rows $x$ and $y$, let $W = W_1 W_2^\top$:
#
# $$x\, W\, y^\top = x\, W_1 W_2^\top y^\top = (x W_1) \cdot (y W_2)$$
#
# This is a dot product of two projections, as in multi-head attention: the query of head $i$ is $x W_i^Q$, and the key is $y W_i^K$. So a head *is* a
# general score, and inside a head $W$ can compute nothing new: $(x W_i^Q)\, W = x\, (W_i^Q W)$. Three scores are left.
#
# ## 12.3 Is concat another score?
#
# <!-- slide:
# "Concat" sets $q$ above $k$ and multiplies with a $W$ of $2 d_k$ rows.
# The upper rows meet only $q$, the lower ones only $k$:\
# $$W^\top [q; k] = \begin{bmatrix} W_q \\ W_k \end{bmatrix}^\top \begin{bmatrix} q \\ k \end{bmatrix} = W_q^\top q + W_k^\top k$$ -->
#
# "Concat" sets $q$ above $k$ and multiplies with a $W$ of $2 d_k$ rows. The upper rows meet only $q$, the lower ones only $k$:
#
# $$W^\top [q; k] = \begin{bmatrix} W_q \\ W_k \end{bmatrix}^\top \begin{bmatrix} q \\ k \end{bmatrix} = W_q^\top q + W_k^\top k$$
#
# So give additive's $W$ and $U$, one above the other, to "concat". Here are five scores of the same queries and keys, after the softmax; the fifth is
# additive without its tanh.
#
# <!-- slide: The third map is the fourth
# ![]
# So two scores are left of four: **dot** and **additive**, the two of Section 3.2.1. -->

# %%
rng = np.random.default_rng(0)
additive, concat = scoring.AdditiveScore(1, 8, rng=rng), scoring.ConcatScore(1, 8, rng=rng)
for parameter in (additive.W, additive.U, additive.v):
    parameter.value *= 3                                               # as training may do
concat.W.value[...] = np.concatenate([additive.W.value, additive.U.value], axis=1)    # (h, 2 d_k, d_a)
concat.v.value[...] = additive.v.value                                 # (h, d_a)
Q, K = rng.standard_normal((2, 1, 4, 8))                               # (h, T, d_k) each
a, b = (W.value @ additive.v.value[..., None] for W in (additive.W, additive.U))      # (h, d_k, 1) each
five = {"dot": Q @ K.mT, "general": scoring.GeneralScore(1, 8, rng=rng)(Q, K), "additive": additive(Q, K),
        "concat": concat(Q, K), "without tanh": Q @ a + (K @ b).mT}    # (h, T_q, T_k) each
fig = new_figure(7, 4.6)
axes = fig.subplots(2, 3).flat
axes[5].set_axis_off()
for ax, (name, scores) in zip(axes, five.items()):
    draw_map(ax, Softmax()(scores)[0], np.array(True), name)           # weights, a row for each query
fig.supxlabel("key", fontsize="medium")
fig.supylabel("query", fontsize="medium")
fig

# %% [markdown]
# The third map is the fourth. So two scores are left of four: **dot** and **additive**, the two of Section 3.2.1. <!-- result -->
#
# What is the tanh for? Without it the score is $a \cdot q + b \cdot k$ with two fixed vectors $a$ and $b$. The first part is the same for every key,
# and the softmax does not see it (Lesson 2). The second does not contain the query. So all rows of the last map are equal, whatever a token asks.

# %% [markdown]
# ## 12.4 Why does additive attention need no scale?
#
# <!-- slide:
# Because tanh is bounded? Then $|\mathrm{score}| \le \sum_a |v_a|$. Does this bound stay small as the width grows?
# For $q$ and $k$ with entries of variance 1, the matrices are drawn so that the sum inside the tanh has variance 1 as well. $v$ has $d_a$ entries of variance $1/d_a$ and mean 0, and they are independent, so the terms of the sum have no covariance:\
# $$\mathrm{Var}(\mathrm{score}) = \sum_{a=1}^{d_a} \mathrm{Var}(v_a)\, \mathbb{E}[\tanh^2 z] = d_a \cdot \frac{1}{d_a} \cdot \mathbb{E}[\tanh^2 z] = \mathbb{E}[\tanh^2 z], \qquad z \sim N(0, 1)$$ -->
#
# Because tanh is bounded? Then $|\mathrm{score}| \le \sum_a |v_a|$. Does this bound stay small as the width grows? For $q$ and $k$ with entries of
# variance 1, the matrices are drawn so that the sum inside the tanh has variance 1, too. $v$ has $d_a$ independent entries of variance $1/d_a$ and mean
# 0, so the terms of the sum have no covariance:
#
# $$\mathrm{Var}(\mathrm{score}) = \sum_{a=1}^{d_a} \mathrm{Var}(v_a)\, \mathbb{E}[\tanh^2 z] = d_a \cdot \frac{1}{d_a} \cdot \mathbb{E}[\tanh^2 z] = \mathbb{E}[\tanh^2 z], \qquad z \sim N(0, 1)$$
#
# > **Predict.** What is the variance of the additive score for $d_a = d_k = 256$?
# >
# > - About 0.4 → It is the mean of tanh²(z) at any width. <!-- true: 0.35 < variance["additive"][-1] < 0.45 and np.ptp(variance["additive"]) < 0.1 -->
# > - 1, that of z → The tanh presses every number towards zero.
# > - 256, as for the dot product → There are 256 terms here too, but how large is each?
# > - Nearly 0 → Each term is as small as 1/256, but there are 256 of them.
# >
# > <!-- given: $v$ has $d_a$ independent entries of mean 0 and variance $1/d_a$. The sum $z$ inside each tanh has variance 1. -->

# %%
widths = (4, 16, 64, 256)
variance = start_variances(widths, np.random.default_rng(0))
starts = [scoring.AdditiveScore(8192 // d, d, rng=rng).v.value for d in widths]
variance |= {"additive, bound": [np.abs(v).sum(axis=1).mean() for v in starts],
             "if Var(v) were 1": variance["additive"] * widths}        # the score is linear in v
print("d_k             ", *(f"{d:8}" for d in widths))
for name, values in variance.items():
    print(f"{name:16}", *(f"{value:8.2f}" for value in values))

# %% [markdown]
# <!-- answer:
# [print]
# The bound grows like $\sqrt{d_a}$, as the deviation of the dot product does. With $\mathrm{Var}(v) = 1$ the variance would grow, too, tanh or not. So it is the start of $v$: there stands the $1/\sqrt{d_k}$ of additive attention. -->
#
# The bound grows like $\sqrt{d_a}$, as the deviation of the dot product does. With $\mathrm{Var}(v) = 1$ the variance would grow, too, tanh or not. So it is the start of $v$: there stands the $1/\sqrt{d_k}$ of additive attention. <!-- result -->
#
# ## 12.5 What it costs
#
# Section 3.2.1 says that the dot product is much faster and needs less space, since it is a matrix product.
#
# > **Predict.** Take 32 queries and 32 keys of width 64, and $d_a = 64$. For its backward additive attention keeps `hidden`, the results of its tanh. How many times as many numbers is that as the map has?
# >
# > - As many → This is the score, when $v$ has added up the hidden units.
# > - Twice as many → The projections are made for tokens, not for pairs.
# > - 64 times as many → Each pair has d_a = 64 hidden units of its own. <!-- true: hidden.size // weights.size == 64 -->
# > - 1024 times as many → That is the number of pairs.
# >
# > <!-- given: $\mathrm{score}(q, k) = v^\top \tanh(W^\top q + U^\top k)$, with 32 queries, 32 keys, and $d_k = d_a = 64$. -->

# %%
Q, K, V = rng.standard_normal((3, 1, 32, 64))                          # (h, T, d_k) each
_, additive_cache = scoring.additive_attention(1, 64, 64, rng).forward(Q, K, V)
hidden, weights = additive_cache.score.pair_tanh.hidden, additive_cache.weights
print("hidden", hidden.shape, " weights", weights.shape)

# %% [markdown]
# <!-- answer: The dot product keeps one number for each pair, the weight
# [print]
# Its products $q_a k_a$ are summed up inside the matrix product and never stored. -->
#
# The dot product keeps one number for each pair, the weight. Its products $q_a k_a$ are summed inside the matrix product, never stored. <!-- result -->
#
# The experiment `additive_cost` measures both passes, over those of the dot product. Green: the dot product itself, summed pair by pair.
#
# <!-- slide: For 64 tokens of width 256 additive attention takes more than 50 times as many bytes
# ![]
# The green line is well above 1, too: the matrix product is a reason. -->

# %%
cost = ADDITIVE_COST.run(n=(16, 32, 64, 128), d_k=(4, 16, 64, 256), repeats=5)
fig = cost.figure()
fig.set_size_inches(8, 4.6)
fig

# %% [markdown]
# For 64 tokens of width 256 additive attention takes more than 50 times as many bytes. The green line is well above 1, too: the matrix product is a
# reason. <!-- result -->

# %% [markdown]
# ## 12.6 All of them in the same Transformer
#
# `Transformer(attention=...)` takes a factory; all but the score stays equal. The task is to copy up to 5 symbols, with 2 heads and $d_k = 64$.
#
# > **Predict.** Five scores, 200 steps. How large is the dot product's loss at the end *without* its scale, against that with it?
# >
# > - About a quarter more → Nothing divides its scores, and 64 products are added up.
# > - Twice to five times as large → Its scores are eight times as large, so its softmax starts out sure (Lesson 3.3). <!-- true: 2 < last["dot"] / last["scaled dot"] < 5 -->
# > - More than ten times, it learns nothing → Its scores are too large at the start, and training can make them smaller.
# >
# > <!-- given: A Transformer of one layer with 2 heads and $d_k = 64$ learns to copy up to 5 symbols. -->

# %%
task = CopyTask(symbols=6, max_length=5)
factories = {"scaled dot": None, "dot": scoring.dot_attention, "general": scoring.general_attention,
             "concat": scoring.concat_attention, "additive": scoring.additive_attention}

def train_with(factory, parts=(), times=1):                            # (seeds, steps) losses
    models = [small_model(task, seed, h=2, d_k=64, attention=factory) for seed in range(3)]
    for name, parameter in (pair for model in models for pair in model.named_parameters()):
        if name.endswith(parts):                                       # starts so many times as large
            parameter.value *= np.float32(times)
    return np.array([losses(m, task, seed, steps=200, batch_size=16) for seed, m in enumerate(models)])

curves = {name: train_with(factory) for name, factory in factories.items()}

# %%
ends = {name: curve[:, -25:].mean(axis=1) for name, curve in curves.items()}     # (seeds,)
last = {name: np.median(end) for name, end in ends.items()}
ax = new_figure(6.5, 3.4).subplots()
for i, (name, curve) in enumerate(curves.items()):
    tens = curve.reshape(3, -1, 10).mean(axis=2)                       # (seeds, steps / 10)
    draw_population(ax, 12, name, color=COLORS[i], alpha=0.5)          # eight seeds, measured before
    ax.plot(range(10, 201, 10), np.median(tens, axis=0), color=COLORS[i], marker=MARKERS[i], markevery=4, label=name)
ax.set(xlabel="step", ylabel="loss, nats, mean of ten steps", ylim=0, title="eight seeds (thin), and the median of your three")
ax.legend()
ax.figure

# %% [markdown]
# <!-- answer: Without its scale the dot product learns most slowly
# ![]
# Concat and additive are the same function, and learn alike. -->
#
# Without its scale the dot product learns most slowly, in the median. <!-- result -->
#
# Now change the *start* alone: shrink $W^Q$ and $W^K$ until the dot product starts as small as the scaled one; give $v$ variance 1.

# %%
Q_and_K = "linear_Q.W", "linear_K.W"
changed = {"dot, scores start small": (scoring.dot_attention, Q_and_K, 64**-0.25),
           "scaled dot, start as large": (None, Q_and_K, 64**0.25),
           "additive, Var(v) = 1": (scoring.additive_attention, "score.v", 64**0.5)}
ends |= {name: train_with(*change)[:, -25:].mean(axis=1) for name, change in changed.items()}
for name in ("scaled dot", "dot", *changed, "additive"):
    print(f"{name:26} {min(ends[name]):.2f} to {max(ends[name]):.2f}")

# %% [markdown]
# <!-- slide: At this width a small start does without the scale
# [print]
# A large $v$ spoils additive attention. -->
#
# With a small start the dot product needs no scale at this width. With a large $v$ additive attention falls behind. The scale does more than make the
# start small: with a start as large the scaled dot product is still ahead. <!-- result -->
#
# The experiment `additive` trains three scores with five seeds at two widths:
#
# <!-- slide:
# The experiment `additive` trains three scores with five seeds at two widths:\
# ![]
# With wide heads the dot product without its scale falls behind in the median, as Section 3.2.1 says. -->

# %%
if Path("../figures/additive.json").exists():                          # what the whole experiment found
    result = ADDITIVE.load("../figures")
else:                                                                  # a small one, in seconds
    result = ADDITIVE.run(rate_scale=(0.2,), steps=40, seeds=(0, 1))
ax = new_figure(6.5, 3.4).subplots()
for name, label, i in (("scaled", "scaled dot", 0), ("dot", "dot", 1), ("additive", "additive", 4)):
    draw_spread(ax, result.d_k, result.loss[name], label, i)
ax.set(xscale="log", xlabel="$d_k$, width of a head", ylabel="loss at the end, nats", ylim=0,
       title="lines: median of the seeds; bands: all seeds")
log_ticks(ax.xaxis, result.d_k)
ax.legend()
ax.figure

# %% [markdown]
# With wide heads the dot product without its scale falls behind in the median, as Section 3.2.1 says; the seeds differ so much that the gallery (claim 3)
# calls it not settled. With the scale, the paper's choice, its loss on this small task ends about as low as that of additive attention, in the median. <!-- result -->
#
# ## 12.7 A score of your own
#
# <!-- slide:
# Let closeness count: the nearer a key lies to the query, the better it answers.
# Multiply out:\
# $$\mathrm{score}(q, k) = -\frac{\lVert q - k \rVert^2}{2 \sqrt{d_k}} = \frac{q \cdot k}{\sqrt{d_k}} - \frac{\lVert k \rVert^2}{2 \sqrt{d_k}} - \frac{\lVert q \rVert^2}{2 \sqrt{d_k}}$$ -->
#
# <!-- slide:
# The last term is the same for all keys, and the softmax does not see it. What is new against the paper's score is the middle one: a long key pays for its length. (Kim et al., 2021, studied such a score.)\
# **Forward.** Square with `Q * Q`, not with `abs`: the gradient check sends complex numbers through the forward (Lesson 4.5), and $|z|^2$ has no complex derivative.\
# **Backward.** For the score $s_{ij}$ of one pair $\partial s_{ij} / \partial q_i = (k_j - q_i) / \sqrt{d_k}$, and for $k_j$ the same with the other sign. Query $i$ is in the scores of all keys, and key $j$ in those of all queries, so sum up. With $g_{ij} = \mathrm{grad\_scores}_{ij} / \sqrt{d_k}$\
# $$\mathrm{grad\_Q}_i = \sum_j g_{ij} K_j - \Big(\sum_j g_{ij}\Big) Q_i, \qquad \mathrm{grad\_K}_j = \sum_i g_{ij} Q_i - \Big(\sum_i g_{ij}\Big) K_j$$ -->
#
# Let closeness count: the nearer a key lies to the query, the better it answers. Multiply out:
#
# $$\mathrm{score}(q, k) = -\frac{\lVert q - k \rVert^2}{2 \sqrt{d_k}} = \frac{q \cdot k}{\sqrt{d_k}} - \frac{\lVert k \rVert^2}{2 \sqrt{d_k}} - \frac{\lVert q \rVert^2}{2 \sqrt{d_k}}$$
#
# The last term is the same for all keys, so the softmax does not see it. New against the paper's score is the middle one: a long key pays for its
# length (Kim et al., 2021, studied such a score).
#
# **Forward.** Square with `Q * Q`, not with `abs`: the check sends complex numbers through the forward (Lesson 4.5), and $|z|^2$ has no complex
# derivative.
#
# **Backward.** For the score $s_{ij}$ of one pair $\partial s_{ij} / \partial q_i = (k_j - q_i) / \sqrt{d_k}$, and for $k_j$ the same with the other
# sign. Query $i$ is in the scores of all keys, key $j$ in those of all queries: sum up. With $g_{ij} = \mathrm{grad\_scores}_{ij} / \sqrt{d_k}$
#
# $$\mathrm{grad\_Q}_i = \sum_j g_{ij} K_j - \Big(\sum_j g_{ij}\Big) Q_i, \qquad \mathrm{grad\_K}_j = \sum_i g_{ij} Q_i - \Big(\sum_i g_{ij}\Big) K_j$$

# %%
class DistanceScore(Module):
    """score(q, k) = -|q - k|^2 / (2 sqrt(d_k))"""

    def forward(self, Q, K):
        of_q = (Q * Q).sum(axis=-1)[..., :, None]                      # (..., T_q, 1)  |q|²
        of_k = (K * K).sum(axis=-1)[..., None, :]                      # (..., 1, T_k)  |k|²
        scores = (Q @ K.mT - of_q / 2 - of_k / 2) / math.sqrt(Q.shape[-1])    # (..., T_q, T_k)
        return scores, Cache(Q=Q, K=K)

    def backward(self, grad_scores, cache):
        g = grad_scores / math.sqrt(cache.Q.shape[-1])                 # (..., T_q, T_k)
        grad_Q = g @ cache.K - g.sum(axis=-1)[..., None] * cache.Q     # (..., T_q, d_k)
        grad_K = g.mT @ cache.Q - g.sum(axis=-2)[..., None] * cache.K  # (..., T_k, d_k)
        return grad_Q, grad_K

# %% [markdown]
# Somebody in a hurry forgot the second term of `grad_Q`. **Check** both scores alone.
#
# <!-- slide:
# Somebody in a hurry forgot the second term of `grad_Q`. **Check** both scores alone.\
# [code]
# [print] -->

# %% show=[1, 2, 3, 4, 6, 7]
class Hurried(DistanceScore):
    def backward(self, grad_scores, cache):
        _, grad_K = super().backward(grad_scores, cache)
        return grad_scores @ cache.K / math.sqrt(cache.Q.shape[-1]), grad_K

Q, K = rng.standard_normal((2, 1, 4, 6))                               # (h, T, d_k) each
V = rng.standard_normal((1, 4, 3))                                     # (h, T_k, d_v)
for score in (DistanceScore(), Hurried()):
    print(f"{type(score).__name__:14} passes: {bool(check_gradients(score, Q, K))}")

# %% [markdown]
# > **Predict.** Now the whole attention with the *hurried* score, `ScoredAttention(Hurried())`. What does the check say?
# >
# > - `grad_Q` is wrong → It was wrong when the score stood alone.
# > - `grad_Q` and `grad_K` are wrong → `grad_K` has both its terms.
# > - `grad_Q` is wrong only where a key is long → The forgotten term holds no key, only a sum of gradients and the query.
# > - All gradients agree → Each row of the softmax's gradient sums to zero, and so the forgotten term is zero. <!-- true: bool(in_attention) -->
# >
# > <!-- given: $\mathrm{score}(q, k) = -\lVert q - k \rVert^2 / (2 \sqrt{d_k})$. Its $\mathrm{grad\_Q}_i = \sum_j g_{ij} K_j - (\sum_j g_{ij}) Q_i$ lost the second term. Checked alone, it is wrong. -->

# %% show=[]
in_attention = check_gradients(scoring.ScoredAttention(Hurried()), Q, K, V)
print("passes:", bool(in_attention))

# %% [markdown]
# <!-- answer:
# [print]
# The check is right: the rows of the softmax's gradient sum to zero (Lesson 4.4), so $\sum_j g_{ij} = 0$ and the forgotten term vanishes. Still, check a layer by itself: without a softmax above, the hurried one is wrong. -->
#
# The rows of the softmax's gradient sum to zero (Lesson 4.4), so $\sum_j g_{ij} = 0$ and the forgotten term vanishes. Still, check a layer by itself:
# without a softmax above, the hurried one is wrong. <!-- result -->
#
# **Plug it in.** A factory takes `h`, `d_k`, `d_v` and `rng`.
#
# <!-- slide: It learns to copy
# A factory takes `h`, `d_k`, `d_v` and `rng`.\
# [code]
# [print] -->

# %% show=[1, 2, 4]
def distance_attention(h, d_k, d_v, rng):
    return scoring.ScoredAttention(DistanceScore())

curve = train_with(distance_attention)
print(f"loss at the end: distance {np.median(curve[:, -25:].mean(axis=1)):.2f}, scaled dot {last['scaled dot']:.2f}")

# %% [markdown]
# It learns to copy. <!-- result -->
#
# ## 12.8 Yours: a small start at another width
#
# <!-- slide: Write your number down, then measure
# At width 64 a small start does without the scale. At every width? Change the width alone: $d_k = 256$, for the scaled dot product, and for the dot product whose $W^Q$ and $W^K$ start $256^{-1/4}$ times as large. Divide the median loss at the end of the second by that of the first. What do you get? -->
#
# At width 64 a small start does without the scale. At every width? Change the width alone: $d_k = 256$, for the scaled dot product, and for the dot
# product whose $W^Q$ and $W^K$ start $256^{-1/4}$ times as large. Divide the median loss at the end of the second by that of the first. What do you
# get?

# %% show=false
from aiayn_course.exercises import judge

predicted = 1.0                    # type your number first
# yours: the loss of the small start over that of the scaled dot product
def loss_at_256(factory, times):
    models = [small_model(task, seed, h=2, d_k=256, attention=factory) for seed in range(3)]
    for name, parameter in (pair for model in models for pair in model.named_parameters()):
        if name.endswith(("linear_Q.W", "linear_K.W")):
            parameter.value *= np.float32(times)
    found = [losses(m, task, seed, steps=200, batch_size=16)[-25:].mean() for seed, m in enumerate(models)]
    return np.median(found)

measured = loss_at_256(scoring.dot_attention, 256**-0.25) / loss_at_256(None, 1)
judge(12, predicted, measured)

# %% [markdown]
# More than twice as large: at this width a small start does not do all that the scale does. (We guess: a step of Adam is as large for small
# numbers, and without the scale it moves a score farther. Try a smaller rate for $W^Q$ and $W^K$.) <!-- result -->
#
# ## 12.9 Check what this lesson claimed

# %%
assert np.array_equal(five["additive"], five["concat"])
assert cost.memory_d[-1] > 50                                          # times as many bytes
assert min(ends["dot"]) > 1.5 * max(*ends["scaled dot"], *ends["dot, scores start small"])   # the start
assert max(ends["scaled dot, start as large"]) < min(ends["dot"])      # the scale does more
assert min(ends["additive, Var(v) = 1"]) > 1.5 * max(ends["additive"])
assert curve[:, -25:].mean() < 1                                       # the distance learns
assert not check_gradients(Hurried(), Q, K)
print("all true")

# %% [markdown]
# ## Summary
#
# - Four scores, two ideas: a product of $q$ and $k$, or a small network that adds them. "General" is what the projections
#   of multi-head attention do already; "concat" is "additive".
# - Additive needs a bend, here the tanh, else it cannot depend on the query. It needs no scale, since $v$ starts with variance $1/d_a$; so the
#   variance of the score is about 0.4 at every width.
# - It pays with $d_a$ numbers for each pair where the dot product keeps one, and with time.
#
# **What you can do now:** write a score of your own, check its backward, and plug it into the whole model.
#
# ## Questions
#
# **1.** Give the additive score two biases: $v^\top \tanh(W^\top q + U^\top k + b) + c$. Which of them can change the weights?
#
# <details><summary>Answer</summary>
#
# $b$ can: it moves every pair along the tanh, which bends, so not all scores change alike. $c$ is added to all scores of a query alike: the softmax
# does not see it.
#
# </details>
#
# **2.** A batch of 8 sequences of 1024 tokens, 8 heads, $d_a = 64$, float32 (4 bytes). How much memory do the maps of one
# attention need, and how much `hidden`?
#
# <details><summary>Answer</summary>
#
# There are $8 \cdot 8 \cdot 1024^2$, about 67 million pairs. The maps are 4 bytes for each: 268 MB. `hidden` is 64 times as large: about 17 GB, for one
# attention of one layer.
#
# </details>
#
# **3.** Make "general" antisymmetric, $W^\top = -W$, and let $q = k = x$. What score does each token give to itself? And if $i$
# likes $j$, what does $j$ think of $i$?
#
# <details><summary>Answer</summary>
#
# Each token gives itself the score 0: $x^\top W x$ is a number, so it equals its transpose $x^\top W^\top x = -x^\top W x$. And $s_{ji} = -s_{ij}$:
# what one likes is disliked back. With $W^Q \ne W^K$ attention is free of this: one more way to see why there are two matrices (Lesson 1.8).
#
# </details>
