"""AdamW and the cosine schedule against plain arithmetic; what decays, and what does not."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import naive_adam

from aiayn_np import Adam, Linear, Parameter
from aiayn_np.variants.models import llama
from aiayn_np.variants.optimizers import AdamW, cosine_rate, matrices

CONSTANTS = dict(beta_1=0.8, beta_2=0.95, eps=1e-3, decay=0.2)


def test_steps_equal_those_of_plain_arithmetic(rng):
    values, grads = rng.standard_normal((2, 3)), rng.standard_normal((6, 2, 3))
    rates = rng.uniform(0.1, 0.5, 6)
    parameters = [Parameter(row.copy()) for row in values]
    optimizer = AdamW(parameters, **CONSTANTS, decayed=parameters[:1])
    for grad, rate in zip(grads, rates):
        for p, row in zip(parameters, grad):
            p.grad[...] = row
        optimizer.step(rate)
    for i, k in np.ndindex(values.shape):
        constants = CONSTANTS | {"decay": 0.2 if i == 0 else 0.0}
        want = naive_adam(values[i, k], grads[:, i, k], rates, **constants)[-1]
        assert_allclose(parameters[i].value[k], want, rtol=1e-13)


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


@pytest.mark.parametrize(("options", "error", "message"), [
    (dict(step=0), ValueError, "step must be at least 1"),
    (dict(steps=0), ValueError, "steps must be at least 1"),
    (dict(warmup_steps=0), ValueError, "warmup_steps must be at least 1"),
    (dict(peak=-1.0), ValueError, r"peak must lie in \[0, inf\)"),
    (dict(least=1.0), ValueError, r"least must lie in \[0, 1\)"),
])
def test_a_rate_that_is_none_is_refused(options, error, message):
    given = dict(step=1, steps=5, peak=1.0, warmup_steps=2) | options
    with pytest.raises(error, match=message):
        cosine_rate(given.pop("step"), given.pop("steps"), **given)


def test_what_does_not_fit_is_refused_and_nothing_changes(rng):
    layer = Linear(2, 3, rng=rng)
    with pytest.raises(ValueError, match=r"decay must lie in \[0, inf\), got decay=-1"):
        AdamW(layer, decay=-1)
    with pytest.raises(ValueError, match="decayed must hold only parameters of this optimizer"):
        AdamW(layer, decayed=[Parameter(np.ones(2))])
    optimizer, before = AdamW(layer), layer.W.value.copy()
    with pytest.raises(ValueError, match="rate must lie in"):
        optimizer.step(-0.1)
    assert_array_equal(layer.W.value, before)
    layer.astype(np.float32)
    values = optimizer.store.values.copy()
    with pytest.raises(ValueError, match="make a new optimizer"):
        optimizer.step(0.1)
    assert_array_equal(optimizer.store.values, values)
