"""Claim 2."""

import numpy as np
from committed import committed

from aiayn_course.lab.claims import saturation as module
from aiayn_course.lab.claims.saturation import SATURATION, saturation
from aiayn_course.lab.experiment import DISAGREES, NOT_HERE


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


def test_widths_at_which_nothing_vanishes_do_not_agree():
    assert saturation((1, 16, 64), queries=128).verdict == NOT_HERE
