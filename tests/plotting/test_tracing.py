"""The trace: every component in order, with what really went through it, and nothing changed."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from layers import module_classes

from aiayn_np import (
    CopyTask,
    LabelSmoothedCrossEntropy,
    Module,
    Softmax,
    Trace,
    Transformer,
    trace,
)
from aiayn_np.module import leaves
from aiayn_np.variants.scoring import additive_attention


@pytest.fixture
def model(rng):
    return Transformer(9, N=2, d_model=12, d_ff=20, h=3, P_drop=0.3, max_len=20, rng=rng)


@pytest.fixture
def batch(rng):
    return CopyTask(symbols=6, max_length=5).batch(4, rng)


def of(table, path):
    """The components of exactly one path."""
    return [c for c in table.components if c.path == path]


def test_every_layer_is_there_once_and_what_is_used_twice_twice(model, batch):
    table = trace(model, *batch)
    paths = [c.path for c in table.components]
    twice = {"positions", "dropout"}
    expected = [path for path, _ in leaves(model, Module)] + ["positions", "dropout", "loss"]
    assert sorted(paths) == sorted(expected)
    assert all(paths.count(path) == (2 if path in twice else 1) for path in paths)
    outer = ["src_embedding", "positions", "dropout", "encoder", "tgt_embedding", "positions",
             "dropout", "decoder", "output_projection", "loss"]
    assert [c.path for c in table.components if c.depth == 1] == outer


def test_shapes_and_norms_are_those_of_the_forward(model, batch):
    src, tgt_in, targets = batch
    logits, cache = model.forward(src, tgt_in)
    table = trace(model, src, tgt_in, targets)
    whole = of(table, "")[0]
    assert whole.inputs == (src.shape, tgt_in.shape)
    assert whole.output == logits.shape
    np.testing.assert_allclose(whole.activation, np.sqrt((logits**2).sum()), rtol=1e-12)
    cross = "decoder.layers.1.cross_attention.attention"
    inner = cache.decoder.layers[1].cross_attention.attention
    (softmax,), (attention,) = of(table, f"{cross}.softmax"), of(table, cross)
    np.testing.assert_allclose(softmax.activation, np.sqrt((inner.weights**2).sum()), rtol=1e-12)
    assert attention.inputs == (inner.Q.shape, inner.K.shape, inner.V.shape)
    loss, _ = LabelSmoothedCrossEntropy().forward(logits, targets=targets)
    assert of(table, "loss")[0].activation == pytest.approx(loss, rel=1e-12)


def test_gradients_are_those_that_backward_receives(model, batch):
    src, tgt_in, targets = batch
    table = trace(model, src, tgt_in, targets)
    logits, cache = model.forward(src, tgt_in)
    criterion = LabelSmoothedCrossEntropy()
    _, loss_cache = criterion.forward(logits, targets=targets)
    grad_logits = criterion.backward(1.0, loss_cache)
    grad_x = model.output_projection.backward(grad_logits, cache.output_projection)
    _, grad_memory = model.decoder.backward(grad_x, cache.decoder)
    for path, grad in (("", grad_logits), ("output_projection", grad_logits), ("decoder", grad_x),
                       ("decoder.layers.1", grad_x), ("encoder", grad_memory), ("loss", 1.0)):
        (component,) = of(table, path)
        np.testing.assert_allclose(component.gradient, np.linalg.norm(grad), rtol=1e-10)
    assert any(c.layer == "Mask" for c in table.components)            # its -inf is no number
    assert all(np.isfinite([c.gradient, c.activation]).all() for c in table.components)


def test_the_model_is_left_as_it_was(model, batch):
    for parameter in model.parameters():
        parameter.grad += 1
    before = {n: (p.value.copy(), p.grad.copy()) for n, p in model.named_parameters()}
    attributes = {path: set(vars(layer)) for path, layer in leaves(model, Module)}
    trace(model, *batch)
    for name, parameter in model.named_parameters():
        np.testing.assert_array_equal(parameter.value, before[name][0])
        np.testing.assert_array_equal(parameter.grad, before[name][1])
    assert attributes == {path: set(vars(layer)) for path, layer in leaves(model, Module)}


def test_parameters_are_counted_once_in_all(model, batch):
    table = trace(model, *batch)
    assert of(table, "")[0].parameters == sum(p.value.size for p in model.parameters())
    assert of(table, "src_embedding")[0].parameters == 9 * 12
    assert of(table, "decoder.layers.0.feed_forward")[0].parameters == 2 * 12 * 20 + 20 + 12


def test_a_path_opens_a_part(model, batch):
    table = trace(model, *batch)
    part = table["decoder.layers.1"]
    assert isinstance(part, Trace)
    assert part.components[0].path == "decoder.layers.1"
    assert [c.depth for c in part.components][:2] == [0, 1]
    assert all(c.path.startswith("decoder.layers.1") for c in part.components)
    assert part["decoder.layers.1.self_attention"].components == [
        replace(c, depth=c.depth - 1)
        for c in part.components if ".1.self_attention" in c.path
    ]
    assert len(table["positions"].components) == 2
    with pytest.raises(KeyError, match=r"no component 'decoder.layer'; near to it: decoder.layers"):
        table["decoder.layer"]
    with pytest.raises(KeyError, match=r"no component 'x'; the outer ones: src_embedding"):
        table["x"]


def test_the_table_of_text_is_aligned_and_as_deep_as_asked(model, batch):
    table = trace(model, *batch)
    lines = str(table).splitlines()
    column = lines[0].index("layer")
    assert all(line[column - 1] == " " != line[column] for line in lines)
    assert "self_attention" not in str(table)
    assert [len(table.table(depth).splitlines()) for depth in (0, 99)] == [
        2, len(table.components) + 1]


def test_it_works_with_variants_and_another_loss(rng, batch):
    options = dict(N=1, d_model=8, d_ff=8, h=2, rng=rng)
    model = Transformer(9, attention=additive_attention, **options).astype(np.float32)
    plain = LabelSmoothedCrossEntropy(0.0)
    table = trace(model, *batch, loss=plain)
    assert any(c.layer == "AdditiveScore" for c in table.components)
    logits = model(*batch[:2])
    want = plain.forward(logits, targets=batch[2])[0]
    assert of(table, "loss")[0].activation == pytest.approx(float(want), rel=1e-6)
    assert vars(plain).keys() == {"eps_ls", "pad"}


@pytest.mark.parametrize("cls", sorted(module_classes(), key=str), ids=lambda c: c.__name__)
def test_every_layer_says_its_formula_and_its_docstring_begins_with_it(cls):
    assert cls.formula
    assert inspect.cleandoc(cls.__doc__).startswith(cls.formula)
    assert "   " not in cls.formula
    assert "Sec." not in cls.formula


def test_the_table_shows_the_formula_of_the_class_or_of_its_base(model, batch):
    class Mine(Softmax):
        """Another docstring."""

    class Own(Softmax):
        formula = "y = x"

    stack = model.encoder.layers
    stack[0].self_attention.attention.softmax, stack[1].self_attention.attention.softmax = (
        Mine(), Own())
    found = {c.path: c.formula for c in trace(model, *batch).components}
    path = "encoder.layers.{}.self_attention.attention.softmax"
    assert [found[path.format(i)] for i in range(2)] == [Softmax.formula, "y = x"]
    assert Softmax.formula == "softmax(s)_j = exp(s_j) / sum_k exp(s_k)"
    assert Module.formula == ""
