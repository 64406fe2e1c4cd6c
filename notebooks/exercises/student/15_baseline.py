# %% [markdown]
# # Exercise 15 · A map against its baseline
#
# | | |
# |---|---|
# | **Write** | `margin`, `best_job` |
# | **You have to find** | a number for what a head looks at, its baseline, and the margin that chance reaches, too |
# | **Paper** | Section 3.2.3 |
# | **Explained in** | Lesson 11.3 |
# | **Time** | 35 minutes, estimated |

# %%
import aiayn_np  # if this fails: README.md of the lessons says how to install it

# %%
import numpy as np

from aiayn_course.exercises import check
from aiayn_course.lab.claims.head_jobs import JOBS, cross_attention_heads, solve
from aiayn_course.lab.learning import small_model
from aiayn_np import CopyTask

# %% [markdown]
# ## What to write
#
# "This head looks at the answer" becomes a number: its mean weight on the place of the answer. A number needs a baseline, and
# a margin that chance reaches (Lesson 11.3).
#
# - `margin(weights, places, shuffled)`: `weights` (B, h, T_q, T_k) are the maps of $h$ heads. `places` (B, T_q) holds, for each
#   query, the number of the key where it should look, or -1 if it has no such key: those queries do not count. The **score**
#   of a head is its mean weight on these places, one mean over all queries that count. The **baseline** is the same mean
#   for other places, `shuffled` (B, T_q), with -1 for the same queries. Return score minus baseline, (h,).
# - `best_job(margins, untrained)`: `margins` (h, jobs) are the margins of all heads at several jobs, `untrained`
#   (models, h, jobs) those of models that were never trained. The **threshold** is the largest of all untrained margins.
#   Return (h,), integers: for each head the number of the job at which its margin is largest, or -1 if this margin is not
#   above the threshold.
#
# **Derive first.** What is the score of a head that looks everywhere alike, and what its margin? Why the largest of all untrained
# margins, and not their mean?
#
# **Try first.** `margin(np.array([[[[0.1, 0.9], [0.4, 0.6]]]]), np.array([[1, -1]]), np.array([[0, -1]]))` must give `[0.8]`: the
# second query does not count. `best_job(np.array([[0.1, 0.5], [0.2, 0.1]]), np.array([[[0.3, 0.0], [0.0, 0.1]]]))` must give
# `[1, -1]`.


# %%
def margin(weights, places, shuffled):
    """weights (B, h, T_q, T_k), places and shuffled (B, T_q) -> (h,)"""
    raise NotImplementedError("not written yet: margin")


def best_job(margins, untrained):
    """margins (h, jobs), untrained (models, h, jobs) -> (h,)"""
    raise NotImplementedError("not written yet: best_job")


# %% [markdown]
# ## Is it right?
#
# Run this as often as you like. The report shows your numbers beside the right ones, where they
# part, and asks a question that leads to the mistake. For help: `check(margin, hint=1)` names the
# likely cause, `hint=2` shows your line beside the right one, and `hint=3` derives it.

# %%
reports = [check(margin), check(best_job)]
for report in reports:
    report.show()

# %% [markdown]
# ## Now read the maps of a model
#
# A model learns to copy, in some seconds; four others have learned nothing. The jobs are those of Lesson 11.3. Which
# heads have one?

# %%
def margins_of(model, task):
    """The margins of all heads at all jobs, (N h, jobs), on test sequences of six symbols."""
    weights, lengths = cross_attention_heads(model, task.test(500))    # (B, N h, T_q, T_k), (B,)
    weights, rng, columns = weights[lengths == 6], np.random.default_rng(0), []
    order = rng.permuted(np.tile(np.arange(7), (len(weights), 1)), axis=1)      # the last one is <eos>
    for job in JOBS.values():
        places = np.tile(job(np.arange(6), 6), (len(weights), 1))      # (B, 6)
        places[(places < 0) | (places > 6)] = -1
        shuffled = np.where(places < 0, -1, np.take_along_axis(order, places % 7, axis=1))
        columns.append(margin(weights[:, :, :6], places, shuffled))
    return np.stack(columns, axis=-1)


if all(reports):
    task = CopyTask(symbols=6, max_length=6)
    models = [small_model(task, seed, N=2, h=4) for seed in range(5)]
    solve(models[0], task, 0, steps=1000)
    margins, *untrained = (margins_of(model, task) for model in models)
    for head, job in enumerate(best_job(margins, np.stack(untrained))):
        print(f"layer {head // 4 + 1}, head {head % 4 + 1}: {'no job' if job < 0 else [*JOBS][job]}")
