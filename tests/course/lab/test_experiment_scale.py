"""Claims 1, 2 and 13: variances, saturation, and training with and without the scales."""

import numpy as np
import pytest
from committed import committed

from aiayn_course.lab.claims import saturation as module
from aiayn_course.lab.claims.embedding_scale import cosines, embedding_scale
from aiayn_course.lab.claims.saturation import SATURATION, saturation
from aiayn_course.lab.claims.variance import dot_product_variance
from aiayn_course.lab.experiment import DISAGREES, NOT_SETTLED
from aiayn_np import Embedding, SinusoidalPositionalEncoding


@pytest.fixture(scope="module")
def measured_variance():
    return dot_product_variance((16, 128, 1024))


def test_the_variance_is_d_k_within_3_percent(measured_variance):
    np.testing.assert_allclose(measured_variance.variance, measured_variance.d_k, rtol=0.03)
    np.testing.assert_allclose(measured_variance.scaled_variance, 1, rtol=0.03)
    assert measured_variance.error < 0.03


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
    assert saturation((1, 16, 64), queries=128).verdict == NOT_SETTLED


@pytest.fixture(scope="module")
def measured_embedding_scale():
    return embedding_scale()


def test_cosines_by_hand():
    """Two tokens that are opposite, two positions that add nothing."""
    y = np.array([1.0, -1.0])[:, None, None] * np.ones((2, 2, 3))
    np.testing.assert_allclose(cosines(y), [1, -1])


def test_sizes_of_a_layer_as_measured(seed):
    layer = Embedding(500, 64, rng=np.random.default_rng(seed))
    result = embedding_scale((64,), vocab_size=500, T=5, tokens=3, seed=seed)
    assert result.scaled[0] == pytest.approx(np.sqrt((layer(np.arange(500)) ** 2).mean()))
    PE = SinusoidalPositionalEncoding(64, 5).table(5)
    assert result.position[0] == pytest.approx(np.sqrt((PE**2).mean()))


def test_a_layer_without_the_factor_would_not_agree(measured_embedding_scale, monkeypatch):
    monkeypatch.setattr(Embedding, "__call__", lambda self, ids: self.E.value[ids])
    planted = embedding_scale((8, 32, 128), tokens=4)
    assert planted.verdict == DISAGREES
    assert planted.ratio[-1] < 0.2
