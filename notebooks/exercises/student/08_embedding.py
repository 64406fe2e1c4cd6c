# %% [markdown]
# # Exercise 8 · Embedding and the shared matrix
#
# | | |
# |---|---|
# | **Write** | `Embedding`, `OutputProjection` |
# | **You have to find** | a look-up whose gradient adds up over repeated ids, and the projection that shares its matrix |
# | **Paper** | Section 3.4 |
# | **Explained in** | Lesson 8.5, 9.6 |
# | **Time** | 30 minutes, estimated |
# | **Rules of a layer** | Any number of axes may stand in front. Nothing that a method is given is changed. backward takes what it needs from its cache, not from self. float32 in gives float32 out. |

# %%
import aiayn_np  # if this fails: README.md of the lessons says how to install it

# %%
import math

import numpy as np

from aiayn_course.exercises import check, train_with
from aiayn_np import Cache, Module, Parameter

# %% [markdown]
# ## What to write
#
# $$y = \sqrt{d_\mathrm{model}}\; E[\mathrm{ids}], \qquad \mathrm{logits} = x\,E^T$$
#
# One matrix `E` (vocab_size, d_model) embeds the source, embeds the target, and projects to the
# logits (Section 3.4).
#
# - `Embedding.forward(ids)` looks up rows of `E`. Its `backward` adds to `self.E.grad` and returns
#   `None`: ids have no gradient. The same id may occur many times in a batch.
# - `OutputProjection(E)` gets the very Parameter of the embedding. Its `backward` adds to the same
#   `E.grad`, and returns `grad_x`.
#
# **Derive first.** Row $v$ of $E$ was used wherever `ids == v`. What is the sum of all it did?
#
# **Try first.** `layer = Embedding(3, 4, rng=np.random.default_rng(0)); layer.E.value[...] = 1; layer(np.array([2]))` must give `[[2, 2, 2, 2]]`:
# the root of d_model = 4 is 2.


# %%
class Embedding(Module):
    def __init__(self, vocab_size, d_model, *, rng):
        self.vocab_size, self.d_model = vocab_size, d_model
        self.E = Parameter(rng.normal(0, 1 / math.sqrt(d_model), (vocab_size, d_model)))

    def forward(self, ids):
        """ids (...) -> y (..., d_model); and a cache."""
        raise NotImplementedError("not written yet: Embedding.forward")

    def backward(self, grad_y, cache):
        """Adds to E.grad; returns None."""
        raise NotImplementedError("not written yet: Embedding.backward")


class OutputProjection(Module):
    def __init__(self, E):
        self.E = E

    def forward(self, x):
        """x (..., d_model) -> logits (..., vocab_size); and a cache."""
        raise NotImplementedError("not written yet: OutputProjection.forward")

    def backward(self, grad_logits, cache):
        """grad_logits (..., vocab_size) -> grad_x (..., d_model); adds to E.grad."""
        raise NotImplementedError("not written yet: OutputProjection.backward")


# %% [markdown]
# ## Is it right?
#
# Run this as often as you like. The report shows your numbers beside the right ones, where they
# part, and asks a question that leads to the mistake. For help: `check(Embedding, hint=1)` names the
# likely cause, `hint=2` shows your line beside the right one, and `hint=3` derives it.

# %%
reports = [check(Embedding), check(OutputProjection)]
for report in reports:
    report.show()

# %% [markdown]
# ## Now train with them
#
# In the model, three layers share one `E`. If one of the three uses is lost, the gradients differ.

# %%
if all(reports):
    print(train_with(Embedding, OutputProjection))
