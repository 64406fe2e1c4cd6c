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
    ### solution: greedy_decode
    max_len = min(src.shape[1] + 50, model.max_len) if max_len is None else max_len
    memory, _ = model.encode(src)
    memory_allowed = not_padding(src, model.pad)
    tgt = np.full((len(src), 1), bos)
    ended = np.zeros(len(src), dtype=bool)
    for _ in range(max_len):
        logits, _ = model.decode(tgt, memory, memory_allowed=memory_allowed)
        token = np.where(ended, model.pad, logits[:, -1].argmax(axis=-1))
        tgt = np.concatenate([tgt, token[:, None]], axis=1)
        ended |= token == eos
        if ended.all():
            break
    return tgt[:, 1:]
    ### end


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
