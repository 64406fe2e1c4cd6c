"""Claim 13."""

import numpy as np
import pytest

from aiayn_course.lab.claims.embedding_scale import (
    cosines,
    embedding_scale,
)
from aiayn_course.lab.experiment import DISAGREES
from aiayn_np import Embedding, SinusoidalPositionalEncoding


@pytest.fixture(scope="module")
def measured():
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


def test_a_layer_without_the_factor_would_not_agree(measured, monkeypatch):
    monkeypatch.setattr(Embedding, "__call__", lambda self, ids: self.E.value[ids])
    planted = embedding_scale((8, 32, 128), tokens=4)
    assert planted.verdict == DISAGREES
    assert planted.ratio[-1] < 0.2
