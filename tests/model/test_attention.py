"""Scaled dot-product attention of views."""

import numpy as np
from attention_inputs import random_QKV
from numpy.testing import assert_allclose

from aiayn_np import ScaledDotProductAttention

ATTENTION = ScaledDotProductAttention()


def test_one_array_seen_as_several_heads_gets_a_gradient_for_each(rng):
    shared = [np.broadcast_to(x, (4, *x.shape)) for x in random_QKV(rng)]  # four heads, one memory
    y, _ = ATTENTION.forward(*shared)
    grad_y = rng.normal(size=y.shape)
    grads = [ATTENTION.backward(grad_y, ATTENTION.forward(*heads)[1])
             for heads in (shared, [x.copy() for x in shared])]
    for of_views, of_copies in zip(*grads):
        assert_allclose(of_views, of_copies, rtol=1e-12, atol=1e-14)
