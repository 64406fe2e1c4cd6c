"""Claims 1, 2 and 13: variances, saturation, and training with and without the scales."""

import numpy as np
import pytest
from committed import REPEATS, committed

from aiayn_course.lab.claims import embedding_training as training
from aiayn_course.lab.claims import saturation as module
from aiayn_course.lab.claims.embedding_scale import cosines, embedding_scale
from aiayn_course.lab.claims.saturation import saturation
from aiayn_course.lab.claims.variance import dot_product_variance
from aiayn_course.lab.experiment import AGREES, DISAGREES, NOT_SETTLED
from aiayn_course.lab.learning import small_model
from aiayn_np import CopyTask, Embedding, SinusoidalPositionalEncoding, check_gradients


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


def test_each_kind_of_model_changes_what_its_name_says(seed):
    ids, r = np.arange(3, 8)[None], 8.0
    models = [small_model(CopyTask(), seed, d_model=64).astype(np.float64) for _ in training.NAMES]
    whole = models[0].positions(models[0].src_embedding(ids))
    PE = models[0].positions.table(5)
    for model, kind in zip(models, training.kinds(64)):
        training.change(model, *kind)
    got = [m.positions(m.src_embedding(ids)) for m in models]
    word = whole - PE
    want = whole, word / r + PE, whole / r, word + r * PE, whole
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9)
    E = [m.src_embedding.E.value for m in models]
    assert all((other == E[0]).all() for other in E[:4])
    np.testing.assert_allclose(E[4], r * E[0], rtol=1e-6)
    assert check_gradients(training.Weighted(6, 9, of_x=0.3, of_PE=2.0), np.ones((2, 4, 6)))


@pytest.mark.slow
@pytest.mark.parametrize(("of_x", "verdict"), [(0.0, AGREES), (1.0, DISAGREES)])
def test_a_planted_effect_is_seen_and_no_effect_is_not(of_x, verdict, monkeypatch):
    """Without the words, and with the factor after all."""
    monkeypatch.setattr(training, "kinds", lambda d_model: [(1, 1, 1), (of_x, 1, 1)])
    found = training.embedding_training(("copy",), d_model=32, steps=100, rate_scale=(0.4,))
    assert found.verdict == verdict


@pytest.mark.slow
def test_the_committed_losses_of_training_are_those_of_these_models():
    kept = committed(training.EMBEDDING_TRAINING)
    again = training.embedding_training(kept.tasks[:1], rate_scale=kept.rate_scale[:1], seeds=(0,))
    np.testing.assert_allclose(again.loss[0, :, 0, 0, 0], kept.loss[0, :, 0, 0, 0], rtol=REPEATS)
