# %% [markdown]
# # Lesson 2 · Softmax and its Jacobian
#
# | | |
# |---|---|
# | **You will do** | build softmax from what we ask of it, break it and repair it, derive its Jacobian line by line, and turn it into the two lines of `Softmax.backward`. Then you catch two wrong backwards that look right |
# | **You will learn** | why it is $e^s$; why large scores do no harm forwards and kill the gradient backwards; why nobody builds the Jacobian; how a gradient is *checked*, and what such a check does not show |
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

REPOSITORY = ""  # build.py writes the address here that pyproject.toml gives
if importlib.util.find_spec("aiayn_np") is None:  # on a hosted notebook service: one pip install
    package = ".." if Path("../pyproject.toml").exists() else REPOSITORY and f"git+{REPOSITORY}"
    if "ipykernel" not in sys.modules or not package:
        sys.exit("This lesson needs the package aiayn_np, and it is not installed. Get a copy of"
                 " the whole project, run pip install -e '.[notebooks]' in it, and start again.")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", package], check=True)

# %%
import inspect
import math

import numpy as np

from aiayn_np import Softmax, check_gradients
from aiayn_np.plotting.drawings import SENTENCE, figure_1
from aiayn_np.plotting.figures import COLORS, MARKERS, new_figure, plot_signed

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# Softmax stands at the end of the model, and inside every attention. These boxes are lit in Figure 1.

# %%
figure_1("attention", "softmax")

# %% [markdown]
# ## 2.1 Why the exponential?
#
# The scores of one query are any real numbers. (Scores that go into a softmax are also called **logits**.) The weights
# must be positive and add up to 1, and a higher score must get a higher weight. The obvious try is to divide by the
# sum. The cell does it with the scores as they are, with their squares, and with their exponentials.

# %%
tokens = list(SENTENCE)                     # the cat sat down
s = np.array([-1.0, 1.0, 0.0, -2.0])        # (4,)  one query's scores for four keys
for name, f in {"s": lambda s: s, "s²": np.square, "exp(s)": np.exp}.items():
    print(f"{name:7} {f(s)}   sum {f(s).sum():7.4f}   over the sum {f(s) / f(s).sum()}")

# %% [markdown]
# Plain scores give negative weights. (Here their sum is negative, so they even reverse the order.) Squares are never
# negative, but now -2 beats 1, and a score of 0 gets nothing. The exponential is positive everywhere and always rises.
# It also has a third property: $e^{s_j + c} = e^c e^{s_j}$, and numerator and denominator share the factor $e^c$.
#
# > **Predict.** 100 is added to every score. What happens to the weight of `cat`?

# %%
def by_hand(s):
    return np.exp(s) / np.exp(s).sum()

print("s       ", by_hand(s))
print("s + 100 ", by_hand(s + 100))
print("differ by less than 1e-12:", np.abs(by_hand(s) - by_hand(s + 100)).max() < 1e-12)

# %% [markdown]
# The weight does not change: softmax is **shift-invariant**. Only differences of scores count, and a difference means a
# ratio of weights: $w_j / w_k = e^{s_j - s_k}$. One point more is always a factor of $e$, wherever the two scores lie.

# %%
w = by_hand(s)
print("weight of cat / weight of sat:", w[1] / w[2], "  e =", math.e)

# %% [markdown]
# ## 2.2 Overflow, and the max trick
#
# > **Predict.** What does `by_hand` give for the scores 10000, 9999 and 0? (The largest `float64` is about $10^{308}$.)

# %%
large = np.array([1e4, 9999.0, 0.0])
print("largest s whose exp(s) is a float64:", math.log(sys.float_info.max))
with np.errstate(over="ignore", invalid="ignore"):
    print("exp    ", np.exp(large))
    print("by hand", by_hand(large))

# %% [markdown]
# The result is `nan`. A float64 ends just below $e^{710}$. A larger exponential is `inf`, and `inf / inf` is `nan`. But we
# may shift all scores, so we subtract the largest one. Now the largest exponential is $e^0 = 1$, so nothing overflows.
# The sum is at least 1, so nothing is divided by zero. A term that underflows to 0 is too small to matter in the sum.

# %%
shifted = large - large.max()
print("shifted      ", shifted)
print("by hand      ", by_hand(shifted))
softmax = Softmax()
print("the library's", softmax(large))

# %% [markdown]
# With a score of $-\infty$ a mask says "may not look" (Lesson 5), because $e^{-\infty}$ is exactly 0. One case is left. If
# *every* score is $-\infty$, the maximum is $-\infty$ too, and $-\infty - (-\infty)$ is `nan` again. The class finds such a
# row and gives it zeros: a query that may look at nothing gets nothing.

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
# The weight of `cat` is a quarter when $\tau$ is very high, and 1 when it is very low. The picture shows all
# temperatures. At its left end is the **argmax**, a one-hot row. At its right end is the plain mean. An honest name of
# softmax would be "soft argmax". Temperature never changes the order: the lines come together, but they never cross.
# (When a language model writes, its "temperature" is this $\tau$.)

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
# There are two special cases. Equal scores have equal weights at every temperature. And a row of *one* score always
# has the weight 1: with one key there is no choice, so there is nothing to learn about its score.

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
# A derivation is a claim, so we measure it. Move the score of one key up and down by a small step $\delta$ and see what
# all weights do. That is one **column** of $J$.

# %%
delta = 1e-5
for k, token in enumerate(tokens):
    up, down = s.copy(), s.copy()
    up[k] += delta
    down[k] -= delta
    column = (softmax(up) - softmax(down)) / (2 * delta)               # (4,)
    print(f"{token:5} {column}   agrees to 1e-9: {np.abs(column - J[:, k]).max() < 1e-9}")

# %% [markdown]
# The picture shows $J$ with its signs: purple is positive, orange is negative. It is not an attention map. A column
# says: "raise this key's score, and these weights go up and those go down".

# %%
plot_signed(J, tokens, tokens, value="change of weight per unit of score",
            rows="weight that moves", columns="score raised", title="Jacobian of softmax")

# %% [markdown]
# If one score is raised, only its own weight gains, and all other weights lose. Heavy keys lose the most.
#
# > **Predict.** What is the sum of each column of $J$? Of each row? What is the largest number that can ever stand in $J$?
# > (A hint: an entry of the diagonal is $w(1 - w)$.)

# %%
print("columns sum to 0:", np.abs(J.sum(axis=0)).max() < 1e-12)
print("rows    sum to 0:", np.abs(J.sum(axis=1)).max() < 1e-12)
p = np.linspace(0, 1, 101)
print("largest w (1 - w):", (p * (1 - p)).max(), "at w =", p[(p * (1 - p)).argmax()])

# %% [markdown]
# Both sums are zero, for two reasons. A **column** sums to zero because the weights always add up to 1: what one weight
# gains, the others lose. A **row** sums to zero because of the shift: if all scores rise together, no weight moves. No
# entry is ever above 0.25. So for a small step of its score, a weight moves by at most a quarter of the step, and by
# so much only where the weight is one half.

# %% [markdown]
# ## 2.5 From the Jacobian to `backward`
#
# Let $L$ be the loss. The layer above hands down $\mathrm{grad\_w}_j = \partial L / \partial w_j$. We want
# $\mathrm{grad\_s}_k = \partial L / \partial s_k$. The chain rule sums over all the ways from $s_k$ to $L$:
#
# $$\mathrm{grad\_s}_k = \sum_j \mathrm{grad\_w}_j \frac{\partial w_j}{\partial s_k}$$
# $$= \sum_j \mathrm{grad\_w}_j \, w_j \, \mathbb{1}[j = k] \;-\; \sum_j \mathrm{grad\_w}_j \, w_j \, w_k$$
# $$= w_k \Big( \mathrm{grad\_w}_k - \sum_j \mathrm{grad\_w}_j \, w_j \Big)$$
#
# The indicator leaves one term of the first sum, and $w_k$ is a common factor of the second. No matrix is left. (The
# first line is $J^\top \mathrm{grad\_w}$. This $J$ happens to be symmetric. In general the transpose matters.)

# %%
rng = np.random.default_rng(0)
grad_w = rng.standard_normal(4)                                        # (4,)  from above
with_matrix = J.T @ grad_w                                             # (4,)  builds n × n
mean_grad = (grad_w * w).sum()                                         # ()
without = w * (grad_w - mean_grad)                                     # (4,)  builds nothing
from_class = softmax.backward(grad_w, cache)                           # (4,)
print(with_matrix, without, from_class, sep="\n")

# %% [markdown]
# Read the formula. `mean_grad` is the mean of the gradients, with the weights $w$. The gradient of a score is the
# difference between its own gradient and this mean, times its weight. It asks: "is this key worse than what I get on average?" (If it is positive, descent lowers the score.)
#
# > **Predict.** A map of 1000 queries and 1000 keys. How many times more memory do the Jacobians of all its rows take than the map?

# %%
n = 1000
print(f"the map      {8 * n * n / 1e9:6.3f} GB in float64")
print(f"its Jacobians{8 * n * n * n / 1e9:6.3f} GB: {n} matrices of {n} × {n}")

# %% [markdown]
# The Jacobians take a thousand times more. So no backward builds a Jacobian. It needs only the *product* of $J^\top$ with
# one vector, and this product costs as little as the forward. Here is the source of the class:

# %%
print(inspect.getsource(Softmax.forward))
print(inspect.getsource(Softmax.backward))

# %% [markdown]
# `forward` is Lesson 2.2: subtract the maximum, take the exponential, divide by the sum. It treats a row of only
# $-\infty$ apart. `backward` is the formula above over the last axis, for any number of rows. The cache holds one array,
# the weights themselves, under the name `y`. The next cell uses three rows at once.

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
# Every entry of $J$ is a product of $w_j$ and $\mathbb{1}[j = k] - w_k$. If the row is nearly one-hot, every such product
# has a factor near 0.
#
# > **Predict.** The weights are 0.999, 0.001 and 0. How large is the largest entry of $J$?

# %%
sure = np.array([0.999, 0.001, 0.0])
print(np.round(np.diag(sure) - np.outer(sure, sure), 6))

# %% [markdown]
# The largest entry is about 0.001. The row is sure, and only about a thousandth of a gradient passes it. Now measure
# this at every temperature. The size of $J$ is its (Frobenius) norm, $\lVert J \rVert = \sqrt{\sum_{jk} J_{jk}^2}$.

# %%
def norm_of_J(w):
    return np.linalg.norm(np.diag(w) - np.outer(w, w))

norms = np.array([norm_of_J(softmax(s / tau)) for tau in taus])        # (36,)
for tau in (1.0, 0.3, 0.1, 0.03):
    w = softmax(s / tau)
    print(f"τ = {tau:4}   largest weight {w.max():.6f}   norm of J {norm_of_J(w):.1e}")

# %% [markdown]
# In the picture, both axes are logarithmic. Towards low temperatures the norm falls by many powers of ten. Towards
# high temperatures it stays flat, because all weights are nearly equal there. This $J$ is the derivative with respect to
# $s / \tau$. What reaches the score $s$ itself has one more factor $1/\tau$, the dashed line: so a temperature that is too
# high starves the score as well. Lesson 3.5 meets both sides.

# %%
fig = new_figure(7, 3.8)
ax = fig.subplots()
ax.loglog(taus, norms, color=COLORS[0], marker=MARKERS[0], markevery=5, label="norm of J")
ax.loglog(taus, norms / taus, "--", color=COLORS[1], label="norm of J / τ")
for tau in (0.3, 0.03):
    ax.plot(tau, norm_of_J(softmax(s / tau)), "ko", markersize=5)
    ax.annotate(f"τ = {tau}", (tau, norm_of_J(softmax(s / tau))), xytext=(12, -4), textcoords="offset points")
ax.set(xlabel="temperature τ", ylabel="norm", title="A sure softmax: its Jacobian vanishes", ylim=(1e-16, 10))
ax.axvline(1, color="0.6", linestyle=":", label="τ = 1: softmax as it is")
ax.legend()
fig

# %% [markdown]
# What does that do to learning? The row below looks at the wrong key, and the loss $L = -w_2$ asks for the second one
# (in the code `w[1]`). Start with a lead of 2 or of 10 points, and take 200 steps of gradient descent on the scores.

# %%
def learn(lead, grad_of_loss, steps=200):
    s = np.array([lead, 0.0, 0.0])
    for _ in range(steps):
        w, cache = softmax.forward(s)
        s = s - softmax.backward(grad_of_loss(w), cache)               # a step of rate 1
    return softmax(s)[1]

def by_weight(w):
    return np.array([0.0, -1.0, 0.0])                                  # L = -w_2

for lead in (2.0, 10.0):
    before, after = learn(lead, by_weight, steps=0), learn(lead, by_weight)
    print(f"lead {lead:4}   weight of the wanted key: {before:.6f} before, {after:.6f} after")

# %% [markdown]
# The row with the lead of 2 has learned. The row with the lead of 10 has not moved: it is completely wrong, the loss
# says so, and almost nothing of the gradient arrives.
#
# Does a sure softmax always stop the gradient? No, this depends on the loss. At the *end* of the model the loss is
# the **log-loss** $L = -\ln w_2$ (Lesson 10). Its gradient $-1/w_2$ is huge where $w_2$ is tiny, and the product with $J$ is simply $w - t$, where $t$ is the one-hot row that is wanted: the weighted mean of the gradients is $-1$, so the key $k$ gets $w_k (\mathrm{grad\_w}_k + 1)$, which is $w_2 - 1$ for the second key and $w_k$ for the others. (Lessons 9 and 10 write the same difference for the
# output of a model.)
#
# > **Predict.** With the log-loss, does the row with the lead of 10 learn in 200 steps?

# %%
def by_log(w):
    return np.array([0.0, -1.0 / w[1], 0.0])                           # L = -ln w_2

w, cache = softmax.forward(np.array([10.0, 0.0, 0.0]))
print("gradient of the scores", softmax.backward(by_log(w), cache), "  w - t", w - [0, 1, 0])
print(f"lead 10   weight of the wanted key after 200 steps: {learn(10.0, by_log):.6f}")

# %% [markdown]
# With the log-loss the row learns. So the output softmax of a model does not suffer. A softmax *inside* the model does:
# there the gradient comes from the layers above, and nothing in it grows as $1/w$. Attention is such a softmax, and dot
# products of wide vectors give large scores. The paper suspects this as the reason for $1/\sqrt{d_k}$ (its Section
# 3.2.1). Lesson 3 measures how far it goes.

# %% [markdown]
# ## 2.7 How to check a gradient
#
# The differences of Lesson 2.4 agree to 1e-9, but never to all 16 digits. They subtract two nearly equal numbers, and the
# digits that both share are lost. There is a way without a subtraction: a step in the *imaginary* direction (Squire and
# Trapp, 1998). Try it on a square: $(x + i\delta)^2 = x^2 - \delta^2 + 2 i\, \delta x$. The imaginary part, divided by
# $\delta$, is $2x$, exactly the slope. In general:
#
# $$f(x + i\delta) = f(x) + i \delta f'(x) - \tfrac12 \delta^2 f''(x) - \dots \quad\text{so}\quad
# f'(x) = \frac{\mathrm{Im}\, f(x + i\delta)}{\delta} + O(\delta^2)$$
#
# The derivative stands alone in the imaginary part, so $\delta$ may be as small as $10^{-20}$. This needs a forward that
# is **analytic**: a formula that is also right for complex numbers, as sums, products and $e^s$ are. The absolute value
# is not: `abs` of a complex number is its length, and the imaginary part is lost. And complex numbers have no larger and
# smaller, so the library takes a maximum by the real parts. Try the step on $e^x$ at 1, whose slope is $e$, and on $|x|$
# at 1, whose slope is 1.

# %%
x = 1.0
central = (np.exp(x + 1e-5) - np.exp(x - 1e-5)) / 2e-5
complex_step = np.exp(x + 1e-20j).imag / 1e-20
print(f"central, δ = 1e-5   {central:.16f}   error {abs(central - math.e):.0e}")
print(f"complex, δ = 1e-20  {complex_step:.16f}   error {abs(complex_step - math.e):.0e}")
print(f"e                   {math.e:.16f}")
print("slope of abs(x) by the complex step, which is wrong:", np.abs(x + 1e-20j).imag / 1e-20)

# %% [markdown]
# The check of a backward needs one more idea, because a backward has no Jacobian that could be compared. (Here $J$ is
# the Jacobian of the whole layer: 12 × 12 for three rows of four scores. Nobody writes it down.)
#
# 1. Draw a random $u$, of the shape of the output, and a random $v$, of the shape of the input.
# 2. From **forward** alone: $Jv = \mathrm{Im}\, F(s + i\delta v) / \delta$, then the number $u \cdot Jv$.
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
# `check_gradients` does this for any layer, and for its parameters too. `analytic` is the number from backward,
# `numeric` is the number from the complex step, and `central` is the ordinary difference, as a second witness.
#
# Numbers are *checked*, to twelve digits, and at this input. A branch of the code that this input does not take is not
# checked. Only identities are *proven*, such as the two lines of `Softmax.backward` in Lesson 2.5.
#
# Be clear about what is checked: backward is the derivative *of this forward*. If the forward itself is wrong, its
# backward can still agree with it. No gradient check finds a wrong forward. That needs another test, such as a
# comparison with a formula that was written by hand, as in Lesson 1.4.

# %%
print(check_gradients(softmax, scores))

# %% [markdown]
# Now plant two mistakes that people make. The first forgets `mean_grad`. The second sums over the wrong axis, over the
# queries instead of the keys. Both return the right shape, and at first sight no number in them looks odd. At second
# sight: to which sum must each row of `grad_s` add up (Lesson 2.4)?

# %%
class ForgetsTheMean(Softmax):
    def backward(self, grad_weights, cache):
        return cache.y * grad_weights

class WrongAxis(Softmax):
    def backward(self, grad_weights, cache):
        mean_grad = (grad_weights * cache.y).sum(axis=0, keepdims=True)
        return cache.y * (grad_weights - mean_grad)

for layer in (softmax, ForgetsTheMean(), WrongAxis()):
    grad_s = layer.backward(grad_w, cache)
    print(type(layer).__name__, "sums of the rows", grad_s.sum(axis=1).round(4) + 0.0, grad_s, sep="\n")

# %% [markdown]
# The rows must sum to 0, since the rows of $J$ do. Those of the wrong backwards do not.
#
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
# With the first mistake the loss goes down, and here it even ends lower than with the right gradient. Each score moves
# against its own error, and where no error is left it does not move. This loss curve does not show the mistake. The second
# mistake makes the loss rise here, so you notice *that* something is wrong, but not what. So a falling loss proves
# nothing. `check_gradients` shows that both of them are wrong, and names an entry:

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
assert learn(2.0, by_weight) > 0.9
assert learn(10.0, by_weight) < 0.01                                   # saturation
assert learn(10.0, by_log) > 0.9                                       # not with the log-loss
assert loss_after(ForgetsTheMean(), 500) < loss_after(softmax, 500)    # no curve would tell
assert loss_after(WrongAxis(), 500) > loss_after(WrongAxis(), 0)
assert check_gradients(softmax, scores)
assert not check_gradients(ForgetsTheMean(), scores)
assert not check_gradients(WrongAxis(), scores)
print("all true")

# %% [markdown]
# ## Summary
#
# - Softmax is the exponential over its sum. It is positive, keeps the order of the scores, and does not see a common
#   shift. So the maximum may be subtracted, and no score is too large.
# - $\partial w_j / \partial s_k = w_j (\mathbb{1}[j = k] - w_k)$. Columns sum to zero since weights add up to 1, rows
#   since a shift changes nothing.
# - Backward needs one weighted mean: `grad_s = w * (grad_w - mean_grad)`. The matrix is never built.
# - A nearly one-hot row passes almost no gradient. The log-loss at the end of a model makes up for it. Inside the model
#   nothing does.
# - A backward is right when $u \cdot Jv$ (forward, complex step) equals $J^\top u \cdot v$ (backward) to twelve digits. The
#   forward must be analytic, and whether *it* is right is another question. A falling loss is no evidence.
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
