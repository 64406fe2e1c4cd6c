# %% [markdown]
# # Lesson 8 · Positions: from a set to a sequence
#
# | | |
# |---|---|
# | **You will do** | show that an encoder cannot tell `the cat sat down` from `down sat the cat`; test five ways to number the tokens against five wishes; compute the sinusoids by hand, and turn one position into another with a rotation |
# | **You will learn** | why positions are added, and what a code of positions must satisfy; why the embedding is multiplied by $\sqrt{d_\mathrm{model}}$; what speaks for learned, for sinusoidal and for relative positions |
# | **You need** | Lesson 1, Lesson 5 (masks) and Lesson 7 (layer norm, feed-forward); sine, cosine and their addition theorem |
# | **Paper** | Section 3.5, Section 3.4, Table 3 (E) |
# | **Time** | 45 minutes, without the parts marked *for the keen*: run their cells, skip their text, since no later part needs it |
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
    Embedding,
    Encoder,
    EncoderLayer,
    LearnedPositionalEncoding,
    MultiHeadAttention,
    SinusoidalPositionalEncoding,
    not_padding,
    plot_positional_encoding,
)
from aiayn_np.experiments.claims.embedding_scale import EMBEDDING_SCALE
from aiayn_np.experiments.claims.permutation import PERMUTATION
from aiayn_np.experiments.claims.position_training import LEARNED_POSITIONS
from aiayn_np.experiments.claims.positions import ROTATION
from aiayn_np.plotting.drawings import SENTENCE, clock_hands, figure_1
from aiayn_np.plotting.figures import new_figure, plot_signed
from aiayn_np.variants.relative_position import RelativePositionBias, relative_attention

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# In Figure 1 this lesson is about the embeddings, and about the two circles where positions are added.

# %%
figure_1("positions", "embedding")

# %% [markdown]
# ## 8.1 Attention sees a set
#
# Here are two sentences of the same four words, and an encoder that is given the words and nothing else.

# %%
rng = np.random.default_rng(0)
words = ["<pad>", *SENTENCE]
ids = np.array([[1, 2, 3, 4],                                          # (B, T)  the cat sat down
                [4, 3, 1, 2]])                                         #         down sat the cat
embedding = Embedding(len(words), 16, rng=rng)                         # d_model = 16
encoder = Encoder([EncoderLayer(16, 32, 2, rng=rng) for _ in range(2)])    # N = 2, h = 2
y_plain = encoder(embedding(ids))                                      # (B, T, d_model)
print(y_plain.shape)

# %% [markdown]
# > **Predict.** Take the two outputs at `cat`. It is the second word of the first sentence, and the last word of the other. By how much do the two vectors differ?

# %%
print("cat", np.abs(y_plain[0, 1] - y_plain[1, 3]).max())
print("sat", np.abs(y_plain[0, 2] - y_plain[1, 1]).max())

# %% [markdown]
# The two vectors are equal, but for rounding. This encoder could not tell "dog bites man" from "man bites dog" either.
#
# The reason is short. Take two tokens, $a$ and $b$, and exchange them. The rows of $Q$, $K$ and $V$ are exchanged, since
# each comes from one token. So the score of $a$ for $b$ is the same number in another cell. The same holds for any
# permutation $P$ of the rows of $x$. The queries become $PQ$, the keys $PK$, and the scores
# $PQ(PK)^\top = P\,QK^\top P^\top$: the same numbers, with rows and columns moved. Softmax works in each row, so the weights
# (call their matrix $A$) move in the same way. In $(P A P^\top)(P V) = P\,(A V)$ the inner $P^\top P$ is $I$: the output has its rows moved, and
# nothing else. The layer norm and the feed-forward network never look at other tokens. So every layer $f$ has
#
# $$f(Px) = P f(x),$$
#
# and so has a stack of them. This is called **permutation-equivariant**: if the tokens come in another order, the outputs
# come in that order too, and nothing else changes. The experiment `permutation` draws 50 random orders of 16 tokens. It measures how far four
# stacks are from this law, as $\lVert f(Px) - P f(x) \rVert \,/\, \lVert f(x) \rVert$.

# %%
permutation = PERMUTATION.run(N=2, permutations=50)
names = {"encoder": "encoder, no positions", "decoder": "decoder, no mask, no positions",
         "causal": "decoder, causal mask, no positions", "positions": "encoder with positions"}
for name, difference in permutation.random.items():
    print(f"{names[name]:35} least {difference.min():.1g}   most {difference.max():.1g}")

# %% [markdown]
# The third line is a surprise: the decoder's causal mask breaks the symmetry by itself. A token that may look at three
# others differs from one that may look at ten. Language models without positions can learn from this alone (Tsai et
# al., 2019; Haviv et al., 2022). But an encoder has no causal mask, so it needs positions.
#
# ## 8.2 What must a code of positions satisfy?
#
# Add to each token a vector that says where it stands. Which vector? Five wishes:
#
# 1. **unique**: no two positions have the same code;
# 2. **bounded**: the numbers do not grow with the sequence and drown the word;
# 3. **the same at every length**: position 3 is position 3, in a sentence of 16 words or of 512;
# 4. **one distance for one step**: from 7 to 8 is as far as from 8 to 9, so that "the next one" means one thing;
# 5. **order**: what is near in the sentence is near in the code.
#
# Five candidates, each a function of the length $T$ that gives a table, one row for each position.

# %%
sinusoids = SinusoidalPositionalEncoding(512, max_len=512)
codes = {
    "integer":   lambda T: np.arange(T)[:, None] * 1.0,                # (T, 1)    pos
    "pos / T":   lambda T: np.arange(T)[:, None] / T,                  # (T, 1)
    "one-hot":   lambda T: np.eye(512)[:T],                            # (T, 512)
    "binary":    lambda T: (np.arange(T)[:, None] >> np.arange(9)) % 2 * 1.0,  # (T, 9)  digit j of pos
    "sinusoids": sinusoids.table,                                      # (T, 512)
}
print(codes["binary"](5)[:, :4])

# %% [markdown]
# Binary is written with the lowest digit first, so row 3 is 1 1 0 0. Now measure; `far` is the distance between the codes of two
# positions that are $k$ apart.
#
# > **Predict.** One-hot: how far is the code of position 0 from that of position 1, and how far from that of position 256?

# %%
def far(table, k):
    return np.linalg.norm(table[k:] - table[:-k], axis=1)              # (T - k,)

rows = {}
for name, code in codes.items():
    table = code(512)                                                  # (512, width)
    unique = len(np.unique(table.round(9), axis=0))
    moved = np.abs(code(16) - table[:16]).max()
    rows[name] = unique, np.abs(table).max(), moved, far(table, 1).min(), far(table, 1).max()

# %%
print("           (1) different  (2) largest  (3) change     (4) least and largest step")
print("           codes of 512   number       with T")
for name, (unique, largest, moved, least, most) in rows.items():
    print(f"{name:10} {unique:13} {largest:12.1f} {moved:11.3f} {least:12.3f} to {most:.3f}")

# %%
print("(5) mean distance", *(f"k = {k:<5}" for k in (1, 4, 16, 64, 256)))
distances = {name: [far(code(512), k).mean() for k in (1, 4, 16, 64, 256)] for name, code in codes.items()}
for name, mean in distances.items():
    print(f"{name:17}", *(f"{d:<9.2f}" for d in mean))

# %% [markdown]
# Which wish does each candidate break? Look for it in the two tables before you read on.
#
# - **The integer** grows without bound (2). The next cell shows what that does to a word.
# - **pos / T** has another code for position 3 in every length (3). So "the next one" depends on the length too.
# - **One-hot** has no order (5): every two positions are $\sqrt2$ apart, whether 1 or 256 places lie between them.
# - **Binary** steps unevenly (4): from 0 to 1 one digit flips, from 255 to 256 all nine. And on average the distance even
#   *falls* with $k$, against the order (5).
# - **The sinusoids** break none of 1 to 4, and they keep 5 on average. Lesson 8.4 looks at 5 more closely.
#
# For wish 2, add the integer to one entry of two different words:

# %%
def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

one, other = rng.standard_normal((2, 512))                             # (512,) each: two words
for pos in (0, 10, 500):
    number = np.zeros(512)
    number[0] = pos
    wave = sinusoids.table(512)[pos]
    print(f"position {pos:3}   cosine of the two words: with the integer {cosine(one + number, other + number):6.3f}"
          f"   with sinusoids {cosine(one + wave, other + wave):.3f}")

# %% [markdown]
# With the integer, the two words are almost equal at position 500. With sinusoids they also share something, the code of their position,
# but at 500 no more than at 0.
#
# ## 8.3 Sinusoids by hand
#
# $$PE_{(pos, 2i)} = \sin\frac{pos}{10000^{2i/d_\mathrm{model}}}, \qquad PE_{(pos, 2i+1)} = \cos\frac{pos}{10000^{2i/d_\mathrm{model}}} \qquad \text{(Section 3.5)}$$
#
# Each pair of columns is a sine and a cosine of one angle. With $d_\mathrm{model} = 4$ there are two pairs, $i = 0$ and $i = 1$, and
# $10000^{2/4} = 100$. So the angles are $pos$ and $pos / 100$.
#
# > **Predict.** Which four numbers are row 0? And which row is $(\sin 2, \cos 2, \sin 0.02, \cos 0.02)$?

# %%
pos = np.arange(4)                                                     # (T,)
by_hand = np.stack([np.sin(pos), np.cos(pos), np.sin(pos / 100), np.cos(pos / 100)], axis=1)
print(by_hand)                                                         # (T, d_model)
from_class = SinusoidalPositionalEncoding(4, max_len=100).table(4)
print("the same as the class:", np.abs(by_hand - from_class).max() < 1e-12)

# %% [markdown]
# Row 0 is $(0, 1, 0, 1)$: the sine of 0 and the cosine of 0. The other one is row 2. This is how the class makes its table; each
# line is a part of the formula:

# %%
print(inspect.getsource(SinusoidalPositionalEncoding.table))

# %% [markdown]
# A pair is like the hand of a clock: its sine and cosine say where the tip is. In the drawing, three hands turn while our sentence goes on.

# %%
clock_hands()

# %% [markdown]
# Hand $i$ turns by $1 / 10000^{2i/d_\mathrm{model}}$ with every position. The first hand is the fastest. One turn takes
# $2\pi \cdot 10000^{2i/d_\mathrm{model}}$ positions, its **wavelength**:

# %%
two_i = np.arange(0, 512, 2)                                           # (d_model / 2,)
wavelength = 2 * np.pi * 10000 ** (two_i / 512)
print("pairs", len(wavelength), "  first ones", wavelength[:3], "  last", wavelength[-1].round())
print("each is longer than the one before by a factor", wavelength[1] / wavelength[0])

# %% [markdown]
# The paper says "from $2\pi$ to $10000 \cdot 2\pi$", which is $62\,832$; the last pair is $2i = 510$, one step before it.
# The picture shows the table for 64 positions and $d_\mathrm{model} = 32$. Each column is one wave: follow it downwards.
# The columns on the left are fast waves. Towards the right they get slower and slower. At the far right the columns alternate: a sine still near 0 stands beside a cosine still near 1.

# %%
plot_positional_encoding(SinusoidalPositionalEncoding(32, max_len=64).table(64))

# %% [markdown]
# A **binary counter** works in the same way: its lowest digit flips with every number, the next one half as often, and so on.
# All of its digits together name the number. The sinusoids are a counter without jumps: a digit flips at once, a hand moves
# smoothly. So neighbours stay neighbours. Why is the first, fast hand not enough?

# %%
clock = SinusoidalPositionalEncoding(2, max_len=1000).table(1000)      # (1000, 2)  one hand
for k in (1, 22, 44, 710):
    print(f"positions 0 and {k:3}: {k / (2 * np.pi):8.4f} turns, distance {np.linalg.norm(clock[k] - clock[0]):.5f}")

# %% [markdown]
# After 44 positions the hand has turned almost exactly 7 times, and after 710 almost exactly 113 times. No two positions are equal, but
# many are too alike to be told apart. The slow hands tell them apart, as the hour hand does for the minute hand.
#
# ## 8.4 A step of k is a rotation
#
# Take one pair with $\omega = 1 / 10000^{2i/d_\mathrm{model}}$. A hand that goes on by $k$ positions turns by the angle $\omega k$, wherever it stands.
# In the drawing it turns clockwise. In formulas, the addition theorem:
#
# $$\sin \omega(pos + k) = \phantom{-}\cos(\omega k)\, \sin(\omega\, pos) + \sin(\omega k)\, \cos(\omega\, pos)$$
# $$\cos \omega(pos + k) = -\sin(\omega k)\, \sin(\omega\, pos) + \cos(\omega k)\, \cos(\omega\, pos)$$
#
# Both right sides are linear in the old pair. The four coefficients are a 2 × 2 matrix, and it holds $k$ but not $pos$.

# %%
def turn(omega, k):
    c, s = np.cos(omega * k), np.sin(omega * k)
    return np.array([[c, s], [-s, c]])                                 # (2, 2)

hand = SinusoidalPositionalEncoding(4, max_len=1000).table(1000)[:, 2:]    # (1000, 2)  i = 1
M_3 = turn(1 / 100, 3)
print(M_3)

# %% [markdown]
# > **Predict.** $M_3$ takes position 5 to position 8. Where does it take 100? And which one matrix is $M_3$ applied twice?

# %%
print("  5 →   8:", np.abs(M_3 @ hand[5] - hand[8]).max() < 1e-12)
print("100 → 103:", np.abs(M_3 @ hand[100] - hand[103]).max() < 1e-12)
print("every one:", np.abs(hand[:-3] @ M_3.T - hand[3:]).max() < 1e-12)
print("M_3 M_3 = M_6:", np.abs(M_3 @ M_3 - turn(1 / 100, 6)).max() < 1e-12)

# %% [markdown]
# $M_3$ takes 100 to 103, and applied twice it is $M_6$. There is one matrix for each step, and steps add up. For all pairs together, $M_k$
# has such a block for each pair, and $PE_{pos+k} = M_k\, PE_{pos}$.
#
# The authors chose sinusoids because they *hypothesized* that this helps (Section 3.5). Why might it? A score can hold the
# term $PE_p^\top M_k\, PE_j$, since $W^Q$ and $W^K$ can learn a matrix such as $M_k$, for as many pairs as fit into $d_k$ (Lesson 6.6). Now $M_k\, PE_j = PE_{j+k}$, so this
# term is largest for the key at $j = p - k$: "look $k$ back" is one matrix for all positions. (Rotary positions, RoPE, by
# Su et al., 2021, which most language models use today, turn queries and keys by these matrices instead of adding anything.)
#
# A rotation keeps lengths, and with them wish 4: $\lVert PE_{p+k} - PE_p \rVert$ is the same for every $p$. So is the dot product, since
# $\sin a \sin b + \cos a \cos b = \cos(a - b)$:
#
# $$PE_p \cdot PE_{p+k} = \sum_i \cos(\omega_i k).$$
#
# The experiment `rotation` checks this for $d_\mathrm{model} = 512$, and compares with a table of random codes. The picture
# shows the cosine of two codes against their distance: wish 5. All codes have the same length (Lesson 8.5), so the cosine
# is the dot product divided by 256. Rings of three sizes belong to three positions.

# %%
rotation = ROTATION.run()
print(f"PE(pos + k) = M_k PE(pos) holds within {rotation.error.max():.0e};"
      f" random codes, best matrix of all: off by {rotation.random_error.min():.1f} or more")
fig = new_figure(7, 3.8)
rotation.draw_similarity(fig.subplots())
fig

# %% [markdown]
# The three positions have one curve: each ring lies in the others. Its highest point is at distance 0. It falls with the
# distance, but does it fall with *every* step?

# %%
product = sinusoids.table(200) @ sinusoids.table(200)[0] / 256         # (200,)  PE_0 · PE_k
falls = np.diff(product) < 0                                           # (199,)
print(f"k = 0, 10, 50, 199: {product[[0, 10, 50, 199]]}   it falls at {falls.sum()} of {falls.size} steps")

# %% [markdown]
# The product does not fall at every step: it goes down in ripples. So wish 5 holds on average only. Near positions have more similar codes
# than far ones, but of two distances that are nearly the same, the larger one may have the more similar code.
#
# ## 8.5 Added, and why √d_model
#
# Why is the code added to the word and not put beside it? A projection of the two side by side is $[x, PE]\, W = x W_x + PE\, W_p$. A projection of
# the sum is $(x + PE)\, W = x W + PE\, W$. So the sum is the special case $W_x = W_p$: that is its price, and its gain is
# that it keeps the width. Do word and place then get mixed up? There is room in 512 dimensions. Count how many directions the codes use:

# %%
table = sinusoids.table(100)                                           # (100, 512)
share = np.linalg.svd(table, compute_uv=False) ** 2
share = np.cumsum(share) / share.sum()                                 # (100,)
directions = np.searchsorted(share, 0.99) + 1
print(f"{directions} directions of 512 hold 99 % of the codes of 100 positions")

# %% [markdown]
# The other directions are free for words, and a learned $W$ can pick out the word or the position. But the two must be of similar
# size, and here is a conflict. The embedding of a word is a row of a matrix $E$. The library draws the entries of $E$ with
# variance $1/d_\mathrm{model}$, because $E$ has a second use (Section 3.4, Lesson 9): at the end of the model, the score of
# a word is its row of $E$ times the output $x$. Such a score is called a **logit**. It is a dot product of width
# $d_\mathrm{model}$ (Lesson 3):

# %%
E = Embedding(1000, 512, rng=rng).E.value                              # (vocab_size, d_model)
x = rng.standard_normal((100, 512))                                    # as after a layer norm
print(f"logits: standard deviation {(x @ E.T).std():.2f},"
      f" with entries of variance 1 it would be {(x @ (E * 512**0.5).T).std():.1f}")

# %% [markdown]
# So as an output matrix $E$ has to be small. And as an embedding?
#
# > **Predict.** $d_\mathrm{model} = 512$. A row of $PE$ holds sines and cosines: what is its length? A row of $E$ has about length 1. How many times longer is the position than the word?

# %%
position_length = np.linalg.norm(table, axis=1)                        # (100,)
word_length = np.linalg.norm(E, axis=1).mean()
print("position:", position_length.min(), "to", position_length.max())
print(f"word: {word_length:.2f}   position / word: {position_length[0] / word_length:.0f}")

# %% [markdown]
# The position is 16 times as long as the word: $\sin^2 + \cos^2 = 1$ for each of 256 pairs, so every row has length $\sqrt{256}$. The position would drown the word.
# So the layer multiplies the word by $\sqrt{d_\mathrm{model}}$, about 22.6. Then the word is the longer one of the two:

# %%
print(inspect.getsource(Embedding.forward))
word = Embedding(1000, 512, rng=rng)(np.arange(1000))                  # (1000, 512)  as the layer returns it
scaled_length = np.linalg.norm(word, axis=1).mean()
print(f"√512 = {512**0.5:.1f}   word: {scaled_length:.1f}   word / position: {scaled_length / position_length[0]:.2f}")

# %% [markdown]
# The ratio is $\sqrt2$ at every width, since a sine or cosine has mean square ½. The paper gives no reason for the factor.
# One reason may be this: with this way to draw $E$, it gives word and position a similar size. The experiment `embedding_scale` adds positions to many words, with the factor and without. It asks which
# sums are alike: one word at two positions, or two words at one position? (The last two columns of its table are mean cosines.)
#
# > **Predict.** $d_\mathrm{model} = 512$, no factor: which of the two pairs is more alike?

# %%
scale = EMBEDDING_SCALE.run()
print("d_model            word / position   one word, two positions   two words, one position")
for row, factor in enumerate(("with   ", "without")):
    size = (scale.scaled, scale.unscaled)[row] / scale.position
    for i in (0, 3, 6):
        print(f"{scale.d_model[i]:5}  {factor} {size[i]:15.2f} {scale.same_token[row, i]:22.2f}"
              f" {scale.same_position[row, i]:25.3f}")

# %% [markdown]
# Without the factor, two *different words* at one position are more alike than one word at two positions. At width 512 they are almost equal,
# and a wider model makes it worse. With the factor a word stays recognisable at every position, at every width.
#
# ## 8.6 Learned positions
#
# The paper also tried the plainest way: a table of parameters with a row for each position, learned like the embedding.

# %%
learned = LearnedPositionalEncoding(16, max_len=8, rng=rng)            # E (max_len, d_model)
x = rng.standard_normal((4, 5, 16))                                    # (B, T, d_model)
y, cache = learned.forward(x)
learned.backward(np.ones_like(y), cache)
print("y = x + E[pos]:", np.abs(y - (x + learned.E.value[:5])).max() < 1e-12)

# %% [markdown]
# > **Predict.** The table has 8 rows and the sequences have 5 tokens. Which rows get a gradient?

# %%
print("largest gradient of each row:", np.abs(learned.E.grad).max(axis=1))

# %% [markdown]
# The first five rows get a gradient. (Each gets 4: a 1 from each sequence.) Rows 5 to 7 never learn if no sequence is longer: they stay as
# they were drawn. And beyond the last row there is nothing at all. Both encodings in this library raise an error there. For the sinusoids `max_len` is just a limit that you set, for
# the learned ones it is the number of rows.

# %%
try:
    learned(np.zeros((1, 9, 16)))
except ValueError as error:
    print("ValueError:", error)

# %% [markdown]
# Learned or sinusoidal? Table 3 (E) of the paper says: hardly any difference. (Both end at perplexity $4.92$, a measure of error,
# Lesson 10.2.) The authors took the sinusoids, since these *may* work
# for sequences that are longer than those in training; they did not test it. The experiment `learned_positions` tests it: small models learn to copy up to 8 symbols,
# and then have to copy more, in sequences kept out of training (*held-out*). Do sinusoids help with 10 symbols, two more than in training?

# %%
if Path("../figures/learned_positions.json").exists():                 # what the whole experiment found
    trained = LEARNED_POSITIONS.load("../figures")
else:                                                                  # a small one, in seconds
    trained = LEARNED_POSITIONS.run(seeds=(0,), steps=250, tests=300, longest=12)
for name, one, two, steps in zip(trained.encodings, trained.beyond(1), trained.beyond(2), trained.reached):
    print(f"{name:27}  9 symbols: {one:4.0%}   10 symbols: {two:4.0%}"
          f"   95 % of the training tokens right after {np.median(steps):.0f} steps")

# %% [markdown]
# Sequences of 10 symbols are almost never copied exactly, with either encoding. With *one* symbol more the sinusoids still get a few right. The picture shows the training on the left, and
# on the right the share copied exactly against the length. The third line adds a learned number to each *score*, one for each distance of key and query (Lesson 8.7). It holds for much longer sequences.

# %%
trained.figure()

# %% [markdown]
# So within the trained lengths both encodings work; the learned one even needs fewer steps here. Beyond them, learned rows are noise. Sinusoids
# can be computed there, but the model has never met these combinations, and probably it has not learned what to do with
# them. Press et al. (2022) found the same with language models, and add a number for each distance to the scores instead
# (ALiBi). (Models that learn their positions include BERT and GPT-2.)
#
# ## 8.7 For the keen: relative positions, only the distance
#
# The model of the third line gives the tokens no position at all. It adds to the *score* a learned number that depends only on how far the key is from the query:
#
# $$s_{ij} = \frac{q_i \cdot k_j}{\sqrt{d_k}} + b_{j - i}$$
#
# (Not in the paper: a number for each distance as in T5, clipped beyond a largest distance as in Shaw et al., 2018.) The picture shows what it adds
# to scores that are all 0: one head, largest distance 3. To make the diagonals readable we write $j - i$ itself into it.

# %%
bias = RelativePositionBias(1, 3, rng=rng)                             # b (2 · 3 + 1, h)
bias.b.value[:, 0] = np.arange(-3, 4)                                  # made up, not learned
added = bias(np.zeros((1, 5, 5)))[0]                                   # (T_q, T_k)
plot_signed(added, range(5), range(5), value="added to the score", title="One number for each distance")

# %% [markdown]
# Every diagonal has one number (such a matrix is called Toeplitz), and from distance 3 on there is one number on each side. Seven numbers
# fill 25 cells, and would fill a million. Now move a sentence: the same five tokens stand once alone, and once behind four
# masked `<pad>`, at positions 4 to 8.

# %%
near = np.array([[1, 2, 3, 1, 2]])                                     # (1, 5)
later = np.array([[0, 0, 0, 0, 1, 2, 3, 1, 2]])                        # (1, 9)

def map_of(layer, ids, encode):
    x = encode(embedding(ids))                                         # (1, T, d_model)
    _, cache = layer.forward(x, x, x, allowed=not_padding(ids))
    return cache.attention.weights[0][:, -5:, -5:]                     # (h, 5, 5)

# %% [markdown]
# > **Predict.** Does the map of the five tokens change: with sinusoids? With the relative bias?

# %%
absolute = MultiHeadAttention(16, 2, rng=rng)
relative = MultiHeadAttention(16, 2, attention=relative_attention, rng=rng)
sines = SinusoidalPositionalEncoding(16, max_len=64)
changes = {}
for name, layer, encode in (("sinusoids", absolute, sines), ("relative ", relative, lambda x: x)):
    changes[name] = np.abs(map_of(layer, later, encode) - map_of(layer, near, encode)).max()
    print(f"{name}  largest change of a weight {changes[name]:.1e}")

# %% [markdown]
# With the bias the map does not change, because the distances have not changed. It is invariant to shifts *by construction*, whatever is learned. Sinusoids only make this possible: the
# scores of a sum $x + PE$ also have terms in which a word meets a position, and $W^Q$, $W^K$ can be anything.
#
# ## 8.8 For the keen: one token at a time
#
# When a model writes, its tokens come one by one. With a KV cache (Lesson 13.8) the model is given only the newest token. That token is row 0 of its array, so the layer has to be told its place: `start`.

# %%
x = embedding(near)                                                    # (1, 5, d_model)
whole = sines(x)                                                       # (1, 5, d_model)
pieces = [sines(x[:, t : t + 1], start=t) for t in range(5)]           # (1, 1, d_model) each
forgot = [sines(x[:, t : t + 1]) for t in range(5)]
print("with start   :", np.abs(np.concatenate(pieces, axis=1) - whole).max())
print("without start:", np.abs(np.concatenate(forgot, axis=1) - whole).max().round(2))

# %% [markdown]
# Without `start` every token would be the first. Here wish 3 pays off: the code of a token does not depend on how many tokens
# will follow. With $pos / T$ every new token would change the codes of all the others.

# %% [markdown]
# ## 8.9 For the keen: try it in a trained model
#
# A trained model loses the order in the same way, if its positions are taken away.
#
# > **Predict.** A model that has learned to copy gets no positions. It reads `1 1 2`, `1 2 1` and `2 1 1`, one after the other. Which of its three answers are equal?
#
# Open [the copying model without positions](../docs/live/copy.html#src=1+1+2&kind=cross&layer=0&head=0&what-if=positions),
# type the other two sequences, and look at the columns of the two `1` in the map "changed".
# If the page is not there yet, `python docs/make_live_pages.py` makes it in about four minutes.

# %% [markdown]
# All three answers are equal, so at most one of the three copies can be right. (Our model wrote a single `1`.) Both `1` leave the encoder as the same vector, so their
# columns are equal in every row. The decoder takes a weighted sum of the values, and a sum does not depend on the order
# of its terms.

# %% [markdown]
# ## 8.10 Check what this lesson claimed

# %%
assert np.abs(y_plain[0, 1] - y_plain[1, 3]).max() < 1e-12             # cat = cat: a set
assert np.allclose(far(codes["one-hot"](512), 256), 2**0.5)            # as far as from 0 to 1
assert permutation.verdict == rotation.verdict == scale.verdict == "agrees"
unique, largest, moved, least, most = rows["sinusoids"]                # wishes 1 to 4
assert unique == 512
assert largest <= 1
assert moved < 1e-12
assert most - least < 1e-9
assert np.all(np.diff(distances["sinusoids"]) > 0)                     # wish 5, on average
assert not falls.all()                                                 # ... not at every step
assert np.abs(by_hand - from_class).max() < 1e-12
assert np.abs(hand[:-3] @ M_3.T - hand[3:]).max() < 1e-12              # a step is a rotation
assert np.allclose(position_length, 16)
assert abs(scaled_length / position_length[0] - 2**0.5) < 0.05
assert not learned.E.grad[5:].any()                                    # rows that no token used
assert trained.beyond(2)[:2].max() < 0.1 < 0.3 < trained.beyond(2)[2]
assert changes["relative "] < 1e-12 < 0.01 < changes["sinusoids"]
assert np.abs(np.concatenate(pieces, axis=1) - whole).max() < 1e-12
print("all true")

# %% [markdown]
# ## Summary
#
# - Attention, layer norm and feed-forward are permutation-equivariant: without positions an encoder reads a bag of words.
# - A code of positions should be unique, bounded, the same at every length, evenly spaced, and alike where positions are near. Integers, fractions, one-hot and binary
#   digits each break at least one wish. Sinusoids keep the first four, and the last one on average.
# - A step of $k$ rotates every pair of the sinusoids: $PE_{pos+k} = M_k\, PE_{pos}$, and $PE_p \cdot PE_{p+k}$ depends on $k$ alone.
# - Added, not set beside: the width stays, and there is room. $\sqrt{d_\mathrm{model}}$ brings an embedding, which is small because it is also the output matrix, to the size of the position.
# - Learned or sinusoidal? Alike within the trained lengths. Beyond them both fail here; a bias on the scores for each distance lasts longer.
#
# ## Questions
#
# **1.** Positions are added once, below the first layer. How can the last layer still know where a token stands?
#
# <details><summary>Answer</summary>
#
# The residual path carries it (Lesson 7): each sub-layer adds to what came in, so the position goes up with the word, unless the model
# learns to remove it. And attention that moves what a token knows moves its position with it.
#
# </details>
#
# **2.** Without positions, an encoder is followed by the mean over all tokens and a classifier. Which sentences can it not
# tell apart?
#
# <details><summary>Answer</summary>
#
# It cannot tell apart two sentences that have the same words the same number of times, in any order: $f(Px) = P f(x)$, and the mean over rows does not see $P$. It reads a bag of words, though each word knows which others are in the bag.
#
# </details>
#
# **3.** You use $PE$ with $d_\mathrm{model} = 512$, and all your sequences have at most 20 tokens. What do the slowest hands tell the model?
#
# <details><summary>Answer</summary>
#
# They tell it nearly nothing: in 20 positions a hand of wavelength 60 000 turns by about a tenth of a degree. Its sine stays near 0 and its cosine near 1, a constant. These columns are in effect free for the word.
#
# </details>
