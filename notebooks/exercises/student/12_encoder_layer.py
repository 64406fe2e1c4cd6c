# %% [markdown]
# # Exercise 12 · The encoder layer
#
# | | |
# |---|---|
# | **Write** | `EncoderLayer` |
# | **You have to find** | self-attention, Add & Norm, feed-forward, Add & Norm; and a backward that loses none of the uses of x |
# | **Paper** | Section 3.1, Fig. 1 left |
# | **Explained in** | Lesson 7.6 |
# | **Time** | 30 minutes, estimated |
# | **Rules of a layer** | Any number of axes may stand in front. Nothing that a method is given is changed. backward takes what it needs from its cache, not from self. float32 in gives float32 out. |

# %%
import aiayn_np  # if this fails: README.md of the lessons says how to install it

# %%
import numpy as np  # noqa: F401, for your trials

from aiayn_course.exercises import check, train_with
from aiayn_np import AddNorm, Cache, Module, MultiHeadAttention, PositionwiseFeedForward

# %% [markdown]
# ## What to write
#
# The left half of Figure 1, once: self-attention, Add & Norm, feed-forward, Add & Norm.
#
# $$x' = \mathrm{LayerNorm}(x + \mathrm{MultiHead}(x, x, x)), \qquad
# y = \mathrm{LayerNorm}(x' + \mathrm{FFN}(x'))$$
#
# All four parts are given, with their backwards. `AddNorm.forward(x, sublayer_output)` is the sum
# and the norm in one, and its `backward` returns **two** gradients, `grad_x` and
# `grad_sublayer_output`. `MultiHeadAttention.backward` returns **three**. Pass `allowed` to the
# attention, and `rng`, which is for dropout, to it and to both AddNorms. Both are keyword-only, as in the stub.
#
# **Derive first.** An array that is used in several places gets the sum of the gradients of its
# uses. How often is $x$ used, and how often $x'$?
#
# **Try first.** `EncoderLayer(4, 8, 2, rng=np.random.default_rng(0))(np.arange(12.0).reshape(1, 3, 4)).sum(axis=-1).round(6)` must give `[[0, 0, 0]]`: a norm
# comes last, and its gamma is 1 and its beta 0.


# %%
class EncoderLayer(Module):
    def __init__(
        self, d_model, d_ff, h, *, P_drop=0.1, d_k=None, d_v=None, attention=None, rng
    ):
        heads = dict(d_k=d_k, d_v=d_v, attention=attention, rng=rng)
        self.self_attention = MultiHeadAttention(d_model, h, **heads)
        self.add_norm_1 = AddNorm(d_model, P_drop)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff, rng=rng)
        self.add_norm_2 = AddNorm(d_model, P_drop)

    def forward(self, x, *, allowed=None, rng=None):
        """x (..., T, d_model) -> y of the same shape; and a cache."""
        raise NotImplementedError("not written yet: EncoderLayer.forward")

    def backward(self, grad_y, cache):
        """grad_y (..., T, d_model) -> grad_x"""
        raise NotImplementedError("not written yet: EncoderLayer.backward")


# %% [markdown]
# ## Is it right?
#
# Run this as often as you like. The report shows your numbers beside the right ones, where they
# part, and asks a question that leads to the mistake. For help: `check(EncoderLayer, hint=1)` names the
# likely cause, `hint=2` shows your line beside the right one, and `hint=3` derives it.

# %%
report = check(EncoderLayer)
report.show()

# %% [markdown]
# ## Now train with it

# %%
if report:
    print(train_with(EncoderLayer))
