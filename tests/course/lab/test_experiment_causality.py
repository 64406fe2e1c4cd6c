"""Claim 9."""


import numpy as np
import pytest

from aiayn_course.lab.claims.causality import block_norms, causality
from aiayn_course.lab.experiment import AGREES
from aiayn_np import Decoder, DecoderLayer, causal

SMALL = dict(T=6, T_src=5, padded=2, d_model=16, h=2)


@pytest.fixture(scope="module")
def measured():
    return causality()


def one_ahead(T):
    """The mask with its diagonal off by one: position t may look at t + 1."""
    return np.tri(T, k=1, dtype=bool)


@pytest.mark.parametrize("seed", [1, 2])
def test_other_tokens_and_weights_give_the_same_pattern(seed):
    assert causality(**SMALL, seed=seed).verdict == AGREES


@pytest.mark.parametrize(
    ("allowed", "zeros"),
    [(one_ahead, 0), (lambda T: None, 0), (lambda T: causal(T).T, 0),
     (lambda T: np.eye(T, dtype=bool), 15)],
    ids=["off by one", "no mask", "looks ahead only", "looks at itself only"],
)
def test_a_wrong_mask_would_be_seen(allowed, zeros):
    wrong = causality(**SMALL, allowed=allowed)
    assert wrong.verdict != AGREES
    assert wrong.zeros[0].all() == (zeros == 15)


def test_off_by_one_is_invisible_two_steps_ahead_in_one_layer_only():
    """Each layer that looks one ahead adds a step: what to look for is the whole triangle."""
    for N in (1, 2, 3):
        norms = causality(**SMALL, N=N, allowed=one_ahead).masked
        np.testing.assert_array_equal(norms > 0, np.tri(6, k=N, dtype=bool))


def test_padding_that_is_not_masked_would_be_seen(rng, measured):
    decoder = Decoder([DecoderLayer(8, 16, 2, P_drop=0.0, rng=rng)])
    x, memory = rng.standard_normal((4, 8)), rng.standard_normal((3, 8))
    masked, of_memory = block_norms(decoder, x, memory, allowed=causal(4))
    assert (of_memory > 0).all()
    leaky = type(measured)(masked, masked + 1, of_memory, np.array([True, True, False]))
    assert leaky.verdict != AGREES


def test_block_norms_are_those_of_the_jacobian_by_differences(rng):
    decoder = Decoder([DecoderLayer(4, 6, 2, P_drop=0.0, rng=rng)])
    x, memory = rng.standard_normal((3, 4)), rng.standard_normal((2, 4))
    steps = 1e-6 * np.eye(12).reshape(12, 3, 4)
    memories = np.broadcast_to(memory, (12, 2, 4))
    y = [decoder(x + sign * steps, memories, allowed=causal(3)) for sign in (1, -1)]
    jacobian = ((y[0] - y[1]) / 2e-6).reshape(3, 4, 3, 4)              # (s, in, t, out)
    norms, _ = block_norms(decoder, x, memory, allowed=causal(3))
    np.testing.assert_allclose(norms, np.linalg.norm(jacobian, axis=(1, 3)).T, atol=1e-7)
