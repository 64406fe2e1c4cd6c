"""Exercise 1: softmax, whose outputs all depend on all inputs."""

import math

import numpy as np

from aiayn_np.softmax import Softmax

from ..exercise import STAYS, Case, exercise, layer

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
    "grad_s_k = sum_j grad_w_j dw_j/ds_k = sum_j grad_w_j w_j (1[j = k] - w_k)\n"
    "         = w_k (grad_w_k - sum_j grad_w_j w_j)\nIn NumPy: w * (grad_w - (grad_w * w).sum("
    "axis=-1, keepdims=True)).",
)
SOFTMAX.balanced = True


NEGATIVE = "The largest number of a row may be negative: subtract it as it is."


@SOFTMAX.tried_on
def cases(rng):
    hidden = rng.standard_normal((2, 3, 5))
    hidden[0, 1, 2:] = -math.inf
    apart = rng.standard_normal((2, 4)) + np.array([[1e4], [0]])
    far = np.array([[1, -1, 0.5, 0.9], [-1, 1, 0.9, 0.5], [0.5, 0.9, -1, 1]])
    nowhere = rng.standard_normal((3, 4))
    nowhere[1] = -math.inf
    return [
        Case("scores (2, 3, 5)", None, (rng.standard_normal((2, 3, 5)),), {},
             dict(B=2, T_q=3, n=5)),
        Case("scores (4, 7)", None, (3 * rng.standard_normal((4, 7)),), {}, dict(B=4, n=7)),
        Case("some scores -inf", None, (hidden,), special=True),
        Case("scores around 10 000", None, (1e4 + rng.standard_normal((3, 6)),), special=True),
        Case("scores around -10 000", None, (rng.standard_normal((3, 6)) - 1e4,), special=True,
             why=NEGATIVE),
        Case("rows 10 000 apart", None, (apart,), special=True),
        Case("scores 20 000 apart", None, (1e4 * far,), special=True,
             why="Here one weight is exactly 1, and the others are 0."),
        Case("a row of only -inf", None, (nowhere,), special=True),
        Case("scores that are all equal", None, (np.zeros((4, 4)),), special=True),
        Case("a row of one score", None, (rng.standard_normal((3, 1)),), special=True, why=STAYS),
        Case("one axis, (5,)", None, (rng.standard_normal(5),), special=True),
    ]


DIVIDED = "exp_scores / np.where(total == 0, 1, total)"
GUARD = "np.where(total == 0, 1, total)"
NO_ROW = "np.where(np.isinf(largest), 0.0, largest)"
LARGEST = "scores.max(axis=-1, keepdims=True)"


@SOFTMAX.right(
    "forward",
    ("wrong axis", "It must be the last axis, axis=-1, the keys: each row of weights belongs to one"
     " query and sums to 1."),
    ("scores - highest", "scores", "no maximum subtracted", "exp overflows above 709, and inf / inf"
     " is nan. Subtract the largest score of each row first; softmax does not change by that."),
    ("scores - highest", "np.clip(scores, -number(700.0), number(700.0))", "no maximum subtracted",
     "Scores are cut off before exp, and all above become one. Subtract the largest score of each"
     " row; softmax does not change by that."),
    (NO_ROW, "largest", "rows of -inf", "A row of only -inf gives nan, since -inf - -inf is nan. A"
     " query that may look nowhere must get weights of zero."),
    (DIVIDED, "np.where(total == 0, 1 / scores.shape[-1], exp_scores / total)", "rows of -inf",
     "A row of only -inf gets the same weight everywhere, 1 / n. A query that may look nowhere must"
     " get weights of zero."),
    (LARGEST, "scores.max()", "one maximum for all", "The largest score of the whole array is"
     " subtracted, and a row far below it comes out as zeros. Take the largest of each row,"
     " max(axis=-1, keepdims=True)."),
    (DIVIDED, "1 / (1 + np.exp(-scores))", "sigmoid", "This is the sigmoid of each score by itself."
     " The weights of a row share out 1 among them."),
    (DIVIDED, "np.log(exp_scores / total)", "logarithm", "This is the logarithm of softmax, not"
     " softmax."),
    (GUARD, "(total + number(1e-9))", "number in the denominator", "A small number is added to the"
     " sum, and the rows no longer sum to 1. With the largest score subtracted the sum is 0 for a"
     " row of only -inf alone: take care of that one."),
)
def weights_of(self, scores):
    largest = scores.max(axis=-1, keepdims=True)
    highest = np.where(np.isinf(largest), 0.0, largest)
    exp_scores = np.exp(scores - highest)
    total = exp_scores.sum(axis=-1, keepdims=True)
    return exp_scores / np.where(total == 0, 1, total)


WHOLE = "w * (grad_weights - mean_grad)"


@SOFTMAX.right(
    "backward",
    ("grad_weights - mean_grad", "grad_weights", "sum forgotten", "It is as if every weight"
     " depended on its own score only. Raising one score lowers all other weights: - sum_j grad_w_j"
     " w_j is missing."),
    (DIVIDED, "exp_scores", "exponentials instead of weights", "The exponentials stand here, which"
     " are not divided by their sum. backward needs the weights."),
    (WHOLE, "w * (1 - w) * grad_weights", "sum forgotten", "w (1 - w) is the diagonal of the"
     " Jacobian only, the derivative of a sigmoid. The other entries, -w_j w_k, are missing."),
)
def grad_scores(self, grad_weights, scores):
    largest = scores.max(axis=-1, keepdims=True)
    highest = np.where(np.isinf(largest), 0.0, largest)
    exp_scores = np.exp(scores - highest)
    total = exp_scores.sum(axis=-1, keepdims=True)
    w = exp_scores / np.where(total == 0, 1, total)
    mean_grad = (grad_weights * w).sum(axis=-1, keepdims=True)
    return {"grad_scores": w * (grad_weights - mean_grad)}
