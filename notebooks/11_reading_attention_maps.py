# %% [markdown]
# # Lesson 11 · Reading attention maps: what they show, and what they do not
#
# | | |
# |---|---|
# | **You will do** | read the maps of three models; turn "this head looks at the answer" into a number with a baseline; mute heads and see what breaks; change the input and see what moves |
# | **You will learn** | what the rows of a map stand for; how easily one finds a "job" by looking long enough; why a weight is not an effect |
# | **You need** | Lessons 1, 5 and 6; Lesson 10 for how the models are trained |
# | **Paper** | Section 3.2.3, the end of Section 4 and the figures of the appendix |
# | **Time** | 45 minutes |
#
# Run the cells from top to bottom. Wherever it says **Predict**, stop, choose an answer, and only then go on.

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
import copy

import numpy as np

from aiayn_np import (
    CopyTask,
    ReverseTask,
    SortTask,
    attention_maps,
    greedy_decode,
    plot_attention,
    plot_attention_grid,
)
from aiayn_np.experiments.claims.head_jobs import (
    HEAD_JOBS,
    JOBS,
    cross_attention_heads,
    job_table,
    solve,
)
from aiayn_np.experiments.learning import small_model
from aiayn_np.plotting.drawings import figure_1
from aiayn_np.plotting.figures import draw_map, new_figure, plot_signed
from aiayn_np.training.loop import validate

np.set_printoptions(precision=2, suppress=True)

# %% [markdown]
# In the lit box the decoder looks at the source. Where does it look? And does it need to look there?

# %%
figure_1("cross_attention")

# %% [markdown]
# ## 11.1 Three models
#
# Three models learn to copy, to reverse and to sort. Section 4 of the paper ends with a hope: attention "could yield more interpretable models". On a translation nobody knows what a head *should* look at. Here we do. Each model has $N = 2$ layers of $h = 4$ heads.

# %%
models, tasks = {}, {}
for Task in (CopyTask, ReverseTask, SortTask):
    task = Task(symbols=6, max_length=6)
    model = small_model(task, seed=0, N=2, h=4)                        # d_model = 32, d_k = 8
    end = solve(model, task, seed=0, steps=1000)                       # a few seconds each
    tasks[task.name], models[task.name] = task, model
    print(f"{task.name:8} {end.step} steps, validation {end.validation:.2f}")

# %% [markdown]
# All three are right on each validation sequence. For the source `4 0 2 5 1 3` they read and write:

# %%
def read(name, text="4 0 2 5 1 3"):
    task, src = tasks[name], tasks[name].source(text)                  # (1, T_src)
    answer = task.target(src[0, :-1])
    tgt_in = np.array([[task.bos, *answer]])                           # (1, T_tgt)
    logits, cache = models[name].forward(src, tgt_in)
    written = logits[0].argmax(axis=-1)
    rows = [f"{a} → {b}" for a, b in zip(task.tokens(tgt_in[0]), task.tokens(written))]
    return cache, rows, task.tokens(src[0])


for name in models:
    print(f"{name:8}", "   ".join(read(name)[1]))

# %% [markdown]
# An arrow leads from what a model has read to what it writes.
#
# ## 11.2 What is a row?
#
# A row of the encoder-decoder map belongs to a position of the decoder. That position has *read* one token and is to
# *write* the next (Lesson 5.4). The labels give both.
#
# > **Predict.** The model copies `4 0 2 5 1 3`. In the row `0 → 2`, where does head 1 of layer 2 look most?
# >
# > - At 2 → It looks where the symbol stands that is to be *written*. <!-- true: maps[1][0, 2].argmax() == 2 -->
# > - At 0 → That is what the position has read. What does it need for what it is to write?
# > - At 5 → The row has its turn for 5 one step later.

# %%
def cross_maps(cache):
    return {name: weights[0] for name, weights in attention_maps(cache).items() if "cross" in name}


cache, rows, columns = read("copy")
maps = [*cross_maps(cache).values()]                                   # (h, T_q, T_k) of each layer
plot_attention(maps[1][0], rows, columns, titles=["copy: layer 2, head 1"])

# %% [markdown]
# In every row it looks most at the symbol that is to be written. These cells are the diagonal, $(t, t)$. If you label rows only with the token that was read, the same map seems to look
# one place ahead. Before you interpret a diagonal, ask what its rows are. All heads:

# %%
plot_attention_grid(cross_maps(cache), rows, columns, title="copy: encoder-decoder attention, layers × heads")

# %% [markdown]
# Layer 1 is blurred, and in layer 2 only head 4 is as clear as head 1.
#
# ## 11.3 From looking to measuring
#
# "It looks at the answer" is a sentence. Make it a number: the mean weight on the place of the answer, over 300 test sequences. A number needs a **baseline**: the same mean, with shuffled places. A head that knows nothing of places gets that much. The number minus the baseline is the **margin**: for head 1 of layer 2, $0.61 - 0.17 = 0.44$.
#
# More jobs: one before the answer, one after it, the first symbol, the last, `<eos>`. `job_table` measures each.
#
# > **Predict.** 8 heads and 6 jobs are 48 margins. Five models were *never trained*. How large is the largest of all 5 · 48 margins?
# >
# > - About 0.2 → A random projection prefers some vectors to others. <!-- true: 0.15 < bar < 0.25 and sum(m > 0.1 for m in chance) == 3 -->
# > - Nearly nothing → That is true for most heads and jobs. But this is the best of all.
# > - Nearly half → That is true for good heads of trained models.
# >
# > <!-- given: A job is a place that a head looks at: the answer, one before it, one after it, the first symbol, the last one, `<eos>`. The margin is the mean weight on this place, minus the same mean with the places of each source shuffled. A trained head: $0.61$ on the answer, $0.17$ shuffled, so the margin is $0.44$. -->

# %%
def margins(name, model, seed=0):
    score, baseline = job_table(model, tasks[name], 300, seed)         # (N h, jobs) each
    return score - baseline


def named(head):
    return f"layer {head // 4 + 1}, head {head % 4 + 1}"


chance = []
for seed in range(5):
    table = margins("copy", small_model(tasks["copy"], seed, N=2, h=4), seed)
    job = table.argmax() % len(JOBS)
    chance.append(table.max())
    print(f"model {'ABCDE'[seed]}, best at {[*JOBS][job]:12}  margin {table.max():.2f}")
bar = max(chance)

# %% [markdown]
# By chance alone one margin reaches 0.21: that is our bar. The three largest are at `<eos>`, the same vector in each sequence.
#
# A head of the trained model has a job, and a frame, if its margin is above the bar.

# %%
table = margins("copy", models["copy"])
fig = plot_signed(table.T, [*JOBS], [f"{i // 4 + 1}, {i % 4 + 1}" for i in range(8)], value="margin", rows="",
                  columns="layer, head", title=f"Framed: above the bar, {bar:.2f}")
fig.axes[0].plot(*np.argwhere(table > bar).T, "s", color="#009E73", markersize=25, fillstyle="none", markeredgewidth=3)
fig

# %% [markdown]
# Five of the eight heads pass the bar, all with the same job: they look at the answer. The paper says that heads "clearly learn to perform different tasks" (Section 4). Here they do not. The experiment `head_jobs` draws the jobs of the 80 heads of ten models, five that copy and five that reverse:

# %%
found = Path("../figures/head_jobs.json").exists()                     # the whole experiment, or a small one
jobs = HEAD_JOBS.load("../figures") if found else HEAD_JOBS.run(seeds=(0,))
count = [(jobs.best == i).sum() for i in [*range(len(jobs.jobs)), -1]]
ax = new_figure(6, 2.6).subplots()
ax.bar_label(ax.barh([*jobs.jobs, "none"], count, color="#0072B2"), padding=3)
ax.set(xlabel="heads that do this best", xlim=(0, 50))
ax.invert_yaxis()
ax.figure

# %% [markdown]
# Of 47 heads that have a job, 42 have the *same* one. But 4 of the 10 models have a head with another job.
#
# ## 11.4 Reverse and sort
#
# Draw on paper: which cell of each row is bright when `4 0 2 5 1 3` is reversed, and when it is sorted?

# %%
def draw(ax, name, weights):
    _, rows, columns = read(name)
    ax.set_xticks(range(7), columns, rotation=90)
    ax.set_yticks(range(7), rows)
    return draw_map(ax, weights, np.array(True), name)


fig = new_figure(6.5, 3.2, layout="compressed")
for ax, name in zip(fig.subplots(1, 2), ("reverse", "sort")):
    draw(ax, name, np.zeros((7, 7)))
    ax.vlines(np.arange(0.5, 6), -0.5, 6.5, color="0.7", linewidth=1)
    ax.hlines(np.arange(0.5, 6), -0.5, 6.5, color="0.7", linewidth=1)
fig

# %% [markdown]
# The best head of each model, with rings where the answer stands:

# %%
def places(name, src):                                                 # where each answer stands
    return {"copy": np.arange(len(src)), "reverse": np.arange(len(src))[::-1], "sort": src.argsort()}[name]


aligned, best = {}, {}
for name, task in tasks.items():
    batch, found = task.test(300), []
    for weights, n, src in zip(*cross_attention_heads(models[name], batch), batch[0]):
        if len(set(src[:n])) == n:                                     # no symbol twice
            on_answer = weights[:, np.arange(n), places(name, src[:n])].mean(axis=1)
            found.append([on_answer, weights[:, :n, :n].mean(axis=(1, 2))])    # on any place
    aligned[name] = scores, shuffled = np.mean(found, axis=0)          # (N h,) each
    best[name] = head = int(scores.argmax())
fig = new_figure(9, 2.8, layout="compressed")
for ax, name in zip(fig.subplots(1, 3), models):
    weights = np.concatenate(list(cross_maps(read(name)[0]).values()))[best[name]]    # (T_q, T_k)
    answers = places(name, tasks[name].source("4 0 2 5 1 3")[0, :6])
    image = draw(ax, name, weights)
    ax.plot(answers, range(6), "o", color="#D55E00", markersize=11, markerfacecolor="none", markeredgewidth=3)
fig.colorbar(image, ax=fig.axes, label="attention weight")
fig

# %% [markdown]
# Copying gives the diagonal, reversing the anti-diagonal, sorting no line. To write 0 the sorting model looks where 0 *is*: a map can follow a rule without a line.
#
# In two rows the ring is not on the brightest cell, and what they wrote is right all the same. Over test sequences with no symbol twice:

# %%
for name, (scores, shuffled) in aligned.items():
    print(f"{name:8} best head: on the answer {scores.max():.2f}, shuffled {shuffled[best[name]]:.2f}")

# %% [markdown]
# All three look at the answer far more than at a place at random. (Copying had $0.61$ in Lesson 11.3, over all sequences.)
#
# ## 11.5 What a map leaves out
#
# A head adds $\sum_j w_{ij}\, v_j W^O$ to the output (Lesson 6.3). The map shows $w_{ij}$ only. It leaves out:
#
# - the **value**: a large weight on a tiny $v_j W^O$ brings little (Kobayashi et al., 2020);
# - the **residual**: Add & Norm adds what the heads bring to $x$, which is already there;
# - the **key**: at position $j$ it is not the token, but the memory, in which the encoder has mixed the tokens.
#
# ## 11.6 Take a head away
#
# Does the model need a head? Remove it and count what breaks, as Michel et al. (2019) did. **Mute** it: its block of $W^O$ becomes zero, so
# it brings nothing.

# %%
def muted_exact(name, layer, heads):
    model = copy.deepcopy(models[name])
    attention = model.decoder.layers[layer].cross_attention
    for head in heads:
        attention.linear_O.W.value[head * attention.d_k : (head + 1) * attention.d_k] = 0    # rows: W_i^O
    return validate(model, tasks[name], tasks[name].test(300))

# %% [markdown]
# > **Predict.** One of the 8 encoder-decoder heads of the copying model is muted, each in its turn. Which share of the test sequences is still copied exactly, on average?
# >
# > - All, to a hundredth → Other heads look at the answer, but this one's share of the sum is missing.
# > - About half → Each of the eight brings an eighth or so of what all bring.
# > - Four in five, or a little more → The other heads stand in for it, but not always. <!-- true: 0.78 < muted["copy"].mean() < 0.88 -->
# >
# > <!-- given: Two layers have four heads each, and most of the eight look at the symbol that is to be written. To mute a head: its block of $W^O$ becomes 0, so it brings nothing. All test sequences are right before. -->

# %%
muted = {name: np.array([muted_exact(name, head // 4, [head % 4]) for head in range(8)]) for name in models}
four = muted_exact("copy", 1, range(4))
print(f"one of 8 heads muted, on average  copied exactly {muted['copy'].mean():.2f}")
print(f"all four heads of layer 2 muted   copied exactly {four:.2f}")
fig = plot_attention(muted["copy"].reshape(2, 4), ["layer 1", "layer 2"], [f"head {i}" for i in range(1, 5)],
                     titles=["this head muted"], quantity="copied exactly")
fig.axes[0].set(xlabel="", ylabel="")
fig

# %% [markdown]
# With one head muted, 0.83 of the sequences are still right. The others make up for much of it. Without all four heads of layer 2 only 0.03 are right.
#
# The head that is aligned best, and the one missed most:

# %%
for name in models:
    print(f"{name:>10} best aligned {named(best[name])}   most missed {named(muted[name].argmin())}")

# %% [markdown]
# For copy and reverse they are one head, for sort they are not; and one model is one sample. Alignment says what a head looks at, muting whether it is needed.
#
# ## 11.7 Change the input
#
# The most direct question is: *if this token were another, would you write something else?* (Jain and Wallace, 2019) Replace each source symbol by each
# of the five others, let the model decode, and count how often each output changes.
#
# > **Predict.** One symbol of six is changed. How many of the six outputs of the sorting model change, on average?
# >
# > - 1 → That is true when copying. Where does a symbol go that is now the largest?
# > - Two or three → The new symbol goes elsewhere, and all between move. <!-- true: 2 < moves["sort"].sum() / 6 < 3 -->
# > - 6 → Symbols that stay smaller than both, or larger, stay in their places.
# >
# > <!-- given: The source is `4 0 2 5 1 3`, and the output `0 1 2 3 4 5`. Each source symbol is replaced by each of the five others. -->

# %%
def influence(name, text="4 0 2 5 1 3"):
    task, src = tasks[name], tasks[name].source(text)                  # (1, 7)
    many = np.repeat(src, 30, axis=0)                                  # (30, 7)
    for j in range(6):
        for k in range(5):
            many[5 * j + k, j] = 3 + (src[0, j] - 3 + k + 1) % 6       # another symbol
    own, other = (greedy_decode(models[name], ids, bos=task.bos, eos=task.eos, max_len=7) for ids in (src, many))
    return (other != own)[:, :6].reshape(6, 5, 6).mean(axis=1).T           # (T_q, T_k)


moves = {name: influence(name) for name in models}
for name, share in moves.items():
    print(f"{name:8} outputs that change with one symbol: {share.sum() / 6:.1f}")

# %% [markdown]
# In copying and reversing, a symbol moves one output; in sorting, more than two. With 1 changed into 5, `0 1 2 3 4 5` becomes `0 2 3 4 5 5`. Here is what the sorting model looks at, and what its outputs depend on:

# %%
cache, rows, columns = read("sort")
map_of_best = np.concatenate(list(cross_maps(cache).values()))[best["sort"]]
fig = plot_attention(np.stack([map_of_best[:6, :6], moves["sort"]]), rows[:6], columns[:6],
                     titles=["best head: looks at", "output: depends on"], quantity="weight, or share")
for ax in fig.axes[:2]:
    ax.set(xlabel="source", ylabel="")
fig

# %% [markdown]
# The map sees one symbol, the output depends on many. In most rows the head looks at the symbol that is written; whether it is this symbol's turn depends on the others. A map shows one step, influence the whole computation.
#
# Try it: [the reversing model, with `5` replaced by `7`](../docs/live/reverse.html#src=4+0+2+5+1+3&kind=cross&layer=1&head=0&what-if=replace:3:7). `python docs/make_live_pages.py` makes the page.
#
# ## 11.8 Read your own
#
# Train a model with `aiayn-np train reverse`, and draw its maps with `aiayn-np attend runs/reverse "3 1 4"`. Beside each claim write the number, the baseline, and what could have shown you wrong.
#
# ## 11.9 Check what this lesson claimed

# %%
assert (table[:, 0] > bar).sum() > (table[:, 1:] > bar).sum()          # most have the same job
assert 0.15 < bar < 0.25                                               # what chance reaches
assert all(scores.max() > 2 * shuffled.max() for scores, shuffled in aligned.values())
assert 0.78 < muted["copy"].mean() < 0.88
assert four < 0.3
assert moves["copy"].sum() / 6 < 1.2
print("all true")

# %% [markdown]
# ## Summary
#
# - A row of a cross-attention map has read one token and writes the next. Label it with both.
# - "The head looks at X" is a mean weight on X, against shuffled places *and* against untrained models: many heads times many jobs
#   always give something by chance.
# - A map does not say whether the head is needed. To know that, intervene: mute it, change the input. A well-aligned head may be needed, or not.
#
# **What you can do now:** turn a sentence about a head into a number, with a baseline and an experiment. Lesson 14 does so on a translation.
#
# ## Questions
#
# **1.** Someone averages the maps of all heads of a layer and reads the average. When does that mislead?
#
# <details><summary>Answer</summary>
#
# It misleads when heads do different things. One head that looks 1 before and one that looks 1 after average to a map that seems to look at both, half each,
# which no head does; and a head that looks everywhere dims the others. It also counts a head that brings little as much as one that
# brings a lot (Lesson 11.5).
#
# </details>
#
# **2.** A source has the symbol 3 twice, and the model copies. Its map has two bright cells in the row that writes 3. Is it confused?
#
# <details><summary>Answer</summary>
#
# It is not confused about this token: both places give the right answer, so nothing in the loss tells them apart. It is why Lesson 11.1 chose six different
# symbols: with a repeated one, "looks at the answer's symbol" and "looks at the answer's place" cannot be told apart.
#
# </details>
#
# **3.** A head is muted and nothing breaks. Is it useless?
#
# <details><summary>Answer</summary>
#
# It need not be useless. Another may do the same job, as here: a single head of layer 2 may hardly be missed, and all four are (Lesson 11.6).
# It may also serve inputs that are not in your test. What you have shown is that the model does not need it *alone*, on *these* sequences.
#
# </details>
