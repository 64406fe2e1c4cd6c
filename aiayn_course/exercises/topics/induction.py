"""Exercise 17: a detector of induction heads, which look at what followed an equal token."""

import numpy as np

from ..exercise import exercise, function, sized

EXERCISE = exercise(
    17, "induction", "A detector of induction heads", section="3.2.3", lesson="15.2", minutes=40,
    asks="the keys that followed an earlier, equal token, and the weight that a head puts on them",
)


def prefix_score(weights, ids):
    """weights (B, h, T, T), ids (B, T) -> (h,)"""
    T = ids.shape[1]
    equal = ids[:, :, None] == ids[:, None, :]
    earlier = equal & np.tri(T, k=-1, dtype=bool)
    after = np.pad(earlier, ((0, 0), (0, 0), (1, 0)))[..., :-1]
    on_them = (weights * after[:, None]).sum(axis=-1)
    counts = earlier.any(axis=-1)
    total = (on_them * counts[:, None]).sum(axis=(0, 2))
    return total / counts.sum() if counts.any() else 0 * total


SCORE = function(
    EXERCISE, prefix_score,
    "A query has read a token. Find the earlier positions with an equal token: an induction head"
    " looks at the keys one place after them.",
    "earlier[b, t, k] = (ids[b, t] == ids[b, k]) and k < t, an array (B, T, T). Shifted to the"
    " right by one key, it says which keys followed. Sum the weights on all of them.",
    "Queries whose token did not occur before are left out of the sum and of the number. For each"
    " head there is one mean over the queries of all sequences; it is 0 if nothing is repeated.",
    run=lambda it, case: {"score": it(*case.inputs)},
)


@SCORE.tried_on
def cases(rng):
    def case(symbols, B, h, T):
        weights = np.tril(rng.uniform(0.1, 1, (B, h, T, T)))
        ids = rng.integers(1, symbols + 1, (B, T))
        return sized(weights / weights.sum(axis=-1, keepdims=True), ids, B=B, h=h, T=T)
    return [case(4, 3, 2, 9), case(3, 2, 5, 7), case(4, 1, 3, 8), case(4, 3, 2, 1), case(
        2, 2, 1, 6), case(1, 2, 3, 5)]


AFTER, ON = "np.pad(earlier, ((0, 0), (0, 0), (1, 0)))[..., :-1]", "weights * after[:, None]"
MEAN = "total / counts.sum()"
ONE = "A token may have stood before more than once: sum over all that followed."
COUNTED = "The mean is over the queries whose token stood before, of all sequences."
SCORE.right(
    "function",
    (AFTER, "earlier", "the token itself", "These are the weights on the equal token itself. An"
     " induction head looks at what followed it, one key further."),
    (AFTER, "np.roll(earlier, -1, axis=-1)", "the token itself", "These are the weights on what"
     " stood before the equal token. It must be what followed it, one key further."),
    (AFTER, f"{AFTER} & (np.cumsum({AFTER}, axis=-1) == 1)", "one occurrence", "Only what followed"
     f" the first equal token counts. {ONE}"),
    (AFTER, f"{AFTER} & (np.cumsum({AFTER}[..., ::-1], axis=-1)[..., ::-1] == 1)", "one occurrence",
     f"Only what followed the last equal token counts. {ONE}"),
    *((f"({ON}).sum(axis=-1)", code, "one occurrence", f"It is {what} of the weights. {ONE}")
      for code, what in ((f"({ON}).max(axis=-1)", "the largest"), (
          f"({ON}).sum(axis=-1) / np.maximum(after.sum(axis=-1), 1)[:, None]", "the mean"))),
    (ON, "weights.mT * after[:, None]", "rows and columns", "Rows and columns are exchanged: row"
     " t of a map holds the weights of query t."),
    (MEAN, "on_them.mean(axis=(0, 2))", "divided by all positions",
     f"All queries count. {COUNTED}"),
    (f"{MEAN} if counts.any() else 0 * total", MEAN, "nothing repeated", "Where no token is"
     " repeated, 0 / 0 is nan. The score is 0 then."),
    (MEAN, "((on_them * counts[:, None]).sum(axis=2) / np.maximum(counts.sum(axis=1), 1)[:, None])"
     ".mean(axis=0)", "mean of means", f"Each sequence is averaged first. {COUNTED}"),
)(prefix_score)
