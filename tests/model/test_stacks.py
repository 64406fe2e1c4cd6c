"""Encoder and decoder: their parts, dropout, what may stand in a stack, a norm at its end."""

from types import SimpleNamespace

import numpy as np
import pytest
from proof import prove

from aiayn_np import (
    Decoder,
    DecoderLayer,
    Dropout,
    Encoder,
    EncoderLayer,
    LayerNorm,
    Module,
    ScaledDotProductAttention,
    Transformer,
)
from aiayn_np.encoder import final_norm
from aiayn_np.module import leaves
from aiayn_np.proofs.probing import randomise
from aiayn_np.variants.models import LanguageModel
from aiayn_np.variants.pre_norm import PreNormDecoderLayer, PreNormEncoderLayer

D_MODEL, D_FF, H = 6, 9, 2
DECODERS = DecoderLayer, PreNormDecoderLayer
every_layer = pytest.mark.parametrize(
    "cls", [EncoderLayer, DecoderLayer, PreNormEncoderLayer, PreNormDecoderLayer])
both = pytest.mark.parametrize(("cls", "stack"), [(EncoderLayer, Encoder), (DecoderLayer, Decoder)],
                               ids=["encoder", "decoder"])


def make_layer(cls, rng, **options):
    return randomise(cls(D_MODEL, D_FF, H, d_k=4, d_v=5, **options, rng=rng), rng)


def inputs(cls, rng):
    """x, and for a decoder the memory."""
    return [rng.standard_normal((3, T, D_MODEL)) for T in (4, 5)[: 1 + (cls in DECODERS)]]


@every_layer
def test_dropout_stands_on_every_sub_layer_and_in_its_attention(cls, rng):
    layer = make_layer(cls, rng, P_drop=0.4, attention=ScaledDotProductAttention(0.3))
    _, cache = layer.forward(*inputs(cls, rng), rng=rng)
    kept = [a for path, a in leaves(cache, np.ndarray)
            if path.endswith("kept") and a.dtype == bool]
    assert len(kept) == (5 if cls in DECODERS else 3)
    assert all(0.2 < mask.mean() < 0.95 for mask in kept)
    assert len({mask.tobytes() for mask in kept}) == len(kept)


@every_layer
def test_sizes_of_the_heads_and_the_default_dropout_rate(cls, rng):
    layer = make_layer(cls, rng)
    attentions = [m for name, m in vars(layer).items() if name.endswith("attention")]
    assert [(m.h, m.d_k, m.d_v) for m in attentions] == [(H, 4, 5)] * (1 + (cls in DECODERS))
    rates = {path: m.P_drop for path, m in leaves(layer, Dropout) if "attention" not in path}
    assert set(rates.values()) == {0.1}


@both
def test_a_stack_that_ends_with_a_norm_is_that_norm_of_its_layers_and_proven(cls, stack, rng):
    layer, norm = make_layer(cls, rng), randomise(LayerNorm(D_MODEL), rng)
    arrays, whole = inputs(cls, rng), stack([layer], norm=norm)
    np.testing.assert_array_equal(whole(*arrays), norm(layer(*arrays)))
    prove(whole, arrays, {}, rng)


@both
def test_a_stack_keeps_the_layers_of_a_generator_and_of_a_list_that_changes(cls, stack, rng):
    layers = [make_layer(cls, rng)]
    from_list, from_generator = stack(layers), stack(layer for layer in layers)
    layers.append(None)
    assert len(from_list.layers) == len(from_generator.layers) == 1


def test_any_module_can_stand_in_the_stack(rng):
    class Twice(Module):
        def forward(self, x, *, allowed=None, rng=None):
            return 2 * x, None

        def backward(self, grad_y, cache):
            return 2 * grad_y

    (x,), encoder = inputs(EncoderLayer, rng), Encoder([Twice(), Twice(), Twice()])
    y, cache = encoder.forward(x)
    np.testing.assert_array_equal(y, 8 * x)
    np.testing.assert_array_equal(encoder.backward(x, cache), 8 * x)


@pytest.mark.parametrize("wrong", [3, EncoderLayer])                   # the class, not a layer
def test_what_is_no_layer_is_refused(wrong):
    with pytest.raises(TypeError, match="layers must be a layer"):
        Encoder([wrong])


def test_the_last_layer_decides_whether_a_norm_ends_the_stack():
    plain, pre_norm = SimpleNamespace(), SimpleNamespace(stack_norm=str)
    assert final_norm([plain, pre_norm], 8) == "8"
    assert final_norm([pre_norm, plain], 8) is None


@both
@pytest.mark.parametrize("depths", [(1, 2), (2, 1)])
def test_a_cache_of_a_stack_of_another_depth_is_refused(rng, cls, stack, depths):
    one, other = (stack([make_layer(cls, rng) for _ in range(N)]) for N in depths)
    x, *memory = [rng.normal(size=(2, 3, D_MODEL)) for _ in range(1 + (cls is DecoderLayer))]
    y, cache = other.forward(x, *memory)
    with pytest.raises(ValueError, match=r"one cache for each layer of the stack, [12], got [12]"):
        one.backward(np.ones_like(y), cache)
    assert not any(p.grad.any() for p in one.parameters())


@pytest.mark.parametrize(("cls", "stack", "depth"), [
    (Transformer, "encoder", 1), (Transformer, "encoder", 3), (Transformer, "decoder", 3),
    (LanguageModel, "stack", 3)])
def test_a_model_refuses_such_a_cache_before_any_gradient_is_added(rng, cls, stack, depth):
    model, other = (cls(9, N=N, d_model=8, d_ff=8, h=2, rng=rng) for N in (2, depth))
    ids = [rng.integers(1, 9, (2, 3))] * (1 + (cls is Transformer))
    y, cache = model.forward(*ids)
    setattr(cache, stack, getattr(other.forward(*ids)[1], stack))
    with pytest.raises(ValueError, match=r"one cache for each layer of the stack, 2, got [13]"):
        model.backward(np.ones_like(y), cache)
    assert not any(p.grad.any() for p in model.parameters())
