# %% [markdown]
# # Lesson 9 · The whole Transformer, forwards and backwards
#
# | | |
# |---|---|
# | **You will do** | send one batch through an encoder-decoder, calling each part yourself, and get the model's logits to the last digits; then send the gradient back the same way, and find out which of its three uses taught the matrix $E$ what |
# | **You will learn** | how the parts of Figure 1 fit together; why the target is shifted; what $p - q$ is; how to prove a whole model right; how many parameters it has; for the keen: what training has to remember |
# | **You need** | Lessons 1 to 8, at least the pictures; Lesson 4 for the backward pass |
# | **Paper** | Section 3.1, Section 3.4, Section 5.4, Figure 1, Table 3 |
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
import copy

import numpy as np

from aiayn_np import (
    CopyTask,
    LabelSmoothedCrossEntropy,
    Transformer,
    attention_maps,
    attention_masks,
    causal,
    check_gradients,
    not_padding,
    plot_attention,
    trace,
)
from aiayn_np.experiments.parameter_counts import PARAMETER_COUNTS
from aiayn_np.loss import ModelLoss
from aiayn_np.module import leaves
from aiayn_np.plotting import COLORS, MARKERS, new_figure

np.set_printoptions(precision=4, suppress=True, linewidth=100)

# %% [markdown]
# ## 9.1 A small one
#
# Two layers in each stack, and everything else narrow. Otherwise it is the model of the paper.

# %%
rng = np.random.default_rng(0)
task = CopyTask(symbols=8, max_length=5)
model = Transformer(task.vocab_size, N=2, d_model=16, d_ff=32, h=2, rng=rng)

def lines(thing, *starts):                                             # of what print(thing) would say
    return "\n".join(line for line in str(thing).splitlines() if line.startswith(starts))

print(lines(model, "Transformer", "src", "encoder.layers.0", "61"))

# %% [markdown]
# `print(model)` lists every parameter; here are those of the first encoder layer only, and $E$. Compare with Figure 1: the names are
# the boxes, from bottom to top.
#
# > **Predict.** The model has an embedding for the source, one for the target, and a projection to the logits. How many matrices $E$ does the list hold?

# %%
names = dict(model.named_parameters())
print([name for name in names if name.endswith(".E")])
print(model.src_embedding.E is model.tgt_embedding.E is model.output_projection.E)

# %% [markdown]
# One. The three layers hold the same `Parameter`, not three equal ones (Section 3.4). Lesson 9.6 shows what that means on the way back.
#
# ## 9.2 What goes in: the shift
#
# A batch of the task "copy", as token ids and as tokens. `src` is what is read, `tgt_in` what the decoder is
# given, `tgt_out` what it has to say.

# %%
src, tgt_in, tgt_out = task.batch(3, rng)                              # (B, T) each
print(src.shape, tgt_in.shape, tgt_out.shape)
for name, ids in (("src", src), ("tgt_in", tgt_in), ("tgt_out", tgt_out)):
    print()
    for row in ids:
        print(f"{name:8}", *(f"{token:>5}" for token in task.tokens(row)))

# %% [markdown]
# `tgt_in` is `tgt_out` moved one place to the right, with `<bos>` in front: at each position the decoder is given the token *before* the one that it has to
# say. (The paper: "output embeddings are offset by one position".) Short sequences are filled up with `<pad>`.
#
# > **Predict.** How many predictions will be scored in this batch? (Where the target is `<pad>`, none is.)

# %%
real = tgt_out != task.pad                                             # (B, T)
count = real.sum()
print(count, "of", real.size)

# %% [markdown]
# ## 9.3 Forwards, part by part
#
# `model.forward(src, tgt_in)` is one call. We do it in nine, each on a part of the model. First the left half of Figure 1: ids to vectors, positions, and two
# layers that read each other's tokens.

# %%
x = model.src_embedding(src)                                           # (B, T_src, d_model)
x = model.positions(x)                                                 # (B, T_src, d_model)
src_allowed = not_padding(src)                                         # (B, 1, 1, T_src)
for layer in model.encoder.layers:
    x = layer(x, allowed=src_allowed)                                  # (B, T_src, d_model)
    print("after an encoder layer", x.shape)
memory = x                                                             # (B, T_src, d_model)

# %% [markdown]
# The shape does not change in any layer. What comes out on top is the **memory**. Now the right half; its layers get two things, the target so far and the
# memory, and two masks.

# %%
y = model.positions(model.tgt_embedding(tgt_in))                       # (B, T_tgt, d_model)
tgt_allowed = causal(tgt_in.shape[1]) & not_padding(tgt_in)            # (B, 1, T_tgt, T_tgt)
for layer in model.decoder.layers:
    y = layer(y, memory, allowed=tgt_allowed, memory_allowed=src_allowed)
    print("after a decoder layer ", y.shape)

# %% [markdown]
# Both decoder layers read the *same* memory, the top of the encoder, not the encoder layer at their side. Last, a score for every word of the vocabulary: the
# dot product of $y$ with each row of $E$.

# %%
by_hand = model.output_projection(y)                                   # (B, T_tgt, vocab_size)
logits, cache = model.forward(src, tgt_in)                             # the one call
print("logits", logits.shape, "  largest difference:", np.abs(by_hand - logits).max())

# %% [markdown]
# That is the whole model. (Dropout is silent, as nobody has given it an `rng`.) The softmax of Figure 1 follows in the loss.
#
# ## 9.4 Everything it remembers, by name
#
# The cache has every array that backward will need. All of it is long; here is one decoder layer.

# %%
print(lines(cache, "decoder.layers.1"))

# %% [markdown]
# The second axis of `Q`, `K`, `V` is the head (Lesson 6). One dotted path names a module, its parameters and what it remembers:

# %%
place = "decoder.layers.1.cross_attention.linear_Q"
print(type(model.decoder.layers[1].cross_attention.linear_Q).__name__)
for kind, listed in (("parameter", model), ("cached", cache)):
    print(f"{kind:10}", lines(listed, place))

# %% [markdown]
# > **Predict.** How many attention maps does this model have? (Count attentions in Figure 1, then layers. The $h = 2$ heads of one attention count as one.)

# %%
maps, masks = attention_maps(cache), attention_masks(cache)
for name, weights in maps.items():
    print(f"{name:58} {weights.shape}  {masks[name][1, 0].sum():2} of {masks[name][1, 0].size} cells open")

# %% [markdown]
# Six: one for each encoder layer, two for each decoder layer, and each holds the maps of its 2 heads. The last column counts, for the second sequence, what its masks leave open. The pictures show one
# map of each kind for that sequence. First, the encoder's self-attention: only `<pad>` is closed.

# %%
src_tokens, tgt_tokens = task.tokens(src[1]), task.tokens(tgt_in[1])

def plot(kind, queries, keys, title):
    name = f"{kind}.attention.weights"
    return plot_attention(maps[name][1], queries, keys, allowed=masks[name][1], title=title)

plot("encoder.layers.0.self_attention", src_tokens, src_tokens, "the source looks at the source")

# %% [markdown]
# The decoder's self-attention: what comes later is closed, too.

# %%
plot("decoder.layers.0.self_attention", tgt_tokens, tgt_tokens, "the target looks at the target so far")

# %% [markdown]
# And encoder-decoder attention: rows are the target, columns the source. All of the source is there from the start, so nothing is closed but its `<pad>`.

# %%
plot("decoder.layers.0.cross_attention", tgt_tokens, src_tokens, "the target looks at the source")

# %% [markdown]
# ## 9.5 The loss, for one token
#
# At one position the model has 11 logits $z$. Softmax makes probabilities $p$ of them. What it should say is a distribution as well, $q$: with
# **label smoothing** (Section 5.4) it has $1 - \varepsilon$ for the right token, and $\varepsilon$ spread evenly over all $V$ of them. The loss is the cross-entropy
#
# $$-\sum_v q_v \log p_v .$$

# %%
z, target = logits[0, 0], tgt_out[0, 0]                                # (V,), one id
p = np.exp(z) / np.exp(z).sum()                                        # (V,)
eps_ls, V = 0.1, len(z)
q = np.full(V, eps_ls / V)                                             # (V,)
q[target] += 1 - eps_ls
print("p", p)
print("q", q)
print("loss", -(q * np.log(p)).sum())

# %% [markdown]
# > **Predict.** A model that has learned nothing gives each of the 11 tokens the same probability. What is its loss? ($\ln 11$ is about $2.4$.) And can a perfect model reach 0?

# %%
criterion = LabelSmoothedCrossEntropy(eps_ls=0.1)
even, _ = criterion.forward(np.zeros((1, V)), targets=target[None])
least, _ = criterion.forward(np.log(q)[None], targets=target[None])
one, _ = criterion.forward(z[None], targets=target[None])
loss, loss_cache = criterion.forward(logits, targets=tgt_out)
print(f"even {even:.4f}   perfect {least:.4f}   our token, by the class {one:.4f}   all {count} tokens {loss:.4f}")

# %% [markdown]
# Even: $\ln 11$, with any $q$. Perfect: $p = q$, and the loss is the entropy of $q$, not 0. So a training curve with label smoothing ends above zero, and
# should. Our untrained model is worse than even: it does not know the answer, but it is not undecided. The loss of the batch is the mean over the real targets.
#
# Its gradient is short. $\log p_v = z_v - \log \sum_u e^{z_u}$, so with $\sum_v q_v = 1$ the loss is $\log \sum_u e^{z_u} - \sum_v q_v z_v$, and
#
# $$\frac{\partial\, \mathrm{loss}}{\partial z_v} = \frac{e^{z_v}}{\sum_u e^{z_u}} - q_v = p_v - q_v .$$
#
# What it says minus what it should say. The mean over the tokens divides by their number.

# %%
grad_logits = criterion.backward(1.0, loss_cache)                      # (B, T_tgt, vocab_size)
print("largest difference from (p - q) / count:", np.abs(grad_logits[0, 0] - (p - q) / count).max())
print("sum over the vocabulary:", np.abs(grad_logits.sum(axis=-1)).max())
print("at <pad>:", np.abs(grad_logits[~real]).max())

# %% [markdown]
# ## 9.6 Backwards, part by part
#
# The same way back. Each layer is given the gradient of what it put out, and its own piece of the cache.

# %%
model.zero_grad()
grad_y = model.output_projection.backward(grad_logits, cache.output_projection)
E_as_output = model.src_embedding.E.grad.copy()                        # (vocab_size, d_model)
print("grad_y at the top of the decoder", grad_y.shape)

# %% [markdown]
# A decoder layer has two inputs, so it returns two gradients: one for the layer below, and one for the memory. The memory was used in both layers; its
# gradients add.

# %%
grad_memory = np.zeros_like(memory)                                    # (B, T_src, d_model)
for layer, layer_cache in zip(model.decoder.layers[::-1], cache.decoder.layers[::-1]):
    grad_y, from_layer = layer.backward(grad_y, layer_cache)           # (B, T, d_model) each
    grad_memory += from_layer
    print("gradient of the memory", from_layer.shape, f" length {np.linalg.norm(from_layer):.4f}")

# %% [markdown]
# From here the gradient goes two ways: down to the target's embedding, and through the memory into the encoder.
# This is all the encoder ever hears of the task: nobody tells it what a good encoding is, only the decoder's questions do.
#
# > **Predict.** The second source ends with padding. What is the gradient of the memory there?

# %%
print("at real tokens:", np.abs(grad_memory[src != task.pad]).max())
print("at <pad>      :", np.abs(grad_memory[src == task.pad]).max())

# %%
before = model.src_embedding.E.grad.copy()
model.tgt_embedding.backward(model.positions.backward(grad_y, cache.tgt_positions), cache.tgt_embedding)
E_as_target = model.src_embedding.E.grad - before                      # (vocab_size, d_model)
grad_x = grad_memory
for layer, layer_cache in zip(model.encoder.layers[::-1], cache.encoder.layers[::-1]):
    grad_x = layer.backward(grad_x, layer_cache)                       # (B, T_src, d_model)
before = model.src_embedding.E.grad.copy()
model.src_embedding.backward(model.positions.backward(grad_x, cache.src_positions), cache.src_embedding)
E_as_source = model.src_embedding.E.grad - before                      # (vocab_size, d_model)

# %% [markdown]
# Compare every gradient with that of the one call, `model.backward`.

# %%
part_by_part = {name: p.grad.copy() for name, p in model.named_parameters()}
model.zero_grad()
model.backward(grad_logits, cache)
differences = [np.abs(p.grad - part_by_part[name]).max() for name, p in model.named_parameters()]
print(len(differences), "parameters, largest difference:", max(differences))

# %% [markdown]
# Now $E$, used three times. Each use has added its share to `E.grad`, and we have kept them apart. Row $v$ of $E$ is token $v$;
# the table shows the length of its gradient from each use.
#
# > **Predict.** Which use gives a gradient to *every* row? And from which uses does `<bos>` get one?

# %%
E_grad = model.src_embedding.E.grad                                    # (vocab_size, d_model)
uses = {"as source": E_as_source, "as target": E_as_target, "as output": E_as_output}
print("sum of the three against E.grad:", np.abs(sum(uses.values()) - E_grad).max())
print(" " * 9, *(f"{token:>6}" for token in task.tokens(range(V))))
for name, part in uses.items():
    print(name, *(f"{length:6.3f}" for length in np.linalg.norm(part, axis=1)))

# %% [markdown]
# The output: each token is a possible answer at every position, even `<pad>` and `<bos>`, which are never right; their logits are pushed down wherever $p$ is above $q$. An embedding only teaches
# the rows that it has read: `<bos>` stands in no source, `<eos>` in no `tgt_in`, and no gradient comes back from `<pad>`.
#
# ## 9.7 The whole journey in one table
#
# `trace` does a forward and a backward on a copy of the model and notes of every layer what it computes, its shapes and parameters, the norm of its output and the
# norm of the gradient that came back to it. Here are the outer layers.

# %%
whole = trace(model, src, tgt_in, tgt_out)
print(whole.table(1))

# %% [markdown]
# The order is that of the forward pass; `2 × (3, 5, 16)` stands for two inputs of one shape, such as the target and the memory. `positions` and `dropout` come
# twice, once for the source and once for the target. You can look into one layer, as deep as you like:
#
# > **Predict.** What leaves a layer norm here has $3 \cdot 5 \cdot 16 = 240$ entries, with mean square 1. Which number stands beside each `add_norm` in the
# > column |output|?

# %%
print(whole["decoder.layers.1"].table(1))

# %%
norms = [c.activation for c in whole.components if c.layer == "LayerNorm"]
print(f"{len(norms)} layer norms, from {min(norms):.3f} to {max(norms):.3f}   √240 = {240**0.5:.3f}")

# %% [markdown]
# $\sqrt{240}$, every time: a sub-layer may put out what it likes, the next one gets it at the same size. The column |gradient| is read from the bottom up. At the end of a cell, a trace
# shows itself as a table; a deep one, like `whole`, shows its outer layers, and the rest to unfold. Here is one attention with the boxes of Figure 2 (its matrix
# products and its scale are not layers of their own):

# %%
whole["decoder.layers.1.cross_attention"]

# %% [markdown]
# ## 9.8 The proof, for all of it
#
# All parts are proven one by one (Lesson 4). Are they put together right? `ModelLoss` is model and loss as one layer, and
# `check_gradients` proves it like any other. (`aiayn-np check` does the same in a terminal.) Dropout is on, since there is an `rng`; it is the same
# in every forward of the check.

# %%
criterion = LabelSmoothedCrossEntropy(0.1, task.pad)
report = check_gradients(ModelLoss(model, criterion), src, tgt_in, targets=tgt_out, rng=rng)
text = str(report).splitlines()
print(*text[:6], "...", *text[-3:], sep="\n")

# %% [markdown]
# 61 tensors, each compared with the forward alone, and all of them together. And if one line is missing? Here is a model that forgets the
# last line of `backward`, the source's share of $E$.
#
# > **Predict.** How many of the 62 rows are then wrong?

# %%
forgetful = copy.deepcopy(model)
forgetful.src_embedding.backward = lambda grad_y, cache: None          # the source teaches E nothing
wrong = check_gradients(ModelLoss(forgetful, criterion), src, tgt_in, targets=tgt_out, rng=rng)
for row in wrong.rows:
    if not row.ok:
        print(f"{row.tensor:25} {row.verdict[:50]}")
print(str(wrong).splitlines()[-1])

# %% [markdown]
# Two: $E$, and the row of all together. The other 60 are right, so such a model trains, and its loss falls. That is why a falling
# loss proves nothing (Lesson 4.7).
#
# ## 9.9 How many parameters?
#
# Count the boxes. An attention has four matrices of $d_\mathrm{model}^2$, a feed-forward network $2\, d_\mathrm{model}\, d_{ff} + d_{ff} + d_\mathrm{model}$ numbers, a norm
# $2\, d_\mathrm{model}$, an encoder layer one attention and two norms, a decoder layer two and three. And $E$, once:
#
# $$V d_\mathrm{model} + N \big[\, \underbrace{4 d_\mathrm{model}^2 + F + 4 d_\mathrm{model}}_{\text{encoder layer}} + \underbrace{8 d_\mathrm{model}^2 + F + 6 d_\mathrm{model}}_{\text{decoder layer}} \,\big], \qquad F = 2\, d_\mathrm{model}\, d_{ff} + d_{ff} + d_\mathrm{model}$$

# %%
def count_parameters(V, d_model, d_ff, N):
    F = 2 * d_model * d_ff + d_ff + d_model
    encoder_layer = 4 * d_model**2 + F + 4 * d_model
    decoder_layer = 8 * d_model**2 + F + 6 * d_model
    return V * d_model + N * (encoder_layer + decoder_layer)

counted = sum(p.value.size for p in model.parameters())
print("this model: by the formula", count_parameters(11, 16, 32, 2), "  counted", counted)

# %% [markdown]
# The number of heads is not in it (Lesson 6), nor the length: a Transformer does not get bigger by reading more.
#
# > **Predict.** The base model of the paper: $V = 37\,000$, $d_\mathrm{model} = 512$, $d_{ff} = 2048$, $N = 6$. About how many millions? And which share is $E$?

# %%
base = count_parameters(37_000, 512, 2048, 6)
E_size = 37_000 * 512
print(f"base model: {base:,}   E: {E_size:,}, that is {E_size / base:.0%};"
      f" with three of them {base + 2 * E_size:,}")

# %% [markdown]
# 63 million, of them 30 % in one matrix. The paper prints 65 million, for a vocabulary of "about 37000". The experiment `parameter_counts` does this for every row of
# Table 3, and compares differences to the base model:

# %%
print(PARAMETER_COUNTS.run().finding)

# %% [markdown]
# Eight of ten differences fit the structure of Figure 1, within roundings; two rows with $d_\mathrm{model} = 1024$ do not, and no vocabulary makes both fit: one
# prints too much, the other too little. This is reported as it was found.
#
# ## 9.10 For the keen: what training has to remember
#
# A model in use needs its parameters. A model in training also needs the cache, until backward has used it.

# %%
def kept(cache, name=""):                                              # bytes of the arrays of that name
    arrays = {id(a): a.nbytes for path, a in leaves(cache, np.ndarray) if path.endswith(name)}
    return sum(arrays.values())

parameters = sum(p.value.nbytes for p in model.parameters())
print(f"parameters {parameters:,} bytes   cache {kept(cache):,} bytes   of it maps {kept(cache, 'weights'):,}")

# %% [markdown]
# > **Predict.** The sequences get twice as long. By which factor does the cache grow, when they are short? When they are long?

# %%
lengths = np.array([8, 16, 32, 64, 128, 256, 512])
total, of_maps = [], []
for T in lengths:
    ids = rng.integers(3, V, (1, T))                                   # (B, T)  one sequence
    _, long_cache = model.forward(ids, ids)
    total.append(kept(long_cache))
    of_maps.append(kept(long_cache, "weights"))
for i, T in enumerate(lengths):
    factor = f"{total[i] / total[i - 1]:.1f} times the one before" if i else ""
    print(f"T = {T:3}   maps are {of_maps[i] / total[i]:4.0%} of the cache   {factor}")

# %% [markdown]
# By about 2 at first, then towards 4: all else has a row for each token, but a map has a row *and a column*, $T^2$ cells for each head, in six attentions. The picture shows
# bytes against the length, both axes logarithmic; the dotted line is the parameters, which do not grow.

# %%
fig = new_figure(6.5, 4)
ax = fig.subplots()
for i, (label, size) in enumerate({"whole cache": total, "attention maps": of_maps}.items()):
    ax.loglog(lengths, size, MARKERS[i] + "-", color=COLORS[i], label=label)
ax.axhline(parameters, color=COLORS[6], linestyle=":", label="parameters")
ax.set(xlabel="length T of source and target", ylabel="bytes kept", title="What training remembers")
ax.set_xticks(lengths, lengths)
ax.minorticks_off()
ax.legend()
fig

# %% [markdown]
# And that is one sequence; a batch of $B$ keeps $B$ times as much, but still one set of parameters. Lesson 13 asks what can be done about it.
#
# ## 9.11 Check what this lesson claimed

# %%
assert np.abs(by_hand - logits).max() < 1e-12                          # nine calls are the model
assert len(maps) == 6
assert abs(-(q * np.log(p)).sum() - one) < 1e-12                       # the loss by hand
assert abs(even - np.log(V)) < 1e-12
assert np.abs(grad_logits[0, 0] - (p - q) / count).max() < 1e-12       # p - q
assert not grad_memory[src == task.pad].any()                          # padding teaches nothing
assert max(differences) < 1e-12                                        # backward, part by part
assert np.abs(sum(uses.values()) - E_grad).max() < 1e-12               # three uses add
assert np.abs(np.array(norms) / np.sqrt(memory.size) - 1).max() < 1e-3
assert report
assert sum(not row.ok for row in wrong.rows) == 2
assert count_parameters(11, 16, 32, 2) == counted
assert base == 63_045_632
assert total[1] / total[0] < 2.3 < 3.4 < total[-1] / total[-2]         # towards T²
print("all true")

# %% [markdown]
# ## Summary
#
# - Source ids → embedding + positions → encoder layers → memory. Target so far → embedding + positions → decoder layers, each reading the memory → logits.
# - The target goes in shifted by one, so that each position is to say the token that it has not seen.
# - The gradient of the loss in the logits is $(p - q)$ over the number of real targets. From there backward is the forward's parts in reverse order.
# - The encoder learns through the memory alone; $E$ learns from three sides, and the three gradients add.
# - `check_gradients` proves the whole; a forgotten line would not keep the loss from falling.
# - Parameters do not depend on the length. (What training remembers does: it grows with $T$, and then with $T^2$.)
#
# ## Questions
#
# **1.** Somebody forgets the shift and gives the decoder `tgt_out` as its input. What will the training loss do, and what the decoding?
#
# <details><summary>Answer</summary>
#
# The causal mask lets each position see itself, so the answer stands in the input. The loss falls quickly to its least value: the
# model passes its input through. In decoding there is no answer to pass on, and it writes nonsense: the leak of Lesson 5, by other means.
#
# </details>
#
# **2.** The decoder's layers read the top of the encoder. Which gradient does the second encoder layer get, if one decoder layer reads layer 1 by mistake,
# and the other reads the top?
#
# <details><summary>Answer</summary>
#
# The top then gets the gradient of one decoder layer only, so `grad_memory` has one term in place of two, and the other term joins at the output of
# layer 1. With a right backward it is another model with right gradients: a gradient check cannot know which model you meant. Only a comparison of the forward does.
#
# </details>
#
# **3.** The row of `<pad>` in $E$ got a gradient in Lesson 9.6. Where from, and is it a mistake?
#
# <details><summary>Answer</summary>
#
# From the output only. `<pad>` is one of the 11 classes, and wherever its $p$ is above its $q$, the gradient lowers its logit. It is no
# mistake: a model must not write `<pad>` in the middle of a sentence. As an input, nobody reads it.
#
# </details>
