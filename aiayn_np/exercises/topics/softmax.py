"""Exercise 1: softmax, whose outputs all depend on all inputs."""

import math
from typing import Any

import numpy as np

from ...softmax import Softmax
from ..exercise import Case, exercise, layer, plain

EXERCISE = exercise(
    1, "softmax", "Softmax and its Jacobian", section="3.2.1, Eq. 1", lesson="2", minutes=30,
    asks="forward without overflow, and a backward that knows that raising one score lowers the"
         " other weights",
)

SOFTMAX = layer(
    EXERCISE, Softmax,
    "exp(s) / sum(exp(s)) along the last axis. It does not change when one number is subtracted"
    " from a whole row: subtract the largest, and exp cannot overflow. For a row of only -inf that"
    " number is -inf too: take 0 instead, and divide by 1 where the sum is 0.",
    "Write w = softmax(s). Raising s_k raises w_k and lowers all others:"
    " dw_j/ds_k = w_j (1[j = k] - w_k). Cache w; backward needs nothing else.",
    "grad_s_k = sum_j grad_w_j dw_j/ds_k = sum_j grad_w_j w_j (1[j = k] - w_k)"
    " = w_k (grad_w_k - sum_j grad_w_j w_j)\nIn NumPy: w * (grad_w - (grad_w * w).sum(axis=-1,"
    " keepdims=True)).",
)


@SOFTMAX.tried_on
def cases(rng):
    hidden = rng.standard_normal((2, 3, 5))
    hidden[0, 1, 2:] = -math.inf
    apart = rng.standard_normal((2, 4)) + np.array([[1e4], [0]])
    nowhere = rng.standard_normal((3, 4))
    nowhere[1] = -math.inf
    return [
        Case("scores (2, 3, 5)", plain, (rng.standard_normal((2, 3, 5)),), {},
             dict(B=2, T_q=3, n=5)),
        Case("scores (4, 7)", plain, (3 * rng.standard_normal((4, 7)),), {}, dict(B=4, n=7)),
        Case("some scores -inf", plain, (hidden,), special=True),
        Case("scores around 10 000", plain, (1e4 + rng.standard_normal((3, 6)),), special=True),
        Case("rows 10 000 apart", plain, (apart,), special=True),
        Case("scores 20 000 apart", plain, (1e4 * np.array([[1, -1, 0.5, 0.9]]),), special=True),
        Case("a row of only -inf", plain, (nowhere,), special=True),
    ]


@SOFTMAX.mistake("forward", "no maximum subtracted")
def no_maximum(layer, scores):
    """exp overflows above 709, and inf / inf is nan. Subtract the largest score of each row first;
    softmax does not change by that."""
    exp_scores = np.exp(scores)
    total = exp_scores.sum(axis=-1, keepdims=True)
    return exp_scores / (total + (total == 0))


@SOFTMAX.mistake("forward", "rows of -inf")
def rows_of_nan(layer, scores):
    """A row of only -inf gives nan, since -inf - -inf is nan. A query that may look nowhere must
    get weights of zero."""
    exp_scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exp_scores / exp_scores.sum(axis=-1, keepdims=True)


@SOFTMAX.mistake("forward", "one maximum for all")
def one_maximum(layer, scores):
    """The largest score of the whole array is subtracted. A row far below it underflows to 0 / 0:
    take the largest of each row, max(axis=-1, keepdims=True)."""
    exp_scores = np.exp(scores - scores.max())
    return exp_scores / exp_scores.sum(axis=-1, keepdims=True)


@SOFTMAX.mistake("forward", "one maximum for all")
def one_maximum_and_zeros(layer, scores):
    """The largest score of the whole array is subtracted. A row far below it comes out as zeros:
    take the largest of each row, max(axis=-1, keepdims=True)."""
    exp_scores = np.exp(scores - scores.max())
    total = exp_scores.sum(axis=-1, keepdims=True)
    return exp_scores / (total + (total == 0))


def over_axis(axis):
    """Know softmax over another axis, with its maxima along that axis or along the last."""
    @SOFTMAX.mistake("forward", "wrong axis")
    def forward(layer, scores):
        """The sum runs over another axis. It must be the last one, axis=-1, the keys: each row of
        weights belongs to one query and sums to 1."""
        return np.moveaxis(layer(np.moveaxis(scores, axis, -1)), -1, axis)

    @SOFTMAX.mistake("forward", "wrong axis")
    def only_the_sum(layer, scores):
        """The maximum of each row is subtracted, and then the sum runs over another axis. It must
        be the last one, axis=-1, the keys."""
        exp_scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return exp_scores / exp_scores.sum(axis=axis, keepdims=True)


for axis in (0, 1, -2):
    over_axis(axis)


@SOFTMAX.mistake("forward", "wrong axis")
def over_everything(layer, scores):
    """All weights of the array together sum to 1, and not each row: it needs sum(axis=-1,
    keepdims=True)."""
    return layer(scores.reshape(-1)).reshape(scores.shape)


@SOFTMAX.mistake("forward", "wrong axis")
def sum_of_all_rows(layer, scores):
    """It is divided by the sum over the whole array. Each row has its own: sum(axis=-1,
    keepdims=True)."""
    exp_scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exp_scores / exp_scores.sum()


@SOFTMAX.mistake("forward", "no exponential")
def no_exponential(layer, scores):
    """The scores are divided by their sum, without exp."""
    return scores / scores.sum(axis=-1, keepdims=True)


def small_number(eps):
    """Know softmax with a small number against division by zero."""
    @SOFTMAX.mistake("forward", "number in the denominator")
    def forward(layer, scores):
        """A small number is added to the sum, and the rows no longer sum to 1. With the largest
        score subtracted the sum is 0 for a row of only -inf alone: take care of that one."""
        exp_scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return exp_scores / (exp_scores.sum(axis=-1, keepdims=True) + eps)


for eps in (1e-6, 1e-7, 1e-8, 1e-9):
    small_number(eps)


@SOFTMAX.mistake("forward", "sigmoid")
def sigmoid(layer, scores):
    """This is the sigmoid of each score by itself. The weights of a row share out 1 among them."""
    return 1 / (1 + np.exp(-scores))


@SOFTMAX.mistake("forward", "logarithm")
def log_softmax(layer, scores):
    """This is the logarithm of softmax, not softmax."""
    return np.log(layer(scores))


ALONG: dict[str, Any] = dict(axis=-1, keepdims=True)
SUM = [
    lambda g, w: (g * w).sum(**ALONG),
    ("sum forgotten", "It is as if every weight depended on its own score only. Raising one score"
     " lowers all other weights: - sum_j grad_w_j w_j is missing.", lambda g, w: 0.0),
    ("sum of the gradient alone", "The gradient is summed without the weights: it must be"
     " sum_j grad_w_j w_j, not sum_j grad_w_j.", lambda g, w: g.sum(**ALONG)),
    ("sign of the sum", "The sum is added. It must be subtracted: raising one score lowers the"
     " other weights.", lambda g, w: -(g * w).sum(**ALONG)),
    ("mean instead of sum", "The sum over j was divided by the number of entries. It is an average"
     " already, weighted by w: sum_j grad_w_j w_j.", lambda g, w: (g * w).mean(**ALONG)),
    ("sum over everything", "The sum runs over the whole array. Each row has its own: sum(axis=-1,"
     " keepdims=True).", lambda g, w: (g * w).sum()),
]
FRONT = [lambda w, g: w, ("w missing", "The factor w_k in front is missing.", lambda w, g: 1.0),
         ("grad_w instead of w", "The factor in front must be w_k, not grad_w_k.", lambda w, g: g)]
OWN = [1, ("own term missing", "Only the sum is there. The weight's own score counts, too:"
           " w_k (grad_w_k - sum).", 0)]


@SOFTMAX.family("backward", total=SUM, front=FRONT, own=OWN)
def gradient(layer, grad_y, scores, *, total, front, own):
    w = layer(scores)
    return dict(grad_scores=front(w, grad_y) * (own * grad_y - total(grad_y, w)))


@SOFTMAX.mistake("backward", "sum forgotten")
def diagonal_only(layer, grad_y, scores):
    """w (1 - w) is the diagonal of the Jacobian only, the derivative of a sigmoid. The other
    entries, -w_j w_k, are missing."""
    w = layer(scores)
    return dict(grad_scores=w * (1 - w) * grad_y)


@SOFTMAX.mistake("backward", "scores instead of weights")
def of_the_scores(layer, grad_y, scores):
    """The formula is right, but it is given the scores. It needs the weights: cache those."""
    return dict(grad_scores=scores * (grad_y - (grad_y * scores).sum(**ALONG)))
