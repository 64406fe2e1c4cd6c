# %% en="3b910351"
import numpy as np

from aiayn_np.exercises import check, train_with

# %% [markdown] en="66c58d7f"
# ## 要写什么
#
# Adam 为每个参数保存两个滑动平均，并用一个除以另一个的平方根：
#
# $$m \leftarrow \beta_1 m + (1 - \beta_1)\, g, \qquad
# v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2, \qquad
# \theta \leftarrow \theta - \mathrm{rate} \cdot \frac{\hat m}{\sqrt{\hat v} + \mathrm{eps}}$$
#
# 两者都从零开始，所以要用 $\hat m = m / (1 - \beta_1^t)$ 和 $\hat v = v / (1 - \beta_2^t)$，其中步数 $t = 1, 2, \dots$。第 $t$ 步的学习率（公式 3）是
#
# $$d_\mathrm{model}^{-0.5} \cdot \min(\mathrm{step}^{-0.5},\;
# \mathrm{step} \cdot \mathrm{warmup\_steps}^{-1.5})$$
#
# - `Adam(parameters).step(rate)` 读出每个 `p.grad`，就地写入 `p.value`。它不把梯度清零。这一次，`__init__` 也由你来写。
# - `warmup_rate(step, d_model, warmup_steps)` 返回一个数；第一步的编号是 1。


# %% en="bc5f5b13"
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
        """按梯度就地移动每个参数。"""
        ### solution: Adam.step
        self.t += 1
        for m, v, p in zip(self.m, self.v, self.parameters):
            m += (1 - self.beta_1) * (p.grad - m)
            v += (1 - self.beta_2) * (p.grad**2 - v)
            m_hat, v_hat = m / (1 - self.beta_1**self.t), v / (1 - self.beta_2**self.t)
            p.value -= rate * m_hat / (np.sqrt(v_hat) + self.eps)
        ### end


def warmup_rate(step, d_model, warmup_steps):
    """公式 3 的学习率，step = 1, 2, ..."""
    ### solution: warmup_rate
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)
    ### end


# %% [markdown] en="d6eac6a4"
# ## 写对了吗？

# %% en="82f3c97c"
reports = [check(Adam), check(warmup_rate)]
print(*reports, sep="\n\n")

# %% [markdown] en="dde6b2dc"
# ## 用它们来训练

# %% en="4d578146"
if all(reports):
    print(train_with(Adam, warmup_rate))
