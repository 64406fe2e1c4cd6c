# %% [markdown]
# # Lesson 4 · The backward pass of attention, derived and checked
#
# | | |
# |---|---|
# | **You will do** | differentiate Equation 1 by hand, one line backwards for each line forwards; see what the gradient wants; check it, and catch three wrong backwards |
# | **You will learn** | the rules of the backward pass; what `grad_scores` says; what a falling loss, a complex step and a comparison of outputs each can show |
# | **You need** | Lessons 1 and 2, the chain rule |
# | **Paper** | Section 3.2.1, Equation 1, Figure 2 (left) |
# | **Time** | *see*, and from Lesson 4.5 on *then prove*: about 40 minutes each (estimated); of the parts *for the keen* run the cells, skip the text |

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
import math

import numpy as np

from aiayn_course.drawings import SENTENCE, attention_gradients, figure_2
from aiayn_np import ScaledDotProductAttention, Softmax, check_gradients
from aiayn_np.plotting.figures import COLORS, MARKERS, new_figure, plot_signed
from aiayn_np.variants.scoring import DotScore, ScoredAttention

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# <!-- slide: All shapes fit, and no line fails: which one is wrong?
# A model learns because a gradient comes back through every box. One line of this backward is wrong.
# | backward, with $T = 4$ and $d_k = 5$ | shapes |
# |---|---|
# | `grad_V = kept @ grad_out` | (4, 4) (4, 5) → (4, 5) |
# | `grad_kept = grad_out @ V.mT` | (4, 5) (5, 4) → (4, 4) |
# | `grad_scores = softmax.backward(grad_kept)` | (4, 4) → (4, 4) |
# | `grad_Q = grad_scores @ K / sqrt(d_k)` | (4, 4) (4, 5) → (4, 5) |
# | `grad_K = grad_scores.mT @ Q / sqrt(d_k)` | (4, 4) (4, 5) → (4, 5) | -->
#
# A model learns because a gradient comes back through every box. This backward of attention forgets one transpose; all shapes fit, and no line fails.
# Move $V$ a little: how fast does the loss change?
#
# <!-- say: Ask the class to find the mistake before you run it. Often said and wrong: NumPy would complain. With as many queries as keys all shapes fit. -->
#
# <!-- slide: Forward is right, so this backward is wrong
# [print]
# Move $V$ a little, along a random direction: the second line is what the loss does. The first line claims something else, as its map `kept` is not transposed. -->

# %% show=false
class NotTransposed(ScaledDotProductAttention):
    def backward(self, grad_out, cache):
        grad_Q, grad_K, _ = super().backward(grad_out, cache)
        return grad_Q, grad_K, cache.kept @ grad_out

# %% show=[]
report = check_gradients(NotTransposed(), *np.random.default_rng(0).standard_normal((3, 4, 5)))
print(f"by backward  slope of the loss along V: {report.rows[2].analytic:.2f}\nby forward   slope of the loss along V: {report.rows[2].numeric:.2f}")

# %% [markdown]
# Forward is right, so this backward is wrong. <!-- result -->
#
# <!-- say: Point at the two numbers. Say: both claim to be the same slope, and forward is the one that we know. Often said and wrong: all shapes fit and nothing fails, so it is right. -->
#
# <!-- slide: The gradient comes back through every box
# These are the boxes to go back through (Figure 2, left).\
# ![] -->
#
# <!-- say: Go down the boxes with the finger, from the output to Q, K and V. Say: each box has one rule, and there are only three kinds. Often said and wrong: backward starts at the queries. -->

# %%
figure_2("left")

# %% [markdown]
# ## 4.1 Two rules, and a third you know
#
# <!-- slide: The gradient of an array has its shape, a slope for each entry
# A backward pass asks one question of every array: *if this entry rises a little, how much does the loss $L$ rise?*
# The answers for an array $A$ form an array of the same shape, $\mathrm{grad\_A} = \partial L / \partial A$.
# $$A = \begin{pmatrix} 1 & 2 & 0 \\ 0 & 1 & 3 \end{pmatrix} \qquad \mathrm{grad\_A} = \begin{pmatrix} 1 & 12 & 40 \\ 0 & -1 & -4 \end{pmatrix}$$
# Attention needs three rules: for a product, for a factor, and for softmax (Lesson 2). -->
#
# A backward pass asks one question of every array: *if this entry rises a little, how much does the loss $L$ rise?* The answers for an array $A$ form
# an array of the same shape, $\mathrm{grad\_A} = \partial L / \partial A$. Attention needs three rules. The third, softmax, is Lesson 2's. The first is
# the matrix product:
#
# $$y = AB \quad\text{means}\quad y_{ij} = \sum_k A_{ik} B_{kj}$$
#
# <!-- say: Say: one number for each entry, always the same question. Often said and wrong: the gradient of a matrix is one number. -->
#
# <!-- slide: Multiply by the other factor, transposed
# In $y = AB$ the entry $A_{ik}$ stands in every entry of row $i$ of $y$, each time with the factor $B_{kj}$. Add up all its ways to the loss:
# $$\mathrm{grad\_A}_{ik} = \sum_j \mathrm{grad\_y}_{ij} B_{kj} \quad\text{so}\quad \mathrm{grad\_A} = \mathrm{grad\_y}\, B^\top$$
# $$\mathrm{grad\_B}_{kj} = \sum_i A_{ik}\, \mathrm{grad\_y}_{ij} \quad\text{so}\quad \mathrm{grad\_B} = A^\top \mathrm{grad\_y}$$ -->
#
# **The gradient of a product.** The entry $A_{ik}$ stands in every entry of row $i$ of $y$, each time with the factor $B_{kj}$: add up all its ways to
# the loss. So also $B_{kj}$, with column $j$:
#
# $$\mathrm{grad\_A}_{ik} = \sum_j \mathrm{grad\_y}_{ij} B_{kj} \quad\text{so}\quad \mathrm{grad\_A} = \mathrm{grad\_y}\, B^\top$$
# $$\mathrm{grad\_B}_{kj} = \sum_i A_{ik}\, \mathrm{grad\_y}_{ij} \quad\text{so}\quad \mathrm{grad\_B} = A^\top \mathrm{grad\_y}$$
#
# <!-- say: Point at the two products: the other factor, transposed, on the side where it stood. Let the class check the shapes. Often said and wrong: the sides may be swapped, since the shapes fit. -->
#
# <!-- slide: What divides forwards divides backwards
# The second rule is that of a number $c$:
# $$y = A / c \quad\text{gives}\quad \mathrm{grad\_A} = \mathrm{grad\_y} / c$$
# $$c = 2: \qquad A = (6,\ 4) \ \to\ y = (3,\ 2) \qquad \mathrm{grad\_A} = (0.5,\ 5) \ \leftarrow\ \mathrm{grad\_y} = (1,\ 10)$$
# Attention divides its scores by $c = \sqrt{d_k}$, so it divides once more on the way back. -->
#
# **A factor.** The second rule:
#
# $$y = A / c \quad\text{gives}\quad \mathrm{grad\_A} = \mathrm{grad\_y} / c$$
#
# <!-- say: Point at the two divisions: one forwards, one backwards. Say: who forgets the second one has a gradient that is too long. Often said and wrong: backwards one multiplies by c, to undo the division. -->
#
# <!-- slide: When $A_{01}$ rises by 1, $L$ rises by $1 \cdot 2 + 10 \cdot 1 = 12$
# [code]
# [print]
# This is `grad_A[0, 1]`, from row 0 of `grad_y` and column 1 of `B.T`, for the loss $L = \sum_{ij} \mathrm{grad\_y}_{ij}\, y_{ij}$. -->

# %% show=[4]
A = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]])             # (2, 3)
B = np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 4.0]])           # (3, 2)
grad_y = np.array([[1.0, 10.0], [0.0, -1.0]])                # (2, 2)  as it comes from above
grad_A = grad_y @ B.T                                        # (2, 3)
grad_B = A.T @ grad_y                                        # (3, 2)
print("grad_y         B.T            grad_A")
for rows in zip(grad_y, B.T, grad_A):
    print("{}  @  {}  =  {}".format(*rows))

# %% [markdown]
# When $A_{01}$ rises by 1, $L$ rises by $1 \cdot 2 + 10 \cdot 1 = 12$. This is `grad_A[0, 1]`, from row 0 of `grad_y` and column 1 of `B.T`, for the loss $L = \sum_{ij} \mathrm{grad\_y}_{ij}\, y_{ij}$. <!-- result -->
#
# <!-- say: Point at row 0 of grad_y, 1 and 10, and at the middle column of B.T, 2 and 1. Say: two ways lead to the loss, and they add up. Often said and wrong: only one entry of y depends on this entry of A. -->

# %% [markdown]
# ## 4.2 Forwards, with a name for every array
#
# <!-- slide: Two different widths, so that most wrong shapes show
# All four tokens ask: $T_q = T_k = 4$. The widths differ: $d_k = 3$ and $d_v = 2$.
# So a wrong width shows. A map that is not transposed has the same shape, and still hides.
# [code] -->
#
# All four tokens ask. With $d_k = 3$, $d_v = 2$ and $T = 4$ most wrong shapes show. A map that is not transposed still hides.
#
# <!-- say: Read the three lines as the boxes of the figure: MatMul and Scale, softmax, MatMul. Often said and wrong: square matrices are simpler to begin with. With them a wrong transpose fits. -->

# %% show=[6, 7, 8]
tokens = list(SENTENCE)                                                # the cat sat down
rng = np.random.default_rng(0)
Q, K = rng.standard_normal((2, 4, 3))                                  # (T_q, d_k), (T_k, d_k)
V = rng.standard_normal((4, 2))                                        # (T_k, d_v)
d_k = Q.shape[-1]
scores = Q @ K.T / math.sqrt(d_k)                                      # (T_q, T_k)  MatMul, Scale
weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)  # (T_q, T_k)  SoftMax
out_by_hand = weights @ V                                              # (T_q, d_v)  MatMul

# %% show=false
attention = ScaledDotProductAttention()
out, cache = attention.forward(Q, K, V)                                # (T_q, d_v)
print(cache)

# %% [markdown]
# The cache holds what backward will need. `kept` is what dropout keeps of the weights (Lesson 7), here all. <!-- result -->
#
# <!-- slide: Which arrays of forward does backward need?
# | forwards | backwards it needs |
# |---|---|
# | $\mathrm{scores} = QK^\top / \sqrt{d_k}$ | both factors, `Q` and `K` |
# | $\mathrm{weights} = \mathrm{softmax}(\mathrm{scores})$ | its own result, `weights` |
# | $\mathrm{out} = \mathrm{kept}\, V$, after dropout | both factors, `kept` and `V` |
# Nobody needs the scores. -->
#
# Backward does not need the scores: that of a product needs its two *factors*, that of softmax only its own result:
# $w_k (\mathrm{grad\_w}_k - \sum_j \mathrm{grad\_w}_j w_j)$ (Lesson 2).
#
# <!-- say: Ask first: which arrays of forward must be kept? Say: two factors for each product, the weights for softmax. Often said and wrong: the scores, because softmax took them in. -->
#
# ## 4.3 Backwards, one line for each line
#
# The layer above hands down `grad_out`, one number for each entry of the output.
#
# > **Predict.** The last operation is `out = kept @ V`, and `grad_out` has the shape (4, 2). How does one get `grad_kept`, of shape (4, 4)?
# >
# > - `V @ grad_out.T` → The shape is right. But whose row is row i?
# > - `grad_out.T @ V` → It has the shape (2, 2).
# > - `grad_out @ V` → The shapes do not fit.
# > - `grad_out @ V.T` <!-- true: np.array_equal(grad_kept, grad_out @ V.T) --> → A weight of query i multiplies row j of V, so its gradient is their dot product.
# >
# > <!-- given: $\mathrm{out} = \mathrm{kept}\, V$. The weights `kept` have the shape (4, 4), a row for each query. $V$ has the shape (4, 2), a row for each key. -->

# %%
grad_out = rng.standard_normal(out.shape)                              # (T_q, d_v)
grad_kept = grad_out @ cache.V.T                                       # (T_q, T_k)
grad_V = cache.kept.T @ grad_out                                       # (T_k, d_v)
moved = cache.kept.copy()
moved[0, 1] += 1                                                       # the slope along kept[0, 1]; out is linear in it
slopes = {"measured": (grad_out * (moved @ V - out)).sum(),
          "grad_out @ V.T": grad_kept[0, 1], "V @ grad_out.T": (V @ grad_out.T)[0, 1]}
for name, slope in slopes.items():
    print(f"{name:14}  slope of the loss along weight 1 of row 0 {slope:7.4f}")

# %% [markdown]
# <!-- answer: A weight multiplies a row of $V$, so its gradient is a dot product
# [print]
# The gradient asks: would more of this value raise the loss? -->
#
# A weight multiplies a row of $V$, so its gradient is a dot product. <!-- result --> The gradient asks: would more of this value raise the loss?
#
# <!-- say: Point at the first two bars, alike to four digits, and at the third, of the other sign. Say: the shape was right for both, the numbers decide. Often said and wrong: `V @ grad_out.T`, because its shape fits. -->
#
# <!-- slide: The values: read the map by columns
# Row $j$ of $V$ went to every query, with its weight. So its gradient comes from every query, with the same weight. Here $j = 1$, counted from 0:
# $$\mathrm{kept} = \begin{array}{c|c|cc} w_{00} & \textcolor{#D55E00}{w_{01}} & w_{02} & w_{03} \\ w_{10} & \textcolor{#D55E00}{w_{11}} & w_{12} & w_{13} \\ w_{20} & \textcolor{#D55E00}{w_{21}} & w_{22} & w_{23} \\ w_{30} & \textcolor{#D55E00}{w_{31}} & w_{32} & w_{33} \end{array} \qquad \mathrm{grad\_out} = \begin{array}{c} \textcolor{#0072B2}{g_0} \\ \textcolor{#0072B2}{g_1} \\ \textcolor{#0072B2}{g_2} \\ \textcolor{#0072B2}{g_3} \end{array}$$
# $$\mathrm{row\ 1\ of\ grad\_V} = \textcolor{#D55E00}{w_{01}}\, \textcolor{#0072B2}{g_0} + \textcolor{#D55E00}{w_{11}}\, \textcolor{#0072B2}{g_1} + \textcolor{#D55E00}{w_{21}}\, \textcolor{#0072B2}{g_2} + \textcolor{#D55E00}{w_{31}}\, \textcolor{#0072B2}{g_3} \qquad \mathrm{grad\_V} = \mathrm{kept}^\top\, \mathrm{grad\_out}$$
# `kept @ grad_out`, the mistake of the beginning, reads the map by rows. -->
#
# **The values.** Row $j$ of $V$ went to every query, with its weight. So its gradient comes from every query, with the same weight. The wrong backward
# at the beginning, `kept @ grad_out`, reads the map by rows. Read it by columns:
#
# $$\mathrm{grad\_V} = \mathrm{kept}^\top\, \mathrm{grad\_out}$$
#
# <!-- say: Point at column 1 of the map: all who looked at token 1 send back their share, a row of `grad_out` each. Often said and wrong: `kept @ grad_out`, the mistake of the beginning. -->
#
# <!-- slide: Softmax: each gradient minus the mean of its row
# Row by row, as in Lesson 2:
# $$\mathrm{mean\_grad}_i = \sum_j \mathrm{grad\_weights}_{ij}\, \mathrm{weights}_{ij}$$
# $$\mathrm{grad\_scores}_{ij} = \mathrm{weights}_{ij}\, (\mathrm{grad\_weights}_{ij} - \mathrm{mean\_grad}_i)$$
# With the weights $(\tfrac12, \tfrac14, \tfrac14)$ and their gradients $(4, 0, 8)$ the mean is 4, and the scores get $(0, -1, 1)$. They add up to 0. -->
#
# **Then softmax, row by row.** The dropout before it did nothing, so Lesson 2.5 has the formula:
#
# $$\mathrm{mean\_grad}_i = \sum_j \mathrm{grad\_weights}_{ij}\, \mathrm{weights}_{ij}$$
# $$\mathrm{grad\_scores}_{ij} = \mathrm{weights}_{ij}\, (\mathrm{grad\_weights}_{ij} - \mathrm{mean\_grad}_i)$$
#
# <!-- say: Point at the minus: a key gains only if it is better than the mean of its row. Often said and wrong: softmax works entry by entry, so the diagonal is enough. -->

# %% show=false
grad_weights = grad_kept                                               # (T_q, T_k)
mean_grad = (grad_weights * cache.weights).sum(axis=-1, keepdims=True)  # (T_q, 1)
grad_scores = cache.weights * (grad_weights - mean_grad)               # (T_q, T_k)

# %% [markdown]
# <!-- slide: The scores: K is not transposed on the way back
# Forwards $K$ is transposed, so backwards it is not. The factor $1/\sqrt{d_k}$ stands there again.
# $$\mathrm{grad\_Q} = \mathrm{grad\_scores}\, K / \sqrt{d_k}$$
# $$\mathrm{grad\_K} = \mathrm{grad\_scores}^\top Q / \sqrt{d_k}$$
# $$\underbrace{\mathrm{grad\_Q}}_{(4,\ 3)} = \underbrace{\mathrm{grad\_scores}}_{(4,\ 4)}\ \underbrace{K}_{(4,\ 3)} / \sqrt{d_k}$$ -->
#
# **At last the scores, a product and a factor:** $\mathrm{scores}_{ij} = \sum_c Q_{ic} K_{jc} / \sqrt{d_k}$. $K$ was transposed forwards, so it is not
# now; the factor $1/\sqrt{d_k}$ stands there again:
#
# $$\mathrm{grad\_Q} = \mathrm{grad\_scores}\, K / \sqrt{d_k}$$
# $$\mathrm{grad\_K} = \mathrm{grad\_scores}^\top Q / \sqrt{d_k}$$
#
# <!-- say: Let the class check the shapes: (4, 4) times (4, 3). Say: the factor comes back, too. Often said and wrong: the scale is for forward only. -->

# %% show=false
grad_Q = grad_scores @ cache.K / math.sqrt(d_k)                        # (T_q, d_k)
grad_K = grad_scores.T @ cache.Q / math.sqrt(d_k)                      # (T_k, d_k)
from_class = attention.backward(grad_out, cache)

# %% [markdown]
# They are those of the class (Lesson 4.9). In red: all that comes back.
#
# <!-- slide: Each product forwards has two backwards, one for each factor
# ![]
# Read black upwards, red downwards: every line backwards is a rule that you have just seen. -->

# %%
attention_gradients(Q, K, V)

# %% [markdown]
# Each product forwards has two backwards, one for each factor. <!-- result -->
#
# <!-- say: Click: red grows from the top down, a rule for each box. Let the class name each rule. Often said and wrong: K gets its gradient from Q alone. It comes through the scores of all queries. -->
#
# ## 4.4 What does the gradient want?
#
# Set a task: `sat` should get what `cat` has to tell, and the other rows should stay. The loss is half the squared distance from these outputs.
#
# <!-- say: Draw the task: three rows of the output stay, one moves. Say: the task names an output and no map. Often said and wrong: so `sat` must look at `cat`. -->

# %% show=false
wanted = out.copy()                                                    # (T_q, d_v)
wanted[2] = V[1]                                                       # row "sat": the value of "cat"
grad_out = out - wanted                                                # L = ½ Σ (out - wanted)²
grad_scores = attention.softmax.backward(grad_out @ V.T, cache.softmax)    # (T_q, T_k)

# %% [markdown]
# > **Predict.** Which scores of `sat` should rise, so that the loss falls?
# >
# > - That of `cat` alone → Would more of another value help as well?
# > - Those of `cat` and of `down` <!-- true: (grad_scores[2] < 0).tolist() == [False, True, False, True] --> → More of either value would bring the output nearer.
# > - All four → If one weight rises, others fall:
# >
# > <!-- given: `sat` gets {out[2]}. It should get {wanted[2]}, the value of `cat`; the other rows should stay. The loss is half the squared distance. {[["", "value", "", "weight of sat"], *([t, *v, w] for t, v, w in zip(tokens, V, cache.weights[2]))]} -->

# %%
plot_signed(-grad_scores, tokens, tokens, value="-grad_scores", title="Which scores should rise?")

# %% [markdown]
# <!-- answer: `sat` should look more at `cat` and at `down`, and less at itself
# ![]
# More of the value of `down`, too, brings the output nearer to that of `cat`. -->
#
# `sat` should look more at `cat` and at `down`, and less at itself. Every row sums to zero: attention is only moved. <!-- result -->
#
# <!-- say: On the board: the output (−0.60, −0.04), the goal (−0.74, −0.92), and `down` at (−1.01, −0.21), further that way. Point at the row of sat, purple at cat and down, orange at itself, and let the class add it up: 0. Say: the gradient asks which value would help, not which key is meant. Often said and wrong: only cat should rise, because cat is wanted. -->
#
# Now take 100 steps of descent, first on queries and keys only.

# %%
def fit(layer, wanted, steps, rate=0.5, values_too=True, start=(Q, K, V)):
    """Gradient descent on Q, K, V themselves; the loss before each step, and the last cache."""
    (q, k, v), losses = start, []
    for _ in range(steps + 1):
        out, cache = layer.forward(q, k, v)
        losses.append(0.5 * ((out - wanted) ** 2).sum())
        grad_Q, grad_K, grad_V = layer.backward(out - wanted, cache)
        q, k, v = q - rate * grad_Q, k - rate * grad_K, v - rate * values_too * grad_V
    return losses, cache

losses_QK, cache_QK = fit(attention, wanted, 100, values_too=False)
print(f"loss {losses_QK[0]:.2f} before, {losses_QK[-1]:.2f} after; sat gives {cache_QK.weights[2, 1]:.2f} to cat")

# %% [markdown]
# > **Predict.** Now the values may move as well. What becomes of the loss, and of the weight that `sat` gives to `cat`?
# >
# > - The loss is lower, and `sat` looks at `cat` less. <!-- true: losses_QKV[-1] < losses_QK[-1] and cache_QKV.weights[2, 1] < cache_QK.weights[2, 1] --> → The loss asks for an output. The values can move there themselves.
# > - The loss is lower, and `sat` looks at `cat` even more. → More freedom, a lower loss. But must the map be the obvious one?
# > - The loss is the same, since the map was right already. → It had not reached zero.
# >
# > <!-- given: `sat` should get what `cat` has to tell. Gradient descent on queries and keys alone brought the loss from {losses_QK[0]} to {losses_QK[-1]}, and `sat` gives {cache_QK.weights[2, 1]} to `cat`. -->

# %%
losses_QKV, cache_QKV = fit(attention, wanted, 100)
ends = {"before": (losses_QK[0], cache), "Q and K moved": (losses_QK[-1], cache_QK),
        "V moved as well": (losses_QKV[-1], cache_QKV)}
print("               ", *tokens)
for name, (loss, found) in ends.items():
    print(f"{name:15}", found.weights[2], f" loss {loss:.3f}")

# %% [markdown]
# <!-- answer: `sat` looks at `cat` with 0.05, not with 0.91
# [print]
# The loss asks for an output and not for a map (Lesson 11). -->
#
# `sat` looks at `cat` with 0.05. The loss asks for an output and not for a map (Lesson 11). <!-- result -->
#
# <!-- say: Point at the column of cat: 0.10, 0.91, 0.05, and at the losses beside it. Say: the lowest loss has the strangest map. Often said and wrong: a better loss means a more sensible map. -->
#
# This is one draw of $Q$, $K$ and $V$. Here are 100:

# %% show=false
of_cat = []                                                            # three weights in each draw
for seed in range(100):
    draw = np.random.default_rng(seed)
    start = [*draw.standard_normal((2, 4, 3)), draw.standard_normal((4, 2))]
    goal, first = attention.forward(*start)
    goal[2] = start[2][1]                                              # row "sat": the value of "cat"
    fitted = [fit(attention, goal, 100, values_too=too, start=start)[1] for too in (False, True)]
    of_cat.append([found.weights[2, 1] for found in (first, *fitted)])
before, with_QK, with_V = np.transpose(of_cat)
print(f"V moved as well: the weight of cat is below that of the start in {np.mean(with_V < before):.0%} of the draws,"
      f"\nand below that with Q and K alone in {np.mean(with_V < with_QK):.0%}")

# %% [markdown]
# So the draw above is one of the fewer: mostly `sat` ends with more weight on `cat` than at the start. But with the values free it is mostly less than with $Q$ and $K$ alone. <!-- result -->
#
# ## 4.5 The check
#
# <!-- slide: A difference loses digits, an imaginary step does not
# The difference $(f(x + \delta) - f(x - \delta)) / 2\delta$ subtracts two nearly equal numbers.
# A step in the *imaginary* direction subtracts nothing. Of a square, the imaginary part over $\delta$ is exactly the slope:
# $$(x + i\delta)^2 = x^2 - \delta^2 + i\delta\, \underbrace{2x}_{\text{slope}} \qquad f'(x) = \frac{\mathrm{Im}\, f(x + i\delta)}{\delta} + O(\delta^2)$$ -->
#
# Our gradients and those of the class could share a mistake. So compare with the forward itself. The difference $(f(x + \delta) - f(x - \delta)) / 2\delta$ loses digits: it subtracts two nearly equal numbers.
#
# A step in the *imaginary* direction subtracts nothing (Squire and Trapp, 1998). On a square: $(x + i\delta)^2 = x^2 - \delta^2 + 2 i\, \delta x$. The
# imaginary part over $\delta$ is $2x$, the slope. In general:
#
# $$f'(x) = \frac{\mathrm{Im}\, f(x + i\delta)}{\delta} + O(\delta^2)$$
#
# <!-- say: Do the square on the board: the slope stands in the imaginary part, alone. Often said and wrong: a smaller step is always better. For a difference it is not. -->
#
# <!-- slide: One number from forward alone, one from backward alone
# | a layer $F$ | from **forward** alone | from **backward** alone |
# |---|---|---|
# | draw at random | $v$, a direction of the input $x$ | $u$, a direction of the output |
# | compute an array | $\dot y = \mathrm{Im}\, F(x + i\delta v) / \delta$ | $g =$ `backward(u)` |
# | and one number | $u \cdot \dot y$ | $g \cdot v$ |
# Both numbers are the slope of $u \cdot F$ along $v$: they must agree, to twelve digits. -->
#
# So $\delta$ may be as small as $10^{-20}$, if the forward's formula also holds for complex numbers. A backward is then checked so:
#
# 1. Call the layer $F$ and its input $x$. Draw random directions, $v$ of the input and $u$ of the output.
# 2. From **forward** alone: move $x$ along $v$. The output moves at the rate $\mathrm{Im}\, F(x + i\delta v) / \delta$. Its dot product with $u$ is a number.
# 3. From **backward** alone: `backward(u)` is the gradient of $u \cdot F$. Its dot product with $v$ is a number.
# 4. Both are the slope of $u \cdot F$ along $v$. A wrong entry of backward would have to cancel by chance, to twelve digits.
#
# <!-- say: Go down the left column, then the right one: neither uses the other. Say: if they agree to twelve digits, it is no accident. Often said and wrong: one direction cannot test a whole matrix. A random one does. -->
#
# <!-- slide: Backward and forward agree to fourteen digits
# [code]
# [print]
# The check asks for an error below 1e-12. -->

# %% show=[1]
report = check_gradients(attention, Q, K, V)
for name, row in zip("QKV", report.rows):
    print(f"{name}  backward {row.analytic:.15f}  forward {row.numeric:.15f}  error {row.error:.0e}")

# %% [markdown]
# Backward and forward agree to fourteen digits. The check asks for an error below 1e-12. <!-- result -->
#
# <!-- say: Point at the column of errors. Say: this is as good as numbers of 64 bits can be. Often said and wrong: six equal digits are enough. A small mistake hides behind the seventh. -->
#
# One limit: it shows that backward fits *this* forward. If both forget the scale, the check is content:
#
# <!-- slide: The check is content, and the layer is wrong
# One limit: it shows that backward fits *this* forward. If somebody forgets the scale in forward *and* in backward, both agree, and the check is content:\
# [code]
# [print]
# It needs both: a check of its gradient, and its output compared with the formula. -->

# %% show=[1]
forgets_both = ScoredAttention(DotScore())                              # q · k, never divided
print("its gradients agree:", bool(check_gradients(forgets_both, Q, K, V)))
print("largest difference from Equation 1:", f"{np.abs(forgets_both(Q, K, V) - out_by_hand).max():.2f}")

# %% [markdown]
# A layer needs both: a check of its gradient, and its output compared with the formula. <!-- result -->
#
# <!-- say: Point at True, then at 0.30. Say: the check compares backward with forward, and nobody has checked forward. Often said and wrong: the gradients agree, so the layer is right. -->

# %% [markdown]
# ## 4.6 For the keen: why not just a difference?
#
# Measure the slope of $u \cdot \mathrm{out}$ along a direction for $Q$ in three ways, for steps $\delta$ from 1 down to
# $10^{-16}$, and compare it with the slope from backward.

# %%
u, v = rng.standard_normal((20, 4, 2)), rng.standard_normal((20, 4, 3))    # 20 directions

def f(move):                                                           # u · out at Q + move
    return (u * attention(Q + move, np.stack([K] * 20), np.stack([V] * 20))).sum(axis=(1, 2))

grads = [attention.backward(u_i, cache)[0] for u_i in u]               # 20 × (T_q, d_k)
exact = np.array([(g * v_i).sum() for g, v_i in zip(grads, v)])        # (20,)
methods = {
    "one-sided": lambda step: (f(step * v) - f(0 * v)) / step,
    "central": lambda step: (f(step * v) - f(-step * v)) / (2 * step),
    "complex step": lambda step: f(1j * step * v).imag / step,
}

# %% [markdown]
# > **Predict.** Which step is the best for the central difference?
# >
# > - 10⁻¹ → The terms that it ignores are large.
# > - 10⁻⁵ <!-- true: 1e-6 < steps[errors["central"].argmin()] < 1e-4 --> → There what it ignores and what rounding adds are about equal.
# > - 10⁻¹⁵ → It subtracts two numbers that share nearly all of their digits.

# %%
steps = np.logspace(0, -16, 33)
errors = {
    name: np.array([np.median(np.abs(slope(step) / exact - 1)) for step in steps])
    for name, slope in methods.items()
}
for name, error in errors.items():
    print(f"{name:13} best step {steps[error.argmin()]:.0e}, its error {max(error.min(), 1e-16):.0e}")

# %% [markdown]
# Smaller steps make every method better at first, because the terms that it ignores shrink with $\delta$ or $\delta^2$. With smaller steps still, the
# two differences get worse: they subtract nearly equal numbers, and mostly rounding is left. The complex step subtracts nothing: its error falls to the
# last digit of a float64 and stays. <!-- result -->

# %%
fig = new_figure(7, 4.2)
ax = fig.subplots()
for i, (name, error) in enumerate(errors.items()):
    ax.loglog(steps, np.maximum(error, 1e-16), color=COLORS[i], marker=MARKERS[i], markevery=4,
              label=name)
ax.axhline(1e-12, color="0.6", linestyle=":", label="asked by check_gradients")
ax.set(xlabel="step δ", ylabel="relative error of the slope",
       title="Three ways to measure a slope of attention")
ax.invert_xaxis()
ax.legend()
fig

# %% [markdown]
# ## 4.7 Three wrong backwards
#
# The first forgets $1/\sqrt{d_k}$ on the way back. The second takes only the diagonal of softmax's Jacobian, $w_k (1 - w_k)$. The third is the one of
# the beginning, `NotTransposed`.

# %%
class ForgetsTheScale(ScaledDotProductAttention):
    def backward(self, grad_out, cache):
        grad_Q, grad_K, grad_V = super().backward(grad_out, cache)
        scale = math.sqrt(cache.Q.shape[-1])
        return grad_Q * scale, grad_K * scale, grad_V

class ElementwiseSoftmax(Softmax):
    def backward(self, grad_weights, cache):
        return grad_weights * cache.y * (1 - cache.y)

class OnlyTheDiagonal(ScaledDotProductAttention):
    def __init__(self):
        super().__init__()
        self.softmax = ElementwiseSoftmax()

# %% [markdown]
# > **Predict.** The right layer and these three fit random outputs, 200 steps each. With how many of the four does the loss fall below a tenth of its first value?
# >
# > - 1 → Need a wrong gradient point the wrong way?
# > - 2 → One of the mistakes makes two of the three gradients longer. The others?
# > - 3 → Which one would you leave out?
# > - 4 <!-- true: sum(losses[-1] < 0.1 * losses[0] for losses in curves.values()) == 4 --> → A wrong gradient need only point roughly downhill.
# >
# > <!-- given: Four layers of attention learn $Q$, $K$ and $V$ by gradient descent. One backward is right. One forgets $1/\sqrt{d_k}$, one takes only the diagonal of softmax's Jacobian, one forgets to transpose the map in the gradient of $V$. -->

# %%
target = rng.standard_normal((4, 2))                                   # (T_q, d_v)
layers = [attention, ForgetsTheScale(), OnlyTheDiagonal(), NotTransposed()]
names = ["right", "forgets the scale", "only the diagonal", "not transposed"]
curves = {name: fit(layer, target, 200, rate=0.2)[0] for name, layer in zip(names, layers)}
ax = new_figure(8.5, 3.6).subplots()
for i, (name, losses) in enumerate(curves.items()):
    ax.semilogy(losses, color=COLORS[i], marker=MARKERS[i], markevery=25, label=name)
ax.set(xlabel="step", ylabel="loss", title="One right backward, three wrong ones")
ax.legend()
ax.figure

# %% [markdown]
# <!-- answer: The loss falls with all four; here two of the wrong ones end lower than the right one
# ![]
# **A falling loss proves nothing.** -->
#
# The loss falls with all four; here two of the wrong ones end lower than the right one. **A falling loss proves nothing.** <!-- result -->
#
# <!-- say: Ask which curve is the right one before you say it: the blue one, third from the bottom. Say: a falling loss proves nothing. Often said and wrong: the best curve belongs to the right backward. -->
#
# The check tells which of the four have wrong gradients (in brackets). One draw is an example: 100 others say how far a wrong gradient points from the
# right one at the start, in degrees, and how often the loss falls below a tenth.
#
# <!-- slide: The check also says *where* the mistake is; the loss says nothing
# Which of the four are wrong? The check tells which gradients (in brackets). 100 other draws say how far a wrong gradient points from the right one at the start, in degrees, and how often the loss falls below a tenth.
# [print]
# A gradient may be far off, and the loss still falls. -->

# %%
def gradient(layer, wanted, start):
    """grad_Q, grad_K and grad_V in one row, of length 1"""
    out, cache = layer.forward(*start)
    row = np.concatenate([g.ravel() for g in layer.backward(out - wanted, cache)])
    return row / np.linalg.norm(row)

degrees, ends = [], []
for seed in range(100):
    draw = np.random.default_rng(seed)
    start, wanted = [*draw.standard_normal((2, 4, 3)), draw.standard_normal((4, 2))], draw.standard_normal((4, 2))
    cosines = [gradient(layer, wanted, start) @ gradient(attention, wanted, start) for layer in layers]
    degrees.append(np.degrees(np.arccos(np.minimum(cosines, 1))))      # (4,)
    losses = [fit(layer, wanted, 200, rate=0.2, start=start)[0] for layer in layers]
    ends.append([falling[-1] / falling[0] for falling in losses])
degrees, ends = np.array(degrees), np.array(ends)                      # (100, 4) each
for name, layer, angle, end in zip(names, layers, degrees.T, ends.T):
    wrong = [of for of, row in zip("QKV", check_gradients(layer, Q, K, V).rows) if not row.ok]
    print(f"{name:17} ({','.join(wrong) or 'none'})  degrees: median {np.median(angle):2.0f}, largest {angle.max():2.0f}"
          f"   falls in {np.mean(end < 0.1):.0%}")

# %% [markdown]
# The check also says *where* the mistake is. A gradient may be off by more than 60 degrees, and the loss still falls in nearly all draws. <!-- result -->
#
# <!-- say: Point at the largest angle, then at the share beside it. Say: this gradient points far off, and the loss falls. Often said and wrong: a gradient that trains is nearly the right one. -->
#
# Why do wrong gradients train at all? A small enough step lowers the loss whenever the wrong gradient is less than 90 degrees off, and in all these draws it is, at the start. (This is about the first steps; Lesson 4.9 has a case where it is not enough.)
#
# ## 4.8 One array, used three times
#
# In self-attention $Q$, $K$ and $V$ all come from one $x$, so the loss changes in three ways. Take the shortest case, $Q = K = V = x$.
#
# <!-- say: Draw one x and three arrows to Q, K and V. Ask how many ways lead from x to the loss. Often said and wrong: one, since it is one array. -->
#
# <!-- slide: The gradient of $x$ is the sum of all three
# In self-attention $Q$, $K$ and $V$ all come from one $x$. If $x$ moves, all three move, and the loss changes in three ways. Take the shortest case, $Q = K = V = x$.\
# [code]
# [print]
# Where an array is used more than once, its gradients **add up**. -->

# %% show=[3, 4]
x = rng.standard_normal((4, 5))                                        # (T, d_model)
u, v = rng.standard_normal((2, 4, 5))
out, cache = attention.forward(x, x, x)
grads = attention.backward(u, cache)                                   # three times (T, d_model)
moved = x + 1e-20j * v                                                 # x moves in all three places
for name, grad in zip(("grad_Q", "grad_K", "grad_V", "sum"), (*grads, sum(grads))):
    print(f"{name:12}  slope along v {(grad * v).sum():7.4f}")
print(f"from forward  slope along v {(u * attention(moved, moved, moved)).sum().imag / 1e-20:7.4f}")

# %% [markdown]
# The gradient of $x$ is the sum of all three. Where an array is used more than once, its gradients **add up**. If one of the three is forgotten, the layers *below* get a wrong gradient. <!-- result -->
#
# <!-- say: Let the class add the three bars: -0.90 - 1.36 + 5.42. Say: the sum is what forward measures. Often said and wrong: the mean of the three, or the largest one. -->

# %% [markdown]
# ## 4.9 Yours: a wrong sign
#
# <!-- slide: Write your number down, then measure
# Write a fourth wrong backward: `grad_Q` has the wrong sign, the other two are right. At the start it points less than 90 degrees away from the right gradient in nearly all of the 100 draws of Lesson 4.7. In which share of these draws does the loss fall below a tenth, from 0 to 1? -->
#
# Write a fourth wrong backward: `grad_Q` has the wrong sign, the other two are right. At the start it points less than 90 degrees away from the right gradient in nearly all of the 100 draws of Lesson 4.7. In which share of these draws does the loss fall below a tenth, from 0 to 1?

# %% show=false
from aiayn_course.exercises import judge

predicted = 0.9                    # type your number first
# yours: the share of the 100 draws in which the loss falls below a tenth
class WrongSign(ScaledDotProductAttention):
    def backward(self, grad_out, cache):
        grad_Q, grad_K, grad_V = super().backward(grad_out, cache)
        return -grad_Q, grad_K, grad_V

fallen = []
for seed in range(100):
    draw = np.random.default_rng(seed)
    start, wanted = [*draw.standard_normal((2, 4, 3)), draw.standard_normal((4, 2))], draw.standard_normal((4, 2))
    losses = fit(WrongSign(), wanted, 200, rate=0.2, start=start)[0]
    fallen.append(losses[-1] < 0.1 * losses[0])
measured = np.mean(fallen)
judge(4, predicted, measured)

# %% [markdown]
# Hardly ever. So the angle at the start is not the whole story. <!-- result --> Is it the steps of $Q$ uphill? Take them away, and nothing else:

# %% show=false
class StillQ(ScaledDotProductAttention):
    def backward(self, grad_out, cache):
        grad_Q, grad_K, grad_V = super().backward(grad_out, cache)
        return 0 * grad_Q, grad_K, grad_V

still = []
for seed in range(100):
    draw = np.random.default_rng(seed)
    start, wanted = [*draw.standard_normal((2, 4, 3)), draw.standard_normal((4, 2))], draw.standard_normal((4, 2))
    losses = fit(StillQ(), wanted, 200, rate=0.2, start=start)[0]
    still.append(losses[-1] < 0.1 * losses[0])
print(f"grad_Q = 0: the loss falls below a tenth in {np.mean(still):.0%} of the draws")

# %% [markdown]
# Yes: where $Q$ stands still, the loss falls in nearly all draws. <!-- result -->
#
# ## 4.10 Check what this lesson claimed

# %%
for ours, theirs in zip((grad_Q, grad_K, grad_V), from_class):
    assert np.abs(ours - theirs).max() < 1e-12                         # derived = implemented
assert np.abs(out_by_hand - attention(Q, K, V)).max() < 1e-12
assert np.abs(grad_scores.sum(axis=1)).max() < 1e-12                   # moved, not made
assert cache_QK.weights[2, 1] > 0.8 > 0.1 > cache_QKV.weights[2, 1]    # Q, K learn the map
assert [bool(check_gradients(layer, Q, K, V)) for layer in layers] == [True, False, False, False]
assert 60 < degrees.max() < 90                                         # far off,
assert (ends < 0.1).all(axis=1).mean() > 0.9                           # and it falls
print("all true")

# %% [markdown]
# ## Summary
#
# - $y = AB$ gives $\mathrm{grad\_A} = \mathrm{grad\_y}\, B^\top$ and $\mathrm{grad\_B} = A^\top \mathrm{grad\_y}$. With the
#   factor and the softmax of Lesson 2, that is all of attention.
# - Rows of `grad_scores` sum to zero: attention is moved between keys.
# - A falling loss proves nothing. A complex step checks that backward fits its forward; whether the forward is right is another question.
# - Where an array is used more than once, its gradients add up.
#
# **What you can do now:** write the backward of any chain of products and softmaxes, and check it (Exercises 3 and 4).
#
# ## Questions
#
# **1.** A key gets weight 0 from every query. Which gradients do its key and its value get?
#
# <details><summary>Answer</summary>
#
# Zero, both. $\mathrm{grad\_V}_j$ sums over the queries with the weights as factors; $\mathrm{grad\_K}_j$ uses column $j$ of `grad_scores`, which has
# the weight as a factor. A key that nobody looks at, such as a masked one (Lesson 5), learns nothing.
#
# </details>
#
# **2.** `ForgetsTheScale` passes the check if $d_k$ has one special value. Which? What does that say about the sizes to
# test with?
#
# <details><summary>Answer</summary>
#
# $d_k = 1$, where $\sqrt{d_k} = 1$. So also `NotTransposed` is right when the map is symmetric. So test with sizes above 1 that are all different, also
# the numbers of queries and keys.
#
# </details>
#
# **3.** The same vector is added to all keys. Lesson 1 says that the weights stay. What follows for `grad_K`?
#
# <details><summary>Answer</summary>
#
# The rows of `grad_K` add up to the zero vector: when all keys move together nothing changes, so that slope is 0. In the formula,
# $\sum_j \mathrm{grad\_K}_{jc} = \sum_i Q_{ic} \sum_j \mathrm{grad\_scores}_{ij} / \sqrt{d_k}$, and the rows of `grad_scores` sum to 0.
#
# </details>
