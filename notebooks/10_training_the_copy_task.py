# %% [markdown]
# # Lesson 10 · Training: from random numbers to a perfect copy
#
# | | |
# |---|---|
# | **You will do** | smooth a loss with pen and paper; take three steps of Adam by hand; write the training loop; train a Transformer until it copies |
# | **You will learn** | what label smoothing does; how far Adam's first step goes, and what warm-up is for; how many sequences are right when 9 tokens of 10 are |
# | **You need** | Lesson 2 (softmax), Lesson 5 (the causal mask); Lesson 9 helps |
# | **Paper** | Section 5, Equation 3, Section 6.1, Table 3 (D) |
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
import numpy as np

from aiayn_np import (
    Adam,
    CopyTask,
    LabelSmoothedCrossEntropy,
    Softmax,
    Transformer,
    exact_match,
    greedy_decode,
    plot_attention,
    plot_loss,
    train,
    warmup_rate,
)
from aiayn_np.experiments import EXPERIMENTS
from aiayn_np.experiments.claims.warm_up import blind_loss
from aiayn_np.plotting.figures import COLORS, new_figure
from aiayn_np.training.loop import averaged, token_scores
from aiayn_np.training.threads import blas_threads

# %% [markdown]
# A Transformer with random numbers is asked to copy `3 1 4 1 5`, and it fails.

# %%
task = CopyTask(symbols=10, max_length=8)

def new_model():
    size = dict(N=2, d_model=32, d_ff=64, h=4, P_drop=0.0, max_len=64)
    return Transformer(task.vocab_size, **size, rng=np.random.default_rng(0)).astype(np.float32)

def sure_of(model, written, when):                                     # after what it wrote itself
    p = Softmax()(model(question, np.array([[task.bos, *written[:5]]])))[0]    # (T_tgt, V)
    fig = plot_attention(p, task.tokens(question[0]), task.tokens(range(13)),
                         titles=[f"{when} training it writes {task.text(written)}"], quantity="probability")
    fig.axes[0].set(xlabel="what it may write", ylabel="what it should write")
    return fig

model, question = new_model(), task.source("3 1 4 1 5")                # question: (1, T_src)
written = greedy_decode(model, question, bos=task.bos, eos=task.eos, max_len=8)[0]
sure_of(model, written, "before")

# %% [markdown]
# It writes the brightest token of each row, and is sure of none that it should write. After 400 steps it copies.
#
# ## 10.1 The task
#
# The task is to write the same digits again, so we can count mistakes exactly.

# %%
for name, ids in zip(("src", "tgt_in", "tgt_out"), task.batch(1, np.random.default_rng(0))):
    print(f"{name:8}", *(f"{token:5}" for token in task.tokens(ids[0])))

# %% [markdown]
# `tgt_out` is the answer, `tgt_in` the answer shifted right. The encoder reads `src`, the decoder `tgt_in`, and it must predict `tgt_out`, place by place.
#
# This is teacher forcing (Lesson 5.6). Ten digits and three marks make $|V| = 13$ classes. No sequence of training stands in validation or test. So a model that is right there did not remember: it copies.
#
# ## 10.2 The loss, on three classes
#
# At one position the model gives probabilities $p = \mathrm{softmax}(z)$ to $|V|$ classes. The loss is the **cross-entropy** $-\sum_v q_v \log p_v$ with what we want, $q$: the log-loss of Lesson 2, for any $q$. (With the natural logarithm its unit is the **nat**.) Here $q$ is a distribution, not a query. Without smoothing, $q$ is 1 for the target and 0 elsewhere. The paper (Section 5.4)
# **smooths** it (Szegedy et al., 2016): a share $\epsilon_{ls}$ is taken from the target and spread over all classes.
#
# $$q_v = (1 - \epsilon_{ls})\, \mathbb{1}[v = \mathrm{target}] + \epsilon_{ls} / |V|$$
#
# With pen and paper: what is $q$, and what is the loss, for $|V| = 3$, target class 0, $p = (\tfrac12, \tfrac14, \tfrac14)$ and $\epsilon_{ls} = 0.3$?

# %%
p = np.array([1 / 2, 1 / 4, 1 / 4])                                    # (V,)
q = np.full(3, 0.3 / 3)                                                # (V,)
q[0] += 1 - 0.3
loss_by_hand = -(q * np.log(p)).sum()
print(f"target wrong wrong\np     {p}\nq     {q}\np - q {p - q}\nloss {loss_by_hand:.4f} = {loss_by_hand / np.log(2):.1f} ln 2")

# %% [markdown]
# $q = (0.8, 0.1, 0.1)$, and the loss is $0.8 \ln 2 + 0.2 \ln 4 = 1.2 \ln 2$. The gradient in the logits is $p - q$ (Lesson 9.5).
#
# Now take our 13 classes and the paper's $\epsilon_{ls} = 0.1$. The wrong classes are alike.
#
# > **Predict.** The model gets surer and surer: the probability of the target grows from 0.5 to 0.9999. What does the smoothed loss do?
# >
# > - It falls all the way → That is true without smoothing. Here the wrong classes are wanted too, a little.
# > - It falls, and then stays where it is → A wrong class with a tiny $p_v$ adds $-q_v \log p_v$. Has that a bound?
# > - It rises all the way → At 0.5 the model is less sure than $q$.
# > - It falls, and then rises → Past p = q the twelve wrong classes, wanted a little, cost more than the target gains. <!-- true: sure[0] > sure[1] > sure[2] < sure[3] < sure[4] -->
# >
# > <!-- given: 13 classes, smoothing 0.1: one is wanted with {1 - 0.1 + 0.1 / 13}, each of the other twelve with {0.1 / 13}. The loss is $-\sum_v q_v \log p_v$. -->

# %%
V, eps_ls = 13, 0.1
best = 1 - eps_ls + eps_ls / V                                         # what q has for the target

def smoothed_loss(p):                                                  # p: of the target
    return -best * np.log(p) - (1 - best) * np.log((1 - p) / (V - 1))

p = np.linspace(0.5, 0.9999, 400)
sure = smoothed_loss(np.array([0.5, 0.8, best, 0.99, 0.9999]))
print(f"lowest at {best:.4f}")
ax = new_figure(6, 2.6).subplots()
ax.plot(p, smoothed_loss(p), color=COLORS[0])
ax.plot(best, sure[2], "o", color=COLORS[1])
ax.set(xlabel="probability of the target", ylabel="smoothed loss")
ax.figure

# %% [markdown]
# Past 0.9077 the loss rises, and its gradient pushes *back*: the model is too sure. There $p = q$: the target has $1 - \epsilon_{ls} + \epsilon_{ls}/|V|$.
#
# Smoothing costs **perplexity**, $e$ to the mean of $-\ln p_\mathrm{target}$, and improves accuracy and BLEU, the score of a translation. Dropout (Lesson 7.6) improves both:
#
# | Table 3 (D) | both 0.1 | no smoothing | no dropout |
# |---|---|---|---|
# | perplexity | $4.92$ | $4.67$ | $5.77$ |
# | BLEU | $25.8$ | $25.3$ | $24.6$ |
#
# Our task never runs out of fresh sequences, so we train without dropout.
#
# ## 10.3 Adam, three steps by hand
#
# Adam (Kingma and Ba, 2015) keeps two running means for each parameter: $m$ of its gradient and $v$ of the square of its gradient (Section 5.3, with $\beta_1 = 0.9$,
# $\beta_2 = 0.98$; here $v$ is no value and no token). Both start at 0, so at first they are far too small; dividing by $1 - \beta^t$ sets that right. Each step is the first mean over the root of the second:
#
# $$m \leftarrow \beta_1 m + (1 - \beta_1)\, g, \qquad v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2$$
# $$\hat m = \frac{m}{1 - \beta_1^t}, \qquad \hat v = \frac{v}{1 - \beta_2^t}, \qquad \theta \leftarrow \theta - \mathrm{rate} \cdot \frac{\hat m}{\sqrt{\hat v} + \mathrm{eps}}$$
#
# > **Predict.** The first gradient is 4000, the rate 0.1. How far does the first step go?
# >
# > - 400 → That is the rate times the gradient: descent without Adam. What does Adam divide by?
# > - 0.1 → The gradient is divided by its own size. Only its sign is left. <!-- true: np.isclose(lengths[0], 0.1) -->
# > - 40 → That is the rate times $m$, before anything is divided.
# >
# > <!-- given: Adam, with $\beta_1 = 0.9$ and $\beta_2 = 0.98$. Both means start at 0. At the first step $t = 1$, so $m = 0.1\, g$ and $v = 0.02\, g^2$. Each is divided by $1 - \beta^t$. The step is $\mathrm{rate} \cdot \hat m / \sqrt{\hat v}$. -->

# %%
beta_1, beta_2, eps, rate = 0.9, 0.98, 1e-9, 0.1
theta, m, v, lengths = 1.0, 0.0, 0.0, []                               # one parameter
for t, grad in enumerate([4000.0, 4000.0, -2000.0], start=1):
    m = beta_1 * m + (1 - beta_1) * grad
    v = beta_2 * v + (1 - beta_2) * grad**2
    m_hat, v_hat = m / (1 - beta_1**t), v / (1 - beta_2**t)            # bias correction
    lengths.append(rate * m_hat / (np.sqrt(v_hat) + eps))
    theta -= lengths[-1]
    print(f"t={t}  gradient {grad:5.0f}  m {m:.0f}  m̂ {m_hat:.0f}  √v̂ {np.sqrt(v_hat):.0f}  θ moves by {-lengths[-1]:.4f}")

# %% [markdown]
# The first step goes by the full rate, however small or large the gradient is. At $t = 1$, $\hat m = 0.1\, g / 0.1 = g$ and $\hat v = 0.02\, g^2 / 0.02 = g^2$, so $\hat m / \sqrt{\hat v} = \pm 1$. When gradients disagree, steps get shorter.
#
# ## 10.4 Warm-up
#
# At step 1 **every** parameter moves by the full rate, and only one batch has said in which direction. That is rash, so training starts with a tiny rate (Equation 3):
#
# $$\mathrm{rate} = d_\mathrm{model}^{-0.5} \cdot \min\left(\mathrm{step}^{-0.5},\ \mathrm{step} \cdot \mathrm{warmup\_steps}^{-1.5}\right)$$

# %%
ax = new_figure(6, 2.6).subplots()
ax.plot([512**-0.5 * min(step**-0.5, step * 4000**-1.5) for step in range(1, 20_001)], color=COLORS[0])
ax.set(xlabel="step", ylabel="rate", title="the paper: d_model = 512, 4000 warm-up steps")
ax.figure

# %% [markdown]
# The rate rises linearly for `warmup_steps`, and then falls as $1/\sqrt{\mathrm{step}}$.
#
# What is warm-up for? The experiment `warm_up` tries four peak rates, each twice: reached by a warm-up of 60 steps, or used from the first step on. The models ($N = 4$, the norm after each Add) train for 120 steps.
#
# > **Predict.** What does warm-up change?
# >
# > - A higher rate works, the best loss stays → At a high rate the first steps do harm. At the best rate of each way there is little to mend. <!-- true: warm.failing[:2, warm.peak == 0.01].ravel().tolist() == [False, True] and abs(warm.best[0] - warm.best[1]) < 0.05 -->
# > - The loss is lower with it at each rate → At the lowest rate no step is rash. What do slow first steps cost there?
# > - Without it no model learns → Even from the first step on, a rate may be low enough.
# >
# > <!-- given: Models with $N = 4$ learn to copy for 120 steps, with the norm after each Add. Four peak rates, {warm.peak[0]} to {warm.peak[-1]}, are tried twice: reached by a warm-up of 60 steps, or used from the first step on. A model that does not read the source has a loss of {warm.blind}. -->

# %%
if Path("../figures/warm_up.json").exists():                           # what the whole experiment found
    warm = EXPERIMENTS["warm_up"].load("../figures")
else:                                                                  # a small one, in seconds
    warm = EXPERIMENTS["warm_up"].run(peak=(0.001, 0.01), seeds=(0,))
ax = new_figure(7, 3).subplots()
for name, loss, color in zip(("with warm-up", "without"), np.median(warm.final, axis=-1), COLORS):
    ax.semilogx(warm.peak, loss, "o-", color=color, label=name)        # the median of its seeds
ax.axhline(warm.blind, color="0.4", linestyle=":", label="source not read")
ax.set(xlabel="peak rate", ylabel="loss after 120 steps", ylim=(0, 2.6), xticks=warm.peak, xticklabels=[f"{rate:g}" for rate in warm.peak])
ax.legend(loc="lower right")
ax.figure

# %% [markdown]
# Here warm-up buys a higher rate, not a better end. At 0.01 a model reads the source (the loss is below the dotted line) only with warm-up; at the highest rate not even so. At the lowest rate warm-up only costs steps.
#
# With the norm *before* each sub-layer (Lesson 7.7) such models read at every rate. (For deep ones warm-up can decide: Liu et al., 2020.)
#
# ## 10.5 The loop, in a dozen lines
#
# Our rate has 100 warm-up steps, and 0.2 times Equation 3: the model is small.

# %%
criterion, losses = LabelSmoothedCrossEntropy(eps_ls=0.1, pad=task.pad), []
rng, optimizer = np.random.default_rng(1), Adam(model.parameters())
with blas_threads():                                                   # one, as in the library's loop
    for step in range(1, 31):
        src, tgt_in, tgt_out = task.batch(64, rng)                     # (B, T) each, fresh
        model.zero_grad()                                              # backward adds
        logits, cache = model.forward(src, tgt_in)                     # (B, T, V)
        loss, loss_cache = criterion.forward(logits, targets=tgt_out)  # a number
        grad_logits = criterion.backward(1.0, loss_cache)              # (B, T, V)
        model.backward(grad_logits, cache)                             # fills every grad
        optimizer.step(0.2 * warmup_rate(step, model.d_model, 100))    # Equation 3
        losses.append(token_scores(loss_cache)[0])                     # without smoothing
for step in (1, 10, 20, 30):
    print(f"step {step:2}  loss {losses[step - 1]:.2f}")

# %% [markdown]
# The first loss is above that of guessing, $\ln 13 = 2.56$. An untrained model prefers some classes, mostly wrong ones (Lesson 9.5).
#
# The library's `train` is this loop.
#
# ## 10.6 Train it
#
# Train for 400 steps, and keep every tenth state.

# %%
model, history, states = new_model(), [], {}
for progress in train(model, task, steps=400, rng=np.random.default_rng(1), validation_size=500,
                      validate_every=400):                             # once: it stops when all are right
    history.append(progress)
    if progress.step % 10 == 0:
        states[progress.step] = model.state_dict()

# %% [markdown]
# Dotted: the best guess *without* the source, and the best that smoothing allows.

# %%
floor = -np.log(1 - eps_ls + eps_ls / V)
fig = plot_loss(history, title="A Transformer learns to copy")
fig.set_size_inches(7, 3.4)
fig.axes[0].set(yscale="log", ylim=(0.06, 4), ylabel="loss")
for number, name in ((blind_loss(task), "not reading"), (floor, "smoothing's best")):
    fig.axes[0].axhline(number, color="0.4", linestyle=":", linewidth=1)
    fig.axes[0].text(100, number * 1.1, name)
fig.axes[0].text(350, 0.6, "burst", ha="center")
fig

# %% [markdown]
# From about step 40 on the loss is below any guess without the source. At the end it is about what smoothing allows. Near step 350 there is a burst of mistakes (Lesson 10.8).
#
# ## 10.7 Tokens and sequences
#
# In training the model reads the true prefix, in use what it wrote itself. Take it part-way.

# %%
def at(step):
    then = new_model()
    then.load_state_dict(states[step])
    return then

def right_tokens(model, examples):
    src, tgt_in, tgt_out = examples
    best = model(src, tgt_in).argmax(axis=-1)                          # (B, T)
    return (best == tgt_out) | (tgt_out == task.pad), tgt_out != task.pad

def copied_exactly(model):
    return exact_match(model, validation, bos=task.bos, eos=task.eos)

validation = task.validation(500)
early = next(step for step in states if history[step - 1].accuracy > 0.85)
right, real = right_tokens(at(early), validation)                      # (B, T) each
length = real.sum(axis=1).mean()
print(f"step {early}: {right[real].mean():.2f} of tokens right, {length:.1f} tokens in a sequence")

# %% [markdown]
# > **Predict.** Which share of the sequences does this model write without a mistake?
# >
# > - 0.88, the same → A sequence is right only if all its tokens are.
# > - Three in four → Two tokens in a row are both right less often than one. A sequence has seven.
# > - Four or five in ten → One wrong token spoils a sequence. <!-- true: 0.4 < exact < 0.5 -->
# >
# > <!-- given: At each token the model reads the true prefix, and {right[real].mean()} of its tokens are right. A sequence has {length} tokens on average. -->

# %%
exact = copied_exactly(at(early))
print(f"tokens  right {right[real].mean():.3f}")
print(f"whole sequences, if mistakes were independent  right {right[real].mean() ** length:.3f}")
print(f"whole sequences, decoded  right {exact:.3f}")
print(f"whole sequences, after the true prefix  right {right.all(axis=1).mean():.3f}")

# %% [markdown]
# Nearly half of the sequences are right: mistakes come together. Were they independent, $0.88^{7.2} \approx 0.4$ would be.
#
# Both counts agree. They must: as long as everything is right, the model's own prefix *is* the true one. So `train` counts exact sequences in one parallel pass.
#
# ## 10.8 The last states, averaged
#
# The paper averages the last five checkpoints of its base model (Section 6.1): the mean of each *parameter*. Take five states that end in the burst.

# %%
steps = (310, 320, 330, 340, 350)
shares = [copied_exactly(at(step)) for step in steps]
exact_mean = copied_exactly(averaged(new_model(), [states[step] for step in steps]))
ax = new_figure(6, 2.6).subplots()
ax.plot([*map(str, steps)], shares, "o-", color=COLORS[0])
ax.plot(f"mean:\n{exact_mean:.3f}", exact_mean, "o", color=COLORS[1], markersize=10)
ax.set(xlabel="step", ylabel="copied exactly", xlim=(-0.5, 5.5), ylim=(0, 1.1))
ax.figure

# %% [markdown]
# In this chosen case, the mean copies more than four of the five states do. A single state may jump out of the good place; the mean does not follow it far.
#
# ## 10.9 Let it write
#
# Ask the trained model the first question.

# %%
written = greedy_decode(model, question, bos=task.bos, eos=task.eos, max_len=8)[0]
sure_of(model, written, "after")

# %% [markdown]
# It gives each right token about 0.9, as label smoothing asked for (Lesson 10.2).
#
# `greedy_decode` appends the best token and asks again: **greedy** decoding (Lesson 5.6). The paper keeps the 4 best unfinished sequences (beam search,
# Section 6.1).
#
# ## 10.10 Check what this lesson claimed

# %%
assert abs(loss_by_hand - 1.2 * np.log(2)) < 1e-12
assert warm.failing[:2, warm.peak == 0.01].ravel().tolist() == [False, True]    # reads only with warm-up
assert losses == [r.loss for r in history[:30]]                        # the loop is train
assert abs(exact - right.all(axis=1).mean()) < 0.005                   # but for rounding
assert exact_match(model, task.test(500), bos=task.bos, eos=task.eos) > 0.95
assert sorted([*shares, exact_mean])[-2] == exact_mean                 # better than four of the five
assert task.text(written) == "3 1 4 1 5"
print("all true")

# %% [markdown]
# ## Summary
#
# - Label smoothing moves a share of the wanted probability to all classes. The gradient is $p - q$, and being surer than
#   $1 - \epsilon_{ls} + \epsilon_{ls}/|V|$ is punished.
# - Adam divides by the size of the gradient, so the rate sets the size of a step. Warm-up makes the first steps small, which allows a higher rate.
# - Whole sequences are right far more rarely than tokens. Teacher-forced and decoded *exact* shares are equal.
# - The mean of the last states is steadier than a single state.
#
# **What you can do now:** write a training loop, set its rate, and say what a loss curve means (Exercises 10, 11 and 13). Lesson 11 looks into such models.
#
# ## Questions
#
# **1.** You forget `model.zero_grad()`. What does the model train on?
#
# <details><summary>Answer</summary>
#
# It trains on the sum of all gradients since the start, since backward *adds*. The direction is an average of the gradients of all earlier steps, most of
# them outdated. Adam hides the growth, as it divides by the size; so it may even learn for a while, and badly. (Used on purpose it is
# fine: several backwards before one step are one larger batch.)
#
# </details>
#
# **2.** With $\epsilon_{ls} = 0.1$ the training loss of a perfect copier stays above 0. `Progress.loss` says it is much
# smaller. Who is right?
#
# <details><summary>Answer</summary>
#
# Both are right. The loss that is minimised is the smoothed one, and its minimum is the entropy of $q$, which is not 0. `Progress.loss` is the
# cross-entropy *without* smoothing, $-\ln p_\mathrm{target}$, so that runs with different `eps_ls` can be compared. It
# cannot stay at 0 either: for $p = q$ it is $-\ln(1 - \epsilon_{ls} + \epsilon_{ls}/V)$.
#
# </details>
#
# **3.** Why not train as the model is used, on prefixes that it wrote itself?
#
# <details><summary>Answer</summary>
#
# With its own prefixes, token $t$ has to be written before token $t + 1$ can be asked for: as many passes as tokens, where teacher forcing trains all
# positions in one. And early on, when everything it writes is wrong, it would learn what to say after nonsense. The price is that
# it never sees its own mistakes in training, and does not learn to recover.
#
# </details>
