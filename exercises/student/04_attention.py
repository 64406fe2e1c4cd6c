# %% [markdown]
# # Exercise 4 · Scaled dot-product attention
#
# | | |
# |---|---|
# | **Write** | `ScaledDotProductAttention` |
# | **You have to find** | the four boxes of the figure in order, and their backward in reverse order |
# | **Paper** | Section 3.2.1, Eq. 1, Fig. 2 left |
# | **Explained in** | Lesson 4 |
# | **Time** | 60 minutes |

# %%
import importlib.util
import subprocess
import sys
from pathlib import Path

if importlib.util.find_spec("aiayn_np") is None:  # on a hosted notebook service: one pip install
    if "ipykernel" not in sys.modules or not Path("../../pyproject.toml").exists():
        raise ImportError("aiayn_np is missing: pip install it from a copy of the whole project")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "../.."], check=True)

# %%
import math

from aiayn_np import Cache, Mask, Module, Softmax
from aiayn_np.exercises import check, train_with

# %% [markdown]
# ## What to write
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\left(\frac{Q K^T}{\sqrt{d_k}}\right) V$$
#
# for `Q` (..., T_q, d_k), `K` (..., T_k, d_k), `V` (..., T_k, d_v), with any number of axes in
# front (batch, heads). The boxes of Figure 2 from below to above: MatMul, Scale, Mask, SoftMax,
# MatMul. `Mask` and `Softmax` are given, as layers: their `forward` returns a result and a cache,
# their `backward` takes that cache. (You write `Mask` yourself in the next exercise.)
#
# `backward(grad_out, cache)` returns `grad_Q, grad_K, grad_V`. `rng` is for dropout on the weights,
# which the paper does not have: leave it unused.
#
# **Derive first.** Go through the forward from its last line to its first. For each product
# $A = B\,C$: $\mathrm{grad\_B} = \mathrm{grad\_A}\,C^T$ and $\mathrm{grad\_C} =
# B^T\,\mathrm{grad\_A}$. `X.mT` swaps the last two axes only.


# %%
class ScaledDotProductAttention(Module):
    def __init__(self, P_drop=0.0):
        self.mask = Mask()
        self.softmax = Softmax()

    def forward(self, Q, K, V, *, allowed=None, rng=None):
        """(..., T_q, d_v), and a cache. allowed: bool, True where query i may look at key j."""
        raise NotImplementedError("not written yet: ScaledDotProductAttention.forward")

    def backward(self, grad_out, cache):
        """grad_out (..., T_q, d_v) -> grad_Q, grad_K, grad_V"""
        raise NotImplementedError("not written yet: ScaledDotProductAttention.backward")


# %% [markdown]
# ## Is it right?

# %%
report = check(ScaledDotProductAttention)
print(report)

# %% [markdown]
# ## Now train with it
#
# It stands in the model six times: in each of two layers of encoder and decoder, and between them.

# %%
if report:
    print(train_with(ScaledDotProductAttention))
