"""Exercise 4: scaled dot-product attention, box by box."""

import math
from typing import Any

import numpy as np

from ...attention import ScaledDotProductAttention
from ...softmax import Softmax
from ..exercise import Case, exercise, layer, plain

EXERCISE = exercise(
    4, "attention", "Scaled dot-product attention", section="3.2.1, Eq. 1, Fig. 2 left",
    lesson="4", minutes=60,
    asks="the four boxes of the figure in order, and their backward in reverse order",
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
    large = tuple(1e3 * x for x in arrays(2))
    return [
        Case("Q (2, 7, 3, 4)", plain, arrays(2, 7), {}, sizes),
        Case("d_k = 9", plain, arrays(2, d_k=9), {}, sizes | dict(d_k=9)),
        Case("a mask", plain, arrays(2, 7), dict(allowed=allowed), sizes),
        Case("a causal mask", plain, arrays(3, T_q=4, T_k=4), dict(allowed=np.tri(4, dtype=bool)),
             dict(B=3, T_q=4, T_k=4, d_k=4, d_v=6)),
        Case("inputs around 1 000", plain, large, special=True),
        Case("a query that may look nowhere", plain, arrays(2, 7), dict(allowed=nowhere),
             special=True),
    ]


def softmax(scores, axis=-1):
    """The right softmax, along any axis."""
    return np.moveaxis(Softmax()(np.moveaxis(scores, axis, -1)), -1, axis)


def hidden(number):
    """A mask that puts a number where a query may not look, before the softmax."""
    def weights(scores, allowed, softmax):
        return softmax(scores if allowed is None else np.where(allowed, scores, number))
    return weights


def inverted(scores, allowed, softmax):
    return hidden(-math.inf)(scores, None if allowed is None else ~allowed, softmax)


def after_softmax(scores, allowed, softmax):
    return softmax(scores) if allowed is None else np.where(allowed, softmax(scores), 0.0)


SCALE: list[Any] = [
    lambda Q, K, V: math.sqrt(Q.shape[-1]),
    ("scale missing", "The scores are not divided by sqrt(d_k).", lambda Q, K, V: 1.0),
    ("scale on the wrong side", "The scores are multiplied by sqrt(d_k). They must be divided by"
     " it.", lambda Q, K, V: 1 / math.sqrt(Q.shape[-1])),
    ("scale without root", "The scores are divided by d_k. They must be divided by its square"
     " root.", lambda Q, K, V: Q.shape[-1]),
    ("scale by d_v", "The scores are divided by sqrt(d_v). It must be the width of a query and a"
     " key, d_k.", lambda Q, K, V: math.sqrt(V.shape[-1])),
    ("scale by the length", "The scores are divided by the root of the number of keys. It must be"
     " the width of a query and a key, d_k.", lambda Q, K, V: math.sqrt(K.shape[-2])),
]
MASK: list[Any] = [
    hidden(-math.inf),
    ("mask ignored", "The mask has no effect. Scores where allowed is False must be -inf before the"
     " softmax.", lambda scores, allowed, softmax: softmax(scores)),
    ("mask with 0", "Masked scores are set to 0, and exp(0) = 1 is a weight like any other. Set"
     " them to -inf.", hidden(0.0)),
    ("mask inverted", "The mask is used the wrong way round. True in allowed means that the query"
     " may look.", inverted),
    ("mask after softmax", "The weights are masked, not the scores, and what is left no longer sums"
     " to 1. Mask before the softmax, with -inf.", after_softmax),
    ("large number instead of -inf", "Masked scores are a large negative number, not -inf: a query"
     " that may look nowhere then looks everywhere alike.", hidden(-1e30)),
]
WEIGHTS = [
    softmax,
    ("wrong axis", "The softmax runs along the queries. Each query shares out its weights among the"
     " keys, the last axis.", lambda scores: softmax(scores, axis=-2)),
    ("no softmax", "There is no softmax: the scores themselves are multiplied by V.",
     lambda scores: np.where(np.isfinite(scores), scores, 0.0)),
    ("no maximum subtracted", "exp overflows for large scores. Subtract the largest score of each"
     " row first, or use the Softmax that is given.", lambda scores: plainly(scores, 0)),
    ("rows of -inf", "A query that may look nowhere gives nan, from -inf - -inf or 0 / 0. It must"
     " give zeros, as the softmax of exercise 1 does.",
     lambda scores: plainly(scores, scores.max(axis=-1, keepdims=True))),
]


def plainly(scores, subtracted):
    """Softmax without a thought for rows of -inf."""
    exp_scores = np.exp(scores - subtracted)
    return exp_scores / exp_scores.sum(axis=-1, keepdims=True)


@ATTENTION.family("forward", scale=SCALE, mask=MASK, weights=WEIGHTS)
def output(layer, Q, K, V, allowed=None, *, scale, mask, weights):
    return mask(Q @ K.mT / scale(Q, K, V), allowed, weights) @ V


@ATTENTION.mistake("forward", "scale after softmax")
def scaled_weights(layer, Q, K, V, allowed=None):
    """The weights are divided by sqrt(d_k), not the scores. It comes before the softmax."""
    return MASK[0](Q @ K.mT, allowed, softmax) @ V / math.sqrt(Q.shape[-1])


def hidden_by_adding(number):
    """Know a mask that adds this number where a query may not look."""
    @ATTENTION.mistake("forward", "large number instead of -inf")
    def forward(layer, Q, K, V, allowed=None):
        """A large negative number is added to masked scores, not -inf: a query that may look
        nowhere then looks everywhere, as if there were no mask."""
        added = 0 if allowed is None else number * ~allowed
        return softmax(Q @ K.mT / math.sqrt(Q.shape[-1]) + added) @ V


for number in (-1e9, -1e10, -1e8, -1e6, -1e4):
    hidden_by_adding(number)


BACK_SCALE: list[Any] = [
    math.sqrt,
    ("scale missing in backward", "The scores were divided by sqrt(d_k) in forward, so their"
     " gradient must be divided by it, too.", lambda d_k: 1.0),
    ("scale on the wrong side", "The gradient is multiplied by sqrt(d_k). It must be divided by it,"
     " as the scores are.", lambda d_k: 1 / math.sqrt(d_k)),
    ("scale twice", "The gradient is divided by d_k. It must be divided by sqrt(d_k), once.",
     lambda d_k: d_k),
]
BACK_SOFTMAX: list[Any] = [
    lambda grad, weights: weights * (grad - (grad * weights).sum(axis=-1, keepdims=True)),
    ("sum forgotten in softmax", "The backward of softmax lacks its sum: w (grad_w - sum grad_w w),"
     " not w grad_w.", lambda grad, weights: weights * grad),
    ("sum forgotten in softmax", "w (1 - w) is the derivative of a sigmoid. The backward of softmax"
     " is w (grad_w - sum grad_w w).", lambda grad, weights: weights * (1 - weights) * grad),
    ("softmax skipped", "The gradient of the weights is used as that of the scores: the softmax"
     " between them is skipped.", lambda grad, weights: grad),
]


@ATTENTION.family("backward", scale=BACK_SCALE, jacobian=BACK_SOFTMAX)
def gradients(layer, grad_y, Q, K, V, allowed=None, *, scale, jacobian):
    weights = MASK[0](Q @ K.mT / math.sqrt(Q.shape[-1]), allowed, softmax)
    grad = jacobian(grad_y @ V.mT, weights) / scale(Q.shape[-1])
    return dict(grad_Q=grad @ K, grad_K=grad.mT @ Q)


def scaled_only_once(tensor):
    """Know a backward that forgets the scale for one of the two."""
    @ATTENTION.mistake("backward", "scale forgotten for one")
    def backward(layer, grad_y, Q, K, V, allowed=None):
        """One of grad_Q and grad_K is not divided by sqrt(d_k). Both sides of Q K^T were."""
        found = gradients(layer, grad_y, Q, K, V, allowed, scale=BACK_SCALE[1][2],
                          jacobian=BACK_SOFTMAX[0])
        return {tensor: found[tensor]}


scaled_only_once("grad_Q")
scaled_only_once("grad_K")


@ATTENTION.mistake("backward", "gradient instead of weights")
def gradient_for_weights(layer, grad_y, Q, K, V, allowed=None):
    """grad_V is made from the gradient of the weights. It must be weights^T grad_out."""
    return dict(grad_V=(grad_y @ V.mT).mT @ grad_y)


@ATTENTION.mistake("backward", "scores instead of weights")
def scores_for_weights(layer, grad_y, Q, K, V, allowed=None):
    """grad_V is made from the scores. It must be weights^T grad_out: V was multiplied by the
    weights."""
    scores = Q @ K.mT / math.sqrt(Q.shape[-1])
    return dict(grad_V=(scores if allowed is None else np.where(allowed, scores, 0.0)).mT @ grad_y)
