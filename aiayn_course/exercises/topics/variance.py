"""Exercise 14: the variance that a softmax sees, and the scale that can stand elsewhere."""

import math

import numpy as np

from ..exercise import exercise, function, sized
from .attention import softmax  # noqa: F401, for a change

EXERCISE = exercise(
    14, "variance", "The variance of a row of scores", section="3.2.1", lesson="3.2, 3.7",
    minutes=30, asks="which numbers one softmax compares, and what the scale does to them",
)


def row_variance(Q, K, *, allowed=None):
    """Q (B, h, T_q, d_k), K (B, h, T_k, d_k) -> (h,)"""
    scores = Q @ K.mT / math.sqrt(Q.shape[-1])
    seen = np.broadcast_to(True if allowed is None else allowed, scores.shape)
    count = seen.sum(axis=-1)
    mean = (scores * seen).sum(axis=-1) / count
    squares = (scores - mean[..., None]) ** 2 * seen
    of_rows = squares.sum(axis=-1) / count
    return of_rows.mean(axis=(0, 2))


def scale_moved(W_Q, h):
    """W_Q (d_model, h d_k) -> (d_model, h d_k)"""
    d_k = W_Q.shape[-1] / h
    return W_Q / math.sqrt(d_k)


ROWS = function(
    EXERCISE, row_variance,
    "scores = Q K^T / sqrt(d_k). A row holds the scores of one query: one softmax compares them.",
    "The variance of a row is the mean of (score - mean of the row)^2 over its keys. With a mask"
    " only keys that are allowed belong to the row: in the mean, in the sum and in the number.",
    "scores.var(axis=-1, where=allowed) is (B, h, T_q). Its mean over sequences and queries,"
    " axis=(0, 2), leaves a number for each head.",
    run=lambda it, case: {"variance": it(*case.inputs, **case.options)},
)
MOVED = function(
    EXERCISE, scale_moved,
    "Q K^T / sqrt(d_k) = (Q / sqrt(d_k)) K^T, and Q = x W^Q.",
    "W^Q has h blocks of d_k columns. A score sums over the d_k products of one head.",
    "W_Q / sqrt(d_k) with d_k = W_Q.shape[-1] // h: only one of the two sides is divided.",
    run=lambda it, case: {"W_Q": it(*case.inputs)},
)


@ROWS.tried_on
def cases(rng):
    def case(B, h, T_q, T_k, d_k, **options):
        Q, K = (1 + rng.standard_normal((B, h, T, d_k)) for T in (T_q, T_k))
        return sized(Q, K, options=options, B=B, h=h, T_q=T_q, T_k=T_k, d_k=d_k)
    padding = (np.arange(6) < [[6], [4], [2]])[:, None, None]
    return [case(2, 3, 4, 5, 6), case(3, 2, 4, 6, 5, allowed=padding), case(1, 4, 3, 5, 2), case(
        3, 2, 1, 5, 4, allowed=np.arange(5) < [[2]]), case(
        2, 1, 3, 5, 8, allowed=np.tri(3, 5, dtype=bool)), case(3, 4, 2, 1, 5), case(3, 4, 5, 2, 1)]


@MOVED.tried_on
def matrices(rng):
    return [sized(rng.standard_normal((d_model, h * d_k)), h, d_model=d_model, h=h, d_k=d_k)
            for d_model, h, d_k in ((12, 3, 5), (5, 2, 6), (8, 1, 7), (1, 3, 5), (6, 4, 1))]


SCORES, SEEN = "Q @ K.mT / math.sqrt(Q.shape[-1])", "True if allowed is None else allowed"
VARIANCE, ALL = "squares.sum(axis=-1) / count", "of_rows.mean(axis=(0, 2))"
MASKED = "Only keys that are allowed belong to a row: in its mean, in the sum and in the number."
D_K = "d_k is the number of columns of one head: W_Q.shape[-1] // h."
ROWS.right(
    "function",
    ("wrong axis", "The keys of one query are a row: axis=-1. They alone share a softmax."),
    (ALL, "np.array([s[ok].var() for s, ok in zip(scores.swapaxes(0, 1), seen.swapaxes(0, 1))])",
     "all scores at once", "This is the variance of all scores of a head together. The means of its"
     " rows are in it, and no softmax sees these. Take it row by row, then the mean."),
    (ALL, "np.full(Q.shape[1], of_rows.mean())", "heads mixed", "There is one mean over all heads."
     " Each head has its own: axis=(0, 2)."),
    (ALL, "np.sqrt(of_rows).mean(axis=(0, 2))", "standard deviation", "This is the standard"
     " deviation, the root of the variance."),
    (VARIANCE, "squares.sum(axis=-1) / (count - 1)", "unbiased variance", "It is divided by the"
     " number of keys less 1. The variance of these keys is the mean of the squares."),
    (VARIANCE, "(scores * seen).var(axis=-1)", "masked keys counted", "Masked scores are 0, and"
     f" count as keys. {MASKED}"),
    (VARIANCE, "np.where(seen, scores, -math.inf).var(axis=-1)", "masked keys counted", "With a"
     f" mask it is nan: -inf came into a mean, or a row without keys. {MASKED}"),
    (VARIANCE, "squares.mean(axis=-1)", "masked keys counted", "The sum is divided by the number of"
     f" all keys. {MASKED}"),
    (SCORES, f"softmax(np.where({SEEN}, {SCORES}, -math.inf))", "weights instead of scores", "This"
     " is the variance of the weights. It is asked for the scores, before the softmax."),
)(row_variance)
MOVED.right(
    "function",
    *(("math.sqrt(d_k)", code, "wrong d_k", D_K) for code in (
        "math.sqrt(len(W_Q))", "math.sqrt(len(W_Q) // h)", "math.sqrt(W_Q.shape[-1])",
        "math.sqrt(h)", "math.sqrt(W_Q.shape[-1] * h)")),
    ("math.sqrt(d_k)", "math.isqrt(int(d_k))", "root cut off", "The root of d_k is cut to a whole"
     " number. It must stay as it is, 2.83 for d_k = 8."),
)(scale_moved)
