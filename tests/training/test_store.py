"""One array for all values and one for all gradients, of which the parameters are views."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from aiayn_np import Adam, Linear, Parameter
from aiayn_np.training.store import BLOCK, Store


@pytest.fixture
def layer(rng):
    layer = Linear(4, 3, rng=rng)
    for p in layer.parameters():
        p.value[...], p.grad[...] = rng.normal(size=(2, *p.value.shape))
    return layer


def test_parameters_keep_their_numbers_and_become_views(layer):
    before = [(p.value.copy(), p.grad.copy()) for p in layer.parameters()]
    store = Store(layer.parameters())
    for p, (value, grad) in zip(layer.parameters(), before, strict=True):
        assert_array_equal(p.value, value)
        assert_array_equal(p.grad, grad)
        assert np.shares_memory(p.value, store.values)
        assert np.shares_memory(p.grad, store.grads)
    assert_array_equal(store.values, np.concatenate([v.ravel() for v, _ in before]))
    store.values[:] = 7
    store.grads[:] = 8
    assert all((p.value == 7).all() and (p.grad == 8).all() for p in layer.parameters())


def test_blocks_cover_everything_once():
    store = Store([Parameter(np.zeros(BLOCK + 5)), Parameter(np.zeros((2, BLOCK)))])
    for values, grads in store.blocks(store.values, store.grads):
        values += 1
        grads += 2
        assert values.size <= BLOCK
    assert (store.values == 1).all()
    assert (store.grads == 2).all()


def test_parameters_of_two_dtypes_are_refused():
    mixed = [Parameter(np.zeros(2)), Parameter(np.zeros(2, np.float32))]
    with pytest.raises(TypeError, match="must have one dtype, got float32 and float64"):
        Adam(mixed)


def test_a_gradient_of_another_shape_is_refused():
    p = Parameter(np.zeros((2, 3)))
    p.grad = np.zeros(3)                                     # would be broadcast
    with pytest.raises(ValueError, match=r"shape of the value, \(2, 3\), got \(3,\)"):
        Store([p])
    p = Parameter(np.zeros((2, 3)))
    adam = Adam([p])
    p.grad = np.zeros(3)
    with pytest.raises(ValueError, match=r"shape of the value, \(2, 3\), got \(3,\)"):
        adam.step(0.1)
    assert adam.t == 0


def test_an_optimizer_clears_all_gradients_at_once(layer):
    adam = Adam(layer.parameters())
    layer.b.grad = np.ones(3)                                # assigned: taken in again
    adam.zero_grad()
    assert not any(p.grad.any() for p in layer.parameters())
    assert layer.W.grad is next(iter(adam.store.views))[1]


def test_moments_are_shown_for_each_parameter(layer):
    adam = Adam(layer.parameters())
    adam.step(0.1)
    assert [m.shape for m in adam.m] == [(4, 3), (3,)]
    np.testing.assert_allclose(adam.m[1], 0.1 * layer.b.grad, rtol=1e-12)
    np.testing.assert_allclose(adam.v[0], 0.02 * layer.W.grad**2, rtol=1e-12)


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_of_model_and_optimizer_goes_on_like_the_original(layer, clone):
    adam = Adam(layer.parameters())
    adam.step(0.1)
    twin, twin_adam = clone((layer, adam))
    for optimizer in (adam, twin_adam):
        for p in optimizer.parameters:
            p.grad[...] = 3
        optimizer.step(0.1)
    assert_array_equal(twin.W.value, layer.W.value)
    assert not np.shares_memory(twin.W.value, layer.W.value)
    assert len(pickle.dumps(twin.b)) < 1000                  # not the whole store with each view
