"""Exercise 10: cross-entropy with label smoothing, over real targets only."""

import numpy as np

from aiayn_np.training.loss import LabelSmoothedCrossEntropy

from ..exercise import Case, exercise, layer
from .softmax import NEGATIVE

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


@LOSS.tried_on
def cases(rng):
    targets = np.array([[3, 1, 4, 0], [5, 2, 0, 0], [6, 6, 1, 2]])
    logits, sizes = 2 * rng.standard_normal((3, 4, 7)), dict(B=3, T=4, V=7, real=9, positions=12)
    far, few = 500 * rng.standard_normal((2, 3, 5)), np.array([[1, 2, 3], [4, 2, 0]])
    layer, unsmoothed = LabelSmoothedCrossEntropy(), LabelSmoothedCrossEntropy(0.0)
    return [
        Case("eps_ls = 0.1, padding", layer, (logits,), dict(targets=targets), sizes),
        Case("eps_ls = 0.3, pad = 2", LabelSmoothedCrossEntropy(0.3, 2), (-logits,),
             dict(targets=targets), sizes | dict(real=10)),
        Case("eps_ls = 0", unsmoothed, (logits,), dict(targets=targets), special=True),
        Case("logits around 1 000", layer, (1e3 + logits,), dict(targets=targets), special=True),
        Case("logits around -1 000", layer, (logits - 1e3,), dict(targets=targets), special=True,
             why=NEGATIVE),
        Case("rows 10 000 apart", layer, (logits + 1e4 * np.arange(3)[:, None, None],),
             dict(targets=targets), special=True),
        Case("logits far apart", layer, (far,), dict(targets=few), special=True),
        Case("targets that are certain, eps_ls = 0", unsmoothed, (1e3 * np.eye(7)[targets],),
             dict(targets=targets), special=True, why="Where p is 1, the logarithm is exactly 0."),
        Case("a sequence that is all padding", layer, (logits[..., :6],),
             dict(targets=np.where(np.arange(3)[:, None] == 1, 0, targets) % 6), special=True),
        Case("B = T = V = 4, padding in front", layer, (rng.standard_normal((4, 4, 4)),),
             dict(targets=np.arange(16).reshape(4, 4) % 4), special=True),
    ]


SUM = "np.exp(shifted).sum(axis=-1, keepdims=True)"
LOG_P, P = f"shifted - np.log({SUM})", f"np.exp(shifted) / {SUM}"
Q = "(1 - self.eps_ls) * one_hot + self.eps_ls / V"
LOSSES, MEAN = "-(q * log_p).sum(axis=-1)", "(losses * real).sum() / real.sum()"
PICKED = "-(1 - self.eps_ls) * log_p[..., targets] - self.eps_ls * log_p.mean(axis=-1)"
LARGE = "Subtract the largest logit of each row first: log p = z - max - log(sum(exp(z - max)))."
NUMBER = "Divide by the number of real targets."
TARGETS = (  # q as students often write it
    ("one_hot", "smoothing missing", "There is no smoothing: q is 1 at the target. It must be"
     " 1 - eps_ls at the target, plus eps_ls / V on each of the V classes."),
    ("np.where(one_hot > 0, 1 - self.eps_ls, self.eps_ls / (V - 1))", "smoothing over V - 1",
     "The mass is eps_ls / (V - 1) on the other classes. Here it is eps_ls / V on all of them, the"
     " target too (Szegedy et al.)."),
    ("np.where(one_hot > 0, 1 - self.eps_ls, self.eps_ls / V)", "smoothing on the others only",
     "The target gets no share of the smoothing mass. All V classes get eps_ls / V, the target"
     " too."),
    ("self.eps_ls * one_hot + (1 - self.eps_ls) / V", "eps_ls exchanged", "eps_ls and 1 - eps_ls"
     " are exchanged: the target gets 1 - eps_ls."),
    *((f"(1 - self.eps_ls) * one_hot + self.eps_ls / {number} * (np.arange(V) != self.pad)",
       "pad not smoothed", "The class pad gets no share of the smoothing mass. All V classes get"
       " eps_ls / V, pad too.") for number in ("V", "(V - 1)")),
    *((f"np.where(one_hot > 0, 1 - self.eps_ls, self.eps_ls / {number} * (np.arange(V) !="
       " self.pad))", "pad not smoothed", "The class pad and the target get no share of the"
       " smoothing mass. All V classes get eps_ls / V.") for number in ("V", "(V - 1)", "(V - 2)")),
)


@LOSS.right(
    "forward",
    ("wrong axis", "The softmax runs along the last axis, the classes."),
    (LOG_P, f"np.log({P})", "logarithm of 0", "log(softmax) is -inf or inexact where a probability"
     f" underflows. {LARGE}"),
    (LOG_P, f"np.log({P} + number(1e-9))", "log(p + eps)", "A small number is added to p against"
     f" log(0), and changes the loss. {LARGE}"),
    *((Q, *wrong) for wrong in TARGETS),
    (MEAN, "losses.mean()", "mean over pads", "Padded positions count like real ones. They must be"
     " left out of the sum and of the number."),
    (MEAN, "(losses * real).sum() / real.size", "mean over pads", "Padding is left out of the sum,"
     f" and yet it is divided by the number of all positions. {NUMBER}"),
    (MEAN, "(losses * real).sum() / (V * real.size)", "mean over everything", "It is divided by the"
     f" number of all entries of the logits. {NUMBER}"),
    (MEAN, "(losses * real).sum() / len(real)", "mean over the batch", "The sum is divided by the"
     f" number of sequences. {NUMBER}"),
    (MEAN, "((losses * real).sum(axis=-1) / real.sum(axis=-1)).mean()", "mean of means", "Each"
     " sequence is averaged first, and then the sequences: a short one counts as much as a long"
     " one. Take one mean over all real targets."),
    *((old, new, "all targets everywhere", "log_p[..., targets] picks the classes of all targets at"
       " every position. Each has a target of its own: np.take_along_axis, or a one-hot q.")
      for old, new in ((LOSSES, PICKED),
                       ((LOSSES, MEAN), (PICKED, "losses[real].sum() / real.sum()")))),
    (LOSSES, "(q * (np.log(np.where(q > 0, q, 1)) - log_p)).sum(axis=-1)", "divergence", "This is"
     " the divergence of p from q, with the entropy of q subtracted. The loss is -sum q log p."),
    ("targets != self.pad", "logits.argmax(axis=-1) != self.pad", "padding of the prediction",
     "What the model predicts decides what is real. It must be the target: targets != self.pad."),
    ("pad is fixed", "The id of padding is self.pad, and not always 0."),
)
def right_loss(self, logits, targets):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    V = logits.shape[-1]
    one_hot = np.eye(V)[targets]
    q = (1 - self.eps_ls) * one_hot + self.eps_ls / V
    losses = -(q * log_p).sum(axis=-1)
    real = targets != self.pad
    return (losses * real).sum() / real.sum()


@LOSS.right(
    "backward",
    ("wrong axis", "The softmax runs along the last axis, the classes."),
    ("p - q", "(p - q) / (p * (1 - p))", "divided by p (1 - p)", "It is divided by p (1 - p), as"
     " for a gradient of the probabilities. p - q is that of the logits already."),
    ("real.sum()", "real.size", "divided by all positions", "It is divided by the number of all"
     f" positions. {NUMBER}"),
    ("real.sum()", "len(real)", "mean over the batch", "It is divided by the number of sequences."
     f" {NUMBER}"),
)
def right_gradient(self, grad_loss, logits, targets):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    V, p = logits.shape[-1], np.exp(log_p)
    one_hot = np.eye(V)[targets]
    q = (1 - self.eps_ls) * one_hot + self.eps_ls / V
    real = targets != self.pad
    return {"grad_logits": grad_loss * (p - q) * real[..., None] / real.sum()}
