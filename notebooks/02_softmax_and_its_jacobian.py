# %% [markdown]
# # Lesson 2 · Softmax and its Jacobian
#
# | | |
# |---|---|
# | **You will do** | build softmax from what we ask of it, break it and repair it; derive its Jacobian line by line, down to the two lines of `Softmax.backward` |
# | **You will learn** | why softmax looks as it does; why large scores do no harm forwards and kill the gradient backwards; why nobody builds the Jacobian |
# | **You need** | Lesson 1, the derivative of a quotient, the chain rule |
# | **Paper** | Section 3.2.1, Equation 1 |
# | **Time** | *see*, and from Lesson 2.4 on *then prove*: about 40 minutes each (estimated) |

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

from aiayn_course.drawings import SENTENCE, figure_1
from aiayn_np import Adam, Parameter, Softmax, check_gradients
from aiayn_np.plotting.figures import COLORS, MARKERS, new_figure, plot_signed

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# A row of scores goes into a softmax, and a row of weights comes out. This one should look at its second key, and is told so 200 times.
#
# <!-- slide: It has not moved: all wrong, told so 200 times, and still there
# A row of scores goes into a softmax, and a row of weights comes out. Here is one that should look at its second key. It is told so 200 times.\
# [code]
# [print]
# At the end of this lesson you know why, and you can send a gradient back through a softmax by hand. There is one inside every attention, and one at the end of the model. -->

# %% show=[1, 2, 4, 5, 6]
softmax = Softmax()
row = np.array([10.0, 0.0, 0.0])            # (3,)  scores: the first key leads, the second is wanted
print("before", softmax(row))
for _ in range(200):
    _, cache = softmax.forward(row)
    row = row - softmax.backward(np.array([0.0, -1.0, 0.0]), cache)    # more weight on the second!
print("after ", softmax(row))

# %% [markdown]
# It has not moved: all wrong, told so 200 times, and still there. There is a softmax inside every attention, and one at the end of the
# model. <!-- result -->
#
# <!-- slide:
# ![] -->

# %%
figure_1("attention", "softmax")

# %% [markdown]
# ## 2.1 From scores to weights
#
# The scores of one query for the four keys `the`, `cat`, `sat` and `down` are any real numbers (**logits**). The weights must be positive and add up to
# 1, and a higher score must get a higher weight. The obvious try is to divide by the sum.
#
# > **Predict.** Divide by their sum the scores, their squares, or their exponentials. Which of the three gives such weights for -1, 1, 0 and -2?
# >
# > - The scores as they are → Two of them are negative.
# > - Their squares → Does the higher score get the higher weight?
# > - Their exponentials <!-- true: over["exp(s)"].min() > 0 and (over["exp(s)"].argsort() == s.argsort()).all() and over["s"].min() < 0 and over["s²"].argmax() != s.argmax() --> → It is positive everywhere and always rises.
# > - All three → Look at the score 0, and at -2.
# >
# > <!-- given: The scores of one query, here for the four keys `the`, `cat`, `sat` and `down`, are any real numbers. (Scores that go into a softmax are also called **logits**.) The weights must be positive and add up to 1, and a higher score must get a higher weight. The obvious try is to divide by the sum. -->

# %%
tokens = list(SENTENCE)                     # the cat sat down
s = np.array([-1.0, 1.0, 0.0, -2.0])        # (4,)  one query's scores for four keys
over = {name: f / f.sum() for name, f in {"s": s, "s²": s**2, "exp(s)": np.exp(s)}.items()}
for name, weights in over.items():
    print(f"{name:7} over its sum {weights}")

# %% [markdown]
# <!-- answer: Plain scores give negative weights
# [print]
# (Here their sum is negative, so they even reverse the order.) Squares are never negative, but now -2 beats 1, and a score of 0 gets nothing. The exponential is positive everywhere and always rises. -->
#
# Plain scores give negative weights. Squares are never
# negative, but now -2 beats 1, and a score of 0 gets nothing. The exponential is positive everywhere and always rises. <!-- result -->
#
# > **Predict.** 100 is added to every score. What happens to the weight of `cat`?
# >
# > - It does not change. <!-- true: np.abs(by_hand(s) - by_hand(s + 100)).max() < 1e-12 --> → Every exponential gets the same factor, and so does their sum.
# > - It grows, since its score is the largest. → And the sum of the exponentials?
# > - It comes nearer to 1/4. → Does softmax look at ratios of scores?
# >
# > <!-- given: The scores of `the`, `cat`, `sat`, `down` are {s}. Their weights are {by_hand(s)}. -->

# %%
def by_hand(s):
    return np.exp(s) / np.exp(s).sum()

print("s       ", by_hand(s))
print("s + 100 ", by_hand(s + 100))

# %% [markdown]
# <!-- answer:
# [print]
# Numerator and denominator share the factor in $e^{s_j + c} = e^c e^{s_j}$: softmax is **shift-invariant**. Only differences of scores count, and a difference means a ratio of weights: $w_j / w_k = e^{s_j - s_k}$. One point more is always a factor of $e$, wherever the two scores lie. -->
#
# Numerator and denominator share the factor in $e^{s_j + c} = e^c e^{s_j}$: softmax is **shift-invariant**. Only differences of scores count:
# $w_j / w_k = e^{s_j - s_k}$. One point more is always a factor of $e$. <!-- result -->
#
# ## 2.2 Large scores
#
# What does `by_hand` give for the scores 10000, 9999 and 0?
#
# <!-- slide:
# What does `by_hand` give for the scores 10000, 9999 and 0?\
# [code] -->

# %% show=[1, 2, 3]
large = np.array([1e4, 9999.0, 0.0])
with np.errstate(over="ignore", invalid="ignore"):
    result = by_hand(large)                 # (3,)
print("by hand", result)

# %% [markdown]
# <!-- slide: The two large scores get `nan`
# [print]
# A float64 ends just below $e^{710}$. A larger exponential is `inf`, and `inf / inf` is `nan`. But we may shift all scores, so we subtract the largest one. -->
#
# The two large scores get `nan`. A float64 ends just below $e^{710}$; a larger exponential is `inf`, and `inf / inf` is `nan`. But we may shift all
# scores, so we subtract the largest one. Now the largest exponential is $e^0 = 1$, so nothing overflows, and the sum is at least 1. <!-- result -->
#
# <!-- slide:
# Now the largest exponential is $e^0 = 1$, so nothing overflows. The sum is at least 1, so nothing is divided by zero. A term that underflows to 0 is too small to matter in the sum.\
# [code]
# [print]
# With a score of $-\infty$ a mask says "may not look" (Lesson 5), because $e^{-\infty}$ is exactly 0. -->

# %% show=[1]
shifted = large - large.max()
print("shifted      ", shifted)
print("by hand      ", by_hand(shifted))
print("the library's", softmax(large))

# %% [markdown]
# With a score of $-\infty$ a mask says "may not look" (Lesson 5), because $e^{-\infty}$ is exactly 0. <!-- result -->
#
# ## 2.3 Temperature
#
# Divide the scores by a **temperature** $\tau$ before softmax.
#
# > **Predict.** Which weight does `cat`, whose score is the highest, get for a very high $\tau$, and which for a very low one?
# >
# > - 1 for a high one, 1/4 for a low one → What does a high temperature do to the scores?
# > - 1/4 for a high one, 1 for a low one <!-- true: np.isclose(weights[-1, 1], 1 / 4, atol=0.01) and weights[0, 1] > 0.999 --> → Divided by a large number the scores are nearly equal, divided by a small one they are far apart.
# > - The same for both → Temperature changes how far apart the weights are.
# >
# > <!-- given: The scores of `the`, `cat`, `sat`, `down` are {s}. They are divided by $\tau$ before softmax. -->

# %%
taus = np.logspace(-1.5, 2, 36)
weights = softmax(s / taus[:, None])        # (36, 4)  one row for each temperature
for tau in (100.0, 1.0, 0.1, 0.03):
    print(f"τ = {tau:6}   weights {softmax(s / tau)}")

# %% [markdown]
# <!-- answer: A high temperature shrinks all differences, a low one stretches them
# [print] -->
#
# A high temperature shrinks all differences, a low one stretches them. <!-- result -->
#
# At the left end is the **argmax**, a one-hot row, at the right end the plain mean. The lines never cross: temperature never changes the order. (A
# language model's "temperature" is this $\tau$.)
#
# <!-- slide:
# The picture shows all temperatures.\
# ![] -->

# %%
fig = new_figure(7, 3.8)
ax = fig.subplots()
for j, token in enumerate(tokens):
    ax.semilogx(taus, weights[:, j], color=COLORS[j], marker=MARKERS[j], markevery=5,
                label=f"{token}, score {s[j]:g}")
ax.set(xlabel="temperature τ", ylabel="weight", title="softmax(s / τ): from argmax to the mean")
ax.legend()
fig

# %% [markdown]
# ## 2.4 The Jacobian, line by line
#
# <!-- slide:
# Move one score $s_k$. How does each weight $w_j$ move? Write $Z = \sum_i e^{s_i}$, so $w_j = e^{s_j} / Z$ and $\partial Z / \partial s_k = e^{s_k}$: only one term of the sum contains $s_k$. The quotient rule has two cases.
# The score's own weight, $j = k$:\
# $$\frac{\partial w_k}{\partial s_k} = \frac{e^{s_k} Z - e^{s_k} e^{s_k}}{Z^2} = w_k - w_k^2 = w_k (1 - w_k)$$
# Every other weight, $j \ne k$, where the numerator stays:\
# $$\frac{\partial w_j}{\partial s_k} = \frac{0 \cdot Z - e^{s_j} e^{s_k}}{Z^2} = -w_j w_k$$ -->
#
# <!-- slide:
# Both at once, with $\mathbb{1}[j = k]$ for "1 if equal, else 0":\
# $$\frac{\partial w_j}{\partial s_k} = w_j \, (\mathbb{1}[j = k] - w_k)$$ -->
#
# Move one score $s_k$: how does each weight $w_j$ move? Write $Z = \sum_i e^{s_i}$, so $w_j = e^{s_j} / Z$ and $\partial Z / \partial s_k = e^{s_k}$:
# only one term of the sum contains $s_k$. The quotient rule has two cases.
#
# The score's own weight, $j = k$:
# $$\frac{\partial w_k}{\partial s_k} = \frac{e^{s_k} Z - e^{s_k} e^{s_k}}{Z^2} = w_k - w_k^2 = w_k (1 - w_k)$$
#
# Every other weight, $j \ne k$, where the numerator stays:
# $$\frac{\partial w_j}{\partial s_k} = \frac{0 \cdot Z - e^{s_j} e^{s_k}}{Z^2} = -w_j w_k$$
#
# Both at once, with $\mathbb{1}[j = k]$ for "1 if equal, else 0":
# $$\frac{\partial w_j}{\partial s_k} = w_j \, (\mathbb{1}[j = k] - w_k)$$
#
# As a matrix, with row $j$ and column $k$: the weights on the diagonal, minus the outer product.
#
# <!-- slide:
# As a matrix, with row $j$ and column $k$: the weights on the diagonal, minus the outer product.\
# [code]
# [print] -->

# %% show=[1, 2]
w, cache = softmax.forward(s)               # (4,)
J = np.diag(w) - np.outer(w, w)             # (4, 4)
print("w", w)
print(J)

# %% [markdown]
# Purple is positive, orange negative. A column says: "raise this key's score, and these weights go up and those go down".
#
# <!-- slide: If one score is raised, only its own weight gains, and all other weights lose
# The picture shows $J$ with its signs: purple is positive, orange is negative. A column says: "raise this key's score, and these weights go up and those go down".\
# ![]
# Heavy keys lose the most. -->

# %%
plot_signed(J, tokens, tokens, value="change of weight per unit of score",
            rows="weight that moves", columns="score raised", title="Jacobian of softmax")

# %% [markdown]
# If one score is raised, only its own weight gains, and all other weights lose. Heavy keys lose the most. <!-- result -->
#
# > **Predict.** What are the sums of the columns of $J$, and of its rows?
# >
# > - 1 and 1 → The weights of a row add up to 1. Their *changes*?
# > - 0 and 1 → Look at the first column and the first row.
# > - Different for each key → Every number depends on the weights, the sums do not.
# > - 0 and 0 <!-- true: max(np.abs(J.sum(axis=0)).max(), np.abs(J.sum(axis=1)).max()) < 1e-12 --> → The changes of weights that add up to 1 add up to 0. And a common shift of all scores changes nothing.
# >
# > <!-- given: The weights are $w$ = {w}, and $J$ = {J}. -->

# %%
print("columns", J.sum(axis=0).round(12) + 0.0)
print("rows   ", J.sum(axis=1).round(12) + 0.0)

# %% [markdown]
# <!-- answer:
# [print]
# A **column** sums to zero because the weights always add up to 1: what one weight gains, the others lose. A **row** sums to zero because of the shift: if all scores rise together, no weight moves. -->
#
# A **column** sums to zero because the weights always add up to 1: what one weight
# gains, the others lose. A **row** sums to zero because of the shift: if all scores rise together, no weight moves. <!-- result -->

# %% [markdown]
# ## 2.5 From the Jacobian to `backward`
#
# <!-- slide:
# Let $L$ be the loss. The layer above hands down $\mathrm{grad\_w}_j = \partial L / \partial w_j$. We want $\mathrm{grad\_s}_k = \partial L / \partial s_k$.
# The chain rule sums over all the ways from $s_k$ to $L$:\
# $$\mathrm{grad\_s}_k = \sum_j \mathrm{grad\_w}_j \frac{\partial w_j}{\partial s_k}$$ $$= \sum_j \mathrm{grad\_w}_j \, w_j \, \mathbb{1}[j = k] \;-\; \sum_j \mathrm{grad\_w}_j \, w_j \, w_k$$ $$= w_k \Big( \mathrm{grad\_w}_k - \sum_j \mathrm{grad\_w}_j \, w_j \Big)$$ -->
#
# Let $L$ be the loss. Given is $\mathrm{grad\_w}_j = \partial L / \partial w_j$, wanted $\mathrm{grad\_s}_k = \partial L / \partial s_k$. The chain
# rule sums over all the ways from $s_k$ to $L$:
#
# $$\mathrm{grad\_s}_k = \sum_j \mathrm{grad\_w}_j \frac{\partial w_j}{\partial s_k}$$
# $$= \sum_j \mathrm{grad\_w}_j \, w_j \, \mathbb{1}[j = k] \;-\; \sum_j \mathrm{grad\_w}_j \, w_j \, w_k$$
# $$= w_k \Big( \mathrm{grad\_w}_k - \sum_j \mathrm{grad\_w}_j \, w_j \Big)$$
#
# The indicator leaves one term of the first sum, and $w_k$ is a common factor of the second. No matrix is left. (The first line is
# $J^\top \mathrm{grad\_w}$; this $J$ happens to be symmetric.)
#
# <!-- slide:
# The indicator leaves one term of the first sum, and $w_k$ is a common factor of the second. No matrix is left. (The first line is $J^\top \mathrm{grad\_w}$. This $J$ happens to be symmetric. In general the transpose matters.)\
# [code] -->

# %% show=[1, 2, 3, 4, 5, 6]
rng = np.random.default_rng(0)
grad_w = rng.standard_normal(4)                                        # (4,)  from above
with_matrix = J.T @ grad_w                                             # (4,)  builds n × n
mean_grad = (grad_w * w).sum()                                         # ()
without = w * (grad_w - mean_grad)                                     # (4,)  builds nothing
from_class = softmax.backward(grad_w, cache)                           # (4,)
print(with_matrix, without, from_class, sep="\n")

# %% [markdown]
# <!-- slide: Read the formula
# [print]
# `mean_grad` is the mean of the gradients, with the weights $w$. The gradient of a score is the difference between its own gradient and this mean, times its weight. Say it is positive. -->
#
# Read the formula. `mean_grad` is the mean of the gradients, with the weights $w$. The gradient of a score is the difference between its own gradient
# and this mean, times its weight. If it is positive, more weight on this key raises the loss more than on an average key, so descent lowers its
# score. <!-- result -->
#
# No backward builds a Jacobian: for a map of 1000 queries and 1000 keys, those of all rows would take a thousand times the memory of the map. It needs
# only the *product* of $J^\top$ with one vector, as cheap as the forward. `Softmax.backward` is this formula over the last axis; its cache holds one
# array, the weights, as `y`.
#
# ## 2.6 Saturation: where the gradient dies
#
# Every entry of $J$ is a product of $w_j$ and $\mathbb{1}[j = k] - w_k$. If the row is nearly one-hot, every such product
# has a factor near 0.
#
# Now measure it at every temperature. The size of $J$ is its (Frobenius) norm, $\lVert J \rVert = \sqrt{\sum_{jk} J_{jk}^2}$.
#
# <!-- slide: Towards low temperatures, where the row is sure, the norm falls by many powers of ten
# ![]
# The step from $s$ to $s / \tau$ adds a factor $1/\tau$, the dashed line: a very hot row passes little, too. -->

# %%
def norm_of_J(w):
    return np.linalg.norm(np.diag(w) - np.outer(w, w))

norms = np.array([norm_of_J(softmax(s / tau)) for tau in taus])        # (36,)
fig = new_figure(7, 3.8)
ax = fig.subplots()
ax.loglog(taus, norms, color=COLORS[0], marker=MARKERS[0], markevery=5, label="norm of J")
ax.loglog(taus, norms / taus, "--", color=COLORS[1], label="norm of J / τ: what reaches the scores")
ax.set(xlabel="temperature τ", ylabel="norm", ylim=1e-12, title="A sure softmax has almost no Jacobian")
ax.legend()
fig

# %% [markdown]
# Towards low temperatures, where the row is sure, the norm falls by many powers of ten. The step from $s$ to $s / \tau$ adds a factor $1/\tau$, the dashed line: a very hot row passes little, too. <!-- result -->
#
# What does that do to learning? The row below should look at the second key: its loss is $L = -w_2$. Start with a lead of 2 or of 10 points, and take
# 200 steps of plain gradient descent on the scores.
#
# <!-- slide: The row with the lead of 2 has learned
# What does that do to learning? The row below looks at the wrong key, and the loss $L = -w_2$ asks for the second one. Start with a lead of 2 or of 10 points, and take 200 steps of plain gradient descent on the scores.
# [print]
# The row with the lead of 10 is that of the beginning: completely wrong, told so, and almost nothing of the gradient arrives. -->

# %%
def learn(lead, grad_of_loss, steps=200):
    s, wanted = np.array([lead, 0.0, 0.0]), []
    for _ in range(steps + 1):
        w, cache = softmax.forward(s)
        wanted.append(w[1])
        s = s - softmax.backward(grad_of_loss(w), cache)               # a step of rate 1
    return wanted                                                      # before each step, and at the end

def by_weight(w):
    return np.array([0.0, -1.0, 0.0])                                  # L = -w_2

for lead in (2.0, 10.0):
    wanted = learn(lead, by_weight)
    print(f"lead {lead:4}   weight of the wanted key: {wanted[0]:.6f} before, {wanted[-1]:.6f} after")

# %% [markdown]
# The row with the lead of 2 has learned. The row with the lead of 10 is that of the beginning: almost nothing of the gradient arrives. <!-- result -->
#
# Does so small a gradient stop *all* learning? Change one cause: let Adam take the steps, which divides a gradient by its usual size (Lesson 10).
#
# <!-- slide: Adam learns from the same small gradient
# Change one cause: let Adam take the steps, the optimizer of the paper (Lesson 10). It divides a gradient by its usual size.\
# [print]
# A small gradient stops plain descent. Here it does not stop Adam. -->

# %%
def learn_by_adam(lead, grad_of_loss, steps=200):
    s, wanted = Parameter(np.array([lead, 0.0, 0.0])), []
    adam = Adam([s])
    for _ in range(steps + 1):
        w, cache = softmax.forward(s.value)
        wanted.append(w[1])
        s.grad[:] = softmax.backward(grad_of_loss(w), cache)
        adam.step(0.1)                                                 # a step of rate 0.1
    return wanted

for lead in (10.0, 20.0):
    wanted = learn_by_adam(lead, by_weight)
    print(f"lead {lead:4}   weight of the wanted key: {wanted[0]:.6f} before, {wanted[100]:.6f} after 100 steps of Adam")

# %% [markdown]
# Adam learns from the same small gradient, even with a lead of 20. So here saturation holds up plain descent, and not Adam (a smaller gradient
# would). With twelve thousand steps more, or a much larger rate, plain descent gets there, too. <!-- result -->
#
# At the *end* of a model the loss is another: the **log-loss** $L = -\ln w_2$, also called cross-entropy (Lesson 10).
#
# > **Predict.** With the log-loss, what is the weight of the wanted key after 200 steps? (The lead is 10.)
# >
# > - Below 0.01, as before → The row is as sure as before. But what comes from above?
# > - About 0.5 → It would stop there if the gradient vanished at one half.
# > - Above 0.9 <!-- true: learn(10.0, by_log)[-1] > 0.9 --> → The gradient of the log-loss is as large as the weight is small.
# >
# > <!-- given: Three scores, 10, 0 and 0. The second key is wanted, and gradient descent takes 200 steps of rate 1. With the loss $-w_2$ the weight stays below 0.01. Now the loss is $-\ln w_2$. -->

# %%
def by_log(w):
    return np.array([0.0, -1.0 / w[1], 0.0])                           # L = -ln w_2

w, cache = softmax.forward(np.array([10.0, 0.0, 0.0]))
print("gradient of the scores", softmax.backward(by_log(w), cache), "  w - t", w - [0, 1, 0])
ax = new_figure(6.5, 3).subplots()
for i, (lead, loss) in enumerate([(2.0, by_weight), (10.0, by_weight), (10.0, by_log)]):
    ax.plot(learn(lead, loss), COLORS[i], marker=MARKERS[i], markevery=20,
            label=f"lead {lead:g}, {'log-loss' if loss is by_log else 'loss -w'}")
ax.plot(learn_by_adam(10.0, by_weight), COLORS[3], marker=MARKERS[3], markevery=20, label="lead 10, loss -w, Adam")
ax.set(xlabel="step", ylabel="weight of the wanted key", ylim=(-0.03, 1.03), title="Plain descent, and Adam")
ax.legend()
ax.figure

# %% [markdown]
# <!-- answer: It learns by plain descent, and the row with the other loss stays on the ground
# ![]
# The gradient $-1/w_2$ is huge where $w_2$ is tiny, and the product with $J$ is simply $w - t$, where $t$ is the wanted one-hot row. -->
#
# It learns by plain descent, and the row with the other loss stays on the ground. The gradient $-1/w_2$ is huge where $w_2$ is tiny, and the product
# with $J$ is simply $w - t$, where $t$ is the wanted one-hot row. A softmax *inside* the model gets no such help: there, nothing makes the gradient
# from above grow as $1/w$. Attention is such a softmax, and dot products of wide vectors give large scores: the paper suspects this as the reason for
# $1/\sqrt{d_k}$ (Lesson 3). <!-- result -->

# %% [markdown]
# ## 2.7 Is it right?
#
# `check_gradients` compares any backward with its forward, to twelve digits, and without a Jacobian (Lesson 4.5 shows how):

# %% show=false
scores = 2 * np.random.default_rng(0).standard_normal((3, 4))          # (3, 4)  three queries
print("the gradients agree:", bool(check_gradients(softmax, scores)))

# %% [markdown]
# ## 2.8 Yours: what stops Adam
#
# <!-- slide: Write your number down, then measure
# With a lead of 25 Adam has hardly moved the row after 200 steps: the weight of the wanted key is below one in a billion. Adam divides a gradient by its usual size plus $\varepsilon = 10^{-9}$. Change this one number to $10^{-16}$, `Adam([s], eps=1e-16)`, and take 200 steps of rate 0.1 from a lead of 25. What is the weight of the wanted key then, from 0 to 1? -->
#
# With a lead of 25 Adam has hardly moved the row after 200 steps: the weight of the wanted key is below one in a billion. Adam divides by a gradient's usual size
# plus $\varepsilon = 10^{-9}$. Change this one number to $10^{-16}$, `Adam([s], eps=1e-16)`, and take 200 steps of rate 0.1 from a lead of 25. What is
# the weight of the wanted key then, from 0 to 1?

# %% show=false
from aiayn_course.exercises import judge

predicted = 0.0                    # type your number first
# yours: the weight of the wanted key after 200 steps
row = Parameter(np.array([25.0, 0.0, 0.0]))
adam = Adam([row], eps=1e-16)
for _ in range(200):
    w, cache = softmax.forward(row.value)
    row.grad[:] = softmax.backward(by_weight(w), cache)
    adam.step(0.1)
measured = softmax(row.value)[1]
judge(2, predicted, measured)

# %% [markdown]
# It has learned. Where the gradient is smaller than $\varepsilon$, the steps of Adam are small, too. (With the old $\varepsilon$ it needs more steps.) <!-- result -->
#
# ## 2.9 Check what this lesson claimed
#
# <!-- slide:
# `check_gradients` compares any backward with its forward, to twelve digits, and without a Jacobian (Lesson 4.5 shows how): -->

# %%
w, cache = softmax.forward(s)
J = np.diag(w) - np.outer(w, w)
assert np.abs(softmax(s + 100) - w).max() < 1e-12                      # shift-invariant
assert np.abs(J.T @ grad_w - softmax.backward(grad_w, cache)).max() < 1e-12      # no matrix
assert learn(2.0, by_weight)[-1] > 0.9
assert learn(10.0, by_weight)[-1] < 0.01                                   # saturation
assert learn(10.0, by_log)[-1] > 0.9                                   # not with the log-loss
assert min(learn_by_adam(lead, by_weight)[100] for lead in (10.0, 20.0)) > 0.9    # and not with Adam
print("all true")

# %% [markdown]
# ## Summary
#
# - Softmax is the exponential over its sum. It keeps the order of the scores and does not see a common shift, so the maximum may be subtracted.
# - $\partial w_j / \partial s_k = w_j (\mathbb{1}[j = k] - w_k)$. Columns sum to zero since weights add up to 1, rows
#   since a shift changes nothing.
# - Backward needs one weighted mean and no matrix: `grad_s = w * (grad_w - mean_grad)`.
# - A nearly one-hot row passes almost no gradient, and plain descent hardly moves it. The log-loss at the end of a model makes up for it, and so does Adam for this row.
#
# **What you can do now:** write the backward of any row of weights in two lines, and tell when a softmax passes no gradient (Exercise 1).
#
# ## Questions
#
# **1.** All gradients `grad_w` of a row are the same number. What is `grad_s`?
#
# <details><summary>Answer</summary>
#
# Zero: the mean of equal numbers is that number, so each difference is 0. Weights that must add up to 1 cannot all rise.
#
# </details>
#
# **2.** What is `grad_s` for a key whose weight is exactly 0, such as a masked one?
#
# <details><summary>Answer</summary>
#
# Zero, because of the factor $w_k$. The mask needs no care of its own here: a key that gets no weight gets no gradient.
#
# </details>
#
# **3.** Two keys, scores $s_1$ and $s_2$. Write $w_1$ as a function of the difference $s_1 - s_2$. Do you know it?
#
# <details><summary>Answer</summary>
#
# $w_1 = 1 / (1 + e^{-(s_1 - s_2)})$, the logistic sigmoid. Its derivative is $w_1 (1 - w_1)$, the diagonal of $J$. Softmax is the sigmoid for more than
# two.
#
# </details>
