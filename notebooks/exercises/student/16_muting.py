# %% [markdown]
# # Exercise 16 · Muting a head
#
# | | |
# |---|---|
# | **Write** | `muted` |
# | **You have to find** | what one head adds to the output, and what may stand in its place |
# | **Paper** | Section 3.2.2 |
# | **Explained in** | Lesson 11.6 |
# | **Time** | 30 minutes, estimated |

# %%
import aiayn_np  # if this fails: README.md of the lessons says how to install it

# %%
import numpy as np

from aiayn_course.exercises import check
from aiayn_course.lab.claims.head_jobs import solve
from aiayn_course.lab.learning import small_model
from aiayn_np import CopyTask

# %% [markdown]
# ## What to write
#
# Is a head needed? Mute it: put something in the place of its output, and see what breaks (Lesson 11.6). What stands there
# instead may be zeros. But a head often brings something that is the same everywhere, and the layers after it count on that. So
# one also puts the head's mean there.
#
# `muted(heads, W_O, head, *, real=None)`: `heads` (B, h, T, d_v) are the outputs of all heads, `W_O` (h d_v, d_model) is $W^O$.
# Return $\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\,W^O$, of shape (B, T, d_model), in which something else stands in the
# place of the output of head number `head`, counted from 0:
#
# - zeros, if `real` is `None`;
# - else the **mean** of this head's output, (d_v,), at every position. The mean is over all positions of all sequences where `real` (B, T)
#   is True: a token and no padding. Each of them counts once.
#
# Nothing that is given is changed.
#
# **Derive first.** The product with $W^O$ is a sum of $h$ products. Which rows of $W^O$ belong to head $i$?
#
# **Try first.** `muted(np.array([[[[2.0]], [[5.0]]]]), np.array([[1.0], [10.0]]), 1)` must give `[[[2]]]`: of 2 · 1 + 5 · 10 the second term
# is gone. And `muted(np.array([[[[2.0], [4.0], [9.0]]]]), np.ones((1, 1)), 0, real=np.array([[True, True, False]]))` must
# give `[[[3], [3], [3]]]`.


# %%
def muted(heads, W_O, head, *, real=None):
    """heads (B, h, T, d_v), W_O (h d_v, d_model) -> (B, T, d_model)"""
    raise NotImplementedError("not written yet: muted")


# %% [markdown]
# ## Is it right?
#
# Run this as often as you like. The report shows your numbers beside the right ones, where they
# part, and asks a question that leads to the mistake. For help: `check(muted, hint=1)` names the
# likely cause, `hint=2` shows your line beside the right one, and `hint=3` derives it.

# %%
report = check(muted)
report.show()

# %% [markdown]
# ## Now mute heads of a model
#
# A model learns to copy, in some seconds. How far does the output of its last attention move, on average over positions,
# when a head is muted by zeros, and when by its mean?

# %%
if report:
    task = CopyTask(symbols=6, max_length=6)
    model = small_model(task, 0, N=2, h=4)
    solve(model, task, 0, steps=1000)
    src, tgt_in, _ = task.test(300)
    attention = model.decoder.layers[1].cross_attention
    cache = model.forward(src, tgt_in)[1].decoder.layers[1].cross_attention.attention
    heads, W_O = cache.weights @ cache.V, attention.linear_O.W.value   # (B, h, T, d_v)
    real = tgt_in != task.pad
    whole = heads.swapaxes(1, 2).reshape(*real.shape, -1) @ W_O
    for head in range(4):
        for name, given in (("zeros", None), ("mean", real)):
            moved = np.linalg.norm(muted(heads, W_O, head, real=given) - whole, axis=-1)[real].mean()
            print(f"head {head + 1}, {name:5}: {moved:.2f}")
