"""Claim 2."""

import numpy as np
from committed import committed

from aiayn_course.lab.claims import saturation as module
from aiayn_course.lab.claims.saturation import AT_WIDE, SATURATION, saturation
from aiayn_course.lab.experiment import AGREES, DISAGREES, IN_PART, NOT_HERE


def test_the_norm_of_the_jacobian_is_that_of_its_definition(rng):
    Q, K, V = rng.standard_normal((3, 1, 5, 4))
    layer = module.ScaledDotProductAttention()
    w = layer.forward(Q, K, V)[1].weights[0]
    want = [np.linalg.norm(np.diag(row) - np.outer(row, row)) for row in w]
    np.testing.assert_allclose(module.norms(layer, Q, K, V, np.ones_like(Q))[0], want)


def test_at_fewer_widths_the_verdict_is_that_of_all():
    assert saturation((1, 8, 64, 512, 1024), queries=1024).verdict == committed(SATURATION).verdict


def test_scores_that_are_not_scaled_would_be_seen(monkeypatch):
    unscaled = lambda: module.ScoredAttention(module.DotScore())  # noqa: E731
    monkeypatch.setattr(module, "ScaledDotProductAttention", unscaled)
    assert saturation((1, 64, 1024), queries=128).verdict == DISAGREES


def test_it_agrees_only_where_the_papers_width_and_the_mean_vanish_too():
    kept = committed(SATURATION)
    kept.gradient[1, kept.paper] *= 0.9 / kept.shares[1, kept.paper]
    assert kept.verdict == IN_PART                                     # not in the mean
    kept.mean_gradient[1] = 0.9 * kept.mean_gradient[0]
    assert kept.verdict == AGREES
    kept.gradient[1, kept.paper] *= 1.1 / kept.shares[1, kept.paper]
    assert kept.verdict == IN_PART                                     # not at the paper's width


def test_a_share_at_512_that_is_large_does_not_agree():
    kept = committed(SATURATION)
    kept.gradient[1, kept.wide] *= 1.1 * AT_WIDE / kept.shares[1, kept.wide]
    assert kept.verdict == NOT_HERE


def test_widths_at_which_nothing_vanishes_do_not_agree():
    assert saturation((1, 16, 64), queries=128).verdict == NOT_HERE
