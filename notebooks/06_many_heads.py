# %% [markdown]
# # Lesson 6 · Many heads: split, attend, concatenate
#
# | | |
# |---|---|
# | **You will do** | ask one head two questions; split a matrix into heads, rightly and wrongly; train layers of 1 to 16 heads on one job |
# | **You will learn** | what several heads buy and what they cost; why one big projection is $h$ small ones; what a bias would do; how narrow a head may be |
# | **You need** | Lesson 1; from Lesson 2 that softmax ignores a common shift |
# | **Paper** | Section 3.2.2, Figure 2 (right), Table 3 (A) and (B) |
# | **Time** | *see*, and from Lesson 6.5 on *then prove*: about 40 minutes each (estimated) |

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
import numpy as np

from aiayn_course.drawings import SENTENCE, figure_2, heads_split
from aiayn_np import Adam, MultiHeadAttention, ScaledDotProductAttention, check_gradients
from aiayn_np.multi_head import merge_heads, split_heads
from aiayn_np.plotting.figures import draw_grid, draw_spread, new_figure

# %% [markdown]
# `dog bites man`: who bites? `bites` asks one head of attention who stands before it. The key of each token says where it stands, and its value says who it is.
#
# <!-- slide: One question, and the right answer
# `dog bites man`: who bites? `bites` asks one head of attention who stands before it. The key of each token says where it stands, and its value says who it is.
# [print]
# Before `bites` stands the dog in one sentence, the man in the other. -->

# %% show=[]
who = {"dog": [1.0, 0.0], "bites": [0.0, 0.0], "man": [0.0, 1.0]}
K = 10 * np.eye(3)                          # (T_k, d_k)  "I stand first", "second", "third"
values = {s: np.array([who[w] for w in s.split()]) for s in ("dog bites man", "man bites dog")}
q_before, q_after = np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 0.0, 1.0]])    # (1, d_k) each
attention = ScaledDotProductAttention()
print("dog man")
for sentence, V in values.items():
    print(f"{sentence}: before bites", attention(q_before, K, V)[0].round(2))

# %% [markdown]
# One question, one right answer. <!-- result -->
#
# <!-- say: Point at 0.99 in the first row, then in the second: it moved with the order of the words. Say: one head answers one question well. Often said and wrong: it knows the sentence. It knows one neighbour. -->
#
# <!-- slide: Multi-head: several of them, side by side
# In Figure 1 the boxes of attention are called **multi-head**. One of them is $h$ heads, side by side (Figure 2, right).\
# ![]
# What does a second head bring? -->
#
# In Figure 1 the boxes of attention are called **multi-head**. Figure 2 (right) opens one: $h$ heads, side by side.
#
# <!-- say: Point at the stack in the middle: the box of Lesson 1, h times; then at Concat. Say: all heads work at the same time. Often said and wrong: the heads work one after the other. -->

# %%
figure_2("right")

# %% [markdown]
# What does a second head bring?
#
# ## 6.1 One softmax, two wishes
#
# Who stands before `bites`, *and* who after it? Ask one head both at once:

# %%
q = q_before + q_after                      # bites: "who is before me, and who is after me?"

# %% [markdown]
# > **Predict.** What does one head give out for the two sentences, in the order "dog", "man"?
# >
# > - About (1, 0) for the first sentence, and (0, 1) for the second → This answers one of the two questions. Which?
# > - About (1, 1) for both, a dog and a man → The weights of a row sum to 1.
# > - About (½, ½) for both <!-- true: np.allclose(list(outs.values()), 0.5, rtol=0, atol=0.01) --> → One row of weights is one mean, and a mean of two names does not say who stands where.
# >
# > <!-- given: `bites` asks $q$ = {q}: who is before me, and who is after me? The scores are divided by √3. The keys $K$ = {[[t, *k] for t, k in zip(['1st', '2nd', '3rd'], K)]}, the values $V$ = {[[w, *who[w]] for w in who]} in the order of the sentence: `dog bites man` or `man bites dog`. -->

# %%
outs = {}
for sentence, V in values.items():
    out, cache = attention.forward(q, K, V)
    outs[sentence] = out[0]
    print("        ", sentence)
    print("weights ", cache.weights[0].round(2))
    print(f"output: dog {out[0, 0]:.2f}, man {out[0, 1]:.2f}")

# %% [markdown]
# <!-- answer: Asked two things at once, the head gives each of two keys half of its weight
# [print]
# The output is the mean of their values: a dog and a man, not who bites. Section 3.2.2 names this averaging as the reason for several heads. -->
#
# Asked two things at once, the head gives each of two keys half of its weight. The output is the mean of their values: a dog and a man, not who bites.
# This averaging is the paper's reason for several heads (Section 3.2.2). <!-- result -->
#
# <!-- say: Point at the two halves, then at the two outputs: they are the same. Say: one row of weights is one mean, and a mean forgets the order. Often said and wrong: (1, 1), a dog and a man. Weights add up to 1. -->
#
# Two heads ask one question each, and their answers are put side by side.
#
# <!-- slide: The two outputs differ: `bites` knows who stands before and after it
# Two heads ask one question each, and their answers are put side by side.
# [print] -->

# %% show=[]
for sentence, V in values.items():
    (out_1, cache_1), (out_2, cache_2) = (attention.forward(q, K, V) for q in (q_before, q_after))
    both = np.concatenate([out_1, out_2], axis=-1)[0]                   # Concat(head_1, head_2)
    print("             ", sentence)
    print("head 1, before ", cache_1.weights[0].round(2))
    print("head 2, after  ", cache_2.weights[0].round(2))
    print("output: dog {:.2f}, man {:.2f} | dog {:.2f}, man {:.2f}".format(*both))

# %% [markdown]
# The two outputs differ: `bites` knows who stands before and after it. <!-- result -->
#
# <!-- say: Go down head 1 in both sentences, then head 2: each has one bar, and the bars stand apart. Say: here two questions got two softmaxes. Ask: do they need them? -->
#
# Can *one* softmax never do it? Change only the values of the one head: each says who *and where*, a number for each pair (the outer product of the
# two).
#
# <!-- slide: One softmax does it, if the values say who *and where*
# Keep the one head and its double question. Change only the values: each says who *and where*, a number for each pair (the outer product of the two).\
# [print]
# A mean forgets only what the values do not say. -->

# %% show=[]
joint = {}
for sentence, V in values.items():
    who_where = np.einsum("tp,tw->tpw", np.eye(3), V).reshape(3, 6)     # (T_k, places × dog, man)
    joint[sentence] = attention.forward(q, K, who_where)[0][0]
    print(f"{sentence}, dog and man at each place:", joint[sentence].reshape(3, 2).round(2).tolist())

# %% [markdown]
# One softmax does it, if the values say who *and where*: a mean forgets only what the values do not say. But $xW^V$ is linear, and no linear map makes
# this product from a who and a where that stand side by side in $x$. Two heads do without it. <!-- result -->
#
# <!-- say: Find the two halves of the first sentence, then of the second: they have changed places. Often said and wrong: one softmax can never keep the order. -->
#
# ## 6.2 Split and merge
#
# So $h$ heads need $h$ sets of queries, keys and values. The library computes one wide matrix and splits it, here for `d_model` = 6 and $h$ = 2 heads.
# In a cell, 23 is token 2, feature 3.
#
# <!-- slide: Every head keeps *all tokens* and gets *some of the features*
# ![]
# So each head has a row for every token, half as wide. -->

# %%
heads_split()

# %% [markdown]
# Every head keeps *all tokens* and gets *some of the features*. <!-- result -->
#
# <!-- say: Follow row 2, `sat`: three numbers go to head 1, three to head 2, and both heads have a row for it. Say: no head loses a token. Often said and wrong: each head gets two of the four tokens. -->
#
# `reshape` splits the last axis: (T, h, d_k). `swapaxes` moves the head in front of the tokens, (h, T, d_k), so that `Q @ K.mT` multiplies inside each
# head. `merge_heads` goes back.

# %%
T, h, d_k = len(SENTENCE), 2, 3
x = np.array([[10.0 * t + f for f in range(h * d_k)] for t in range(T)])    # (T, h d_k)
assert np.array_equal(merge_heads(split_heads(x, h)), x)

# %% [markdown]
# Now the classic mistake: reshape to the final shape at once. The shape is right, and no later line fails.
#
# > **Predict.** In `x.reshape(h, T, d_k)`, what does the second head have?
# >
# > - The last three features of all four tokens → This is what `split_heads` gives.
# > - All features of `cat` and `down` → In memory the tokens lie one after the other.
# > - Every second feature of all four tokens → In memory the features of one token lie side by side.
# > - All features of `sat` and `down` <!-- true: np.array_equal(wrong[1].ravel(), x[2:].ravel()) --> → The second half of the memory is two tokens.
# >
# > <!-- given: There are $h = 2$ heads with $d_k = 3$. A row for each token: $x$ = {[[t, *row] for t, row in zip(SENTENCE, x)]} -->

# %%
wrong = x.reshape(h, T, d_k)                                            # (h, T, d_k) too!
heads_split(wrong=True)

# %% [markdown]
# <!-- answer: Such "heads" divide the *sequence*: `sat` and `cat` never meet
# ![] -->
#
# Such "heads" divide the *sequence*: `sat` and `cat` never meet. <!-- result -->
#
# <!-- say: Point at the names beside head 2: sat, sat, down, down. Say: the shape is right and the meaning is not. Often said and wrong: a wrong reshape fails somewhere. It never does. -->
#
# ## 6.3 One big projection is h small ones
#
# <!-- slide: The small matrices stand side by side in one
# $$\mathrm{head}_i = \mathrm{Attention}(Q W_i^Q,\ K W_i^K,\ V W_i^V)$$
# $$\mathrm{MultiHead}(Q, K, V) = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O$$
# In the code all $W_i^Q$ are one matrix, `linear_Q.W`. They stand side by side as blocks of columns:
# $$W^Q = [\, \underbrace{W_1^Q}_{d_\mathrm{model} \times d_k} \;|\; \cdots \;|\; \underbrace{W_h^Q}_{d_\mathrm{model} \times d_k} \,]$$ -->
#
# The paper writes (Section 3.2.2)
#
# $$\mathrm{head}_i = \mathrm{Attention}(Q W_i^Q,\ K W_i^K,\ V W_i^V)$$
# $$\mathrm{MultiHead}(Q, K, V) = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O .$$
#
# The class has no $W_i^Q$. In its one `linear_Q.W` they stand side by side as blocks of columns:
#
# $$W^Q = [\, W_1^Q \;|\; \cdots \;|\; W_h^Q \,]$$
#
# <!-- say: Write the blocks on the board: one matrix, h groups of columns. Say: nothing is new, the small matrices only stand beside each other. Often said and wrong: the class leaves matrices out. -->
#
# <!-- slide: Three products and one reshape make all heads
# Each Linear, drawn as a stack of h, is one product for all heads. `split_heads` makes an axis of them, which attention leaves alone.\
# ![] -->
#
# So each Linear is one product for all heads, and then comes `split_heads`. The attention of Lesson 1 is called once: heads are a further axis in
# front.
#
# <!-- say: Go up the shapes beside the figure: (T, d_model), (h, T, d_k), and back. Say: nothing here depends on h but the reshape. Often said and wrong: h heads need h times as many products. -->

# %%
figure_2("right", shapes=True)

# %% [markdown]
# <!-- slide: Each head adds its own result to the output
# The last product can be split as well.
# $W^O$ has a block of *rows* $W_i^O$ for each head, and\
# $$\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O = \sum_i \mathrm{head}_i\, W_i^O .$$
# So each head *adds* its result to the output.
# A sum has no order: "head 3 does this" is true of one trained model only. -->
#
# The last product can be split as well. $W^O$ has a block of *rows* $W_i^O$ for each head, and
#
# $$\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O = \sum_i \mathrm{head}_i\, W_i^O .$$
#
# So each head *adds* its result. A sum has no order: "head 3 does this" is true of one trained model only.
#
# <!-- say: Point at the sum: shuffle its terms and nothing changes. Say: heads have no numbers, only we give them some. Often said and wrong: head 3 does the same in every model. -->

# %% [markdown]
# ## 6.4 What do heads cost?
#
# > **Predict.** Three layers of $d_\mathrm{model} = 512$ have 1, 8 and 64 heads of width $512 / h$. Which has the most parameters?
# >
# > - the one with 1 head → Its head is the widest, but alone.
# > - the one with 64 heads → There are 64 times as many, each 64 times narrower.
# > - all have as many <!-- true: len(sizes) == 1 --> → Together the heads are as wide as the model, whatever h is.
# >
# > <!-- given: $d_\mathrm{model} = 512$ and $d_k = d_v = 512 / h$. Each layer reads 100 tokens. -->

# %%
rng, sizes = np.random.default_rng(0), set()
for heads in (1, 8, 64):
    size = sum(p.value.size for p in MultiHeadAttention(512, heads, rng=rng).parameters())
    sizes.add(size)
    print(f"h = {heads:2}  millions of parameters {size / 1e6:.2f}  millions of scores for 100 tokens {heads * 100**2 / 1e6:.2f}")

# %% [markdown]
# <!-- answer: All have as many parameters, and only the scores grow
# [print]
# The parameters are $4\, d_\mathrm{model}^2$, since $h\, d_k = d_\mathrm{model}$. The products cost the same, too: $h \cdot T^2 d_k = T^2 d_\mathrm{model}$. -->
#
# All have as many parameters, and only the scores grow. The parameters are $4\, d_\mathrm{model}^2$, since $h\, d_k = d_\mathrm{model}$. The
# products cost the same, too: $h \cdot T^2 d_k = T^2 d_\mathrm{model}$. <!-- result -->
#
# <!-- say: Point down the first column, all alike, then down the second one, 64 times as many. Say: heads share one width, so they cost nothing but scores. Often said and wrong: more heads, more parameters. -->
#
# ## 6.5 What would a bias do?
#
# > **Predict.** Each projection gets a random bias, one after the other. Which bias leaves the output as it is?
# >
# > - that of the queries → Then every query asks for something else.
# > - that of the keys <!-- true: [name for name, by in shifts.items() if np.abs(by).max() < 1e-12] == ["K"] --> → All scores of a query move alike, and softmax does not see it.
# > - that of the values → Weights add up to 1, so all of it comes through.
# > - none of them → One is the same for all keys.
# >
# > <!-- given: In the paper $q = xW^Q$, $k = xW^K$ and $v = xW^V$, without a bias, and the output is $\mathrm{Concat}(\dots)\, W^O$. -->

# %%
d_model, h = 16, 4
x = rng.standard_normal((1, 5, d_model))                                # (B, T, d_model)
biased = MultiHeadAttention(d_model, h, bias=True, rng=rng)
before, shifts = biased(x, x, x), {}
for name in "QKVO":
    bias = getattr(biased, f"linear_{name}").b.value
    bias[...] = rng.standard_normal(d_model)
    shifts[name] = by = biased(x, x, x) - before                        # (B, T, d_model)
    bias[...] = 0
    print(f"bias of {name}  moves the output by {np.abs(by).max():.2f}  moves tokens apart by {np.ptp(by, axis=1).max():.2f}")

# %% [markdown]
# <!-- answer: Only the bias of the keys leaves the output as it is
# [print]
# It adds the same $q \cdot b$ to every score of a query, and softmax does not see it. -->
#
# Only the bias of the keys leaves the output as it is, but for rounding. The score of query $q$ for key $k_j$ becomes
# $q \cdot (k_j + b) = q \cdot k_j + q \cdot b$. The second term is the same for every key $j$, so softmax does not see it. So its gradient is
# zero. <!-- result -->
#
# <!-- say: Point at the row of K: 0.00 and 0.00. Then at the second column: only Q moves tokens differently. Say: softmax sees differences of scores, and this bias makes none. Often said and wrong: the bias of the queries, because it is the same for all keys. It meets each key with another product. -->
#
# ## 6.6 How narrow may a head be?
#
# > **Predict.** A head has $d_k = 1$, and there are 64 tokens with random queries and keys. Each query has one favourite key, the key with the most weight. How many different keys are the favourite of some query?
# >
# > - 1 → Does a negative query prefer the same key as a positive one?
# > - 2 <!-- true: set(favourites[:, 0]) == {2} --> → A positive query prefers the largest key, a negative one the smallest.
# > - About 40 → So many would 64 free choices hit.
# > - 64 → Can it, when a score is a product of two numbers?
# >
# > <!-- given: More heads are narrower heads. In the narrowest, each query and each key is one number, and a score is the product of two. -->

# %%
widths, favourites = [1, 2, 4, 16, 64], []
for _ in range(20):                                                     # 20 draws of all queries and keys
    pairs = [rng.standard_normal((2, 64, d_k)) for d_k in widths]       # (T, d_k) each
    favourites.append([len(set((Q @ K.T).argmax(axis=1))) for Q, K in pairs])
favourites = np.array(favourites)                                       # (draws, widths)
left, ax = new_figure(9, 3.2).subplots(1, 2)
lines = left.plot([-2, 2], np.outer([-2, 2], np.sort(pairs[0][1][:12, 0])), color="0.75")    # 12 keys
lines[0].set_color("#D55E00"), lines[-1].set_color("#D55E00")
left.set(xlabel="query q", ylabel="score q k", title="$d_k$ = 1: a line for each of 12 keys")
draw_spread(ax, widths, favourites, "20 draws: median and range")
ax.set(xscale="log", xticks=widths, xticklabels=widths, xlabel="$d_k$", ylabel="different favourites of 64", ylim=0)
ax.legend()
ax.figure

# %% [markdown]
# <!-- answer: Two keys are favourites, in each of 20 draws
# ![]
# A positive query prefers the largest key, a negative one the smallest. -->
#
# Two keys are favourites, in each of 20 draws. The score is a product of two numbers, $q_i k_j$ with $d_k = 1$. A positive query prefers the largest
# key, a negative one the smallest. <!-- result -->
#
# <!-- say: Left: put a finger on a query and go up to the highest line. Right of zero it is always the line of the largest slope, left of zero that of the smallest. Only then the curve. Say: of all lines only two are ever on top. Often said and wrong: 64 free choices hit about 40. They are not free. -->
#
# So a head needs width if every token should be found by its own query.
#
# ## 6.7 Four jobs, h heads
#
# Twelve tokens stand on a circle, each with 4 random numbers, its content, and a one-hot position. At each place the layer must output the contents of
# *four* neighbours: 2 before, 1 before, 1 after, 2 after.

# %%
T, places = 12, (-2, -1, 1, 2)


def neighbours(B, rng):
    content = rng.standard_normal((B, T, 4))
    position = np.broadcast_to(np.eye(T), (B, T, T))
    x = np.concatenate([content, position], axis=-1)                    # (B, T, 16)
    wanted = [np.roll(content, -place, axis=1) for place in places]     # (B, T, 4) each
    return x, np.concatenate(wanted, axis=-1)                           # (B, T, 16)


# %%
def fit(h, steps=3000, seed=0, blind=False, **widths):
    rng = np.random.default_rng(seed)
    layer, errors = MultiHeadAttention(16, h, **widths, rng=rng), []
    optimizer = Adam(layer.parameters())                                # the optimizer of Lesson 10
    for _ in range(steps):
        x, wanted = neighbours(16, rng)
        asks = x * (np.arange(16) >= 4) if blind else x                 # blind: positions alone ask and answer
        layer.zero_grad()
        y, cache = layer.forward(asks, asks, x)
        errors.append(((y - wanted) ** 2).mean())                       # mean squared error
        layer.backward(2 * (y - wanted) / y.size, cache)
        optimizer.step(0.02)
    return cache, np.mean(errors[-100:])

# %% [markdown]
# > **Predict.** Layers with $h$ = 1, 2, 4, 8 and 16 heads, $d_k = 16/h$, learn for 3000 steps. Which of them end with an error above 0.1?
# >
# > - None, since all have the same number of parameters → But how many means does one head give?
# > - Those with 1 and 2 heads → Is too few the only way to fail?
# > - Those with 8 and 16 heads → Are four neighbours reached by one?
# > - Those with 1, 2 and 16 heads <!-- true: [h for h, error in final.items() if error > 0.1] == [1, 2, 16] --> → Few heads give too few means. Sixteen are too narrow to find a neighbour.
# >
# > <!-- given: Twelve tokens stand on a circle. Each has 4 random numbers, its content, and a one-hot position. At each place the layer must give out the contents of four neighbours: 2 before, 1 before, 1 after, 2 after. A layer that always answers 0 has an error of 1. -->

# %%
trained = {h: fit(h) for h in (1, 2, 4, 8, 16)}
final = {h: error for h, (_, error) in trained.items()}
for h, error in final.items():
    print(f"h = {h:2}  d_k = {16 // h:2}  error after 3000 steps {error:.2f}")

# %% [markdown]
# <!-- answer: One head gives one weighted mean of contents at each place, and four are wanted
# [print]
# Where queries and keys use positions alone, the error is $1 - h/4$ at best, whichever neighbours a head mixes. With 16, something else fails. -->
#
# One head gives one weighted mean of contents, and four are wanted. Where queries and keys use positions alone, the error is $1 - h/4$ at best, whichever neighbours a head mixes. <!-- result -->
#
# <!-- say: Point at 1 and 2: too few means. Then at 16: something else fails. Say: there are two ways to fail, and the next slide separates them. Often said and wrong: more heads are always better, since they can do all that fewer can. -->
#
# One head ends lower than that. Do its queries and keys use the contents? Hide the contents from them alone:

# %% show=false
end = {blind: [fit(1, steps=1500, seed=seed, blind=blind)[1] for seed in range(3)] for blind in (False, True)}
for blind, errors in end.items():
    print(f"{'blind to contents' if blind else 'see contents':17}  error of one head, three seeds: {min(errors):.3f} to {max(errors):.3f}")

# %% [markdown]
# Yes: blind, one head ends at $1 - 1/4$. <!-- result -->
#
# The 16 heads are 1 wide, so a query has two favourites (Lesson 6.6). But their values are 1 wide, too. Which is the reason? Make queries and keys 4
# wide.
#
# <!-- slide: The 16 heads solve the job now
# The 16 heads are 1 wide, so a query has two favourites to choose from (Lesson 6.6). But their values are 1 wide, too. Which is the reason? Make queries and keys 4 wide.
# [print]
# So it was the width of queries and keys. -->

# %% show=[]
width_of = {d_k: [fit(16, steps=500, seed=seed, d_k=d_k, d_v=1)[1] for seed in range(3)] for d_k in (1, 4)}
for d_k, errors in width_of.items():
    print(f"d_k = {d_k}  error of 16 heads after 500 steps, three seeds: {min(errors):.3f} to {max(errors):.3f}")

# %% [markdown]
# The 16 heads solve the job now. So it was the width of queries and keys. <!-- result -->
#
# <!-- say: Point at the error: it is nearly nothing now, and only the width of queries and keys has changed. Often said and wrong: the values were too narrow. -->
#
# <!-- slide: One head compromises between four neighbours, a narrow one has two favourites
# ![]
# The single head gives each of them a part of its weight; the narrow one has two keys for all queries (rings). -->

# %%
names = [str(t + 1) for t in range(T)]
one, four, narrow = (trained[h][0].attention.weights[0] for h in (1, 4, 16))    # (h, T_q, T_k) each
fig = draw_grid([(np.stack([one[0], narrow[12]]), None, ["h = 1", "h = 16, head 13"])], names, names, None)
print(f"h = 1, mean weights at {places}:", *(f"{np.diag(np.roll(one[0], -p, axis=1)).mean():.2f}" for p in places))
fig.axes[1].plot(narrow[12].argmax(axis=1), range(T), "o", ms=11, mfc="none", mec="#D55E00", mew=2)
fig

# %% [markdown]
# The single head spreads its weight over its four neighbours (printed: means). The narrow head, right, has two favourites, the rings. <!-- result -->
#
# <!-- say: Left: no cell is bright, every row is a compromise. Right: follow the rings: they stand in two columns. Often said and wrong: the narrow head is sharper, so it is better. -->
#
# Now four heads.
#
# <!-- slide: Each head has taken one of the four jobs, and nobody told it which
# Now four heads.\
# ![]
# A title names the job. With another seed other heads have it. -->

# %%
jobs = {1: "1 after", 2: "2 after", T - 1: "1 before", T - 2: "2 before"}
found = [jobs[head[0].argmax()] for head in four]                       # by its first row
draw_grid([(four[:2], None, found[:2]), (four[2:], None, found[2:])], names, names, None)

# %% [markdown]
# The four heads do different things, and nobody told them. <!-- result -->
#
# <!-- say: A title says which neighbour the first row finds. Read row 1 of each map aloud: which token does it look at? Say: four questions, four heads, and the training has shared them out. Often said and wrong: head 1 is always the one for 2 after. With another seed it is another. -->
#
# In the paper's Table 3, too, 1 head and 32 heads do worse than 8:
#
# <!-- slide: 8 and 16 heads are best, by 0.9 BLEU at most
# In the paper's Table 3, too, 1 head and 32 heads do worse than 8:\
# [print]
# In (A) the heads share one width, in (B) 8 heads have narrower keys alone. Our job of four neighbours does not explain these numbers. -->

# %% show=[]
for h, d_k, bleu in ((1, 512, 24.9), (4, 128, 25.5), (8, 64, 25.8), (16, 32, 25.8), (32, 16, 25.4),    # (A)
                     (8, 32, 25.4), (8, 16, 25.1)):                     # (B)
    print(f"({'A' if h * d_k == 512 else 'B'})  h = {h:2}  d_k = {d_k:3}  BLEU below the base model {25.8 - bleu:.1f}")

# %% [markdown]
# Our job was *made* to need four heads, and does not explain these numbers. <!-- result -->
#
# <!-- say: Find the row without a bar that has h = 8 and d_k = 64: the base model. Above and below it the bars grow. Say: 8 and 16 are best, but by one point only. Often said and wrong: one head is useless. It loses 0.9 BLEU. -->
#
# ## 6.8 For the keen: a loop over the heads, and backward

# %%
layer = MultiHeadAttention(d_model, h, rng=rng)
y = layer(x, x, x)
W_Q, W_K, W_V, W_O = (p.value for p in layer.parameters())
columns = np.split(np.arange(d_model), h)                               # those of each head
heads = [attention(x @ W_Q[:, i], x @ W_K[:, i], x @ W_V[:, i]) for i in columns]
by_loop = np.concatenate(heads, axis=-1) @ W_O                          # (B, T, d_model)
print(f"loop over heads against the class: {np.abs(by_loop - y).max():.0e}")
by_sum = sum(head @ W_O[i] for head, i in zip(heads, columns))
print(f"sum over heads against the class:  {np.abs(by_sum - y).max():.0e}")

# %% [markdown]
# Both give what the class gives. `split_heads` only moves numbers, so its backward is `merge_heads`, and the other way round. The rest is `Linear` and
# Lesson 4. <!-- result -->

# %%
x_Q, x_K, x_V = rng.standard_normal((2, 3, 16)), *rng.standard_normal((2, 2, 5, 16))
report = check_gradients(MultiHeadAttention(16, 4, rng=rng), x_Q, x_K, x_V)
print("the check of Lesson 4 passes:", bool(report))

# %% [markdown]
# ## 6.9 Yours: narrow values
#
# <!-- slide: Write your number down, then measure
# Lesson 6.7 made queries and keys wider. Now make the *values* narrow, and nothing else: four heads with $d_k = 4$, as before, but $d_v = 1$. What is the error after 1500 steps? (It was nearly 0. A layer that always answers 0 has an error of 1.) -->
#
# Now make the *values* narrow, and nothing else: four heads with $d_k = 4$, as in Lesson 6.7, but $d_v = 1$. What
# is the error after 1500 steps? (It was nearly 0; always answering 0 has an error of 1.)

# %% show=false
from aiayn_course.exercises import judge

predicted = 0.1                    # type your number first
# yours: the error after 1500 steps
_, error = fit(4, steps=1500, d_k=4, d_v=1)
measured = error
judge(6, predicted, measured)

# %% [markdown]
# Four heads with values 1 wide bring four numbers to $W^O$, and sixteen are wanted: $1 - 4/16$. Which four numbers they are makes no difference. <!-- result --> Do the heads still share out the four neighbours?

# %% show=false
for seed in range(3):
    cache, _ = fit(4, steps=500, seed=seed, d_k=4, d_v=1)
    ahead = (cache.attention.weights[0].argmax(axis=-1) - np.arange(T)) % T     # (h, T)  how far on the favourite stands
    print(f"seed {seed}: the heads look at", ", ".join(jobs.get(np.bincount(a).argmax(), "another one") for a in ahead))

# %% [markdown]
# No: several heads look at the same one. <!-- result -->
#
# ## 6.10 Check what this lesson claimed

# %%
assert np.abs(by_loop - y).max() < 1e-12                # one big projection = h small ones
assert final[1] > 0.6 > final[2] > 0.3 > 0.1 > final[4]     # h heads, h answers
assert all(len(set(head.argmax(axis=1))) == 2 for head in narrow)      # each has two favourites
assert all(len(set(head.argmax(axis=1))) == T for head in trained[8][0].attention.weights[0])
assert max(end[False]) < 0.74 < min(end[True])          # one head uses the contents
assert np.allclose(joint["dog bites man"], [0.5, 0, 0, 0, 0, 0.5], atol=0.01)
assert np.allclose(joint["man bites dog"], [0, 0.5, 0, 0, 0.5, 0], atol=0.01)
assert max(width_of[4]) < 0.1 < 0.5 < min(width_of[1])                                     # it is the width of queries and keys
print("all true")

# %% [markdown]
# ## Summary
#
# - One head gives each query one weighted mean; two answer two questions.
# - Splitting divides the features, never the sequence: reshape to (T, h, d_k), then move h forward.
# - One projection of width $h\, d_k$ is $h$ projections side by side; $\mathrm{Concat}(\dots)W^O$ is a sum over heads, without order.
# - The layer has $4\, d_\mathrm{model}^2$ parameters and the same products for every $h$, if $h\, d_k = d_\mathrm{model}$; only the scores grow.
# - A head with queries and keys of width 1 can prefer only two keys.
#
# **What you can do now:** choose a number of heads and say what it costs (Exercise 6).
#
# Try it: [the reversing model, whose heads you can mute](../docs/live/reverse.html#src=3+1+4+1+5+9+2+6&kind=cross&layer=1&head=0)<!-- else: (README.md says how to get this page) -->.<!-- repository only --> `python docs/make_live_pages.py` makes the page.<!-- end -->
#
# ## Questions
#
# **1.** $W^Q$ and $W^K$ of one head appear in the scores only as $W_i^Q (W_i^K)^\top$. Why then learn two matrices and not this one?
#
# <details><summary>Answer</summary>
#
# The product is a matrix of $d_\mathrm{model} \times d_\mathrm{model}$ with rank $d_k$ at most. In the base model it has $512 \cdot 512$ numbers for
# each head, and the two factors have $2 \cdot 512 \cdot 64$: four times fewer. And each score would be a dot product of width 512.
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
# Set the rows $W_3^O$ to zero: the output is a sum over heads, and its term is gone. Or delete the columns of $W_3^Q, W_3^K, W_3^V$ and these rows: a
# layer with $h - 1$ heads of the same $d_k$. Then $h\, d_k$ is smaller than $d_\mathrm{model}$:
# `MultiHeadAttention(d_model, h - 1, d_k=d_k, d_v=d_v, rng=rng)`.
#
# </details>
