# %% [markdown]
# # Lesson 15 · From here to the real models
#
# | | |
# |---|---|
# | **You will do** | train a language model, take out the head that looks things up, ask what a symbol was made of, write your model as a GPT-2 |
# | **You will learn** | to judge a head by its effect; to ask what an output was made of; how GPT-2, BERT, OPUS-MT and Llama differ from the paper |
# | **You need** | Lessons 9 and 11; Lesson 7 for the norms |
# | **Paper** | Section 3 (all of it), and what came after |
# | **Time** | *see*, and from Lesson 15.3 on *then prove*: about 40 minutes each (estimated); of the parts *for the keen* run the cells, skip the text |

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

# %% [markdown]
# This lesson needs two packages more: SentencePiece, which cuts text into pieces, and safetensors, which reads weights.

# %%
for package in ("sentencepiece", "safetensors"):
    if importlib.util.find_spec(package) is None:
        if "ipykernel" not in sys.modules:
            raise ImportError(f"{package} is missing: pip install {package}")
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", package], check=True)

# %%
import tempfile

import numpy as np

from aiayn_course.drawings import figure_1
from aiayn_course.lab.populations import draw_population, population
from aiayn_np.runs.start import start_run
from aiayn_np.text.pictures import plot_language_training

# %% [markdown]
# In half a minute, a model of random numbers will write something like a manual. It is the lit part of Figure 1: the right half, without a source, but
# with each norm before its sub-layer (Lesson 7.7) and learned positions.
#
# <!-- slide:
# In half a minute, a model of random numbers will write something that looks like a manual. It is the lit part of Figure 1: the right half, without a source, but with each norm before its sub-layer (Lesson 7.7) and learned positions.\
# ![] -->

# %%
figure_1("tgt_embedding", "tgt_positions", "decoder.self_attention", "decoder.add_norm_1",
         "decoder.feed_forward", "decoder.add_norm_3", "output_projection", "softmax")

# %% [markdown]
# ## 15.1 A language model of your own
#
# The text is the help that comes with Python. SentencePiece learns at most 500 frequent pieces from it: the tokens. The model learns to guess the next
# one. The last tenth of the text is held back.
#
# <!-- slide: It writes words, quotes and line breaks of a manual, and no sense
# The text is the help that comes with Python. SentencePiece learns at most 500 frequent pieces of words from it; these are the tokens. The model learns to guess the next token. The last tenth of the text is held back.\
# [code]
# [print]
# (`temperature` divides the logits before the softmax.) -->

# %%
work = tempfile.TemporaryDirectory()
settings = dict(                                                       # Lessons 7 to 10 have the names
    norm="pre", positions="learned", N=2, d_model=64, d_ff=256, h=4, P_drop=0.0,
    max_length=48, steps=600, batch_size=16, warmup_steps=100, rate_scale=2.0, eps_ls=0.0)
run, _ = start_run(Path(work.name) / "words", "words", seed=1, vocab_size=500, **settings)
print(f"{run.task.data.characters:,} characters, {run.task.vocab_size} tokens")

def write(text, steps=80):
    rng = np.random.default_rng(0)
    ids = run.loaded().written(run.task.source(text)[0], steps=steps, temperature=0.8, rng=rng)
    return text + run.task.text(ids)

print("\nBEFORE", write("If a class "), sep="\n")

# %% show=[1, 2]
history = list(run.train())
model = run.trained()
print("AFTER", write("If a class "), sep="\n")

# %% [markdown]
# It writes words, quotes and line breaks of a manual, and no sense. <!-- result -->
#
# How good is that? Count the nats that a held-back character costs, beside three guesses without a model: all tokens alike; each as often as it occurs;
# each as often as *after the token just read*.
#
# <!-- slide: The model is better than all three
# ![]
# So it uses more than the token just read? With another window's tokens before it the loss is clearly higher. -->

# %%
data = run.task.data
read, held = data.batches.ids, data.held_out.ids                       # (n,) tokens each
pairs = np.full((run.task.vocab_size, run.task.vocab_size), 0.1)       # what was not seen counts 0.1
np.add.at(pairs, (read[:-1], read[1:]), 1)
single = pairs.sum(axis=0)                                             # (|V|,)
guesses = {"all tokens alike": np.log(len(single)),
           "as often as it occurs": -np.log(single / single.sum())[held].mean(),
           "after the last token": -np.log(pairs / pairs.sum(axis=1, keepdims=True))[held[:-1], held[1:]].mean()}
fig = plot_language_training(history)
for style, (label, nats) in zip((":", "-.", "--"), guesses.items()):
    a_character = nats * len(held) / data.held_characters              # 2.5 characters are a token
    print(f"{label:24} {a_character:.2f} nats a character")
    fig.axes[1].axhline(a_character, linestyle=style, color="0.3", label=label)
draw_population(fig.axes[1], 15, "nats", [p.step for p in history if p.measured])   # eight seeds, measured before
fig.axes[1].lines[0].set_label("the model")
fig.axes[1].lines[-1].set_label("eight models")
fig.axes[1].set_ylim(0, 2.7)
fig.axes[1].legend(loc="lower left", fontsize=10)
print(f"{'the model':24} {run.task.nats_per_character(model, data.held_out):.2f} nats a character")
fig

# %% [markdown]
# The model is better than all three. <!-- result --> Does it use more than the token just read? Change only the tokens before it: take another window's, or shuffle them.

# %%
windows, targets = data.held_out.at(np.arange(0, len(held) - 48, 16))  # (n, 48) each
chance, lost = np.random.default_rng(0), {}
for name, before in (("their own", windows[:, :-1]), ("shuffled", chance.permuted(windows[:, :-1], axis=1)),
                     ("another window's", np.roll(windows[:, :-1], len(windows) // 2, axis=0))):
    logits = model(np.c_[before, windows[:, -1]])[:, -1]               # (n, |V|)
    wanted = np.take_along_axis(logits, targets[:, -1:], axis=1)[:, 0]
    lost[name] = (np.log(np.exp(logits).sum(axis=1)) - wanted).mean()
    print(f"tokens before it: {name:17} loss {lost[name]:.2f} nats a token")

# %% [markdown]
# Another window's tokens cost most; its own, shuffled, cost less. So it uses earlier tokens and their order. <!-- result -->
#
# ## 15.2 A head that looks up what it has read
#
# Large language models repeat what they have read, and Olsson et al. (2022) found the heads that do it. An **induction head** finds where the token just read stood
# before, and copies what followed it. In `6 3 1 5 2 8 6 3 ?` it reads `3`, finds the first `3`, and writes `1`.
#
# A manual has too many rules to see one head at work. So train a model of two layers with four heads each on rows that repeat a block of random
# symbols. Here is the map of the head that puts the most weight on what followed the same symbol (the rings). Below the white line the block begins
# again.
#
# <!-- slide: In this row the head is sure from the first ring on
# The rings are on what followed; below the white line the block begins again.\
# ![] -->

# %%
from aiayn_course.lab.claims import induction
from aiayn_np import attention_maps, plot_attention
from aiayn_np.plotting.figures import COLORS, new_figure

copier = induction.trained(N=2, seed=0)
ids, targets, period = induction.repeated(500, np.random.default_rng(1))    # (B, T) twice, (B, 1)
looks = induction.prefix_scores(copier, ids, period)                   # (N h,)  on what followed
best = int(looks.argmax())
row = np.array([6, 3, 1, 5, 2, 8, 6, 3, 1, 5, 2])                      # (T,)
maps = attention_maps(copier.forward(row[None])[1]).values()           # (1, h, T, T) each
weights = np.concatenate([*maps], axis=1)[0, best]                     # (T, T)
fig = plot_attention(weights, row.astype(str), row.astype(str),
                     titles=[f"layer {best // 4 + 1}, head {best % 4 + 1}"])
fig.axes[0].plot(range(1, 6), range(6, 11), "o", ms=18, mfc="none", mec="#D55E00", mew=3)
fig.axes[0].axhline(5.5, color="white")                                # the block begins again
fig

# %% [markdown]
# In this row the head is sure from the first ring on. <!-- result -->
#
# That says where it looks. Is it *needed*? Set its rows of $W^O$ to 0, and count the rows whose second half, 21 symbols, is right.
#
# > **Predict.** This one head of eight is taken out. With it the model gets most of 100 rows right as a whole. Without it?
# >
# > - About 75 → One head of eight is gone, but do the others do the same work?
# > - About 45 → The others would do half of its work.
# > - Hardly one → In this model the other seven do not do its work. <!-- true: without[best] < 0.1 -->
# >
# > <!-- given: A model of two layers with four heads each goes on with rows such as `6 3 1 5 2 8 6 3 …`. One head puts its weight on what followed the same symbol before. -->

# %%
without = induction.exact_without(copier, ids, targets)                # (N h,)  rows right
whole = induction.copied(copier, ids, targets)[1]
print(f"rows right: {whole:.2f}, without this head {without[best]:.2f}\n")
layer_1, _ = attention_maps(copier.forward(ids)[1]).values()           # (B, h, T, T)
first_block = np.arange(1, ids.shape[1]) < period                      # (B, T - 1)
one_back = [[weights[first_block].mean(), weights[~first_block].mean()]
            for weights in np.diagonal(layer_1, -1, 2, 3).swapaxes(0, 1)]    # of each head, (B, T - 1)
for head, (early, later) in enumerate(one_back):
    print(f"head 1.{head + 1}, weight one place back: in the first block {early:.2f}, later {later:.2f}")
ax = new_figure(6, 3.2).subplots()
ax.axhline(whole, linestyle=":", color="0.3", label="nothing taken out")
others = population(15)                                                # heads of eight models, measured before
ax.plot(others["looks"].ravel(), others["without"].ravel(), ".", color="0.7", zorder=1, label="heads of eight models")
for head, at in enumerate(zip(looks, without)):
    layer = head // 4
    ax.plot(*at, "os"[layer], color=COLORS[layer])
    ax.annotate(f"  {layer + 1}.{head % 4 + 1}", at, va="bottom" if head == 3 else "top", fontsize=10)
ax.set(xlabel="weight on what followed the same symbol", ylabel="rows right without it", title="2.3: head 3 of layer 2",
       xlim=(0, 1.1), xticks=(0, 0.5, 1), ylim=(-0.06, 1))
ax.legend(loc="lower center")
ax.figure

# %% [markdown]
# <!-- answer: Head 2 of layer 2 looks at the same place, too, and is hardly missed
# ![]
# So a head is judged by its *effect*. -->
#
# Head 2 of layer 2 looks at the same place, too, and is hardly missed. So a head is judged by its *effect*. In layer 1 (circles) every head is missed.
# Olsson et al. found why in such models: there a head looks one place back and marks each symbol with the one before it, and the induction head looks
# for this mark. In this model all four do so in the first block only, and not sharply. <!-- result -->
#
# One model is one example. The experiment `induction` has trained five of two layers and five of one:
#
# <!-- slide: Two layers copy nearly everything, with every seed
# One model is one example. The experiment `induction` has trained five of two layers and five of one:\
# [code]
# [print]
# One layer did not learn it with any. How much the best head is missed depends on the seed. -->

# %% show=[1, 2, 3, 4]
if Path("../figures/induction.json").exists():                         # the whole experiment
    ten = induction.INDUCTION.load("../figures")
else:                                                                  # a small one
    ten = induction.INDUCTION.run(rate_scale=(0.5,), steps=300, seeds=(0,), tests=100)
for name, copied in ten.right.items():                                 # (rates, seeds, times)
    print(f"{name:10}  symbols copied, share: {copied[..., -1].min():.2f} to {copied[..., -1].max():.2f}")
of_all = ten.rows["two layers"][0, :, -1]                              # (seeds,)
for name, right in (("whole", of_all), ("without the best head", ten.without[:, -1])):
    print(f"two layers, {name}: rows right {right.min():.2f} to {right.max():.2f}")

# %% [markdown]
# Two layers copy nearly everything, with every seed. One layer did not learn it with any. Without the head that looks there most, four of the five two-layer models get far fewer rows right; the fifth hardly misses it. <!-- result -->
#
# ## 15.3 What was the symbol made of, and what did it need?
#
# What did each token give to the symbol that is written? Take one head, at a position that sees two tokens, without the last norm. It adds $\sum_j
# w_j\, x_j W^V W^O$ to the model's vector. The logit of a symbol is the product of this vector with $e$, the symbol's row of $E$. Do it on paper with
# the numbers of the next cell.
#
# <!-- slide:
# From the head to the symbol that is written: what did each token give to it? Begin with one head, at one position that sees two tokens, and leave out the last norm. It adds $\sum_j w_j\, x_j W^V W^O$ to the model's vector.\
# The logit of a symbol is the product of this vector with $e$, the symbol's row of $E$. Do it on paper with the numbers of the next cell. -->

# %%
w, X = np.array([0.75, 0.25]), np.array([[1, 0], [0, 2]])              # (T,), (T, d_model)
W_VO, e = np.array([[2, 0], [1, 3]]), np.array([1, -1])                # W^V W^O, a row of E
of_each = w * (X @ W_VO @ e)                                           # (T,)
print("each brings to e:", X @ W_VO @ e, "  times its weight:", of_each)
print("their sum:", of_each.sum(), "  what the head adds:", w @ X @ W_VO @ e)

# %% [markdown]
# <!-- slide:
# [print]
# The 0.5 that the head adds to the logit is a sum: 1.5 from the first token, −1 from the second. It is linear in $x$ as long as the weights $w$ stay what they are. -->
#
# The 0.5 is a sum: 1.5 from the first token, −1 from the second. It is linear in $x$ as long as the weights $w$ stay what they are. <!-- result -->
#
# What a token gives is its **share**. The whole model can be split so, if three things are held as they were: the attention weights, the standard
# deviation of each norm, the zeros of each ReLU. Then every layer is linear, and a logit is a sum of shares, one for each token, plus biases. Ask the
# model of Lesson 15.2 about the `1` that it writes.
#
# <!-- slide: The `1` that it writes is made mostly of the first `1`
# ![]
# Our head has brought most of it. -->

# %%
from aiayn_np.reading import replaced, shares

made = shares(copier, None, row[:8])
in_layer_2 = made.by_head.heads["stack.encoder.layers.1.self_attention"]
print(f"it writes {made.token}: logit {made.value:.2f} = first 1 {made.target[2]:.2f},"
      f" other tokens {made.target.sum() - made.target[2]:.2f}, biases {made.biases:.2f}")
print(f"head {best % 4 + 1} of layer 2 brings {in_layer_2[best % 4]:.1f} of it")
ax = new_figure(6, 2.6).subplots()
ax.bar(range(8), made.target, color=COLORS[0])
ax.set(xticks=range(8), xticklabels=row[:8], xlabel="token read", ylabel=f"share in the logit of {made.token}")
ax.figure

# %% [markdown]
# (The logit is counted from the mean of all.) The `1` that it writes is made mostly of the first `1`, and our head has brought most of it. <!-- result -->
#
# And what did it *need*? `replaced` replaces one token by others, and measures how far $\log p$ of the written `1` falls: as it is, and with all
# attention weights held.
#
# > **Predict.** Replace the *first* `3`. Then $\log p$ of the `1` falls far. Now hold the weights, and replace this `3` again. How much of the fall is left?
# >
# > - About half → The first `3` would have to be in the `1` itself as much as in the looking.
# > - Less than a tenth → It gives hardly anything to the `1` itself: it says where to look. <!-- true: abs(effect_of.target_held[1]) < 0.1 * effect_of.target[1] -->
# > - About nine tenths → Then the `1` would be made of this `3`.
# >
# > <!-- given: A model goes on with rows that repeat themselves. It has read `6 3 1 5 2 8 6 3`, and writes `1` next. -->

# %%
effect_of = replaced(copier, None, row[:8], others=range(9, 32), k=64, rng=np.random.default_rng(0))
falls = {"as it is": effect_of.target, "weights held": effect_of.target_held}
ax = new_figure(6, 3).subplots()
for i, (label, fall) in enumerate(falls.items()):
    print(f"{label:13} first 3: {fall[1]:.1f}   first 1: {fall[2]:.1f}   last 3: {fall[7]:.1f}")
    ax.bar(np.arange(8) + 0.4 * i - 0.2, fall, 0.4, color=COLORS[i], label=label)
ax.set(xticks=range(8), xticklabels=row[:8], xlabel="token replaced",
       ylabel=f"fall of log p of {made.token}, nats")
ax.legend()
ax.figure

# %% [markdown]
# <!-- answer:
# ![]
# With the weights held, hardly anything is left: the first `3` said where to look, and so did the last one, which was just read. -->
#
# With the weights held, hardly anything is left: the first `3` said where to look, and so did the last one, which was just read. The first `1` is the other way round: its cost stays, since it was copied. <!-- result --> Is that so for one row only? Here are 20 others of this form:

# %%
draw, cost = np.random.default_rng(1), []
for _ in range(20):
    symbols = draw.permutation(np.arange(1, 32))                       # six, the first two again
    found = replaced(copier, None, np.r_[symbols[:6], symbols[:2]], others=symbols[6:], k=64, rng=draw)
    cost.append([*found.target[[1, 2, 7]], *found.target_held[[1, 2, 7]]])
cost = np.reshape(cost, (20, 2, 3))                                    # (rows, held, token)
for label, fall in zip(falls, np.median(cost, axis=0)):
    print(f"{label:13} first 3: {fall[0]:.1f}   first 1: {fall[1]:.1f}   last 3: {fall[2]:.1f}   (medians)")
more = cost[:, 0, 0] - cost[:, 0, 2]                                   # (rows,)
print(f"the first 3 costs {more.min():.1f} to {more.max():.1f} nats more than the last one")

# %% [markdown]
# <!-- slide: Which of the two `3` costs more depends on the row; that both say where to look does not
# [print] -->
#
# With the weights held neither `3` costs much; which of the two costs more depends on the row. <!-- result -->
#
# ## 15.4 The real models: one table
#
# <!-- slide:
# OPUS-MT (Tiedemann and Thottingal, 2020) is a thousand translators. GPT-2 (Radford et al., 2019) continues a text, BERT (Devlin et al., 2018) fills gaps, and Llama (Touvron et al., 2023) is a GPT with newer parts. -->
#
# <!-- slide:
# All are Figure 1 with parts such as these:\
# | name | what it is | who uses it | instead of |
# |---|---|---|---|
# | one half | the right half of Figure 1, without a source; or the left | GPT-2, Llama; BERT | both halves |
# | pre-norm (Lesson 7.7) | $x + \mathrm{Sublayer}(\mathrm{Norm}(x))$ | GPT-2, Llama | the norm after the sum |
# | RMS norm | $x$ over the root of the mean of $x^2$ | Llama | layer norm, which subtracts the mean first |
# | GELU | $x\,\Phi(x)$; $\Phi(x)$: share of the standard normal distribution below $x$ | GPT-2, BERT | ReLU |
# | SiLU | $x\,\sigma(x)$, with $\sigma(x) = 1 / (1 + e^{-x})$ | most of OPUS-MT | ReLU |
# | SwiGLU | $\mathrm{SiLU}(x W) \odot x W'$: one product opens a gate for the other | Llama | $\mathrm{ReLU}(x W)$ |
# | learned positions (Lesson 8.6) | a row for each position | GPT-2, BERT | sinusoids |
# | rotary positions (Lesson 8.4) | $q$ and $k$ turned by their position | Llama | sinusoids |
# | grouped-query attention (GQA) | groups of heads share keys and values | newer Llamas | keys and values for each head |
# | biases | $x W + b$ | OPUS-MT, GPT-2, BERT | $x W$ in attention |
# | a norm more | after the last layer; after the embedding | GPT-2, Llama; BERT | none |
# | segments, a larger head | a vector for first or second text; a layer and a norm before $E$ | BERT | none | -->
#
# OPUS-MT (Tiedemann and Thottingal, 2020) is a thousand translators. GPT-2 (Radford et al., 2019) continues a text, BERT (Devlin et al., 2018) fills gaps, and Llama (Touvron et al., 2023) is a GPT with newer parts. All are Figure 1 with parts such as these:
#
# | name | what it is | who uses it | instead of |
# |---|---|---|---|
# | one half | the right half of Figure 1, without a source; or the left | GPT-2, Llama; BERT | both halves |
# | pre-norm (Lesson 7.7) | $x + \mathrm{Sublayer}(\mathrm{Norm}(x))$ | GPT-2, Llama | the norm after the sum |
# | RMS norm | $x$ over the root of the mean of $x^2$ | Llama | layer norm, which subtracts the mean first |
# | GELU | $x\,\Phi(x)$; $\Phi(x)$: share of the standard normal distribution below $x$ | GPT-2, BERT | ReLU |
# | SiLU | $x\,\sigma(x)$, with $\sigma(x) = 1 / (1 + e^{-x})$ | most of OPUS-MT | ReLU |
# | SwiGLU | $\mathrm{SiLU}(x W) \odot x W'$: one product opens a gate for the other | Llama | $\mathrm{ReLU}(x W)$ |
# | learned positions (Lesson 8.6) | a row for each position | GPT-2, BERT | sinusoids |
# | rotary positions (Lesson 8.4) | $q$ and $k$ turned by their position | Llama | sinusoids |
# | grouped-query attention (GQA) | groups of heads share keys and values | newer Llamas | keys and values for each head |
# | biases | $x W + b$ | OPUS-MT, GPT-2, BERT | $x W$ in attention |
# | a norm more | after the last layer; after the embedding | GPT-2, Llama; BERT | none |
# | segments, a larger head | a vector for first or second text; a layer and a norm before $E$ | BERT | none |
#
# ## 15.5 Is your model a GPT-2?
#
# Many trained models are kept on Hugging Face, in folders of one form: `model.safetensors` holds the numbers, `config.json` sizes and options.
# **Neither file holds a program** (an old `pytorch_model.bin` may: do not open one that you do not trust).
#
# The model of Lesson 15.1 has the norm before each sub-layer, learned positions, and a ReLU, an option of GPT-2's `config.json`.
#
# > **Predict.** GPT-2 has biases in attention and does not multiply $E$ by √d_model; your model is the other way round. It is written as a GPT-2, and opened again. How far are the logits apart?
# >
# > - By about 17 → So far apart they are if the factor √64 = 8 is lost.
# > - By about 0 → The factor and the missing biases can be written as numbers. <!-- true: apart < 1e-3 -->
# > - By about 1/20 → So far apart they are if the numbers are written with three digits only.
# >
# > <!-- given: Many trained models are kept on one site, Hugging Face, in folders of one form: `model.safetensors` holds the numbers, `config.json` sizes and options. **Neither file holds a program** (an old `pytorch_model.bin` may: do not open one that you do not trust). -->

# %%
from aiayn_np.models import load_gpt2
from aiayn_np.models.gpt2 import GPT2

E = model.stack.embedding.E.value
gpt2 = GPT2.new(dict(vocab_size=len(E), n_layer=2, n_embd=64, n_inner=256, n_head=4, n_positions=48,
                     activation_function="relu", layer_norm_epsilon=1e-6,
                     tie_word_embeddings=False), rng=None)             # biases are zeros, the rest empty
theirs = dict(gpt2.model.named_parameters())
for name, parameter in model.named_parameters():
    theirs[name].value = parameter.value
theirs["stack.embedding.E"].value, theirs["output_projection.E"].value = 8 * E, E
folder = Path(work.name) / "gpt2"
gpt2.save(folder)
opened = load_gpt2(folder)
for name, array in opened.state().items():
    if name in ("transformer.wte.weight", "lm_head.weight") or "h.0.attn" in name:
        print(f"{name:36} {array.shape!s:10}  largest {np.abs(array).max():.2f}")
rows = data.some.batch(1)[0]                                           # (B, 48)
apart = np.abs(opened.model(rows) - model(rows)).max()
print(f"largest difference of a logit {apart:.0e}")

# %% [markdown]
# <!-- answer: So your model is a GPT-2
# [print]
# The biases of attention were written as zeros. The factor 8 went into `wte` (it is a power of two, so nothing was rounded), the $E$ at the input, and the $E$ at the output is kept apart as `lm_head`. -->
#
# So your model is a GPT-2. The biases of attention were written as zeros, the factor 8 into `wte`, the $E$ at the input; the $E$ at the output is kept
# apart as `lm_head`. <!-- result -->
#
# The same way leads back: `aiayn-np attend FOLDER "some text"` opens a downloaded GPT-2, BERT, OPUS-MT or Llama.
#
# ## 15.6 For the keen: three of them, built
#
# The next cell builds a GPT-2, a BERT and a Llama, small and of random numbers (`TanhGELU`: a tanh in place of $\Phi$; `h_kv=1`: all heads share keys
# and values). Then the sixth of 8 tokens is changed: at which positions do the outputs move?

# %%
from aiayn_np import EncoderLayer, LearnedPositionalEncoding
from aiayn_np.variants.activations import GELU, TanhGELU
from aiayn_np.variants.embeddings import UnscaledEmbedding
from aiayn_np.variants.layer_options import layer_factory
from aiayn_np.variants.masked import MaskedLanguageModel
from aiayn_np.variants.models import LanguageModel, llama
from aiayn_np.variants.pre_norm import PreNormEncoderLayer

rng = np.random.default_rng(0)
sizes = dict(N=2, d_model=24, d_ff=48, h=3, max_len=64, rng=rng)
models = {
    "GPT-2": LanguageModel(
        50, pad=None, layer=layer_factory(PreNormEncoderLayer, activation=TanhGELU, bias=True),
        positions=LearnedPositionalEncoding, embedding=UnscaledEmbedding, **sizes),
    "BERT": MaskedLanguageModel(
        50, layer=layer_factory(EncoderLayer, activation=GELU, bias=True), **sizes),
    "Llama": llama(50, h_kv=1, tied=False, **sizes),
}
ids = rng.integers(1, 50, (1, 8))
changed = np.where(np.arange(8) == 5, ids % 49 + 1, ids)                # the sixth
moved = {name: np.flatnonzero((m(changed) != m(ids)).any(axis=-1)[0]) + 1 for name, m in models.items()}
for name, positions in moved.items():
    print(f"{name:6} the output moves at", *positions)

# %% [markdown]
# In BERT all positions change, since each reads left and right; in GPT-2 and Llama only those from the changed token on. <!-- result -->
#
# ## 15.7 Yours: replace both
#
# <!-- slide: Write your number down, then measure
# Replace one `3`, and $\log p$ of the `1` falls far. Is it the symbol `3` that the model needs, or that the two are *equal*? Replace both by the same other symbol, for each of the symbols 9 to 31. By how many nats does $\log p$ of the `1` fall, in the median? -->
#
# Is it the symbol `3` that the model needs, or that the two are *equal*? Replace both by the same other symbol, for each of the symbols 9 to 31. By how
# many nats does $\log p$ of the `1` fall, in the median?

# %% show=false
from aiayn_course.exercises import judge

predicted = 7.0                    # type your number first
# yours: the fall of log p of the 1 in nats, the median of 23 symbols
def log_p(ids):
    logits = copier(ids[None])[0, -1].astype(float)                    # (|V|,)
    return logits[1] - np.log(np.exp(logits).sum())

falls = []
for symbol in range(9, 32):
    changed = row[:8].copy()
    changed[[1, 7]] = symbol
    falls.append(log_p(row[:8]) - log_p(changed))
measured = np.median(falls)
judge(15, predicted, measured)

# %% [markdown]
# By hardly anything. In this row the model does not need the `3`: it needs that the symbol just read stood there before. One replacement breaks this, two keep it. <!-- result -->
#
# ## 15.8 Check what this lesson claimed

# %%
assert lost["their own"] + 0.05 < lost["shuffled"] < lost["another window's"] - 0.05
assert run.task.nats_per_character(model, data.held_out) < 0.95 * a_character       # more than the last token
assert max(without[best], without[:4].min()) < 0.3                     # both layers are needed
assert all(0.75 > early > 3 * later for early, later in one_back)      # not sharply, and in the first block only
assert ten.right["two layers"][..., -1].min() > 0.9 > 0.4 > ten.right["one layer"][..., -1].max()
assert (ten.without[:, -1] < 0.7 * of_all).sum() == 4                  # the fifth hardly misses it
assert made.target[2] > 0.7 * made.value < 1.4 * in_layer_2[best % 4]  # made of the first 1, by our head
assert abs(np.median(cost[:, 1, [0, 2]], axis=0)).max() < 0.1 * np.median(cost[:, 0, [0, 2]], axis=0).min()
assert more.min() < 0 < more.max()                                     # depends on the row
assert [len(positions) for positions in moved.values()] == [3, 8, 3]
work.cleanup()
print("all true")

# %% [markdown]
# ## Summary
#
# - A language model is the right half of Figure 1 without a source.
# - What a head does is found by its effect: take it out, and count again.
# - With weights, norms and ReLUs held, a model is linear, and a logit is a sum of shares.
# - OPUS-MT, GPT-2, BERT and Llama are the paper's model with a few small differences. A downloaded model is numbers and sizes; the program is the one that you know.
#
# **What you can do now:** open a model that others have trained, and ask where it looks and what it needs. The [project](PROJECT.md) is the place for
# it.
#
# ## Questions
#
# **1.** OPUS-MT has all sines first and then all cosines; the paper has them in turn. Why does this change nothing that a model can compute?
#
# <details><summary>Answer</summary>
#
# Only the channels (the features of a token) have changed places. If every matrix that writes or reads them uses the new order, each sum has the same
# terms.
#
# </details>
#
# **2.** BERT's layers have no causal mask. What would go wrong if they were trained to guess the *next* token?
#
# <details><summary>Answer</summary>
#
# The next token is part of its input, and every position may look at it. The loss would go to zero, and nothing would have been learned (Lesson 5.6). So the tokens to be guessed are hidden from the input.
#
# </details>
#
# **3.** A folder's `config.json` names an option that this library does not have. Should it be left out?
#
# <details><summary>Answer</summary>
#
# No. The model would run, and compute something else than its authors measured.
#
# </details>
