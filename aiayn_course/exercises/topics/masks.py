"""Exercise 5: masks, which say who may look at whom."""

import math

import numpy as np

from aiayn_np.masking import Mask, causal, not_padding

from ..exercise import Case, exercise, function, layer
from .attention import masks, padding, softmax  # noqa: F401, one is for a change

EXERCISE = exercise(
    5, "masks", "Masks: the future, padding, and -inf", section="3.2.3, Fig. 2 left", lesson="5",
    minutes=30, asks="two boolean masks of the right shapes, and the box that puts -inf where a"
                     " query may not look",
)

CAUSAL = function(
    EXERCISE, causal,
    "Row i is a query, column j a key. Position i may look at itself and at all before it: j <= i.",
    "np.arange(T)[:, None] are the queries as a column, np.arange(T)[None, :] the keys as a row;"
    " comparing them gives a (T, T) array of booleans.",
    "allowed_ij = (j <= i): np.tri(T, dtype=bool). Without the diagonal the first position could"
    " look nowhere; with one column more it would see the token that it has to predict.",
    run=lambda it, case: {"result": it(*case.inputs)},
)
NOT_PADDING = function(
    EXERCISE, not_padding,
    "A token is real where it is not `pad`. Key columns are masked, for every query and head.",
    "The scores have the axes (B, h, T_q, T_k). The mask must say nothing about h and T_q: axes of"
    " length 1.",
    "allowed_b11j = (ids_bj != pad): (ids != pad)[:, None, None, :], of shape (B, 1, 1, T).",
    run=lambda it, case: {"result": it(*case.inputs, **case.options)},
)
MASK = layer(
    EXERCISE, Mask,
    "scores where allowed is True, -inf elsewhere; allowed=None masks nothing. Make a new array:"
    " np.where.",
    "Where allowed is False the output is a constant. Its derivative by the score is 0.",
    "grad_scores = grad_y where allowed, 0 elsewhere: np.where(allowed, grad_y, 0.0), and grad_y"
    " itself for allowed=None.",
)


@CAUSAL.tried_on
def lengths(rng):
    return [Case(f"T = {T}", None, (T,), {}, dict(T=T), T > 5) for T in (5, 2, 1, 70)]


@CAUSAL.right(
    "function",
    ("key <= query", "key <= query + 1", "off by one", "Position i sees i + 1, the very token that"
     " it has to predict. It must be j <= i."),
    ("key <= query", "key < query", "off by one", "A position may not look at itself here. It may,"
     " j <= i: the output at position i predicts the token after it."),
    ("key <= query", "key >= query", "upside down", "The upper triangle is True: every position"
     " sees the future and itself, and not the past. Rows are queries: j <= i."),
    ("key <= query", "key > query", "inverted", "This is True where a query may NOT look. Here True"
     " means that it may."),
    ("key <= query", "(key <= query)[:, ::-1]", "mirrored", "Left and right are exchanged. Query i"
     " may look at the keys 0 to i, which stand on the left."),
)
def right_causal(T):
    query, key = np.arange(T)[:, None], np.arange(T)[None, :]
    return key <= query


@NOT_PADDING.tried_on
def ids(rng):
    some = np.array([[3, 4, 5, 0, 0], [6, 3, 2, 1, 0], [1, 1, 1, 1, 1]])
    return [
        Case("ids (3, 5)", None, (some,), {}, dict(B=3, T=5)),
        Case("pad = 1", None, (some,), dict(pad=1), dict(B=3, T=5), special=True),
        Case("pad = 3", None, (some,), dict(pad=3), dict(B=3, T=5), special=True),
        Case("pad in the middle", None, (np.array([[0, 2, 0, 2]]),), {}, dict(B=1, T=4)),
        Case("one sequence of one position", None, (np.array([[3]]),), special=True),
        Case("sequences of one position", None, (some[:, 2:3],), special=True),
        Case("pad = -1", None, (some - 1,), dict(pad=-1), special=True),
        Case("nothing is padding", None, (some[:1, :3],), special=True),
    ]


@NOT_PADDING.right(
    "function",
    ("pad is fixed", "The id of padding is an argument, and not always 0: use `pad`."),
    *(("ids != pad", code, "only padding at the end", "Keys are real from the left on, up to the"
       " first padding or to as many as there are real ids. Padding may stand anywhere: compare"
       " every id with pad.") for code in (
          "np.arange(ids.shape[1]) < (ids != pad).sum(axis=1, keepdims=True)",
          "np.cumprod(ids != pad, axis=1) > 0")),
)
def right_not_padding(ids, pad=0):
    return (ids != pad)[:, None, None, :]


@MASK.tried_on
def cases(rng):
    draw, allowed = rng.standard_normal, rng.random((2, 1, 3, 5)) < 0.6
    allowed[0, 0, 0], allowed[1, 0, 2, :2] = [True, False, True, False, True], [True, False]
    sizes = dict(B=2, h=7, T_q=3, T_k=5)
    return [
        Case("allowed (2, 1, 3, 5)", None, (draw((2, 7, 3, 5)),), dict(allowed=allowed), sizes),
        Case("allowed (4, 4)", None, (draw((2, 4, 4)),), dict(allowed=np.tri(4, dtype=bool)),
             dict(B=2, T=4)),
        Case("allowed=None", None, (draw((2, 3, 5)),), special=True),
        Case("two axes, (T_q, T_k)", None, (draw((2, 3)),), dict(allowed=np.tri(2, 3, dtype=bool)),
             special=True),
        Case("all are allowed", None, (draw((2, 3, 5)),), dict(allowed=np.ones((3, 5), dtype=bool)),
             special=True),
        Case("none is allowed", None, (draw((2, 3, 5)),),
             dict(allowed=np.zeros((3, 5), dtype=bool)), special=True),
        *(Case(what, None, (draw((2, 7, 3, 5)),), dict(allowed=mask), special=True)
          for what, mask in masks(rng, 2, 7, 3, 5).items()),
        Case("one query", None, (draw((2, 1, 5)),), dict(allowed=np.arange(5)[None] < 3),
             special=True),
        Case("padding, T_q = T_k = 5", None, (draw((2, 3, 5, 5)),), dict(allowed=padding(2, 5)),
             special=True),
        Case("a query that may look nowhere", None, (draw((2, 3, 5)),),
             dict(allowed=np.arange(3)[:, None] > np.zeros(5)), special=True),
    ]


HIDDEN = "np.where(allowed, scores, -math.inf)"


@MASK.right(
    "forward",
    (HIDDEN, "np.where(allowed, scores, number(-1e9))", "large number instead of -inf", "Masked"
     " scores are a large negative number. It must be -inf: a query that may look nowhere would"
     " else look everywhere alike."),
    (HIDDEN, "scores + number(-1e9) * ~allowed", "large number instead of -inf", "A large negative"
     " number is added to masked scores. They must be -inf."),
    (HIDDEN, "np.where(allowed, scores, 0)", "mask with 0", "Masked scores are 0, and exp(0) = 1 is"
     " a weight like any other. They must be -inf."),
    (HIDDEN, "scores + np.where(allowed, np.nan, -math.inf)", "nan instead of -inf", "0 * inf is"
     " nan: -inf cannot be multiplied in. Choose with np.where(allowed, scores, -inf)."),
    (HIDDEN, "softmax(np.where(allowed, scores, -math.inf))", "softmax in the mask", "The softmax"
     " is applied here, too. It is a box of its own, after the mask."),
    ("scores if allowed is None else np.where(allowed, scores, -math.inf)",
     "np.where(np.False_ if allowed is None else allowed, scores, -math.inf)",
     "None masks everything", "allowed=None masks everything. It must mask nothing."),
)
def right_output(self, scores, allowed=None):
    return scores if allowed is None else np.where(allowed, scores, -math.inf)


OPEN = "grad_y if allowed is None else grad_y * allowed"


@MASK.right(
    "backward",
    (OPEN, "grad_y", "mask forgotten in backward", "The gradient goes through where the score was"
     " replaced. There the output is a constant, and the gradient 0."),
    ("grad_y * allowed", "np.where(allowed, grad_y, -math.inf)", "-inf in backward", "-inf is put"
     " into the gradient, as into the scores. There it must be 0."),
)
def right_gradient(self, grad_y, scores, allowed=None):
    return {"grad_scores": grad_y if allowed is None else grad_y * allowed}
