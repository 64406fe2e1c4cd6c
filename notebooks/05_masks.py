# %% [markdown]
# # Lesson 5 · Masks: padding, causal, and what leaks without them
#
# | | |
# |---|---|
# | **You will do** | pad a batch and see the padding talk; hide it properly; then train two models, one of which can see its own answer, and watch the cheat get nearly every token right and be able to do nothing |
# | **You will learn** | why $-\infty$ goes in before the softmax; why key columns are masked and not query rows; why one causal mask lets all positions train at once |
# | **You need** | Lessons 1 and 2 (softmax, what a Jacobian and a backward are) |
# | **Paper** | Section 3.1, Section 3.2.3, Figure 2 |
# | **Time** | 45 minutes, without the parts marked *for the keen*: run their cells, skip their text, since no later part needs it |
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
    DecoderLayer,
    Embedding,
    Encoder,
    EncoderLayer,
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
from aiayn_np.experiments.causality import CAUSALITY
from aiayn_np.experiments.learning import learn, scores, small_model
from aiayn_np.plotting import COLORS, new_figure

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# ## 5.1 A batch needs padding
#
# Two sentences, of 6 words and of 2. An array has no ragged rows, so the short one is filled up with a token that
# means nothing: `<pad>`, id 0.

# %%
words = ["<pad>", "the", "cat", "sat", "on", "mat", "birds", "fly"]
ids = np.array([[1, 2, 3, 4, 1, 5],         # (B, T)  the cat sat on the mat
                [6, 7, 0, 0, 0, 0]])        #         birds fly
tokens = [words[i] for i in ids[1]]
print(ids.shape, tokens)

# %%
rng = np.random.default_rng(0)
embedding = Embedding(len(words), 16, rng=rng)                          # d_model = 16
encoder = Encoder([EncoderLayer(16, 32, 2, rng=rng) for _ in range(2)])     # N = 2 layers, h = 2 heads
x = embedding(ids)                                                      # (B, T, d_model)
print("x", x.shape)

# %% [markdown]
# > **Predict.** `birds fly` goes through the encoder alone, and then again in this batch. Does `birds` come out the
# > same? And of the 6 weights that `birds` gives out in the batch, about which share falls on padding?

# %%
alone = encoder(x[1:, :2])                                              # (1, 2, d_model)
batch, cache = encoder.forward(x)                                       # (2, 6, d_model)
print("largest difference:", np.abs(batch[1, :2] - alone[0]).max())
unmasked = cache.layers[0].self_attention.attention.weights[1]          # (h, T_q, T_k)
print("weight on padding, each head:", unmasked[:, 0, 2:].sum(axis=-1))

# %% [markdown]
# It does not. With equal weights, padding would get 4 of 6 parts; in this untrained layer it gets even more than 0.8.
# What a sentence means would depend on how long its neighbour in the batch is. So the padding has to be hidden.
# `not_padding` says which tokens are real.

# %%
allowed = not_padding(ids)                                              # (B, 1, 1, T)
print(allowed.shape)
print(allowed[:, 0, 0])
masked, cache = encoder.forward(x, allowed=allowed)
print("largest difference:", np.abs(masked[1, :2] - alone[0]).max())

# %% [markdown]
# Now the neighbour does not matter (on your machine, rounding may be left). The mask has the axes of the scores,
# (B, h, T_q, T_k). The two in the middle are 1, so NumPy repeats it for every head and every query: a key that is padding is padding for everybody.
#
# The picture shows the first head for `birds fly`, without and with the mask. Hatched is not "weight 0" but "not
# asked": those cells were never candidates.

# %%
masked_weights = cache.layers[0].self_attention.attention.weights[1]    # (h, T_q, T_k)
both = np.stack([unmasked[0], masked_weights[0]])                       # (2, T_q, T_k)
shown = np.stack([np.ones((6, 6), bool), np.tile(allowed[1, 0], (6, 1))])
plot_attention(both, tokens, tokens, allowed=shown, titles=["no mask", "not_padding"])

# %% [markdown]
# ## 5.2 −∞ before the softmax, not zero after
#
# One row of scores; the last key is padding and must get nothing. Three ways suggest themselves: set its weight to
# zero afterwards, set its score to zero before, set its score to $-\infty$ before.
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
# Only the third does both, and equals a row in which the padding does not exist. **Zero after** is too late: the
# padding has been in the denominator and took its share with it. **Zero before** is no mask: $e^0 = 1$, a score of 0
# is a score like any other. Since $e^{-\infty} = 0$, the key is missing from both sums: the denominator and the mean
# of the values.
#
# Could one set zeros after and scale the row up again? As long as something is left to scale:

# %%
row[3] = 800.0                                                          # the padding shouts
print("zero after ", softmax(row) * real)
print("-inf before", softmax(np.where(real, row, -np.inf)))

# %% [markdown]
# One often sees $-10^9$ instead of $-\infty$. It gives the same weights, except in a row where *nothing* is
# allowed: there all scores are equal again, and the query looks everywhere it must not. `Softmax` answers a row of
# only $-\infty$ with zeros. (Figure 2 masks after the scale; for $-\infty$ the order does not matter.)

# %%
print("same in a usual row:", np.array_equal(softmax(np.where(real, row, -1e9)),
                                             softmax(np.where(real, row, -np.inf))))
print("-1e9 everywhere    :", softmax(np.full(4, -1e9)))
print("-inf everywhere    :", softmax(np.full(4, -np.inf)))

# %% [markdown]
# ## 5.3 Why key columns and not query rows?
#
# The mask hides padding from being *looked at*: it blanks columns. The padded positions themselves still ask, so the
# map has rows for them (the picture above had all six). Should those be blanked, too? Try it *instead*: rows only.

# %%
rows_only = allowed.mT                                                  # (B, 1, T, 1)
wrong = encoder(x, allowed=rows_only)
print("largest difference to the sentence alone:", np.abs(wrong[1, :2] - alone[0]).max())

# %% [markdown]
# That masks the wrong thing: `birds` still looks at padding. And a row with nothing allowed is a trap. Written down
# as it stands, softmax is then 0/0:

# %%
with np.errstate(invalid="ignore"):
    exp_scores = np.exp(np.full(3, -np.inf))
    print("plain softmax:", exp_scores / exp_scores.sum())
print("our Softmax  :", softmax(np.full(3, -np.inf)))

# %% [markdown]
# One `nan` in one padded row is enough: $0 \cdot$ `nan` is `nan`, so in the next layer it reaches every token of its
# sequence in spite of its weight 0. With key columns alone this does not arise, as long as each sequence has one real token. But then the padded queries compute something. Who reads it?
#
# Only two could. The **next layer** reads positions as keys and values, and there padding is masked (so it is where the
# decoder reads the memory). The **loss** leaves out targets that are padding. So overwrite what the first layer puts out at padded positions:
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
# By nothing: not by little, by 0.0, since $0 \cdot 1000$ is 0. Backwards it is the same statement. Take a gradient at the outputs that is zero at padded
# positions, as the loss gives it, and see what arrives at the inputs:

# %%
_, cache = encoder.forward(x, allowed=allowed)
grad_y = np.where((ids != 0)[..., None], rng.standard_normal(x.shape), 0.0)
grad_x = encoder.backward(grad_y, cache)                                # (B, T, d_model)
print("gradient at padded positions:", np.abs(grad_x[ids == 0]).max())
print("gradient at real positions  :", np.abs(grad_x[ids != 0]).max())

# %% [markdown]
# Nothing flows into padding, so padding teaches nothing. Masking the rows as well would cost work and buy nothing.
#
# ## 5.4 The causal mask
#
# The decoder learns to write the target. Its input is the target itself, shifted right by one (Section 3.1): at each
# position it has read everything up to there and must say what comes next. This is `ReverseTask`: write the source
# backwards.

# %%
task = ReverseTask(max_length=6)
src = task.source("3 1 4")                                              # (1, 4)
tgt_in = np.array([[task.bos, *src[0, 2::-1]]])                         # (1, 4)
tgt_out = np.array([[*src[0, 2::-1], task.eos]])                        # (1, 4)
for name, row in (("src", src), ("tgt_in", tgt_in), ("tgt_out", tgt_out)):
    print(f"{name:8}", *(f"{t:6}" for t in task.tokens(row[0])))

# %% [markdown]
# Compare the last two lines: the answer at position $t$ stands in the input at position $t + 1$. A decoder that may
# look one place to the right has nothing left to learn. So position $i$ may look at $j \le i$ only:

# %%
print(causal(4).astype(int))                                            # (T, T)  row = query, column = key

# %% [markdown]
# The diagonal stays: position $i$ may look at its own *input*, which is the answer of the step before. So no row is
# ever empty. A batch needs both masks at once, and that is a plain `&`.
#
# > **Predict.** `causal(6)` has the shape (6, 6), `not_padding(ids)` (2, 1, 1, 6). Which shape has `causal(6) & not_padding(ids)`? In how many cells of the second sequence, with 2 real tokens, is it True?

# %%
allowed = causal(6) & not_padding(ids)                                  # (B, 1, T, T)
print(allowed.shape, " True in each sequence:", allowed.sum(axis=(1, 2, 3)))

# %% [markdown]
# The full triangle has $1 + 2 + \dots + 6 = 21$ cells. In the two columns of real tokens the short sequence keeps
# $6 + 5 = 11$ of them. `Transformer` builds exactly this mask. Here is an untrained one: the
# picture shows its decoder's self-attention for the short sequence of a batch, two heads.

# %%
model = Transformer(len(words), N=1, d_model=16, d_ff=32, h=2, rng=np.random.default_rng(0))
_, cache = model.forward(ids, ids)
name = "decoder.layers.0.self_attention.attention.weights"
plot_attention(attention_maps(cache)[name][1], tokens, tokens,
               allowed=attention_masks(cache)[name][1], title="Causal and padding")

# %% [markdown]
# ## 5.5 Does it hold? Change the future and see
#
# A test without theory: change one token of the decoder's input and see which outputs move. (The model's outputs are
# called **logits**: at each position one score for every word, of which the softmax makes the prediction.) For
# comparison we need a model without the causal mask. `Transformer` takes any class as its decoder layer, so we plant
# the leak in one line: of the mask that comes in, take only the last row. The last position may see every real token,
# so this is the padding mask alone.

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
# > **Predict.** The input has positions 0 to 6, and the token at position 4 changes. At which positions do the logits change, in either model?

# %%
src, tgt_in, _ = task.test(1)                                           # (1, 7) each
changed = tgt_in.copy()
changed[0, 4] = task.bos                                                # a token that was not there
for name, m in (("honest ", honest), ("leaking", leaking)):
    difference = np.abs(m(src, tgt_in) - m(src, changed)).max(axis=-1)[0]   # (T,)
    print(name, difference)

# %% [markdown]
# With the mask the positions before 4 are equal to the last bit; without it all of them move. One changed token is
# one sample. The whole truth is the Jacobian: how every output depends on every input. The experiment `causality`
# measures all its blocks in a decoder of two layers, by backward passes:

# %%
jacobian = CAUSALITY.run()
jacobian.figure()

# %% [markdown]
# ## 5.6 What a leak does to training
#
# Now train both on `reverse`, from the same parameters, on the same batches. While training, the decoder reads
# the *true* target: this is **teacher forcing**. The picture shows the share of tokens predicted right.

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
ax.plot(honest_accuracy, color=COLORS[0], label="one of them")
ax.plot(leaking_accuracy, color=COLORS[1], linestyle="--", label="the other")
ax.set(xlabel="step", ylabel="share of tokens right", title="Two models learn to reverse. Which one cheats?")
ax.legend()
fig

# %% [markdown]
# Both rise to nearly 1: no training curve gives it away. Neither does a test set, if the test is teacher-forced, too.
# So let the model write by itself: **greedy decoding** feeds it its own tokens, and there is no answer in the input to
# look at.
#
# > **Predict.** Both have more than 90 % of the test tokens right under teacher forcing. Which share of the test *sequences* does each decode exactly?

# %%
test = task.test(200)
models = {"honest ": honest, "leaking": leaking}
forced = {name: scores(m, test)[1] for name, m in models.items()}
decoded = {name: exact_match(m, test, bos=task.bos, eos=task.eos) for name, m in models.items()}
for name in models:
    print(f"{name}  tokens right, teacher-forced {forced[name]:.2f}   sequences right, decoded {decoded[name]:.2f}")

# %%
source = task.source("3 1 4 1 5")
written = {name: greedy_decode(m, source, bos=task.bos, eos=task.eos, max_len=10) for name, m in models.items()}
for name, out in written.items():
    print("3 1 4 1 5  ", name, "writes", task.tokens(out[0]))

# %% [markdown]
# The leaking model has learned something, but not to reverse: it copies its input one place to the left. When there
# is nothing to its right, it has nothing to go by. The picture shows its maps. In some heads every query but the last
# has its largest weight one place to the right of the diagonal, on the key that holds the answer; above the picture
# such queries are counted, head by head.

# %%
src, tgt_in = task.source("3 1 4 1 5"), np.array([[task.bos, *task.source("5 1 4 1 3")[0, :-1]]])
_, cache = leaking.forward(src, tgt_in)
name = "decoder.layers.0.self_attention.attention.weights"
names, weights = task.tokens(tgt_in[0]), attention_maps(cache)[name][0]     # (h, T_q, T_k)
looks_right = weights[:, :-1].argmax(axis=-1) == np.arange(1, len(names))   # (h, T_q - 1)
print("largest weight one place to the right:", looks_right.sum(axis=-1), "of", len(names) - 1, "queries")
plot_attention(weights, names, names, title="The leak, in the act")

# %% [markdown]
# "But my model learns the copy task" is therefore no evidence. If you want an alarm that always rings, train on
# something that *nobody* can predict. Here the target is dice: six faces, thrown anew for every example.
#
# > **Predict.** Which share of the throws can an honest model predict? And the leaking one?

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
# One in six is all there is to know about a die. A model that knows more has seen it.
#
# ## 5.7 All positions at once, or one at a time: the same function
#
# Training computes the logits of all positions in one pass. Decoding cannot: it must have token $t$ before it can ask
# for token $t + 1$. Does the model then do in decoding what it was trained to do? Feed the honest model one prefix
# after the other, take each time the last position, and compare with the one parallel pass.

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
    m.astype(np.float64)
    gap[name] = np.abs(m(src, tgt_in) - step_by_step(m, src, tgt_in)).max()
for name, difference in gap.items():
    print(f"{name}  one pass against {tgt_in.shape[1]} passes: largest difference {difference:.0e}")

# %% [markdown]
# For the honest model it is rounding. The causal mask makes position $t$ of the long pass a function of the prefix up
# to $t$ and of nothing else, which is what decoding has in its hands. So one pass over $T$ tokens trains $T$
# predictions at once, each on its own prefix. The mask is the price, and it is no loss: what it hides does not exist
# yet when the model writes. The leaking model is one function in training and another in use.
#
# ## 5.8 For the keen: masks of the wrong shape
#
# NumPy broadcasts whatever fits, and a mask on the wrong axis trains without a complaint. So the library takes
# two forms only, (T_q, T_k), or as many axes as the scores, and booleans only. Three mistakes that everybody makes:

# %%
attention = ScaledDotProductAttention()
Q = rng.standard_normal((2, 4, 6, 8))                                   # (B, h, T, d_k)
real = ids != 0                                                         # (B, T)
for mistake in (real, real[:, None, :], real.astype(int)):
    try:
        attention(Q, Q, Q, allowed=mistake)
    except (TypeError, ValueError) as error:
        print(type(error).__name__ + ":", error, end="\n\n")

# %% [markdown]
# The first two messages name the shape that was meant, (2, 1, 1, 6). What no check can find is a (B, T) mask in a
# batch with $B = T$: it then is a valid (T_q, T_k) mask. `not_padding` has its four axes for that reason.
#
# ## 5.9 Check what this lesson claimed

# %%
assert np.abs(masked[1, :2] - alone[0]).max() < 1e-12 < np.abs(batch[1, :2] - alone[0]).max()
assert np.allclose(ways["-inf before"][:3], ways["(three keys)"], rtol=0, atol=1e-12)
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
# - A batch is padded, and padding takes part unless it is masked. With `not_padding` a sequence in a batch gives the
#   same outputs as alone.
# - The mask puts $-\infty$ where a query may not look, *before* the softmax: the key leaves the denominator, too.
# - Key columns are masked. Query rows need no mask: nobody reads the outputs of padding, and its gradient is exactly zero.
# - The causal mask lets position $t$ depend on positions up to $t$ only. So all positions train in one pass and
#   decoding, one token at a time, evaluates the same function.
# - On a task that can be learned, a leak does not show in the training curve. It shows in decoding, in the Jacobian,
#   and in a model that predicts dice.
#
# ## Questions
#
# **1.** Attention over the memory has a mask, too. Is it causal?
#
# <details><summary>Answer</summary>
#
# No, it is `not_padding(src)`. The source is all known before the first token is written, so each target position may
# look at every real source token. There is no future in the source.
#
# </details>
#
# **2.** You have forgotten the padding mask in the decoder's self-attention, and kept the causal one. All padding is on the
# right. What changes for the real positions?
#
# <details><summary>Answer</summary>
#
# Nothing. Padding on the right comes after each real position, so the causal mask hides it already. With padding on
# the left it would matter: there the first rows would look at nothing but padding. The encoder has no causal mask and
# needs its padding mask wherever the padding stands.
#
# </details>
#
# **3.** The input of the decoder is no longer shifted, so that position $t$ reads token $t$ and must predict token $t$. The causal mask is in place. Is that a leak?
#
# <details><summary>Answer</summary>
#
# A complete one: the diagonal of the mask is allowed, so each position reads its own answer. The mask and the shift
# belong together (Section 3.1 names both): the shift makes "$j \le i$" mean "already written".
#
# </details>
