# %% [markdown]
# # Exercise 10 · Cross-entropy with label smoothing
#
# | | |
# |---|---|
# | **Write** | `LabelSmoothedCrossEntropy` |
# | **You have to find** | a log-softmax that does not overflow, the smoothed target, the mean over real targets, and p - q |
# | **Paper** | Section 5.4 |
# | **Explained in** | Lesson 10.2 |
# | **Time** | 45 minutes |
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
import numpy as np

from aiayn_course.exercises import check, train_with
from aiayn_np import Cache, Module

# %% [markdown]
# ## What to write
#
# $$\mathrm{loss} = \text{mean over real targets of } -\sum_v q_v \log p_v, \qquad
# p = \mathrm{softmax}(\mathrm{logits}), \qquad
# q_v = (1 - \varepsilon_{ls})\,[v = \mathrm{target}] + \varepsilon_{ls} / V$$
#
# - `forward(logits, targets=ids)`, logits (..., V), ids (...), gives one number (a float, or an array without axes) and a cache.
#   Targets that equal `self.pad` do not count, neither in the sum nor in the count that it is divided by;
#   one target at least is real.
# - `backward(grad_loss, cache)` gets one number (1 in training) and returns `grad_logits`.
#
# Logits may be large: $\log p$ must not be made by a logarithm of a softmax that underflows.
#
# **Derive first.** $\log p_v = z_v - \log \sum_u \exp z_u$, and $q$ sums to 1. The gradient by
# $z_u$ at one position has two terms. What does the mean do to it?


# %%
class LabelSmoothedCrossEntropy(Module):
    def __init__(self, eps_ls=0.1, pad=0):
        self.eps_ls, self.pad = eps_ls, pad

    def forward(self, logits, *, targets):
        """logits (..., V), targets (...) -> the loss, a number; and a cache."""
        raise NotImplementedError("not written yet: LabelSmoothedCrossEntropy.forward")

    def backward(self, grad_loss, cache):
        """grad_loss, a number -> grad_logits (..., V)"""
        raise NotImplementedError("not written yet: LabelSmoothedCrossEntropy.backward")


# %% [markdown]
# ## Is it right?

# %%
report = check(LabelSmoothedCrossEntropy)
report.show()

# %% [markdown]
# ## Now train with it

# %%
if report:
    print(train_with(LabelSmoothedCrossEntropy))
