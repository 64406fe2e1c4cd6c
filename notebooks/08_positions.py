# %% [markdown]
# # Lesson 8 · Positions: from a set to a sequence
#
# | | |
# |---|---|
# | **You will do** | test five ways to number the tokens; compute the sinusoids by hand; turn one position into another with a rotation |
# | **You will learn** | what a code of positions must satisfy; why the embedding is multiplied by $\sqrt{d_\mathrm{model}}$; what speaks for learned and for sinusoidal positions |
# | **You need** | Lesson 1, Lesson 5 (masks) and Lesson 7 (layer norm, feed-forward); sine, cosine and their addition theorem |
# | **Paper** | Section 3.5, Section 3.4, Table 3 (E) |
# | **Time** | *see*, and from Lesson 8.4 on *then prove*: about 40 minutes each (estimated) |

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

from aiayn_course.drawings import SENTENCE, clock_hands, figure_1
from aiayn_course.lab.claims.embedding_scale import EMBEDDING_SCALE
from aiayn_course.lab.claims.position_training import LEARNED_POSITIONS
from aiayn_course.lab.claims.positions import ROTATION
from aiayn_course.lab.learning import at_scale, learn, small_model, smooth
from aiayn_course.lab.populations import population
from aiayn_np import (
    CopyTask,
    Embedding,
    Encoder,
    EncoderLayer,
    ReverseTask,
    SinusoidalPositionalEncoding,
    Transformer,
    greedy_decode,
    train,
)
from aiayn_np.plotting.figures import new_figure
from aiayn_np.variants.rotary import NoPositions

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# In Lesson 1 a model learned to write all of 500 fresh sequences backwards. Train it again without the positions.
#
# > **Predict.** How many of the 500 does it now write backwards without a mistake?
# >
# > - Nearly all → Which part of the model sees the order?
# > - About half → In how many orders could the digits stand?
# > - Nearly none <!-- true: end.validation < 0.05 --> → It can know which digits to write, but not in which order.
# >
# > <!-- given: Sequences of 3 to 8 digits. The model of Lesson 1 is trained again, on as many, but nothing says where a digit stands. -->

# %%
task, size = ReverseTask(symbols=10, max_length=8), dict(N=2, d_model=32, d_ff=64, h=1, P_drop=0.0, max_len=16)
no_positions = NoPositions(32, 16)                                     # adds zeros
blind = Transformer(task.vocab_size, **size, positions=no_positions, rng=np.random.default_rng(0)).astype(np.float32)
*_, end = train(blind, task, steps=450, batch_size=64, rng=np.random.default_rng(0), validation_size=500)
print(f"written backwards without a mistake: {end.validation:.1%}")

# %% [markdown]
# <!-- answer: It fails
# [print]
# What does it no longer know? -->
#
# It fails. <!-- result --> What does it no longer know?
#
# <!-- slide:
# This lesson is about the embeddings, and the two circles where positions are added.\
# ![] -->

# %%
figure_1("positions", "embedding")

# %% [markdown]
# ## 8.1 The same words in another order
#
# <!-- slide: The same words, in two orders
# | one encoder reads two sentences |  |  |  |  |
# |---|---|---|---|---|
# | first | the | **cat** | sat | down |
# | second | sat | the | down | **cat** |
# Are the two outputs for `cat` alike? -->
#
# Here are two sentences of the same four words, and a fresh encoder.

# %%
rng = np.random.default_rng(0)
words = ["<pad>", *SENTENCE]
ids = np.array([[1, 2, 3, 4],                                          # (B, T)  the cat sat down
                [3, 1, 4, 2]])                                         #         sat the down cat
embedding = Embedding(len(words), 16, rng=rng)                         # d_model = 16
encoder = Encoder([EncoderLayer(16, 32, 2, rng=rng) for _ in range(2)])    # N = 2, h = 2
y_plain = encoder(embedding(ids))                                      # (B, T, d_model)

# %% [markdown]
# `cat` is the second word of one sentence and the last of the other. Are its two outputs alike?
#
# <!-- slide: The two vectors are equal, but for rounding
# `cat` is the second word of one sentence and the last of the other. Are its two outputs alike? Compare.
# [print]
# So the model above could know which digits to write, not in which order. This encoder could not tell "dog bites man" from "man bites dog" either. -->

# %%
print(f"the outputs for cat differ by at most {np.abs(y_plain[0, 1] - y_plain[1, 3]).max():.0e}")

# %% [markdown]
# <!-- slide:
# The reason is short. Let a permutation $P$ move the rows of $x$. The queries become $PQ$, the keys $PK$, and the scores $PQ(PK)^\top = P\,QK^\top P^\top$: the same numbers, with rows and columns moved. Softmax works in each row, so the weights $A$ move in the same way. In $(P A P^\top)(P V) = P\,(A V)$ the inner $P^\top P$ is $I$. The layer norm and the feed-forward network never look at other tokens. So every layer $f$, and every stack of them, is **permutation-equivariant**:\
# $$f(Px) = P f(x).$$ -->
#
# The two vectors are equal, but for rounding. So the model above could know which digits to write, not in which order; and no such encoder tells "dog bites
# man" from "man bites dog". <!-- result -->
#
# Let a permutation $P$ move the rows of $x$. The queries become $PQ$, the keys $PK$, and the scores $PQ(PK)^\top = P\,QK^\top P^\top$: rows and columns
# have moved. Softmax works in each row, so the weights $A$ move alike. In $(P A P^\top)(P V) = P\,(A V)$ the inner $P^\top P$ is $I$. The layer norm
# and the feed-forward network never look at other tokens. So every layer $f$, and every stack of them, is **permutation-equivariant**:
#
# $$f(Px) = P f(x).$$
#
# The decoder's causal mask breaks the symmetry: how many tokens one may look at depends on its place. An encoder has none, so it needs positions.
#
# ## 8.2 What must a code of positions satisfy?
#
# <!-- slide:
# Add to each token a vector that says where it stands. Which vector?
# Five wishes:\
# 1. **unique**: no two positions have the same code;\
# 2. **bounded**: the numbers do not grow with the sequence and drown the word;\
# 3. **the same at every length**: position 3 is position 3, in a sentence of 16 words or of 512;\
# 4. **one distance for one step**: from 7 to 8 is as far as from 8 to 9, so that "the next one" means one thing;\
# 5. **order**: what is near in the sentence is near in the code. -->
#
# Add to each token a vector that says where it stands. Five wishes:
#
# 1. **unique**: no two positions have the same code;
# 2. **bounded**: the numbers do not grow with the sequence and drown the word;
# 3. **the same at every length**: position 3 is position 3, in 16 words or in 512;
# 4. **one distance for one step**: from 7 to 8 is as far as from 8 to 9;
# 5. **order**: what is near in the sentence is near in the code.
#
# Five candidates, each a function of the length $T$ that gives a table, one row for each position.
#
# <!-- slide: Each row is the code of a position
# ![]
# On the left the lowest binary digit flips with every position, the next one half as often. -->

# %%
sinusoids = SinusoidalPositionalEncoding(512, max_len=512)
codes = {
    "integer":   lambda T: np.arange(T)[:, None] * 1.0,                # (T, 1)    pos
    "pos / T":   lambda T: np.arange(T)[:, None] / T,                  # (T, 1)
    "one-hot":   lambda T: np.eye(512)[:T],                            # (T, 512)
    "binary":    lambda T: (np.arange(T)[:, None] >> np.arange(9)) % 2 * 1.0,  # (T, 9)  digit j of pos
    "sinusoids": sinusoids.table,                                      # (T, 512)
}
fig = new_figure(7.5, 3.6)
tables = {"binary": codes["binary"](32)[:, :5], "sinusoids": SinusoidalPositionalEncoding(32, 32).table(32)[:, :16:2]}
for ax, (name, table) in zip(fig.subplots(1, 2), tables.items()):
    image = ax.imshow(table, cmap="PuOr", vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
    ax.set(title=name, xlabel={"binary": "digit"}.get(name, "sine of pair i"), ylabel="position",
           xticks=range(0, table.shape[1], 1 + table.shape[1] // 8))
fig.colorbar(image, ax=fig.axes)
fig

# %% [markdown]
# On the left the lowest binary digit flips with every position, the next one half as often. On the right each column, a sine, is a wave, a counter
# without jumps. (The 8 fastest of 16 sines.) <!-- result -->
#
# > **Predict.** One-hot: position 0 is √2 away from position 1. How far is it from position 256?
# >
# > - Also √2 <!-- true: np.allclose(far(codes["one-hot"](512), 256), 2**0.5) --> → Two entries differ, by 1 each, whichever positions they are.
# > - 256 times as far → How many entries of two one-hot codes differ?
# > - 16 times as far → That would need 512 entries that differ.
# >
# > <!-- given: The one-hot code of position $n$ has a 1 at place $n$, and 0 elsewhere. -->

# %%
def far(table, k):
    return np.linalg.norm(table[k:] - table[:-k], axis=1)              # (T - k,)

rows = {}
print("            unique  bounded  length    step   order")
for name, code in codes.items():
    table = code(512)                                                  # (512, width)
    means = np.array([far(table, k).mean() for k in range(1, 257)])    # order: they grow with the distance
    order = [(np.diff(some) > 1e-9).all() for some in (means, means[[0, 15, 255]])]    # always, on the whole
    rows[name] = [len(np.unique(table.round(9), axis=0)) == 512, np.abs(table).max() <= 1,    # unique, bounded
                  np.allclose(code(16), table[:16]), np.ptp(far(table, 1)) < 1e-9, order[1]]
    marks = ["✓" if kept else "✗" for kept in rows[name][:4]] + [["✗", "(✓)", "✓"][sum(order)]]
    print(f"{name:10}", *(f"{mark:>7}" for mark in marks))

# %% [markdown]
# <!-- answer: One-hot codes are all equally far apart
# [print]
# So one-hot has no order, and breaks wish 5. It also needs a column for every position. **The integer** drowns the word (2). **pos / T** has another code for position 3 in every length (3). **Binary** steps unevenly (4): from 0 to 1 one digit flips, from 255 to 256 all nine. And positions 256 apart are nearer than neighbours, on average (5). **The sinusoids** keep all five, the last one only on average, (✓): from distance 1 to 16 and 256 the mean grows, but not with each step. -->
#
# One-hot codes are all equally far apart: no order (5). And one-hot needs a column for every position. **The integer** drowns the word (2); **pos / T**
# has another code for position 3 in every length (3). **Binary** steps unevenly (4): from 0 to 1 one digit flips, from 255 to 256 all nine; and
# positions 256 apart are nearer than neighbours, on average (5). **The sinusoids** keep all five, the last one only on average, (✓): from distance 1 to
# 16 and 256 the mean grows, but not with each step. <!-- result -->
#
# ## 8.3 Sinusoids by hand
#
# $$PE_{(pos, 2i)} = \sin\frac{pos}{10000^{2i/d_\mathrm{model}}}, \qquad PE_{(pos, 2i+1)} = \cos\frac{pos}{10000^{2i/d_\mathrm{model}}} \qquad \text{(Section 3.5)}$$
#
# Each pair of columns is a sine and a cosine of one angle. With $d_\mathrm{model} = 4$, $i = 0$ and $i = 1$, and $10000^{2/4} = 100$: the angles are
# $pos$ and $pos / 100$.
#
# Do row 0 on paper first.
#
# <!-- slide:
# $$PE_{(pos, 2i)} = \sin\frac{pos}{10000^{2i/d_\mathrm{model}}}, \qquad PE_{(pos, 2i+1)} = \cos\frac{pos}{10000^{2i/d_\mathrm{model}}} \qquad \text{(Section 3.5)}$$\
# Do row 0 on paper first. -->

# %%
pos = np.arange(4)                                                     # (T,)
by_hand = np.stack([np.sin(pos), np.cos(pos), np.sin(pos / 100), np.cos(pos / 100)], axis=1)
print(" sin(pos) cos(pos) sin(pos/100) cos(pos/100)")
print(by_hand)                                                         # (T, d_model)

# %% [markdown]
# <!-- slide: Row 0 is $(0, 1, 0, 1)$: the sine of 0 and the cosine of 0, twice
# [print] -->
#
# Row 0 is $(0, 1, 0, 1)$: the sine of 0 and the cosine of 0, twice. <!-- result -->
#
# A pair is like the hand of a clock: sine and cosine say where the tip is. The drawing shows the three fastest of four hands ($d_\mathrm{model} = 8$),
# as our sentence goes on.
#
# <!-- slide: In the drawing, hand $i$ turns by $1 / 10000^{2i/d_\mathrm{model}}$ with every position
# ![]
# One turn takes $2\pi \cdot 10000^{2i/d_\mathrm{model}}$ positions, its **wavelength**: from $2\pi$ to about $10000 \cdot 2\pi$ (at $d_\mathrm{model} = 512$). -->

# %%
clock_hands()

# %% [markdown]
# Hand $i$ turns by $1 / 10000^{2i/d_\mathrm{model}}$ with every position. One turn takes $2\pi \cdot 10000^{2i/d_\mathrm{model}}$ positions, its
# **wavelength**: from $2\pi$ to about $10000 \cdot 2\pi$ (at $d_\mathrm{model} = 512$). The fast hand alone is not enough: after 44 positions it has
# turned almost exactly 7 times. The slow hands tell the two apart.
#
# ## 8.4 A step of k
#
# <!-- slide:
# Take one pair with $\omega = 1 / 10000^{2i/d_\mathrm{model}}$.
# A hand that goes on by $k$ positions turns by the angle $\omega k$, in the drawing clockwise. The addition theorem:\
# $$\sin \omega(pos + k) = \phantom{-}\cos(\omega k)\, \sin(\omega\, pos) + \sin(\omega k)\, \cos(\omega\, pos)$$ $$\cos \omega(pos + k) = -\sin(\omega k)\, \sin(\omega\, pos) + \cos(\omega k)\, \cos(\omega\, pos)$$ -->
#
# Take one pair with $\omega = 1 / 10000^{2i/d_\mathrm{model}}$. A hand that goes on by $k$ positions turns by the angle $\omega k$, in the drawing clockwise. The addition theorem:
#
# $$\sin \omega(pos + k) = \phantom{-}\cos(\omega k)\, \sin(\omega\, pos) + \sin(\omega k)\, \cos(\omega\, pos)$$
# $$\cos \omega(pos + k) = -\sin(\omega k)\, \sin(\omega\, pos) + \cos(\omega k)\, \cos(\omega\, pos)$$
#
# Both right sides are linear in the old pair: a 2 × 2 matrix.
#
# > **Predict.** One pair, 1000 positions. How many different matrices does it take to go from each position to the one 3 further on?
# >
# > - 3 → Three steps of 1 are three equal matrices. Can one do their work?
# > - 1 <!-- true: np.abs(hand[:-3] @ M_3.T - hand[3:]).max() < 1e-12 --> → The coefficients hold the step and not the position.
# > - 997 → Look which of pos and k stands in the coefficients.
# >
# > <!-- given: A hand that goes on by $k$ positions turns by the angle $\omega k$. -->

# %%
def turn(omega, k):
    c, s = np.cos(omega * k), np.sin(omega * k)
    return np.array([[c, s], [-s, c]])                                 # (2, 2)

hand = SinusoidalPositionalEncoding(4, max_len=1000).table(1000)[:, 2:]    # (1000, 2)  i = 1
M_3 = turn(1 / 100, 3)
print(f"M_3, from each position 3 further on: largest error {np.abs(hand[:-3] @ M_3.T - hand[3:]).max():.0e}")
print(f"M_3 M_3 against M_6: largest difference {np.abs(M_3 @ M_3 - turn(1 / 100, 6)).max():.0e}")

# %% [markdown]
# <!-- answer: One is enough: the matrix holds $k$ but not $pos$
# [print]
# Applied twice it is $M_6$: steps add up. -->
#
# <!-- slide:
# For all pairs together, $M_k$ has such a block for each pair, and $PE_{pos+k} = M_k\, PE_{pos}$.\
# The authors *hypothesized* that this helps (Section 3.5). Why might it? If $W^Q$ and $W^K$ learn a block of $M_k$ for some of the pairs, the score holds $PE_p^\top M_k\, PE_j = PE_p \cdot PE_{j+k}$ of these pairs, which is largest for the key at $j = p - k$: "look $k$ back" is one matrix for all positions.\
# Most language models of today use rotary positions (**RoPE**: Su et al., 2021). They add nothing, and turn queries and keys by these matrices instead.\
# A rotation keeps lengths, and with them wish 4: $\lVert PE_{p+k} - PE_p \rVert$ is the same for every $p$. So is the dot product, since $\sin a \sin b + \cos a \cos b = \cos(a - b)$:\
# $$PE_p \cdot PE_{p+k} = \sum_i \cos(\omega_i k).$$ -->
#
# One is enough: the matrix holds $k$ but not $pos$. Applied twice it is $M_6$: steps add up. <!-- result -->
#
# For all pairs together, $M_k$
# has such a block for each pair, and $PE_{pos+k} = M_k\, PE_{pos}$.
#
# The authors *hypothesized* that this helps (Section 3.5). Why? If $W^Q$ and $W^K$ learn a block of $M_k$ for some of the pairs, the score holds
# $PE_p^\top M_k\, PE_j = PE_p \cdot PE_{j+k}$ of these pairs, which is largest for the key at $j = p - k$: "look $k$ back" is one matrix for all
# positions.
#
# Most language models of today use rotary positions (**RoPE**: Su et al., 2021), which turn queries and keys by these matrices instead of adding.
#
# A rotation keeps lengths, and with them wish 4: $\lVert PE_{p+k} - PE_p \rVert$ is the same for every $p$. So is the dot product, since
# $\sin a \sin b + \cos a \cos b = \cos(a - b)$:
#
# $$PE_p \cdot PE_{p+k} = \sum_i \cos(\omega_i k).$$
#
# The cosine of two codes against their distance is wish 5. Rings of three sizes belong to three positions.
#
# <!-- slide: The three positions have one curve, and it falls
# ![]
# (Grey: random vectors.) -->

# %%
fig = new_figure(7, 3.8)
rotation = ROTATION.run()
rotation.draw_similarity(fig.subplots())
fig

# %% [markdown]
# The three positions have one curve, and it falls. (Grey: random vectors.) From $k = 44$ on it sometimes rises, too little to see: the (✓). <!-- result -->
#
# ## 8.5 Added, and why √d_model
#
# Why added, and not put beside the word? A projection of the two side by side is $[x, PE]\, W = x W_x + PE\, W_p$. The sum is the case of equal
# matrices, and keeps the width.
#
# With $d_\mathrm{model} = 512$, a row of $PE$ has 256 pairs with $\sin^2 + \cos^2 = 1$. A word is a row of $E$: 512 random numbers of standard deviation $1/\sqrt{512}$ at the start.
#
# > **Predict.** Add the rows as they are. Which two sums are more alike?
# >
# > - Two different words at one position <!-- true: scale.same_position[1, 6] > scale.same_token[1, 6] --> → What they share is √256 = 16 long, and what differs only about 1.
# > - One word at two positions → Compare the lengths of the two terms.
# > - Both pairs are equally alike → Are the two terms equally long?
# >
# > <!-- given: $d_\mathrm{model} = 512$. A row of $PE$ has 256 pairs with $\sin^2 + \cos^2 = 1$, and a word 512 random numbers of standard deviation $1/\sqrt{512}$. -->

# %%
scale = EMBEDDING_SCALE.run()                                          # column 6: d_model = 512
for row, factor in enumerate(("with the factor   ", "without the factor")):
    print(f"{factor}  one word, two positions {scale.same_token[row, 6]:.2f}"
          f"   two words, one position {scale.same_position[row, 6]:.3f}")

# %% [markdown]
# <!-- answer: Two different words at one position are more alike: their mean cosine is almost 1
# [print]
# A position is $\sqrt{256} = 16$ long and a word about 1, so the position drowns the word. -->
#
# Two different words at one position are more alike, with a mean cosine of almost 1. A position is $\sqrt{256} = 16$ long and a word about 1, so the
# position drowns the word. <!-- result -->
#
# The layer multiplies the word by $\sqrt{d_\mathrm{model}}$, about 23; the paper gives no reason. With it a word is recognisable at every position *at the start*. (Longer rows of $E$ would
# also make the first scores larger, the **logits**, which are its rows times the output (Section 3.4).) Does a small model need the factor to learn? Leave it out, and nothing else:

# %% show=false
class AsItIs(Embedding):                                               # E[ids], no factor
    def forward(self, ids):
        y, cache = super().forward(ids)
        return y / np.float32(math.sqrt(self.d_model)), cache

    def backward(self, grad_y, cache):
        return super().backward(grad_y / np.float32(math.sqrt(self.d_model)), cache)


copying = CopyTask(max_length=8)
for name in ("with the factor", "without it"):
    reached = []
    for seed in range(3):
        model = small_model(copying, seed)                             # d_model = 32
        if name == "without it":
            model.src_embedding = model.tgt_embedding = AsItIs(model.vocab_size, model.d_model, rng=None)
            model.src_embedding.E = model.output_projection.E          # one matrix, as before
        right = smooth(np.array([p.accuracy for p in learn(model, copying, seed, steps=200, schedule=at_scale(model, 0.2))]), 10)
        reached.append(10 * (1 + int((right > 0.95).argmax())) if right.max() > 0.95 else math.inf)
    print(f"{name:15}  95 % of the tokens right at step {min(reached)} to {max(reached)}, three seeds")

# %% [markdown]
# No: at this width it learns even sooner without. <!-- result -->
#
# ## 8.6 Learned positions
#
# The paper also tried a table of parameters with a row for each position, learned like the embedding. A row that no sequence reaches never learns, and
# beyond the last row there is nothing.
#
# Learned or sinusoidal? Table 3 (E) of the paper says: hardly any difference. The authors took the sinusoids, since these *may* work for longer
# sequences than those in training. We test it: small models learn to copy up to 8 symbols, and then copy more. In a third kind, *relative*, each score
# gets a learned number that depends only on the distance from query to key (as in T5: Raffel et al., 2020).
#
# > **Predict.** With sinusoids, how many sequences of 10 symbols, two more than in training, are copied without a mistake?
# >
# > - Nearly all → Their codes can be computed. Has the model seen such codes?
# > - About half → Has training said what the codes of two new places mean?
# > - Almost none <!-- true: trained.beyond(2)[:2].max() < 0.1 --> → Nothing in training said what these two codes mean.
# >
# > <!-- given: The models are trained with 1 to 8 symbols. -->

# %%
if Path("../figures/learned_positions.json").exists():                 # what the whole experiment found
    trained = LEARNED_POSITIONS.load("../figures")
else:                                                                  # a small one, in seconds
    trained = LEARNED_POSITIONS.run(seeds=(0,), steps=250, tests=300, longest=12)
for name, step, one, two in zip(trained.encodings, np.median(trained.reached, axis=1), trained.beyond(1), trained.beyond(2)):
    print(f"{name:27}  95 % at step {step:.0f}   9 symbols: {one:4.0%}   10 symbols: {two:4.0%}")
trained.figure()

# %% [markdown]
# <!-- answer:
# ![]
# With either of the paper's codes, sequences of 10 symbols are almost never copied exactly. -->
#
# With either of the paper's codes, sequences of 10 symbols are almost never copied exactly. One symbol further than in training, sinusoids copy a third in the median, from nearly none to more than half by seed, and learned positions none. <!-- result -->
#
# Above on the left is the training. Learned positions learn sooner (95 % of the tokens right at step 110, not 170); at the end all are alike, near 0.1
# (smoothing: Lesson 10). On the right is the share copied exactly; below are the paired differences: one symbol further the filled interval lies beyond the
# grey band, the hollow one does not, so it is not settled.
#
# Relative positions hold longer. And is it the codes that training has not shown? Let positions start at a random number in training, the same for source and target, so that it shows these codes, too:

# %% show=false
ten = population(8)["ten"]                                             # (seeds, start, steps), measured before
for start, name in enumerate(("from 0", "from a random number")):
    for time, steps in enumerate((600, 1800)):
        share = ten[:, start, time]
        print(f"positions {name:20}  {steps:4} steps  10 symbols copied, eight models: {share.min():4.0%} to {share.max():4.0%}, median {np.median(share):4.0%}")

# %% [markdown]
# Yes: with these codes shown, most of the models copy nearly all sequences of 10 symbols after the longer training. With positions from 0 the longer training does not help. <!-- result -->
#
# ## 8.7 Yours: right digits, wrong order
#
# <!-- slide: Write your number down, then measure
# The blind model of the beginning fails. But it was told *which* digits there are. Let it write for 500 test sequences (`task.test(500)`, `greedy_decode`), and forget the order: which share has the right digits, each as often as it should, from 0 to 1? -->
#
# The blind model fails. But it was told *which* digits there are. Let it write for 500 test sequences (`task.test(500)`, `greedy_decode`), and forget
# the order: which share has the right digits, each as often as it should, from 0 to 1?

# %% show=false
from aiayn_course.exercises import judge

predicted = 0.3                    # type your number first
# yours: the share of sequences with the right digits in any order
source, _, right = task.test(500)
written = greedy_decode(blind, source, bos=task.bos, eos=task.eos, max_len=right.shape[1])
written = np.pad(written, ((0, 0), (0, right.shape[1] - written.shape[1])), constant_values=task.pad)
measured = np.mean((np.sort(written) == np.sort(right)).all(axis=1))
judge(8, predicted, measured)

# %% [markdown]
# Most of them: it knows which digits to write, and not their order. <!-- result -->
#
# ## 8.8 Check what this lesson claimed

# %%
assert (np.diff(sinusoids.table(200) @ sinusoids.table(1)[0]) > 0).argmax() == 43      # from 43 to 44
assert [name for name, kept in rows.items() if all(kept)] == ["sinusoids"]
assert np.abs(by_hand - SinusoidalPositionalEncoding(4, max_len=100).table(4)).max() < 1e-12
assert rotation.error.max() < 1e-12                                    # PE(pos + k) = M_k PE(pos), all pairs
assert trained.beyond(2)[:2].max() < 0.1 < 0.3 < trained.beyond(2)[2]
print("all true")

# %% [markdown]
# ## Summary
#
# - Without positions an encoder is permutation-equivariant: it reads a bag of words.
# - A code of positions should be unique, bounded, the same at every length, evenly spaced, and alike where positions are near. Sinusoids keep these, the last one on average.
# - A step of $k$ rotates every pair: $PE_{pos+k} = M_k\, PE_{pos}$.
# - $\sqrt{d_\mathrm{model}}$ brings a word to the size of the position.
# - Learned or sinusoidal? Within the trained lengths they are alike, and learned ones get there sooner; two symbols further both fail.
#
# **What you can do now:** number the tokens of any sequence, and say which wish a code of positions breaks (Exercise 9).
#
# Try it: [the copying model without positions](../docs/live/copy.html#src=1+1+2&kind=cross&layer=0&head=0&what-if=positions)<!-- else: (README.md says how to get this page) -->.<!-- repository only --> `python docs/make_live_pages.py` makes the page.<!-- end -->
#
# ## Questions
#
# **1.** Positions are added once, below the first layer. How can the last layer still know where a token stands?
#
# <details><summary>Answer</summary>
#
# The residual path carries it (Lesson 7): each sub-layer adds to what came in, so the position goes up with the word. And attention that moves what a
# token knows moves its position with it.
#
# </details>
#
# **2.** Without positions, an encoder is followed by the mean over all tokens and a classifier. Which sentences can it not
# tell apart?
#
# <details><summary>Answer</summary>
#
# Two that have the same words the same number of times, in any order: $f(Px) = P f(x)$, and the mean over rows does not see $P$. It reads a bag of
# words, though each word knows which others are in the bag.
#
# </details>
#
# **3.** You use $PE$ with $d_\mathrm{model} = 512$, and all your sequences have at most 20 tokens. What do the slowest hands tell the model?
#
# <details><summary>Answer</summary>
#
# Nearly nothing: in 20 positions a hand of wavelength 60 000 turns by about a tenth of a degree. Its sine stays near 0 and its cosine near 1. These
# columns are free for the word.
#
# </details>
