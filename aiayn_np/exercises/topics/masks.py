"""Exercise 5: masks: who may look at whom."""

import math

import numpy as np

from ...masking import Mask, causal, not_padding
from ..exercise import Case, exercise, function, layer, plain

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
    return [Case(f"T = {T}", None, (T,), {}, dict(T=T)) for T in (5, 2, 1)]


@CAUSAL.mistake("function", "off by one")
def one_ahead(T):
    """Position i sees i + 1, the very token that it has to predict. It must be j <= i."""
    return np.tri(T, k=1, dtype=bool)


@CAUSAL.mistake("function", "off by one")
def not_itself(T):
    """A position may not look at itself here. It may, j <= i: the output at position i predicts the
    token after it."""
    return np.tri(T, k=-1, dtype=bool)


@CAUSAL.mistake("function", "upside down")
def upper(T):
    """The upper triangle is True: every position sees the future and itself, and not the past.
    Rows are queries: j <= i."""
    return np.tri(T, dtype=bool).T


@CAUSAL.mistake("function", "inverted")
def strictly_upper(T):
    """This is True where a query may NOT look. Here True means that it may."""
    return ~np.tri(T, dtype=bool)


@NOT_PADDING.tried_on
def ids(rng):
    some = np.array([[3, 4, 5, 0, 0], [6, 3, 2, 1, 0], [1, 1, 1, 1, 1]])
    return [
        Case("ids (3, 5)", None, (some,), {}, dict(B=3, T=5)),
        Case("pad = 1", None, (some,), dict(pad=1), dict(B=3, T=5), special=True),
        Case("pad in the middle", None, (np.array([[0, 2, 0, 2]]),), {}, dict(B=1, T=4)),
    ]


@NOT_PADDING.mistake("function", "inverted")
def is_padding(ids, pad=0):
    """This is True at padding. Here True means that a query may look."""
    return (ids == pad)[:, None, None, :]


@NOT_PADDING.mistake("function", "pad is fixed")
def not_zero(ids, pad=0):
    """The id of padding is an argument, and not always 0: use `pad`."""
    return (ids != 0)[:, None, None, :]


@NOT_PADDING.mistake("function", "pad is fixed")
def positive(ids, pad=0):
    """Ids above `pad` are not all that is real: compare with != pad."""
    return (ids > pad)[:, None, None, :]


@MASK.tried_on
def cases(rng):
    draw, allowed = rng.standard_normal, rng.random((2, 1, 3, 5)) < 0.6
    allowed[0, 0, 0], allowed[1, 0, 2, :2] = [True, False, True, False, True], [True, False]
    sizes = dict(B=2, h=7, T_q=3, T_k=5)
    return [
        Case("allowed (2, 1, 3, 5)", plain, (draw((2, 7, 3, 5)),), dict(allowed=allowed), sizes),
        Case("allowed (4, 4)", plain, (draw((2, 4, 4)),), dict(allowed=np.tri(4, dtype=bool)),
             dict(B=2, T=4)),
        Case("allowed=None", plain, (draw((2, 3, 5)),), special=True),
    ]


def hidden_by(number):
    """Know a mask that puts this number where a query may not look."""
    @MASK.mistake("forward", "large number instead of -inf")
    def forward(layer, scores, allowed=None):
        """Masked scores are a large negative number. It must be -inf: a query that may look nowhere
        would else look everywhere alike."""
        return scores if allowed is None else np.where(allowed, scores, number)


for number in (-1e9, -1e10, -1e30, -1e4, -1e8, np.finfo(float).min):
    hidden_by(number)


@MASK.mistake("forward", "inf instead of -inf")
def infinite(layer, scores, allowed=None):
    """It is +inf where the query may not look, and exp(inf) is inf. It must be -inf."""
    return scores if allowed is None else np.where(allowed, scores, math.inf)


@MASK.mistake("forward", "nan instead of -inf")
def not_a_number(layer, scores, allowed=None):
    """It is nan where the query may not look, and everything after it becomes nan. It must be
    -inf."""
    return scores if allowed is None else np.where(allowed, scores, math.nan)


@MASK.mistake("forward", "mask with 0")
def zero(layer, scores, allowed=None):
    """Masked scores are 0, and exp(0) = 1 is a weight like any other. They must be -inf."""
    return scores if allowed is None else np.where(allowed, scores, 0.0)


@MASK.mistake("forward", "inverted")
def inverted(layer, scores, allowed=None):
    """-inf stands where the query may look. True in allowed means that it may."""
    return scores if allowed is None else np.where(allowed, -math.inf, scores)


@MASK.mistake("forward", "nan instead of -inf")
def product(layer, scores, allowed=None):
    """0 * inf is nan: -inf cannot be multiplied in. Choose with np.where(allowed, scores, -inf)."""
    if allowed is None:
        return scores
    return scores + np.where(allowed, np.nan, -math.inf)


@MASK.mistake("backward", "mask forgotten in backward")
def everywhere(layer, grad_y, scores, allowed=None):
    """The gradient goes through where the score was replaced. There the output is a constant, and
    the gradient 0."""
    return dict(grad_scores=grad_y)


@MASK.mistake("backward", "inverted")
def where_hidden(layer, grad_y, scores, allowed=None):
    """The gradient goes through where it must not, and not where it must."""
    return dict(grad_scores=grad_y if allowed is None else np.where(allowed, 0.0, grad_y))


@MASK.mistake("backward", "-inf in backward")
def minus_inf(layer, grad_y, scores, allowed=None):
    """-inf is put into the gradient, as into the scores. There it must be 0."""
    return dict(grad_scores=grad_y if allowed is None else np.where(allowed, grad_y, -math.inf))
