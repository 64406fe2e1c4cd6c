"""Exercise 15: a map against its baseline, and against the heads of untrained models."""

import numpy as np

from ..exercise import exercise, function, sized

EXERCISE = exercise(
    15, "baseline", "A map against its baseline", section="3.2.3", lesson="11.3", minutes=35,
    asks="a number for what a head looks at, its baseline, and the margin that chance reaches, too",
)


def margin(weights, places, shuffled):
    """weights (B, h, T_q, T_k), places and shuffled (B, T_q) -> (h,)"""
    inside = (places >= 0)[:, None]
    score = np.take_along_axis(weights, places[:, None, :, None], axis=-1)[..., 0]
    baseline = np.take_along_axis(weights, shuffled[:, None, :, None], axis=-1)[..., 0]
    return ((score - baseline) * inside).sum(axis=(0, 2)) / inside.sum()


def best_job(margins, untrained):
    """margins (h, jobs), untrained (models, h, jobs) -> (h,)"""
    threshold = untrained.max()
    return np.where(margins.max(axis=-1) > threshold, margins.argmax(axis=-1), -1)


MARGIN = function(
    EXERCISE, margin,
    "The score of a head is its mean weight on the places; the baseline is the same mean with"
    " shuffled places. The margin is score - baseline.",
    "Pick weights[b, i, t, places[b, t]] for all b, i, t: np.take_along_axis along the keys, with"
    " places[:, None, :, None].",
    "Queries without a place (-1) are left out of the sum and of the number: divide by"
    " (places >= 0).sum(). For each head there is one mean over all queries of all sequences.",
    run=lambda it, case: {"margin": it(*case.inputs)},
)
JOB = function(
    EXERCISE, best_job,
    "The job of a head is the one with its largest margin, if that is above the threshold.",
    "The threshold is what chance reaches: the largest margin of all heads, all jobs and all"
    " untrained models.",
    "np.where(margins.max(axis=-1) > untrained.max(), margins.argmax(axis=-1), -1)",
    run=lambda it, case: {"job": it(*case.inputs)},
)


@MARGIN.tried_on
def cases(rng):
    def case(B, h, T_q, T_k, without=1):
        places, shuffled = rng.integers(T_k, size=(2, B, T_q))
        none = np.arange(T_q) < without * np.arange(B)[:, None] % T_q
        places[none] = shuffled[none] = -1
        return sized(rng.dirichlet(np.ones(T_k), (B, h, T_q)), places, shuffled, B=B, h=h, T_q=T_q,
                     T_k=T_k)
    return [case(3, 2, 5, 6), case(5, 4, 3, 7), case(2, 3, 4, 5, 0), case(1, 2, 4, 5), case(
        3, 2, 1, 4), case(2, 1, 4, 3), case(2, 3, 4, 1)]


@JOB.tried_on
def tables(rng):
    def case(models, h, jobs, more):
        margins = np.linspace(-0.8, 0.9, h)[:, None] + rng.uniform(-0.1, 0, (h, jobs))
        untrained = rng.uniform(-0.6, 0, (models, h, jobs))
        untrained[-1, 0, -1] = np.sort(margins.max(axis=-1))[h // 2] + more
        return sized(margins, untrained, models=models, h=h, jobs=jobs)
    return [case(3, 12, 6, -0.1), case(5, 15, 2, 1e-3), case(2, 9, 3, 0), case(3, 1, 4, -0.1), case(
        4, 5, 1, -1e-3), case(1, 4, 3, -1e-3)]


DIFFERENCE, NUMBER = "(score - baseline) * inside", "inside.sum()"
MEAN = f"({DIFFERENCE}).sum(axis=(0, 2)) / {NUMBER}"
ABOVE, BEST = "margins.max(axis=-1) > threshold", "margins.argmax(axis=-1)"
RIGHT = f"np.where({ABOVE}, {BEST}, -1)"
LEFT_OUT = "They have no place: leave them out of the sum and of the number."
CHANCE = ("It is the largest margin of all untrained models, heads and jobs: whoever"
          " looks at so many numbers finds a large one.")
MARGIN.right(
    "function",
    (NUMBER, "inside.size", "queries without a place", "The sum is divided by the number of all"
     f" queries, those with -1 too. {LEFT_OUT}"),
    ("places >= 0", "places > 0", "queries without a place", "Queries with the place 0 are left"
     " out. 0 is the first key; -1 stands for no place."),
    (MEAN, f"(({DIFFERENCE}).sum(axis=2) / inside.sum(axis=2)).mean(axis=0)", "mean of means",
     "Each sequence is averaged first, and a short one counts as much as a long one. Take one mean"
     " over all queries."),
    (MEAN, f"({DIFFERENCE}).sum() * np.ones(score.shape[1]) / {NUMBER} / score.shape[1]",
     "heads mixed", "There is one mean over all heads. Each head has its own: axis=(0, 2)."),
    (DIFFERENCE, "score * inside", "baseline missing", "This is the score alone. Subtract the"
     " baseline, the same mean for shuffled places."),
    (("score", "baseline"), [f"(weights.argmax(axis=-1) == {name}[:, None]) * 1.0" for name in (
        "places", "shuffled")], "hits instead of weights", "It is counted how often the largest"
     " weight is on the place. The score is the mean of the weights themselves."),
)(margin)
JOB.right(
    "function",
    *((ABOVE, f"(margins > {code}).any(axis=-1)", "threshold too low", f"The threshold is too low."
       f" {CHANCE}") for code in (
           "0", "untrained.min()", "untrained.mean()", "untrained.max(axis=(0, 1))",
           "untrained.max(axis=(0, 2))[:, None]", "untrained.max((1, 2)).mean()")),
    (ABOVE, "True", "threshold missing", "Every head gets a job. One whose margin chance reaches,"
     " too, has none: -1."),
    (RIGHT, f"np.where({ABOVE}, {BEST}, 0)", "no job is 0", "0 is the number of"
     " the first job. A head without a job gets -1."),
    (BEST, f"{BEST} + 1", "no job is 0", "The jobs are counted from 1. argmax counts them from 0,"
     " and so does the answer."),
)(best_job)
