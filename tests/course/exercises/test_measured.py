"""Exercises 14 to 18: their right formulas give what the lessons and the library measure."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from aiayn_course.exercises.topics.baseline import best_job, margin
from aiayn_course.exercises.topics.induction import prefix_score
from aiayn_course.exercises.topics.muting import muted
from aiayn_course.exercises.topics.shares import token_shares
from aiayn_course.exercises.topics.variance import row_variance, scale_moved
from aiayn_course.lab.claims import induction
from aiayn_course.lab.claims.head_jobs import ANSWER, JOBS, HeadJobs, job_scores
from aiayn_np import Cache, Module, MultiHeadAttention, attention_maps
from aiayn_np.reading import shares
from aiayn_np.variants.models import LanguageModel


class Alone(Module):
    """A layer of attention and a residual sum, without norms and feed-forward."""

    def __init__(self, d_model, d_ff, h, *, P_drop=0.0, rng):
        self.self_attention = MultiHeadAttention(d_model, h, rng=rng)

    def forward(self, x, *, allowed=None, rng=None):
        c = Cache()
        y, c.self_attention = self.self_attention.forward(x, x, x, allowed=allowed)
        return x + y, c

    def backward(self, grad_y, cache):
        return grad_y + sum(self.self_attention.backward(grad_y, cache.self_attention))


def heads_of(attention, x):
    """The outputs of all heads before W^O, (B, h, T, d_v), and the cache of the attention."""
    _, cache = attention.forward(x, x, x)
    return cache.attention.weights @ cache.attention.V, cache


def test_the_variance_of_a_row_is_that_of_the_scores_in_a_layer(rng):
    attention, x = MultiHeadAttention(12, 3, d_k=5, rng=rng), rng.standard_normal((2, 7, 12))
    cache = heads_of(attention, x)[1].attention
    Q, K = cache.Q, cache.K
    scores = Q @ K.mT / math.sqrt(5)
    assert np.allclose(row_variance(Q, K), [
        np.mean([row.var() for row in scores[:, i].reshape(14, 7)]) for i in range(3)])
    attention.linear_Q.W.value[...] = scale_moved(attention.linear_Q.W.value, 3)
    assert np.allclose(heads_of(attention, x)[1].attention.Q @ K.mT, scores)


@pytest.mark.parametrize("job", JOBS)
def test_a_margin_is_the_difference_that_the_claim_measures(job, rng, seed):
    weights, lengths = rng.dirichlet(np.ones(7), (9, 4, 6)), rng.integers(1, 7, 9)
    places, shuffled = np.full((2, 9, 6), -1)
    drawn = np.random.default_rng(seed)
    for b, n in enumerate(lengths):
        place, order = JOBS[job](ANSWER["reverse"](np.arange(n), n), n), drawn.permutation(n + 1)
        inside = np.flatnonzero((place >= 0) & (place <= n))
        places[b, inside], shuffled[b, inside] = place[inside], order[place[inside]]
    score, baseline = job_scores(weights, lengths, ANSWER["reverse"], np.random.default_rng(seed),
                                 JOBS[job])
    assert np.allclose(margin(weights, places, shuffled), score - baseline)


def test_the_best_job_is_that_of_the_claim(rng):
    margins, untrained = rng.uniform(-1, 1, (20, 6)), rng.uniform(-1, 0.8, (5, 4, 6))
    table = SimpleNamespace(margin=margins, untrained=untrained.max())
    assert np.array_equal(best_job(margins, untrained), HeadJobs.best.fget(table))


def test_a_muted_head_is_one_whose_block_is_zero_and_its_mean_is_a_bias(rng):
    attention, x = MultiHeadAttention(12, 3, rng=rng), rng.standard_normal((2, 7, 12))
    heads, _ = heads_of(attention, x)
    W_O, real = attention.linear_O.W.value.copy(), rng.random((2, 7)) < 0.7
    attention.linear_O.W.value[4:8] = 0
    assert np.allclose(muted(heads, W_O, 1), attention(x, x, x))
    assert np.allclose(muted(heads, W_O, 1, real=real),
                       attention(x, x, x) + heads[:, 1][real].mean(axis=0) @ W_O[4:8])


def test_the_prefix_score_is_that_of_the_claim(rng, monkeypatch):
    """With one period for all rows; the claim counts the very first key, too."""
    monkeypatch.setattr(induction, "HALF", 9)
    block = rng.permuted(np.tile(np.arange(1, 32), (4, 1)), axis=1)[:, :9]
    ids = np.tile(block, 5)[:, : induction.T]
    model = LanguageModel(32, N=1, rng=rng, **induction.SIZE)
    (weights,) = attention_maps(model.forward(ids)[1]).values()
    want = induction.prefix_scores(model, ids, np.full((4, 1), 9))
    first = weights[:, :, 9:, 0] * (np.arange(10, induction.T + 1) % 9 == 0)
    assert np.allclose(prefix_score(weights, ids) + first.mean(axis=(0, 2)), want)


def test_the_shares_are_those_of_the_library(rng):
    model = LanguageModel(20, N=2, d_model=12, d_ff=12, h=3, layer=Alone, rng=rng)
    ids = rng.integers(1, 20, (1, 6))
    maps = np.stack(list(attention_maps(model.forward(ids)[1]).values()))     # (2, 1, h, T, T)
    x = model.stack.positions(model.stack.embedding(ids))
    W_VO = [[W_V[:, i : i + 4] @ W_O[i : i + 4] for i in (0, 4, 8)] for W_V, W_O in (
        (part.linear_V.W.value, part.linear_O.W.value) for part in (
            layer.self_attention for layer in model.stack.encoder.layers))]
    e = model.output_projection.E.value
    made = shares(model, None, ids[0], token=3, against=4)
    assert np.allclose(token_shares(x, maps, np.array(W_VO), e[3] - e[4])[0], made.target)
    assert made.biases == 0
