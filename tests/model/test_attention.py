"""Scaled dot-product attention: a worked example, views, dropout, the scale."""

from math import log

import numpy as np
from attention_inputs import random_QKV
from numpy.testing import assert_allclose
from reference import naive_attention_weights

from aiayn_np import ScaledDotProductAttention

LN2, LN3 = log(2), log(3)
# d_k = 4, so the scale is 1/2: the scores are [[0, ln 2, ln 3], [ln 3, 0, ln 2]]
Q = np.array([[2.0, 0, 0, 0], [0, 2, 0, 0]])
K = np.array([[0, LN3, 0, 0], [LN2, 0, 0, 0], [LN3, LN2, 0, 0]])
V = np.array([[6.0, 0], [0, 12], [6, 6]])
ATTENTION = ScaledDotProductAttention()


def test_worked_forward():
    y, cache = ATTENTION.forward(Q, K, V)
    assert_allclose(cache.weights, [[1 / 6, 2 / 6, 3 / 6], [3 / 6, 1 / 6, 2 / 6]], rtol=1e-14)
    assert_allclose(y, [[1 + 3, 4 + 3], [3 + 2, 2 + 2]], rtol=1e-14)


def test_worked_backward():
    """With g = [[1, 0], [0, -2]] the gradient of the weights is [[6, 0, 6], [0, -24, -12]].

    Its means under the weights are 4 and -8, so the softmax gives
    [[1/6 * 2, 2/6 * -4, 3/6 * 2], [3/6 * 8, 1/6 * -16, 2/6 * -4]], halved by the scale.
    """
    _, cache = ATTENTION.forward(Q, K, V)
    grad_Q, grad_K, grad_V = ATTENTION.backward(np.array([[1.0, 0], [0, -2]]), cache)
    s = np.array([[1 / 6, -2 / 3, 1 / 2], [2, -4 / 3, -2 / 3]])
    assert_allclose(grad_Q[0], [-2 / 3 * LN2 + LN3 / 2, LN3 / 6 + LN2 / 2, 0, 0], rtol=1e-14)
    assert_allclose(grad_Q[1], [-4 / 3 * LN2 - 2 / 3 * LN3, 2 * LN3 - 2 / 3 * LN2, 0, 0],
                    rtol=1e-14)
    assert_allclose(grad_K, [[2 * s[0, j], 2 * s[1, j], 0, 0] for j in range(3)], rtol=1e-14)
    assert_allclose(grad_V, [[1 / 6, -1], [2 / 6, -1 / 3], [1 / 2, -2 / 3]], rtol=1e-14)


def test_one_array_seen_as_several_heads_gets_a_gradient_for_each(rng):
    shared = [np.broadcast_to(x, (4, *x.shape)) for x in random_QKV(rng)]  # four heads, one memory
    y, _ = ATTENTION.forward(*shared)
    grad_y = rng.normal(size=y.shape)
    grads = [ATTENTION.backward(grad_y, ATTENTION.forward(*heads)[1])
             for heads in (shared, [x.copy() for x in shared])]
    for of_views, of_copies in zip(*grads):
        assert_allclose(of_views, of_copies, rtol=1e-12, atol=1e-14)


def test_dropout_acts_on_the_weights_and_the_map_stays_whole(rng):
    q, k, v = random_QKV(rng)
    y, cache = ScaledDotProductAttention(0.3).forward(q, k, v, rng=rng)
    assert_allclose(cache.weights, naive_attention_weights(q, k), rtol=1e-12)
    dropped = cache.kept == 0
    assert dropped.any()
    assert not dropped.all()
    assert_allclose(cache.kept[~dropped], cache.weights[~dropped] / 0.7, rtol=1e-14)
    assert_allclose(y, np.einsum("bhij,bhjv->bhiv", cache.kept, v), rtol=1e-12, atol=1e-14)


def test_scaling_divides_by_the_root_of_d_k_and_not_by_d_v_or_T(rng):
    """q . k = d_k for every key but the last, so the scores differ by sqrt(d_k) = 3."""
    q, k = np.ones((2, 2, 9)), np.ones((2, 4, 9))
    k[:, 3] = 0
    weights = ATTENTION.forward(q, k, rng.normal(size=(2, 4, 5)))[1].weights
    assert_allclose(weights[..., 0] / weights[..., 3], np.full((2, 2), np.exp(3)), rtol=1e-13)
