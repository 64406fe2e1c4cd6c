# %% [markdown]
# # Exercise 3 · The linear map and its three gradients
#
# | | |
# |---|---|
# | **Write** | `Linear` |
# | **You have to find** | forward with any number of axes in front, and the gradients of x, W and b |
# | **Paper** | Section 3.2.2, 3.3 |
# | **Explained in** | Lesson 4.1 |
# | **Time** | 20 minutes |
# | **Rules of a layer** | Any number of axes may stand in front. Nothing that a method is given is changed. backward takes what it needs from its cache, not from self. float32 in gives float32 out. |

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
import math

import numpy as np

from aiayn_course.exercises import check, train_with
from aiayn_np import Cache, Module, Parameter

# %% [markdown]
# ## What to write
#
# $$y = x\,W + b$$
#
# with `x` of shape (..., d_in), any number of axes in front; `W` (d_in, d_out); `b` (d_out,), or
# `None` where the layer has no bias, as in the projections of attention.
#
# - `forward(x)` returns `y` and a cache.
# - `backward(grad_y, cache)` adds to `self.W.grad` and `self.b.grad`, and returns `grad_x`.
#
# **Derive first**, index by index: $y_n = \sum_m x_m W_{mn} + b_n$ at every position. By which
# outputs does $L$ depend on $x_m$? On $W_{mn}$? On $b_n$? The two last serve every position of
# every sequence of the batch.


# %%
class Linear(Module):
    def __init__(self, d_in, d_out, *, bias=True, rng):
        self.d_in, self.d_out = d_in, d_out
        limit = math.sqrt(6 / (d_in + d_out))
        self.W = Parameter(rng.uniform(-limit, limit, (d_in, d_out)))
        self.b = Parameter(np.zeros(d_out)) if bias else None

    def forward(self, x):
        """x (..., d_in) -> y (..., d_out); and a cache."""
        raise NotImplementedError("not written yet: Linear.forward")

    def backward(self, grad_y, cache):
        """grad_y (..., d_out) -> grad_x (..., d_in); adds to W.grad and b.grad."""
        raise NotImplementedError("not written yet: Linear.backward")


# %% [markdown]
# ## Is it right?

# %%
report = check(Linear)
report.show()

# %% [markdown]
# ## Now train with it
#
# All parameters of a Transformer but its embedding and its norms are in layers like yours.

# %%
if report:
    print(train_with(Linear))
