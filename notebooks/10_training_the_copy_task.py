# %% [markdown]
# # Lesson 10 · Training: from random numbers to a perfect copy
#
# | | |
# |---|---|
# | **You will do** | smooth a loss and take three steps of Adam by hand; write the training loop; train a Transformer until it copies |
# | **You will learn** | what label smoothing does; how far Adam's first step goes, and what warm-up is for; how many sequences are right when 9 tokens of 10 are |
# | **You need** | Lesson 2 (softmax), Lesson 5 (the causal mask); Lesson 9 helps |
# | **Paper** | Section 5, Equation 3, Section 6.1, Table 3 (D) |
# | **Time** | *see*, and from Lesson 10.6 on *then prove*: about 40 minutes each (estimated) |

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

from aiayn_course.lab.claims.warm_up import WARM_UP, blind_loss
from aiayn_course.lab.populations import draw_population
from aiayn_np import (
    Adam,
    CopyTask,
    LabelSmoothedCrossEntropy,
    Parameter,
    Softmax,
    Transformer,
    exact_match,
    greedy_decode,
    plot_attention,
    plot_loss,
    train,
    warmup_rate,
)
from aiayn_np.plotting.figures import COLORS, draw_spread, log_ticks, new_figure
from aiayn_np.training.loop import averaged, token_scores

# %% [markdown]
# A Transformer with random numbers is to copy `3 1 4 1 5`, and fails. A row is a place to write, with the probabilities of all tokens.
#
# <!-- slide: Untrained, it gives no right token more than 0.11
# ![]
# Asked to copy `3 1 4 1 5`, it writes 7 in every row. A 7 just read makes 7 likelier: one matrix $E$ is at the bottom and at the top (Lesson 9.1). -->

# %%
task = CopyTask(symbols=10, max_length=8)

def new_model(seed=0):
    size = dict(N=2, d_model=32, d_ff=64, h=4, P_drop=0.0, max_len=64)
    return Transformer(task.vocab_size, **size, rng=np.random.default_rng(seed)).astype(np.float32)

def sure_of(model, when):
    written = greedy_decode(model, question, bos=task.bos, eos=task.eos, max_len=6)[0]
    p = Softmax()(model(question, np.array([[task.bos, *written[:5]]])))[0]    # (T_tgt, V)
    right = p[range(6), question[0]]                                   # of the right tokens
    rows = [f"{token} ({x:.2f})" for token, x in zip(task.tokens(question[0]), right)]
    fig = plot_attention(p, rows, task.tokens(range(13)), quantity="probability",
                         titles=[f"{when} training it writes {task.text(written)}"])
    fig.axes[0].images[0].set_clim(0, p.max())                         # yellow: the largest of all
    fig.axes[0].plot(p.argmax(axis=-1), range(6), "o", color=COLORS[1], fillstyle="none")
    fig.axes[0].set(xlabel="what it may write (ring: what it writes)", ylabel="what it should write")
    return fig, right

model, question = new_model(), task.source("3 1 4 1 5")                # question: (1, T_src)
fig, right_before = sure_of(model, "before")
print(f"right tokens: at most {right_before.max():.2f}")
fig

# %% [markdown]
# Untrained, it gives no right token more than 0.11, and a 7 just read makes 7 likelier: one matrix $E$ is at the bottom and at the top (Lesson 9.1 has the control). After 400 steps it will copy. <!-- result -->
#
# <!-- say: In each row it writes the brightest, the ring. Point at a row: it has the probabilities of the 13 tokens, after what the model wrote itself. The number in brackets is what the right token gets; guessing would give 1/13, or 0.08. Tempting: it is an attention map. It is not; it is what the model says. -->
#
# ## 10.1 The task
#
# <!-- slide: `tgt_out` is the answer, `tgt_in` the answer shifted right
# The task is to write the same digits again, so we can count mistakes exactly.
# [print]
# The decoder reads `tgt_in` and must predict `tgt_out`: teacher forcing (Lesson 5.6). -->

# %% show=[]
for name, ids in zip(("src", "tgt_in", "tgt_out"), task.batch(1, np.random.default_rng(0))):
    print(f"{name:8}", *(f"{token:7}" for token in task.tokens(ids[0])))

# %% [markdown]
# `tgt_out` is the answer, `tgt_in` the answer shifted right: teacher forcing (Lesson 5.6). <!-- result -->
#
# <!-- say: Point at one column: the decoder has read what stands in tgt_in up to there, and must write what stands below, in tgt_out. Tempting: it sees the answer. The mask hides what comes later (Lesson 5). -->
#
# Ten digits and three marks make $|V| = 13$ classes.
#
# ## 10.2 The loss, on three classes
#
# <!-- slide: The loss is a cross-entropy of what we want and what the model says
# At one position the model says $p$, and we want $q$ (a distribution, not a query).
# The loss is the **cross-entropy** $-\sum_v q_v \ln p_v$. Its unit is the **nat**.
# Without smoothing, $q$ is 1 for the target and 0 elsewhere.
# The paper **smooths** $q$: a share $\epsilon_{ls}$ is taken from the target and spread over all classes.
# $$q_v = (1 - \epsilon_{ls})\, \mathbb{1}[v = \mathrm{target}] + \epsilon_{ls} / |V|$$ -->
#
# At one position the model gives probabilities $p = \mathrm{softmax}(z)$ to $|V|$ classes, and we want $q$ (a distribution, not a query). The loss is
# the **cross-entropy** $-\sum_v q_v \log p_v$, the log-loss of Lesson 2 for any $q$. (Its unit is the **nat**.) Without smoothing, $q$ is 1 for the
# target and 0 elsewhere. The paper **smooths** it (Section 5.4; Szegedy et al., 2016): a share $\epsilon_{ls}$ is taken from the target and spread over
# all classes.
#
# $$q_v = (1 - \epsilon_{ls})\, \mathbb{1}[v = \mathrm{target}] + \epsilon_{ls} / |V|$$
#
# <!-- say: Say: q is what we want, p what the model says; the loss is least where they are equal. Tempting: without smoothing it is another loss. It is the same sum, of which one term is left. -->
#
# <!-- slide: Smooth the target of three classes on paper
# Take $|V| = 3$, target class 0, $p = (\tfrac12, \tfrac14, \tfrac14)$ and $\epsilon_{ls} = 0.3$. Find $q$ and the loss:
# $$q_v = (1 - \epsilon_{ls})\, \mathbb{1}[v = \mathrm{target}] + \epsilon_{ls} / |V| \qquad \mathrm{loss} = -\sum_v q_v \ln p_v$$ -->
#
# Take $|V| = 3$, target class 0, $p = (\tfrac12, \tfrac14, \tfrac14)$ and $\epsilon_{ls} = 0.3$. Find $q$ and the loss on paper.
#
# <!-- say: Give three minutes. One writes q on the board, another the loss. Tempting: q = (0.7, 0.15, 0.15); but the share is spread over all classes, the target too. -->
#
# <!-- slide: $q = (0.8, 0.1, 0.1)$, and the loss is $0.8 \ln 2 + 0.2 \ln 4 = 1.2 \ln 2$
# [print]
# The gradient in the logits is $p - q$ (Lesson 9.5). -->

# %% show=[]
p = np.array([1 / 2, 1 / 4, 1 / 4])                                    # (V,)
q = np.full(3, 0.3 / 3)                                                # (V,)
q[0] += 1 - 0.3
loss_by_hand = -(q * np.log(p)).sum()
print(f"target wrong wrong\np     {p}\nq     {q}\np - q {p - q}")
print(f"loss {loss_by_hand:.4f} = {loss_by_hand / np.log(2):.1f} ln 2")

# %% [markdown]
# $q = (0.8, 0.1, 0.1)$, and the loss is $0.8 \ln 2 + 0.2 \ln 4 = 1.2 \ln 2$. The gradient in the logits is $p - q$ (Lesson 9.5). <!-- result -->
#
# <!-- say: Point at p - q: negative where the model says too little, so a step down raises this logit. The three add up to 0. Tempting: the gradient is p, what the model says. It is what it says too much. -->
#
# Take 13 classes and the paper's $\epsilon_{ls} = 0.1$.
#
# > **Predict.** The model gets surer and surer: the probability of the target grows from 0.5 to 0.9999. What does the smoothed loss do?
# >
# > - It falls all the way → Here the wrong classes are wanted too, a little.
# > - It falls, and then stays where it is → Has $-q_v \log p_v$ a bound for a tiny $p_v$?
# > - It rises all the way → At 0.5 the model is less sure than $q$.
# > - It falls, and then rises → Past p = q the twelve wrong classes, wanted a little, cost more than the target gains. <!-- true: sure[0] > sure[1] > sure[2] < sure[3] < sure[4] -->
# >
# > <!-- given: 13 classes, smoothing 0.1: one is wanted with {1 - 0.1 + 0.1 / 13}, each of the other twelve with {0.1 / 13}. The loss is $-\sum_v q_v \ln p_v$. -->

# %%
V, eps_ls = 13, 0.1
best = 1 - eps_ls + eps_ls / V                                         # 0.9077, q of the target

def smoothed_loss(p):                                                  # p: of the target
    return -best * np.log(p) - (1 - best) * np.log((1 - p) / (V - 1))

p = np.linspace(0.5, 0.9999, 400)
sure = smoothed_loss(np.array([0.5, 0.8, best, 0.99, 0.9999]))
ax = new_figure(6, 2.6).subplots()
ax.plot(p, smoothed_loss(p), color=COLORS[0])
ax.plot(best, sure[2], "o", color=COLORS[1])
ax.set(xlabel="probability of the target", ylabel="smoothed loss, nats", title=f"lowest at {best:.4f}")
ax.figure

# %% [markdown]
# <!-- answer: Past 0.9077 the loss rises: the model is too sure
# ![]
# It is lowest where the model says what is wanted, $p = q$. -->
#
# Past 0.9077 the loss rises, and its gradient pushes *back*: the model is too sure. There $p = q$: the target has $1 - \epsilon_{ls} + \epsilon_{ls}/|V|$. <!-- result -->
#
# <!-- say: Point at the dot: here p = q, and the gradient is 0. To its right a step down the slope makes the model less sure. Tempting: A, which is the log-loss without smoothing. -->
#
# <!-- slide: In the paper, smoothing costs perplexity and gains BLEU
# **Perplexity** is $e$ to the mean of $-\ln p_\mathrm{target}$: less is better. BLEU is the score of a translation.
# | Table 3 (D) | **base: both 0.1** | no smoothing | no dropout |
# |---|---|---|---|
# | perplexity | **$4.92$** | $4.67$ | $5.77$ |
# | BLEU | **$25.8$** | $25.3$ | $24.6$ |
# Dropout (Lesson 7.6) improves both. -->
#
# In the paper smoothing costs **perplexity**, $e$ to the mean of $-\ln p_\mathrm{target}$ (less is better), and improves accuracy and BLEU, the score of a translation. Dropout (Lesson 7.6) improves both:
#
# | Table 3 (D) | **base: both 0.1** | no smoothing | no dropout |
# |---|---|---|---|
# | perplexity | **$4.92$** | $4.67$ | $5.77$ |
# | BLEU | **$25.8$** | $25.3$ | $24.6$ |
#
# <!-- say: Compare each column with the base, on the left: without smoothing the perplexity is better and BLEU worse; without dropout both are worse. Tempting: better perplexity, better translation. Smoothing shows that it need not be so. -->
#
# ## 10.3 Adam, three steps by hand
#
# <!-- slide: Adam keeps two running means for each parameter
# Adam keeps two running means for each parameter: $m$ of its gradient and $v$ of the square of its gradient (Kingma and Ba, 2015; Section 5.3, with $\beta_1 = 0.9$, $\beta_2 = 0.98$).
# Both start at 0, so at first they are far too small; dividing by $1 - \beta^t$ sets that right.
# Each step is the first mean over the root of the second:\
# $$m \leftarrow \beta_1 m + (1 - \beta_1)\, g, \qquad v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2$$ $$\hat m = \frac{m}{1 - \beta_1^t}, \qquad \hat v = \frac{v}{1 - \beta_2^t}, \qquad \theta \leftarrow \theta - \mathrm{rate} \cdot \frac{\hat m}{\sqrt{\hat v} + \mathrm{eps}}$$ -->
#
# Adam keeps two running means for each parameter: $m$ of its gradient and $v$ of the square of its gradient (Kingma and Ba, 2015; Section 5.3, with
# $\beta_1 = 0.9$, $\beta_2 = 0.98$). Both start at 0; dividing by $1 - \beta^t$ sets right that they are too small at first. Each step is the first
# mean over the root of the second:
#
# $$m \leftarrow \beta_1 m + (1 - \beta_1)\, g, \qquad v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2$$
# $$\hat m = \frac{m}{1 - \beta_1^t}, \qquad \hat v = \frac{v}{1 - \beta_2^t}, \qquad \theta \leftarrow \theta - \mathrm{rate} \cdot \frac{\hat m}{\sqrt{\hat v} + \mathrm{eps}}$$
#
# <!-- say: Say the last formula in words: the mean gradient, over its own size. Tempting: to leave out the division by 1 - beta^t, without which the first means are 10 and 50 times too small. -->
#
# > **Predict.** The first gradient is 4000, the rate 0.1. How far does the first step go?
# >
# > - 400 → That is the rate times the gradient. What does Adam divide by?
# > - 0.1 → The gradient is divided by its own size. Only its sign is left. <!-- true: np.isclose(lengths[0], 0.1) -->
# > - 40 → That is the rate times $m$, undivided.
# >
# > <!-- given: The gradients are 4000, 4000 and -2000. Adam has $\beta_1 = 0.9$ and $\beta_2 = 0.98$. Both means start at 0. At the first step $t = 1$, so $m = 0.1\, g$ and $v = 0.02\, g^2$. Each is divided by $1 - \beta^t$. The step is $\mathrm{rate} \cdot \hat m / \sqrt{\hat v}$. -->

# %%
beta_1, beta_2, eps, rate = 0.9, 0.98, 1e-9, 0.1
m, v, lengths = 0.0, 0.0, []                                           # of one parameter
for t, g in enumerate([4000.0, 4000.0, -2000.0], start=1):
    m = beta_1 * m + (1 - beta_1) * g
    v = beta_2 * v + (1 - beta_2) * g**2
    m_hat, v_hat = m / (1 - beta_1**t), v / (1 - beta_2**t)            # bias correction
    lengths.append(rate * m_hat / (np.sqrt(v_hat) + eps))
    print(f"t={t}  gradient {g:.0f}  m̂ {m_hat:.0f}  √v̂ {v_hat**0.5:.0f}  step {lengths[-1]:.4f}")

# %% [markdown]
# <!-- answer: The first step goes by the full rate, whatever the gradient's size
# [print]
# At $t = 1$, $\hat m = g$ and $\hat v = g^2$, so $\hat m / \sqrt{\hat v} = \pm 1$ (eps is tiny). When gradients disagree, steps are shorter. -->
#
# The first step goes by the full rate, whatever the gradient's size. At $t = 1$, $\hat m = g$ and $\hat v = g^2$, so $\hat m / \sqrt{\hat v} = \pm 1$.
# When gradients disagree, steps are shorter. <!-- result -->
#
# <!-- say: Point at the first row: m-hat and the root of v-hat are the same number, 4000, so the step is the rate. In the third row the gradient has turned: m-hat falls, the root of v-hat hardly does. Tempting: 400, the rate times the gradient. -->
#
# ## 10.4 Warm-up
#
# <!-- slide: Training starts with a tiny rate, and warms up
# At step 1 every parameter with a gradient moves by the full rate, and only one batch has said in which direction. The paper starts with a tiny rate (Equation 3):\
# $$\mathrm{rate} = d_\mathrm{model}^{-0.5} \cdot \min\left(\mathrm{step}^{-0.5},\ \mathrm{step} \cdot \mathrm{warmup\_steps}^{-1.5}\right)$$\
# ![]
# The rate rises linearly for `warmup_steps`, and then falls as $1/\sqrt{\mathrm{step}}$. -->
#
# At step 1 every parameter with a gradient moves by the full rate, and only one batch has said in which direction. The paper starts with a tiny rate (Equation 3):
#
# $$\mathrm{rate} = d_\mathrm{model}^{-0.5} \cdot \min\left(\mathrm{step}^{-0.5},\ \mathrm{step} \cdot \mathrm{warmup\_steps}^{-1.5}\right)$$
#
# <!-- say: Of the two arguments of min the second is smaller up to warmup_steps, the first after it. Steps are counted from 1: at step 0 the rate would be 0. -->

# %% show=[]
ax = new_figure(5.5, 2.3).subplots()
ax.plot([512**-0.5 * min(t**-0.5, t * 4000**-1.5) for t in range(1, 20_001)], color=COLORS[0])
ax.set(xlabel="step", ylabel="rate", xticks=range(0, 20_001, 5000),
       title=r"$d_\mathrm{model}$ = 512, 4000 warm-up steps, as in the paper")
ax.figure

# %% [markdown]
# The rate rises linearly for `warmup_steps`, and then falls as $1/\sqrt{\mathrm{step}}$. <!-- result -->
#
# <!-- say: Point at the peak, step 4000: there both arguments of min are equal. Say: at four times as many steps it is half of that. Tempting: the rate stays at its peak. -->
#
# The experiment `warm_up` tries five peak rates, with 60 steps of warm-up and without ($N = 4$, the norm after each Add; five seeds; 600 steps).
#
# > **Predict.** What does warm-up change in the loss?
# >
# > - A higher rate works, the best loss hardly changes → At a high rate the first steps do harm.<!-- true: (np.median(warm.final[:2, warm.high, :, -1], axis=-1) < warm.blind - 1).tolist() == [True, False] and 0 < warm.best[1, 1] - warm.best[0, 1] < 0.1 -->
# > - The loss is lower with it at each rate → What do slow first steps cost at the lowest rate?
# > - Without it no model learns → A rate may be low enough from the first step on.
# >
# > <!-- given: Models with $N = 4$ learn to copy for 600 steps, with the norm after each Add. Five peak rates, {warm.peak[0]} to {warm.peak[-1]}, are tried twice: reached by a warm-up of 60 steps, or used from the first step on. A model that does not read the source has a loss of {warm.blind}. -->

# %%
found = Path("../figures/warm_up.json").exists()                       # all of it, or a small one
warm = WARM_UP.load("../figures") if found else WARM_UP.run(peak=(0.001, 0.01), steps=40, seeds=(0,))
ax = new_figure(6.5, 4).subplots()
for i, name in enumerate(("with warm-up", "without")):
    draw_spread(ax, warm.peak, warm.final[i, ..., -1].T, f"norm after, {name}", i)    # median, range
    ax.plot(warm.peak, np.median(warm.final[i + 2, ..., -1], axis=-1), "--", color=COLORS[i], alpha=0.6,
            label=f"norm before, {name}")
ax.axhline(warm.blind, color="0.4", linestyle=":", label="source not read")
ax.set(xlabel="peak rate", ylabel="loss at the end, nats", ylim=(0, 2.6), xscale="log")
log_ticks(ax.xaxis, warm.peak)
ax.legend(loc="upper center", bbox_to_anchor=(0.45, -0.18), ncols=2, fontsize=10)
ax.figure

# %% [markdown]
# <!-- answer: Here warm-up buys a higher rate, and hardly a better end
# ![]
# Solid, norm after each sub-layer: at 0.01 the source is read only with warm-up; dashed, norm before: at every rate. -->
#
# Here warm-up buys a higher rate, and hardly a better end. Dotted: the best guess without the source. At 0.01 the models read the source (solid, well below it) only with warm-up; at the highest rate not even so. <!-- result -->
#
# <!-- say: A dot is the median of five seeds, a band their range. Point at 0.01: only the blue dot is well below the dotted line. Then compare the lowest dot of each curve: they are nearly equally low. Tempting: B; but at the lowest rate warm-up brings nothing. -->
#
# With the norm *before* each sub-layer (Lesson 7.7) they read at every rate, with a first step just as large. So that step is not the whole reason.
#
# ## 10.5 The loop, in a dozen lines
#
# <!-- slide: The loop: forward, loss, backward, step
# One step of training, on a fresh batch, does four things:
# [code] -->
#
# With 100 steps of warm-up Equation 3 has a peak of $32^{-0.5} \cdot 100^{-0.5} = 0.018$, at the edge of what Lesson 10.4 allows. We take a fifth.
#
# <!-- say: Click: each block is one thing to do. Say: forward, loss, backward, step; every framework trains so. -->

# %% show=[[5], [7, 8], [10, 11], [13]]
criterion, losses = LabelSmoothedCrossEntropy(eps_ls=0.1, pad=task.pad), []
rng, optimizer = np.random.default_rng(1), Adam(model.parameters())
for step in range(1, 31):
    src, tgt_in, tgt_out = task.batch(64, rng)                         # (B, T) each, fresh
    logits, cache = model.forward(src, tgt_in)                         # (B, T, V)

    loss, loss_cache = criterion.forward(logits, targets=tgt_out)      # a number
    grad_logits = criterion.backward(1.0, loss_cache)                  # (B, T, V)

    model.zero_grad()                                                  # backward adds
    model.backward(grad_logits, cache)                                 # fills every grad

    optimizer.step(0.2 * warmup_rate(step, model.d_model, 100))        # Equation 3
    losses.append(token_scores(loss_cache)[0])                         # without smoothing
print(f"guessing  loss {np.log(13):.2f}\n1st step  loss {losses[0]:.2f}\n30th step  loss {losses[-1]:.2f}")

# %% [markdown]
# <!-- slide: After 30 steps the loss is below that of guessing, $\ln 13$
# [print]
# At first it is above. Why? -->
#
# The first loss is above that of guessing, $\ln 13 = 2.56$. <!-- result --> Why? Make the untrained model's logits ten times smaller: the same
# preferences, less sure.
#
# <!-- say: Point at the first loss: it is worse than to give each class the same. Tempting: to forget zero_grad (Question 1). -->

# %%
logits = new_model()(src, tgt_in)                                      # (B, T, V)
for times in (1, 0.1):
    _, loss_cache = criterion.forward(times * logits, targets=tgt_out)
    print(f"logits times {times}  loss {token_scores(loss_cache)[0]:.2f}")

# %% [markdown]
# <!-- slide: Less sure, it loses hardly more than a guess: being sure of what it does not know costs
# [print] -->
#
# Less sure, it loses hardly more than a guess: being sure of what it does not know costs. <!-- result -->
#
# <!-- say: Only the size of the logits has changed, not which is the largest. Tempting: its guesses are worse than chance. This does not show how good its guesses are, only that being sure of them costs. -->
#
# The library's `train` is this loop.
#
# ## 10.6 Train it
#
# Train for 400 steps, and keep every tenth model.

# %% show=[]
model, history, models = new_model(), [], {}
for progress in train(model, task, steps=400, rng=np.random.default_rng(1), validation_size=500,
                      validate_every=400):                             # at the end only
    history.append(progress)
    if progress.step % 10 == 0:
        models[progress.step] = copy.deepcopy(model)

# %% [markdown]
# Dotted: the best guess without the source, and $p = q$: $-\ln 0.9077 \approx 0.1$. Thin: eight models, with seeds 0 to 7.
#
# <!-- slide: It learns to read the source, then to be as sure as smoothing asks
# ![]
# Late in training comes a burst of mistakes, from which it recovers. -->

# %%
fig = plot_loss(history, title="A Transformer learns to copy")
fig.set_size_inches(7.5, 3.2)
top = fig.axes[0]
draw_population(top, 10, "loss")                                      # eight seeds, measured before
top.set(yscale="log", ylim=(0.06, 5), yticks=(0.1, 1), yticklabels=("0.1", "1"),
        ylabel="−ln p (target)")
for number, name in ((blind_loss(task), "source not read"), (-np.log(best), "p = q")):
    top.axhline(number, color="0.4", linestyle=":", linewidth=1)
    top.text(100, number * 1.15, name)
burst = 201 + np.argmax([record.loss for record in history[200:]])
top.text(burst, 0.7, "burst", ha="center")
fig

# %% [markdown]
# Below the upper dotted line it reads the source. At the end the loss is about what smoothing asks for. In this run, late in training, there is a burst
# of mistakes. Most of the eight have one, at various steps. (Its cause is not examined.) <!-- result -->
#
# <!-- say: Point at the upper dotted line, where it begins to read; then at step 200, where nearly all tokens are right; then at the burst. Tempting: it should fall to 0. Smoothing forbids it. -->
#
# ## 10.7 Tokens and sequences
#
# In training the model reads the true prefix, in use what it wrote itself. Take it part-way.

# %%
def copied_exactly(model):
    return exact_match(model, validation, bos=task.bos, eos=task.eos)

validation = task.validation(500)
early = next(step for step in models if history[step - 1].accuracy > 0.85)
src, tgt_in, tgt_out = validation
real = tgt_out != task.pad                                             # (B, T)
right = (models[early](src, tgt_in).argmax(axis=-1) == tgt_out) | ~real    # (B, T)
lengths = real.sum(axis=1)                                             # (B,)
print(f"step {early}: {right[real].mean():.2f} of tokens right, {lengths.mean():.1f} tokens in a sequence")

# %% [markdown]
# > **Predict.** Which share of the sequences does this model write without a mistake?
# >
# > - About 0.88 → A sequence is right only if all its tokens are.
# > - About 0.75 → Two tokens in a row are both right less often than one; a sequence has seven.
# > - About 0.47 → One wrong token spoils a sequence. <!-- true: 0.4 < exact < 0.5 -->
# >
# > <!-- given: At each token the model reads the true prefix, and {right[real].mean()} of its tokens are right. A sequence has {lengths.mean()} tokens on average. -->

# %%
exact, even = copied_exactly(models[early]), (right[real].mean() ** lengths).mean()
print(f"if mistakes were spread evenly  sequences right {even:.2f}")
print(f"measured, decoded  sequences right {exact:.2f}")
print(f"measured, teacher-forced  sequences right {right.all(axis=1).mean():.2f}")

# %% [markdown]
# <!-- answer: Nearly half of the sequences are right
# [print]
# The last two must agree: while all is right, the model's own prefix is the true one. Mistakes spread evenly would leave fewer, the mean of $p^L$ over the lengths $L$: so some sequences are harder. -->
#
# Nearly half of the sequences are right. (The last two must agree: while all is right, the model's own prefix *is* the true one.) Mistakes spread
# evenly would leave fewer: the mean of $p^L$ over the lengths $L$, if $p$ of the tokens are right. <!-- result --> Where are they?
#
# <!-- say: Compare the first bar with the two others, which were measured, decoded and teacher-forced, after the true prefix. These are alike: as long as all is right, the model's own prefix is the true one. Tempting: 0.88; but nine tokens of ten are less than half of the sequences. -->
#
# <!-- slide: The mistakes sit in the long sequences: with 8 digits hardly one is right
# [print]
# (*independent*: $p^L$, if one mistake had nothing to do with another; *places*: the product of the shares of the $L$ places.) -->

# %% show=[]
print("tokens independent places sequences")
for n in range(3, 9):
    rows = lengths == n + 1                                            # n digits and <eos>
    token, sequence = right[rows][real[rows]].mean(), right[rows].all(axis=1).mean()
    power, product = token ** (n + 1), right[rows].mean(axis=0).prod()    # of all places alike, of each
    print(f"{n} digits", np.round([token, power, product, sequence], 2))

# %% [markdown]
# The mistakes sit in the long sequences; with 8 digits hardly one is right. Within one length they are nearly *independent*: $L$ tokens, each right with
# $p$, are all right with $p^L$. For 8 digits the power is too large, partly as the places differ: the product of their own shares is nearer. <!-- result -->
#
# <!-- say: Go down the right column. Say: one number for all hides that short sequences are learned and long ones not yet. Then compare it with the middle: within one length, chance is nearly enough. Tempting: mistakes follow one another, as a wrong token misleads the next; but here each token was asked for after the true prefix. -->
#
# ## 10.8 The last states, averaged
#
# The paper averages the last five checkpoints of its base model (Section 6.1): the mean of each *parameter*. Take five states, the last of them in the burst.
#
# <!-- slide: The mean copies more than the state in the burst
# ![]
# These five were chosen: the last of them stands in the burst. -->

# %%
worst = min((step for step in models if step > 240), key=lambda step: history[step - 1].accuracy)
steps = range(worst - 40, worst + 1, 10)
states_right = [copied_exactly(models[step]) for step in steps]
exact_mean = copied_exactly(averaged(new_model(), [models[step].state_dict() for step in steps]))
ax = new_figure(6, 2.6).subplots()
names = [f"{step}:\n{share:.3f}" for step, share in zip(steps, states_right)]
ax.plot(names, states_right, "o-", color=COLORS[0])
ax.plot(f"mean:\n{exact_mean:.3f}", exact_mean, "o", color=COLORS[1], markersize=10)
ax.set(xlabel="step: share", ylabel="copied exactly", xlim=(-0.5, 5.5), ylim=(min(states_right) - 0.02, 1.01))
ax.figure

# %% [markdown]
# In this chosen case the mean copies more than the state in the burst, and more than its five states do on average. <!-- result -->
#
# <!-- say: Point at the five states, the last of them in the burst, and at the mean. Say that they were chosen. Tempting: the outputs are averaged. It is the parameters. -->
#
# ## 10.9 Let it write
#
# Ask it again.
#
# <!-- slide: Each right token gets 0.9 or more, as smoothing asks
# ![]
# It copies, it is sure, and not too sure. -->

# %%
fig, right_now = sure_of(model, "after")
fig

# %% [markdown]
# Each right token gets 0.9 or more, as smoothing asks. This was **greedy** decoding (Lesson 5.6). The paper keeps the 4 best (beam search). <!-- result -->
#
# <!-- say: Put it beside the first picture of the lesson. Point at the brackets: no right token has 1. Tempting: greedy decoding finds the most probable sequence. It takes the best next token, which may lead away from it. -->
#
# ## 10.10 Yours: mend the start
#
# <!-- slide: Write your number down, then measure
# The first loss was above $\ln 13$, because the model was sure of what it does not know. Mend it: multiply the numbers of $E$ in a new model by 0.1, so that its first loss is about $\ln 13$. Then take the same 30 steps. What is the last of the 30 losses, without smoothing? (Lesson 10.5 prints it without the mend.) -->
#
# Mend the first loss: multiply the numbers of $E$ in a new model by 0.1, so that it is about $\ln 13$. Then take the same 30 steps. What is the last of
# the 30 losses, without smoothing? (Lesson 10.5 prints it without the mend.)

# %% show=false
from aiayn_course.exercises import judge

predicted = 2.0                    # type your number first
# yours: the 30th loss, without smoothing
mended, rng = new_model(), np.random.default_rng(1)
mended.output_projection.E.value *= np.float32(0.1)
optimizer = Adam(mended.parameters())
for step in range(1, 31):
    src, tgt_in, tgt_out = task.batch(64, rng)
    logits, mended_at = mended.forward(src, tgt_in)
    _, mended_cache = criterion.forward(logits, targets=tgt_out)
    mended.zero_grad()
    mended.backward(criterion.backward(1.0, mended_cache), mended_at)
    optimizer.step(0.2 * warmup_rate(step, mended.d_model, 100))
measured = token_scores(mended_cache)[0]
judge(10, predicted, measured)

# %% a small matrix at the top alone
small_top = {1: [], 0.1: []}                                           # how many times as large
for times, ends in small_top.items():
    for seed in range(3):
        tried, rng = new_model(seed), np.random.default_rng(seed)
        tried.output_projection.E = Parameter(tried.output_projection.E.value * np.float32(times))
        run = [progress.loss for progress in train(tried, task, steps=100, rng=rng, validate_every=None)]
        ends.append((np.mean(run[20:30]), np.mean(run[90:])))          # steps 21 to 30, 91 to 100
    print(f"top times {times}  steps 21 to 30, 91 to 100:", *(f" {a:.2f} {b:.2f} " for a, b in ends))

# %% [markdown]
# Higher than without the mend: it begins better, and 30 steps later it is behind. But $E$ is also the embedding, so this mend makes the tokens small
# beside the positions. A small matrix at the top alone is behind at step 30, too; at step 100 it is ahead on average (means of ten steps, three seeds).
# The first loss says how sure a model is, not how fast it will learn. <!-- result -->
#
# ## 10.11 Check what this lesson claimed

# %%
assert (np.median(warm.final[2:, ..., -1], axis=-1) < warm.blind).all()    # the norm before
assert np.allclose(losses, [r.loss for r in history[:30]], atol=1e-3)  # the loop is train
assert all(r.loss < blind_loss(task) for r in history[39:])            # it reads
assert abs(losses[0] - np.log(13)) > 5 * abs(token_scores(loss_cache)[0] - np.log(13))    # less sure
assert even < exact < 0.5
assert sequence < 0.1                                                 # of those with 8 digits
assert abs(product - sequence) < abs(power - sequence)                 # the places differ
assert abs(exact - right.all(axis=1).mean()) < 0.005                   # but for rounding
assert exact_mean > max(states_right[-1], np.mean(states_right))        # the mean copies more
assert right_now.min() > 0.85
behind, later = np.subtract(small_top[0.1], small_top[1]).T            # (seeds,) each
assert behind.min() > 0 > later.mean()                                 # then ahead, on average
print("all true")

# %% [markdown]
# ## Summary
#
# - Label smoothing moves a share of the wanted probability to all classes. The gradient is $p - q$, and being surer than
#   $1 - \epsilon_{ls} + \epsilon_{ls}/|V|$ is punished.
# - Adam divides by the size of the gradient, so the rate sets the size of a step. Warm-up makes the first steps small; post-norm then learned at a higher rate.
# - Whole sequences are right far more rarely than tokens, long ones most rarely.
# - The mean of the last states can be better than they are on average.
#
# **What you can do now:** write a training loop, set its rate, and say what a loss curve means (Exercises 10, 11 and 13).
#
# ## Questions
#
# **1.** You forget `model.zero_grad()`. What does the model train on?
#
# <details><summary>Answer</summary>
#
# On the sum of all gradients since the start, since backward *adds*. Most of them are outdated. Adam hides the growth, as it divides by the size, and
# not the wrong direction. (Leave the line out of the loop of Lesson 10.5, and take 400 steps.)
#
# </details>
#
# **2.** With $\epsilon_{ls} = 0.1$ the training loss of a perfect copier stays above 0. `Progress.loss` says it is much
# smaller. Who is right?
#
# <details><summary>Answer</summary>
#
# Both. The loss that is minimised is the smoothed one, and its minimum is the entropy of $q$, not 0. `Progress.loss` is the cross-entropy *without*
# smoothing, $-\ln p_\mathrm{target}$, so that runs with different `eps_ls` can be compared.
#
# </details>
#
# **3.** Why not train as the model is used, on prefixes that it wrote itself?
#
# <details><summary>Answer</summary>
#
# Token $t$ would have to be written before token $t + 1$ can be asked for: as many passes as tokens. And early on it would learn what to say after
# nonsense. The price is that it never sees its own mistakes in training.
#
# </details>
