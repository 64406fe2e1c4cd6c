"""Exercise 4: scaled dot-product attention, box by box."""

import math

import numpy as np

from aiayn_np.attention import ScaledDotProductAttention
from aiayn_np.softmax import Softmax

from ..exercise import Case, exercise, layer
from .softmax import NEGATIVE

EXERCISE = exercise(
    4, "attention", "Scaled dot-product attention", section="3.2.1, Eq. 1, Fig. 2 left",
    lesson="4", minutes=60,
    asks="the five boxes of the figure in order, and their backward in reverse order",
)

ATTENTION = layer(
    EXERCISE, ScaledDotProductAttention,
    "In this order: scores = Q K^T (swap the last two axes of K only: K.mT), divide by sqrt(d_k),"
    " put -inf where allowed is False, softmax along the keys, multiply by V. d_k is Q.shape[-1]."
    " Mask and Softmax are given, with their backwards.",
    "Backwards, the last line first. out = weights @ V, so grad_weights = grad_out @ V^T, and"
    " grad_V = weights^T @ grad_out. Then through softmax.backward and mask.backward, with their"
    " caches, to grad_scores; and do not forget the division.",
    "scores_ij = sum_k Q_ik K_jk / sqrt(d_k), so\n"
    "grad_Q_ik = sum_j grad_scores_ij K_jk / sqrt(d_k)\n"
    "grad_K_jk = sum_i grad_scores_ij Q_ik / sqrt(d_k)\n"
    "In NumPy: grad_scores @ K and grad_scores.mT @ Q, both divided by sqrt(d_k).",
)


def masks(rng, B, h, T_q, T_k):
    """Return {name: mask}: masks in which a row or an axis is special."""
    each = rng.random((B, h, T_q, T_k)) < 0.6
    each[..., 1] = True
    last, padded = each[:, :1].copy(), np.ones((B, 1, 1, T_k), dtype=bool)
    last[..., -1], last[..., 0] = True, False
    padded[0, ..., :2] = False
    return {"a mask of four axes": each, "a mask with the last key open": last,
            "padding in front": padded, "one mask for all sequences": each[:1, :1]}


def padding(B, T):
    """Return a mask (B, 1, 1, T) that hides the last two keys of the last sequence."""
    allowed = np.ones((B, 1, 1, T), dtype=bool)
    allowed[-1, ..., -2:] = False
    return allowed


@ATTENTION.tried_on
def cases(rng):
    def arrays(*leading, T_q=3, T_k=5, d_k=4, d_v=6):
        shapes = (T_q, d_k), (T_k, d_k), (T_k, d_v)
        return tuple(rng.standard_normal((*leading, *shape)) for shape in shapes)
    allowed = rng.random((2, 1, 3, 5)) < 0.6
    allowed[..., 0] = True
    nowhere = allowed.copy()
    nowhere[1, 0, 1] = False
    sizes = dict(B=2, h=7, T_q=3, T_k=5, d_k=4, d_v=6)
    negative = np.full((2, 3, 4), 50) + arrays(2)[0] / 50, arrays(2)[1] / 50 - 100
    return [
        Case("Q (2, 7, 3, 4)", None, arrays(2, 7), {}, sizes),
        Case("d_k = 8", None, arrays(2, d_k=8), {}, sizes | dict(d_k=8)),
        Case("a mask", None, arrays(2, 7, d_k=12), dict(allowed=allowed), sizes | dict(d_k=12)),
        Case("a causal mask", None, arrays(3, T_q=5), dict(allowed=np.tri(5, dtype=bool)),
             dict(B=3, T_q=5, T_k=5, d_k=4, d_v=6)),
        Case("two axes, (T, d)", None, arrays(), special=True),
        Case("a mask of three axes", None, arrays(2), dict(allowed=allowed[:, 0]), special=True),
        Case("rng given without dropout", None, arrays(2),
             dict(allowed=allowed[0, 0], rng=np.random.default_rng(2)), special=True),
        Case("a query that may look nowhere", None, arrays(2, 7), dict(allowed=nowhere),
             special=True),
        Case("scores around -10 000", None, (*negative, *arrays(2)[2:]), special=True,
             why=NEGATIVE),
        Case("all are allowed", None, arrays(2), dict(allowed=np.ones((3, 5), dtype=bool)),
             special=True),
        *(Case(what, None, arrays(2, 7), dict(allowed=mask), special=True)
          for what, mask in masks(rng, 2, 7, 3, 5).items()),
        Case("T_q = T_k = d_k = d_v = 4", None, arrays(2, T_q=4, T_k=4, d_v=4), special=True),
        Case("one query and five keys", None, arrays(1, 2, T_q=1), special=True),
        *(Case(what, None, arrays(2, 3, T_q=T_q), dict(allowed=padding(2, 5)), special=True)
          for what, T_q in (("padding, T_q = T_k = 5", 5), ("padding and one query", 1))),
        Case("one key that nobody may look at", None, arrays(2, T_k=1),
             dict(allowed=np.zeros((3, 1), dtype=bool)), special=True),
        Case("d_k = d_v = 1", None, arrays(2, d_k=1, d_v=1), special=True),
    ]


SCORES = "Q @ K.mT / math.sqrt(Q.shape[-1])"
MASKED = "scores if allowed is None else np.where(allowed, scores, -math.inf)"
HIDDEN = "np.where(allowed, scores, -math.inf)"
WEIGHTS = "softmax(masked, axis=-1)"
LARGE = ("large number instead of -inf", "Masked scores get a large negative number, not -inf: a"
         " query that may look nowhere then looks everywhere.")


@ATTENTION.right(
    "forward",
    ("wrong axis", "Each query shares out its weights among the keys, the last axis."),
    (SCORES, "Q @ K.mT / math.sqrt(K.shape[-2])", "scale by the length", "The scores are divided by"
     " the root of the number of keys. It must be the width of a query and a key, d_k."),
    (MASKED, "scores", "mask ignored", "The mask has no effect. Scores where allowed is False must"
     " be -inf before the softmax."),
    (HIDDEN, "np.where(allowed, scores, 0)", "mask with 0", "Masked scores are set to 0, and exp(0)"
     " = 1 is a weight like any other. Set them to -inf."),
    ((MASKED, WEIGHTS), ("scores", "softmax(scores) * (1 if allowed is None else allowed)"),
     "mask after softmax", "The weights are masked, not the scores, and what is left no longer sums"
     " to 1. Mask before the softmax, with -inf."),
    (HIDDEN, "np.where(allowed, scores, number(-1e9))", *LARGE),
    (HIDDEN, "scores + number(-1e9) * ~allowed", *LARGE),
    ((SCORES, WEIGHTS), ("Q @ K.mT", f"{WEIGHTS} / math.sqrt(Q.shape[-1])"),
     "scale after the softmax", "The weights are divided by sqrt(d_k), not the scores, and what is"
     " left no longer sums to 1. Divide before the softmax."),
    (SCORES, "Q @ K.mT / math.isqrt(Q.shape[-1])", "root cut off", "The root of d_k is cut to a"
     " whole number. It must stay as it is, 2.83 for d_k = 8."),
)
def right_output(self, Q, K, V, allowed=None, rng=None):
    scores = Q @ K.mT / math.sqrt(Q.shape[-1])
    masked = scores if allowed is None else np.where(allowed, scores, -math.inf)
    weights = softmax(masked, axis=-1)
    return weights @ V


JACOBIAN = "weights * (grad_weights - total)"


@ATTENTION.right(
    "backward",
    (JACOBIAN, "weights * (1 - weights) * grad_weights", "sum forgotten in softmax", "w (1 - w) is"
     " the derivative of a sigmoid. The backward of softmax is w (grad_w - sum grad_w w)."),
    *((JACOBIAN, code, "softmax skipped", "The gradient of the weights is used as that of"
     " the scores: the softmax between them is skipped.") for code in (
         "grad_weights",
         "grad_weights if allowed is None else np.where(allowed, grad_weights, 0)")),
    ("weights.mT @ grad_out", "scores.mT @ grad_out", "scores instead of weights", "grad_V is made"
     " from the scores. It must be weights^T grad_out: V was multiplied by the weights."),
)
def right_gradients(self, grad_out, Q, K, V, allowed=None, rng=None):
    scores = Q @ K.mT / math.sqrt(Q.shape[-1])
    masked = scores if allowed is None else np.where(allowed, scores, -math.inf)
    weights = softmax(masked, axis=-1)
    grad_weights = grad_out @ V.mT
    total = (weights * grad_weights).sum(axis=-1, keepdims=True)
    grad_scores = weights * (grad_weights - total)
    return {"grad_Q": grad_scores @ K / math.sqrt(Q.shape[-1]),
            "grad_K": grad_scores.mT @ Q / math.sqrt(Q.shape[-1]),
            "grad_V": weights.mT @ grad_out}


def softmax(scores, axis=-1):
    """Compute the right softmax, along any axis."""
    return np.moveaxis(Softmax()(np.moveaxis(scores, axis, -1)), -1, axis)
