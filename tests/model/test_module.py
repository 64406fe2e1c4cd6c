"""Parameter, Cache and Module: names, sharing, state and the printed tables."""

import copy
import pickle
import re

import numpy as np
import pytest

from aiayn_np import (
    Cache,
    Embedding,
    LayerNorm,
    Linear,
    Module,
    MultiHeadAttention,
    OutputProjection,
    Parameter,
    Transformer,
)
from aiayn_np.structure import difference, structure


class Tower(Module):
    """Every way to hold a parameter: own, in a layer, in a list, in a tuple, shared."""

    def __init__(self, rng):
        self.scale = Parameter(rng.normal(size=3))
        self.embedding = Embedding(7, 4, rng=rng)
        self.layers = [Linear(4, 3, rng=rng), LayerNorm(3)]
        self.pair = (Linear(3, 2, bias=False, rng=rng), 5)
        self.projection = OutputProjection(self.embedding.E)
        self.text, self.nothing = "not a parameter", None


NAMES = ["scale", "embedding.E", "layers.0.W", "layers.0.b", "layers.1.gamma", "layers.1.beta",
         "pair.0.W"]


@pytest.fixture
def tower(rng):
    return Tower(rng)


def test_named_parameters_are_dotted_in_order_and_the_objects_themselves(tower):
    """A shared one comes once, under its first name; one in a dict is found, too."""
    assert [name for name, _ in tower.named_parameters()] == NAMES
    found = dict(tower.named_parameters())
    assert found["layers.0.W"] is tower.layers[0].W
    assert found["pair.0.W"] is tower.pair[0].W
    assert found["embedding.E"] is tower.projection.E
    assert list(tower.parameters()) == list(found.values())
    layer = Module()
    layer.heads = {"a": Parameter(np.ones(3)), "b": [Parameter(np.ones(3))]}       # equal, and two
    assert [name for name, _ in layer.named_parameters()] == ["heads.a", "heads.b.0"]


def test_a_new_parameter_has_a_zero_gradient_that_is_cleared_in_place():
    p = Parameter(np.ones((2, 3), dtype=np.float32))
    grad = p.grad
    assert (grad.shape, grad.dtype, grad.any()) == ((2, 3), np.float32, False)
    p.grad += 7
    p.zero_grad()
    assert p.grad is grad
    assert not grad.any()


@pytest.mark.parametrize("value", [np.ones((4, 2)), np.ones((2, 3), dtype=np.float32)])
def test_zero_grad_follows_a_rebound_value(value):
    p = Parameter(np.ones((2, 3)))
    p.value = value
    p.zero_grad()
    assert p.grad.shape == value.shape
    assert p.grad.dtype == value.dtype


def test_module_zero_grad_reaches_every_parameter(tower):
    for p in tower.parameters():
        p.grad += 3
    tower.zero_grad()
    assert not any(p.grad.any() for p in tower.parameters())


def test_state_dict_holds_copies(tower):
    state = tower.state_dict()
    assert list(state) == NAMES
    before = tower.layers[0].W.value.copy()
    state["layers.0.W"][...] = 99
    np.testing.assert_array_equal(tower.layers[0].W.value, before)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_load_state_dict_writes_every_value_in_place(tower, seed, dtype):
    other = Tower(np.random.default_rng(seed + 1))
    arrays = [p.value for p in tower.astype(dtype).parameters()]
    tower.load_state_dict(other.state_dict())
    for (name, p), array in zip(tower.named_parameters(), arrays, strict=True):
        assert p.value is array, name
        want = dict(other.named_parameters())[name].value.astype(dtype)
        np.testing.assert_array_equal(array, want, strict=True)
    assert tower.projection.E.value is tower.embedding.E.value


@pytest.mark.parametrize(("change", "error", "message"), [
    (lambda s: {n: a for n, a in s.items() if n != "pair.0.W"}, KeyError,
     "state must hold every parameter, missing pair.0.W"),
    (lambda s: s | {"extra": np.ones(3)}, KeyError, "state must hold nothing else, got"),
    *((lambda s, shape=shape: s | {"pair.0.W": np.ones(shape)}, ValueError,
       f"pair.0.W must have shape (3, 2), got {shape}") for shape in ((2, 3), (1, 2))),
    *((lambda s, wrong=wrong: s | {"pair.0.W": wrong}, TypeError,
       f"pair.0.W must be a float32 or float64 array, got {name}")
      for wrong, name in ((np.ones((3, 2), int), "int64"), (np.ones((3, 2), complex), "complex128"),
                          ([[1.0, 2.0]] * 3, "list"))),
])
def test_a_refused_state_changes_nothing(tower, change, error, message):
    """The wrong entry is the last one: the six before it must not have been written either."""
    before = tower.state_dict()
    state = change({name: value + 1 for name, value in before.items()})
    with pytest.raises(error, match=re.escape(message)):
        tower.load_state_dict(state)
    for name, value in tower.state_dict().items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


def test_astype_casts_values_and_gradients_once_and_returns_the_model(tower):
    assert tower.astype(np.float32) is tower
    for p in tower.parameters():
        assert p.value.dtype == p.grad.dtype == np.float32
    assert tower.projection.E is tower.embedding.E


@pytest.mark.parametrize("dtype", [np.float16, int, bool, object])
def test_astype_refuses_other_dtypes(tower, dtype):
    with pytest.raises(TypeError, match=f"float32, float64 or complex128, got {np.dtype(dtype)}"):
        tower.astype(dtype)
    assert {p.value.dtype for p in tower.parameters()} == {np.dtype(np.float64)}


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_deepcopy_and_pickle_keep_the_tying(rng, duplicate):
    model = Transformer(7, N=2, d_model=4, d_ff=5, h=2, rng=rng)
    other = duplicate(model)
    E = other.src_embedding.E
    assert other.tgt_embedding.E is E
    assert other.output_projection.E is E
    assert E is not model.src_embedding.E
    assert list(other.state_dict()) == list(model.state_dict())
    src, tgt = np.array([[1, 2, 3], [4, 5, 0]]), np.array([[1, 6], [2, 2]])
    np.testing.assert_array_equal(other(src, tgt), model(src, tgt))
    E.value[1] += 1
    assert (other(src, tgt) != model(src, tgt)).any()


def test_a_layer_without_forward_or_backward_says_so(tower):
    with pytest.raises(NotImplementedError, match="Tower has no forward"):
        tower(np.ones(3))
    with pytest.raises(NotImplementedError, match="Tower has no backward"):
        tower.backward(np.ones(3), Cache())


def test_printing_a_cache_lists_dotted_names_shapes_and_dtypes():
    shared = np.zeros((2, 3))
    layers = [Cache(y=np.ones(4, dtype=np.float32)), Cache(kept=np.ones(5, dtype=bool), n=None)]
    assert repr(Cache(x=shared, T=3, layers=layers, again=shared)).splitlines() == [
        "x              (2, 3)  float64",
        "layers.0.y     (4,)    float32",
        "layers.1.kept  (5,)    bool",
        "again          (2, 3)  float64",
        "4 arrays, 69 bytes",  # 48 for the shared array, counted once, 16 and 5
    ]
    assert str(Cache()) == "0 arrays, 0 bytes"


def test_a_model_prints_its_parameters(rng):
    assert repr(Linear(4, 3, rng=rng)).splitlines() == [
        "Linear with 15 parameters",
        "W  (4, 3)  float64",
        "b  (3,)    float64",
        "2 arrays, 120 bytes",
    ]
    assert repr(Parameter(np.ones((2, 3), dtype=np.float32))) == "Parameter(2, 3) float32"


@pytest.mark.parametrize("value", [[1.0, 2.0], np.arange(3), np.ones(2, np.float16)])
def test_a_parameter_is_a_float_array(value):
    with pytest.raises(TypeError, match="value must be"):
        Parameter(value)


def test_structure_tells_apart_what_arrays_do_not(rng):
    two, four = (MultiHeadAttention(8, h, rng=rng) for h in (2, 4))
    assert difference(structure(two), structure(copy.deepcopy(two))) is None
    name, mine, other = difference(structure(two), structure(four))
    assert (name, mine) == ("", "MultiHeadAttention(d_k=4, d_model=8, d_v=4, h=2)")
    assert "h=4" in other
    heads = ("h", "d_k", "d_v")
    assert difference(structure(two, heads), structure(four, heads)) is None
    del two.attention
    assert difference(structure(two, heads), structure(four, heads)) == (
        "attention", "missing", "ScaledDotProductAttention()")


def test_structure_has_no_assigned_method_and_no_address(rng):
    linear = Linear(2, 3, rng=rng)
    before = structure(linear)
    linear.forward = linear.forward
    assert structure(linear) == before == {"": "Linear(d_in=2, d_out=3)"}
    linear.more, linear.scale, linear.table = object(), np.float64(0.5), np.zeros(2)
    assert structure(linear)[""].endswith("more=object, scale=0.5, table=float64(2,))")


def test_parameters_are_drawn_by_a_generator_alone():
    """Without one they are left empty, whatever np.empty holds."""
    for draw, largest in ((Parameter.uniform, 0.5), (Parameter.normal, np.inf)):
        parameter = draw(0.5, (1000, 4), np.random.default_rng(0))
        assert np.abs(parameter.value).max() <= largest
        assert parameter.value.std() == pytest.approx(0.5 if largest > 1 else 0.5 / 3**0.5, rel=0.1)
        empty = draw(0.5, (1000, 4), None)
        assert empty.value.shape == empty.grad.shape == (1000, 4)
        assert empty.value.dtype == np.float64
