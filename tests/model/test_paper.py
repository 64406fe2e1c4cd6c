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


# float32


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


# masks: exact zeros, bit-equal results


def test_no_weight_and_no_gradient_reaches_a_masked_key(rng):
    B, h, T_q, T_k, d_k, d_v = 3, 2, 4, 6, 5, 7
    attention = ScaledDotProductAttention()
    Q = rng.standard_normal((B, h, T_q, d_k))
    K = rng.standard_normal((B, h, T_k, d_k))
    V = rng.standard_normal((B, h, T_k, d_v))
    allowed = not_padding(padded_ids(rng, B, T_k, 9, 0), 0)
    allowed[0, ..., -1] = False
    y, cache = attention.forward(Q, K, V, allowed=allowed)
    _, grad_K, grad_V = attention.backward(rng.standard_normal(y.shape), cache)
    hidden = np.broadcast_to(~allowed[..., 0, :], (B, h, T_k))
    assert (cache.weights.swapaxes(-1, -2)[hidden] == 0.0).all()
    assert (grad_K[hidden] == 0.0).all()
    assert (grad_V[hidden] == 0.0).all()


def test_a_query_without_allowed_keys_gives_zeros_and_gets_no_gradient(rng):
    attention = ScaledDotProductAttention()
    Q, K, V = (rng.standard_normal((2, T, d)) for T, d in ((3, 4), (5, 4), (5, 6)))
    allowed = rng.random((2, 3, 5)) < 0.7
    allowed[1, 2] = False
    y, cache = attention.forward(Q, K, V, allowed=allowed)
    grad_Q, _, _ = attention.backward(rng.standard_normal(y.shape), cache)
    assert (y[1, 2] == 0.0).all()
    assert (grad_Q[1, 2] == 0.0).all()


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


# invariants


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


# parameter counts


def expected_parameters(vocab_size, N, d_model, d_ff, h, d_k, d_v):
    """From the formulas of Sec. 3, without biases of the projections."""
    attention = 2 * d_model * h * d_k + 2 * d_model * h * d_v
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    layer_norm = 2 * d_model
    encoder_layer = attention + feed_forward + 2 * layer_norm
    decoder_layer = 2 * attention + feed_forward + 3 * layer_norm
    return vocab_size * d_model + N * (encoder_layer + decoder_layer)


def count(model):
    return sum(p.value.size for p in model.parameters())


BASE = dict(vocab_size=37000, N=6, d_model=512, d_ff=2048, h=8, d_k=64, d_v=64)
BIG = dict(vocab_size=37000, N=6, d_model=1024, d_ff=4096, h=16, d_k=64, d_v=64)


def test_number_of_parameters_follows_the_formula(rng):
    assert count(make_model(rng)) == expected_parameters(VOCAB, 2, 12, 17, 3, 4, 5)


def test_formula_gives_the_base_and_the_big_model_of_table_3():
    base = expected_parameters(**BASE)
    assert base == 63_045_632
    assert base + 6 * 3 * 4 * 512 == 63_082_496  # with a bias in every projection
    assert expected_parameters(**BIG) == 214_171_648


@pytest.mark.slow
def test_base_model_has_the_papers_number_of_parameters(rng):
    assert count(Transformer.base(rng=rng)) == 63_045_632


@pytest.mark.slow
def test_big_model_has_the_papers_number_of_parameters(rng):
    model = Transformer.big(rng=rng)
    assert count(model) == 214_171_648
    assert model.encoder.layers[0].add_norm_1.dropout.P_drop == model.dropout.P_drop == 0.3


# determinism


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


# invariants of the gradients


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
