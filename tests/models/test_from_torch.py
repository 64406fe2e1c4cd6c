"""Models from PyTorch without PyTorch: states and what it computed are in golden/interop.npz."""

import json
import re

import numpy as np
import pytest
from exchanged import exchange
from golden.make_interop import PATH
from golden_arrays import frozen
from parity import assert_same
from same_model import D_MODEL, KINDS, model_of, ours, to_theirs

from aiayn_np import Embedding, Encoder, EncoderLayer, LayerNorm, Linear, ReLU
from aiayn_np.models import from_torch, to_torch
from aiayn_np.models.twin import config_of
from aiayn_np.variants.scoring import additive_attention

FROZEN = frozen(PATH)
every_kind = pytest.mark.parametrize("kind", KINDS)


def parts(kind):
    """(state, config, batch, what PyTorch computed with gradients by its names)"""
    case = dict(FROZEN[kind])
    config = json.loads(str(case.pop("config")))
    ids = [case.pop(name) for name in ("src", "tgt", "targets")]
    state = {n.removeprefix("state "): case.pop(n) for n in list(case) if n.startswith("state ")}
    return state, config, ids, case


def in_their_layout(found, config):
    """Our logits, loss and gradients, these under PyTorch's names."""
    gradients = {n.removeprefix("grad "): g for n, g in found.items() if n.startswith("grad ")}
    renamed = {f"grad {n}": g for n, g in to_theirs(gradients, config).items()}
    return {"logits": found["logits"], "loss": found["loss"]} | renamed


def test_every_kind_is_frozen_in_a_small_file():
    assert set(FROZEN) == set(KINDS)
    assert PATH.stat().st_size < 200_000


@every_kind
def test_it_computes_what_pytorch_computed(kind):
    state, config, ids, want = parts(kind)
    assert_same(in_their_layout(ours(from_torch(state, config), *ids), config), want, kind)


@every_kind
def test_there_and_back_is_the_same_to_the_bit(kind, rng):
    model = model_of(kind, rng)
    config, state = config_of(model), model.state_dict()
    there = to_theirs(state, config)
    back = from_torch(there, config)
    assert config_of(back) == config
    assert list(state) == list(back.state_dict())
    for name, value in back.state_dict().items():
        np.testing.assert_array_equal(value, state[name])


def test_eps_and_dropout_rates_come_along(rng):
    model = model_of("the paper's", rng, P_drop=0.2)
    for stack in (model.encoder, model.decoder):
        for layer in stack.layers:
            for name in ("self_attention", "cross_attention"):
                if hasattr(layer, name):
                    getattr(layer, name).attention.dropout.P_drop = 0.3
            for i in (1, 2, 3):
                if hasattr(layer, f"add_norm_{i}"):
                    getattr(layer, f"add_norm_{i}").layer_norm.eps = 1e-5
    config = config_of(model)
    assert (config["P_drop"], config["attention_P_drop"], config["eps"]) == (0.2, 0.3, 1e-5)
    assert config_of(from_torch(to_theirs(model.state_dict(), config), config)) == config


class Mine(EncoderLayer):
    pass


def changed(**values):
    """The frozen state and config of the paper's model with some entries changed, or taken out."""
    state, config, _, _ = parts("the paper's")
    for name, value in values.items():
        target = config if name in config else state
        target[name] = value
    return {n: x for n, x in state.items() if x is not None}, config


@pytest.mark.parametrize(("values", "error", "reason"), [
    ({"E": np.zeros((8, D_MODEL))}, ValueError, r"E must have shape \(9, 6\), got \(8, 6\)"),
    ({"E": None}, KeyError, "every tensor must be there, missing E"),
    ({"more": np.zeros(2)}, KeyError, "there must be no other tensor, got unknown more"),
    ({"E": np.zeros((9, D_MODEL), int)}, TypeError, "E must be float32 or float64, got int64"),
    ({"stacks.encoder.layers.0.self_attn.in_proj_bias": np.ones(18)}, ValueError,
     "in_proj_bias must be zero"),
    ({"N": 2}, KeyError, "missing stacks.encoder.layers.1"),
    ({"N": 10**9}, ValueError, "its tensors must have room for 1000000000 layers"),
    ({"h": 4}, ValueError, "d_model must be divisible by h, got d_model=6, h=4"),
    ({"norm": "middle"}, KeyError, "middle"),
    ({"pad": 9}, IndexError, "pad must lie in"),
])
def test_a_wrong_state_or_config_is_refused_with_the_reason(values, error, reason):
    with pytest.raises(error, match=reason):
        from_torch(*changed(**values))


def test_a_config_must_be_whole_and_a_module_must_be_one_of_ours():
    state, config = changed()
    del config["eps"]
    with pytest.raises(KeyError, match="eps"):
        from_torch(state, config)
    with pytest.raises(TypeError, match="must be one that to_torch made, or a state_dict with its"):
        from_torch(state)


def assign(path, make):
    """A change of a model: the attribute at a path gets what `make(rng)` returns."""
    return lambda model, rng: exchange(model, path, lambda _: make(rng))


def a_subclass(layer):
    """Make an object one of a subclass, which may compute something else."""
    layer.__class__ = type("Mine", (type(layer),), {})


def same_layer_twice(model, rng):
    model.encoder.layers[1] = model.encoder.layers[0]


FED, NORM = "decoder.layers.1.feed_forward", "encoder.layers.0.add_norm_1.layer_norm"
EXCHANGED = {  # what is done to a model -> what the refusal says
    "another E for the target": (
        assign("tgt_embedding", lambda rng: Embedding(9, D_MODEL, rng=rng)),
        "has nothing of its own at tgt_embedding.E, got Parameter(9, 6)"),
    "softmax": (assign("encoder.layers.1.self_attention.attention.softmax", lambda rng: ReLU()),
                "has Softmax() at encoder.layers.1.self_attention.attention.softmax, got ReLU()"),
    "a subclass": (lambda m, rng: a_subclass(m.encoder.layers[0].add_norm_1.layer_norm),
                   f"LayerNorm(d_model=6, eps=1e-06) at {NORM}, got Mine(d_model=6, eps=1e-06)"),
    "a replaced forward": (assign(f"{FED}.forward", lambda rng: abs),
                           f"has the forward of the class at {FED}, got another"),
    "no bias": (assign(f"{FED}.linear_2", lambda rng: Linear(7, D_MODEL, bias=False, rng=rng)),
                f"at {FED}.linear_2, got Linear(b=None, d_in=7, d_out=6)"),
    "another width": (assign(f"{FED}.linear_2", lambda rng: Linear(8, D_MODEL, rng=rng)),
                      f"Linear(d_in=7, d_out=6) at {FED}.linear_2, got Linear(d_in=8, d_out=6)"),
    "another rate": (assign("encoder.layers.0.add_norm_1.dropout.P_drop", lambda rng: 0.5),
                     "at encoder.layers.0.add_norm_1.dropout, got Dropout(P_drop=0.5)"),
    "a layer twice": (same_layer_twice, "at encoder.layers.1.self_attention.linear_Q.W, got nothing"
                      " of its own"),
    "one more part": (assign("encoder.adapter", lambda rng: Linear(6, 6, rng=rng)),
                      "nothing of its own at encoder.adapter, got Linear(d_in=6, d_out=6)"),
    "a norm at the end": (assign("encoder.norm", lambda rng: LayerNorm(D_MODEL)),
                          "has Encoder(norm=None) at encoder, got Encoder()"),
    "a stack that is none": (assign("encoder", lambda rng: Linear(6, 6, rng=rng)),
                             "'Linear' object has no attribute 'layers'"),
    "two dtypes": (lambda m, rng: m.encoder.astype(np.float32),
                   "dtype must be float32 or float64 in all layers, got float32, float64"),
}


@pytest.mark.parametrize("what", EXCHANGED)
def test_a_model_with_an_exchanged_part_is_refused_by_its_name(what, rng):
    """It would be another model in PyTorch, without a word. It needs no PyTorch to say so."""
    change, reason = EXCHANGED[what]
    model = model_of("the paper's", rng)
    change(model, rng)
    with pytest.raises(ValueError, match=re.escape(reason)):
        to_torch(model)


@pytest.mark.parametrize(("options", "reason"), [
    (dict(d_k=4, d_v=4), "h=2) at encoder.layers.0.self_attention, got MultiHeadAttention(d_k=4"),
    (dict(d_v=2), "got MultiHeadAttention(d_k=3, d_model=6, d_v=2, h=2)"),
    (dict(attention=additive_attention), "has ScaledDotProductAttention() at encoder.layers.0"),
    (dict(encoder_layer=Mine), "EncoderLayer() at encoder.layers.0, got Mine()"),
])
def test_what_pytorch_cannot_be_is_refused_with_the_reason(options, reason, rng):
    with pytest.raises(ValueError, match=re.escape(reason)):
        to_torch(model_of("the paper's", rng, **options))


def test_another_model_than_a_transformer_is_refused(rng):
    with pytest.raises(TypeError, match="model must be a Transformer, got Encoder"):
        to_torch(Encoder([EncoderLayer(6, 7, 2, rng=rng)]))


def test_a_state_of_another_model_is_no_state_of_ours(rng):
    config = config_of(model_of("the paper's", rng))
    other = model_of("pre-norm", rng)
    with pytest.raises(KeyError, match=r"unknown stacks.encoder.norm.weight"):
        from_torch(to_theirs(other.state_dict(), config_of(other)), config)
