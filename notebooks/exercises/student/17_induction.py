# %% [markdown]
# # Exercise 17 · A detector of induction heads
#
# | | |
# |---|---|
# | **Write** | `prefix_score` |
# | **You have to find** | the keys that followed an earlier, equal token, and the weight that a head puts on them |
# | **Paper** | Section 3.2.3 |
# | **Explained in** | Lesson 15.2 |
# | **Time** | 40 minutes, estimated |

# %%
import aiayn_np  # if this fails: README.md of the lessons says how to install it

# %%
import numpy as np

from aiayn_course.exercises import check
from aiayn_course.lab.claims.induction import repeated, trained
from aiayn_np import attention_maps

# %% [markdown]
# ## What to write
#
# An **induction head** finds where the token just read stood before, and looks at what followed it (Lesson 15.2). In
# `6 3 1 5 6 3` the last query has read 3; there was a 3 before, and 1 followed it.
#
# `prefix_score(weights, ids)`: `weights` (B, h, T, T) are the causal maps of $h$ heads, rows are queries. `ids` (B, T) are the tokens, none
# of them padding. A query counts if its token stands at an earlier position, too. Its score is the **sum** of its weights on
# all keys that come right after an *earlier* equal token. Return (h,): for each head the mean over all queries that count,
# of all sequences together. If none counts, the score is 0.
#
# **On paper first.** For the ids 2 2 5 2, mark in a 4 × 4 table, rows are queries, the keys that come right after an earlier equal
# token. Which queries count? May a key be the query's own position?
#
# **Try first.** `prefix_score(np.tril(np.ones((1, 1, 4, 4))), np.array([[7, 8, 7, 8]]))` must give `[1]`, and for the ids
# 2 2 5 2 it is 1.5: one key for the second query, two for the last. (These weights need not add up to 1.)


# %%
def prefix_score(weights, ids):
    """weights (B, h, T, T), ids (B, T) -> (h,)"""
    raise NotImplementedError("not written yet: prefix_score")


# %% [markdown]
# ## Is it right?
#
# Run this as often as you like. The report shows your numbers beside the right ones, where they
# part, and asks a question that leads to the mistake. For help: `check(prefix_score, hint=1)` names the
# likely cause, `hint=2` shows your line beside the right one, and `hint=3` derives it.

# %%
report = check(prefix_score)
report.show()

# %% [markdown]
# ## Now find the head
#
# A language model of two layers learns to go on with blocks of symbols that repeat themselves; this cell takes the longest of all here. Which of its heads
# look at what followed? Where a head looks is not yet what it is needed for: mute it, as in Exercise 16.

# %%
if report:
    ids, _, _ = repeated(100, np.random.default_rng(1))
    for steps in (0, 800):
        maps = attention_maps(trained(N=2, seed=0, steps=steps).forward(ids)[1])
        scores = [prefix_score(weights, ids).round(2) for weights in maps.values()]
        print(f"after {steps} steps: layer 1 {scores[0]}, layer 2 {scores[1]}")
