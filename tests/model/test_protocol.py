"""The laws that every layer obeys, over every layer class of the package and random sizes."""

import copy

import numpy as np
import pytest
from layers import LAYERS, STACKS, draw, module_classes
from loops import LOOPS
from proof import arrays_in, as_list, prove, unseen_errors

from aiayn_np import Linear

every_layer = pytest.mark.parametrize("name", LAYERS)
CONFIGURATIONS = 60  # of each layer; 300 in the slow suite
STACK_CONFIGURATIONS = 15
LOSSES = ("LabelSmoothedCrossEntropy", "ModelLoss")  # their y is a number


def draws(name, seed, n):
    """`n` configurations of a layer, each with a generator of its own for what else is random."""
    for i in range(n):
        rng = np.random.default_rng([seed, i])
        yield *draw(name, rng), rng


def run(layer, inputs, options):
    """Forward, and backward of a random signed gradient that only depends on the shape of y."""
    y, cache = layer.forward(*inputs, **copy.deepcopy(options))
    grad_y = signed_normal(y)
    layer.zero_grad()
    return y, grad_y, cache, as_list(layer.backward(grad_y, cache))


def signed_normal(y):
    return np.random.default_rng(1).standard_normal(np.shape(y)).astype(y.dtype)


def parameter_gradients(layer):
    return {name: p.grad.copy() for name, p in layer.named_parameters()}


def assert_equal_lists(got, want):
    assert len(got) == len(want)
    for a, b in zip(got, want):
        np.testing.assert_array_equal(a, b)


def assert_close(got, want, tolerance=1e-12, message=""):
    """Equal to `tolerance` of the largest entry, infinities in the same places."""
    if np.array_equal(got, want):  # most are, and it is soon seen
        return
    finite = np.isfinite(want)
    scale = np.abs(np.where(finite, want, 0)).max(initial=1)
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * scale, err_msg=message)


def test_no_layer_class_is_missing():
    assert {c.__name__ for c in module_classes()} == set(LAYERS)


def without_rng(make):
    """A constructor that gets rng=None, whatever it is given."""
    def build(self, *args, **options):
        make(self, *args, **options | ({"rng": None} if "rng" in options else {}))
    return build


@every_layer
def test_a_layer_is_made_without_a_generator_and_computes_when_it_is_filled(name, rng, monkeypatch):
    """With all layers in it, which get rng=None too."""
    for cls in module_classes():
        if "__init__" in vars(cls):
            monkeypatch.setattr(cls, "__init__", without_rng(cls.__init__))
    layer, inputs, options = draw(name, rng)
    for p in layer.parameters():
        p.value = rng.standard_normal(p.value.shape)
    run(layer, inputs, options)


@pytest.mark.parametrize("n", [CONFIGURATIONS, pytest.param(300, marks=pytest.mark.slow)])
@every_layer
def test_backward_is_the_gradient_of_forward(name, n, seed):
    n = STACK_CONFIGURATIONS if name in STACKS else n
    for layer, inputs, options, rng in draws(name, seed, n):
        prove(layer, inputs, options, rng)


@pytest.mark.parametrize("name", LOOPS)
def test_forward_equals_plain_loops(name, seed):
    for layer, inputs, options, _ in draws(name, seed, 3 if name in STACKS else 10):
        options.pop("rng", None)
        assert_close(layer(*inputs, **options), LOOPS[name](layer, *inputs, **options))


@every_layer
def test_proof_fails_when_one_gradient_is_wrong_by_a_millionth(name, seed):
    n = 1 if name in STACKS else 5
    for layer, inputs, options, rng in draws(name, seed, n):
        assert unseen_errors(layer, inputs, options, rng) == []


def test_proof_fails_when_the_complex_forward_computes_something_else(rng):
    class Other(Linear):
        def forward(self, x):
            y, cache = super().forward(x)
            return (y + 1e-12 if np.iscomplexobj(x) else y), cache

    x = rng.standard_normal((4, 3))
    prove(Linear(3, 5, rng=rng), [x], {}, rng)
    with pytest.raises(AssertionError, match=r"Re F\(x \+ 0j\) differs from F\(x\) by 1.0e-12"):
        prove(Other(3, 5, rng=rng), [x], {}, rng)


@every_layer
def test_forward_and_backward_write_to_nothing_they_received(name, seed):
    for layer, inputs, options, _ in draws(name, seed, 5):
        parameters = list(layer.parameters())
        for array in [*inputs, *arrays_in(options), *(p.value for p in parameters)]:
            array.flags.writeable = False
        y, cache = layer.forward(*inputs, **options)
        grad_y = signed_normal(y)
        for array in (grad_y, *arrays_in(cache)):
            array.setflags(write=False)
        layer.backward(grad_y, cache)


@every_layer
def test_backward_twice_returns_the_same_and_doubles_parameter_gradients(name, seed):
    for layer, inputs, options, _ in draws(name, seed, 5):
        _, grad_y, cache, once = run(layer, inputs, options)
        once = [g.copy() for g in once]
        gradients = parameter_gradients(layer)
        twice = as_list(layer.backward(grad_y, cache))
        assert_equal_lists(twice, once)
        for parameter_name, parameter in layer.named_parameters():
            if parameter_name.endswith("E"):  # rows of E are summed one by one, on top of the first
                assert_close(parameter.grad, 2 * gradients[parameter_name], 1e-15)
            else:
                np.testing.assert_array_equal(parameter.grad, 2 * gradients[parameter_name])


@every_layer
def test_one_gradient_per_float_input_of_its_shape_and_dtype(name, seed):
    """Ids get none, and a single one is not wrapped."""
    for layer, inputs, options, _ in draws(name, seed, 5):
        floats = [x for x in inputs if x.dtype.kind == "f"]
        y, cache = layer.forward(*inputs, **options)
        returned = layer.backward(signed_normal(y), cache)
        assert y.dtype == np.float64
        assert type(returned) is {0: type(None), 1: np.ndarray}.get(len(floats), tuple)
        shapes = [(g.shape, g.dtype) for g in as_list(returned)]
        assert shapes == [(x.shape, x.dtype) for x in floats]


@every_layer
def test_float32_stays_float32_and_agrees_with_float64(name, seed):
    for layer, inputs, options, _ in draws(name, seed, 5):
        y, _, _, returned = run(layer, inputs, options)
        exact = [y, *returned, *parameter_gradients(layer).values()]
        layer.astype(np.float32)
        inputs = [x.astype(np.float32) if x.dtype.kind == "f" else x for x in inputs]
        y, _, cache, returned = run(layer, inputs, options)
        single = [y, *returned, *parameter_gradients(layer).values()]
        assert {a.dtype for a in single} == {np.dtype(np.float32)}
        assert np.float64 not in {a.dtype for a in arrays_in(cache)}
        for a, b in zip(single, exact):
            assert_close(a, b, 1e-3)


@every_layer
def test_batch_of_zero_gives_empty_results_and_zero_gradients(name, seed):
    batched = (drawn for drawn in draws(name, seed, 100)
               if drawn[1][0].ndim >= (3 if drawn[1][0].dtype.kind == "f" else 2))
    for _ in range(5):
        layer, inputs, options, _ = next(batched)
        B = len(inputs[0])
        empty = {name: without_batch(o, B) for name, o in options.items()}
        y, _, _, returned = run(layer, [x[:0] for x in inputs], empty)
        assert y == 0 if name in LOSSES else len(y) == 0
        floats = [x for x in inputs if x.dtype.kind == "f"]
        assert [g.shape for g in returned] == [x[:0].shape for x in floats]
        assert not any(g.any() for g in parameter_gradients(layer).values())


def without_batch(option, B):
    """An option for a batch of 0: targets and masks that have a batch axis lose its rows."""
    if isinstance(option, np.ndarray) and (option.dtype != bool or option.ndim > 2):
        return option[:0] if len(option) == B else option
    return option


LAYOUTS = {
    "fortran": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "reversed": lambda x: x[..., ::-1].copy()[..., ::-1],
}


@every_layer
def test_memory_layout_of_inputs_and_gradient_does_not_matter(name, seed):
    for layer, inputs, options, _ in draws(name, seed, 6):
        y, grad_y, _, returned = run(layer, inputs, options)
        want = [y, *returned, *parameter_gradients(layer).values()]
        for layout, change in LAYOUTS.items():
            y, cache = layer.forward(*map(change, inputs), **copy.deepcopy(options))
            layer.zero_grad()
            returned = as_list(layer.backward(change(grad_y) if grad_y.ndim else grad_y, cache))
            for a, b in zip([y, *returned, *parameter_gradients(layer).values()], want):
                assert_close(a, b, message=layout)


@every_layer
def test_two_forwards_before_their_backwards_do_not_disturb_each_other(name, seed, rng):
    for layer, inputs, options, _ in draws(name, seed, 3):
        others = [np.flip(x, axis=0) * (2 if x.dtype.kind == "f" else 1) for x in inputs]
        one, two = copy.deepcopy(layer), copy.deepcopy(layer)
        want_1 = run(one, inputs, options)[-1]
        want_2 = run(two, others, options)[-1]
        of_two = parameter_gradients(two)
        total = {n: g + of_two[n] for n, g in parameter_gradients(one).items()}
        for first_is_first in (True, False):
            y_1, cache_1 = layer.forward(*inputs, **copy.deepcopy(options))
            y_2, cache_2 = layer.forward(*others, **copy.deepcopy(options))
            layer.zero_grad()
            pairs = [(y_1, cache_1, want_1), (y_2, cache_2, want_2)]
            for y, cache, want in pairs if first_is_first else reversed(pairs):
                assert_equal_lists(as_list(layer.backward(signed_normal(y), cache)), want)
            for parameter_name, gradient in parameter_gradients(layer).items():
                assert_close(gradient, total[parameter_name], 1e-14)


@every_layer
def test_call_is_forward_without_cache_and_repeats_with_and_without_rng(name, seed):
    for layer, inputs, options, _ in draws(name, seed, 3):
        y, _ = layer.forward(*inputs, **copy.deepcopy(options))
        np.testing.assert_array_equal(layer(*inputs, **copy.deepcopy(options)), y)
        plain = {name: option for name, option in options.items() if name != "rng"}
        np.testing.assert_array_equal(layer(*inputs, **plain), layer(*inputs, **plain))


DROPPING = [
    "Dropout", "ScaledDotProductAttention", "MultiHeadAttention", "AddNorm", "EncoderLayer",
    "DecoderLayer", "Encoder", "Decoder", "Transformer", "ModelLoss",
    "ScoredAttention", "RelativeAttention", "LocalAttention", "PreNormEncoderLayer",
    "PreNormDecoderLayer", "TokenStack", "LanguageModel", "MaskedLanguageModel",
]


@pytest.mark.parametrize("name", DROPPING)
def test_dropout_happens_if_and_only_if_there_is_an_rng(name, seed):
    differ = 0
    for layer, inputs, options, rng in draws(name, seed, 20 if name not in STACKS else 5):
        options.pop("rng", None)
        differ += bool(np.any(layer(*inputs, **options) != layer(*inputs, **options, rng=rng)))
    assert differ > 1


def wrong_shapes(shape):
    """Shapes that are not `shape`, most of which NumPy would broadcast to it in silence."""
    yield (1, *shape)
    if shape:
        yield shape[1:]
        yield (*shape[:-1], shape[-1] + 1)
    for axis, size in enumerate(shape):
        if size > 1:
            yield (*shape[:axis], 1, *shape[axis + 1 :])


@every_layer
def test_backward_refuses_a_gradient_of_another_shape(name, seed):
    for layer, inputs, options, rng in draws(name, seed, 3):
        y, cache = layer.forward(*inputs, **options)
        for shape in wrong_shapes(np.shape(y)):
            with pytest.raises(ValueError, match=r"grad_\w+ must have the shape of y"):
                layer.backward(rng.standard_normal(shape), cache)
        assert not any(g.any() for g in parameter_gradients(layer).values())


@pytest.mark.parametrize("name", [name for name in LAYERS if name not in LOSSES])
def test_backward_refuses_a_gradient_of_another_dtype(name, seed):
    for layer, inputs, options, _ in draws(name, seed, 2):
        y, cache = layer.forward(*inputs, **options)
        for dtype in (np.float32, int, bool):
            with pytest.raises(TypeError, match=rf"grad_\w+ must .* got {np.dtype(dtype)}"):
                layer.backward(np.ones(y.shape, dtype), cache)
        assert not any(g.any() for g in parameter_gradients(layer).values())


@every_layer
def test_inputs_of_another_dtype_than_parameters_or_each_other_are_refused(name, seed):
    for layer, inputs, options, _ in draws(name, seed, 2):
        floats = [i for i, x in enumerate(inputs) if x.dtype.kind == "f"]
        if len(floats) + len(list(layer.parameters())) < 2:
            continue
        for i in floats:
            mixed = list(inputs)
            mixed[i] = inputs[i].astype(np.float32)
            with pytest.raises(TypeError, match="one dtype, got"):
                layer.forward(*mixed, **copy.deepcopy(options))


@every_layer
def test_a_layer_holds_nothing_of_a_call(name, seed):
    for layer, inputs, options, _ in draws(name, seed, 1):
        before = {path: id(a) for path, a in enumerate(arrays_in(layer))}
        y, cache = layer.forward(*inputs, **options)
        assert {path: id(a) for path, a in enumerate(arrays_in(layer))} == before
        layer.backward(signed_normal(y), cache)
        assert {path: id(a) for path, a in enumerate(arrays_in(layer))} == before
