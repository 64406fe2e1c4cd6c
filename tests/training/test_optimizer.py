"""Adam and the warm-up: the scalar loop, what happens to the arrays."""

from math import sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import naive_adam, naive_warmup_rate

from aiayn_np import Adam, Linear, Parameter, ReLU, warmup_rate
from aiayn_np.variants.optimizers import AdamW


@pytest.mark.parametrize("options", [{}, dict(beta_1=0.5, beta_2=0.999, eps=1e-3),
                                     dict(beta_1=0, beta_2=0.9)])
def test_fifty_steps_equal_the_scalar_loop(rng, options):
    parameters = [Parameter(rng.normal(size=shape)) for shape in ((2, 3), 4)]
    adam, rates = Adam(parameters, **options), [warmup_rate(step, 16, 20) for step in range(1, 51)]
    values, grads = [adam.store.values.copy()], rng.normal(size=(50, 10))
    for rate, grad in zip(rates, grads, strict=True):
        adam.store.grads[:] = grad
        adam.step(rate)
        values.append(adam.store.values.copy())
    for i, (start, *found) in enumerate(np.transpose(values)):
        expected = naive_adam(start, grads[:, i], rates, **options)
        assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_values_are_written_in_place_and_gradients_left_alone(rng):
    layer = Linear(4, 3, rng=rng)
    adam = Adam(layer.parameters())
    arrays = [p.value for p in layer.parameters()]
    before = [a.copy() for a in arrays]
    for p in layer.parameters():
        p.grad[...] = rng.normal(size=p.grad.shape)
    grads = [p.grad.copy() for p in layer.parameters()]
    adam.step(0.1)
    for p, array, old, grad in zip(layer.parameters(), arrays, before, grads, strict=True):
        assert p.value is array
        assert (array != old).all()
        assert_array_equal(p.grad, grad)


def test_a_rate_of_0_moves_nothing_but_counts_as_a_step(rng):
    p = Parameter(rng.normal(size=3))
    before = p.value.copy()
    adam = Adam([p])
    p.grad[...] = 2
    adam.step(0)
    assert_array_equal(p.value, before)
    p.grad[...] = -1
    adam.step(0.3)
    assert_allclose(p.value, before - 0.3 * 8 / 19 / sqrt(82 / 33), rtol=0, atol=1e-9)  # eps


@pytest.mark.parametrize("change", [
    lambda layer: layer.astype(np.float32), lambda layer: layer.astype(np.float64),
    lambda layer: setattr(layer.b, "value", layer.b.value.copy()), lambda layer: Adam(layer),
], ids=["cast", "cast to the same", "assigned", "taken by another Adam"])
def test_values_of_another_array_are_one_clear_error_and_no_step(rng, change):
    layer = Linear(4, 3, rng=rng)
    adam = Adam(layer)
    change(layer)
    before = layer.state_dict()
    for p in layer.parameters():
        p.grad[...] = 1
    for use in (lambda: adam.step(0.1), adam.zero_grad):
        with pytest.raises(ValueError, match="must keep the arrays that the optimizer gave them"):
            use()
    assert adam.t == 0
    assert all((before[name] == p.value).all() for name, p in layer.named_parameters())


def test_a_gradient_that_was_assigned_counts(rng):
    p, q = Parameter(rng.normal(size=(2, 3))), Parameter(rng.normal(size=(2, 3)))
    q.value[...] = p.value
    for adam, assign in ((Adam([p]), True), (Adam([q]), False)):
        (parameter,) = adam.parameters
        for t in (1, 2):
            grad = np.full((2, 3), float(t))
            if assign:
                parameter.grad = grad
            else:
                parameter.grad[...] = grad
            adam.step(0.1)
    assert_array_equal(p.value, q.value)


LINEAR = Linear(2, 3, rng=np.random.default_rng(0))


@pytest.mark.parametrize(("given", "error", "message"), [
    *((wrong, TypeError, r"^parameters must be a model, or Parameter objects: ")
      for wrong in ([np.ones(2)], [LINEAR], None, 3, Linear, Parameter(np.ones(2)))),
    *((empty, ValueError, r"^parameters must hold at least one Parameter, got none$")
      for empty in ([], (), iter([]), ReLU())),
])
def test_what_holds_no_parameters_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        Adam(given)


def test_a_model_stands_for_its_parameters_and_a_generator_for_its_own():
    for given in (LINEAR, (p for p in LINEAR.parameters())):
        assert Adam(given).parameters == list(LINEAR.parameters())


def test_a_parameter_given_twice_is_stepped_once():
    p = Parameter(np.array([1.0]))
    adam = Adam([p, p])
    p.grad[...] = 2
    adam.step(0.1)
    assert_allclose(p.value, [0.9], rtol=1e-9)


def test_warmup_equals_the_two_branches():
    for step in range(1, 300):
        expected = naive_warmup_rate(step, 48, 70)
        assert warmup_rate(step, 48, 70) == pytest.approx(expected, rel=1e-13)
    assert type(warmup_rate(np.int64(3), 512, 4000)) is float


def test_constants_that_are_numpy_numbers_give_the_same_steps_bit_for_bit(rng):
    """In float32 a constant of type np.float64 would compute in float64 and round once, later."""
    value, grads = rng.normal(size=50).astype(np.float32), rng.normal(size=(5, 50))
    constants, moved = dict(beta_1=0.9, beta_2=0.98, eps=0.1), []
    for number in (float, np.float64):
        p = Parameter(value.copy())
        adam = Adam([p], **{name: number(constant) for name, constant in constants.items()})
        for grad in grads:
            p.grad[...] = grad
            adam.step(number(0.01))
        moved.append(p.value)
    assert_array_equal(*moved)


@pytest.mark.parametrize("make", [Adam, AdamW])
@pytest.mark.parametrize(("bad", "error", "said"), [
    (np.nan, ValueError, r"grad must be finite, .* of parameter 1, of shape \(2,\)"),
    (np.inf, ValueError, r"grad must be finite, .* of parameter 1, of shape \(2,\)"),
    (1j, TypeError, r"grad of shape \(2,\) must be real"),
])
def test_a_gradient_that_is_no_finite_real_number_changes_nothing(make, bad, error, said):
    one, two = (Parameter(np.array([1.0, -5.0])) for _ in range(2))
    adam = make([one, two])
    two.grad = np.array([bad, 1])
    with pytest.raises(error, match=said):
        adam.step(0.1)
    assert adam.t == 0
    assert not adam.all_m.any()
    assert not adam.all_v.any()
    assert_array_equal(adam.store.values, [1, -5, 1, -5])


def test_a_huge_gradient_whose_square_is_not_finite_is_taken():
    p = Parameter(np.array([1.0], np.float32))
    adam = Adam([p])
    p.grad[...] = 1e30
    with np.errstate(over="ignore"):
        adam.step(0.1)
    assert adam.t == 1
