"""Properties that the paper states or implies, of the whole model and of its parts."""

import copy
import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from layers import LAYERS, draw, padded_ids
from proof import as_list

from aiayn_np import (
    CopyTask,
    Decoder,
    DecoderLayer,
    LabelSmoothedCrossEntropy,
    ScaledDotProductAttention,
    Transformer,
    causal,
    not_padding,
    train,
)
from aiayn_np.proofs.probing import randomise
from aiayn_np.training.loss import ModelLoss

VOCAB, PAD = 11, 0


def make_model(rng, **options):
    """A small model with every part of the paper's, and random gamma, beta and biases."""
    sizes = dict(N=2, d_model=12, d_ff=17, h=3, d_k=4, d_v=5, P_drop=0.3, max_len=20, pad=PAD)
    model = Transformer(VOCAB, **(sizes | options), rng=rng)
    randomise(model, rng)
    return model


def make_batch(rng, B=4, T_src=7, T_tgt=5):
    """src, tgt_in, targets: the first row full, the last of length 2, the others between."""
    def rows(T):
        lengths = np.array([T, *rng.integers(2, T + 1, B - 2), 2])[:, None]
        return np.where(np.arange(T) < lengths, rng.integers(1, VOCAB, (B, T)), PAD)
    src, tgt = rows(T_src), rows(T_tgt + 1)
    return src, tgt[:, :-1], tgt[:, 1:]


def whole_model(rng):
    """Model and loss with tied E, smoothing, padding, causal mask and dropout."""
    def attention(h, d_k, d_v, rng):
        return ScaledDotProductAttention(0.2)
    loss = LabelSmoothedCrossEntropy(0.1, pad=PAD)
    layer = ModelLoss(make_model(rng, attention=attention), loss)
    src, tgt, targets = make_batch(rng)
    return layer, [src, tgt], {"targets": targets, "rng": np.random.default_rng(7)}


def step(layer, inputs, options):
    """(loss, cache, {name: gradient}) of one forward and backward."""
    layer.zero_grad()
    loss, cache = layer.forward(*inputs, **copy.deepcopy(options))
    layer.backward(1.0, cache)
    return loss, cache, {name: p.grad.copy() for name, p in layer.named_parameters()}


def test_float32_agrees_with_float64(rng):
    layer, inputs, options = whole_model(rng)
    single = copy.deepcopy(layer).astype(np.float32)
    loss, _, gradients = step(layer, inputs, options)
    loss_32, _, gradients_32 = step(single, inputs, options)
    assert abs(loss_32 - loss) <= 1e-6 * loss
    for name, gradient in gradients.items():
        error = np.linalg.norm(gradients_32[name] - gradient) / np.linalg.norm(gradient)
        assert error <= 1e-5, (name, error)


def test_no_weight_and_no_gradient_passes_the_mask(rng):
    """No key that is masked, and no query that may look nowhere, has a part in anything."""
    B, h, T_q, T_k, d_k, d_v = 3, 2, 4, 6, 5, 7
    attention = ScaledDotProductAttention()
    Q, K, V = (rng.standard_normal((B, h, T, d)) for T, d in ((T_q, d_k), (T_k, d_k), (T_k, d_v)))
    allowed = np.repeat(not_padding(padded_ids(rng, B, T_k, 9, 0), 0), T_q, axis=2)
    allowed[0, ..., -1] = False
    allowed[1, :, 2] = False
    y, cache = attention.forward(Q, K, V, allowed=allowed)
    grad_Q, grad_K, grad_V = attention.backward(rng.standard_normal(y.shape), cache)
    assert (cache.weights[~np.broadcast_to(allowed, cache.weights.shape)] == 0.0).all()
    for masked, arrays in ((~allowed.any(axis=2), (grad_K, grad_V)),
                           (~allowed.any(axis=3), (y, grad_Q))):
        assert masked.any()
        for array in arrays:
            assert (array[np.broadcast_to(masked, array.shape[:-1])] == 0.0).all()


def test_decoder_output_has_a_zero_derivative_by_later_inputs(rng):
    layers = [DecoderLayer(8, 11, 2, rng=rng) for _ in range(2)]
    decoder = Decoder(layers)
    randomise(decoder, rng)
    x, memory = rng.standard_normal((3, 6, 8)), rng.standard_normal((3, 4, 8))
    y, cache = decoder.forward(x, memory, allowed=causal(6))
    for t in range(6):
        grad_y = np.zeros(y.shape)
        grad_y[:, t] = rng.standard_normal((3, 8))
        grad_x, _ = decoder.backward(grad_y, cache)
        assert (grad_x[:, t + 1 :] == 0.0).all()
        assert (grad_x[:, : t + 1] != 0.0).any(axis=(0, 2)).all()


def test_source_padding_has_a_zero_gradient(rng):
    model = make_model(rng)
    src, tgt, _ = make_batch(rng)
    logits, cache = model.forward(src, tgt)
    grad_logits = rng.standard_normal(logits.shape)
    grad_x = model.output_projection.backward(grad_logits, cache.output_projection)
    _, grad_memory = model.decoder.backward(grad_x, cache.decoder)
    grad_x = model.encoder.backward(grad_memory, cache.encoder)
    assert (grad_memory[src == PAD] == 0.0).all()
    assert (grad_x[src == PAD] == 0.0).all()
    assert (grad_x[src != PAD] != 0.0).any(axis=-1).all()


@pytest.mark.parametrize("name", LAYERS)
def test_backward_is_linear_and_zero_for_zero(name, seed):
    for i in range(3):
        rng = np.random.default_rng([seed, i])
        layer, inputs, options = draw(name, rng)
        y, cache = layer.forward(*inputs, **options)

        def gradients(u, layer=layer, cache=cache):
            layer.zero_grad()
            returned = as_list(layer.backward(u, cache))
            return returned + [p.grad.copy() for p in layer.parameters()]

        u, w = rng.standard_normal((2, *y.shape))
        of_u, of_w, of_both = gradients(u), gradients(w), gradients(3 * u - 2 * w)
        scale = max(np.abs(g).max() for g in of_u + of_w)
        for g_u, g_w, g_both in zip(of_u, of_w, of_both):
            np.testing.assert_allclose(g_both, 3 * g_u - 2 * g_w, rtol=0, atol=1e-12 * scale)
        assert all((g == 0.0).all() for g in gradients(np.zeros(y.shape)))


@pytest.mark.slow
@pytest.mark.parametrize(("make", "parameters", "P_drop"), [
    (Transformer.base, 63_045_632, 0.1), (Transformer.big, 214_171_648, 0.3)])
def test_base_and_big_have_the_papers_number_of_parameters(make, parameters, P_drop, rng):
    model = make(rng=rng)
    assert sum(p.value.size for p in model.parameters()) == parameters
    assert model.encoder.layers[0].add_norm_1.dropout.P_drop == model.dropout.P_drop == P_drop


def training_digest():
    """SHA-256 of all parameters after five training steps with dropout."""
    rng = np.random.default_rng(3)
    task = CopyTask(symbols=5, max_length=4)
    sizes = dict(N=1, d_model=8, d_ff=12, h=2, max_len=60)
    model = Transformer(task.vocab_size, **sizes, rng=rng)
    for _ in train(model, task, steps=5, batch_size=6, rng=rng, validation_size=4):
        pass
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.value.tobytes())
    return digest.hexdigest()


@pytest.mark.slow
def test_three_fresh_processes_train_the_same_model(pytestconfig):
    tests = pytestconfig.rootpath / "tests"
    code = "import test_paper; print(test_paper.training_digest())"
    command = [sys.executable, "-c", code]
    environment = os.environ | {"PYTHONPATH": str(tests / "helpers")}
    runs = [subprocess.Popen(command, cwd=tests / "model", env=environment, stdout=subprocess.PIPE)
            for _ in range(3)]
    digests = {run.communicate()[0].decode().strip() for run in runs}
    assert digests == {training_digest()}


def test_training_leaves_numpys_global_random_state_alone():
    before = np.random.get_state()  # noqa: NPY002
    training_digest()
    after = np.random.get_state()  # noqa: NPY002
    assert all(np.array_equal(a, b) for a, b in zip(before, after))


def test_a_padded_target_gets_no_gradient_and_gives_none(rng):
    criterion = LabelSmoothedCrossEntropy(0.1, pad=PAD)
    model, (src, tgt, targets) = make_model(rng), make_batch(rng)
    logits, cache = model.forward(src, tgt)
    _, loss_cache = criterion.forward(logits, targets=targets)
    grad_logits = criterion.backward(1.0, loss_cache)
    assert (grad_logits[targets == PAD] == 0.0).all()
    grad_x = model.output_projection.backward(grad_logits, cache.output_projection)
    grad_x, _ = model.decoder.backward(grad_x, cache.decoder)
    assert (grad_x[targets == PAD] == 0.0).all()
    assert (grad_x[targets != PAD] != 0.0).any(axis=-1).all()
