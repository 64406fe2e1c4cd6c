"""Sums and maxima over one axis, as matrix products: the same numbers, several times faster.

NumPy's own `x.sum(axis=-1)` starts its inner loop anew for every row, and rows are short here: a
row of scores has T numbers, a row of features d_model. A product with a vector of ones is the same
sum, done by the BLAS for all rows at once.
"""

import numpy as np

SHORT = 64  # for rows up to this length, a maximum is faster along the columns of a copy
FEW = 256  # for up to so many classes, a product with one-hot rows is faster than np.add.at


def row_sum(x: np.ndarray) -> np.ndarray:
    """Return x.sum(axis=-1, keepdims=True): (..., n) -> (..., 1)."""
    n = x.shape[-1]
    return (x.reshape(-1, n) @ np.ones(n, x.dtype)).reshape(*x.shape[:-1], 1)


def row_mean(x: np.ndarray) -> np.ndarray:
    """Return x.mean(axis=-1, keepdims=True): (..., n) -> (..., 1)."""
    return row_sum(x) / x.shape[-1]


def row_max(x: np.ndarray) -> np.ndarray:
    """Return x.max(axis=-1, keepdims=True): (..., n) -> (..., 1)."""
    n = x.shape[-1]
    if n > SHORT:
        return x.max(axis=-1, keepdims=True)
    columns = x.reshape(-1, n).T.copy()              # (n, rows): now the rows are compared at once
    return columns.max(axis=0).reshape(*x.shape[:-1], 1)


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Return the log of the softmax over the last axis: (..., V) -> (..., V)."""
    log_p = logits - row_max(logits)                 # no overflow
    log_p -= np.log(row_sum(np.exp(log_p)))
    return log_p


def column_sum(x: np.ndarray) -> np.ndarray:
    """Sum over all axes but the last, so over all positions of all sequences: (..., n) -> (n,)."""
    rows = x.reshape(-1, x.shape[-1])
    return np.ones(len(rows), x.dtype) @ rows


def add_at(total: np.ndarray, ids: np.ndarray, rows: np.ndarray) -> None:
    """Do np.add.at(total, ids, rows): total[ids[i]] += rows[i], for repeated ids too.

    total (V, d)   ids (n,)   rows (n, d).   Few classes: a product with the one-hot ids, if the
    sums are finite (0 * inf is nan and would reach every class). Many classes: one row after the
    other, which is faster than np.add.at from rows of about 100 numbers on.
    """
    V = len(total)
    if V <= FEW:
        one_hot = ids == np.arange(V)[:, None]       # (V, n)
        with np.errstate(invalid="ignore"):
            sums = one_hot.astype(rows.dtype) @ rows
        if np.isfinite(sums).all():
            total += sums
            return
    for i, row in zip(ids.tolist(), rows):
        total[i] += row
