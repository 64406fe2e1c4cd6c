"""The running example of the lessons: one sentence of four tokens, with queries, keys and values
that are small enough for paper. Lesson 1 explains every number."""

import math

import numpy as np

SENTENCE = ("the", "cat", "sat", "down")
ASKING = SENTENCE[1:]


def example():
    """Return Q (3, 5), K (4, 5) and V (4, 2) of SENTENCE; the weights are simple fractions.

    All four sizes differ, and K is not symmetric, so a forgotten transpose shows. The queries are
    those of ASKING. Features of a key: it can do things; it is an article; it is an action; it is a
    direction; it is a noun. Features of a value: a thing? an action? If a query has √5 ln 3 in a
    feature, a key with this feature gets the score ln 3, and so counts three times.
    """
    ask = math.sqrt(5) * math.log(3)
    Q = np.array([[0.0, 0, 2 * ask, 0, 0], [ask, 0, 0, 0, 0], [0, 0, ask, 0, 0]])
    K = np.array([[0.0, 1, 0, 0, 0], [1, 0, 0, 0, 1], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0]])
    V = np.array([[0.0, 0], [1, 0], [0, 1], [0, 0]])
    return Q, K, V
