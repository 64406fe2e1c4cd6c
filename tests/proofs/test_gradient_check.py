"""The public gradient check: it passes what is right, fails what is wrong, and says where."""

import copy
import re

import numpy as np
import pytest
from layers import LAYERS, STACKS, draw
from proof import as_list, planted_error

from aiayn_np import Cache, Dropout, Linear, Module, MultiHeadAttention, Parameter, ReLU, Softmax
from aiayn_np.proofs.adapters import as_layer
from aiayn_np.proofs.gradient_check import check_gradients


class Student(Module):
    """A layer of ours with another backward: `wrong(layer, grad_y, cache)` returns gradients."""

    def __init__(self, layer, wrong):
        self.layer, self.wrong = layer, wrong

    def forward(self, *arrays, **options):
        return self.layer.forward(*arrays, **options)

    def backward(self, grad_y, cache):
        return self.wrong(self.layer, grad_y, cache)


class Standardised(Module):
    """gain * (x - mean) / std by np.var, whose complex derivative is wrong."""

    def __init__(self, d_model, rng, factor=1.0):
        self.gain, self.factor = Parameter(rng.uniform(0.5, 1.5, d_model)), factor

    def forward(self, x):
        std = np.sqrt(np.var(x, axis=-1, keepdims=True) + 1e-6)
        n = (x - x.mean(axis=-1, keepdims=True)) / std
        return self.gain.value * n, (n, std)

    def backward(self, grad_y, cache):
        n, std = cache
        self.gain.grad += (grad_y * n).sum(axis=(0, 1))
        g = grad_y * self.gain.value
        means = g.mean(axis=-1, keepdims=True) + n * (g * n).mean(axis=-1, keepdims=True)
        return self.factor * (g - means) / std


class Remembers(Linear):
    """Keeps its last input in itself, and has nothing in its cache."""

    def forward(self, x):
        y, self.last = super().forward(x)
        return y, None

    def backward(self, grad_y, cache):
        return super().backward(grad_y, self.last)


@pytest.fixture
def linear(rng):
    return Linear(3, 4, rng=rng)


@pytest.fixture
def x(rng):
    return rng.standard_normal((2, 5, 3))


def squared(x):
    return x**2, x


def scaled(layer, grad_y, cache):
    return layer.backward(grad_y, cache) * (1 + 1e-6)


def negative(layer, grad_y, cache):
    return -layer.backward(grad_y, cache)


def transposed(layer, grad_y, cache):
    return layer.backward(grad_y, cache).swapaxes(-1, -2)


def nothing(layer, grad_y, cache):
    layer.backward(grad_y, cache)


def two(layer, grad_y, cache):
    return layer.backward(grad_y, cache), grad_y


def overwriting(layer, grad_y, cache):
    layer.zero_grad()
    return layer.backward(grad_y, cache)


def scaled_parameter(layer, grad_y, cache):
    before = layer.W.grad.copy()
    grad_x = layer.backward(grad_y, cache)
    layer.W.grad += 1e-6 * (layer.W.grad - before)
    return grad_x


def bias_forgotten(layer, grad_y, cache):
    before = layer.b.grad.copy()
    grad_x = layer.backward(grad_y, cache)
    layer.b.grad = before
    return grad_x


def transposed_parameter(layer, grad_y, cache):
    before = layer.W.grad.T if layer.W.grad.shape == (4, 3) else layer.W.grad
    layer.W.grad = before.copy()
    grad_x = layer.backward(grad_y, cache)
    layer.W.grad = layer.W.grad.T
    return grad_x


def one_entry(layer, grad_y, cache):
    grad_x = layer.backward(grad_y, cache)
    grad_x[1, 3, 2] += 0.25
    return grad_x


@pytest.mark.parametrize("name", [
    name if name == "EncoderLayer" else pytest.param(name, marks=pytest.mark.slow)
    for name in LAYERS])
def test_every_layer_passes(name, seed):
    for i in range(1 if name in STACKS else 3):
        layer, inputs, options = draw(name, np.random.default_rng([seed, i]))
        report = check_gradients(layer, *inputs, **options)
        assert report, report


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in LAYERS if name not in STACKS])
def test_every_layer_with_gradients_wrong_by_a_millionth_fails(name, rng):
    def all_wrong(layer, grad_y, cache):
        before = [p.grad.copy() for p in layer.parameters()]
        returned = as_list(layer.backward(grad_y, cache))
        for p, old in zip(layer.parameters(), before):
            p.grad = old + planted_error(p.grad - old)
        return tuple(planted_error(g) for g in returned)

    layer, inputs, options = draw(name, rng)
    assert not check_gradients(Student(layer, all_wrong), *inputs, **options)


@pytest.mark.parametrize(("wrong", "tensor", "verdict"), [
    (scaled, "input 0", "WRONG: worst entry"),
    (negative, "input 0", "WRONG: worst entry"),
    (transposed, "input 0", r"WRONG: .*shape \(2, 3, 5\), must be \(2, 5, 3\)"),
    (nothing, "backward", "WRONG: 0 gradients returned for 1 inputs"),
    (two, "backward", "WRONG: 2 gradients returned for 1 inputs"),
    (overwriting, "layer.W", "WRONG: backward must add to grad"),
    (scaled_parameter, "layer.W", "WRONG: worst entry"),
    (bias_forgotten, "layer.b", "WRONG: worst entry"),
    (transposed_parameter, "layer.W", r"WRONG: .*shape \(4, 3\), must be \(3, 4\)"),
    (one_entry, "input 0", r"WRONG: worst entry \[1, 3, 2\] is .*, must be "),
])
def test_each_kind_of_wrong_gradient_fails_and_is_named(linear, x, wrong, tensor, verdict):
    report = check_gradients(Student(linear, wrong), x)
    assert not report
    assert not report.worst.ok
    (row,) = [row for row in report.rows if row.tensor == tensor]
    assert re.match(verdict, row.verdict)
    assert re.search(rf"{re.escape(tensor)} .*{verdict}", repr(report))


def test_tensors_that_are_right_stay_ok_beside_a_wrong_one(linear, x):
    report = check_gradients(Student(linear, scaled_parameter), x)
    assert {row.tensor: row.ok for row in report.rows} == {
        "input 0": True, "layer.W": False, "layer.b": True, "all together": False
    }


def test_worst_entry_shows_the_wrong_and_the_right_number(linear, x, rng):
    seen = []

    def wrong(layer, grad_y, cache):
        grad_x = one_entry(layer, grad_y, cache)
        seen.append(grad_x[1, 3, 2])
        return grad_x

    report = check_gradients(Student(linear, wrong), x)
    numbers = re.search(r"is (\S+), must be (\S+)", report.rows[0].verdict)
    assert float(numbers[1]) == pytest.approx(seen[0], rel=1e-4)
    assert float(numbers[2]) == pytest.approx(seen[0] - 0.25, rel=1e-4)


def test_right_backward_passes_with_a_note_where_the_forward_misleads_the_complex_step(rng):
    report = check_gradients(Standardised(6, rng), rng.standard_normal((2, 5, 6)))
    assert report
    assert "The forward is not analytic" in repr(report)
    assert "np.var" in repr(report)


def test_right_backward_passes_where_the_misled_complex_step_happens_to_be_close():
    """In this draw it is off by 9e-6 only, so that central difference and it seem to agree."""
    rng = np.random.default_rng(543640891)
    report = check_gradients(Standardised(6, rng), rng.standard_normal((2, 5, 6)))
    assert report, report
    assert report.rows[-1].error < 1e-5


class Forward:
    """A function as the forward, and what a student takes for its derivative."""

    def __init__(self, function, derivative):
        self.function, self.derivative = function, derivative

    def forward(self, x):
        return self.function(x), x

    def backward(self, grad_y, x):
        return grad_y * self.derivative(x)


def last_axis(function):
    return lambda x: function(x, axis=-1, keepdims=True)


norms, deviations = last_axis(np.linalg.norm), last_axis(np.std)
NOT_ANALYTIC = {  # forward, and the derivative that the misled complex step would agree with
    "std": (lambda x: x / deviations(x), lambda x: 1 / deviations(x)),
    "abs": (np.abs, np.zeros_like),
    "norm": (lambda x: x / norms(x), lambda x: 1 / norms(x)),
}


@pytest.mark.parametrize("name", NOT_ANALYTIC)
def test_a_wrong_backward_is_measured_against_the_number_that_decides(name, x):
    """The complex step has the student's mistake too; the central difference has not."""
    report = check_gradients(Forward(*NOT_ANALYTIC[name]), x)
    assert not report
    for row in report.rows:
        assert row.numeric == row.central
        assert row.error > 1e-3
        assert row.verdict.startswith("WRONG, the forward is not analytic: worst entry")
    assert "np.linalg.norm" in repr(report)


def test_a_forward_that_takes_no_complex_numbers_is_told(x):
    report = check_gradients(Forward(lambda x: x * np.maximum(x, np.zeros(1)).astype(float),
                                     lambda x: 2 * np.maximum(x, 0)), x)
    assert report, report
    assert report.worst.numeric == report.worst.central
    assert "The forward takes no complex numbers" in repr(report)


class Named:
    """A student's layer that knows nothing of Module, with named_parameters."""

    def __init__(self, factor):
        self.W, self.factor = Parameter(np.array([0.5, -2.0, 3.0])), factor

    def named_parameters(self):
        yield "W", self.W

    def forward(self, x):
        return x * self.W.value, x

    def backward(self, grad_y, x):
        self.W.grad += self.factor * (grad_y * x).sum((0, 1))
        return grad_y * self.W.value


@pytest.mark.parametrize("factor", [1, 2])
def test_a_layer_needs_no_base_class_and_names_its_parameters_by_a_method(factor, x):
    report = check_gradients(Named(factor), x)
    assert bool(report) is (factor == 1), report
    assert [row.tensor for row in report.rows] == ["x", "W", "all together"]


class Gather:
    """y = x[ids]: one input of ids, one of floats."""

    def __init__(self, result):
        self.result = result

    def forward(self, ids, x):
        return x[ids], (ids, x.shape)

    def backward(self, grad_y, cache):
        ids, shape = cache
        grad_x = np.zeros(shape)
        np.add.at(grad_x, ids, grad_y)
        return self.result(grad_x)


@pytest.mark.parametrize("result", [lambda g: g, lambda g: (g,), lambda g: (None, g)])
def test_ids_among_the_inputs_are_only_passed_on(result, rng):
    assert check_gradients(Gather(result), np.array([2, 0, 2]), rng.standard_normal((3, 4)))


def test_dropout_is_repeated_at_every_call_and_the_generator_stays_as_it_was(x):
    generator = np.random.default_rng(4)
    before = copy.deepcopy(generator.bit_generator.state)
    assert check_gradients(Dropout(0.3), x, rng=generator)
    assert generator.bit_generator.state == before


def test_a_stale_dropout_mask_fails(x):
    def stale(layer, grad_y, cache):
        _, other = layer.forward(grad_y, rng=np.random.default_rng(9))
        return layer.backward(grad_y, other)

    assert check_gradients(Dropout(0.3), x, rng=np.random.default_rng(4))
    assert not check_gradients(Student(Dropout(0.3), stale), x, rng=np.random.default_rng(4))


def test_a_float32_layer_is_checked_in_float64_and_stays_float32(linear, x):
    linear.astype(np.float32)
    report = check_gradients(linear, x.astype(np.float32))
    assert report
    assert report.worst.error < 1e-12
    assert {p.value.dtype for p in linear.parameters()} == {np.dtype(np.float32)}


def test_layer_and_inputs_are_left_unchanged(rng):
    mha = MultiHeadAttention(6, 2, d_v=4, rng=rng)
    x_Q, x_K = rng.standard_normal((2, 3, 6)), rng.standard_normal((2, 5, 6))
    for parameter in mha.parameters():
        parameter.grad = rng.standard_normal(parameter.value.shape)
    objects = [(p, p.value, p.grad) for p in mha.parameters()]
    arrays = [x_Q, x_K, *(a for _, value, grad in objects for a in (value, grad))]
    copies = [a.copy() for a in arrays]
    assert check_gradients(mha, x_Q, x_K, x_K)
    assert all(p.value is value and p.grad is grad for p, value, grad in objects)
    assert all(np.array_equal(a, b) for a, b in zip(arrays, copies))


def test_the_same_seed_gives_the_same_table_and_another_seed_another(linear, x):
    table = repr(check_gradients(linear, x, seed=1))
    assert repr(check_gradients(linear, x, seed=1)) == table
    assert repr(check_gradients(linear, x, seed=2)) != table


def test_table_shows_tensor_analytic_numeric_error_and_verdict(linear, x, capsys):
    print(check_gradients(linear, x))
    title, header, *rows, total = capsys.readouterr().out.splitlines()
    assert title == "Gradients of Linear"
    assert header.split() == ["tensor", "analytic", "numeric", "error", "central", "verdict"]
    assert [row[:12].strip() for row in rows] == ["x", "W", "b", "all together"]
    for row in rows:
        analytic, numeric, error, central, verdict = row[12:].split()
        assert float(analytic) == pytest.approx(float(numeric), rel=1e-7)
        assert float(analytic) == pytest.approx(float(central), rel=1e-4)
        assert float(error) < 1e-12
        assert verdict == "ok"
    assert total.startswith("4 of 4 agree; worst error: ")


def test_table_of_a_wrong_layer_counts_and_names(linear, x):
    total = repr(check_gradients(Student(linear, scaled), x)).splitlines()[-1]
    assert re.fullmatch(r"2 of 4 agree; worst wrong: (input 0|all together), \S+", total)


def test_nothing_to_check_is_refused():
    with pytest.raises(TypeError, match="inputs must hold a float array, or the layer a Parameter"):
        check_gradients(ReLU(), np.arange(3))


def test_a_kink_is_named_and_is_no_error():
    report = check_gradients(ReLU(), np.array([-1.0, 0.0, 2.0]))
    assert report
    assert "kink" in repr(report)


def test_a_millionth_wrong_fails_also_where_the_forward_misleads_the_complex_step(rng):
    """In a direction along which the output hardly moves, a millionth of it is not seen."""
    draws = rng.standard_normal((5, 2, 4, 5))
    assert all(check_gradients(Standardised(5, rng), x) for x in draws)
    wrong = [not check_gradients(Standardised(5, rng, factor=1 + 1e-6), x) for x in draws]
    assert sum(wrong) >= 4


def test_a_layer_that_remembers_its_last_forward_fails(x, rng):
    layer = Remembers(3, 4, rng=rng)
    report = check_gradients(layer, x)
    assert [row.tensor for row in report.rows if not row.ok] == ["W", "all together"]
    y, cache = layer.forward(x)                       # right when nothing came in between, as usual
    np.testing.assert_allclose(layer.backward(np.ones_like(y), cache), layer.W.value.sum(1) + 0 * x)


class Cancelling(Module):
    """y = x * scale * W, whose backward adds g, takes it away, and adds what is right."""

    scale = np.array([1, 1e-9])

    def __init__(self):
        self.W = Parameter(np.array([0.7, -1.3]))

    def forward(self, x):
        return x * self.scale * self.W.value, Cache(x=x)

    def backward(self, grad_y, cache):
        grad_W = (grad_y * cache.x).sum(axis=0)
        self.W.grad += grad_W
        self.W.grad -= grad_W
        self.W.grad += self.scale * grad_W
        return grad_y * self.scale * self.W.value


def test_rounding_in_an_entry_that_cancels_is_no_error(rng):
    for seed in range(5):
        report = check_gradients(Cancelling(), rng.standard_normal((50, 2)), seed=seed)
        assert report, report


def test_a_wrong_entry_is_told_with_digits_that_differ(rng):
    class Nearly(Softmax):
        def backward(self, grad_w, cache):
            return super().backward(grad_w, cache) * (1 + 1e-7)

    report = str(check_gradients(Nearly(), rng.standard_normal((2, 3))))
    is_, must = re.search(r"is (\S+), must be (\S+)", report).groups()
    assert is_ != must


def test_the_inputs_bear_the_names_of_forwards_signature(rng):
    q, k, v = rng.standard_normal((3, 2, 4, 6))
    report = check_gradients(MultiHeadAttention(6, 2, rng=rng), q, k, v)
    assert [row.tensor for row in report.rows][:3] == ["x_Q", "x_K", "x_V"]


def test_a_right_gradient_that_is_returned_in_float32_is_right_and_told(x):
    def square_back(wrong):
        return lambda dout, x: (2 * (1 + wrong) * dout * x).astype(np.float32)

    report = check_gradients((squared, square_back(0)), x)
    assert report, report
    assert report.worst.verdict == "ok, the gradient is float32, right to 1e-7"
    assert not check_gradients((squared, square_back(1e-4)), x)


@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_inputs_that_are_not_finite_are_refused(entry):
    with pytest.raises(ValueError, match=f"inputs must be finite, or -inf in a mask, got {entry}"):
        check_gradients((squared, lambda dout, x: 2 * dout * x), np.array([1, entry]))


def test_an_output_that_is_nan_is_told():
    log = as_layer(forward=lambda x: (np.log(x), x), backward=lambda dy, x: dy / x)
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="forward must give no nan"):
        check_gradients(log, np.array([[1.0, -2.0]]))


def test_a_kink_everywhere_is_undecided_and_the_report_is_false():
    """Every x is on a kink of a sawtooth whose teeth are finer than any step."""
    def saw(x):
        return np.abs(np.real(x) * 1e9 % 2 - 1) * 1e-9

    report = check_gradients((saw, lambda dout: dout), np.array([1.0, 2.0]))
    assert not report, report


def test_a_tensor_on_a_kink_is_measured_beside_it_and_told():
    x = np.zeros((3, 4))
    relu = (lambda x: (np.where(np.real(x) > 0, x, 0), x)), (lambda dout, x: dout * (x > 0))
    report = check_gradients(relu, x)
    assert report, report
    assert "kink" in report.worst.verdict
    assert not check_gradients((relu[0], lambda dout, x: 1.1 * relu[1](dout, x)), x)


def test_an_input_that_the_seed_drew_hides_nothing():
    """The random numbers of y are then those of x, which a norm takes away: any factor is right."""
    def back(dout, n):
        return 2 * (dout - dout.mean(0) - n * (dout * n).mean(0))

    def norm(x):
        c = x - x.mean(axis=0)
        return c / np.sqrt((c * c).mean(axis=0))

    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal((5, 4))
        assert not check_gradients((lambda x: (norm(x), norm(x)), back), x, seed=seed)


def test_one_wrong_entry_of_many_is_found_and_the_number_of_examined_ones_told(rng):
    def back(dout, x):
        dx = 2 * dout * x
        dx[7, 11] *= 1.5
        return dx

    report = check_gradients((squared, back), rng.standard_normal((50, 40)))
    assert re.search(r"worst entry \[7, 11\] is .* \(500 of 2000 were examined\)", str(report))
