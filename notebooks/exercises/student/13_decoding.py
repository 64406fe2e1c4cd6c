# %% [markdown]
# # Exercise 13 · Greedy decoding
#
# | | |
# |---|---|
# | **Write** | `greedy_decode` |
# | **You have to find** | a loop that feeds the model its own output, with rows that end at different times |
# | **Paper** | Section 3.1, 6.1 |
# | **Explained in** | Lesson 5.7, 10.9 |
# | **Time** | 30 minutes, estimated |

# %%
import aiayn_np  # if this fails: README.md of the lessons says how to install it

# %%
import numpy as np

from aiayn_course.exercises import check, train_with
from aiayn_np import not_padding

# %% [markdown]
# ## What to write
#
# A loop that asks the model for one more token again and again, and always takes the most probable
# one (of equal ones the first, as argmax does). The model has
#
# - `model.encode(src)`, which returns `memory, cache`: once for all steps;
# - `model.decode(tgt, memory, memory_allowed=mask)`, which returns `logits, cache`. Logits are
#   (B, length of tgt, V): those at position t predict the token after `tgt[:, t]`. `mask` says
#   which source tokens are real: `not_padding(src, model.pad)`;
# - `model.pad` and `model.max_len`, the most tokens that `tgt` may have.
#
# `src` holds a batch of sources, (B, T_src). Return integer ids (B, L):
#
# - **without** bos; each row with its eos, if it was written, and after that `model.pad`;
# - L is the length of the longest row: stop when all rows have ended, or after `max_len` tokens, bos not counted (0 gives (B, 0));
# - a pad that the model itself takes ends no row;
# - `max_len=None` means T_src + 50 (Section 6.1), or `model.max_len` if that is less.
#
# If one row writes 5, 7 and eos, and another five tokens, the first one is `5 7 eos pad pad`.
#
# **Try first.** A model that always writes 5: `from types import SimpleNamespace as Model; five = Model(pad=0, max_len=9, encode=lambda src: (src, None), decode=lambda tgt, memory, *, memory_allowed: (np.eye(7)[np.full(tgt.shape, 5)], None)); greedy_decode(five, np.array([[3, 4]]), bos=1, eos=2, max_len=3)` must give `[[5, 5, 5]]`.


# %%
def greedy_decode(model, src, *, bos, eos, max_len=None):
    """ids (B, L), L <= max_len, for sources src (B, T_src)"""
    raise NotImplementedError("not written yet: greedy_decode")


# %% [markdown]
# ## Is it right?
#
# Run this as often as you like. The report shows your numbers beside the right ones, where they
# part, and asks a question that leads to the mistake. For help: `check(greedy_decode, hint=1)` names the
# likely cause, `hint=2` shows your line beside the right one, and `hint=3` derives it.

# %%
report = check(greedy_decode)
report.show()

# %% [markdown]
# ## Now decode with it
#
# A model learns to copy, and your function and the library's decode what it learned.

# %%
if report:
    print(train_with(greedy_decode, steps=300))
