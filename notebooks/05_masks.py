# %% [markdown]
# # Lesson 5 · Masks: padding, causal, and what leaks without them
#
# | | |
# |---|---|
# | **You will do** | pad a batch, see what the padding changes, and hide it; train two models, one of which sees its own answer, and find out how one notices |
# | **You will learn** | at which step a key is hidden; which cells of a map are masked; why one causal mask lets all positions train at once |
# | **You need** | Lessons 1 and 2 (softmax, what a Jacobian and a backward are) |
# | **Paper** | Section 3.1, Section 3.2.3, Figure 2 |
# | **Time** | *see*, and from Lesson 5.5 on *then prove*: about 40 minutes each (estimated) |

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

from aiayn_course.drawings import SENTENCE, figure_1, masks_combined
from aiayn_course.lab.claims.causality import CAUSALITY
from aiayn_course.lab.learning import learn, scores, small_model
from aiayn_np import (
    DecoderLayer,
    Embedding,
    Encoder,
    EncoderLayer,
    ReverseTask,
    Softmax,
    Transformer,
    causal,
    exact_match,
    not_padding,
    plot_attention,
)
from aiayn_np.plotting.figures import COLORS, new_figure

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# `birds fly` goes through an encoder alone, and then in a batch, beside our sentence. (Its **encoder layers**, Lessons 6 and 7, are a black box here.)
# The outputs should be the same.
#
# <!-- slide: They are not
# `birds fly` goes through an encoder alone, and then again in a batch, beside our sentence. Its **encoder layers** (Lessons 6 and 7) are a black box here: they read vectors and give vectors. The words are the same, so the outputs should be the same.
# [print]
# So a translation would depend on the other sentences of its batch. -->

# %%
words = ["<pad>", *SENTENCE, "birds", "fly"]
ids = np.array([[1, 2, 3, 4],               # (B, T)  the cat sat down
                [5, 6, 0, 0]])              #         birds fly
rng = np.random.default_rng(0)
embedding = Embedding(len(words), 16, rng=rng)                          # d_model = 16
encoder = Encoder([EncoderLayer(16, 32, 2, rng=rng) for _ in range(2)])     # N = 2 layers, h = 2 heads
x = embedding(ids)                                                      # (B, T, d_model)
alone = encoder(x[1:, :2])                                              # (1, 2, d_model)
batch, cache = encoder.forward(x)                                       # (2, 4, d_model)
print("birds, largest difference:", np.abs(batch[1, 0] - alone[0, 0]).max())

# %% [markdown]
# They are not. So a translation would depend on the other sentences of its batch. <!-- result -->
#
# Masks prevent it, in the three lit boxes of Figure 1. Later, one of two models has cheated, though their training curves look alike.
#
# <!-- slide:
# At the end of this lesson you also find out which of two models has cheated, though their training curves look alike.\
# ![] -->

# %%
figure_1("attention")

# %% [markdown]
# ## 5.1 A batch needs padding
#
# All rows of an array have one length, so the short sentence was filled up with a token that means nothing: `<pad>`, id 0.
#
# <!-- slide:
# All rows of an array have one length, so the short sentence was filled up with a token that means nothing: `<pad>`, id 0.\
# [code]
# [print]
# The output changes by about 0.7. `birds` gives weight to the padding: in the first layer, a third in one head and two thirds in the other. (With `h = 2` each layer asks twice, side by side: two **heads**, Lesson 6.) -->

# %% show=[1]
unmasked = cache.layers[0].self_attention.attention.weights[1]          # (h, T_q, T_k)
print("weight of birds on <pad>, each head:", unmasked[:, 0, 2:].sum(axis=-1))

# %% [markdown]
# The output changes by about 0.7. `birds` gives weight to the padding: in the first layer, a third in one head and two thirds in the other. (With `h = 2`
# each layer asks twice: two **heads**, Lesson 6.) <!-- result -->
#
# `not_padding(ids)` is `(ids != 0)[:, None, None, :]`: it says which tokens are real. The model takes it as `allowed`.
#
# <!-- slide:
# The padding has to be hidden. `not_padding(ids)` is `(ids != 0)[:, None, None, :]`: it says which tokens are real. The model takes it as `allowed`.\
# [code]
# [print] -->

# %% show=[1, 3]
allowed = not_padding(ids)                                              # (B, 1, 1, T)
print(allowed.shape, allowed[:, 0, 0].tolist())
masked, cache = encoder.forward(x, allowed=allowed)
print("largest difference:", np.abs(masked[1, :2] - alone[0]).max())

# %% [markdown]
# Now the neighbour does not matter, but for rounding. The mask has the axes of the scores, (B, h, T_q, T_k). Its
# two axes in the middle have the size 1, so NumPy repeats it for every head and every query.
#
# The first head for `birds fly`, without the mask and with it. A hatched cell is not "weight 0" but "may not be looked at".
#
# <!-- slide:
# The picture shows the first head for `birds fly`, without the mask and with it.\
# ![] -->

# %%
both = np.stack([unmasked[0], cache.layers[0].self_attention.attention.weights[1, 0]])  # (2, T_q, T_k)
shown = np.stack([np.ones((4, 4), bool), np.tile(allowed[1, 0], (4, 1))])
tokens = [words[i] for i in ids[1]]
plot_attention(both, tokens, tokens, allowed=shown, titles=["no mask", "not_padding"])

# %% [markdown]
# ## 5.2 How is a key hidden?
#
# Take one row of scores. The last key is padding and must get nothing. Three ways: set its weight to zero after the softmax, set its score to zero
# before it, or to $-\infty$.
#
# > **Predict.** Which of the three give all four keys the right weights: 0 for the padding, and for the others what they would get without it?
# >
# > - Only zero after the softmax → By which sum were the others divided?
# > - Zero after the softmax, and −∞ before it → Look at the other three keys.
# > - All three → A score of 0 is a score: what is $e^0$?
# > - Only −∞ before the softmax <!-- true: [np.allclose(w, [*ways["(three keys)"], 0]) for n, w in ways.items() if len(w) == 4] == [False, False, True] --> → Then the key is missing from the denominator, too.
# >
# > <!-- given: The scores are {row}. The last key is padding. Three ways: weight 0 after the softmax, score 0 before it, score −∞ before it. -->

# %%
softmax = Softmax()
row = np.array([2.0, 1.0, 0.0, 3.0])                                    # (T_k,) the last is padding
real = np.array([True, True, True, False])
ways = {"zero after ": softmax(row) * real,
        "zero before": softmax(row * real),
        "-inf before": softmax(np.where(real, row, -np.inf)),
        "(three keys)": softmax(row[:3])}
for name, weights in ways.items():
    print(f"{name:12}", weights, " sum", round(weights.sum(), 4))

# %% [markdown]
# <!-- answer:
# [print]
# Only $-\infty$ before the softmax gives the weights of a row in which the padding does not exist. **Zero after** is too late: the padding was in the denominator, so the other weights are too small. **Zero before** is no mask, since $e^0 = 1$. With $-\infty$ the key is missing from the denominator and from the mean of the values, because $e^{-\infty} = 0$. -->
#
# Only $-\infty$ before the softmax gives the weights of a row in which the padding does not exist. **Zero after** is too late: the padding was in the
# denominator, so the others are too small. **Zero before** is no mask, since $e^0 = 1$. With $-\infty$ the key is missing from the denominator and from
# the mean of the values, because $e^{-\infty} = 0$. <!-- result -->
#
# So `Mask` is one line, `np.where(allowed, scores, -np.inf)`. Many programs use $-10^9$ instead. It gives the same weights,
# except in a row where *nothing* is allowed:
#
# <!-- slide: With $-10^9$ the query looks evenly at every key that is forbidden
# So `Mask` is one line, `np.where(allowed, scores, -np.inf)`. Many programs use $-10^9$ instead. It gives the same weights, except in a row where *nothing* is allowed:\
# [print]
# The plain formula with $-\infty$ is 0/0, which is `nan`. `Softmax` gives zeros for such a row. -->

# %%
print("-1e9 everywhere:", softmax(np.full(4, -1e9)))
print("-inf everywhere:", softmax(np.full(4, -np.inf)))

# %% [markdown]
# With $-10^9$ the query looks evenly at every key that is forbidden. The plain formula with $-\infty$ is 0/0, `nan`; `Softmax` gives zeros. <!-- result -->
#
# ## 5.3 Why key columns and not query rows?
#
# The mask hides columns: no query looks *at* padding. But padded positions are queries, and compute something. Could anybody read it? Write 1000 over
# the outputs of the first layer at padded positions.
#
# > **Predict.** By how much do the outputs of the real tokens change after the second layer?
# >
# > - By exactly 0 <!-- true: (change[ids != 0] == 0).all() --> → The masked weight is exactly 0, and 0 · 1000 is 0.
# > - By rounding, about 10⁻¹⁶ → With which factor do the 1000s enter a sum?
# > - By more than 1, since 1000 is so large → With which weight is it read?
# >
# > <!-- given: A batch holds `the cat sat down` and `birds fly <pad> <pad>`. Both encoder layers mask the key columns of the padding, and not its query rows. Before the second layer, 1000 is written over the outputs at padded positions. -->

# %%
first, second = encoder.layers
y = first(x, allowed=allowed)                                           # (B, T, d_model)
spoiled = np.where((ids == 0)[..., None], 1000.0, y)
change = second(spoiled, allowed=allowed) - second(y, allowed=allowed)
print("at padded positions:", np.abs(change[ids == 0]).max())
print("at real positions  :", np.abs(change[ids != 0]).max())

# %% [markdown]
# <!-- answer: The **next layer** reads positions as keys and values, and there padding is masked
# [print]
# The **loss** leaves out targets that are padding. So nobody reads the rows of padding. To mask them too would even be dangerous: nothing would be allowed there, and the `nan` of the plain formula would reach every token of its sentence in the next layer, because $0 \cdot$ `nan` is `nan`. -->
#
# The **next layer** reads positions as keys and values, and there padding is masked. The **loss** leaves out targets that are padding. So nobody reads
# the rows of padding. To mask them too would be dangerous: nothing would be allowed there, and the plain formula's `nan` would reach every token of the
# sentence in the next layer, because $0 \cdot$ `nan` is `nan`. <!-- result -->
#
# ## 5.4 The causal mask
#
# The decoder learns to write the target. Its input is the target itself, shifted right by one (Section 3.1): at each position it has read all tokens up
# to there, and must write the next. `<bos>` marks the beginning, `<eos>` the end.
#
# <!-- slide: The answer at position $t$ stands in the input at position $t + 1$
# ![]
# A decoder that may look one place to the right need only copy it. -->

# %%
masks_combined(masks=False)

# %% [markdown]
# The answer at position $t$ stands in the input at position $t + 1$. A decoder that may look one place to the right need
# only copy it. <!-- result -->
#
# So position $i$ may look at positions $j \le i$ only. This is `causal(T)`, in NumPy
# `np.tri(T, dtype=bool)`. The diagonal is allowed: position $i$ may look at its own *input*, which is the answer of the step before.
#
# A batch needs both masks: a plain `&`. The drawing shows one row of a batch, with one place of padding; a hatched cell may not be looked at:
#
# <!-- slide:
# A batch needs both masks at once, and that is a plain `&`.\
# ![] -->

# %%
print((causal(4) & not_padding(ids)).shape)                             # (B, 1, T, T)
masks_combined(shift=False)

# %% [markdown]
# ## 5.5 Does it hold? Change the future and see
#
# Change one token of the decoder's input, and see which **logits** change, the scores of the words at each position. A model that leaks is the
# comparison: it uses the last row of the mask for every position, so each sees the future.

# %%
class LeakingDecoderLayer(DecoderLayer):
    def forward(self, x, memory, *, allowed=None, **options):
        not_causal = allowed[..., -1:, :]                               # (B, 1, 1, T)
        return super().forward(x, memory, allowed=not_causal, **options)


task, size = ReverseTask(max_length=6), dict(N=2, d_model=32, d_ff=64, h=4)
masked_model, leaking_model = (Transformer(task.vocab_size, **size, decoder_layer=layer, rng=np.random.default_rng(0))
                               for layer in (DecoderLayer, LeakingDecoderLayer))    # the same parameters

# %% [markdown]
# > **Predict.** The decoder's input has positions 0 to 6. The token at position 4 changes. At which positions do the logits of the model *with* the causal mask change?
# >
# > - At 4 only → Who may look at position 4?
# > - At 3 only, where this token is the answer → Does the model read it there?
# > - At all seven → So it is without the mask.
# > - At 4, 5 and 6 <!-- true: (moved["masked"] > 0).tolist() == [False] * 4 + [True] * 3 --> → Only these positions may look at position 4.
# >
# > <!-- given: Change one token of the decoder's input, and see which outputs change. (The outputs are **logits**: at each position one score for every word. Their softmax is the prediction.) For comparison we need a model that leaks. It uses the last row of the mask for every position. -->

# %%
src, tgt_in, _ = task.test(1)                                           # (1, 7) each
changed, moved = tgt_in.copy(), {}
changed[0, 4] = task.bos                                                # any other token would do
for name, m in (("masked", masked_model), ("leaking", leaking_model)):
    moved[name] = np.abs(m(src, tgt_in) - m(src, changed)).max(axis=-1)[0]  # (T,)
for name, difference in moved.items():
    print(f"{name:7}", difference)

# %% [markdown]
# <!-- answer:
# [print]
# With the mask the logits change at 4, 5 and 6, and before that they are equal to the last bit. Without it all logits change. -->
#
# With the mask the logits change at 4, 5 and 6, and before that they are equal to the last bit. Without it all logits
# change. <!-- result -->
#
# The experiment `causality` asks the same for all pairs at once, with backward passes: how far does output $t$ (row) depend on input $s$ (column)?
#
# <!-- slide: On the left every cell above the diagonal is exactly 0
# ![]
# On the right no cell is. -->

# %%
jacobian = CAUSALITY.run()
jacobian.figure()

# %% [markdown]
# On the left every cell above the diagonal is exactly 0. On the right no cell is. <!-- result -->
#
# ## 5.6 What a leak does to training
#
# Now train both kinds of model on `ReverseTask`, from the same parameters, on the same batches. The decoder reads the *true* target: **teacher
# forcing**. (The loop is that of Lesson 10.)
#
# <!-- slide: Both curves rise to nearly 1
# ![]
# One is a little faster, and nobody would call that proof of a leak. -->

# %%
def rate(step):                                                         # up to about 0.009, then down to 0
    return 0.01 * min(step / 50, 1 - step / 401)


def trained(task, layer, seed=0):
    model = small_model(task, seed, decoder_layer=layer)                # N = 1, d_model = 32
    history = learn(model, task, seed, steps=400, batch_size=32, schedule=rate)
    return model, np.reshape([p.accuracy for p in history], (-1, 10)).mean(axis=1)


honest, honest_right = trained(task, DecoderLayer)
leaking, leaking_right = trained(task, LeakingDecoderLayer)
fig = new_figure(7, 3.5)
ax = fig.subplots()
lots = np.random.default_rng(2).permutation(2)                          # which gets which line
for label, style, i in zip(("one of them", "the other"), ("-", "--"), lots):
    ax.plot(10 * np.arange(1, 41), (honest_right, leaking_right)[i], style, color=COLORS[style == "--"], label=label)
ax.set(xlabel="step", ylabel="share of tokens right", title="Two models learn to reverse")
ax.legend()
fig

# %% [markdown]
# Both curves rise to nearly 1. One is a little faster, and nobody would call that proof of a leak. Nor does a test set show it, with teacher
# forcing. <!-- result -->
#
# So let the models write by themselves: each writes the most likely token, reads it, and goes on. This is **greedy decoding**.
#
# > **Predict.** With teacher forcing the leaking model has more than 90 % of the test tokens right. Which share of the test *sequences* does it decode exactly?
# >
# > - About 90 %: as in training → In training the answer stood one place to the right. And now?
# > - About 50 %: long rows go wrong → What could it use for short ones?
# > - About 0 %: all rows go wrong <!-- true: decoded["leaking"] < 0.1 --> → It copies what stands to its right, and there nothing is written yet.
# >
# > <!-- given: Two models learned to write a row of symbols backwards. The leaking model could see the next token of the target while it learned. -->

# %%
test, forced, decoded = task.test(200), {}, {}
for name, m in (("honest", honest), ("leaking", leaking)):
    forced[name] = scores(m, test)[1]
    decoded[name] = exact_match(m, test, bos=task.bos, eos=task.eos)
for name in forced:
    print(f"{name:7}  tokens right, teacher-forced {forced[name]:.2f}   sequences right, decoded {decoded[name]:.2f}")

# %% [markdown]
# <!-- answer: It decodes none
# [print]
# It was the dashed curve. In training the answer stood one place to its right. When it writes, nothing stands there. -->
#
# It decodes none. It was the dashed curve. In training the answer stood one place to its right; when it writes, nothing stands there. <!-- result -->
#
# Did it take the answers from there? Hide one place of the future from it, and nothing else, or give it a wrong source (teacher forcing, three seeds):
#
# <!-- slide: Without the one place to its right it has few tokens right
# Did it take the answers from there? Hide one place of the future from it, and nothing else, or give it a wrong source (teacher forcing, three seeds).\
# [print]
# It reads the source, too: with a wrong one fewer tokens are right. -->

# %% show=false
class HidingDecoderLayer(LeakingDecoderLayer):
    def forward(self, x, memory, *, allowed=None, **options):
        all_but_one = allowed[..., -1:, :] & ~np.eye(x.shape[1], k=self.hidden, dtype=bool)
        return DecoderLayer.forward(self, x, memory, allowed=all_but_one, **options)


leaking_models = [leaking, *(trained(task, LeakingDecoderLayer, seed)[0] for seed in (1, 2))]
wrong = np.random.default_rng(0).permutation(len(test[0]))              # another sequence's source
found = {"nothing is hidden": [scores(m, test)[1] for m in leaking_models],
         "the source is wrong": [scores(m, (test[0][wrong], *test[1:]))[1] for m in leaking_models]}
for hidden in (1, 2):
    found[f"{hidden} to the right is hidden"] = right = []
    for m in leaking_models:
        other = small_model(task, seed=0, decoder_layer=HidingDecoderLayer)
        other.load_state_dict(m.state_dict())
        for layer in other.decoder.layers:
            layer.hidden = hidden
        right.append(scores(other, test)[1])
for name, right in found.items():
    print(f"{name:23}  tokens right {min(right):.2f} to {max(right):.2f}")

# %% [markdown]
# Without the one place to its right it has few tokens right; without the place after that, all. It reads the source, too: with a wrong one fewer tokens are right. <!-- result -->
#
# So "but my model learns the task" is no evidence. Change the future, or let the model write.
#
# ## 5.7 All positions at once, or one at a time: the same function?
#
# Training computes the logits of all positions in one pass. Decoding needs token $t$ before it can ask for token $t + 1$. Does it compute what was
# trained? Give the model one prefix after the other, take the last position, and compare with the one pass.
#
# <!-- slide: For the honest model the difference is rounding
# Training computes the logits of all positions in one pass. Decoding cannot: it needs token $t$ before it can ask for token $t + 1$. Does it then compute what was trained? Give the model one prefix after the other, take the last position each time, and compare with the one parallel pass.
# [print]
# Because of the causal mask, position $t$ of the long pass is a function of the prefix up to $t$ only, and decoding has exactly this prefix. So one pass over $T$ tokens trains $T$ predictions at once, each on its own prefix. The leaking model is one function in training and another one in use. -->

# %%
def step_by_step(model, src, tgt):
    memory, _ = model.encode(src)
    last = [model.decode(tgt[:, : t + 1], memory, memory_allowed=not_padding(src))[0][:, -1]
            for t in range(tgt.shape[1])]                               # (B, vocab_size) each
    return np.stack(last, axis=1)                                       # (B, T, vocab_size)


gap = {}
for name, m in (("honest", honest), ("leaking", leaking)):
    m.astype(np.float64)                                                # training was in float32
    gap[name] = np.abs(m(src, tgt_in) - step_by_step(m, src, tgt_in)).max()
    print(f"{name:7}  one pass against {tgt_in.shape[1]} passes: largest difference {gap[name]:.0e}")

# %% [markdown]
# For the honest model the difference is rounding. Because of the causal mask, position $t$ of the long pass is a function
# of the prefix up to $t$ only, and decoding has exactly this prefix. So one pass over $T$ tokens trains
# $T$ predictions at once, each on its own prefix. The leaking model is one function in training and another one in use. <!-- result -->
#
# Earlier positions never look at later ones, so their keys and values do not change when a token is added. A decoder may keep them: the **KV cache** of
# every language model that writes from left to right, and of `greedy_decode`.
#
# ## 5.8 Yours: a leak by one
#
# <!-- slide: Write your number down, then measure
# The leaking layer sees all of the future. Write one that sees a single token of it: each row of `allowed` gets the key one place to its right, too (`np.eye(T, k=1, dtype=bool)`). Build the model of Lesson 5.5 with it, which has $N = 2$ layers, and change the token at position 4. At how many of the positions 0 to 6 do the logits change? -->
#
# The leaking layer sees all of the future. Write one that sees a single token of it: each row of `allowed` gets the key one place to its right, too
# (`np.eye(T, k=1, dtype=bool)`). Build the model of Lesson 5.5 ($N = 2$ layers) with it, and change the token at position 4. At how many of the
# positions 0 to 6 do the logits change?

# %% show=false
from aiayn_course.exercises import judge

predicted = 4                      # type your number first
# yours: the number of positions whose logits change
class LeaksByOne(DecoderLayer):
    def forward(self, x, memory, *, allowed=None, **options):
        ahead = np.eye(x.shape[1], k=1, dtype=bool)
        return super().forward(x, memory, allowed=allowed | ahead, **options)

leaks = Transformer(task.vocab_size, **size, decoder_layer=LeaksByOne, rng=np.random.default_rng(0))
measured = int((np.abs(leaks(src, tgt_in) - leaks(src, changed)).max(axis=-1)[0] > 0).sum())
judge(5, predicted, measured)

# %% [markdown]
# At five: 2 to 6. Position 3 sees position 4, and position 2 sees, in the second layer, what position 3 has seen. A leak by one is a leak by $N$. <!-- result -->
#
# ## 5.9 Check what this lesson claimed

# %%
assert np.abs(masked[1, :2] - alone[0]).max() < 1e-12 < np.abs(batch[1, :2] - alone[0]).max()
assert np.allclose(ways["-inf before"][:3], ways["(three keys)"], rtol=0, atol=1e-12)
assert (change[ids != 0] == 0).all()                    # nobody reads padded outputs
assert (moved["masked"][:4] == 0).all()                 # equal to the last bit
assert not np.triu(jacobian.masked, 1).any()            # no output depends on a later input
assert forced["leaking"] > 0.9                          # looks learned
assert decoded["leaking"] < 0.1 < 0.9 < decoded["honest"]
assert gap["honest"] < 1e-12 < gap["leaking"]
print("all true")

# %% [markdown]
# ## Summary
#
# - Padding changes the outputs unless `not_padding` masks it.
# - The mask puts $-\infty$ *before* the softmax: the key leaves the denominator, too.
# - Key columns are masked; query rows need no mask.
# - The causal mask lets position $t$ depend on positions up to $t$ only. So all positions train in one pass, and decoding evaluates the same function.
# - A training curve need not show a leak; decoding and the Jacobian do.
#
# **What you can do now:** mask any batch, and show that nothing of the future reaches an output (Exercise 5).
#
# Try it: [the copying model without its causal mask](../docs/live/copy.html#src=3+1+4+1+5&kind=decoder_self&layer=1&head=0&what-if=mask)<!-- else: (README.md says how to get this page) -->.<!-- repository only --> `python docs/make_live_pages.py` makes the page.<!-- end -->
#
# ## Questions
#
# **1.** Attention over the memory has a mask, too. Is it causal?
#
# <details><summary>Answer</summary>
#
# No, it is `not_padding(src)`. The whole source is known before the first token is written, so each target position may look at every real source
# token.
#
# </details>
#
# **2.** You have forgotten the padding mask in the decoder's self-attention, and kept the causal one. All padding is on the
# right. What changes for the real positions?
#
# <details><summary>Answer</summary>
#
# Nothing. Padding on the right comes after each real position, so the causal mask hides it. With padding on the left it would matter. The encoder has
# no causal mask, so it needs its padding mask wherever the padding stands.
#
# </details>
#
# **3.** The input of the decoder is no longer shifted, so that position $t$ reads token $t$ and must predict token $t$. The causal mask is in place. Is that a leak?
#
# <details><summary>Answer</summary>
#
# A complete one: the diagonal of the mask is allowed, so each position reads its own answer. Only with the shift does "$j \le i$" mean "already
# written".
#
# </details>
