# %% [markdown]
# # Lesson 1 · Attention is a soft look-up
#
# | | |
# |---|---|
# | **You will do** | train a model that writes digits backwards; ask how it knows where to look; answer with pen and paper, and then in your model |
# | **You will learn** | what queries, keys and values are; what the shapes of attention mean; what the three attentions of the paper ask, and whom |
# | **You need** | the dot product, matrix multiplication, a little Python |
# | **Paper** | Section 3.2, Equation 1, Section 3.2.3 |
# | **Time** | *see*, and from Lesson 1.5 on *then prove*: about 40 minutes each (estimated); of the parts *for the keen* run the cells, skip the text |
#
# Run the cells from top to bottom. Wherever it says **Predict**, stop, choose an answer, and only then go on.

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

from aiayn_course.drawings import SENTENCE, attention_shapes, figure_1
from aiayn_course.lab.populations import population
from aiayn_np import Adam, Linear, ScaledDotProductAttention, Softmax, plot_attention
from aiayn_np.plotting.figures import new_figure

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# <!-- slide: A model learns to write digits backwards
# It reads `3 1 4 1 5` and should write `5 1 4 1 3`.
# It begins with random numbers. At each step it gets 64 examples: digits, and the right answer.
# After every 50 steps it gets 500 sequences that are kept out of training. It stops when all are right.
# It takes less than half a minute. Lesson 10 explains the program. -->
#
# Begin with a model. These lines make one from random numbers and train it, in less than half a minute, to read digits and to write them backwards.
# After every 50 steps it gets 500 sequences that are kept out of training, and it stops when all are right. (Lesson 10 explains the lines.)
#
# <!-- say: Start the first cell of the notebook before you say a word: it trains while you speak. Say: nobody programs the answer, the model is given examples. -->
#
# <!-- slide: At the end all 500 are right
# [print] -->

# %% show=[]
from aiayn_np import ReverseTask, Transformer, greedy_decode, train

task, rng = ReverseTask(symbols=10, max_length=8), np.random.default_rng(0)
size = dict(N=2, d_model=32, d_ff=64, h=1, P_drop=0.0, max_len=16)
model = Transformer(task.vocab_size, **size, rng=rng).astype(np.float32)
for progress in train(model, task, steps=1000, batch_size=64, rng=rng, validation_size=500):
    if progress.step % 50 == 0:
        print(f"step {progress.step:3}: {progress.validation:6.1%} written backwards, all right")

# %% [markdown]
# At the end all 500 are right. <!-- result -->
#
# <!-- say: Go down the lines: for a while nothing, then soon nearly all. Say: it was told only which answers are right, never how. Often said and wrong: it has learned the sequences by heart. The 500 are kept out of training. -->
#
# Now type digits of your own between the quotes, five to eight, and run the cell again. There are more than a hundred million such sequences. The model
# has seen less than a thousandth of them: it cannot know them by heart.
#
# <!-- slide: It writes your digits backwards
# Now type digits of your own between the quotes, five to eight, and run the cell again. There are more than a hundred million such sequences, and the model has seen less than a thousandth of them: it cannot know them by heart.\
# [code]
# [print]
# Your model is a Transformer. It reads one sequence, the **source**, and writes another one, the **target**, one **token** after the other: a digit, or in a text a word or a part of one. -->

# %% show=[1]
yours = "3 1 4 1 5"
source = task.source(yours)                                        # the digits, and an end mark
answer = greedy_decode(model, source, bos=task.bos, eos=task.eos, max_len=10)[0]
print("it reads  ", yours)
print("it writes ", task.text(answer))
print(f"seen in training  {progress.step * 64:,} sequences")

# %% [markdown]
# It writes your digits backwards. Your model is a Transformer. It reads one sequence, the **source**, and writes another one, the **target**, one **token**
# after the other: a digit, or in a text a word or a part of one. <!-- result -->
#
# <!-- say: Let the class call out digits and type them. Say: it has never seen this sequence. Often said and wrong: it looks the answer up. There are too many sequences for that. -->
#
# <!-- slide: The encoder reads, the decoder writes
# This is Figure 1 of the paper, redrawn. The stack on the left, the **encoder**, reads. The stack on the right, the **decoder**, writes. The lit boxes are the subject of this lesson.\
# ![] -->
#
# This is Figure 1 of the paper, redrawn. The stack on the left, the **encoder**, reads; that on the right, the **decoder**, writes. The lit boxes are
# the subject of this lesson.
#
# <!-- say: Point at the left stack, then the right one, then the lit boxes. Say: everything that is lit is one function, the subject of today. Often said and wrong: the encoder writes. It only reads. -->

# %%
figure_1("attention")

# %% [markdown]
# ## 1.1 How does it know where to look?
#
# Before the model writes a digit, it looks at the source, once in each of its two decoder layers. In these maps a column is a token of the source, a
# row a step of the decoder: the token just read → the token then written. (`<bos>` is the begin mark, `<eos>` the end mark.) The brighter a cell, the
# more it looks there.
#
# > **Predict.** Where does the last layer look before the model writes the first digit of its answer?
# >
# > - mostly at the last digit of the source <!-- true: where[:-1].argmax(axis=1).tolist() == list(range(len(where) - 1))[::-1] --> → The last digit is the first to be written.
# > - mostly at the first digit of the source → A model that copies would look there.
# > - at all digits alike → Then it would get the same mix for every digit.
# >
# > <!-- given: A small Transformer has learned to write digits backwards. It reads `3 1 4 1 5` and writes {task.text(answer)}. -->

# %%
def looks_of(a_model):                                             # at the source, in each decoder layer
    _, cache = a_model.forward(source, np.array([[task.bos, *answer[:-1]]]))
    return [layer.cross_attention.attention for layer in cache.decoder.layers]

first, looks = looks_of(model)
where = looks.weights[0, 0]                                        # batch 0, head 0: (rows, columns)
rows = [f"{read} → {written}" for read, written in zip(task.tokens([task.bos, *answer]), task.tokens(answer))]
for name, due in zip(("layer 1", "the last"), population(1)["due"].T):    # eight seeds, measured before
    print(f"eight models, {name}: {due.min():.0%} to {due.max():.0%} of the rows look most at the digit that is due")
plot_attention([first.weights[0, 0], where], rows, task.tokens(source[0]), titles=["decoder layer 1", "decoder layer 2, the last"])

# %% [markdown]
# <!-- answer: The last layer begins at the last digit and goes on to the left
# ![]
# [print]
# Layer 1 goes another way: who shows a map must say of which layer. -->
#
# The last layer begins at the last digit and goes on to the left. Layer 1 goes another way: who shows a map must say of which layer. So it is in eight models with other seeds. Nobody has told it where to look: in training it was told only which digits are right. <!-- result -->
#
# <!-- say: Point at the first row of the map on the right and at its brightest cell, then go down row by row: the bright cells run to the left. Then at the other layer: there it is another picture. Say: a row asks, a column is asked. Often said and wrong: the diagonal shows that it copies. It runs the other way. -->
#
# <!-- slide: A query asks, keys answer, values are taken
# ![]
# Each row asks with a **query**: in the first one `<bos>` asks, the token that was read.
# Each column answers with a **key**.
# What a row takes from a column is its **value**. -->
#
# How does it know? Each row asks with a **query**. Each column answers with a **key**, and what a row takes from it is its **value**.
#
# <!-- say: Say the three words with the hand on the map: query at the row, key at the column, value behind the column. Often said and wrong: the brightness is the value. It is how much of the value is taken. -->
#
# <!-- slide: Begin with a look-up that you know: a dictionary
# `legs = {"cat": 4, "bird": 2, "snake": 0}`
# The query `legs["cat"]` equals one key: 4. The query `legs["dog"]` equals none: `KeyError`.
# |  | cat | bird | snake |
# |---|---|---|---|
# | key, a row of `K` | 1 0 0 | 0 1 0 | 0 0 1 |
# | value, a row of `V` | 4 | 2 | 0 |
# With arrays: the dot product of the query with a key is 1 for the equal key, 0 for the others. -->
#
# A Python dictionary such as `{"cat": 4, "bird": 2, "snake": 0}` holds values under keys. You come with a query; one key is equal, and you get its
# value. Arrays can do the same: each key is a row of `K`, its value the same row of `V`, and a dot product compares. It is 1 for the equal key and 0
# for the others.
#
# <!-- say: Ask for `legs["cat"]`, then for `legs["dog"]`. Say: the dictionary compares one query with every key. Often said and wrong: a dot product of 1 always means equal. It does here, because the keys are unit vectors at right angles. -->
#
# <!-- slide: The dictionary is exact, but one cannot learn with it, for two reasons
# [code]
# [print]
# First, a query that equals no key finds nothing. Second, between "equal" and "not equal" there is no slope, so no gradient to follow. -->

# %% show=[1, 2, 3]
K = np.eye(3)                               # (3, 3)  the keys of cat, bird, snake
V = np.array([[4.0], [2.0], [0.0]])         # (3, 1)  how many legs
q = K[0]                                    # (3,)    the query: "cat"
print("matches", K @ q, " value", K @ q @ V)

# %% [markdown]
# The dictionary is exact, but one cannot learn with it. A query that equals no key finds nothing. And between "equal" and "not equal" there is no
# slope, so no gradient. Dot products have a slope. But they may be negative, or add up to any number: they are no weights. <!-- result -->
#
# <!-- say: Point at the three matches: 1, 0, 0. Say: it is all or nothing, so there is no slope to learn from. Often said and wrong: dot products of any vectors are weights already. -->

# %% [markdown]
# ## 1.2 Soft: every key answers a little
#
# <!-- slide: Three steps: score, weight, output
# So let keys and queries be any vectors.
# Let *every* value into the answer, each with a **weight** between 0 and 1.
# A weight says how well the key matches, compared with the others, and the weights add up to 1.
# There are three steps:\
# 1. **score** $s_j = q \cdot k_j \,/\, \sqrt{d_k}$ for every key $j$ (why it is scaled by $1 / \sqrt{d_k}$ is Lesson 3),\
# 2. **weights** $w = \mathrm{softmax}(s)$, that is $w_j = e^{s_j} / \sum_i e^{s_i}$,\
# 3. **output** $\sum_j w_j\, v_j$, the mean of the values with these weights. -->
#
# So let keys and queries be any vectors, and let *every* value into the answer, each with a **weight** between 0 and 1. A weight says how well the key
# matches, compared with the others; the weights add up to 1. There are three steps:
#
# 1. **score** $s_j = q \cdot k_j \,/\, \sqrt{d_k}$ for every key $j$ (why it is scaled by $1 / \sqrt{d_k}$ is Lesson 3),
# 2. **weights** $w = \mathrm{softmax}(s)$, that is $w_j = e^{s_j} / \sum_i e^{s_i}$,
# 3. **output** $\sum_j w_j\, v_j$, the mean of the values with these weights.
#
# <!-- say: Let the class say the three words in chorus: score, weight, output. Say: every value comes in, each with a share. -->
#
# Do it once with pen and paper. The sentence of Lessons 1 to 8, `the cat sat down`, has four tokens. Its keys have width $d_k = 5$. The query comes
# from `sat` and asks: *who did it?* It contains a $\sqrt5$, so that the division leaves a simple score.

# %%
tokens = list(SENTENCE)
K = np.array([[0.0, 1.0, 0.0, 0.0, 0.0],    # (4, 5)  the:  "I am an article"
              [1.0, 0.0, 0.0, 0.0, 1.0],    #         cat:  "I can do things, and I am a noun"
              [0.0, 0.0, 1.0, 0.0, 0.0],    #         sat:  "I am an action"
              [0.0, 0.0, 0.0, 1.0, 0.0]])   #         down: "I am a direction"
V = np.array([[0.0, 0.0],                   # (4, 2)  what each token tells: is it a thing? an action?
              [1.0, 0.0],
              [0.0, 1.0],
              [0.0, 0.0]])
ask = math.sqrt(5) * math.log(3)            # √5 ln 3
q = np.array([ask, 0.0, 0.0, 0.0, 0.0])     # (5,)  sat: "who can do things?"

# %% [markdown]
# > **Predict.** What is the weight of `cat`? (A hint: $e^{\ln 3} = 3$ and $e^0 = 1$.)
# >
# > - 1 → The other scores are 0, but their exponentials are not: $e^0 = 1$.
# > - 3/4 → There are three other keys.
# > - 1/2 <!-- true: np.isclose(weights[1], 1 / 2) --> → The exponentials are 1, 3, 1, 1, and 3 is half of their sum.
# > - 1/4 → All keys would have this weight if the query asked nothing.
# >
# > <!-- given: `sat` asks with $q$ = {q}. The first number is $\sqrt5 \ln 3$, and $d_k = 5$. The keys are $K$ =
# > {[[t, *k] for t, k in zip(tokens, K)]}, the values (a thing? an action?) $V$ = {[[t, *v] for t, v in zip(tokens, V)]}. -->

# %%
d_k = K.shape[-1]
scores = K @ q / math.sqrt(d_k)             # (4,)
print("        ", *tokens)
print("scores ", scores)

# %%
exp_scores = np.exp(scores)                 # (4,)
print("exp    ", exp_scores)
weights = exp_scores / exp_scores.sum()     # (4,)
print("weights", weights, " sum", weights.sum())

# %%
output = weights @ V                        # (2,)
print(f"output: thing {output[0]:.2f}, action {output[1]:.2f}")

# %% [markdown]
# <!-- answer: Half of the answer is what `cat` tells
# [print]
# The weights are $\tfrac16, \tfrac12, \tfrac16, \tfrac16$. The look-up has become soft: it answers "mostly `cat`". -->
#
# Half of the answer is what `cat` tells. The weights are $\tfrac16, \tfrac12, \tfrac16, \tfrac16$.
# The look-up has become soft: it answers "mostly `cat`". <!-- result -->
#
# <!-- say: Go down the rows with the finger: score, exponential, share of the sum 6, mean of the values. Say: three of six parts are `cat`. Often said and wrong: the others have score 0, so they get nothing. Their exponentials are 1. -->

# %% [markdown]
# ## 1.3 How soft?
#
# > **Predict.** The query is made twice as long. What is the weight of `cat` now? (A hint: $e^{2 \ln 3} = 9$.)
# >
# > - 1/2, as before → The direction is the same, but a longer query asks more firmly.
# > - 3/4 <!-- true: np.isclose(softmax(2 * K @ q / math.sqrt(d_k))[1], 3 / 4) --> → The exponentials are $1, 9, 1, 1$, and 9 is three quarters of their sum.
# > - 1 → The score is twice as large, not the weight: the other keys still get some.
# >
# > <!-- given: The scores of the four keys are {K @ q / math.sqrt(d_k)}. The second key is that of `cat`, and its
# > score is $\ln 3$. The weights are {softmax(K @ q / math.sqrt(d_k))}. -->

# %%
softmax = Softmax()
fig = new_figure(9, 3.2)
for ax, length in zip(fig.subplots(1, 5, sharey=True), (0, 1, 2, 4, 16)):
    ax.bar_label(ax.bar(tokens, softmax(length * K @ q / math.sqrt(d_k))), fmt="%.2f")
    ax.set(title=f"query × {length}", ylim=(0, 1.1))
fig.supylabel("weight")
fig

# %% [markdown]
# <!-- answer: A longer query in the same direction asks more firmly
# ![]
# A query of length 0 asks nothing and gets the plain mean of all values. -->
#
# A longer query in the same direction asks more firmly. A query of length 0 asks nothing and gets the plain mean of all values. A very long query gets the hard look-up back. <!-- result -->
#
# Every query between the two gets a soft answer, which changes a little when a key does: the slope that the dictionary lacks.
#
# <!-- say: Point at `cat` from left to right: 0.25, 0.50, 0.75, 0.96, 1.00. Say: the direction of the query says whom it asks, its length how firmly. Often said and wrong: twice the score is twice the weight. -->

# %% [markdown]
# ## 1.4 All queries at once
#
# Three of the four tokens ask: `cat`, `sat` and `down`. Their queries are the rows of $Q$. One product scores every query against every key:
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V \qquad \text{(Equation 1)}$$
#
# > **Predict.** With 3 queries, 4 keys of width 5 and values of width 2: which shapes do $QK^\top$, the weights and the output have?
# >
# > - (3, 4), (3, 4) and (3, 2) <!-- true: (scores.shape, weights.shape, output.shape) == ((3, 4), (3, 4), (3, 2)) --> → A row for each query: first with a number for each key, then with a value's width.
# > - (3, 5), (3, 5) and (3, 2) → The width 5 is summed away.
# > - (4, 3), (4, 3) and (4, 2) → A row is a query: this is the transposed map.
# > - (3, 4), (3, 1) and (3, 2) → Every key gets a weight of its own.
# >
# > <!-- given: Here three of the four tokens ask: `cat`, `sat` and `down`. Their queries form a matrix $Q$ with one row for each query. One product scores every query against every key: $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V \qquad \text{(Equation 1)}$$ -->

# %%
Q = np.array([[0.0, 0.0, 2 * ask, 0.0, 0.0],    # (3, 5)  cat:  "what did I do?", and asks it firmly
              [ask, 0.0, 0.0, 0.0, 0.0],        #         sat:  "who did it?", our q
              [0.0, 0.0, ask, 0.0, 0.0]])       #         down: "which action has this direction?"
scores = Q @ K.T / math.sqrt(d_k)
weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
output = weights @ V
print("scores", scores.shape, " weights", weights.shape, " output", output.shape)
attention_shapes()

# %% [markdown]
# <!-- answer: The framed row of `sat` is what you did on paper
# ![]
# Every row is one look-up. -->
#
# The framed row of `sat` is what you did on paper. Every row is one look-up. <!-- result -->
#
# <!-- say: Follow the red frame: the row of $Q$, its scores, its weights, its output; then let the class follow the row of `cat`. Say: rows never mix, a row is one query. Often said and wrong: the map has the shape of $V$. -->
#
# The drawing has all matrices, with shapes and numbers. $T_q$ is the number of queries, $T_k$ the number of keys, $d_v$ the width of a value.
#
# The library's class for Equation 1 is **scaled dot-product attention**. Its `forward` returns the output and a **cache**: every array that the
# backward pass needs, by name (Lesson 4.2).

# %% show=false
attention = ScaledDotProductAttention()
out, cache = attention.forward(Q, K, V)
print("largest difference from ours:", f"{np.abs(out - output).max():.0e}")
print(cache)

# %% [markdown]
# <!-- slide: In an attention map a row is a query, a column is a key
# ![]
# The weights are the **attention map**. A row is a **query**, who asks. A column is a **key**, who is asked.
# Each row adds up to 1. Here `cat` looks mostly at `sat`, `sat` at `cat`, and `down` at `sat`. -->
#
# `cache.weights` is the **attention map**. In every map of these lessons **a row is a query**, the token that asks, and
# **a column is a key**, a token that is asked. Each row adds up to 1. <!-- result -->
#
# <!-- say: Let the class read one row aloud: `sat` asks, `cat` gets one half. Often said and wrong: columns add up to 1. -->
#
# ## 1.5 Where do queries, keys and values come from?
#
# <!-- slide: Three learned matrices make them from one vector
# Nobody writes them by hand.
# Every token is a vector $x$ of width `d_model`, its **embedding**, which is learned (Lesson 8.5).
# In a layer above the first, $x$ is what the layer below gives out.
# Three learned matrices make three vectors from it:\
# $$q = xW^Q \quad \text{is what the token asks,}$$
# $$k = xW^K \quad \text{is what it answers to,}$$
# $$v = xW^V \quad \text{is what it tells.}$$ -->
#
# Every token is a vector $x$ of width `d_model`, its learned **embedding** (Lesson 8.5). Above the first layer, $x$ is what the layer below gives out.
# Three learned matrices make three vectors from it:
#
# $$q = xW^Q \quad \text{is what the token asks,}$$
#
# $$k = xW^K \quad \text{is what it answers to,}$$
#
# $$v = xW^V \quad \text{is what it tells.}$$
#
# <!-- say: Point at the three matrices: same $x$, three views. Say: these matrices are learned, and so is $x$. Often said and wrong: key and value are the same vector. -->

# %% show=false
rng = np.random.default_rng(0)
d_model, d_k, d_v = 8, 5, 6
x = rng.standard_normal((4, d_model))                    # (T, d_model)  four tokens
W_Q = Linear(d_model, d_k, bias=False, rng=rng)
W_K = Linear(d_model, d_k, bias=False, rng=rng)
W_V = Linear(d_model, d_v, bias=False, rng=rng)
out, cache = attention.forward(W_Q(x), W_K(x), W_V(x))
print("x", x.shape, " Q", cache.Q.shape, " K", cache.K.shape, " V", cache.V.shape, " out", out.shape)

# %% [markdown]
# ## 1.6 The three attentions of the Transformer
#
# Section 3.2.3 uses this one function in three places. They differ only in *who asks* and *who answers*. Say our sentence becomes German, `die Katze
# setzte sich hin`.
#
# | where | queries from | keys and values from | so that |
# |---|---|---|---|
# | encoder self-attention | the source | the source | `sat` can ask all of the source: who did it? |
# | decoder self-attention (masked) | the target so far | the target so far | `setzte` can ask itself and what stands before it, never what comes after it (Lesson 5) |
# | encoder-decoder attention | the target so far | the encoder's output, the **memory** | `Katze` can ask what was read: what did she do? |
#
# Your model has all three. (Two well-known models have one each: **BERT** the first, **GPT** the second.)
#
# A key and its value belong to one token, so both come from the same sequence.
#
# <!-- slide: One function stands in three places
# Section 3.2.3 uses this one function in three places. They differ only in *who asks* and *who answers*. Say our sentence is translated into German, `die Katze setzte sich hin`.\
# | where | queries from | keys and values from | so that |
# |---|---|---|---|
# | encoder self-attention | the source | the source | `sat` can ask all of the source: who did it? |
# | decoder self-attention (masked) | the target so far | the target so far | `setzte` can ask itself and what stands before it, never what comes after it (Lesson 5) |
# | encoder-decoder attention | the target so far | the encoder's output, the **memory** | `Katze` can ask what was read: what did she do? |\
# Figure 1 has a box for each row.\
# ![]
# The third is that of your model's map: V and K come from the memory, Q from below. -->

# %%
figure_1("cross_attention")

# %% [markdown]
# One function stands in three places. The third is that of your model's map: V and K come from the memory, Q from below. <!-- result -->
#
# <!-- say: Click: each click lights the box of one row. Ask for each: where does Q come from, where K and V? Often said and wrong: in the third, the source asks. The target asks. -->
#
# That map was of the third. Here is the first of the three, in layer 1 of your model's encoder: the tokens of `3 1 4 1 5` ask one another.

# %% show=[]
digits = task.source("3 1 4 1 5")
_, cache = model.forward(digits, np.array([[task.bos]]))
ask_each_other = cache.encoder.layers[0].self_attention.attention.weights[0, 0]       # (T_src, T_src)
plot_attention(ask_each_other, task.tokens(digits[0]), task.tokens(digits[0]), titles=["encoder layer 1"])

# %% [markdown]
# <!-- slide: In self-attention the tokens of one sequence ask one another
# ![]
# In this model each `1` gives the two `1` more than their equal share, two sixths. (Other models do not always.) -->
#
# In this model each `1` gives the two `1` more than their equal share, two sixths. (Other models do not always.) <!-- result -->
#
# ## 1.7 Back to your model
#
# How does the last layer know where to look for the first digit? Take the query of `<bos>` and the keys of all columns through the steps of Lesson 1.2.
#
# <!-- slide: The key of the last digit has the highest score
# How does the last layer know where to look for the first digit? Take the query of `<bos>` and the keys of all columns. Then do the steps of Lesson 1.2.\
# [code]
# [print]
# The softmax leaves the others almost nothing. -->

# %% show=[1, 2, 3]
query, keys = looks.Q[0, 0, 0], looks.K[0, 0]                      # (d_k,) and (T_src, d_k)
its_scores = keys @ query / math.sqrt(len(query))
row = softmax(its_scores)
print("        ", *task.tokens(source[0]))
print("scores ", its_scores, " d_k =", len(query))
print("weights", row)
print("the map", where[0])

# %% [markdown]
# The key of the last digit has the highest score. The softmax leaves the others almost nothing. <!-- result -->
#
# <!-- say: Point at the score of the last digit and at the next one: each point of its lead is a factor of $e$. Say: this row is the first row of the map on the right, now computed by hand. Often said and wrong: the model stores where to look. It computes it anew for every input. -->
#
# You can click through such a row, product by product, in
# [the reversing model with `3 1 4`](../docs/live/reverse.html#src=3+1+4&kind=cross&layer=1&head=0&query=0&key=2)<!-- else: (README.md says how to get this page) -->. This page
# runs another model in your browser: it has learned the same task, and it is twice as wide, with four heads (Lesson 6) in each attention. The link opens
# its last layer at the row of `<bos>` and the key of `4`.<!-- repository only --> `python docs/make_live_pages.py` makes the page.<!-- end -->
#
# A score is $x\,W^Q (W^K)^\top x'^\top$. Is it $W^Q$ and $W^K$ that have learned to find the digit? Change one cause and keep all else: in three
# new models every $W^Q$ and $W^K$ stays as it was drawn, and all other numbers learn as before.
#
# > **Predict.** What do these models learn?
# >
# > - nothing: no query finds its key → Two factors of the score are random. Are the two $x$?
# > - to write backwards, with a last layer that looks elsewhere → It could. In these three models it does not.
# > - to write backwards, with a last layer that looks at the same digits <!-- true: np.mean([found(map_) for map_ in after]) > 0.8 > 0.5 > np.mean([found(map_) for map_ in before]) and end.validation == 1 --> → The score is a product. The two tokens in it can learn, too.
# >
# > <!-- given: A score is $x\,W^Q (W^K)^\top x'^\top$. In three new models every $W^Q$ and $W^K$ stays as it was drawn, and all other numbers learn as before. -->

# %% show=[]
def found(a_map):                                                  # share of rows that look most at the due digit
    return np.mean(a_map[:-1].argmax(axis=1) == range(len(a_map) - 1)[::-1])

before, after = [], []
for seed in range(3):
    rng = np.random.default_rng(seed)
    frozen = Transformer(task.vocab_size, **size, rng=rng).astype(np.float32)
    learn = [p for name, p in frozen.named_parameters() if "linear_Q" not in name and "linear_K" not in name]
    before.append(looks_of(frozen)[-1].weights[0, 0])
    *_, end = train(frozen, task, steps=1500, batch_size=64, rng=rng, optimizer=Adam(learn), validate_every=100)
    after.append(looks_of(frozen)[-1].weights[0, 0])
    print(f"seed {seed}: {end.validation:.1%} right; rows that look at the due digit: {found(before[-1]):.0%} before, {found(after[-1]):.0%} after")
plot_attention([before[0], *after], rows, task.tokens(source[0]), title="the last layer, with random $W^Q$ and $W^K$",
               titles=["before training, seed 0", *(f"after, seed {seed}" for seed in range(3))])

# %% [markdown]
# <!-- answer: With random $W^Q$ and $W^K$ the last layer looks at the same digits
# ![]
# So training need not change these matrices. Before training this layer did not look there: what led it there is what did learn. -->
#
# All three learn it, and the last layer looks at the same digits. So training need not change $W^Q$ and $W^K$. Before training this layer
# did not look there: what led it there is what did learn. A map shows where queries and keys met, not which matrix brought them together. <!-- result -->
#
# <!-- say: Take a vote before the click. Point at "before" and at layer 2: here is what training has done, without touching the two matrices. Often said and wrong: W^Q and W^K are where it is stored. -->

# %% [markdown]
# ## 1.8 For the keen: without the two matrices
#
# > **Predict.** Random $W^Q$ and $W^K$ were enough. If one used $q = k = x$, without them, which token would each token mostly look at?
# >
# > - any of the four: the tokens are random → A token is not random to itself.
# > - the next one → Nothing in the formula knows an order.
# > - all equally → Then all scores of a row would have to be equal.
# > - itself <!-- true: np.mean(alone) > 0.9 and np.mean(itself) < 0.4 --> → The dot product with itself is a sum of squares, about 8; with another token the terms mostly cancel.
# >
# > <!-- given: Four tokens, each a vector $x$ of 8 random numbers of both signs, about 1 in size. -->

# %%
def looks_at_itself(Q, K):
    return attention.forward(Q, K, K)[1].weights.argmax(axis=1) == np.arange(4)    # (4,)

alone, itself, rng = [], [], np.random.default_rng(0)
for x in rng.standard_normal((100, 4, d_model)):         # 100 draws of tokens, and of two matrices
    W_Q, W_K = (Linear(d_model, d_k, bias=False, rng=rng) for _ in range(2))
    alone.append(looks_at_itself(x, x))
    itself.append(looks_at_itself(W_Q(x), W_K(x)))
print(f"q = k = x             {np.mean(alone):4.0%} of the tokens look most at themselves")
print(f"q = x W^Q, k = x W^K  {np.mean(itself):4.0%} of the tokens look most at themselves")

# %% [markdown]
# Without the matrices nearly every token finds itself. But what a word asks for is not what it is. With $W^Q$ and $W^K$ a token can look elsewhere, even random ones. <!-- result -->

# %% [markdown]
# ## 1.9 Yours: the other way round
#
# <!-- slide: Write your number down, then measure
# In Lesson 1.7 all numbers learned but $W^Q$ and $W^K$. Now turn it round: in a new model *only* these learn, for 500 steps, and all other numbers stay as they were drawn. Which share of the 500 sequences does it write backwards, from 0 to 1? -->
#
# In Lesson 1.7 all numbers learned but $W^Q$ and $W^K$. Now turn it round: in a new model *only* these learn, for 500 steps, and all other numbers stay as they were drawn. Which share of the 500 sequences does it write backwards, from 0 to 1? First type the number that you predict. Then write the lines that measure it.

# %% show=false
from aiayn_course.exercises import judge

predicted = 0.5                    # type your number first
# yours: the share of the 500 sequences
rng = np.random.default_rng(0)
other_way = Transformer(task.vocab_size, **size, rng=rng).astype(np.float32)
learn = [p for name, p in other_way.named_parameters() if "linear_Q" in name or "linear_K" in name]
*_, end = train(other_way, task, steps=500, batch_size=64, rng=rng, optimizer=Adam(learn), validate_every=500)
measured = end.validation
judge(1, predicted, measured)

# %% [markdown]
# None. <!-- result --> What of the single tokens? Who always writes `<eos>` has some of them right, too:

# %% show=false
of_eight, (_, _, right) = population(1), task.validation(500)          # measured before, as in Lesson 1.1
tokens_right = of_eight["alone_tokens"]
print(f"sequences right, eight models: at most {of_eight['alone_right'].max():.0%}")
print(f"tokens right, eight models:    {tokens_right.min():.0%} to {tokens_right.max():.0%}")
print(f"tokens right, always <eos>:    {(right == task.eos).sum() / (right != task.pad).sum():.0%}")

# %% [markdown]
# In all eight, $W^Q$ and $W^K$ alone end little better than that, and all the others learn the task without them (Lesson 1.7). <!-- result -->
#
# ## 1.10 Check what this lesson claimed

# %%
hand = ScaledDotProductAttention()(Q, K, V)
assert np.abs(hand - output).max() < 1e-12               # the class is Equation 1
assert np.allclose(softmax(K @ q / math.sqrt(5)), [1 / 6, 1 / 2, 1 / 6, 1 / 6])
assert np.allclose(output[1], [1 / 2, 1 / 6])            # sat, as on paper
assert np.allclose(row, where[0], atol=1e-6)             # your model does the same
assert (ask_each_other[[1, 3]][:, [1, 3]].sum(axis=1) > 2 / 6).all()    # each 1 looks at both
assert progress.step * 64 < 1e8 / 1000                   # less than a thousandth
assert found(where) > 0.75 > found(first.weights[0, 0])  # the last layer of your model does, layer 1 not
print("all true")

# %% [markdown]
# ## Summary
#
# - Attention is a look-up in which every key answers a little: the output is the mean of the values, weighted by how well each key matches. Scores are dot products over $\sqrt{d_k}$, weights their softmax (Equation 1).
# - The map has a row for each query and a column for each key.
# - Queries, keys and values are three learned views of the tokens. In encoder-decoder attention the queries come from the target, keys and values from the memory.
#
# **What you can do now:** compute attention by hand, and read a map. Lesson 2 looks into the softmax; after it comes Exercise 1.
#
# ## Questions
#
# **1.** Two keys are equal, their values are not. What does a query that matches them get?
#
# <details><summary>Answer</summary>
#
# It takes equal parts of the two values: equal keys have equal scores, so equal weights. A dictionary cannot hold two values under one key. Attention
# averages them.
#
# </details>
#
# **2.** The same vector is added to all keys. How do the weights of a query change?
#
# <details><summary>Answer</summary>
#
# The weights stay. Every score of that query changes by the same number, so numerator and denominator of the softmax get the same factor. (So a bias of
# the keys is useless, Lesson 6.)
#
# </details>
#
# **3.** Nothing in Equation 1 says where a token stands. What happens to the output if the rows of $K$ and $V$ are
# shuffled together? And if the rows of $Q$ are?
#
# <details><summary>Answer</summary>
#
# Shuffling $K$ and $V$ together changes nothing: the sum over the keys has another order. Shuffling $Q$ shuffles the rows of the output alike.
# Attention sees a set, not a sequence; so positions are added to the tokens (Lesson 8).
#
# </details>
