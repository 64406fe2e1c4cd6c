"""The checks of values, of exact properties and of training; see registry.py for the rules."""

from functools import partial

import numpy as np

from aiayn_np.attention import ScaledDotProductAttention
from aiayn_np.decoding.generation import start_generation
from aiayn_np.dropout import Dropout
from aiayn_np.embedding import Embedding
from aiayn_np.feed_forward import PositionwiseFeedForward
from aiayn_np.layer_norm import LayerNorm
from aiayn_np.module import Parameter, leaves
from aiayn_np.plotting.maps import attention_maps
from aiayn_np.positional_encoding import SinusoidalPositionalEncoding
from aiayn_np.proofs.probing import randomise
from aiayn_np.proofs.properties import assert_causal, assert_padding_invariant
from aiayn_np.training.loss import LabelSmoothedCrossEntropy, ModelLoss
from aiayn_np.training.optimizer import Adam, warmup_rate
from aiayn_np.variants.norms import RMSNorm
from aiayn_np.variants.rotary import RotaryPositions

from .. import reference
from .registry import (
    D_FF,
    D_MODEL,
    SRC,
    T_SRC,
    T_TGT,
    TARGETS,
    TGT,
    VOCAB,
    B,
    CheckFailed,
    H,
    attention_inputs,
    check,
    fresh,
    multi_head_inputs,
    must_equal,
    small_llama,
    small_model,
)


def allowed_keys(allowed):
    """Return the keys of each query, from a mask (T_q, T_k)."""
    return [np.flatnonzero(row) for row in allowed]


@check("values: attention")
def attention_values():
    Q, K, V, allowed = attention_inputs(fresh())
    out = ScaledDotProductAttention()(Q, K, V, allowed=allowed)
    for b, h in np.ndindex(B, H):
        want = reference.attention(Q[b, h], K[b, h], V[b, h], allowed_keys(allowed[b, 0]))
        must_equal(f"sequence {b}, head {h}", out[b, h], want)


@check("values: multi-head")
def multi_head_values():
    layer, arrays, allowed = multi_head_inputs(fresh())
    out = layer(*arrays, allowed=allowed)
    for b in range(B):
        x_Q, x_K, x_V = (x[b] for x in arrays)
        want = reference.multi_head(layer, x_Q, x_K, x_V, allowed_keys(allowed[b, 0]))
        must_equal(f"sequence {b}", out[b], want)


def against_reference(make, formula):
    """Compare a layer with random parameters to its formula, on rows whose mean is not 0."""
    rng = fresh()
    layer = randomise(make(rng), rng)
    x = 1 + rng.standard_normal((T_SRC, D_MODEL))
    must_equal("y", layer(x), formula(layer, x))


for name, make, formula in (
    ("feed-forward", lambda rng: PositionwiseFeedForward(D_MODEL, D_FF, rng=rng),
     reference.feed_forward),
    ("layer norm", lambda rng: LayerNorm(D_MODEL, eps=1e-2), reference.layer_norm),
    ("RMS norm", lambda rng: RMSNorm(D_MODEL, eps=1e-2), reference.rms_norm),
):
    check(f"values: {name}")(partial(against_reference, make, formula))


@check("values: rotary positions")
def rotary_values():
    x = fresh().standard_normal((T_SRC, D_MODEL))
    for interleaved in (False, True):
        layer = RotaryPositions(D_MODEL, base=100.0, interleaved=interleaved)
        must_equal("y", layer(x), reference.rotary(x, 100.0, interleaved))


@check("values: grouped queries")
def grouped_values():
    layer = small_llama(fresh()).stack.encoder.layers[0].self_attention
    x = fresh().standard_normal((T_SRC, layer.d_model))
    allowed = np.tri(T_SRC, dtype=bool)
    got = layer(x, x, x, allowed=allowed)
    must_equal("y", got, reference.grouped(layer, x, allowed_keys(allowed)))


@check("exact: kept keys")
def kept_keys():
    """Check that decoding with kept keys gives the same logits as the whole text."""
    model = small_llama(fresh())
    kept = start_generation(model, keep=True)
    for begin, end in ((0, 2), (2, 3), (3, 4), (4, 5)):
        got = kept.next_logits(SRC[:1, begin:end])
        must_equal(f"after {end} tokens", got, model(SRC[:1, :end])[:, -1], 1e-11)


@check("values: dropout")
def dropout_values():
    """Check that backward uses its forward's mask, and that kept numbers are scaled up."""
    x, grad_y = fresh().standard_normal((2, B, T_SRC, D_MODEL))
    layer, kept = Dropout(0.3), np.random.default_rng(1).random(x.shape) >= 0.3
    y, cache = layer.forward(x, rng=np.random.default_rng(1))
    layer.forward(x, rng=np.random.default_rng(2))
    must_equal("y", y, np.where(kept, x / 0.7, 0))
    must_equal("grad_x", layer.backward(grad_y, cache), np.where(kept, grad_y / 0.7, 0))
    y, cache = layer.forward(x)
    must_equal("y without rng", y, x)
    must_equal("grad_x without rng", layer.backward(grad_y, cache), grad_y)


@check("values: embedding")
def embedding_values():
    layer = Embedding(VOCAB, D_MODEL, rng=fresh())
    must_equal("y", layer(SRC[0]), reference.embedding(layer.E.value, SRC[0]))


@check("values: positions")
def positions_values():
    must_equal("PE", SinusoidalPositionalEncoding(7, 9).table(9), reference.sinusoids(9, 7))


@check("values: loss")
def loss_values():
    logits = 4 * fresh().standard_normal((B, T_TGT, VOCAB))
    loss = LabelSmoothedCrossEntropy(0.1)(logits, targets=TARGETS)
    rows = logits.reshape(-1, VOCAB)
    must_equal("loss", loss, reference.cross_entropy(rows, TARGETS.ravel(), 0.1, 0))


@check("values: whole model")
def whole_model_values():
    model = small_model(fresh())
    logits = model(SRC, TGT)
    for b in range(B):
        must_equal(f"sequence {b}", logits[b], reference.transformer(model, SRC[b], TGT[b]), 1e-11)


@check("exact: causality")
def causality():
    """Check that no logit depends on a later token, to the last bit."""
    assert_causal(small_model(fresh()))


@check("exact: no weight on padding")
def no_weight_on_padding():
    """Check that padded keys have weight 0, and that the weights of each query sum to 1."""
    _, cache = small_model(fresh()).forward(SRC, TGT)
    for name, weights in attention_maps(cache).items():
        of_decoder = name.startswith("decoder") and "self_attention" in name
        padded = ((TGT if of_decoder else SRC) == 0)[:, None, None]
        if np.any(weights * padded):
            raise CheckFailed(f"{name}: weight {(weights * padded).max():.3g} on padding")
        must_equal(f"{name}: sum of a row", weights.sum(axis=-1), np.ones(weights.shape[:-1]))


@check("exact: more padding")
def more_padding():
    """Check that padding and the other rows of a batch change nothing."""
    assert_padding_invariant(small_model(fresh()))


@check("exact: caches untouched")
def caches_untouched():
    """Check that backward changes neither the cache nor the gradient that it is given."""
    whole = ModelLoss(small_model(fresh()), LabelSmoothedCrossEntropy(0.1))
    _, cache = whole.forward(SRC, TGT, targets=TARGETS, rng=fresh())
    before = {name: array.copy() for name, array in leaves(cache, np.ndarray)}
    grad_logits = whole.loss.backward(1.0, cache.loss)
    kept = grad_logits.copy()
    whole.model.backward(grad_logits, cache.model)
    must_equal("grad_logits", grad_logits, kept, 0)
    for name, array in leaves(cache, np.ndarray):
        if not np.array_equal(array, before[name]):
            raise CheckFailed(f"backward changed {name}")


@check("training: Adam")
def adam_steps():
    """Check six steps of two parameters, number by number."""
    rng = fresh()
    values, grads = rng.standard_normal((2, 3)), rng.standard_normal((6, 2, 3))
    parameters, rates = [Parameter(row.copy()) for row in values], rng.uniform(0.1, 0.5, 6)
    adam = Adam(parameters)
    for grad, rate in zip(grads, rates):
        for p, row in zip(parameters, grad):
            p.grad[...] = row
        adam.step(rate)
    for i, k in np.ndindex(values.shape):
        want = reference.adam(values[i, k], grads[:, i, k], rates, 0.9, 0.98, 1e-9)
        must_equal(f"parameter {i}, number {k}", parameters[i].value[k], want)


@check("training: Eq. (3)")
def eq_3():
    for step in range(1, 13):
        must_equal(f"rate of step {step}", warmup_rate(step, 16, 5), reference.rate(step, 16, 5))
