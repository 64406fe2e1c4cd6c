# %% [markdown]
# # Lesson 6 · Many heads: split, attend, concatenate
#
# | | |
# |---|---|
# | **You will do** | ask one head two questions and get a useless answer; split a matrix into heads and merge it again, rightly and wrongly; train layers of 1 to 16 heads on a job that needs four |
# | **You will learn** | what several heads buy and what they cost; why one big projection is $h$ small ones; why a key bias is useless; why a head can be too narrow |
# | **You need** | Lesson 1; from Lesson 2 that softmax ignores a common shift; for Lesson 6.5, Lesson 6.7 and Lesson 6.8 what a backward is (Lesson 4) |
# | **Paper** | Section 3.2.2, Figure 2 (right), Table 3 (A) and (B) |
# | **Time** | 40 minutes, without Lesson 6.9, which is *for the keen* |
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
    Adam,
    MultiHeadAttention,
    ScaledDotProductAttention,
    check_gradients,
    plot_attention,
)
from aiayn_np.experiments.claims.heads_cost import HEADS_COST
from aiayn_np.multi_head import merge_heads, split_heads
from aiayn_np.plotting.drawings import SENTENCE, figure_1, heads_split
from aiayn_np.plotting.figures import COLORS, MARKERS, new_figure
from aiayn_np.training.threads import blas_threads

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# The lit boxes of Figure 1 are called **multi-head** attention. This lesson opens one of them.

# %%
figure_1("attention")

# %% [markdown]
# ## 6.1 One softmax, two wishes
#
# `dog bites man` is not `man bites dog`. To tell the two apart, `bites` has to know who stands before it *and* who stands
# after it. Let the key of each token say where it stands, and let its value say who it is.

# %%
who = {"dog": [1.0, 0.0], "bites": [0.0, 0.0], "man": [0.0, 1.0]}
K = 10 * np.eye(3)                          # (T_k, d_k)  "I stand first", "second", "third"
values = {s: np.array([who[w] for w in s.split()]) for s in ("dog bites man", "man bites dog")}
q = np.array([[1.0, 0.0, 1.0]])             # (1, d_k)    bites: "who is before me, who after me?"
attention = ScaledDotProductAttention()

# %% [markdown]
# > **Predict.** Which weights does one head give to the three keys? Do the outputs of the two sentences differ?

# %%
for sentence, V in values.items():
    out, cache = attention.forward(q, K, V)
    print(sentence, "  weights", cache.weights[0], "  output", out[0])

# %% [markdown]
# The head is asked two things at once, so it gives half of its weight to each of the two keys. The output is the mean of
# their values: a dog and a man, and it does not say who bites. Section 3.2.2 names this averaging as the reason for
# several heads. With unequal weights one could tell the two sentences apart, but the answers would still be mixed into
# one vector. Two heads ask one question each, and their answers are put side by side. (So the output is twice as wide
# here. From Lesson 6.2 on, each head gets half of the width.)

# %%
q_before, q_after = np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 0.0, 1.0]])
for sentence, V in values.items():
    heads = [attention(q_before, K, V), attention(q_after, K, V)]       # (1, d_v) each
    print(sentence, "  Concat(head_1, head_2)", np.concatenate(heads, axis=-1)[0])

# %% [markdown]
# ## 6.2 Split and merge
#
# So $h$ heads need $h$ sets of queries, keys and values. The library computes one wide matrix and splits it. The drawing
# shows our sentence with `d_model` = 6 and $h$ = 2 heads. A number in a cell names its place: 23 is token 2, feature 3,
# both counted from 0.

# %%
heads_split()

# %% [markdown]
# Do the same with a smaller matrix, whose numbers name their places in the same way.

# %%
T, h, d_k = len(SENTENCE), 2, 2
x = np.array([[10.0 * t + f for f in range(h * d_k)] for t in range(T)])    # (T, h d_k)
print(x)
print(split_heads(x, h))                                                # (h, T, d_k)

# %% [markdown]
# Every head keeps *all tokens* and gets *some of the features*: head 1 gets the features 0 and 1, head 2 gets the rest.
# These are the two functions:

# %%
print(inspect.getsource(split_heads))
print(inspect.getsource(merge_heads))

# %% [markdown]
# `split_heads` has two steps. `reshape` splits the last axis into (h, d_k), so that the shape is (T, h, d_k). `swapaxes`
# moves the head in front of the tokens, (h, T, d_k), so that `Q @ K.mT` multiplies inside each head. `merge_heads` goes
# back.

# %%
print(x.reshape(T, h, d_k).shape, "->", x.reshape(T, h, d_k).swapaxes(-2, -3).shape)
print("merged again, equal:", np.array_equal(merge_heads(split_heads(x, h)), x))

# %% [markdown]
# The classic mistake is to reshape to the final shape at once. The shape is right, and no later line fails.
#
# > **Predict.** In `x.reshape(h, T, d_k)`, which tokens does the second head have?

# %%
wrong = x.reshape(h, T, d_k)                                            # (h, T, d_k) too!
print(wrong)

# %% [markdown]
# The second head has all features of `sat` and `down`, and nothing of `the` and `cat`. Such "heads" divide the *sequence*.
# To see it, change token 0 and look at which outputs change:

# %%
other = x.copy()
other[0] += 5                                                           # another token 0
splits = {"split_heads": (lambda a: split_heads(a, 2), merge_heads),
          "wrong       ": (lambda a: a.reshape(2, T, d_k), lambda a: a.reshape(T, 2 * d_k))}
for name, (split, merge) in splits.items():
    one, two = (merge(attention(split(a), split(a), split(a))) for a in (x / 40, other / 40))   # / 40: small scores, no one-hot rows
    print(name, " change at each token:", np.abs(one - two).max(axis=-1))

# %% [markdown]
# With the wrong split, `sat` and `down` never learn anything of `the`.
#
# ## 6.3 One big projection is h small ones
#
# The paper writes (Section 3.2.2)
#
# $$\mathrm{head}_i = \mathrm{Attention}(Q W_i^Q,\ K W_i^K,\ V W_i^V), \qquad \mathrm{MultiHead}(Q, K, V) = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O .$$
#
# The class has no $W_i^Q$. It has one `linear_Q.W`, in which $W_1^Q, \dots, W_h^Q$ stand side by side as blocks of
# columns. Here is its source:

# %%
print(inspect.getsource(MultiHeadAttention.forward))

# %% [markdown]
# Its boxes are those of Figure 2 (right), from below to above. Each Linear is one product for all heads, and then comes
# `split_heads`. The attention of Lesson 1 is called once: its heads are a further axis in front, which every line of
# Equation 1 leaves alone. Concat is `merge_heads`, and the last Linear multiplies by $W^O$. Check the class with the loop of
# the formula.

# %%
rng = np.random.default_rng(0)
d_model, h, T = 16, 4, 5
layer = MultiHeadAttention(d_model, h, rng=rng)
x = rng.standard_normal((1, T, d_model))                                # (B, T, d_model)
y, cache = layer.forward(x, x, x)
for name, parameter in layer.named_parameters():
    print(name, parameter.value.shape)

# %%
W_Q, W_K, W_V, W_O = (p.value for p in layer.parameters())
d_k = d_v = d_model // h
heads = []
for i in range(h):
    block = slice(i * d_k, (i + 1) * d_k)                               # the columns of head i + 1
    heads.append(attention(x @ W_Q[:, block], x @ W_K[:, block], x @ W_V[:, block]))
by_loop = np.concatenate(heads, axis=-1) @ W_O                          # (B, T, d_model)
print("loop over heads against the class:", np.abs(by_loop - y).max())

# %% [markdown]
# The last product can be split as well. $W^O$ has a block of *rows* $W_i^O$ for each head, and
#
# $$\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O = \sum_i \mathrm{head}_i\, W_i^O .$$
#
# So each head *adds* its result to the output, through a matrix of its own.

# %%
by_sum = sum(head @ W_O[i * d_v : (i + 1) * d_v] for i, head in enumerate(heads))
print("sum over heads against the class: ", np.abs(by_sum - y).max())

# %% [markdown]
# The cache shows everything that forward keeps. Find the arrays with the head as second axis, (B, h, T, d_k), and the map
# (B, h, T_q, T_k).

# %%
print(cache)

# %% [markdown]
# Because the output is a sum, heads have no order. Exchange whole heads, the columns of the three $W$ together with the
# rows of $W^O$:

# %%
order = np.arange(d_model).reshape(h, d_k)[[2, 0, 3, 1]].ravel()        # heads 3, 1, 4, 2
shuffled = MultiHeadAttention(d_model, h, rng=rng)
for p, value in zip(shuffled.parameters(), (W_Q[:, order], W_K[:, order], W_V[:, order], W_O[order])):
    p.value[...] = value
print("heads in another order, difference:", np.abs(shuffled(x, x, x) - y).max())

# %% [markdown]
# So "head 3 does this" is true of one trained model only. With another seed another head may do it.
#
# ## 6.4 What do heads cost?
#
# > **Predict.** With $d_k = d_v = d_\mathrm{model} / h$: how many parameters does the layer have with $d_\mathrm{model} = 512$ and 1, 8 or 64 heads?

# %%
layers = [MultiHeadAttention(512, heads, rng=rng) for heads in (1, 8, 64)]
print(f"4 · 512² = {4 * 512**2:,}")
for wide in layers:
    size = sum(p.value.size for p in wide.parameters())
    print(f"h = {wide.h:2}  d_k = {wide.d_k:3}  parameters {size:,}")

# %% [markdown]
# The layer always has $4\, d_\mathrm{model}^2$ parameters, since $h\, d_k = d_\mathrm{model}$: three projections and $W^O$.
# The products $QK^\top$ and "weights times $V$" cost $h \cdot T^2 d_k = T^2 d_\mathrm{model}$ multiply-adds each, whatever
# $h$ is. But the number of *scores* grows, $h\, T^2$, and each score goes through the softmax. The experiment
# `heads_cost` measures the time with $d_\mathrm{model} = 512$. Here it runs with 64 tokens. On a busy machine the times
# are rough.

# %%
cost = HEADS_COST.run(h=(1, 8, 16), n=(64,), repeats=7)
for heads, time, scores in zip(cost.h, cost.ratio[1, 0], cost.scores[0]):
    print(f"{heads:2} heads: {time:.2f} times the time of one, {scores:,} scores")

# %% [markdown]
# All heads together take about as long as one: "similar" is the paper's word. At 64 tokens the time hardly shows that
# the scores grow. With 512 tokens and 32 heads it does (claim 4 of the gallery).
#
# ## 6.5 What a bias would do, and why a key bias is useless
#
# The projections of the paper have no biases. The paper gives no reason, and many later models have all four
# (Lesson 15.2). For the keys a bias is useless. With a bias $b$, the score of query
# $q$ for key $k_j$ is $q \cdot (k_j + b) = q \cdot k_j + q \cdot b$ (the scale changes nothing here). The second term is
# the same for every key $j$, so the softmax over $j$ does not see it.
#
# > **Predict.** A layer with biases gets a random key bias. By how much does its output change? What is the
# > gradient with respect to this bias?

# %%
biased = MultiHeadAttention(d_model, h, bias=True, rng=rng)
before = biased(x, x, x)
biased.linear_K.b.value[...] = rng.standard_normal(d_model)
after, biased_cache = biased.forward(x, x, x)
print("change of the output:", np.abs(after - before).max())

# %%
biased.backward(rng.standard_normal(y.shape), biased_cache)
for name in ("linear_Q", "linear_K", "linear_V", "linear_O"):
    print(f"{name}.b  largest gradient {np.abs(getattr(biased, name).b.grad).max():.0e}")

# %% [markdown]
# The change of the output and the gradient of the key bias are zero but for rounding, so this parameter can never learn. A value bias is nearly as useless. Weights sum to 1,
# so it adds the same vector $b W^O$ to every output, and the bias of `linear_O` does this already:

# %%
biased.linear_V.b.value[...] = rng.standard_normal(d_model)
shift = biased(x, x, x) - after                                         # (B, T, d_model)
print("a value bias shifts the output by", np.abs(shift).max().round(2))
print("and differs between positions by ", np.ptp(shift, axis=1).max())

# %% [markdown]
# Of the three, only a query bias changes the map. It adds $b \cdot k_j$, which says "this key matters, whoever asks".
#
# ## 6.6 How narrow may a head be?
#
# More heads are narrower heads. The scores of one head are $QK^\top$ with $Q$ and $K$ of width $d_k$. As a matrix they have
# rank $d_k$ at most, however long the sequence is.
#
# > **Predict.** A head has $d_k = 1$, and there are 64 tokens. Each query has one favourite key, the key with the most weight. How many different keys are the favourite of some query?

# %%
T, ranks, favourites = 64, {}, {}
for d_k in (1, 2, 4, 16, 64):
    Q, K = rng.standard_normal((2, T, d_k))                             # (T, d_k) each
    weights = attention.forward(Q, K, K)[1].weights                     # (T_q, T_k)
    favourites[d_k] = len(set(weights.argmax(axis=1)))
    ranks[d_k] = np.linalg.matrix_rank(Q @ K.T)
for d_k in ranks:
    print(f"d_k = {d_k:2}  rank of the scores {ranks[d_k]:2}  different favourites {favourites[d_k]}")

# %% [markdown]
# Two keys are favourites. With $d_k = 1$ the score is a product of two numbers, $q_i k_j$. A positive query prefers the
# largest key, a negative query prefers the smallest, and no other key is ever first. In two dimensions only the keys on
# the outer edge of the cloud can win, and neighbours on this edge get nearly the same weight. With more dimensions more
# keys lie on the edge. (With 64 dimensions the number is due to chance: 64 queries that choose freely among 64 keys do
# not choose them all.) So a head needs width if every token should be found by its own query. Table 3 (B) of the paper
# makes $d_k$ alone smaller, and the model gets worse.
#
# ## 6.7 Four jobs, h heads
#
# Now train. Twelve tokens stand on a circle. Each has 4 random numbers, its content, and a one-hot position. At each
# place the layer must output the contents of *four* neighbours: 2 before, 1 before, 1 after, 2 after.

# %%
T, places = 12, (-2, -1, 1, 2)


def neighbours(B, rng):
    content = rng.standard_normal((B, T, 4))
    position = np.broadcast_to(np.eye(T), (B, T, T))
    x = np.concatenate([content, position], axis=-1)                    # (B, T, 16)
    wanted = [np.roll(content, -place, axis=1) for place in places]     # (B, T, 4) each
    return x, np.concatenate(wanted, axis=-1)                           # (B, T, 16)


# %%
def fit(h, steps=3000, seed=0, **widths):
    rng = np.random.default_rng(seed)
    layer, errors = MultiHeadAttention(16, h, **widths, rng=rng), []
    optimizer = Adam(layer.parameters())                                # the optimizer of Lesson 10
    with blas_threads():                                                # one, as in the library's loop
        for _ in range(steps):
            x, wanted = neighbours(16, rng)
            layer.zero_grad()
            y, cache = layer.forward(x, x, x)
            errors.append(((y - wanted) ** 2).mean())                   # mean squared error
            layer.backward(2 * (y - wanted) / y.size, cache)
            optimizer.step(0.02)
    return cache, errors

# %% [markdown]
# A layer that always answers 0 has an error of 1, the variance of the content. Every layer has the same number of parameters. One head
# gives one weighted mean of contents at each place, so 4 numbers about the neighbours, and 16 are wanted.
#
# > **Predict.** Suppose that each head finds one neighbour perfectly and knows nothing of the others. Which error would 1, 2 and 4 heads then have?

# %%
trained = {h: fit(h) for h in (1, 2, 4, 8, 16)}
early = {h: np.mean(errors[280:300]) for h, (_, errors) in trained.items()}
final = {h: np.mean(errors[-100:]) for h, (_, errors) in trained.items()}
for h, error in final.items():
    print(f"h = {h:2}  d_k = {16 // h:2}  error after 300 steps {early[h]:.2f}, after 3000 {error:.2f}")

# %%
fig = new_figure(7, 4)
ax = fig.subplots()
for i, (h, (_, errors)) in enumerate(trained.items()):
    smooth = np.reshape(errors, (-1, 20)).mean(axis=1)                  # (150,)  means of 20 steps
    ax.plot(20 * np.arange(1, 151), smooth, color=COLORS[i], marker=MARKERS[i], markevery=15,
            label=f"h = {h}")
ax.set(xlabel="step", ylabel="mean squared error", ylim=(-0.03, 1.1), title="Four neighbours wanted")
ax.legend(loc="upper right", ncols=5)
fig

# %% [markdown]
# The simple rule says $1 - h/4$: 0.75, 0.5 and 0. One head ends near 0.7 and two heads end near 0.5. The rule is no strict
# limit: a head that mixes its neighbours cleverly can be a little better. Four heads solve the job. So for this job a
# head answers about one question. Width does not help here: the single head is 16 wide and may look as sharply as it likes.
#
# Eight heads are behind after 300 steps, but they solve the job in the end: they were only slow. It is different with 16
# heads. Each is 1 wide, so a query can prefer only the largest or the smallest key (Lesson 6.6), and 3000 steps did not
# help. But its values are 1 wide, too. Which of the two is the reason? Give the 16 heads queries and keys of width 4, and
# leave their values at width 1. Does the error fall now?

# %%
_, errors = fit(16, d_k=4, d_v=1)
wider = np.mean(errors[-100:])
print(f"h = 16  d_k =  4  d_v = 1  error after 3000 steps {wider:.0e}")

# %% [markdown]
# With wider queries and keys the 16 heads solve the job (all this with one seed). So it was the width of queries and
# keys: a head of $d_k = 1$ is too narrow to find its neighbour.
#
# Table 3 (A) of the paper has BLEU $24.9$ with 1 head, $25.8$ with 8 and with 16 heads, and $25.4$ with 32. (More is better,
# Lesson 14.5.) So one head is worse, and too many are worse too. Our job was *made* so that
# it needs four heads, and with 16 heads $d_k$ is 1, while the paper's narrowest head has 16. So it shows how both can happen, and
# not that they are the reason in translation. On the small tasks of this library one does not see it: the experiment
# `head_count` of the gallery does not find the shape of Table 3 (A). And trained translators often do well when most of
# their heads are taken away (Michel et al., 2019; Voita et al., 2019).
#
# Now look at the maps. The first picture shows the single head, which spreads its weight over several neighbours. For
# one head the loss is about the same whether it looks at one neighbour or at a mean of several. The second picture shows
# the four heads.

# %%
names = [str(t + 1) for t in range(T)]
plot_attention(trained[1][0].attention.weights[0], names, names, titles=["h = 1"])

# %%
plot_attention(trained[4][0].attention.weights[0], names, names, title="h = 4: each head looks somewhere else")

# %% [markdown]
# The four heads do different things. A line beside the diagonal is "1 after" or "1 before", and a line further out is "2
# after" or "2 before". (The tokens stand on a circle, so a line goes on in the opposite corner.) Nobody told a head what to do. The heads
# start at random, and presumably a head that is a little nearer to a job gets the gradient for it.
#
# ## 6.8 Backward
#
# Nothing new has to be derived. `split_heads` only moves numbers, so its backward moves the gradients back: it is
# `merge_heads`. The backward of `merge_heads` is `split_heads`. As linear maps they are each other's transpose:
# $\langle \mathrm{split}(a), b\rangle = \langle a, \mathrm{merge}(b)\rangle$, where the brackets mean the sum of the
# products of all entries. The rest is `Linear` and Lesson 4.

# %%
a, b = rng.standard_normal((5, 16)), rng.standard_normal((4, 5, 4))
left, right = (split_heads(a, 4) * b).sum(), (a * merge_heads(b)).sum()
print(left, right)

# %%
x_Q, x_K, x_V = rng.standard_normal((2, 3, 16)), *rng.standard_normal((2, 2, 5, 16))
report = check_gradients(MultiHeadAttention(16, 4, rng=rng), x_Q, x_K, x_V)
print(report)

# %% [markdown]
# ## 6.9 For the keen: try it in a trained model
#
# Are all heads needed? The next page lets you mute them: a muted head adds nothing to the output.
#
# > **Predict.** A model with two layers of four heads reverses `3 1 4 1 5 9 2 6`. One head of its encoder-decoder attention in layer 2 is muted, each in its turn. In how many of the four cases is the answer still right? And with all four muted?
#
# Open [the reversing model](../docs/live/reverse.html#src=3+1+4+1+5+9+2+6&kind=cross&layer=1&head=0) and press "mute" below
# a head. Then choose "Decoder self-attention" and mute the heads of layer 1.
# If the page is not there yet, `python docs/make_live_pages.py` makes it in about four minutes.

# %% [markdown]
# In our model all four answers are right: each of these heads does work that the others do as well. With all four muted
# the answer is wrong from its first symbol on. In the decoder's self-attention of layer 1 the heads cannot stand in for each other: without head 3 the answer ends one
# symbol too early. (A training on another machine may share the jobs out in another way.) Lesson 11.7 counts this over
# many sequences.

# %% [markdown]
# ## 6.10 Check what this lesson claimed

# %%
assert np.abs(by_loop - y).max() < 1e-12                # one big projection = h small ones
assert np.abs(by_sum - y).max() < 1e-12                 # Concat W^O = sum of head_i W_i^O
assert np.abs(shuffled(x, x, x) - y).max() < 1e-12      # heads have no order
assert np.abs(after - before).max() < 1e-12             # a key bias does nothing
assert np.abs(biased.linear_K.b.grad).max() < 1e-12 < np.abs(biased.linear_Q.b.grad).max()
assert favourites[1] == 2
assert final[1] > 0.6 > final[2] > 0.3 > 0.1 > final[4]     # h heads, h answers
assert early[8] > 0.2 > 0.1 > final[8]                  # eight are only slow
assert final[16] > 0.5                                  # sixteen are too narrow
assert wider < 0.01                                     # it is the width of queries and keys
assert abs(left - right) < 1e-12
assert report
print("all true")

# %% [markdown]
# ## Summary
#
# - One head gives each query one weighted mean. A query that asks two things gets the answers mixed. Two heads answer two
#   questions and put the answers side by side.
# - Splitting divides the features, never the sequence: reshape to (T, h, d_k), then move h forward.
# - One projection of width $h\, d_k$ is $h$ projections side by side; $\mathrm{Concat}(\dots)W^O$ is a sum over heads, without order.
# - The layer has $4\, d_\mathrm{model}^2$ parameters and the same products for every $h$. Only the number of scores grows.
# - Too few heads must compromise. A head with queries and keys of width 1 can prefer only two keys: the scores have rank
#   $d_k$ at most.
#
# ## Questions
#
# **1.** $W^Q$ and $W^K$ of one head appear in the scores only as $W_i^Q (W_i^K)^\top$. Why then learn two matrices and not this one?
#
# <details><summary>Answer</summary>
#
# The product is a matrix of $d_\mathrm{model} \times d_\mathrm{model}$ with rank $d_k$ at most. In the base model it has
# $512 \cdot 512$ numbers for each head, and the two factors have $2 \cdot 512 \cdot 64$: four times fewer. And each score
# would be a dot product of width 512 instead of 64.
#
# </details>
#
# **2.** All heads of a layer start with the same numbers: $W_1^Q = W_2^Q = \dots$, likewise $K$, $V$ and $W_i^O$. What does training make of it?
#
# <details><summary>Answer</summary>
#
# Equal heads get equal gradients and stay equal for ever: $h$ copies of one narrow head. Only because of the random start
# can they become different.
#
# </details>
#
# **3.** After training you find that head 3 is not needed. How do you remove it, and what does the layer look like afterwards?
#
# <details><summary>Answer</summary>
#
# Set the rows $W_3^O$ to zero: the output is a sum over heads, and its term is gone. Or delete the columns of $W_3^Q, W_3^K, W_3^V$ and
# these rows: a layer with $h - 1$ heads of the same $d_k$. Then $h\, d_k$ is smaller than
# $d_\mathrm{model}$, which is allowed: `MultiHeadAttention(d_model, h - 1, d_k=d_k, d_v=d_v, rng=rng)`.
#
# </details>
