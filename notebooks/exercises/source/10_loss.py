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
        ### solution: LabelSmoothedCrossEntropy.forward
        shifted = logits - logits.max(axis=-1, keepdims=True)
        log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
        q = np.full(logits.shape, self.eps_ls / logits.shape[-1], dtype=logits.dtype)
        at_target = np.take_along_axis(q, targets[..., None], axis=-1) + (1 - self.eps_ls)
        np.put_along_axis(q, targets[..., None], at_target, axis=-1)
        real = (targets != self.pad)[..., None]
        count = int(real.sum())
        loss = -np.where(real, q * log_p, 0).sum() / count
        return loss, Cache(log_p=log_p, q=q, real=real, count=count)
        ### end

    def backward(self, grad_loss, cache):
        """grad_loss, a number -> grad_logits (..., V)"""
        ### solution: LabelSmoothedCrossEntropy.backward
        p_minus_q = np.exp(cache.log_p) - cache.q
        return np.where(cache.real, p_minus_q, 0) * (grad_loss / cache.count)
        ### end


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
