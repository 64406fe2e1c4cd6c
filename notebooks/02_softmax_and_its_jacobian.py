# %% [markdown]
# # Lesson 2 · Softmax and its Jacobian
#
# | | |
# |---|---|
# | **You will do** | build softmax from what we ask of it, break it and repair it, derive its Jacobian line by line, and turn that into the two lines of `Softmax.backward`; then catch two wrong backwards that look right |
# | **You will learn** | why it is $e^s$; why large scores do no harm forwards and kill the gradient backwards; why nobody builds the Jacobian; how a gradient is *proven* |
# | **You need** | Lesson 1, the derivative of a quotient, the chain rule |
# | **Paper** | Section 3.2.1, Equation 1 |
# | **Time** | 45 minutes |
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
import math

import numpy as np

from aiayn_np import Softmax, check_gradients
from aiayn_np.plotting import COLORS, MARKERS, new_figure, plot_signed

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# ## 2.1 Why the exponential?
#
# The scores of one query are any real numbers. The weights must be positive and add up to 1, and a higher score
# must get a higher weight. Dividing by the sum is the obvious try. Here it is with nothing before it, with the
# square, and with the exponential.

# %%
tokens = ["the", "cat", "sat", "down"]
s = np.array([-1.0, 1.0, 0.0, -2.0])        # (4,)  one query's scores for four keys
for name, f in {"s": lambda s: s, "s²": np.square, "exp(s)": np.exp}.items():
    print(f"{name:7} {f(s)}   sum {f(s).sum():7.4f}   over the sum {f(s) / f(s).sum()}")

# %% [markdown]
# Plain scores give negative weights (and here even turn the order round, since their sum is negative). Squares are
# never negative, but -2 now beats 1, and a score of 0 gets nothing. The exponential is positive everywhere and always
# rises. And it has a third gift: $e^{s_j + c} = e^c e^{s_j}$, a factor that numerator and denominator share.
#
# > **Predict.** 100 is added to every score. What happens to the weight of `cat`?

# %%
def by_hand(s):
    return np.exp(s) / np.exp(s).sum()

print("s       ", by_hand(s))
print("s + 100 ", by_hand(s + 100))
print("differ by less than 1e-12:", np.abs(by_hand(s) - by_hand(s + 100)).max() < 1e-12)

# %% [markdown]
# Nothing: softmax is **shift-invariant**. Only differences of scores count, and a difference means a ratio of
# weights: $w_j / w_k = e^{s_j - s_k}$. One point more is always a factor of $e$, wherever the two scores lie.

# %%
w = by_hand(s)
print("weight of cat / weight of sat:", w[1] / w[2], "  e =", math.e)

# %% [markdown]
# ## 2.2 Overflow, and the max trick
#
# > **Predict.** What does `by_hand` give for the scores 10000, 9999 and 0?

# %%
large = np.array([1e4, 9999.0, 0.0])
print("largest s whose exp(s) is a float64:", math.log(sys.float_info.max))
with np.errstate(over="ignore", invalid="ignore"):
    print("exp    ", np.exp(large))
    print("by hand", by_hand(large))

# %% [markdown]
# Float64 ends just below $e^{710}$; beyond it is `inf`, and `inf / inf` is `nan`: no weights at all. But we may shift.
# Subtract the largest score: now the largest exponential is $e^0 = 1$, so nothing overflows, and the sum is at least
# 1, so nothing is divided by zero. A term that underflows to 0 is too small to be seen in the sum anyway.

# %%
shifted = large - large.max()
print("shifted      ", shifted)
print("by hand      ", by_hand(shifted))
softmax = Softmax()
print("the library's", softmax(large))

# %% [markdown]
# A score of $-\infty$ is how a mask says "may not look" (Lesson 5): $e^{-\infty} = 0$, exactly. One case is left. If
# *every* score is $-\infty$, the maximum is too, and $-\infty - (-\infty)$ is `nan` again. The class looks for that row
# and gives it zeros: a query that may look at nothing gets nothing.

# %%
masked = np.array([[1.0, -np.inf, 0.0],     # (2, 3)
                   [-np.inf, -np.inf, -np.inf]])
print(softmax(masked))

# %% [markdown]
# ## 2.3 Temperature
#
# Divide the scores by a **temperature** $\tau$ before softmax. A high one shrinks all differences, a low one
# stretches them.
#
# > **Predict.** Which weight does `cat` get for a very high $\tau$, and which for a very low one?

# %%
taus = np.logspace(-1.5, 2, 36)
weights = softmax(s / taus[:, None])        # (36, 4)  one row for each temperature
for tau in (100.0, 1.0, 0.1, 0.03):
    print(f"τ = {tau:6}   weights {softmax(s / tau)}")

# %% [markdown]
# A quarter, and 1. From left to right in the picture: cold is the **argmax**, a one-hot row; hot is the plain mean.
# The honest name would be "soft argmax". Temperature never changes the order: the lines meet at the ends but never
# cross.

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
# Two special cases. Equal scores share their weight at every temperature. And a row of *one* score is
# always 1: with one key there is no choice, so nothing to learn about its score.

# %%
print("a tie, cold:", softmax(np.array([1.0, 1.0, 0.0]) / 0.01))
print("one key    :", softmax(np.array([-7.0])), softmax(np.array([300.0])))

# %% [markdown]
# ## 2.4 The Jacobian, line by line
#
# Move one score $s_k$. How does each weight $w_j$ move? Write $Z = \sum_i e^{s_i}$, so $w_j = e^{s_j} / Z$ and
# $\partial Z / \partial s_k = e^{s_k}$: only one term of the sum contains $s_k$. The quotient rule has two cases.
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

# %%
w, cache = softmax.forward(s)               # (4,)
J = np.diag(w) - np.outer(w, w)             # (4, 4)
print("w", w)
print(J)

# %% [markdown]
# A derivation is a claim. Measure it: move the score of one key up and down by $h$ and see what all weights do. That
# is one **column** of $J$.

# %%
h = 1e-5
for k, token in enumerate(tokens):
    up, down = s.copy(), s.copy()
    up[k] += h
    down[k] -= h
    column = (softmax(up) - softmax(down)) / (2 * h)                   # (4,)
    print(f"{token:5} {column}   agrees to 1e-9: {np.abs(column - J[:, k]).max() < 1e-9}")

# %% [markdown]
# The picture shows $J$ with its signs: purple is positive, orange negative. This is no attention map; read a column as
# "raise this key's score, and these weights go up and those go down".

# %%
plot_signed(J, tokens, tokens, value="change of weight per unit of score",
            rows="weight that moves", columns="score raised", title="Jacobian of softmax")

# %% [markdown]
# Only a key's own weight gains; all others pay, and most of the deal is between those that weigh most.
#
# > **Predict.** What is the sum of each column of $J$? Of each row? What is the largest number that can ever stand in $J$?

# %%
print("columns sum to 0:", np.abs(J.sum(axis=0)).max() < 1e-12)
print("rows    sum to 0:", np.abs(J.sum(axis=1)).max() < 1e-12)
p = np.linspace(0, 1, 101)
print("largest w (1 - w):", (p * (1 - p)).max(), "at w =", p[(p * (1 - p)).argmax()])

# %% [markdown]
# Both are zero, for two reasons. A **column** sums to zero because the weights always add up to 1: what one gains, the
# others lose. A **row** sums to zero because of the shift: raise all scores together and no weight moves. And no
# entry is ever above 0.25: a weight moves by at most a quarter of what its score moves, and that only while softmax
# is undecided.

# %% [markdown]
# ## 2.5 From the Jacobian to `backward`
#
# Let $L$ be the loss. From above comes $\mathrm{grad\_w}_j = \partial L / \partial w_j$; wanted is
# $\mathrm{grad\_s}_k = \partial L / \partial s_k$. The chain rule sums over all the ways from $s_k$ to $L$:
#
# $$\mathrm{grad\_s}_k = \sum_j \mathrm{grad\_w}_j \frac{\partial w_j}{\partial s_k}$$
# $$= \sum_j \mathrm{grad\_w}_j \, w_j \, \mathbb{1}[j = k] \;-\; \sum_j \mathrm{grad\_w}_j \, w_j \, w_k$$
# $$= w_k \Big( \mathrm{grad\_w}_k - \sum_j \mathrm{grad\_w}_j \, w_j \Big)$$
#
# The indicator has eaten one sum, and $w_k$ came out of the other. No matrix is left. (The first line is
# $J^\top \mathrm{grad\_w}$. This $J$ happens to be symmetric; in general the transpose matters.)

# %%
rng = np.random.default_rng(0)
grad_w = rng.standard_normal(4)                                        # (4,)  from above
with_matrix = J.T @ grad_w                                             # (4,)  builds n × n
mean_grad = (grad_w * w).sum()                                         # ()
without = w * (grad_w - mean_grad)                                     # (4,)  builds nothing
from_class = softmax.backward(grad_w, cache)                           # (4,)
print(with_matrix, without, from_class, sep="\n")

# %% [markdown]
# Read the formula. `mean_grad` is the mean of the gradients, with the weights $w$. A score is pushed by how much its
# own gradient differs from that mean, and in proportion to its weight. "Is this key better than what I get on average?"
#
# > **Predict.** A map of 1000 queries and 1000 keys. How many times more memory do the Jacobians of all its rows take than the map?

# %%
n = 1000
print(f"the map      {8 * n * n / 1e9:6.3f} GB in float64")
print(f"its Jacobians{8 * n * n * n / 1e9:6.3f} GB: {n} matrices of {n} × {n}")

# %% [markdown]
# A thousand times. That is why no backward builds a Jacobian: it needs only the *product* of $J^\top$ with one
# vector, and that costs as little as the forward. `Softmax.backward` is these lines over the last axis, for any
# number of rows; its cache is one array, the weights themselves.

# %%
scores = 2 * rng.standard_normal((3, 4))                               # (3, 4)  three queries
w, cache = softmax.forward(scores)                                     # (3, 4)
print(cache)
grad_w = rng.standard_normal((3, 4))                                   # (3, 4)
grad_s = softmax.backward(grad_w, cache)                               # (3, 4)
for i in range(3):
    J_i = np.diag(w[i]) - np.outer(w[i], w[i])                         # (4, 4)  row i's own
    print("row", i, " same to 1e-12:", np.abs(J_i.T @ grad_w[i] - grad_s[i]).max() < 1e-12)

# %% [markdown]
# ## 2.6 Saturation: where the gradient dies
#
# All entries of $J$ are products of $w_j$ with $\mathbb{1}[j = k] - w_k$. If the row is nearly one-hot, every such
# product has a factor near 0.
#
# > **Predict.** The weights are 0.999, 0.001 and 0. How large is the largest entry of $J$?

# %%
sure = np.array([0.999, 0.001, 0.0])
print(np.round(np.diag(sure) - np.outer(sure, sure), 6))

# %% [markdown]
# About 0.001: the row is sure, and of the gradient that comes about a thousandth passes. Now measure it against the
# temperature. The length of $J$ is $\lVert J \rVert = \sqrt{\sum_{jk} J_{jk}^2}$.

# %%
def length_of_J(w):
    return np.linalg.norm(np.diag(w) - np.outer(w, w))

lengths = [length_of_J(softmax(s / tau)) for tau in taus]
for tau in (1.0, 0.3, 0.1, 0.03):
    w = softmax(s / tau)
    print(f"τ = {tau:4}   largest weight {w.max():.6f}   length of J {length_of_J(w):.1e}")

# %% [markdown]
# In the picture, both axes are logarithmic. To the right it stays flat; to the left it falls off a cliff.

# %%
fig = new_figure(7, 3.8)
ax = fig.subplots()
ax.loglog(taus, lengths, color=COLORS[0], marker=MARKERS[0], markevery=5)
ax.set(xlabel="temperature τ", ylabel="length of J", title="A sure softmax passes no gradient")
ax.axvline(1, color="0.6", linestyle=":")
fig

# %% [markdown]
# What that does to learning: the row below looks at the wrong key, and the loss $L = -w_2$ asks for the second one.
# Start with a lead of 2 or of 10 points, and take 200 steps of gradient descent on the scores.

# %%
def learn(lead, steps=200):
    s = np.array([lead, 0.0, 0.0])
    for _ in range(steps):
        _, cache = softmax.forward(s)
        s = s - softmax.backward(np.array([0.0, -1.0, 0.0]), cache)    # a step of rate 1
    return softmax(s)[1]

for lead in (2.0, 10.0):
    before, after = learn(lead, steps=0), learn(lead)
    print(f"lead {lead:4}   weight of the wanted key: {before:.6f} before, {after:.6f} after")

# %% [markdown]
# The first has learned it. The second stands where it stood: it is completely wrong, the loss says so, and almost
# none of it arrives. Dot products of wide vectors give just such scores. That is the reason that the paper suspects
# and gives for $1/\sqrt{d_k}$ (its Section 3.2.1); Lesson 3 measures how far it goes.

# %% [markdown]
# ## 2.7 How to prove a gradient
#
# The differences of Lesson 2.4 agree to 1e-9, but never to all 16 digits: they subtract two nearly equal numbers, and
# the digits that both share are lost. There is a way to subtract nothing. Step in the *imaginary* direction:
#
# $$f(x + ih) = f(x) + i h f'(x) - \tfrac12 h^2 f''(x) - \dots \quad\text{so}\quad
# f'(x) = \frac{\mathrm{Im}\, f(x + ih)}{h} + O(h^2)$$
#
# The derivative stands alone in the imaginary part, so $h$ may be as small as $10^{-20}$. Try it on $e^x$ at 1, whose
# slope is $e$.

# %%
x = 1.0
central = (np.exp(x + 1e-5) - np.exp(x - 1e-5)) / 2e-5
complex_step = np.exp(x + 1e-20j).imag / 1e-20
print(f"central, h = 1e-5   {central:.16f}   error {abs(central - math.e):.0e}")
print(f"complex, h = 1e-20  {complex_step:.16f}   error {abs(complex_step - math.e):.0e}")
print(f"e                   {math.e:.16f}")

# %% [markdown]
# The proof of a backward needs one more idea, because a backward has no Jacobian that could be compared:
#
# 1. Draw a random $u$, of the shape of the output, and a random $v$, of the shape of the input.
# 2. From **forward** alone: $Jv = \mathrm{Im}\, F(s + ihv) / h$, then the number $u \cdot Jv$.
# 3. From **backward** alone: $J^\top u$ is `backward(u)`, then the number $J^\top u \cdot v$.
# 4. If backward is right the two are one number, since $u \cdot Jv = u^\top J v = J^\top u \cdot v$.
# 5. If an entry is wrong, a random $u$ and $v$ would have to cancel the mistake by chance, to twelve digits. They do not.

# %%
u, v = rng.standard_normal((2, 3, 4))                                  # (3, 4) each
Jv = softmax(scores + 1e-20j * v).imag / 1e-20                         # (3, 4)
_, cache = softmax.forward(scores)
from_forward, from_backward = (u * Jv).sum(), (softmax.backward(u, cache) * v).sum()
print("from forward ", from_forward)
print("from backward", from_backward)

# %% [markdown]
# `check_gradients` does this for any layer, and for the parameters, too. `analytic` is the number from backward,
# `numeric` the one from the complex step, and `central` the difference beside it, as a second witness.

# %%
print(check_gradients(softmax, scores))

# %% [markdown]
# Now plant two mistakes that people make. The first forgets `mean_grad`; the second sums over the wrong axis, over the
# queries instead of the keys. Both return the right shape, and no number in them looks odd.

# %%
class ForgetsTheMean(Softmax):
    def backward(self, grad_weights, cache):
        return cache.y * grad_weights

class WrongAxis(Softmax):
    def backward(self, grad_weights, cache):
        mean_grad = (grad_weights * cache.y).sum(axis=0, keepdims=True)
        return cache.y * (grad_weights - mean_grad)

for layer in (softmax, ForgetsTheMean(), WrongAxis()):
    print(type(layer).__name__, layer.backward(grad_w, cache), sep="\n")

# %% [markdown]
# > **Predict.** Train the three rows of scores towards wanted weights, once with each backward. Does the loss go down with the wrong ones?

# %%
wanted = softmax(3 * rng.standard_normal((3, 4)))                      # (3, 4)

def loss_after(layer, steps):
    s = scores
    for _ in range(steps):
        w, cache = layer.forward(s)
        s = s - layer.backward(w - wanted, cache)                      # L = ½ Σ (w - wanted)²
    return 0.5 * ((softmax(s) - wanted) ** 2).sum()

for layer in (softmax, ForgetsTheMean(), WrongAxis()):
    print(f"{type(layer).__name__:15} loss {loss_after(layer, 0):.4f} before,"
          f" {loss_after(layer, 500):.4f} after 500 steps")

# %% [markdown]
# With the first mistake it does, and here it even ends lower than with the right gradient: each score is pushed by
# the sign of its own error, and where nothing is left to learn the push is zero. No loss curve would ever tell. The
# second makes the loss rise here, so you would notice that *something* is wrong, but not what. So a falling loss
# proves nothing. `check_gradients` proves both of them wrong, and names an entry:

# %%
print(check_gradients(ForgetsTheMean(), scores), "\n")
print(check_gradients(WrongAxis(), scores))

# %% [markdown]
# ## 2.8 Check what this lesson claimed

# %%
w, cache = softmax.forward(s)
J = np.diag(w) - np.outer(w, w)
u = rng.standard_normal(4)
assert np.abs(softmax(s + 100) - w).max() < 1e-12                      # shift-invariant
assert np.abs(w - by_hand(s)).max() < 1e-12                            # the class is Equation 1's
assert np.all(softmax(masked)[1] == 0)                                 # nothing allowed, no weight
assert np.abs(J.T @ u - softmax.backward(u, cache)).max() < 1e-12      # no matrix needed
assert np.abs(J.sum(axis=0)).max() < 1e-12                             # weights add up to 1
assert np.abs(J.sum(axis=1)).max() < 1e-12                             # a shift changes nothing
assert learn(2.0) > 0.9
assert learn(10.0) < 0.01                                              # saturation
assert loss_after(ForgetsTheMean(), 500) < loss_after(softmax, 500)    # no curve would tell
assert loss_after(WrongAxis(), 500) > loss_after(WrongAxis(), 0)
assert check_gradients(softmax, scores)
assert not check_gradients(ForgetsTheMean(), scores)
assert not check_gradients(WrongAxis(), scores)
print("all true")

# %% [markdown]
# ## Summary
#
# - Softmax is the exponential over its sum: positive, in the order of the scores, blind to a common shift. The shift
#   is used to subtract the maximum, so no score is too large.
# - $\partial w_j / \partial s_k = w_j (\mathbb{1}[j = k] - w_k)$. Columns sum to zero since weights add up to 1, rows
#   since a shift changes nothing.
# - Backward needs one weighted mean: `grad_s = w * (grad_w - mean_grad)`. The matrix is never built.
# - A nearly one-hot row passes almost no gradient.
# - A backward is right when $u \cdot Jv$ (forward, complex step) equals $J^\top u \cdot v$ (backward) to twelve digits.
#   A falling loss is no evidence.
#
# ## Questions
#
# **1.** All gradients `grad_w` of a row are the same number. What is `grad_s`?
#
# <details><summary>Answer</summary>
#
# Zero. The mean of equal numbers is that number, so each difference is 0. In words: if every weight is asked to
# rise by the same, and they must add up to 1, nothing can be done.
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
# $w_1 = 1 / (1 + e^{-(s_1 - s_2)})$, the logistic sigmoid. Its derivative is $w_1 (1 - w_1)$, the diagonal of $J$, and
# at most a quarter. Softmax is the sigmoid for more than two.
#
# </details>
