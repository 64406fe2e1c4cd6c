"""Layers in eight habits of public code: right ones pass, faults are named, gaps are told."""

import copy
import re

import numpy as np
import pytest
from habits import FAULTS, HABITS, TENSORS, Dense

from aiayn_np import Linear
from aiayn_np.proofs.adapters import as_layer, read
from aiayn_np.proofs.gradient_check import check_gradients
from aiayn_np.proofs.report import ALL


def of_tensors(report, ok):
    return [row.tensor for row in report.rows if row.ok is ok and row.tensor != ALL]


@pytest.mark.parametrize("habit", HABITS)
def test_a_right_layer_passes_with_all_its_tensors(habit, rng):
    for _ in range(5):
        layer, inputs = HABITS[habit](rng, "")
        report = check_gradients(layer, *inputs)
        assert report, report
        assert of_tensors(report, ok=True) == TENSORS[habit].split()
        assert report.worst.error < 1e-12


@pytest.mark.parametrize(("habit", "fault", "wrong"), FAULTS)
def test_a_fault_is_named_by_tensor_and_entry(habit, fault, wrong, rng):
    layer, inputs = HABITS[habit](rng, fault)
    report = check_gradients(layer, *inputs)
    assert of_tensors(report, ok=False) == wrong.split()
    assert re.search(r"WRONG: worst entry \[[\d, ]+\] is \S+, must be \S+", str(report))


def test_a_parameter_without_gradient_is_told_and_a_running_mean_is_none(rng):
    layer, inputs = HABITS["kept_input"](rng, "no bias")
    report = check_gradients(layer, *inputs)
    assert report.not_checked == {"b": "has no gradient, though the output depends on it"}
    text = str(report)
    assert "Checked: 2 of 3 arrays, each along one random direction." in text
    assert "Not checked: b has no gradient, though the output depends on it." in text


@pytest.mark.parametrize(("habit", "told"), [
    ("attributes", {}),                          # what an earlier call left is no parameter
    ("dicts", {"ids": "holds no floats"})])
def test_ids_are_told_and_what_an_earlier_call_left_is_not(habit, told, rng):
    layer, inputs = HABITS[habit](rng, "")
    assert check_gradients(layer, *inputs).not_checked == told


class Late:
    """Makes its parameters in its first forward, when it knows the width."""

    W = None

    def __init__(self, factor):
        self.factor = factor

    def forward(self, x):
        if self.W is None:
            self.W = np.random.randn(x.shape[-1], 3)                   # noqa: NPY002
        self.x = x
        return x @ self.W

    def backward(self, dout):
        self.dW = self.factor * (self.x.T @ dout)
        return dout @ self.W.T


@pytest.mark.parametrize("factor", [1, 2])
def test_parameters_that_the_first_forward_makes_are_found(factor, rng):
    report = check_gradients(Late(factor), rng.standard_normal((5, 4)))
    assert of_tensors(report, ok=factor == 1)[-1:] == ["W"], report


def sine(x):
    return np.sin(x), x


def test_what_is_no_gradient_and_no_cache_is_refused(rng):
    x = rng.standard_normal(3)
    for layer, said in [
        ((sine, lambda dout, a, b, c: dout), r"the caches of forward, got \(dout, a, b, c\);"),
        ((sine, lambda x: np.cos(x)), "take the gradient of y first, got x;"),
        ((sine, lambda dout, x: np.cos(x)), "must be linear in the gradients that it gets;"),
        ((sine, lambda dout, e: dout), "e may be a gradient or a cache, for backward does not"),
        ((lambda x: (x, x**2), lambda grads: 2 * grads), "grads may be the gradients of all outp"),
        ((sine, lambda ans, x: lambda g: g * np.cos(x)), "two functions around it are checked"),
        (object(), "layer must be an object with forward and backward, got <object"),
        (np.sin, "layer must be an object with forward and backward, got <ufunc"),
        (Gradient(), "layer must be an object with forward and backward, got <test_adapt"),
    ]:
        with pytest.raises(TypeError, match=said):
            check_gradients(layer, x)


def test_what_two_functions_would_not_mend_is_told_without_them(rng):
    def mine(x):
        raise ValueError("mine")

    for layer, x, said in [
        (Dense, rng.standard_normal(3), r"an object such as Dense\(...\), got its class$"),
        (Linear, rng.standard_normal(3), r"an object such as Linear\(...\), got its class"),
        ((mine, sine), rng.standard_normal(3), "^your forward raised ValueError: mine$"),
        ((lambda x: (x * x, x), lambda dy, x: dy), np.arange(3),
         r"of int\d+; are the inputs .* as floats$"),
    ]:
        with pytest.raises(TypeError, match=said):
            check_gradients(layer, x)


class Gradient:
    def compute(self, x):
        return x

    def gradient(self, out_grad, node):
        return out_grad


class Elsewhere(Dense):
    """Leaves a gradient where nobody looks for it."""

    def __init__(self, rng, place):
        super().__init__(rng, "")
        self.place = place

    def backward(self, dout):
        dx = super().backward(dout)
        dW, self.dW = self.dW, None
        if self.place == "another name":
            self.nabla = dW
        if self.place == "a global":
            GRADIENTS["dW"] = dW
        if self.place == "the class":
            type(self).dW = dW
        if self.place == "a step":
            self.W = self.W - 0.1 * dW
        if self.place == "returned":
            return dx, dW
        return dx, {"V": dW} if self.place == "a mistyped key" else dx


GRADIENTS: dict = {}


@pytest.mark.parametrize("place", [
    "another name", "a global", "the class", "a step", "returned", "a mistyped key"])
def test_a_gradient_that_is_found_nowhere_is_never_left_out(place, rng):
    with pytest.raises(TypeError, match="two functions around it are checked, f"):
        check_gradients(Elsewhere(rng, place), rng.standard_normal((5, 4)))


def test_a_gradient_of_another_shape_is_told(rng):
    class Column(Dense):
        def backward(self, dout):
            dx = super().backward(dout)
            self.db = self.db[:, None]
            return dx

    report = check_gradients(Column(rng, ""), rng.standard_normal((5, 4)))
    (row,) = report.rows
    assert row.tensor == "b"
    assert row.verdict == "WRONG: shape (3, 1), must be (3,)"


class BothNames(Dense):
    """One array under two names, of which one has the gradient."""

    def __init__(self, rng, fault):
        super().__init__(rng, fault)
        self.all = [self.W, self.b]
        self.tied = {"first": self.W}


def test_an_array_with_two_names_is_one_parameter(rng):
    report = check_gradients(BothNames(rng, ""), rng.standard_normal((5, 4)))
    assert report, report
    assert of_tensors(report, ok=True) == ["x", "W", "b"]
    assert report.not_checked == {}


def test_the_layer_and_numpys_generator_are_left_as_they_were(rng):
    for make in HABITS.values():
        layer, inputs = make(rng, "")
        before, state = copy.deepcopy(inputs), np.random.get_state()   # noqa: NPY002
        held = copy.deepcopy(getattr(layer, "__dict__", {}))
        check_gradients(layer, *inputs)
        np.testing.assert_equal(inputs, before)
        after = np.random.get_state()                                  # noqa: NPY002
        np.testing.assert_equal(after, state)
        assert held.keys() == getattr(layer, "__dict__", {}).keys()


def test_a_layer_in_the_form_of_the_package_needs_no_reading(rng):
    layer = Linear(3, 4, rng=rng)
    assert read(layer, (rng.standard_normal((2, 3)),), {}) is None


def step_forward(x, h):
    return x * h, np.sin(x) + h, (x, h)


def step_backward(dy, dz, cache):
    x, h = cache
    return dy * h + dz * np.cos(x), dy * x + dz


def second_forgotten(dy, dz, cache):
    return dy * cache[1], dy * cache[0] + dz


class Step:
    """A step of a network with two states, which keeps its inputs."""

    def __init__(self, backward):
        self.back = backward

    def forward(self, x, h):
        *outputs, self.cache = step_forward(x, h)
        return tuple(outputs)

    def backward(self, dnext_y, dnext_z):
        return self.back(dnext_y, dnext_z, self.cache)


@pytest.mark.parametrize(("backward", "wrong"), [(step_backward, []), (second_forgotten, ["x"])])
def test_every_output_gets_a_gradient_of_its_own(backward, wrong, rng):
    for layer in ((step_forward, backward), Step(backward)):
        report = check_gradients(layer, *rng.standard_normal((2, 3, 4)))
        assert of_tensors(report, ok=False) == wrong, report
        assert report.not_checked == {}


def test_an_output_without_a_gradient_is_told(rng):
    def forward(x):
        return x**2, np.abs(x), 2 * x

    report = check_gradients((forward, lambda dout, cache: dout * cache), rng.standard_normal(4))
    assert "Read: 1 output, 1 cache; gradients: x in returned.x." in str(report)
    assert report, report
    assert report.not_checked == {"output 2": "is an output whose gradient backward does not take"}


@pytest.mark.parametrize("factor", [1, 1.1])
def test_a_gradient_whose_name_tells_nothing_is_known_by_what_backward_does_with_it(factor, rng):
    functions = (lambda x, h: (2 * x - h, x + h)), (lambda u, v: (2 * u + factor * v, v - u))
    report = check_gradients(functions, *rng.standard_normal((2, 3)))
    assert bool(report) is (factor == 1), report


# as_layer


@pytest.mark.parametrize("factor", [1, 1.001])
def test_a_layer_whose_parts_are_named_reads_dicts_of_its_own(factor, rng):
    parameters = {"W": rng.standard_normal((4, 3)), "b": np.zeros(3), "scale": np.ones(3)}
    before, gradients = copy.deepcopy(parameters), {}

    def forward(x):
        return (x @ parameters["W"] + parameters["b"]) * parameters["scale"], x

    def backward(dout, x):
        gradients["W"], gradients["b"] = factor * x.T @ dout, dout.sum(0)
        return dout @ parameters["W"].T

    layer = as_layer(forward=forward, backward=backward, parameters=parameters,
                     gradients=gradients)
    report = check_gradients(layer, rng.standard_normal((5, 4)))
    assert of_tensors(report, ok=False) == ([] if factor == 1 else ["W"]), report
    assert list(report.not_checked) == ["scale"]
    np.testing.assert_equal(parameters, before)


@pytest.mark.parametrize("factor", [1, 1.001])
def test_a_layer_whose_parts_are_named_may_keep_its_arrays_anywhere(factor, rng):
    class Net:
        q, g = rng.standard_normal((4, 3)), None

        def run(self, x):
            self.x = x
            return np.tanh(x @ self.q)

        def learn(self, d):
            d = d * (1 - self.run(self.x) ** 2)
            self.g = factor * self.x.T @ d
            return d @ self.q.T

    net = Net()
    before = net.q.copy()
    layer = as_layer(forward=net.run, backward=net.learn, parameters={"q": net.q},
                     gradients=lambda: {"q": net.g})
    report = check_gradients(layer, rng.standard_normal((5, 4)))
    assert of_tensors(report, ok=False) == ([] if factor == 1 else ["q"]), report
    np.testing.assert_equal(net.q, before)


def test_several_outputs_of_a_layer_whose_parts_are_named(rng):
    layer = as_layer(forward=lambda x: ((x**2, np.sin(x[0])), x),
                     backward=lambda d, x: 2 * d[0] * x + [d[1] * np.cos(x[0]), 0, 0])
    assert check_gradients(layer, rng.standard_normal(3))
    with pytest.raises(TypeError, match="backward must be a function, got None"):
        as_layer(forward=np.sin, backward=None)


def test_a_gradient_under_a_mistyped_key_is_told(rng):
    layer, inputs = HABITS["dicts"](rng, "")
    right = layer.backward

    def mistyped(dout):
        right(dout)
        return {"Ew": layer.grads.pop("dE")}

    pair = as_layer(forward=layer.forward, backward=mistyped, parameters=layer.params)
    with pytest.raises(TypeError, match=r"Ew must have a usual name, such as dW of W"):
        check_gradients(pair, *inputs)


def test_a_loss_of_each_sample_and_too_many_gradients_are_refused(rng):
    class MeanSquare:
        def forward(self, y_pred, y_true):
            self.y_true = y_true
            return np.mean((y_true - y_pred) ** 2, axis=-1)

        def backward(self, dvalues):
            return -2 * (self.y_true - dvalues) / len(dvalues), None

    x = rng.standard_normal((5, 2))
    with pytest.raises(TypeError, match="two functions around it are checked"):
        check_gradients(MeanSquare(), x, x + 1)
    with pytest.raises(TypeError, match=r"a gradient for each of 1 inputs, or None, got 2;"):
        check_gradients((sine, lambda dout, x: (np.cos(x) * dout, dout * 1)), x)


def test_what_stands_outside_is_told_and_as_before(rng):
    W = rng.standard_normal((4, 3))
    before = W.copy()

    class Shared:
        scale = np.ones(3)

        def forward(self, x):
            return x @ W * self.scale

        def backward(self, dout):
            return dout * self.scale @ W.T

    report = check_gradients(Shared(), rng.standard_normal((5, 4)))
    assert report, report
    assert report.not_checked == dict.fromkeys(("scale", "W"), "stands outside of the layer")
    np.testing.assert_array_equal(W, before)
