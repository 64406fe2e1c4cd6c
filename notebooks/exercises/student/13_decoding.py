# %% [markdown]
# # Exercise 13 · Greedy decoding
#
# | | |
# |---|---|
# | **Write** | `greedy_decode` |
# | **You have to find** | a loop that feeds the model its own output, with rows that end at different times |
# | **Paper** | Section 3.1, 6.1 |
# | **Explained in** | Lesson 5.7, 10.9 |
# | **Time** | 30 minutes |

# %%
import importlib.util
import subprocess
import sys
from pathlib import Path

REPOSITORY = ""  # build.py writes the address here that pyproject.toml gives
if importlib.util.find_spec("aiayn_np") is None:  # on a hosted notebook service: one pip install
    here = Path("../../../pyproject.toml").exists()
    package = "../../.." if here else REPOSITORY and f"git+{REPOSITORY}"
    if "ipykernel" not in sys.modules or not package:
        sys.exit("This exercise needs the package aiayn_np, and it is not installed."
                 " README.md of the lessons says how to install it. Then start again.")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", package], check=True)

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
# `src` holds a batch of sources, (B, T_src). Return integer ids (B, L), **without** bos, each row with its
# eos (if it was written) and after that `model.pad`. L is the length of the longest row. Stop when all rows have ended,
# or after `max_len` tokens, bos not counted (0 gives (B, 0)). A pad that the model itself takes ends no row. `max_len=None` means T_src + 50 (Section 6.1), or `model.max_len` if
# that is less.


# %%
def greedy_decode(model, src, *, bos, eos, max_len=None):
    """ids (B, L), L <= max_len, for sources src (B, T_src)"""
    raise NotImplementedError("not written yet: greedy_decode")


# %% [markdown]
# ## Is it right?

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
