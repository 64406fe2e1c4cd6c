"""AdamW and the cosine schedule against plain arithmetic; what decays, and what does not."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aiayn_np import Adam, Linear, Parameter
from aiayn_np.variants.models import llama
from aiayn_np.variants.optimizers import AdamW, cosine_rate, matrices


def test_without_a_decay_it_is_adam(rng):
    """Also in its defaults, which are those of Loshchilov and Hutter."""
    start, grads = rng.standard_normal(5), rng.standard_normal((4, 5))
    results = []
    for make in (lambda p: AdamW([p], decay=0.0), lambda p: AdamW([p], decayed=[]),
                 lambda p: Adam([p], beta_2=0.999, eps=1e-8)):
        p = Parameter(start.copy())
        optimizer = make(p)
        for grad in grads:
            p.grad[...] = grad
            optimizer.step(0.1)
        results.append(p.value)
    assert_array_equal(results[0], results[2])
    assert_array_equal(results[1], results[2])
    assert AdamW([Parameter(start)]).decay == 0.01


def test_the_decay_does_not_pass_through_adam(rng):
    """A value without a gradient shrinks by rate * decay, however large its other gradients were.
    """
    p = Parameter(np.array([2.0, 3.0]))
    AdamW([p], decay=0.1).step(0.5)
    assert_allclose(p.value, [2 * 0.95, 3 * 0.95], rtol=1e-15)


def test_matrices_decay_and_gains_and_biases_do_not(rng):
    model = llama(9, N=1, d_model=8, d_ff=12, h=4, h_kv=2, bias=True, rng=rng)
    names = {id(p): name for name, p in model.named_parameters()}
    decayed = {names[id(p)] for p in matrices(model)}
    assert all(name.endswith((".W", ".E")) for name in decayed)
    assert {n for n in names.values() if n not in decayed} == {
        n for n in names.values() if n.endswith((".gamma", ".b"))}
    assert AdamW(model, decayed=matrices(model)).decayed == matrices(model)


def test_the_cosine_rises_in_a_line_and_falls_to_its_least():
    def rate(step):
        return cosine_rate(step, 110, peak=0.4, warmup_steps=10, least=0.25)
    assert [rate(1), rate(5), rate(9), rate(10)] == pytest.approx([0.04, 0.2, 0.36, 0.4])
    assert rate(60) == pytest.approx(0.4 * (0.25 + 0.75 / 2))
    assert rate(35) == pytest.approx(0.4 * (0.25 + 0.75 * (1 + math.sqrt(0.5)) / 2))
    assert rate(110) == rate(500) == pytest.approx(0.1)
    assert cosine_rate(3, 2, peak=1, warmup_steps=2) == pytest.approx(0.1)
    assert cosine_rate(2, 2, peak=1.0, warmup_steps=2) == 1


def test_a_refused_step_changes_nothing(rng):
    layer = Linear(2, 3, rng=rng)
    optimizer, before = AdamW(layer), layer.W.value.copy()
    with pytest.raises(ValueError, match="rate must lie in"):
        optimizer.step(-0.1)
    assert_array_equal(layer.W.value, before)
    layer.astype(np.float32)
    values = optimizer.store.values.copy()
    with pytest.raises(ValueError, match="make a new optimizer"):
        optimizer.step(0.1)
    assert_array_equal(optimizer.store.values, values)
