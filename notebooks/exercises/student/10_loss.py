# %% [markdown]
# # Exercise 10 · Cross-entropy with label smoothing
#
# | | |
# |---|---|
# | **Write** | `LabelSmoothedCrossEntropy` |
# | **You have to find** | a log-softmax that does not overflow, the smoothed target, the mean over real targets, and p - q |
# | **Paper** | Section 5.4 |
# | **Explained in** | Lesson 10.2 |
# | **Time** | 45 minutes, estimated |
# | **Rules of a layer** | Any number of axes may stand in front. Nothing that a method is given is changed. backward takes what it needs from its cache, not from self. float32 in gives float32 out. |

# %%
import aiayn_np  # if this fails: README.md of the lessons says how to install it

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
# - `forward(logits, *, targets)`, logits (..., V), targets (...) ids, gives one number (a float, or an array without axes) and a cache.
#   Targets that equal `self.pad` do not count, neither in the sum nor in the count that it is divided by;
#   one target at least is real.
# - `backward(grad_loss, cache)` gets one number (1 in training) and returns `grad_logits`.
#
# Logits may be large: $\log p$ must not be made by a logarithm of a softmax that underflows.
#
# **Derive first.** $\log p_v = z_v - \log \sum_u \exp z_u$, and $q$ sums to 1. The gradient by
# $z_u$ at one position has two terms. What does the mean do to it?
#
# **Try first.** `LabelSmoothedCrossEntropy()(np.zeros((2, 4)), targets=np.array([1, 0]))` must give `1.3863`: four classes that are equally
# probable cost ln 4, whatever eps_ls is, and the second target is padding.


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
#
# Run this as often as you like. The report shows your numbers beside the right ones, where they
# part, and asks a question that leads to the mistake. For help: `check(LabelSmoothedCrossEntropy, hint=1)` names the
# likely cause, `hint=2` shows your line beside the right one, and `hint=3` derives it.

# %%
report = check(LabelSmoothedCrossEntropy)
report.show()

# %% [markdown]
# ## Now train with it

# %%
if report:
    print(train_with(LabelSmoothedCrossEntropy))
