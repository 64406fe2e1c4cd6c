"""The training loss: softmax and label-smoothed cross-entropy (Sec. 5.4)."""

import numpy as np

from ..checks import check_integers, check_number
from ..module import Cache, Module, Rng
from ..reductions import log_softmax, row_mean
from .checks import check_scalar, check_targets


class LabelSmoothedCrossEntropy(Module):
    """loss = mean over real targets of  -sum_v q_v log p_v            Sec. 5.4; Szegedy et al.

    p = softmax(logits),   q = (1 - eps_ls) 1[v = target] + eps_ls / V over all V classes
    logits (..., V)   targets (...) ids (`pad` does not count)   ->   loss ()

    backward: log p_v = z_v - log sum_u exp(z_u) and q sums to 1, so d loss / d z_v = p_v - q_v at
    each real target, divided by the number of real targets.
    """
    formula = "loss = mean over real targets of  -sum_v q_v log p_v"

    def __init__(self, eps_ls: float = 0.1, pad: int = 0) -> None:
        check_number("eps_ls", eps_ls, 0, 1)
        self.eps_ls, self.pad = float(eps_ls), int(check_integers("pad", pad, ndim=0))

    def forward(self, logits: np.ndarray, *, targets: np.ndarray) -> tuple[float, Cache]:
        targets = check_targets(logits, targets, self.pad)
        log_p = log_softmax(logits)                                    # (..., V)
        log_p_target = np.take_along_axis(log_p, targets[..., None], axis=-1)[..., 0]
        losses = -(1 - self.eps_ls) * log_p_target
        if self.eps_ls > 0:                                            # 0 * -inf would be nan
            losses -= self.eps_ls * row_mean(log_p)[..., 0]
        real = targets != self.pad                                     # (...)
        count = max(int(real.sum()), 1)                                # an empty batch has loss 0
        loss = np.where(real, losses, 0.0).sum() / count
        return loss, Cache(log_p=log_p, targets=targets, real=real, count=count)

    def backward(self, grad_loss: float, cache: Cache) -> np.ndarray:
        grad_loss = check_scalar("grad_loss", grad_loss)
        # losses = -sum_v q_v log p_v
        grad_logits = np.exp(cache.log_p)                              # (..., V)
        grad_logits -= self.eps_ls / grad_logits.shape[-1]
        target = cache.targets[..., None]
        p_minus_q = np.take_along_axis(grad_logits, target, axis=-1) - (1 - self.eps_ls)
        np.put_along_axis(grad_logits, target, p_minus_q, axis=-1)
        # loss = sum(losses where real) / count
        grad_losses = cache.real.astype(grad_logits.dtype) * (grad_loss / cache.count)
        grad_logits *= grad_losses[..., None]                          # 0 for padding
        return grad_logits                                             # (..., V)


class ModelLoss(Module):
    """loss = Loss(Model(src, tgt), targets)

    A model and its loss as one function of the parameters, for the gradient check."""
    formula = "loss = Loss(Model(src, tgt), targets)"

    def __init__(self, model: Module, loss: Module) -> None:
        self.model, self.loss = model, loss

    def forward(self, *ids: np.ndarray, targets: np.ndarray,
                rng: Rng = None) -> tuple[float, Cache]:
        cache = Cache()
        logits, cache.model = self.model.forward(*ids, rng=rng)
        loss, cache.loss = self.loss.forward(logits, targets=targets)
        return loss, cache

    def backward(self, grad_loss: float, cache: Cache) -> None:
        return self.model.backward(self.loss.backward(grad_loss, cache.loss), cache.model)
