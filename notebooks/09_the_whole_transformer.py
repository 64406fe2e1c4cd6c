# %% [markdown]
# # Lesson 9 · The whole Transformer, forwards and backwards
#
# | | |
# |---|---|
# | **You will do** | send one batch through an encoder-decoder, calling each part yourself, and get the model's logits to the last digits; then send the gradient back the same way, and find out which of its three uses taught the matrix $E$ what |
# | **You will learn** | how the parts of Figure 1 fit together; why the target is shifted; what $p - q$ is; how to check a whole model; how many parameters it has; for the keen: what training has to remember |
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

REPOSITORY = ""  # build.py writes the address here that pyproject.toml gives
if importlib.util.find_spec("aiayn_np") is None:  # on a hosted notebook service: one pip install
    package = ".." if Path("../pyproject.toml").exists() else REPOSITORY and f"git+{REPOSITORY}"
    if "ipykernel" not in sys.modules or not package:
        sys.exit("This lesson needs the package aiayn_np, and it is not installed. Get a copy of"
                 " the whole project, run pip install -e '.[notebooks]' in it, and start again.")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", package], check=True)

# %%
import copy
import inspect

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
    trace,
)
from aiayn_np.module import leaves
from aiayn_np.plotting.drawings import figure_1, model_gradients
from aiayn_np.plotting.figures import COLORS, MARKERS, new_figure
from aiayn_np.training.loss import ModelLoss

np.set_printoptions(precision=4, suppress=True, linewidth=100)

# %% [markdown]
# This lesson is about all of Figure 1.

# %%
figure_1("embedding", "positions", "encoder", "decoder", "output_projection", "softmax")

# %% [markdown]
# ## 9.1 A small one
#
# The model of this lesson has two layers in each stack, and everything else is narrow. Otherwise it is the model of the paper.

# %%
rng = np.random.default_rng(0)
task = CopyTask(symbols=8, max_length=5)
model = Transformer(task.vocab_size, N=2, d_model=16, d_ff=32, h=2, rng=rng)

def lines(thing, *starts):                                             # of what print(thing) would say
    return "\n".join(line for line in str(thing).splitlines() if line.startswith(starts))

print(lines(model, "Transformer", "encoder.layers.0", "61"))

# %% [markdown]
# `print(model)` lists every parameter; here are those of the first encoder layer only. Compare with Figure 1: the names are
# the boxes, from bottom to top.
#
# > **Predict.** The model has an embedding for the source, one for the target, and a projection to the logits. How many matrices $E$ does the whole list hold?

# %%
names = dict(model.named_parameters())
print([name for name in names if name.endswith(".E")])
print(model.src_embedding.E is model.tgt_embedding.E is model.output_projection.E)

# %% [markdown]
# The list holds one $E$. The three layers share the same `Parameter`; they do not have three equal ones (Section 3.4). Lesson 9.6 shows what that means on the way back.
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
# `tgt_in` is `tgt_out` moved one place to the right, with `<bos>` in front. At each position the decoder is given the token *before* the one that it has to
# say. (The paper says: "output embeddings are offset by one position".) To train on the right prefixes in this way is teacher forcing (Lesson 5.6). Short sequences are filled up with `<pad>`.
#
# > **Predict.** How many predictions will be scored in this batch? (Where the target is `<pad>`, none is.)

# %%
real = tgt_out != task.pad                                             # (B, T)
count = real.sum()
print(count, "of", real.size)

# %% [markdown]
# ## 9.3 Forwards, part by part
#
# `model.forward(src, tgt_in)` is one call. We do it in nine, each on a part of the model. First comes the left half of Figure 1: the ids become vectors, positions are added, and two
# layers follow. In each of them, the tokens of the source read each other.

# %%
x = model.src_embedding(src)                                           # (B, T_src, d_model)
x = model.positions(x)                                                 # (B, T_src, d_model)
src_allowed = not_padding(src)                                         # (B, 1, 1, T_src)
for layer in model.encoder.layers:
    x = layer(x, allowed=src_allowed)                                  # (B, T_src, d_model)
    print("after an encoder layer", x.shape)
memory = x                                                             # (B, T_src, d_model)

# %% [markdown]
# The shape does not change in any layer. What comes out on top is the **memory**. Now comes the right half. Its layers get two things, the target so far and the
# memory, and a mask for each.

# %%
y = model.positions(model.tgt_embedding(tgt_in))                       # (B, T_tgt, d_model)
tgt_allowed = causal(tgt_in.shape[1]) & not_padding(tgt_in)            # (B, 1, T_tgt, T_tgt)
for layer in model.decoder.layers:
    y = layer(y, memory, allowed=tgt_allowed, memory_allowed=src_allowed)
    print("after a decoder layer ", y.shape)

# %% [markdown]
# Both decoder layers read the *same* memory, the top of the encoder, not the encoder layer at their side. Figure 1 draws a stack as one box, so it does not show this. Last comes a score for every word of the vocabulary, the
# dot product of $y$ with each row of $E$. These scores are the **logits**.

# %%
by_hand = model.output_projection(y)                                   # (B, T_tgt, vocab_size)
logits, cache = model.forward(src, tgt_in)                             # the one call
print("logits", logits.shape, "  largest difference:", np.abs(by_hand - logits).max())

# %% [markdown]
# That is the whole model. The class does the same in two methods. Compare `encode` with the first cell of Lesson 9.3, line by line; `decode` is built in the same way:

# %%
print(inspect.getsource(Transformer.encode))

# %% [markdown]
# Each line has the same shape: a layer's `forward` gives the next `x` and its piece of the cache, which is kept under the name of the layer. (Dropout does nothing here, as nobody has given it an `rng`.) The softmax of Figure 1 follows in the loss.
#
# ## 9.4 Everything it remembers, by name
#
# The cache has every array that backward will need. All of it is long; here is one attention of one decoder layer.
#
# > **Predict.** Source and target have 5 positions here. Which of these arrays would be longer if the source alone were longer?

# %%
print(lines(cache, "decoder.layers.1.cross_attention"))

# %% [markdown]
# `linear_K.x` and `linear_V.x` are the memory. So they would be longer, and with them `K`, `V`, the mask, and the last axis of the maps. The second axis of `Q`, `K`, `V` is the head (Lesson 6). One dotted path names a module, its parameters and what it remembers:

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
# There are six: one for each encoder layer, two for each decoder layer, and each holds the maps of its 2 heads. The last column counts, for the second sequence, the cells that its masks leave open. The model is not trained yet,
# so *where* it looks is noise, and we draw only where it may look. In the encoder `<pad>` is closed, and in the decoder what comes later is closed, too. A row of the decoder has read one token and writes the next; both stand before it.

# %%
def show(name, rows):
    for row, open_keys in zip(rows, np.broadcast_to(masks[name][1, 0], (len(rows), 5))):
        print(f"{row:>14}  ", *("■" if is_open else "·" for is_open in open_keys))

src_rows = task.tokens(src[1])
tgt_rows = [f"{read} → {write}" for read, write in zip(task.tokens(tgt_in[1]), task.tokens(tgt_out[1]))]
for name, rows in (("encoder.layers.0.self_attention", src_rows), ("decoder.layers.0.self_attention", tgt_rows),
                   ("decoder.layers.0.cross_attention", tgt_rows)):
    print(name)
    show(f"{name}.attention.weights", rows)

# %% [markdown]
# In encoder-decoder attention rows are the target and columns the source. All of the source is there from the start, so only its `<pad>` is closed.
#
# ## 9.5 The loss, for one token
#
# At one position the model has 11 logits $z$. Softmax makes probabilities $p$ of them. What the model should say is a distribution as well, $q$. (This $q$ is no query.) With
# **label smoothing** (Section 5.4; Szegedy et al., 2016) $q$ has $1 - \epsilon_{ls}$ for the right token, and $\epsilon_{ls}$ spread evenly over all $|V|$ tokens. The loss is the cross-entropy
#
# $$-\sum_v q_v \log p_v .$$

# %%
z, target = logits[0, 0], tgt_out[0, 0]                                # (|V|,), one id
p = np.exp(z) / np.exp(z).sum()                                        # (|V|,)
eps_ls, V = 0.1, len(z)
q = np.full(V, eps_ls / V)                                             # (|V|,)
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
# The even model has the loss $\ln 11$, with any $q$. A perfect model has $p = q$, and its loss is the entropy of $q$, not 0. So a training curve with label smoothing ends above zero, and
# should. Our untrained model is worse than even: it does not know the answer, but its random logits prefer some tokens, and the wrong ones. The loss of the batch is the mean over the real targets.
#
# Its gradient is short. $\log p_v = z_v - \log \sum_u e^{z_u}$, so with $\sum_v q_v = 1$ the loss is $\log \sum_u e^{z_u} - \sum_v q_v z_v$, and
#
# $$\frac{\partial\, \mathrm{loss}}{\partial z_v} = \frac{e^{z_v}}{\sum_u e^{z_u}} - q_v = p_v - q_v .$$
#
# In words: what the model says, minus what it should say. The mean over the tokens divides by their number.

# %%
grad_logits = criterion.backward(1.0, loss_cache)                      # (B, T_tgt, vocab_size)
print("largest difference from (p - q) / count:", np.abs(grad_logits[0, 0] - (p - q) / count).max())
print("sum over the vocabulary:", np.abs(grad_logits.sum(axis=-1)).max())
print("at <pad>:", np.abs(grad_logits[~real]).max())

# %% [markdown]
# ## 9.6 Backwards, part by part
#
# The way back passes the same parts in reverse order. Each layer is given the gradient of its output, and its own piece of the cache. The drawing shows the way; three arrows end in the gradient of $E$.

# %%
model_gradients()

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
# This gradient is all that the encoder ever learns of the task: nobody tells it what a good encoding is, only the decoder does.
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
# The use as output gives a gradient to every row: each token is a possible answer at every position, even `<pad>` and `<bos>`, which are never right. Their logits are pushed down wherever $p$ is above $q$. An embedding only teaches
# the rows that it has read: `<bos>` stands in no source, `<eos>` in no `tgt_in`, and no gradient comes back from `<pad>`. So `<bos>` gets one as target and as output.
#
# ## 9.7 The whole journey in one table
#
# `trace` does a forward and a backward on a copy of the model. It notes of every layer what it computes, its shapes, the norm of its output and the norm of the gradient of that output. `print(whole)` shows all of it, on wide lines. Here are the outer layers with four columns:

# %%
whole = trace(model, src, tgt_in, tgt_out)

def short(components):
    print(f"{'layer':34}{'output':14}{'|output|':>9}{'|gradient|':>12}")
    for c in components:
        print(f"{c.path or 'the model':34}{c.output!s:14}{c.activation:9.3f}{c.gradient:12.4f}")

short(c for c in whole.components if c.depth <= 1)

# %% [markdown]
# The order is that of the forward pass. `positions` and `dropout` come
# twice, once for the source and once for the target. Read the last column from the bottom up: it is the way of the gradient. You can look into one layer, as deep as you like:
#
# > **Predict.** What leaves a layer norm here has $3 \cdot 5 \cdot 16 = 240$ entries, with mean square 1. Which number stands beside each `add_norm` in the
# > column |output|?

# %%
short(c for c in whole["decoder.layers.1"].components if c.depth <= 1)

# %%
norms = [c.activation for c in whole.components if c.layer == "LayerNorm"]
print(f"{len(norms)} layer norms, from {min(norms):.3f} to {max(norms):.3f}   √240 = {240**0.5:.3f}")

# %% [markdown]
# The number is $\sqrt{240}$ every time: whatever a sub-layer puts out, the next one gets it at the same size. At the end of a cell, a trace
# shows itself as a table with all columns: try `whole["decoder.layers.1.cross_attention"]`, which has the boxes of Figure 2.
#
# ## 9.8 The check, for all of it
#
# Most parts were checked one by one (Lessons 4, 6 and 7). Are they put together right? `ModelLoss` is model and loss as one layer, and
# `check_gradients` checks it like any other. (`aiayn-np check` does the same in a terminal.) Dropout is on (at the paper's rate), since there is an `rng`; it is the same
# in every forward of the check.

# %%
criterion = LabelSmoothedCrossEntropy(0.1, task.pad)
report = check_gradients(ModelLoss(model, criterion), src, tgt_in, targets=tgt_out, rng=rng)
text = str(report).splitlines()
print(*text[:6], "...", *text[-3:], sep="\n")

# %% [markdown]
# The check compares the gradients of the 61 tensors with the complex step, each and all together. What if one line is missing? Here is a model that forgets the
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
# Two rows are wrong: $E$, and the row of all together. The other 60 are right, so such a model trains, and its loss falls. That is why a falling
# loss proves nothing (Lesson 4.7). Mind the other side, too: the check compares backward with *this* forward. A wrong forward with a fitting backward passes.
#
# ## 9.9 How many parameters?
#
# Count the boxes. An attention has four matrices of $d_\mathrm{model}^2$, a feed-forward network $2\, d_\mathrm{model}\, d_{ff} + d_{ff} + d_\mathrm{model}$ numbers, a norm
# $2\, d_\mathrm{model}$, an encoder layer one attention, one network and two norms, a decoder layer two attentions, one network and three norms. And $E$, once:
#
# $$|V|\, d_\mathrm{model} + N \big[\, \underbrace{4 d_\mathrm{model}^2 + F + 4 d_\mathrm{model}}_{\text{encoder layer}} + \underbrace{8 d_\mathrm{model}^2 + F + 6 d_\mathrm{model}}_{\text{decoder layer}} \,\big], \qquad F = 2\, d_\mathrm{model}\, d_{ff} + d_{ff} + d_\mathrm{model}$$

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
# > **Predict.** The base model of the paper: $|V| = 37\,000$, $d_\mathrm{model} = 512$, $d_{ff} = 2048$, $N = 6$. About how many millions? And which share is $E$?

# %%
base = count_parameters(37_000, 512, 2048, 6)
E_size = 37_000 * 512
print(f"base model: {base:,}   E: {E_size:,}, that is {E_size / base:.0%};"
      f" with three of them {base + 2 * E_size:,}")

# %% [markdown]
# The base model has 63 million parameters, 30 % of them in one matrix. The paper prints 65 million, for a vocabulary of "about 37000". So compare *differences* to the base model, which depend less on the
# vocabulary. Here are four rows of Table 3, with the millions that it prints:

# %%
rows = {"N = 8": (80, 512, 2048, 8), "N = 4": (50, 512, 2048, 4),
        "d_model = 1024": (168, 1024, 2048, 6), "big": (213, 1024, 4096, 6)}
for name, (printed, *size) in rows.items():
    ours = (count_parameters(37_000, *size) - base) / 1e6
    print(f"{name:15} printed {printed - 65:+4}   counted {ours:+6.1f}")

# %% [markdown]
# The rows with other $N$ fit: the printed numbers are rounded, so a difference of two of them may be off by 1. The two rows with $d_\mathrm{model} = 1024$ do not fit, and no vocabulary makes both fit: one prints too much, the other too little. So Figure 1 does not explain these two counts. The experiment `parameter_counts` counts every row of the table.
#
# ## 9.10 For the keen: what training has to remember
#
# A model in use needs its parameters. A model in training also needs the cache, until backward has used it.

# %%
def size_of(cache, name=""):                                              # bytes of the arrays of that name
    arrays = {id(a): a.nbytes for path, a in leaves(cache, np.ndarray) if path.endswith(name)}
    return sum(arrays.values())

parameters = sum(p.value.nbytes for p in model.parameters())
print(f"parameters {parameters:,} bytes   cache {size_of(cache):,} bytes   of it maps {size_of(cache, 'weights'):,}")

# %% [markdown]
# > **Predict.** The sequences get twice as long. By which factor does the cache grow, when they are short? When they are long?

# %%
lengths = np.array([8, 16, 32, 64, 128, 256, 512])
total, of_maps = [], []
for T in lengths:
    ids = rng.integers(3, V, (1, T))                                   # (B, T)  one sequence
    _, long_cache = model.forward(ids, ids)
    total.append(size_of(long_cache))
    of_maps.append(size_of(long_cache, "weights"))
for i, T in enumerate(lengths):
    factor = f"{total[i] / total[i - 1]:.1f} times the one before" if i else ""
    print(f"T = {T:3}   maps are {of_maps[i] / total[i]:4.0%} of the cache   {factor}")

# %% [markdown]
# The cache grows by about 2 at first, then towards 4. Every other array has a row for each token, but a map has a row *and a column*, $T^2$ cells for each head, in six attentions. The picture shows
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
# - `check_gradients` checks the whole; a forgotten line would not keep the loss from falling.
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
