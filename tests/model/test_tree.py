"""Layers that the search for parameters would lose are refused by Adam and by saving."""

from collections import UserList, deque
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest

from aiayn_np import Adam, Linear, Module, Parameter, ReLU, save_checkpoint
from aiayn_np.checks import check_array, check_gradient, check_integers
from aiayn_np.training.checks import check_tree


class Holder(Module):
    """A layer that holds something."""

    def __init__(self, **held):
        self.linear = Linear(2, 2, rng=np.random.default_rng(0))
        vars(self).update(held)

    def forward(self, x):
        return self.linear.forward(x)

    def backward(self, grad_y, cache):
        return self.linear.backward(grad_y, cache)


def linear():
    return Linear(2, 2, rng=np.random.default_rng(0))


def loop():
    layer = Holder()
    layer.inner = Holder(parent=layer)
    return layer


BAD = {
    "a set": (lambda: Holder(layers={linear()}), TypeError, "got Linear in the set layers"),
    "a frozen set": (lambda: Holder(a=[frozenset({ReLU()})]), TypeError, "frozenset a.0"),
    "an array": (lambda: Holder(a=np.array([linear(), None])), TypeError, "in the ndarray a"),
    "a parameter in a set": (lambda: Holder(a={Parameter(np.ones(2))}), TypeError, "Parameter in"),
    "a deque": (lambda: Holder(a=deque([linear()])), TypeError, "Linear in the deque a"),
    "a list in an array": (lambda: Holder(a=np.array([[linear()], None], object)), TypeError,
                           "Linear in the ndarray a"),
    "a record": (lambda: Holder(a=np.array([(linear(), 1)], "O, i")), TypeError, "ndarray a"),
    "a tuple in a set": (lambda: Holder(a=frozenset({(linear(),)})), TypeError, "frozenset a"),
    "a set in a deque in a dict": (lambda: Holder(a={"b": deque([{linear()}])}), TypeError,
                                   "in the deque a.b"),
    "a key": (lambda: Holder(a={linear(): 1}), TypeError, "Linear in the dict_keys a"),
    "a mapping": (lambda: Holder(a=MappingProxyType({1: linear()})), TypeError, "mappingproxy a"),
    "a user's list": (lambda: Holder(a=UserList([linear()])), TypeError, "UserList a"),
    "an object": (lambda: Holder(a=SimpleNamespace(b=linear())), TypeError, "SimpleNamespace a"),
    "one name": (lambda: Holder(a={1: Parameter(np.ones(2)), "1": Parameter(np.ones(3))}),
                 ValueError, "names of their own, got two at a.1"),
    "a dot": (lambda: Holder(**{"a": {"b": Parameter(np.ones(2))}, "a.b": Parameter(np.ones(2))}),
              ValueError, "got two at a.b"),
    "its parent": (loop, ValueError, "must not contain itself, got one at inner.parent"),
    "itself in a list": (lambda: (a := Holder(), vars(a).update(b=[a]))[0], ValueError, "at b.0"),
}


@pytest.mark.parametrize("name", BAD)
def test_it_is_refused_before_anything_is_lost(name, tmp_path):
    make, error, message = BAD[name]
    for use in (check_tree, Adam, lambda layer: save_checkpoint(tmp_path / "a.npz", layer)):
        with pytest.raises(error, match=message):
            use(make())
    assert list(tmp_path.iterdir()) == []


def test_shared_layers_and_parameters_are_no_loop():
    shared, layer = linear(), ReLU()
    odd = deque([shared, {"x": [shared.W]}])                           # found elsewhere too
    odd.append(odd)
    check_tree(Holder(a=shared, b=[shared, {"c": shared}], d=shared.W, e=(layer, layer), f={1, 2},
                      odd=odd, rng=np.random.default_rng(0), text="text"))


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize(("make", "name"), [
    (np.matrix, "matrix"), (np.ma.masked_array, "MaskedArray")])
def test_matrices_and_masked_arrays_are_refused_by_name(make, name):
    with pytest.raises(TypeError, match=f"x must be a numpy array of floats, got {name}"):
        check_array("x", make([[1.0, 2.0]]))
    with pytest.raises(TypeError, match=f"grad_y must be a numpy array of floats, got {name}"):
        check_gradient(make([[1.0]]), (1, 1), np.dtype(float))
    with pytest.raises(TypeError, match=f"src must be a numpy array of integers, got {name}"):
        check_integers("src", make([[1, 2]]))


def test_half_precision_is_refused_in_our_words():
    with pytest.raises(TypeError, match="x must be float32 or float64, got float16"):
        check_array("x", np.ones(3, np.float16))
