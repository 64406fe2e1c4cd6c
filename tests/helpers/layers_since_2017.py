"""Configurations of the parts of later models, rotary positions to SwiGLU; see layers.py."""

from layers import (
    dropout,
    leading,
    mask,
    of_two_sizes,
    padded_ids,
    positional,
    queries_keys_values,
    rate,
    register,
    sizes,
    width,
    yes_or_no,
)

from aiayn_np import ReLU, ScaledDotProductAttention
from aiayn_np.variants.activations import GELU, SiLU
from aiayn_np.variants.gated import SwiGLU
from aiayn_np.variants.grouped import GroupedQueryAttention
from aiayn_np.variants.models import LanguageModel, LlamaLayer, llama
from aiayn_np.variants.rotary import (
    NoPositions,
    NormedRotaryPositions,
    RotaryAttention,
    RotaryPositions,
    Stretch,
)


def turns(rng, cls, d_k):
    """A rotary layer of any base, pairing and stretch."""
    base = float(rng.choice([10.0, 1e4, 5e5]))
    stretch = None if rng.integers(2) else Stretch(8.0, 1.0, 4.0, int(rng.integers(1, 99)))
    return cls(d_k, base=base, interleaved=bool(rng.integers(2)), stretch=stretch)


def rotary(cls):
    """A rotary layer over 0 to 2 leading axes, with and without a start."""
    def drawn(rng):
        half, T, start = sizes(rng, 3)
        x = rng.standard_normal((*leading(rng)[1:], T, 2 * half))
        options = {"start": start} if rng.random() < 0.75 else {}
        return turns(rng, cls, 2 * half), [x], options
    return drawn


register(RotaryPositions)(rotary(RotaryPositions))
register(NormedRotaryPositions)(rotary(NormedRotaryPositions))


positional(NoPositions)


def rotary_attention(rng, d_k):
    """One layer for queries and keys, or two with norms of their own."""
    if rng.random() < 0.5:
        return RotaryAttention(turns(rng, RotaryPositions, d_k), P_drop=rate(rng))
    of_Q, of_K = (turns(rng, NormedRotaryPositions, d_k) for _ in "QK")
    return RotaryAttention(of_Q, of_K, rate(rng))


@register(RotaryAttention)
def attention(rng):
    inputs, options = queries_keys_values(rng, even=True)
    return rotary_attention(rng, inputs[0].shape[-1]), inputs, options


@register(GroupedQueryAttention)
def grouped(rng):
    """Groups of one head, of a few and of all; plain and rotary attention."""
    B, h_kv, T_q, T_k, half, d_v = sizes(rng, 6)
    g, h_kv = int(rng.integers(1, 4)), min(h_kv, 4)
    lead = [(), (B,)][rng.integers(2)]
    made = ScaledDotProductAttention(rate(rng)) if rng.random() < 0.5 else (
        rotary_attention(rng, 2 * half))
    layer = GroupedQueryAttention(
        d_model := width(rng), g * h_kv, h_kv=h_kv, d_k=2 * half, d_v=d_v,
        bias=bool(rng.integers(2)), attention=made, rng=rng)
    x_Q = rng.standard_normal((*lead, T_q, d_model))
    x_K, x_V = rng.standard_normal((2, *lead, T_k, d_model))
    options = {"allowed": mask(rng, (*lead, g * h_kv, T_q, T_k)), **dropout(rng)}
    return layer, [x_Q, x_K, x_V], options


of_two_sizes(SwiGLU, activation=lambda rng: [SiLU, GELU, ReLU][rng.integers(3)], bias=yes_or_no)


def options_of(rng):
    """(h, options) of a LlamaLayer with every choice that folders have."""
    g, h_kv, half = (int(n) for n in rng.integers(1, 4, 3))
    return g * h_kv, dict(
        h_kv=h_kv, d_k=2 * half, base=float(rng.choice([10.0, 1e4])),
        bias=bool(rng.integers(2)), gate_bias=bool(rng.integers(2)),
        activation=[SiLU, GELU][rng.integers(2)],
        rotary=[RotaryPositions, NormedRotaryPositions][rng.integers(2)], P_drop=rate(rng))


@register(LlamaLayer)
def llama_layer(rng):
    (h, options), (B, T, d_ff) = options_of(rng), sizes(rng, 3)
    layer = LlamaLayer(d_model := width(rng), d_ff, h, **options, rng=rng)
    call = {"allowed": mask(rng, (B, h, T, T)), **dropout(rng)}
    return layer, [rng.standard_normal((B, T, d_model))], call


def llama_model(rng):
    """A whole model; `LanguageModel` is its class."""
    (h, options), (B, T, vocab_size, d_ff) = options_of(rng), sizes(rng, 4, low=3)
    pad = None if rng.random() < 0.5 else int(rng.integers(vocab_size))
    model = llama(vocab_size, N=2, d_model=h * int(rng.integers(2, 4)), d_ff=d_ff, h=h,
                  max_len=T + 1, pad=pad, tied=bool(rng.integers(2)), rng=rng, **options)
    assert type(model) is LanguageModel
    return model, [padded_ids(rng, B, T, vocab_size, pad or 0)], dropout(rng)
