"""Bugs of the loss, of Adam and of the warm-up."""

import numpy as np

from aiayn_np.training import optimizer
from aiayn_np.training.loss import LabelSmoothedCrossEntropy
from aiayn_np.training.optimizer import Adam

from ..bug import Wrong, bug

# The right functions, for bugs that change their results.
loss_forward, loss_backward = LabelSmoothedCrossEntropy.forward, LabelSmoothedCrossEntropy.backward
right_rate = optimizer.warmup_rate


@bug(22, "cross-entropy gradient not divided by the token count", LabelSmoothedCrossEntropy,
     seen="rziga/numpy-is-all-you-need", caught_by="gradient: loss")
class NotDivided(Wrong):
    explanation = """
    The loss is a mean, but its gradient is that of a sum. Adam divides by the size of the gradient
    and hides the bug. Plain descent, or clipping of gradients, does not hide it.

    grad_z = p - q    must be    (p - q) / number of real targets
    """

    def backward(self, grad_loss, cache):
        return loss_backward(self, grad_loss, cache) * cache.count


@bug(23, "loss of log(p + eps), with an exact gradient", LabelSmoothedCrossEntropy,
     seen="csd81/attention-is-all-you-need-numpy", caught_by="values: loss")
class LogOfPPlusEps(Wrong):
    explanation = """
    The eps guards against log(0), which cannot happen with log-sum-exp. If the model is surely
    wrong about a token, its loss stops at -log(1e-9) = 20.7, while its gradient does not.

    loss = -sum_v q_v log(p_v + 1e-9)    must be    -sum_v q_v log p_v, whose gradient it has
    """

    def forward(self, logits, *, targets):
        _, cache = loss_forward(self, logits, targets=targets)
        log_p = np.log(np.exp(cache.log_p) + 1e-9)
        log_p_target = np.take_along_axis(log_p, cache.targets[..., None], axis=-1)[..., 0]
        losses = -(1 - self.eps_ls) * log_p_target - self.eps_ls * log_p.mean(axis=-1)
        return np.where(cache.real, losses, 0.0).sum() / cache.count, cache


@bug(32, "smoothing mass on padding, in the loss only", LabelSmoothedCrossEntropy,
     caught_by="gradient: loss")
class NoMassOnPadding(Wrong):
    explanation = """
    The loss spreads eps_ls over all V classes. The gradient leaves out the class of padding, which
    is never a target. Either choice is right if loss and gradient make the same one.

    q_pad = 0 in backward    must be    eps_ls / V, as in forward
    """

    def backward(self, grad_loss, cache):
        grad_logits = loss_backward(self, grad_loss, cache)
        mass = self.eps_ls / grad_logits.shape[-1]
        grad_logits[..., self.pad] += cache.real * mass * grad_loss / cache.count
        return grad_logits


@bug(28, "Adam: second moment with beta_1", Adam, caught_by="training: Adam")
class SameBeta(Wrong):
    explanation = """
    The line above was copied. The mean square forgets five times as fast as it should, and the
    correction of its start still uses beta_2, which does not fit.

    v = beta_1 v + (1 - beta_1) grad^2    must be    beta_2 v + (1 - beta_2) grad^2
    """

    def step(self, rate):
        self.t += 1
        for m, v, p in zip(self.m, self.v, self.parameters):
            m += (1 - self.beta_1) * (p.grad - m)
            v += (1 - self.beta_1) * (p.grad * p.grad - v)
            m_hat = m / (1 - self.beta_1**self.t)
            v_hat = v / (1 - self.beta_2**self.t)
            p.value -= rate * m_hat / (np.sqrt(v_hat) + self.eps)


@bug(29, "Adam: bias correction with a wrong t", Adam, seen="AkiRusProd/numpy-transformer",
     caught_by="training: Adam")
class LayerNumberForT(Wrong):
    explanation = """
    t counts the parameters, not the steps. The correction never fades and differs between the
    parameters, so that the first parameters take steps of a wrong size for ever.

    m_hat = m / (1 - beta_1^i) for parameter i    must be    m / (1 - beta_1^t) at step t
    """

    def step(self, rate):
        self.t += 1
        for t, (m, v, p) in enumerate(zip(self.m, self.v, self.parameters), 1):
            m += (1 - self.beta_1) * (p.grad - m)
            v += (1 - self.beta_2) * (p.grad * p.grad - v)
            m_hat = m / (1 - self.beta_1**t)
            v_hat = v / (1 - self.beta_2**t)
            p.value -= rate * m_hat / (np.sqrt(v_hat) + self.eps)


@bug(30, "warm-up step from 0", optimizer, caught_by="training: Eq. (3)")
class StepFromZero(Wrong):
    explanation = """
    With 0^-0.5 this is a division by zero. If that is caught, the first step has rate 0 and every
    other step has the rate of the step before it.

    rate(step - 1)    must be    rate(step), step = 1, 2, ...
    """

    @staticmethod
    def warmup_rate(step, d_model, warmup_steps, scale=1.0):
        return 0.0 if step == 1 else right_rate(step - 1, d_model, warmup_steps, scale)
