# %%
import numpy as np

from aiayn_course.exercises import check, train_with
from aiayn_np import Parameter  # noqa: F401, for your trials

# %% [markdown]
# ## What to write
#
# Adam keeps two running means for every parameter and divides one by the root of the other:
#
# $$m \leftarrow \beta_1 m + (1 - \beta_1)\, g, \qquad
# v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2, \qquad
# \theta \leftarrow \theta - \mathrm{rate} \cdot \frac{\hat m}{\sqrt{\hat v} + \mathrm{eps}}$$
#
# with $\hat m = m / (1 - \beta_1^t)$ and $\hat v = v / (1 - \beta_2^t)$ at step $t = 1, 2, \dots$,
# since both begin at zero. And the rate of step $t$ (Equation 3) is
#
# $$d_\mathrm{model}^{-0.5} \cdot \min(\mathrm{step}^{-0.5},\;
# \mathrm{step} \cdot \mathrm{warmup\_steps}^{-1.5})$$
#
# - `Adam(parameters).step(rate)` reads every `p.grad` and writes into the array `p.value`: `p.value = ...` makes
#   another one, which layers that hold the first do not see. It does
#   not clear the gradients. Here `__init__` is yours, too.
# - `warmup_rate(step, d_model, warmup_steps)` returns a number; the first step is number 1.
#
# **Try first.** `p = Parameter(np.zeros(2)); p.grad[...] = [5, -0.1]; Adam([p]).step(0.01); p.value` must give `[-0.01, 0.01]`: the first step moves
# every entry by the rate, against the sign of its gradient. `warmup_rate(1, 4, 100)` must give `0.0005`.


# %%
class Adam:
    def __init__(self, parameters, *, beta_1=0.9, beta_2=0.98, eps=1e-9):
        self.parameters = list(parameters)
        self.beta_1, self.beta_2, self.eps = beta_1, beta_2, eps
        ### solution: Adam.__init__
        self.t = 0
        self.m = [np.zeros_like(p.value) for p in self.parameters]
        self.v = [np.zeros_like(p.value) for p in self.parameters]
        ### end

    def step(self, rate):
        """Move every parameter by its gradient, in place."""
        ### solution: Adam.step
        self.t += 1
        for m, v, p in zip(self.m, self.v, self.parameters):
            m += (1 - self.beta_1) * (p.grad - m)
            v += (1 - self.beta_2) * (p.grad**2 - v)
            m_hat, v_hat = m / (1 - self.beta_1**self.t), v / (1 - self.beta_2**self.t)
            p.value -= rate * m_hat / (np.sqrt(v_hat) + self.eps)
        ### end


def warmup_rate(step, d_model, warmup_steps):
    """The rate of Eq. 3 at step = 1, 2, ..."""
    ### solution: warmup_rate
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)
    ### end


# %% [markdown]
# ## Is it right?
#
# Run this as often as you like. The report shows your numbers beside the right ones, where they
# part, and asks a question that leads to the mistake. For help: `check(Adam, hint=1)` names the
# likely cause, `hint=2` shows your line beside the right one, and `hint=3` derives it.

# %%
reports = [check(Adam), check(warmup_rate)]
for report in reports:
    report.show()

# %% [markdown]
# ## Now train with them

# %%
if all(reports):
    print(train_with(Adam, warmup_rate))
