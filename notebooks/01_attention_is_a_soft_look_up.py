# %% [markdown]
# # Lesson 1 · Attention is a soft look-up
#
# | | |
# |---|---|
# | **You will do** | look up a value in a dictionary, then soften the look-up until it can learn, first on paper with three tokens, then with the class at the heart of the Transformer |
# | **You will learn** | what queries, keys and values are; what the shapes of attention mean; what the three attentions of the paper ask, and whom |
# | **You need** | the dot product, matrix multiplication, a little Python |
# | **Paper** | Section 3.2, Equation 1, Section 3.2.3 |
# | **Time** | 40 minutes |
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

from aiayn_np import DecoderLayer, Linear, ScaledDotProductAttention, Softmax, plot_attention

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# ## 1.1 A hard look-up
#
# A dictionary holds **values** under **keys**. You come with a **query**. The dictionary compares the query with
# every key; one is equal, and you get its value.

# %%
legs = {"cat": 4.0, "bird": 2.0, "snake": 0.0}
print(legs["cat"])

# %% [markdown]
# The same with arrays. Each key is a row of `K`, its value the same row of `V`. Comparing is a dot product: it is 1
# for the equal key and 0 for the others, so the dot products, taken as weights of the values, pick one value out.

# %%
K = np.eye(3)                               # (3, 3)  the keys of cat, bird, snake
V = np.array([[4.0], [2.0], [0.0]])         # (3, 1)  how many legs
q = K[0]                                    # (3,)    the query: "cat"
matches = K @ q                             # (3,)    how well does each key answer it?
print("matches", matches)
print("value  ", matches @ V)

# %% [markdown]
# The dictionary is exact, and useless for learning in two ways. A query that equals no key finds nothing. And between
# "equal" and "not equal" there is no slope: no small change of a key makes the answer a little better, so there is
# no gradient to follow. The dot products already have a slope. What they lack is a guarantee: for other keys and
# queries they may be negative, or add up to anything, and are then no weights.

# %% [markdown]
# ## 1.2 Soft: every key answers a little
#
# So let keys and queries be any vectors, and let *every* value into the answer, each with a **weight** between 0
# and 1 that says how well its key matches. The weights shall add up to 1. That is three steps:
#
# 1. **score** $s_j = q \cdot k_j \,/\, \sqrt{d_k}$ for every key $j$ (why it is divided by $\sqrt{d_k}$ is Lesson 3),
# 2. **weights** $w = \mathrm{softmax}(s)$, that is $w_j = e^{s_j} / \sum_i e^{s_i}$,
# 3. **output** $\sum_j w_j\, v_j$, the mean of the values with these weights.
#
# Do it once with pen and paper. Three tokens, `the cat sat`, keys of width $d_k = 4$, so that
# $\sqrt{d_k} = 2$. The query comes from `sat` and asks: *who did it?*

# %%
tokens = ["the", "cat", "sat"]
K = np.array([[0.0, 1.0, 0.0, 0.0],         # (3, 4)  "I am an article"
              [1.0, 0.0, 0.0, 0.0],         #         "I can do things"
              [0.0, 0.0, 1.0, 0.0]])        #         "I am done by someone"
V = np.array([[0.0, 0.0],                   # (3, 2)  what each would tell: alive? has whiskers?
              [1.0, 1.0],
              [0.0, 0.0]])
q = np.array([2 * math.log(2), 0.0, 0.0, 0.0])   # (4,)  "who can do things?"

# %% [markdown]
# > **Predict.** Which score does `cat` get, and which the other two? What is the weight of `cat`? (A hint: $e^{\ln 2} = 2$ and $e^0 = 1$.)

# %%
d_k = K.shape[-1]
scores = K @ q / math.sqrt(d_k)             # (3,)
print("scores ", scores)

# %%
exp_scores = np.exp(scores)                 # (3,)
print("exp    ", exp_scores)
weights = exp_scores / exp_scores.sum()     # (3,)
print("weights", weights, " sum", weights.sum())

# %%
output = weights @ V                        # (2,)
print("output ", output)

# %% [markdown]
# The scores are $(0, \ln 2, 0)$, so the exponentials are $1, 2, 1$ and the weights $\tfrac14, \tfrac12, \tfrac14$.
# Half of the answer is what `cat` tells, and the other two halve the rest. It is a look-up that says "mostly".

# %% [markdown]
# ## 1.3 How soft? The size of the query decides
#
# A longer query in the same direction asks the same question more firmly.
#
# > **Predict.** The query is made 4 times as long. Is the weight of `cat` then below or above 0.9?

# %%
softmax = Softmax()
for length in (0, 1, 2, 4, 16):
    print(f"query × {length:2}   weights {softmax(length * K @ q / math.sqrt(d_k))}")

# %% [markdown]
# With the query × 4 the exponentials are $1, 2^4, 1$ and `cat` has $16/18$, just below 0.9. A query of length 0 asks
# nothing and gets the plain mean of all values; a very long one gets the hard look-up back. Everything between is
# soft, and there the answer moves when a key moves. That is the slope that was missing:

# %%
step = 1e-6
moved = K.copy()
moved[1, 0] += step                         # the key of "cat" a little further along the query
change = softmax(moved @ q / math.sqrt(d_k)) @ V - output
print("change of the output for each unit that the key moves:", change / step)

# %% [markdown]
# ## 1.4 All queries at once
#
# Each token asks its own question, so there are as many queries as tokens: a matrix $Q$, one row for each. One
# product scores every query against every key:
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V \qquad \text{(Equation 1)}$$
#
# > **Predict.** With 3 queries, 3 keys of width 4 and values of width 2: which shapes have $QK^\top$, the weights, the output?

# %%
Q = np.array([[0.0, 0.0, 0.0, 0.0],         # (3, 4)  "the" asks nothing
              [0.0, 0.0, 3.0, 0.0],         #         "cat" asks: what did it do?
              q])                           #         "sat" asks: who did it?
scores = Q @ K.T / math.sqrt(d_k)           # (3, 3)  row = query, column = key
print("scores ", scores.shape)
weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)     # (3, 3)
print("weights", weights.shape, " rows sum to", weights.sum(axis=1))
output = weights @ V                        # (3, 2)
print("output ", output.shape)
print(output)

# %% [markdown]
# And this is the class of the library that does it. `forward` returns the output and a **cache**: every array that
# the backward pass will need, by name. Nothing is hidden, and nothing is kept in the layer itself.

# %%
attention = ScaledDotProductAttention()
out, cache = attention.forward(Q, K, V)
print("largest difference from ours:", np.abs(out - output).max())
print(cache)

# %% [markdown]
# `cache.weights` is the **attention map**. (`softmax.y` and `kept` are the same array under other names: Lesson 4.)
# Read it row by row: what does this token look at? In the picture below, the rows are the tokens that ask, the
# columns the tokens that are looked at, and each row adds up to 1. `the` asks nothing and looks everywhere alike;
# `cat` looks mostly at `sat`, and `sat` mostly at `cat`.

# %%
plot_attention(cache.weights, tokens, tokens, titles=["who looks at whom"])

# %% [markdown]
# ## 1.5 Where do queries, keys and values come from?
#
# Nobody writes them by hand. Every token is a vector $x$ of width `d_model`, and three learned matrices make of it
# what it asks, what it answers to, and what it tells: $q = xW^Q$, $k = xW^K$, $v = xW^V$. Why three and not one $x$
# for all? Because what a word asks for is not what it is.

# %%
rng = np.random.default_rng(0)
d_model, d_k, d_v = 8, 4, 6
x = rng.standard_normal((3, d_model))                    # (T, d_model)  three tokens
W_Q = Linear(d_model, d_k, bias=False, rng=rng)
W_K = Linear(d_model, d_k, bias=False, rng=rng)
W_V = Linear(d_model, d_v, bias=False, rng=rng)
out, cache = attention.forward(W_Q(x), W_K(x), W_V(x))
print("x", x.shape, " Q", cache.Q.shape, " K", cache.K.shape, " V", cache.V.shape)
print("weights", cache.weights.shape, " out", out.shape)

# %% [markdown]
# > **Predict.** If one used $q = k = x$, without the two matrices, which token would each token mostly look at?

# %%
_, same = attention.forward(x, x, x)
print("q = k = x            looks most at itself:", same.weights.argmax(axis=1) == np.arange(3))
print("q = x W^Q, k = x W^K looks most at itself:", cache.weights.argmax(axis=1) == np.arange(3))

# %% [markdown]
# A vector's dot product with itself is the sum of its squares, mostly larger than with any other, so each token
# would look at itself. The two matrices set it free.
#
# ## 1.6 The three attentions of the Transformer
#
# Section 3.2.3 uses this one function in three places. They differ only in *who asks* and *who answers*:
#
# | where | queries from | keys and values from | so that |
# |---|---|---|---|
# | encoder self-attention | the source | the source | every source token can ask every source token |
# | decoder self-attention (masked) | the target so far | the target so far | a target token can ask those before it, never those after it (Lesson 5) |
# | encoder-decoder attention | the target so far | the encoder's output, the **memory** | what is being written can ask what was read |
#
# Keys and values always come from the same place: the value is what is found under the key. Only the queries may
# come from elsewhere. So the map need not be square: here a decoder layer writes 2 tokens and reads a source of 5.

# %%
layer = DecoderLayer(d_model, 16, 2, rng=rng)            # d_ff = 16, h = 2 heads
target = rng.standard_normal((1, 2, d_model))            # (B, T_tgt, d_model)
memory = rng.standard_normal((1, 5, d_model))            # (B, T_src, d_model)
y, cache = layer.forward(target, memory)
for name in ("self_attention", "cross_attention"):
    inner = getattr(cache, name).attention               # the cache of the attention itself
    print(f"{name:15}  Q {inner.Q.shape}  K {inner.K.shape}  weights {inner.weights.shape}")

# %% [markdown]
# The axes of the weights are (batch, head, query, key): one map of 2 rows and 5 columns for each of the 2 heads
# (Lesson 6). `<bos>` and `<eos>` mark the beginning and the end of a sequence.

# %%
heads = cache.cross_attention.attention.weights[0]       # (h, T_q, T_k)
plot_attention(heads, ["<bos>", "die"], ["the", "cat", "sat", ".", "<eos>"],
               title="Encoder-decoder attention, not trained: the target asks the source")

# %% [markdown]
# ## 1.7 Check what this lesson claimed

# %%
hand = ScaledDotProductAttention()(Q, K, V)
assert np.abs(hand - output).max() < 1e-12               # the class is Equation 1
assert np.allclose(softmax(K @ q / 2), [1 / 4, 1 / 2, 1 / 4])
assert np.allclose(softmax(4 * K @ q / 2)[1], 16 / 18)   # just below 0.9
assert change[0] > 0                                     # the look-up has a slope
assert heads.shape == (2, 2, 5)
assert np.allclose(heads.sum(axis=-1), 1)
print("all true")

# %% [markdown]
# ## Summary
#
# - Attention is a look-up with every key answering a little: the output is the mean of the values, weighted by how
#   well each key matches the query.
# - Scores are dot products over $\sqrt{d_k}$, weights their softmax; all queries together are Equation 1.
# - The map has a row for each query and a column for each key; rows sum to 1.
# - Queries, keys and values are three learned views of the tokens. In self-attention all three come from one
#   sequence; in encoder-decoder attention the queries come from the target, keys and values from the memory.
#
# ## Questions
#
# **1.** Two keys are equal, their values are not. What does a query that matches them get?
#
# <details><summary>Answer</summary>
#
# Equal keys have equal scores, so equal weights: it gets the mean of the two values. A dictionary cannot hold two
# values under one key; attention averages them.
#
# </details>
#
# **2.** The same vector is added to all keys. How do the weights of a query change?
#
# <details><summary>Answer</summary>
#
# Every score of that query changes by the same number, and softmax does not see that: numerator and denominator
# get the same factor. The weights stay. (Lesson 6 meets this again: it is why a bias of the keys would be useless.)
#
# </details>
#
# **3.** Nothing in Equation 1 says where a token stands. What happens to the output if the rows of $K$ and $V$ are
# shuffled together? And if the rows of $Q$ are?
#
# <details><summary>Answer</summary>
#
# Shuffling $K$ and $V$ together changes nothing: the sum over the keys only has another order. Shuffling $Q$ shuffles
# the rows of the output in the same way. Attention sees a set, not a sequence; that is why positions are added to the
# tokens (Lesson 8).
#
# </details>
