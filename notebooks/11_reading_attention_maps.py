# %% [markdown]
# # Lesson 11 · Reading attention maps: what they show, and what they do not
#
# | | |
# |---|---|
# | **You will do** | read maps; turn "this head looks at the answer" into a number with a baseline; mute heads; change the input |
# | **You will learn** | what a row stands for; how easily one finds a "job" by looking long enough; why a weight is not an effect |
# | **You need** | Lessons 1, 5 and 6; Lesson 10 for how the models are trained |
# | **Paper** | Section 3.2.3, the end of Section 4 and the figures of the appendix |
# | **Time** | *see*, and from Lesson 11.5 on *then prove*: about 40 minutes each (estimated) |

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
from itertools import permutations

import numpy as np

from aiayn_course.lab.claims.head_jobs import (
    HEAD_JOBS,
    JOBS,
    cross_attention_heads,
    job_table,
    solve,
)
from aiayn_course.lab.learning import small_model
from aiayn_course.lab.populations import population
from aiayn_np import (
    Adam,
    CopyTask,
    ReverseTask,
    SortTask,
    Transformer,
    attention_maps,
    greedy_decode,
    plot_attention,
    plot_attention_grid,
    train,
)
from aiayn_np.plotting.figures import new_figure, plot_signed
from aiayn_np.training.toys import validate

# %% [markdown]
# A model copies `4 0 2 5 1 3` (you need not read how). A row has the name of the token that the model has just read.
#
# <!-- slide: This head seems to look one place ahead
# In the picture a row has the name of the token that the model has just read.\
# ![]
# Having read 4, it looks at 0. -->

# %%
models, tasks, symbols = {}, {}, "4 0 2 5 1 3"


def learned(task, seed=0):
    model = small_model(task, seed, N=2, h=4)                          # d_model = 32, d_k = 8
    assert solve(model, task, seed, steps=1000).validation == 1        # a few seconds
    return model


def learn(Task):
    task = Task(symbols=6, max_length=6)
    tasks[task.name], models[task.name] = task, learned(task)


def read(name):
    task, src = tasks[name], tasks[name].source(symbols)               # (1, T_src)
    tgt_in = np.array([[task.bos, *task.target(src[0, :-1])]])         # (1, T_tgt)
    logits, cache = models[name].forward(src, tgt_in)
    written = task.tokens(logits[0].argmax(axis=-1))
    rows = [f"{a} → {b}" for a, b in zip(task.tokens(tgt_in[0]), written)]
    maps = [weights[0] for where, weights in attention_maps(cache).items() if "cross" in where]
    return np.concatenate(maps), rows, task.tokens(src[0])             # (N h, T_q, T_k)


learn(CopyTask)
maps, rows, columns = read("copy")
plot_attention(maps[4], [row.split()[0] for row in rows], columns, titles=["layer 2, head 1"])

# %% [markdown]
# This head seems to look one place ahead. Having read 4, it looks at 0. <!-- result -->
#
# <!-- say: Let the class read three rows aloud. All will say "one ahead". Do not correct it: the second experiment from here will. -->
#
# ## 11.1 Three models
#
# <!-- slide: Here we know what a head should look at
# | three models | read | and write |
# |---|---|---|
# | copy | 4 0 2 5 1 3 | 4 0 2 5 1 3 |
# | reverse | 4 0 2 5 1 3 | 3 1 5 2 0 4 |
# | sort | 4 0 2 5 1 3 | 0 1 2 3 4 5 |
# Each has $N = 2$ layers of $h = 4$ heads, and learns until all validation sequences are right.
# On a translation nobody knows what a head *should* look at. Here we do. -->
#
# Three models, of $N = 2$ layers of $h = 4$ heads, learn to copy, to reverse and to sort until all validation sequences are right. Section 4 of the
# paper ends with a hope: self-attention "could yield more interpretable models". On a translation nobody knows what a head *should* look at. Here we
# do.
#
# <!-- say: Ask for the three answers to 4 0 2 5 1 3. Say: to write a symbol of the answer, one symbol of the source is enough when copying and reversing. Tempting: then the map must show it. Let us see. -->

# %% show=false
learn(ReverseTask)
learn(SortTask)

# %% [markdown]
# ## 11.2 What is a row?
#
# A row of the encoder-decoder map belongs to a position of the decoder, which has *read* one token and is to *write* the next (Lesson 5.4). Now reverse `4 0 2 5 1 3`.
#
# > **Predict.** The reversing model has read 5, and is to write 2. Where does head 1 of layer 2 look most?
# >
# > - At 1 → That is one place ahead. What does the model need there?
# > - At 5 → The position has read it. What does it need to write?
# > - At 2 → It looks where the symbol stands that is to be *written*. <!-- true: reverse[0][4, 3].argmax() == 2 -->
# >
# > <!-- given: The source is `4 0 2 5 1 3`, and the answer `3 1 5 2 0 4`. When copying, the head seemed to look one place ahead of what was read. -->

# %% show=[]
reverse = read("reverse")
plot_attention(reverse[0][4], *reverse[1:], titles=["reverse: layer 2, head 1"])

# %% [markdown]
# <!-- answer: In reversing it looks at what is to be written
# ![]
# In copying, one place ahead *is* what is to be written. -->
#
# It looks at what is to be written (for all symbols but one). In copying that is the same cell as one place ahead. So name rows by both. <!-- result -->
#
# <!-- say: So name rows by both, read → to write. Point at the row 5 → 2: its bright cell is 2, which stands before 5. Tempting: so the copying head does not look one place ahead. This is another model; it says nothing of that one. -->
#
# But that is another model. Ask the copying one: give it a wrong prefix, the same symbols in another order. Now one place ahead of what was read is not
# the place whose turn it is.

# %% show=[3]
orders = np.array([*permutations(range(6))])                           # (720, 6)
src, tgt_in, _ = tasks["copy"].examples_of(orders + tasks["copy"].source("0")[0, 0])
wrong = np.c_[tgt_in[:, :1], np.random.default_rng(0).permuted(tgt_in[:, 1:], axis=1)]
at = (src[:, None] == wrong[:, 1:6, None]).argmax(axis=-1)             # where the symbol read stands
i, j = np.nonzero(at != range(5))                                      # it is wrong in these rows
copiers, looks = [models["copy"], *(learned(tasks["copy"], seed) for seed in (1, 2))], []
for seed, model in enumerate(copiers):
    right, shuffled = (cross_attention_heads(model, (src, prefix, None))[0] for prefix in (tgt_in, wrong))
    on = np.array([weights[i, :, j + 1, place].mean(axis=0) for weights, place in (
        (right, j + 1), (shuffled, j + 1), (shuffled, at[i, j] + 1))]) # (3, N h)
    looks.append(on[:, on[0].argmax()])                                # of the best head
    print("seed {}  right prefix, due place: {:.2f}  wrong prefix, due place: {:.2f}"
          "  one ahead of what was read: {:.2f}".format(seed, *looks[-1]))

# %% [markdown]
# <!-- slide: The same copying model with a wrong prefix: it keeps counting places
# [print]
# So it does not look one place ahead of what it has read (a seventh would be chance). -->
#
# With each seed, what is one ahead of the symbol read gets less than a seventh, which is chance; the place whose turn it is gets more than twice as
# much. So the first sentence was wrong: this head counts places. (Not only: with a wrong prefix it is less sure.) <!-- result -->
#
# <!-- say: Compare the last two numbers of each row. One thing has changed, what the model has read; the model is the same. Tempting: the first map showed that it looks one ahead. It did not show of what. -->
#
# The eight heads of the copying model, named by both:
#
# <!-- slide: Layer 1 is mostly blurred; in layer 2 only head 1 has every row right
# ![]
# Heads 3 and 4 come near. -->

# %% show=[]
fig = plot_attention_grid({"layer 1": maps[:4], "layer 2": maps[4:]}, rows, columns)
fig.set_size_inches(8.6, 4)
fig

# %% [markdown]
# Layer 1 is mostly blurred; in layer 2 only head 1 has every row right. <!-- result -->
#
# <!-- say: Follow the diagonal of layer 2, head 1; then find the rows in which heads 3 and 4 leave it. Tempting: to show only the best head. All eight belong on the slide. -->
#
# ## 11.3 From looking to measuring
#
# <!-- slide: What a head looks at is a number, against a baseline
# | the number | the mean weight on the place of the answer, over 300 test sequences |
# |---|---|
# | its **baseline** | the same mean weight, with shuffled places |
# | the **margin** | number minus baseline |
# The answer is one **job**. More jobs: one before it, one after it, the first symbol, the last, `<eos>`. -->
#
# Make "it looks at the answer" a number: the mean weight on the place of the answer, over 300 test sequences. A number needs a **baseline**: the same
# mean with shuffled places, what a head gets that knows nothing of places. The number minus the baseline is the **margin**.
#
# More jobs: one before the answer, one after it, the first symbol, the last, `<eos>`.
#
# <!-- say: A head that knows nothing of places gets the baseline. Tempting: a mean weight of 0.6 is much, so the head looks at the answer. Much against what? -->
#
# > **Predict.** 8 heads and 6 jobs are 48 margins. Five models were *never trained*. How large is the largest of these 240 margins?
# >
# > - About 0.2 → A random projection prefers some vectors to others. <!-- true: 0.15 < threshold < 0.25 and sum(m > 0.1 for m in chance) == 3 -->
# > - Nearly nothing → So it is for most. But this is the best of all.
# > - Nearly half → So it is for good heads of trained models.
# >
# > <!-- given: Any head has six margins, one for each job. Here all numbers of the model are random. -->

# %%
chance = []
for seed in range(5):
    model = small_model(tasks["copy"], seed, N=2, h=4)                 # never trained
    score, baseline = job_table(model, tasks["copy"], 300, seed)       # (N h, jobs) each
    table = score - baseline
    chance.append(table.max())
    job = [*JOBS][table.argmax() % len(JOBS)]
    print(f"model {'ABCDE'[seed]}, best at {job:12}  margin {table.max():.2f}")
threshold = max(chance)
others = [np.subtract(*job_table(small_model(tasks["copy"], seed, N=2, h=4), tasks["copy"], 300, seed)).max()
          for seed in range(5, 45)]
print(f"above it, of forty other untrained models: {sum(np.array(others) > threshold)}")

# %% [markdown]
# <!-- answer: By chance alone one margin of 240 reaches 0.21
# [print]
# From here on, a job needs a margin above this threshold. -->
#
# By chance alone one of 240 margins reaches 0.21. This is our threshold, a usual one: few of forty other untrained models are above it. Three of the five are at `<eos>`, which stands in all sequences. <!-- result -->
#
# <!-- say: Three of the five are at `<eos>`, the one token that stands in all sequences. Point at 0.21: nobody trained this head, and still it seems to have a job. Say: whoever looks at 240 numbers will find a large one. Tempting: nearly nothing, which is true of most, but not of the best. -->
#
# A trained head has a job, and a frame, if its margin is above the threshold.
#
# <!-- slide: Five of the eight heads are above the threshold
# A trained head has a job, and a frame, if its margin is above the threshold.\
# ![]
# All have the same job: they look at the answer. -->

# %%
score, baseline = job_table(models["copy"], tasks["copy"], 300, seed=0)
table = score - baseline
heads = [f"{i // 4 + 1}, {i % 4 + 1}" for i in range(8)]
fig = plot_signed(table.T, [*JOBS], heads, value="margin", rows="", columns="layer, head",
                  title=f"framed: above {threshold:.2f}")
fig.set_size_inches(6.5, 3.9)
print(f"layer 2, head 1, at the answer: {score[4, 0]:.2f} − {baseline[4, 0]:.2f}")
fig.axes[0].plot(*np.argwhere(table > threshold).T, "s", color="#009E73", markersize=24,
                 fillstyle="none", markeredgewidth=3)
fig

# %% [markdown]
# Five of the eight heads pass the threshold, all with the same job: they look at the answer. The paper's heads "clearly learn to perform different tasks" (Section 4); these do not. <!-- result -->
#
# <!-- say: Point at the five frames, all in the top row. Then at the lowest row: no trained head has `<eos>` as its job here. Tempting: this refutes the paper. Its heads translate, and it shows those of self-attention. -->
#
# The experiment `head_jobs` has 80 heads: ten models, five that copy and five that reverse. The threshold is that of ten untrained models:
#
# <!-- slide: Of 47 heads that have a job, 42 have the *same* one
# ![]
# But 4 of the ten models, five that copy and five that reverse, have a head with another job, `<eos>`. -->

# %%
found = Path("../figures/head_jobs.json").exists()                     # all of it, or a small one
jobs = HEAD_JOBS.load("../figures") if found else HEAD_JOBS.run(steps=30, seeds=(0,))
count = [(jobs.best == i).sum() for i in [*range(len(jobs.jobs)), -1]]
ax = new_figure(6, 2.6).subplots()
ax.bar_label(ax.barh([*jobs.jobs, "none"], count, color="#0072B2"), padding=3)
ax.set(xlabel="heads with this job (none: below the threshold)", xlim=(0, 50),
       title=f"models with another job too: {(jobs.best > 0).any(axis=-1).sum()}")
ax.invert_yaxis()
ax.figure

# %% [markdown]
# Of 47 heads that have a job, 42 have the *same* one. But 4 of the 10 models have a head with another job. <!-- result -->
#
# <!-- say: Add the bars: 42 and 5 and 33 are 80. Say: different jobs exist, but they are rare here. Tempting: a head with no job is useless; Lesson 11.6 tries that. -->
#
# ## 11.4 Reverse and sort
#
# <!-- slide: Which cells are bright when the source is sorted?
# Draw on paper: which cell of each row is bright when `4 0 2 5 1 3` is sorted?
# | read → to write | 4 | 0 | 2 | 5 | 1 | 3 |
# |:---|---|---|---|---|---|---|
# | `<bos>` → 0 |  |  |  |  |  |  |
# | 0 → 1 |  |  |  |  |  |  |
# | 1 → 2 |  |  |  |  |  |  |
# | 2 → 3 |  |  |  |  |  |  |
# | 3 → 4 |  |  |  |  |  |  |
# | 4 → 5 |  |  |  |  |  |  | -->
#
# Draw on paper: which cell of each row is bright when `4 0 2 5 1 3` is sorted?
#
# <!-- say: Give a minute; one draws on the board. Tempting: a diagonal, because the answer is in order. The source is not. -->
#
# Copying gave the diagonal, reversing the anti-diagonal. Now the best head of each model, by its mean weight on the answer in all 720 orders of the six
# symbols (seven places alike: a seventh). Rings show the answers:
#
# <!-- slide: Copying gave the diagonal, reversing the anti-diagonal, sorting gives no line
# ![]
# The sorting head has a rule all the same: it looks where the symbol to write is (rings). -->

# %% show=[]
places = {"copy": np.sort(orders), "reverse": np.sort(orders)[:, ::-1], "sort": orders.argsort()}
aligned, best = {}, {}
for name, task in tasks.items():
    examples = task.examples_of(orders + task.source("0")[0, 0])       # (720, 7) each
    weights = cross_attention_heads(models[name], examples)[0][:, :, :6]       # (720, N h, 6, 7)
    on_answer = np.take_along_axis(weights, places[name][:, None, :, None], axis=3)
    aligned[name] = on_answer.mean(axis=(0, 2, 3))                     # (N h,)
    best[name] = aligned[name].argmax()
    print(f"{name:8} mean weight of the best head on the answer {aligned[name].max():.2f}")
sorting, *names = read("sort")
fig = plot_attention(sorting[best["sort"]], *names, titles=["sort: best head"])
fig.axes[0].plot([1, 4, 2, 5, 0, 3], range(6), "o", ms=25, mfc="none", mec="#D55E00", mew=2)
fig

# %% [markdown]
# Sorting gives no line. To write 0 the model looks where 0 *is*: a map can follow a rule without a line. <!-- result -->
#
# <!-- say: Point at the rings: they jump, and the bright cells go with them. Then at the one ring that misses the brightest cell: what was written is right all the same. Tempting: no line, no rule. -->
#
# ## 11.5 What a map leaves out
#
# <!-- slide: A map shows the weights, and leaves out three things
# A head adds a sum to $x$. The map shows $w_{ij}$ only:
# $$\underbrace{x}_{\text{residual}} + \sum_j \underbrace{w_{ij}}_{\text{the map}}\ \underbrace{v_j W^O}_{\text{value}}$$
# - the **value** $v_j W^O$: a large weight on a tiny one brings little;
# - the **residual** $x$: it is already there, and what the heads bring is added;
# - the **key**: at position $j$ it is not the token, but the memory, in which the encoder has mixed the tokens. -->
#
# A head adds $\sum_j w_{ij}\, v_j W^O$ to the output, with its own rows of $W^O$ (Lesson 6.3). The map shows $w_{ij}$ only. It leaves out:
#
# - the **value**: a large weight on a tiny $v_j W^O$ brings little (Kobayashi et al., 2020);
# - the **residual**: Add & Norm adds what the heads bring to $x$, which is already there;
# - the **key** at position $j$ is not the token, but the memory, in which the encoder has mixed the tokens.
#
# <!-- say: Ask for each of the three what it could do to a bright cell: make it count for little, be one part of many, mean another token. Tempting: a weight of 0.9 is 90 % of the reason. -->
#
# ## 11.6 Take a head away
#
# Does the copying model need a head? Remove it and count what breaks (Michel et al., 2019): **mute** it, set its block of $W^O$ to zero.

# %%
def without(model, layer, heads):
    model = copy.deepcopy(model)
    W_O = model.decoder.layers[layer].cross_attention.linear_O.W.value
    for head in heads:
        W_O[8 * head: 8 * (head + 1)] = 0                              # what it brings; d_v = 8
    return model

def exact_without(model, layer, heads):
    return validate(without(model, layer, heads), tasks["copy"], tasks["copy"].test(300))

# %%
muted = np.array([[exact_without(m, i // 4, [i % 4]) for i in range(8)] for m in copiers])   # (3, N h)
none, four = (exact_without(copiers[0], 1, heads) for heads in ((), range(4)))
ax = new_figure(8, 3).subplots()
bars = ax.bar(["none", *heads, "layer 2"], [none, *muted[0], four], color=["0.6", *["#0072B2"] * 8, "0.6"])
bars[1 + best["copy"]].set_color("#009E73")
ax.bar_label(bars, fmt="%.2f")
ax.plot(np.arange(1, 9) + 0.32, population(11)["muted"].T, "k_", markersize=8, markeredgewidth=0.6)   # eight seeds, measured before
ax.set(xlabel="what is muted: layer, head (green: aligned best; thin: eight models)", ylabel="copied exactly", ylim=(0, 1.1),
       title=f"one head muted: {muted[0].mean():.2f} on average")
ax.figure

# %% [markdown]
# <!-- slide: Mostly one head can be spared, all four of layer 2 cannot
# ![]
# In some of the eight models (thin) a single head of layer 2 cannot. -->
#
# With one head muted, about four in five sequences are right on average; without all four heads of layer 2 hardly any. In some
# of the eight models (thin) even one of these cannot be spared. <!-- result -->
#
# <!-- say: Point at the last bar, then at the four bars before it: each of these heads can mostly be spared, all four cannot. Ask for a reason before the next slide. -->
#
# Ask three copying models: is the head that is aligned best (green) always missed most? Do the others take over?
#
# > **Predict.** Head 1 of layer 2 is muted. What happens to the maps of the other three heads of its layer, if the model reads the same tokens?
# >
# > - They look more at the answer: they take over → How could they know of it?
# > - They change a little → Each head reads the layer below. Has that changed?
# > - Nothing: no weight changes → The heads of a layer read the same input; none sees what another brings.<!-- true: not any(change for change, *_ in most) -->
# >
# > <!-- given: Two layers have four heads each. To mute a head: its block of $W^O$ becomes 0, so it brings nothing. With one head muted, most test sequences are still right. -->

# %%
examples, most = tasks["copy"].test(300), []
for seed, model in enumerate(copiers):
    before, after = (cross_attention_heads(m, examples)[0] for m in (model, without(model, 1, [0])))
    cost = 1 - exact_without(model, 1, range(4)), (1 - muted[seed, 4:]).sum()
    aligned_best = job_table(model, tasks["copy"], 300, seed=0)[0][:, 0].argmax()
    most.append([np.abs(after - before).max(), *cost, aligned_best == muted[seed].argmin()])
    print("seed {}  largest change of a map: {:.1f}  all four cost: {:.2f}  each alone, added up: {:.2f}"
          "  aligned best is missed most: {}".format(seed, *most[-1]))

# %% [markdown]
# <!-- answer: They take over nothing, and bring what they brought before
# [print]
# Mostly that is enough. Alignment says what a head looks at, muting whether it is needed. -->
#
# The others take over nothing: no weight of their maps has changed. What they brought before is mostly enough. (The four single costs add up to about
# half of what all four cost, or more.) The head that is aligned best is not with every seed missed most: alignment says what a head looks at, muting
# whether it is needed. <!-- result -->
#
# <!-- say: Exactly 0, with every seed. Compare the two costs in each row. Tempting: the others make up for it. They do the same as before. And: the brightest map shows the head that matters. Not with every seed. -->
#
# Muting asks what *this model* needs. Can another do without looking? Wiegreffe and Pinter (2019) hold the attention uniform. Here $W^Q$ of all cross-attention stays 0, so each row looks at all keys alike, and all else learns.
#
# > **Predict.** Such a model learns to sort. Which share of 500 sequences has it right after at most 1000 steps?
# >
# > - None → It gets the mean of all values. What can a mean still hold?
# > - About half → Is a symbol lost in the mean?
# > - Nearly all <!-- true: min(uniform) > 0.95 --> → The mean of the values is enough.
# >
# > <!-- given: A model sorts six symbols. In a second one every row of the cross-attention looks at all keys alike, and all else learns. -->

# %% show=[]
uniform = []
for seed in range(2):
    blind, learning = small_model(tasks["sort"], seed, N=2, h=4), []
    for name, parameter in blind.named_parameters():
        if "cross_attention.linear_Q" in name:
            parameter.value[...] = 0                                   # every score is 0, and stays so
        else:
            learning.append(parameter)
    *_, end = train(blind, tasks["sort"], steps=1000, rng=np.random.default_rng(seed), optimizer=Adam(learning), validation_size=500)
    uniform.append(end.validation)
    print(f"seed {seed}  uniform maps: {end.validation:.1%} sorted right, after {end.step} steps")

# %% [markdown]
# <!-- answer: A model can sort without a place to look at
# [print]
# Muting asks what this model needs, uniform maps whether some model can do without looking. -->
#
# Sorting does not need that head: the map of Lesson 11.4 shows one way. Does copying? Try it with 2000 steps. (We guess: the encoder can write the
# place into each value.) <!-- result -->
#
# ## 11.7 Change the input
#
# The most direct question is: *if this token were another, would you write something else?* Replace each source symbol by each
# other one, decode, and count how often each output changes.
#
# > **Predict.** One symbol of six is changed. How many of the six outputs of the sorting model change, on average?
# >
# > - About 1 → So it is when copying. Where does a symbol go that is now the largest?
# > - About 2 → The new symbol goes elsewhere, and all between move. <!-- true: 2 < moves["sort"].sum() / 6 < 2.5 -->
# > - About 6 → Symbols smaller than both, or larger, stay in their places.
# >
# > <!-- given: The source is `4 0 2 5 1 3`, and the output `0 1 2 3 4 5`. Each source symbol is replaced by each of the five others. -->

# %%
def influence(name):
    task, src = tasks[name], tasks[name].source(symbols)               # (1, 7)
    many = np.repeat(src, 30, axis=0)                                  # (30, 7)
    for j in range(6):
        for k in range(5):
            many[5 * j + k, j] = 3 + (src[0, j] - 3 + k + 1) % 6       # another symbol
    own, other = (greedy_decode(models[name], ids, bos=task.bos, eos=task.eos, max_len=7)
                  for ids in (src, many))
    return (other != own)[:, :6].reshape(6, 5, 6).mean(axis=1).T       # (T_q, T_k)


moves = {name: influence(name) for name in models}
for name, share in moves.items():
    print(f"{name:8} outputs that change with one symbol: {share.sum() / 6:.1f}")

# %% [markdown]
# <!-- answer: In copying and reversing, a symbol changes one output; in sorting, more than two
# [print]
# With 1 changed into 5, `0 1 2 3 4 5` becomes `0 2 3 4 5 5`. -->
#
# In copying and reversing, a symbol changes one output; in sorting, more than two. <!-- result -->
#
# <!-- say: Write the two outputs below one another: from the second place on all but the last are others. Tempting: 6; but what stays smaller or larger than both keeps its place. -->
#
# What the sorting model looks at, and what its outputs depend on:
#
# <!-- slide: The head looks mostly at one symbol, the output depends on many
# ![]
# So a map shows one step, and influence the whole computation. -->

# %%
both = np.stack([sorting[best["sort"], :6, :6], moves["sort"]])        # (2, T_q, T_k)
plot_attention(both, *(name[:6] for name in names), quantity="weight, or share of changes",
               titles=["best head: looks at", "output: depends on"])

# %% [markdown]
# The head looks mostly at one symbol, the output depends on many. A map shows one step, influence the whole computation. <!-- result -->
#
# **The debate.** Jain and Wallace (2019) gave trained models other weights: the output often stayed nearly the same, so attention is not explanation.
# Wiegreffe and Pinter (2019) answered: weights are learned together with the rest. Ask first whether the task needs attention (uniform maps). Then
# train a second model to the same outputs with other maps, and give the maps of both to a simpler model: the first model's maps helped it more. So a
# map may explain, and that has to be tested each time.
#
# <!-- say: A map shows one step, influence the whole computation. Take one row, 1 → 2, in both panels: one bright cell on the left, none dark on the right. Tempting: the left panel explains the output. It shows one head of one layer. -->
#
# Try it: [the reversing model, with `5` replaced by `7`](../docs/live/reverse.html#src=4+0+2+7+1+3&kind=cross&layer=1&head=0)<!-- else: (README.md says how to get this page) -->.<!-- repository only --> `python docs/make_live_pages.py` makes the page.<!-- end -->
#
# ## 11.8 Read your own
#
# <!-- slide: A claim has a number, a baseline, and a way to be wrong
# Train a model with `aiayn-np train reverse`, draw its maps with `aiayn-np attend runs/reverse "3 1 4"`, and write each claim as this one of the copying model:\
# [print] -->
#
# Train a model with `aiayn-np train reverse`, draw its maps with `aiayn-np attend runs/reverse "3 1 4"`, and write each claim as this one:
#
# <!-- say: One minute here, the rest at home: each names one claim on a map, and all four lines. Tempting: to leave out the last one. -->

# %%
print("the claim  head 1 of layer 2 looks at the answer")
print(f"its number  mean weight {score[4, 0]:.2f}\nits baseline  mean weight {baseline[4, 0]:.2f}")
print(f"what would show it wrong  a margin below {threshold:.2f}")

# %% [markdown]
# Now the model of Lesson 1 again: two layers of one head. There layer 2 showed the due digit, layer 1 hardly an order.
#
# > **Predict.** The cross-attention of layer 1 is muted. Which share of 500 sequences does the model still write backwards?
# >
# > - Nearly all → Its map shows hardly an order. Does it bring nothing?
# > - About half → Without layer 1, does layer 2 still know where the end is?
# > - Less than a third <!-- true: shares[0] < 1 / 3 --> → Layer 2 works with what layer 1 adds.
# >
# > <!-- given: A model of two layers with one head each writes digits backwards. The map of layer 2 shows the due digit, that of layer 1 hardly an order. -->

# %% show=[]
first, rng = ReverseTask(symbols=10, max_length=8), np.random.default_rng(0)


def of_lesson_1(rng):
    return Transformer(first.vocab_size, N=2, d_model=32, d_ff=64, h=1, P_drop=0.0, max_len=16, rng=rng).astype(np.float32)


yours = of_lesson_1(rng)
*_, end = train(yours, first, steps=1000, batch_size=64, rng=rng, validation_size=500)
looks_due, by_chance = (scores[:, 0] for scores in job_table(yours, first, 500, seed=0))    # (N,) each
shares = [validate(without(yours, layer, range(4)), first, first.test(500)) for layer in range(2)]
for layer in range(2):
    print(f"layer {layer + 1}  weight on the due digit {looks_due[layer]:.2f}, shuffled places {by_chance[layer]:.2f}"
          f"  muted: {shares[layer]:.1%} right")
untrained = [np.subtract(*job_table(of_lesson_1(np.random.default_rng(seed)), first, 100, seed=0))[:, 0].max() for seed in range(20)]
print(f"largest margin of 20 untrained models  {max(untrained):.2f}")

attention = yours.decoder.layers[0].cross_attention
brought = attention.forward                                            # what layer 1 brings
src, tgt_in, tgt_out = first.test(500)
same_length = src != first.pad
same_length = (same_length[:, None] == same_length).all(axis=-1)       # (B, B)

def its_mean(*inputs, **options):
    y, cache = brought(*inputs, **options)                             # y: (B, T_tgt, d_model)
    return np.stack([y[same].mean(axis=0) for same in same_length]), cache

attention.forward = its_mean
in_its_place = ((yours(src, tgt_in).argmax(axis=-1) == tgt_out) | (tgt_out == first.pad)).all(axis=1).mean()
del attention.forward
print(f"layer 1  its mean over sequences of the same length: {in_its_place:.1%} right")

# %% [markdown]
# <!-- answer: Layer 1 is needed, and muting does not say for what
# [print] -->
#
# Both layers lie above untrained models, and without either most is lost. What does layer 1 bring? Put its mean over sequences of the same length in
# its place: most is right again. So it tells mostly the length and the place, hardly the digits. Muting says that a part is needed, not for what. <!-- result -->

# %% [markdown]
# ## 11.9 Yours: does the reversing model count places, too?
#
# <!-- slide: Write your number down, then measure
# With a wrong prefix the copying model still looks at the place whose turn it is. Ask the *reversing* model the same: shuffle its prefixes as in Lesson 11.2, and take the head that looks most at the due place with the right prefix. Which weight has the due place with the *wrong* prefix, in the mean over the places 2 to 6? (A seventh is chance.) -->
#
# With a wrong prefix the copying model still looks at the place whose turn it is. The *reversing* one? Shuffle its prefixes as in Lesson 11.2, and take
# the head that looks most at the due place with the right prefix. Which weight has the due place with the *wrong* prefix, in the mean over the places 2
# to 6? (A seventh is chance.)

# %% show=false
from aiayn_course.exercises import judge

predicted = 0.14                   # type your number first
# yours: the weight on the due place with a wrong prefix
src, tgt_in, answers = tasks["reverse"].examples_of(orders + tasks["reverse"].source("0")[0, 0])
mixed = np.c_[tgt_in[:, :1], np.random.default_rng(0).permuted(tgt_in[:, 1:], axis=1)]
due = (src[:, None] == answers[:, :6, None]).argmax(axis=-1)           # (720, 6)
both = [cross_attention_heads(models["reverse"], (src, prefix, None))[0] for prefix in (tgt_in, mixed)]
on_due = np.array([[weights[range(720), :, j, due[:, j]].mean(axis=0) for j in range(1, 6)] for weights in both])
of_right, of_mixed = on_due.mean(axis=1)                               # (N h,) each
measured = of_mixed[of_right.argmax()]
judge(11, predicted, measured)

# %% [markdown]
# More than twice chance, and less than with the right prefix. So it counts places, too, and the tokens that it has read matter as well. <!-- result -->
#
# ## 11.10 Check what this lesson claimed

# %%
assert [i for i in range(8) if (maps[i].argmax(axis=-1) == range(7)).all()] == [4]
assert (table[:, 0] > threshold).sum() == (table > threshold).sum() == 5    # all have the same job
assert (jobs.best == 0).sum() > 4 * (jobs.best > 0).sum()              # in ten models, too
assert min(scores.max() for scores in aligned.values()) > 3 / 7
assert all(wrong_due > 2 * ahead and ahead < 1 / 7 for _, wrong_due, ahead in looks)   # it counts places
assert (reverse[0][4, :6].argmax(axis=-1) == range(5, -1, -1)).sum() == 5
assert four < 0.1 < 0.7 < muted.mean(axis=1).min()
assert all(added > 0.4 * together for _, together, added, _ in most)
assert not all(same for *_, same in most)                              # aligned best, missed most
assert moves["copy"].sum() / 6 < 1.2
assert min(uniform) > 0.95                                            # a model can sort without looking
assert min(looks_due - by_chance) > max(untrained)                     # both layers of Lesson 1's model
assert max(shares) < 1 / 3                                             # both are needed
assert in_its_place > 0.8                                              # the digits are hardly in it
print("all true")

# %% [markdown]
# ## Summary
#
# - A row of a cross-attention map has read one token and writes the next. Label it with both.
# - "The head looks at X" is a mean weight on X, against shuffled places *and* untrained models: among many heads and jobs one stands out by chance.
# - A map does not say whether the head is needed. To know that, mute it, change the input. To know for what, put in its mean.
#
# **What you can do now:** turn a sentence about a head into a number, with a baseline and an experiment. Lesson 14 does so on a translation.
#
# ## Questions
#
# **1.** Someone averages the maps of all heads of a layer and reads the average. When does that mislead?
#
# <details><summary>Answer</summary>
#
# When heads do different things: one that looks 1 before and one that looks 1 after average to a map that seems to look at both, which no head does. It
# also counts a head that brings little as much as one that brings a lot (Lesson 11.5).
#
# </details>
#
# **2.** A source has the symbol 3 twice, and a model copies. Its map has two bright cells in the row that writes 3. Is it confused?
#
# <details><summary>Answer</summary>
#
# No: both places give the right answer. (Our head counts places, and has one bright cell.) So this lesson reads six different symbols: else "looks at
# the answer's symbol" and "looks at the answer's place" cannot be told apart.
#
# </details>
#
# **3.** A head is muted and nothing breaks. Is it useless?
#
# <details><summary>Answer</summary>
#
# Not for sure. What the others bring may be enough, as here: a single head of layer 2 may hardly be missed, and all four are (Lesson 11.6). You have shown that the model does not need it *alone*, on *these* sequences.
#
# </details>
