# %% [markdown]
# # Lesson 9 · The whole Transformer, forwards and backwards
#
# | | |
# |---|---|
# | **You will do** | send one batch through an encoder-decoder, calling each part yourself; then send the gradient back, and see what the encoder learns from |
# | **You will learn** | how the parts of Figure 1 fit together; why the target is shifted; what $p - q$ is; how many parameters a model has, and what training has to remember |
# | **You need** | Lessons 1 to 8, at least the pictures; Lesson 4 for the backward pass |
# | **Paper** | Section 3.1, Section 3.4, Section 5.4, Figure 1, Table 3 |
# | **Time** | *see*, and from Lesson 9.5 on *then prove*: about 40 minutes each (estimated); of the parts *for the keen* run the cells, skip the text |

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
import itertools

import numpy as np

from aiayn_course.drawings import figure_1, model_gradients, model_shapes
from aiayn_np import (
    CopyTask,
    LabelSmoothedCrossEntropy,
    Parameter,
    Transformer,
    attention_maps,
    causal,
    check_gradients,
    greedy_decode,
    not_padding,
)
from aiayn_np.training.loss import ModelLoss

# %% [markdown]
# Eight lessons made the parts. Put together, with random numbers, they are asked to copy.
#
# <!-- slide: It cannot do it yet
# Eight lessons made the parts. Put together, with random numbers, they are asked to copy a row of symbols.\
# [code]
# [print]
# Training will change the numbers (Lesson 10), and the machine stays what it is. -->

# %% show=[1, 2, 3, 4]
rng = np.random.default_rng(0)
task = CopyTask(symbols=8, max_length=5)
model = Transformer(task.vocab_size, N=2, d_model=16, d_ff=32, h=2, rng=rng)
answer = greedy_decode(model, task.source("3 1 4"), bos=task.bos, eos=task.eos, max_len=6)[0]
print("it reads 3 1 4 and writes", *task.tokens(answer))

# %% [markdown]
# It cannot do it yet. Training will change its numbers (Lesson 10). <!-- result -->
#
# ## 9.1 A small one
#
# This model has two narrow layers in each stack; otherwise it is the paper's, dropout apart (Lesson 7.6). Its parameters have the names of the boxes;
# here are those of one attention.
#
# <!-- slide: In three boxes of Figure 1 stands a matrix $E$ with a row for each token
# The model of this lesson has two layers in each stack, and everything is narrow. Otherwise it is the model of the paper, dropout apart (Lesson 7.6). Its parameters have the names of the boxes, from bottom to top; here are those of one attention.\
# [code]
# [print]
# They are lit: the embedding of the source, that of the target, and the projection at the top, which is called *Linear*. -->

# %% show=[1, 2, 3, 4]
names = dict(model.named_parameters())
for name, parameter in names.items():
    if name.startswith("encoder.layers.0.self"):
        print(f"{name:45} {parameter.value.shape}")

# %% [markdown]
# In the three lit boxes of Figure 1 stands a matrix $E$ with a row for each token: the embedding of the source, that of the target, and the projection
# at the top, *Linear*.
#
# <!-- slide:
# ![] -->

# %%
figure_1("embedding", "output_projection")

# %% [markdown]
# > **Predict.** How many matrices $E$ does the list of all parameters hold?
# >
# > - 1 → The three boxes share one `Parameter` (Section 3.4). <!-- true: sum(name.endswith(".E") for name in names) == 1 -->
# > - 2 → Source and target share one vocabulary in the paper.
# > - 3 → A box need not own what it uses.
# >
# > <!-- given: Three boxes use a matrix $E$ with a row for each word: the embedding of the source, that of the target, and the projection at the top. -->

# %%
print([name for name in names if name.endswith(".E")])
print(model.src_embedding.E is model.tgt_embedding.E is model.output_projection.E)

# %% [markdown]
# <!-- answer:
# [print] -->
#
# There is one $E$, and three boxes use it. <!-- result -->
#
# Is this why the untrained model repeats itself? Change one thing: give the projection the same rows in another order, or new rows, so that a row at
# the top is no longer the row that went in below.
#
# > **Predict.** Eight untrained models read 300 sequences. How often do they say that the token just read comes next? (By chance: 1 in 11.)
# >
# > - 1 in 11, both times: its numbers are random → Top and bottom have the same ones.
# > - More than 1 in 11 with one shared E, less with the rows in another order → What a row brings in below finds the same row at the top. <!-- true: min(again["shared"]) > 1 / 11 > np.median(again["other order"]) -->
# > - More than 1 in 11, both times → Then the sharing would not matter.
# >
# > <!-- given: The untrained model writes one token again and again. The matrix $E$ of its embeddings is also that of the projection at the top. In the control the projection has the same rows in another order. -->

# %%
again = {"shared": [], "other order": [], "new rows": []}
alike = {name: [] for name in again}                                   # neighbours, when it writes
for seed, name in itertools.product(range(8), again):
    own = np.random.default_rng(seed)
    raw = Transformer(task.vocab_size, N=2, d_model=16, d_ff=32, h=2, rng=own)
    E = raw.output_projection.E.value                                  # (vocab_size, d_model)
    if name != "shared":                                               # at the top only
        rows = own.permutation(E) if name == "other order" else own.normal(0, E.std(), E.shape)
        raw.output_projection.E = Parameter(rows)
    read, just_read, _ = task.batch(300, np.random.default_rng(1))     # (B, T) each
    says = raw(read, just_read).argmax(axis=-1)                        # (B, T_tgt)
    again[name].append((says == just_read)[just_read != task.pad].mean())
    written = greedy_decode(raw, read[:50], bos=task.bos, eos=task.eos, max_len=6)    # (50, 6) at most
    alike[name].extend((written[:, 1:] == written[:, :-1])[written[:, 1:] != task.pad])
for name, share in again.items():
    print(f"{name:11} {min(share):.2f} to {max(share):.2f}, median {np.median(share):.2f}"
          f"; when it writes, neighbours alike: {np.mean(alike[name]):.2f}")

# %% [markdown]
# <!-- answer: One $E$ makes a token likelier after itself; new rows repeat, too
# [print] -->
#
# With one $E$ all eight models repeat what they read more often than chance; with the rows in another order most do so less often. (Less than
# chance: the row of the token just read is now another token's.) With new rows it is chance, and yet such models often write one token again and
# again. So the shared $E$ is one reason, not the only one. <!-- result -->
#
# ## 9.2 What goes in: the shift
#
# A batch of the task "copy": `src` is read, `tgt_in` is given to the decoder, `tgt_out` it has to say.
#
# <!-- slide: `tgt_in` is `tgt_out` moved one place to the right, with `<bos>` in front
# Here is a batch of the task "copy". `src` is what is read, `tgt_in` what the decoder is given, `tgt_out` what it has to say.\
# [code]
# [print] -->

# %% show=[1]
src, tgt_in, tgt_out = task.batch(3, np.random.default_rng(1))         # (B, T) each
for name, ids in (("src", src), ("tgt_in", tgt_in), ("tgt_out", tgt_out)):
    print()
    for row in ids:
        print(f"{name:8}", *(f"{token:>5}" for token in task.tokens(row)))

# %% [markdown]
# `tgt_in` is `tgt_out` moved one place to the right, with `<bos>` in front. <!-- result -->
#
# At each position the decoder is given the token *before* the one that it has to say. (The paper: "output embeddings are offset by one position".)
# Short sequences are filled up with `<pad>`; a target `<pad>` is not scored.
#
# ## 9.3 Forwards, part by part
#
# `model.forward(src, tgt_in)` is one call. We make nine: two embeddings, positions twice, four layers, the projection. First the left half, which is
# lit.
#
# <!-- slide:
# `model.forward(src, tgt_in)` is one call. We make nine: two embeddings, positions twice, four layers, the projection. First comes the left half, which is lit: the ids become vectors, positions are added, and two layers follow. In each of them the tokens of the source read each other.\
# ![] -->

# %%
figure_1("src", "encoder")

# %%
x = model.src_embedding(src)                                           # (B, T_src, d_model)
x = model.positions(x)                                                 # (B, T_src, d_model)
src_allowed = not_padding(src)                                         # (B, 1, 1, T_src)
for layer in model.encoder.layers:
    x = layer(x, allowed=src_allowed)                                  # (B, T_src, d_model)
memory = x                                                             # (B, T_src, d_model)

# %% [markdown]
# What comes out on top, the **memory**, goes along the lit arrow into the right half. The layers there get the target so far and the memory, and a mask
# for each.
#
# <!-- slide: That is the whole model
# The layers there get two things, the target so far and the memory, and a mask for each.\
# ![]
# Both decoder layers read the *same* memory, the top of the encoder, and not the encoder layer at their side. -->

# %%
figure_1("memory", "tgt", "decoder", "output_projection")

# %% show=false
y = model.positions(model.tgt_embedding(tgt_in))                       # (B, T_tgt, d_model)
tgt_allowed = causal(tgt_in.shape[1]) & not_padding(tgt_in)            # (B, 1, T_tgt, T_tgt)
for layer in model.decoder.layers:
    y = layer(y, memory, allowed=tgt_allowed, memory_allowed=src_allowed)
by_hand = model.output_projection(y)                                   # (B, T_tgt, vocab_size)
logits, cache = model.forward(src, tgt_in)                             # the one call
print("logits", logits.shape, "  largest difference:", np.abs(by_hand - logits).max())

# %% [markdown]
# That is the whole model. Both decoder layers read the *same* memory, the top of the encoder. <!-- result -->
#
# The **logits** are a score for every token of the vocabulary, the
# dot product of $y$ with each row of $E$.
#
# ## 9.4 All shapes, and what the model remembers
#
# On paper first: write the shape of the output beside each box, for our 3 sequences of 6 places, $d_\mathrm{model} = 16$ and 11 tokens.
#
# Beside each box stands the shape of its output, and how much it keeps in the cache until its backward has used it: in all more than the parameters
# take.
#
# <!-- slide:
# The drawing shows this model with our batch. Beside each box stands the shape of its output, and how much it keeps in the cache until its backward has used it: in all more than the parameters take.\
# ![]
# Below *Linear* the shape between the boxes is $(B, T, d_\mathrm{model})$, so layers can be stacked. -->

# %%
model_shapes(model, src, tgt_in)

# %% [markdown]
# Below *Linear* the shape between the boxes is $(B, T, d_\mathrm{model})$, so layers can be stacked. Only inside is it another: a network widens to $d_{ff}$, and each of the $h$ heads of an attention makes a map. <!-- result -->
#
# > **Predict.** Every source gets twice as long, the targets stay. Which maps grow?
# >
# > - Those of the encoder only → What do the decoder's queries look at?
# > - All maps → The target looks back at the target, which is no longer than before.
# > - Those of the encoder and those between the stacks → In the first the source is rows and columns, in the second columns alone. <!-- true: [b.size / a.size for a, b in zip(shorter, longer)] == [4, 4, 1, 2, 1, 2] -->
# > - Those between the stacks only → In the encoder the source looks at itself.
# >
# > <!-- given: A model with two encoder layers and two decoder layers reads sources of 5 tokens and targets of 4. A map has a row for each query and a column for each key. -->

# %%
ids = rng.integers(3, task.vocab_size, (3, 10))                        # (B, T_src)  no padding
shorter, longer = (list(attention_maps(model.forward(source, ids[:, :4])[1]).values())
                   for source in (ids[:, :5], ids))
for name, a, b in zip(attention_maps(cache), shorter, longer):
    print(f"{name.removesuffix('.attention.weights'):36} {a.shape} -> {b.shape}")

# %% [markdown]
# <!-- answer:
# [print]
# The maps of the encoder become four times as large, those between the stacks twice as large: their queries are from the target, their keys from the source. So a long source costs memory in training: the encoder's maps grow with $T^2$, the rest at most with $T$. -->
#
# The maps of the encoder become four times as large, those between the stacks twice as large: their queries are from the target, their keys from the
# source. So a long source costs memory: the encoder's maps grow with $T^2$, the rest at most with $T$. <!-- result -->
#
# ## 9.5 What the top is told: p − q
#
# At one position the model has 11 logits $z$, and softmax makes probabilities $p$ of them. What it should say is a distribution, too, $q$: $0.9 +
# 0.1/11$ for the right token, $0.1/11$ for each other (label smoothing, Lesson 10.2). The loss is the cross-entropy $-\sum_v q_v \log p_v$.
#
# Its gradient is short. $\log p_v = z_v - \log \sum_u e^{z_u}$, so with $\sum_v q_v = 1$ the loss is $\log \sum_u e^{z_u} - \sum_v q_v z_v$, and
#
# $$\frac{\partial\, \mathrm{loss}}{\partial z_v} = \frac{e^{z_v}}{\sum_u e^{z_u}} - q_v = p_v - q_v .$$
#
# In words: what the model says, minus what it should say.
#
# <!-- slide:
# At one position the model has 11 logits $z$, and softmax makes probabilities $p$ of them. What it should say is a distribution as well, $q$: $0.9 + 0.1/11$ for the right token, $0.1/11$ for each other (label smoothing keeps the model from being too sure: Lesson 10.2 does it by hand).\
# Its gradient is short. $\log p_v = z_v - \log \sum_u e^{z_u}$, so with $\sum_v q_v = 1$ the loss is $\log \sum_u e^{z_u} - \sum_v q_v z_v$, and\
# $$\frac{\partial\, \mathrm{loss}}{\partial z_v} = \frac{e^{z_v}}{\sum_u e^{z_u}} - q_v = p_v - q_v .$$\
# In words: what the model says, minus what it should say.
# [print]
# The loss is the mean over the real targets, so the gradient of each is divided by their number, and `<pad>` gets none. -->

# %%
criterion = LabelSmoothedCrossEntropy(eps_ls=0.1)
loss, loss_cache = criterion.forward(logits, targets=tgt_out)
grad_logits = criterion.backward(1.0, loss_cache)                      # (B, T_tgt, vocab_size)
count = (tgt_out != task.pad).sum()                                    # real targets
p = np.exp(logits[0, 0]) / np.exp(logits[0, 0]).sum()                  # (|V|,)
q = np.full(len(p), 0.1 / len(p))                                      # (|V|,)
q[tgt_out[0, 0]] += 0.9
print(f"loss {loss:.4f}, mean over {count} targets; with all {len(p)} tokens equally likely: {np.log(len(p)):.4f}")
from_rule = np.abs(grad_logits[0, 0] - (p - q) / count).max()
print(f"largest difference from (p - q) / count: {from_rule:.0e}")
print("at <pad>:", np.abs(grad_logits[tgt_out == task.pad]).max())

# %% [markdown]
# The loss is the mean over the real targets, so the gradient of each is divided by their number, and `<pad>` gets none. This untrained model is worse
# than one that finds all 11 tokens equally likely, with the loss $\ln 11$. It is sure of what it does not know: Lesson 10.5 tries that. <!-- result -->
#
# ## 9.6 Backwards, part by part
#
# The way back passes the same parts in reverse order, each with the gradient of its output and its own piece of the cache. Three arrows of the drawing
# end in the gradient of $E$.
#
# <!-- slide:
# Three arrows of the drawing end in the gradient of $E$.\
# ![] -->

# %%
model_gradients()

# %% [markdown]
# Now go down through the decoder. Each layer has two inputs, so it returns two gradients: one for the layer below, and one for the memory, where those
# of both layers add. Three lines matter: the first `backward` is the arrow below *Linear*, the second takes the gradient through a layer, and at `+=`
# the arrows of the memory meet.

# %% show=[1, 2, 3, 4, 5, 6]
model.zero_grad()
grad_y = model.output_projection.backward(grad_logits, cache.output_projection)
grad_memory = np.zeros_like(memory)                                    # (B, T_src, d_model)
for layer, layer_cache in zip(model.decoder.layers[::-1], cache.decoder.layers[::-1]):
    grad_y, from_layer = layer.backward(grad_y, layer_cache)           # (B, T, d_model) each
    grad_memory += from_layer

# %% [markdown]
# The encoder never sees a right answer. This `grad_memory` is all that its layers ever learn of the task. The shorter sources end with padding, where
# nobody may look, so nothing should come back.
#
# <!-- slide: At `<pad>` the gradient is exactly 0
# The encoder never sees a right answer. This `grad_memory` is all that its layers ever learn of the task: nobody tells it what a good encoding is, only the decoder does. The shorter sources end with padding. Nobody may look there, so nothing should come back from there.\
# [code]
# [print]
# From here it goes down through the encoder in the same way. -->

# %%
print(f"at real tokens, at most: {np.abs(grad_memory[src != task.pad]).max():.3f}")
print("at <pad>:", np.abs(grad_memory[src == task.pad]).max())

# %% [markdown]
# At `<pad>` the gradient is exactly 0. From here it goes down through the encoder alike. <!-- result -->
#
# ## 9.7 For the keen: the rest of the way, and the check
#
# Five lines of the next cell call a `backward` and go on. The others keep the three shares of $E$ apart, and compare with the one call.

# %%
E_as_output = model.src_embedding.E.grad.copy()                        # (vocab_size, d_model)
grad_y = model.positions.backward(grad_y, cache.tgt_positions)         # (B, T_tgt, d_model)
model.tgt_embedding.backward(grad_y, cache.tgt_embedding)
E_as_target = model.src_embedding.E.grad - E_as_output                 # (vocab_size, d_model)
grad_x = grad_memory
for layer, layer_cache in zip(model.encoder.layers[::-1], cache.encoder.layers[::-1]):
    grad_x = layer.backward(grad_x, layer_cache)                       # (B, T_src, d_model)
before = model.src_embedding.E.grad.copy()
grad_x = model.positions.backward(grad_x, cache.src_positions)         # (B, T_src, d_model)
model.src_embedding.backward(grad_x, cache.src_embedding)
E_as_source = model.src_embedding.E.grad - before                      # (vocab_size, d_model)
part_by_part = {name: p.grad.copy() for name, p in model.named_parameters()}
model.zero_grad()
model.backward(grad_logits, cache)                                     # the one call
wrong = [name for name, grad in part_by_part.items()
         if np.abs(grad - names[name].grad).max() > 1e-12]
print(len(wrong), "of", len(part_by_part), "gradients are wrong", *wrong)

# %% [markdown]
# All 61 gradients are those of the one call. <!-- result -->
#
# **Your turn.** Write `grad_memory = from_layer` in place of `+=`, so only one decoder layer reports to the encoder. Then 25 gradients are wrong.
# Which? Say it, run from there to here, and put the `+` back.
#
# Row $v$ of $E$ is token $v$, and each use has added its share to the gradient of the row.
#
# > **Predict.** Which use gives a gradient to *every* row of $E$?
# >
# > - As source → What does an embedding do with the rows that nobody asked for?
# > - As output → Each token is a possible answer at every position. <!-- true: [(np.abs(part).max(axis=1) > 0).all() for part in uses.values()] == [False, False, True] -->
# > - As target → The target does not hold every token.
# > - Each of them → The gradients add up in one array, each from its own place.
# >
# > <!-- given: $E$ is used as the embedding of the source, as that of the target, and at the output, where the logits are $x E^\top$. -->

# %%
uses = {"as source": E_as_source, "as target": E_as_target, "as output": E_as_output}
print(" " * 9, *(f"{token:>6}" for token in task.tokens(range(len(p)))))
for name, part in uses.items():
    print(name, *(f"{length:6.3f}" for length in np.linalg.norm(part, axis=1)))

# %% [markdown]
# The use as output reaches even `<pad>` and `<bos>`, which are never right. An embedding only teaches the rows that it has read: `<bos>` stands in no source, `<eos>` in no `tgt_in`, and no gradient comes back from `<pad>`. <!-- result -->
#
# `ModelLoss` is model and loss as one layer, and `check_gradients` checks it like any other: all 61
# gradients, each and all together, against the complex step.

# %%
report = check_gradients(ModelLoss(model, criterion), src, tgt_in, targets=tgt_out, rng=rng)
print(str(report).splitlines()[-1])

# %% [markdown]
# So nothing was lost between the parts: a model that forgot one of the three uses of $E$ would fail here twice, in $E$ and in all together. But the
# check compares backward with *this* forward: a wrong forward with a fitting backward passes. <!-- result -->
#
# ## 9.8 How many parameters?
#
# An attention has four matrices of $d_\mathrm{model}^2$. A network has $F = 2\, d_\mathrm{model}\, d_{ff} + d_{ff} + d_\mathrm{model}$ numbers, and a norm $2\, d_\mathrm{model}$. Then the model has
#
# $$|V|\, d_\mathrm{model} + N \big[\, \underbrace{4 d_\mathrm{model}^2 + F + 4 d_\mathrm{model}}_{\text{encoder layer}} + \underbrace{8 d_\mathrm{model}^2 + F + 6 d_\mathrm{model}}_{\text{decoder layer}} \,\big]$$
#
# The number of heads is not in it (Lesson 6), nor the length.
#
# > **Predict.** The base model of the paper has $|V| \approx 37\,000$, $d_\mathrm{model} = 512$, $d_{ff} = 2048$, $N = 6$. How many parameters?
# >
# > - About 6 million → One decoder layer alone has more than 4 million.
# > - About 44 million → These are the layers alone.
# > - About 63 million → 44 million in the layers and 19 million in E. <!-- true: 62e6 < base < 64e6 -->
# > - About 101 million → Three boxes use E. How many own one?
# >
# > <!-- given: An attention has four matrices of $d_\mathrm{model}^2$. A network has $F = 2\, d_\mathrm{model}\, d_{ff} + d_{ff} + d_\mathrm{model}$ numbers, and a norm $2\, d_\mathrm{model}$. Then the model has $$|V|\, d_\mathrm{model} + N \big[\, \underbrace{4 d_\mathrm{model}^2 + F + 4 d_\mathrm{model}}_{\text{encoder layer}} + \underbrace{8 d_\mathrm{model}^2 + F + 6 d_\mathrm{model}}_{\text{decoder layer}} \,\big]$$ -->

# %%
def count_parameters(V, d_model, d_ff, N):
    F = 2 * d_model * d_ff + d_ff + d_model
    encoder_layer = 4 * d_model**2 + F + 4 * d_model
    decoder_layer = 8 * d_model**2 + F + 6 * d_model
    return V * d_model + N * (encoder_layer + decoder_layer)

counted = sum(p.value.size for p in model.parameters())
print("this model: by the formula", count_parameters(11, 16, 32, 2), "  counted", counted)
base = count_parameters(37_000, 512, 2048, 6)
print(f"base model: {base:,}, and {37_000 * 512 / base:.0%} of them in E")

# %% [markdown]
# <!-- answer: The paper prints 65 million, for a vocabulary of "about 37000"
# [print]
# By the formula 65 million need one of about 40 800 tokens; where the rest is, the paper does not say. -->
#
# The paper prints 65 million, for a vocabulary of "about 37000". By the formula 65 million need one of about 40 800 tokens; where the rest is, the paper does not say. <!-- result -->
#
# ## 9.9 Yours: a wider model
#
# <!-- slide: Write your number down, then measure
# In Lesson 9.1 untrained models of width 16 repeat what they have just read more often than chance. Change the width alone: $d_\mathrm{model} = 128$, $d_\mathrm{ff} = 256$, with one shared $E$. What is the median share of the eight models now? (Lesson 9.1 prints that of width 16, and chance is 1 in 11.) -->
#
# In Lesson 9.1 untrained models of width 16 repeat what they have just read more often than chance, 1 in 11. Change the width alone: $d_\mathrm{model}
# = 128$, $d_\mathrm{ff} = 256$, with one shared $E$. What is the median share of the eight models now?

# %% show=false
from aiayn_course.exercises import judge

predicted = 0.2                    # type your number first
# yours: the median share of eight models
repeats = []
for seed in range(8):
    wide = Transformer(task.vocab_size, N=2, d_model=128, d_ff=256, h=2, rng=np.random.default_rng(seed))
    read, just_read, _ = task.batch(300, np.random.default_rng(1))     # (B, T) each
    says = wide(read, just_read).argmax(axis=-1)                       # (B, T_tgt)
    repeats.append((says == just_read)[just_read != task.pad].mean())
measured = np.median(repeats)
judge(9, predicted, measured)

# %% width 16 again, the rows of E at right angles
right_angles = []
for seed in range(8):
    own = np.random.default_rng(seed)
    narrow = Transformer(task.vocab_size, N=2, d_model=16, d_ff=32, h=2, rng=own)
    E = narrow.output_projection.E.value                               # (vocab_size, d_model)
    turned = np.linalg.qr(own.standard_normal((16, 16)))[0]            # rows of length 1
    E[...] = turned[:len(E)] * np.linalg.norm(E, axis=1, keepdims=True)
    says = narrow(read, just_read).argmax(axis=-1)
    right_angles.append((says == just_read)[just_read != task.pad].mean())
print(f"median: width 16 {np.median(again['shared']):.2f}, at right angles {np.median(right_angles):.2f}"
      f", width 128 {measured:.2f}")

# %% [markdown]
# Much more often. Wide rows of $E$ are nearer to right angles; but exact right angles at width 16 bring less than half of it. We guess the rest: all
# else that is added to the token spreads over more directions. <!-- result -->
#
# ## 9.10 Check what this lesson claimed

# %%
assert min(again["shared"]) > 1 / 11 > np.median(again["other order"]) # one E: it repeats itself
assert np.median(again["new rows"]) < 0.15 < 0.5 < np.mean(alike["new rows"])    # not by E alone
assert np.abs(by_hand - logits).max() < 1e-12                          # nine calls are the model
assert from_rule < 1e-12                                               # p - q
assert not grad_memory[src == task.pad].any()                          # padding teaches nothing
assert not wrong                                                       # backward, part by part
assert sum(name.startswith("encoder") for name in names) + 1 == 25     # those of *Your turn*: and E
assert np.abs(sum(uses.values()) - model.src_embedding.E.grad).max() < 1e-12    # three uses add
assert report
assert np.median(right_angles) < (np.median(again["shared"]) + measured) / 2     # less than half of it
assert count_parameters(11, 16, 32, 2) == counted
assert base == 63_045_632
print("all true")

# %% [markdown]
# ## Summary
#
# - Source ids → embedding + positions → encoder layers → memory. Target so far → embedding + positions → decoder layers, each reading the memory → logits.
# - The target goes in shifted by one, so each position must predict a token that it has not read.
# - The encoder learns through the memory alone; $E$ learns from three sides, and the three gradients add.
# - What training remembers grows with the length, and the maps with its square.
#
# **What you can do now:** follow any number through the whole model, forwards and back, and count the parameters. Exercise 8 asks for the shared
# matrix; Lesson 10 trains.
#
# ## Questions
#
# **1.** Somebody forgets the shift and gives the decoder `tgt_out` as its input. What will the training loss do, and what the decoding?
#
# <details><summary>Answer</summary>
#
# The causal mask lets each position see itself, so the answer stands in the input. The loss falls quickly to its least value: the model passes its
# input through. In decoding there is no answer to pass on: the leak of Lesson 5.
#
# </details>
#
# **2.** With `=` for `+=` (*Your turn* in Lesson 9.7) 25 of 61 gradients are wrong. Which, and why these?
#
# <details><summary>Answer</summary>
#
# All 24 of the encoder: `grad_memory` is all that they learn from. And $E$, whose share as source comes out below the encoder. The decoder's gradients
# pass no memory.
#
# </details>
#
# **3.** The row of `<pad>` in $E$ got a gradient in Lesson 9.7. Where from, and is it a mistake?
#
# <details><summary>Answer</summary>
#
# From the output only. `<pad>` is one of the 11 classes, and wherever its $p$ is above its $q$, the gradient lowers its logit. It is no mistake: a
# model must not write `<pad>`. As an input, nobody reads it.
#
# </details>
