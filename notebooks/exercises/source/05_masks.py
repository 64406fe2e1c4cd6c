# %%
import math

import numpy as np

from aiayn_course.exercises import check, train_with
from aiayn_np import Cache, Module

# %% [markdown]
# ## What to write
#
# A mask is a boolean array, **True where a query may look at a key**. Rows are queries, columns are
# keys.
#
# - `causal(T)`, of shape (T, T): position $i$ may look at $j \le i$ only (Section 3.2.3).
# - `not_padding(ids, pad=0)`, of shape (B, 1, 1, T) for ids (B, T): which keys are real tokens. The
#   scores have the axes (B, h, T_q, T_k), and padding is the same for every head and every query.
#   Padding may stand anywhere.
# - `Mask`, the box of Figure 2: `forward(scores, *, allowed=None)` gives the scores where allowed,
#   $-\infty$ elsewhere; with `None`, all of them. Its `backward` is short: think of what the
#   output depends on at a place where the score was replaced. `allowed` is (T_q, T_k), or has as
#   many axes as the scores, each 1 or equal.
#
# **Try first.** `causal(2)` must give `[[True, False], [True, True]]`, and `Mask()(np.array([[1.0, 2.0]]), allowed=np.array([[True, False]]))` must give
# `[[1, -np.inf]]`.


# %%
def causal(T):
    """Mask (T, T): position i may look at j <= i."""
    ### solution: causal
    return np.tri(T, dtype=bool)
    ### end


def not_padding(ids, pad=0):
    """Mask (B, 1, 1, T) of the real tokens in ids (B, T)."""
    ### solution: not_padding
    return (ids != pad)[:, None, None, :]
    ### end


class Mask(Module):
    def forward(self, scores, *, allowed=None):
        """scores where allowed, -inf elsewhere; and a cache."""
        ### solution: Mask.forward
        if allowed is None:
            return scores, Cache(allowed=None)
        return np.where(allowed, scores, -math.inf), Cache(allowed=allowed)
        ### end

    def backward(self, grad_y, cache):
        """grad_y, of the shape of the scores -> grad_scores"""
        ### solution: Mask.backward
        return grad_y if cache.allowed is None else np.where(cache.allowed, grad_y, 0.0)
        ### end


# %% [markdown]
# ## Is it right?
#
# Run this as often as you like. The report shows your numbers beside the right ones, where they
# part, and asks a question that leads to the mistake. For help: `check(causal, hint=1)` names the
# likely cause, `hint=2` shows your line beside the right one, and `hint=3` derives it.

# %%
reports = [check(causal), check(not_padding), check(Mask)]
for report in reports:
    report.show()

# %% [markdown]
# ## Now train with them

# %%
if all(reports):
    print(train_with(causal, not_padding, Mask))
