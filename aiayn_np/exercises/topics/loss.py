"""Exercise 10: cross-entropy with label smoothing, over real targets only."""

import numpy as np

from ...loss import LabelSmoothedCrossEntropy
from ..exercise import Case, exercise, layer

EXERCISE = exercise(
    10, "loss", "Cross-entropy with label smoothing", section="5.4", lesson="10.2", minutes=45,
    asks="a log-softmax that does not overflow, the smoothed target, the mean over real targets,"
         " and p - q",
)

LOSS = layer(
    EXERCISE, LabelSmoothedCrossEntropy,
    "log p = logits - max - log(sum(exp(logits - max))). Of each position,"
    " -sum_v q_v log p_v with q = (1 - eps_ls) at the target plus eps_ls / V everywhere. Then the"
    " mean over the positions whose target is not pad.",
    "log p_v = z_v - log sum_u exp(z_u). Derive d(-sum_v q_v log p_v) / dz_u, and use that q sums"
    " to 1. What does the mean do to it, and what comes from a padded position?",
    "d loss / dz_u = p_u - q_u at every real position, divided by the number of real positions,"
    " times grad_loss; 0 at padded ones.",
)
LOSS.made_like = lambda cls, ours: cls(ours.eps_ls, ours.pad)


def smoothed(*arguments):
    """Make a loss with this smoothing."""
    return lambda cls: cls(*arguments)


@LOSS.tried_on
def cases(rng):
    targets = np.array([[3, 1, 4, 0], [5, 2, 0, 0], [6, 6, 1, 2]])
    logits, sizes = 2 * rng.standard_normal((3, 4, 7)), dict(B=3, T=4, V=7, real=9, positions=12)
    far, few = 500 * rng.standard_normal((2, 3, 5)), np.array([[1, 2, 3], [4, 2, 0]])
    return [
        Case("eps_ls = 0.1, padding", smoothed(), (logits,), dict(targets=targets), sizes),
        Case("eps_ls = 0.3, padding", smoothed(0.3), (-logits,), dict(targets=targets), sizes),
        Case("eps_ls = 0", smoothed(0.0), (logits,), dict(targets=targets), special=True),
        Case("logits around 1 000", smoothed(0.1), (1e3 + logits,), dict(targets=targets),
             special=True),
        Case("rows 10 000 apart", smoothed(0.1), (logits + 1e4 * np.arange(3)[:, None, None],),
             dict(targets=targets), special=True),
        Case("logits far apart", smoothed(0.1), (far,), dict(targets=few), special=True),
        Case("pad = 2", smoothed(0.2, 2), (logits,), dict(targets=targets), special=True),
    ]


def log_softmax(logits, subtract=True):
    """log p; the largest logit of each row is subtracted first, or not."""
    shifted = logits - logits.max(axis=-1, keepdims=True) if subtract else logits
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def smooth(one_hot, eps_ls):
    return (1 - eps_ls) * one_hot + eps_ls / one_hot.shape[-1]


def on_the_others(one_hot, eps_ls, others):
    """1 - eps_ls on the target, and nothing of the mass."""
    return np.where(one_hot > 0, 1 - eps_ls, eps_ls / others)


LOG_P = [
    log_softmax,
    ("overflow", "exp overflows for large logits. Subtract the largest of each row first.",
     lambda z: np.log(np.exp(z) / np.exp(z).sum(axis=-1, keepdims=True))),
    ("overflow", "exp overflows for large logits: log p = z - max - log(sum(exp(z - max))), with"
     " the largest logit of each row.", lambda z: log_softmax(z, subtract=False)),
    ("logarithm of 0", "log(softmax) is -inf or inexact where a probability underflows. Take the"
     " logarithm apart: log p = z - max - log(sum(exp(z - max))).",
     lambda z: np.log(np.exp(log_softmax(z)))),
]
GUARDED = ("A small number is added to p against log(0), and changes the loss. With log p = z - max"
           " - log(sum(exp(z - max))) nothing needs to be guarded.")
for eps in (1e-9, 1e-12, 1e-8, 1e-10, 1e-7, 1e-6, 1e-15):
    LOG_P.append(("log(p + eps)", GUARDED, lambda z, eps=eps: np.log(np.exp(log_softmax(z)) + eps)))
Q = [
    smooth,
    ("smoothing missing", "There is no smoothing: q is 1 at the target. It must be 1 - eps_ls"
     " there, plus eps_ls / V everywhere.", lambda one_hot, eps_ls: one_hot),
    ("smoothing over V - 1", "The mass is eps_ls / (V - 1) on the other classes. Here it is"
     " eps_ls / V on all of them, the target too (Szegedy et al.).",
     lambda one_hot, eps_ls: on_the_others(one_hot, eps_ls, one_hot.shape[-1] - 1)),
    ("smoothing over V - 1", "The mass is eps_ls / (V - 1). It must be eps_ls / V on each of the V"
     " classes.",
     lambda one_hot, eps_ls: (1 - eps_ls) * one_hot + eps_ls / (one_hot.shape[-1] - 1)),
    ("smoothing on the others only", "The target gets no share of the smoothing mass. All V classes"
     " get eps_ls / V, the target too.",
     lambda one_hot, eps_ls: on_the_others(one_hot, eps_ls, one_hot.shape[-1])),
    ("q does not sum to 1", "The target keeps the whole 1. It must be 1 - eps_ls, so that q sums to"
     " 1.", lambda one_hot, eps_ls: one_hot + eps_ls / one_hot.shape[-1]),
    ("smoothing mass not divided", "Every class gets eps_ls. It must be eps_ls / V.",
     lambda one_hot, eps_ls: (1 - eps_ls) * one_hot + eps_ls),
    ("eps_ls exchanged", "eps_ls and 1 - eps_ls are exchanged: the target gets 1 - eps_ls.",
     lambda one_hot, eps_ls: smooth(one_hot, 1 - eps_ls)),
]
MEAN = [
    lambda losses, real: losses[real].sum() / real.sum(),
    ("mean over pads", "Padded positions count like real ones. They must be left out of the sum and"
     " of the number.", lambda losses, real: losses.mean()),
    ("mean over pads", "Padding is left out of the sum, and yet it is divided by the number of all"
     " positions. Divide by the number of real ones.",
     lambda losses, real: losses[real].sum() / real.size),
    ("mean over pads", "Padding is left out of the number, and not of the sum.",
     lambda losses, real: losses.sum() / real.sum()),
    ("sum instead of mean", "The loss is a sum. It must be a mean over the real targets.",
     lambda losses, real: losses[real].sum()),
    ("mean over the batch", "The sum is divided by the number of sequences. Divide by the number of"
     " real targets.", lambda losses, real: losses[real].sum() / len(real)),
    ("mean of means", "Each sequence is averaged first, and then the sequences: a short one counts"
     " as much as a long one. Take one mean over all real targets.",
     lambda losses, real: (np.where(real, losses, 0).sum(axis=-1) / real.sum(axis=-1)).mean()),
]
SIGN = [-1, ("sign", "The minus is missing: log p is negative, and the loss -sum q log p"
             " positive.", 1)]


@LOSS.family("forward", log_p=LOG_P, q=Q, mean=MEAN, sign=SIGN)
def value(layer, logits, targets, *, log_p, q, mean, sign):
    one_hot = np.eye(logits.shape[-1])[targets]
    losses = (q(one_hot, layer.eps_ls) * log_p(logits)).sum(axis=-1)
    return sign * mean(losses, targets != layer.pad)


P = [
    lambda logits: np.exp(log_softmax(logits)),
    ("logits instead of p", "It is logits - q. It must be softmax(logits) - q.", lambda z: z),
    ("p missing", "p is not there: the gradient is p - q.", lambda z: 0 * z),
]
BACK_Q = [
    smooth,
    ("smoothing missing in backward", "backward uses the target without smoothing. It must be the"
     " same q as in forward.", lambda one_hot, eps_ls: one_hot),
    ("q missing", "q is not subtracted: the gradient is p - q.", lambda one_hot, _: 0 * one_hot),
    ("sign of q", "q is added. The gradient is p - q.", lambda *q: -smooth(*q)),
]
NUMBER = [
    lambda real: real.sum(),
    ("not divided by the number", "The loss is a mean, and this is the gradient of a sum: divide by"
     " the number of real targets.", lambda real: 1.0),
    ("divided by all positions", "It is divided by the number of all positions. Divide by that of"
     " the real ones, as in forward.", lambda real: real.size),
    ("mean over the batch", "It is divided by the number of sequences. Divide by that of the real"
     " targets.", len),
]
PADDING = [True, ("padding in backward", "Padded positions get a gradient. The loss does not depend"
                  " on them: 0.", False)]
GRAD_LOSS = [True, ("grad_loss forgotten", "grad_loss is not multiplied in. It is 1 in training,"
                    " and need not be 1 here.", False)]


@LOSS.family("backward", p=P, q=BACK_Q, number=NUMBER, padding=PADDING, grad_loss=GRAD_LOSS)
def gradient(layer, grad_y, logits, targets, *, p, q, number, padding, grad_loss):
    real = targets != layer.pad
    grad = p(logits) - q(np.eye(logits.shape[-1])[targets], layer.eps_ls)
    grad = grad * (grad_y if grad_loss else 1.0) / number(real)
    return dict(grad_logits=np.where(real[..., None], grad, 0.0) if padding else grad)
