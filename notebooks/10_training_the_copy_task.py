# %% [markdown]
# # Lesson 10 · Training: from random numbers to a perfect copy
#
# | | |
# |---|---|
# | **You will do** | smooth a loss with pen and paper; take three steps of Adam by hand; write the training loop in ten lines; train a Transformer until it copies; then let it write, one token at a time, and see how sure it is |
# | **You will learn** | what label smoothing forbids; why Adam's first step has always the same size, and what warm-up does about it; why 9 tokens of 10 right is not 9 sequences of 10; for the keen: why the paper averages checkpoints, and how to get the same run twice |
# | **You need** | Lesson 2 (softmax), Lesson 5 (the causal mask); Lesson 9 helps |
# | **Paper** | Section 5, Equation 3, Section 6.1, Table 3 (D) |
# | **Time** | 50 minutes, without the parts marked *for the keen*: run their cells, skip their text, since no later part needs it |
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
import tempfile
from collections import deque

import numpy as np

from aiayn_np import (
    Adam,
    CopyTask,
    LabelSmoothedCrossEntropy,
    Parameter,
    Softmax,
    Transformer,
    exact_match,
    greedy_decode,
    load_checkpoint,
    not_padding,
    plot_loss,
    save_checkpoint,
    train,
    warmup_rate,
)
from aiayn_np.experiments import EXPERIMENTS
from aiayn_np.experiments.claims.warm_up import blind_loss
from aiayn_np.plotting.drawings import figure_1, two_workers
from aiayn_np.plotting.figures import COLORS, new_figure
from aiayn_np.training.loop import averaged, token_scores
from aiayn_np.training.threads import blas_threads

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# In Figure 1 the loss follows the softmax on top. From there the gradient goes back through all boxes.

# %%
figure_1("softmax")

# %% [markdown]
# ## 10.1 The task
#
# The task is to read some digits and write the same digits. But a Transformer knows nothing of order or of digits.
# To copy, it must learn what each symbol looks like, where it stands, how far the answer has been
# written, and when to stop. And we know every right answer, so we can count mistakes exactly.

# %%
task = CopyTask(symbols=10, max_length=8)
src, tgt_in, tgt_out = task.batch(3, np.random.default_rng(0))
print("src", src.shape, " tgt_in", tgt_in.shape, " tgt_out", tgt_out.shape, " V =", task.vocab_size)
for name, ids in (("src", src), ("tgt_in", tgt_in), ("tgt_out", tgt_out)):
    for row in ids:
        print(f"{name:8}", *(f"{token:5}" for token in task.tokens(row)))

# %% [markdown]
# The encoder reads `src`. The decoder reads `tgt_in`, the answer shifted right, and at every position
# must predict what stands at the same place of `tgt_out` (teacher forcing, Lesson 5.6). Ten digits and three marks make 13 classes, $|V| = 13$. Short rows are padded.
#
# There are about a hundred million sequences, so each batch is drawn fresh. But there are only 1000 sequences of 3 digits, and a batch must not contain one that we test on later. So a **hash**, a number computed from its symbols, puts each sequence into training, validation or test, and into one of them only.
#
# A length is the longer of two throws of a die with the faces 1 to 8.
#
# > **Predict.** 20 000 training examples are drawn. How many *different* sequences are among them: all 20 000, nearly nine in ten, or half? And how many of 500 validation sequences?

# %%
drawn = task.batch(20_000, np.random.default_rng(0))[0]
seen = {task.text(row) for row in drawn}
validation = task.validation(500)
common = seen & {task.text(row) for row in validation[0]}
print(f"{sum(10**n for n in range(1, 9)):,} sequences exist; {len(seen):,} different ones drawn")
print("of them in validation:", len(common))

# %% [markdown]
# Nearly nine in ten are different: short sequences come again and again. None of the validation sequences is among them, however many we draw. So a model that is right on validation did not remember: it copies. (Sequences of 1 or 2 digits
# are so few that all of them are in training; validation has none.)
#
# ## 10.2 The loss, on three classes
#
# At one position the model gives probabilities $p = \mathrm{softmax}(z)$ to $|V|$ classes. The loss is the **cross-entropy** $-\sum_v q_v \log p_v$ with what we want, $q$. (With the natural logarithm its unit is the **nat**.) (Here $q$ is a distribution, not a query.) Without smoothing, $q$ is 1 for the target and 0 elsewhere. The paper (Section 5.4)
# **smooths** it (Szegedy et al., 2016): a share $\epsilon_{ls}$ is taken from the target and spread over all classes.
#
# $$q_v = (1 - \epsilon_{ls})\, \mathbb{1}[v = \mathrm{target}] + \epsilon_{ls} / |V|$$
#
# Do it with pen and paper: $|V| = 3$, the target is class 0, $p = (\tfrac12, \tfrac14, \tfrac14)$ and $\epsilon_{ls} = 0.3$.
#
# > **Predict.** What is $q$? And the loss, as a multiple of $\ln 2$?

# %%
z = np.array([np.log(2), 0.0, 0.0])         # (V,)  logits
p = Softmax()(z)                            # (V,)
q = np.full(3, 0.3 / 3)                     # (V,)
q[0] += 1 - 0.3
print("p", p, " q", q)
loss_by_hand = -(q * np.log(p)).sum()
print("loss", loss_by_hand, "=", loss_by_hand / np.log(2), "ln 2;  not smoothed:", -np.log(p[0]) / np.log(2), "ln 2")

# %% [markdown]
# $q = (0.8, 0.1, 0.1)$, and the loss is $0.8 \ln 2 + 0.2 \ln 4 = 1.2 \ln 2$. This is how the class computes it:

# %%
print(inspect.getsource(LabelSmoothedCrossEntropy.forward))

# %% [markdown]
# The first two lines after the check are $\log p$. Then `losses` takes $1 - \epsilon_{ls}$ of $-\log p_\mathrm{target}$, and $\epsilon_{ls}$ of the mean of $-\log p$ over all
# classes. The last lines leave out padding and take the mean.

# %%
criterion = LabelSmoothedCrossEntropy(eps_ls=0.3, pad=-1)              # no class here is padding
loss, cache = criterion.forward(z[None], targets=np.array([0]))        # (1, V), (1,)
print("the class, difference:", abs(loss - loss_by_hand))
print("backward:", criterion.backward(1.0, cache)[0], "  p - q:", p - q)

# %% [markdown]
# The gradient with respect to the logits is $p - q$ (Lesson 9.5 derives it). It vanishes
# when $p = q$. So the best model no longer has $p_\mathrm{target} = 1$. Take our 13 classes and the paper's
# $\epsilon_{ls} = 0.1$, let all wrong classes share the rest evenly, and make the model more and more certain:

# %%
V, eps_ls = 13, 0.1
smoothed = LabelSmoothedCrossEntropy(eps_ls, pad=-1)
for p_target in (0.5, 0.8, 1 - eps_ls + eps_ls / V, 0.99, 0.9999):
    p = np.full(V, (1 - p_target) / (V - 1))
    p[0] = p_target
    loss, cache = smoothed.forward(np.log(p)[None], targets=np.array([0]))
    gradient = smoothed.backward(1.0, cache)[0, 0]
    print(f"p_target {p_target:.4f}  loss {loss:.3f}  gradient {gradient:+.3f}  perplexity {1 / p_target:.3f}")

# %% [markdown]
# The least loss is at $p_\mathrm{target} = 1 - \epsilon_{ls} + \epsilon_{ls}/|V|$, about 0.9077. Beyond it the gradient has the
# other sign and pushes *back*: the model is too sure. Smoothing costs **perplexity**, $e$ to the mean of $-\ln p_\mathrm{target}$. A model that
# minimises this loss has perplexity 1.102 even on a task that can be learned perfectly, with perplexity 1. Section 5.4 says that smoothing hurts perplexity, but improves accuracy. The experiment `label_smoothing`
# measures both on a task (reverse) in which 30 % of the symbols are random, so that nobody can know them for certain:

# %%
def committed(name, **small):
    """What the whole experiment found, or a small one, in seconds."""
    if Path(f"../figures/{name}.json").exists():
        return EXPERIMENTS[name].load("../figures")
    return EXPERIMENTS[name].run(**small)


smoothing = committed("label_smoothing", steps=100, max_length=3, seeds=(0,))
print("ε_ls   perplexity   change of tokens right, in percentage points (all seeds)")
for eps, perplexity, change in zip(smoothing.eps_ls, smoothing.perplexity, 100 * smoothing.change[1]):
    print(f"{eps:<4g} {np.median(perplexity):12.2f}   {np.median(change):+.1f} ({change.min():+.1f} to {change.max():+.1f})")

# %% [markdown]
# So here it is as the paper says: perplexity gets worse, and accuracy gains a little: less than half a point in the median of the seeds.
#
# The other **regulariser** of Section 5.4, that is, means against learning by heart, is dropout. The experiment `dropout` gives a model only 200 sequences to learn from. The picture shows, on the left,
# its loss on sequences that were kept out of training (*held-out*), and on its own ones (dashed).
#
# > **Predict.** Without dropout, the loss on unseen sequences falls first. And then?

# %%
dropping = committed("dropout", sequences=100, steps=150, seeds=(0,), P_drop=(0.0, 0.1))
dropping.figure()

# %% [markdown]
# Without dropout the loss on unseen sequences turns and rises: the model learns its own sequences by heart, and becomes surer of answers that are wrong elsewhere. With dropout it
# goes on falling. On the right is the share of right tokens among the unseen: about 60 % without dropout, and about 70 % with a rate of 0.1. Our task never runs out of fresh sequences, so from here on we train without dropout.
#
# ## 10.3 Adam, three steps by hand
#
# Adam (Kingma and Ba, 2015) keeps two running means for each parameter: $m$ of its gradient and $v$ of the square of its gradient (Section 5.3, with $\beta_1 = 0.9$,
# $\beta_2 = 0.98$; here $v$ is no value and no token). Both start at 0, so at first they are far too small; dividing by $1 - \beta^t$ sets that right. The step from $\theta$ divides one by the root of the other:
#
# $$\hat m = \frac{m}{1 - \beta_1^t}, \qquad \hat v = \frac{v}{1 - \beta_2^t}, \qquad \theta \leftarrow \theta - \mathrm{rate} \cdot \frac{\hat m}{\sqrt{\hat v} + \mathrm{eps}}$$
#
# > **Predict.** The first gradient is 4, the rate 0.1. How far does the first step go? And if the gradient were 4000?

# %%
beta_1, beta_2, eps, rate = 0.9, 0.98, 1e-9, 0.1
value, m, v = 1.0, 0.0, 0.0                 # one parameter
gradients = [4.0, 4.0, -2.0]
for t, grad in enumerate(gradients, start=1):
    m = beta_1 * m + (1 - beta_1) * grad
    v = beta_2 * v + (1 - beta_2) * grad**2
    m_hat, v_hat = m / (1 - beta_1**t), v / (1 - beta_2**t)            # bias correction
    step = rate * m_hat / (np.sqrt(v_hat) + eps)
    value -= step
    print(f"t={t}  m {m:.3f}  v {v:.4f}  m_hat {m_hat:.3f}  v_hat {v_hat:.3f}  step {step:+.4f}  value {value:.4f}")

# %% [markdown]
# The first step is the rate (but for `eps`), and it would be with any gradient but 0: $\hat m = g$ and $\hat v = g^2$, so
# $\hat m / \sqrt{\hat v} = \pm 1$. When gradients disagree, as in the third step, steps get shorter. This is the step of the class:

# %%
print(inspect.getsource(Adam.step).split("self.t += 1\n")[1])   # its loop

# %% [markdown]
# The loop has our lines, for all parameters at once. (`unbias_m` is $1/(1 - \beta_1^t)$; `blocks` takes some of them at a time, which is faster.) The class agrees with our numbers. And it
# takes the same steps, but for `eps`, if all gradients are a thousand times as large:

# %%
def adam_on(gradients):
    p = Parameter(np.array([1.0]))
    optimizer = Adam([p])
    for grad in gradients:
        p.grad[:] = grad                    # what a backward would have added
        optimizer.step(rate)
    return p.value[0]


print("the class, difference :", abs(adam_on(gradients) - value))
print("gradients × 1000      :", abs(adam_on([1000 * g for g in gradients]) - value))

# %% [markdown]
# So the rate sets the size of a step, and the size of the gradient does not. Now think of step 1 of a model: **every** parameter moves by the full rate, and
# only one batch has said in which direction.
#
# ## 10.4 Warm-up
#
# So training starts with a tiny rate. In Equation 3 the rate rises linearly for `warmup_steps`, then falls:
#
# $$\mathrm{rate} = d_\mathrm{model}^{-0.5} \cdot \min\left(\mathrm{step}^{-0.5},\ \mathrm{step} \cdot \mathrm{warmup\_steps}^{-1.5}\right)$$
#
# > **Predict.** For the paper's base model, $d_\mathrm{model} = 512$ and 4000 warm-up steps, the peak is at step 4000. At which *two* steps is the rate half of that?

# %%
peak = warmup_rate(4000, 512, 4000)
by_hand = 512**-0.5 * min(1000**-0.5, 1000 * 4000**-1.5)
print("step 1000 by hand", by_hand, " warmup_rate", warmup_rate(1000, 512, 4000))
print(f"peak {peak:.6f} = 1 / sqrt(512 · 4000)")
for step in (1, 1000, 2000, 4000, 8000, 16_000, 100_000):
    print(f"step {step:7,}  rate / peak {warmup_rate(step, 512, 4000) / peak:.4f}")

# %% [markdown]
# The rate is half of the peak at step 2000, on the straight line up, and at step 16 000, four times as far as the peak: $1/\sqrt4$. The picture shows the paper's
# schedule and ours for $d_\mathrm{model} = 32$. Ours has 100 warm-up steps, and 0.2 times Equation 3, which would otherwise be too high for so small a
# model.

# %%
fig = new_figure(9, 3)
left, right = fig.subplots(1, 2)
steps = np.arange(1, 20_001)
left.plot(steps, [warmup_rate(int(s), 512, 4000) for s in steps], color=COLORS[0])
right.plot(steps[:400], [0.2 * warmup_rate(int(s), 32, 100) for s in steps[:400]], color=COLORS[1])
left.set(xlabel="step", ylabel="rate", title="the paper: d_model = 512, 4000 steps")
right.set(xlabel="step", title="here: d_model = 32, 100 steps, × 0.2")
fig

# %% [markdown]
# What is warm-up for? The experiment `warm_up` trains models with $N = 4$ to copy, for 120 steps each, with different highest rates: once with warm-up, once with that rate from the first step on.
#
# > **Predict.** At which rates does warm-up help: at low ones, at high ones, or at none?

# %%
committed("warm_up", peak=(0.001, 0.01), seeds=(0,)).figure()

# %% [markdown]
# Blue and orange (post-norm) are models as in the paper, with the norm after each Add. The left panel shows them after 120 steps. At the lowest rate warm-up only costs steps: without it the loss is a little lower. At the rate 0.01 the model does not learn to read
# the source without warm-up, and it learns it with warm-up; the right panel shows these two runs. At the highest rate both fail. The best loss of blue and the best loss of orange are the same. So here warm-up buys a higher rate, not a better end.
# Deep models are another matter: for them warm-up can decide whether they learn at all (Xiong et al., 2020; Liu et al., 2020). Green and pink are models with the norm before each sub-layer (Lesson 7.7). They learn at every rate.
#
# ## 10.5 The loop, in ten lines
#
# The model is in float32, for speed.

# %%
def new_model(seed=0, P_drop=0.0):
    rng = np.random.default_rng(seed)
    size = dict(N=2, d_model=32, d_ff=64, h=4, P_drop=P_drop, max_len=64)
    return Transformer(task.vocab_size, **size, rng=rng).astype(np.float32)


model = new_model()
print(f"{sum(p.value.size for p in model.parameters()):,} parameters")
criterion, losses = LabelSmoothedCrossEntropy(eps_ls=0.1, pad=task.pad), []

# %% [markdown]
# > **Predict.** Someone who knows nothing gives each of the 13 classes the same probability. Their loss is $\ln 13$. Is the
# > first loss of our untrained model below it, the same, or above?

# %%
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

# %%
print(f"ln 13 = {np.log(13):.2f}")
for step in (1, 10, 20, 30):
    print(f"step {step:2}  loss {losses[step - 1]:.2f}")

# %% [markdown]
# The first loss is above $\ln 13$. An untrained model is not undecided: its logits are random numbers, so it prefers some classes, mostly wrong ones. In the first steps
# it only learns to prefer none.
#
# The library's `train` is this loop and a little more. It is a *generator*: it takes a step, hands you a record, and waits.
# Give it the same model and the same batches. Are the losses the same?

# %%
again = new_model()
records = list(train(again, task, steps=30, rng=np.random.default_rng(1), validation_size=10))
print("a record has:", *vars(records[-1]))
print("the same 30 losses, to the last bit:", losses == [r.loss for r in records])

# %% [markdown]
# ## 10.6 Train it
#
# Train for 400 steps, and keep every tenth state for later. (By default `train` stops when all is right. Here it should
# go on, so it validates only once.)

# %%
model, history, states = new_model(), [], {}
for progress in train(model, task, steps=400, rng=np.random.default_rng(1), validate_every=400,
                      validation_size=500):
    history.append(progress)
    if progress.step % 10 == 0:
        states[progress.step] = model.state_dict()

# %% [markdown]
# Two numbers help to read the loss. One is the loss of the best guess that does *not* read the source: it knows which symbols there are, and how
# long sequences get. The other is $-\ln p_\mathrm{target}$ of the best that smoothing allows.

# %%
blind = blind_loss(task)
floor = -np.log(1 - eps_ls + eps_ls / V)
reads = next(record.step for record in history if record.loss < blind)
print(f"not reading the source: {blind:.2f}, beaten first at step {reads}")
print(f"smoothing's best: {floor:.3f};  mean of the last 20 steps: {np.mean([r.loss for r in history[-20:]]):.2f}")

# %% [markdown]
# The picture shows the loss above, on a logarithmic axis, and the share of right tokens below. The dot is the share of whole validation sequences right.

# %%
fig = plot_loss(history, title="A Transformer learns to copy")
top = fig.axes[0]
top.set(yscale="log", ylim=(0.06, 4))
for number, step, name in ((blind, 250, "not reading the source"), (floor, 0, "smoothing's best")):
    top.axhline(number, color="0.4", linestyle=":", linewidth=1)
    top.annotate(name, (step, number), xytext=(0, 4), textcoords="offset points", size="small")
fig

# %% [markdown]
# The model needs about the first tenth of the steps to learn which symbols there are. From then on it must be reading the source. At the end the loss stays about where
# smoothing holds it. In this run there is a burst of mistakes near step 350. It is one reason to average the last states (Lesson 10.8).
#
# ## 10.7 Right tokens are not right sequences
#
# These tokens were counted under teacher forcing: whatever the model said before, it reads the true prefix. In use
# it reads what it wrote itself. Take the model as it was part-way.

# %%
def at(step):
    """The model as it was after some step."""
    then = copy.deepcopy(model)
    then.load_state_dict(states[step])
    return then


def right_tokens(model, examples):
    src, tgt_in, tgt_out = examples
    best = model(src, tgt_in).argmax(axis=-1)                          # (B, T)
    return (best == tgt_out) | (tgt_out == task.pad), tgt_out != task.pad


early = next(step for step in states if history[step - 1].accuracy > 0.85)
right, real = right_tokens(at(early), validation)
length = real.sum(axis=1).mean()
print(f"step {early}: {right[real].mean():.2f} of tokens right, {length:.1f} tokens in a sequence")

# %% [markdown]
# > **Predict.** Which share of the sequences is decoded without a mistake: about the same, about half, or almost none?

# %%
half_way = at(early)
exact = exact_match(half_way, validation, bos=task.bos, eos=task.eos)
print(f"decoded exactly: {exact:.2f}")
print(f"if mistakes were independent: {right[real].mean() ** length:.2f}")

# %% [markdown]
# Far fewer sequences are right than tokens, about half of them in this run: one wrong token spoils a sequence. Does a mistake also cause others?
# Compare, token by token, what the model says after the true prefix and after its own.

# %%
src, tgt_in, tgt_out = validation
own = greedy_decode(half_way, src, bos=task.bos, eos=task.eos, max_len=tgt_out.shape[1])
own = np.pad(own, ((0, 0), (0, tgt_out.shape[1] - own.shape[1])))      # pad is 0
print(f"tokens right: after the true prefix {right[real].mean():.2f},"
      f" after its own {(own == tgt_out)[real].mean():.2f}")
print(f"sequences right: teacher-forced {right.all(axis=1).mean():.3f}, decoded {exact:.3f}")

# %% [markdown]
# After its own prefix fewer tokens are right, since a wrong prefix misleads. But the two numbers of the last line are equal, and they must be: as long as
# everything is right, the model's own prefix *is* the true one. A sequence is decoded exactly if and only if the best token after
# every true prefix is right. So one parallel pass can count exact sequences without decoding them (Lesson 5.7 shows that
# the pass and the steps are one function); `train` validates in this way.
#
# ## 10.8 For the keen: the average of the last states
#
# The paper does not use the last checkpoint of its base model but the average of the last five, written ten minutes apart (Section 6.1): the mean of each *parameter*. That looks
# absurd, since models are not linear. So measure it: every 10 steps, compare the single state and the mean of the last five.
#
# > **Predict.** Which is better in the middle of training, the last state or the average? And at the end?

# %%
def exact_share(model):
    return right_tokens(model, [ids[:200] for ids in validation])[0].all(axis=1).mean()


recent, single, mean_of_5 = deque(maxlen=5), [], []
for step, state in states.items():
    recent.append(state)
    single.append(exact_share(at(step)))
    mean_of_5.append(exact_share(averaged(model, recent)))

# %%
fig = new_figure(7, 3.6)
ax = fig.subplots()
ax.plot(list(states), single, color=COLORS[1], linestyle="--", marker="s", markersize=4, label="the last state")
ax.plot(list(states), mean_of_5, color=COLORS[0], marker="o", markersize=4, label="average of the last 5")
ax.set(xlabel="step", ylabel="sequences right", title="Averages are late, then steady (one run)")
ax.legend()
fig

# %%
late = [i for i, step in enumerate(states) if step > 250]
for name, curve in (("single ", single), ("average", mean_of_5)):
    shares = [curve[i] for i in late]
    print(f"{name}  after step 250: worst {min(shares):.2f}, mean {np.mean(shares):.3f}")

# %% [markdown]
# In the middle of training the last state is better: the average still contains the model of 40 steps ago, which was worse. At the end of this run the average is
# better, since it hides one burst. A likely reason: Adam's steps have the size of the rate however small the gradient is, so single states jump about a good
# place, and now and then out of it. Their mean lies in the middle. One run is no law, and averaging needs states that are near each other.

# %%
final = averaged(model, recent)
test = task.test(500)
print(f"average of the last 5, test sequences exact: {exact_match(final, test, bos=task.bos, eos=task.eos):.2f}")

# %% [markdown]
# ## 10.9 Let it write
#
# Now decode by hand. Encode the source once. Then ask for the next token, append the best one, and ask again. The three
# most probable tokens are printed at each step.
#
# > **Predict.** The trained model is almost always right. How much probability does it give its best token: more than 0.99, or less? (Lesson 10.2.)

# %%
src = task.source("3 1 4 1 5")                                         # (1, T_src)
memory, _ = model.encode(src)                                          # (1, T_src, d_model)
tgt, softmax, certainty = [task.bos], Softmax(), []
while tgt[-1] != task.eos and len(tgt) < 10:
    logits, _ = model.decode(np.array([tgt]), memory, memory_allowed=not_padding(src))
    p = softmax(logits[0, -1])                                         # (V,)  the last position only
    top = np.argsort(-p)[:3]
    read = " ".join(task.tokens(tgt))
    print(f"{read:16}", *(f" {name:>5} {share:.2f}" for name, share in zip(task.tokens(top), p[top])))
    tgt.append(int(top[0]))
    certainty.append(p[top[0]])

# %%
whole = greedy_decode(model, src, bos=task.bos, eos=task.eos)
print("greedy_decode:", task.tokens(whole[0]), " the same:", whole[0].tolist() == tgt[1:])

# %% [markdown]
# The best token gets less than 0.99: about 0.9, as label smoothing asked for. That is not doubt: the rest is spread thinly over all the other classes.
#
# To take the best token each time is called **greedy** decoding. The paper keeps the 4 best unfinished sequences (beam search,
# Section 6.1), which helps where a good start may end badly; a copy has no such choice.
#
# ## 10.10 For the keen: the same run again
#
# Randomness is an argument here: batches and dropout masks come from the `rng` that you pass, and dropout happens only if
# `forward` gets one. So a run can be repeated to the last bit, with dropout too:

# %%
def few_losses(seed):
    records = train(new_model(P_drop=0.1), task, steps=5, rng=np.random.default_rng(seed),
                    validation_size=10)
    return [r.loss for r in records]


print("same seed, same losses  :", few_losses(0) == few_losses(0))
print("other seed, same losses :", few_losses(0) == few_losses(1))

# %% [markdown]
# > **Predict.** You stop after 5 steps, save, load into a new model, and go on to step 10. Is it enough to save the parameters, if the end should be the same to the last bit as without a stop?

# %%
def run_to(step, model, optimizer, rng, recent):
    options = dict(steps=step, rng=rng, optimizer=optimizer, recent=recent, validation_size=10)
    for _ in train(model, task, **options):
        pass
    return model


def parts(seed):
    model = new_model(seed, P_drop=0.1)
    return dict(model=model, optimizer=Adam(model.parameters()),
                rng=np.random.default_rng(seed), recent=deque(maxlen=5))

# %%
straight = run_to(10, **parts(0))                                      # without a stop

stopped = parts(0)
run_to(5, **stopped)
whole, bare = parts(7), parts(7)                                       # other numbers, to be replaced
with tempfile.TemporaryDirectory() as folder:
    save_checkpoint(f"{folder}/five.npz", **stopped)
    load_checkpoint(f"{folder}/five.npz", **whole)                     # everything
    load_checkpoint(f"{folder}/five.npz", bare["model"])               # the parameters only
bare["optimizer"].t = 5                                                # it knows the step

# %%
def equal(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values()))


resumed = equal(run_to(10, **whole), straight)
resumed_bare = equal(run_to(10, **bare), straight)
print("everything saved, bit-equal to the run without a stop:", resumed)
print("only the parameters saved                            :", resumed_bare)

# %% [markdown]
# The parameters are not enough. A run is the parameters, Adam's $m$, $v$ and $t$, the state of the generator, and the last states for the average.
#
# The paper trained on eight processors at once. Each computes the gradient of its part of the batch, and the gradients are added before the step. The drawing shows it with two:

# %%
two_workers()

# %% [markdown]
# So the result is that of one processor with the whole batch, but for rounding.
#
# ## 10.11 Check what this lesson claimed

# %%
assert not common                                                      # splits never overlap
assert abs(loss_by_hand - 1.2 * np.log(2)) < 1e-12
assert abs(adam_on(gradients) - value) < 1e-12                         # Adam by hand
assert abs(adam_on([123.0]) - (1.0 - rate)) < 1e-9                     # the first step is the rate
assert np.isclose(warmup_rate(2000, 512, 4000), peak / 2)
assert np.isclose(warmup_rate(16_000, 512, 4000), peak / 2)
assert losses[0] > np.log(13) > losses[29]                             # wrong opinions at first
assert losses == [r.loss for r in records]                             # the loop is train
assert 10 < reads < 150                                                # then it reads the source
assert exact < right[real].mean() - 0.2                                # tokens are not sequences
assert abs(exact - right.all(axis=1).mean()) < 0.005                   # one pass counts them (but for rounding)
assert (own == tgt_out)[real].mean() < right[real].mean()              # mistakes cause mistakes
assert exact_match(final, test, bos=task.bos, eos=task.eos) > 0.95
assert min(mean_of_5[i] for i in late) >= min(single[i] for i in late)
assert 0.8 < np.mean(certainty) < 0.97                                 # what smoothing asks for
assert task.text(tgt[1:]) == "3 1 4 1 5"
assert resumed                                                         # with everything saved
assert not resumed_bare
print("all true")

# %% [markdown]
# ## Summary
#
# - Label smoothing moves a share of the wanted probability to all classes. The gradient is $p - q$, and being surer than
#   $1 - \epsilon_{ls} + \epsilon_{ls}/|V|$ is punished.
# - Adam divides by the size of the gradient, so the rate sets the size of a step, from the first one on. Warm-up makes the first ones small, which allows a higher rate later.
# - The loop: batch, zero_grad, forward, loss, backward, rate, step. `train` is that, with a record for each step.
# - Whole sequences are right far more rarely than tokens. Teacher-forced and decoded *exact* shares are equal.
# - The average of the last states is late at first. At the end it can hide a burst.
# - A run can be repeated and resumed to the last bit if all of its state is passed and saved.
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
# **2.** With $\epsilon_{ls} = 0.1$ the training loss of a perfect copier stays above 0. The record says it is much
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
# it never sees its own mistakes in training, and does not learn to recover (Lesson 10.7).
#
# </details>
