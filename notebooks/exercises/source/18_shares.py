# %%
import numpy as np

from aiayn_course.exercises import check

# %% [markdown]
# ## What to write
#
# What is a logit made of? With the attention weights held as they were, a model of two layers without norms and without
# feed-forward is linear, and its logit is a sum with one **share** for each token (Lesson 15.3).
#
# `x` (B, T, d) are the embedded tokens. In each of the two layers every head $i$ adds to the position $t$ what it finds at the positions $j$:
#
# $$x_t \leftarrow x_t + \sum_i \sum_j A^i_{tj}\; x_j\, W^i, \qquad W^i = W^V_i W^O_i$$
#
# and the logit is $x_T \cdot e$ at the **last** position, where `e` (d,) is the row of $E$ of one symbol.
#
# `token_shares(x, weights, W_VO, e)`: `weights` (2, B, h, T, T) are the maps of layer 1 and layer 2, rows are queries. `W_VO`
# (2, h, d, d) are the products $W^V_i W^O_i$ of each layer and head. Return (B, T), the share of each token: all that the logit
# owes to it, on all roads, so that the shares of a sequence add up to its logit.
#
# **Derive first.** A token has four roads to the logit: past both layers, through the first alone, through the second alone,
# through both. Write them down. Or go backwards, as in Exercise 4: what is the derivative of the logit by $x_j$ after layer 2, before it,
# before layer 1? What has a share to do with it, in a linear model?
#
# **Try first.** `token_shares(np.array([[[1.0], [2.0]]]), np.full((2, 1, 1, 2, 2), 0.5), np.ones((2, 1, 1, 1)), np.ones(1))` must
# give `[[1.5, 5]]`. By hand: layer 1 makes (1, 2) to (2.5, 3.5), layer 2 makes the last one 6.5.


# %%
def token_shares(x, weights, W_VO, e):
    """x (B, T, d), weights (2, B, h, T, T), W_VO (2, h, d, d), e (d,) -> (B, T)"""
    ### solution: token_shares
    grad = np.zeros_like(x)                                            # of the logit by x
    grad[:, -1] = e
    for layer in (1, 0):
        of_heads = weights[layer].mT @ grad[:, None] @ W_VO[layer].mT  # (B, h, T, d)
        grad = grad + of_heads.sum(axis=1)
    return (x * grad).sum(axis=-1)
    ### end


# %% [markdown]
# ## Is it right?
#
# Run this as often as you like. The report shows your numbers beside the right ones, where they
# part, and asks a question that leads to the mistake. For help: `check(token_shares, hint=1)` names the
# likely cause, `hint=2` shows your line beside the right one, and `hint=3` derives it.

# %%
report = check(token_shares)
report.show()

# %% [markdown]
# ## Now add them up
#
# Here is a forward through both layers, and the logit of each sequence. Your shares must add up to it. The shares of a whole model, with norms
# and feed-forward, are `aiayn_np.reading.shares`.

# %%
if report:
    rng = np.random.default_rng(0)
    x, e = rng.standard_normal((2, 5, 8)), rng.standard_normal(8)
    weights = np.tril(rng.random((2, 2, 3, 5, 5)))
    weights = weights / weights.sum(axis=-1, keepdims=True)            # (2, B, h, T, T)
    W_VO = rng.standard_normal((2, 3, 8, 8)) / 4
    shares, state = token_shares(x, weights, W_VO, e), x
    for A, W in zip(weights, W_VO):
        state = state + (A @ state[:, None] @ W).sum(axis=1)
    for row, logit in zip(shares, state[:, -1] @ e):
        print("shares", row.round(2), " their sum", row.sum().round(4), " the logit", logit.round(4))
