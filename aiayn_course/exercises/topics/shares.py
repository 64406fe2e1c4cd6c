"""Exercise 18: the shares of the tokens in a logit of a model of two layers, by hand."""

import numpy as np

from ..exercise import exercise, function, sized

EXERCISE = exercise(
    18, "shares", "What a logit is made of", section="3.1, 3.2.2, 3.4", lesson="15.3", minutes=45,
    asks="all roads from a token to a logit through two layers, with the attention weights held",
)


def token_shares(x, weights, W_VO, e):
    """x (B, T, d), weights (2, B, h, T, T), W_VO (2, h, d, d), e (d,) -> (B, T)"""
    grad = np.zeros_like(x)
    grad[:, -1] = e
    for A, W in zip(weights[::-1], W_VO[::-1]):
        of_heads = A.mT @ grad[:, None] @ W.mT
        grad = grad + of_heads.sum(axis=1)
    return (x * grad).sum(axis=-1)


SHARES = function(
    EXERCISE, token_shares,
    "A layer makes x_t to x_t + sum_i sum_j A_itj x_j W_i. The logit is the product of e with the"
    " last position after two layers. With the weights A held it is linear in x.",
    "Each token has four roads: past both layers, through the first, through the second, or"
    " through both. Go back from the logit: its derivative by the last position is e, by the others"
    " 0.",
    "Backwards through a layer: grad + sum_i A_i^T grad W_i^T, layer 2 first. The share of a token"
    " is the product of x_t with its gradient, and all shares add up to the logit.",
    run=lambda it, case: {"shares": it(*case.inputs)},
)


@SHARES.tried_on
def cases(rng):
    def case(B, h, T, d):
        weights = np.tril(rng.uniform(0.1, 1, (2, B, h, T, T)))
        return sized(rng.standard_normal((B, T, d)), weights / weights.sum(axis=-1, keepdims=True),
                     rng.standard_normal((2, h, d, d)) / np.sqrt(d), rng.standard_normal(d), B=B,
                     h=h, T=T, d=d)
    return [case(2, 3, 4, 5), case(3, 2, 5, 4), case(4, 1, 3, 6), case(1, 2, 4, 3), case(
        3, 2, 1, 4), case(2, 3, 4, 1)]


NEXT, LAYERS = "grad + of_heads.sum(axis=1)", "zip(weights[::-1], W_VO[::-1])"
BACK, RESULT = "A.mT @ grad[:, None] @ W.mT", "(x * grad).sum(axis=-1)"
ROADS = "A token has four roads: past both layers, through one of them, through both."
SHARES.right(
    "function",
    (NEXT, "of_heads.sum(axis=1)", "roads missing", "The road past a layer is missing: x_t stays,"
     f" and what the heads bring is added. {ROADS}"),
    (LAYERS, f"[*{LAYERS}][:1]", "roads missing", f"Layer 1 is left out. {ROADS}"),
    (LAYERS, f"[*{LAYERS}][1:]", "roads missing", f"Layer 2 is left out. {ROADS}"),
    ("grad[:, None]", "e * (np.arange(x.shape[1]) == x.shape[1] - 1)[:, None]", "roads missing",
     f"The road through both layers is missing: layer 2 reads what layer 1 has written. {ROADS}"),
    (LAYERS, "zip(weights, W_VO)", "layers in the wrong order", "Backwards, layer 2 comes first."),
    (BACK, "A @ grad[:, None] @ W.mT", "rows and columns", "The maps are taken by their columns."
     " Row t of a map says what position t reads; on the way back it is A^T."),
    (BACK, "A.mT @ grad[:, None] @ W", "rows and columns", "W stands as in the forward. x W has the"
     " gradient grad W^T."),
    (NEXT, "grad + of_heads.mean(axis=1)", "heads mixed", "The heads are averaged. What they bring"
     " is added up: .sum(axis=1)."),
    (NEXT, "grad + of_heads[:, 0]", "heads mixed", "Only the first head is taken. What all heads"
     " bring is added up."),
    ("grad[:, -1] = e", "grad[:, 0] = e", "another position", "The logit is read at the first"
     " position. It is read at the last one."),
    (RESULT, "grad.sum(axis=-1)", "gradient alone", "This is the sum of a token's gradient. Its"
     " share is the product of x_t with the gradient."),
    (RESULT, "(x * grad).sum(axis=-1) / (x * grad).sum(axis=(1, 2))[:, None]", "divided by the"
     " logit", "The shares are divided by their sum. They add up to the logit itself."),
)(token_shares)
