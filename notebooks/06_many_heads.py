# %% [markdown]
# # Lesson 6 · Many heads: split, attend, concatenate
#
# | | |
# |---|---|
# | **You will do** | ask one head two questions and get a useless answer; cut a matrix into heads and glue it together again, rightly and wrongly; train layers of 1, 2, 4 and 8 heads on a job that needs four |
# | **You will learn** | what several heads buy and what they cost; why one big projection is $h$ small ones; why a key bias is useless; why a head can be too narrow |
# | **You need** | Lesson 1; from Lesson 2 that softmax ignores a common shift; for Lesson 6.5, Lesson 6.7 and Lesson 6.8 what a backward is (Lesson 4) |
# | **Paper** | Section 3.2.2, Figure 2 (right), Table 3 (A) and (B) |
# | **Time** | 45 minutes |
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
    Adam,
    MultiHeadAttention,
    ScaledDotProductAttention,
    check_gradients,
    plot_attention,
)
from aiayn_np.experiments.heads_cost import HEADS_COST
from aiayn_np.multi_head import merge_heads, split_heads
from aiayn_np.plotting import COLORS, MARKERS, new_figure

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# ## 6.1 One softmax, two wishes
#
# `dog bites man` is not `man bites dog`. To tell them apart, `bites` has to know who stands before it *and* who stands
# after it. Let each token have a key that says where it stands, and a value that says who it is.

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
# Asked two things at once, the head gives each of the two keys half of its weight, and the output is their mean: a
# dog and a man, never mind who bites. This averaging is the reason that Section 3.2.2 gives for several heads. With
# unequal weights one could tell the two sentences apart, but the answers would still come mixed into one vector. Two
# heads ask one question each, and their answers are set side by side:

# %%
q_before, q_after = np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 0.0, 1.0]])
for sentence, V in values.items():
    heads = [attention(q_before, K, V), attention(q_after, K, V)]       # (1, d_v) each
    print(sentence, "  Concat(head_1, head_2)", np.concatenate(heads, axis=-1)[0])

# %% [markdown]
# ## 6.2 Split and merge
#
# So $h$ heads need $h$ sets of queries, keys and values. The library makes one wide matrix and cuts it up. To see
# which number goes where, name each number by its place: 23 is token 2, feature 3.

# %%
T, h, d_k = 3, 2, 2
x = np.array([[10.0 * t + f for f in range(h * d_k)] for t in range(T)])    # (T, h d_k)
print(x)
print(split_heads(x, h))                                                # (h, T, d_k)

# %% [markdown]
# Every head keeps *all tokens* and gets *some of the features*: head 1 the features 0 and 1, head 2 the rest.
# `split_heads` is two steps: `reshape` cuts the last axis, (T, h, d_k), and `swapaxes` moves the head in front of the tokens,
# (h, T, d_k), so that `Q @ K.mT` multiplies inside each head. `merge_heads` goes back.

# %%
print(x.reshape(T, h, d_k).shape, "->", x.reshape(T, h, d_k).swapaxes(-2, -3).shape)
print("merged again, equal:", np.array_equal(merge_heads(split_heads(x, h)), x))

# %% [markdown]
# The classic mistake is to reshape to the final shape at once. The shape is right, and no later line complains.
#
# > **Predict.** `x.reshape(h, T, d_k)`: which tokens has the second head?

# %%
wrong = x.reshape(h, T, d_k)                                            # (h, T, d_k) too!
print(wrong)

# %% [markdown]
# The second head has the second half of token 1's features, and all of token 2: it never meets token 0. Such "heads"
# divide the *sequence*. One sees it by changing token 0 and looking at which tokens' outputs move:

# %%
other = x.copy()
other[0] += 5                                                           # another token 0
splits = {"split_heads": (lambda a: split_heads(a, 2), merge_heads),
          "wrong       ": (lambda a: a.reshape(2, T, d_k), lambda a: a.reshape(T, 2 * d_k))}
for name, (split, merge) in splits.items():
    one, two = (merge(attention(split(a), split(a), split(a))) for a in (x / 10, other / 10))
    print(name, " change at each token:", np.abs(one - two).max(axis=-1))

# %% [markdown]
# With the wrong split, what happens at token 0 never reaches token 2.
#
# ## 6.3 One big projection is h small ones
#
# The paper writes (Section 3.2.2)
#
# $$\mathrm{head}_i = \mathrm{Attention}(Q W_i^Q,\ K W_i^K,\ V W_i^V), \qquad \mathrm{MultiHead}(Q, K, V) = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O .$$
#
# The class has no $W_i^Q$. It has one `linear_Q.W`, in which $W_1^Q, \dots, W_h^Q$ stand side by side as blocks of
# columns. Check it with the loop of the formula.

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
    block = slice(i * d_k, (i + 1) * d_k)                               # the columns of head i
    heads.append(attention(x @ W_Q[:, block], x @ W_K[:, block], x @ W_V[:, block]))
by_loop = np.concatenate(heads, axis=-1) @ W_O                          # (B, T, d_model)
print("loop over heads against the class:", np.abs(by_loop - y).max())

# %% [markdown]
# The last product can be cut as well. $W^O$ has a block of *rows* $W_i^O$ for each head, and
#
# $$\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O = \sum_i \mathrm{head}_i\, W_i^O .$$
#
# So what a head finds is *added* to the output, in directions of its own.

# %%
by_sum = sum(head @ W_O[i * d_v : (i + 1) * d_v] for i, head in enumerate(heads))
print("sum over heads against the class: ", np.abs(by_sum - y).max())

# %% [markdown]
# Here is everything the forward keeps. Find the shapes with the head as second axis, (B, h, T, d_k), and the map (B, h, T_q, T_k).

# %%
print(cache)

# %% [markdown]
# From the sum follows that heads have no order. Exchange whole heads, the columns of the three $W$ together
# with the rows of $W^O$:

# %%
order = np.arange(d_model).reshape(h, d_k)[[2, 0, 3, 1]].ravel()        # heads 3, 1, 4, 2
shuffled = MultiHeadAttention(d_model, h, rng=rng)
for p, value in zip(shuffled.parameters(), (W_Q[:, order], W_K[:, order], W_V[:, order], W_O[order])):
    p.value[...] = value
print("heads in another order, difference:", np.abs(shuffled(x, x, x) - y).max())

# %% [markdown]
# "Head 3 does this" is therefore true of one trained model. Another seed has it in another place.
#
# ## 6.4 What do heads cost?
#
# > **Predict.** With $d_k = d_v = d_\mathrm{model} / h$: how many parameters has the layer with $d_\mathrm{model} = 512$ and 1, 8, 64 heads?

# %%
layers = [MultiHeadAttention(512, heads, rng=rng) for heads in (1, 8, 64)]
print(f"4 · 512² = {4 * 512**2:,}")
for wide in layers:
    size = sum(p.value.size for p in wide.parameters())
    print(f"h = {wide.h:2}  d_k = {wide.d_k:3}  parameters {size:,}")

# %% [markdown]
# Always $4\, d_\mathrm{model}^2$, since $h\, d_k = d_\mathrm{model}$: three projections and $W^O$. The products
# $QK^\top$ and "weights times $V$" cost $h \cdot T^2 d_k = T^2 d_\mathrm{model}$ multiply-adds each, whatever $h$ is.
# What does grow is the number of *scores*, $h\, T^2$, and each goes through the softmax. The experiment `heads_cost` measures the
# time with $d_\mathrm{model} = 512$; here it runs with 64 tokens, and on a busy machine it is rough:

# %%
HEADS_COST.run(h=(1, 2, 4, 8, 16), n=(64,), repeats=7).figure()

# %% [markdown]
# ## 6.5 Why there is no bias, and why a key bias is useless
#
# The projections of the paper have no biases. For the keys nothing else would make sense. With a bias $b$, the score
# of query $q$ for key $k_j$ is (before the scale, which changes nothing here)
# $q \cdot (k_j + b) = q \cdot k_j + q \cdot b$. The second term is the same for every key $j$, so the softmax over $j$
# does not see it.
#
# > **Predict.** A layer with biases gets a random key bias. By how much does its output change? And what is the
# > gradient with respect to that bias?

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
# Zero but for rounding: a parameter that can never learn. The value bias is nearly as idle. Weights sum to 1, so it
# adds the same vector $b W^O$ to every output, which the bias of `linear_O` does already:

# %%
biased.linear_V.b.value[...] = rng.standard_normal(d_model)
shift = biased(x, x, x) - after                                         # (B, T, d_model)
print("a value bias shifts the output by", np.abs(shift).max().round(2))
print("and differs between positions by ", np.ptp(shift, axis=1).max())

# %% [markdown]
# Of the three, only a query bias changes the map: $b \cdot k_j$, "this key is of interest whoever asks".
#
# ## 6.6 How narrow may a head be?
#
# More heads are narrower heads. All scores of one head are $QK^\top$ with $Q$ and $K$ of width $d_k$, so as a matrix
# they have rank $d_k$ at most, however long the sequence.
#
# > **Predict.** A head with $d_k = 1$ and 64 tokens: each query has one favourite key, the one with the most weight. How many different keys are somebody's favourite?

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
# Two. With $d_k = 1$ the score is a product of two numbers, $q_i k_j$: a positive query likes the largest key best, a
# negative one the smallest, and nobody else is ever first. In two dimensions only the keys on the outer edge of the
# cloud can win, and those near each other on the edge get nearly the same weight. More width, more edge. (At the end it is
# chance: 64 queries that choose freely among 64 keys do not hit them all.) A head that is to find every token, each by
# its own query, needs room. Table 3 (B) of the paper makes $d_k$ alone smaller, and the model gets worse.
#
# ## 6.7 Four jobs, h heads
#
# Now train. The tokens stand on a circle of 12. Each has 4 random numbers, its content, and a one-hot position. The
# layer must output at each place the contents of the *four* neighbours: 2 before, 1 before, 1 after, 2 after.

# %%
T, places = 12, (-2, -1, 1, 2)


def neighbours(B, rng):
    content = rng.standard_normal((B, T, 4))
    position = np.broadcast_to(np.eye(T), (B, T, T))
    x = np.concatenate([content, position], axis=-1)                    # (B, T, 16)
    wanted = [np.roll(content, -place, axis=1) for place in places]     # (B, T, 4) each
    return x, np.concatenate(wanted, axis=-1)                           # (B, T, 16)


# %%
def fit(h, steps=300, seed=0):
    rng = np.random.default_rng(seed)
    layer, errors = MultiHeadAttention(16, h, rng=rng), []
    optimizer = Adam(layer.parameters())                                # the optimizer of Lesson 10
    for _ in range(steps):
        x, wanted = neighbours(32, rng)
        layer.zero_grad()
        y, cache = layer.forward(x, x, x)
        errors.append(((y - wanted) ** 2).mean())                       # mean squared error
        layer.backward(2 * (y - wanted) / y.size, cache)
        optimizer.step(0.02)
    return cache, errors

# %% [markdown]
# Doing nothing, output 0, has an error of 1: the variance of the content. Every layer has the same number of
# parameters. A head gives one weighted mean of contents, so 4 numbers about the neighbours, and 16 are wanted.
#
# > **Predict.** Down to which error do 1, 2 and 4 heads get? And 8?

# %%
trained = {h: fit(h) for h in (1, 2, 4, 8)}
final = {h: np.mean(errors[-20:]) for h, (_, errors) in trained.items()}
for h, error in final.items():
    print(f"h = {h}  d_k = {16 // h:2}  error {error:.2f}")

# %%
fig = new_figure(7, 4)
ax = fig.subplots()
for i, (h, (_, errors)) in enumerate(trained.items()):
    ax.plot(errors, color=COLORS[i], marker=MARKERS[i], markevery=50, label=f"h = {h}")
ax.set(xlabel="step", ylabel="mean squared error", ylim=(0, 1.1), title="Four neighbours wanted")
ax.legend(loc="upper right")
fig

# %% [markdown]
# One head stays near 3/4, two near 1/2, four get near 0: about $1 - h/4$. A head answers one question. It is not a
# matter of width: the single head is 16 wide and may look as sharply as it likes. Eight heads could do it, two for each
# neighbour. But each is 2 wide, aims badly and carries 2 of the 4 numbers, and after these 300 steps they are far behind
# four. Table 3 (A) of the paper has the same shape: 1 head is worse than 8, and so are 32.
#
# Now look. The first picture shows the one head, which spreads its weight over all four neighbours. That pays no
# better and no worse: a plain mean of four explains a quarter of each, one sharp look all of one, and the error is 3/4
# either way. The second shows the four heads.

# %%
names = [str(t + 1) for t in range(T)]
plot_attention(trained[1][0].attention.weights[0], names, names, titles=["h = 1"])

# %%
plot_attention(trained[4][0].attention.weights[0], names, names, title="h = 4: each head looks somewhere else")

# %% [markdown]
# The four heads have parted. A line beside the diagonal is "1 after" or "1 before", one further out is 2 (on a
# circle, so it comes in again in the corner). Nobody told head 2 what to do: they start at random, and whoever is a little nearer to a
# job gets the gradient for it. Where a head shares its weight between two places, $W^O$ takes differences of heads
# to separate them.
#
# ## 6.8 Backward
#
# Nothing new is to be derived. `split_heads` only moves numbers, so its backward moves the gradients back, and that
# is `merge_heads`; and the other way round. As linear maps they are each other's transpose:
# $\langle \mathrm{split}(a), b\rangle = \langle a, \mathrm{merge}(b)\rangle$. The rest is `Linear` and Lesson 4.

# %%
a, b = rng.standard_normal((5, 16)), rng.standard_normal((4, 5, 4))
left, right = (split_heads(a, 4) * b).sum(), (a * merge_heads(b)).sum()
print(left, right)

# %%
x_Q, x_K, x_V = rng.standard_normal((2, 3, 16)), *rng.standard_normal((2, 2, 5, 16))
report = check_gradients(MultiHeadAttention(16, 4, rng=rng), x_Q, x_K, x_V)
print(report)

# %% [markdown]
# ## 6.9 Check what this lesson claimed

# %%
assert np.abs(by_loop - y).max() < 1e-12                # one big projection = h small ones
assert np.abs(by_sum - y).max() < 1e-12                 # Concat W^O = sum of head_i W_i^O
assert np.abs(shuffled(x, x, x) - y).max() < 1e-12      # heads have no order
assert np.abs(after - before).max() < 1e-12             # a key bias does nothing
assert np.abs(biased.linear_K.b.grad).max() < 1e-12 < np.abs(biased.linear_Q.b.grad).max()
assert favourites[1] == 2
assert final[1] > 0.6 > final[2] > 0.3 > 0.1 > final[4]     # h heads, h answers
assert abs(left - right) < 1e-12
assert report
print("all true")

# %% [markdown]
# ## Summary
#
# - One head gives each query one weighted mean. A query that wants two things gets them mixed; two heads answer two
#   questions and set the answers side by side.
# - Splitting cuts the features, never the sequence: reshape to (T, h, d_k), then move h forward.
# - One projection of width $h\, d_k$ is $h$ projections side by side; $\mathrm{Concat}(\dots)W^O$ is a sum over heads, without order.
# - $4\, d_\mathrm{model}^2$ parameters and the same products whatever $h$; only the number of scores grows with $h$.
# - Too few heads must compromise, too narrow ones cannot aim: rank $\le d_k$.
#
# ## Questions
#
# **1.** $W^Q$ and $W^K$ of one head appear in the scores only as $W_i^Q (W_i^K)^\top$. Why then learn two matrices and not this one?
#
# <details><summary>Answer</summary>
#
# The product is $d_\mathrm{model} \times d_\mathrm{model}$, with rank $d_k$ at most. In the base model that would be $512 \cdot 512$ numbers
# for each head, against $2 \cdot 512 \cdot 64$ for the two factors: four times as many. And each score would be a dot
# product of width 512, not 64.
#
# </details>
#
# **2.** All heads of a layer start with the same numbers: $W_1^Q = W_2^Q = \dots$, likewise $K$, $V$ and $W_i^O$. What does training make of it?
#
# <details><summary>Answer</summary>
#
# Equal heads get equal gradients and stay equal for ever: $h$ copies of one narrow head. It is the random start that
# lets them part.
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
