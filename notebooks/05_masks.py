# %% [markdown]
# # Lesson 5 · Masks: padding, causal, and what leaks without them
#
# | | |
# |---|---|
# | **You will do** | pad a batch, see what the padding changes, and hide it properly. Then you train two models, one of which can see its own answer, and find out how one notices |
# | **You will learn** | why $-\infty$ goes in before the softmax; why key columns are masked and not query rows; why one causal mask lets all positions train at once |
# | **You need** | Lessons 1 and 2 (softmax, what a Jacobian and a backward are) |
# | **Paper** | Section 3.1, Section 3.2.3, Figure 2 |
# | **Time** | 45 minutes, without Lesson 5.8 and Lesson 5.9, which are *for the keen*: run their cells, skip their text. No later part needs them |
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
    DecoderLayer,
    Embedding,
    Encoder,
    EncoderLayer,
    Mask,
    ReverseTask,
    ScaledDotProductAttention,
    Softmax,
    Task,
    Transformer,
    attention_maps,
    attention_masks,
    causal,
    exact_match,
    greedy_decode,
    not_padding,
    plot_attention,
)
from aiayn_np.experiments.claims.causality import CAUSALITY
from aiayn_np.experiments.learning import learn, scores, small_model
from aiayn_np.plotting.drawings import SENTENCE, figure_1, masks_combined
from aiayn_np.plotting.figures import COLORS, new_figure

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# Masks act inside the three lit boxes of Figure 1. Each of the three masks hides padding, and the masked attention hides the future as well.

# %%
figure_1("attention")

# %% [markdown]
# ## 5.1 A batch needs padding
#
# Take our sentence, and a second one of two words. All rows of an array have one length, so the short sentence is filled
# up with a token that means nothing: `<pad>`, id 0. An **encoder layer** is an attention and a little network for each
# token (Lessons 6 and 7). Here two of them are a black box that reads vectors and gives vectors.

# %%
words = ["<pad>", *SENTENCE, "birds", "fly"]
ids = np.array([[1, 2, 3, 4],               # (B, T)  the cat sat down
                [5, 6, 0, 0]])              #         birds fly
tokens = [words[i] for i in ids[1]]
print(ids.shape, tokens)

# %%
rng = np.random.default_rng(0)
embedding = Embedding(len(words), 16, rng=rng)                          # d_model = 16
encoder = Encoder([EncoderLayer(16, 32, 2, rng=rng) for _ in range(2)])     # N = 2 layers, h = 2 heads
x = embedding(ids)                                                      # (B, T, d_model)
print("x", x.shape)

# %% [markdown]
# > **Predict.** `birds fly` goes through the encoder alone, and then again in this batch. Is the
# > output for `birds` the same?

# %%
alone = encoder(x[1:, :2])                                              # (1, 2, d_model)
batch, cache = encoder.forward(x)                                       # (2, 4, d_model)
print("largest difference:", np.abs(batch[1, :2] - alone[0]).max())
unmasked = cache.layers[0].self_attention.attention.weights[1]          # (h, T_q, T_k)
print("weight on padding, each head:", unmasked[:, 0, 2:].sum(axis=-1))

# %% [markdown]
# The output is not the same. With equal weights, padding would get half of the weight. Here the two heads give it about a
# third and two thirds. So the output for a sentence would depend on how long its neighbour in the batch is. The padding has to be hidden.
# `not_padding` says which tokens are real, and `Mask` uses it. Here is the source of both:

# %%
print(inspect.getsource(not_padding))
print(inspect.getsource(Mask.forward))

# %% [markdown]
# `not_padding` compares the ids with the id of `<pad>` and adds two axes. `Mask` keeps a score where looking is allowed
# and sets it to $-\infty$ elsewhere (Lesson 5.2).

# %%
allowed = not_padding(ids)                                              # (B, 1, 1, T)
print(allowed.shape)
print(allowed[:, 0, 0])
masked, cache = encoder.forward(x, allowed=allowed)
print("largest difference:", np.abs(masked[1, :2] - alone[0]).max())

# %% [markdown]
# Now the neighbour does not matter. (What is left is rounding.) The mask has the axes of the scores,
# (B, h, T_q, T_k). The two axes in the middle have the size 1, so NumPy repeats the mask for every head and every query: a
# key that is padding is hidden from every query.
#
# The picture shows the first head for `birds fly`, without the mask and with it. A hatched cell is not "weight 0" but "may
# not be looked at".

# %%
masked_weights = cache.layers[0].self_attention.attention.weights[1]    # (h, T_q, T_k)
both = np.stack([unmasked[0], masked_weights[0]])                       # (2, T_q, T_k)
shown = np.stack([np.ones((4, 4), bool), np.tile(allowed[1, 0], (4, 1))])
plot_attention(both, tokens, tokens, allowed=shown, titles=["no mask", "not_padding"])

# %% [markdown]
# ## 5.2 −∞ before the softmax, not zero after
#
# Take one row of scores. The last key is padding and must get nothing. There are three obvious ways: set its weight to
# zero after the softmax, set its score to zero before it, or set its score to $-\infty$ before it.
#
# > **Predict.** Which of the three give the padding weight 0? And which give rows that sum to 1?

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
# Only the third way does both, and it equals a row in which the padding does not exist. **Zero after** is too late: the
# padding was in the denominator, so the other weights are too small. **Zero before** is no mask: $e^0 = 1$, and a score
# of 0 is a score like any other. With $-\infty$ the key is missing from both sums, the denominator and the mean of the
# values, because $e^{-\infty} = 0$.
#
# Could one set zeros after the softmax and scale the row up again? That works only as long as something is left to scale:

# %%
row[3] = 800.0                                                          # a very large score of padding
print("zero after ", softmax(row) * real)
print("-inf before", softmax(np.where(real, row, -np.inf)))

# %% [markdown]
# Many programs use $-10^9$ instead of $-\infty$. It gives the same weights, except in a row where *nothing* is allowed. If
# $-10^9$ *replaces* the scores, all are equal there, and the query looks evenly at every key that is forbidden. Most
# programs *add* it, and then it depends on the precision. float32, in which such programs mostly run, has about seven
# digits: next to $-10^9$ the scores are lost, and the row is even again. In float64 they are kept, and the row looks as
# if there were no mask. All of these are real bugs. `Softmax` gives zeros for a row of only $-\infty$. (Figure 2 masks
# after the scale. For $-\infty$ the order does not matter.)

# %%
print("same in a usual row:", np.array_equal(softmax(np.where(real, row, -1e9)),
                                             softmax(np.where(real, row, -np.inf))))
row = np.array([2.0, 1.0, 0.0, 3.0])
added = {dtype.__name__: softmax(row.astype(dtype) - dtype(1e9)) for dtype in (np.float32, np.float64)}
print("without a mask     :", softmax(row))
print("-1e9 everywhere    :", softmax(np.full(4, -1e9)))
for name, weights in added.items():
    print(f"-1e9 added, {name}:", weights)
print("-inf everywhere    :", softmax(np.full(4, -np.inf)))

# %% [markdown]
# ## 5.3 Why key columns and not query rows?
#
# The mask keeps queries from looking *at* padding: it hides columns. The padded positions are still queries, so the map
# has rows for them (the picture above has all four). Should these rows be hidden, too? First try only the rows.

# %%
rows_only = allowed.mT                                                  # (B, 1, T, 1)
wrong = encoder(x, allowed=rows_only)
print("largest difference to the sentence alone:", np.abs(wrong[1, :2] - alone[0]).max())

# %% [markdown]
# This hides the wrong cells: `birds` still looks at padding. And a row in which nothing is allowed is dangerous. The plain
# formula of softmax is then 0/0:

# %%
with np.errstate(invalid="ignore"):
    exp_scores = np.exp(np.full(3, -np.inf))
    print("plain softmax:", exp_scores / exp_scores.sum())
print("our Softmax  :", softmax(np.full(3, -np.inf)))

# %% [markdown]
# One `nan` in one padded row is enough. $0 \cdot$ `nan` is `nan`, so in the next layer it reaches every token of its
# sequence, in spite of its weight 0.
#
# When only key columns are masked, each row keeps something to look at. But then the padded queries compute something.
# Two parts of the model could read it:
#
# - The **next layer** reads positions as keys and values. There padding is masked. (The same mask is used where the
#   decoder reads the memory.)
# - The **loss** compares outputs with targets. It leaves out targets that are padding.
#
# So nobody should read it. To test this, overwrite the outputs of the first layer at padded positions:
#
# > **Predict.** By how much do the outputs of the real tokens change after the second layer?

# %%
first, second = encoder.layers
y = first(x, allowed=allowed)                                           # (B, T, d_model)
spoiled = np.where((ids == 0)[..., None], 1000.0, y)
change = second(spoiled, allowed=allowed) - second(y, allowed=allowed)
print("at padded positions:", np.abs(change[ids == 0]).max())
print("at real positions  :", np.abs(change[ids != 0]).max())

# %% [markdown]
# The outputs of the real tokens change by exactly 0.0, since $0 \cdot 1000$ is 0. The same holds backwards. Take a gradient
# at the outputs that is zero at padded positions, as the loss gives it, and see what arrives at the inputs:

# %%
_, cache = encoder.forward(x, allowed=allowed)
grad_y = np.where((ids != 0)[..., None], rng.standard_normal(x.shape), 0.0)
grad_x = encoder.backward(grad_y, cache)                                # (B, T, d_model)
print("gradient at padded positions:", np.abs(grad_x[ids == 0]).max())
print("gradient at real positions  :", np.abs(grad_x[ids != 0]).max())

# %% [markdown]
# No gradient flows into padding, so padding teaches nothing. To mask the rows as well would cost work and change nothing that anybody reads.
#
# ## 5.4 The causal mask
#
# The decoder learns to write the target. Its input is the target itself, shifted right by one (Section 3.1). At each
# position it has read all tokens up to there, and it must write the token that comes next. The drawing shows this for our
# sentence. `<bos>` marks the beginning, `<eos>` marks the end.

# %%
masks_combined(masks=False)

# %% [markdown]
# The lesson trains on `ReverseTask`: write the source backwards.

# %%
task = ReverseTask(max_length=6)
src = task.source("3 1 4")                                              # (1, 4)  with <eos>
tgt_out = task.source("4 1 3")                                          # (1, 4)  with <eos>
tgt_in = np.array([[task.bos, *tgt_out[0, :-1]]])                       # (1, 4)  shifted by one
for name, row in (("src", src), ("tgt_in", tgt_in), ("tgt_out", tgt_out)):
    print(f"{name:8}", *(f"{t:6}" for t in task.tokens(row[0])))

# %% [markdown]
# Compare the last two lines: the answer at position $t$ stands in the input at position $t + 1$. A decoder that may look
# one place to the right has nothing left to learn. So position $i$ may look at positions $j \le i$ only. `causal` is one
# line of NumPy:

# %%
print(inspect.getsource(causal))
print(causal(4).astype(int))                                            # (T, T)  row = query, column = key

# %% [markdown]
# The diagonal is allowed: position $i$ may look at its own *input*, which is the answer of the step before. So no row is
# empty. (**GPT** uses this mask in all of its attentions. **BERT** never uses it: it reads a whole text at once and does
# not write.) A batch needs both masks at once, and that is a plain `&`. A hatched cell may not be looked at:

# %%
masks_combined(shift=False)

# %% [markdown]
# > **Predict.** `causal(4)` has the shape (4, 4), and `not_padding(ids)` has the shape (2, 1, 1, 4). Which shape does `causal(4) & not_padding(ids)` have? In how many cells of the second sequence, with 2 real tokens, is it True?

# %%
allowed = causal(4) & not_padding(ids)                                  # (B, 1, T, T)
print(allowed.shape, " True in each sequence:", allowed.sum(axis=(1, 2, 3)))

# %% [markdown]
# The full triangle has $1 + 2 + 3 + 4 = 10$ cells. The short sequence keeps those in its two columns of real tokens,
# $4 + 3 = 7$ cells. `Transformer` builds exactly this mask:

# %%
model = Transformer(len(words), N=1, d_model=16, d_ff=32, h=2, rng=np.random.default_rng(0))
_, cache = model.forward(ids, ids)
name = "decoder.layers.0.self_attention.attention.weights"
print("the mask in its cache:", np.array_equal(attention_masks(cache)[name][:, :1], allowed))

# %% [markdown]
# ## 5.5 Does it hold? Change the future and see
#
# Here is a test that needs no theory: change one token of the decoder's input and see which outputs change. (The model's
# outputs are **logits**: at each position one score for every word. Their softmax is the prediction.) For comparison we
# need a model without the causal mask. `Transformer` takes any class as its decoder layer, so one line plants the leak:
# it takes only the last row of the mask. The last position may see every real token, so this row is the padding mask
# alone.

# %%
class LeakingDecoderLayer(DecoderLayer):
    def forward(self, x, memory, *, allowed=None, **options):
        not_causal = allowed[..., -1:, :]                               # (B, 1, 1, T)
        return super().forward(x, memory, allowed=not_causal, **options)


size = dict(N=2, d_model=32, d_ff=64, h=4)
honest = Transformer(task.vocab_size, **size, rng=np.random.default_rng(0))
leaking = Transformer(task.vocab_size, **size, decoder_layer=LeakingDecoderLayer,
                      rng=np.random.default_rng(0))                     # the same parameters

# %% [markdown]
# > **Predict.** The input has positions 0 to 6, and the token at position 4 changes. At which positions do the logits change in each model?

# %%
src, tgt_in, _ = task.test(1)                                           # (1, 7) each
changed = tgt_in.copy()
changed[0, 4] = task.bos                                                # any other token would do
for name, m in (("honest ", honest), ("leaking", leaking)):
    difference = np.abs(m(src, tgt_in) - m(src, changed)).max(axis=-1)[0]   # (T,)
    print(name, difference)

# %% [markdown]
# With the mask the logits before position 4 are equal to the last bit. Without the mask all logits change. One changed
# token is only one sample. The Jacobian says how every output depends on every input. The experiment `causality` measures
# all its blocks in a decoder of two layers, by backward passes. Each picture has a row for each output and a column for
# each input, from position 0 on:

# %%
jacobian = CAUSALITY.run()
jacobian.figure()

# %% [markdown]
# On the left every cell above the diagonal is exactly 0. On the right no cell is: every output depends on every input.
#
# ## 5.6 What a leak does to training
#
# Now train both models on `reverse`, from the same parameters, on the same batches. In training the decoder reads the *true*
# target. This is called **teacher forcing**. The loop is that of Lesson 10: 400 steps of Adam, a rate that first rises
# and then falls to 0, and the log-loss. You need none of its details here. The picture shows the share of tokens that
# are predicted right.

# %%
def rate(step):                                                         # up to 0.01, then down to 0
    return 0.01 * min(step / 50, 1 - step / 401)


def trained(task, layer):
    model = small_model(task, seed=0, decoder_layer=layer)              # N = 1, d_model = 32
    history = learn(model, task, seed=0, steps=400, batch_size=32, schedule=rate)
    return model, [progress.accuracy for progress in history]


honest, honest_accuracy = trained(task, DecoderLayer)
leaking, leaking_accuracy = trained(task, LeakingDecoderLayer)

# %%
fig = new_figure(7, 3.5)
ax = fig.subplots()
steps = 10 * np.arange(1, 41)                                           # a point is the mean of ten
ax.plot(steps, np.reshape(honest_accuracy, (-1, 10)).mean(axis=1), color=COLORS[0], label="one of them")
ax.plot(steps, np.reshape(leaking_accuracy, (-1, 10)).mean(axis=1), color=COLORS[1], linestyle="--", label="the other")
ax.set(xlabel="step", ylabel="share of tokens right", title="Two models learn to reverse. Which one cheats?")
ax.legend()
fig

# %% [markdown]
# Both curves rise to nearly 1, so no training curve of this task shows the leak. A test set does not show it either, if the test uses
# teacher forcing, too. So let the model write by itself. In **greedy decoding** it reads its own tokens, and its input
# does not contain the answer.
#
# > **Predict.** Under teacher forcing both models have more than 90 % of the test tokens right. Which share of the test *sequences* does each model decode exactly?

# %%
test = task.test(200)
models = {"honest ": honest, "leaking": leaking}
forced = {name: scores(m, test)[1] for name, m in models.items()}
decoded = {name: exact_match(m, test, bos=task.bos, eos=task.eos) for name, m in models.items()}
for name in models:
    print(f"{name}  tokens right, teacher-forced {forced[name]:.2f}   sequences right, decoded {decoded[name]:.2f}")

# %%
source = task.source("3 1 4 2 5")
written = {name: greedy_decode(m, source, bos=task.bos, eos=task.eos, max_len=10) for name, m in models.items()}
for name, out in written.items():
    print("3 1 4 2 5  ", name, "writes", task.tokens(out[0]))

# %% [markdown]
# The dashed curve was the leaking model. It has learned to copy its input one place to the left, and not to reverse. When
# nothing stands to its right, it has nothing to copy. The picture shows the two heads that do it most clearly. From here on, a row of
# a decoder is named "read → written": the token that the decoder reads at that place, the query, and the one that it has
# to write after it. Find the written token of a row among the columns: there the row looks. (The last row has nothing to copy.) The cell counts, in each
# head, the queries with their largest weight one place to the right of the diagonal, on the key that holds the answer.

# %%
src, tgt_out = task.source("3 1 4 2 5"), task.source("5 2 4 1 3")
tgt_in = np.array([[task.bos, *tgt_out[0, :-1]]])
_, cache = leaking.forward(src, tgt_in)
name = "decoder.layers.0.self_attention.attention.weights"
weights = attention_maps(cache)[name][0]                                # (h, T_q, T_k)
read, written_next = task.tokens(tgt_in[0]), task.tokens(tgt_out[0])
looks_right = weights[:, :-1].argmax(axis=-1) == np.arange(1, len(read))    # (h, T_q - 1)
print("largest weight one place to the right:", looks_right.sum(axis=-1), "of", len(read) - 1, "queries")
clearest = np.sort(looks_right.sum(axis=-1).argsort()[-2:])             # two heads
plot_attention(weights[clearest], [f"{r} → {w}" for r, w in zip(read, written_next)], read,
               titles=[f"head {i + 1}" for i in clearest], title="The leak, in the act")

# %% [markdown]
# "But my model learns the copy task" is therefore no evidence. There is a test that exposes a leak by training: train on
# something that *nobody* can predict. Here the target is dice with six faces, thrown anew for every example.
#
# > **Predict.** Which share of the throws can an honest model get right? Which share can the leaking model get right?

# %%
class Dice(Task):
    name = "dice"
    rng = np.random.default_rng(0)

    def target(self, sequence):                                         # whatever the source says
        return self.rng.integers(3, 9, len(sequence))                   # ids 3 to 8


dice, accuracy = Dice(symbols=6, max_length=6), {}
for layer in (DecoderLayer, LeakingDecoderLayer):
    model, _ = trained(dice, layer)
    src, tgt_in, tgt_out = dice.test(500)
    right = model(src, tgt_in).argmax(axis=-1) == tgt_out               # (B, T)
    accuracy[layer] = right[tgt_out >= 3].mean()                        # the throws only
for layer, share in accuracy.items():
    print(f"{layer.__name__:20} throws right: {share:.2f}")

# %% [markdown]
# The honest model gets about one throw in six right, and nobody can do better. A model that does better has seen the
# answer. (This shows a leak that training has learned to use. The Jacobian of Lesson 5.5 shows every leak.)
#
# ## 5.7 All positions at once, or one at a time: the same function
#
# Training computes the logits of all positions in one pass. Decoding cannot do so: it needs token $t$ before it can ask for
# token $t + 1$. Does the model then compute in decoding what it was trained to compute? Give the model one prefix after
# the other, take the last position each time, and compare with the one parallel pass.

# %%
def step_by_step(model, src, tgt):
    memory, _ = model.encode(src)
    real = not_padding(src)
    last = [model.decode(tgt[:, : t + 1], memory, memory_allowed=real)[0][:, -1]    # (B, vocab_size)
            for t in range(tgt.shape[1])]
    return np.stack(last, axis=1)                                       # (B, T, vocab_size)


src, tgt_in, tgt_out = task.test(1)
gap = {}
for name, m in models.items():
    m.astype(np.float64)                                                # training was in float32
    gap[name] = np.abs(m(src, tgt_in) - step_by_step(m, src, tgt_in)).max()
for name, difference in gap.items():
    print(f"{name}  one pass against {tgt_in.shape[1]} passes: largest difference {difference:.0e}")

# %% [markdown]
# For the honest model the difference is rounding. Because of the causal mask, position $t$ of the long pass is a function
# of the prefix up to $t$ and of nothing else, and decoding has exactly this prefix. So one pass over $T$ tokens trains
# $T$ predictions at once, each on its own prefix. No prediction is lost by the mask: what it hides does not exist yet when
# the model writes. The leaking model is one function in training and another one in use.
#
# One more thing follows. Earlier positions never look at later ones, so their keys and values do not change when a token
# is added. A decoder may keep them: this is the **KV cache** of every language model that writes from left to right.
# `greedy_decode` uses one.
#
# ## 5.8 For the keen: masks of the wrong shape
#
# NumPy broadcasts every shape that fits, so a mask on the wrong axis trains without an error. Therefore the library takes
# only booleans, and only two forms: (T_q, T_k), or as many axes as the scores. Here are three common mistakes:

# %%
attention = ScaledDotProductAttention()
Q = rng.standard_normal((2, 3, 4, 8))                                   # (B, h, T, d_k)
real = ids != 0                                                         # (B, T)
for mistake in (real, real[:, None, :], real.astype(int)):
    try:
        attention(Q, Q, Q, allowed=mistake)
    except (TypeError, ValueError) as error:
        print(type(error).__name__ + ":", error, end="\n\n")

# %% [markdown]
# The first two messages name the shape that was meant, (2, 1, 1, 4). No check can find a (B, T) mask in a batch with
# $B = T$, because it is then a valid (T_q, T_k) mask. For this reason `not_padding` has four axes.

# %% [markdown]
# ## 5.9 For the keen: try it in a trained model
#
# > **Predict.** A model that was trained *with* the causal mask decodes without it. What does the map of its masked self-attention look like then? And is its copy of `3 1 4 1 5` still right?
#
# Open [the copying model without its causal mask](../docs/live/copy.html#src=3+1+4+1+5&kind=decoder_self&layer=1&head=0&what-if=mask).
# Press "From the start" and then "Next", one token at a time, and watch both maps grow.
# If the page is not there yet, `python docs/make_live_pages.py` makes it in about four minutes.

# %% [markdown]
# The upper right half of the map fills: the row `<bos>` had to look at itself alone, and now it looks at all that was
# written after it. The copy is still right. The newest row writes the next token, and it is the last row, so nothing stands
# behind it that a mask could hide. Only earlier rows change. They reach the newest one through the second layer, and
# there they change the probabilities a little. A leak spoils what is *learned*: this model learned behind the mask.

# %% [markdown]
# ## 5.10 Check what this lesson claimed

# %%
assert np.abs(masked[1, :2] - alone[0]).max() < 1e-12 < np.abs(batch[1, :2] - alone[0]).max()
assert np.allclose(ways["-inf before"][:3], ways["(three keys)"], rtol=0, atol=1e-12)
assert (added["float32"] == 0.25).all()                 # the scores are lost
assert np.allclose(added["float64"], softmax(np.array([2.0, 1.0, 0.0, 3.0])), rtol=0, atol=1e-6)
assert (change[ids != 0] == 0).all()                    # nobody reads padded outputs
assert (grad_x[ids == 0] == 0).all()
assert not np.triu(jacobian.masked, 1).any()            # no output depends on a later input
assert forced["leaking"] > 0.9                          # looks learned
assert decoded["leaking"] < 0.1 < 0.9 < decoded["honest "]
assert accuracy[DecoderLayer] < 0.3 < 0.9 < accuracy[LeakingDecoderLayer]
assert gap["honest "] < 1e-12 < gap["leaking"]
print("all true")

# %% [markdown]
# ## Summary
#
# - A batch is padded, and padding changes the outputs unless it is masked. With `not_padding` a sequence in a batch gives the
#   same outputs as alone.
# - The mask puts $-\infty$ where a query may not look, *before* the softmax: the key leaves the denominator, too.
# - Key columns are masked. Query rows need no mask: nobody reads the outputs of padding, and its gradient is exactly zero.
# - The causal mask lets position $t$ depend on positions up to $t$ only. So all positions train in one pass and
#   decoding, one token at a time, evaluates the same function.
# - On a task that can be learned perfectly, a leak does not show in the training curve. (Elsewhere the loss falls lower
#   than anybody can explain.) It shows in decoding, in the Jacobian, and in a model that predicts dice.
#
# ## Questions
#
# **1.** Attention over the memory has a mask, too. Is it causal?
#
# <details><summary>Answer</summary>
#
# The mask over the memory is not causal: it is `not_padding(src)`. The whole source is known before the first token is written, so each target position may
# look at every real source token. There is no future in the source.
#
# </details>
#
# **2.** You have forgotten the padding mask in the decoder's self-attention, and kept the causal one. All padding is on the
# right. What changes for the real positions?
#
# <details><summary>Answer</summary>
#
# Nothing changes. Padding on the right comes after each real position, so the causal mask hides it already. With padding on
# the left it would matter: there the first rows would look at nothing but padding. The encoder has no causal mask, so
# it needs its padding mask wherever the padding stands.
#
# </details>
#
# **3.** The input of the decoder is no longer shifted, so that position $t$ reads token $t$ and must predict token $t$. The causal mask is in place. Is that a leak?
#
# <details><summary>Answer</summary>
#
# This is a complete leak: the diagonal of the mask is allowed, so each position reads its own answer. The mask and the
# shift belong together, and Section 3.1 names both. Only with the shift does "$j \le i$" mean "already written".
#
# </details>
