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
        ### solution: EncoderLayer.forward
        c = Cache()
        attended, c.self_attention = self.self_attention.forward(x, x, x, allowed=allowed, rng=rng)
        x, c.add_norm_1 = self.add_norm_1.forward(x, attended, rng=rng)
        fed, c.feed_forward = self.feed_forward.forward(x)
        y, c.add_norm_2 = self.add_norm_2.forward(x, fed, rng=rng)
        return y, c
        ### end

    def backward(self, grad_y, cache):
        """grad_y (..., T, d_model) -> grad_x"""
        ### solution: EncoderLayer.backward
        grad_x, grad_fed = self.add_norm_2.backward(grad_y, cache.add_norm_2)
        grad_x = grad_x + self.feed_forward.backward(grad_fed, cache.feed_forward)
        grad_x, grad_attended = self.add_norm_1.backward(grad_x, cache.add_norm_1)
        return grad_x + sum(self.self_attention.backward(grad_attended, cache.self_attention))
        ### end


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
