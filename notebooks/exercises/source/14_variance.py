# %%
import math

import numpy as np

from aiayn_course.exercises import check
from aiayn_np import Transformer

# %% [markdown]
# ## What to write
#
# One softmax compares the scores of one query: a row. Not the variance of all scores counts for it,
# but the variance within its row (Lesson 3.2).
#
# - `row_variance(Q, K, *, allowed=None)`: `Q` (B, h, T_q, d_k) and `K` (B, h, T_k, d_k) are queries and keys of $h$
#   heads. Take the scores $Q K^T / \sqrt{d_k}$, and of each row the variance: the mean of
#   $(s - \mathrm{mean}(s))^2$ over its keys. Return (h,): for each head the mean of these variances over all queries
#   of all sequences. With `allowed`, True where a query may look at a key, a row consists of the keys
#   that are allowed; it is a mask that broadcasts to the scores, and leaves every query a key at least.
# - `scale_moved(W_Q, h)`: `W_Q` (d_model, h d_k) is $W^Q$ of all heads, side by side. Return the matrix with
#   which the scores need no division: $(x W)(y W^K)^T = (x W^Q)(y W^K)^T / \sqrt{d_k}$ in every
#   head. d_model need not be h d_k.
#
# **Derive first.** What is the variance of $c\,s$, if that of $s$ is known? And on paper: the first scores are the same
# wherever the scale stands. Adam moves every entry of $W^Q$ by about the rate: do the scores move equally far, too?
#
# **Try first.** `row_variance(np.ones((1, 1, 1, 4)), np.array([[[[1, 1, 1, 1], [0, 0, 0, 0]]]]))` must give `[1]`:
# the scores are 4/2 and 0, and their mean is 1. `scale_moved(np.ones((1, 8)), 2)[0, 0]` must give `0.5`: d_k is 4.


# %%
def row_variance(Q, K, *, allowed=None):
    """Q (B, h, T_q, d_k), K (B, h, T_k, d_k) -> (h,)"""
    ### solution: row_variance
    scores = Q @ K.mT / math.sqrt(Q.shape[-1])                         # (B, h, T_q, T_k)
    if allowed is None:
        allowed = np.ones(scores.shape, dtype=bool)
    variances = scores.var(axis=-1, where=allowed)                     # (B, h, T_q)
    return variances.mean(axis=(0, 2))
    ### end


def scale_moved(W_Q, h):
    """W_Q (d_model, h d_k) -> (d_model, h d_k)"""
    ### solution: scale_moved
    d_k = W_Q.shape[1] // h
    return W_Q / math.sqrt(d_k)
    ### end


# %% [markdown]
# ## Is it right?
#
# Run this as often as you like. The report shows your numbers beside the right ones, where they
# part, and asks a question that leads to the mistake. For help: `check(row_variance, hint=1)` names the
# likely cause, `hint=2` shows your line beside the right one, and `hint=3` derives it.

# %%
reports = [check(row_variance), check(scale_moved)]
for report in reports:
    report.show()

# %% [markdown]
# ## Now look into a model
#
# The rows of an encoder that was never trained. The footnote of Section 3.2.1 expects the variance 1. What do you see,
# and in which layer? Then the scale of layer 1 is moved: the scores are as before.

# %%
if all(reports):
    rng = np.random.default_rng(0)
    model = Transformer(100, N=3, d_model=64, d_ff=128, h=4, P_drop=0.0, rng=rng)
    ids = rng.integers(3, 100, (8, 32))
    layers = model.forward(ids, ids)[1].encoder.layers
    for number, layer in enumerate(layers, 1):
        head = layer.self_attention.attention
        print("layer", number, "variance of a row, head by head:", row_variance(head.Q, head.K).round(2))
    W_Q = model.encoder.layers[0].self_attention.linear_Q.W
    head = layers[0].self_attention.attention
    scores = head.Q @ head.K.mT / math.sqrt(head.Q.shape[-1])
    W_Q.value[...] = scale_moved(W_Q.value, 4)
    head = model.forward(ids, ids)[1].encoder.layers[0].self_attention.attention
    print("largest difference of a score:", abs(head.Q @ head.K.mT - scores).max())
